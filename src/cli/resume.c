/* SPDX-License-Identifier: Apache-2.0 */
/* resume.c - `muster resume`: undrain nodes that muster drained
 *
 * With a list of nodes, a person decides: each node that muster drained is undrained. With a report, each good node of
 * it is looked at, and is undrained only when the report proves that the fault of its drain reason is gone.
 * resume_one() has the rules; the first that fits decides:
 *
 *    not drained                                     skipped
 *    the reason is not one of muster                 skipped: drained by someone else
 *    --by, and the reason is by another              skipped
 *    down, in maintenance or about to reboot         skipped
 *    report: the check of the reason does not pass   skipped, with the cause (muster_fault_is_gone)
 *    report: a soft fault that passed only once      skipped; the pass is kept (strikes.h)
 *    all others                                      undrained: State=RESUME would also end a DOWN or a reboot
 */
#include "cli/cli.h"
#include "cli/node_changes.h"
#include "expect/load.h"
#include "muster/report.h"
#include "slurm/drain.h"
#include "slurm/hostlist.h"

#include <stdlib.h>

static bool begin(int argc, char **argv, struct muster_node_changes *o, int *ret_code)
{
	const struct muster_option options[] = {
		MUSTER_NODE_CHANGE_OPTIONS(o),
		{ "--by", "NAME", "only nodes that were drained with --by NAME: person, health, prolog, epilog",
			MUSTER_CLI_CHOICE(&o->by, muster_drained_by_names) },
	};
	struct muster_cli cli = {
		.usage = "muster resume REPORT|NODES [--apply] [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "REPORT is a path with a / or a name that ends in .json; everything else is a list of "
			    "nodes.\n" MUSTER_NODE_CHANGE_EXITS ".\n",
		.needed = "no report and no nodes given: muster resume REPORT, or muster resume NODES",
		MUSTER_CLI_OPERANDS(&o->input, 1),
	};
	return muster_cli_begin(&cli, argc, argv, NULL, ret_code);
}

/* Whether one pass proves that the fault is gone: the check of the reason is hard in this report. A reason that names
 * no check, such as a probe that hung or a rank that was missing, is not hard, because one good run does not prove that
 * the next one is good, too. */
static bool is_hard(const struct muster_report *report, const char *check)
{
	const struct muster_tally *tally = muster_report_tally(report, check);
	return tally && tally->proof == MUSTER_PROOF_HARD;
}

/* Whether the fault, which is gone in this run, was gone in a run at least ten minutes before, too: by the file of
 * strikes, or with --history by the runs in the database that began after the drain. Without an earlier pass, this one
 * becomes the first; --apply writes it to the file. */
static bool has_passed(struct muster_node_changes *o, const char *name, const struct muster_drain_reason *reason)
{
	if (!o->db)
		return muster_strikes_passed(&o->strikes, name, reason, o->at);
	int64_t since = muster_past_gone_since(&o->past, name, reason->check, reason->since);
	return since != MUSTER_HISTORY_NEVER && o->at - since >= MUSTER_RETURN_GAP_S;
}

/* report: NULL when a person named the nodes. */
static void resume_one(struct muster_node_changes *o, const struct muster_report *report, const char *name)
{
	struct muster_drain_reason reason;
	struct muster_slurm_node node;
	struct muster_error err;
	if (!muster_node_ask(o, name, &node))
		return;
	bool is_ours = muster_drain_reason_read(node.reason, &reason);
	reason.since = node.since;
	if (!node.drained) {
		muster_node_skip(name, "not drained", &node);
	} else if (!is_ours) {
		muster_node_skip(name, "skipped: drained by someone else", &node);
	} else if (o->by != MUSTER_BY_UNSET && reason.by != (enum muster_drained_by)o->by) {
		muster_node_skip(name, "skipped: muster drained it for someone else", &node);
	} else if (node.held) {
		muster_node_skip(name, "skipped: Slurm has more to do there than to undrain it", &node);
	} else if (report && !muster_fault_is_gone(report, name, &reason, &err)) {
		muster_wrap(&err, "skipped");
		muster_node_skip(name, err.text, &node);
	} else if (report && !is_hard(report, reason.check) && !has_passed(o, name, &reason)) {
		muster_node_skip(name,
			"skipped: passed once; a run at least ten minutes later that passes too gives it back", &node);
	} else {
		muster_node_change(o, name, "UNDRAIN", NULL);
	}
}

/* Undrain the nodes that may be undrained, until Slurm does not answer. No node is changed when one of the names is
 * none of a node. report: NULL for a list that a person gave. Returns the exit code. */
static int resume_names(struct muster_node_changes *o, const struct muster_report *report, const char *const *names,
	size_t count, struct muster_error *err)
{
	size_t i = 0;
	if (muster_node_check_names(names, count, err) < 0)
		return muster_cli_usage(err);
	for (; i < count && !o->is_silent; i++)
		resume_one(o, report, names[i]);
	return muster_node_changes_end(o, count - i);
}

/* The act() of muster_node_changes_by_report, for the good nodes of the report. Strikes are forgotten as by a drain. */
static int resume_nodes(struct muster_node_changes *o, const struct muster_report *report,
	const struct muster_node_selection *nodes, struct muster_error *err)
{
	const char **names = muster_calloc(nodes->count + 1, sizeof *names);
	size_t count = 0;
	muster_strikes_forgive(&o->strikes, muster_strike_is_gone, report, o->at);
	for (size_t i = 0; i < nodes->count; i++)
		if (nodes->entries[i].standing == MUSTER_STANDING_GOOD)
			names[count++] = nodes->entries[i].name;
	int code = resume_names(o, report, names, count, err);
	free(names);
	return code;
}

int muster_cmd_resume(int argc, char **argv)
{
	struct muster_node_changes o = { .deadline_s = 20, .by = MUSTER_BY_UNSET };
	const char *const *names;
	struct muster_error err;
	size_t count;
	int code;
	if (!begin(argc, argv, &o, &code))
		return code;
	if (muster_expect_is_path(o.input))
		return muster_node_changes_by_report(&o, resume_nodes);
	struct muster_arena *arena = muster_arena_new();
	if (muster_hostlist_expand(o.input, arena, &names, &count, &err) < 0)
		code = muster_cli_usage(&err);
	else
		code = resume_names(&o, NULL, names, count, &err);
	muster_arena_free(arena);
	return code;
}
