/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - nodes, their GPUs and ports, and what the findings say about each
 *
 * The steps of muster_html_places_make():
 *
 * 1. make_node(): the parts of each node. Its GPUs are those that its ranks took, in the order of the ranks (a rank
 *    without a GPU is a part without a name), then those that node.gpu_bus_ids lists and no rank took. Its ports are
 *    those that its samples name.
 * 2. add_findings(): each node and part gets the worst status of the findings that name it. A GPU or a port that only a
 *    finding names is absent from the node, and becomes a part of it here.
 * 3. choose(): which nodes have details and a picture: those with the worst findings, up to a limit.
 *
 * From step 2 on no part is removed or moved, so indices of parts are good anchors.
 */
#include "report/html/places.h"

#include "model/gpu.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "report/html/html.h"
#include "util/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The part with this name, of which `length` bytes count; NULL when there is none. */
static struct muster_html_part *find(const struct muster_html_parts *parts, const char *name, size_t length)
{
	for (size_t i = 0; i < parts->count; i++)
		if (parts->items[i].name && strlen(parts->items[i].name) == length &&
			memcmp(parts->items[i].name, name, length) == 0)
			return &parts->items[i];
	return NULL;
}

static void add(struct muster_html_parts *parts, const char *name, const struct muster_rank *rank, bool measured)
{
	MUSTER_ARRAY_PUSH(parts->items, parts->count, parts->room,
		((struct muster_html_part){
			.name = name, .gpu_index = -1, .rank = rank, .status = measured ? MUSTER_PASS : MUSTER_SKIP }));
}

static void add_gpu(struct muster_html_node *place, const char *gpu, const struct muster_rank *rank, bool measured)
{
	add(&place->gpus, gpu, rank, measured);
	place->gpus.items[place->gpus.count - 1].gpu_index = muster_node_gpu_index(place->node, gpu);
}

/* The rank that names no GPU and whose turn it was to take the GPU at this place of NVML's order; NULL when there is
 * none. A missing rank has its place among the ranks of the node. */
static struct muster_html_part *silent_rank(struct muster_html_node *place, size_t turn)
{
	for (size_t i = 0; i < place->node->rank_count; i++) {
		const struct muster_rank *rank = &place->node->ranks[i];
		if (!place->gpus.items[i].name && (rank->local_rank < 0 ? i : (size_t)rank->local_rank) == turn)
			return &place->gpus.items[i];
	}
	return NULL;
}

/* GPUs that the node has and no rank named: the words of node.gpu_bus_ids, in NVML's order. Where a rank that sent no
 * GPU would have taken the GPU at this place, the GPU becomes that of the rank; else it is a part without a rank. */
static void add_untaken(struct muster_html_node *place, struct muster_arena *arena)
{
	size_t turn = 0;
	for (const char *at = muster_sample_text(&place->node->samples, "node.gpu_bus_ids", ""); *at; turn++) {
		size_t length = strcspn(at, " ");
		if (length > 0 && !find(&place->gpus, at, length)) {
			const char *name = muster_arena_printf(arena, "%.*s", (int)length, at);
			struct muster_html_part *rank = silent_rank(place, turn);
			if (rank) {
				rank->name = name;
				rank->gpu_index = muster_node_gpu_index(place->node, name);
			} else {
				add_gpu(place, name, NULL, false);
			}
		}
		at += length + strspn(at + length, " ");
	}
}

static void add_ports(struct muster_html_node *place)
{
	const struct muster_samples *samples = &place->node->samples;
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		const char *port = sample->metric->scope == MUSTER_SCOPE_PORT
					   ? muster_label_string(sample->labels, sample->label_count, "port")
					   : NULL;
		size_t last = place->ports.count;
		if (port && (last == 0 || strcmp(place->ports.items[last - 1].name, port) != 0) &&
			!find(&place->ports, port, strlen(port)))
			add(&place->ports, port, NULL, true);
	}
}

