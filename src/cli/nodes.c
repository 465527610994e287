/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c - `muster nodes`: print the good, bad or missing nodes of a saved report, for scripts
 *
 * Uses the findings of the report; nothing is evaluated again. slurm/node_selection.h says when a node is good, bad,
 * inconclusive or missing, and chosen() which of these an option prints:
 *
 *    standing                            printed by
 *    good                                --good
 *    bad, with a fault of the machine    --bad
 *    bad, only for how it was launched   --inconclusive
 *    inconclusive                        --inconclusive
 *    missing                             --missing, --bad
 *
 * All names are printed or none: a list without one bad node could put a job on that node.
 */
#include "cli/cli.h"
#include "muster/run.h"
#include "json/writer.h"
#include "slurm/hostlist.h"
#include "slurm/command.h"
#include "slurm/node_selection.h"
#include "slurm/strikes.h"
#include "report/print_escaped.h"
#include "muster/report.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum format { FORMAT_HOSTLIST, FORMAT_LINES, FORMAT_EXCLUDE, FORMAT_JSON, FORMAT_COUNT };

static const char *const format_names[] = {
	[FORMAT_HOSTLIST] = "hostlist",
	[FORMAT_LINES] = "lines",
	[FORMAT_EXCLUDE] = "exclude",
	[FORMAT_JSON] = "json",
};
_Static_assert(sizeof format_names / sizeof *format_names == FORMAT_COUNT, "every format has a name");

struct nodes_options {
	bool good, bad, inconclusive, missing, waiting; /* exactly one is set */
	const char *expected, *input;                   /* of --expect, or NULL; the report */
	enum format format;
};

/* Whether the option asks for a node of this standing. A node on which only the launch of the job failed is neither
 * good nor bad: it is not proved good, and another job may use it. */
static bool chosen(const struct nodes_options *o, const struct muster_node_selection_entry *entry)
{
	switch (entry->standing) {
	case MUSTER_STANDING_GOOD: return o->good;
	case MUSTER_STANDING_BAD: return entry->fault ? o->bad : o->inconclusive;
	case MUSTER_STANDING_MISSING: return o->missing || o->bad;
	default: return o->inconclusive;
	}
}

/* Print the names in the format. An empty list prints nothing, except as JSON. */
static void print_list(enum format format, const char *const *names, size_t count)
{
	if (format == FORMAT_JSON) {
		struct muster_json_writer w;
		muster_json_writer_init(&w, stdout, 1);
		muster_json_writer_array(&w);
		for (size_t i = 0; i < count; i++)
			muster_json_writer_string(&w, names[i]);
		muster_json_writer_array_end(&w);
		return;
	}
	if (count == 0)
		return;
	if (format == FORMAT_LINES) {
		for (size_t i = 0; i < count; i++)
			puts(names[i]);
		return;
	}
	char *list = muster_hostlist_compress(names, count);
	printf("%s%s\n", format == FORMAT_EXCLUDE ? "--exclude=" : "", list);
	free(list);
}

/* Print on stderr why no node is good although no finding names a node. */
static void explain(const struct muster_node_selection *nodes)
{
	const struct muster_finding *finding = nodes->job_finding;
	fputs("muster: no good node: ", stderr);
	if (finding)
		muster_print_text(stderr, "%s %s for the whole job, without a node: %s", finding->check,
			finding->status == MUSTER_INCONCLUSIVE ? "is inconclusive" : "fails",
			finding->observed ? finding->observed : "-");
	else
		fputs("the report's verdict is not pass, and no finding says why: muster check evaluates it again",
			stderr);
	fputc('\n', stderr);
}

/* Print the nodes that the options ask for, and on stderr what a reader of the list cannot see from it: why no node is
 * good, and how many missing ranks belong to no known node. Returns the exit code, which says with --good alone whether
 * the list is empty. err: scratch for one sentence. */
static int select_nodes(const struct nodes_options *o, const struct muster_report *report,
	const struct muster_node_selection *nodes, struct muster_error *err)
{
	const char **names = muster_calloc(nodes->count + 1, sizeof *names);
	size_t count = 0;
	int code = MUSTER_EXIT_PASS;
	for (size_t i = 0; i < nodes->count; i++) {
		const struct muster_node_selection_entry *entry = &nodes->entries[i];
		if (!chosen(o, entry))
			continue;
		if (!muster_slurm_name_is_plain(entry->name)) {
			muster_fail(err, MUSTER_EUSAGE,
				"the node name \"%.100s\" is not possible in a host list: nothing is printed",
				entry->name);
			free(names);
			return muster_cli_usage(err);
		}
		names[count++] = entry->name;
	}
	if (nodes->none_good && (o->good || o->inconclusive))
		explain(nodes);
	if (nodes->unplaced_ranks > 0 && o->missing)
		fprintf(stderr, "muster: %zu missing rank%s of unknown nodes\n", nodes->unplaced_ranks,
			nodes->unplaced_ranks == 1 ? "" : "s");
	if (o->good && count == 0 && !nodes->none_good)
		fprintf(stderr, "muster: no good node: %s\n",
			report->verdict == MUSTER_FAIL ? "at least one check failed" : "no check failed");
	if (o->good && count == 0)
		code = report->verdict == MUSTER_FAIL ? MUSTER_EXIT_FAIL : MUSTER_EXIT_INCONCLUSIVE;
	print_list(o->format, names, count);
	free(names);
	return muster_cli_printed(code);
}

