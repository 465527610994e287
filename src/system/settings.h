/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - the environment variables that steer CUDA, NCCL, Gloo, UCX and MPI, and where each value comes from
 *
 * NCCL takes a variable from the environment, else from the first file that has it: the one that NCCL_CONF_FILE names
 * or else the user's .nccl.conf, then /etc/nccl.conf.
 */
#ifndef MUSTER_SYSTEM_SETTINGS_H
#define MUSTER_SYSTEM_SETTINGS_H

#include "muster/error.h"
#include "muster/arena.h"

#include <stdbool.h>
#include <stddef.h>

#define MUSTER_SETTING_NAME_MAX 64         /* bytes; a longer name is not a variable */
#define MUSTER_SETTING_VALUE_MAX 1023      /* bytes; the rest is cut off, as NCCL does with its files */
#define MUSTER_SETTINGS_NAMED 29           /* variables that are always listed, set or not */
#define MUSTER_SETTINGS_OTHERS_MAX 64      /* other NCCL_* variables */
#define MUSTER_SETTINGS_FILE_MAX (1 << 16) /* bytes of a configuration file */

#define MUSTER_SETTING_ENVIRONMENT "environment"

struct muster_setting {
	const char *name;
	const char *value; /* NULL: not set */
	const char *from;  /* MUSTER_SETTING_ENVIRONMENT or a path; NULL: not set */
};

struct muster_settings {
	struct muster_arena *arena;                                                      /* owns the texts */
	struct muster_setting items[MUSTER_SETTINGS_NAMED + MUSTER_SETTINGS_OTHERS_MAX]; /* the named ones first */
	size_t count;
	size_t left_out; /* other NCCL_* that found no room */
};

/* Is it one of the named ones, or NCCL_ and then letters, digits and "_"? */
bool muster_setting_counts(const char *name, size_t length);

void muster_settings_init(struct muster_settings *settings, struct muster_arena *arena);

/* Both take any bytes, and leave alone what is set already. An environment as the kernel keeps it: "NAME=VALUE", each
 * ended by NUL. */
void muster_settings_add_environment(struct muster_settings *settings, const char *block, size_t length);
/* A configuration file of NCCL, read as NCCL does: NAME=VALUE on each line, from its first byte to its last; lines that
 * begin with # or have no = mean nothing. Only NCCL_* counts. from is the file's path. from_windows: a carriage return
 * at the end of a line does not count, as for NCCL since 2.30.3 (setEnvFile of src/misc/param.cc); before, it is the
 * last character of the value. */
void muster_settings_add_file(
	struct muster_settings *settings, const char *text, size_t length, bool from_windows, const char *from);

/* NULL when it is neither a named one nor set. */
const struct muster_setting *muster_settings_find(const struct muster_settings *settings, const char *name);

/* The environment that this process was started with, whatever was changed in it since: malloc'd. */
int muster_environment_read(char **ret_block, size_t *ret_length, struct muster_error *err);

#endif
