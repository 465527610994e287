/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_sources.c - the values that teach, from saved reports or from a history
 *
 * Reports and a history give the same values in the same form (struct muster_history_value), and the same rules choose
 * among them (history/baseline.h: muster_baseline_teaches): the node of the value passed, perhaps with warnings, and no
 * other job was beside it. What differs is how the verdict of a node is found:
 *
 *    reports   after each report is read, lesson->nodes has its nodes, and the values of that report follow
 *    history   values come key by key, so lesson->nodes has the verdicts of all reports at once, each under a name
 *              of its own (verdict_name)
 */
#include "cli/baseline.h"
#include "history/db.h"
#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/report.h"
#include "muster/run.h"
#include "util/array.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPORTS_FEW = 5 }; /* fewer do not show how values differ from run to run */

/* Whether the options ask for this value: its machine type, profile and metric. */
static bool is_wanted(const struct muster_baseline_options *o, const struct muster_history_value *value)
{
	if (o->sku && strcmp(o->sku, value->report->machine_type) != 0)
		return false;
	if (o->profile && strcmp(o->profile, value->report->profile) != 0)
		return false;
	return o->metric_count ? muster_text_among(value->metric->name, o->metrics, o->metric_count)
			       : muster_baseline_wanted(value->metric);
}

/* The verdict of the node in lesson->nodes; INCONCLUSIVE when it has none there, so that its values do not teach. */
static enum muster_status status_of(const struct muster_lesson *lesson, const char *node)
{
	const struct muster_node_status key = { .name = node };
	const struct muster_node_status *found =
		node && lesson->node_count
			? bsearch(&key, lesson->nodes, lesson->node_count, sizeof key, muster_by_text)
			: NULL;
	return found ? found->status : MUSTER_INCONCLUSIVE;
}

/* For muster_history_values(): learn a value of the report at hand. */
static int take_value(void *arg, const struct muster_history_value *value, struct muster_error *err)
{
	struct muster_lesson *lesson = arg;
	(void)err;
	if (muster_baseline_teaches(value, status_of(lesson, value->node)) && is_wanted(lesson->o, value))
		muster_learning_take(&lesson->learning, value);
	return 0;
}

/* ---- reports ---- */

/* Whether a report with this job, start, duration and nodes was given before; if not, it is remembered. Two files can
 * be of one run: a report that was evaluated again, or a copy. */
static bool is_seen(struct muster_lesson *lesson, const struct muster_run *run)
{
	const char *text = muster_arena_printf(lesson->arena, "%s %s %.3f", run->job.id ? run->job.id : "",
		run->job.started ? run->job.started : "", run->job.elapsed_s);
	for (size_t i = 0; i < run->node_count; i++)
		text = muster_arena_printf(lesson->arena, "%s %s", text, run->nodes[i].name);
	for (size_t i = 0; i < lesson->seen_count; i++)
		if (lesson->seen[i] == text)
			return true;
	MUSTER_ARRAY_PUSH(lesson->seen, lesson->seen_count, lesson->seen_room, text);
	return false;
}

static void note_version(struct muster_lesson *lesson, const char *version)
{
	if (version && !lesson->version)
		lesson->version = muster_arena_string(lesson->arena, version);
	lesson->versions_differ = lesson->versions_differ || (version && strcmp(version, lesson->version) != 0);
}

/* Learn from one report. Not used, and only counted, are a run that was given before, an unknown machine type, and a
 * run beside other jobs. -1 with err when the report is simulated and the first one is not, or the other way round. */
static int take_report(
	struct muster_lesson *lesson, const char *path, const struct muster_report *report, struct muster_error *err)
{
	struct muster_history_report described;
	muster_history_describe(report, &described);
	if (!lesson->first_path) {
		lesson->first_path = path;
		lesson->simulated = described.simulated;
	}
	if (lesson->simulated != described.simulated)
		return muster_fail(err, MUSTER_EUSAGE,
			"%s is %s, and %s is not: real machines are not learned from simulated ones",
			described.simulated ? path : lesson->first_path, "simulated",
			described.simulated ? lesson->first_path : path);
	if (is_seen(lesson, report->run)) {
		lesson->twice++;
		return 0;
	}
	if (!described.machine_type || strcmp(described.machine_type, "unknown") == 0) {
		lesson->unknown++;
		return 0;
	}
	if (described.beside_jobs) {
		lesson->beside++;
		return 0;
	}
	struct muster_node_status *nodes = muster_node_statuses(report, &lesson->node_count);
	lesson->nodes = nodes;
	lesson->used++;
	note_version(lesson, described.version);
	muster_learning_report(&lesson->learning);
	int result = muster_history_values(report, take_value, lesson, err);
	free(nodes);
	return result;
}

/* Learn from each report. -1 with err at the first one that cannot be read. */
static int take_files(struct muster_lesson *lesson, const char *const *paths, size_t count, struct muster_error *err)
{
	int result = 0;
	for (size_t i = 0; i < count && result == 0; i++) {
		struct muster_run run;
		struct muster_report report;
		if (muster_report_load(paths[i], &run, &report, err) < 0)
			return -1;
		result = take_report(lesson, paths[i], &report, err);
		muster_report_done(&report);
		muster_run_done(&run);
	}
	return result;
}

