/* describe.c - what people read: expectations, values, advice, short lists of ranks and nodes
 */
#include "eval/eval.h"
#include "muster/probe.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *muster_describe_value(struct muster_value value, struct muster_arena *arena)
{
	char text[512];

	if (value.type == MUSTER_STRING)
		return *value.string ? muster_arena_string(arena, value.string) : "\"\"";
	return muster_arena_string(arena, muster_value_text(value, text, sizeof text));
}

const char *muster_describe_with_unit(struct muster_value value, const char *unit, struct muster_arena *arena)
{
	const char *text = muster_describe_value(value, arena);

	return *unit ? muster_arena_printf(arena, "%s %s", text, unit) : text;
}

static const char *number_text(double number, struct muster_arena *arena)
{
	return muster_describe_value(muster_number(number), arena);
}

/* "at least 21 GB/s (warning below 24)" */
static const char *limits_text(const struct muster_check *check, struct muster_arena *arena)
{
	const char *unit = check->metric->unit, *limits = "", *warn = "";
	const char *blank = *unit ? " " : "";
	unsigned int ops = check->operators;

	if (ops & MUSTER_OP_MIN && ops & MUSTER_OP_MAX)
		limits = muster_arena_printf(arena, "from %s to %s%s%s", number_text(check->min, arena),
			number_text(check->max, arena), blank, unit);
	else if (ops & MUSTER_OP_MIN)
		limits = muster_arena_printf(arena, "at least %s%s%s", number_text(check->min, arena), blank, unit);
	else if (ops & MUSTER_OP_MAX)
		limits = muster_arena_printf(arena, "at most %s%s%s", number_text(check->max, arena), blank, unit);
	if (ops & MUSTER_OP_WARN_BELOW && ops & MUSTER_OP_WARN_ABOVE)
		warn = muster_arena_printf(arena, "warning below %s and above %s",
			number_text(check->warn_below, arena), number_text(check->warn_above, arena));
	else if (ops & MUSTER_OP_WARN_BELOW)
		warn = muster_arena_printf(arena, "warning below %s", number_text(check->warn_below, arena));
	else if (ops & MUSTER_OP_WARN_ABOVE)
		warn = muster_arena_printf(arena, "warning above %s", number_text(check->warn_above, arena));
	if (*limits && *warn)
		return muster_arena_printf(arena, "%s (%s)", limits, warn);
	return *limits ? limits : *warn ? muster_arena_printf(arena, "%s%s%s", warn, blank, unit) : "";
}

static const char *one_of_text(const struct muster_check *check, struct muster_arena *arena)
{
	const char *text = "";

	for (size_t i = 0; i < check->one_of_count && i < MUSTER_LIST_MOST; i++)
		text = muster_arena_printf(arena, "%s%s%s", text, i ? ", " : "",
			muster_describe_with_unit(check->one_of[i], check->metric->unit, arena));
	if (check->one_of_count > MUSTER_LIST_MOST)
		text = muster_arena_printf(arena, "%s and %zu more", text, check->one_of_count - MUSTER_LIST_MOST);
	return check->one_of_count == 1 ? text : muster_arena_printf(arena, "one of %s", text);
}

/* "at least 85 % of the run's median 25.9 GB/s, 22.02" */
static const char *median_text(
	const struct muster_check *check, const struct muster_median *median, struct muster_arena *arena)
{
	const char *low = number_text(check->min_of_median * 100, arena);
	const char *high = number_text(check->max_of_median * 100, arena), *shares;
	unsigned int ops = check->operators & MUSTER_OPS_OF_MEDIAN;

	if (ops == MUSTER_OPS_OF_MEDIAN)
		shares = muster_arena_printf(arena, "from %s to %s %% of the run's median", low, high);
	else if (ops & MUSTER_OP_MIN_OF_MEDIAN)
		shares = muster_arena_printf(arena, "at least %s %% of the run's median", low);
	else
		shares = muster_arena_printf(arena, "at most %s %% of the run's median", high);
	if (!median)
		return shares;
	if (median->why_none)
		return muster_arena_printf(arena, "%s (untold: %s)", shares, median->why_none);
	low = number_text(check->min_of_median * median->value, arena);
	high = number_text(check->max_of_median * median->value, arena);
	return muster_arena_printf(arena, "%s %s, %s%s%s", shares,
		muster_describe_with_unit(muster_number(median->value), check->metric->unit, arena),
		ops & MUSTER_OP_MIN_OF_MEDIAN ? low : high, ops == MUSTER_OPS_OF_MEDIAN ? " to " : "",
		ops == MUSTER_OPS_OF_MEDIAN ? high : "");
}

