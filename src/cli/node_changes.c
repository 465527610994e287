/* SPDX-License-Identifier: Apache-2.0 */
/* node_changes.c - what `muster drain` and `muster resume` share: they change the state of nodes in Slurm
 *
 * The order of reading and writing, and what an early end leaves, are in node_changes.h. Three questions are asked of a
 * report before a node is changed for it, because a user who can write a report could drain nodes with it:
 *
 *    whose file is it?              check_owner: the user's own or root's, and not writable for all; of strikes too
 *    is it of real machines?        check_report: no simulated report is applied
 *    are its nodes those of a job?  check_job: each node must have been in the job that the report names
 *
 * With --trust and --simulated a person overrides the first two. Without --apply the first is a warning only.
 */
#include "cli/node_changes.h"

#include "cli/cli.h"
#include "muster/report.h"
#include "muster/run.h"
#include "report/print_escaped.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"
#include "util/utc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void muster_node_skip(const char *node, const char *why, const struct muster_slurm_node *state)
{
	muster_print_text(stdout, "# %s: %s", node, why);
	if (state)
		muster_print_text(stdout, " (%s%s%s)", state->state, *state->reason ? ": " : "", state->reason);
	fputc('\n', stdout);
}

/* An error of code MUSTER_ENOTSUPPORTED or MUSTER_ETIME is about Slurm as a whole, so it ends the questions
 * (o->is_silent); all others are about this node. stdout is flushed first, so that both streams stay in order in one
 * terminal or log. */
void muster_node_complain(struct muster_node_changes *o, const char *node, const struct muster_error *err)
{
	fflush(stdout);
	o->is_silent = err->code == MUSTER_ENOTSUPPORTED || err->code == MUSTER_ETIME;
	if (o->is_silent)
		fprintf(stderr, "muster: Slurm does not answer%s: %s\n",
			!o->apply    ? ""
			: o->changed ? " any more"
				     : "; no node is changed",
			err->text);
	else
		fprintf(stderr, "muster: %s: %s\n", node, err->text);
	o->failed++;
}

bool muster_node_ask(struct muster_node_changes *o, const char *node, struct muster_slurm_node *ret)
{
	struct muster_error err;
	if (o->is_silent)
		return false;
	if (muster_slurm_node_show(node, o->deadline_s * 1000, ret, &err) == 0)
		return true;
	muster_node_complain(o, node, &err);
	return false;
}

/* The line on stdout is a command that a shell can execute. With --apply it is printed after the change, as a record of
 * it. */
bool muster_node_change(struct muster_node_changes *o, const char *node, const char *state, const char *reason)
{
	struct muster_error err;
	if (o->apply && muster_slurm_node_update(node, state, reason, o->deadline_s * 1000, &err) < 0) {
		muster_node_complain(o, node, &err);
		return false;
	}
	o->changed = true;
	printf("scontrol update NodeName=%s State=%s", node, state);
	if (reason)
		printf(" Reason='%s'", reason);
	putchar('\n');
	fflush(stdout); /* before what stderr may get next */
	return true;
}

int muster_node_changes_end(const struct muster_node_changes *o, size_t left)
{
	if (left > 0)
		fprintf(stderr, "muster: %zu more node%s skipped\n", left, left == 1 ? " was" : "s were");
	return muster_cli_printed(o->failed || left > 0 ? MUSTER_EXIT_INCONCLUSIVE : MUSTER_EXIT_PASS);
}

int muster_node_check_names(const char *const *names, size_t count, struct muster_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (!muster_slurm_name_is_plain(names[i]))
			return muster_fail(err, MUSTER_EUSAGE,
				"\"%.100s\" is not a valid node name: nothing is changed", names[i]);
	return 0;
}

/* A file is foreign (*ret_foreign) when it belongs to neither root nor the user who applies it, or when others can
 * write to it; the rights of its group do not count. With --apply a foreign file is an error (-1 with err) unless
 * --trust is given. Without --apply it is a warning, since what is printed is often pasted. status is of the open file,
 * not of its path: another file cannot take its place in between. */
static int check_owner(const struct muster_node_changes *o, const char *path, const struct stat *status,
	bool *ret_foreign, struct muster_error *err)
{
	*ret_foreign = (status->st_uid != geteuid() && status->st_uid != 0) || status->st_mode & S_IWOTH;
	if (!*ret_foreign)
		return 0;
	muster_fail(err, MUSTER_EUSAGE,
		"%s: user %ju %s this file, and may have written anything into it: check the nodes yourself, or use "
		"--trust",
		path, (uintmax_t)status->st_uid, status->st_mode & S_IWOTH ? "lets others write" : "owns");
	if (!o->apply)
		muster_log(MUSTER_LOG_WARN, NULL, "%s", err->text);
	return o->apply && !o->trust ? -1 : 0;
}

/* -1 with err when the report has a node that its job did not have: it may be made up, or be of another cluster. A job
 * that Slurm does not know any more proves nothing either way: one line says so, and the report is taken. */
