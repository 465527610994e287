# How the sources read, as far as a machine can tell.
set(STYLE ${CMAKE_CURRENT_LIST_DIR})
add_test(NAME style.text COMMAND sh ${STYLE}/text.sh ${CMAKE_SOURCE_DIR})
add_test(NAME style.text_finds_faults COMMAND sh ${STYLE}/text_finds_faults.sh ${CMAKE_BINARY_DIR}/style-faults)
add_test(NAME style.format COMMAND sh ${STYLE}/format.sh ${CMAKE_SOURCE_DIR})
add_test(NAME style.shell COMMAND sh ${STYLE}/shell.sh ${CMAKE_SOURCE_DIR})
add_test(NAME style.tidy COMMAND sh ${STYLE}/tidy.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
set_tests_properties(style.text style.text_finds_faults style.format style.shell style.tidy PROPERTIES
	TIMEOUT 900 SKIP_RETURN_CODE 77 LABELS style)
