# SPDX-License-Identifier: Apache-2.0
# What is installed works, and goes on working where it is moved to.
if(TARGET muster_mpi)
	add_test(NAME install.moved COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/moved.sh ${CMAKE_COMMAND} ${CMAKE_SOURCE_DIR}
		${CMAKE_BINARY_DIR})
	set_tests_properties(install.moved PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS install RESOURCE_LOCK install)
endif()
# Where there is no MPI, all but `muster run` works.
find_program(MUSTER_PYTHON NAMES python3)
if(MUSTER_PYTHON AND TARGET muster_mpi)
	add_test(NAME install.mpi COMMAND ${MUSTER_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/mpi.py ${CMAKE_COMMAND}
		${CMAKE_BINARY_DIR})
	set_tests_properties(install.mpi PROPERTIES TIMEOUT 600 LABELS install RESOURCE_LOCK install)
endif()
# The scripts that CycleCloud runs on nodes and scheduler.
add_test(NAME install.cyclecloud COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/cyclecloud.sh ${CMAKE_SOURCE_DIR})
set_tests_properties(install.cyclecloud PROPERTIES TIMEOUT 300 LABELS install)
add_test(NAME install.complete COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/complete.sh ${CMAKE_BINARY_DIR})
set_tests_properties(install.complete PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS install)
add_test(NAME install.version COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/version.sh ${CMAKE_COMMAND} ${CMAKE_SOURCE_DIR})
set_tests_properties(install.version PROPERTIES TIMEOUT 60 SKIP_RETURN_CODE 77 LABELS install)
add_test(NAME install.setup COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/setup.sh ${CMAKE_SOURCE_DIR})
set_tests_properties(install.setup PROPERTIES TIMEOUT 60 LABELS install)
