/* kernel_tally.h - the events of a kernel log, counted: one entry for each distinct event; pure
 *
 * Lines may come in either order of time, each read of a log in one. What is kept is bounded, whatever the log holds.
 */
#ifndef MUSTER_SYSTEM_KERNEL_TALLY_H
#define MUSTER_SYSTEM_KERNEL_TALLY_H

#include "system/kernel_event.h"

#include <stddef.h>

enum {
	MUSTER_KERNEL_SEEN_MAX = 64,     /* entries of each group */
	MUSTER_KERNEL_LINKS_MAX = 64,    /* network links with one half of a flap */
	MUSTER_KERNEL_LINE_MAX = 240,    /* bytes kept of a line */
	MUSTER_KERNEL_TRAINING_S = 1800, /* since boot: links that come and go are no flaps yet */
};

enum muster_kernel_group { MUSTER_KERNEL_XIDS = 0, MUSTER_KERNEL_SXIDS, MUSTER_KERNEL_OTHERS, MUSTER_KERNEL_GROUPS };

struct muster_kernel_seen {
	struct muster_kernel_event event;
	bool during;   /* the run */
	bool told;     /* for the user of the tally; false at first */
	double newest; /* seconds since boot, of the newest line */
	unsigned long count;
	char line[MUSTER_KERNEL_LINE_MAX + 1]; /* the newest; of one event's lines the one that tells it */
	double last;                           /* of the line that was read last */
	bool last_follows;
};

struct muster_kernel_half { /* of a flap: the one that was read first */
	char device[sizeof((struct muster_kernel_event *)0)->device];
	double at;
	bool open, during;
	char line[MUSTER_KERNEL_LINE_MAX + 1];
};

struct muster_kernel_tally {
	struct muster_kernel_seen seen[MUSTER_KERNEL_GROUPS][MUSTER_KERNEL_SEEN_MAX];
	size_t count[MUSTER_KERNEL_GROUPS];
	unsigned long left_out; /* events that found no room, or made room for newer ones or other kinds */
	double gpus_since;      /* seconds since boot: what the NVIDIA driver said before is over */
	struct muster_kernel_half halves[MUSTER_KERNEL_LINKS_MAX];
	size_t half_count;
	bool backwards; /* the line before this one came so */
};

/* A line that is younger than the one before, or with `backwards` older. seconds: since boot. All zeros is an empty
 * tally. */
void muster_kernel_tally_add(
	struct muster_kernel_tally *tally, const char *text, double seconds, bool during, bool backwards);

#endif
