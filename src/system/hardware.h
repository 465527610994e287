/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.h - hardware descriptions: what one healthy node of a machine type has, one JSON file for each type
 *
 * The simulation reads all of a description (sim/hardware.h), `muster bind` the part that is here.
 */
#ifndef MUSTER_SYSTEM_HARDWARE_H
#define MUSTER_SYSTEM_HARDWARE_H

#include "json/json.h"
#include "muster/arena.h"
#include "muster/error.h"

struct muster_hardware_numa {
	int os_index;
	const char *cpu_list; /* "24-47" */
};

struct muster_hardware_gpu {
	const char *bus_id; /* "0001:00:00.0" */
	int numa_node;
};

struct muster_hardware {
	int sockets, threads_per_core; /* at least 1 */
	struct muster_hardware_numa *numas;
	struct muster_hardware_gpu *gpus;
	size_t numa_count, gpu_count;
};

/* Read the description of a SKU from its file under directory; everything lives in arena. An unknown SKU and a file
 * that does not have these parts are MUSTER_EUSAGE. */
int muster_hardware_read(const char *directory, const char *sku, struct muster_arena *arena,
	struct muster_hardware *ret, struct muster_error *err);

/* The whole description, merged into the one that it extends; the caller frees it. Only what "extends" says is checked:
 * it names a description that extends no other, so that there is one place to look, and no circle. */
int muster_hardware_load(const char *directory, const char *sku, struct muster_json **ret, struct muster_error *err);

/* The SKUs that directory describes, one a line, sorted. */
const char *muster_hardware_list(const char *directory, struct muster_arena *arena);

#endif
