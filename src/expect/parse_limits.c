/* parse_limits.c - limits of a check that contradict each other
 */
#include "expect/parse.h"

#include <stddef.h>

/* Two limits that make no sense together, and what comes of it: "8 never warns: what is below min, 9, fails". */
static const struct conflict {
	const char *key;
	unsigned int op, other_op;
	size_t limit, other; /* offsets in struct muster_check */
	bool below;          /* the limit lies below the other one; else above */
	bool or_equal;
	const char *text, *tail;
} conflicts[] = {
	{ "warn_below", MUSTER_OP_WARN_BELOW, MUSTER_OP_MIN, offsetof(struct muster_check, warn_below),
		offsetof(struct muster_check, min), true, true, "never warns: what is below min, ", ", fails" },
	{ "warn_below", MUSTER_OP_WARN_BELOW, MUSTER_OP_MAX, offsetof(struct muster_check, warn_below),
		offsetof(struct muster_check, max), false, false, "always warns: max is ", "" },
	{ "warn_below", MUSTER_OP_WARN_BELOW, MUSTER_OP_WARN_ABOVE, offsetof(struct muster_check, warn_below),
		offsetof(struct muster_check, warn_above), false, false, "is above warn_above, ",
		": every value warns" },
	{ "warn_above", MUSTER_OP_WARN_ABOVE, MUSTER_OP_MAX, offsetof(struct muster_check, warn_above),
		offsetof(struct muster_check, max), false, true, "never warns: what is above max, ", ", fails" },
	{ "warn_above", MUSTER_OP_WARN_ABOVE, MUSTER_OP_MIN, offsetof(struct muster_check, warn_above),
		offsetof(struct muster_check, min), true, false, "always warns: min is ", "" },
};

static double limit_at(const struct muster_check *check, size_t offset)
{
	return *(const double *)((const char *)check + offset);
}

static int conflict_check(struct muster_expect_parser *p, const struct conflict *conflict)
{
	const struct muster_check *check = p->check;
	double limit = limit_at(check, conflict->limit), other = limit_at(check, conflict->other);
	double beyond = conflict->below ? other - limit : limit - other;

	if (!(check->operators & conflict->op) || !(check->operators & conflict->other_op) || beyond < 0 ||
		(!conflict->or_equal && beyond <= 0))
		return 0;
	muster_expect_parse_enter(p, conflict->key);
	return muster_expect_parse_complain(p, "%g %s%g%s", limit, conflict->text, other, conflict->tail);
}

static bool outside(struct muster_value value, const struct muster_check *check)
{
	return value.type == MUSTER_NUMBER && ((check->operators & MUSTER_OP_MIN && value.number < check->min) ||
						      (check->operators & MUSTER_OP_MAX && value.number > check->max));
}

int muster_expect_parse_limits_check(struct muster_expect_parser *p)
{
	const struct muster_check *check = p->check;
	size_t depth = p->depth;

	for (size_t i = 0; i < PARSE_COUNT(conflicts); i++)
		if (muster_expect_parse_go_on(p, depth, conflict_check(p, &conflicts[i])) < 0)
			return -1;
	if (check->operators & MUSTER_OP_EQUALS && outside(check->equals, check)) {
		muster_expect_parse_enter(p, "equals");
		return muster_expect_parse_go_on(
			p, depth, muster_expect_parse_complain(p, "%g is outside min and max", check->equals.number));
	}
	for (size_t i = 0; i < check->one_of_count; i++) {
		if (!outside(check->one_of[i], check))
			continue;
		muster_expect_parse_enter(p, "one_of");
		muster_expect_parse_enter_element(p, i);
		if (muster_expect_parse_go_on(p, depth,
			    muster_expect_parse_complain(p, "%g is outside min and max", check->one_of[i].number)) < 0)
			return -1;
	}
	return 0;
}
