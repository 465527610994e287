# The mutation tester on a toy: mutate.py says how to measure the tests of the product itself.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	add_test(NAME tools.mutate COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/test_mutate.py)
	set_tests_properties(tools.mutate PROPERTIES TIMEOUT 120 LABELS integration)
	# A small one: its head says how to make a large one.
	add_test(NAME tools.campaign COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/campaign.py $<TARGET_FILE:muster>
		--healthy 4 --faulty 8 --ranks 4 --seed suite)
	set_tests_properties(tools.campaign PROPERTIES TIMEOUT 250 COST 500 LABELS integration)
endif()
