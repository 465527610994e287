/* drain.c - `muster drain` and `muster resume`: drain failed nodes in Slurm, and undrain them
 *
 * Without --apply the commands are printed, quoted for a shell, and skipped nodes as comments. A node that someone
 * else drained, or whose reason does not begin with our prefix, is never changed.
 */
#include "cli/cli.h"
#include "slurm/hostlist.h"
#include "slurm/scontrol.h"
#include "slurm/drain_reason.h"
#include "slurm/node_selection.h"
#include "report/print_escaped.h"
#include "muster/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBER_MAX = 1000000 };

struct drain_options {
	const char *input;
	bool apply, simulated;
	int limit;      /* -1: half of the report's nodes */
	int deadline_s; /* of each call of scontrol */
};

/* How it went, over all nodes. */
struct drain_tally {
	size_t failed;
	bool deaf; /* scontrol is not there or does not answer: asking again is of no use */
};

/* As muster_cli_begin; both commands have one operand, and only drain has a limit. */
static bool begin(int argc, char **argv, const char *usage, bool has_limit, struct drain_options *o, int *ret_code)
{
	const struct muster_option options[] = {
		{ "--apply", NULL, "run the commands; without this option they are only printed", .flag = &o->apply },
		{ "--simulated", NULL, "apply a simulated report too: only on a test cluster", .flag = &o->simulated },
		{ "--deadline", "SECONDS", "for each call of scontrol (default 20)", .number = &o->deadline_s, .low = 1,
			.high = NUMBER_MAX },
		{ "--limit", "N", "drain no node if more than N would be drained (default: half of the nodes)",
			.number = &o->limit, .low = 0, .high = NUMBER_MAX },
	};
	struct muster_cli cli = {
		.usage = usage,
		.options = options,
		.option_count = sizeof options / sizeof *options - !has_limit,
		.epilogue = "Exit codes: 0 done, printed, or nothing to do; 2 usage, or no readable report; 3 a node's "
			    "state could not be read or changed.\n",
		MUSTER_CLI_OPERANDS(&o->input, 1),
	};
	return muster_cli_begin(&cli, argc, argv, NULL, ret_code);
}

/* "# gpu-1: skipped: ..." among the commands. */
static void leave_alone(const char *node, const char *why, const struct muster_slurm_node *state)
{
	printf("# %s: %s", node, why);
	if (state)
		muster_print_text(stdout, " (%s%s%s)", state->state, *state->reason ? ": " : "", state->reason);
	fputc('\n', stdout);
}

static void complain(struct drain_tally *tally, const char *node, const struct muster_error *err)
{
	fprintf(stderr, "muster: %s: %s\n", node, err->text);
	tally->failed++;
	tally->deaf = err->code == MUSTER_ENOTSUPPORTED || err->code == MUSTER_ETIME;
}

static void change(const struct drain_options *o, struct drain_tally *tally, const char *node, const char *state,
	const char *reason)
{
	struct muster_error err;
	printf("scontrol update NodeName=%s State=%s", node, state);
	if (reason)
		printf(" Reason='%s'", reason);
	putchar('\n');
	fflush(stdout); /* before what scontrol may do, and before stderr */
	if (o->apply && muster_slurm_node_update(node, state, reason, o->deadline_s * 1000, &err) < 0)
		complain(tally, node, &err);
}

static bool is_ours(const char *reason)
{
	return strncmp(reason, MUSTER_REASON_PREFIX, strlen(MUSTER_REASON_PREFIX)) == 0;
}

/* What Slurm says of the node; NULL when it could not be asked, which only matters to who wants to change it. */
static const struct muster_slurm_node *ask(
	const struct drain_options *o, struct drain_tally *tally, const char *node, struct muster_slurm_node *state)
{
	struct muster_error err;
	if (tally->deaf)
		return NULL;
	if (muster_slurm_node_show(node, o->deadline_s * 1000, state, &err) == 0)
		return state;
	if (o->apply) {
		complain(tally, node, &err);
	} else {
		tally->deaf = err.code == MUSTER_ENOTSUPPORTED || err.code == MUSTER_ETIME;
		muster_print_text(stdout, "# %s: cannot read its state: %s", node, err.text);
		putchar('\n');
	}
	return NULL;
}

static void drain_one(
	const struct drain_options *o, struct drain_tally *tally, const struct muster_node_selection_entry *entry)
{
	char reason[MUSTER_DRAIN_REASON_MAX + 1];
	struct muster_slurm_node node;
	const struct muster_slurm_node *now = ask(o, tally, entry->name, &node);
	if (!now && o->apply)
		return;
	if (now && now->drained && is_ours(now->reason)) {
		leave_alone(entry->name, "already drained by muster", now);
	} else if (now && (now->drained || (*now->reason && !is_ours(now->reason)))) {
		leave_alone(entry->name, "skipped: has a reason from someone else", now);
	} else {
		muster_drain_reason_write(entry->fault, entry->faults, reason);
		change(o, tally, entry->name, "DRAIN", reason);
	}
}

static void resume_one(const struct drain_options *o, struct drain_tally *tally, const char *name)
{
	struct muster_slurm_node node;
	const struct muster_slurm_node *now = ask(o, tally, name, &node);
	if (!now) {
		if (!o->apply)
			leave_alone(name, "skipped: unknown whether muster drained it", NULL);
	} else if (!now->drained) {
		leave_alone(name, "not drained", now);
	} else if (!is_ours(now->reason)) {
		leave_alone(name, "skipped: drained by someone else", now);
	} else {
		change(o, tally, name, "RESUME", NULL);
	}
}

