# SPDX-License-Identifier: Apache-2.0
# What runs on a GPU host (run.sh) cannot run here; the scripts that judge its results can.
find_program(MUSTER_PYTHON NAMES python3)
if(MUSTER_PYTHON)
	add_test(NAME gpu.scripts COMMAND ${MUSTER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_scripts.py)
	set_tests_properties(gpu.scripts PROPERTIES TIMEOUT 300 LABELS gpu ENVIRONMENT MUSTER=$<TARGET_FILE:muster>)
	# prove.py and its thief on the stand-ins: few runs, which prove no rate.
	add_test(NAME gpu.prove COMMAND ${MUSTER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_prove.py $<TARGET_FILE_DIR:muster>)
	set_tests_properties(gpu.prove PROPERTIES TIMEOUT 600 LABELS gpu)
endif()
# Reports that were recorded on real GPUs (names and UUIDs replaced) are judged here as they were there.
add_test(NAME gpu.recorded COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/recorded.sh $<TARGET_FILE:muster>
	${CMAKE_CURRENT_LIST_DIR}/recorded)
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	add_test(NAME gpu.recorded_diff COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/recorded_diff.py $<TARGET_FILE:muster>
		${CMAKE_CURRENT_LIST_DIR}/recorded/pairs)
	set_tests_properties(gpu.recorded_diff PROPERTIES TIMEOUT 300 LABELS gpu)
endif()
set_tests_properties(gpu.recorded PROPERTIES TIMEOUT 300 LABELS gpu)

# For a GPU host (run.sh): the parts of the probe gpu_load, and a bit flipped under them. Needs nothing but libc there.
add_executable(gpu_load_faults ${CMAKE_CURRENT_LIST_DIR}/load_faults.c)
target_link_libraries(gpu_load_faults PRIVATE muster_all)
target_link_options(gpu_load_faults PRIVATE -Wl,--as-needed)
# How fast the kernels read memory, and whether loads under way limit them.
add_executable(gpu_memory_reads ${CMAKE_CURRENT_LIST_DIR}/memory_reads.c)
target_link_libraries(gpu_memory_reads PRIVATE muster_all)
target_link_options(gpu_memory_reads PRIVATE -Wl,--as-needed)