/* The parts of a node. Its status, and that of each part, is PASS where something was measured, else SKIP: findings may
 * only worsen it. */
static void make_node(struct muster_html_node *place, const struct muster_node *node, struct muster_arena *arena)
{
	bool any = false;
	*place = (struct muster_html_node){ .node = node };
	for (size_t i = 0; i < node->rank_count; i++) {
		const struct muster_rank *rank = &node->ranks[i];
		add_gpu(place, rank->gpu, rank, !rank->missing);
		any = any || !rank->missing;
	}
	place->status = any ? MUSTER_PASS : MUSTER_SKIP;
	add_untaken(place, arena);
	add_ports(place);
}

struct muster_html_part *muster_html_part_of(const struct muster_html_node *node, const struct muster_finding *finding)
{
	if (finding->port)
		return find(&node->ports, finding->port, strlen(finding->port));
	for (size_t i = 0; finding->rank >= 0 && i < node->gpus.count; i++)
		if (node->gpus.items[i].rank && node->gpus.items[i].rank->rank == finding->rank)
			return &node->gpus.items[i];
	return finding->gpu ? find(&node->gpus, finding->gpu, strlen(finding->gpu)) : NULL;
}

char *muster_html_part_text(const struct muster_html_part *part, bool is_port, bool with_noun)
{
	static const char noun[] = "GPU ";
	if (is_port)
		return muster_asprintf("%s%s", with_noun ? "port " : "", part->name);
	if (!part->name)
		return muster_strdup(with_noun ? "unknown GPU" : "none");
	char *text = muster_gpu_text(part->name, part->gpu_index);
	if (!with_noun)
		memmove(text, text + strlen(noun), strlen(text + strlen(noun)) + 1);
	return text;
}

char *muster_html_gpu_text(const struct muster_html *page, const char *node, const char *bus_id)
{
	size_t at = muster_html_place_of(page->places, node);
	return muster_gpu_text(
		bus_id, muster_node_gpu_index(at == SIZE_MAX ? NULL : page->places->nodes[at].node, bus_id));
}

/* ---- what the findings say ---- */

static void worsen(enum muster_status *status, enum muster_status other)
{
	if (muster_status_weight(other) > muster_status_weight(*status))
		*status = other;
}

/* A GPU or port of the node that only this finding names: it is absent. */
static struct muster_html_part *add_absent(struct muster_html_node *place, const struct muster_finding *finding)
{
	struct muster_html_parts *parts = finding->port ? &place->ports : &place->gpus;
	if (finding->port)
		add(parts, finding->port, NULL, false);
	else
		add_gpu(place, finding->gpu, NULL, false);
	return &parts->items[parts->count - 1];
}

/* A finding that names a node. */
struct named {
	size_t place, finding; /* index of the node; index in the report's findings */
};

static int by_place(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	if (x->place != y->place)
		return x->place > y->place ? 1 : -1;
	return (x->finding > y->finding) - (x->finding < y->finding);
}

/* Take the findings that name a known node and are no skip. Their indices, sorted by node, are one array
 * (places->findings), of which each node has a part; within it they stay in the report's order, the worst first. */
static void add_findings(struct muster_html_places *places, const struct muster_report *report)
{
	struct named *all = muster_calloc(report->finding_count + 1, sizeof *all);
	size_t count = 0;
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		size_t at = muster_html_place_of(places, finding->node);
		if (at == SIZE_MAX || muster_status_weight(finding->status) == 0)
			continue;
		struct muster_html_node *place = &places->nodes[at];
		struct muster_html_part *part = muster_html_part_of(place, finding);
		if (!part && (finding->gpu || finding->port))
			part = add_absent(place, finding);
		if (part)
			worsen(&part->status, finding->status);
		worsen(&place->status, finding->status);
		all[count++] = (struct named){ at, i };
	}
	qsort(all, count, sizeof *all, by_place);
	places->findings = muster_calloc(count + 1, sizeof *places->findings);
	for (size_t i = 0; i < count; i++) {
		struct muster_html_node *place = &places->nodes[all[i].place];
		places->findings[i] = all[i].finding;
		if (place->finding_count++ == 0)
			place->findings = &places->findings[i];
	}
	free(all);
}

