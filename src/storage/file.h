/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - files that muster measures with: without a name, so that nothing is left however the process ends
 */
#ifndef MUSTER_STORAGE_FILE_H
#define MUSTER_STORAGE_FILE_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct muster_storage_file {
	int fd;
	bool direct;  /* O_DIRECT: past the cache of the kernel */
	size_t block; /* bytes: what offsets, sizes and memory are multiples of when direct; at least 4096, a power of 2
		       */
	uint64_t bytes;         /* of the file */
	char why_buffered[256]; /* why it is not direct; else "" */
};

/* A new file of `bytes` bytes, rounded up to whole blocks, in a folder that muster_storage_folder_check accepts. The
 * file has no name: O_TMPFILE; where the file system has none, the file is made under a name that no file has, and
 * loses the name at once, before any byte. It takes at most half of what is free to this user, and its space is
 * reserved where the file system can do that. Direct where the file system takes that. Codes as of folder.h, and
 * MUSTER_ENOTSUPPORTED where the space is too small. */
int muster_storage_file_open(
	const char *folder, uint64_t bytes, struct muster_storage_file *ret, struct muster_error *err);

/* A regular file that is there, read only. Links are followed. Direct where the file system takes that. */
int muster_storage_file_open_existing(const char *path, struct muster_storage_file *ret, struct muster_error *err);

/* What was written is on the disk, and not in the kernel's cache any more: what is read next comes from the disk as far
 * as the kernel can say. */
int muster_storage_file_settle(const struct muster_storage_file *file, struct muster_error *err);

/* Also one that could not be opened: all zeros, or fd is -1. */
void muster_storage_file_close(struct muster_storage_file *file);

/* `bytes` rounded up to whole blocks. */
static inline uint64_t muster_storage_blocks(const struct muster_storage_file *file, uint64_t bytes)
{
	return (bytes + file->block - 1) / file->block * file->block;
}

#endif
