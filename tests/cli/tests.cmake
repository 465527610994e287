# SPDX-License-Identifier: Apache-2.0
# One test for each command, or for each thing that a user sees of several.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	foreach(name check sim node log html paths checkpoint broadcast)
		add_test(NAME cli.${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/${name}.py
			$<TARGET_FILE:muster>)
		set_tests_properties(cli.${name} PROPERTIES TIMEOUT 900 LABELS integration)
	endforeach()
endif()
if(Python3_FOUND)
	add_test(NAME cli.slurm_scripts COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/slurm_scripts.py
		$<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR})
	set_tests_properties(cli.slurm_scripts PROPERTIES TIMEOUT 900 LABELS integration)
	add_test(NAME cli.prolog_storage COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/prolog_storage.py
		$<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR})
	set_tests_properties(cli.prolog_storage PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 LABELS integration)
endif()
# A file system without O_TMPFILE, where libfuse is there to make one.
pkg_check_modules(FUSE3 QUIET IMPORTED_TARGET fuse3)
if(TARGET PkgConfig::FUSE3)
	add_executable(plain_fs ${CMAKE_CURRENT_LIST_DIR}/plain_fs.c)
	target_link_libraries(plain_fs PRIVATE muster_flags PkgConfig::FUSE3)
	set(plain_fs $<TARGET_FILE:plain_fs>)
endif()
if(Python3_FOUND)
	add_test(NAME cli.storage_kills COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/storage_kills.py
		$<TARGET_FILE:muster> ${plain_fs})
	set_tests_properties(cli.storage_kills PROPERTIES TIMEOUT 600 LABELS integration)
endif()
if(Python3_FOUND)
	add_test(NAME cli.terminal COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/terminal.py
		$<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR}/docs/examples)
	set_tests_properties(cli.terminal PROPERTIES TIMEOUT 600 LABELS integration)
endif()
if(Python3_FOUND)
	add_test(NAME cli.completion COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/completion.py
		$<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR})
	set_tests_properties(cli.completion PROPERTIES TIMEOUT 400 LABELS integration)
endif()
if(Python3_FOUND)
	add_test(NAME cli.options COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/options.py
		$<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR})
	set_tests_properties(cli.options PROPERTIES TIMEOUT 600 LABELS integration)
endif()
foreach(name usage writing)
	add_test(NAME cli.${name} COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/${name}.sh $<TARGET_FILE:muster>)
	set_tests_properties(cli.${name} PROPERTIES TIMEOUT 400 LABELS integration)
endforeach()

# Expectation files and reports against their schemas, by an independent validator: Debian's own Python has it.
add_executable(write_reports ${CMAKE_CURRENT_LIST_DIR}/write_reports.c)
target_include_directories(write_reports PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(write_reports PRIVATE muster_all)
add_test(NAME cli.schema_expectations COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/schema_expectations.py
	${CMAKE_SOURCE_DIR}/docs/expectations.schema.json ${CMAKE_SOURCE_DIR}/configs $<TARGET_FILE:muster>)
add_test(NAME cli.lint_schema COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_LIST_DIR}/lint_schema.py $<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR})
add_test(NAME cli.schema_report COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/schema_report.py
	${CMAKE_SOURCE_DIR}/docs/report.schema.json --writer $<TARGET_FILE:write_reports>)
# Whatever its verdict.
add_test(NAME cli.schema_report.of_a_run COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/schema_report.py
	${CMAKE_SOURCE_DIR}/docs/report.schema.json --writer sh -c
	"\"$1\" sim --sku Standard_ND96asr_v4 --nodes 2 --report \"$2/sim.json\"; test -s \"$2/sim.json\""
	sh $<TARGET_FILE:muster>)
add_test(NAME cli.junit_reader COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/junit_reader.py
	$<TARGET_FILE:muster> $<TARGET_FILE:write_reports>)
set_tests_properties(cli.schema_expectations cli.lint_schema cli.schema_report cli.schema_report.of_a_run cli.junit_reader PROPERTIES
	TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration)
if(Python3_FOUND)
	add_test(NAME cli.report COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/report.py
		$<TARGET_FILE:muster> $<TARGET_FILE:write_reports>)
	set_tests_properties(cli.report PROPERTIES TIMEOUT 400 LABELS integration)
