/* SPDX-License-Identifier: Apache-2.0 */
/* certainty.c - how sure an expected value is, and what it may do: the machines on which it was seen, and lint's rule
 *
 * A threshold that was never seen on such a machine may fail a healthy one: 40 % of NVLink, measured on one host,
 * would have failed each healthy job of two. So an inferred speed only warns, and one that may fail says where it was
 * measured or published, and reaches no further. The rule is about what a file says of its own values: a site that sets
 * a limit of its own, without a certainty, knows its machines.
 *
 * Regimes of the number of nodes are one, two to eight, and more. A value measured on four nodes may fail runs of two
 * to eight, one measured on 64 nodes runs of nine to 64; `when` of the check must say so.
 */
#include "expect/parse.h"
#include "muster/finding.h"

#include <limits.h>
#include <string.h>

#define SEVERAL_MOST 8 /* nodes: 2 to 8 are one regime, more are up to as many as were measured */

/* ---- measurements ---- */

static const struct muster_field measurement_fields[] = {
	{ MUSTER_FIELD(muster_measurement, machine, TEXT), .least = 1 },
	{ MUSTER_FIELD(muster_measurement, nodes, OBJECT), .read = muster_expect_span_read, .optional = true },
	{ MUSTER_FIELD(muster_measurement, gpus, OBJECT), .read = muster_expect_span_read },
	{ MUSTER_FIELD(muster_measurement, software, TEXT), .least = 1, .optional = true },
	{ MUSTER_FIELD(muster_measurement, source, TEXT), .least = 1 },
};
static const struct muster_object_type measurement_type = MUSTER_OBJECT_TYPE(muster_measurement, measurement_fields);

int muster_measurement_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_measurement *measurement = into;
	measurement->id = muster_arena_string(r->arena, muster_json_key(json));
	return muster_object_read(r, json, &measurement_type, measurement);
}

const struct muster_measurement *muster_measurement_find(const struct muster_expect *expect, const char *id)
{
	for (size_t i = 0; id && i < expect->measurement_count; i++)
		if (strcmp(expect->measurements[i].id, id) == 0)
			return &expect->measurements[i];
	return NULL;
}

/* ---- what a value may do ---- */

/* Of a speed or a time of work: how well a part does. A count is a fact, and so is the rate of a link that its maker
 * gives and the driver reads. */
static bool is_of_pace(const struct muster_check *check)
{
	const struct muster_metric *metric = check->metric;
	const struct muster_unit_row *unit = &muster_units[metric->unit];
	bool is_rate = !metric->windows && check->certainty && strcmp(check->certainty, "specified") == 0;
	return !is_rate && muster_metric_worse(metric) != MUSTER_WORSE_NEITHER && (unit->speed || unit->time);
}

/* Whether the check holds its metric against a fixed number, and not against the run's other parts. */
static bool is_fixed(const struct muster_check *check)
{
	static const char *const names[] = { "min", "max", "warn_below", "warn_above" };
	bool found = false;
	for (size_t i = 0; i < PARSE_COUNT(names); i++)
		found = found || muster_check_operand_named(check, names[i]);
	return found && !(check->share_of && check->share_of->is_usual);
}

/* The operator by whose fixed number the check fails; NULL: none. */
static const struct muster_operand *failing(const struct muster_check *check)
{
	const struct muster_operand *min = muster_check_operand_named(check, "min");
	if (check->severity == MUSTER_SEVERITY_WARN || !is_fixed(check))
		return NULL;
	return min ? min : muster_check_operand_named(check, "max");
}

bool muster_check_only_warns(const struct muster_check *check)
{
	return is_of_pace(check) && is_fixed(check) && !failing(check) &&
	       muster_certainty_is_inferred(check->certainty);
}

/* The most nodes of the regime in which so many were measured: one, several, or as many as there were. */
static int regime_end(int nodes)
{
	return nodes == 1 ? 1 : nodes <= SEVERAL_MOST ? SEVERAL_MOST : nodes;
}

/* Whether all runs of the check are in the regime in which its value was measured; 0 is no limit. */
static bool is_within(struct muster_span when, struct muster_span seen)
{
	int low = when.min ? when.min : 1, high = when.max ? when.max : INT_MAX;
	int first = seen.min > SEVERAL_MOST ? SEVERAL_MOST + 1 : seen.min > 1 ? 2 : seen.min;
	return low >= first && (!seen.max || high <= regime_end(seen.max));
}

/* Whether the value depends on how many nodes take part. */
static bool is_of_many(const struct muster_metric *metric)
{
	return metric->scope == MUSTER_SCOPE_JOB || metric->is_exchange;
}

int muster_expect_certainty_lint(struct muster_json_reader *r)
{
	const struct muster_check *check = muster_expect_check_at(r);
	const struct muster_operand *operand = failing(check);
	if (!operand || !check->certainty || !is_of_pace(check))
		return 0;
	const struct muster_measurement *seen = check->measured;
	const char *name = operand->operator->name, *warning = strcmp(name, "min") == 0 ? "warn_below" : "warn_above";
	if (muster_certainty_is_inferred(check->certainty))
		muster_json_reader_say_member(r, name,
			"an inferred speed or time may only warn: use %s, or measure it and say where (certainty, "
			"measured_on)",
			warning);
	else if (!seen)
		muster_json_reader_say_member(
			r, name, "a speed or time that may fail needs measured_on: the id of one of \"measurements\"");
	else if (is_of_many(check->metric) && !is_within(check->when_nodes, seen->nodes))
		muster_json_reader_say_member(r, name,
			"\"when\" reaches runs of more or fewer nodes than \"%.64s\" was measured on: limit it, or "
			"use %s",
			seen->id, warning);
	else
		return 0;
	return muster_json_reader_go_on(r);
}
