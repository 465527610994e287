/* SPDX-License-Identifier: Apache-2.0 */
/* arc4random.c - what the object files of a library want of a newer glibc, or as a program would have it
 *
 * portable.sh links libevent_core.a and libexpat.a, which are made for programs, into shared libraries. Two things are
 * missing then: arc4random, which glibc has since 2.36, and stderr, which code for programs does not look for in
 * another library. The objects get both from here; the names are hidden from all others.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN extern FILE *muster_stderr;
HIDDEN void arc4random_buf(void *bytes, size_t length);
HIDDEN uint32_t arc4random(void);

FILE *muster_stderr;

__attribute__((constructor)) static void set_stderr(void)
{
	muster_stderr = stderr;
}

/* As glibc's: it does not fail. */
void arc4random_buf(void *bytes, size_t length)
{
	char *at = bytes;
	while (length > 0) {
		ssize_t got = getrandom(at, length, 0);
		if (got < 0 && errno != EINTR)
			abort();
		if (got > 0) {
			at += got;
			length -= (size_t)got;
		}
	}
}

uint32_t arc4random(void)
{
	uint32_t number;
	arc4random_buf(&number, sizeof number);
	return number;
}
