/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - what the parts of the probe gpu_stream share: pinned buffers, the GPU's memory, and work beside the copies
 *
 * A pass is one stream of the whole file or of all copies; its windows are rates in GB/s of MUSTER_WINDOW_BYTES (disk)
 * or of 8 copies (host). Times: a pass from the host ends after 5 s, one from the disk begins no read after 5 s, so
 * that the longest pass with a stalled request (10 s) stays below the probe's deadline of 60 s for both sources and
 * cuFile.
 */
#ifndef MUSTER_PROBES_GPU_STREAM_STREAM_H
#define MUSTER_PROBES_GPU_STREAM_STREAM_H

#include "probes/gpu/kernels.h"
#include "probes/gpu/products.h"
#include "storage/file.h"
#include "storage/io.h"
#include "vendor/pinned.h"
#include "muster/probe.h"

#define MUSTER_STREAM_SLOTS_MOST 32
#define MUSTER_STREAM_WINDOWS 8 /* of a pass, at most */

/* Matrix products on a stream of their own, queued well ahead so that the GPU never waits for the host. */
#define MUSTER_STREAM_BATCHES 4 /* queued at most; about two, where batches take batch_ms (products.c) */
struct muster_stream_products {
	bool ready;
	char why_not[300]; /* when not ready */
	struct muster_product product;
	CUdeviceptr memory, a, b, d, workspace;
	CUstream stream;
	CUevent events[MUSTER_STREAM_BATCHES]; /* the end of each batch */
	size_t batch;                          /* products that are queued together */
	double batch_ms;                       /* that they take */
	double until;                          /* by muster_clock_raw: so long the GPU has products */
	size_t next;                           /* batch */
};

struct muster_stream {
	struct muster_probe_ctx *ctx;
	const struct muster_cuda *cuda;
	const struct muster_kernels *kernels;
	const char *bus_id;
	struct muster_pinned host; /* slots of slot_bytes each */
	size_t slots, slot_bytes;
	bool lent;                  /* requests to the disk still run: the kernel may still use the slots */
	CUdeviceptr device, report; /* `bytes` of memory; a struct muster_kernel_report */
	size_t bytes;
	CUstream copies;
	CUevent ends[1 + MUSTER_STREAM_WINDOWS];  /* before and after the windows of a pass from the host */
	CUevent copied[MUSTER_STREAM_SLOTS_MOST]; /* the last copy of each slot */
	struct muster_stream_products products;
};

/* What one pass has brought to the GPU. */
struct muster_stream_pass {
	size_t bytes;
	double gbps[MUSTER_STREAM_WINDOWS];
	size_t windows;
	uint64_t wrong; /* 16-byte words that are not those that were sent */
};

/* A window from the disk has ended (probes/windows.h): add its bytes and, if it is whole or the first one, its rate. */
void muster_stream_keep(struct muster_stream_pass *pass, size_t bytes, double ms);

/* Pinned memory for the slots, at most `bytes` of the GPU's memory (less where the GPU has less, at least a slot), and
 * products where the GPU has them. -1 with err; either way to be ended by done. */
int muster_stream_init(struct muster_stream *ret, struct muster_probe_ctx *ctx, size_t slots, size_t slot_bytes,
	size_t bytes, struct muster_error *err);
/* Leaves alone what a copy or a read that never ended still uses. */
void muster_stream_done(struct muster_stream *stream);

/* Queue a copy of `bytes` from the slot to device + at. */
int muster_stream_copy(struct muster_stream *stream, size_t slot, size_t at, size_t bytes, struct muster_error *err);
/* 1: the last copy of the slot is done; 0: not yet; -1 with err. */
int muster_stream_copied(struct muster_stream *stream, size_t slot, struct muster_error *err);
/* Wait until all copies are done. */
int muster_stream_wait(struct muster_stream *stream, struct muster_error *err);
/* Before a pass: zeros, so that nothing of an earlier pass counts. After it: how many words of the first `bytes` are
 * not those of the seed. */
int muster_stream_clear(struct muster_stream *stream, struct muster_error *err);
int muster_stream_verify(
	struct muster_stream *stream, size_t bytes, uint64_t seed, uint64_t *ret_wrong, struct muster_error *err);

/* ---- products.c ---- */

/* What the GPU or the library cannot do is products->why_not and no error. */
int muster_stream_products_init(struct muster_stream *stream, struct muster_error *err);
void muster_stream_products_done(struct muster_stream *stream);
/* Keep products queued: to be called every few milliseconds while copies go on. */
int muster_stream_products_keep(struct muster_stream *stream, struct muster_error *err);
/* Wait for the end of what is queued. */
int muster_stream_products_stop(struct muster_stream *stream, struct muster_error *err);

/* ---- host.c: from the host's memory ---- */

int muster_stream_from_host(
	struct muster_stream *stream, bool beside_products, struct muster_stream_pass *ret, struct muster_error *err);

/* ---- disk.c: from a file ---- */

struct muster_stream_file {
	struct muster_storage_file file;
	struct muster_io *io;
	size_t bytes; /* that were written: whole slots */
	uint64_t seed;
};
/* A file of at most `bytes` bytes in the folder, written and on the disk. -1 with err; either way to be ended by done.
 */
int muster_stream_file_init(struct muster_stream *stream, const char *folder, size_t bytes,
	struct muster_stream_file *ret, struct muster_error *err);
void muster_stream_file_done(struct muster_stream *stream, struct muster_stream_file *file);
/* Reads from the file, copies to the GPU, and both at once: read, copied and compared. */
int muster_stream_from_disk(struct muster_stream *stream, const struct muster_stream_file *file, bool beside_products,
	struct muster_stream_pass *ret, struct muster_error *err);

/* ---- cufile.c: from a file, by cuFile ---- */

/* The same by cuFile, and in path which way the data takes. -1 with err where cuFile is not there or cannot do it. */
int muster_stream_from_cufile(struct muster_stream *stream, const struct muster_stream_file *file,
	struct muster_stream_pass *ret, char *path, size_t path_size, struct muster_error *err);

#endif
