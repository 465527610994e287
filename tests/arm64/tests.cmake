# SPDX-License-Identifier: Apache-2.0
# In a build for another processor: the whole program under the emulator. run.sh says how the emulator finds things.
if(CMAKE_CROSSCOMPILING_EMULATOR)
	# by path: CMake would put the emulator before its target as well
	find_program(MUSTER_PYTHON NAMES python3 REQUIRED)
	set(EMULATED ${CMAKE_BINARY_DIR}/emulated/muster)
	file(WRITE ${EMULATED} "#!/bin/sh\n"
		"unset QEMU_PAGESIZE\n"
		"export MUSTER_WORKER_WRAPPER=\"$MUSTER_SIM_WRAPPER\"\n"
		"exec '${CMAKE_CROSSCOMPILING_EMULATOR}' '${CMAKE_BINARY_DIR}/muster' \"$@\"\n")
	file(CHMOD ${EMULATED} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)

	# rows of the table of faults: one at a time, an all-reduce is slow enough
	foreach(case gb200_healthy_one_node gb200_healthy_two_nodes gb200_another_clique gb200_three_faults_at_once)
		add_test(NAME arm64.sim.${case} COMMAND ${MUSTER_PYTHON}
			${CMAKE_SOURCE_DIR}/tests/scenarios/faults.py ${EMULATED}
			${CMAKE_SOURCE_DIR}/tests/scenarios/faults.json ${case})
		set_tests_properties(arm64.sim.${case} PROPERTIES RUN_SERIAL ON)
		list(APPEND EMULATED_TESTS arm64.sim.${case})
	endforeach()
	# reports that were recorded on x86-64 are judged as they were there; what the user gets wrong
	add_test(NAME arm64.recorded COMMAND sh ${CMAKE_SOURCE_DIR}/tests/gpu/recorded.sh ${EMULATED}
		${CMAKE_SOURCE_DIR}/tests/gpu/recorded)
	add_test(NAME arm64.usage COMMAND sh ${CMAKE_SOURCE_DIR}/tests/cli/usage.sh ${EMULATED})
	list(APPEND EMULATED_TESTS arm64.recorded arm64.usage)
	set_tests_properties(${EMULATED_TESTS} PROPERTIES TIMEOUT 600 LABELS arm64)

	# An emulated test takes several times as long.
	set_tests_properties(${UNIT_TESTS} PROPERTIES TIMEOUT 600)
endif()
