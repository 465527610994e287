/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h - a ring of few nodes, and how it ended; implemented by src/model/run.c */
#ifndef MUSTER_TRIAL_H
#define MUSTER_TRIAL_H

#include <stddef.h>

/* A ring of few nodes, tried to find out what breaks or slows the ring of all. */
enum muster_trial_kind {
	MUSTER_TRIAL_ALONE = 0, /* one node */
	MUSTER_TRIAL_PAIR,
	MUSTER_TRIAL_GROUP, /* more than two */
	MUSTER_TRIAL_REST,  /* no trial: the full ring of all nodes that are left when the others are suspected */
	MUSTER_TRIAL_KIND_COUNT
};

enum muster_trial_status {
	MUSTER_TRIAL_FAILED = 0,
	MUSTER_TRIAL_OK,
	MUSTER_TRIAL_LATE, /* its time ran out, and nothing else is known: whether that is a failure depends on the time
			    */
	MUSTER_TRIAL_STATUS_COUNT
};

struct muster_trial {
	const char *probe;
	enum muster_trial_kind kind;
	const char **nodes;
	size_t node_count;
	enum muster_trial_status status;
	double bytes;      /* of the message; 0: not known */
	double busbw_gbps; /* of a message of this size; 0: not known */
	const char *why;   /* it did not end well; NULL when ok */
	double seconds;    /* until it ended; of a late one, the time that it had */
};

extern const char *const muster_trial_kind_names[MUSTER_TRIAL_KIND_COUNT];     /* "alone", "pair", "group" */
extern const char *const muster_trial_status_names[MUSTER_TRIAL_STATUS_COUNT]; /* "failed", "ok", "late" */

#endif
