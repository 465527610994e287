# SPDX-License-Identifier: Apache-2.0
# packages.cmake - what `cpack -G DEB` and `cpack -G RPM` make: muster, muster-sim, muster-doc, and muster-spank for one
# version of Slurm
#
# All install below /usr. generator.cmake finds the dependencies of a .deb when cpack starts, stage.cmake adds what only
# packages have when all files are in their place.

# Settings of the Slurm scripts. They read one file, wherever muster is, so only packages bring it.
install(FILES ${CMAKE_SOURCE_DIR}/slurm/muster.default DESTINATION /etc/default RENAME muster COMPONENT muster EXCLUDE_FROM_ALL)

# An address that no domain can have: whoever publishes packages names the own one.
set(MUSTER_PACKAGE_CONTACT "Muster developers <noreply@muster.invalid>" CACHE STRING "Maintainer named in packages")
set(CPACK_PACKAGE_NAME muster)
set(CPACK_PACKAGE_VENDOR Muster)
set(CPACK_PACKAGE_CONTACT ${MUSTER_PACKAGE_CONTACT})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "preflight check of a GPU cluster under Slurm or MPI")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
	WORLD_READ WORLD_EXECUTE)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/generator.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/stage.cmake)
set(CPACK_COMPONENTS_ALL muster sim doc)
set(CPACK_COMPONENT_MUSTER_DESCRIPTION
	"Muster measures every GPU, its CPU binding, every RDMA port and the NCCL
all-reduce of the nodes of a job, compares the results with the expected
values of the machine type, and prints PASS, FAIL or INCONCLUSIVE, the nodes
to exclude and what to do. CUDA, NVML, NCCL and libibverbs are opened at run
time.")
set(CPACK_COMPONENT_SIM_DESCRIPTION
	"The simulator of muster runs the complete muster on simulated nodes, without
any GPU, and shows what a report says of a fault: muster sim. With it come
stand-ins for CUDA, NVML, NCCL and libibverbs, in a folder of their own.")
set(CPACK_COMPONENT_DOC_DESCRIPTION
	"The documents of muster: how to install and operate it, what each check means
and what to do when it fails, and examples of reports, dashboards and alerts.")
set(CPACK_MUSTER_PROCESSOR ${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_MUSTER_BUILD ${CMAKE_BINARY_DIR})
set(CPACK_MUSTER_SIMULATOR ${CMAKE_INSTALL_LIBEXECDIR}/muster/muster-sim)
set(CPACK_MUSTER_SOURCE ${CMAKE_CURRENT_LIST_DIR})
set(CPACK_MUSTER_SQLITE ${SQLite3_FOUND})
set(CPACK_MUSTER_CURL ${CURL_FOUND})

# Slurm loads only plugins that were built for its own release, 22.05.* for example.
if(TARGET spank_muster AND EXISTS ${SLURM_INCLUDE}/slurm/slurm_version.h)
	list(APPEND CPACK_COMPONENTS_ALL spank)
	file(STRINGS ${SLURM_INCLUDE}/slurm/slurm_version.h slurm REGEX "define SLURM_VERSION_NUMBER 0x")
	string(REGEX REPLACE ".*0x(..)(..)..$" "\\1;\\2" slurm "${slurm}")
	list(TRANSFORM slurm PREPEND 0x)
	list(GET slurm 0 major)
	list(GET slurm 1 minor)
	math(EXPR major "${major}")
	math(EXPR minor "${minor}")
	math(EXPR next "${minor} + 1")
	foreach(number minor next)
		if(${number} LESS 10)
			set(${number} 0${${number}})
		endif()
	endforeach()
	set(slurm ${major}.${minor})
	set(CPACK_COMPONENT_SPANK_DESCRIPTION
		"The SPANK plugin of muster gives srun, sbatch and salloc the option
--muster: the nodes of a job are checked before its first task starts. This
package is for Slurm ${slurm}; one line of plugstack.conf enables it.")
endif()

# .deb
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_MUSTER_PACKAGE_NAME muster)
set(CPACK_DEBIAN_MUSTER_PACKAGE_RECOMMENDS muster-sim) # and what generator.cmake finds
set(CPACK_DEBIAN_MUSTER_PACKAGE_SUGGESTS "openmpi-bin, muster-spank, muster-doc")
set(CPACK_DEBIAN_MUSTER_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/conffiles ${CMAKE_CURRENT_LIST_DIR}/prerm
	${CMAKE_CURRENT_LIST_DIR}/postrm)
set(CPACK_DEBIAN_SIM_PACKAGE_NAME muster-sim)
set(CPACK_DEBIAN_SIM_PACKAGE_SUGGESTS openmpi-bin)
set(CPACK_DEBIAN_DOC_PACKAGE_NAME muster-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_SPANK_PACKAGE_NAME muster-spank)
# Debian's own packages of Slurm, and those of its makers. Neither is needed to unpack the plugin.
set(CPACK_DEBIAN_SPANK_PACKAGE_RECOMMENDS "slurm-client (>= ${slurm}) | slurm-smd-client (>= ${slurm})")
set(CPACK_DEBIAN_SPANK_PACKAGE_BREAKS "slurm-client (<< ${slurm}~), slurm-client (>= ${major}.${next}~),\
 slurm-smd-client (<< ${slurm}~), slurm-smd-client (>= ${major}.${next}~)")

# .rpm
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_MAIN_COMPONENT muster)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_GROUP System/Benchmark)
set(CPACK_RPM_MUSTER_PACKAGE_REQUIRES /bin/sh)
# These two are opened at run time.
if(SQLite3_FOUND)
	string(APPEND CPACK_RPM_MUSTER_PACKAGE_REQUIRES ", libsqlite3.so.0()(64bit)")
endif()
if(CURL_FOUND)
	string(APPEND CPACK_RPM_MUSTER_PACKAGE_REQUIRES ", libcurl.so.4()(64bit)")
endif()
# CPack has no setting for what an .rpm recommends: a line of the spec of its own.
string(APPEND CPACK_RPM_MUSTER_PACKAGE_REQUIRES "\nRecommends: muster-sim")
set(CPACK_RPM_MUSTER_PACKAGE_SUMMARY ${CPACK_PACKAGE_DESCRIPTION_SUMMARY})
set(CPACK_RPM_MUSTER_PRE_UNINSTALL_SCRIPT_FILE ${CMAKE_CURRENT_LIST_DIR}/prerm)
set(CPACK_PACKAGE_RELOCATABLE OFF)
set(CPACK_RPM_MUSTER_USER_FILELIST "%config(noreplace) /etc/default/muster")
set(CPACK_RPM_SIM_PACKAGE_NAME muster-sim)
set(CPACK_RPM_SIM_PACKAGE_SUMMARY "simulated GPU clusters for muster")
set(CPACK_RPM_DOC_PACKAGE_NAME muster-doc)
set(CPACK_RPM_DOC_PACKAGE_SUMMARY "documents and examples of muster")
set(CPACK_RPM_DOC_PACKAGE_ARCHITECTURE noarch)
set(CPACK_RPM_SPANK_PACKAGE_NAME muster-spank)
set(CPACK_RPM_SPANK_PACKAGE_SUMMARY "option --muster of srun, sbatch and salloc")
set(CPACK_RPM_SPANK_PACKAGE_CONFLICTS "slurm < ${slurm}, slurm >= ${major}.${next}")
# The stand-ins have the names of the vendors' libraries, which this package must never claim to provide. Where libmpi is,
# and what its package says of it, differs from system to system; `muster node` needs none.
set(CPACK_RPM_PACKAGE_AUTOPROV no)
set(CPACK_RPM_SPEC_MORE_DEFINE "%global __requires_exclude ^lib(mpi|open-rte|open-pal|pmix)\\\\.so")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /etc /etc/default /usr/libexec /usr/share/man /usr/share/man/man1
	/usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions)
include(CPack)
