# SPDX-License-Identifier: Apache-2.0
# Fuzzers: fuzz_<what>.c takes any bytes for one of the program's inputs. Here each is linked with a main that goes
# through the inputs kept in corpus/<what>; with MUSTER_FUZZ (and clang) `ninja fuzz` links them with libFuzzer too.
option(MUSTER_FUZZ "Build the fuzzers with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer (needs clang)" OFF)
set(FUZZERS cpus expect gres hostlist kernel_log merge metadata nccl_files nccl_log report scenario spool strikes sysfs wire)

# What is not to be reached, by the name that the linker gives it.
set(FUZZ_WRAPPED_metadata muster_http_get)
set(FUZZ_WRAPPED_sysfs dlopen muster_now_ms nanosleep)
# These bring a context for probes of their own.
set(FUZZ_SOURCES_kernel_log ${CMAKE_CURRENT_LIST_DIR}/probe_context.c)
set(FUZZ_SOURCES_metadata ${CMAKE_CURRENT_LIST_DIR}/probe_context.c)
set(FUZZ_SOURCES_sysfs ${CMAKE_CURRENT_LIST_DIR}/probe_context.c)

if(MUSTER_FUZZ)
	if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
		message(FATAL_ERROR "MUSTER_FUZZ needs clang: -DCMAKE_C_COMPILER=clang")
	endif()
	set(FUZZ_FLAGS -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
	target_compile_options(muster_flags INTERFACE ${FUZZ_FLAGS} -fno-omit-frame-pointer)
	target_link_options(muster_flags INTERFACE ${FUZZ_FLAGS})
	add_custom_target(fuzz)
endif()

function(muster_fuzzer target name)
	set(here ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
	add_executable(${target} ${here}/fuzz_${name}.c ${here}/fuzz.c ${FUZZ_SOURCES_${name}} ${ARGN})
	target_include_directories(${target} PRIVATE ${here} ${CMAKE_SOURCE_DIR}/tests)
	target_compile_definitions(${target} PRIVATE MUSTER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
	target_link_libraries(${target} PRIVATE muster_sim_all)
	foreach(function IN LISTS FUZZ_WRAPPED_${name})
		target_link_options(${target} PRIVATE -Wl,--wrap=${function})
	endforeach()
endfunction()

foreach(name IN LISTS FUZZERS)
	muster_fuzzer(replay_${name} ${name} ${CMAKE_CURRENT_LIST_DIR}/replay.c)
	add_test(NAME fuzz.${name} COMMAND replay_${name} ${CMAKE_CURRENT_LIST_DIR}/corpus/${name})
	set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 400 LABELS "unit;fuzz")
	if(MUSTER_FUZZ)
		muster_fuzzer(fuzz_${name} ${name})
		target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
		add_dependencies(fuzz fuzz_${name})
	endif()
endforeach()

# Files and names that nobody would write by accident, from end to end.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND TARGET muster_mpi)
	add_test(NAME fuzz.hostile_files COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/hostile_files.py
		$<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR} $<$<BOOL:${MUSTER_SANITIZE}>:unbounded>)
	add_test(NAME fuzz.hostile_names COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/hostile_names.py
		$<TARGET_FILE:muster>)
	set_tests_properties(fuzz.hostile_files fuzz.hostile_names PROPERTIES TIMEOUT 600 LABELS integration)
endif()
