# SPDX-License-Identifier: Apache-2.0
# Our declarations of the vendors' functions against the vendors' own headers, wherever those are installed; and what
# the program is linked with. The comparison compiles when the test runs, so that a header we have never seen can fail
# a test but not the build.
set(MUSTER_VENDOR_INCLUDE "" CACHE STRING "Folders to look for cuda.h, cublasLt.h, cufile.h, nccl.h, nvml.h and pmix.h in, before the usual ones")

file(GLOB toolkits LIST_DIRECTORIES true /usr/local/cuda*/include)
list(SORT toolkits COMPARE NATURAL ORDER DESCENDING)
pkg_check_modules(PMIX QUIET pmix)
set(MUSTER_HEADER_cublaslt cublasLt.h)
foreach(library cuda cublaslt cufile nccl nvml pmix)
	if(NOT MUSTER_HEADER_${library})
		set(MUSTER_HEADER_${library} ${library}.h)
	endif()
	find_path(MUSTER_VENDOR_${library} ${MUSTER_HEADER_${library}} HINTS ${MUSTER_VENDOR_INCLUDE} PATHS ${toolkits} /usr/include
		${PMIX_INCLUDE_DIRS} NO_DEFAULT_PATH CMAKE_FIND_ROOT_PATH_BOTH)
	add_test(NAME abi.${library} COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/compare.sh ${CMAKE_C_COMPILER} ${library}
		${CMAKE_BINARY_DIR}/abi-${library} ${MUSTER_VENDOR_${library}} ${MUSTER_VENDOR_cuda})
	set_tests_properties(abi.${library} PROPERTIES TIMEOUT 400 SKIP_RETURN_CODE 77 LABELS abi)
endforeach()

add_test(NAME abi.journal COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/journal.sh ${CMAKE_C_COMPILER} ${CMAKE_BINARY_DIR}/abi-journal)
set_tests_properties(abi.journal PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS abi)

set(MUSTER_PTXAS "" CACHE FILEPATH "ptxas, when it is neither in PATH nor in /usr/local/cuda*/bin")
add_test(NAME abi.ptx COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/ptx.sh
	${CMAKE_SOURCE_DIR}/src/probes/gpu/kernels.ptx ${MUSTER_PTXAS})
set_tests_properties(abi.ptx PROPERTIES TIMEOUT 400 SKIP_RETURN_CODE 77 LABELS abi)
find_package(Python3 COMPONENTS Interpreter)
# A test of another architecture would start Python in the emulator, and the file is one for all architectures.
if(Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
	add_test(NAME abi.ptx_meaning COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/ptx_meaning.py
		${CMAKE_SOURCE_DIR}/src/probes/gpu/kernels.ptx)
	set_tests_properties(abi.ptx_meaning PROPERTIES TIMEOUT 300 LABELS abi)
endif()

add_test(NAME abi.needed COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/needed.sh $<TARGET_FILE:muster>)
set_tests_properties(abi.needed PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS abi)

# Broken libraries for tests/unit/vendor/test_library.c.
function(fake_library library file_name)
	add_library(fake_${library} SHARED ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/fakes/fakes.c)
	target_compile_definitions(fake_${library} PRIVATE FAKE_${library} ${ARGN})
	target_link_libraries(fake_${library} PRIVATE muster_flags)
	target_link_options(fake_${library} PRIVATE -Wl,-soname,${file_name})
	set_target_properties(fake_${library} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${file_name} NO_SONAME ON
		LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fakes)
	add_dependencies(test_vendor_library fake_${library})
endfunction()
fake_library(cuda libcuda.so.1 cuMemcpyHtoDAsync_v2=renamed)
fake_library(nvml libnvidia-ml.so.1)
fake_library(nccl libnccl.so.2)
fake_library(verbs libibverbs.so.1)
target_link_options(fake_verbs PRIVATE -Wl,--version-script,${CMAKE_CURRENT_LIST_DIR}/fakes/verbs.map)

# The same sources as on a machine where libcurl, expat and liburing are not to be had. What these files define comes
# before the library's.
add_executable(test_built_without ${CMAKE_CURRENT_LIST_DIR}/built_without.c ${CMAKE_SOURCE_DIR}/src/vendor/http.c
	${CMAKE_SOURCE_DIR}/src/storage/io.c ${CMAKE_SOURCE_DIR}/src/vendor/nccl_topo.c ${CMAKE_SOURCE_DIR}/tests/probe_fake.c)
target_include_directories(test_built_without PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_compile_options(test_built_without PRIVATE -UMUSTER_HAVE_CURL -UMUSTER_HAVE_EXPAT -UMUSTER_HAVE_LIBURING)
target_link_libraries(test_built_without PRIVATE muster_all PkgConfig::CHECK)
add_test(NAME abi.built_without COMMAND test_built_without)
set_tests_properties(abi.built_without PROPERTIES TIMEOUT 300 LABELS "unit;abi")
