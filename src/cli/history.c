/* SPDX-License-Identifier: Apache-2.0 */
/* history.c - `muster history`: keep reports in a database, and ask it about nodes and values over time
 *
 * `muster history add` writes reports into a database; all other words are questions about it:
 *
 *    word       question (history/questions.h)         options of its own
 *    (none)     nodes, or with --metric values         --metric
 *    flapping   nodes that fail and pass               --runs --failed
 *    worst      slowest parts of a machine type        --metric --reports
 *    diff       what changed at a date                 --metric --before --reports
 *    trial      what drains would have done
 *
 * ask() makes the table of options for one of them, fill_question() turns the options into a question, and answer()
 * opens the database, asks, and prints the table of the answer. Simulated runs are never mixed with real ones: the
 * filter takes one kind, and a note says that the answer is of simulated runs, or how many of these are not in it.
 */
#include "cli/cli.h"
#include "history/questions.h"
#include "muster/run.h"
#include "slurm/hostlist.h"
#include "util/text.h"
#include "muster/report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- add ---- */

static const char *const added_names[MUSTER_HISTORY_ADDED_COUNT] = { "added", "updated", "already there" };

/* How many reports were added, updated and there already; could not be read; could not be written. */
struct tally {
	size_t count[MUSTER_HISTORY_ADDED_COUNT], unread, unwritten;
};

/* Add one report, and count it in tally. A report that cannot be read, or that a history cannot keep (the error begins
 * with "$.", a place in the report), is named on stderr, and the next one is tried. False after an error of the
 * database, which the next report would meet, too. */
static bool add_one(struct muster_history *history, const char *path, struct tally *tally)
{
	struct muster_report report;
	struct muster_run run;
	struct muster_error err;
	enum muster_history_added added;
	if (muster_report_load(path, &run, &report, &err) < 0) {
		fprintf(stderr, "muster: %s\n", err.text);
		tally->unread++;
		return true;
	}
	int rc = muster_history_add(history, &report, &added, &err);
	muster_report_done(&report);
	muster_run_done(&run);
	if (rc == 0) {
		tally->count[added]++;
		return true;
	}
	bool of_report = strncmp(err.text, "$.", 2) == 0;
	fprintf(stderr, "muster: %s%s%s\n", of_report ? path : "", of_report ? ": " : "", err.text);
	*(of_report ? &tally->unread : &tally->unwritten) += 1;
	return of_report;
}

/* Print the error. 2 for what the user can correct, a missing library included, else 3. */
static int exit_of(const struct muster_error *err)
{
	fprintf(stderr, "muster: %s\n", err->text);
	return err->code == MUSTER_EUSAGE || err->code == MUSTER_ELIB ? MUSTER_EXIT_USAGE : MUSTER_EXIT_INCONCLUSIVE;
}

enum { ADDED_MOST = 4096 }; /* reports of one command */

static int add(int argc, char **argv)
{
	static const char *inputs[ADDED_MOST];
	const char *given = NULL;
	bool quiet = false;
	const struct muster_option options[] = {
		{ "--db", "FILE", "the database (default: see below)", .text = &given },
		{ "--quiet", NULL, "print nothing when all reports are in the database", .flag = &quiet },
	};
	struct muster_cli cli = {
		.usage = "muster history add REPORT... [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue =
			"Adds saved reports to a database; makes the database if there is none. A run that is "
			"there already is not added again; if it was evaluated again (muster check), its "
			"verdicts are replaced. Several processes may add at once.\nDefault: "
			"$XDG_STATE_HOME/muster/history.db or ~/.local/state/muster/history.db; for root "
			"/var/lib/muster/history.db.\nExit codes: 0 all reports are in the database, 2 usage, a "
			"report that cannot be read (the others are added), a file that is no history, or for root a "
			"folder in which others can write, 3 the database cannot be written.\n",
		.operands = inputs,
		.operands_least = 1,
		.operands_most = ADDED_MOST,
		.words = muster_words_files,
		.needed = "no report given: muster history add REPORT...",
	};
	struct muster_history *history;
	struct muster_error err;
	struct tally tally = { 0 };
	int code;
	if (!muster_cli_begin(&cli, argc, argv, NULL, &code))
		return code;
	char *path = given ? muster_strdup(given) : muster_history_default_path(true, &err);
	int rc = path ? muster_history_open(path, true, &history, &err) : -1;
	free(path);
	if (rc < 0)
		return exit_of(&err);
	size_t done = 0;
	while (done < cli.operand_count && add_one(history, inputs[done], &tally))
		done++;
	muster_history_close(history);
	for (size_t i = 0; i < MUSTER_HISTORY_ADDED_COUNT && !quiet; i++)
		if (tally.count[i] || (i == 0 && done == cli.operand_count && !tally.unread))
			printf("%zu %s\n", tally.count[i], added_names[i]);
	if (tally.unwritten)
		fprintf(stderr, "muster: not added: %zu of %zu reports\n", cli.operand_count - done, cli.operand_count);
	return muster_cli_printed(tally.unwritten ? MUSTER_EXIT_INCONCLUSIVE
				  : tally.unread  ? MUSTER_EXIT_USAGE
						  : MUSTER_EXIT_PASS);
}

