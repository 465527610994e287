# How `muster run` learns what machine it is on: metadata services good and bad on the loopback, and simulated nodes.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	add_test(NAME recognise.metadata COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/metadata.py
		$<TARGET_FILE:muster>)
	add_test(NAME recognise.auto COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/auto.py
		$<TARGET_FILE:muster>)
	add_test(NAME recognise.generic COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/generic.py
		$<TARGET_FILE:muster>)
	set_tests_properties(recognise.metadata recognise.auto recognise.generic PROPERTIES TIMEOUT 600 LABELS integration)
endif()
