/* parse.c - from a merged expectation file to checks that make sense
 *
 * Every complaint names the file that said it last, the JSON path, and what is allowed there.
 */
#include "eval/eval.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PATH_DEPTH_MAX 8

static const char *const certainties[] = { "measured", "threshold", "specified", "inferred" };
static const char *const severities[] = { [MUSTER_SEVERITY_FAIL] = "fail", [MUSTER_SEVERITY_WARN] = "warn" };
static const char *const acrosses[] = { [MUSTER_ACROSS_NODES] = "nodes", [MUSTER_ACROSS_RANKS] = "ranks" };

/* Labels that count something; all others are names. */
static const char *const number_labels[] = { "bytes", "nodes", "ranks" };

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct step {
	const char *key; /* NULL: an array's element */
	size_t index;
};

struct parse {
	const struct muster_layer *layers;
	size_t layer_count;
	struct muster_expect *expect;
	struct muster_problems *problems; /* NULL: the first one ends the reading */
	struct muster_error *err;
	struct step steps[PATH_DEPTH_MAX]; /* from the top to the value at hand */
	size_t depth;
	const char **afters; /* for each check, the id that it comes after, or NULL */
};

static bool plain_key(const char *key)
{
	if (!isalpha((unsigned char)*key) && *key != '_')
		return false;
	for (; *key; key++)
		if (!isalnum((unsigned char)*key) && *key != '_')
			return false;
	return true;
}

const char *muster_path_member(const char *path, const char *key, struct muster_pool *pool)
{
	if (plain_key(key))
		return muster_pool_printf(pool, "%s.%s", path, key);
	return muster_pool_printf(pool, "%s[\"%.100s\"]", path, key);
}

static void enter(struct parse *p, const char *key)
{
	p->steps[p->depth++] = (struct step){ .key = key };
}

static void enter_element(struct parse *p, size_t index)
{
	p->steps[p->depth++] = (struct step){ .index = index };
}

static void leave(struct parse *p)
{
	p->depth--;
}

/* Whatever became of a part of the file, reading goes on behind it, with the path as long as before; unless nobody
 * collects problems. */
static int go_on(struct parse *p, size_t depth, int result)
{
	if (result < 0 && muster_problem_take(p->problems, p->err) < 0)
		return -1;
	p->depth = depth;
	return 0;
}

/* How many steps of the path lead somewhere in this layer. */
static size_t layer_depth(const struct parse *p, const struct muster_layer *layer)
{
	const struct muster_json *at = layer->json;
	size_t depth = 0;

	for (; depth < p->depth; depth++) {
		const struct step *step = &p->steps[depth];
		enum muster_json_type type = muster_json_type(at);

		if (step->key) {
			at = type == MUSTER_JSON_OBJECT ? muster_json_member(at, step->key) : NULL;
		} else if (type == MUSTER_JSON_ARRAY) {
			at = muster_json_first(at);
			for (size_t i = 0; at && i < step->index; i++)
				at = muster_json_next(at);
		} else {
			at = NULL;
		}
		if (!at)
			break;
	}
	return depth;
}

/* The file that has the last word on the value at hand, or on what comes nearest to it. */
static const char *layer_blame(const struct parse *p)
{
	const struct muster_layer *best = &p->layers[0];
	size_t deepest = 0;

	for (size_t i = 0; i < p->layer_count; i++) {
		size_t depth = layer_depth(p, &p->layers[i]);

		if (depth >= deepest) {
			best = &p->layers[i];
			deepest = depth;
		}
	}
	return best->path;
}

