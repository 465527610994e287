/* SPDX-License-Identifier: Apache-2.0 */
/* test_thin.c - a part of many reports: all when they are few, else blocks that are spread over each side */
#include "history/thin.h"

#include "check_main.h"

#include <string.h>

enum { ITEMS = 1000 };

static struct muster_thin_item items[ITEMS];

/* Items before `split` are of the first side; each third one is not wanted when `gaps` is set. */
static void fill(size_t split, bool gaps)
{
	for (size_t i = 0; i < ITEMS; i++)
		items[i] = (struct muster_thin_item){ .wanted = !gaps || i % 3, .second = i >= split };
}

static size_t count(size_t from, size_t to)
{
	size_t wanted = 0;
	for (size_t i = from; i < to; i++)
		wanted += items[i].wanted;
	return wanted;
}

static const struct {
	size_t split, most, first, second;
	bool gaps;
} cases[] = {
	{ 500, 1000, 500, 500, false }, /* few enough */
	{ 0, 100, 0, 100, false },      /* one side */
	{ 500, 100, 50, 50, false },
	{ 980, 100, 80, 20, false }, /* the other side has more room */
	{ 10, 100, 10, 90, false },
	{ 1000, 100, 100, 0, false },
	{ 500, 100, 50, 50, true }, /* what is not wanted does not count */
	{ 500, 10, 5, 5, false },
};

TEST_EACH(each_side_keeps_its_share, cases)
{
	fill(cases[_i].split, cases[_i].gaps);
	ck_assert_uint_eq(muster_thin(items, ITEMS, cases[_i].most), cases[_i].first + cases[_i].second);
	ck_assert_uint_eq(count(0, cases[_i].split), cases[_i].first);
	ck_assert_uint_eq(count(cases[_i].split, ITEMS), cases[_i].second);
}

TEST(blocks_are_at_both_ends_and_between)
{
	size_t blocks = 0;
	fill(0, false);
	ck_assert_uint_eq(muster_thin(items, ITEMS, 100), 100);
	ck_assert_uint_eq(count(0, 20), 20);
	ck_assert_uint_eq(count(ITEMS - 20, ITEMS), 20);
	ck_assert_uint_eq(count(490, 510), 20);
	for (size_t i = 0; i < ITEMS; i++)
		blocks += items[i].wanted && (i == 0 || !items[i - 1].wanted);
	ck_assert_uint_eq(blocks, MUSTER_THIN_BLOCKS);
}

TEST_MAIN(.setup = NULL)