/* "the same on all nodes within each cluster" */
static const char *across_text(const struct muster_check *check, struct muster_arena *arena)
{
	const char *who = check->across == MUSTER_ACROSS_NODES ? "nodes" : "ranks";

	return muster_arena_printf(arena, "the same on all %s%s%s", who, check->within ? " within each " : "",
		check->within ? check->within : "");
}

const char *muster_describe_expected(
	const struct muster_check *check, const struct muster_median *median, struct muster_arena *arena)
{
	const char *parts[8], *text = "";
	unsigned int ops = check->operators;
	size_t count = 0;

	if (ops & MUSTER_OP_EQUALS)
		parts[count++] = muster_describe_with_unit(check->equals, check->metric->unit, arena);
	if (ops & MUSTER_OP_ONE_OF)
		parts[count++] = one_of_text(check, arena);
	if (ops & MUSTER_OP_MATCHES)
		parts[count++] = check->in_words ? check->in_words
						 : muster_arena_printf(arena, "text that matches %s", check->matches);
	if (ops & (MUSTER_OP_MIN | MUSTER_OP_MAX | MUSTER_OP_WARN_BELOW | MUSTER_OP_WARN_ABOVE))
		parts[count++] = limits_text(check, arena);
	if (ops & MUSTER_OP_EQUALS_BY)
		parts[count++] = muster_arena_printf(arena, "as listed for each %s", check->by_label);
	if (ops & MUSTER_OPS_OF_MEDIAN)
		parts[count++] = median_text(check, median, arena);
	if (ops & MUSTER_OP_OBSERVE)
		parts[count++] = "any value, no floor is set";
	if (ops & MUSTER_OP_SAME_ACROSS)
		parts[count++] = across_text(check, arena);
	else if (ops == MUSTER_OP_PRESENT)
		parts[count++] = check->present ? "present" : "not present";
	for (size_t i = 0; i < count; i++)
		text = muster_arena_printf(arena, "%s%s%s", text, i ? ", " : "", parts[i]);
	return text;
}

/* ---- advice ---- */

/* False when both samples carry a label and differ in it: the candidate is about another GPU, port or size. */
static bool about_the_same(const struct muster_sample *candidate, const struct muster_finding *finding)
{
	for (size_t i = 0; i < candidate->label_count; i++) {
		const struct muster_label *label = &candidate->labels[i];

		for (size_t j = 0; j < finding->label_count; j++)
			if (strcmp(label->key, finding->labels[j].key) == 0 &&
				!muster_value_equal(label->value, finding->labels[j].value))
				return false;
	}
	return true;
}

static const struct muster_sample *sample_find(
	const struct muster_samples *samples, const struct muster_metric *metric, const struct muster_finding *finding)
{
	for (size_t i = 0; i < samples->count; i++)
		if (samples->items[i].metric == metric && about_the_same(&samples->items[i], finding))
			return &samples->items[i];
	return NULL;
}

