# Expectation files: the schema, all shipped files, and what muster itself makes of them.
find_program(SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(SYSTEM_PYTHON)
	add_test(NAME eval.schema COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/integration/schema_expectations.py
		${CMAKE_SOURCE_DIR}/docs/expectations.schema.json ${CMAKE_SOURCE_DIR}/configs $<TARGET_FILE:muster>)
	set_tests_properties(eval.schema PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77 LABELS integration)
	add_test(NAME eval.check_command COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/integration/check_command.py
		$<TARGET_FILE:muster>)
	set_tests_properties(eval.check_command PROPERTIES TIMEOUT 200 LABELS integration)
endif()
