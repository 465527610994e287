/* drain.c - `muster drain`: drain the nodes that failed
 */
#include "cli/cli.h"
#include "cli/node_changes.h"
#include "muster/report.h"

#include <string.h>

enum { NUMBER_MAX = 1000000 };

static int read_at_most(void *at_most, const char *text, struct muster_error *err)
{
	return muster_drained_most_parse(text, at_most, err);
}

static bool begin(int argc, char **argv, struct muster_node_changes *o, int *ret_code)
{
	const struct muster_option options[] = {
		MUSTER_NODE_CHANGE_OPTIONS(o),
		{ "--also", "REPORT", "drain nodes only for checks that failed in this report too", .text = &o->also },
		{ "--limit", "N", "drain no node if more than N would be drained (default: half of the nodes)",
			.number = &o->limit, .low = 0, .high = NUMBER_MAX },
		{ "--at-most", "N|P%",
			"drain a node only if muster then has drained at most N nodes, or P %, of each partition of "
			"the node (P %: at least one)",
			.each = read_at_most, .arg = &o->at_most },
		{ "--by", "NAME", "begin the reason with muster(NAME), for scripts: health, prolog, epilog",
			MUSTER_CLI_CHOICE(&o->by, muster_drained_by_names) },
	};
	struct muster_cli cli = {
		.usage = "muster drain REPORT [--apply] [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = MUSTER_NODE_CHANGE_EPILOGUE,
		MUSTER_CLI_OPERANDS(&o->input, 1),
		.words = muster_words_files,
	};
	return muster_cli_begin(&cli, argc, argv, NULL, ret_code);
}

/* --at-most: 0 when the node may be drained, or, if it is drained already, may stay so. */
static int check_most(const struct muster_node_changes *o, const char *node, bool already, struct muster_error *err)
{
	if (!o->at_most.is_set)
		return 0;
	return muster_slurm_drained_nodes_check(node, already, &o->at_most, o->deadline_s * 1000, err);
}

static void change(struct muster_node_changes *o, const char *node, const char *reason)
{
	struct muster_error err;
	if (check_most(o, node, false, &err) < 0) {
		muster_node_complain(o, node, &err);
		return;
	}
	if (!muster_node_change(o, node, "DRAIN", reason) || !o->apply || check_most(o, node, true, &err) == 0)
		return;
	muster_node_complain(o, node, &err);
	muster_node_change(o, node, "RESUME", NULL);
}

static void drain_one(struct muster_node_changes *o, const struct muster_node_selection_entry *entry)
{
	char reason[MUSTER_DRAIN_REASON_MAX + 1];
	enum muster_drained_by by = o->by == MUSTER_BY_UNSET ? MUSTER_DRAINED_BY_PERSON : (enum muster_drained_by)o->by;
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
		muster_drain_reason_write(by, entry->fault, entry->faults, reason);
		change(o, entry->name, reason);
	}
}

static int check_limit(
	const struct muster_node_changes *o, const struct muster_node_selection *nodes, struct muster_error *err)
{
	size_t wanted = 0, limit = o->limit >= 0 ? (size_t)o->limit : (nodes->count + 1) / 2;
	for (size_t i = 0; i < nodes->count; i++) {
		const struct muster_node_selection_entry *entry = &nodes->entries[i];
		wanted += entry->fault != NULL;
		if (entry->fault && muster_node_check_names(&entry->name, 1, err) < 0)
			return -1;
	}
	if (wanted <= limit)
		return 0;
	return muster_fail(err, MUSTER_EUSAGE,
		"drain: %zu of %zu nodes failed, and the limit is %zu: if so many nodes fail, the nodes are seldom "
		"the cause; use --limit %zu to drain them anyway",
		wanted, nodes->count, limit, wanted);
}

static int drain_nodes(struct muster_node_changes *o, const struct muster_report *report,
	const struct muster_node_selection *nodes, struct muster_error *err)
{
	size_t i = 0, left = 0;
	(void)report;
	if (check_limit(o, nodes, err) < 0)
		return muster_cli_usage(err);
	for (; i < nodes->count && !o->is_silent; i++) {
		const struct muster_node_selection_entry *entry = &nodes->entries[i];
		if (entry->fault)
			drain_one(o, entry);
		else if (entry->standing == MUSTER_STANDING_BAD && muster_slurm_name_is_plain(entry->name))
			muster_node_skip(entry->name, "skipped: only the launch of the job failed there", NULL);
	}
	for (; i < nodes->count; i++)
		left += nodes->entries[i].fault != NULL;
	return muster_node_changes_end(o, left);
}

int muster_cmd_drain(int argc, char **argv)
{
	struct muster_node_changes o = { .limit = -1, .deadline_s = 20, .by = MUSTER_BY_UNSET };
	int code;
	if (!begin(argc, argv, &o, &code))
		return code;
	return muster_node_changes_by_report(&o, drain_nodes);
}
