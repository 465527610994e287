/* work.h - a rank's part of a checkpoint: its file, and what copies GPU memory to it piece by piece
 *
 * Each piece is filled on the GPU, copied to pinned memory and written from there, while other pieces are on their way.
 * No call here ends while the file system stalls: the step says which request it waits for, and the supervisor ends the
 * worker at its deadline.
 */
#ifndef MUSTER_PROBES_CHECKPOINT_WORK_H
#define MUSTER_PROBES_CHECKPOINT_WORK_H

#include "storage/file.h"
#include "storage/io.h"
#include "vendor/cuda.h"
#include "vendor/pinned.h"
#include "muster/probe.h"

#include <stdbool.h>

#define MUSTER_CHECKPOINT_PIECE ((size_t)4 << 20)
#define MUSTER_CHECKPOINT_SLOTS 8 /* pieces on their way at once */

struct muster_checkpoint_slot {
	uint64_t offset;
	size_t bytes;
	bool asked;     /* its request is under way */
	CUevent copied; /* from the GPU */
};

struct muster_checkpoint_work {
	struct muster_probe_ctx *ctx;
	const struct muster_cuda *cuda;
	const char *folder;
	struct muster_storage_file file;
	bool open;
	uint64_t seed, bytes; /* of the file's content; as many bytes of it as are written */
	struct muster_io *io;
	CUstream stream;
	CUdeviceptr memory; /* a piece for each slot */
	struct muster_pinned host;
	struct muster_checkpoint_slot slots[MUSTER_CHECKPOINT_SLOTS];
};

/* A file of `bytes` in the folder, memory and a stream. Either way to be ended by done. */
int muster_checkpoint_open(struct muster_checkpoint_work *ret, struct muster_probe_ctx *ctx, const char *folder,
	uint64_t bytes, struct muster_error *err);
/* Free all of it; the file is gone. What a request that did not end still uses is left. */
void muster_checkpoint_done(struct muster_checkpoint_work *work);

/* Write the file up to `bytes`, or as much as most_ms allow, and have the file system keep it: work->bytes, and how
 * long that took. */
int muster_checkpoint_write(
	struct muster_checkpoint_work *work, uint64_t bytes, double most_ms, double *ret_ms, struct muster_error *err);
/* Read back what was written, or as much of it as most_ms allow, and count the 8-byte words that differ. */
int muster_checkpoint_read(struct muster_checkpoint_work *work, double most_ms, double *ret_ms, uint64_t *ret_bytes,
	uint64_t *ret_wrong, struct muster_error *err);

#endif
