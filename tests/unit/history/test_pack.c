/* SPDX-License-Identifier: Apache-2.0 */
/* test_pack.c - numbers as few bytes, and back */
#include "check_main.h"

#include "history/pack.h"

#include <math.h>
#include <string.h>

static const struct {
	double values[4];
	size_t count, bytes;
	double loss; /* as a share */
} cases[] = {
	{ { 0, 1, -1, 127 }, 4, 1 + 4, 0 },
	{ { 0, 128 }, 2, 1 + 4, 0 },
	{ { -32768, 32767 }, 2, 1 + 8, 0 },
	{ { 0, 40000 }, 2, 1 + 8, 0 },
	{ { 0, -2147483647 }, 2, 1 + 8, 0 },
	{ { 0, 4294967296 }, 2, 1 + 16, 0 },
	{ { 26.1, 26.25, 0, 7 }, 4, 1 + 16, 1e-7 },
	/* a whole number that a float cannot hold */
	{ { 0.5, 16777217 }, 2, 1 + 16, 0 },
	{ { 0.5, 16777216 }, 2, 1 + 8, 0 },
	/* too small or too large for a float */
	{ { 1e-300, 1 }, 2, 1 + 16, 0 },
	{ { 1.5e300, 1 }, 2, 1 + 16, 0 },
};

TEST_EACH(numbers_come_back_from_few_bytes, cases)
{
	unsigned char bytes[MUSTER_PACK_SIZE(4)];
	double back[4];
	size_t length = muster_pack(cases[_i].values, cases[_i].count, bytes);
	ck_assert_uint_eq(length, cases[_i].bytes);
	ck_assert(muster_unpack(bytes, length, back, cases[_i].count));
	for (size_t i = 0; i < cases[_i].count; i++)
		ck_assert_msg(fabs(back[i] - cases[_i].values[i]) <= cases[_i].loss * fabs(cases[_i].values[i]),
			"%.17g came back as %.17g", cases[_i].values[i], back[i]);
}

TEST(bytes_of_a_form_are_the_same_everywhere)
{
	static const double values[] = { 1, -300 };
	unsigned char bytes[MUSTER_PACK_SIZE(2)];
	ck_assert_uint_eq(muster_pack(values, 2, bytes), 5);
	ck_assert_mem_eq(bytes, "\x02\x01\x00\xd4\xfe", 5);
}

static const struct {
	const char *bytes;
	size_t length, count;
} bad[] = {
	{ "", 0, 0 },
	{ "", 0, 1 },
	{ "\x03\x01", 2, 1 },         /* no form */
	{ "\x01\x01", 2, 2 },         /* too few */
	{ "\x01\x01\x02", 3, 1 },     /* too many */
	{ "\x02\x01\x02\x03", 4, 2 }, /* not a whole number of numbers */
	{ "\x05\0\0\x80\x7f", 5, 1 }, /* infinite */
	{ "\x08\0\0\0\0\0\0\xf8\x7f", 9, 1 },
};

TEST_EACH(other_bytes_are_refused, bad)
{
	double back[2];
	ck_assert(!muster_unpack((const unsigned char *)bad[_i].bytes, bad[_i].length, back, bad[_i].count));
}

TEST(one_number_is_told_from_several)
{
	ck_assert(muster_pack_is_one((const double[]){ 2.5 }, 1));
	ck_assert(muster_pack_is_one((const double[]){ 2.5, 2.5, 2.5 }, 3));
	ck_assert(!muster_pack_is_one((const double[]){ 2.5, 2.5, 2.4 }, 3));
}

TEST_MAIN(.setup = NULL)
