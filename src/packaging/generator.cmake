# generator.cmake - read by cpack for each kind of package before it starts: the dependencies of a .deb
#
# dpkg-shlibdeps finds them in what was built. MPI is recommended only: without it everything but `muster run` works, and
# a GPU image often has an Open MPI that no package of the system brought.
cmake_policy(VERSION 3.22)
if(NOT CPACK_GENERATOR STREQUAL "DEB")
	return()
endif()

set(scratch ${CPACK_MUSTER_BUILD}/_CPack_Packages/dependencies)
file(WRITE ${scratch}/debian/control "Source: muster\n\nPackage: muster\nArchitecture: any\n")
file(GLOB mpi ${CPACK_MUSTER_BUILD}/lib/muster/mpi/*.so)
file(GLOB program ${CPACK_MUSTER_BUILD}/muster)
file(GLOB simulator ${CPACK_MUSTER_BUILD}/${CPACK_MUSTER_SIMULATOR} ${CPACK_MUSTER_BUILD}/lib/muster/sim/*)
if(NOT program)
	message(FATAL_ERROR "${CPACK_MUSTER_BUILD}: nothing is built yet: cmake --build ${CPACK_MUSTER_BUILD}")
endif()

# muster_fields(COMPONENT OPTIONS...): set the fields of the component's package
function(muster_fields component)
	execute_process(COMMAND dpkg-shlibdeps -O -xmuster --warnings=0 ${ARGN} WORKING_DIRECTORY ${scratch}
		OUTPUT_VARIABLE found ERROR_VARIABLE complaint RESULT_VARIABLE code)
	if(NOT code EQUAL 0)
		message(FATAL_ERROR "dpkg-shlibdeps (of the package dpkg-dev) cannot find the dependencies: ${complaint}")
	endif()
	foreach(field Depends Recommends)
		if("\n${found}" MATCHES "\nshlibs:${field}=([^\n]*)")
			string(TOUPPER ${field} name)
			string(JOIN ", " all ${CPACK_DEBIAN_${component}_PACKAGE_${name}} "${CMAKE_MATCH_1}")
			set(CPACK_DEBIAN_${component}_PACKAGE_${name} "${all}" PARENT_SCOPE)
		endif()
	endforeach()
endfunction()

muster_fields(MUSTER -dRecommends ${mpi} -dDepends ${program})
# These two are opened at run time, so dpkg-shlibdeps does not find them.
if(CPACK_MUSTER_SQLITE)
	string(APPEND CPACK_DEBIAN_MUSTER_PACKAGE_DEPENDS ", libsqlite3-0 (>= 3.34)")
endif()
if(CPACK_MUSTER_CURL)
	string(APPEND CPACK_DEBIAN_MUSTER_PACKAGE_DEPENDS ", libcurl4 (>= 7.68)")
endif()
muster_fields(SIM ${simulator})
string(PREPEND CPACK_DEBIAN_SIM_PACKAGE_DEPENDS "muster (= ${CPACK_PACKAGE_VERSION}), ")
if(spank IN_LIST CPACK_COMPONENTS_ALL)
	muster_fields(SPANK ${CPACK_MUSTER_BUILD}/lib/muster/spank_muster.so)
	string(PREPEND CPACK_DEBIAN_SPANK_PACKAGE_DEPENDS "muster (= ${CPACK_PACKAGE_VERSION}), ")
endif()
