/* SPDX-License-Identifier: Apache-2.0 */
/* run_text.h - a run written as lines of words, for tests whose cases are rows of a table
 *
 *   job|NODE|NODE/RANK METRIC [LABEL=VALUE]... VALUE         a sample; "-" is a null, "1,2,3" was measured three times,
 *                                                            "'1,2" is a text, "a~b" are two words
 *   NODE/RANK = GPU UUID                                      which GPU the rank took; "-" is none
 *   NODE/RANK missing|unfinished                              nothing came from it, or not all
 *   NODE/RANK probe NAME STATUS [CODE] [DETAIL] [ring=N [with=RANK]]  how a probe ended on it; "-" for no code
 *   NODE node                                                 a node of the job without any rank
 */
#ifndef MUSTER_TESTS_RUN_TEXT_H
#define MUSTER_TESTS_RUN_TEXT_H

#include "eval_fixture.h"
#include "muster/run.h"

enum { RUN_TEXT_WORDS = 12 };

static inline struct muster_node *run_text_node(struct muster_run *run, const char *name)
{
	for (size_t i = 0; i < run->node_count; i++)
		if (strcmp(run->nodes[i].name, name) == 0)
			return &run->nodes[i];
	return muster_run_add_node(run, muster_arena_string(run->arena, name));
}

static inline struct muster_rank *run_text_rank(struct muster_run *run, const char *holder)
{
	const char *slash = strchr(holder, '/');
	ck_assert_msg(slash != NULL, "%s is no NODE/RANK", holder);
	struct muster_node *node =
		run_text_node(run, muster_arena_string_n(run->arena, holder, (size_t)(slash - holder)));
	int number = (int)strtol(slash + 1, NULL, 10);

	for (size_t i = 0; i < node->rank_count; i++)
		if (node->ranks[i].rank == number)
			return &node->ranks[i];
	struct muster_rank *rank = muster_node_add_rank(node, number);
	rank->local_rank = (int)node->rank_count - 1;
	run->job.ranks++;
	return rank;
}

static inline struct muster_samples *run_text_samples(struct muster_run *run, const char *holder)
{
	if (strcmp(holder, "job") == 0)
		return &run->job.samples;
	return strchr(holder, '/') ? &run_text_rank(run, holder)->samples : &run_text_node(run, holder)->samples;
}

static inline struct muster_value run_text_value(const char *text)
{
	char *end;
	double number = strtod(text, &end);
	if (strcmp(text, "-") == 0)
		return muster_null();
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		return muster_boolean(*text == 't');
	return *end == '\0' || *end == ',' ? muster_number(number) : muster_string(text);
}

static inline void run_text_sample(struct muster_run *run, char **words, size_t count)
{
	const char *labels = "";
	char *text = words[count - 1];
	for (char *gap = text; (gap = strchr(gap, '~'));)
		*gap = ' ';
	for (size_t i = 2; i + 1 < count; i++)
		labels = muster_arena_printf(run->arena, "%s%s%s", labels, i > 2 ? " " : "", words[i]);
	bool quoted = *text == '\'';
	struct muster_value value = quoted ? muster_string(text + 1) : run_text_value(text);
	struct muster_sample *sample = fixture_sample(run, run_text_samples(run, words[0]), words[1], labels, value);
	if (quoted || !strchr(text, ','))
		return;
	double *values = muster_arena_alloc(run->arena, RUN_TEXT_WORDS * sizeof *values);
	char *end = words[count - 1];
	for (sample->value_count = 0; *end; end += *end == ',')
		values[sample->value_count++] = strtod(end, &end);
	sample->values = values;
}

static inline const char *run_text_or_null(char **words, size_t count, size_t at)
{
	return at < count && strcmp(words[at], "-") != 0 ? words[at] : NULL;
}

