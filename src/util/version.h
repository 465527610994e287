/* SPDX-License-Identifier: Apache-2.0 */
/* version.h - which muster this is; src/packaging/version.cmake writes the C file in each build */
#ifndef MUSTER_UTIL_VERSION_H
#define MUSTER_UTIL_VERSION_H

/* "0.2.0+g1a2b3c4d": release and commit; ".dirty" behind: changes that are not committed. The release alone where the
 * commit is not known. */
extern const char muster_version[];

#endif
