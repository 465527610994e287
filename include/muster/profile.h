/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - how much a run measures; implemented by src/model/run.c */
#ifndef MUSTER_PROFILE_H
#define MUSTER_PROFILE_H

/* How much a run measures. */
enum muster_profile { MUSTER_QUICK = 0, MUSTER_STANDARD, MUSTER_FULL, MUSTER_PROFILE_COUNT };
extern const char *const muster_profile_names[MUSTER_PROFILE_COUNT]; /* "quick", "standard", "full" */

/* What a run measures only when the user or the profile asks for it. */
enum muster_measure {
	MUSTER_MEASURE_STORAGE = 0, /* the path from the disk to the GPU */
	MUSTER_MEASURE_CHECKPOINT,  /* all ranks write to a shared folder */
	MUSTER_MEASURE_BROADCAST,   /* one reader for all nodes */
	MUSTER_MEASURE_PATHS,       /* files and folders that must be there */
	MUSTER_MEASURE_COUNT
};
extern const char *const muster_measure_names[MUSTER_MEASURE_COUNT]; /* "storage", "checkpoint"... */

#endif
