/* SPDX-License-Identifier: Apache-2.0 */
/* test_cpuset.c - the texts of CPU sets: what is taken, what is not, and how a set is printed */
#include "util/cpuset.h"

#include "check_main.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef hwloc_bitmap_t parser(const char *text, struct muster_error *err);

static const struct {
	parser *parse;
	const char *text, *list, *mask; /* NULL: an error */
} texts[] = {
	{ muster_cpuset_parse_mask, "ffffff000000", "24-47", "ffffff000000" },
	{ muster_cpuset_parse_mask, "0xFFFFFF000000000000000000", "72-95", "ffffff000000000000000000" },
	{ muster_cpuset_parse_mask, "0X1", "0", "1" },
	{ muster_cpuset_parse_mask, "00010000000000000000", "64", "10000000000000000" },
	{ muster_cpuset_parse_mask, "10d", "0,2-3,8", "10d" }, { muster_cpuset_parse_mask, "0", "", "0" },
	{ muster_cpuset_parse_mask, "", NULL, NULL }, { muster_cpuset_parse_mask, "0x", NULL, NULL },
	{ muster_cpuset_parse_mask, "0xg", NULL, NULL }, { muster_cpuset_parse_mask, "f f", NULL, NULL },
	{ muster_cpuset_parse_mask, "-1", NULL, NULL },
	{ muster_cpuset_parse_mask, "0xf...f", NULL, NULL }, /* hwloc's text of an infinite set */
	{ muster_cpuset_parse_mask, "0x0x1", NULL, NULL }, { muster_cpuset_parse_list, "0-3,8", "0-3,8", "10f" },
	{ muster_cpuset_parse_list, "8,0-3", "0-3,8", "10f" }, { muster_cpuset_parse_list, "0,1,2", "0-2", "7" },
	{ muster_cpuset_parse_list, "010", "10", "400" }, /* decimal, not octal */
	{ muster_cpuset_parse_list, "", "", "0" }, { muster_cpuset_parse_list, "4095", "4095", NULL },
	{ muster_cpuset_parse_list, "4096", NULL, NULL }, { muster_cpuset_parse_list, "0-4096", NULL, NULL },
	{ muster_cpuset_parse_list, "3-1", NULL, NULL },
	{ muster_cpuset_parse_list, "3-", NULL, NULL }, /* to hwloc, all from 3 on */
	{ muster_cpuset_parse_list, "-3", NULL, NULL }, { muster_cpuset_parse_list, "1,", NULL, NULL },
	{ muster_cpuset_parse_list, ",1", NULL, NULL }, { muster_cpuset_parse_list, "1 2", NULL, NULL },
	{ muster_cpuset_parse_list, "1-2-3", NULL, NULL }, { muster_cpuset_parse_list, "0x1", NULL, NULL },
	{ muster_cpuset_parse_list, "18446744073709551616", NULL, NULL },
	{ muster_cpuset_parse_words, "0000ffff,ff000000", "24-47", "ffffff000000" },
	{ muster_cpuset_parse_words, "ffffff00,00000000,00000000", "72-95", "ffffff000000000000000000" },
	{ muster_cpuset_parse_words, "f", "0-3", "f" }, { muster_cpuset_parse_words, "1,F", "0-3,32", "10000000f" },
	{ muster_cpuset_parse_words, "00000000,00000000", "", "0" }, { muster_cpuset_parse_words, "", NULL, NULL },
	{ muster_cpuset_parse_words, ",", NULL, NULL }, { muster_cpuset_parse_words, "ff,", NULL, NULL },
	{ muster_cpuset_parse_words, ",ff", NULL, NULL }, { muster_cpuset_parse_words, "0x0f", NULL, NULL },
	{ muster_cpuset_parse_words, "-1", NULL, NULL }, { muster_cpuset_parse_words, " f", NULL, NULL },
	{ muster_cpuset_parse_words, "000000001", NULL, NULL }, /* a digit too many in a word */
};

TEST_EACH(a_text_is_taken_whole_or_not_at_all, texts)
{
	struct muster_error err = { 0 };
	hwloc_bitmap_t set = texts[_i].parse(texts[_i].text, &err);
	if (!texts[_i].list) {
		ck_assert_msg(!set, "\"%s\"", texts[_i].text);
		ck_assert_int_eq(err.code, MUSTER_EUSAGE);
		return;
	}
	ck_assert_msg(set != NULL, "\"%s\": %s", texts[_i].text, err.text);
	char *list = muster_cpuset_list(set), *mask = muster_cpuset_mask(set);
	ck_assert_str_eq(list, texts[_i].list);
	if (texts[_i].mask)
		ck_assert_str_eq(mask, texts[_i].mask);
	free(list);
	free(mask);
	hwloc_bitmap_free(set);
}

TEST(a_mask_is_as_long_as_there_may_be_cpus)
{
	char text[MUSTER_CPUS_MAX / 4 + 2];
	memset(text, 'f', sizeof text);
	text[sizeof text - 1] = '\0';
	ck_assert_ptr_null(muster_cpuset_parse_mask(text, NULL));
	text[sizeof text - 2] = '\0';
	hwloc_bitmap_t set = muster_cpuset_parse_mask(text, NULL);
	ck_assert_int_eq(hwloc_bitmap_weight(set), MUSTER_CPUS_MAX);
	hwloc_bitmap_free(set);
}

TEST(a_mask_has_no_more_words_than_there_are_cpus)
{
	char text[2 * MUSTER_CPUS_MAX / 32 + 2] = "";
	for (int i = 0; i < MUSTER_CPUS_MAX / 32; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s1", i ? "," : "");
	hwloc_bitmap_t set = muster_cpuset_parse_words(text, NULL);
	ck_assert_int_eq(hwloc_bitmap_weight(set), MUSTER_CPUS_MAX / 32);
	hwloc_bitmap_free(set);
	snprintf(text + strlen(text), sizeof text - strlen(text), ",1");
	ck_assert_ptr_null(muster_cpuset_parse_words(text, NULL));
}

TEST(a_set_without_end_is_an_error)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc_full();
	struct muster_error err;
	ck_assert_int_eq(muster_cpuset_check(set, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EIO);
	hwloc_bitmap_only(set, MUSTER_CPUS_MAX);
	ck_assert_int_eq(muster_cpuset_check(set, NULL), -1);
	hwloc_bitmap_only(set, MUSTER_CPUS_MAX - 1);
	ck_assert_int_eq(muster_cpuset_check(set, NULL), 0);
	hwloc_bitmap_zero(set);
	ck_assert_int_eq(muster_cpuset_check(set, NULL), 0);
	hwloc_bitmap_free(set);
}

TEST_MAIN(.setup = NULL)
