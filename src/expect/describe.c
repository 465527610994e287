/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c - values, expectations, short lists of ranks and nodes as people read them
 *
 * Rows of operators.c have the words of their operator; this file puts them together, in the order of the rows.
 *
 * A check has { "min": 21, "warn_below": 24, "when": { "nodes": { "min": 2 }, "profile": "full" }, "optional": true }:
 *   expected    "at least 21 GB/s (warning below 24)"
 *   runs        "2 nodes or more, profile full"
 *   otherwise   "fail; skipped if it cannot be measured"
 *   when        "only for runs of 2 nodes or more (this run has 1)"; NULL on two nodes
 */
#include "expect/describe.h"
#include "muster/probe.h"
#include "muster/run_data.h"

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

/* Operators that share a describe function are described together, by one call for the first of them. */
const char *muster_describe_expected(
	const struct muster_check *check, const struct muster_others *others, struct muster_arena *arena)
{
	const char *text = "";
	for (size_t i = 0; i < check->operand_count; i++) {
		const struct muster_question question = {
			.check = check, .operand = &check->operands[i], .others = others, .arena = arena
		};
		const char *part;
		size_t first = 0;
		while (check->operands[first].operator->describe != check->operands[i].operator->describe)
			first++;
		part = first == i ? check->operands[i].operator->describe(&question) : "";
		if (*part)
			text = muster_arena_printf(arena, "%s%s%s", text, *text ? ", " : "", part);
	}
	return text;
}

const char *muster_describe_where(const struct muster_check *check, struct muster_arena *arena)
{
	const char *text = "";
	for (size_t i = 0; i < check->where_count + check->limit_where_count; i++) {
		bool own = i < check->where_count;
		const struct muster_label *label = own ? &check->where[i] : &check->limit_where[i - check->where_count];
		text = muster_arena_printf(arena, "%s%s%s%s %s", text, i ? ", " : " where ", own ? "" : "limit's ",
			label->key, muster_describe_value(label->value, arena));
	}
	return text;
}

const char *muster_describe_otherwise(const struct muster_check *check, struct muster_arena *arena)
{
	return muster_arena_printf(arena, "%s%s",
		muster_check_operand(check, MUSTER_OF_NOTHING) ? "cannot fail"
		: muster_check_only_warns(check)               ? "warn; cannot fail: the value is inferred"
		: check->severity == MUSTER_SEVERITY_WARN      ? "warn"
							       : "fail",
		check->optional ? "; skipped if it cannot be measured" : "");
}

/* ---- when ---- */

static const char *span_text(struct muster_span span, const char *what, struct muster_arena *arena)
{
	if (span.min == span.max)
		return muster_arena_printf(arena, "%d %s%s", span.min, what, span.min == 1 ? "" : "s");
	if (!span.max)
		return muster_arena_printf(arena, "%d %s%s or more", span.min, what, span.min == 1 ? "" : "s");
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

/* The first thing that the check needs and that is not among these measures (bits of enum muster_measure); NULL. */
static const char *not_measured(const struct muster_check *check, int measures)
{
	for (size_t i = 0; i < MUSTER_MEASURE_COUNT; i++)
		if (check->when_measures & ~measures & 1 << i)
			return muster_measure_names[i];
	return NULL;
}

const char *muster_describe_runs(const struct muster_check *check, struct muster_arena *arena)
{
	const char *parts[SIZES + 2], *text = "";
	size_t count = 0;
	for (size_t i = 0; i < SIZES; i++) {
		struct muster_span span = span_of(check, i);
		if (span.min || span.max)
			parts[count++] = span_text(span, size_names[i], arena);
	}
	if (check->when_profiles)
		parts[count++] = muster_arena_printf(arena, "profile %s", profiles_text(check->when_profiles, arena));
	if (check->when_measures)
		parts[count++] = muster_arena_printf(arena, "with %s", not_measured(check, 0));
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
			return muster_arena_printf(arena, "only for runs of %s (this run has %zu)",
				span_text(span_of(check, i), size_names[i], arena), has[i]);
	if (check->when_profiles && !profile_fits(check->when_profiles, run->job.profile))
		return muster_arena_printf(arena, "only for profile %s (this run has %s)",
			profiles_text(check->when_profiles, arena), run->job.profile ? run->job.profile : "none");
	const char *missing = not_measured(check, run->job.measures);
	if (missing)
		return muster_arena_printf(arena, "only for runs that measure %s", missing);
	return NULL;
}

/* ---- short lists ---- */

/* Ranks one after the other become a range, also two of them: "0-1,5". The ranks are ascending. */
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

/* A node's name as its stem and the number at its end; digits is 0 when there is none, or when there are over nine. */
struct name_parts {
	size_t stem, digits; /* bytes of both */
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

/* Whether node b follows node a: the same stem, the number one higher, padded in the same way. gpu-9 and gpu-10 follow
 * each other, gpu-09 and gpu-10 too, but not gpu-09 and gpu-010. */
static bool follows(const char *a, const char *b)
{
	struct name_parts x = name_split(a), y = name_split(b);
	bool padded = (x.digits > 1 && a[x.stem] == '0') || (y.digits > 1 && b[y.stem] == '0');
	return x.digits && y.digits && x.stem == y.stem && strncmp(a, b, x.stem) == 0 && y.number == x.number + 1 &&
	       (x.digits == y.digits || !padded);
}

/* Only neighbours in the list are joined: the order of the nodes stays. */
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

const char *muster_describe_measured_on(const struct muster_check *check, struct muster_arena *arena)
{
	const struct muster_measurement *seen = check->measured;
	if (!seen)
		return check->measured_on;
	return muster_arena_printf(arena, "%s: %s%s%s%s%s (%s)", seen->machine,
		seen->nodes.min ? span_text(seen->nodes, "node", arena) : "", seen->nodes.min ? ", " : "",
		span_text(seen->gpus, "GPU", arena), seen->software ? ", " : "", seen->software ? seen->software : "",
		seen->source);
}
