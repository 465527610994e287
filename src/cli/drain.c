/* SPDX-License-Identifier: Apache-2.0 */
/* drain.c - `muster drain`: drain the nodes that failed
 *
 * muster_node_changes_by_report() (node_changes.c) reads the report and calls drain_nodes() with its nodes. In this
 * order:
 *
 *    1. forget the strikes whose check passes in this run
 *    2. find_proof(), for each node: the finding that drains it, if any
 *    3. check_limit(): if more nodes would be drained than --limit allows, no node is changed
 *    4. drain_one(), node after node: ask Slurm for its state, and drain it or say why not
 *    5. change(): check the limits of the partitions and the rack, drain, and check them again
 *
 * Steps 4 and 5 stop when Slurm does not answer; the nodes that are left are counted.
 *
 * Two kinds of limits are different. --limit is about this report: too many failed nodes mean a common cause, and the
 * command ends with 2 before any change. --at-most, --per-hour and --per-rack are about all drains of muster on the
 * cluster: a node beyond one of them stays in service, and the command goes on and ends with 3.
 */
#include "cli/cli.h"
#include "cli/node_changes.h"
#include "muster/report.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_MAX = 1000000 }; /* the largest number of an option; no cluster has so many nodes */

/* Read the command line into o, which has the defaults. False: *ret_code is the exit code. */
static bool begin(int argc, char **argv, struct muster_node_changes *o, int *ret_code)
{
	const struct muster_option options[] = {
		MUSTER_NODE_CHANGE_OPTIONS(o),
		{ "--limit", "N", "drain no node if more than N would be drained (default: half of the nodes)",
			.number = &o->limit, .low = 0, .high = NUMBER_MAX },
		{ "--at-most", "N|P%",
			"drain a node only if muster then has drained at most N nodes, or P %, of each partition of "
			"the node (P %: at least one)",
			.each = muster_drained_most_parse, .arg = &o->limits.at_most },
		{ "--per-hour", "N|P%", "the same of nodes that were drained within the last hour (default 10%)",
			.each = muster_drained_most_parse, .arg = &o->limits.per_hour },
		{ "--per-rack", "N", "drain at most N nodes under one switch, or in one block, in an hour (default 2)",
			.number = &o->limits.per_rack, .low = 0, .high = NUMBER_MAX },
		{ "--by", "NAME", "begin the reason with muster(NAME), for scripts: health, prolog, epilog",
			MUSTER_CLI_CHOICE(&o->by, muster_drained_by_names) },
	};
	struct muster_cli cli = {
		.usage = "muster drain REPORT [--apply] [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = MUSTER_NODE_CHANGE_EXITS
		", or a limit on drained nodes stopped it, but for --limit, which ends with 2.\n",
		.needed = "no report given: muster drain REPORT",
		MUSTER_CLI_OPERANDS(&o->input, 1),
		.words = muster_words_files,
	};
	return muster_cli_begin(&cli, argc, argv, NULL, ret_code);
}

/* 0 when the node may be drained or, with `already`, may stay drained. -1 with err beyond a limit, and when Slurm
 * cannot say how many nodes are drained. */
static int check_most(struct muster_node_changes *o, const char *node, bool already, struct muster_error *err)
{
	return muster_slurm_drained_nodes_check(node, already, &o->limits, o->deadline_s * 1000, err);
}

/* Drain the node. The limits are checked before and, with --apply, once more after: many nodes may drain themselves in
 * the same second, and only the check that follows sees the others (slurm/drain.c). If it fails, this node is
 * undrained; where Slurm does not do that, it is drained as any other, so that a prolog starts no job on it. */
static void change(struct muster_node_changes *o, const char *node, const char *reason)
{
	struct muster_error err;
	if (check_most(o, node, false, &err) < 0) {
		muster_node_complain(o, node, &err);
		return;
	}
	if (!muster_node_change(o, node, "DRAIN", reason) || !o->apply || check_most(o, node, true, &err) == 0)
		return;
	size_t failed = o->failed;
	muster_node_complain(o, node, &err);
	for (int tries = 0; tries < 2; tries++)
		if (muster_node_change(o, node, "UNDRAIN", NULL))
			return;
	fprintf(stderr, "muster: %s: stays drained: Slurm does not undrain it\n", node);
	o->failed = failed;
}

/* Who drains, for the reason and the strikes: a person, unless --by says otherwise. */
static enum muster_drained_by who(const struct muster_node_changes *o)
{
	return o->by == MUSTER_BY_UNSET ? MUSTER_DRAINED_BY_PERSON : (enum muster_drained_by)o->by;
}

/* The finding for which the node is drained: a hard one, or a soft one that is the second strike; of several a hard
 * one, and else the first. NULL when there is none; then the first finding that is only a first strike is printed as a
 * comment. All findings are taken as strikes, so that each of them is known to the next run. */
