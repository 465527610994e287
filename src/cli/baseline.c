/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.c - `muster baseline`: learn from saved reports, or from a history, what machines of a type usually measure
 *
 * In this order: the options are checked together (check_options), the values are gathered and become medians
 * (baseline_sources.c, history/baseline.h), what was learned of each machine type is printed, and an overlay with one
 * check for each item is written (publish). The overlay is for muster run, muster check, muster lint and muster diff.
 * Nothing is measured, and nothing is evaluated again.
 *
 * stdout has the table of what was learned, unless it is the overlay itself (--output -): then the table goes to
 * stderr. stderr has what was not learned, too. An item that was not learned makes the exit code 3, so that a script
 * notices.
 */
#include "cli/baseline.h"

#include "cli/cli.h"
#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/report.h"
#include "report/print_escaped.h"
#include "util/array.h"
#include "util/file.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHECKS_MAX = 1000 }; /* an expectation file has at most 1024 members in one object */

/* ---- what was learned ---- */

/* Print one row: the key, the profile, how many values, median, MAD, unit and where the values are from. */
static void print_item(FILE *out, const struct muster_learning *learning, const struct muster_learned *item)
{
	char median[32], mad[32];
	snprintf(median, sizeof median, "%.4g", item->median);
	snprintf(mad, sizeof mad, "%.3g", item->mad);
	muster_print_text(out, "  %-64s %-9s %7zu  %8s %8s  %s%s%s", item->key, item->profile, item->count, median, mad,
		muster_metric_unit(item->metric), *muster_metric_unit(item->metric) ? ", " : "",
		muster_learned_source(learning, item));
	fputc('\n', out);
}

/* To out what was learned of the machine type, to stderr what was not. Returns how many items were refused. */
static size_t print_items(FILE *out, const struct muster_learning *learning, const char *machine_type)
{
	size_t refused = 0;
	muster_print_text(out, "%s", machine_type);
	fprintf(out, "\n  %-64s %-9s %7s  %8s %8s\n", "metric", "profile", "values", "median", "MAD");
	for (size_t i = 0; i < learning->count; i++) {
		const struct muster_learned *item = &learning->items[i];
		if (strcmp(item->machine_type, machine_type) != 0)
			continue;
		if (muster_learned_enough(item))
			print_item(out, learning, item);
		else
			refused++;
	}
	for (size_t i = 0; i < learning->count; i++) {
		const struct muster_learned *item = &learning->items[i];
		if (strcmp(item->machine_type, machine_type) != 0 || muster_learned_enough(item))
			continue;
		muster_print_text(
			stderr, "muster: not learned: %s, %s, profile %s: ", machine_type, item->key, item->profile);
		if (item->count < MUSTER_BASELINE_LEAST)
			fprintf(stderr, "%zu value%s, at least %d are needed\n", item->count,
				item->count == 1 ? "" : "s", MUSTER_BASELINE_LEAST);
		else
			fprintf(stderr, "the median is %g, and 0 has no share\n", item->median);
	}
	return refused;
}

/* ---- the overlay ---- */

/* The number of items of the machine type that become checks. */
static size_t count_checks(const struct muster_learning *learning, const char *machine_type)
{
	size_t count = 0;
	for (size_t i = 0; i < learning->count; i++)
		count += muster_learned_enough(&learning->items[i]) &&
			 strcmp(learning->items[i].machine_type, machine_type) == 0;
	return count;
}

/* Write the overlay of one machine type to path, completely or not at all. --fail and --warn are the shares of all
 * checks; without them each check has its own. -1 with err, also for more checks than a file may have. */
static int write_overlay(
	const struct muster_lesson *lesson, const char *machine_type, const char *path, struct muster_error *err)
{
	const struct muster_baseline_shares given = { lesson->o->fail / 100.0, lesson->o->warn / 100.0 };
	struct muster_file file;
	size_t count = count_checks(&lesson->learning, machine_type);
	if (count > CHECKS_MAX)
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: %zu checks were learned, and a file has room for %d: use --profile or --metric",
			machine_type, count, CHECKS_MAX);
	if (muster_file_open(&file, path, err) < 0)
		return -1;
	muster_baseline_print(&lesson->learning, machine_type, lesson->o->fail ? &given : NULL, file.out);
	return muster_file_commit(&file, err);
}

