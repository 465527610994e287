/* SPDX-License-Identifier: Apache-2.0 */
/* finalize.c - the end of the run on rank 0: evaluate, write, print
 *
 * In the order in which rank 0 calls these (process.h):
 *
 *   muster_finalize_prepare    before the run: can the files be written, and the expectations be read?
 *   muster_finalize_too_slow   with all records: evaluate; which speeds are measured once more?
 *   muster_finalize_run        evaluate, unless the evaluation of too_slow holds; write the report, print; the page
 *   muster_finalize_alone      in place of the two before, when MPI does not start
 *
 * Expectations, the run and the report belong to one thread at a time: rank 0 waits for the thread that works, and
 * changes none of them. Meanwhile rank 0 reads only the atomics of struct work and struct judging, the trials (for the
 * spool) and, in give_up(), counts and sizes of the run. What may hang on a file system is done by that thread or,
 * before the run, by a process of its own; both can be abandoned.
 */
#include "coord/process.h"
#include "eval/derive.h"
#include "spool/read.h"
#include "model/gpu.h"
#include "model/windows.h"
#include "model/share.h"
#include "muster/probe.h"
#include "muster/report.h"
#include "muster/run.h"
#include "storage/file.h"
#include "storage/folder.h"
#include "util/array.h"
#include "util/screen.h"
#include "util/child.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"
#include "util/version.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the folders and files of storage options, before a run begins ----
 *
 * A process of its own looks at them: a file system that does not answer keeps that process, and not the run.
 */

enum { KILL_MS = 100, ANSWER = 3 };

static int look(const struct muster_options *options, int ranks, struct muster_error *err)
{
	struct muster_storage_file file = { .fd = -1 };
	const char *folder = options->checkpoint_path;
	if (folder && (muster_storage_folder_check(folder, err) < 0 ||
			      muster_storage_space_check(folder, ranks, options->checkpoint_bytes, err) < 0))
		return muster_wrap(err, "--checkpoint");
	if (options->broadcast_file && muster_storage_file_open_existing(options->broadcast_file, &file, err) < 0)
		return muster_wrap(err, "--broadcast-file");
	muster_storage_file_close(&file);
	return 0;
}

/* In the new process: write the error to the descriptor `to`, or nothing when all is well. The process may stay for as
 * long as the file system does not answer. So it first closes every other descriptor: a launcher waits until the last
 * copy of its pipes is closed. */
static _Noreturn void tell(const struct muster_options *options, int ranks, int to)
{
	struct muster_error err = { 0 };
	if (dup2(to, ANSWER) < 0 || close_range(0, ANSWER - 1, 0) < 0 || close_range(ANSWER + 1, ~0u, 0) < 0)
		_exit(1);
	to = ANSWER;
	if (look(options, ranks, &err) < 0 && write(to, err.text, strlen(err.text)) < 0)
		_exit(1);
	_exit(0);
}

/* Whether rank 0 can write to the folder of --checkpoint, which has room for `ranks` files, and read --broadcast-file.
 * -1 with err: what is wrong, and with which option. A file system that does not answer within wait_ms is left to the
 * run, which says so. */
