/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.c - kinds of faults: the findings of one check, status and action as one row
 *
 * muster_kinds_find() sorts pointers to the findings so that those of a kind are neighbours, cuts the array into kinds,
 * and sorts the kinds. The pointers of a kind, kind->items, stay in the order of the report.
 *
 * The action of a kind is the advice of its first finding, in which the names that differ between its findings are
 * replaced (action_of):
 *
 *   "reset GPU 3 (000b:00:00.0) of gpu-2"    one node, one GPU          as it is
 *                                            several GPUs of gpu-2      "reset GPU * of gpu-2"
 *                                            GPUs of several nodes      "reset GPU * of each node"
 */
#include "report/kinds.h"

#include "model/share.h"
#include "muster/run_data.h"
#include "slurm/command.h"
#include "slurm/hostlist.h"
#include "util/array.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SEEN_MAX = 40 }; /* bytes of what was observed, in a row */

/* ---- the action of several findings ---- */

/* Characters that continue a name of a node or a GPU. */
static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || strchr("-._:", c);
}

/* The text with another word for each `name` that stands alone in it: "gpu-1" is not replaced in "gpu-10" or "xgpu-1".
 * A dot or a colon behind the name ends a sentence or a clause, and is no part of a longer name, unless the name goes
 * on behind it ("gpu-1.site"). */
static const char *reworded(struct muster_arena *arena, const char *text, const char *name, const char *word)
{
	const char *made = "", *at = text, *found;
	size_t length = strlen(name);
	while (length > 0 && (found = strstr(at, name))) {
		const char *after = found + length;
		bool begins = found == text || !is_of_name(found[-1]);
		bool ends = !*after || !is_of_name(*after) ||
			    (strchr(".:", *after) && (!after[1] || !is_of_name(after[1])));
		made = muster_arena_printf(
			arena, "%s%.*s%s", made, (int)(found - at), at, begins && ends ? word : name);
		at = after;
	}
	return muster_arena_printf(arena, "%s%s", made, at);
}

/* "GPU 3 (000b:00:00.0)" becomes "GPU *". */
static const char *without_index(struct muster_arena *arena, const char *text, const char *gpu)
{
	const char *name = muster_arena_printf(arena, " (%s)", gpu), *at;
	while ((at = strstr(text, name))) {
		const char *digits = at;
		while (digits > text && isdigit((unsigned char)digits[-1]))
			digits--;
		if (digits == at)
			break;
		text = muster_arena_printf(arena, "%.*s*%s", (int)(digits - text), text, at + strlen(name));
	}
	return text;
}

/* Whether the findings of the kind differ in a field that is a string, or in its absence. */
#define DIFFERS(kind, field) (differs((kind), offsetof(struct muster_finding, field)))
static bool differs(const struct muster_kind *kind, size_t offset)
{
	const char *first = *(const char *const *)((const char *)kind->items[0] + offset);
	for (size_t i = 1; i < kind->count; i++)
		if (muster_text_order(first, *(const char *const *)((const char *)kind->items[i] + offset)) != 0)
			return true;
	return false;
}

/* What to do about all findings of the kind; NULL when the first one has no advice. The index of a GPU is removed
 * before its bus id is replaced: without the bus id behind it, it could not be found. */
static const char *action_of(const struct muster_kind *kind, struct muster_arena *arena)
{
	const struct muster_finding *first = kind->items[0];
	const char *action = first->advice;
	if (action && first->node && DIFFERS(kind, node))
		action = reworded(arena, action, first->node, "each node");
	if (action && first->gpu && DIFFERS(kind, gpu))
		action = reworded(arena, without_index(arena, action, first->gpu), first->gpu, "*");
	if (action && first->port && DIFFERS(kind, port))
		action = reworded(arena, action, first->port, "*");
	return action;
}

/* ---- the rows ---- */

/* The length of the first parts of a list "61 GB/s, 27 % of C2C, 2 of 2" that are SEEN_MAX bytes together at most; the
 * first part counts in any case. */
static size_t shortened(const char *text)
{
	size_t end = strcspn(text, ",");
	while (text[end] && end + 1 + strcspn(text + end + 1, ",") <= SEEN_MAX)
		end += 1 + strcspn(text + end + 1, ",");
	return end;
}

/* "InfiniBand ports are ACTIVE; seen first: DOWN": a title says what should be, so what was seen stands behind it.
 * Where the findings saw different values, it is that of the first one. */
