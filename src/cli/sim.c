/* SPDX-License-Identifier: Apache-2.0 */
/* sim.c - `muster sim`, sim-rank and sim-worker: the program muster-sim has them, and takes the same words
 *
 * Nothing of the simulation is linked into muster, so these commands execute muster-sim with the words of the command
 * line. MUSTER_SIM_WRAPPER puts a program with arguments, such as a memory checker, in front of it.
 */
#include "cli/cli.h"

#include "muster/arena.h"
#include "util/env.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

size_t muster_cli_wrapper(struct muster_arena *arena, const char **to)
{
	const char *wrapper = muster_env(MUSTER_ENV_SIM_WRAPPER), blanks[] = " \t";
	size_t count = 0;
	for (const char *at = wrapper ? wrapper : ""; count < MUSTER_WRAPPER_WORDS_MAX && *(at += strspn(at, blanks));
		count++) {
		to[count] = muster_arena_string_n(arena, at, strcspn(at, blanks));
		at += strlen(to[count]);
	}
	return count;
}

/* Does not return when muster-sim starts. argv[0], the name of the command, is the first word for muster-sim. */
int muster_cmd_sim(int argc, char **argv)
{
	struct muster_arena *arena = muster_arena_new();
	const char **words = muster_arena_alloc(arena, (MUSTER_WRAPPER_WORDS_MAX + (size_t)argc + 2) * sizeof *words);
	struct muster_paths paths = { 0 };
	struct muster_error err = { 0 };
	if (muster_paths_find(&paths, &err) == 0 && access(paths.simulator, X_OK) < 0) {
		muster_fail(&err, MUSTER_EUSAGE, "muster sim: %s: %s; it is in the package muster-sim", paths.simulator,
			strerror(errno));
	} else if (paths.simulator) {
		size_t count = muster_cli_wrapper(arena, words);
		words[count++] = paths.simulator;
		memcpy(words + count, argv, (size_t)argc * sizeof *words);
		execvp(words[0], (char **)(uintptr_t)words);
		muster_fail(&err, MUSTER_EUSAGE, "%s: %s", words[0], strerror(errno));
	}
	muster_arena_free(arena);
	return muster_cli_usage(&err);
}
