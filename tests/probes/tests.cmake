# Tests of single probes bring their own context, in place of the worker's.
foreach(source IN LISTS UNIT_SOURCES)
	get_filename_component(name ${source} NAME_WE)
	if(name MATCHES "^test_probes_")
		target_sources(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/probe_fake.c)
	endif()
endforeach()
