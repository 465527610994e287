/* SPDX-License-Identifier: Apache-2.0 */
/* test_hostlist.c - lists of host names as Slurm writes them, there and back */
#include "check_main.h"
#include "slurm/hostlist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *list, *names; /* names: one a line's blank */
} expansions[] = {
	{ "gpu-1", "gpu-1" },
	{ "gpu-[1-3,7]", "gpu-1 gpu-2 gpu-3 gpu-7" },
	{ "gpu-[01-03]", "gpu-01 gpu-02 gpu-03" },
	{ "gpu-[08-11]", "gpu-08 gpu-09 gpu-10 gpu-11" },
	{ "gpu-[8-11]", "gpu-8 gpu-9 gpu-10 gpu-11" },
	{ "gpu-[099-101]", "gpu-099 gpu-100 gpu-101" },
	{ "gpu-[1,01,001]", "gpu-1 gpu-01 gpu-001" },
	{ "gpu-[5]", "gpu-5" },
	{ "gpu-[5-5]", "gpu-5" },
	{ "gpu-[7,3,5-6]", "gpu-7 gpu-3 gpu-5 gpu-6" },
	{ "rack[1-2]-node[01-03]", "rack1-node01 rack1-node02 rack1-node03 rack2-node01 rack2-node02 rack2-node03" },
	{ "a[1-2]b[3,5]c", "a1b3c a1b5c a2b3c a2b5c" },
	{ "a[1-2][3-4]", "a13 a14 a23 a24" },
	{ "[1-2]", "1 2" },
	{ "login,gpu-[1-2],mds1", "login gpu-1 gpu-2 mds1" },
	{ "a b\nc\td\r\ne,,f,", "a b c d e f" },
	{ " \ngpu-[1-2]\n\n", "gpu-1 gpu-2" },
	{ "gpu-[1-2]-ib0", "gpu-1-ib0 gpu-2-ib0" },
	{ "n1,n1", "n1 n1" },
	{ "n1,n1#2", "n1 n1#2" },
	{ "gpu-[999999999999999998-999999999999999999]", "gpu-999999999999999998 gpu-999999999999999999" },
};

TEST_EACH(a_list_stands_for_these_names, expansions)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_error err;
	const char *const *names;
	char text[512] = "";
	size_t count = 0, used = 0;
	ck_assert_msg(muster_hostlist_expand(expansions[_i].list, arena, &names, &count, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", names[i]);
	ck_assert_str_eq(text, expansions[_i].names);
	muster_arena_free(arena);
}

static const struct {
	const char *list, *why;
} refusals[] = {
	{ "", "no name in it" },
	{ " ,\n", "no name in it" },
	{ "gpu-[1-3", "a bracket without its other half" },
	{ "gpu-1-3]", "a bracket without its other half" },
	{ "gpu-[1-2]]", "a bracket without its other half" },
	{ "gpu-[]", "a number of 1 to 18 digits is needed" },
	{ "gpu-[1,]", "a number of 1 to 18 digits is needed" },
	{ "gpu-[-3]", "a number of 1 to 18 digits is needed" },
	{ "gpu-[1-]", "a number of 1 to 18 digits is needed" },
	{ "gpu-[a-c]", "a number of 1 to 18 digits is needed" },
	{ "gpu-[1-3-5]", "\"-\" in a bracket" },
	{ "gpu-[1 2]", "\" \" in a bracket" },
	{ "gpu-[[1-2]]", "a number of 1 to 18 digits is needed" },
	{ "gpu-[3-1]", "the range 3-1 goes backwards" },
	{ "gpu-[1111111111111111111]", "a number of 1 to 18 digits is needed" },
	{ "# hosts", "\"#\" is not the name of a node" },
	{ "gpu-1\ngpu-2 slots=8\n", "line 2: host list: \"slots=8\" is not the name of a node" },
	{ "gpu-1:8", "\"gpu-1:8\" is not the name of a node" },
	{ "-gpu-[1-2]", "\"-gpu-1\" is not the name of a node" },
	{ "gpu-[1-2]=4", "\"gpu-1=4\" is not the name of a node" },
	{ "gpu-[1-65537]", "more than 65536 names" },
	{ "a[1-1000]b[1-1000]", "more than 65536 names" },
	{ "gpu-[0-999999999999999999]", "more than 65536 names" },
	{ "a[1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9]", "more than 8 brackets" },
};

TEST_EACH(what_is_no_list_is_refused_with_the_reason, refusals)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_error err;
	const char *const *names = NULL;
	size_t count = 7;
	ck_assert_int_eq(muster_hostlist_expand(refusals[_i].list, arena, &names, &count, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, refusals[_i].why) != NULL, "%s: %s", refusals[_i].list, err.text);
	ck_assert_ptr_null(names);
	ck_assert_uint_eq(count, 7);
	muster_arena_free(arena);
}

