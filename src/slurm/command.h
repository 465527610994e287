/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - Slurm's own commands: run one, read and change the state of a node, list the nodes of a job */
#ifndef MUSTER_SLURM_COMMAND_H
#define MUSTER_SLURM_COMMAND_H

#include "util/child.h"
#include "muster/arena.h"
#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* argv[0] is looked up in PATH. -1 with err when the command cannot be run, does not respond within deadline_ms,
 * exits with another code than 0 (its last line is then the error), or prints more than is kept. After 0 the caller
 * releases ret with muster_child_output_done. */
int muster_slurm_command_run(
	const char *const *argv, int deadline_ms, struct muster_child_output *ret, struct muster_error *err);

enum { MUSTER_SLURM_STATE_MAX = 128, MUSTER_SLURM_REASON_MAX = 1024 };

struct muster_slurm_node {
	char state[MUSTER_SLURM_STATE_MAX];   /* "IDLE+DRAIN" */
	char reason[MUSTER_SLURM_REASON_MAX]; /* of a node out of service; without who gave it and when; "": none */
	int64_t since;                        /* when the reason was given; 0: not known */
	bool drained;                         /* or draining: no new job begins on it */
	bool held; /* and would not be in service without the drain: down, failing, in maintenance, about to reboot */
};

/* From what `scontrol show node NAME -o` prints. Code MUSTER_EPROTOCOL when that is no node. */
int muster_slurm_node_parse(const char *text, struct muster_slurm_node *ret, struct muster_error *err);

/* A local time as Slurm prints it, "2026-11-29T12:00:00"; `unknown` for what is none. */
int64_t muster_slurm_time_read(const char *text, int64_t unknown);

/* Ask scontrol. err tells what is wrong with it: not there, silent, its own words, or that the name is not that of one
 * node: a set of nodes has a name too. */
int muster_slurm_node_show(const char *name, int deadline_ms, struct muster_slurm_node *ret, struct muster_error *err);

/* `scontrol update NodeName=NAME State=STATE Reason=REASON`; reason is NULL or without quotes. */
int muster_slurm_node_update(
	const char *name, const char *state, const char *reason, int deadline_ms, struct muster_error *err);

/* Letters, digits, '.', '_' and '-', which is not the first, and not "ALL": a name that can be no option and no list of
 * names. */
bool muster_slurm_name_is_plain(const char *name);

/* Ask squeue, and sacct for a job that slurmctld has forgotten. The names live in arena. -1 with err when the job is
 * not known to them, when it is not one job's number, or when it is just ending: squeue then lists only some of its
 * nodes. */
int muster_slurm_job_nodes(const char *job, int deadline_ms, struct muster_arena *arena, const char *const **ret,
	size_t *ret_count, struct muster_error *err);

#endif