/* Nodes that --apply did not get to, once scontrol had fallen silent. */
static int tally_code(const struct drain_options *o, const struct drain_tally *tally, size_t left)
{
	if (left > 0 && o->apply)
		fprintf(stderr, "muster: %zu more node%s skipped\n", left, left == 1 ? " was" : "s were");
	return muster_cli_printed(tally->failed ? MUSTER_EXIT_INCONCLUSIVE : MUSTER_EXIT_PASS);
}

static int check_names(const char *const *names, size_t count, struct muster_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (!muster_slurm_name_is_plain(names[i]))
			return muster_fail(err, MUSTER_EUSAGE,
				"\"%.100s\" is not a valid node name: nothing is changed", names[i]);
	return 0;
}

static int drain_nodes(
	const struct drain_options *o, const struct muster_node_selection *nodes, struct muster_error *err)
{
	struct drain_tally tally = { 0 };
	size_t wanted = 0, limit = o->limit >= 0 ? (size_t)o->limit : (nodes->count + 1) / 2, i;
	for (i = 0; i < nodes->count; i++) {
		const struct muster_node_selection_entry *entry = &nodes->entries[i];
		if (!entry->fault)
			continue;
		wanted++;
		if (check_names(&entry->name, 1, err) < 0)
			return muster_cli_usage(err);
	}
	if (wanted > limit) {
		muster_fail(err, MUSTER_EUSAGE,
			"drain: %zu of %zu nodes failed, and the limit is %zu: if so many nodes fail, the nodes are "
			"seldom the cause; use --limit %zu to drain them anyway",
			wanted, nodes->count, limit, wanted);
		if (o->apply)
			return muster_cli_usage(err);
		fprintf(stderr, "muster: %s\n", err->text);
	}
	for (i = 0; i < nodes->count && !(tally.deaf && o->apply); i++) {
		const struct muster_node_selection_entry *entry = &nodes->entries[i];
		if (entry->fault)
			drain_one(o, &tally, entry);
		else if (entry->standing == MUSTER_STANDING_BAD && muster_slurm_name_is_plain(entry->name))
			leave_alone(entry->name, "skipped: only the launch of the job failed there", NULL);
	}
	for (wanted = 0; i < nodes->count; i++)
		wanted += nodes->entries[i].fault != NULL;
	return tally_code(o, &tally, wanted);
}

static int resume_names(const struct drain_options *o, const char *const *names, size_t count, struct muster_error *err)
{
	struct drain_tally tally = { 0 };
	size_t i = 0;
	if (check_names(names, count, err) < 0)
		return muster_cli_usage(err);
	for (; i < count && !(tally.deaf && o->apply); i++)
		resume_one(o, &tally, names[i]);
	return tally_code(o, &tally, count - i);
}

/* The nodes that a report calls good. */
static int resume_nodes(
	const struct drain_options *o, const struct muster_node_selection *nodes, struct muster_error *err)
{
	const char **names = muster_calloc(nodes->count + 1, sizeof *names);
	size_t count = 0;
	for (size_t i = 0; i < nodes->count; i++)
		if (nodes->entries[i].standing == MUSTER_STANDING_GOOD)
			names[count++] = nodes->entries[i].name;
	int code = resume_names(o, names, count, err);
	free(names);
	return code;
}

/* Do something about the nodes of the report that was named. */
static int with_report(const struct drain_options *o,
	int (*act)(const struct drain_options *o, const struct muster_node_selection *nodes, struct muster_error *err))
{
	struct muster_node_selection nodes;
	struct muster_report report;
	struct muster_run run;
	struct muster_error err;
	int code;
	if (muster_report_load(o->input, &run, &report, &err) < 0)
		return muster_cli_usage(&err);
	if (o->apply && run.job.simulated && !o->simulated) {
		/* a finding on a simulated machine says nothing about the one whose name it bears */
		muster_fail(&err, MUSTER_EUSAGE, "%s: the report is simulated: no node is changed", o->input);
		code = muster_cli_usage(&err);
	} else {
		muster_node_selection_make(&report, NULL, 0, &nodes);
		code = act(o, &nodes, &err);
		muster_node_selection_done(&nodes);
	}
	muster_report_done(&report);
	muster_run_done(&run);
	return code;
}

int muster_cmd_drain(int argc, char **argv)
{
	struct drain_options o = { .limit = -1, .deadline_s = 20 };
	int code;
	if (!begin(argc, argv, "muster drain REPORT [--apply] [options]", true, &o, &code))
		return code;
	return with_report(&o, drain_nodes);
}

int muster_cmd_resume(int argc, char **argv)
{
	struct drain_options o = { .deadline_s = 20 };
	const char *const *names;
	struct muster_error err;
	size_t count;
	int code;
	if (!begin(argc, argv, "muster resume REPORT|NODES [--apply] [options]", false, &o, &code))
		return code;
	if (strchr(o.input, '/') || access(o.input, F_OK) == 0)
		return with_report(&o, resume_nodes);
	struct muster_arena *arena = muster_arena_new();
	if (muster_hostlist_expand(o.input, arena, &names, &count, &err) < 0)
		code = muster_cli_usage(&err);
	else
		code = resume_names(&o, names, count, &err);
	muster_arena_free(arena);
	return code;
}
