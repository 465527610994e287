/* SPDX-License-Identifier: Apache-2.0 */
/* ask_trial.c - what drains would have done to the nodes, and which thresholds no machine comes near
 *
 * The page has three tables: checks that failed, with their rate of false alarms; nodes that would have been drained;
 * and thresholds that all values of the site are far from. The rule for drains is that of muster drain
 * (history/past.h). Limits on how many nodes are drained at a time are not counted: the page is about the checks.
 *
 * Runs come node by node, of one node series by series, by time within a series (past.h), so one pass over them is
 * enough (take_runs). A failure counts as a false alarm when the node ran again within the hour and passed: a part that
 * is broken does not mend itself in that time. An example, of one check on one node:
 *
 *    time    run     what is counted for the check
 *    10:00   fails   a run; followed (by 10:20), and passed there: a false alarm
 *    10:20   passes
 *    12:00   fails   a run; followed (by 12:01), and did not pass
 *    12:01   fails   a run; the second strike, so the node is drained; not followed
 *
 * The third table is from a walk over all values (add_thresholds): take_value() finds, once for each key and machine
 * type, the checks whose threshold is a number for that key, and keeps the value that is nearest to each threshold.
 */
#include "expect/operators.h"
#include "history/past.h"
#include "history/questions.h"
#include "util/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HOUR_S = 3600, DAY_S = 86400, FAR_PERCENT = 20 }; /* a value so far from its threshold is not near */

struct check {
	const char *name;
	enum muster_history_fault fault;
	size_t runs, nodes, drained;     /* runs and nodes that failed the check; nodes that it would have drained */
	size_t followed, passed;         /* runs after which the node had another within the hour; and passed there */
	const char *last, *last_drained; /* the last node that failed, and that is drained: each counts once */
};

struct drain {
	const struct muster_past_run *run;
	const struct muster_past_finding *by;
	size_t failed, passed; /* runs since then */
};

struct trial {
	struct muster_past past;
	struct check *checks;
	size_t check_count, check_room;
	struct drain *drains; /* by node */
	size_t drain_count, drain_room;
	size_t nodes, failed; /* of all nodes; runs that failed any check of the machine */
};

static double percent(size_t count, size_t of)
{
	return 100 * (double)count / (double)of;
}

static struct muster_value cell_percent(double percent)
{
	return muster_number(round(percent * 100) / 100);
}

/* The 95 % limits of a share, in percent: Wilson, Journal of the American Statistical Association 22 (1927). */
static void find_limits(size_t count, size_t of, double *low, double *high)
{
	const double z2 = 1.959964 * 1.959964;
	double n = (double)of, share = (double)count / n;
	double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
	double half = sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n);
	*low = 100 * fmax(middle - half, 0);
	*high = 100 * fmin(middle + half, 1);
}

/* ---- checks and drains ---- */

/* The check of this name, which is added when there is none. Texts of a history are one pointer each. */
static struct check *check_of(struct trial *t, const char *name)
{
	for (size_t i = 0; i < t->check_count; i++)
		if (t->checks[i].name == name)
			return &t->checks[i];
	MUSTER_ARRAY_PUSH(t->checks, t->check_count, t->check_room, ((struct check){ .name = name }));
	return &t->checks[t->check_count - 1];
}

/* Count a run that failed the check, and what the runs of its series within the next hour say of the check. */
static void count_failure(const struct muster_past *past, const struct muster_past_run *run, struct check *check)
{
	const struct muster_past_run *next = run + 1, *end = past->runs + past->count;
	bool passed = false;
	for (; next < end && muster_past_same_series(run, next) && next->started - run->started <= HOUR_S; next++)
		passed = passed || muster_past_is_gone(past, next, check->name);
	check->followed += next > run + 1;
	check->passed += passed;
	check->runs++;
	check->nodes += check->last != run->node;
	check->last = run->node;
}

/* Count the failures of one run, and keep the first drain of its node: in a trial the node stays in service, and later
 * drains of it are not counted. Findings of one check on several parts stand together and are one failure. */
