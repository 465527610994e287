/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - what the readers of an expectation file's parts share
 *
 * parse.c reads the file's frame, parse_check.c a check, parse_operators.c what it expects, all by the tables of
 * json/object.h. provenance.c knows which file said what, and what lint alone complains of.
 *
 * A command that loads a file ends at the first problem. Lint goes on: a reader that returns -1 has said its problem,
 * and the reader of the member or element around it asks muster_json_reader_go_on, which hands the problem to lint and
 * returns 0. So -1 means "this value is of no use", and each reader leaves its struct in a state that others can bear:
 * a check whose metric is unknown has metric NULL, and readers that need the metric return 0, since the problem is
 * said.
 *
 * A check is read in this order, whatever the order of its keys in the file:
 *   first_fields of parse_check.c   metric, ignore_case, share_of: operators need them to read their values
 *   all other keys                  operators by their rows, each into an operand of the check, in the rows' order
 *   muster_expect_trace             which file said which key last; words and certainties of another file are dropped
 *   muster_expect_operators_check   what operators say together
 *   *_lint                          only for lint
 */
#ifndef MUSTER_EXPECT_PARSE_H
#define MUSTER_EXPECT_PARSE_H

#include "expect/load.h"
#include "expect/operators.h"
#include "json/object.h"

#define PARSE_COUNT(array) (sizeof(array) / sizeof *(array))

struct muster_expect_parser {
	struct muster_json_reader json; /* first: functions that read a value are handed this */
	/* Parents first, the overlay last. A problem names the last one that said the value. */
	const struct muster_layer *layers;
	size_t layer_count;
	struct muster_problems *problems; /* NULL: the first one ends the reading */
	struct muster_expect *expect;
	struct muster_object_type check_type;
	struct muster_check *check; /* the one at hand; its metric is read before its other keys */
};

/* A parser of these layers. Texts go to the arena, which may be NULL for readers that keep none; problems to problems,
 * and the one that ends the reading to err. */
struct muster_expect_parser muster_expect_parser_make(const struct muster_layer *layers, size_t layer_count,
	struct muster_arena *arena, struct muster_problems *problems, struct muster_error *err);

muster_field_read_fn muster_expect_nothing_read; /* of a key that was read before */

/* ---- parse_check.c ---- */

/* The table of a check's keys: those of the operators are taken from their rows. It lives as long as the arena. */
struct muster_object_type muster_expect_check_type(struct muster_arena *arena);
muster_field_read_fn muster_expect_check_read;       /* struct muster_check */
muster_field_read_fn muster_expect_span_read;        /* struct muster_span: a count, or {"min": a, "max": b} */
muster_field_read_fn muster_expect_advice_read;      /* const char *: a text whose ${...} are places or metrics */
muster_field_read_fn muster_expect_action_code_read; /* const char *: one of muster_action_codes */
/* For lint: a check, an event or a cause, json, says what to do. A site's own that does not is for a person. */
int muster_expect_action_lint(struct muster_json_reader *r, const struct muster_json *json);
#define MUSTER_EXPECT_SHORT_TEXT .least = 1, .most = 200, .optional = true

/* ---- parse_operators.c: of the check at hand ---- */

struct muster_check *muster_expect_check_at(struct muster_json_reader *r); /* that check */
muster_field_read_fn muster_expect_operator_read;     /* into the struct muster_check, by the key of its row */
muster_field_read_fn muster_expect_metric_value_read; /* struct muster_value: of the metric's type */
muster_field_read_fn muster_expect_label_read;        /* const char *: a label that the metric carries */
int muster_expect_need_label(struct muster_json_reader *r, const char *label); /* the metric must carry it */
/* The metric must have more than one value: one fact has nothing beside it. */
int muster_expect_need_many(struct muster_json_reader *r);
/* What the operators say together. */
int muster_expect_operators_check(struct muster_json_reader *r);
/* For lint: what can be judged, but never comes true or never matters. A site that moves one limit past another knows
 * what it does, so only lint says it. json: the check's. */
int muster_expect_operators_lint(struct muster_json_reader *r, const struct muster_json *json);

/* A number from least to most; needed: these bounds in words, "from 1". */
int muster_expect_number_read(struct muster_json_reader *r, double *number, const struct muster_json *json,
	double least, double most, const char *needed);
muster_field_read_fn muster_expect_share_read;   /* double: above 0 and below 1 */
muster_field_read_fn muster_expect_above_0_read; /* double */
muster_field_read_fn muster_expect_from_0_read;  /* double */