static int check_folders(const struct muster_options *options, int ranks, int wait_ms, struct muster_error *err)
{
	int ends[2];
	char text[sizeof err->text];
	ssize_t length = 0;
	pid_t pid;
	struct muster_error ignored;
	if ((!options->checkpoint_path && !options->broadcast_file) || pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	if (muster_child_fork(true, &pid, &ignored) < 0) {
		close(ends[0]);
		close(ends[1]);
		return 0;
	}
	if (pid == 0)
		tell(options, ranks, ends[1]);
	close(ends[1]);
	struct pollfd answer = { .fd = ends[0], .events = POLLIN };
	if (poll(&answer, 1, wait_ms) > 0)
		length = read(ends[0], text, sizeof text - 1);
	close(ends[0]);
	muster_child_kill(pid, KILL_MS, NULL);
	return length > 0 ? muster_fail(err, MUSTER_EUSAGE, "%.*s", (int)length, text) : 0;
}

enum { LOOK_MS = 5, FOLDERS_MS = 3000, ALONE_RANKS = 64 }; /* ALONE: the evaluation of so few takes milliseconds */

/* What the thread shares with rank 0; on the heap, since the thread may outlive the call. The thread sets the atomics
 * in this order: verdict, published, paged, done. Rank 0 reads them when the time is over, and each one that is set is
 * kept: a verdict of FAIL stays although the report was not written; a report that is written keeps its exit code
 * although the page is not. What is not set yet counts as inconclusive. */
struct work {
	struct muster_finalize *finalize;
	struct muster_supervisor *s;
	struct muster_run *run;
	int code;
	size_t count[MUSTER_STATUS_COUNT];
	atomic_int verdict; /* of enum muster_status, once it and the counts are known; else INCONCLUSIVE */
	atomic_bool published;
	atomic_bool paged; /* the HTML page is written, or none is wanted */
	atomic_bool done;
};

/* Whether a rank of the run has no result. */
static bool has_missing(const struct muster_run *run)
{
	for (size_t i = 0; i < run->node_count; i++)
		for (size_t j = 0; j < run->nodes[i].rank_count; j++)
			if (run->nodes[i].ranks[j].missing)
				return true;
	return false;
}

/* Results that did not arrive as a message may be on disk, if this node sees the same folder as the others. */
static void add_spool(const struct work *work)
{
	struct muster_spool_set spooled;
	struct muster_error err;
	struct muster_run *run = work->run;
	if (!has_missing(run) || !work->finalize->run_name)
		return;
	const char *spool = work->s->options->spool;
	if (muster_spool_set_read(spool, work->finalize->run_name, run->arena, &spooled, &err) == 0) {
		muster_spool_set_add(&spooled, run);
		muster_spool_set_done(&spooled);
	} else {
		muster_log(MUSTER_LOG_WARN, NULL, "--spool: %s", err.text);
	}
}

/* For log collectors: the findings of the summary, one line each. */
static void log_finding(const struct muster_finding *finding)
{
	const struct muster_metric *metric = finding->metric ? muster_metric_find(finding->metric) : NULL;
	char *observed = muster_finding_observed(finding);
	const char *unit = finding->unit;
	char *gpu = finding->gpu ? muster_gpu_text(finding->gpu, finding->gpu_index) : NULL;
	const char *thing = gpu ? gpu : finding->port;
	const struct muster_label fields[] = {
		{ "check", muster_string(finding->check) },
		{ "status", muster_string(muster_status_name(finding->status)) },
		{ "gpu", muster_string(finding->gpu) },
		{ "gpu_index", gpu && finding->gpu_index >= 0 ? muster_number(finding->gpu_index) : muster_null() },
		{ "port", muster_string(finding->port) },
		{ "metric", muster_string(finding->metric) },
		/* of numbers only: a column of a table has one type, and `observed` has the others */
		{ "value", finding->value.type == MUSTER_NUMBER ? finding->value : muster_null() },
		{ "unit", muster_string(unit && *unit ? unit : NULL) },
		{ "observed", muster_string(*observed ? observed : NULL) },
		{ "expected", muster_string(finding->expected) },
		{ "action_code", muster_string(finding->action_code) },
		{ "proof", muster_string(muster_proof_names[finding->proof]) },
		{ "source", muster_string(finding->source) },
	};
	const struct muster_log_place at = {
		.node = finding->node,
		.rank = finding->rank,
		.probe = metric                                      ? muster_metric_probe(metric)
			 : strncmp(finding->check, "probe.", 6) == 0 ? finding->check + 6
								     : NULL,
		.fields = fields,
		.field_count = sizeof fields / sizeof *fields,
	};
	muster_log(finding->status == MUSTER_FAIL ? MUSTER_LOG_ERROR : MUSTER_LOG_WARN, &at,
		"%s %s%s%s: observed %s, expected %s", muster_status_name(finding->status), finding->check,
		thing ? " on " : "", thing ? thing : "", *observed ? observed : "nothing",
		finding->expected ? finding->expected : "nothing");
	free(gpu);
	free(observed);
}

static void log_findings(const struct muster_report *report)
{
	for (size_t i = 0; i < report->finding_count && muster_log_is_json(); i++)
		if (report->findings[i].status != MUSTER_SKIP)
			log_finding(&report->findings[i]);
}

/* A copy of what the report says: the verdict does not depend on it. */
static void write_textfile(const struct muster_options *options, const struct muster_report *report)
{
	struct muster_error err;
	if (options->textfile && muster_report_write_textfile(report, options->textfile, &err) < 0)
		muster_log(MUSTER_LOG_ERROR, NULL, "--textfile: %s", err.text);
}

/* The report and its last line are out: they keep the verdict. */
static void write_page(struct work *work, const struct muster_report *report)
{
	const char *html = work->s->options->html;
	struct muster_error err;
	if (!html || muster_report_write_html(report, html, &err) == 0)
		atomic_store(&work->paged, true);
	else
		muster_log(MUSTER_LOG_ERROR, NULL, "the HTML page could not be written to %s: %s", html, err.text);
}

/* Of a published report. A page that was asked for and is missing leaves no pass, as a report does. */
static int exit_code(const struct work *work)
{
	bool missing = !work->finalize->silent && !atomic_load(&work->paged);
	return missing && work->code == MUSTER_EXIT_PASS ? MUSTER_EXIT_INCONCLUSIVE : work->code;
}

/* Of a run whose samples are folded. */
static void judge(const struct work *work, struct muster_report *report)
{
	muster_run_derive(work->run);
	muster_selection_evaluate(&work->finalize->choice, work->run, work->s->options->strict, report);
}

static struct muster_layout layout_of_output(void)
{
	struct muster_screen screen;
	bool on_terminal = muster_on_terminal();
	muster_screen_of(stdout, &screen);
	return (struct muster_layout){
		.colour = on_terminal, .columns = screen.columns, .lines = on_terminal ? screen.lines : 0
	};
}

/* The work of the thread: complete the run from the spool, fold and evaluate, publish the report (file, summary, last
 * line), then the page and the textfile, which do not change the verdict. `silent`: this process prints and writes
 * nothing, since another one of the launch does (process.c, check_single_rank). */
static void *judge_and_write(void *arg)
{
	struct work *work = arg;
	const struct muster_options *options = work->s->options;
	struct muster_report report;
	if (work->finalize->has_judged) {
		report = work->finalize->judged;
		work->finalize->has_judged = false;
	} else {
		add_spool(work);
		muster_run_fold(work->run);
		judge(work, &report);
	}
	memcpy(work->count, report.count, sizeof work->count);
	atomic_store(&work->verdict, (int)report.verdict);
	log_findings(&report);
	const char *path = work->finalize->silent ? NULL : options->report;
	work->code = muster_report_publish(&report, &(struct muster_publishing){
							    .path = path,
							    .named = options->report,
							    .layout = layout_of_output(),
							    .inventory = options->inventory,
							    .hint = options->hint,
						    });
	atomic_store(&work->published, true);
	if (!work->finalize->silent) {
		write_page(work, &report);
		write_textfile(options, &report);
	}
	muster_report_done(&report);
	muster_selection_done(&work->finalize->choice);
	atomic_store(&work->done, true);
	return NULL;
}

/* What the report says of the job itself. */
static void complete_job(const struct muster_supervisor *s, struct muster_run *run, double now_ms)
{
	run->job.id = muster_arena_string(run->arena, getenv("SLURM_JOB_ID"));
	run->job.started = muster_arena_string(run->arena, s->started);
	run->job.elapsed_s = (now_ms - s->start_ms) / 1e3;
	run->job.profile = muster_profile_names[s->options->profile];
	run->job.ranks = s->ranks;
	run->job.version = muster_version;
	run->job.repeats = s->options->repeats;
	run->job.measures = s->options->measures;
	run->job.beside_jobs = s->options->beside_jobs;
	run->job.interrupted = muster_arena_string(run->arena, s->interrupted);
}

/* ---- what is too slow ---- */

struct judging {
	const struct work *work;
	struct muster_report report;
	atomic_bool done;
};

static void *judge_alone(void *arg)
{
	struct judging *judging = arg;
	judge(judging->work, &judging->report);
	atomic_store(&judging->done, true);
	return NULL;
}

/* The probes (1 << index) that have a finding about a speed with windows, failing or warning: a speed may pass when it
 * is measured once more. */
static uint64_t probes_of(const struct muster_report *report)
{
	uint64_t probes = 0;
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		const struct muster_metric *metric = finding->metric ? muster_metric_find(finding->metric) : NULL;
		if (metric && metric->windows && (finding->status == MUSTER_FAIL || finding->status == MUSTER_WARN))
			for (size_t j = 0; j < muster_probe_count(); j++)
				probes |=
					(uint64_t)(strcmp(muster_probe_at(j)->name, muster_metric_probe(metric)) == 0 &&
						   muster_probe_at(j)->windows)
					<< j;
	}
	return probes;
}

