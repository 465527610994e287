# The text of reports at three widths; `golden.py MUSTER EXAMPLES --write` writes the files anew.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	foreach(name example alone two many inconclusive hostile)
		add_test(NAME golden.${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/golden.py
			$<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR}/docs/examples ${name})
		set_tests_properties(golden.${name} PROPERTIES TIMEOUT 400 LABELS cli)
	endforeach()
endif()
