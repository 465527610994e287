/* SPDX-License-Identifier: Apache-2.0 */
/* test_sort.c - arrays that grow, comparisons, the median, percentiles, and the names in a directory */
#include "util/file.h"
#include "util/array.h"

#include "check_main.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(an_array_keeps_what_was_added_while_it_grows)
{
	struct thing {
		int a, b;
	} *things = NULL;
	size_t count = 0, room = 0, moves = 0;
	for (int i = 0; i < 1000; i++) {
		size_t before = room;
		MUSTER_ARRAY_PUSH(things, count, room, (struct thing){ .a = i, .b = -i });
		ck_assert_uint_eq(count, (size_t)i + 1);
		ck_assert_uint_le(count, room);
		moves += room != before;
	}
	for (int i = 0; i < 1000; i++)
		ck_assert_msg(things[i].a == i && things[i].b == -i, "element %d", i);
	ck_assert_uint_eq(moves, 8); /* 8, 16, ..., 1024 */
	free(things);
}

static const struct {
	double values[4];
	size_t count;
	double median;
} medians[] = {
	{ { 3 }, 1, 3 },
	{ { 3, 1 }, 2, 2 },
	{ { 9, 1, 5 }, 3, 5 },
	{ { 8, 1, 2, 4 }, 4, 3 },
	{ { 1e308, 1.5e308 }, 2, 1.25e308 },
};

TEST_EACH(the_median_is_in_the_middle, medians)
{
	double values[4];
	memcpy(values, medians[_i].values, sizeof values);
	ck_assert_double_eq(muster_median_of(values, medians[_i].count), medians[_i].median);
	for (size_t i = 1; i < medians[_i].count; i++)
		ck_assert_double_le(values[i - 1], values[i]);
}

TEST(a_percentile_is_one_of_the_values)
{
	double values[] = { 1, 2, 3, 4, 5 }, one[] = { 7 }, many[200];
	for (size_t i = 0; i < 200; i++)
		many[i] = (double)(i + 1);
	ck_assert_double_eq(muster_percentile_of(values, 5, 0.5), 3);
	ck_assert_double_eq(muster_percentile_of(values, 5, 0.99), 5);
	ck_assert_double_eq(muster_percentile_of(values, 5, 0), 1);
	ck_assert_double_eq(muster_percentile_of(values, 5, 1), 5);
	ck_assert_double_eq(muster_percentile_of(one, 1, 0.99), 7);
	ck_assert_double_eq(muster_percentile_of(many, 200, 0.99), 198);
	ck_assert_double_eq(muster_percentile_of(many, 200, 0.5), 100);
}

TEST(comparisons_order_numbers_and_texts)
{
	int numbers[] = { 5, -2000000000, 2000000000 };
	const char *texts[] = { "mlx5_10", "b", "mlx5_2" };
	qsort(numbers, 3, sizeof *numbers, muster_by_int);
	ck_assert_int_eq(numbers[0], -2000000000);
	ck_assert_int_eq(numbers[2], 2000000000);
	qsort(texts, 3, sizeof *texts, muster_by_text);
	ck_assert_str_eq(texts[0], "b");
	ck_assert_str_eq(texts[1], "mlx5_10");
	ck_assert_int_eq(muster_text_order(NULL, NULL), 0);
	ck_assert_int_lt(muster_text_order(NULL, ""), 0);
	ck_assert_int_gt(muster_text_order("", NULL), 0);
	ck_assert_int_lt(muster_text_order("a", "b"), 0);
}

TEST(the_names_in_a_directory_are_those_with_the_suffix_in_the_order_asked_for)
{
	static const char *const files[] = { "b10.json", "b9.json", ".hidden.json", ".json", "b1.txt", "json" };
	char folder[] = "/tmp/muster-names-XXXXXX";
	struct muster_names names;
	struct muster_error err;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	int at = open(folder, O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		ck_assert_int_ge(openat(at, files[i], O_CREAT | O_WRONLY, 0600), 0);
	ck_assert_int_eq(muster_file_names(folder, ".json", alphasort, &names, &err), 0);
	ck_assert_uint_eq(names.count, 2);
	ck_assert_str_eq(names.items[0], "b10.json");
	muster_names_done(&names);
	ck_assert_int_eq(muster_file_names(folder, "", versionsort, &names, &err), 0);
	ck_assert_uint_eq(names.count, 4);
	ck_assert_str_eq(names.items[1], "b9.json");
	ck_assert_str_eq(names.items[2], "b10.json");
	muster_names_done(&names);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		unlinkat(at, files[i], 0);
	rmdir(folder);
	ck_assert_int_eq(muster_file_names(folder, "", alphasort, &names, &err), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(err.code, MUSTER_EABSENT);
	ck_assert_msg(strncmp(err.text, folder, strlen(folder)) == 0, "%s", err.text);
}

TEST_MAIN(.setup = NULL)
