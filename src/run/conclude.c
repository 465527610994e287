/* conclude.c - the end of the run on rank 0: judge, write, print */
#include "run/conductor.h"

#include "core/file.h"
#include "core/text.h"
#include "core/trend.h"

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
	run->job.repeats = c->options->repeats;
	if (run->job.repeats > 1)
		muster_run_fold_repeats(run);
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
