# SPDX-License-Identifier: Apache-2.0
# Every standins/test_*.c is one Check program on the stand-in libraries, and one ctest case.
add_library(standin_example STATIC standins/example.c)
target_compile_definitions(standin_example PRIVATE MUSTER_BUILD_DIR="${CMAKE_BINARY_DIR}")
target_include_directories(standin_example PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${VERBS_INCLUDE})
target_link_libraries(standin_example PUBLIC muster_sim_all PkgConfig::CHECK)

file(GLOB STANDIN_TESTS CONFIGURE_DEPENDS standins/test_*.c)
foreach(source IN LISTS STANDIN_TESTS)
	get_filename_component(name ${source} NAME_WE)
	add_executable(standin_${name} ${source})
	target_compile_definitions(standin_${name} PRIVATE MUSTER_BUILD_DIR="${CMAKE_BINARY_DIR}")
	target_link_libraries(standin_${name} PRIVATE standin_example)
	add_dependencies(standin_${name} standin_cuda standin_cublaslt standin_cufile standin_nvml standin_nccl standin_verbs standin_preload)
	add_test(NAME standins.${name} COMMAND standin_${name})
	set_tests_properties(standins.${name} PROPERTIES TIMEOUT 400 SKIP_RETURN_CODE 77 LABELS standins
		ENVIRONMENT CK_DEFAULT_TIMEOUT=200)
endforeach()

add_test(NAME standins.abi COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/standins/abi.sh ${CMAKE_SOURCE_DIR} ${STANDIN_DIR})
set_tests_properties(standins.abi PROPERTIES TIMEOUT 300 LABELS standins)
target_sources(standin_test_nccl_channels PRIVATE ../src/sim/standins/nccl_channels.c)
