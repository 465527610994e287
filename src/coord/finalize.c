/* finalize.c - the end of the run on rank 0: judge, write, print
 *
 * A large report takes its time and a disk may hang: a thread does the work, while rank 0 stays alive for the others
 * and gives up when its time is over.
 */
#include "coord/supervisor_internal.h"

#include "util/file.h"
#include "util/log.h"
#include "util/text.h"
#include "model/trend.h"
#include "journal/read.h"
#include "muster/probe.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	REPORT_MS = 3500, /* after the run's end ... */
	RANKS_PER_MS = 5, /* ... and a millisecond more for so many ranks */
	LOOK_MS = 5,
};

struct ending {
	struct muster_supervisor *c;
	int code;
	size_t count[MUSTER_STATUS_COUNT];
	atomic_int verdict; /* of enum muster_status, once it and the counts are known; else INCONCLUSIVE */
	atomic_bool done;
};

double muster_finalize_limit_ms(const struct muster_supervisor *c)
{
	return REPORT_MS + (double)c->ranks / RANKS_PER_MS;
}

/* What has not come over MPI may be on disk, if this node sees the same folder as the others. */
static void add_spooled(struct muster_supervisor *c, struct muster_run *run)
{
	struct muster_journal_set spooled;
	struct muster_error err;
	bool missing = false;
	for (size_t i = 0; i < run->node_count; i++)
		for (size_t j = 0; j < run->nodes[i].rank_count; j++)
			missing = missing || run->nodes[i].ranks[j].missing;
	if (!missing || !c->run_name)
		return;
	if (muster_journal_set_read(c->options->spool, c->run_name, run->arena, &spooled, &err) < 0) {
		muster_log(MUSTER_LOG_WARN, NULL, "--spool: %s", err.text);
		return;
	}
	muster_journal_set_add(&spooled, run, "it did not come to its end");
	muster_journal_set_done(&spooled);
}

/* A log collector has what people read in the summary, a line for each finding. */
static void log_findings(const struct muster_report *report)
{
	for (size_t i = 0; i < report->finding_count && muster_log_is_json(); i++) {
		const struct muster_finding *finding = &report->findings[i];
		const struct muster_metric *metric = finding->metric ? muster_metric_find(finding->metric) : NULL;
		const struct muster_log_place at = {
			.node = finding->node,
			.rank = finding->rank,
			.probe = metric                                      ? muster_metric_probe(metric)
				 : strncmp(finding->check, "probe.", 6) == 0 ? finding->check + 6
									     : NULL,
		};
		if (finding->status == MUSTER_SKIP)
			continue;
		bool unit = finding->value.type == MUSTER_NUMBER && finding->unit && *finding->unit;
		const char *thing = finding->gpu ? finding->gpu : finding->port;
		muster_log(finding->status == MUSTER_FAIL ? MUSTER_LOG_ERROR : MUSTER_LOG_WARN, &at,
			"%s %s%s%s: observed %s%s%s, expected %s", muster_status_name(finding->status), finding->check,
			thing ? " on " : "", thing ? thing : "", finding->observed ? finding->observed : "nothing",
			unit ? " " : "", unit ? finding->unit : "", finding->expected ? finding->expected : "nothing");
	}
}

static void *judge_and_write(void *arg)
{
	struct ending *ending = arg;
	struct muster_supervisor *c = ending->c;
	struct muster_run *run = &c->root->run;
	struct muster_report report;
	add_spooled(c, run);
	if (run->job.repeats > 1)
		muster_run_fold_repeats(run);
	muster_selection_evaluate(&c->choice, run, c->options->strict, &report);
	memcpy(ending->count, report.count, sizeof ending->count);
	atomic_store(&ending->verdict, (int)report.verdict);
	log_findings(&report);
	const char *path = c->silent ? NULL : c->options->report;
	ending->code = muster_report_publish(&report, path, c->options->report, muster_on_terminal());
	muster_report_done(&report);
	muster_selection_done(&c->choice);
	atomic_store(&ending->done, true);
	return NULL;
}

static void complete_job(struct muster_supervisor *c)
{
	struct muster_run *run = &c->root->run;
	run->job.id = muster_arena_string(run->arena, getenv("SLURM_JOB_ID"));
	run->job.started = muster_arena_string(run->arena, c->started);
	run->job.elapsed_s = (muster_now_ms() - c->start_ms) / 1e3;
	run->job.profile = muster_profile_names[c->options->profile];
	run->job.ranks = c->ranks;
	run->job.version = MUSTER_VERSION;
	run->job.repeats = c->options->repeats;
	run->job.interrupted = muster_arena_string(run->arena, c->interrupted);
}

/* Something hangs, most likely the disk. The thread is left to itself. */
static int give_up(struct ending *ending)
{
	struct muster_supervisor *c = ending->c;
	struct muster_report report = {
		.run = &c->root->run,
		.sku = c->options->sku,
		.verdict = (enum muster_status)atomic_load(&ending->verdict),
	};
	memcpy(report.count, ending->count, sizeof report.count);
	if (report.verdict != MUSTER_FAIL)
		report.verdict = MUSTER_INCONCLUSIVE;
	muster_log(MUSTER_LOG_ERROR, NULL, "the report could not be written in time: %s", c->options->report);
	muster_report_print_line(&report, "none", stdout);
	return (int)muster_report_exit(&report);
}

