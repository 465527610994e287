/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h - may muster write into a folder, and is there room for its files?
 *
 * Only into one that is this user's or root's. A link could lead root elsewhere, so as root no part of the path may be
 * one.
 */
#ifndef MUSTER_STORAGE_FOLDER_H
#define MUSTER_STORAGE_FOLDER_H

#include "muster/error.h"

#include <stdint.h>

/* 0, or -1 with err, which names the folder and what is wrong with it: the path is not absolute, there is no such
 * folder or it is none, a symbolic link on the way for root, another user's, read-only or not writable. Codes:
 * MUSTER_EUSAGE for what only another path mends, MUSTER_ENOPERMISSION, MUSTER_ENOTSUPPORTED for a read-only file
 * system, else MUSTER_EIO. */
int muster_storage_folder_check(const char *folder, struct muster_error *err);

/* The same, and the folder that was checked: a descriptor for openat(2) and the like, or -1 with err. */
int muster_storage_folder_open(const char *folder, struct muster_error *err);

/* Bytes that this user may still write there; infinite where the file system reports no size at all (f_blocks is 0). */
struct statvfs;
double muster_storage_free_bytes(const struct statvfs *space);

/* Whether `ranks` files of `bytes` bytes each take at most half of what is free in the folder to this user.
 * MUSTER_ENOTSUPPORTED where they do not; what cannot be asked is no error here. */
int muster_storage_space_check(const char *folder, int ranks, uint64_t bytes, struct muster_error *err);

#endif