/* How many samples each list of the run has, in the order of muster_run_next; malloc'd. */
static size_t *count_samples(const struct muster_run *run)
{
	size_t count = 0, room = 1, *counts = muster_calloc(room, sizeof *counts);
	for (struct muster_run_walk at = { 0 }; muster_run_next(run, &at);)
		MUSTER_ARRAY_PUSH(counts, count, room, at.samples->count);
	return counts;
}

/* Drop what came to the lists after they were counted. The run must have the same nodes and ranks in the same order. */
static void cut_samples(struct muster_run *run, const size_t *counts)
{
	run->job.samples.count = *counts++;
	for (size_t n = 0; n < run->node_count; n++) {
		run->nodes[n].samples.count = *counts++;
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			run->nodes[n].ranks[r].samples.count = *counts++;
	}
}

/* With few ranks the evaluation takes milliseconds, and is done here. With many a thread does it, and rank 0 goes on
 * with its turns, so that its heartbeats do not stop; no message changes the run meanwhile, since all records have been
 * gathered. When a speed is to be measured again, the samples that the evaluation has derived are dropped: they must
 * follow from the new values too. So they are when the run was interrupted meanwhile, which is to be judged too. */
uint64_t muster_finalize_too_slow(struct muster_supervisor *s)
{
	struct muster_finalize *finalize = s->host->arg;
	struct work work = { .finalize = finalize, .s = s, .run = &s->coordinator->run };
	struct judging judging = { .work = &work };
	pthread_t thread;
	if (has_missing(work.run)) /* the rest of it may be on disk, and reading that may hang */
		return 0;
	complete_job(s, work.run, muster_clock_now(s->clock));
	muster_run_fold(work.run);
	size_t *counts = count_samples(work.run);
	bool parallel = s->ranks > ALONE_RANKS && pthread_create(&thread, NULL, judge_alone, &judging) == 0;
	if (!parallel)
		judge_alone(&judging);
	while (!atomic_load(&judging.done))
		muster_supervisor_poll(s, muster_clock_now(s->clock) + LOOK_MS);
	if (parallel)
		pthread_join(thread, NULL);
	uint64_t probes = probes_of(&judging.report);
	if (probes || s->interrupted) {
		muster_report_done(&judging.report);
		cut_samples(work.run, counts); /* what was derived follows from what comes now */
	} else {
		finalize->judged = judging.report;
		finalize->has_judged = true;
	}
	free(counts);
	return probes;
}