int muster_finalize(struct muster_supervisor *c)
{
	/* not on the stack: the thread may outlive this call */
	struct ending *ending = muster_calloc(1, sizeof *ending);
	double until = c->end_ms + muster_finalize_limit_ms(c);
	pthread_t thread;
	ending->c = c;
	atomic_store(&ending->verdict, MUSTER_INCONCLUSIVE);
	muster_progress_end(&c->root->progress);
	complete_job(c);
	if (pthread_create(&thread, NULL, judge_and_write, ending) != 0) {
		judge_and_write(ending);
		return ending->code;
	}
	while (!atomic_load(&ending->done) && muster_now_ms() < until) {
		poll(NULL, 0, LOOK_MS);
		muster_supervisor_heartbeat(c);
	}
	if (!atomic_load(&ending->done)) {
		pthread_detach(thread);
		return give_up(ending);
	}
	pthread_join(thread, NULL);
	int code = ending->code;
	free(ending);
	return code;
}

bool muster_finalize_is_slow(void *conductor, const struct muster_probe *probe, const char *facts)
{
	struct muster_supervisor *c = conductor;
	const struct muster_node *own = &c->record.nodes[0];
	struct muster_run run, told;
	struct muster_report report;
	bool slow = false;
	muster_run_init(&told);
	if (muster_node_from_json(&told, facts, strlen(facts), NULL) < 0) {
		muster_run_done(&told);
		return false;
	}
	/* this run in little: all its nodes and ranks, of which nothing is known but what is known here */
	muster_run_init(&run);
	run.job.samples = told.job.samples;
	told.job.samples = (struct muster_samples){ 0 };
	for (int rank = 0; rank < c->ranks; rank++) {
		const struct muster_hello *hello = &c->root->hellos[rank];
		if (!hello->here)
			continue;
		while (run.node_count <= (size_t)hello->node_index)
			muster_run_add_node(&run, "?");
		run.nodes[hello->node_index].name = hello->node;
		muster_node_add_rank(&run.nodes[hello->node_index], rank);
	}
	for (size_t i = 0; i < own->samples.count && run.node_count > 0; i++)
		muster_samples_add(&run.nodes[0].samples, own->samples.items[i]);
	for (size_t i = 0; i < own->ranks[0].samples.count && run.node_count > 0; i++)
		muster_samples_add(&run.nodes[0].ranks[0].samples, own->ranks[0].samples.items[i]);
	run.job.profile = muster_profile_names[c->options->profile];
	run.job.ranks = c->ranks;
	muster_run_fold_repeats(&run);
	muster_selection_evaluate(&c->choice, &run, false, &report);
	for (size_t i = 0; i < report.finding_count && !slow; i++) {
		const struct muster_finding *finding = &report.findings[i];
		const struct muster_metric *metric = finding->metric ? muster_metric_find(finding->metric) : NULL;
		slow = finding->status == MUSTER_FAIL && metric && metric->scope == MUSTER_SCOPE_JOB &&
		       metric->unit[0] && strcmp(muster_metric_probe(metric), probe->name) == 0 &&
		       finding->value.type == MUSTER_NUMBER;
	}
	muster_report_done(&report);
	muster_run_done(&run);
	muster_run_done(&told);
	return slow;
}

/* Rank 0 is here, and nobody else: MPI never began. */
int muster_finalize_alone(struct muster_supervisor *c)
{
	struct ending ending = { .c = c };
	struct muster_run *run = &c->root->run;
	bool *here = muster_calloc((size_t)c->ranks, sizeof *here);
	struct muster_rank *rank = muster_node_add_rank(muster_run_add_node(run, c->node), 0);
	rank->local_rank = 0;
	for (size_t i = 0; i < muster_probe_count(); i++)
		muster_outcomes_add(&rank->outcomes, (struct muster_outcome){
							     .probe = muster_probe_at(i)->name,
							     .status = MUSTER_OUTCOME_ERROR,
							     .code = muster_code_name(MUSTER_EINTERRUPTED),
							     .detail = c->interrupted,
						     });
	here[0] = true;
	muster_run_add_missing(run, c->root->hellos, here, c->ranks);
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t i = 0; i < run->nodes[n].rank_count; i++)
			if (run->nodes[n].ranks[i].missing)
				run->nodes[n].ranks[i].missing = "MPI_Init had not ended when the run was given up";
	free(here);
	complete_job(c);
	judge_and_write(&ending);
	return ending.code;
}

bool muster_finalize_prepare(struct muster_supervisor *c)
{
	const struct muster_options *o = c->options;
	struct muster_error err;
	/* a report that cannot be written should not cost a run */
	if (muster_file_check(o->report, &err) < 0) {
		muster_log(MUSTER_LOG_ERROR, NULL, "--report %s", err.text);
		return false;
	}
	if (muster_selection_load(o->configs, o->sku, o->overlay, &c->choice, &err) < 0) {
		muster_log(MUSTER_LOG_ERROR, NULL, "%s", err.text);
		return false;
	}
	if (!c->choice.automatic && !c->choice.known) /* said before anything is measured */
		muster_log(MUSTER_LOG_WARN, NULL, "%s", c->choice.unknown.text);
	return true;
}
