# Our declarations of the vendors' functions against the vendors' own headers, wherever those are installed; and what the
# program is linked with. The comparison compiles when the test runs, so that a header we have never seen can fail a test
# but not the build.
set(MUSTER_VENDOR_INCLUDE "" CACHE STRING "Folders to look for cuda.h, nccl.h and nvml.h in, before the usual ones")

file(GLOB toolkits LIST_DIRECTORIES true /usr/local/cuda*/include)
list(SORT toolkits COMPARE NATURAL ORDER DESCENDING)
foreach(library cuda nccl nvml)
	find_path(MUSTER_VENDOR_${library} ${library}.h HINTS ${MUSTER_VENDOR_INCLUDE} PATHS ${toolkits} /usr/include
		NO_DEFAULT_PATH)
	add_test(NAME abi.${library} COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/compare.sh ${CMAKE_C_COMPILER} ${library}
		${CMAKE_BINARY_DIR}/abi-${library} ${MUSTER_VENDOR_${library}} ${MUSTER_VENDOR_cuda})
	set_tests_properties(abi.${library} PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77 LABELS abi)
endforeach()

add_test(NAME abi.needed COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/needed.sh $<TARGET_FILE:muster>)
set_tests_properties(abi.needed PROPERTIES TIMEOUT 60 SKIP_RETURN_CODE 77 LABELS abi)
