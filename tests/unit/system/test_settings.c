/* SPDX-License-Identifier: Apache-2.0 */
/* test_settings.c - environments and configuration files, whole and broken */
#include "check_main.h"
#include "system/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct muster_arena *arena;
static struct muster_settings settings;

static void setup(void)
{
	arena = muster_arena_new();
	muster_settings_init(&settings, arena);
}

static void teardown(void)
{
	muster_arena_free(arena);
}

/* The value of a setting, or NULL. The text is handed over in memory of just its size, for the sanitizer to watch. */
static const char *value_of(const char *name)
{
	const struct muster_setting *setting = muster_settings_find(&settings, name);
	return setting ? setting->value : NULL;
}

static void add_environment(const char *block, size_t length)
{
	char *copy = muster_realloc(NULL, length + 1, 1);
	memcpy(copy + 1, block, length);
	muster_settings_add_environment(&settings, copy + 1, length);
	free(copy);
}

static void add_file(const char *text, size_t length, const char *from)
{
	char *copy = muster_realloc(NULL, length + 1, 1);
	memcpy(copy + 1, text, length);
	muster_settings_add_file(&settings, copy + 1, length, false, from);
	free(copy);
}

TEST(what_nobody_sets_is_listed_without_a_value)
{
	ck_assert_uint_eq(settings.count, MUSTER_SETTINGS_NAMED);
	for (size_t i = 0; i < settings.count; i++) {
		ck_assert_ptr_null(settings.items[i].value);
		ck_assert_ptr_null(settings.items[i].from);
		ck_assert(muster_setting_counts(settings.items[i].name, strlen(settings.items[i].name)));
	}
}

