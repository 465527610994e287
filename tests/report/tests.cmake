# Written reports against docs/report.schema.json, by an independent validator.
add_executable(write_reports ${CMAKE_CURRENT_LIST_DIR}/write_reports.c)
target_include_directories(write_reports PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(write_reports PRIVATE muster_all)
add_test(NAME report.schema COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/integration/schema_report.py
	${CMAKE_SOURCE_DIR}/docs/report.schema.json --writer $<TARGET_FILE:write_reports>)
set_tests_properties(report.schema PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77 LABELS integration)
# Whatever its verdict.
add_test(NAME report.schema_of_a_run COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/integration/schema_report.py
	${CMAKE_SOURCE_DIR}/docs/report.schema.json --writer sh -c
	"\"$1\" sim --sku Standard_ND96asr_v4 --nodes 2 --report \"$2/sim.json\"; test -s \"$2/sim.json\""
	sh $<TARGET_FILE:muster>)
set_tests_properties(report.schema_of_a_run PROPERTIES TIMEOUT 180 SKIP_RETURN_CODE 77 LABELS integration)
add_test(NAME report.junit_reader COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/junit_reader.py
	$<TARGET_FILE:muster> $<TARGET_FILE:write_reports>)
set_tests_properties(report.junit_reader PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77 LABELS integration)
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	add_test(NAME report.formats COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/formats.py
		$<TARGET_FILE:muster> $<TARGET_FILE:write_reports>)
	set_tests_properties(report.formats PROPERTIES TIMEOUT 120 LABELS integration)
endif()
