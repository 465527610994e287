/* SPDX-License-Identifier: Apache-2.0 */
/* operators.h - what a check can ask of a metric's value: one row per operator
 *
 * A row reads, judges, describes and lints its operator. A new operator is a row of operators.c and a property of
 * docs/expectations.schema.json.
 *
 * "copy.h2d": { "metric": "gpu.h2d_gbps", "min": 21, "warn_below": 24 } has two operands, which point to their rows:
 *   parse     reads 21 into the operand's value
 *   judge     is asked for each sample: 11.2 is BAD by min, and by warn_below, whose row `warns`, a warning.
 *             eval/answers.c takes the worst, and makes of BAD what the check's severity says
 *   describe  "at least 21 GB/s (warning below 24)": both rows share the function, so it is called once for the two
 *   stand     where the value stands among others, for rows that compare; else the value alone is shown
 */
#ifndef MUSTER_EXPECT_OPERATORS_H
#define MUSTER_EXPECT_OPERATORS_H

#include "muster/expect.h"

#include <stdbool.h>

struct muster_json;
struct muster_json_reader;

/* What an operator needs of the run, beyond the one value that it judges. */
enum muster_operator_kind {
	MUSTER_OF_VALUE = 0, /* nothing */
	MUSTER_OF_NOTHING,   /* not even the value: each one passes */
	MUSTER_OF_PRESENCE,  /* whether there is a sample; the operand's value says whether there should be one */
	MUSTER_OF_LABEL,     /* the sample's label; on a node that lacks one of the listed GPUs or ports, that fails */
	MUSTER_OF_PEERS,     /* the values of all nodes or all ranks */
	MUSTER_OF_MEDIAN,    /* all values that the check judges, the own one among them */
	MUSTER_OF_OTHERS,    /* the values of the other ranks with the same GPU model */
	MUSTER_OF_FLEET,     /* the same, of the same machine type */
	MUSTER_OF_EVENT,     /* other samples of the same event; where there is none, whether the log could be read */
};

/* What an operator says of a value. */
enum muster_operator_answer {
	MUSTER_ANSWER_GOOD = 0, /* as it should be */
	MUSTER_ANSWER_WARN,     /* a warning, whatever the check's severity */
	MUSTER_ANSWER_BAD,      /* what the check's severity says */
};

/* The values of other places that an operator compares a value with, or with share_of their shares; see eval/peers.c.
 */
struct muster_others {
	double median, deviation; /* the median distance from the median (MAD) */
	double mean_deviation;    /* the mean distance of all of them from their median, the own value among them */
	size_t count;
	size_t lower;  /* how many are lower than the own value */
	size_t bad;    /* how many are, by the share of an outlier or of a failure, worse than the median */
	size_t places; /* that judge: ranks, or values of nodes and ports, the own one among them */
	const char *model;
	const char *why_none; /* why there is no median to compare with; NULL when there is one */
};

/* What an operator is asked about. The sample has a value of the metric's type. */
struct muster_question {
	const struct muster_check *check;
	const struct muster_operand *operand;
	const struct muster_sample *sample; /* describe: NULL for all samples in general */
	const struct muster_others *others; /* describe: NULL when they are not known yet */
	const struct muster_others *like;   /* outlier: of them, those at the same GPU of other nodes */
	double limit;                       /* judge, with share_of: what the value is divided by, above 0 */
	struct muster_arena *arena;         /* owns what describe returns; judge has none */
};

typedef enum muster_operator_answer muster_judge_fn(const struct muster_question *q);
typedef const char *muster_words_fn(const struct muster_question *q);
typedef int muster_beside_fn(
	struct muster_json_reader *r, const struct muster_check *check, const struct muster_operand *operand);

