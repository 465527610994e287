/* SPDX-License-Identifier: Apache-2.0 */
/* drain.h - why a node is drained, as Slurm keeps it
 *
 * "muster: replace-node: copy.h2d GPU 4 000b:00:00.0: 11.2 GB/s; expected at least 21 GB/s; and 2 more". A script that
 * drains nodes has a reason of its own, "muster(health): ...", so that the script undrains no node that a person
 * drained.
 */
#ifndef MUSTER_SLURM_DRAIN_H
#define MUSTER_SLURM_DRAIN_H

#include "muster/error.h"
#include "muster/evaluate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum muster_drained_by { /* who drained a node with muster */
	MUSTER_DRAINED_BY_PERSON = 0,
	MUSTER_DRAINED_BY_HEALTH,
	MUSTER_DRAINED_BY_PROLOG,
	MUSTER_DRAINED_BY_EPILOG,
	MUSTER_DRAINED_BY_COUNT
};
extern const char *const muster_drained_by_names[MUSTER_DRAINED_BY_COUNT]; /* "person", "health", ... */

/* Slurm itself sets no limit, but its database keeps a reason in a field of 255 bytes. */
enum { MUSTER_DRAIN_REASON_MAX = 255 };

/* The reason, cut at a word. action_code: of the node; NULL and "none" are left out. faults: how many findings there
 * are, this one included. Printable ASCII, and nothing in it that a shell or scontrol takes for more than text: quotes,
 * backslashes, backquotes and dollars are left out, and what is not ASCII becomes "?". */
void muster_drain_reason_write(enum muster_drained_by by, const char *action_code, const struct muster_finding *finding,
	size_t faults, char out[MUSTER_DRAIN_REASON_MAX + 1]);

/* What a reason says. */
struct muster_drain_reason {
	enum muster_drained_by by;
	const char *action_code;                 /* one of muster_action_codes, or NULL */
	char check[MUSTER_DRAIN_REASON_MAX + 1]; /* "copy.h2d" */
	char part[MUSTER_DRAIN_REASON_MAX + 1];  /* the GPU or the port, "000b:00:00.0"; "" when the reason has none */
	char observed[MUSTER_DRAIN_REASON_MAX + 1]; /* what follows, "11.2 GB/s; expected at least 21 GB/s" */
	int64_t since;                              /* when it was given, as Slurm says; 0: not known */
};

/* False when muster did not write it. */
bool muster_drain_reason_read(const char *reason, struct muster_drain_reason *ret);

/* ---- how many nodes of a partition muster has drained, and whether these are too many ---- */

/* "8", or "10%" of each partition that the node is in, but at least one node. */
struct muster_drained_most {
	bool is_set, is_share;
	int number;
};

/* Read "12" (nodes) or "10%" (of the nodes of a partition) into the struct muster_drained_most at ret, which stays as
 * it is after an error. The `each` of an option. */
int muster_drained_most_parse(void *ret, const char *text, struct muster_error *err);

struct muster_drained_limits {
	struct muster_drained_most at_most, per_hour; /* in all, and within an hour */
	int per_rack;                                 /* within an hour, of nodes under one switch or in one block */
	char *topology; /* what `scontrol show topology` prints, malloc'd; NULL: not known yet */
};

/* Whether one node more may be drained (already: the node is one of them now, and may stay). 0, or -1 with err: code
 * MUSTER_EUSAGE when there are too many, in any partition of the node; another code when text tells nothing of the
 * node. text: a line for each node in each partition, "NODE|PARTITION|STATE|TIME|REASON", with the local time of the
 * reason. rack: names of the nodes of this node's rack; count 0: not known. now: seconds since 1970. */
int muster_drained_nodes_check(const char *text, const char *node, bool already,
	const struct muster_drained_limits *limits, const char *const *rack, size_t rack_count, int64_t now,
	struct muster_error *err);

/* The nodes of the lowest switch, or of the block, that has the node, from what `scontrol show topology` prints; none
 * when it has none. The names live in arena. */
void muster_rack_read(
	const char *text, const char *node, struct muster_arena *arena, const char *const **ret, size_t *ret_count);

/* The same check; the text is that of sinfo, and the rack that of scontrol, which is asked until it answers: the caller
 * frees limits->topology. */
int muster_slurm_drained_nodes_check(const char *node, bool already, struct muster_drained_limits *limits,
	int deadline_ms, struct muster_error *err);

/* ---- whether a report proves that the fault for which a node was drained is gone ----
 *
 * Pure: only from the report and the reason.
 */

/* True when the check that the reason names was evaluated on the node and passed there. False with a sentence in err
 * when the check failed, or when this run could not or did not evaluate it: a fault that only several nodes together
 * show is not gone when one of them passes alone. */
bool muster_fault_is_gone(const struct muster_report *report, const char *node,
	const struct muster_drain_reason *reason, struct muster_error *err);

#endif
