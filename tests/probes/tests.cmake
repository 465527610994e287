# Probes in the whole program, where it matters in which process they run.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	add_test(NAME probes.environment COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/environment.py
		$<TARGET_FILE:muster>)
	set_tests_properties(probes.environment PROPERTIES TIMEOUT 200 LABELS integration)
endif()
