/* SPDX-License-Identifier: Apache-2.0 */
/* gzip.h - gzip by zlib; the only header that stands for zlib
 *
 * A build without zlib has these functions too: they say that they cannot.
 */
#ifndef MUSTER_UTIL_GZIP_H
#define MUSTER_UTIL_GZIP_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Whether a file that begins with these bytes is one of gzip. */
bool muster_gzip_is(const void *bytes, size_t length);

struct muster_gunzip;

/* NULL with err in a build without zlib. */
struct muster_gunzip *muster_gunzip_new(struct muster_error *err);
void muster_gunzip_free(struct muster_gunzip *gunzip); /* NULL is fine */

/* Inflate from *in, which has *in_length bytes and is moved over what was used, to `out`: the number of bytes that are
 * there, or -1 with err when the bytes are damaged. 0: more input is needed. One gzip file may follow the other. */
long muster_gunzip_inflate(struct muster_gunzip *gunzip, const unsigned char **in, size_t *in_length, void *out,
	size_t room, struct muster_error *err);
/* Whether the input may end here: no file of gzip is half read. */
bool muster_gunzip_is_whole(const struct muster_gunzip *gunzip);

/* A stream whose text goes deflated to `out`, which stays open. Closing it writes the end, and fails with errno when
 * `out` did not take all. NULL with err. */
FILE *muster_gzip_open(FILE *out, struct muster_error *err);

#endif