/* ---- rows of operators.c that hold a number against limits, other places, or earlier runs ---- */

/* What is compared: the value, or with share_of its share of the limit. */
double muster_question_measured(const struct muster_question *q);
/* What it is in: the metric's unit, or "% of gpu.pcie_limit_gbps". */
const char *muster_question_unit(const struct muster_question *q);
/* A value in words, with the unit of the check's metric. */
const char *muster_question_text(const struct muster_question *q, struct muster_value value);

/* limits.c: min, max, warn_below, warn_above */
muster_field_read_fn muster_limit_parse, muster_limit_warn_below_lint, muster_limit_warn_above_lint;
muster_beside_fn muster_limit_min_beside;
muster_judge_fn muster_limit_min_judge, muster_limit_max_judge;
muster_words_fn muster_limits_describe; /* "at least 21 GB/s (warning below 24)" */

/* -1 for a struct muster_value that min and max refuse. */
muster_field_read_fn muster_limits_outside_lint;

/* peers.c: min_of_median, max_of_median */
muster_field_read_fn muster_median_min_parse, muster_median_max_parse;
muster_judge_fn muster_median_min_judge, muster_median_max_judge;
muster_words_fn muster_medians_describe; /* "at least 85 % of the run's median 25.9, 22" */

/* outlier: {"z": 3.5, "share": 0.08} */
muster_field_read_fn muster_outlier_parse;
muster_judge_fn muster_outlier_judge;
muster_words_fn muster_outlier_stand, muster_outlier_describe;

/* slower_than_peers: {"fail": 0.1, "mad": 3, "warn": 0.05}. A time is slower when it is higher, any other
 * number when it is lower. */
muster_field_read_fn muster_slower_parse, muster_slower_lint;
muster_judge_fn muster_slower_judge;
muster_words_fn muster_slower_describe;

/* baseline.c: min_of_baseline and warn_of_baseline allow a share of the learned median, max_mad a multiple of the
 * learned MAD: a value is worse than the baseline only by more than both. */
extern const struct muster_object_type muster_baseline_type; /* struct muster_baseline */
muster_field_read_fn muster_baseline_share_parse, muster_baseline_mad_parse, muster_baseline_warn_lint;
muster_beside_fn muster_baseline_beside;
muster_judge_fn muster_baseline_min_judge, muster_baseline_mad_judge;
muster_words_fn muster_baseline_stand, muster_baseline_describe;

/* ---- place.c ---- */

/* Give each check of a baseline or of outliers that has no `after` a place behind the other checks of its metric. All
 * checks know what they come after, and no `after` leads back to its check. */
void muster_expect_place(struct muster_expect *expect);

/* ---- events.c ---- */

struct muster_event_table *muster_event_tables_new(struct muster_arena *arena); /* the tables without events */
muster_field_read_fn muster_event_tables_read; /* "events" of the file, into these tables */
muster_field_read_fn muster_cause_read;        /* struct muster_cause: an entry of "causes" */
muster_field_read_fn muster_no_event_parse;
muster_words_fn muster_no_event_describe; /* "no Xid within 24 h, notes apart"; of a sample "no Xid 79 within 24 h" */

/* ---- certainty.c ---- */

muster_field_read_fn muster_measurement_read; /* struct muster_measurement */
/* The one with this id, or NULL: `measured_on` may also be a text for people. */
const struct muster_measurement *muster_measurement_find(const struct muster_expect *expect, const char *id);
/* For lint, of the check at hand: a speed or a time may fail only by a value that was measured, on so many nodes. */
int muster_expect_certainty_lint(struct muster_json_reader *r);

/* ---- provenance.c: of the check at hand ---- */

/* The file that said the value that is being read last, or what comes nearest to it. */
const char *muster_expect_file_at(const struct muster_json_reader *r);
/* The file that said this key of the check last, if any did. */
const char *muster_expect_file_of(const struct muster_check *check, const char *key);
/* Whether a later file said this key of the check that is being read than the other key. */
bool muster_expect_said_later(const struct muster_json_reader *r, const char *key, const char *other);
/* Which files the check comes from. */
void muster_expect_trace(struct muster_expect_parser *p);
/* For lint: a file that changes an operator must give a source of its own; otherwise the old source would be shown for
 * the new value. */
int muster_expect_sources_lint(struct muster_expect_parser *p);

#endif
