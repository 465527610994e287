/* SPDX-License-Identifier: Apache-2.0 */
/* eval_fixture.h - small runs and small expectation files, for tests of loading and judging */
#ifndef MUSTER_TESTS_EVAL_FIXTURE_H
#define MUSTER_TESTS_EVAL_FIXTURE_H

#include "muster/probe.h"
#include "muster/report.h"
#include "muster/run.h"
#include "temporary_root.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files in a directory of their own ---- */

static char fixture_dir[64];

static inline void fixture_open(void)
{
	temporary_root_make(fixture_dir, sizeof fixture_dir, "eval");
}

static inline void fixture_close(void)
{
	temporary_root_remove(fixture_dir);
}

/* Path of a file of the directory; the last four answers stay valid. */
static inline const char *fixture_path(const char *name)
{
	static char paths[4][256];
	static int next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof paths[0], "%s/%s", fixture_dir, name);
	return path;
}

static inline const char *fixture_write(const char *name, const char *text)
{
	const char *path = fixture_path(name);
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	ck_assert_int_eq(fclose(out), 0);
	return path;
}

/* ---- runs ---- */

static inline void fixture_run(struct muster_run *run)
{
	muster_run_init(run);
	run->job.started = "2025-01-31T12:00:00Z";
	run->job.profile = "standard";
	run->job.version = "test";
}

/* The runs and reports of one test, which fixture_done() frees: TEST_MAIN(.teardown = fixture_done). */
static struct {
	struct muster_run *runs[8];
	struct muster_report *reports[8];
	int run_count, report_count;
} fixture_owned;

static inline struct muster_run *fixture_new_run(void)
{
	ck_assert_int_lt(fixture_owned.run_count, 8);
	struct muster_run *run = muster_calloc(1, sizeof *run);
	fixture_run(run);
	return fixture_owned.runs[fixture_owned.run_count++] = run;
}

static inline struct muster_report *fixture_new_report(void)
{
	ck_assert_int_lt(fixture_owned.report_count, 8);
	return fixture_owned.reports[fixture_owned.report_count++] = muster_calloc(1, sizeof(struct muster_report));
}

static inline void fixture_done(void)
{
	while (fixture_owned.report_count > 0) {
		muster_report_done(fixture_owned.reports[--fixture_owned.report_count]);
		free(fixture_owned.reports[fixture_owned.report_count]);
	}
	while (fixture_owned.run_count > 0) {
		muster_run_done(fixture_owned.runs[--fixture_owned.run_count]);
		free(fixture_owned.runs[fixture_owned.run_count]);
	}
}

/* A node with ranks that follow those before it. Pointers to nodes do not outlive the next call. */
static inline struct muster_node *fixture_node(struct muster_run *run, const char *name, int ranks)
{
	struct muster_node *node = muster_run_add_node(run, name);
	for (int i = 0; i < ranks; i++) {
		struct muster_rank *rank = muster_node_add_rank(node, run->job.ranks++);

		rank->local_rank = i;
	}
	return node;
}

/* Labels are given as "port=mlx5_ib0/1 link_layer=InfiniBand bytes=64"; what looks like a whole number is one. */
static inline struct muster_sample *fixture_sample(struct muster_run *run, struct muster_samples *to, const char *name,
	const char *labels, struct muster_value value)
{
	const struct muster_metric *metric = muster_metric_find(name);
	struct muster_label *made = muster_arena_alloc(run->arena, MUSTER_LABELS_MAX * sizeof *made);
	struct muster_sample sample = { .metric = metric, .labels = made, .value = value };
	ck_assert_msg(metric != NULL, "no metric %s", name);
	while (labels && *labels) {
		const char *equals = strchr(labels, '=');
		size_t length = strcspn(equals + 1, " ");
		const char *text = muster_arena_string_n(run->arena, equals + 1, length);
		made[sample.label_count].key = muster_arena_string_n(run->arena, labels, (size_t)(equals - labels));
		made[sample.label_count++].value =
			strspn(text, "0123456789") == length ? muster_number(strtod(text, NULL)) : muster_string(text);
		labels = equals + 1 + length + (equals[1 + length] == ' ');
	}
	if (value.type == MUSTER_STRING)
		sample.value.string = muster_arena_string(run->arena, value.string);
	if (value.type == MUSTER_NULL)
		sample.reason = "not supported here";
	muster_samples_add(to, sample);
	return &to->items[to->count - 1];
}

