# The mutation tester on a toy: mutate.py says how to measure the tests of the product itself.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	add_test(NAME tools.mutate COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/test_mutate.py)
	set_tests_properties(tools.mutate PROPERTIES TIMEOUT 120 LABELS integration)
endif()
