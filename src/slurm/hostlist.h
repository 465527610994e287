/* SPDX-License-Identifier: Apache-2.0 */
/* hostlist.h - lists of host names as Slurm writes them: "gpu-[1-3,7],rack[1-2]-node[01-10]"
 *
 * A bracket holds numbers and ranges of them; the first number's leading zeros hold for its whole range. Several
 * brackets in one name give every combination, and the number of the last bracket changes fastest. Commas and white
 * space separate names, which have letters, digits and . _ - only, and # for a further host of one name (gpu-1#2).
 */
#ifndef MUSTER_SLURM_HOSTLIST_H
#define MUSTER_SLURM_HOSTLIST_H

#include "muster/error.h"
#include "muster/arena.h"

#include <stddef.h>

enum { MUSTER_HOSTS_MAX = 65536, MUSTER_HOST_NAME_MAX = 255 };

/* All names in the list's order, repeated ones too. Code MUSTER_EUSAGE for what is no list, or more than
 * MUSTER_HOSTS_MAX names. The names and the array live in arena. */
int muster_hostlist_expand(const char *text, struct muster_arena *arena, const char *const **ret, size_t *ret_count,
	struct muster_error *err);

/* A list of these names with at most one bracket in a name: sorted, each once; malloc'd. "" for none. */
char *muster_hostlist_compress(const char *const *names, size_t count);

/* Sort the names in place as such a list has them, gpu-9 before gpu-10, each once. Returns how many remain. */
size_t muster_hostlist_sort(const char **names, size_t count);

#endif
