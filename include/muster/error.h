/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - errors are values: a code and a sentence; implemented by src/util/error.c
 *
 * An error means "could not tell" or "cannot go on". A machine that fails an expectation is a finding, never an error.
 */
#ifndef MUSTER_ERROR_H
#define MUSTER_ERROR_H

#include <stddef.h>

enum muster_code {
	MUSTER_OK = 0,
	MUSTER_EUSAGE,        /* the user's input: command line, expectation file, scenario; exit code 2 */
	MUSTER_EIO,           /* a file, a pipe, the operating system */
	MUSTER_ENOMEM,        /* out of memory */
	MUSTER_ETIME,         /* a deadline passed */
	MUSTER_ELIB,          /* a vendor library or one of its functions is missing or refuses to load */
	MUSTER_EVENDOR,       /* a vendor library's call failed */
	MUSTER_ERESOURCE,     /* the same for want of memory, files or space, which another process may hold */
	MUSTER_ENOTSUPPORTED, /* the hardware or driver does not offer this */
	MUSTER_ENOPERMISSION, /* the operating system or driver does not let us */
	MUSTER_EPROTOCOL,     /* malformed data from another muster process */
	MUSTER_EREMOTE,       /* a vendor library says that another process or the network between failed */
	MUSTER_ECALLEDOFF,    /* cancelled because another rank failed */
	MUSTER_EINTERRUPTED,  /* the whole run was ended early */
	MUSTER_EABSENT,       /* a file that the kernel or an installation would have is not there */
	MUSTER_ESTALLED,      /* a deadline passed, and a working device needs a small part of that time */
	MUSTER_CODE_COUNT
};

#define MUSTER_ERROR_TEXT_MAX 1024

struct muster_error {
	enum muster_code code;
	/* One sentence of plain UTF-8: no newline, nothing that could drive a terminal. Cut with "..." when too long.
	 */
	char text[MUSTER_ERROR_TEXT_MAX];
};

/* Set err to code and text. Always returns -1, so that a caller can `return muster_fail(err, ...)`. err may be NULL. */
int muster_fail(struct muster_error *err, enum muster_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The code of an errno of a file that was to be read: MUSTER_ENOPERMISSION, MUSTER_EABSENT or MUSTER_EIO. */
enum muster_code muster_errno_code(int number);

/* Put "outer: " before the text that err already has; the code stays. Always returns -1. err may be NULL. */
int muster_wrap(struct muster_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The code's short name ("usage", "io", ...), for logs and reports; "unknown" for anything else. Static storage. */
const char *muster_code_name(enum muster_code code);

#endif
