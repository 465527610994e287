# SPDX-License-Identifier: Apache-2.0
# The HTML page in a real browser. Debian's own Python has Selenium and an HTML parser.
add_executable(write_pages ${CMAKE_CURRENT_LIST_DIR}/write_pages.c)
target_include_directories(write_pages PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(write_pages PRIVATE muster_all)
add_test(NAME browser.page COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_LIST_DIR}/page.py $<TARGET_FILE:muster>
	$<TARGET_FILE:write_pages> ${CMAKE_BINARY_DIR}/browser ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/build/npm)
set_tests_properties(browser.page PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration)
add_test(NAME browser.large COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_LIST_DIR}/large.py $<TARGET_FILE:muster>
	${CMAKE_BINARY_DIR}/browser ${CMAKE_SOURCE_DIR})
set_tests_properties(browser.large PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration)
