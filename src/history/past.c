/* SPDX-License-Identifier: Apache-2.0 */
/* past.c - the runs of nodes that a history has, one after the other, and what they are to the rule for drains
 *
 * muster_past_read() makes one run of each verdict of a node, with its findings behind each other in one array:
 *
 *    runs        node  machine type  profile   started   first  finding_count
 *                gpu-1 ND96          quick     10:00     0      2
 *                gpu-1 ND96          quick     10:30     -      0
 *    findings    [0] copy.h2d GPU 0   [1] copy.h2d GPU 3   ...
 *
 * Verdicts and findings are two walks over the history, both by node and report, so a finding belongs to the run of the
 * last finding or to one behind it. Only then are the runs sorted into series: by node, machine type, profile and time.
 * Callers go through a series from the first run to the last, and give each run to muster_past_take().
 */
#include "history/past.h"

#include "util/array.h"

#include <stdlib.h>
#include <string.h>

struct reading {
	struct muster_past *past;
	size_t at; /* index of the run of the last finding */
};

/* For muster_history_each_verdict(): append a run without findings. */
static int take_verdict(void *arg, const struct muster_history_verdict *verdict, struct muster_error *err)
{
	struct muster_past *past = ((struct reading *)arg)->past;
	(void)err;
	MUSTER_ARRAY_PUSH(past->runs, past->count, past->room,
		((struct muster_past_run){ .node = verdict->node,
			.machine_type = verdict->report->machine_type,
			.profile = verdict->report->profile,
			.started = verdict->report->started,
			.id = verdict->report_id,
			.status = verdict->status }));
	return 0;
}

/* For the same function, of findings: append the finding to the run with its node and report. Texts of a history are
 * one pointer each, so node names are compared as pointers. A report that was added after the first walk has findings
 * without a run; these are passed over. */
static int take_finding(void *arg, const struct muster_history_verdict *finding, struct muster_error *err)
{
	struct reading *reading = arg;
	struct muster_past *past = reading->past;
	size_t at = reading->at;
	(void)err;
	while (at < past->count && (past->runs[at].node != finding->node || past->runs[at].id != finding->report_id))
		at++;
	if (at == past->count) /* of a report that was added after the first walk */
		return 0;
	reading->at = at;
	if (past->runs[at].finding_count++ == 0)
		past->runs[at].first = past->finding_count;
	MUSTER_ARRAY_PUSH(past->findings, past->finding_count, past->finding_room,
		((struct muster_past_finding){
			.check = finding->check, .part = finding->part, .fault = finding->fault }));
	return 0;
}

int muster_past_by_time(const void *x, const void *y)
{
	const struct muster_past_run *a = x, *b = y;
	if (a->started != b->started)
		return a->started < b->started ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static int by_series(const void *x, const void *y)
{
	const struct muster_past_run *a = x, *b = y;
	int order = strcmp(a->node, b->node);
	order = order ? order : muster_text_order(a->machine_type, b->machine_type);
	order = order ? order : strcmp(a->profile, b->profile);
	return order ? order : muster_past_by_time(a, b);
}

int muster_past_read(struct muster_history *history, const struct muster_history_filter *filter,
	struct muster_past *ret, struct muster_error *err)
{
	struct reading reading = { .past = ret };
	*ret = (struct muster_past){ 0 };
	if (muster_history_each_verdict(history, filter, false, take_verdict, &reading, err) < 0 ||
		muster_history_each_verdict(history, filter, true, take_finding, &reading, err) < 0) {
		muster_past_done(ret);
		return -1;
	}
	if (ret->count)
		qsort(ret->runs, ret->count, sizeof *ret->runs, by_series);
	return 0;
}

void muster_past_done(struct muster_past *past)
{
	free(past->runs);
	free(past->findings);
	*past = (struct muster_past){ 0 };
}

bool muster_past_same_series(const struct muster_past_run *a, const struct muster_past_run *b)
{
	return a->node == b->node && a->machine_type == b->machine_type && a->profile == b->profile;
}

static bool has_finding(const struct muster_past *past, const struct muster_past_run *run, const char *check)
{
	for (size_t i = 0; i < run->finding_count; i++)
		if (strcmp(past->findings[run->first + i].check, check) == 0)
			return true;
	return false;
}

bool muster_past_is_gone(const struct muster_past *past, const struct muster_past_run *run, const char *check)
{
	return (run->status == MUSTER_PASS || run->status == MUSTER_WARN) && !has_finding(past, run, check);
}

struct place {
	const struct muster_past *past;
	const struct muster_past_run *run;
};

/* For muster_strikes_forgive(): whether the run at hand shows that the fault of this strike is gone. */
static bool is_gone_there(const void *arg, const struct muster_strike *strike)
{
	const struct place *place = arg;
	return strcmp(strike->node, place->run->node) == 0 &&
	       muster_past_is_gone(place->past, place->run, strike->check);
}

/* The same rule as of `muster drain` with a file (cli/drain.c: drain_nodes, find_proof): first forget strikes, then
 * take each finding that is about the machine. A part goes into `gpu` whether it is a GPU or a port, since strikes keep
 * either as one text. Who looked is not known of a stored run, and does not matter for the rule. */
void muster_past_take(struct muster_strikes *strikes, struct muster_past *past, const struct muster_past_run *run)
{
	const struct place place = { past, run };
	const char *first;
	muster_strikes_forgive(strikes, is_gone_there, &place, run->started);
	for (size_t i = 0; i < run->finding_count; i++) {
		struct muster_past_finding *found = &past->findings[run->first + i];
		const struct muster_finding finding = { .check = found->check,
			.gpu = found->part,
			.proof = found->fault == MUSTER_FAULT_HARD ? MUSTER_PROOF_HARD : MUSTER_PROOF_SOFT };
		found->drains =
			found->fault != MUSTER_FAULT_NONE && muster_strikes_take(strikes, &finding, run->node,
								     run->started, MUSTER_DRAINED_BY_PERSON, &first);
	}
}

int64_t muster_past_gone_since(const struct muster_past *past, const char *node, const char *check, int64_t after)
{
	int64_t since = MUSTER_HISTORY_NEVER;
	for (size_t i = 0; i < past->count; i++) {
		const struct muster_past_run *run = &past->runs[i];
		if (strcmp(run->node, node) != 0 || run->started <= after)
			continue;
		if (has_finding(past, run, check))
			since = MUSTER_HISTORY_NEVER;
		else if (since == MUSTER_HISTORY_NEVER && muster_past_is_gone(past, run, check))
			since = run->started;
	}
	return since;
}