/* ---- by name ---- */

static void sort_names(struct muster_html_places *places)
{
	places->by_name = muster_calloc(places->count + 1, sizeof *places->by_name);
	for (size_t i = 0; i < places->count; i++)
		places->by_name[i] = (struct muster_html_name){ places->nodes[i].node->name, i };
	qsort(places->by_name, places->count, sizeof *places->by_name, muster_by_text);
}

size_t muster_html_place_of(const struct muster_html_places *places, const char *node)
{
	const struct muster_html_name key = { .text = node }, *found = NULL;
	if (node)
		found = bsearch(&key, places->by_name, places->count, sizeof key, muster_by_text);
	return found ? found->index : SIZE_MAX;
}

/* ---- which nodes have details and a picture ---- */

static bool has_parts(const struct muster_html_node *node)
{
	return node->gpus.count > 0 || node->ports.count > 0;
}

/* Nodes without any result come last. */
static void find_worst(struct muster_html_places *places)
{
	static const enum muster_status order[] = { MUSTER_FAIL, MUSTER_INCONCLUSIVE, MUSTER_WARN, MUSTER_BLOCKED,
		MUSTER_SKIP };
	places->worst = muster_calloc(places->count + 1, sizeof *places->worst);
	for (size_t s = 0; s < sizeof order / sizeof *order; s++)
		for (size_t i = 0; i < places->count; i++)
			if (places->nodes[i].status == order[s])
				places->worst[places->worst_count++] = i;
}

/* Details: the worst MUSTER_HTML_DETAILED_MAX nodes, and in a small run those that passed, too. Pictures: the worst
 * MUSTER_HTML_DRAWN_MAX nodes that have parts, and the first one that passed, to compare with. */
static void choose(struct muster_html_places *places)
{
	size_t drawn = 0;
	find_worst(places);
	for (size_t i = 0; i < places->worst_count; i++) {
		struct muster_html_node *node = &places->nodes[places->worst[i]];
		node->detailed = i < MUSTER_HTML_DETAILED_MAX;
		node->drawn = node->status != MUSTER_SKIP && has_parts(node) && drawn < MUSTER_HTML_DRAWN_MAX;
		drawn += node->drawn;
	}
	bool one = false;
	for (size_t i = 0; i < places->count; i++) {
		struct muster_html_node *node = &places->nodes[i];
		if (node->status != MUSTER_PASS)
			continue;
		node->detailed = places->count <= MUSTER_HTML_ALL_MAX;
		node->drawn = !one && has_parts(node);
		one = one || node->drawn;
	}
}

void muster_html_places_make(const struct muster_report *report, struct muster_html_places *ret)
{
	const struct muster_run *run = report->run;
	*ret = (struct muster_html_places){ .arena = muster_arena_new(), .count = run->node_count };
	ret->nodes = muster_calloc(run->node_count + 1, sizeof *ret->nodes);
	for (size_t i = 0; i < run->node_count; i++)
		make_node(&ret->nodes[i], &run->nodes[i], ret->arena);
	muster_kinds_find(report, ret->arena, &ret->kinds);
	sort_names(ret);
	add_findings(ret, report);
	choose(ret);
}

void muster_html_places_done(struct muster_html_places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		free(places->nodes[i].gpus.items);
		free(places->nodes[i].ports.items);
	}
	free(places->nodes);
	free(places->worst);
	free(places->by_name);
	free(places->findings);
	muster_arena_free(places->arena);
	*places = (struct muster_html_places){ 0 };
}
