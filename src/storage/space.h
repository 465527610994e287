/* space.h - is there room for the files of all ranks? */
#ifndef MUSTER_STORAGE_SPACE_H
#define MUSTER_STORAGE_SPACE_H

#include "muster/error.h"

#include <stdint.h>

/* Whether `ranks` files of `bytes` bytes each take at most half of what is free in the folder to this user.
 * MUSTER_ENOTSUPPORTED where they do not; what cannot be asked is no error here. */
int muster_storage_space_check(const char *folder, int ranks, uint64_t bytes, struct muster_error *err);

#endif