/* The metric's value for what the finding is about: on the same rank, else the same node, else the whole job. */
static const char *placeholder_metric(const struct muster_eval *eval, const char *name,
	const struct muster_finding *finding, uint32_t node, uint32_t rank)
{
	const struct muster_run *run = eval->run;
	const struct muster_metric *metric = muster_metric_find(name);
	const struct muster_sample *sample = NULL;

	if (!metric)
		return "?";
	if (node != MUSTER_NOWHERE && rank != MUSTER_NOWHERE)
		sample = sample_find(&run->nodes[node].ranks[rank].samples, metric, finding);
	if (!sample && node != MUSTER_NOWHERE)
		sample = sample_find(&run->nodes[node].samples, metric, finding);
	if (!sample)
		sample = sample_find(&run->job.samples, metric, finding);
	if (!sample || sample->value.type == MUSTER_NULL)
		return "?";
	return muster_describe_value(sample->value, eval->report->arena);
}

static const char *placeholder(const struct muster_eval *eval, const char *name, const struct muster_finding *finding,
	uint32_t node, uint32_t rank)
{
	const char *value = NULL;

	if (strcmp(name, "node") == 0)
		value = finding->node;
	else if (strcmp(name, "gpu") == 0)
		value = finding->gpu;
	else if (strcmp(name, "port") == 0)
		value = finding->port;
	else if (strcmp(name, "rank") == 0)
		value = finding->rank < 0 ? NULL : number_text(finding->rank, eval->report->arena);
	else
		value = placeholder_metric(eval, name, finding, node, rank);
	return value ? value : "?";
}

const char *muster_describe_advice(const struct muster_eval *eval, const char *advice,
	const struct muster_finding *finding, uint32_t node, uint32_t rank)
{
	struct muster_arena *arena = eval->report->arena;
	const char *text = "", *open, *close;

	while ((open = strstr(advice, "${")) && (close = strchr(open, '}'))) {
		const char *name = muster_arena_string_n(arena, open + 2, (size_t)(close - open) - 2);

		text = muster_arena_printf(arena, "%s%.*s%s", text, (int)(open - advice), advice,
			placeholder(eval, name, finding, node, rank));
		advice = close + 1;
	}
	return muster_arena_printf(arena, "%s%s", text, advice);
}

/* ---- short lists ---- */

const char *muster_describe_ranks(const int *ranks, size_t count, struct muster_arena *arena)
{
	const char *text = "";
	size_t parts = 0;

	for (size_t i = 0, last; i < count; i = last + 1) {
		for (last = i; last + 1 < count && ranks[last + 1] == ranks[last] + 1;)
			last++;
		if (++parts > MUSTER_LIST_MOST)
			return muster_arena_printf(arena, "%s and %zu more", text, count - i);
		text = muster_arena_printf(arena, "%s%s%d", text, i ? "," : "", ranks[i]);
		if (last > i)
			text = muster_arena_printf(arena, "%s-%d", text, ranks[last]);
	}
	return text;
}

/* A node's name as its stem and the number at its end; digits is 0 when there is none, or when it is too long. */
struct name_parts {
	size_t stem, digits;
	unsigned long number;
};

static struct name_parts name_split(const char *name)
{
	struct name_parts parts = { .stem = strlen(name) };

	while (parts.stem > 0 && isdigit((unsigned char)name[parts.stem - 1]))
		parts.stem--;
	parts.digits = strlen(name + parts.stem);
	if (parts.digits > 9) {
		parts.stem += parts.digits;
		parts.digits = 0;
	}
	if (parts.digits)
		parts.number = strtoul(name + parts.stem, NULL, 10);
	return parts;
}

/* Node b follows node a: the same stem, the number one higher, padded in the same way. */
static bool follows(const char *a, const char *b)
{
	struct name_parts x = name_split(a), y = name_split(b);
	bool padded = (x.digits > 1 && a[x.stem] == '0') || (y.digits > 1 && b[y.stem] == '0');

	return x.digits && y.digits && x.stem == y.stem && strncmp(a, b, x.stem) == 0 && y.number == x.number + 1 &&
	       (x.digits == y.digits || !padded);
}