/* ---- a history ---- */

/* The nodes of all reports, each under the name "<start> <job> <node>". */
struct verdicts {
	struct muster_arena *arena;
	struct muster_node_status *items;
	size_t count, room;
};

/* "<start> <job> <node>", by which the verdict of a node in one report of a history is found; in the arena. */
static const char *verdict_name(
	struct muster_arena *arena, const struct muster_history_report *report, const char *node)
{
	return muster_arena_printf(
		arena, "%lld %s %s", (long long)report->started, report->job ? report->job : "", node);
}

static int take_verdict(void *arg, const struct muster_history_verdict *verdict, struct muster_error *err)
{
	struct verdicts *all = arg;
	(void)err;
	MUSTER_ARRAY_PUSH(all->items, all->count, all->room,
		((struct muster_node_status){
			.name = verdict_name(all->arena, verdict->report, verdict->node), .status = verdict->status }));
	return 0;
}

/* For muster_history_each_value(): learn a value of a history. */
static int take_stored(void *arg, const struct muster_history_value *value, struct muster_error *err)
{
	struct muster_lesson *lesson = arg;
	const char *name = value->node ? verdict_name(lesson->arena, value->report, value->node) : NULL;
	(void)err;
	if (!is_wanted(lesson->o, value) || !muster_baseline_teaches(value, status_of(lesson, name)))
		return 0;
	note_version(lesson, value->report->version);
	muster_learning_take(&lesson->learning, value);
	return 0;
}

/* Learn from the history o->db in two walks: first all verdicts, which are sorted to be searched, then all values. -1
 * with err; the nodes of a report that was added between the walks have no verdict, so that their values do not teach.
 */
static int take_history(struct muster_lesson *lesson, struct muster_error *err)
{
	const struct muster_baseline_options *o = lesson->o;
	struct verdicts verdicts = { .arena = lesson->arena };
	struct muster_history_filter filter = { .machine_type = o->sku,
		.profile = o->profile,
		.simulated = o->simulated,
		.wanted = o->metric_count ? NULL : muster_baseline_wanted };
	struct muster_history *history;
	char day[32];
	if (o->since && snprintf(day, sizeof day, "%.20sT00:00:00Z", o->since) > 0 &&
		muster_utc_read(day, &filter.since) < 0)
		return muster_fail(
			err, MUSTER_EUSAGE, "--since: a date like 2026-10-01 is needed, found \"%.40s\"", o->since);
	if (o->before && muster_utc_read(o->before, &filter.until) < 0)
		return muster_fail(err, MUSTER_EUSAGE, "the report does not say when its run started");
	if (muster_history_open(o->db, false, &history, err) < 0)
		return -1;
	int result = muster_history_each_verdict(history, &filter, false, take_verdict, &verdicts, err);
	if (verdicts.count)
		qsort(verdicts.items, verdicts.count, sizeof *verdicts.items, muster_by_text);
	lesson->nodes = verdicts.items;
	lesson->node_count = verdicts.count;
	if (result == 0)
		result = muster_history_each_value(history, &filter, take_stored, lesson, err);
	muster_history_close(history);
	free(verdicts.items);
	return result;
}

int muster_lesson_take(struct muster_lesson *lesson, const char *const *paths, size_t count, struct muster_error *err)
{
	lesson->arena = muster_arena_new();
	int result = lesson->o->db ? take_history(lesson, err) : take_files(lesson, paths, count, err);
	if (result == 0)
		muster_learning_end(&lesson->learning);
	return result;
}

void muster_lesson_notes(const struct muster_lesson *lesson)
{
	const struct {
		size_t count;
		const char *why;
	} notes[] = {
		{ lesson->twice, "given twice: it counts once" },
		{ lesson->unknown, "of an unknown machine type: not used" },
		{ lesson->beside, "measured beside other jobs: not used" },
	};
	for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
		if (notes[i].count)
			fprintf(stderr, "muster: %zu report%s %s\n", notes[i].count, notes[i].count == 1 ? "" : "s",
				notes[i].why);
	size_t most = 0; /* reports behind one metric */
	for (size_t i = 0; i < lesson->learning.count; i++)
		most = lesson->learning.items[i].reports > most ? lesson->learning.items[i].reports : most;
	if (most > 0 && most < REPORTS_FEW)
		fprintf(stderr,
			"muster: learned from %zu report%s: how values differ from run to run is not in it; give at "
			"least %d\n",
			most, most == 1 ? "" : "s", REPORTS_FEW);
	if (lesson->versions_differ)
		fputs("muster: the reports are of different versions of muster, which may measure in other ways\n",
			stderr);
}

void muster_lesson_done(struct muster_lesson *lesson)
{
	muster_learning_done(&lesson->learning);
	free(lesson->seen);
	muster_arena_free(lesson->arena);
}
