/* SPDX-License-Identifier: Apache-2.0 */
/* complete.c - what a shell offers as a fault: its kind, then its place among the nodes and GPUs, then its value; and
 * as noise
 *
 * What has been typed decides. With --sku Standard_NC80adis_H100_v5 --nodes 2 (two GPUs a node):
 *
 *   typed                        offered
 *   comp                         compute-mode@   (and what the fault does)
 *   compute-mode@node1           compute-mode@node1/gpu0, compute-mode@node1/gpu1
 *   compute-mode@node1/gpu0=p    compute-mode@node1/gpu0=prohibited
 *
 * Only a fault whose VALUE is one of a few words offers values. muster_offer() leaves out what does not begin with the
 * typed word, so the functions here offer all that can stand at the place.
 */
#include "sim/command.h"

#include "muster/arena.h"
#include "sim/fault.h"
#include "sim/noise.h"
#include "sim/scenario.h"
#include "system/hardware.h"
#include "util/text.h"

#include <string.h>

/* The number of GPUs on a node of the machine type; 0 when it is not known. */
static size_t gpus_of(const char *sku, struct muster_arena *arena)
{
	struct muster_hardware hardware;
	struct muster_paths paths;
	struct muster_error err;
	if (!sku || muster_paths_find(&paths, &err) < 0 ||
		muster_hardware_read(paths.hardware, sku, arena, &hardware, &err) < 0)
		return 0;
	return hardware.gpu_count;
}

/* Offer KIND@WHERE for every WHERE that the fault takes, by the values of --sku and --nodes among the earlier words.
 * Without a known --sku the number of GPUs is 0: then, as for ports and NUMA nodes, "KIND@node1/" is offered, which the
 * user completes. */
static void places_offer(const struct muster_typed *typed, const struct muster_fault *kind, struct muster_arena *arena)
{
	const char *text = muster_typed_value(typed, "--nodes");
	size_t gpus = gpus_of(muster_typed_value(typed, "--sku"), arena);
	long nodes = 1;
	muster_parse_int(text ? text : "1", 1, MUSTER_SIM_NODES_MAX, &nodes, "", NULL);
	if (kind->where == AT_RANK)
		for (size_t i = 0; i < gpus * (size_t)nodes; i++)
			muster_offer(typed, muster_arena_printf(arena, "%s@rank%zu", kind->name, i), NULL);
	for (long i = 1; i <= nodes && kind->where != AT_RANK; i++) {
		const char *node = muster_arena_printf(arena, "%s@node%ld", kind->name, i);
		bool either = kind->where == AT_NODE_OR_GPU;
		bool volume = kind->where == AT_SCRATCH || kind->where == AT_FOLDER;
		if (kind->where == AT_NODE || volume || either)
			muster_offer(typed, node, NULL);
		else if (kind->where == AT_PORT || kind->where == AT_NUMA || gpus == 0)
			muster_offer(typed, muster_arena_printf(arena, "%s/", node), NULL);
		for (size_t g = 0; g < gpus && (kind->where == AT_GPU || either); g++)
			muster_offer(typed, muster_arena_printf(arena, "%s/gpu%zu", node, g), NULL);
	}
}

void muster_sim_words_faults(const struct muster_typed *typed)
{
	size_t length = strcspn(typed->word, "@");
	const char *equals = strchr(typed->word, '=');
	struct muster_arena *arena = muster_arena_new();
	for (size_t i = 0; i < muster_fault_kind_count; i++) {
		const struct muster_fault *kind = &muster_fault_kinds[i];
		if (!typed->word[length]) {
			muster_offer(typed, muster_arena_printf(arena, "%s@", kind->name), kind->help);
		} else if (strlen(kind->name) == length && strncmp(kind->name, typed->word, length) == 0) {
			if (!equals)
				places_offer(typed, kind, arena);
			for (size_t w = 0; w < kind->word_count && equals; w++)
				muster_offer(typed,
					muster_arena_printf(arena, "%.*s%s", (int)(equals - typed->word) + 1,
						typed->word, kind->words[w]),
					NULL);
		}
	}
	muster_arena_free(arena);
}

void muster_sim_words_noise(const struct muster_typed *typed)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_paths paths;
	struct muster_error err;
	const char *list = muster_paths_find(&paths, &err) == 0 ? muster_sim_noise_list(paths.noise, arena) : "";
	for (const char *end; (end = strchr(list, ',')); list = end + 2)
		muster_offer(typed, muster_arena_printf(arena, "%.*s", (int)(end - list), list), NULL);
	muster_words_files(typed);
	muster_arena_free(arena);
}