static inline void fixture_outcome(struct muster_rank *rank, const char *probe, enum muster_outcome_status status,
	const char *code, const char *detail, const char *step)
{
	muster_outcomes_add(&rank->outcomes,
		(struct muster_outcome){
			.probe = probe, .status = status, .code = code, .detail = detail, .step = step });
}

/* ---- judging ---- */

/* Quotes may be written as apostrophes. */
static inline void fixture_load_file(const char *file, struct muster_expect *ret)
{
	char text[8192];
	struct muster_error err;
	snprintf(text, sizeof text, "%s", file);
	for (char *at = text; (at = strchr(at, '\''));)
		*at = '"';
	fixture_open();
	int result = muster_expect_load(fixture_dir, fixture_write("test.json", text), NULL, ret, &err);
	fixture_close();
	ck_assert_msg(result == 0, "%s", err.text);
}

/* `checks` is what stands inside "checks": { }. */
static inline void fixture_load(const char *checks, struct muster_expect *ret)
{
	char text[8192];
	snprintf(text, sizeof text, "{'schema_version':1,'name':'test','checks':{%s}}", checks);
	fixture_load_file(text, ret);
}

static inline void fixture_keep_problem(void *arg, const char *problem)
{
	snprintf(arg, 512, "%s", problem);
}

/* What lint says of one check, which has one problem; ' stands for ". */
static inline void fixture_lint(const char *check, char ret[512])
{
	char text[1024];
	snprintf(text, sizeof text,
		"{'schema_version':1,'name':'test','checks':{'c':{'source':'s','action_code':'none',%s}}}", check);
	for (char *at = text; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	*ret = '\0';
	fixture_open();
	ck_assert_uint_eq(
		muster_expect_lint(fixture_dir, fixture_write("test.json", text), NULL, fixture_keep_problem, ret), 1);
	fixture_close();
}

static inline void fixture_judge(
	const struct muster_run *run, const char *checks, int strict, struct muster_report *ret)
{
	struct muster_expect expect;
	fixture_load(checks, &expect);
	muster_evaluate(run, &expect, (enum muster_strictness)strict, ret);
	muster_expect_done(&expect); /* the report must not need it any more */
}

/* By a whole expectation file. */
static inline struct muster_report *fixture_report_file(const struct muster_run *run, const char *file)
{
	struct muster_expect expect;
	struct muster_report *report = fixture_new_report();
	fixture_load_file(file, &expect);
	muster_evaluate(run, &expect, false, report);
	muster_expect_done(&expect);
	return report;
}

static inline struct muster_report *fixture_report(const struct muster_run *run, const char *checks, int strict)
{
	struct muster_report *report = fixture_new_report();
	fixture_judge(run, checks, strict, report);
	return report;
}

/* All findings, one a line: "fail gpu.count sim-1 rank=3 gpu=... port=...: expected | observed". */
static inline const char *fixture_findings(const struct muster_report *report)
{
	static char text[16384];
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < report->finding_count && used < sizeof text - 1024; i++) {
		const struct muster_finding *f = &report->findings[i];
		char rank[24] = "";

		if (f->rank >= 0)
			snprintf(rank, sizeof rank, " rank=%d", f->rank);
		used += (size_t)snprintf(text + used, sizeof text - used, "%s %s%s%s%s%s%s%s%s: %s | %s\n",
			muster_status_name(f->status), f->check, f->node ? " " : "", f->node ? f->node : "", rank,
			f->gpu ? " gpu=" : "", f->gpu ? f->gpu : "", f->port ? " port=" : "", f->port ? f->port : "",
			f->expected, f->observed);
	}
	return text;
}

static inline const char *fixture_found(const struct muster_run *run, const char *checks)
{
	return fixture_findings(fixture_report(run, checks, false));
}

#endif
