/* parse.h - what the readers of an expectation file's parts share
 *
 * parse.c reads the file's frame, parse_check.c a check, parse_operators.c what it expects, parse_when.c the runs that
 * it is for; provenance.c says what lint alone complains of; parse_value.c reads single values and
 * walks objects by a table of their keys; parse_path.c knows where the reading is and which file said so.
 */
#ifndef MUSTER_EXPECT_PARSE_H
#define MUSTER_EXPECT_PARSE_H

#include "expect/load.h"
#include "expect/operators.h"

#define PARSE_DEPTH_MAX 8
#define PARSE_COUNT(array) (sizeof(array) / sizeof *(array))

struct muster_expect_parse_step {
	const char *key; /* NULL: an array's element */
	size_t index;
};

struct muster_expect_parser {
	const struct muster_layer *layers;
	size_t layer_count;
	struct muster_expect *expect;
	struct muster_check *check;       /* the one at hand; its metric is read before its other keys */
	struct muster_problems *problems; /* NULL: the first one ends the reading */
	struct muster_error *err;
	struct muster_expect_parse_step steps[PARSE_DEPTH_MAX]; /* from the top to the value at hand */
	size_t depth;
	const char **afters; /* for each check, the id that it comes after, or NULL */
};

/* Read the value at hand, to which the path leads already, into a field. -1 with what is wrong in p->err; the path may
 * then be left longer than it was. */
typedef int muster_expect_parse_reader(struct muster_expect_parser *p, void *into, const struct muster_json *json);

/* A key of an object: how its value is read, and into which field of the struct that stands for the object. */
struct muster_expect_parse_key {
	const char *name;
	muster_expect_parse_reader *read; /* NULL: read elsewhere */
	size_t offset;
};

/* ---- parse_path.c ---- */

void muster_expect_parse_enter(struct muster_expect_parser *p, const char *key);
void muster_expect_parse_enter_element(struct muster_expect_parser *p, size_t index);
void muster_expect_parse_leave(struct muster_expect_parser *p);
/* Continue reading after a part of the file, with the path as before the part; -1 when problems are not collected. */
int muster_expect_parse_go_on(struct muster_expect_parser *p, size_t depth, int result);
/* -1 with the file that said it last, the path, and what is wrong. */
int muster_expect_parse_complain(struct muster_expect_parser *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- parse_value.c: readers; into points to what the name says ---- */

muster_expect_parse_reader muster_expect_parse_text;    /* const char *: a string that is not empty */
muster_expect_parse_reader muster_expect_parse_number;  /* double */
muster_expect_parse_reader muster_expect_parse_boolean; /* bool */
muster_expect_parse_reader muster_expect_parse_count;   /* int: a whole number from 1 */
muster_expect_parse_reader muster_expect_parse_span;    /* struct muster_span: a count, or {"min": a, "max": b} */

int muster_expect_parse_need(
	struct muster_expect_parser *p, const struct muster_json *json, enum muster_json_type type);
/* The place of a string in a list; -1 with what is allowed. */
int muster_expect_parse_one_of(
	struct muster_expect_parser *p, const struct muster_json *json, const char *const *names, size_t count);
/* The value at hand as a message shows it. Returns out. */
const char *muster_expect_parse_found(const struct muster_json *json, char *out, size_t size);
const char *muster_expect_parse_list(
	const char *const *names, size_t count, struct muster_arena *arena); /* "a, b, c" */

/* Read each element of an array or member of an object into an item of its own. */
int muster_expect_parse_each(struct muster_expect_parser *p, const struct muster_json *json,
	muster_expect_parse_reader *read, void *items, size_t item_size);
/* Complain of the keys that are not in the table. */
int muster_expect_parse_known(struct muster_expect_parser *p, const struct muster_json *object,
	const struct muster_expect_parse_key *keys, size_t count);
/* Read those that are, in the order of the table. */
int muster_expect_parse_members(struct muster_expect_parser *p, const struct muster_json *object,
	const struct muster_expect_parse_key *keys, size_t count, void *into);
/* An object of these keys and no others. */
int muster_expect_parse_object(struct muster_expect_parser *p, const struct muster_json *json,
	const struct muster_expect_parse_key *keys, size_t count, void *into);

/* ---- parse_check.c ---- */

muster_expect_parse_reader muster_expect_parse_check;                       /* struct muster_check */
const char *muster_expect_parse_check_id(const void *checks, size_t index); /* for muster_suggest */

/* ---- parse_operators.c ---- */

muster_expect_parse_reader muster_expect_parse_metric_value; /* struct muster_value: of the metric's type */
muster_expect_parse_reader muster_expect_parse_within;       /* struct muster_check */
int muster_expect_parse_need_label(struct muster_expect_parser *p, const char *label); /* the metric must carry it */
int muster_expect_parse_need_many(
	struct muster_expect_parser *p); /* the metric must have more than one value: one fact has nothing beside it */
/* Read what the JSON of a check has of the operators into the check at hand. */
int muster_expect_parse_operators(struct muster_expect_parser *p, const struct muster_json *check);
/* What the operators say together. */
int muster_expect_parse_operators_check(struct muster_expect_parser *p);
/* For lint: what can be judged, but never comes true or never matters. A site that moves one limit past another knows
 * what it does, so only lint says it. */
int muster_expect_parse_operators_lint(struct muster_expect_parser *p);

/* ---- parse_when.c ---- */

muster_expect_parse_reader muster_expect_parse_when; /* struct muster_check */

/* ---- provenance.c: for lint ---- */

/* The file that said this key of the check at hand last, if any did. */
const char *muster_expect_parse_file_of(const struct muster_expect_parser *p, const char *key);
/* Which files the check comes from. */
void muster_expect_parse_trace(struct muster_expect_parser *p);
/* A file that changes an operator must give a source of its own; otherwise the old source would be shown for the new
 * value. */
int muster_expect_parse_sources_check(struct muster_expect_parser *p);

#endif
