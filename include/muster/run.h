/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - runs are made, of the ranks' records or of a saved report, and released; implemented by src/model/run.c */
#ifndef MUSTER_RUN_H
#define MUSTER_RUN_H

#include "muster/run_data.h"

void muster_run_init(struct muster_run *run); /* makes its arena */
void muster_run_done(struct muster_run *run);

struct muster_node *muster_run_add_node(struct muster_run *run, const char *name);
struct muster_rank *muster_node_add_rank(struct muster_node *node, int rank);
/* Nodes in order of their lowest rank, those without ranks first; "?" only when there are ranks on it. */
void muster_run_sort(struct muster_run *run);
void muster_run_add_trial(struct muster_run *run, struct muster_trial trial);

#endif
