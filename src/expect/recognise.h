/* SPDX-License-Identifier: Apache-2.0 */
/* recognise.h - which of the known machine types a run was measured on */
#ifndef MUSTER_EXPECT_RECOGNISE_H
#define MUSTER_EXPECT_RECOGNISE_H

#include "muster/expect.h"

struct muster_run;

/* A machine type that can be recognised: its file has an identify of its own, with vm_size or gpu_name. */
struct muster_candidate {
	struct muster_expect expect; /* with the overlay, where that fits */
	struct muster_error misfit;  /* why the overlay does not fit this one; code MUSTER_OK when it does */
};

struct muster_candidates {
	struct muster_candidate *items; /* by the files' names */
	size_t count;
};

/* Every file of config_dir that can be recognised. overlay is a path or NULL; it must fit at least one of them. On
 * failure -1 with MUSTER_EUSAGE and the file in err: a bad file is an error whether or not this is its machine. */
int muster_candidates_load(
	const char *config_dir, const char *overlay, struct muster_candidates *ret, struct muster_error *err);
void muster_candidates_done(struct muster_candidates *candidates);

/* Find the run's machine type. No I/O. What the metadata service called a node (node.vm_size) decides as soon as one
 * node knows it, and a name that no file has is never overruled by the GPUs; without any, the GPUs' names and their
 * number on each node do. A node that says nothing, or whose GPUs fit no file, is taken for what the others are.
 * *ret_how is a phrase of the run's arena: "vmSize X of the metadata service". -1 with MUSTER_ENOTSUPPORTED and a
 * sentence that names the nodes, and when they differ what each is taken for. */
int muster_recognise(const struct muster_run *run, const struct muster_candidates *candidates, size_t *ret_index,
	const char **ret_how, struct muster_error *err);

#endif