struct muster_operator {
	const char *name;
	unsigned int types; /* metrics that the operator fits, as bits of enum muster_type */
	enum muster_operator_kind kind;
	bool exact;        /* names the right values: at most one of these in a check */
	bool uncalibrated; /* holds the value against no figure */
	bool each_sample;  /* describe says something else of each sample */
	bool any_case;     /* honours ignore_case */
	bool worded;       /* honours in_words */
	bool shared;       /* honours share_of */
	bool gives_way;    /* without `after`, the check comes after the other checks of its metric: see place.c */
	bool warns;        /* what judge calls bad is a warning, whatever the check's severity */

	/* Read the operator's value into the struct muster_operand, whose value has the type of the metric if the
	 * operator fits no other. -1 with what is wrong in the reader's error. */
	int (*parse)(struct muster_json_reader *r, void *operand, const struct muster_json *json);
	/* Optional: -1 when the check's other operators make no sense beside this one. */
	muster_beside_fn *beside;
	/* Optional: as parse, of an operand that was read: -1 for what can be judged, but never comes true or never
	 * matters. */
	int (*lint)(struct muster_json_reader *r, void *operand, const struct muster_json *json);
	/* Optional: what to make of the value. Called for each sample: no allocation. */
	muster_judge_fn *judge;
	/* Optional: where a value stands that is not good, in words; the value itself, without its unit, is last. */
	muster_words_fn *stand;
	/* What is expected, in words; "" when another operator says it. Operators of one check that share this
	 * function are described by one call, for the first of them. */
	muster_words_fn *describe;
};

extern const struct muster_operator muster_operators[];
extern const size_t muster_operator_count;

/* The row of this name; NULL when there is none. */
const struct muster_operator *muster_operator_find(const char *name);
/* The check's first operand of an operator of this kind; NULL when it has none. */
const struct muster_operand *muster_check_operand(const struct muster_check *check, enum muster_operator_kind kind);
/* The check's operand that compares a value with those of other places: of MEDIAN, OTHERS or FLEET; NULL likewise. */
const struct muster_operand *muster_check_comparing(const struct muster_check *check);
/* The check's operand of the operator of this name; NULL when it has none. */
const struct muster_operand *muster_check_operand_named(const struct muster_check *check, const char *operator);
/* False when the check has no absolute threshold. */
bool muster_check_calibrated(const struct muster_check *check);
/* What the check's findings prove where its file does not say it. */
enum muster_proof muster_check_proof(const struct muster_check *check);
/* Free what operands own beside the arena. */
void muster_check_done(struct muster_check *check);

/* ---- events of the kernel's log (events.c) ---- */

/* The event of this code, of "149-fatal" else that of 149, else that of "other-fatal"; NULL when the table has none. */
const struct muster_event *muster_event_find(const struct muster_event_table *table, const char *code);
/* The sample of this part of the same event; NULL for none, or a null. */
const struct muster_sample *muster_event_beside(
	const struct muster_samples *samples, const struct muster_sample *age, enum muster_event_part part);
/* no_event, of one sample */
muster_judge_fn muster_no_event_judge;

/* ---- regular expressions ---- */

/* Why a regular expression could cost more than a check may; NULL when it can be compiled (or refused) and matched in
 * little time and memory. */
const char *muster_regex_problem(const char *pattern);

/* Compile a POSIX extended regular expression of bounded cost. The caller ends it with regfree and free. NULL with what
 * it is, after "is", in why: "too large a regular expression: ...". */
regex_t *muster_regex_compile(const char *pattern, bool ignore_case, char *why, size_t size);

/* ---- versions of numbers with dots between them: "2.9.9" ---- */

/* Whether the text is nothing but numbers with dots between them. */
bool muster_version_valid(const char *text);

/* Whether a version is `least` or later, which must be valid. Numbers are compared as numbers, and one that is left out
 * is 0: 2.10 reaches 2.9.9 and 2.10.0. What follows the version's numbers ("-1040-azure", "+cuda12.4") is ignored; a
 * text that does not begin with a digit is no version and reaches nothing. */
bool muster_version_reaches(const char *version, const char *least);

#endif
