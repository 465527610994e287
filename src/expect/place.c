/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - the place of checks without `after` in the order of evaluation: checks of baselines and of outliers
 *
 * Such a check bounds a metric more tightly than the checks of the machine type do. Its place is right after the last
 * of these checks, and before the checks that named this last check in their `after`: then one cause has one finding,
 * whichever check sees the cause first.
 *
 * An example: copy.d2h is after copy.h2d (min 21), and a baseline adds baseline.gpu.h2d_gbps. This check is placed
 * between the two: baseline.gpu.h2d_gbps is after copy.h2d, and copy.d2h after baseline.gpu.h2d_gbps. Of one GPU, a
 * copy of 11 fails copy.h2d, which blocks the other two. A copy of 22 passes copy.h2d and fails the baseline, which
 * blocks copy.d2h. Only checks of the same kind of place are moved so: a metric of the job keeps what its file names.
 */
#include "expect/parse.h"

#include <string.h>

static bool gives_way(const struct muster_check *check)
{
	for (size_t i = 0; i < check->operand_count; i++)
		if (check->operands[i].operator->gives_way)
			return true;
	return false;
}

/* Whether no sample can have the labels of both. */
static bool labels_differ(const struct muster_check *a, const struct muster_check *b)
{
	for (size_t i = 0; i < a->where_count; i++)
		for (size_t j = 0; j < b->where_count; j++)
			if (strcmp(a->where[i].key, b->where[j].key) == 0 &&
				!muster_value_equal(a->where[i].value, b->where[j].value))
				return true;
	return false;
}

static bool spans_differ(struct muster_span a, struct muster_span b)
{
	return (a.max && b.min > a.max) || (b.max && a.min > b.max);
}

/* Whether one sample can be a sample of both, in one run. */
static bool meet(const struct muster_check *a, const struct muster_check *b)
{
	bool same_profile = !a->when_profiles || !b->when_profiles || (a->when_profiles & b->when_profiles);
	return a->metric == b->metric && same_profile && !labels_differ(a, b) &&
	       !spans_differ(a->when_nodes, b->when_nodes) && !spans_differ(a->when_ranks, b->when_ranks) &&
	       !spans_differ(a->when_domains, b->when_domains);
}

/* Whether the check follows the other one in the chain of what it comes after. */
static bool follows(const struct muster_expect *expect, int check, int other)
{
	size_t steps = 0;
	while (check >= 0 && check != other && steps++ < expect->check_count)
		check = expect->checks[check].after;
	return check == other;
}

static bool is_learned(const struct muster_check *check)
{
	return check->baseline.count > 0;
}

/* The last check that the one at `at` can share a sample with; -1 for none. Checks of outliers come after those of
 * baselines. */
static int find_last(const struct muster_expect *expect, size_t at)
{
	const struct muster_check *checks = expect->checks;
	int last = -1;
	for (size_t i = 0; i < expect->check_count; i++) {
		bool counts = i != at && meet(&checks[i], &checks[at]) && !follows(expect, (int)i, (int)at) &&
			      (!gives_way(&checks[i]) || (is_learned(&checks[i]) && !is_learned(&checks[at])));
		if (counts && (last < 0 || !follows(expect, last, (int)i)))
			last = (int)i;
	}
	return last;
}

static bool of_rank(const struct muster_metric *metric)
{
	return metric->scope == MUSTER_SCOPE_RANK || metric->scope == MUSTER_SCOPE_GPU;
}

static void place(struct muster_expect *expect, size_t at)
{
	struct muster_check *checks = expect->checks, *check = &checks[at];
	const struct muster_metric *metric = check->metric, *other;
	int last = find_last(expect, at);
	if (last < 0)
		return;
	for (size_t i = 0; i < expect->check_count; i++) {
		other = checks[i].metric;
		if (checks[i].after == last && metric && other && other != metric &&
			(other->scope == metric->scope || (of_rank(other) && of_rank(metric))))
			checks[i].after = (int)at;
	}
	check->after = last;
}

void muster_expect_place(struct muster_expect *expect)
{
	static const bool rounds[] = { true, false }; /* baselines, then outliers */
	for (size_t round = 0; round < PARSE_COUNT(rounds); round++)
		for (size_t i = 0; i < expect->check_count; i++) {
			const struct muster_check *check = &expect->checks[i];
			if (!check->after_id && gives_way(check) && is_learned(check) == rounds[round])
				place(expect, i);
		}
}
