# The whole program on a simulated cluster. One ctest case for each row of the tables of faults.
find_package(Python3 COMPONENTS Interpreter)
function(muster_fault_tests table script)
	set(path ${CMAKE_SOURCE_DIR}/tests/integration/${table}.json)
	set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
	file(READ ${path} cases)
	string(JSON count LENGTH "${cases}")
	math(EXPR last "${count} - 1")
	foreach(index RANGE ${last})
		string(JSON name GET "${cases}" ${index} name)
		add_test(NAME integration.${table}.${name} COMMAND Python3::Interpreter
			${CMAKE_SOURCE_DIR}/tests/integration/${script} $<TARGET_FILE:muster> ${path} ${name})
		set_tests_properties(integration.${table}.${name} PROPERTIES TIMEOUT 240 LABELS integration)
		string(JSON nodes GET "${cases}" ${index} nodes)
		if(nodes GREATER 1) # many ranks, whose deadlines hold here too: nothing else runs beside them
			set_tests_properties(integration.${table}.${name} PROPERTIES PROCESSORS 2)
		endif()
	endforeach()
endfunction()
if(Python3_FOUND)
	muster_fault_tests(faults faults.py)
	muster_fault_tests(families faults.py)
	muster_fault_tests(rings faults.py)
	muster_fault_tests(workers workers.py)
	add_test(NAME integration.deaths COMMAND Python3::Interpreter
		${CMAKE_SOURCE_DIR}/tests/integration/deaths.py $<TARGET_FILE:muster>)
	set_tests_properties(integration.deaths PROPERTIES TIMEOUT 300 LABELS integration)
	if(MUSTER_SANITIZE) # leaks are looked for by the one, bad reads and writes by the other
		add_test(NAME integration.leaks COMMAND Python3::Interpreter
			${CMAKE_SOURCE_DIR}/tests/integration/leaks.py $<TARGET_FILE:muster>)
		set_tests_properties(integration.leaks PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS "integration;slow")
	else()
		add_test(NAME integration.valgrind COMMAND Python3::Interpreter
			${CMAKE_SOURCE_DIR}/tests/integration/valgrind.py $<TARGET_FILE:muster>)
		set_tests_properties(integration.valgrind PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 LABELS "integration;slow")
	endif()
	add_library(stuck_mpi SHARED ${CMAKE_SOURCE_DIR}/tests/integration/stuck_mpi.c)
	target_link_libraries(stuck_mpi PRIVATE muster_flags MPI::MPI_C)
	set_target_properties(stuck_mpi PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/integration)
	foreach(case sigterm_to_all sigint_to_one sigusr1_to_rank_0_in_the_ring sigterm_to_the_launcher sigkill_to_rank_0
			sigkill_to_all a_node_vanishes a_node_vanishes_in_the_ring mpi_init_without_a_rank mpi_init_fails_on_a_rank mpi_hangs_on_a_rank
			sigterm_in_mpi_init)
		add_test(NAME integration.ends.${case} COMMAND Python3::Interpreter
			${CMAKE_SOURCE_DIR}/tests/integration/ends.py $<TARGET_FILE:muster> ${case})
		set_tests_properties(integration.ends.${case} PROPERTIES TIMEOUT 300 LABELS integration
			ENVIRONMENT MUSTER_STUCK_MPI=$<TARGET_FILE:stuck_mpi>)
	endforeach()
	add_test(NAME integration.spool COMMAND Python3::Interpreter
		${CMAKE_SOURCE_DIR}/tests/integration/spool.py $<TARGET_FILE:muster>)
	set_tests_properties(integration.spool PROPERTIES TIMEOUT 300 LABELS integration)
	add_test(NAME integration.rings COMMAND Python3::Interpreter
		${CMAKE_SOURCE_DIR}/tests/integration/rings.py $<TARGET_FILE:muster>)
	set_tests_properties(integration.rings PROPERTIES TIMEOUT 400 LABELS integration)
	add_test(NAME integration.sim_command COMMAND Python3::Interpreter
		${CMAKE_SOURCE_DIR}/tests/integration/sim_command.py $<TARGET_FILE:muster>)
	set_tests_properties(integration.sim_command PROPERTIES TIMEOUT 300 LABELS integration)
else()
	message(STATUS "No Python 3: the tests on simulated clusters are left out")
endif()
add_test(NAME integration.writing COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/writing.sh $<TARGET_FILE:muster>)
set_tests_properties(integration.writing PROPERTIES TIMEOUT 120 LABELS integration)
add_test(NAME integration.usage COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/usage.sh $<TARGET_FILE:muster>)
set_tests_properties(integration.usage PROPERTIES TIMEOUT 120 LABELS integration)
add_test(NAME integration.worlds COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/worlds.sh $<TARGET_FILE:muster>)
set_tests_properties(integration.worlds PROPERTIES TIMEOUT 240 LABELS integration)
add_test(NAME integration.twins COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/twins.sh $<TARGET_FILE:muster>)
set_tests_properties(integration.twins PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77 LABELS integration)
if(Python3_FOUND)
	add_test(NAME integration.node COMMAND Python3::Interpreter
		${CMAKE_SOURCE_DIR}/tests/integration/node.py $<TARGET_FILE:muster>)
	set_tests_properties(integration.node PROPERTIES TIMEOUT 400 LABELS integration)
	add_test(NAME integration.log COMMAND Python3::Interpreter
		${CMAKE_SOURCE_DIR}/tests/integration/log.py $<TARGET_FILE:muster>)
	set_tests_properties(integration.log PROPERTIES TIMEOUT 300 LABELS integration)
endif()
