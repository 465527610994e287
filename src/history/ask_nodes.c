/* SPDX-License-Identifier: Apache-2.0 */
/* ask_nodes.c - nodes by their verdicts over time
 *
 * Two questions with one table. Nodes: each node with all its runs. Flapping: of each node only the last --runs runs; a
 * row for those that failed at least --failed of them and passed, perhaps with warnings, at least one.
 *
 * The runs of a node are of all machine types and profiles, in the order of time, as the question is how the node is.
 * The worst last verdict comes first, then the most failures, then the name in natural order.
 */
#include "history/past.h"
#include "history/questions.h"

#include "util/array.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_RUNS = 30, SHOWN_CHECKS = 3 }; /* letters of a row; checks of a row, then "..." */

struct node {
	const char *name;
	struct muster_past_run *runs; /* part of muster_past.runs, by time */
	size_t count;
	size_t of[MUSTER_STATUS_COUNT]; /* how many of these runs have each status */
	const char *checks;             /* of the newest run that was not a pass; NULL: none */
};

struct nodes {
	struct muster_past past;
	struct node *items;
	size_t count, room;
};

/* "copy.h2d 000b:00:00.0, gpu.count, ...": the findings of the newest run that was not a plain pass; NULL when all
 * were. */
static const char *checks_of(struct muster_arena *arena, const struct muster_past *past, const struct node *node)
{
	const char *checks = NULL;
	size_t at = node->count;
	while (at > 0 && node->runs[at - 1].status == MUSTER_PASS)
		at--;
	for (size_t i = 0; at > 0 && i < node->runs[at - 1].finding_count && i <= SHOWN_CHECKS; i++) {
		const struct muster_past_finding *finding = &past->findings[node->runs[at - 1].first + i];
		const char *text = i == SHOWN_CHECKS
					   ? "..."
					   : muster_arena_printf(arena, "%s%s%s", finding->check,
						     finding->part ? " " : "", finding->part ? finding->part : "");
		checks = checks ? muster_arena_printf(arena, "%s, %s", checks, text) : text;
	}
	return checks;
}

/* Read all runs, and make a node of those of one name, which stand together (past.h). Within a node they are then
 * sorted by time alone. -1 with err, and *ret is to be released in any case. */
static int read_nodes(struct muster_history *history, const struct muster_history_filter *filter,
	struct muster_arena *arena, struct nodes *ret, struct muster_error *err)
{
	struct muster_past *past = &ret->past;
	if (muster_past_read(history, filter, past, err) < 0)
		return -1;
	for (size_t i = 0, end; i < past->count; i = end) {
		struct node node = { .name = past->runs[i].node, .runs = &past->runs[i] };
		for (end = i; end < past->count && past->runs[end].node == node.name; end++)
			node.of[past->runs[end].status]++;
		node.count = end - i;
		qsort(node.runs, node.count, sizeof *node.runs, muster_past_by_time);
		node.checks = checks_of(arena, past, &node);
		MUSTER_ARRAY_PUSH(ret->items, ret->count, ret->room, node);
	}
	return 0;
}

/* ---- rows ---- */

/* One letter for each of the last runs, the newest last. */
static const char *letters_of(struct muster_arena *arena, const struct node *node)
{
	static const char letters[MUSTER_STATUS_COUNT] = {
		[MUSTER_PASS] = '.',
		[MUSTER_WARN] = 'w',
		[MUSTER_FAIL] = 'F',
		[MUSTER_SKIP] = '-',
		[MUSTER_INCONCLUSIVE] = '?',
		[MUSTER_BLOCKED] = '-',
	};
	char text[SHOWN_RUNS + 1];
	size_t shown = node->count < SHOWN_RUNS ? node->count : SHOWN_RUNS;
	for (size_t i = 0; i < shown; i++)
		text[i] = letters[node->runs[node->count - shown + i].status];
	text[shown] = '\0';
	return muster_arena_string(arena, text);
}

/* The first run of the newest ones that all have the status of the last. */
static size_t since_of(const struct node *node)
{
	size_t at = node->count - 1;
	while (at > 0 && node->runs[at - 1].status == node->runs[node->count - 1].status)
		at--;
	return at;
}

