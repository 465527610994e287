/* fs_tree.h - files and directories under one root, made one after the other
 *
 * After the first failure nothing more is written, and err says why.
 */
#ifndef MUSTER_SIM_FS_TREE_H
#define MUSTER_SIM_FS_TREE_H

#include "muster/error.h"

#include <stdbool.h>
#include <stdio.h>

struct muster_sim_tree {
	const char *root;
	char directory[4096]; /* the one that was entered */
	bool failed;
	struct muster_error *err;
};

/* What comes next goes into this directory under the root; it is made, and those above it. */
void muster_sim_tree_enter(struct muster_sim_tree *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One file in the directory that was entered; a newline is added. */
void muster_sim_tree_put(struct muster_sim_tree *t, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void muster_sim_tree_link(struct muster_sim_tree *t, const char *name, const char *to);

/* A new file to write to, and its end. NULL after a failure, which muster_sim_tree_finish takes. */
FILE *muster_sim_tree_start(struct muster_sim_tree *t, const char *name);
void muster_sim_tree_finish(struct muster_sim_tree *t, const char *name, FILE *out);

/* The description asks for something that no machine has. */
void muster_sim_tree_refuse(struct muster_sim_tree *t, const char *what, const char *text, const char *why);

#endif
