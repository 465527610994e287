/* SPDX-License-Identifier: Apache-2.0 */
/* input.h - a file is read from its beginning to its end, as it is or inflated from gzip
 *
 * gzip is recognised by the first bytes, not by the name.
 */
#ifndef MUSTER_UTIL_INPUT_H
#define MUSTER_UTIL_INPUT_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct muster_input {
	int fd;
	size_t limit, total; /* bytes of the text: allowed, read so far */
	unsigned char *raw;  /* of the file, not handed out yet */
	const unsigned char *at;
	size_t left;
	bool begun, plain;            /* plain: not inflated, whatever it begins with */
	struct muster_gunzip *gunzip; /* NULL: the file is read as it is */
};

/* Read from a file that is open, and stays open. A regular file of at most `limit` bytes is needed, of which as many
 * come out; the path "-" may be of any kind. Errors of all these do not name the file. The caller releases the input
 * with muster_input_done, after an error too. */
int muster_input_begin(struct muster_input *input, int fd, const char *path, size_t limit, struct muster_error *err);
void muster_input_done(struct muster_input *input);

/* The next bytes, at most `room` (above 0) of them. 0: the end. -1 with err. */
ssize_t muster_input_read(struct muster_input *input, char *into, size_t room, struct muster_error *err);

/* Read a whole file as muster_file_read (file.h) does, inflated if need be. Errors name the path. */
int muster_input_read_file(
	const char *path, size_t limit, char **ret_text, size_t *ret_length, struct muster_error *err);
/* The same of a file that is open; the caller closes it. */
int muster_input_read_open(
	int fd, const char *path, size_t limit, char **ret_text, size_t *ret_length, struct muster_error *err);

#endif