static void take_run(struct trial *t, const struct muster_past_run *run)
{
	const struct muster_past_finding *findings = &t->past.findings[run->first];
	struct drain *drain = t->drain_count ? &t->drains[t->drain_count - 1] : NULL;
	bool drained = drain && drain->run->node == run->node;
	const char *failed = NULL; /* the check that failed last: its parts follow each other */
	if (drained && run->started > drain->run->started) {
		drain->failed += run->status == MUSTER_FAIL;
		drain->passed += run->status == MUSTER_PASS || run->status == MUSTER_WARN;
	}
	for (size_t i = 0; i < run->finding_count; i++) {
		if (findings[i].fault == MUSTER_FAULT_NONE)
			continue;
		struct check *check = check_of(t, findings[i].check);
		check->fault = findings[i].fault;
		if (check->name != failed)
			count_failure(&t->past, run, check);
		failed = check->name;
		if (!findings[i].drains)
			continue;
		check->drained += check->last_drained != run->node;
		check->last_drained = run->node;
		if (!drained)
			MUSTER_ARRAY_PUSH(t->drains, t->drain_count, t->drain_room,
				((struct drain){ .run = run, .by = &findings[i] }));
		drained = true;
	}
	t->failed += failed != NULL;
}

/* Take all runs. Strikes are of one series, and are forgotten where the next one begins. */
static void take_runs(struct trial *t)
{
	struct muster_strikes strikes = { 0 };
	for (size_t i = 0; i < t->past.count; i++) {
		const struct muster_past_run *run = &t->past.runs[i];
		if (i > 0 && !muster_past_same_series(run - 1, run))
			muster_strikes_done(&strikes);
		t->nodes += i == 0 || run[-1].node != run->node;
		muster_past_take(&strikes, &t->past, run);
		take_run(t, run);
	}
	muster_strikes_done(&strikes);
}

/* The check that drained most nodes first, then the one that failed most runs. */
static int by_drained(const void *x, const void *y)
{
	const struct check *a = x, *b = y;
	if (a->drained != b->drained)
		return a->drained > b->drained ? -1 : 1;
	return a->runs != b->runs ? (a->runs > b->runs ? -1 : 1) : strcmp(a->name, b->name);
}

static struct muster_value cell_proof(enum muster_history_fault fault)
{
	return muster_string(muster_proof_names[fault == MUSTER_FAULT_HARD]);
}

/* Without a run that was followed by another one, a check has no rate of false alarms: the cells are null. */
static void add_checks(const struct trial *t, struct muster_table *table)
{
	for (size_t i = 0; i < t->check_count; i++) {
		const struct check *c = &t->checks[i];
		struct muster_value alarms[3] = { 0 };
		double low, high;
		if (c->followed) {
			find_limits(c->passed, c->followed, &low, &high);
			alarms[0] = cell_percent(percent(c->passed, c->followed));
			alarms[1] = cell_percent(low);
			alarms[2] = cell_percent(high);
		}
		const struct muster_value cells[] = { muster_string(c->name), cell_proof(c->fault),
			muster_number((double)c->runs), cell_percent(percent(c->runs, t->past.count)),
			muster_number((double)c->nodes), muster_number((double)c->drained),
			muster_number((double)c->followed), muster_number((double)c->passed), alarms[0], alarms[1],
			alarms[2] };
		muster_table_row(table, cells, MUSTER_PASS);
	}
}

static void add_drains(const struct trial *t, struct muster_table *table)
{
	for (size_t i = 0; i < t->drain_count; i++) {
		const struct drain *d = &t->drains[i];
		char time[MUSTER_UTC_SIZE];
		const struct muster_value cells[] = { muster_string(d->run->node),
			muster_string(muster_arena_string(table->arena, muster_utc_text(d->run->started, time))),
			muster_string(d->by->check), muster_cell_text(d->by->part), cell_proof(d->by->fault),
			muster_number((double)d->failed), muster_number((double)d->passed) };
		muster_table_row(table, cells, MUSTER_PASS);
	}
}

/* ---- thresholds that are numbers, and fail ---- */

struct threshold {
	const struct muster_check *check;
	const char *machine_type;
	bool least, takes; /* takes: the values of the key and machine type at hand */
	double limit, nearest;
	size_t values;
};

struct thresholds {
	const struct muster_history_question *question;
	struct muster_table *table;
	struct muster_expect *expects; /* of each machine type; of an unknown one without checks */
	const char **types;
	size_t expect_count, expect_room, type_count, type_room;
	struct threshold *items;
	size_t count, room;
	const char *key, *type;
};

