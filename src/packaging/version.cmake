# SPDX-License-Identifier: Apache-2.0
# version.cmake - write the C file that says which muster this is: the release, and the commit that it was built from
#
# usage: cmake -DSOURCE=FOLDER -DRELEASE=0.2.0 -DHASH=HASH -DOUTPUT=FILE.c -P version.cmake
#
# 0.2.0+g1a2b3c4d is commit 1a2b3c4d; with .dirty behind, there were changes that are not committed; where no commit is
# known, the release stands alone. HASH, if it is not empty, is taken as it is. Else the commit is the one that
# `git archive` wrote into src/packaging/commit, or the one that git says; a git repository of a folder above is not
# asked. The comment in the file is the time of the commit, for packages, whose versions must grow. The file is written
# only when its text is another one than before.
cmake_policy(VERSION 3.22)
set(hash "${HASH}")
file(STRINGS ${SOURCE}/src/packaging/commit archived)
if(hash STREQUAL "" AND archived MATCHES "^([0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f])[0-9a-f]* ([0-9]+)$")
	set(hash ${CMAKE_MATCH_1})
	set(seconds ${CMAKE_MATCH_2})
elseif(hash STREQUAL "" AND EXISTS ${SOURCE}/.git)
	set(git git --no-optional-locks -C ${SOURCE})
	execute_process(COMMAND ${git} describe --always --exclude=* --abbrev=8 --dirty=.dirty
		OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
	execute_process(COMMAND ${git} log -1 --format=%ct OUTPUT_VARIABLE seconds OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(version ${RELEASE})
if(NOT hash STREQUAL "")
	string(APPEND version +g${hash})
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
/* committed @seconds@ */
#include "util/version.h"

const char muster_version[] = "@version@";
]] @ONLY)
