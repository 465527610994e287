/* SPDX-License-Identifier: Apache-2.0 */
/* gzip.c - gzip by zlib
 *
 * A reader asks for bytes and hands over what the file has: inflate() keeps its state in between, so neither side needs
 * the whole file. A writer is a FILE whose writes are deflated (fopencookie), so that no code that prints knows of it.
 */
#include "util/gzip.h"

#include "muster/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool muster_gzip_is(const void *bytes, size_t length)
{
	return length >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

#ifdef MUSTER_HAVE_ZLIB

#define ZLIB_CONST
#include <zlib.h>

enum {
	WINDOW_GZIP = 15 + 16, /* the largest window, in gzip's format (zlib.h) */
	LEVEL = 3,  /* a report of 575 MB: 52 MB in 4.5 s; level 1: 56 MB in 4.2 s, level 6: 42 MB in 7.9 s */
	MEMORY = 8, /* deflateInit's default */
	ROOM = 1 << 16,
};

struct muster_gunzip {
	z_stream z;
	bool within; /* a file of gzip */
};

struct muster_gunzip *muster_gunzip_new(struct muster_error *err)
{
	struct muster_gunzip *gunzip = muster_calloc(1, sizeof *gunzip);
	if (inflateInit2(&gunzip->z, WINDOW_GZIP) == Z_OK)
		return gunzip;
	free(gunzip);
	muster_fail(err, MUSTER_EIO, "zlib cannot begin to inflate");
	return NULL;
}

void muster_gunzip_free(struct muster_gunzip *gunzip)
{
	if (gunzip)
		inflateEnd(&gunzip->z);
	free(gunzip);
}

/* zlib counts in 32 bits: at most 2^30 bytes are handed over at once. The loop goes on while there is input and nothing
 * came out, as at a header. A file may consist of several gzip members one behind the other: at the end of each,
 * inflateReset begins the next. */
long muster_gunzip_inflate(struct muster_gunzip *gunzip, const unsigned char **in, size_t *in_length, void *out,
	size_t room, struct muster_error *err)
{
	z_stream *z = &gunzip->z;
	const uInt most = 1 << 30;
	z->next_out = out;
	z->avail_out = room < most ? (uInt)room : most;
	const uInt asked = z->avail_out;
	while (*in_length > 0 && z->avail_out == asked) {
		z->next_in = *in;
		z->avail_in = *in_length < most ? (uInt)*in_length : most;
		int code = inflate(z, Z_NO_FLUSH);
		*in_length -= (size_t)(z->next_in - *in);
		*in = z->next_in;
		gunzip->within = code != Z_STREAM_END;
		if (code == Z_STREAM_END)
			inflateReset(z);
		else if (code != Z_OK && code != Z_BUF_ERROR)
			return muster_fail(err, MUSTER_EUSAGE, "the gzip file is damaged%s%s", z->msg ? ": " : "",
				z->msg ? z->msg : "");
	}
	return (long)(asked - z->avail_out);
}

bool muster_gunzip_is_whole(const struct muster_gunzip *gunzip)
{
	return !gunzip->within;
}

/* ---- writing ---- */

struct deflater {
	z_stream z;
	FILE *out;
	unsigned char buffer[ROOM];
};

/* Deflate `length` bytes and write what comes out: 0, or -1 with errno. deflate has more to give as long as it fills
 * the whole buffer. */
static int deflate_all(struct deflater *d, const char *text, size_t length, int flush)
{
	int code = Z_OK;
	d->z.next_in = (const Bytef *)text;
	d->z.avail_in = (uInt)length;
	do {
		d->z.next_out = d->buffer;
		d->z.avail_out = sizeof d->buffer;
		code = deflate(&d->z, flush);
		size_t there = sizeof d->buffer - d->z.avail_out;
		if (fwrite(d->buffer, 1, there, d->out) != there)
			return -1;
	} while (d->z.avail_out == 0 && code == Z_OK);
	return 0;
}

static ssize_t write_text(void *cookie, const char *text, size_t length)
{
	const size_t part = length < 1 << 30 ? length : 1 << 30;
	return deflate_all(cookie, text, part, Z_NO_FLUSH) < 0 ? 0 : (ssize_t)part; /* 0: as of fopencookie(3) */
}

static int close_text(void *cookie)
{
	struct deflater *d = cookie;
	int rc = deflate_all(d, NULL, 0, Z_FINISH), why = errno;
	deflateEnd(&d->z);
	free(d);
	errno = why;
	return rc;
}

/* A FILE of fopencookie. Its buffer of ROOM bytes spares a call of deflate for each small write. */
FILE *muster_gzip_open(FILE *out, struct muster_error *err)
{
	const cookie_io_functions_t functions = { .write = write_text, .close = close_text };
	struct deflater *d = muster_calloc(1, sizeof *d);
	FILE *text = NULL;
	d->out = out;
	if (deflateInit2(&d->z, LEVEL, Z_DEFLATED, WINDOW_GZIP, MEMORY, Z_DEFAULT_STRATEGY) == Z_OK)
		text = fopencookie(d, "w", functions);
	if (text) {
		setvbuf(text, NULL, _IOFBF, ROOM);
		return text;
	}
	muster_fail(err, MUSTER_EIO, "zlib cannot begin to deflate");
	deflateEnd(&d->z);
	free(d);
	return NULL;
}

#else

struct muster_gunzip *muster_gunzip_new(struct muster_error *err)
{
	muster_fail(err, MUSTER_ENOTSUPPORTED,
		"is compressed with gzip, and this muster was built without zlib: zcat FILE | muster report -");
	return NULL;
}

void muster_gunzip_free(struct muster_gunzip *gunzip)
{
	(void)gunzip;
}

long muster_gunzip_inflate(struct muster_gunzip *gunzip, const unsigned char **in, size_t *in_length, void *out,
	size_t room, struct muster_error *err)
{
	(void)gunzip, (void)in, (void)in_length, (void)out, (void)room;
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "this muster was built without zlib");
}

bool muster_gunzip_is_whole(const struct muster_gunzip *gunzip)
{
	(void)gunzip;
	return true;
}

FILE *muster_gzip_open(FILE *out, struct muster_error *err)
{
	(void)out;
	muster_fail(err, MUSTER_ENOTSUPPORTED,
		"this muster was built without zlib: write the file without .gz, and compress it with gzip");
	return NULL;
}

#endif