TEST(a_name_has_at_most_255_characters)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_error err;
	const char *const *names;
	char list[300];
	size_t count;
	memset(list, 'a', sizeof list);
	list[255] = '\0';
	ck_assert_int_eq(muster_hostlist_expand(list, arena, &names, &count, &err), 0);
	ck_assert_uint_eq(strlen(names[0]), 255);
	snprintf(list + 252, sizeof list - 252, "[10]x");
	ck_assert_int_eq(muster_hostlist_expand(list, arena, &names, &count, &err), 0);
	snprintf(list + 252, sizeof list - 252, "[100]x");
	ck_assert_int_eq(muster_hostlist_expand(list, arena, &names, &count, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "more than 255 characters"));
	muster_arena_free(arena);
}

static const struct {
	const char *names, *list;
} compressions[] = {
	{ "", "" },
	{ "login", "login" },
	{ "gpu-1", "gpu-1" },
	{ "gpu-2,gpu-1,gpu-3", "gpu-[1-3]" },
	{ "gpu-1,gpu-3,gpu-2,gpu-7", "gpu-[1-3,7]" },
	{ "gpu-1,gpu-1", "gpu-1" },
	{ "gpu-9,gpu-10", "gpu-[9-10]" },
	{ "gpu-09,gpu-10", "gpu-[09-10]" },
	{ "gpu-99,gpu-100", "gpu-[99-100]" },
	{ "gpu-099,gpu-100", "gpu-[099-100]" },
	{ "gpu-09,gpu-10,gpu-1,gpu-2", "gpu-[1-2,09-10]" },
	{ "gpu-1,gpu-01,gpu-2,gpu-02", "gpu-[1,01,2,02]" },
	{ "login,gpu-1,gpu-2,db", "db,gpu-[1-2],login" },
	{ "a1b,a2b,a1", "a1,a1b,a2b" },
	{ "rack1-node01,rack1-node02,rack2-node01", "rack1-node[01-02],rack2-node01" },
	{ "n,n1,n2", "n,n[1-2]" },
	{ "1,2,3", "[1-3]" },
	{ "x12345678901234567890", "x12345678901234567890" },
};

TEST_EACH(these_names_make_this_list, compressions)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_error err;
	const char *const *names = NULL;
	size_t count = 0;
	if (*compressions[_i].names)
		ck_assert_int_eq(muster_hostlist_expand(compressions[_i].names, arena, &names, &count, &err), 0);
	char *list = muster_hostlist_compress(names, count);
	ck_assert_str_eq(list, compressions[_i].list);
	free(list);
	muster_arena_free(arena);
}

/* Names with every width and gap: what a list stands for is what it was made of. */
TEST(sorted_names_stand_as_in_a_list_each_once)
{
	const char *unsorted[] = { "n10", "n9", "m", "n9", "n09" };
	ck_assert_uint_eq(muster_hostlist_sort(unsorted, 5), 4);
	static const char *const sorted[] = { "m", "n9", "n09", "n10" };
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(unsorted[i], sorted[i]);
	ck_assert_uint_eq(muster_hostlist_sort(unsorted, 0), 0);
}

TEST(a_compressed_list_expands_to_the_same_names)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_error err;
	const char *names[2000], *const *again;
	size_t count = 0, again_count;
	for (unsigned int i = 0; i < 1000; i++) {
		names[count++] = muster_arena_printf(arena, "gpu-%u", i * 7 % 1000);
		names[count++] = muster_arena_printf(arena, "rack%u-n%03u", i % 4, i);
	}
	char *list = muster_hostlist_compress(names, count);
	ck_assert_int_eq(muster_hostlist_expand(list, arena, &again, &again_count, &err), 0);
	ck_assert_uint_eq(again_count, count);
	char *twice = muster_hostlist_compress(again, again_count);
	ck_assert_str_eq(list, twice);
	ck_assert_ptr_nonnull(strstr(list, "gpu-[0-999]"));
	free(list);
	free(twice);
	muster_arena_free(arena);
}

TEST_MAIN(.setup = NULL)
