# A real Slurm on this machine (cluster.sh). One ctest case for each function test_NAME of the Python files here.
find_package(Python3 COMPONENTS Interpreter)
file(GLOB SLURM_TESTS CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.py)
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SLURM_TESTS})
if(Python3_FOUND)
	add_library(late_fence SHARED ${CMAKE_CURRENT_LIST_DIR}/late_fence.c)
	target_link_libraries(late_fence PRIVATE muster_flags)
	set_target_properties(late_fence PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/slurm)
	foreach(file IN LISTS SLURM_TESTS)
		get_filename_component(area ${file} NAME_WE)
		file(STRINGS ${file} functions REGEX "^def test_[a-z0-9_]+\\(")
		foreach(function IN LISTS functions)
			string(REGEX REPLACE "^def test_([a-z0-9_]+).*" "\\1" name "${function}")
			add_test(NAME slurm.${area}.${name} COMMAND Python3::Interpreter ${file} $<TARGET_FILE:muster> ${name})
			# Python would leave its compiled files in the source folder.
			set_tests_properties(slurm.${area}.${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS slurm
				RESOURCE_LOCK slurm
				ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1;MUSTER_LATE_FENCE=$<TARGET_FILE:late_fence>")
		endforeach()
	endforeach()
else()
	message(STATUS "No Python 3: the tests on a real Slurm are left out")
endif()