static const struct muster_finding *find_proof(
	struct muster_node_changes *o, const struct muster_node_selection_entry *entry)
{
	const struct muster_finding *proof = NULL, *waits = NULL;
	const char *first, *since = NULL;
	for (size_t i = 0; i < entry->faults; i++) {
		const struct muster_finding *finding = entry->failures[i];
		if (!muster_strikes_take(&o->strikes, finding, entry->name, o->at, who(o), &first)) {
			since = waits ? since : first;
			waits = waits ? waits : finding;
			continue;
		}
		if (!proof || proof->proof < finding->proof)
			proof = finding;
	}
	if (!proof && waits) {
		char *why = muster_asprintf("not drained: %s is a first strike%s%s; a run at least a minute later that "
					    "finds it again drains the node",
			waits->check, since ? " since " : "", since ? since : "");
		muster_node_skip(entry->name, why, NULL);
		free(why);
	}
	return proof;
}

/* Drain one node for proof, unless it is drained already, or has the reason of someone else. The reason has the
 * strongest action code of the node, the proof, and the number of all its faults. */
static void drain_one(struct muster_node_changes *o, const struct muster_node_selection_entry *entry,
	const struct muster_finding *proof)
{
	char reason[MUSTER_DRAIN_REASON_MAX + 1];
	struct muster_drain_reason ours;
	struct muster_slurm_node node;
	if (!muster_node_ask(o, entry->name, &node))
		return;
	bool is_ours = muster_drain_reason_read(node.reason, &ours);
	if (node.drained && is_ours) {
		muster_node_skip(entry->name, "already drained by muster", &node);
	} else if (node.drained || (*node.reason && !is_ours)) {
		muster_node_skip(entry->name, "skipped: has a reason from someone else", &node);
	} else {
		muster_drain_reason_write(who(o), entry->action_code, proof, entry->faults, reason);
		change(o, entry->name, reason);
	}
}

/* Check what must hold before the first change: at most --limit nodes (half of the report's nodes, rounded up) would be
 * drained, and each node with a fault has a name that scontrol takes for one node. -1 with err. proofs: one for each
 * entry, NULL for a node that is not drained. */
static int check_limit(const struct muster_node_changes *o, const struct muster_node_selection *nodes,
	const struct muster_finding *const *proofs, struct muster_error *err)
{
	size_t wanted = 0, limit = o->limit >= 0 ? (size_t)o->limit : (nodes->count + 1) / 2;
	for (size_t i = 0; i < nodes->count; i++) {
		wanted += proofs[i] != NULL;
		if (nodes->entries[i].fault && muster_node_check_names(&nodes->entries[i].name, 1, err) < 0)
			return -1;
	}
	if (wanted <= limit)
		return 0;
	return muster_fail(err, MUSTER_EUSAGE,
		"drain: %zu of %zu nodes failed, and the limit is %zu: if so many nodes fail, the nodes are seldom "
		"the cause; use --limit %zu to drain them anyway",
		wanted, nodes->count, limit, wanted);
}

/* The act() of muster_node_changes_by_report. Returns the exit code. */
static int drain_nodes(struct muster_node_changes *o, const struct muster_report *report,
	const struct muster_node_selection *nodes, struct muster_error *err)
{
	const struct muster_finding **proofs = muster_calloc(nodes->count + 1, sizeof(*proofs));
	size_t i = 0, left = 0;
	int code;
	muster_strikes_forgive(&o->strikes, muster_strike_is_gone, report, o->at);
	for (size_t n = 0; n < nodes->count; n++)
		proofs[n] = find_proof(o, &nodes->entries[n]);
	if (check_limit(o, nodes, proofs, err) < 0) {
		code = muster_cli_usage(err);
	} else {
		for (; i < nodes->count && !o->is_silent; i++) {
			const struct muster_node_selection_entry *entry = &nodes->entries[i];
			if (proofs[i])
				drain_one(o, entry, proofs[i]);
			else if (entry->standing == MUSTER_STANDING_BAD && !entry->fault &&
				 muster_slurm_name_is_plain(entry->name))
				muster_node_skip(entry->name, "skipped: only the launch of the job failed there", NULL);
		}
		for (; i < nodes->count; i++)
			left += proofs[i] != NULL;
		code = muster_node_changes_end(o, left);
	}
	free(proofs);
	return code;
}

int muster_cmd_drain(int argc, char **argv)
{
	struct muster_node_changes o = { .limit = -1,
		.deadline_s = 20,
		.by = MUSTER_BY_UNSET,
		.limits = { .per_hour = { true, true, 10 }, .per_rack = 2 } };
	int code;
	if (!begin(argc, argv, &o, &code))
		return code;
	code = muster_node_changes_by_report(&o, drain_nodes);
	free(o.limits.topology);
	return code;
}
