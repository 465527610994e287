/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - events of the kernel's log: the tables of a file, and the operator that looks an event up in one
 *
 * A table says of each code what a machine that logged it is. A code that is in no table is what the driver's own word
 * for its severity makes it, and without such a word a warning: new drivers have new codes.
 *
 * The keys of a file that are read here:
 *   "events": { "xid": { "79": { "name": ..., "class": "fail", "action": ..., "explains": ["gpu-lost"] } } }
 *             tables xid, sxid (codes are numbers) and kernel (codes are words). `explains` names events of the table
 *             kernel that tell of the same incident (eval/events.c)
 *   "causes": { "driver-compat": { "explains": ["probe.gpu*"], "facts": { "rank.driver_start": "cuda-804" }, ... } }
 *             see eval/known_causes.c
 *   "no_event": { "table": "xid", "label": "code", "hours": 24 }
 *             an operator. Its metric is the age in hours of an event, one sample for each that was found
 *
 * The operator by numbers: Xid 79 (class fail, no hours of its own) was logged 3 hours ago, so the value is bad. After
 * 24 hours it is good. An event whose entry has hours of its own counts for these instead.
 */

#include "expect/describe.h"
#include "expect/parse.h"
#include "muster/probe.h"
#include "system/kernel_event.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOURS_MOST 8760 /* a year */
#define OTHER "other"   /* "other-fatal": the case of all numbers without an entry */

static const char *const classes[] = {
	[MUSTER_EVENT_NOTE] = "note",
	[MUSTER_EVENT_WARN] = "warn",
	[MUSTER_EVENT_FAIL] = "fail",
};
_Static_assert(PARSE_COUNT(classes) == MUSTER_EVENT_CLASS_COUNT, "every class has its name");

static const char *const table_keys[] = {
	[MUSTER_EVENT_XID] = "xid",
	[MUSTER_EVENT_SXID] = "sxid",
	[MUSTER_EVENT_KERNEL] = "kernel",
};
static const char *const table_titles[] = {
	[MUSTER_EVENT_XID] = "Xid",
	[MUSTER_EVENT_SXID] = "SXid",
	[MUSTER_EVENT_KERNEL] = "kernel event",
};
_Static_assert(PARSE_COUNT(table_keys) == MUSTER_EVENT_TABLE_COUNT, "every table has its key");
_Static_assert(PARSE_COUNT(table_titles) == MUSTER_EVENT_TABLE_COUNT, "every table has its title");

static int read_hours(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	return muster_expect_number_read(r, into, json, nextafter(0, 1), HOURS_MOST, "of hours above 0 and up to 8760");
}

/* ---- the tables ---- */

struct muster_event_table *muster_event_tables_new(struct muster_arena *arena)
{
	struct muster_event_table *tables = muster_arena_alloc(arena, MUSTER_EVENT_TABLE_COUNT * sizeof *tables);
	for (size_t i = 0; i < MUSTER_EVENT_TABLE_COUNT; i++) {
		tables[i].key = table_keys[i];
		tables[i].title = table_titles[i];
	}
	return tables;
}

/* const char *: a kind that the kernel's log is searched for */
static int read_kind(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	int kind = muster_json_name_read(r, json, muster_kernel_event_names, MUSTER_KERNEL_EVENT_COUNT);
	*(const char **)into = kind < 0 ? "" : muster_kernel_event_names[kind];
	return kind < 0 ? -1 : 0;
}

static const struct muster_field event_fields[] = {
	{ MUSTER_FIELD(muster_event, name, TEXT), .least = 1 },
	{ MUSTER_FIELD(muster_event, class, NAME), MUSTER_FIELD_NAMES(classes) },
	{ MUSTER_FIELD(muster_event, action, TEXT), .read = muster_expect_advice_read },
	{ MUSTER_FIELD(muster_event, hours, NUMBER), .read = read_hours, .optional = true },
	{ MUSTER_FIELD(muster_event, measured_on, TEXT), MUSTER_EXPECT_SHORT_TEXT },
	{ MUSTER_FIELD(muster_event, action_code, TEXT), .read = muster_expect_action_code_read, .optional = true },
	{ MUSTER_FIELD(muster_event, explains, TEXT), .read = read_kind, .size = sizeof(const char *),
		MUSTER_FIELD_MANY(muster_event, explain_count), .least = 1, .optional = true },
};
static const struct muster_object_type event_type = MUSTER_OBJECT_TYPE(muster_event, event_fields);

static int read_event(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_event *event = into;
	event->code = muster_arena_string(r->arena, muster_json_key(json));
	if (muster_object_read(r, json, &event_type, event) < 0)
		return -1;
	return event->class == MUSTER_EVENT_NOTE ? 0 : muster_expect_action_lint(r, json);
}

