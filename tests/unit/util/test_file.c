/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c - whole files, also those of /proc, which say that their size is 0 */
#include "util/file.h"
#include "muster/error.h"

#include "check_main.h"
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *path;
	size_t limit;
	const char *in_text; /* in what is read; NULL: it is refused */
	const char *error;
} files[] = {
	{ "/proc/self/status", 1 << 16, "\nPid:", NULL },
	{ "/proc/self/status", 16, NULL, "/proc/self/status: has more than 16 bytes" },
	{ "/dev/null", 16, NULL, "/dev/null: is not a regular file" },
	{ MUSTER_SOURCE_DIR "/LICENSE", 1 << 16, "Apache License", NULL },
	{ MUSTER_SOURCE_DIR "/LICENSE", 16, NULL, "bytes, at most 16 are allowed" },
};

TEST_EACH(a_file_is_read_whole_or_not_at_all, files)
{
	struct muster_error err;
	char *text = NULL;
	size_t length = 0;
	int rc = muster_file_read(files[_i].path, files[_i].limit, &text, &length, &err);
	ck_assert_int_eq(rc, files[_i].in_text ? 0 : -1);
	if (rc == 0) {
		ck_assert_uint_eq(length, strlen(text));
		ck_assert_ptr_nonnull(strstr(text, files[_i].in_text));
	} else {
		ck_assert_msg(strstr(err.text, files[_i].error) != NULL, "%s", err.text);
	}
	free(text);
}

TEST_MAIN(.setup = NULL)
