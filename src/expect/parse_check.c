/* parse_check.c - one check of an expectation file, by the table of its keys
 */
#include "expect/parse.h"
#include "util/suggest.h"
#include "muster/probe.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const certainties[] = { "measured", "threshold", "specified", "inferred" };
static const char *const severities[] = { [MUSTER_SEVERITY_FAIL] = "fail", [MUSTER_SEVERITY_WARN] = "warn" };

/* Labels that count something; all others are names. */
static const char *const number_labels[] = { "bytes", "nodes", "ranks" };

/* ---- readers of keys ---- */

static const char *metric_at(const void *arg, size_t index)
{
	(void)arg;
	return muster_metric_at(index)->name;
}

static int read_metric(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;
	char near[300];
	if (muster_expect_parse_need(p, json, MUSTER_JSON_STRING) < 0)
		return -1;
	check->metric = muster_metric_find(muster_json_string(json));
	if (check->metric)
		return 0;
	muster_suggest(muster_json_string(json), muster_metric_count(), metric_at, NULL, 3, near, sizeof near);
	if (*near)
		return muster_expect_parse_complain(
			p, "no such metric: \"%.80s\"; did you mean %s?", muster_json_string(json), near);
	return muster_expect_parse_complain(
		p, "no such metric: \"%.80s\" (muster metrics lists them)", muster_json_string(json));
}

static int read_excuse(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_excuse *excuse = into;
	excuse->value = muster_arena_string(p->expect->arena, muster_json_key(json));
	return muster_expect_parse_text(p, &excuse->why, json);
}

static int read_inconclusive_on(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;
	if (muster_expect_parse_need(p, json, MUSTER_JSON_OBJECT) < 0)
		return -1;
	check->inconclusive_on_count = muster_json_size(json);
	check->inconclusive_on =
		muster_arena_alloc(p->expect->arena, check->inconclusive_on_count * sizeof *check->inconclusive_on);
	return muster_expect_parse_each(p, json, read_excuse, check->inconclusive_on, sizeof *check->inconclusive_on);
}

static bool is_number_label(const char *label)
{
	for (size_t i = 0; i < PARSE_COUNT(number_labels); i++)
		if (strcmp(number_labels[i], label) == 0)
			return true;
	return false;
}

static int read_label(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_arena *arena = p->expect->arena;
	struct muster_label *ret = into;
	bool number = is_number_label(muster_json_key(json));
	if (muster_expect_parse_need_label(p, muster_json_key(json)) < 0 ||
		muster_expect_parse_need(p, json, number ? MUSTER_JSON_NUMBER : MUSTER_JSON_STRING) < 0)
		return -1;
	ret->key = muster_arena_string(arena, muster_json_key(json));
	ret->value = number ? muster_number(muster_json_number(json))
			    : muster_string(muster_arena_string(arena, muster_json_string(json)));
	return 0;
}

static int read_where(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;
	if (muster_expect_parse_need(p, json, MUSTER_JSON_OBJECT) < 0)
		return -1;
	check->where_count = muster_json_size(json);
	check->where = muster_arena_alloc(p->expect->arena, check->where_count * sizeof *check->where);
	return muster_expect_parse_each(p, json, read_label, check->where, sizeof *check->where);
}

static int read_after(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	const struct muster_check *check = into;
	return muster_expect_parse_text(p, &p->afters[check - p->expect->checks], json);
}

static int read_severity(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	enum muster_severity *ret = into;
	int severity = muster_expect_parse_one_of(p, json, severities, PARSE_COUNT(severities));
	if (severity < 0)
		return -1;
	*ret = (enum muster_severity)severity;
	return 0;
}

static int read_certainty(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	const char **ret = into;
	int certainty = muster_expect_parse_one_of(p, json, certainties, PARSE_COUNT(certainties));
	if (certainty < 0)
		return -1;
	*ret = certainties[certainty];
	return 0;
}

/* Each ${...} in an advice is a place or a metric. */
static int read_advice(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	static const char *const places[] = { "node", "rank", "gpu", "port" };
	const char **advice = into;
	if (muster_expect_parse_text(p, advice, json) < 0)
		return -1;
	for (const char *at = *advice; (at = strstr(at, "${"));) {
		const char *end = strchr(at, '}'), *name;
		size_t i = 0;
		char near[300];

		if (!end)
			return muster_expect_parse_complain(p, "a placeholder without closing brace: \"%.40s\"", at);
		name = muster_arena_string_n(p->expect->arena, at + 2, (size_t)(end - at) - 2);
		while (i < PARSE_COUNT(places) && strcmp(places[i], name) != 0)
			i++;
		if (i == PARSE_COUNT(places) && !muster_metric_find(name)) {
			muster_suggest(name, muster_metric_count(), metric_at, NULL, 3, near, sizeof near);
			muster_expect_parse_complain(p,
				"the placeholder ${%.80s} must be node, rank, gpu, port or a metric%s%s%s", name,
				*near ? "; did you mean " : "", near, *near ? "?" : "");
			if (muster_expect_parse_go_on(p, p->depth, -1) < 0)
				return -1;
		}
		at = end;
	}
	return 0;
}