/* Codes of xid and sxid: a number as the driver prints it, of at most nine digits, without a sign and without a 0
 * before it; or the number and a case of it, "149-nonfatal"; or a case of all numbers that the table does not have,
 * "other-fatal". word: the case; "none" where there is none; NULL or "" where the code is wrong. */
static int read_numbered_event(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const char *code = muster_json_key(json);
	size_t digits = strspn(code, "0123456789"), length = digits ? digits : strlen(OTHER);
	bool is_number = digits > 0 && digits <= 9 && (code[0] != '0' || digits == 1);
	const char *word = NULL;
	if (is_number || strncmp(code, OTHER "-", sizeof OTHER) == 0)
		word = code[length] == '-' ? code + length + 1 : code[length] ? "" : "none";
	if (!word || !*word || word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-")])
		return muster_json_reader_fail(r, "the number of an error is needed (\"79\"), found \"%.60s\"", code);
	return read_event(r, into, json);
}

/* The tables, by enum muster_event_source. */
struct tables {
	struct muster_event_table of[MUSTER_EVENT_TABLE_COUNT];
};

#define TABLE(key, source, function)                                                                                   \
	MUSTER_FIELD_AS(tables, key, of[source].items, OBJECT), MUSTER_FIELD_MANY(tables, of[source].count),           \
		MUSTER_FIELD_MEMBERS(function, muster_event), .optional = true

/* The first kind whose `explains`, followed from kind to kind, has no end; NULL: none. A kind may explain itself. */
static const char *find_circle(const struct muster_event_table *kernel, struct muster_arena *arena)
{
	bool *ends = muster_arena_alloc(arena, kernel->count + 1);
	for (size_t round = 0; round < kernel->count; round++)
		for (size_t i = 0; i < kernel->count; i++) {
			const struct muster_event *event = &kernel->items[i], *next;
			ends[i] = true;
			for (size_t k = 0; k < event->explain_count && ends[i]; k++)
				ends[i] = !(next = muster_event_find(kernel, event->explains[k])) || next == event ||
					  ends[next - kernel->items];
		}
	for (size_t i = 0; i < kernel->count; i++)
		if (!ends[i])
			return kernel->items[i].code;
	return NULL;
}

int muster_event_tables_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	static const struct muster_field fields[] = {
		{ TABLE("xid", MUSTER_EVENT_XID, read_numbered_event) },
		{ TABLE("sxid", MUSTER_EVENT_SXID, read_numbered_event) },
		{ TABLE("kernel", MUSTER_EVENT_KERNEL, read_event) },
	};
	static const struct muster_object_type type = MUSTER_OBJECT_TYPE(tables, fields);
	if (muster_object_read(r, json, &type, into) < 0)
		return -1;
	const char *circle = find_circle(&((struct tables *)into)->of[MUSTER_EVENT_KERNEL], r->arena);
	return circle ? muster_json_reader_fail_member(
				r, "kernel", "the \"explains\" of \"%.60s\" lead into a circle", circle)
		      : 0;
}

/* Of the code "149-fatal" the entry "149-fatal" wins, wherever it stands; else "149"; else "other-fatal". A code that
 * does not begin with a digit, of the table kernel, has only its own entry. */
const struct muster_event *muster_event_find(const struct muster_event_table *table, const char *code)
{
	const struct muster_event *number = NULL, *other = NULL;
	size_t digits = strspn(code, "0123456789");
	for (size_t i = 0; i < table->count; i++) {
		const char *each = table->items[i].code;
		if (strcmp(each, code) == 0)
			return &table->items[i];
		if (digits > 0 && strncmp(each, code, digits) == 0 && !each[digits])
			number = &table->items[i];
		if (digits > 0 && strncmp(each, OTHER "-", sizeof OTHER) == 0 &&
			strcmp(each + strlen(OTHER), code + digits) == 0)
			other = &table->items[i];
	}
	return number ? number : other;
}

/* ---- causes ---- */

/* const char *: a regular expression. It is compiled here only to refuse a bad one: eval/known_causes.c, which needs it
 * rarely, compiles it again. */
static int read_pattern(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const char **pattern = into;
	char why[200];
	if (muster_json_text_read(r, into, json) < 0)
		return -1;
	regex_t *regex = muster_regex_compile(*pattern, false, why, sizeof why);
	if (!regex)
		return muster_json_reader_fail(r, "\"%.80s\" is %s", *pattern, why);
	regfree(regex);
	free(regex);
	return 0;
}

static int read_fact(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_cause_fact *fact = into;
	fact->metric = muster_metric_find(muster_json_key(json));
	return fact->metric ? read_pattern(r, &fact->pattern, json)
			    : muster_json_reader_fail(r, "there is no metric of this name");
}

