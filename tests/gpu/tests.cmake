# What runs on a GPU host (run.sh) cannot run here; the scripts that judge its results can.
find_program(MUSTER_PYTHON NAMES python3)
if(MUSTER_PYTHON)
	add_test(NAME gpu.scripts COMMAND ${MUSTER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_scripts.py)
	set_tests_properties(gpu.scripts PROPERTIES TIMEOUT 60 LABELS gpu)
endif()
# Reports that were recorded on real GPUs (names and UUIDs replaced) are judged here as they were there.
add_test(NAME gpu.recorded COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/recorded.sh $<TARGET_FILE:muster>
	${CMAKE_CURRENT_LIST_DIR}/recorded)
set_tests_properties(gpu.recorded PROPERTIES TIMEOUT 60 LABELS gpu)
