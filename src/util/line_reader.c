/* SPDX-License-Identifier: Apache-2.0 */
/* line_reader.c - a file from outside, line by line
 *
 * The buffer: what stands before `at` was handed out and may go.
 *
 *    text: [ handed out | line at hand, not whole yet | room for a block of READ_BYTES and a NUL ]
 *          0            at                            length
 *
 * A line that is not whole and is longer than `most` is dropped as it is read, block by block (`skipping`). So no input
 * makes the buffer grow much beyond one line and one block.
 */
#include "util/line_reader.h"

#include "util/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 16 };

void muster_line_reader_init(struct muster_line_reader *lines, int fd, size_t most)
{
	*lines = (struct muster_line_reader){ .fd = fd, .most = most };
}

int muster_line_reader_open(struct muster_line_reader *lines, const char *path, size_t most, struct muster_error *err)
{
	struct stat status;
	muster_line_reader_init(lines, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), most);
	if (lines->fd < 0)
		return muster_fail(err, MUSTER_EIO, "%s", strerror(errno));
	if (fstat(lines->fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		close(lines->fd);
		return muster_fail(err, MUSTER_EIO, "is not a regular file");
	}
	return 0;
}

void muster_line_reader_done(struct muster_line_reader *lines)
{
	close(lines->fd);
	free(lines->text);
}

static int fill(struct muster_line_reader *lines)
{
	if (lines->text && lines->at > 0) {
		memmove(lines->text, lines->text + lines->at, lines->length - lines->at);
		lines->length -= lines->at;
		lines->at = 0;
	}
	if (lines->length > lines->most) {
		lines->too_long += !lines->skipping;
		lines->skipping = true;
		lines->length = 0;
	}
	MUSTER_ARRAY_RESERVE(lines->text, lines->length, lines->room, READ_BYTES + 1); /* and a NUL */
	ssize_t got = TEMP_FAILURE_RETRY(read(lines->fd, lines->text + lines->length, READ_BYTES));
	lines->ended = got == 0;
	lines->length += got > 0 ? (size_t)got : 0;
	return got < 0 ? -1 : 0;
}

int muster_line_reader_next(struct muster_line_reader *lines, const char **ret, size_t *ret_length)
{
	for (size_t scanned = 0;;) {
		size_t left = lines->length - lines->at;
		const char *start = lines->text ? lines->text + lines->at : "";
		const char *end = left > scanned ? memchr(start + scanned, '\n', left - scanned) : NULL;
		size_t length = end ? (size_t)(end - start) : left;
		if (!end && !lines->ended) {
			scanned = left;
			if (fill(lines) < 0)
				return -1;
			scanned = lines->length < scanned ? 0 : scanned;
			continue;
		}
		if (!end && left == 0)
			return 0;
		bool skipped = lines->skipping;
		size_t begin = lines->at;
		lines->skipping = false;
		lines->at += length + (end != NULL);
		scanned = 0;
		if (length == 0 || skipped || !lines->text)
			continue;
		lines->cut = !end;
		lines->text[begin + length] = '\0';
		*ret = start;
		*ret_length = length;
		return 1;
	}
}