static int complain(struct parse *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int complain(struct parse *p, const char *format, ...)
{
	struct muster_pool *pool = p->expect->pool;
	const char *path = "$";
	char what[512];
	va_list args;

	for (size_t i = 0; i < p->depth; i++) {
		if (p->steps[i].key)
			path = muster_path_member(path, p->steps[i].key, pool);
		else
			path = muster_pool_printf(pool, "%s[%zu]", path, p->steps[i].index);
	}
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	return muster_fail(p->err, MUSTER_EUSAGE, "%s: %s: %s", layer_blame(p), path, what);
}

/* The value at hand as a message shows it. */
static const char *found_text(const struct muster_json *json, char *out, size_t size)
{
	char number[64];

	switch (muster_json_type(json)) {
	case MUSTER_JSON_STRING: snprintf(out, size, "\"%.60s\"", muster_json_string(json)); break;
	case MUSTER_JSON_NUMBER:
		snprintf(out, size, "%s",
			muster_value_text(muster_number(muster_json_number(json)), number, sizeof number));
		break;
	case MUSTER_JSON_BOOLEAN: snprintf(out, size, "%s", muster_json_boolean(json) ? "true" : "false"); break;
	default: snprintf(out, size, "%s", muster_json_type_name(muster_json_type(json))); break;
	}
	return out;
}

static int need_type(struct parse *p, const struct muster_json *json, enum muster_json_type type)
{
	char found[96];

	if (muster_json_type(json) == type)
		return 0;
	return complain(
		p, "%s is needed, found %s", muster_json_type_name(type), found_text(json, found, sizeof found));
}

/* "a, b, c" */
static const char *list_text(const char *const *names, size_t count, struct muster_pool *pool)
{
	const char *text = "";

	for (size_t i = 0; i < count; i++)
		text = muster_pool_printf(pool, "%s%s%s", text, i ? ", " : "", names[i]);
	return text;
}

/* The place of a string in a list; -1 with what is allowed. */
static int one_of(struct parse *p, const struct muster_json *json, const char *const *names, size_t count)
{
	char found[96];

	for (size_t i = 0; muster_json_type(json) == MUSTER_JSON_STRING && i < count; i++)
		if (strcmp(names[i], muster_json_string(json)) == 0)
			return (int)i;
	return complain(p, "one of %s is needed, found %s", list_text(names, count, p->expect->pool),
		found_text(json, found, sizeof found));
}

static int get_text(struct parse *p, const struct muster_json *json, const char **ret)
{
	if (need_type(p, json, MUSTER_JSON_STRING) < 0)
		return -1;
	if (!*muster_json_string(json))
		return complain(p, "must not be empty");
	*ret = muster_pool_string(p->expect->pool, muster_json_string(json));
	return 0;
}

static int get_count(struct parse *p, const struct muster_json *json, int *ret)
{
	double number;
	char found[96];

	if (need_type(p, json, MUSTER_JSON_NUMBER) < 0)
		return -1;
	number = muster_json_number(json);
	if (!(number >= 1 && number <= INT_MAX) || number > (double)(int)number)
		return complain(p, "a whole number from 1 is needed, found %s", found_text(json, found, sizeof found));
	*ret = (int)number;
	return 0;
}

/* A value of the check's metric. */
static int get_value(
	struct parse *p, const struct muster_check *check, const struct muster_json *json, struct muster_value *ret)
{
	static const struct {
		enum muster_json_type json;
		const char *name;
	} types[] = {
		[MUSTER_NULL] = { MUSTER_JSON_NULL, "nothing" },
		[MUSTER_NUMBER] = { MUSTER_JSON_NUMBER, "a number" },
		[MUSTER_STRING] = { MUSTER_JSON_STRING, "a string" },
		[MUSTER_BOOLEAN] = { MUSTER_JSON_BOOLEAN, "true or false" },
	};
	enum muster_type type = check->metric->type;
	char found[96];

	_Static_assert(COUNT(types) == MUSTER_TYPE_COUNT, "every type has its JSON type");
	if (muster_json_type(json) != types[type].json)
		return complain(p, "%s is needed for %s, found %s", types[type].name, check->metric->name,
			found_text(json, found, sizeof found));
	if (type == MUSTER_NUMBER)
		*ret = muster_number(muster_json_number(json));
	else if (type == MUSTER_STRING)
		*ret = muster_string(muster_pool_string(p->expect->pool, muster_json_string(json)));
	else
		*ret = muster_boolean(muster_json_boolean(json));
	return 0;
}

static bool has_label(const struct muster_metric *metric, const char *label)
{
	for (size_t i = 0; i < MUSTER_LABELS_MAX && metric->labels[i]; i++)
		if (strcmp(metric->labels[i], label) == 0)
			return true;
	return false;
}

static int need_label(struct parse *p, const struct muster_metric *metric, const char *label)
{
	size_t count = 0;

	if (has_label(metric, label))
		return 0;
	while (count < MUSTER_LABELS_MAX && metric->labels[count])
		count++;
	if (count == 0)
		return complain(p, "%s carries no labels, so none called \"%.60s\"", metric->name, label);
	return complain(p, "%s carries no label \"%.60s\", only %s", metric->name, label,
		list_text(metric->labels, count, p->expect->pool));
}

/* ---- the keys of a check, one reader each; the path leads to the key's value ---- */

typedef int key_reader(struct parse *p, struct muster_check *check, const struct muster_json *json);

static const char *metric_at(const void *arg, size_t index)
{
	(void)arg;
	return muster_metric_at(index)->name;
}

static int read_metric(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	char near[300];

	if (need_type(p, json, MUSTER_JSON_STRING) < 0)
		return -1;
	check->metric = muster_metric_find(muster_json_string(json));
	if (check->metric)
		return 0;
	muster_closest(muster_json_string(json), muster_metric_count(), metric_at, NULL, 3, near, sizeof near);
	if (*near)
		return complain(p, "no such metric: \"%.80s\"; the closest is %s", muster_json_string(json), near);
	return complain(p, "no such metric: \"%.80s\" (muster metrics lists them)", muster_json_string(json));
}

static int read_equals(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	return get_value(p, check, json, &check->equals);
}

static int read_one_of(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	size_t at = 0;

	if (need_type(p, json, MUSTER_JSON_ARRAY) < 0)
		return -1;
	check->one_of_count = muster_json_size(json);
	if (check->one_of_count == 0)
		return complain(p, "at least one value is needed");
	check->one_of = muster_pool_alloc(p->expect->pool, check->one_of_count * sizeof *check->one_of);
	for (const struct muster_json *e = muster_json_first(json); e; e = muster_json_next(e), at++) {
		size_t depth = p->depth;

		enter_element(p, at);
		if (go_on(p, depth, get_value(p, check, e, &check->one_of[at])) < 0)
			return -1;
	}
	return 0;
}

static int read_matches(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	regex_t regex;
	char why[128];
	int code;

	if (get_text(p, json, &check->matches) < 0)
		return -1;
	code = regcomp(&regex, check->matches, REG_EXTENDED | REG_NOSUB);
	if (code != 0) {
		regerror(code, &regex, why, sizeof why);
		return complain(p, "\"%.80s\" is no POSIX extended regular expression: %s", check->matches, why);
	}
	regfree(&regex);
	return 0;
}

static int get_number(struct parse *p, const struct muster_json *json, double *ret)
{
	if (need_type(p, json, MUSTER_JSON_NUMBER) < 0)
		return -1;
	*ret = muster_json_number(json);
	return 0;
}

static int read_min(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	return get_number(p, json, &check->min);
}

static int read_max(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	return get_number(p, json, &check->max);
}

static int read_warn_below(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	return get_number(p, json, &check->warn_below);
}

static int read_warn_above(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	return get_number(p, json, &check->warn_above);
}

static int only_keys(struct parse *p, const struct muster_json *object, const char *const *keys, size_t count)
{
	for (const struct muster_json *m = muster_json_first(object); m; m = muster_json_next(m)) {
		size_t i = 0;

		while (i < count && strcmp(keys[i], muster_json_key(m)) != 0)
			i++;
		if (i < count)
			continue;
		size_t depth = p->depth;
		enter(p, muster_json_key(m));
		if (go_on(p, depth,
			    complain(p, "unknown key, allowed are %s", list_text(keys, count, p->expect->pool))) < 0)
			return -1;
	}
	return 0;
}

static int read_equals_by(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	static const char *const keys[] = { "label", "values" };
	const struct muster_json *label, *values;
	size_t at = 0;

	if (need_type(p, json, MUSTER_JSON_OBJECT) < 0 || only_keys(p, json, keys, COUNT(keys)) < 0)
		return -1;
	label = muster_json_member(json, "label");
	values = muster_json_member(json, "values");
	if (!label || !values)
		return complain(p, "both \"label\" and \"values\" are needed");
	enter(p, "label");
	if (get_text(p, label, &check->by_label) < 0 || need_label(p, check->metric, check->by_label) < 0)
		return -1;
	leave(p);
	enter(p, "values");
	if (need_type(p, values, MUSTER_JSON_OBJECT) < 0)
		return -1;
	check->by_count = muster_json_size(values);
	if (check->by_count == 0)
		return complain(p, "at least one value is needed");
	check->by = muster_pool_alloc(p->expect->pool, check->by_count * sizeof *check->by);
	for (const struct muster_json *m = muster_json_first(values); m; m = muster_json_next(m), at++) {
		check->by[at].label_value = muster_pool_string(p->expect->pool, muster_json_key(m));
		size_t depth = p->depth;

		enter(p, muster_json_key(m));
		if (go_on(p, depth, get_value(p, check, m, &check->by[at].value)) < 0)
			return -1;
	}
	leave(p);
	return 0;
}

static int read_same_across(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	int across = one_of(p, json, acrosses, COUNT(acrosses));
	enum muster_scope scope = check->metric->scope;

	if (across < 0)
		return -1;
	check->across = (enum muster_across)across;
	if (scope == MUSTER_SCOPE_JOB)
		return complain(
			p, "%s is one fact about the whole job: there is nothing to compare", check->metric->name);
	if (check->across == MUSTER_ACROSS_RANKS && (scope == MUSTER_SCOPE_NODE || scope == MUSTER_SCOPE_PORT))
		return complain(p, "%s is a fact about a node, not about a rank: use \"nodes\"", check->metric->name);
	return 0;
}

static int read_within(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	if (get_text(p, json, &check->within) < 0)
		return -1;
	return need_label(p, check->metric, check->within);
}

/* True is all that it can be: false would be one more way to write nothing. */
static int read_observe(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	(void)check;
	if (need_type(p, json, MUSTER_JSON_BOOLEAN) < 0)
		return -1;
	return muster_json_boolean(json) ? 0 : complain(p, "true is needed, or null to remove it");
}

/* A share of the median, on the side of 1 that makes sense. */
static int get_share(
	struct parse *p, const struct muster_check *check, const struct muster_json *json, bool below, double *ret)
{
	double share;
	char found[96];

	if (get_number(p, json, &share) < 0)
		return -1;
	if (check->metric->scope == MUSTER_SCOPE_JOB)
		return complain(
			p, "%s is one fact about the whole job: there is nothing to compare", check->metric->name);
	if (below ? !(share > 0 && share <= 1) : !(share >= 1))
		return complain(p, "a number %s is needed, found %s", below ? "above 0 and up to 1" : "from 1",
			found_text(json, found, sizeof found));
	*ret = share;
	return 0;
}

static int read_min_of_median(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	return get_share(p, check, json, true, &check->min_of_median);
}

static int read_max_of_median(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	return get_share(p, check, json, false, &check->max_of_median);
}

static int read_present(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	if (need_type(p, json, MUSTER_JSON_BOOLEAN) < 0)
		return -1;
	check->present = muster_json_boolean(json);
	return 0;
}

static int read_inconclusive_on(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	size_t at = 0;

	if (need_type(p, json, MUSTER_JSON_OBJECT) < 0)
		return -1;
	check->inconclusive_on_count = muster_json_size(json);
	check->inconclusive_on =
		muster_pool_alloc(p->expect->pool, check->inconclusive_on_count * sizeof *check->inconclusive_on);
	for (const struct muster_json *m = muster_json_first(json); m; m = muster_json_next(m), at++) {
		check->inconclusive_on[at].value = muster_pool_string(p->expect->pool, muster_json_key(m));
		size_t depth = p->depth;

		enter(p, muster_json_key(m));
		if (go_on(p, depth, get_text(p, m, &check->inconclusive_on[at].why)) < 0)
			return -1;
	}
	return 0;
}

static bool is_number_label(const char *label)
{
	for (size_t i = 0; i < COUNT(number_labels); i++)
		if (strcmp(number_labels[i], label) == 0)
			return true;
	return false;
}

static int get_label(
	struct parse *p, const struct muster_metric *metric, const struct muster_json *json, struct muster_label *ret)
{
	struct muster_pool *pool = p->expect->pool;
	bool number = is_number_label(muster_json_key(json));

	if (need_label(p, metric, muster_json_key(json)) < 0 ||
		need_type(p, json, number ? MUSTER_JSON_NUMBER : MUSTER_JSON_STRING) < 0)
		return -1;
	ret->key = muster_pool_string(pool, muster_json_key(json));
	ret->value = number ? muster_number(muster_json_number(json))
			    : muster_string(muster_pool_string(pool, muster_json_string(json)));
	return 0;
}

static int read_where(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	if (need_type(p, json, MUSTER_JSON_OBJECT) < 0)
		return -1;
	check->where = muster_pool_alloc(p->expect->pool, muster_json_size(json) * sizeof *check->where);
	for (const struct muster_json *m = muster_json_first(json); m; m = muster_json_next(m)) {
		size_t depth = p->depth;

		enter(p, muster_json_key(m));
		if (go_on(p, depth, get_label(p, check->metric, m, &check->where[check->where_count++])) < 0)
			return -1;
	}
	return 0;
}

/* A count, or {"min": a, "max": b}. */
static int get_span(struct parse *p, const struct muster_json *json, struct muster_span *span)
{
	static const char *const keys[] = { "min", "max" };
	int *const rets[] = { &span->min, &span->max };

	if (muster_json_type(json) == MUSTER_JSON_NUMBER) {
		if (get_count(p, json, &span->min) < 0)
			return -1;
		span->max = span->min;
		return 0;
	}
	if (muster_json_type(json) != MUSTER_JSON_OBJECT)
		return complain(p, "a number is needed, or an object with min and max");
	if (only_keys(p, json, keys, COUNT(keys)) < 0)
		return -1;
	for (size_t i = 0; i < COUNT(keys); i++) {
		const struct muster_json *member = muster_json_member(json, keys[i]);

		if (!member)
			continue;
		enter(p, keys[i]);
		if (get_count(p, member, rets[i]) < 0)
			return -1;
		leave(p);
	}
	if (span->max && span->min > span->max)
		return complain(p, "min %d is above max %d", span->min, span->max);
	return 0;
}

static int get_profiles(struct parse *p, const struct muster_json *json, unsigned int *ret)
{
	bool list = muster_json_type(json) == MUSTER_JSON_ARRAY;
	size_t at = 0;

	for (const struct muster_json *e = list ? muster_json_first(json) : json; e;
		e = list ? muster_json_next(e) : NULL, at++) {
		int profile;

		if (list)
			enter_element(p, at);
		profile = one_of(p, e, muster_profile_names, MUSTER_PROFILE_COUNT);
		if (profile < 0)
			return -1;
		*ret |= 1u << profile;
		if (list)
			leave(p);
	}
	return *ret ? 0 : complain(p, "at least one profile is needed");
}

static int read_when(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	static const char *const keys[] = { "nodes", "ranks", "profile", "domains" };

	if (need_type(p, json, MUSTER_JSON_OBJECT) < 0 || only_keys(p, json, keys, COUNT(keys)) < 0)
		return -1;
	for (const struct muster_json *m = muster_json_first(json); m; m = muster_json_next(m)) {
		const char *key = muster_json_key(m);
		size_t depth = p->depth;
		int result = 0;

		enter(p, key);
		if (strcmp(key, "nodes") == 0)
			result = get_span(p, m, &check->when_nodes);
		else if (strcmp(key, "ranks") == 0)
			result = get_span(p, m, &check->when_ranks);
		else if (strcmp(key, "domains") == 0)
			result = get_span(p, m, &check->when_domains);
		else if (strcmp(key, "profile") == 0)
			result = get_profiles(p, m, &check->when_profiles);
		if (go_on(p, depth, result) < 0)
			return -1;
	}
	return 0;
}

static int read_severity(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	int severity = one_of(p, json, severities, COUNT(severities));

	check->severity = severity < 0 ? MUSTER_SEVERITY_FAIL : (enum muster_severity)severity;
	return severity < 0 ? -1 : 0;
}

static int read_optional(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	if (need_type(p, json, MUSTER_JSON_BOOLEAN) < 0)
		return -1;
	check->optional = muster_json_boolean(json);
	return 0;
}

static int read_source(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	return get_text(p, json, &check->source);
}

static int read_certainty(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	int certainty = one_of(p, json, certainties, COUNT(certainties));

	if (certainty < 0)
		return -1;
	check->certainty = certainties[certainty];
	return 0;
}

static int read_title(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	return get_text(p, json, &check->title);
}

/* Each ${...} in an advice is a place or a metric. */
static int read_advice(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	static const char *const places[] = { "node", "rank", "gpu", "port" };

	if (get_text(p, json, &check->advice) < 0)
		return -1;
	for (const char *at = check->advice; (at = strstr(at, "${"));) {
		const char *end = strchr(at, '}'), *name;
		size_t i = 0;
		char near[300];

		if (!end)
			return complain(p, "a placeholder without its end: \"%.40s\"", at);
		name = muster_pool_string_n(p->expect->pool, at + 2, (size_t)(end - at) - 2);
		while (i < COUNT(places) && strcmp(places[i], name) != 0)
			i++;
		if (i == COUNT(places) && !muster_metric_find(name)) {
			muster_closest(name, muster_metric_count(), metric_at, NULL, 3, near, sizeof near);
			complain(p, "the placeholder ${%.80s} is neither node, rank, gpu, port nor a metric%s%s", name,
				*near ? "; the closest is " : "", near);
			if (go_on(p, p->depth, -1) < 0)
				return -1;
		}
		at = end;
	}
	return 0;
}

static int read_after(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	return get_text(p, json, &p->afters[check - p->expect->checks]);
}

#define FOR_NUMBER (1u << MUSTER_NUMBER)
#define FOR_STRING (1u << MUSTER_STRING)
#define FOR_ALL (FOR_NUMBER | FOR_STRING | 1u << MUSTER_BOOLEAN)

/* In the order in which they are read: the metric first, because the others must fit it. */
static const struct check_key {
	const char *name;
	key_reader *read;
	unsigned int operator; /* 0: not an operator */
	unsigned int types;    /* metrics that an operator fits, as bits of enum muster_type */
} check_keys[] = {
	{ "metric", read_metric, 0, 0 },
	{ "equals", read_equals, MUSTER_OP_EQUALS, FOR_ALL },
	{ "one_of", read_one_of, MUSTER_OP_ONE_OF, FOR_ALL },
	{ "matches", read_matches, MUSTER_OP_MATCHES, FOR_STRING },
	{ "min", read_min, MUSTER_OP_MIN, FOR_NUMBER },
	{ "max", read_max, MUSTER_OP_MAX, FOR_NUMBER },
	{ "warn_below", read_warn_below, MUSTER_OP_WARN_BELOW, FOR_NUMBER },
	{ "warn_above", read_warn_above, MUSTER_OP_WARN_ABOVE, FOR_NUMBER },
	{ "equals_by", read_equals_by, MUSTER_OP_EQUALS_BY, FOR_ALL },
	{ "same_across", read_same_across, MUSTER_OP_SAME_ACROSS, FOR_ALL },
	{ "present", read_present, MUSTER_OP_PRESENT, FOR_ALL },
	{ "observe", read_observe, MUSTER_OP_OBSERVE, FOR_ALL },
	{ "min_of_median", read_min_of_median, MUSTER_OP_MIN_OF_MEDIAN, FOR_NUMBER },
	{ "max_of_median", read_max_of_median, MUSTER_OP_MAX_OF_MEDIAN, FOR_NUMBER },
	{ "within", read_within, 0, 0 },
	{ "inconclusive_on", read_inconclusive_on, 0, 0 },
	{ "where", read_where, 0, 0 },
	{ "when", read_when, 0, 0 },
	{ "after", read_after, 0, 0 },
	{ "severity", read_severity, 0, 0 },
	{ "optional", read_optional, 0, 0 },
	{ "source", read_source, 0, 0 },
	{ "certainty", read_certainty, 0, 0 },
	{ "advice", read_advice, 0, 0 },
	{ "title", read_title, 0, 0 },
};

static const char *operators_text(struct parse *p, enum muster_type type)
{
	const char *names[COUNT(check_keys)];
	size_t count = 0;

	for (size_t i = 0; i < COUNT(check_keys); i++)
		if (check_keys[i].types & 1u << type)
			names[count++] = check_keys[i].name;
	return list_text(names, count, p->expect->pool);
}

static bool is_operator(const char *name)
{
	for (size_t i = 0; i < COUNT(check_keys); i++)
		if (check_keys[i].operator&& strcmp(check_keys[i].name, name) == 0)
			return true;
	return false;
}

static const char *operator_name(unsigned int operators)
{
	for (size_t i = 0; i < COUNT(check_keys); i++)
		if (check_keys[i].operator& operators)
			return check_keys[i].name;
	return "";
}

/* What the operators say together. */
static int operators_check(struct parse *p, const struct muster_check *check)
{
	const unsigned int exact = MUSTER_OP_EQUALS | MUSTER_OP_ONE_OF | MUSTER_OP_EQUALS_BY;
	unsigned int ops = check->operators, others = ops & ~(unsigned int)MUSTER_OP_PRESENT;

	if (!ops)
		return complain(p, "nothing is expected: give one of %s", operators_text(p, check->metric->type));
	if ((ops & exact & ((ops & exact) - 1)) != 0)
		return complain(p, "%s and %s exclude each other: set one of them to null",
			operator_name(ops & exact & ~((ops & exact) - 1)),
			operator_name(ops & exact & ((ops & exact) - 1)));
	if (ops & MUSTER_OP_OBSERVE && ops != MUSTER_OP_OBSERVE)
		return complain(p, "observe and %s exclude each other: set one of them to null",
			operator_name(ops & ~(unsigned int)MUSTER_OP_OBSERVE));
	if (check->within && !(ops & MUSTER_OP_SAME_ACROSS && check->across == MUSTER_ACROSS_NODES)) {
		enter(p, "within");
		return complain(p, "says something only beside same_across: \"nodes\"");
	}
	if (ops & MUSTER_OP_PRESENT && !check->present && others)
		return complain(p, "%s says nothing about what must not be present", operator_name(others));
	if (ops & MUSTER_OP_SAME_ACROSS && ops != MUSTER_OP_SAME_ACROSS)
		return complain(p, "same_across stands alone: give %s a check of its own",
			operator_name(ops & ~(unsigned int)MUSTER_OP_SAME_ACROSS));
	if (ops & MUSTER_OP_MIN && ops & MUSTER_OP_MAX && check->min > check->max) {
		enter(p, "min");
		return complain(p, "%g is above max, %g", check->min, check->max);
	}
	return 0;
}

static bool outside(double number, const struct muster_check *check)
{
	return (check->operators & MUSTER_OP_MIN && number < check->min) ||
	       (check->operators & MUSTER_OP_MAX && number > check->max);
}

/* What can be judged, but never comes true or never matters. A site that moves one limit past another knows what it
 * does, so only lint says it. */
static int limits_check(struct parse *p, const struct muster_check *check)
{
	unsigned int ops = check->operators;
	size_t depth = p->depth;

	enter(p, "warn_below");
	if (ops & MUSTER_OP_WARN_BELOW && ops & MUSTER_OP_MIN && check->warn_below <= check->min &&
		go_on(p, depth + 1,
			complain(p, "%g never warns: what is below min, %g, fails", check->warn_below, check->min)) < 0)
		return -1;
	if (ops & MUSTER_OP_WARN_BELOW && ops & MUSTER_OP_MAX && check->warn_below > check->max &&
		go_on(p, depth + 1, complain(p, "%g always warns: max is %g", check->warn_below, check->max)) < 0)
		return -1;
	if (ops & MUSTER_OP_WARN_BELOW && ops & MUSTER_OP_WARN_ABOVE && check->warn_below > check->warn_above &&
		go_on(p, depth + 1,
			complain(p, "%g is above warn_above, %g: every value warns", check->warn_below,
				check->warn_above)) < 0)
		return -1;
	p->depth = depth;
	enter(p, "warn_above");
	if (ops & MUSTER_OP_WARN_ABOVE && ops & MUSTER_OP_MAX && check->warn_above >= check->max &&
		go_on(p, depth + 1,
			complain(p, "%g never warns: what is above max, %g, fails", check->warn_above, check->max)) < 0)
		return -1;
	if (ops & MUSTER_OP_WARN_ABOVE && ops & MUSTER_OP_MIN && check->warn_above < check->min &&
		go_on(p, depth + 1, complain(p, "%g always warns: min is %g", check->warn_above, check->min)) < 0)
		return -1;
	p->depth = depth;
	if (ops & MUSTER_OP_EQUALS && check->equals.type == MUSTER_NUMBER && outside(check->equals.number, check)) {
		enter(p, "equals");
		return go_on(p, depth, complain(p, "%g is outside min and max", check->equals.number));
	}
	for (size_t i = 0; i < check->one_of_count; i++) {
		if (check->one_of[i].type != MUSTER_NUMBER || !outside(check->one_of[i].number, check))
			continue;
		enter(p, "one_of");
		enter_element(p, i);
		if (go_on(p, depth, complain(p, "%g is outside min and max", check->one_of[i].number)) < 0)
			return -1;
	}
	return 0;
}

static const struct muster_json *layer_check_member(const struct muster_layer *layer, const char *id)
{
	const struct muster_json *checks = muster_json_member(layer->json, "checks");

	return checks && muster_json_type(checks) == MUSTER_JSON_OBJECT ? muster_json_member(checks, id) : NULL;
}

static struct muster_origin *change_find(const struct muster_check *check, const char *key)
{
	for (size_t i = 0; i < check->change_count; i++)
		if (strcmp(check->changes[i].key, key) == 0)
			return &check->changes[i];
	return NULL;
}

/* `said` is a member of the check in a later file; there is room for it. */
static void change_note(
	struct muster_check *check, const struct muster_json *said, const char *file, struct muster_pool *pool)
{
	struct muster_origin *change = change_find(check, muster_json_key(said));

	if (!change)
		change = &check->changes[check->change_count++];
	change->key = muster_pool_string(pool, muster_json_key(said));
	change->file = file;
	change->removed = muster_json_type(said) == MUSTER_JSON_NULL;
}

static size_t change_room(const struct parse *p, const char *id)
{
	size_t room = 1;

	for (size_t i = 0; i < p->layer_count; i++) {
		const struct muster_json *said = layer_check_member(&p->layers[i], id);

		room += said ? muster_json_size(said) : 0;
	}
	return room;
}

/* Which files the check comes from. A file that removes it, or all checks, starts it anew. */
static void trace(struct parse *p, struct muster_check *check)
{
	struct muster_pool *pool = p->expect->pool;

	check->changes = muster_pool_alloc(pool, change_room(p, check->id) * sizeof *check->changes);
	for (size_t i = 0; i < p->layer_count; i++) {
		const struct muster_json *checks = muster_json_member(p->layers[i].json, "checks");
		const struct muster_json *said = layer_check_member(&p->layers[i], check->id);
		const char *file = muster_pool_string(pool, p->layers[i].path);

		if (!checks || (!said && muster_json_type(checks) == MUSTER_JSON_OBJECT))
			continue;
		if (!said || muster_json_type(said) != MUSTER_JSON_OBJECT) {
			check->file = said && muster_json_type(said) != MUSTER_JSON_NULL ? file : NULL;
			check->change_count = 0;
			continue;
		}
		if (!check->file) {
			check->file = file;
			continue;
		}
		for (const struct muster_json *m = muster_json_first(said); m; m = muster_json_next(m))
			change_note(check, m, file, pool);
	}
}

static size_t layer_index(const struct parse *p, const char *path)
{
	size_t i = 0;

	while (i < p->layer_count && strcmp(p->layers[i].path, path) != 0)
		i++;
	return i;
}

/* Whoever changes what is expected says where the new expectation comes from, or the old source stands beside it. */
static int sources_check(struct parse *p, const struct muster_check *check)
{
	const struct muster_origin *source = change_find(check, "source");
	const char *file = source ? source->file : check->file;
	size_t depth = p->depth, said = layer_index(p, file);

	for (size_t i = 0; i < check->change_count; i++) {
		const struct muster_origin *change = &check->changes[i];

		if (change->removed || layer_index(p, change->file) <= said || !is_operator(change->key))
			continue;
		enter(p, change->key);
		if (go_on(p, depth, complain(p, "changed without a source: the one that stands is of %s", file)) < 0)
			return -1;
	}
	return 0;
}

static const char *check_id_at(const void *arg, size_t index)
{
	return ((const struct muster_check *)arg)[index].id;
}

/* Ids go into reports, job logs and command lines as they are. */
static int id_check(struct parse *p, const char *id)
{
	size_t good = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789._-");

	if (!*id || id[good] || strlen(id) > 64)
		return complain(p, "a check's name has 1 to 64 of a to z, 0 to 9, '.', '_' and '-'");
	if (strncmp(id, "probe.", strlen("probe.")) == 0 || strcmp(id, "rank.missing") == 0 ||
		strcmp(id, "sku.unknown") == 0)
		return complain(
			p, "this name is taken: muster itself reports probes, missing ranks and unknown machines");
	return 0;
}

/* Read one key of a check, the metric first. */
static int read_key(
	struct parse *p, struct muster_check *check, const struct check_key *key, const struct muster_json *json)
{
	if (key->operator&& !(key->types & 1u << check->metric->type))
		return complain(p, "does not fit: %s is a %s, which has %s", check->metric->name,
			muster_type_name(check->metric->type), operators_text(p, check->metric->type));
	return key->read(p, check, json);
}

/* Read a check whose path is entered already. */
static int read_check(struct parse *p, struct muster_check *check, const struct muster_json *json)
{
	const char *names[COUNT(check_keys)];
	char near[300];
	size_t depth = p->depth, before = p->problems ? p->problems->count : 0;

	if (go_on(p, depth, id_check(p, check->id)) < 0 || need_type(p, json, MUSTER_JSON_OBJECT) < 0)
		return -1;
	trace(p, check);
	for (size_t i = 0; i < COUNT(check_keys); i++)
		names[i] = check_keys[i].name;
	if (only_keys(p, json, names, COUNT(names)) < 0)
		return -1;
	if (!muster_json_member(json, "metric")) {
		muster_closest(check->id, (size_t)(check - p->expect->checks), check_id_at, p->expect->checks, 2, near,
			sizeof near);
		return complain(p, "no metric is named%s%s",
			*near ? ", and no check of this name is inherited; the closest is " : "", near);
	}
	for (size_t i = 0; i < COUNT(check_keys); i++) {
		const struct check_key *key = &check_keys[i];
		const struct muster_json *member = muster_json_member(json, key->name);

		if (!member)
			continue;
		enter(p, key->name);
		int result = read_key(p, check, key, member);
		if (!check->metric) /* all others must fit it */
			return result;
		if (go_on(p, depth, result) < 0)
			return -1;
		check->operators |= key->operator;
	}
	if (!muster_json_member(json, "source") &&
		go_on(p, depth, complain(p, "no source: say where this expectation comes from")) < 0)
		return -1;
	if (p->problems && p->problems->count > before)
		return 0; /* what the operators say together cannot be told */
	if (operators_check(p, check) < 0)
		return -1;
	if (p->problems && (limits_check(p, check) < 0 || sources_check(p, check) < 0))
		return -1;
	return 0;
}

/* True when some file has a check of that name, though another may have removed it. */
static bool id_ever_was(const struct parse *p, const char *id)
{
	for (size_t i = 0; i < p->layer_count; i++) {
		const struct muster_json *checks = muster_json_member(p->layers[i].json, "checks");

		if (checks && muster_json_type(checks) == MUSTER_JSON_OBJECT && muster_json_member(checks, id))
			return true;
	}
	return false;
}

static int resolve_after(struct parse *p, size_t at)
{
	struct muster_check *checks = p->expect->checks;
	char near[300];

	checks[at].after = -1;
	if (!p->afters[at])
		return 0;
	for (size_t i = 0; i < p->expect->check_count; i++)
		if (strcmp(checks[i].id, p->afters[at]) == 0)
			checks[at].after = (int)i;
	if (checks[at].after >= 0 || id_ever_was(p, p->afters[at]))
		return 0;
	muster_closest(p->afters[at], p->expect->check_count, check_id_at, checks, 2, near, sizeof near);
	enter(p, checks[at].id);
	enter(p, "after");
	return complain(p, "there is no check \"%.64s\"%s%s", p->afters[at], *near ? "; the closest is " : "", near);
}

static int read_checks(struct parse *p, const struct muster_json *json)
{
	struct muster_expect *expect = p->expect;
	size_t at = 0, depth = p->depth;

	if (need_type(p, json, MUSTER_JSON_OBJECT) < 0)
		return -1;
	expect->check_count = muster_json_size(json);
	expect->checks = muster_pool_alloc(expect->pool, (expect->check_count + 1) * sizeof *expect->checks);
	p->afters = muster_pool_alloc(expect->pool, (expect->check_count + 1) * sizeof *p->afters);
	for (const struct muster_json *m = muster_json_first(json); m; m = muster_json_next(m), at++) {
		expect->checks[at].id = muster_pool_string(expect->pool, muster_json_key(m));
		enter(p, muster_json_key(m));
		if (go_on(p, depth, read_check(p, &expect->checks[at], m)) < 0)
			return -1;
	}
	for (size_t i = 0; i < expect->check_count; i++)
		if (go_on(p, depth, resolve_after(p, i)) < 0)
			return -1;
	for (size_t i = 0; i < expect->check_count; i++) {
		size_t steps = 0;

		for (int next = expect->checks[i].after; next >= 0; next = expect->checks[next].after) {
			if (++steps <= expect->check_count)
				continue;
			enter(p, expect->checks[i].id);
			enter(p, "after");
			return complain(p, "these checks come after each other in a circle");
		}
	}
	return 0;
}

static int get_texts(struct parse *p, const struct muster_json *json, const char ***ret, size_t *ret_count)
{
	size_t at = 0;

	if (need_type(p, json, MUSTER_JSON_ARRAY) < 0)
		return -1;
	*ret = muster_pool_alloc(p->expect->pool, (muster_json_size(json) + 1) * sizeof **ret);
	for (const struct muster_json *e = muster_json_first(json); e; e = muster_json_next(e), at++) {
		size_t depth = p->depth;

		enter_element(p, at);
		if (go_on(p, depth, get_text(p, e, &(*ret)[at])) < 0)
			return -1;
	}
	*ret_count = at;
	return 0;
}

static int read_identify(struct parse *p, const struct muster_json *json)
{
	static const char *const keys[] = { "vm_size", "gpu_name", "gpu_count" };
	struct muster_expect *expect = p->expect;

	if (need_type(p, json, MUSTER_JSON_OBJECT) < 0 || only_keys(p, json, keys, COUNT(keys)) < 0)
		return -1;
	for (const struct muster_json *m = muster_json_first(json); m; m = muster_json_next(m)) {
		const char *key = muster_json_key(m);
		size_t depth = p->depth;
		int result = 0;

		enter(p, key);
		if (strcmp(key, "vm_size") == 0)
			result = get_texts(p, m, &expect->vm_sizes, &expect->vm_size_count);
		else if (strcmp(key, "gpu_name") == 0)
			result = get_texts(p, m, &expect->gpu_names, &expect->gpu_name_count);
		else if (strcmp(key, "gpu_count") == 0)
			result = get_count(p, m, &expect->gpu_count);
		if (go_on(p, depth, result) < 0)
			return -1;
	}
	return 0;
}

static int read_top(struct parse *p, const char *key, const struct muster_json *json)
{
	if (strcmp(key, "name") == 0)
		return get_text(p, json, &p->expect->name);
	if (strcmp(key, "title") == 0)
		return get_text(p, json, &p->expect->title);
	if (strcmp(key, "observe") == 0) {
		if (need_type(p, json, MUSTER_JSON_BOOLEAN) < 0)
			return -1;
		p->expect->observe = muster_json_boolean(json);
		return 0;
	}
	if (strcmp(key, "identify") == 0)
		return read_identify(p, json);
	if (strcmp(key, "checks") == 0)
		return read_checks(p, json);
	return 0; /* schema_version and extends: each file's own affair */
}

int muster_expect_parse(const struct muster_json *merged, const struct muster_layer *layers, size_t layer_count,
	struct muster_expect *expect, struct muster_problems *problems, struct muster_error *err)
{
	static const char *const keys[] = { "schema_version", "name", "title", "extends", "observe", "identify",
		"checks" };
	struct parse p = {
		.layers = layers, .layer_count = layer_count, .expect = expect, .problems = problems, .err = err
	};

	if (only_keys(&p, merged, keys, COUNT(keys)) < 0)
		return -1;
	for (const struct muster_json *m = muster_json_first(merged); m; m = muster_json_next(m)) {
		enter(&p, muster_json_key(m));
		if (go_on(&p, 0, read_top(&p, muster_json_key(m), m)) < 0)
			return -1;
	}
	if (!expect->check_count)
		return complain(&p, "no checks: a run judged by this file would always pass");
	return 0;
}