/* Something hangs, most likely the disk. The thread is abandoned: should it go on, it waits for standard output, which
 * is never unlocked, so that there is one last line and not two. */
static int give_up(struct work *work)
{
	const struct muster_options *options = work->s->options;
	bool printing = ftrylockfile(stdout) != 0; /* the thread is, and its last line will come */
	struct muster_report report = {
		.run = work->run,
		.sku = options->sku,
		.verdict = (enum muster_status)atomic_load(&work->verdict),
	};
	memcpy(report.count, work->count, sizeof report.count);
	if (report.verdict != MUSTER_FAIL)
		report.verdict = MUSTER_INCONCLUSIVE;
	muster_log(MUSTER_LOG_ERROR, NULL, "the report could not be written in time: %s", options->report);
	if (!printing)
		muster_report_print_line(&report, "none", stdout);
	return (int)muster_report_exit(&report);
}

/* Until the end of the report's time. Then, what is done counts:
 *
 *   the thread has reached      the exit code                            the thread
 *   its end                     of the report; no page, no pass          is joined
 *   the published report        of the report; no page, no pass          is abandoned, with an error in the log
 *   the verdict, or less        fail if that is the verdict, else        is abandoned; rank 0 prints the last line,
 *                               inconclusive                             unless the thread has begun to print
 */
