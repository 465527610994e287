# Tests that include probe_fake.h bring their own context for a probe, in place of the worker's.
foreach(source IN LISTS UNIT_SOURCES)
	get_filename_component(name ${source} NAME_WE)
	file(STRINGS ${source} fake REGEX "include \"probe_fake\\.h\"")
	if(fake)
		target_sources(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/probe_fake.c)
	endif()
endforeach()
