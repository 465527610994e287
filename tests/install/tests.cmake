# What is installed works, and goes on working where it is moved to.
add_test(NAME install.moved COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/moved.sh ${CMAKE_COMMAND} ${CMAKE_SOURCE_DIR}
	${CMAKE_BINARY_DIR})
set_tests_properties(install.moved PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS install)
add_test(NAME install.complete COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/complete.sh ${CMAKE_BINARY_DIR})
set_tests_properties(install.complete PROPERTIES TIMEOUT 60 SKIP_RETURN_CODE 77 LABELS install)
