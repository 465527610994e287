# SPDX-License-Identifier: Apache-2.0
# Published measurements of real machines, each judged in a healthy simulated report. The head of published.py says what a row is.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	add_test(NAME published.rows COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/published.py ${CMAKE_SOURCE_DIR}
		$<TARGET_FILE:muster>)
	set_tests_properties(published.rows PROPERTIES TIMEOUT 900 LABELS integration)
endif()
