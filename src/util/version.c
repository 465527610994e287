/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - the release alone, for tests, whose expected texts no commit changes; a program is linked with the file
 * that src/packaging/version.cmake writes, which comes before this one
 */
#include "util/version.h"

const char muster_version[] = MUSTER_VERSION;
