/* file.h - files are written whole or not at all */
#ifndef MUSTER_FILE_H
#define MUSTER_FILE_H

#include "muster/error.h"

#include <stdio.h>

struct muster_file {
	FILE *out;       /* write here */
	char *path;      /* where it will be */
	char *temporary; /* where it is until committed; NULL when writing to stdout */
};

/* Open a temporary file beside path (O_EXCL, never through a symlink). "-" is stdout. */
int muster_file_open(struct muster_file *file, const char *path, struct muster_error *err);
/* Flush, fsync, rename over path, fsync the directory. On failure the temporary file is removed and path is untouched.
 */
int muster_file_commit(struct muster_file *file, struct muster_error *err);
/* Remove the temporary file; a no-op after commit. */
void muster_file_abandon(struct muster_file *file);

#endif