static int check_job(const struct muster_node_changes *o, const struct muster_run *run, struct muster_error *err)
{
	const char *const *names;
	size_t count;
	int rc = 0;
	if (!run->job.id)
		return 0;
	struct muster_arena *arena = muster_arena_new();
	if (muster_slurm_job_nodes(run->job.id, o->deadline_s * 1000, arena, &names, &count, err) < 0) {
		muster_log(MUSTER_LOG_WARN, NULL, "the nodes of job %s are not compared with the report: %s",
			run->job.id, err->text);
		count = 0;
	}
	for (size_t i = 0; i < run->node_count && count > 0 && rc == 0; i++)
		if (strcmp(run->nodes[i].name, "?") != 0 && !muster_text_among(run->nodes[i].name, names, count))
			rc = muster_fail(err, MUSTER_EUSAGE,
				"%s: the node \"%.100s\" was not in job %s: nothing is changed", o->input,
				run->nodes[i].name, run->job.id);
	muster_arena_free(arena);
	return rc;
}

/* -1 with err for a report that must not be applied. A finding on a simulated machine says nothing about the real one
 * that has its name. */
static int check_report(const struct muster_node_changes *o, const struct muster_run *run, struct muster_error *err)
{
	if (o->apply && run->job.simulated && !o->simulated)
		return muster_fail(err, MUSTER_EUSAGE, "%s: the report is simulated: no node is changed", o->input);
	return check_job(o, run, err);
}

/* Fill in o->past and o->strikes from the history: the earlier runs of the report's nodes, of its machine type and
 * profile, as far back as strikes are kept. A history that cannot be read is only a warning: a hard finding drains
 * without it. */
static void read_past(struct muster_node_changes *o, const struct muster_report *report)
{
	const struct muster_run *run = report->run;
	const char **nodes = muster_calloc(run->node_count + 1, sizeof *nodes);
	struct muster_history_report described;
	struct muster_error err;
	muster_history_describe(report, &described);
	const struct muster_history_filter filter = { .nodes = nodes,
		.node_count = run->node_count,
		.machine_type = described.machine_type,
		.profile = described.profile,
		.simulated = described.simulated,
		.since = o->at - MUSTER_STRIKE_KEPT_S,
		.until = o->at };
	for (size_t i = 0; i < run->node_count; i++)
		nodes[i] = run->nodes[i].name;
	if (muster_history_open(o->db, false, &o->history, &err) < 0 ||
		muster_past_read(o->history, &filter, &o->past, &err) < 0)
		muster_log(MUSTER_LOG_WARN, NULL, "no earlier run counts: %s", err.text);
	for (size_t i = 0; i < o->past.count; i++)
		muster_past_take(&o->strikes, &o->past, &o->past.runs[i]);
	free(nodes);
}

/* Find out when the run of the report began, and read the strikes from the file or from the history. -1 with err:
 * without the time no strike has an age, and a file of another user counts as a report of another user does. A file
 * that cannot be read is only a warning, and a new one takes its place.
 */
static int read_strikes(struct muster_node_changes *o, const struct muster_report *report, struct muster_error *err)
{
	const struct muster_run *run = report->run;
	bool foreign;
	if (!run->job.started || muster_utc_read(run->job.started, &o->at) < 0)
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: the report does not say when its run began: nothing is changed", o->input);
	if (o->db) {
		read_past(o, report);
		return 0;
	}
	if (muster_strikes_read(o->input, &o->strikes, err) == 0)
		return check_owner(o, "muster-strikes.json", &o->strikes.file, &foreign, err);
	muster_log(MUSTER_LOG_WARN, NULL, "no earlier run counts: %s", err->text);
	o->strikes.changed = true;
	return 0;
}

int muster_node_changes_by_report(
	struct muster_node_changes *o, int (*act)(struct muster_node_changes *o, const struct muster_report *report,
					       const struct muster_node_selection *nodes, struct muster_error *err))
{
	struct muster_node_selection nodes;
	struct muster_report report;
	struct muster_run run;
	struct muster_error err;
	struct stat status;
	bool foreign = false;
	int code, fd = muster_file_open_read(o->input, &err);
	if (fd < 0)
		return muster_cli_usage(&err);
	int rc = fstat(fd, &status) < 0 ? muster_fail(&err, MUSTER_EIO, "%s: its owner is not known", o->input)
					: check_owner(o, o->input, &status, &foreign, &err);
	if (rc == 0)
		rc = muster_report_load_open(fd, o->input, &run, &report, &err);
	close(fd);
	if (rc < 0)
		return muster_cli_usage(&err);
	if (foreign && !run.job.id)
		muster_log(MUSTER_LOG_WARN, NULL, "%s names no job: its nodes are not compared with those of a job",
			o->input);
	if (check_report(o, &run, &err) < 0 || read_strikes(o, &report, &err) < 0) {
		code = muster_cli_usage(&err);
	} else {
		muster_node_selection_make(&report, NULL, 0, &nodes);
		code = act(o, &report, &nodes, &err);
		muster_node_selection_done(&nodes);
		if (o->apply && !o->db && muster_strikes_write(o->input, &o->strikes, &err) < 0) {
			muster_log(MUSTER_LOG_ERROR, NULL, "%s", err.text);
			code = MUSTER_EXIT_INCONCLUSIVE;
		}
	}
	muster_strikes_done(&o->strikes);
	muster_past_done(&o->past);
	muster_history_close(o->history);
	muster_report_done(&report);
	muster_run_done(&run);
	return code;
}
