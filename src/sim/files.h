/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - files under one root, made as node_files.txt says
 *
 * fs.c fills in a struct muster_sim_files for each node, and calls muster_sim_files_make() for each thing of the node:
 * a port, a GPU, a disk. Each call makes the files that node_files.txt has for such a thing, with the thing's values,
 * and collects lines of the kernel's log, which fs.c writes at last. fault_log.c uses the same function for the lines
 * alone.
 *
 * After the first failure nothing more is written, and err says why. So callers look at `failed` once, at the end.
 */
#ifndef MUSTER_SIM_FILES_H
#define MUSTER_SIM_FILES_H

#include "json/object.h"

#include <stdbool.h>

struct muster_sim_files {
	const char *root;  /* of the node; it is made with its first folder */
	char folder[4096]; /* of the last file: it is there, and the next file may be in it too */
	struct muster_sim_log_line {
		double seconds; /* since boot */
		size_t order;   /* among lines of one time */
		const char *text;
	} * log; /* of the kernel: the lines so far */
	size_t log_count, log_room;
	struct muster_arena *arena;
	const char **missing; /* paths that are not made, nor what is in them */
	size_t missing_count;
	bool failed;
	struct muster_error *err;
};

/* What ${NAME} is in the lines for a thing. The scope of the thing is asked first, then those around it, up to the
 * node's. In each: the names, then the fields of the object that are no arrays, then "index". An example, for the lines
 * [gid]:
 *
 *   { address, type }  in  { state_number, ... and struct muster_sim_port }  in  { struct muster_sim_node }
 */
struct muster_sim_scope {
	const struct muster_sim_scope *around; /* NULL: nothing */
	const struct muster_object_type *type; /* NULL: no object */
	const void *object;
	const char *const (*names)[2]; /* name and text; a NULL name ends them. NULL: none */
	size_t index;                  /* among the things of its kind, which is the name "index" */
};

#define MUSTER_SIM_PAIRS(...) ((const char *const[][2]){ __VA_ARGS__, { NULL } })
#define MUSTER_SIM_NAMES(...) .names = MUSTER_SIM_PAIRS(__VA_ARGS__)

/* Make what node_files.txt has under [thing], and under [thing NAME] and [thing !NAME] where the scope has it so. */
void muster_sim_files_make(struct muster_sim_files *f, const char *thing, const struct muster_sim_scope *scope);

/* A new file to write to, and its end. NULL after a failure, which muster_sim_files_finish takes. */
FILE *muster_sim_files_start(struct muster_sim_files *f, const char *path);
void muster_sim_files_finish(struct muster_sim_files *f, const char *path, FILE *out);

void muster_sim_files_log(struct muster_sim_files *f, double seconds, const char *text);

/* The description asks for something that no machine has: the message is WHAT "TEXT": WHY, with MUSTER_EUSAGE. */
void muster_sim_files_refuse(struct muster_sim_files *f, const char *what, const char *text, const char *why);

#endif
