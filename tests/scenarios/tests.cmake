# SPDX-License-Identifier: Apache-2.0
# The whole program on a simulated cluster. One ctest case for each row of the tables of faults.
find_package(Python3 COMPONENTS Interpreter)
function(muster_fault_tests table script)
	set(path ${CMAKE_SOURCE_DIR}/tests/scenarios/${table}.json)
	set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
	file(READ ${path} cases)
	string(JSON count LENGTH "${cases}")
	math(EXPR last "${count} - 1")
	foreach(index RANGE ${last})
		string(JSON name GET "${cases}" ${index} name)
		add_test(NAME scenarios.${table}.${name} COMMAND Python3::Interpreter
			${CMAKE_SOURCE_DIR}/tests/scenarios/${script} $<TARGET_FILE:muster> ${path} ${name})
		set_tests_properties(scenarios.${table}.${name} PROPERTIES TIMEOUT 600 LABELS integration)
		if(table MATCHES "rings|workers") # they wait for deadlines: begin early, and let others compute meanwhile
			set_tests_properties(scenarios.${table}.${name} PROPERTIES COST 900)
		endif()
		string(JSON ranks ERROR_VARIABLE none GET "${cases}" ${index} ranks)
		if(none)
			string(JSON nodes GET "${cases}" ${index} nodes)
			math(EXPR ranks "8 * ${nodes}")
		endif()
		if(ranks GREATER 16) # many processes, whose deadlines hold here too: nothing else runs beside them
			set_tests_properties(scenarios.${table}.${name} PROPERTIES PROCESSORS 4)
		endif()
	endforeach()
endfunction()
if(Python3_FOUND)
	muster_fault_tests(faults faults.py)
	muster_fault_tests(driver faults.py)
	muster_fault_tests(families faults.py)
	muster_fault_tests(state faults.py)
	muster_fault_tests(history faults.py)
	muster_fault_tests(load faults.py)
	muster_fault_tests(rings faults.py)
	muster_fault_tests(storage faults.py)
	muster_fault_tests(shared_data faults.py)
	muster_fault_tests(traffic faults.py)
	muster_fault_tests(workers workers.py)
	foreach(case worker_in_the_ring worker_while_it_copies supervisor leader leader_while_rank_0_receives_its_records)
		add_test(NAME scenarios.deaths.${case} COMMAND Python3::Interpreter
			${CMAKE_SOURCE_DIR}/tests/scenarios/deaths.py $<TARGET_FILE:muster> ${case})
		set_tests_properties(scenarios.deaths.${case} PROPERTIES TIMEOUT 600 LABELS integration)
	endforeach()
	if(MUSTER_SANITIZE) # leaks are looked for by the one, bad reads and writes by the other
		add_test(NAME scenarios.leaks COMMAND Python3::Interpreter
			${CMAKE_SOURCE_DIR}/tests/scenarios/leaks.py $<TARGET_FILE:muster>)
		set_tests_properties(scenarios.leaks PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS "integration;slow")
	else()
		add_test(NAME scenarios.valgrind COMMAND Python3::Interpreter
			${CMAKE_SOURCE_DIR}/tests/scenarios/valgrind.py $<TARGET_FILE:muster>)
		set_tests_properties(scenarios.valgrind PROPERTIES TIMEOUT 900 COST 2000 SKIP_RETURN_CODE 77 LABELS "integration;slow")
		add_test(NAME scenarios.unread COMMAND Python3::Interpreter
			${CMAKE_SOURCE_DIR}/tests/scenarios/unread.py $<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR})
		set_tests_properties(scenarios.unread PROPERTIES TIMEOUT 900 PROCESSORS 2 LABELS integration)
	endif()
	add_library(stuck_mpi SHARED ${CMAKE_SOURCE_DIR}/tests/scenarios/stuck_mpi.c)
	target_link_libraries(stuck_mpi PRIVATE muster_flags MPI::MPI_C)
	set_target_properties(stuck_mpi PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/scenarios)
	foreach(case sigterm_to_all sigint_to_one sigusr1_to_rank_0_in_the_ring sigusr1_between_training_steps sigterm_to_the_launcher sigkill_to_rank_0
			sigkill_to_all a_node_vanishes a_node_vanishes_in_the_ring mpi_init_without_a_rank mpi_init_fails_on_a_rank mpi_hangs_on_a_rank
			sigterm_in_mpi_init mpi_settings_of_the_user)
		add_test(NAME scenarios.ends.${case} COMMAND Python3::Interpreter
			${CMAKE_SOURCE_DIR}/tests/scenarios/ends.py $<TARGET_FILE:muster> ${case})
		set_tests_properties(scenarios.ends.${case} PROPERTIES TIMEOUT 600 LABELS integration
			ENVIRONMENT MUSTER_STUCK_MPI=$<TARGET_FILE:stuck_mpi>)
	endforeach()
	add_test(NAME scenarios.spool COMMAND Python3::Interpreter
		${CMAKE_SOURCE_DIR}/tests/scenarios/spool.py $<TARGET_FILE:muster>)
	set_tests_properties(scenarios.spool PROPERTIES TIMEOUT 600 LABELS integration)
	add_test(NAME scenarios.ring_deaths COMMAND Python3::Interpreter
		${CMAKE_SOURCE_DIR}/tests/scenarios/ring_deaths.py $<TARGET_FILE:muster>)
	set_tests_properties(scenarios.ring_deaths PROPERTIES TIMEOUT 900 LABELS integration)
else()
	message(STATUS "No Python 3: the tests on simulated clusters are left out")
endif()
add_test(NAME scenarios.worlds COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/worlds.sh $<TARGET_FILE:muster>)
set_tests_properties(scenarios.worlds PROPERTIES TIMEOUT 600 LABELS integration)
add_test(NAME scenarios.interfaces COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/interfaces.sh $<TARGET_FILE:muster>)
set_tests_properties(scenarios.interfaces PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration)
add_test(NAME scenarios.same_hostname COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/same_hostname.sh $<TARGET_FILE:muster>)
set_tests_properties(scenarios.same_hostname PROPERTIES TIMEOUT 400 LABELS integration)
# How `muster run` learns what machine it is on: metadata services good and bad on the loopback, and simulated nodes; and
# whose settings it records.
if(Python3_FOUND)
	foreach(name recognise_metadata recognise_auto recognise_generic environment)
		add_test(NAME scenarios.${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/${name}.py
			$<TARGET_FILE:muster>)
		set_tests_properties(scenarios.${name} PROPERTIES TIMEOUT 600 LABELS integration)
	endforeach()
endif()