const char *muster_describe_nodes(const char *const *names, size_t count, struct muster_arena *arena)
{
	const char *text = "";
	size_t parts = 0;

	for (size_t i = 0, last; i < count; i = last + 1) {
		for (last = i; last + 1 < count && follows(names[last], names[last + 1]);)
			last++;
		if (++parts > MUSTER_LIST_MOST)
			return muster_arena_printf(arena, "%s and %zu more", text, count - i);
		if (last - i < 2) { /* two names side by side read better than a range */
			text = muster_arena_printf(arena, "%s%s%s", text, i ? ", " : "", names[i]);
			last = i;
		} else {
			size_t stem = name_split(names[i]).stem;

			text = muster_arena_printf(arena, "%s%s%.*s[%s-%s]", text, i ? ", " : "", (int)stem, names[i],
				names[i] + stem, names[last] + name_split(names[last]).stem);
		}
	}
	return text;
}

/* ---- when ---- */

static const char *span_text(struct muster_span span, const char *what, struct muster_arena *arena)
{
	if (span.min == span.max)
		return muster_arena_printf(arena, "%d %s%s", span.min, what, span.min == 1 ? "" : "s");
	if (!span.max)
		return muster_arena_printf(arena, "%d %ss or more", span.min, what);
	if (!span.min)
		return muster_arena_printf(arena, "at most %d %s%s", span.max, what, span.max == 1 ? "" : "s");
	return muster_arena_printf(arena, "%d to %d %ss", span.min, span.max, what);
}

static bool in_span(size_t value, struct muster_span span)
{
	return (!span.min || value >= (size_t)span.min) && (!span.max || value <= (size_t)span.max);
}

static const char *profiles_text(unsigned int profiles, struct muster_arena *arena)
{
	const char *text = "";

	for (size_t i = 0; i < MUSTER_PROFILE_COUNT; i++)
		if (profiles & 1u << i)
			text = muster_arena_printf(arena, "%s%s%s", text, *text ? " or " : "", muster_profile_names[i]);
	return text;
}

static bool profile_fits(unsigned int profiles, const char *profile)
{
	for (size_t i = 0; profile && i < MUSTER_PROFILE_COUNT; i++)
		if (profiles & 1u << i && strcmp(profile, muster_profile_names[i]) == 0)
			return true;
	return false;
}

/* What a run has that a check may ask for. */
enum { NODES, RANKS, DOMAINS, SIZES };
static const char *const size_names[SIZES] = { "node", "rank", "NVLink domain" };

static struct muster_span span_of(const struct muster_check *check, size_t size)
{
	return size == NODES ? check->when_nodes : size == RANKS ? check->when_ranks : check->when_domains;
}

const char *muster_describe_runs(const struct muster_check *check, struct muster_arena *arena)
{
	const char *parts[SIZES + 1], *text = "";
	size_t count = 0;

	for (size_t i = 0; i < SIZES; i++) {
		struct muster_span span = span_of(check, i);

		if (span.min || span.max)
			parts[count++] = span_text(span, size_names[i], arena);
	}
	if (check->when_profiles)
		parts[count++] = muster_arena_printf(arena, "profile %s", profiles_text(check->when_profiles, arena));
	for (size_t i = 0; i < count; i++)
		text = muster_arena_printf(arena, "%s%s%s", text, i ? ", " : "", parts[i]);
	return text;
}

const char *muster_describe_when(
	const struct muster_check *check, const struct muster_run *run, size_t domains, struct muster_arena *arena)
{
	const size_t has[SIZES] = { muster_run_known_nodes(run), (size_t)run->job.ranks, domains };

	for (size_t i = 0; i < SIZES; i++)
		if (!in_span(has[i], span_of(check, i)))
			return muster_arena_printf(arena, "for runs of %s, this one has %zu",
				span_text(span_of(check, i), size_names[i], arena), has[i]);
	if (check->when_profiles && !profile_fits(check->when_profiles, run->job.profile))
		return muster_arena_printf(arena, "for profile %s, this run has %s",
			profiles_text(check->when_profiles, arena), run->job.profile ? run->job.profile : "none");
	return NULL;
}
