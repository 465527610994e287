/* SPDX-License-Identifier: Apache-2.0 */
/* compare_print.c - print the differences between two runs as text and as JSON
 *
 * The text has one line for identical changes in several places: a new driver on a hundred nodes, eight slower copies.
 * The JSON has each of them. docs/diff.schema.json describes the JSON.
 *
 *   before: monday.json
 *   after:  tuesday.json
 *
 *   worse
 *     gpu.h2d_gbps: 26.1 -> 23.5 GB/s, -10.0 % (variation 8.2 %): node sim-1, GPU 3 (000b:00:00.0)
 *
 *   changed
 *     node.driver_version: 580.105.08 -> 590.44.01: 100 nodes sim-[1-100]
 *
 *   MUSTER DIFF WORSE worse=1 better=0 changed=100 same=5312
 *
 * The last line is for scripts. It counts changes, not lines of the text.
 */
#include "report/compare.h"

#include "muster/run_data.h"
#include "slurm/hostlist.h"
#include "json/writer.h"
#include "model/gpu.h"
#include "util/array.h"
#include "report/text_summary.h"
#include "report/print_escaped.h"
#include "util/text.h"
#include "util/version.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lines of one kind of change; bytes of a list of nodes. */
enum { LINES_MAX = 60, NAME_MAX_SHOWN = 200 };

/* Where the variation of a value is known from: in the JSON, and behind the variation in the text. */
static const char *const noise_names[MUSTER_NOISE_FROM_COUNT] = {
	[MUSTER_NOISE_FROM_ASSUMPTION] = "assumption",
	[MUSTER_NOISE_FROM_REPEATS] = "repeats",
	[MUSTER_NOISE_FROM_BASELINE] = "baseline",
};
static const char *const noise_texts[MUSTER_NOISE_FROM_COUNT] = {
	[MUSTER_NOISE_FROM_ASSUMPTION] = ", assumed",
	[MUSTER_NOISE_FROM_REPEATS] = "",
	[MUSTER_NOISE_FROM_BASELINE] = ", of the baseline",
};

/* Whether two changes share a line of the text: all but their places is equal. Measured values are never exactly equal,
 * so two changes of one speed share a line, too, and the line shows the larger one. */
static bool alike(const struct muster_change *a, const struct muster_change *b)
{
	if (a->kind != b->kind || a->about != b->about || strcmp(a->what, b->what) != 0 ||
		a->label_count != b->label_count)
		return false;
	for (size_t i = 0; i < a->label_count; i++)
		if (!muster_label_is_of_place(a->labels[i].key) &&
			!muster_value_equal(a->labels[i].value, b->labels[i].value))
			return false;
	if (a->about == MUSTER_ABOUT_FIGURE && a->noise > 0 && b->noise > 0)
		return true;
	return muster_value_equal(a->before, b->before) && muster_value_equal(a->after, b->after) &&
	       muster_text_order(a->before_reason, b->before_reason) == 0 &&
	       muster_text_order(a->after_reason, b->after_reason) == 0;
}

/* "26.1"; of a null "no value (not measured)". */
static void print_value(FILE *out, struct muster_value value, const char *reason)
{
	char text[128];
	if (value.type == MUSTER_NULL)
		muster_print_text(out, MUSTER_NO_VALUE " (%s)", reason ? reason : "no reason given");
	else if (value.type == MUSTER_STRING)
		muster_print_escaped(out, value.string);
	else
		fputs(muster_value_text(value, text, sizeof text), out);
}

/* "node sim-1, GPU 3 (000b:00:00.0)": the node, and of GPU, port and rank the first one that is known. */
static void print_place(FILE *out, const struct muster_change *change)
{
	if (change->node)
		muster_print_text(out, "node %s", change->node);
	else
		fputs("the whole job", out);
	char *gpu = change->gpu ? muster_gpu_text(change->gpu, change->gpu_index) : NULL;
	if (gpu)
		muster_print_text(out, ", %s", gpu);
	else if (change->port)
		muster_print_text(out, ", port %s", change->port);
	else if (change->rank >= 0)
		fprintf(out, ", rank %d", change->rank);
	free(gpu);
}

/* Changes that are alike, represented by the one with the largest share. */
struct bundle {
	const struct muster_change *worst;
	size_t count;
	const char **nodes; /* of each change, in the order of the changes; "": the whole job */
};

/* Where the changes are: "node sim-1, GPU 3 (000b:00:00.0)", or of several "8 GPUs of 2 nodes sim-[1-2], most on node
 * sim-1, GPU 3 (000b:00:00.0)". Changes of one node stand together, so that comparing neighbours counts the nodes. */