/* ---- questions ---- */

/* Ask the question of the history at path, and print the answer. The tables point to texts of the history, so they are
 * printed and released before it is closed. count: rows that are shown, 0 for all. Returns the exit code. */
static int answer(const char *path, const struct muster_history_question *question, muster_history_ask *ask,
	enum muster_table_format format, int count, struct muster_arena *arena)
{
	struct muster_table table = { .arena = arena };
	int64_t simulated;
	struct muster_history *history;
	struct muster_error err;
	if (muster_history_open(path, false, &history, &err) < 0)
		return exit_of(&err);
	int rc = muster_history_simulated(history, &simulated, &err);
	rc = rc < 0 ? rc : ask(history, question, &table, &err);
	if (rc == 0) {
		for (struct muster_table *each = &table; each; each = each->next)
			each->shown = (size_t)count;
		if (question->filter.simulated)
			muster_table_note(
				&table, "SIMULATED: results come from simulated hardware, not from real machines");
		else if (simulated)
			muster_table_note(&table, "%lld simulated run%s not included: see --simulated",
				(long long)simulated, simulated == 1 ? " is" : "s are");
		muster_table_print(&table, format, stdout);
	}
	muster_table_done(&table);
	muster_history_close(history);
	return rc < 0 ? exit_of(&err) : muster_cli_printed(MUSTER_EXIT_PASS);
}

enum topic { TOPIC_NODES, TOPIC_FLAPPING, TOPIC_WORST, TOPIC_DIFF, TOPIC_TRIAL, TOPIC_ADD, TOPIC_COUNT };

/* The arguments of all questions. A question has only the options of its row in ask(); the others keep their defaults.
 * -1 in `reports` says that the user gave no number. */
struct arguments {
	const char *db, *nodes, *metric, *since, *machine_type, *profile, *before;
	bool simulated;
	enum muster_table_format format;
	int count, runs, failed, reports;
};

/* Values of all metrics are read of so many reports; it takes about a second (docs/dev/measurements.md). */
enum { REPORTS_OF_ALL_METRICS = 5000, REPORTS_LEAST = 100 };

/* Make the question of the options, and check what they say together. -1 with err. *ret borrows the texts of a, and its
 * nodes are in arena. Without --since the question `worst` is about 7 days and `trial` about 14; `diff` needs a date,
 * and compares with the 7 days before it. A question about all metrics of all nodes reads at most
 * REPORTS_OF_ALL_METRICS reports, unless --reports says otherwise. */
static int fill_question(const struct arguments *a, enum topic topic, struct muster_arena *arena,
	struct muster_history_question *ret, struct muster_error *err)
{
	static const char week[] = "7d";
	const char *since = a->since ? a->since : topic == TOPIC_WORST ? week : topic == TOPIC_TRIAL ? "14d" : NULL;
	*ret = (struct muster_history_question){
		.filter = { .metric = a->metric,
			.machine_type = a->machine_type,
			.profile = a->profile,
			.simulated = a->simulated },
		.now = time(NULL),
		.runs = a->runs,
		.failed = a->failed,
	};
	if (a->reports >= 0)
		ret->filter.reports_most = (size_t)a->reports;
	else if (!a->metric && !a->nodes)
		ret->filter.reports_most = REPORTS_OF_ALL_METRICS;
	if (a->nodes && muster_hostlist_expand(a->nodes, arena, &ret->filter.nodes, &ret->filter.node_count, err) < 0)
		return muster_wrap(err, "--node");
	if (topic == TOPIC_DIFF && !since)
		return muster_fail(err, MUSTER_EUSAGE, "history diff: say with --since when the change was");
	if (since && muster_history_since(since, ret->now, "--since", &ret->filter.since, err) < 0)
		return -1;
	if (topic == TOPIC_DIFF && muster_history_since(a->before ? a->before : week, ret->filter.since, "--before",
					   &ret->before_from, err) < 0)
		return -1;
	if (topic == TOPIC_DIFF && ret->before_from >= ret->filter.since)
		return muster_fail(err, MUSTER_EUSAGE, "--before: %s is not before --since", a->before);
	if (a->reports > 0 && a->reports < REPORTS_LEAST)
		return muster_fail(err, MUSTER_EUSAGE, "--reports: 0 for all, or at least %d is needed, found %d",
			REPORTS_LEAST, a->reports);
	if (topic == TOPIC_FLAPPING && a->failed >= a->runs)
		return muster_fail(
			err, MUSTER_EUSAGE, "--failed: less than --runs (%d) is needed, found %d", a->runs, a->failed);
	return 0;
}