TEST(an_environment_sets_what_counts_and_the_first_of_two_wins)
{
	static const char block[] = "PATH=/bin\0NCCL_DEBUG=WARN\0NCCL_DEBUG=INFO\0NCCL_NEW_THING=a=b\0UCX_TLS=\0"
				    "UCX_OTHER=1\0NCCL_NO_VALUE\0=odd\0CUDA_DEVICE_ORDER=PCI_BUS_ID";
	add_environment(block, sizeof block - 1);
	ck_assert_str_eq(value_of("NCCL_DEBUG"), "WARN");
	ck_assert_str_eq(value_of("NCCL_NEW_THING"), "a=b");
	ck_assert_str_eq(value_of("UCX_TLS"), "");
	ck_assert_str_eq(value_of("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
	ck_assert_str_eq(muster_settings_find(&settings, "UCX_TLS")->from, "environment");
	ck_assert_uint_eq(settings.count, MUSTER_SETTINGS_NAMED + 1);
}

/* Lines of a file, and what they make of NCCL_DEBUG and NCCL_X; NULL: not set. */
static const struct {
	const char *text, *debug, *x;
} files[] = {
	{ "NCCL_DEBUG=WARN\nNCCL_X=1\n", "WARN", "1" },
	{ "NCCL_DEBUG=WARN\nNCCL_X=1", "WARN", "1" }, /* no newline at the end */
	{ "# all of it\n\n\nNCCL_X=1\n", NULL, "1" },
	{ "#NCCL_DEBUG=WARN\n", NULL, NULL },
	{ " NCCL_DEBUG=WARN\n\tNCCL_X=1\n", NULL, NULL },  /* NCCL takes the blank as part of the name */
	{ "NCCL_DEBUG =WARN\nNCCL_X= 1 \n", NULL, " 1 " }, /* and of the value */
	{ "NCCL_DEBUG=\"WARN\"\n", "\"WARN\"", NULL },
	{ "NCCL_DEBUG=WARN # loud\n", "WARN # loud", NULL },
	{ "NCCL_DEBUG=WARN\r\nNCCL_X=1\r\n", "WARN\r", "1\r" },
	{ "export NCCL_DEBUG=WARN\n", NULL, NULL },
	{ "NCCL_DEBUG\nNCCL_X=1\n", NULL, "1" },
	{ "NCCL_DEBUG=INFO\nNCCL_DEBUG=WARN\n", "INFO", NULL }, /* the first one wins */
	{ "NCCL_X==eth0\n", NULL, "=eth0" },
	{ "NCCL_X=\n", NULL, "" },
	{ "NCCL_=1\nNCCL_A B=1\nNCCL_\x80=1\nPATH=/\nUCX_TLS=tcp\n", NULL, NULL },
	{ "", NULL, NULL },
};

static void check_text(const char *found, const char *wanted)
{
	if (wanted)
		ck_assert_str_eq(found, wanted);
	else
		ck_assert_ptr_null(found);
}

TEST_EACH(a_file_means_what_it_means_to_nccl, files)
{
	add_file(files[_i].text, strlen(files[_i].text), "/etc/nccl.conf");
	check_text(value_of("NCCL_DEBUG"), files[_i].debug);
	check_text(value_of("NCCL_X"), files[_i].x);
	ck_assert_uint_eq(settings.count, MUSTER_SETTINGS_NAMED + (files[_i].x != NULL));
	ck_assert_ptr_null(value_of("UCX_TLS"));
}

TEST(a_file_from_windows_ends_its_lines_in_two_characters)
{
	static const char text[] = "NCCL_DEBUG=WARN\r\n\r\nNCCL_NET=I\rB\r\r\nNCCL_X=1\r";
	muster_settings_add_file(&settings, text, sizeof text - 1, true, "/etc/nccl.conf");
	ck_assert_str_eq(value_of("NCCL_DEBUG"), "WARN");
	ck_assert_str_eq(value_of("NCCL_NET"), "I\rB\r");
	ck_assert_str_eq(value_of("NCCL_X"), "1");
}

TEST(a_nul_ends_a_line_as_it_does_for_nccl)
{
	static const char text[] = "NCCL_X=a\0b\nNCCL_DEBUG\0=c\nNCCL_NET=IB";
	add_file(text, sizeof text - 1, "/etc/nccl.conf");
	ck_assert_str_eq(value_of("NCCL_X"), "a");
	ck_assert_ptr_null(value_of("NCCL_DEBUG"));
	ck_assert_str_eq(value_of("NCCL_NET"), "IB");
}

TEST(the_environment_goes_before_the_files_and_the_first_file_before_the_second)
{
	static const char block[] = "NCCL_DEBUG=WARN\0NCCL_ALGO=\0";
	static const char first[] = "NCCL_DEBUG=INFO\nNCCL_NET=IB\nNCCL_ALGO=Ring\n";
	static const char second[] = "NCCL_NET=Socket\nNCCL_PROTO=LL\n";
	add_environment(block, sizeof block - 1);
	add_file(first, sizeof first - 1, "/home/me/.nccl.conf");
	add_file(second, sizeof second - 1, "/etc/nccl.conf");
	ck_assert_str_eq(value_of("NCCL_DEBUG"), "WARN");
	ck_assert_str_eq(value_of("NCCL_ALGO"), ""); /* set to nothing is set */
	ck_assert_str_eq(value_of("NCCL_NET"), "IB");
	ck_assert_str_eq(value_of("NCCL_PROTO"), "LL");
	ck_assert_str_eq(muster_settings_find(&settings, "NCCL_NET")->from, "/home/me/.nccl.conf");
	ck_assert_str_eq(muster_settings_find(&settings, "NCCL_PROTO")->from, "/etc/nccl.conf");
}

TEST(what_finds_no_room_is_counted_and_long_texts_are_cut)
{
	char line[2 * MUSTER_SETTING_VALUE_MAX];
	for (int i = 0; i < MUSTER_SETTINGS_OTHERS_MAX + 3; i++) {
		int length = snprintf(line, sizeof line, "NCCL_X%d=%d\n", i, i);
		add_file(line, (size_t)length, "/etc/nccl.conf");
	}
	ck_assert_uint_eq(settings.count, MUSTER_SETTINGS_NAMED + MUSTER_SETTINGS_OTHERS_MAX);
	ck_assert_uint_eq(settings.left_out, 3);

	size_t start = (size_t)snprintf(line, sizeof line, "NCCL_NET=");
	memset(line + start, 'x', sizeof line - start); /* the named ones always have room */
	add_file(line, sizeof line, "/etc/nccl.conf");
	ck_assert_uint_eq(strlen(value_of("NCCL_NET")), MUSTER_SETTING_VALUE_MAX);

	memset(line + 5, 'X', MUSTER_SETTING_NAME_MAX); /* five bytes too long a name */
	ck_assert(!muster_setting_counts(line, MUSTER_SETTING_NAME_MAX + 1));
	ck_assert(muster_setting_counts(line, MUSTER_SETTING_NAME_MAX));
}

TEST(the_environment_that_counts_is_the_one_at_the_start_of_the_process)
{
	struct muster_error err;
	char *block, *again;
	size_t length, again_length;
	ck_assert_msg(muster_environment_read(&block, &length, &err) == 0, "%s", err.text);
	ck_assert_int_eq(setenv("NCCL_DEBUG_SUBSYS", "INIT,ENV", 1), 0);
	ck_assert_int_eq(setenv("UCX_TLS", "changed", 1), 0);
	ck_assert_msg(muster_environment_read(&again, &again_length, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(length, again_length);
	ck_assert_int_eq(memcmp(block, again, length), 0);
	ck_assert_ptr_nonnull(memmem(block, length, "PATH=", 5));
	free(block);
	free(again);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