/* The next machine type after this one (NULL: the first); NULL when there is none. Items are sorted by it. */
static const char *next_type(const struct muster_learning *learning, const char *machine_type)
{
	for (size_t i = 0; i < learning->count; i++)
		if (!machine_type || strcmp(learning->items[i].machine_type, machine_type) > 0)
			return learning->items[i].machine_type;
	return NULL;
}

static bool is_directory(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Write the overlay of the only machine type to the file, or one overlay for each type into the folder. Returns the
 * exit code; -1 with err when there is nothing to learn from, when a single file would have to hold several types, or
 * when no item has enough values. */
static int publish(const struct muster_lesson *lesson, struct muster_error *err)
{
	const struct muster_learning *learning = &lesson->learning;
	const char *output = lesson->o->output, *type = next_type(learning, NULL), *types = "";
	bool many = is_directory(output), to_stdout = strcmp(output, "-") == 0;
	FILE *out = to_stdout ? stderr : stdout;
	size_t refused = 0, checks = 0;
	if (!type)
		return muster_fail(err, MUSTER_EUSAGE, "nothing to learn from: no value of a node that passed%s",
			lesson->o->db ? " in the history (--simulated takes simulated runs)" : "");
	for (const char *at = type; at; at = next_type(learning, at))
		types = muster_arena_printf(lesson->arena, "%s%s%s", types, *types ? ", " : "", at);
	if (!many && next_type(learning, type))
		return muster_fail(err, MUSTER_EUSAGE,
			"the values are of several machine types, %s: choose one with --sku NAME, or give a directory "
			"as --output for one file each",
			types);
	for (const char *at = type; at; at = next_type(learning, at)) {
		const char *path = output;
		refused += print_items(out, learning, at);
		if (count_checks(learning, at) == 0)
			continue;
		if (many && (*at == '.' || !muster_text_is_plain(at))) /* from a report: it must be no path */
			return muster_fail(err, MUSTER_EUSAGE,
				"the machine type \"%.80s\" is no name of a file: choose it with --sku, and give a "
				"file as --output",
				at);
		if (many)
			path = muster_arena_printf(lesson->arena, "%s/%s.json", output, at);
		if (write_overlay(lesson, at, path, err) < 0)
			return -1;
		checks += count_checks(learning, at);
		if (!to_stdout)
			fprintf(out, "%s: %zu checks; use it with muster run --overlay %s\n", path,
				count_checks(learning, at), path);
	}
	if (checks == 0)
		return muster_fail(
			err, MUSTER_EUSAGE, "no metric has %d values: no overlay is written", MUSTER_BASELINE_LEAST);
	return refused ? MUSTER_EXIT_INCONCLUSIVE : MUSTER_EXIT_PASS;
}

/* For --metric: add the metric to o->metrics. A metric whose values are neither better nor worse has no baseline. */
static int add_metric(void *arg, const char *text, struct muster_error *err)
{
	struct muster_baseline_options *o = arg;
	const struct muster_metric *metric = muster_cli_metric(text, "--metric", err);
	if (!metric)
		return -1;
	if (muster_metric_worse(metric) == MUSTER_WORSE_NEITHER)
		return muster_fail(err, MUSTER_EUSAGE,
			"--metric: neither a higher nor a lower %s is the worse one: it has no baseline", text);
	MUSTER_ARRAY_PUSH(o->metrics, o->metric_count, o->metric_room, metric->name);
	return 0;
}

static int learn(const struct muster_baseline_options *o, const char *const *paths, size_t count)
{
	struct muster_lesson lesson = { .o = o };
	struct muster_error err;
	int code = muster_lesson_take(&lesson, paths, count, &err);
	if (code == 0) {
		muster_lesson_notes(&lesson);
		code = publish(&lesson, &err);
	}
	muster_lesson_done(&lesson);
	return code < 0 ? muster_cli_usage(&err) : muster_cli_printed(code);
}

/* Check what the options say together, and settle the shares: with one of --fail and --warn the other one has its
 * default, so that both are the same for all metrics. -1 with err. reports: how many were given. */
static int check_options(struct muster_baseline_options *o, size_t reports, struct muster_error *err)
{
	if (!o->db && reports == 0)
		return muster_fail(err, MUSTER_EUSAGE,
			"no report given: muster baseline REPORT... --output FILE, or muster baseline --db FILE "
			"--output FILE");
	if (o->db && reports)
		return muster_fail(err, MUSTER_EUSAGE, "give reports or --db, not both");
	if (!o->db && (o->since || o->simulated))
		return muster_fail(err, MUSTER_EUSAGE, "%s needs --db: reports are given one by one",
			o->since ? "--since" : "--simulated");
	if (!o->output)
		return muster_fail(
			err, MUSTER_EUSAGE, "--output is needed: the overlay's file, or - for standard output");
	if (o->fail || o->warn) { /* one of them makes both the same for all metrics */
		o->fail = o->fail ? o->fail : (int)(MUSTER_BASELINE_FAIL * 100 + 0.5);
		o->warn = o->warn ? o->warn : (int)(MUSTER_BASELINE_WARN * 100 + 0.5);
	}
	if (o->warn && o->warn >= o->fail)
		return muster_fail(err, MUSTER_EUSAGE, "--warn %d has no effect: --fail is %d", o->warn, o->fail);
	return 0;
}

int muster_cmd_baseline(int argc, char **argv)
{
	static const char *const profiles[] = { "all", "quick", "standard", "full" };
	unsigned int profile = 0;
	struct muster_baseline_options o = { 0 };
	const struct muster_option options[] = {
		{ "--output", "FILE",
			"write the overlay to FILE; a directory gets one file for each machine type; - is standard "
			"output",
			.text = &o.output },
		{ "--db", "FILE", "learn from this history (muster history) instead of reports", .text = &o.db },
		{ "--since", "DATE", "with --db: only from runs of this day (2026-10-01) or later", .text = &o.since },
		{ "--simulated", NULL, "with --db: learn from simulated runs", .flag = &o.simulated },
		{ "--sku", "NAME", "only from machines of this type", .text = &o.sku, .words = muster_words_skus },
		{ "--profile", "NAME", "only from runs with this profile (default: all)",
			MUSTER_CLI_CHOICE(&profile, profiles) },
		{ "--metric", "NAME", "learn this metric; can be repeated (default: all speeds that muster measures)",
			.each = add_metric, .arg = &o, .words = muster_words_metrics },
		{ "--fail", "PERCENT",
			"a value fails if it is so much worse than the median (default: 7 to 20, by what was learned)",
			.number = &o.fail, .low = 1, .high = 99 },
		{ "--warn", "PERCENT",
			"a value warns if it is so much worse than the median (default: 5 to 15, by what was learned)",
			.number = &o.warn, .low = 1, .high = 98 },
	};
	const char **paths = muster_calloc((size_t)argc, sizeof *paths);
	struct muster_cli cli = {
		.usage = "muster baseline REPORT... --output FILE [options]\n       muster baseline --db FILE --output "
			 "FILE [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Writes an overlay with the median of each speed, by machine type and profile, and how "
			    "far values are from it (MAD): for muster run, muster check and muster diff AFTER "
			    "--baseline. Values of nodes that failed do not count. A metric needs 20 values.\nExit "
			    "codes: 0 all metrics were learned, 2 usage, no readable report, or nothing was learned, "
			    "3 some metrics were not.\n",
		.operands = paths,
		.operands_most = (size_t)argc,
		.words = muster_words_files,
	};
	struct muster_error err;
	int code;
	if (muster_cli_begin(&cli, argc, argv, NULL, &code)) {
		o.profile = profile ? profiles[profile] : NULL;
		code = check_options(&o, cli.operand_count, &err) < 0 ? muster_cli_usage(&err)
								      : learn(&o, paths, cli.operand_count);
	}
	free(o.metrics);
	free(paths);
	return code;
}