/* Load the expectations of a machine type, and add its thresholds: operands "min" and "max" that fail a check by
 * themselves. Not those of shares and of limits by a count ("limit_per"), since these are no numbers of the metric's
 * unit, and not 0, from which no share can be taken. A type without a file has no thresholds, and a note says so. */
static void add_type(struct thresholds *all, const char *type)
{
	const struct muster_history_filter *filter = &all->question->filter;
	struct muster_expect expect = { 0 };
	struct muster_error err;
	char since[MUSTER_UTC_SIZE];
	if (muster_expect_load(all->question->configs, type, NULL, &expect, &err) < 0)
		muster_table_note(all->table, "%s: %s", type, err.text);
	for (size_t i = 0; i < 2 * expect.check_count; i++) {
		const struct muster_check *check = &expect.checks[i / 2];
		const struct muster_operand *limit = muster_check_operand_named(check, i % 2 ? "max" : "min");
		if (limit && fabs(limit->value.number) > 0 && !check->share_of && !check->limit_per.metric &&
			check->severity == MUSTER_SEVERITY_FAIL && !muster_check_only_warns(check))
			MUSTER_ARRAY_PUSH(all->items, all->count, all->room,
				((struct threshold){ check, type, i % 2 == 0, false, limit->value.number, 0, 0 }));
	}
	MUSTER_ARRAY_PUSH(all->expects, all->expect_count, all->expect_room, expect);
	MUSTER_ARRAY_PUSH(all->types, all->type_count, all->type_room, type);
	muster_table_note(all->table,
		"thresholds that fit the site: muster baseline --db %s%s --sku %s --since %.10s --output %s.json",
		all->question->db, filter->simulated ? " --simulated" : "", type, muster_utc_text(filter->since, since),
		type);
}

/* Whether the labels of a key are those that the check asks for, and perhaps more. */
static bool has_labels(const struct muster_check *check, const struct muster_label *labels, size_t count)
{
	size_t found = 0;
	for (size_t i = 0; i < check->where_count; i++)
		for (size_t j = 0; j < count; j++)
			found += strcmp(labels[j].key, check->where[i].key) == 0 &&
				 muster_value_equal(labels[j].value, check->where[i].value);
	return found == check->where_count;
}

/* For muster_history_each_value(), which gives values key by key. When the key or the machine type changes, the
 * thresholds that take such values are found anew; all values until the next change go to these. */
static int take_value(void *arg, const struct muster_history_value *value, struct muster_error *err)
{
	struct thresholds *all = arg;
	struct muster_label labels[MUSTER_LABELS_MAX];
	const struct muster_metric *metric;
	const char *type = value->report->machine_type;
	size_t count, i = 0;
	bool other = all->key != value->key || all->type != type;
	while (other && i < all->type_count && all->types[i] != type)
		i++;
	if (other && type && i == all->type_count)
		add_type(all, type);
	if (other && muster_history_key_read(all->table->arena, value->key, &metric, labels, &count, err) < 0)
		return -1;
	all->key = value->key;
	all->type = type;
	for (i = 0; i < all->count; i++) {
		struct threshold *one = &all->items[i];
		if (other)
			one->takes = one->machine_type == type && one->check->metric == metric &&
				     has_labels(one->check, labels, count);
		if (one->takes && (one->values++ == 0 || (value->value < one->nearest) == one->least))
			one->nearest = value->value;
	}
	return 0;
}

/* Add a row for each threshold that has values and is far from all of them: on the good side by more than FAR_PERCENT
 * of the threshold. All reports are read, however many: a single value near the threshold is what the table is about.
 * -1 with err. */
static int add_thresholds(struct muster_history *history, const struct muster_history_question *question,
	struct muster_table *table, struct muster_error *err)
{
	struct thresholds all = { .question = question, .table = table };
	struct muster_history_filter filter = question->filter;
	filter.reports_most = 0;
	int rc = muster_history_each_value(history, &filter, take_value, &all, err);
	for (size_t i = 0; i < all.count && rc == 0; i++) {
		const struct threshold *one = &all.items[i];
		double far = 100 * (one->nearest - one->limit) / fabs(one->limit) * (one->least ? 1 : -1);
		const struct muster_value cells[] = { muster_string(one->machine_type),
			muster_string(muster_arena_string(table->arena, one->check->id)),
			muster_string(one->least ? "at least" : "at most"), muster_number(one->limit),
			muster_cell_rounded(one->nearest), muster_string(muster_units[one->check->metric->unit].text),
			cell_percent(far) };
		if (one->values && far > FAR_PERCENT)
			muster_table_row(table, cells, MUSTER_PASS);
	}
	for (size_t i = 0; i < all.expect_count; i++)
		muster_expect_done(&all.expects[i]);
	free(all.expects);
	free(all.types);
	free(all.items);
	return rc;
}