#define EXITS                                                                                                          \
	"Exit codes: 0 answered, 2 usage, or no readable history, 3 the history or the answer could not be used.\n"

static const struct {
	const char *name, *meaning; /* of the word after history; NULL: none */
	const char *usage, *epilogue;
	muster_history_ask *ask;
} topics[TOPIC_COUNT] = {
	[TOPIC_NODES] = { NULL, NULL, "muster history [options]",
		"Prints each node with its verdicts over time; with --metric, values over time.\n"
		"Other questions: muster history flapping|worst|diff|trial; muster history add REPORT... keeps "
		"reports.\n"
		"Machine types and profiles are never mixed, and simulated runs appear only with --simulated.\n" EXITS,
		muster_ask_nodes },
	[TOPIC_FLAPPING] = { "flapping", "nodes that failed some of their last runs",
		"muster history flapping [options]",
		"Lists nodes that failed some of their last runs and passed others. Defaults: 2 of 10. A check that "
		"fails by chance in 1 % of the runs of a good node does so twice in 10 runs for 4 nodes of "
		"1,000.\n" EXITS,
		muster_ask_flapping },
	[TOPIC_WORST] = { "worst", "parts that are lowest among those of their machine type",
		"muster history worst [options]",
		"Lists the parts (GPUs, ports) that are slowest among those of their machine type, by the median of "
		"each part. Without --metric: all measured speeds. Without --since: the last 7 days.\n" EXITS,
		muster_ask_worst },
	[TOPIC_DIFF] = { "diff", "what changed at a date", "muster history diff --since DATE [options]",
		"Compares medians before and after a date, for each part of each node. A speed counts as changed if "
		"it differs by more than 5 % (25 % for copies of all GPUs at once), and is outside the middle 80 % "
		"of the values before.\n" EXITS,
		muster_ask_diff },
	[TOPIC_TRIAL] = { "trial", "what drains would have done", "muster history trial [options]",
		"Prints, without a drain, which nodes muster drain would have drained in the last 14 days (--since), "
		"how often each check failed, how often the node passed within the hour, and which thresholds no "
		"machine comes near: for MUSTER_DRAIN=trial in /etc/default/muster.\n" EXITS,
		muster_ask_trial },
	[TOPIC_ADD] = { .name = "add", .meaning = "add reports" },
};

/* Read the options of one question, and answer it. `all` says of each option which questions have it. The paths are
 * looked for only where expectation files are needed. Returns the exit code. */
