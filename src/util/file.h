/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - files are read whole, and written whole or not at all */
#ifndef MUSTER_UTIL_FILE_H
#define MUSTER_UTIL_FILE_H

#include "muster/error.h"

#include <dirent.h>
#include <stdio.h>

/* Read a file of at most limit bytes, as it is, into a malloc'd, NUL-terminated buffer; "-" is standard input, which
 * may be of any kind, others must be regular files. 0, or -1 with err, which names the path: MUSTER_EUSAGE when the
 * file is too large, else as muster_errno_code has it. In input.c, whose muster_input_read_file also inflates. */
int muster_file_read(const char *path, size_t limit, char **ret_text, size_t *ret_length, struct muster_error *err);

/* Open a file to read it, or for "-" standard input; a FIFO does not make this wait. The descriptor, or -1 with err. */
int muster_file_open_read(const char *path, struct muster_error *err);

/* Write all bytes to a blocking descriptor. 0, or errno when it takes no more of them. */
int muster_write_all(int fd, const char *bytes, size_t length);

struct muster_names {
	char **items;
	size_t count;
};

/* The entries of a directory that end in suffix ("" for all), without those that begin with '.', in an order of
 * scandir(3): alphasort or versionsort. -1 with err naming the directory (as muster_errno_code has it), and errno. The
 * caller releases ret with muster_names_done. */
int muster_file_names(const char *directory, const char *suffix,
	int (*order)(const struct dirent **, const struct dirent **), struct muster_names *ret,
	struct muster_error *err);
void muster_names_done(struct muster_names *names);

struct muster_file {
	FILE *out;       /* write here */
	FILE *plain;     /* what is written goes here deflated; NULL: it goes as it is */
	char *path;      /* where it will be; NULL when it is written to as it is */
	char *temporary; /* its name until committed; NULL when it has none */
};

/* Begin a new file that replaces path when it is committed. "-" is stdout; a FIFO and a character device are written
 * directly, and a FIFO without a reader is an error. A name that ends in .gz makes it a file of gzip. */
int muster_file_open(struct muster_file *file, const char *path, struct muster_error *err);
/* Whether muster_file_open would work; no file remains. */
int muster_file_check(const char *path, struct muster_error *err);
/* Flush, fsync, rename over path, fsync the directory. On failure path is untouched, and nothing is left beside it. */
int muster_file_commit(struct muster_file *file, struct muster_error *err);
/* Forget it; a no-op after commit. */
void muster_file_abandon(struct muster_file *file);

#endif