int muster_finalize_run(struct muster_supervisor *s)
{
	struct work *work = muster_calloc(1, sizeof *work);
	double until_ms = s->end_ms + muster_deadlines_report(&s->deadlines, s->ranks);
	pthread_t thread;
	*work = (struct work){ .finalize = s->host->arg, .s = s, .run = &s->coordinator->run };
	atomic_store(&work->verdict, MUSTER_INCONCLUSIVE);
	muster_progress_end(&s->coordinator->progress);
	complete_job(s, work->run, muster_clock_now(s->clock));
	bool parallel = pthread_create(&thread, NULL, judge_and_write, work) == 0;
	if (!parallel)
		judge_and_write(work);
	while (!atomic_load(&work->done) && muster_clock_now(s->clock) < until_ms) {
		poll(NULL, 0, LOOK_MS);
		muster_serve_heartbeats(s);
	}
	if (!atomic_load(&work->done)) {
		pthread_detach(thread);
		if (!atomic_load(&work->published))
			return give_up(work);
		bool paged = atomic_load(&work->paged);
		muster_log(MUSTER_LOG_ERROR, NULL, "%s: %s: could not be written in time",
			paged ? "--textfile" : "--html", paged ? s->options->textfile : s->options->html);
		return exit_code(work);
	}
	if (parallel)
		pthread_join(thread, NULL);
	int code = exit_code(work);
	free(work);
	return code;
}

/* The report has this node with rank 0, whose probes have all ended with an error that says why, and the other ranks of
 * the launcher as missing, on a node without a name. */
int muster_finalize_alone(struct muster_supervisor *s)
{
	struct muster_run run;
	struct work work = { .finalize = s->host->arg, .s = s, .run = &run };
	muster_run_init(&run);
	struct muster_node *node = muster_run_add_node(&run, s->node);
	struct muster_rank *rank = muster_node_add_rank(node, 0);
	rank->local_rank = 0;
	for (size_t i = 0; i < muster_probe_count(); i++)
		muster_outcomes_add(&rank->outcomes, (struct muster_outcome){
							     .probe = muster_probe_at(i)->name,
							     .status = MUSTER_OUTCOME_ERROR,
							     .code = muster_code_name(MUSTER_EINTERRUPTED),
							     .detail = s->interrupted,
						     });
	node = s->ranks > 1 ? muster_run_add_node(&run, "?") : NULL;
	for (int other = 1; other < s->ranks; other++)
		muster_node_add_rank(node, other)->missing = "MPI_Init had not returned when the run was given up";
	muster_run_sort(&run);
	complete_job(s, &run, muster_clock_now(s->clock));
	judge_and_write(&work);
	muster_run_done(&run);
	return exit_code(&work);
}

/* NULL when the run may begin; else, with err, the option that err is about. A report that cannot be written should not
 * cost a run. */
static const char *find_mistake(const struct muster_supervisor *s, struct muster_error *err)
{
	struct muster_finalize *finalize = s->host->arg;
	const struct muster_options *o = s->options;
	if (muster_file_check(o->report, err) < 0)
		return "--report ";
	if (o->textfile && muster_report_check_textfile(o->textfile, err) < 0)
		return "--textfile ";
	if (o->html && muster_file_check(o->html, err) < 0)
		return "--html ";
	if (check_folders(o, s->ranks, FOLDERS_MS, err) < 0 ||
		muster_selection_load(o->configs, o->sku, o->overlay, &finalize->choice, err) < 0)
		return "";
	return NULL;
}

int muster_finalize_prepare(struct muster_supervisor *s)
{
	struct muster_error err;
	const char *option = find_mistake(s, &err);
	if (option)
		muster_log(MUSTER_LOG_ERROR, NULL, "%s%s", option, err.text);
	/* why there is no spool is logged already */
	return option || (s->options->spool && !s->spool) ? MUSTER_EXIT_USAGE : MUSTER_EXIT_PASS;
}
