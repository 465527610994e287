/* disk.h - host memory to or from a file, many requests at once */
#ifndef MUSTER_PROBES_BROADCAST_DISK_H
#define MUSTER_PROBES_BROADCAST_DISK_H

#include "storage/io.h"
#include "muster/probe.h"

/* Memory and a file that are to be the same: the file from `offset` on. */
struct muster_broadcast_copy {
	enum muster_io_way way;
	const struct muster_storage_file *file;
	const char *name; /* of the file, or of its folder */
	unsigned char *data;
	uint64_t bytes, offset;
};

/* Read or write all of it, or as much as most_ms allow: *ret_bytes, from the beginning on, and how long that took.
 * Where the file system stalls the step says which request does, and the supervisor ends the worker at its deadline. */
int muster_broadcast_copy(struct muster_probe_ctx *ctx, const struct muster_broadcast_copy *copy, double most_ms,
	uint64_t *ret_bytes, double *ret_ms, struct muster_error *err);

#endif