static inline void run_text_outcome(struct muster_run *run, char **words, size_t count)
{
	ck_assert_uint_ge(count, 4);
	struct muster_outcome outcome = { .probe = words[2] };
	if (count > 4 && strncmp(words[count - 1], "with=", 5) == 0)
		outcome.partner = 1 + (int)strtol(words[--count] + 5, NULL, 10);
	if (count > 4 && strncmp(words[count - 1], "ring=", 5) == 0)
		outcome.ring = (int)strtol(words[--count] + 5, NULL, 10);
	while (strcmp(muster_outcome_name(outcome.status), words[3]) != 0)
		ck_assert_int_lt(++outcome.status, MUSTER_OUTCOME_COUNT);
	outcome.code = run_text_or_null(words, count, 4);
	outcome.detail = run_text_or_null(words, count, 5);
	muster_outcomes_add(&run_text_rank(run, words[0])->outcomes, outcome);
}

/* One line, cut into its words. */
static inline void run_text_words(struct muster_run *run, char **words, size_t count)
{
	ck_assert_uint_ge(count, 2);
	if (strcmp(words[1], "missing") == 0) {
		run_text_rank(run, words[0])->missing = "no message";
	} else if (strcmp(words[1], "unfinished") == 0) {
		run_text_rank(run, words[0])->unfinished = "the rank did not finish";
	} else if (strcmp(words[1], "node") == 0) {
		run_text_node(run, words[0]);
	} else if (strcmp(words[1], "probe") == 0) {
		run_text_outcome(run, words, count);
	} else if (strcmp(words[1], "=") == 0) {
		struct muster_rank *rank = run_text_rank(run, words[0]);
		rank->gpu = run_text_or_null(words, count, 2);
		rank->gpu_uuid = run_text_or_null(words, count, 3);
	} else {
		run_text_sample(run, words, count);
	}
}

/* Call line for each line of text; its words live as long as the run. */
static inline void run_text_each(struct muster_run *run, const char *text,
	void (*line)(struct muster_run *run, void *data, char **words, size_t count), void *data)
{
	for (const char *at = text; *at;) {
		size_t length = strcspn(at, "\n"), count = 0;
		char *words[RUN_TEXT_WORDS], *rest = muster_arena_alloc(run->arena, length + 1);

		memcpy(rest, at, length);
		rest[length] = '\0';
		while (count < RUN_TEXT_WORDS && (words[count] = strtok_r(rest, " ", &rest)))
			count++;
		line(run, data, words, count);
		at += length + (at[length] == '\n');
	}
}

static inline void run_text_line(struct muster_run *run, void *data, char **words, size_t count)
{
	(void)data;
	run_text_words(run, words, count);
}

static inline void run_text(struct muster_run *run, const char *text)
{
	fixture_run(run);
	run_text_each(run, text, run_text_line, NULL);
}

static inline struct muster_run *run_text_new(const char *text)
{
	struct muster_run *run = fixture_new_run();
	run_text_each(run, text, run_text_line, NULL);
	return run;
}

/* The results of a check, each once: "pass", "pass warn"; "" when there is none. Until the next call. */
static inline const char *run_text_result(const struct muster_report *report, const char *check)
{
	static char found[128];
	size_t used = 0;
	*found = '\0';
	for (size_t i = 0; i < report->tally_count; i++)
		for (size_t s = 0; s < MUSTER_STATUS_COUNT && strcmp(report->tallies[i].check, check) == 0; s++)
			if (report->tallies[i].count[s] > 0)
				used += (size_t)snprintf(found + used, sizeof found - used, "%s%s", used ? " " : "",
					muster_status_name((enum muster_status)s));
	return found;
}

/* What the shipped checks of a machine type make of a run. */
static inline struct muster_report *run_text_judge(const char *sku, const char *text, bool beside_jobs)
{
	struct muster_expect expect;
	struct muster_error err;
	struct muster_run *run = run_text_new(text);
	struct muster_report *report = fixture_new_report();
	run->job.beside_jobs = beside_jobs;
	ck_assert_msg(muster_expect_load(MUSTER_SOURCE_DIR "/configs", sku, NULL, &expect, &err) == 0, "%s", err.text);
	muster_evaluate(run, &expect, false, report);
	muster_expect_done(&expect);
	return report;
}

#endif