endif()

# `muster skus`, `muster lint` and `muster bind`, as those who use them call them.
add_executable(write_node ${CMAKE_CURRENT_LIST_DIR}/write_node.c)
target_link_libraries(write_node PRIVATE muster_sim_all)
if(Python3_FOUND)
	add_test(NAME cli.commands COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/commands.py
		$<TARGET_FILE:muster> $<TARGET_FILE:write_node> ${CMAKE_SOURCE_DIR})
	set_tests_properties(cli.commands PROPERTIES TIMEOUT 400 LABELS integration)
endif()
# `muster explain`: all that the shipped files name.
if(Python3_FOUND)
	add_test(NAME cli.explain COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/explain.py $<TARGET_FILE:muster>
		${CMAKE_SOURCE_DIR})
	set_tests_properties(cli.explain PROPERTIES TIMEOUT 400 LABELS integration)
endif()
# The shipped expectation files: their floors against the simulated hardware, their certainties against the documentation.
if(Python3_FOUND)
	add_test(NAME cli.configs COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/configs.py $<TARGET_FILE:muster>
		${CMAKE_SOURCE_DIR})
	set_tests_properties(cli.configs PROPERTIES TIMEOUT 400 LABELS integration)
endif()
# `muster nodes`, `muster drain`, `muster resume` and `muster history`, on reports put together by hand; a made history.
if(Python3_FOUND)
	foreach(name nodes drain history history_trial)
		add_test(NAME cli.${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/${name}.py $<TARGET_FILE:muster>)
		set_tests_properties(cli.${name} PROPERTIES TIMEOUT 400 LABELS integration)
	endforeach()
endif()
# Debian's own Python has the validator.
add_test(NAME cli.ticket COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_LIST_DIR}/ticket.py $<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR})
set_tests_properties(cli.ticket PROPERTIES TIMEOUT 400 LABELS integration)
# `muster run --repeat` and `muster diff`. Debian's own Python has the validator.
add_test(NAME cli.diff COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/diff.py $<TARGET_FILE:muster>
	${CMAKE_SOURCE_DIR}/docs/diff.schema.json)
add_test(NAME cli.diff_checks COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/diff_checks.py $<TARGET_FILE:muster>
	${CMAKE_SOURCE_DIR}/configs)
set_tests_properties(cli.diff_checks PROPERTIES TIMEOUT 300 LABELS integration)
set_tests_properties(cli.diff PROPERTIES TIMEOUT 600 LABELS integration)
add_test(NAME cli.baseline COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/baseline.py $<TARGET_FILE:muster>
	${CMAKE_SOURCE_DIR}/docs/expectations.schema.json ${CMAKE_SOURCE_DIR}/docs/diff.schema.json)
set_tests_properties(cli.baseline PROPERTIES TIMEOUT 600 LABELS integration)
# The examples of docs/golden-image.md. Debian's own Python has a reader of YAML.
add_test(NAME cli.golden_image COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/golden_image.py
	$<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR}/docs/golden-image.md)
set_tests_properties(cli.golden_image PROPERTIES TIMEOUT 600 LABELS integration)
# What Prometheus reads: promtool, and a real Prometheus with node_exporter.
if(Python3_FOUND)
	add_test(NAME cli.prometheus COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/prometheus.py
		$<TARGET_FILE:muster> $<TARGET_FILE:write_reports> ${CMAKE_SOURCE_DIR})
	set_tests_properties(cli.prometheus PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration)
endif()
# What log stores find in the log: the fields, rules and queries of docs/reference/logs.md.
if(Python3_FOUND)
	add_test(NAME cli.log_stores COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/log_stores.py
		$<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR})
	set_tests_properties(cli.log_stores PROPERTIES TIMEOUT 600 LABELS integration)
endif()
# The progress on a real pseudo-terminal, under mpirun.
if(Python3_FOUND)
	add_test(NAME cli.progress COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/progress.py $<TARGET_FILE:muster>)
	set_tests_properties(cli.progress PROPERTIES TIMEOUT 600 LABELS integration)
endif()
