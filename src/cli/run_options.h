/* SPDX-License-Identifier: Apache-2.0 */
/* run_options.h - the options that `muster run` and `muster node` share
 *
 * muster_run_options_parse() is what a command calls. muster_run_options() gives the rows alone: `muster sim` adds rows
 * of its own to them (sim/command.c).
 */
#ifndef MUSTER_CLI_RUN_OPTIONS_H
#define MUSTER_CLI_RUN_OPTIONS_H

#include "cli/cli.h"
#include "coord/options.h"

/* The options of a command line without any: the profile is standard for `run` and quick for `node`. */
extern const struct muster_options muster_run_defaults, muster_node_defaults;

/* The rows of their options, which go into options: to ret, of MUSTER_OPTIONS_MAX. Texts hold until the next call.
 * Returns how many they are. */
size_t muster_run_options(struct muster_options *options, struct muster_option *ret);

/* Read the command line into options, which hold the defaults. 0 when the run can begin; else 1, and *ret_code is the
 * exit code. speaks: whether this process is the one that prints. */
int muster_run_options_parse(int argc, char **argv, const char *usage, const char *epilogue, bool speaks,
	struct muster_options *options, int *ret_code);
/* Release what the parser has allocated: the paths. Texts stay those of the command line. */
void muster_run_options_done(struct muster_options *options);

#endif
