/* conclude.c - the end of the run on rank 0: judge, write, print */
#include "run/conductor.h"

#include "core/file.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

static bool is_automatic(const struct muster_conductor *c)
{
	return strcmp(c->options->sku, "auto") == 0;
}

/* What to hold the run against when the user did not say; NULL, with the reason when it was to be recognised. */
static const struct muster_expect *choose_expectations(struct muster_conductor *c, const char **ret_why_not)
{
	struct muster_run *run = &c->root->run;
	struct muster_error err;
	const char *how;
	size_t index = 0;
	if (!is_automatic(c))
		return NULL;
	int result = muster_recognise(run, &c->candidates, &index, &how, &err);
	struct muster_candidate *found = &c->candidates.items[index];
	if (result == 0 && found->misfit.code == MUSTER_OK) {
		found->expect.origin =
			muster_pool_printf(found->expect.pool, "%s (recognised by %s)", found->expect.origin, how);
		return &found->expect;
	}
	*ret_why_not = muster_pool_string(run->pool, result == 0 ? found->misfit.text : err.text);
	fprintf(stderr, "muster: %s\n", *ret_why_not);
	return NULL;
}

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
	const char *why_not = NULL;
	const struct muster_expect *expect = c->known ? &c->expect : choose_expectations(c, &why_not);
	muster_evaluate(run, expect, c->options->strict, &report);
	if (!expect) {
		report.sku = why_not ? "unknown" : c->options->sku;
		report.sku_origin = why_not;
	}
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
	if (is_automatic(c)) {
		if (muster_candidates_load(o->configs, o->overlay, &c->candidates, &err) == 0)
			return true;
	} else {
		c->known = muster_expect_load(o->configs, o->sku, o->overlay, &c->expect, &err) == 0;
		if (c->known)
			return true;
	}
	fprintf(stderr, "muster: %s\n", err.text);
	return err.code == MUSTER_ENOTSUPPORTED;
}