int muster_cause_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	static const struct muster_field fields[] = {
		{ MUSTER_FIELD(muster_cause, explains, TEXT), .read = muster_json_text_read,
			.size = sizeof(const char *), MUSTER_FIELD_MANY(muster_cause, explain_count), .least = 1 },
		{ MUSTER_FIELD(muster_cause, facts, OBJECT), MUSTER_FIELD_MANY(muster_cause, fact_count),
			MUSTER_FIELD_MEMBERS(read_fact, muster_cause_fact), .least = 1 },
		{ MUSTER_FIELD(muster_cause, name, TEXT), .read = muster_expect_advice_read, .optional = true },
		{ MUSTER_FIELD(muster_cause, action, TEXT), .read = muster_expect_advice_read },
		{ MUSTER_FIELD(muster_cause, reported_as, TEXT), .read = muster_json_text_read, .optional = true },
		{ MUSTER_FIELD(muster_cause, action_code, TEXT), .read = muster_expect_action_code_read,
			.optional = true },
	};
	static const struct muster_object_type type = MUSTER_OBJECT_TYPE(muster_cause, fields);
	struct muster_cause *cause = into;
	cause->id = muster_arena_string(r->arena, muster_json_key(json));
	return muster_object_read(r, json, &type, cause) < 0 ? -1 : muster_expect_action_lint(r, json);
}

/* ---- samples of one event ---- */

const struct muster_sample *muster_event_beside(
	const struct muster_samples *samples, const struct muster_sample *age, enum muster_event_part part)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		if (sample->metric->event_part == part && sample->metric->event == age->metric->event &&
			sample->value.type == sample->metric->type &&
			muster_labels_equal(sample->labels, sample->label_count, age->labels, age->label_count, NULL))
			return sample;
	}
	return NULL;
}

/* ---- no_event ---- */

static int read_operand_table(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const struct muster_expect *expect = ((struct muster_expect_parser *)r)->expect;
	const struct muster_event_table **ret = into;
	int table = muster_json_name_read(r, json, table_keys, PARSE_COUNT(table_keys));
	if (table < 0)
		return -1;
	*ret = &expect->events[table];
	return 0;
}

/* The operand's value is the number of hours; its table is one of those of the file, whose events are read apart. */
int muster_no_event_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	static const struct muster_field fields[] = {
		{ MUSTER_FIELD_AS(muster_operand, "table", events, NAME), .read = read_operand_table },
		{ MUSTER_FIELD(muster_operand, label, TEXT), .read = muster_expect_label_read },
		{ MUSTER_FIELD_AS(muster_operand, "hours", value.number, NUMBER), .read = read_hours },
	};
	static const struct muster_object_type type = MUSTER_OBJECT_TYPE(muster_operand, fields);
	const struct muster_metric *metric = muster_expect_check_at(r)->metric;
	if (metric->event_part != MUSTER_EVENT_AGE)
		return muster_json_reader_fail(
			r, "does not fit: %s is no age of an event on a node (*_age_hours)", metric->name);
	return muster_object_read(r, json, &type, into);
}

/* For how long an event counts; event: NULL for an unknown one. */
static double hours_of(const struct muster_operand *operand, const struct muster_event *event)
{
	return event && event->hours > 0 ? event->hours : operand->value.number;
}

/* value: the age in hours. An unknown event warns as long as the check says; a note is good at any age. */
enum muster_operator_answer muster_no_event_judge(const struct muster_question *q)
{
	static const enum muster_operator_answer answers[] = {
		[MUSTER_EVENT_NOTE] = MUSTER_ANSWER_GOOD,
		[MUSTER_EVENT_WARN] = MUSTER_ANSWER_WARN,
		[MUSTER_EVENT_FAIL] = MUSTER_ANSWER_BAD,
	};
	const struct muster_event *event =
		muster_event_find(q->operand->events, muster_sample_label_text(q->sample, q->operand->label));
	if (q->sample->value.number >= hours_of(q->operand, event))
		return MUSTER_ANSWER_GOOD;
	return event ? answers[event->class] : MUSTER_ANSWER_WARN;
}

const char *muster_no_event_describe(const struct muster_question *q)
{
	const struct muster_operand *operand = q->operand;
	const char *title = operand->events->title;
	if (!q->sample)
		return muster_arena_printf(q->arena, "no %s within %g h, notes apart", title, operand->value.number);
	const char *code = muster_sample_label_text(q->sample, operand->label);
	return muster_arena_printf(q->arena, "no %s %s within %g h", title, code,
		hours_of(operand, muster_event_find(operand->events, code)));
}
