/* SPDX-License-Identifier: Apache-2.0 */
/* cpuset.h - the texts of CPU sets; the sets are hwloc's bitmaps
 *
 * Texts from outside are taken up to MUSTER_CPUS_MAX CPUs, so that no text makes a set of any size.
 */
#ifndef MUSTER_UTIL_CPUSET_H
#define MUSTER_UTIL_CPUSET_H

#include "muster/error.h"

#include <hwloc.h>

#define MUSTER_CPUS_MAX 4096

/* A new set, to be freed with hwloc_bitmap_free, or NULL with err (MUSTER_EUSAGE).
 * A mask as srun's mask_cpu spells it: hex, without 0x or with. */
hwloc_bitmap_t muster_cpuset_parse_mask(const char *text, struct muster_error *err);
/* A list as the kernel prints it: "0-3,8"; "" is the empty set. */
hwloc_bitmap_t muster_cpuset_parse_list(const char *text, struct muster_error *err);
/* A mask as sysfs and NCCL's topology files have it: words of 32 bits in hex, highest first, separated by commas. */
hwloc_bitmap_t muster_cpuset_parse_words(const char *text, struct muster_error *err);

/* "ffffff000000" and "24-47"; malloc'd, the caller frees. An empty set gives "0" and "". */
char *muster_cpuset_mask(hwloc_const_bitmap_t set);
char *muster_cpuset_list(hwloc_const_bitmap_t set);

/* -1 with err (MUSTER_EIO) for an infinite set, or one with a CPU from MUSTER_CPUS_MAX on. */
int muster_cpuset_check(hwloc_const_bitmap_t set, struct muster_error *err);

#endif
