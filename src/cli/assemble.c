/* assemble.c - `muster assemble`: the report of a run that could not write its own, from what its ranks left on disk
 *
 * Judged by the same code as on rank 0. What the user does not say anew is as it was when the run was started.
 */
#include "cli/cli.h"
#include "slurm/hostlist.h"
#include "util/file.h"
#include "eval/select.h"
#include "muster/probe.h"
#include "model/trend.h"
#include "muster/report.h"
#include "journal/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NODES_FILE_MAX = 32 << 20 };

struct assemble_options {
	const char *sku, *overlay, *report, *nodes, *folder;
	bool strict;
};

static int options_parse(int argc, char **argv, struct assemble_options *o, struct muster_error *err)
{
	const struct muster_option table[] = {
		{ .name = "--expect-nodes",
			.argument = "LIST",
			.text = &o->nodes,
			.help = "expected nodes: gpu-[1-3,7], or a file with one name per line (default: the nodes "
				"that Slurm gave the run)" },
		{ .name = "--report",
			.argument = "FILE",
			.text = &o->report,
			.help = "write the JSON report to FILE; - is standard output" },
		{ .name = "--sku",
			.argument = "NAME",
			.text = &o->sku,
			.help = "expected machine type (default: that of the run)" },
		{ .name = "--overlay",
			.argument = "FILE",
			.text = &o->overlay,
			.help = "overlay with the thresholds of your site (default: that of the run)" },
		{ .name = "--strict", .flag = &o->strict, .help = "warnings fail the run (default: as in the run)" },
	};
	struct muster_cli cli = {
		.usage = "muster assemble DIR [options]",
		MUSTER_CLI_OPTIONS(table),
		.epilogue = "Builds the report of a run that could not write one (rank 0 died, job killed) from the "
			    "files of\n`muster run --spool DIR`. If DIR has several runs, the latest is used.\nExit "
			    "codes: 0 pass, 1 fail, 2 usage or nothing to assemble, 3 inconclusive.\n",
		.operands = &o->folder,
		.operands_least = 1,
		.operands_most = 1,
		.needed = "no directory given: muster assemble DIR",
	};
	int parsed = muster_cli_parse(&cli, argc, argv, err);
	return parsed;
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
	size_t i = 0;
	while (i < count && strcmp(names[i], name) != 0)
		i++;
	return i < count;
}

/* Nodes without results are in the run without ranks; when there is exactly one, the ranks with an unknown node
 * belong to it. */
static void add_nodes(
	struct muster_run *run, const struct muster_journal_set *spooled, const char *const *names, size_t count)
{
	const char *last = NULL;
	size_t added = 0;
	for (size_t i = 0; i < count; i++) {
		bool there = is_among(names[i], spooled->strays, spooled->stray_count);

		for (size_t n = 0; n < run->node_count && !there; n++)
			there = strcmp(run->nodes[n].name, names[i]) == 0;
		if (there)
			continue;
		last = muster_run_add_node(run, names[i])->name;
		added++;
	}
	for (size_t n = 0; n < run->node_count && added == 1; n++) {
		if (strcmp(run->nodes[n].name, "?") != 0)
			continue;
		run->node_count--; /* the new one, which is the last */
		run->nodes[n].name = last;
		break;
	}
	muster_run_sort(run);
}

static int expect_nodes(
	const char *list, const struct muster_journal_set *spooled, struct muster_run *run, struct muster_error *err)
{
	struct stat status;
	const char *const *names;
	char *text = NULL;
	size_t length, count;
	if ((strchr(list, '/') || (stat(list, &status) == 0 && S_ISREG(status.st_mode))) &&
		muster_file_read(list, NODES_FILE_MAX, &text, &length, err) < 0)
		return -1;
	int rc = muster_hostlist_expand(text ? text : list, run->arena, &names, &count, err);
	free(text);
	if (rc < 0)
		return muster_wrap(err, "the expected nodes");
	add_nodes(run, spooled, names, count);
	return 0;
}

/* Report ignored parts of the directory on standard error; they have no effect on the verdict. */
static void remarks_print(const struct assemble_options *o, const struct muster_journal_set *spooled)
{
	if (spooled->other_runs > 0)
		fprintf(stderr, "muster: %s: %zu other run%s ignored; the report is about the run started at %s\n",
			o->folder, spooled->other_runs, spooled->other_runs == 1 ? "" : "s", spooled->started);
	if (spooled->stray_count > 0)
		fprintf(stderr,
			"muster: %s: %zu process%s ignored: a wrong --mpi option made each process a job of one rank, "
			"and only the first is shown\n",
			o->folder, spooled->stray_count, spooled->stray_count == 1 ? "" : "es");
	if (spooled->bad_lines + spooled->bad_files > 0)
		fprintf(stderr, "muster: %s: %zu line%s and %zu file%s ignored; the first: %s: %s\n", o->folder,
			spooled->bad_lines, spooled->bad_lines == 1 ? "" : "s", spooled->bad_files,
			spooled->bad_files == 1 ? "" : "s", spooled->bad_file, spooled->bad_why);
}

static int judge(
	const struct assemble_options *o, const struct muster_run *run, struct muster_selection *choice, bool strict)
{
	bool to_stdout = o->report && strcmp(o->report, "-") == 0;
	struct muster_report report;
	muster_selection_evaluate(choice, run, strict, &report);
	int code = muster_report_publish(&report, o->report, o->report ? o->report : "none",
		isatty(fileno(to_stdout ? stderr : stdout)) && !getenv("NO_COLOR"));
	muster_report_done(&report);
	return code;
}

int muster_cmd_assemble(int argc, char **argv)
{
	struct assemble_options o = { 0 };
	struct muster_paths paths;
	struct muster_selection choice = { 0 };
	struct muster_journal_set spooled = { 0 };
	struct muster_run run;
	struct muster_error err;
	int code;
	if (muster_paths_find(&paths, &err) < 0)
		return muster_cli_usage(&err);
	int parsed = options_parse(argc, argv, &o, &err);
	if (parsed == 1)
		return MUSTER_EXIT_PASS;
	if (parsed < 0)
		return muster_cli_usage(&err);
	muster_run_init(&run);
	int failed = muster_journal_set_read(o.folder, NULL, run.arena, &spooled, &err);
	if (!failed) {
		const char *nodes = o.nodes ? o.nodes : spooled.nodelist;
		muster_journal_set_make(&spooled, &run);
		remarks_print(&o, &spooled);
		failed = (nodes && expect_nodes(nodes, &spooled, &run, &err) < 0) ||
			 muster_selection_load(paths.configs, o.sku ? o.sku : spooled.sku,
				 o.overlay ? o.overlay : spooled.overlay, &choice, &err) < 0;
	}
	code = failed ? muster_cli_usage(&err) : judge(&o, &run, &choice, o.strict || spooled.strict);
	muster_selection_done(&choice);
	muster_journal_set_done(&spooled);
	muster_run_done(&run);
	return code;
}
