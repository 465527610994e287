/* ask_nodes.c - nodes by their verdicts over time */
#include "history/questions.h"

#include "util/array.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_RUNS = 30, SHOWN_CHECKS = 3 };

struct run {
	int64_t started, id;
	enum muster_status status;
};

struct node {
	const char *name, *machine_type;
	struct run *runs; /* by time */
	size_t count, room;
	size_t of[MUSTER_STATUS_COUNT];
	const char *checks; /* of the newest run with findings; NULL: none */
	int64_t checks_of;  /* the id of that run */
	size_t check_count;
};

struct nodes {
	struct muster_arena *arena;
	struct node *items; /* in the order of the walk */
	size_t count, room;
	size_t at; /* of the walk over findings, which has the same order */
};

static int take_verdict(void *arg, const struct muster_history_verdict *verdict, struct muster_error *err)
{
	struct nodes *nodes = arg;
	(void)err;
	if (nodes->count == 0 || nodes->items[nodes->count - 1].name != verdict->node)
		MUSTER_ARRAY_PUSH(nodes->items, nodes->count, nodes->room, (struct node){ .name = verdict->node });
	struct node *node = &nodes->items[nodes->count - 1];
	node->machine_type = verdict->report->machine_type;
	MUSTER_ARRAY_PUSH(node->runs, node->count, node->room,
		(struct run){ verdict->report->started, verdict->report_id, verdict->status });
	return 0;
}

static int by_time(const void *x, const void *y)
{
	const struct run *a = x, *b = y;
	if (a->started != b->started)
		return a->started < b->started ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* The newest run that was not a pass; NULL when there is none. */
static const struct run *newest_trouble(const struct node *node)
{
	for (size_t i = node->count; i-- > 0;)
		if (node->runs[i].status != MUSTER_PASS)
			return &node->runs[i];
	return NULL;
}

static int take_finding(void *arg, const struct muster_history_verdict *finding, struct muster_error *err)
{
	struct nodes *nodes = arg;
	(void)err;
	while (nodes->at < nodes->count && nodes->items[nodes->at].name != finding->node)
		nodes->at++;
	if (nodes->at == nodes->count) { /* of a node without a verdict: there is none in what muster writes */
		nodes->at = 0;
		return 0;
	}
	struct node *node = &nodes->items[nodes->at];
	if (node->checks_of != finding->report_id || ++node->check_count > SHOWN_CHECKS + 1)
		return 0;
	const char *text = node->check_count > SHOWN_CHECKS
				   ? "..."
				   : muster_arena_printf(nodes->arena, "%s%s%s", finding->check,
					     finding->part ? " " : "", finding->part ? finding->part : "");
	node->checks = node->checks ? muster_arena_printf(nodes->arena, "%s, %s", node->checks, text) : text;
	return 0;
}

static int read_nodes(struct muster_history *history, const struct muster_history_filter *filter, struct nodes *ret,
	struct muster_error *err)
{
	if (muster_history_each_verdict(history, filter, false, take_verdict, ret, err) < 0)
		return -1;
	for (size_t n = 0; n < ret->count; n++) {
		struct node *node = &ret->items[n];
		qsort(node->runs, node->count, sizeof *node->runs, by_time);
		for (size_t i = 0; i < node->count; i++)
			node->of[node->runs[i].status]++;
		const struct run *trouble = newest_trouble(node);
		node->checks_of = trouble ? trouble->id : 0;
	}
	return muster_history_each_verdict(history, filter, true, take_finding, ret, err);
}

static void nodes_done(struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++)
		free(nodes->items[i].runs);
	free(nodes->items);
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

static void add_row(struct muster_table *table, const struct node *node)
{
	const struct run *last = &node->runs[node->count - 1];
	const struct muster_value cells[] = {
		muster_string(node->name),
		muster_cell_text(node->machine_type),
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
	return strcmp(a->name, b->name);
}

/* Of each node only the last `most` runs. */
static void keep_last(struct nodes *nodes, size_t most)
{
	for (size_t i = 0; i < nodes->count; i++) {
		struct node *node = &nodes->items[i];
		size_t old = node->count > most ? node->count - most : 0;
		for (size_t r = 0; r < old; r++)
			node->of[node->runs[r].status]--;
		memmove(node->runs, node->runs + old, (node->count - old) * sizeof *node->runs);
		node->count -= old;
	}
}

static int answer(struct muster_history *history, const struct muster_history_question *question, bool flapping,
	struct muster_table *ret, struct muster_error *err)
{
	struct nodes nodes = { .arena = ret->arena };
	size_t failing = 0;
	*ret = (struct muster_table){ .arena = ret->arena,
		.title = flapping ? "Flapping nodes" : "Nodes",
		MUSTER_TABLE_COLUMNS(columns),
		.status_column = LAST,
		.empty = flapping ? "no node failed some of these runs and passed others"
				  : "no run of such a node is in the history" };
	int rc = read_nodes(history, &question->filter, &nodes, err);
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
	nodes_done(&nodes);
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