static void print_places(FILE *out, const struct bundle *bundle)
{
	const char *things = bundle->worst->gpu ? "GPU" : bundle->worst->port ? "port" : "rank";
	size_t nodes = 0;
	char text[64], *list;
	if (bundle->count == 1) {
		print_place(out, bundle->worst);
		return;
	}
	for (size_t i = 0; i < bundle->count; i++)
		nodes += i == 0 || strcmp(bundle->nodes[i], bundle->nodes[i - 1]) != 0;
	if (bundle->count > nodes)
		fprintf(out, "%s of ", muster_text_plural(text, bundle->count, things));
	fprintf(out, "%s ", nodes == 1 ? "node" : muster_text_plural(text, nodes, "node"));
	list = muster_hostlist_compress(bundle->nodes, bundle->count);
	if (strlen(list) > NAME_MAX_SHOWN)
		memcpy(list + NAME_MAX_SHOWN - 3, "...", 4);
	muster_print_escaped(out, list);
	free(list);
	if (bundle->worst->noise > 0) {
		fputs(", most on ", out);
		print_place(out, bundle->worst);
	}
}

/* "  gpu.h2d_gbps: 26.1 -> 23.5 GB/s, -10.0 % (variation 5.0 %): node sim-1, GPU 0001:00:00.0" */
static void print_bundle(const struct muster_text_page *page, const struct bundle *bundle)
{
	const struct muster_change *change = bundle->worst;
	char *line;
	size_t length;
	FILE *out = muster_memory_open(&line, &length);
	muster_print_text(out, "%s", change->what);
	for (size_t i = 0; i < change->label_count; i++) {
		if (muster_label_is_of_place(change->labels[i].key))
			continue;
		fprintf(out, " %s=", change->labels[i].key);
		muster_text_label(out, &change->labels[i]);
	}
	fputs(": ", out);
	bool last = change->after.type != MUSTER_NULL; /* the unit stands behind the last value that there is */
	print_value(out, change->before, change->before_reason);
	fprintf(out, "%s%s -> ", last || !*change->unit ? "" : " ", last ? "" : change->unit);
	print_value(out, change->after, change->after_reason);
	fprintf(out, "%s%s", last && *change->unit ? " " : "", last ? change->unit : "");
	if (change->noise > 0)
		fprintf(out, ", %+.1f %% (variation %.1f %%%s)", change->share * 100, change->noise * 100,
			noise_texts[change->noise_from]);
	fputs(": ", out);
	print_places(out, bundle);
	muster_memory_close(out);
	fputs("  ", page->out);
	muster_text_lines(page, line, 2, 4);
	free(line);
}

/* The lines of all changes of one kind, at most LINES_MAX: each bundle stands where its first change stands. Later
 * changes of that bundle are marked as told. */
static void print_kind(const struct muster_text_page *page, const struct muster_change *changes, size_t count)
{
	bool *told = muster_calloc(count + 1, sizeof *told);
	const char **nodes = muster_calloc(count + 1, sizeof *nodes);
	size_t lines = 0, hidden = 0;
	if (count > 0)
		fprintf(page->out, "\n%s\n", muster_change_kind_names[changes[0].kind]);
	for (size_t i = 0; i < count; i++) {
		struct bundle bundle = { .worst = &changes[i], .nodes = nodes };
		if (told[i])
			continue;
		if (lines++ >= LINES_MAX) {
			hidden++;
			continue;
		}
		for (size_t j = i; j < count; j++) {
			if (told[j] || !alike(&changes[i], &changes[j]))
				continue;
			told[j] = true;
			nodes[bundle.count++] = changes[j].node ? changes[j].node : "";
			if (fabs(changes[j].share) > fabs(bundle.worst->share))
				bundle.worst = &changes[j];
		}
		print_bundle(page, &bundle);
	}
	if (hidden > 0)
		fprintf(page->out, "  and %zu more, all of them in --format json\n", hidden);
	free(nodes);
	free(told);
}

void muster_comparison_print_text(const struct muster_comparison *comparison, const char *before, const char *after,
	const struct muster_layout *layout, FILE *out)
{
	const struct muster_text_page page = { .out = out, .layout = *layout };
	muster_print_text(out, "before: %s", before);
	fputc('\n', out);
	muster_print_text(out, "after:  %s", after);
	fputc('\n', out);
	if (comparison->incomparable)
		fprintf(out, "The reports cannot be compared: %s\n", comparison->incomparable);
	if (comparison->note)
		fprintf(out, "Not compared: %s\n", comparison->note);
	for (size_t at = 0; at < comparison->change_count;) {
		size_t count = comparison->count[comparison->changes[at].kind];
		print_kind(&page, &comparison->changes[at], count);
		at += count;
	}
	fputs("\nMUSTER DIFF ", out);
	for (const char *at = muster_comparison_verdict(comparison); *at; at++)
		fputc(toupper((unsigned char)*at), out);
	fprintf(out, " worse=%zu better=%zu changed=%zu same=%zu\n", comparison->count[MUSTER_CHANGE_WORSE],
		comparison->count[MUSTER_CHANGE_BETTER], comparison->count[MUSTER_CHANGE_CHANGED], comparison->same);
}

