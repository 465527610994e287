/* drain.c - `muster drain` and `muster resume`: drain failed nodes in Slurm, and undrain them
 *
 * Without --apply the commands are printed, quoted for a shell, and skipped nodes as comments. A node that someone
 * else drained, or whose reason does not begin with our prefix, is never changed.
 */
#include "cli/cli.h"
#include "slurm/hostlist.h"
#include "slurm/scontrol.h"
#include "util/text.h"
#include "slurm/drain_reason.h"
#include "slurm/node_selection.h"
#include "report/print_escaped.h"
#include "muster/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int parse_number(const char *text, long low, int *ret, const char *what, struct muster_error *err)
{
	long number;
	if (muster_parse_int(text, low, 1000000, &number, what, err) < 0)
		return -1;
	*ret = (int)number;
	return 0;
}

static int parse_limit(void *arg, const char *text, struct muster_error *err)
{
	return parse_number(text, 0, arg, "--limit", err);
}

static int parse_deadline(void *arg, const char *text, struct muster_error *err)
{
	return parse_number(text, 1, arg, "--deadline", err);
}

#define OPTIONS_COMMON(o)                                                                                              \
	{ .name = "--apply",                                                                                           \
		.flag = &(o)->apply,                                                                                   \
		.help = "run the commands; without this option they are only printed" },                               \
		{ .name = "--simulated",                                                                               \
			.flag = &(o)->simulated,                                                                       \
			.help = "apply a simulated report too: only on a test cluster" },                              \
	{                                                                                                              \
		.name = "--deadline", .argument = "SECONDS", .each = parse_deadline, .arg = &(o)->deadline_s,          \
		.help = "for each call of scontrol (default 20)"                                                       \
	}
static const char epilogue[] =
	"Exit codes: 0 done, printed, or nothing to do; 2 usage, or no readable report; 3 a node's "
	"state could not be read or changed.\n";

static int options_parse(int argc, char **argv, const char *usage, const struct muster_option *table, size_t count,
	struct drain_options *o, struct muster_error *err)
{
	struct muster_cli cli = {
		.usage = usage,
		.options = table,
		.option_count = count,
		.epilogue = epilogue,
		.operands = &o->input,
		.operands_least = 1,
		.operands_most = 1,
	};
	return muster_cli_parse(&cli, argc, argv, err);
}

/* A finding on a simulated machine says nothing about the one whose name it bears. */
static int check_simulated(const struct drain_options *o, const struct muster_run *run, struct muster_error *err)
{
	if (!o->apply || o->simulated || !run->job.simulated)
		return 0;
	return muster_fail(err, MUSTER_EUSAGE, "%s: the report is simulated: no node is changed", o->input);
}

/* "# gpu-1: skipped: ..." among the commands. */
static void leave_alone(const char *node, const char *why, const struct muster_slurm_node *state)
{
	printf("# %s: %s", node, why);
	if (state) {
		fputs(" (", stdout);
		muster_print_escaped(stdout, state->state);
		if (*state->reason) {
			fputs(": ", stdout);
			muster_print_escaped(stdout, state->reason);
		}
		fputc(')', stdout);
	}
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
		printf("# %s: cannot read its state: ", node);
		muster_print_escaped(stdout, err.text);
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

static int drain_roster(
	const struct drain_options *o, const struct muster_node_selection *roster, struct muster_error *err)
{
	struct drain_tally tally = { 0 };
	size_t wanted = 0, limit = o->limit >= 0 ? (size_t)o->limit : (roster->count + 1) / 2, i;
	for (i = 0; i < roster->count; i++) {
		const struct muster_node_selection_entry *entry = &roster->entries[i];
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
			wanted, roster->count, limit, wanted);
		if (o->apply)
			return muster_cli_usage(err);
		fprintf(stderr, "muster: %s\n", err->text);
	}
	for (i = 0; i < roster->count && !(tally.deaf && o->apply); i++) {
		const struct muster_node_selection_entry *entry = &roster->entries[i];
		if (entry->fault)
			drain_one(o, &tally, entry);
		else if (entry->standing == MUSTER_STANDING_BAD && muster_slurm_name_is_plain(entry->name))
			leave_alone(entry->name, "skipped: only the launch of the job failed there", NULL);
	}
	for (wanted = 0; i < roster->count; i++)
		wanted += roster->entries[i].fault != NULL;
	return tally_code(o, &tally, wanted);
}

int muster_cmd_drain(int argc, char **argv)
{
	struct drain_options options = { .limit = -1, .deadline_s = 20 };
	const struct muster_option table[] = {
		OPTIONS_COMMON(&options),
		{ .name = "--limit",
			.argument = "N",
			.each = parse_limit,
			.arg = &options.limit,
			.help = "drain no node if more than N would be drained (default: half of the nodes)" },
	};
	struct muster_node_selection roster;
	struct muster_report report;
	struct muster_run run;
	struct muster_error err;
	int parsed = options_parse(argc, argv, "muster drain REPORT [--apply] [options]", table,
		sizeof table / sizeof *table, &options, &err);
	if (parsed == 1)
		return MUSTER_EXIT_PASS;
	if (parsed < 0 || muster_report_load(options.input, &run, &report, &err) < 0)
		return muster_cli_usage(&err);
	int code;
	if (check_simulated(&options, &run, &err) < 0) {
		code = muster_cli_usage(&err);
	} else {
		muster_node_selection_make(&report, NULL, 0, &roster);
		code = drain_roster(&options, &roster, &err);
		muster_node_selection_done(&roster);
	}
	muster_report_done(&report);
	muster_run_done(&run);
	return code;
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
static int resume_report(const struct drain_options *o, struct muster_error *err)
{
	struct muster_node_selection roster;
	struct muster_report report;
	struct muster_run run;
	int code;
	if (muster_report_load(o->input, &run, &report, err) < 0)
		return muster_cli_usage(err);
	if (check_simulated(o, &run, err) < 0) {
		code = muster_cli_usage(err);
	} else {
		muster_node_selection_make(&report, NULL, 0, &roster);
		const char **names = muster_calloc(roster.count + 1, sizeof *names);
		size_t count = 0;
		for (size_t i = 0; i < roster.count; i++)
			if (roster.entries[i].standing == MUSTER_STANDING_GOOD)
				names[count++] = roster.entries[i].name;
		code = resume_names(o, names, count, err);
		free(names);
		muster_node_selection_done(&roster);
	}
	muster_report_done(&report);
	muster_run_done(&run);
	return code;
}

int muster_cmd_resume(int argc, char **argv)
{
	struct drain_options options = { .deadline_s = 20 };
	const struct muster_option table[] = { OPTIONS_COMMON(&options) };
	const char *const *names;
	struct muster_error err;
	size_t count;
	int parsed = options_parse(argc, argv, "muster resume REPORT|NODES [--apply] [options]", table,
		sizeof table / sizeof *table, &options, &err);
	if (parsed == 1)
		return MUSTER_EXIT_PASS;
	if (parsed < 0)
		return muster_cli_usage(&err);
	if (strchr(options.input, '/') || access(options.input, F_OK) == 0)
		return resume_report(&options, &err);
	struct muster_arena *arena = muster_arena_new();
	int code = muster_hostlist_expand(options.input, arena, &names, &count, &err) < 0
			   ? muster_cli_usage(&err)
			   : resume_names(&options, names, count, &err);
	muster_arena_free(arena);
	return code;
}
