/* parse.h - what the readers of an expectation file's parts share
 *
 * parse.c reads the file's frame, parse_check.c a check, parse_operators.c what it expects, parse_when.c the runs that
 * it is for; parse_limits.c and parse_origin.c say what lint alone complains of; parse_value.c reads single values and
 * walks objects by a table of their keys; parse_path.c knows where the reading is and which file said so.
 */
#ifndef MUSTER_EVAL_PARSE_H
#define MUSTER_EVAL_PARSE_H

#include "eval/eval.h"

#define PARSE_DEPTH_MAX 8
#define PARSE_COUNT(array) (sizeof(array) / sizeof *(array))

struct parse_step {
	const char *key; /* NULL: an array's element */
	size_t index;
};

struct parse {
	const struct muster_layer *layers;
	size_t layer_count;
	struct muster_expect *expect;
	struct muster_check *check;       /* the one at hand; its metric is read before its other keys */
	struct muster_problems *problems; /* NULL: the first one ends the reading */
	struct muster_error *err;
	struct parse_step steps[PARSE_DEPTH_MAX]; /* from the top to the value at hand */
	size_t depth;
	const char **afters; /* for each check, the id that it comes after, or NULL */
};

/* Read the value at hand, to which the path leads already, into a field. -1 with what is wrong in p->err; the path may
 * then be left longer than it was. */
typedef int parse_reader(struct parse *p, void *into, const struct muster_json *json);

/* A key of an object: how its value is read, and into which field of the struct that stands for the object. */
struct parse_key {
	const char *name;
	parse_reader *read; /* NULL: somebody else reads it */
	size_t offset;
	unsigned int op;    /* of a check: its bit, 0 for keys that are none */
	unsigned int types; /* metrics that an operator fits, as bits of enum muster_type */
};

/* ---- parse_path.c ---- */

void parse_enter(struct parse *p, const char *key);
void parse_enter_element(struct parse *p, size_t index);
void parse_leave(struct parse *p);
/* Whatever became of a part of the file, reading goes on behind it, with the path as long as before; unless nobody
 * collects problems: then -1. */
int parse_go_on(struct parse *p, size_t depth, int result);
/* -1 with the file that said it last, the path, and what is wrong. */
int parse_complain(struct parse *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- parse_value.c: readers; into points to what the name says ---- */

parse_reader parse_text;    /* const char *: a string that is not empty */
parse_reader parse_number;  /* double */
parse_reader parse_boolean; /* bool */
parse_reader parse_count;   /* int: a whole number from 1 */
parse_reader parse_span;    /* struct muster_span: a count, or {"min": a, "max": b} */

int parse_need(struct parse *p, const struct muster_json *json, enum muster_json_type type);
/* The place of a string in a list; -1 with what is allowed. */
int parse_one_of(struct parse *p, const struct muster_json *json, const char *const *names, size_t count);
/* The value at hand as a message shows it. Returns out. */
const char *parse_found(const struct muster_json *json, char *out, size_t size);
const char *parse_list(const char *const *names, size_t count, struct muster_arena *arena); /* "a, b, c" */

/* Read each element of an array or member of an object into an item of its own. */
int parse_each(struct parse *p, const struct muster_json *json, parse_reader *read, void *items, size_t item_size);
/* Complain of the keys that are not in the table. */
int parse_known(struct parse *p, const struct muster_json *object, const struct parse_key *keys, size_t count);
/* Read those that are, in the order of the table. */
int parse_members(
	struct parse *p, const struct muster_json *object, const struct parse_key *keys, size_t count, void *into);
/* An object of these keys and no others. */
int parse_object(
	struct parse *p, const struct muster_json *json, const struct parse_key *keys, size_t count, void *into);

/* ---- parse_check.c ---- */

parse_reader parse_check; /* struct muster_check */
extern const struct parse_key parse_check_keys[];
extern const size_t parse_check_key_count;
const char *parse_check_id(const void *checks, size_t index); /* for muster_suggest */

/* ---- parse_operators.c: each into the struct muster_check at hand, but for the value and the shares ---- */

parse_reader parse_metric_value; /* struct muster_value: of the metric's type */
parse_reader parse_equals_by, parse_alternatives, parse_matches, parse_same_across, parse_within;
parse_reader parse_observe;
parse_reader parse_min_of_median, parse_max_of_median;    /* double */
int parse_need_label(struct parse *p, const char *label); /* the metric must carry it */
/* That an operator fits the metric's type. */
int parse_operator_fits(struct parse *p, const struct parse_key *key);
/* What the operators say together. */
int parse_operators_check(struct parse *p);

/* ---- parse_when.c ---- */

parse_reader parse_when; /* struct muster_check */

/* ---- parse_limits.c, parse_origin.c: for lint ---- */

/* What can be judged, but never comes true or never matters. A site that moves one limit past another knows what it
 * does, so only lint says it. */
int parse_limits_check(struct parse *p);
/* The file that said this key of the check at hand last, if any did. */
const char *parse_file_of(const struct parse *p, const char *key);
/* Which files the check comes from. */
void parse_trace(struct parse *p);
/* Whoever changes what is expected says where the new expectation comes from, or the old source stands beside it. */
int parse_sources_check(struct parse *p);

#endif
