/* SPDX-License-Identifier: Apache-2.0 */
/* node_changes.h - what `muster drain` and `muster resume` share: they change the state of nodes in Slurm
 *
 * Without --apply the commands are printed, quoted for a shell, and skipped nodes as comments. A command is printed
 * only for a node that Slurm knows by exactly this name; with --apply only after it was run. A node that someone else
 * drained, or whose reason muster did not write, is never changed.
 *
 * Read, in this order: the owner of the report and the report; the nodes of its job (squeue or sacct); first strikes
 * and first passes (strikes.h) from muster-strikes.json in the report's folder, or with --history from the database;
 * and for each node its state (scontrol), and before a drain the drained nodes of its partitions (sinfo). Written, with
 * --apply: the state of one node after the other (scontrol update), and last the strikes, as a temporary file that
 * takes the place of the old one. The database is only read.
 *
 * If the command ends in between, nodes are changed and the strikes are as before. The next run finds the nodes drained
 * by muster, or in service, and leaves them; a strike or a pass that was not written must be seen once more, so that a
 * node is drained or given back later, never earlier. Two commands at a time could lose each other's strikes: the
 * scripts of slurm/ hold the lock of their folder meanwhile.
 *
 * A node is drained before the limits are checked again, and undrained if that shows that another command drained
 * nodes meanwhile.
 */
#ifndef MUSTER_CLI_NODE_CHANGES_H
#define MUSTER_CLI_NODE_CHANGES_H

#include "history/past.h"
#include "slurm/node_selection.h"
#include "slurm/command.h"

enum { MUSTER_BY_UNSET = -1 };

struct muster_node_changes {
	const char *input;
	bool apply, simulated, trust;
	int by;         /* an enum muster_drained_by, or MUSTER_BY_UNSET */
	int limit;      /* -1: half of the report's nodes */
	int deadline_s; /* of each call of a Slurm command */
	struct muster_drained_limits limits;
	int64_t at;     /* when the report's run began */
	const char *db; /* a history, which has the strikes; NULL: they are in the file beside the report */
	struct muster_history *history;
	struct muster_past past; /* the runs of the report's nodes before `at`, as long as strikes are kept */
	struct muster_strikes strikes;
	/* how it went, over all nodes */
	size_t failed;
	bool changed;   /* a node, or without --apply a command is printed for one */
	bool is_silent; /* scontrol is not there or does not respond: no more is asked of it */
};

/* Of struct muster_option: the options of both commands. */
#define MUSTER_NODE_CHANGE_OPTIONS(o)                                                                                  \
	{ "--apply", NULL, "run the commands; without this option they are only printed", .flag = &(o)->apply },       \
		{ "--history", "FILE",                                                                                 \
			"take first strikes and first passes from the runs in this database (muster history), and "    \
			"not from the file beside REPORT",                                                             \
			.text = &(o)->db },                                                                            \
		{ "--trust", NULL, "apply a report that another user owns or all can write", .flag = &(o)->trust },    \
		{ "--simulated", NULL, "apply a simulated report too: only on a test cluster",                         \
			.flag = &(o)->simulated },                                                                     \
	{                                                                                                              \
		"--deadline", "SECONDS", "for each call of a Slurm command (default 20)",                              \
			.number = &(o)->deadline_s, .low = 1, .high = 86400, .is_time = true                           \
	}

#define MUSTER_NODE_CHANGE_EXITS                                                                                       \
	"Exit codes: 0 done, printed, or nothing to do; 2 usage, no readable report, or a report that is refused; 3 "  \
	"a node's state could not be read or changed"

/* Print "# gpu-1: skipped: ..."; state is what Slurm says of the node, or NULL. */
void muster_node_skip(const char *node, const char *why, const struct muster_slurm_node *state);

/* Print "muster: gpu-1: ..." on stderr, and count it. */
void muster_node_complain(struct muster_node_changes *o, const char *node, const struct muster_error *err);

/* What Slurm says of the node; false, and all is said, when this is not known. */
bool muster_node_ask(struct muster_node_changes *o, const char *node, struct muster_slurm_node *ret);

/* Print and, with --apply, run the command. False when it failed, and all is said. */
bool muster_node_change(struct muster_node_changes *o, const char *node, const char *state, const char *reason);

/* left: nodes that --apply did not reach because scontrol is silent. Returns the exit code. */
int muster_node_changes_end(const struct muster_node_changes *o, size_t left);

/* -1 with err when a name can be none of a node. */
int muster_node_check_names(const char *const *names, size_t count, struct muster_error *err);

/* Call act() with the nodes of the report o->input. Refused are: with --apply a simulated report without --simulated
 * and a report of another user without --trust, and always a report with nodes that its job did not have. Returns the
 * exit code. */
int muster_node_changes_by_report(
	struct muster_node_changes *o, int (*act)(struct muster_node_changes *o, const struct muster_report *report,
					       const struct muster_node_selection *nodes, struct muster_error *err));

#endif
