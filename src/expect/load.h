/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - what the files of src/expect share: load.c reads files and merges them, parse.c and its parts (parse.h)
 * check the merged tree and make the structs
 */
#ifndef MUSTER_EXPECT_LOAD_H
#define MUSTER_EXPECT_LOAD_H

#include "json/json.h"
#include "json/object.h"
#include "muster/expect.h"

#define MUSTER_EXPECT_BYTES_MAX (1024u * 1024) /* of one file */
#define MUSTER_PROBLEMS_MAX 100                /* of one file and its parents */

/* One file of an extends chain, or the overlay. */
struct muster_layer {
	char *path;
	struct muster_json *json;
	bool overlay;
};

/* Receiver of problems, when reading continues after a problem. */
struct muster_problems {
	muster_problem_fn *tell;
	void *arg;
	size_t count;
};

/* Whether it is the path of a file and no name of a machine type or a list of nodes: it has a '/' or ends in ".json".
 */
bool muster_expect_is_path(const char *name);

/* Read one file into a tree, which the caller frees. -1 with MUSTER_EUSAGE, the file, and the line of bad syntax. */
int muster_layer_read(const char *path, struct muster_json **ret, struct muster_error *err);

/* The check of that name as the file has it; NULL when it has none. */
const struct muster_json *muster_layer_check(const struct muster_layer *layer, const char *id);

/* Check the merged tree and fill expect (its arena is made already). Layers, parents first, are used to name the file
 * of a problem.
 */
int muster_expect_parse(const struct muster_json *merged, const struct muster_layer *layers, size_t layer_count,
	struct muster_expect *expect, struct muster_problems *problems, struct muster_error *err);

/* Whether a file can be an overlay at all, of whatever machine type: -1 with the file and the place in err. */
int muster_overlay_check(const char *path, struct muster_error *err);

/* ---- "paths" of an expectation file: what must be there on all nodes ---- */

/* Whether it can be an expected path: absolute, and of a length that the kernel takes. */
int muster_expect_path_check(const char *path, struct muster_error *err);

muster_field_read_fn muster_expect_paths_read; /* into the struct muster_expect */

/* Only the paths of the machine type called name (NULL: of none) and of the overlay (NULL: none), as muster_expect_load
 * would find them; in the arena. Checks are not read. -1 with err, which muster_expect_load gives too. */
int muster_expect_paths_load(const char *config_dir, const char *name, const char *overlay, struct muster_arena *arena,
	const char ***ret, size_t *ret_count, struct muster_error *err);

#endif
