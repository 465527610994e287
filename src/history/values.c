/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - every number of a run that is worth comparing with the same number of other runs
 *
 * Pure: no I/O. values.h says what a value is, and gives an example. A run is walked as reports print it: the samples
 * of the job, then those of each node and of its ranks. One struct muster_history_value is filled in anew for each call
 * of the visitor.
 */
#include "history/values.h"

#include "muster/arena.h"
#include "muster/run_data.h"

#include <math.h>
#include <string.h>

struct walk {
	struct muster_arena *arena; /* the texts of keys and parts */
	muster_history_visit_fn *visit;
	void *arg;
	struct muster_error *err;
	struct muster_run_walk at;         /* the samples at hand */
	struct muster_history_value value; /* the one that the visitor sees */
};

/* ---- where ---- */

/* The text of the first label with this role; NULL when the sample has none. */
static const char *label_of(const struct muster_sample *sample, enum muster_role role)
{
	for (size_t i = 0; i < sample->label_count; i++)
		if (muster_label_role(sample->labels[i].key) == role)
			return sample->labels[i].value.string;
	return NULL;
}

/* The part of the machine that the sample is of: a label that is a place (GPU, port); else, of a sample of a rank, the
 * GPU of the rank; else a label that is a part (an adapter, a device). The rank's GPU comes before the last: the
 * adapter of an exchange belongs to its rank. NULL for the whole node or job. */
static const char *part_of(const struct walk *w, const struct muster_sample *sample)
{
	const char *text = label_of(sample, MUSTER_ROLE_PLACE);
	const struct muster_rank *rank = w->at.rank;
	if (!text && rank)
		text = rank->gpu ? rank->gpu : muster_arena_printf(w->arena, "local rank %d", rank->local_rank);
	return text ? text : label_of(sample, MUSTER_ROLE_PART);
}

/* Visit the samples at hand that are worth comparing: finite numbers of a metric that is no fact. -1 when the visitor
 * ends the walk. */
static int visit_samples(struct walk *w)
{
	w->value.node = w->at.node ? w->at.node->name : NULL;
	for (size_t i = 0; i < w->at.samples->count; i++) {
		const struct muster_sample *sample = &w->at.samples->items[i];
		if (sample->value.type != MUSTER_NUMBER || !isfinite(sample->value.number) ||
			sample->metric->better == MUSTER_BETTER_FACT)
			continue;
		w->value.metric = sample->metric;
		w->value.key = muster_history_key(w->arena, sample->metric, sample->labels, sample->label_count);
		w->value.part = part_of(w, sample);
		w->value.value = sample->value.number;
		if (w->visit(w->arg, &w->value, w->err) < 0)
			return -1;
	}
	return 0;
}

void muster_history_describe(const struct muster_report *report, struct muster_history_report *ret)
{
	const struct muster_job *job = &report->run->job;
	*ret = (struct muster_history_report){
		.started = MUSTER_HISTORY_NEVER,
		.job = job->id,
		.machine_type = report->sku,
		.profile = job->profile,
		.version = job->version,
		.simulated = job->simulated,
		.beside_jobs = job->beside_jobs,
		.nodes = muster_run_known_nodes(report->run),
		.verdict = report->verdict,
	};
	if (job->started)
		(void)muster_utc_read(job->started, &ret->started);
}

int muster_history_values(
	const struct muster_report *report, muster_history_visit_fn *visit, void *arg, struct muster_error *err)
{
	struct muster_history_report described;
	muster_history_describe(report, &described);
	struct walk w = { .visit = visit, .arg = arg, .err = err, .value.report = &described };
	w.arena = muster_arena_new();
	int rc = 0;
	while (rc == 0 && muster_run_next(report->run, &w.at))
		if (!w.at.node || strcmp(w.at.node->name, "?") != 0)
			rc = visit_samples(&w);
	muster_arena_free(w.arena);
	return rc;
}