/* Print the nodes with a first strike that a run of this moment could confirm, each once, and on stderr one line for
 * each such strike. Only the file of strikes beside the report is read, not the report: strikes are of several runs. */
static int list_waiting(const struct nodes_options *o, struct muster_error *err)
{
	struct muster_strikes strikes;
	if (muster_strikes_read(o->input, &strikes, err) < 0)
		return muster_cli_usage(err);
	const char **names = muster_calloc(strikes.strike_count + 1, sizeof *names);
	size_t count = 0;
	for (size_t i = 0; i < strikes.strike_count; i++) {
		const struct muster_strike *one = &strikes.strikes[i];
		if (!muster_strike_counts(one, time(NULL)))
			continue;
		if (!muster_text_among(one->node, names, count))
			names[count++] = one->node;
		muster_print_text(stderr, "muster: %s: %s%s%s since %s (%s)", one->node, one->check,
			*one->part ? " at " : "", one->part, one->first, muster_drained_by_names[one->by]);
		fputc('\n', stderr);
	}
	print_list(o->format, names, count);
	free(names);
	muster_strikes_done(&strikes);
	return muster_cli_printed(MUSTER_EXIT_PASS);
}

int muster_cmd_nodes(int argc, char **argv)
{
	struct nodes_options o = { 0 };
	const struct muster_option options[] = {
		{ "--good", NULL, "nodes on which a job may run", .flag = &o.good },
		{ "--bad", NULL, "nodes with a failed finding about the machine, and missing nodes", .flag = &o.bad },
		{ "--inconclusive", NULL,
			"nodes without a failed check on which a required check could not be evaluated",
			.flag = &o.inconclusive },
		{ "--missing", NULL, "expected nodes without any result", .flag = &o.missing },
		{ "--waiting", NULL,
			"nodes with a soft finding that `muster drain` has seen once: a second run that finds it "
			"again drains them",
			.flag = &o.waiting },
		{ "--expect", "LIST", "expected nodes as a host list (\"$SLURM_JOB_NODELIST\")", .text = &o.expected },
		{ "--format", "FORMAT",
			"hostlist: gpu-[1-3,7] (default); lines: one name per line; exclude: --exclude=gpu-[1-3,7]; "
			"json: an array of names",
			MUSTER_CLI_CHOICE(&o.format, format_names) },
	};
	struct muster_cli cli = {
		.usage = "muster nodes REPORT --good|--bad|--inconclusive|--missing|--waiting [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "An empty list prints nothing; as JSON it is [].\n"
			    "Exit codes:\n  0  printed (an empty list too, except for "
			    "--good)\n  1  --good: list empty, at least one check failed\n  2  usage, or no readable "
			    "report\n  3  --good: list empty, no check failed\n",
		.prints = true,
		MUSTER_CLI_OPERANDS(&o.input, 1),
		.words = muster_words_files,
		.needed = "no report given: muster nodes REPORT --good",
	};
	const char *const *expected = NULL;
	size_t expected_count = 0;
	struct muster_node_selection nodes;
	struct muster_report report;
	struct muster_run run;
	struct muster_error err;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, NULL, &code))
		return code;
	if (o.good + o.bad + o.inconclusive + o.missing + o.waiting != 1) {
		muster_fail(&err, MUSTER_EUSAGE,
			"nodes: give one of --good, --bad, --inconclusive, --missing and --waiting");
		return muster_cli_usage(&err);
	}
	if (o.waiting)
		return list_waiting(&o, &err);
	if (muster_report_load(o.input, &run, &report, &err) < 0)
		return muster_cli_usage(&err);
	if (o.expected && muster_hostlist_expand(o.expected, run.arena, &expected, &expected_count, &err) < 0) {
		muster_wrap(&err, "--expect");
		code = muster_cli_usage(&err);
	} else {
		muster_node_selection_make(&report, expected, expected_count, &nodes);
		code = select_nodes(&o, &report, &nodes, &err);
		muster_node_selection_done(&nodes);
	}
	muster_report_done(&report);
	muster_run_done(&run);
	return code;
}
