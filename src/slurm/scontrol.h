/* scontrol.h - the state of Slurm's nodes, read and changed through its scontrol program */
#ifndef MUSTER_SLURM_SCONTROL_H
#define MUSTER_SLURM_SCONTROL_H

#include "muster/error.h"

#include <stdbool.h>

enum { MUSTER_SLURM_STATE_MAX = 128, MUSTER_SLURM_REASON_MAX = 1024 };

struct muster_slurm_node {
	char state[MUSTER_SLURM_STATE_MAX];   /* "IDLE+DRAIN" */
	char reason[MUSTER_SLURM_REASON_MAX]; /* of a node out of service; without who gave it and when; "": none */
	bool drained;                         /* or draining: no new job begins on it */
};

/* From what `scontrol show node NAME -o` prints. Code MUSTER_EPROTOCOL when that is no node. */
int muster_slurm_node_parse(const char *text, struct muster_slurm_node *ret, struct muster_error *err);

/* Ask scontrol. err tells what is wrong with it: not there, silent, its own words, or that the name is not that of one
 * node: a set of nodes has a name too. */
int muster_slurm_node_show(const char *name, int deadline_ms, struct muster_slurm_node *ret, struct muster_error *err);

/* `scontrol update NodeName=NAME State=STATE Reason=REASON`; reason is NULL or without quotes. */
int muster_slurm_node_update(
	const char *name, const char *state, const char *reason, int deadline_ms, struct muster_error *err);

/* Letters, digits, '.', '_' and '-', which is not the first, and not "ALL": a name that can be no option and no list of
 * names. */
bool muster_slurm_name_is_plain(const char *name);

#endif