/* ---- the page ---- */

/* Add the notes at the top: over how many runs and days, and which share of the runs failed a check of the machine. */
static void note_runs(const struct trial *t, struct muster_table *table)
{
	int64_t first = INT64_MAX, last = 0;
	char from[MUSTER_UTC_SIZE], to[MUSTER_UTC_SIZE];
	double low, high;
	if (t->past.count == 0)
		return;
	for (size_t i = 0; i < t->past.count; i++) {
		int64_t started = t->past.runs[i].started;
		first = started < first ? started : first;
		last = started > last ? started : last;
	}
	find_limits(t->failed, t->past.count, &low, &high);
	muster_table_note(table,
		"%zu runs (one node in one report) of %zu nodes in %jd days, %.10s to %.10s: %.2f %% of them failed a "
		"check of the machine (95 %% limits: %.2f to %.2f %%)",
		t->past.count, t->nodes, (last - first) / DAY_S + 1, muster_utc_text(first, from),
		muster_utc_text(last, to), percent(t->failed, t->past.count), low, high);
	muster_table_note(table,
		"%zu nodes would have been drained: a hard finding drains at once, a soft one in a second run at "
		"least a minute later",
		t->drain_count);
	muster_table_note(table,
		"false alarms: of the runs that failed the check and had another run of the node within the hour, the "
		"share where it passed there, with 95 %% limits");
}

int muster_ask_trial(struct muster_history *history, const struct muster_history_question *question,
	struct muster_table *ret, struct muster_error *err)
{
	static const struct muster_table_column checks[] = { { "check", "check" }, { "proof", "proof" },
		{ "runs", "runs" }, { "percent", "% of runs" }, { "nodes", "nodes" }, { "drained", "drained" },
		{ "followed", "run within 1 h" }, { "passed", "passed" }, { "false_alarms", "false alarms %" },
		{ "low", "from" }, { "high", "to" } };
	static const struct muster_table_column drains[] = { { "node", "node" }, { "time", "drained" },
		{ "check", "check" }, { "part", "part" }, { "proof", "proof" }, { "failed_since", "failed since" },
		{ "passed_since", "passed since" } };
	static const struct muster_table_column thresholds[] = { { "machine_type", "machine type" },
		{ "check", "check" }, { "bound", "bound" }, { "threshold", "threshold" }, { "nearest", "nearest" },
		{ "unit", "unit" }, { "percent", "% apart" } };
	struct trial t = { 0 };
	*ret = (struct muster_table){ ret->arena, "Trial", MUSTER_TABLE_COLUMNS(checks),
		.empty = "no run failed a check of the machine" };
	if (muster_past_read(history, &question->filter, &t.past, err) < 0)
		return -1;
	take_runs(&t);
	if (t.check_count)
		qsort(t.checks, t.check_count, sizeof *t.checks, by_drained);
	note_runs(&t, ret);
	add_checks(&t, ret);
	struct muster_table *table = ret->next = muster_arena_alloc(ret->arena, sizeof *table);
	*table = (struct muster_table){ ret->arena, "Nodes that would have been drained", MUSTER_TABLE_COLUMNS(drains),
		.empty = "none" };
	add_drains(&t, table);
	table = table->next = muster_arena_alloc(ret->arena, sizeof *table);
	*table = (struct muster_table){ ret->arena, "Thresholds that no machine came near",
		MUSTER_TABLE_COLUMNS(thresholds), .group_count = 1, .empty = "none" };
	muster_table_note(table, "of all values, the nearest one is more than %d %% from the threshold", FAR_PERCENT);
	int rc = add_thresholds(history, question, table, err);
	free(t.checks);
	free(t.drains);
	muster_past_done(&t.past);
	return rc;
}
