# Tests that include probe_fake.h bring their own context for a probe, in place of the worker's.
foreach(source IN LISTS UNIT_SOURCES)
	get_filename_component(name ${source} NAME_WE)
	file(STRINGS ${source} fake REGEX "include \"probe_fake\\.h\"")
	if(fake)
		target_sources(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/probe_fake.c)
	endif()
endforeach()

# Probes in the whole program, where it matters in which process they run.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	add_test(NAME probes.environment COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/environment.py
		$<TARGET_FILE:muster>)
	set_tests_properties(probes.environment PROPERTIES TIMEOUT 200 LABELS integration)
endif()