/* The words of one file do not hold for a pattern that another file has set, or removed. */
static int read_in_words(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	const char *words, **in_words = into, *file = muster_expect_parse_file_of(p, "in_words");
	bool any = false, own = true;
	if (muster_expect_parse_text(p, &words, json) < 0)
		return -1;
	for (size_t i = 0; i < p->check->operand_count; i++)
		any = any || p->check->operands[i].operator->worded;
	for (size_t i = 0; i < muster_operator_count; i++) {
		const char *name = muster_operators[i].name;

		if (muster_operators[i].worded && (!any || muster_check_operand_named(p->check, name)))
			own = own && strcmp(file, muster_expect_parse_file_of(p, name)) == 0;
	}
	*in_words = own ? words : NULL;
	return 0;
}

/* ---- the table ---- */

#define INTO(field) offsetof(struct muster_check, field)

/* Keys that are no operators, in the order in which they are read. Readers without a field of their own take the check.
 */
static const struct muster_expect_parse_key keys[] = {
	{ "within", muster_expect_parse_within, 0 },
	{ "in_words", read_in_words, INTO(in_words) },
	{ "inconclusive_on", read_inconclusive_on, 0 },
	{ "where", read_where, 0 },
	{ "when", muster_expect_parse_when, 0 },
	{ "after", read_after, 0 },
	{ "severity", read_severity, INTO(severity) },
	{ "optional", muster_expect_parse_boolean, INTO(optional) },
	{ "source", muster_expect_parse_text, INTO(source) },
	{ "certainty", read_certainty, INTO(certainty) },
	{ "advice", read_advice, INTO(advice) },
	{ "title", muster_expect_parse_text, INTO(title) },
};
/* Read first: the operators depend on them. */
static const struct muster_expect_parse_key first_keys[] = {
	{ "metric", read_metric, 0 },
	{ "ignore_case", muster_expect_parse_boolean, INTO(ignore_case) },
};

/* ---- the check ---- */

const char *muster_expect_parse_check_id(const void *checks, size_t index)
{
	return ((const struct muster_check *)checks)[index].id;
}

/* Ids go into reports, job logs and command lines as they are. */
static int id_check(struct muster_expect_parser *p, const char *id)
{
	size_t good = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789._-");
	if (!*id || id[good] || strlen(id) > 64)
		return muster_expect_parse_complain(
			p, "a check's name has 1 to 64 of a to z, 0 to 9, '.', '_' and '-'");
	static const char *const taken[] = { "rank.missing", "node.missing", "run.interrupted", "sku.unknown" };
	bool free_name = strncmp(id, "probe.", strlen("probe.")) != 0;
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		free_name = free_name && strcmp(id, taken[i]) != 0;
	if (!free_name)
		return muster_expect_parse_complain(p,
			"this name is reserved for muster's own findings (probes, missing ranks and "
			"nodes, interrupted runs, unknown machine types)");
	return 0;
}

static int no_metric(struct muster_expect_parser *p)
{
	const struct muster_check *checks = p->expect->checks;
	char near[300];
	muster_suggest(
		p->check->id, (size_t)(p->check - checks), muster_expect_parse_check_id, checks, 2, near, sizeof near);
	return muster_expect_parse_complain(p, "no metric is given%s%s%s",
		*near ? ", and no check of this name is inherited; did you mean " : "", near, *near ? "?" : "");
}

/* Complain of keys that no check has. */
static int known_check(struct muster_expect_parser *p, const struct muster_json *json)
{
	size_t firsts = PARSE_COUNT(first_keys), count = firsts + muster_operator_count + PARSE_COUNT(keys);
	struct muster_expect_parse_key *all = muster_calloc(count, sizeof *all);
	int result;
	memcpy(all, first_keys, sizeof first_keys);
	for (size_t i = 0; i < muster_operator_count; i++)
		all[firsts + i].name = muster_operators[i].name;
	memcpy(all + firsts + muster_operator_count, keys, sizeof keys);
	result = muster_expect_parse_known(p, json, all, count);
	free(all);
	return result;
}

/* All its keys, the metric first, without which the others cannot be read. */
static int keys_read(struct muster_expect_parser *p, const struct muster_json *json)
{
	if (known_check(p, json) < 0)
		return -1;
	if (!muster_json_member(json, "metric"))
		return no_metric(p);
	if (muster_expect_parse_members(p, json, first_keys, PARSE_COUNT(first_keys), p->check) < 0)
		return -1;
	if (!p->check->metric)
		return 0;
	if (muster_expect_parse_operators(p, json) < 0 ||
		muster_expect_parse_members(p, json, keys, PARSE_COUNT(keys), p->check) < 0)
		return -1;
	if (muster_json_member(json, "source"))
		return 0;
	return muster_expect_parse_complain(p, "no source: give the source of the expected value");
}

int muster_expect_parse_check(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	size_t depth = p->depth, before = p->problems ? p->problems->count : 0;
	p->check = into;
	p->check->id = muster_arena_string(p->expect->arena, muster_json_key(json));
	if (muster_expect_parse_go_on(p, depth, id_check(p, p->check->id)) < 0 ||
		muster_expect_parse_need(p, json, MUSTER_JSON_OBJECT) < 0)
		return -1;
	muster_expect_parse_trace(p);
	if (keys_read(p, json) < 0)
		return -1;
	if (p->problems && p->problems->count > before)
		return 0; /* the operators cannot be compared with each other */
	if (muster_expect_parse_operators_check(p) < 0)
		return -1;
	if (p->problems && (muster_expect_parse_operators_lint(p) < 0 || muster_expect_parse_sources_check(p) < 0))
		return -1;
	return 0;
}
