/* SPDX-License-Identifier: Apache-2.0 */
/* inventory_values.c - one value of a node as people read it, or why it is not known
 *
 * A value is never absent: what is not known is the text "unknown" with the reason (why_absent, or the reason of a
 * sample that is null). All texts go through the arena's interning functions, since equal ones are compared by their
 * addresses.
 */
#include "report/inventory_build.h"

#include "muster/probe.h"
#include "muster/run_data.h"
#include "slurm/hostlist.h"
#include "slurm/command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	LIST_MAX = 300,   /* bytes of a list of nodes */
	NAMES_SHOWN = 6,  /* names of a list that is too long */
	NAME_SHOWN = 100, /* bytes of one of these */
};

struct muster_inventory_value muster_inventory_unknown(struct muster_arena *arena, const char *why)
{
	return (struct muster_inventory_value){ .text = muster_arena_string(arena, "unknown"), .why = why };
}

struct muster_inventory_value muster_inventory_text(struct muster_arena *arena, const char *text)
{
	return (struct muster_inventory_value){ .text = muster_arena_string(arena, text) };
}

/* How the probe ended on the node: the first outcome of its ranks that is not OK, else the last one that is OK; NULL
 * when no rank has one. */
static const struct muster_outcome *find_outcome(const struct muster_node *node, const char *probe)
{
	const struct muster_outcome *found = NULL;
	for (size_t i = 0; i < node->rank_count; i++) {
		const struct muster_outcomes *outcomes = &node->ranks[i].outcomes;
		for (size_t j = 0; j < outcomes->count; j++) {
			const struct muster_outcome *outcome = &outcomes->items[j];
			if (strcmp(outcome->probe, probe) == 0 && (!found || found->status == MUSTER_OUTCOME_OK))
				found = outcome;
		}
	}
	return found;
}

/* The first rank of the node from which nothing came; NULL when all sent something. */
static const struct muster_rank *find_missing(const struct muster_node *node)
{
	for (size_t i = 0; i < node->rank_count; i++)
		if (node->ranks[i].missing)
			return &node->ranks[i];
	return NULL;
}

/* Why there is no sample, by the first rule that holds:
 *
 * 1. The rank of the place is missing, or any rank of the node is and no other has an outcome of the metric's probe
 *    (the missing one may have been the one to run it): why the rank is missing.
 * 2. The probe did not end well: how it ended.
 * 3. The probe is one of traffic that the profile quick does not have.
 * 4. Else the report does not have it, as one of an older version. */
static const char *why_absent(
	struct muster_arena *arena, const struct muster_inventory_place *place, const struct muster_metric *metric)
{
	const struct muster_rank *missing =
		place->rank && place->rank->missing ? place->rank : find_missing(place->node);
	const struct muster_probe *probe = metric ? muster_probe_find(muster_metric_probe(metric)) : NULL;
	const struct muster_outcome *outcome = probe ? find_outcome(place->node, probe->name) : NULL;
	const char *profile = place->run->job.profile;
	if (missing && (missing == place->rank || !outcome))
		return muster_arena_printf(arena, "rank %d: %s", missing->rank, missing->missing);
	if (outcome && outcome->status != MUSTER_OUTCOME_OK)
		return muster_arena_printf(arena, "probe %s: %s%s%s", probe->name, muster_outcome_name(outcome->status),
			outcome->detail ? ": " : "", outcome->detail ? outcome->detail : "");
	if (probe && probe->traffic && !probe->ring && profile &&
		strcmp(profile, muster_profile_names[MUSTER_QUICK]) == 0)
		return "not read in profile quick";
	return "not in this report";
}

/* Whether the sample is of the wanted GPU or port; also where none is wanted, or where the sample has no such label. */
static bool is_of(const struct muster_sample *sample, const char *key, const char *wanted)
{
	const char *found = wanted ? muster_label_string(sample->labels, sample->label_count, key) : NULL;
	return !wanted || !found || strcmp(found, wanted) == 0;
}

