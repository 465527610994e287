/* line_reader.h - a file from outside, line by line, in the memory of one line */
#ifndef MUSTER_UTIL_LINE_READER_H
#define MUSTER_UTIL_LINE_READER_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_line_reader {
	int fd;
	char *text;
	size_t room, length, at; /* of text: what was read, where the next line begins */
	size_t most;             /* bytes of a line; what is longer is left out, and counted */
	bool ended, skipping;    /* skipping: the line at hand is longer than any may be */
	size_t too_long;
};

/* Code MUSTER_EIO when the path cannot be opened, or is no plain file. */
int muster_line_reader_open(struct muster_line_reader *lines, const char *path, size_t most, struct muster_error *err);
void muster_line_reader_done(struct muster_line_reader *lines);

/* 1 with the next line that is not empty, which may lack its newline at the end of the file; 0 at the end; -1 when the
 * file cannot be read. The line is good until the next call. */
int muster_line_reader_next(struct muster_line_reader *lines, const char **ret, size_t *ret_length);

#endif