/* The row has the status of the last run, which an HTML page shows as a colour. */
static void add_row(struct muster_table *table, const struct node *node)
{
	const struct muster_past_run *last = &node->runs[node->count - 1];
	const struct muster_value cells[] = {
		muster_string(node->name),
		muster_cell_text(last->machine_type),
		muster_string(muster_status_name(last->status)),
		muster_cell_day(table->arena, node->runs[since_of(node)].started),
		muster_cell_day(table->arena, last->started),
		muster_number((double)node->count),
		muster_number((double)node->of[MUSTER_FAIL]),
		muster_number((double)node->of[MUSTER_WARN]),
		muster_number((double)node->of[MUSTER_INCONCLUSIVE]),
		muster_string(letters_of(table->arena, node)),
		muster_cell_text(node->checks),
	};
	muster_table_row(table, cells, last->status);
}

enum { LAST = 2 }; /* the column of the last verdict */
static const struct muster_table_column columns[] = {
	{ "node", "node" },
	{ "machine_type", "machine type" },
	[LAST] = { "last", "last" },
	{ "since", "since" },
	{ "last_run", "last run" },
	{ "runs", "runs" },
	{ "failed", "failed" },
	{ "warned", "warned" },
	{ "inconclusive", "inconcl." },
	{ "verdicts", "verdicts" },
	{ "last_findings", "last findings" },
};

static enum muster_status last_of(const struct node *node)
{
	return node->runs[node->count - 1].status;
}

static int worst_first(const void *x, const void *y)
{
	const struct node *a = x, *b = y;
	int order = muster_status_weight(last_of(b)) - muster_status_weight(last_of(a));
	if (order)
		return order;
	if (a->of[MUSTER_FAIL] != b->of[MUSTER_FAIL])
		return a->of[MUSTER_FAIL] > b->of[MUSTER_FAIL] ? -1 : 1;
	return strverscmp(a->name, b->name);
}

/* Of each node only the last `most` runs. */
static void keep_last(struct nodes *nodes, size_t most)
{
	for (size_t i = 0; i < nodes->count; i++) {
		struct node *node = &nodes->items[i];
		size_t old = node->count > most ? node->count - most : 0;
		for (size_t r = 0; r < old; r++)
			node->of[node->runs[r].status]--;
		node->runs += old;
		node->count -= old;
	}
}

/* Fill in the table of nodes, or with `flapping` that of the flapping nodes. A note says how many nodes failed their
 * last run, or what the rule of flapping is, and a second one what the letters mean. Without a row, `empty` says why.
 */
static int answer(struct muster_history *history, const struct muster_history_question *question, bool flapping,
	struct muster_table *ret, struct muster_error *err)
{
	struct nodes nodes = { 0 };
	size_t failing = 0;
	*ret = (struct muster_table){ .arena = ret->arena,
		.title = flapping ? "Flapping nodes" : "Nodes",
		MUSTER_TABLE_COLUMNS(columns),
		.status_column = LAST,
		.empty = flapping                      ? "no node failed some of these runs and passed others"
			 : question->filter.node_count ? "no run of such a node is in the history"
						       : "no run" };
	int rc = read_nodes(history, &question->filter, ret->arena, &nodes, err);
	if (flapping)
		keep_last(&nodes, (size_t)question->runs);
	if (nodes.count)
		qsort(nodes.items, nodes.count, sizeof *nodes.items, worst_first);
	for (size_t i = 0; i < nodes.count && rc == 0; i++) {
		const struct node *node = &nodes.items[i];
		bool flaps = node->of[MUSTER_FAIL] >= (size_t)question->failed &&
			     node->of[MUSTER_PASS] + node->of[MUSTER_WARN] > 0;
		failing += last_of(node) == MUSTER_FAIL;
		if (!flapping || flaps)
			add_row(ret, node);
	}
	if (flapping)
		muster_table_note(ret, "nodes that failed at least %d of their last %d runs, and passed at least one",
			question->failed, question->runs);
	else if (ret->cell_count)
		muster_table_note(ret, "%zu of %zu nodes failed their last run", failing, nodes.count);
	if (ret->cell_count)
		muster_table_note(ret,
			"verdicts of the last %d runs, the newest last: . pass, w warn, F fail, ? inconclusive",
			SHOWN_RUNS);
	free(nodes.items);
	muster_past_done(&nodes.past);
	return rc;
}

int muster_ask_nodes(struct muster_history *history, const struct muster_history_question *question,
	struct muster_table *ret, struct muster_error *err)
{
	return answer(history, question, false, ret, err);
}

int muster_ask_flapping(struct muster_history *history, const struct muster_history_question *question,
	struct muster_table *ret, struct muster_error *err)
{
	return answer(history, question, true, ret, err);
}