/* ---- JSON ---- */

/* What "before" or "after" is: the file and the run in it. report NULL: the file has what was learned, and no run. */
static void write_run(
	struct muster_json_writer *w, const char *key, const struct muster_report *report, const char *path)
{
	muster_json_writer_object_of(w, key);
	if (!report) {
		muster_json_writer_pair(w, "path", muster_string(path));
		muster_json_writer_pair(w, "learned", muster_boolean(true));
		muster_json_writer_object_end(w);
		return;
	}
	const struct muster_job *job = &report->run->job;
	muster_json_writer_pair(w, "path", muster_string(path));
	muster_json_writer_text(w, "job", job->id);
	muster_json_writer_text(w, "started", job->started);
	muster_json_writer_text(w, "muster", job->version);
	muster_json_writer_pair(w, "sku", muster_string(report->sku));
	muster_json_writer_pair(w, "profile", muster_string(job->profile));
	muster_json_writer_pair(w, "simulated", muster_boolean(job->simulated));
	muster_json_writer_pair(w, "nodes", muster_number((double)muster_run_known_nodes(report->run)));
	muster_json_writer_pair(w, "ranks", muster_number(job->ranks));
	muster_json_writer_pair(w, "repeats", muster_number(job->repeats > 1 ? job->repeats : 1));
	muster_json_writer_object_end(w);
}

/* One element of "changes"; what is not known is absent, but for before and after, which may be null. */
static void write_change(struct muster_json_writer *w, const struct muster_change *change)
{
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "kind", muster_string(muster_change_kind_names[change->kind]));
	muster_json_writer_pair(w, "about", muster_string(muster_change_about_names[change->about]));
	muster_json_writer_pair(w, "what", muster_string(change->what));
	muster_json_writer_object_of(w, "where");
	muster_json_writer_text(w, "node", change->node);
	if (change->rank >= 0)
		muster_json_writer_pair(w, "rank", muster_number(change->rank));
	muster_json_writer_text(w, "gpu", change->gpu);
	if (change->gpu && change->gpu_index >= 0)
		muster_json_writer_pair(w, "gpu_index", muster_number(change->gpu_index));
	muster_json_writer_text(w, "port", change->port);
	if (change->label_count > 0) {
		muster_json_writer_key(w, "labels");
		muster_json_writer_labels(w, change->labels, change->label_count);
	}
	muster_json_writer_object_end(w);
	muster_json_writer_pair(w, "before", change->before);
	muster_json_writer_text(w, "before_reason", change->before_reason);
	muster_json_writer_pair(w, "after", change->after);
	muster_json_writer_text(w, "after_reason", change->after_reason);
	muster_json_writer_pair(w, "unit", muster_string(change->unit));
	if (change->share != 0)
		muster_json_writer_pair(w, "percent", muster_number(change->share * 100));
	if (change->noise > 0) {
		muster_json_writer_pair(w, "noise_percent", muster_number(change->noise * 100));
		muster_json_writer_pair(w, "noise_from", muster_string(noise_names[change->noise_from]));
	}
	muster_json_writer_object_end(w);
}

void muster_comparison_print_json(const struct muster_comparison *comparison, const struct muster_report *before,
	const char *before_path, const struct muster_report *after, const char *after_path, FILE *out)
{
	struct muster_json_writer w;
	muster_json_writer_init(&w, out, 2);
	muster_json_writer_object(&w);
	muster_json_writer_pair(&w, "schema_version", muster_number(1));
	muster_json_writer_pair(&w, "muster", muster_string(muster_version));
	muster_json_writer_pair(&w, "verdict", muster_string(muster_comparison_verdict(comparison)));
	muster_json_writer_text(&w, "incomparable", comparison->incomparable);
	muster_json_writer_text(&w, "note", comparison->note);
	write_run(&w, "before", before, before_path);
	write_run(&w, "after", after, after_path);
	muster_json_writer_object_of(&w, "count");
	for (enum muster_change_kind kind = 0; kind < MUSTER_CHANGE_COUNT; kind++)
		muster_json_writer_pair(
			&w, muster_change_kind_names[kind], muster_number((double)comparison->count[kind]));
	muster_json_writer_pair(&w, "same", muster_number((double)comparison->same));
	muster_json_writer_object_end(&w);
	muster_json_writer_array_of(&w, "changes");
	for (size_t i = 0; i < comparison->change_count; i++)
		write_change(&w, &comparison->changes[i]);
	muster_json_writer_array_end(&w);
	muster_json_writer_object_end(&w);
}
