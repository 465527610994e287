# SPDX-License-Identifier: Apache-2.0
# stage.cmake - run by cpack when all files are in their place: what only packages have
cmake_policy(VERSION 3.22)
file(GLOB manuals ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/usr/share/man/man1/*.1)
foreach(manual IN LISTS manuals)
	execute_process(COMMAND gzip -9nf ${manual} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT CPACK_GENERATOR STREQUAL "DEB")
	return()
endif()

# Debian's zsh looks elsewhere.
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/muster/usr/share)
file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)

# Debian's copyright file and changelog, in the folder of each package. The changelog has what docs/changelog.md says of the
# newest release, with the time of the commit.
file(REMOVE ${share}/doc/muster/LICENSE)
if(CPACK_MUSTER_SECONDS)
	set(ENV{SOURCE_DATE_EPOCH} ${CPACK_MUSTER_SECONDS})
endif()
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
string(TIMESTAMP year "%Y" UTC)
execute_process(COMMAND awk [[/^## / { if (n++) exit; next } n && NF { sub(/^  /, "    "); sub(/^- /, "  * "); print }]]
	${CPACK_MUSTER_SOURCE}/../../docs/changelog.md OUTPUT_VARIABLE changes COMMAND_ERROR_IS_FATAL ANY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
	string(TOUPPER ${component} name)
	set(package ${CPACK_DEBIAN_${name}_PACKAGE_NAME})
	set(folder ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share/doc/${package})
	configure_file(${CPACK_MUSTER_SOURCE}/copyright.in ${folder}/copyright @ONLY)
	file(WRITE ${folder}/changelog "${package} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
		"${changes}\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
	execute_process(COMMAND gzip -9nf ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)
	file(CHMOD_RECURSE ${folder} FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
		DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