const struct muster_sample *muster_inventory_find(
	const struct muster_inventory_place *place, const struct muster_metric *metric)
{
	const struct muster_samples *samples = place->rank ? &place->rank->samples : &place->node->samples;
	for (size_t i = 0; metric && i < samples->count; i++)
		if (samples->items[i].metric == metric && is_of(&samples->items[i], "gpu", place->gpu) &&
			is_of(&samples->items[i], "port", place->port))
			return &samples->items[i];
	return NULL;
}

/* "yes", "400 W", "866 GiB"; from 1024 MiB on in GiB, with one decimal place below 100 GiB unless it is whole. bare:
 * the number as it is, without a unit. */
static const char *text_of(
	struct muster_arena *arena, const struct muster_metric *metric, struct muster_value value, bool bare)
{
	char text[64];
	if (value.type == MUSTER_STRING)
		return *value.string ? value.string : "not set";
	if (value.type == MUSTER_BOOLEAN)
		return value.boolean ? "yes" : "no";
	if (!bare && metric->unit == MUSTER_UNIT_MEBIBYTES && value.number >= 1024) {
		double gib = value.number / 1024;
		return muster_arena_printf(arena, "%.*f GiB", gib < 100 && gib != floor(gib) ? 1 : 0, gib);
	}
	muster_value_text(value, text, sizeof text);
	return muster_arena_printf(arena, "%s%s%s", text, !bare && *muster_metric_unit(metric) ? " " : "",
		bare ? "" : muster_metric_unit(metric));
}

struct muster_inventory_value muster_inventory_read(struct muster_arena *arena,
	const struct muster_inventory_place *place, const struct muster_metric *metric, bool bare)
{
	const struct muster_sample *sample = muster_inventory_find(place, metric);
	if (!sample)
		return muster_inventory_unknown(arena, why_absent(arena, place, metric));
	if (sample->value.type == MUSTER_NULL)
		return muster_inventory_unknown(arena, sample->reason ? sample->reason : "the report gives no reason");
	return (struct muster_inventory_value){
		.text = muster_arena_string(arena, text_of(arena, metric, sample->value, bare)),
		.is_number = sample->value.type == MUSTER_NUMBER,
		.number = sample->value.type == MUSTER_NUMBER ? sample->value.number : 0,
	};
}

struct muster_inventory_value muster_inventory_read_shown(struct muster_arena *arena,
	const struct muster_inventory_place *place, const struct muster_metric *metric, const struct muster_shown *as)
{
	struct muster_inventory_value value = muster_inventory_read(arena, place, metric, as->bare);
	if (value.why || !as->second)
		return value;
	struct muster_inventory_value second =
		muster_inventory_read(arena, place, muster_metric_find(as->second), false);
	if (second.why || (as->unless && strcmp(second.text, as->unless) == 0))
		return value; /* "0" NVLinks have no speed */
	value.text = muster_arena_printf(
		arena, "%s%s%s%s", value.text, as->between, second.text, as->after ? as->after : "");
	value.is_number = false;
	return value;
}

/* "a, b, c and 9 more" */
static const char *short_list(struct muster_arena *arena, const char *const *names, size_t count)
{
	const char *text = "";
	for (size_t i = 0; i < count && i < NAMES_SHOWN; i++)
		text = muster_arena_printf(arena, "%s%s%.*s", text, i ? ", " : "", NAME_SHOWN, names[i]);
	return count > NAMES_SHOWN ? muster_arena_printf(arena, "%s and %zu more", text, count - NAMES_SHOWN) : text;
}

/* A name that is no plain host name cannot be in a host list, nor may a list become too wide for a table: both are
 * shown by their first names. */
const char *muster_inventory_nodes_text(
	struct muster_arena *arena, const struct muster_run *run, const size_t *nodes, size_t count)
{
	const char **names = muster_calloc(count + 1, sizeof *names);
	const char *text = NULL;
	bool plain = true;
	for (size_t i = 0; i < count; i++) {
		names[i] = run->nodes[nodes[i]].name;
		plain = plain && muster_slurm_name_is_plain(names[i]);
	}
	if (plain) {
		char *list = muster_hostlist_compress(names, count);
		text = strlen(list) <= LIST_MAX ? muster_arena_string(arena, list) : NULL;
		free(list);
	}
	if (!text)
		text = short_list(arena, names, count);
	free(names);
	return text;
}
