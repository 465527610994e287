/* SPDX-License-Identifier: Apache-2.0 */
/* assemble.c - `muster assemble`: the report of a run that could not write its own, from what its ranks left on disk
 *
 * In this order: the files of the folder are read and become one run (spool/read.h), the latest one that the folder
 * has; what was ignored is printed on stderr; nodes that were expected and left nothing are added to the run; and the
 * run is evaluated by the same code as on rank 0.
 *
 * What the options do not say is taken from the header of the run's files: the machine type, the overlay, --strict, and
 * the nodes that Slurm gave the run as the expected ones.
 */
#include "cli/cli.h"
#include "muster/run.h"
#include "slurm/hostlist.h"
#include "util/file.h"
#include "eval/select.h"
#include "muster/report.h"
#include "spool/read.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NODES_FILE_MAX = 32 << 20 }; /* bytes of the file of --expect */

/* Add each expected node that the run does not have, without ranks: it is then a node that gave no result. A node whose
 * only process was ignored (a stray) is not added.
 *
 * A rank that another rank expected and that left no file has an unknown node, "?". When exactly one node was added,
 * these ranks belong to it: the node "?" gets its name, and the added node, the last one, is removed. */
static void add_nodes(
	struct muster_run *run, const struct muster_spool_set *spooled, const char *const *names, size_t count)
{
	const char *last = NULL;
	size_t added = 0;
	for (size_t i = 0; i < count; i++) {
		bool there = muster_text_among(names[i], spooled->strays, spooled->stray_count);
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

/* -1 with err unless each line of the text has at most one name. A file of hosts for MPI has lines as "gpu-1 8" and
 * "gpu-1 slots=8", whose second words would be taken for nodes. */
static int check_lines(const char *path, const char *text, struct muster_error *err)
{
	int line = 1;
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n', line++) {
		const char *word = at + strspn(at, " \t\r"), *after = word + strcspn(word, " \t\r\n");
		after += strspn(after, " \t\r");
		if (*after && *after != '\n')
			return muster_fail(err, MUSTER_EUSAGE,
				"%s: line %d: \"%.*s\" is not the name of one node; a line has no more", path, line,
				(int)strcspn(word, "\r\n"), word);
	}
	return 0;
}

/* Add the expected nodes that list names: a host list, or a file when list has a "/" or is the name of a regular file.
 * -1 with err. */
static int expect_nodes(
	const char *list, const struct muster_spool_set *spooled, struct muster_run *run, struct muster_error *err)
{
	struct stat status;
	const char *const *names;
	char *text = NULL;
	size_t length, count;
	if ((strchr(list, '/') || (stat(list, &status) == 0 && S_ISREG(status.st_mode))) &&
		(muster_file_read(list, NODES_FILE_MAX, &text, &length, err) < 0 || check_lines(list, text, err) < 0)) {
		free(text);
		return -1;
	}
	int rc = muster_hostlist_expand(text ? text : list, run->arena, &names, &count, err);
	free(text);
	if (rc < 0)
		return muster_wrap(err, "the expected nodes");
	add_nodes(run, spooled, names, count);
	return 0;
}

/* Report ignored parts of the directory on standard error; they have no effect on the verdict. */
static void remarks_print(const char *folder, const struct muster_spool_set *spooled)
{
	if (spooled->other_runs > 0)
		fprintf(stderr, "muster: %s: %zu other run%s ignored; the report is about the run started at %s\n",
			folder, spooled->other_runs, spooled->other_runs == 1 ? "" : "s", spooled->header->started);
	if (spooled->stray_count > 0)
		fprintf(stderr,
			"muster: %s: %zu process%s ignored: a wrong --mpi option made each process a job of one rank, "
			"and only the first is shown\n",
			folder, spooled->stray_count, spooled->stray_count == 1 ? "" : "es");
	if (spooled->bad_lines + spooled->bad_files > 0)
		fprintf(stderr, "muster: %s: %zu line%s and %zu file%s ignored; the first: %s: %s\n", folder,
			spooled->bad_lines, spooled->bad_lines == 1 ? "" : "s", spooled->bad_files,
			spooled->bad_files == 1 ? "" : "s", spooled->bad_file, spooled->bad_why);
}

int muster_cmd_assemble(int argc, char **argv)
{
	const char *sku = NULL, *overlay = NULL, *report = NULL, *nodes = NULL, *folder;
	enum muster_strictness strict = MUSTER_LENIENT;
	enum muster_form form = MUSTER_FORM_TEXT;
	const struct muster_option options[] = {
		{ "--expect", "LIST",
			"expected nodes: gpu-[1-3,7], or a file with one name per line (default: the nodes that Slurm "
			"gave the run)",
			.text = &nodes },
		{ "--expect-nodes", "LIST", .instead = "--expect" },
		{ "--report", "FILE", "write the JSON report to FILE; - is standard output", .text = &report },
		{ "--sku", "NAME", "expected machine type (default: that of the run)", .text = &sku,
			.words = muster_words_skus_auto },
		{ "--overlay", "FILE", "overlay with the thresholds of your site (default: that of the run)",
			.text = &overlay },
		MUSTER_CLI_FORMAT(&form),
		MUSTER_CLI_STRICT(&strict, " (default: as in the run)"),
	};
	struct muster_cli cli = {
		.usage = "muster assemble DIR [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Builds the report of a run that could not write one (rank 0 died, job killed) from the "
			    "files of `muster run --spool DIR`. If DIR has several runs, the latest is used.\nExit "
			    "codes: 0 pass, 1 fail, 2 usage or nothing to assemble, 3 inconclusive.\n",
		.prints = true,
		MUSTER_CLI_OPERANDS(&folder, 1),
		.words = muster_words_directories,
		.needed = "no directory given: muster assemble DIR",
	};
	struct muster_paths paths;
	struct muster_selection choice = { 0 };
	struct muster_spool_set spooled = { 0 };
	struct muster_run run;
	struct muster_error err;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, &paths, &code))
		return code;
	if (form == MUSTER_FORM_JSON && !report)
		report = "-";
	muster_run_init(&run);
	int failed = muster_spool_set_read(folder, NULL, run.arena, &spooled, &err);
	if (!failed) {
		nodes = nodes ? nodes : spooled.header->nodelist;
		muster_spool_set_make(&spooled, &run);
		remarks_print(folder, &spooled);
		failed = (nodes && expect_nodes(nodes, &spooled, &run, &err) < 0) ||
			 muster_selection_load(paths.configs, sku ? sku : spooled.header->sku,
				 overlay ? overlay : spooled.header->overlay, &choice, &err) < 0;
	}
	if (failed)
		code = muster_cli_usage(&err);
	else
		code = muster_cli_judge(&choice, &run, strict ? strict : (enum muster_strictness)spooled.header->strict,
			report, "none");
	muster_selection_done(&choice);
	muster_spool_set_done(&spooled);
	muster_run_done(&run);
	return code;
}
