/* SPDX-License-Identifier: Apache-2.0 */
/* input.c - a file is read from its beginning to its end, as it is or inflated from gzip
 *
 * Life of an input: begin checks the kind and the size of the open file, the first read looks at the first two bytes
 * (gzip or not), and each further read copies or inflates the next bytes. done frees the memory; the descriptor is the
 * caller's.
 *
 * `limit` bounds what comes out, not only the size of the file: a small gzip file may inflate to gigabytes.
 */
#include "util/input.h"

#include "muster/arena.h"
#include "util/file.h"
#include "util/gzip.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 1 << 16 };

int muster_input_begin(struct muster_input *input, int fd, const char *path, size_t limit, struct muster_error *err)
{
	struct stat status;
	*input = (struct muster_input){ .fd = fd, .limit = limit };
	if (fstat(fd, &status) < 0)
		return muster_fail(err, muster_errno_code(errno), "%s", strerror(errno));
	if (!S_ISREG(status.st_mode) && strcmp(path, "-") != 0)
		return muster_fail(err, MUSTER_EIO, "is not a regular file");
	if (S_ISREG(status.st_mode) && (size_t)status.st_size > limit)
		return muster_fail(
			err, MUSTER_EUSAGE, "has %zu bytes, at most %zu are allowed", (size_t)status.st_size, limit);
	return 0;
}

void muster_input_done(struct muster_input *input)
{
	muster_gunzip_free(input->gunzip);
	free(input->raw);
	*input = (struct muster_input){ .fd = -1 };
}

/* A descriptor that does not block (muster_file_open_read, a pipe of another process) may have no data yet: then wait
 * for some. */
static ssize_t read_some(int fd, void *into, size_t room, struct muster_error *err)
{
	ssize_t got;
	while ((got = read(fd, into, room)) < 0 && (errno == EINTR || errno == EAGAIN))
		if (errno == EAGAIN)
			poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
	return got < 0 ? muster_fail(err, MUSTER_EIO, "%s", strerror(errno)) : got;
}

static int refill(struct muster_input *input, struct muster_error *err)
{
	ssize_t got = read_some(input->fd, input->raw, ROOM, err);
	input->at = input->raw;
	input->left = got > 0 ? (size_t)got : 0;
	return got < 0 ? -1 : 0;
}

/* The first block decides. What was read of a plain file is handed out first (copy_some). */
static int begin(struct muster_input *input, struct muster_error *err)
{
	input->begun = true;
	input->raw = muster_realloc(NULL, ROOM, 1);
	if (refill(input, err) < 0)
		return -1;
	if (!input->plain && muster_gzip_is(input->at, input->left) && !(input->gunzip = muster_gunzip_new(err)))
		return -1;
	return 0;
}

/* inflate may use input without giving a byte: it gets more input until some comes out. The end of the file in the
 * middle of gzip data is an error, since a cut report would look like a short one. */
static ssize_t inflate_some(struct muster_input *input, char *into, size_t room, struct muster_error *err)
{
	for (;;) {
		if (input->left == 0 && refill(input, err) < 0)
			return -1;
		if (input->left == 0)
			return muster_gunzip_is_whole(input->gunzip)
				       ? 0
				       : muster_fail(err, MUSTER_EUSAGE, "the gzip file ends too early");
		long got = muster_gunzip_inflate(input->gunzip, &input->at, &input->left, into, room, err);
		if (got != 0)
			return got;
	}
}

static ssize_t copy_some(struct muster_input *input, char *into, size_t room, struct muster_error *err)
{
	if (input->left == 0)
		return read_some(input->fd, into, room, err);
	size_t length = input->left < room ? input->left : room;
	memcpy(into, input->at, length);
	input->at += length;
	input->left -= length;
	return (ssize_t)length;
}

ssize_t muster_input_read(struct muster_input *input, char *into, size_t room, struct muster_error *err)
{
	if (!input->begun && begin(input, err) < 0)
		return -1;
	ssize_t got = input->gunzip ? inflate_some(input, into, room, err) : copy_some(input, into, room, err);
	if (got <= 0)
		return got;
	input->total += (size_t)got;
	return input->total <= input->limit ? got
					    : muster_fail(err, MUSTER_EUSAGE, "%shas more than %zu bytes",
						      input->gunzip ? "inflated from gzip, it " : "", input->limit);
}

static int read_all(struct muster_input *input, char **ret_text, size_t *ret_length, struct muster_error *err)
{
	size_t room = ROOM, length = 0;
	char *text = muster_realloc(NULL, room, 1);
	ssize_t got;
	while ((got = muster_input_read(input, text + length, room - 1 - length, err)) > 0) {
		length += (size_t)got;
		if (length == room - 1)
			text = muster_realloc(text, room *= 2, 1);
	}
	if (got < 0) {
		free(text);
		return -1;
	}
	text[length] = '\0';
	*ret_text = text;
	*ret_length = length;
	return 0;
}

static int read_open(int fd, const char *path, size_t limit, bool plain, char **ret_text, size_t *ret_length,
	struct muster_error *err)
{
	struct muster_input input;
	int rc = muster_input_begin(&input, fd, path, limit, err);
	input.plain = plain;
	if (rc == 0)
		rc = read_all(&input, ret_text, ret_length, err);
	muster_input_done(&input);
	return rc < 0 ? muster_wrap(err, "%s", path) : 0;
}

int muster_input_read_open(
	int fd, const char *path, size_t limit, char **ret_text, size_t *ret_length, struct muster_error *err)
{
	return read_open(fd, path, limit, false, ret_text, ret_length, err);
}

static int read_file(
	const char *path, size_t limit, bool plain, char **ret_text, size_t *ret_length, struct muster_error *err)
{
	int fd = muster_file_open_read(path, err);
	if (fd < 0)
		return -1;
	int rc = read_open(fd, path, limit, plain, ret_text, ret_length, err);
	close(fd);
	return rc;
}

int muster_input_read_file(
	const char *path, size_t limit, char **ret_text, size_t *ret_length, struct muster_error *err)
{
	return read_file(path, limit, false, ret_text, ret_length, err);
}

int muster_file_read(const char *path, size_t limit, char **ret_text, size_t *ret_length, struct muster_error *err)
{
	return read_file(path, limit, true, ret_text, ret_length, err);
}
