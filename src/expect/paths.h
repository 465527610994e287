/* paths.h - "paths" of an expectation file: what must be there on all nodes */
#ifndef MUSTER_EXPECT_PATHS_H
#define MUSTER_EXPECT_PATHS_H

#include "json/object.h"
#include "muster/expect.h"

/* Whether it can be an expected path: absolute, and of a length that the kernel takes. */
int muster_expect_path_check(const char *path, struct muster_error *err);

muster_field_read_fn muster_expect_paths_read; /* into the struct muster_expect */

/* Only the paths of the machine type called name (NULL: of none) and of the overlay (NULL: none), as muster_expect_load
 * would find them; in the arena. Checks are not read. -1 with err, which muster_expect_load gives too. */
int muster_expect_paths_load(const char *config_dir, const char *name, const char *overlay, struct muster_arena *arena,
	const char ***ret, size_t *ret_count, struct muster_error *err);

#endif
