/* conclude.c - the end of the run on rank 0: judge, write, print */
#include "run/conductor.h"

#include "core/file.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

/* Rank 0, once all records are in (or overdue): judge, write, print. Returns the exit code. */
int muster_conclude(struct muster_conductor *c)
{
	struct muster_root *root = c->root;
	struct muster_run *run = &root->run;
	struct muster_report report;
	struct muster_error err;
	muster_progress_end(&root->progress);
	const char *job_id = getenv("SLURM_JOB_ID");
	run->job.id = muster_pool_string(run->pool, job_id);
	run->job.started = muster_pool_string(run->pool, c->started);
	run->job.elapsed_s = (muster_now_ms() - c->start_ms) / 1e3;
	run->job.profile = muster_profile_names[c->options->profile];
	run->job.ranks = c->ranks;
	run->job.version = MUSTER_VERSION;
	muster_choice_evaluate(&c->choice, run, c->options->strict, &report);
	int code = (int)muster_report_exit(&report);
	bool to_stdout = strcmp(c->options->report, "-") == 0;
	if (muster_report_write_json(&report, c->options->report, &err) < 0) {
		fprintf(stderr, "muster: the report could not be written: %s\n", err.text);
		if (code == MUSTER_EXIT_PASS)
			code = MUSTER_EXIT_INCONCLUSIVE;
	}
	FILE *out = to_stdout ? stderr : stdout;
	muster_report_print_text(&report, out, muster_on_terminal());
	muster_report_print_line(&report, c->options->report, out);
	fflush(NULL);
	muster_report_done(&report);
	return code;
}

bool muster_conclude_is_slow(void *conductor, const struct muster_probe *probe, const char *facts)
{
	struct muster_conductor *c = conductor;
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
	muster_choice_evaluate(&c->choice, &run, false, &report);
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

/* A report that cannot be written should not cost a run. */
static bool can_write(const char *path)
{
	struct muster_file file;
	struct muster_error err;
	if (muster_file_open(&file, path, &err) < 0) {
		fprintf(stderr, "muster: --report %s\n", err.text);
		return false;
	}
	muster_file_abandon(&file);
	return true;
}

bool muster_conclude_prepare(struct muster_conductor *c)
{
	const struct muster_options *o = c->options;
	struct muster_error err;
	if (!can_write(o->report))
		return false;
	if (muster_choice_load(o->configs, o->sku, o->overlay, &c->choice, &err) < 0) {
		fprintf(stderr, "muster: %s\n", err.text);
		return false;
	}
	if (!c->choice.automatic && !c->choice.known) /* said before anything is measured */
		fprintf(stderr, "muster: %s\n", c->choice.unknown.text);
	return true;
}