static int ask(enum topic topic, int argc, char **argv)
{
	struct arguments a = { .count = 50, .runs = 10, .failed = 2, .reports = -1 };
	enum { /* questions that an option is of */
		NODES = 1 << TOPIC_NODES,
		FLAPPING = 1 << TOPIC_FLAPPING,
		WORST = 1 << TOPIC_WORST,
		DIFF = 1 << TOPIC_DIFF,
		EVERY = NODES | FLAPPING | WORST | DIFF | 1 << TOPIC_TRIAL,
	};
	const struct {
		int topics;
		struct muster_option option;
	} all[] = {
		{ EVERY, { "--db", "FILE", "the database (default: as of muster history add)", .text = &a.db } },
		{ EVERY, { "--format", "FORMAT", "text (default), json, csv or html",
				 MUSTER_CLI_CHOICE(&a.format, muster_table_format_names) } },
		{ EVERY, { "--rows", "N", "rows of text and HTML, 0 for all (default: 50)", .number = &a.count,
				 .low = 0, .high = 1000000 } },
		{ EVERY, { "--count", "N", .instead = "--rows" } },
		{ EVERY, { "--node", "LIST", "only these nodes, as a host list (gpu-[1-3,7])", .text = &a.nodes } },
		{ EVERY, { "--since", "TIME", "only runs since a date (2026-11-20), or for so long (36h, 7d, 4w)",
				 .text = &a.since } },
		{ EVERY, { "--sku", "NAME", "only this machine type", .text = &a.machine_type,
				 .words = muster_words_skus } },
		{ EVERY, { "--profile", "PROFILE", "only runs of this profile", .text = &a.profile } },
		{ EVERY, { "--simulated", NULL, "simulated runs, and only those", .flag = &a.simulated } },
		{ NODES | WORST | DIFF,
			{ "--metric", "NAME",
				"values of this metric; labels as in gpu.bidirectional_gbps{direction=h2d}",
				.text = &a.metric, .words = muster_words_metrics } },
		{ FLAPPING, { "--runs", "N", "how many of the last runs of each node count (default: 10)",
				    .number = &a.runs, .low = 2, .high = 10000 } },
		{ FLAPPING, { "--failed", "N", "how many of these must have failed (default: 2)", .number = &a.failed,
				    .low = 1, .high = 10000 } },
		{ DIFF, { "--before", "TIME", "what counts as before: since a date, or for so long (default: 7d)",
				.text = &a.before } },
		{ WORST | DIFF,
			{ "--reports", "N",
				"read the values of at most N reports, spread over the time; 0 for all (default: "
				"5000, with --metric or --node all)",
				.number = &a.reports, .low = 0, .high = 1000000000 } },
	};
	struct muster_option options[sizeof all / sizeof *all];
	size_t count = 0;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].topics & 1 << topic)
			options[count++] = all[i].option;
	struct muster_cli cli = {
		.usage = topics[topic].usage,
		.options = options,
		.option_count = count,
		.epilogue = topics[topic].epilogue,
		.prints = true,
	};
	struct muster_history_question question;
	struct muster_paths paths = { 0 };
	struct muster_error err;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, topic == TOPIC_TRIAL ? &paths : NULL, &code))
		return code;
	struct muster_arena *arena = muster_arena_new();
	char *path = a.db ? muster_strdup(a.db) : muster_history_default_path(false, &err);
	if (!path || fill_question(&a, topic, arena, &question, &err) < 0) {
		code = muster_cli_usage(&err);
	} else {
		question.db = path;
		question.configs = paths.configs;
		code = answer(path, &question, topic == TOPIC_NODES && a.metric ? muster_ask_values : topics[topic].ask,
			a.format, a.count, arena);
	}
	free(path);
	muster_arena_free(arena);
	return code;
}

/* The first word may name a question; without one the question is that of nodes. The name is the argv[0] of the
 * question. */
int muster_cmd_history(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], MUSTER_COMPLETE) == 0) {
		const struct muster_typed typed = { .before = "", .word = argv[2] };
		for (size_t i = TOPIC_FLAPPING; i < TOPIC_COUNT; i++)
			muster_offer(&typed, topics[i].name, topics[i].meaning);
	}
	/* the words of a line that is completed come after --complete, which goes behind the name for the question */
	int first = argc > 3 && strcmp(argv[1], MUSTER_COMPLETE) == 0 ? 2 : 1;
	for (size_t i = TOPIC_FLAPPING; i < TOPIC_COUNT && argc > first; i++) {
		char *name = argv[first];
		if (strcmp(name, topics[i].name) != 0)
			continue;
		argv[first] = argv[1];
		argv[1] = name;
		return i == TOPIC_ADD ? add(argc - 1, argv + 1) : ask((enum topic)i, argc - 1, argv + 1);
	}
	if (argc > first && first == 1 && argv[1][0] != '-') {
		char near[MUSTER_SUGGEST_MAX];
		struct muster_error err;
		muster_fail(&err, MUSTER_EUSAGE, "history: no such question: \"%.60s\"%s (muster history --help)",
			argv[1],
			muster_suggest(
				argv[1], topics + TOPIC_FLAPPING, TOPIC_COUNT - TOPIC_FLAPPING, sizeof *topics, near));
		return muster_cli_usage(&err);
	}
	return ask(TOPIC_NODES, argc, argv);
}
