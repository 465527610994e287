# SPDX-License-Identifier: Apache-2.0
# The mutation tester on a toy: mutate.py says how to measure the tests of the product itself.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	add_test(NAME tools.mutate COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/test_mutate.py)
	set_tests_properties(tools.mutate PROPERTIES TIMEOUT 900 LABELS integration)
	add_test(NAME tools.driver_codes COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/test_driver_codes.py)
	# A small campaign of a fixed seed. It runs alone: a simulated run that is late beside others is no wrong verdict.
	add_test(NAME tools.campaign COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/campaign.py
		$<TARGET_FILE:muster> --healthy 4 --faulty 10 --ranks 8 --seed suite --deadline 40)
	set_tests_properties(tools.campaign PROPERTIES TIMEOUT 600 RUN_SERIAL TRUE LABELS integration)
	add_test(NAME tools.detection COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/test_detection.py $<TARGET_FILE:muster>)
	set_tests_properties(tools.detection PROPERTIES TIMEOUT 600 LABELS integration)
endif()