static const char *what_of(
	const struct muster_report *report, const struct muster_kind *kind, struct muster_arena *arena)
{
	const struct muster_finding *first = kind->items[0];
	const struct muster_tally *tally = muster_report_tally(report, first->check);
	const char *what = tally && tally->title ? tally->title
			   : first->expected     ? muster_arena_printf(arena, "expected: %s", first->expected)
						 : first->check;
	char *seen = muster_finding_observed(first);
	size_t length = seen ? shortened(seen) : 0;
	if (length > 0 && length <= SEEN_MAX)
		what = muster_arena_printf(
			arena, "%s; seen%s: %.*s", what, DIFFERS(kind, observed) ? " first" : "", (int)length, seen);
	free(seen);
	return what;
}

static bool is_counted(const struct muster_finding *finding)
{
	return muster_status_weight(finding->status) >= muster_status_weight(MUSTER_WARN);
}

static bool has_node(const struct muster_finding *finding)
{
	return finding->node && strcmp(finding->node, "?") != 0;
}

/* The kind's nodes from its findings, and the list of them. */
static void find_nodes(struct muster_kind *kind, struct muster_arena *arena)
{
	bool plain = true;
	kind->nodes = muster_arena_alloc(arena, (kind->count + 1) * sizeof(*kind->nodes));
	for (size_t i = 0; i < kind->count; i++) {
		if (!has_node(kind->items[i]))
			continue;
		kind->nodes[kind->node_count++] = kind->items[i]->node;
		plain = plain && muster_slurm_name_is_plain(kind->items[i]->node);
	}
	kind->node_count = muster_hostlist_sort(kind->nodes, kind->node_count);
	if (plain && kind->node_count > 0)
		kind->node_list = muster_arena_take(arena, muster_hostlist_compress(kind->nodes, kind->node_count));
}

static int by_status(enum muster_status a, enum muster_status b)
{
	return muster_status_weight(b) - muster_status_weight(a);
}

/* By status, the worst first, then by check and action code. The findings are elements of one array, so their addresses
 * have the order of the report. */
static int by_kind(const void *a, const void *b)
{
	const struct muster_finding *x = *(const struct muster_finding *const *)a;
	const struct muster_finding *y = *(const struct muster_finding *const *)b;
	int order = by_status(x->status, y->status);
	if (!order)
		order = strcmp(x->check, y->check);
	if (!order)
		order = muster_text_order(x->action_code, y->action_code);
	return order ? order : (x > y) - (x < y);
}

static bool same_kind(const struct muster_finding *a, const struct muster_finding *b)
{
	return a->status == b->status && strcmp(a->check, b->check) == 0 &&
	       muster_text_order(a->action_code, b->action_code) == 0;
}

bool muster_kind_has(const struct muster_kind *kind, const struct muster_finding *finding)
{
	return same_kind(kind->items[0], finding);
}

/* By status, the worst first, then by the number of nodes, the largest first. */
static int by_damage(const void *a, const void *b)
{
	const struct muster_kind *x = a, *y = b;
	int order = by_status(x->status, y->status);
	if (!order)
		order = (x->node_count < y->node_count) - (x->node_count > y->node_count);
	return order ? order : by_kind(&x->items[0], &y->items[0]);
}

void muster_kinds_find(const struct muster_report *report, struct muster_arena *arena, struct muster_kinds *ret)
{
	size_t count = 0, nodes = 0;
	const struct muster_finding **items = muster_arena_alloc(arena, (report->finding_count + 1) * sizeof(*items));
	const char **names = muster_calloc(report->finding_count + 1, sizeof(*names));
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		if (!is_counted(finding))
			continue;
		items[count++] = finding;
		if (has_node(finding))
			names[nodes++] = finding->node;
	}
	qsort(items, count, sizeof(*items), by_kind);
	*ret = (struct muster_kinds){
		.items = muster_arena_alloc(arena, (count + 1) * sizeof *ret->items),
		.node_count = muster_hostlist_sort(names, nodes),
	};
	free(names);
	for (size_t first = 0, end; first < count; first = end) {
		const struct muster_finding *finding = items[first];
		for (end = first + 1; end < count && same_kind(finding, items[end]);)
			end++;
		struct muster_kind *kind = &ret->items[ret->count++];
		*kind = (struct muster_kind){ .check = finding->check,
			.status = finding->status,
			.action_code = finding->action_code,
			.items = items + first,
			.count = end - first };
		kind->what = what_of(report, kind, arena);
		kind->action = action_of(kind, arena);
		find_nodes(kind, arena);
	}
	qsort(ret->items, ret->count, sizeof *ret->items, by_damage);
}

bool muster_kinds_are_listed(const struct muster_kinds *kinds, const struct muster_report *report)
{
	return kinds->node_count > 1 && muster_run_known_nodes(report->run) > 2;
}
