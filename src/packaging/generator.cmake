# SPDX-License-Identifier: Apache-2.0
# generator.cmake - read by cpack for each kind of package before it starts: its version and the dependencies of a .deb
#
# The version is that of the program, with the time of its commit (in UTC) before the commit, because the version of a
# newer package must be the greater one: 0.2.0+20261129122643.g1a2b3c4d.
#
# dpkg-shlibdeps finds them in what was built. MPI is recommended only: without it everything but `muster run` works, and
# a GPU image often has an Open MPI that no package of the system brought.
cmake_policy(VERSION 3.22)
file(STRINGS ${CPACK_MUSTER_BUILD}/generated/version.c text REGEX "muster_version|committed")
string(REGEX MATCH "committed ([0-9]*)" text_of_time "${text}")
set(CPACK_MUSTER_SECONDS ${CMAKE_MATCH_1})
string(REGEX MATCH "= \"([0-9.]+)([+]?)([^\"]*)\"" text_of_version "${text}")
set(release ${CMAKE_MATCH_1})
set(CPACK_PACKAGE_VERSION ${release}${CMAKE_MATCH_2})
set(commit ${CMAKE_MATCH_3})
if(CPACK_MUSTER_SECONDS)
	set(ENV{SOURCE_DATE_EPOCH} ${CPACK_MUSTER_SECONDS}) # the time that string(TIMESTAMP) takes
	string(TIMESTAMP time "%Y%m%d%H%M%S." UTC)
endif()
string(APPEND CPACK_PACKAGE_VERSION ${time}${commit})

# Names of the files have the release alone, so that what installs them needs no new name for each commit.
execute_process(COMMAND dpkg --print-architecture OUTPUT_VARIABLE architecture_DEB OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(architecture_RPM ${CPACK_MUSTER_PROCESSOR})
set(common_DEB all)
set(common_RPM noarch)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
	string(REPLACE muster-muster muster package muster-${component})
	set(architecture ${architecture_${CPACK_GENERATOR}})
	if(component STREQUAL "doc")
		set(architecture ${common_${CPACK_GENERATOR}})
	endif()
	string(TOUPPER ${component} name)
	set(CPACK_DEBIAN_${name}_FILE_NAME ${package}_${release}_${architecture}.deb)
	set(CPACK_RPM_${name}_FILE_NAME ${package}-${release}-1.${architecture}.rpm)
endforeach()
foreach(name SIM SPANK)
	set(CPACK_RPM_${name}_PACKAGE_REQUIRES "muster = ${CPACK_PACKAGE_VERSION}")
endforeach()
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
