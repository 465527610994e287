/* SPDX-License-Identifier: Apache-2.0 */
/* line_reader.h - what a file or a pipe holds, line by line, in the memory of one line */
#ifndef MUSTER_UTIL_LINE_READER_H
#define MUSTER_UTIL_LINE_READER_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_line_reader {
	int fd;
	char *text;
	size_t room, length, at; /* of text: what was read, where the next line begins */
	size_t most; /* bytes of a line; a longer one is left out, and counted (less than 64 KiB more may pass) */
	bool ended, skipping; /* skipping: the line at hand is longer than any may be */
	bool cut;             /* the line handed out lacks its newline: the end of all came first */
	size_t too_long;
};

/* Begin to read from fd, which muster_line_reader_done closes. */
void muster_line_reader_init(struct muster_line_reader *lines, int fd, size_t most);

/* The same of a file. Code MUSTER_EIO, without the path, when it cannot be opened or is not a regular file. */
int muster_line_reader_open(struct muster_line_reader *lines, const char *path, size_t most, struct muster_error *err);
void muster_line_reader_done(struct muster_line_reader *lines);

/* 1 with the next line that is not empty, which may lack its newline at the end; 0 at the end; -1 with errno when
 * nothing can be read (EAGAIN: when nothing has come yet). The line, NUL in place of its newline, is good until the
 * next call.
 */
int muster_line_reader_next(struct muster_line_reader *lines, const char **ret, size_t *ret_length);

#endif
