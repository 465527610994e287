# Our declarations of the vendors' functions against the vendors' own headers, wherever those are installed; and what
# the program is linked with. The comparison compiles when the test runs, so that a header we have never seen can fail
# a test but not the build.
set(MUSTER_VENDOR_INCLUDE "" CACHE STRING "Folders to look for cuda.h, nccl.h, nvml.h, xml.h and pmix.h in, before the usual ones")

file(GLOB toolkits LIST_DIRECTORIES true /usr/local/cuda*/include)
list(SORT toolkits COMPARE NATURAL ORDER DESCENDING)
pkg_check_modules(PMIX QUIET pmix)
foreach(library cuda nccl nvml expat pmix)
	find_path(MUSTER_VENDOR_${library} ${library}.h HINTS ${MUSTER_VENDOR_INCLUDE} PATHS ${toolkits} /usr/include
		${PMIX_INCLUDE_DIRS} NO_DEFAULT_PATH CMAKE_FIND_ROOT_PATH_BOTH)
	add_test(NAME abi.${library} COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/compare.sh ${CMAKE_C_COMPILER} ${library}
		${CMAKE_BINARY_DIR}/abi-${library} ${MUSTER_VENDOR_${library}} ${MUSTER_VENDOR_cuda})
	set_tests_properties(abi.${library} PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77 LABELS abi)
endforeach()

add_test(NAME abi.needed COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/needed.sh $<TARGET_FILE:muster>)
set_tests_properties(abi.needed PROPERTIES TIMEOUT 60 SKIP_RETURN_CODE 77 LABELS abi)

# Broken libraries for tests/unit/vendor/test_library.c, test_nccl_topo.c and
# test_environment.c.
function(fake_library library file_name)
	add_library(fake_${library} SHARED ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/fakes/fakes.c)
	target_compile_definitions(fake_${library} PRIVATE FAKE_${library} ${ARGN})
	target_link_libraries(fake_${library} PRIVATE muster_flags)
	target_link_options(fake_${library} PRIVATE -Wl,-soname,${file_name})
	set_target_properties(fake_${library} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${file_name} NO_SONAME ON
		LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fakes)
	foreach(user test_vendor_library test_vendor_nccl_topo test_probes_environment)
		if(TARGET ${user})
			add_dependencies(${user} fake_${library})
		endif()
	endforeach()
endfunction()
fake_library(cuda libcuda.so.1 cuMemcpyHtoDAsync_v2=renamed)
fake_library(nvml libnvidia-ml.so.1)
fake_library(nccl libnccl.so.2)
fake_library(verbs libibverbs.so.1)
fake_library(expat libexpat.so.1)
target_link_options(fake_verbs PRIVATE -Wl,--version-script,${CMAKE_CURRENT_LIST_DIR}/fakes/verbs.map)
