# SPDX-License-Identifier: Apache-2.0
# Machines as data, each in a folder of its own: what `muster bind` prints there, where mpirun puts the ranks, and what
# the probe affinity says of ranks on given CPUs. The head of machines.py says what a folder holds.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	set(MACHINES ${CMAKE_CURRENT_LIST_DIR})
	add_library(machine_kernel MODULE ${MACHINES}/kernel_cpus.c)
	target_link_libraries(machine_kernel PRIVATE muster_flags)
	add_executable(placement ${MACHINES}/placement.c ${MACHINES}/kernel_cpus.c)
	target_link_libraries(placement PRIVATE muster_all)
	set(run_machine Python3::Interpreter -B ${MACHINES}/machines.py ${CMAKE_SOURCE_DIR})
	file(GLOB machines CONFIGURE_DEPENDS RELATIVE ${MACHINES} ${MACHINES}/*/machine.json)
	foreach(machine IN LISTS machines)
		string(REPLACE "/machine.json" "" machine ${machine})
		add_test(NAME machines.${machine} COMMAND ${run_machine} ${machine} $<TARGET_FILE:muster>
			$<TARGET_FILE:placement> $<TARGET_FILE:machine_kernel>)
		list(APPEND MACHINE_TESTS machines.${machine})
	endforeach()
	add_test(NAME machines.docs COMMAND ${run_machine} --check-docs)
	set_tests_properties(machines.docs ${MACHINE_TESTS} PROPERTIES TIMEOUT 900 LABELS integration)
endif()
