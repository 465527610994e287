/* SPDX-License-Identifier: Apache-2.0 */
/* overlay.c - what was learned, as an overlay that muster run, check and lint accept
 *
 * Each key becomes a check, whose `where` has the labels of the key, and whose `when` the profile and, of a metric of
 * the job, the numbers of nodes and ranks: a value of 16 ranks is no measure for 64. For example:
 *
 *    "baseline.gpu.h2d_gbps.quick": { "title": "gpu.h2d_gbps as in earlier runs", "metric": "gpu.h2d_gbps",
 *       "when": { "profile": "quick" }, "baseline": { "median": 26.1, "mad": 0.1, "n": 640 },
 *       "min_of_baseline": 0.93, "warn_of_baseline": 0.95, "max_mad": 5.2, "optional": true, ... }
 *
 * The checks are optional, as a run of other sizes has no such value, and have no `after`: expect/place.c puts them
 * behind the checks of the machine type.
 */
#include "history/baseline.h"

#include "json/writer.h"
#include "muster/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_MAX 64 /* characters of a check's id */

/* The id of the check, in the arena: metric, values of the key's labels and profile, as in
 * "baseline.nccl.allreduce_busbw_gbps.536870912.2.16.standard". An id that would be too long has `number`, which is
 * another one for each check of the machine type, in place of labels and profile. Upper case becomes lower case, and
 * what an id must not contain becomes "-". */
static const char *id_of(struct muster_arena *arena, const struct muster_learned *item,
	const struct muster_label *labels, size_t label_count, size_t number)
{
	const char *id = muster_arena_printf(arena, "baseline.%s", item->metric->name);
	char text[256];
	for (size_t i = 0; i < label_count; i++)
		id = muster_arena_printf(arena, "%s.%s", id, muster_value_text(labels[i].value, text, sizeof text));
	id = muster_arena_printf(arena, "%s.%s", id, item->profile);
	size_t length = strlen(id);
	if (length > ID_MAX) /* a number makes it the only one of this name */
		id = muster_arena_printf(arena, "baseline.%s.%zu", item->metric->name, number);
	char *copy = muster_strdup(id);
	for (char *at = copy; *at; at++) {
		if (*at >= 'A' && *at <= 'Z')
			*at = (char)(*at - 'A' + 'a');
		else if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", *at))
			*at = '-';
	}
	return muster_arena_take(arena, copy);
}

/* Seven digits: more than a measurement has. */
static struct muster_value rounded(double number)
{
	char text[32];
	snprintf(text, sizeof text, "%.7g", number);
	return muster_number(strtod(text, NULL));
}

static const char *advice_of(const struct muster_metric *metric)
{
	if (metric->scope == MUSTER_SCOPE_JOB)
		return "this job is slower than earlier jobs of this size: look at the other findings first; after a "
		       "change of driver, image or settings, compare versions with an earlier report (muster diff)";
	return "${node} is slower than machines of this type were: run again; if it stays slow, compare it with a "
	       "good node (muster diff), and exclude it; after a change of driver, image or settings on all nodes, "
	       "learn again";
}

/* Write the check of one item. given: shares of all checks, or NULL for those that suit this item. Nothing for a key
 * that this muster cannot read. */
static void print_check(struct muster_json_writer *w, const struct muster_learning *learning,
	const struct muster_learned *item, const struct muster_baseline_shares *given, size_t number)
{
	const struct muster_baseline_shares shares = given ? *given : muster_learned_shares(item);
	struct muster_arena *arena = learning->arena;
	const struct muster_metric *metric;
	struct muster_label labels[MUSTER_LABELS_MAX];
	size_t label_count = 0;
	if (muster_history_key_read(arena, item->key, &metric, labels, &label_count, NULL) < 0)
		return;
	muster_json_writer_object_of(w, id_of(arena, item, labels, label_count, number));
	muster_json_writer_pair(
		w, "title", muster_string(muster_arena_printf(arena, "%s as in earlier runs", metric->name)));
	muster_json_writer_pair(w, "metric", muster_string(metric->name));
	if (label_count) {
		muster_json_writer_key(w, "where");
		muster_json_writer_labels(w, labels, label_count);
	}
	muster_json_writer_object_of(w, "when");
	muster_json_writer_pair(w, "profile", muster_string(item->profile));
	for (size_t i = 0; i < label_count; i++) /* runs of another size have no such value */
		if (strcmp(labels[i].key, "nodes") == 0 || strcmp(labels[i].key, "ranks") == 0)
			muster_json_writer_pair(w, labels[i].key, labels[i].value);
	muster_json_writer_object_end(w);
	muster_json_writer_object_of(w, "baseline");
	muster_json_writer_pair(w, "median", rounded(item->median));
	muster_json_writer_pair(w, "mad", rounded(item->mad));
	muster_json_writer_pair(w, "n", muster_number((double)item->count));
	muster_json_writer_object_end(w);
	muster_json_writer_pair(w, "min_of_baseline", rounded(1 - shares.fail));
	muster_json_writer_pair(w, "warn_of_baseline", rounded(1 - shares.warn));
	muster_json_writer_pair(w, "max_mad", muster_number(MUSTER_BASELINE_MAD));
	muster_json_writer_pair(w, "optional", muster_boolean(true));
	muster_json_writer_pair(w, "source",
		muster_string(muster_arena_printf(arena, "learned from %s", muster_learned_source(learning, item))));
	muster_json_writer_pair(w, "certainty", muster_string("measured"));
	muster_json_writer_pair(w, "advice", muster_string(advice_of(metric)));
	muster_json_writer_pair(w, "action_code", muster_string("investigate"));
	muster_json_writer_object_end(w);
}

size_t muster_baseline_print(const struct muster_learning *learning, const char *machine_type,
	const struct muster_baseline_shares *shares, FILE *out)
{
	struct muster_json_writer w;
	size_t count = 0;
	muster_json_writer_init(&w, out, 3);
	muster_json_writer_object(&w);
	muster_json_writer_pair(&w, "schema_version", muster_number(1));
	muster_json_writer_object_of(&w, "checks");
	for (size_t i = 0; i < learning->count; i++) {
		const struct muster_learned *item = &learning->items[i];
		if (strcmp(item->machine_type, machine_type) == 0 && muster_learned_enough(item))
			print_check(&w, learning, item, shares, ++count);
	}
	muster_json_writer_object_end(&w);
	muster_json_writer_object_end(&w);
	fputc('\n', out);
	return count;
}
