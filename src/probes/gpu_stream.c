/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_stream.c - data that streams to the GPU while it computes: from the host's memory, and from the disk
 *
 * As a program works that keeps the layers of a model outside the GPU's memory: buffers on the GPU's NUMA node, as many
 * in flight as there are, each filled again when its copy is done. A rank streams from the host in its own turn. From
 * the disk all ranks of the node stream at once, each a file of its own, since they share the disks.
 *
 *   run       from the host: 4 slots of 32 MiB, 64 copies timed in windows of 8 by the GPU's events
 *   together  from the disk: a file without a name is written, read into 32 slots of 4 MiB by direct I/O,
 *             copied to the GPU, compared there, then the same file by cuFile
 *
 * Each source is measured twice, alone and while the GPU multiplies matrices. Everything is made at the beginning of a
 * callback and freed at its end, for the memory test that follows wants all memory. What a stuck read or copy may still
 * write to is left allocated (muster_stream_done), and the process ends with it.
 */
#include "probes/gpu_stream/stream.h"

#include "probes/metrics.h"
#include "probes/windows.h"
#include "system/scratch.h"
#include "util/text.h"
#include "vendor/cufile.h"

#include <stdio.h>

static const struct muster_metric metrics[] = {
	NUMBER(GPU, "gpu.stream_gbps", GB_PER_S, MORE,
		"buffers that stream to the GPU, one rank of the node at a time from the host's memory (host), all at "
		"once from the disk (disk), while the GPU has nothing else to do (alone) or multiplies matrices "
		"(products)",
		.labels = { "gpu", "source", "load" }, .windows = "streams",
		SHOWN(IN(SPEEDS, 110, "stream, host to GPU", .key = "source", .value = "host"),
			IN(SPEEDS, 120, "stream, disk to GPU", .key = "source", .value = "disk"))),
	NUMBER(GPU, "gpu.stream_wrong", NONE, LESS,
		"16-byte words that came to the GPU other than they were sent or written",
		.labels = { "gpu", "source" }, .counts_wrong = true),
	GPU_NUMBER("gpu.stream_tested_mib", MEBIBYTES, DRIFTS, "data of this rank that streamed from the disk, once"),
	GPU_NUMBER("gpu.cufile_gbps", GB_PER_S, MORE, "the same file to the GPU by cuFile (GPUDirect Storage)",
		.windows = "streams"),
	GPU_TEXT("gpu.cufile_path", FACT, NOTHING,
		"how cuFile moves it: \"direct: ...\", or \"compatibility: ...\" with what stands in the direct way"),
	GPU_NUMBER("gpu.cufile_wrong", NONE, LESS, "16-byte words that cuFile brought other than written",
		.counts_wrong = true),
	NUMBER(NODE, "node.disk_to_gpu_gbps", GB_PER_S, MORE,
		"sum of the means of gpu.stream_gbps from the disk, alone, over the ranks of the node: their best "
		"windows are at other times; layout is that of node.scratch_read_gbps; not measured but derived",
		.labels = { "layout" }),
};

#define MIB ((size_t)1 << 20)
#define HOST_SLOTS 4
#define HOST_SLOT_BYTES (32 * MIB)
#define DISK_SLOTS MUSTER_STREAM_SLOTS_MOST
#define DISK_SLOT_BYTES (4 * MIB)
#define FILE_MOST ((uint64_t)1 << 30) /* of a rank */
#define AGAIN_MS 8000.0               /* another pass begins only within that time */

enum source { HOST, DISK };
static const char *const sources[] = { "host", "disk" };
static const char *const loads[] = { "alone", "products" };

/* ---- what is emitted ---- */

/* The windows of one pass, or null with why where pass is NULL. */
static void emit_rate(struct muster_probe_ctx *ctx, enum source source, bool products,
	const struct muster_stream_pass *pass, const char *why)
{
	const struct muster_value labels[] = { muster_string(muster_probe_env(ctx)->gpu->bus_id),
		muster_string(sources[source]), muster_string(loads[products]) };
	muster_windows_emit(ctx, "gpu.stream_gbps", labels, 3, pass ? pass->gbps : NULL, pass ? pass->windows : 0, why);
}

static void emit_wrong(struct muster_probe_ctx *ctx, enum source source, int result, uint64_t wrong, const char *why)
{
	const struct muster_value labels[] = { muster_string(muster_probe_env(ctx)->gpu->bus_id),
		muster_string(sources[source]) };
	muster_emit_result_with(ctx, "gpu.stream_wrong", labels, 2, result, muster_number((double)wrong), why);
}

static void emit_no_cufile(struct muster_probe_ctx *ctx, const char *why)
{
	const char *const figures[] = { "gpu.cufile_gbps", "gpu.cufile_path", "gpu.cufile_wrong" };
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		muster_emit_null_for(ctx, figures[i], muster_probe_env(ctx)->gpu->bus_id, "%s", why);
}

/* Why nothing comes from the disk. */
static void emit_no_disk(struct muster_probe_ctx *ctx, const char *why)
{
	emit_rate(ctx, DISK, false, NULL, why);
	emit_rate(ctx, DISK, true, NULL, why);
	emit_wrong(ctx, DISK, -1, 0, why);
	muster_emit_null_for(ctx, "gpu.stream_tested_mib", muster_probe_env(ctx)->gpu->bus_id, "%s", why);
	emit_no_cufile(ctx, why);
}

/* ---- measuring ---- */

/* Two passes over one source: alone, and beside products where the GPU can make them. file: NULL for the host. Wrong
 * words of both passes are one sample; a failed pass ends the callback, with that sample where words were wrong. */
static int measure(struct muster_stream *stream, enum source source, const struct muster_stream_file *file,
	struct muster_error *err)
{
	uint64_t wrong = 0;
	for (int products = 0; products < 2; products++) {
		struct muster_stream_pass result;
		if (products && !stream->products.ready) {
			emit_rate(stream->ctx, source, true, NULL, stream->products.why_not);
			continue;
		}
		int failed = source == HOST ? muster_stream_from_host(stream, products, &result, err)
					    : muster_stream_from_disk(stream, file, products, &result, err);
		if (failed < 0) {
			if (wrong > 0)
				emit_wrong(stream->ctx, source, 0, wrong, NULL);
			return -1;
		}
		emit_rate(stream->ctx, source, products, &result, NULL);
		size_t mib = result.bytes / MIB;
		if (source == DISK && !products)
			muster_emit_for(
				stream->ctx, "gpu.stream_tested_mib", stream->bus_id, muster_number((double)mib));
		wrong += result.wrong;
	}
	emit_wrong(stream->ctx, source, 0, wrong, NULL);
	return 0;
}

/* Whatever cuFile cannot do is the reason of a null and no failure of the probe: a node may lack GPUDirect Storage. */
static void measure_cufile(struct muster_stream *stream, const struct muster_stream_file *file)
{
	struct muster_stream_pass result;
	struct muster_error why = { 0 };
	char path[160] = "";
	if (muster_stream_from_cufile(stream, file, &result, path, sizeof path, &why) < 0) {
		emit_no_cufile(stream->ctx, why.text);
		return;
	}
	const struct muster_value gpu = muster_string(stream->bus_id);
	muster_windows_emit(stream->ctx, "gpu.cufile_gbps", &gpu, 1, result.gbps, result.windows, NULL);
	muster_emit_for(stream->ctx, "gpu.cufile_path", stream->bus_id, muster_string(path));
	muster_emit_for(stream->ctx, "gpu.cufile_wrong", stream->bus_id, muster_number((double)result.wrong));
}

/* As often as the user wants (env->repeats), as long as there is time. Each time emits samples of its own. */
static int measure_again(struct muster_stream *stream, enum source source, const struct muster_stream_file *file,
	struct muster_error *err)
{
	double end = muster_now_ms() + AGAIN_MS;
	int done = 0;
	do {
		if (measure(stream, source, file, err) < 0)
			return -1;
	} while (++done < muster_probe_env(stream->ctx)->repeats && muster_now_ms() < end);
	return 0;
}

/* ---- the probe ---- */

/* cuFile takes its settings from the environment, which must not change any more once threads of libraries run. */
static void begin(struct muster_probe_ctx *ctx)
{
	if (muster_probe_env(ctx)->storage)
		muster_cufile_quiet();
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	struct muster_stream stream;
	if (!muster_probe_env(ctx)->storage)
		return 0;
	size_t slot_bytes = muster_pinned_bytes(HOST_SLOT_BYTES);
	int failed = muster_stream_init(&stream, ctx, HOST_SLOTS, slot_bytes, HOST_SLOTS * slot_bytes, err);
	if (failed == 0)
		failed = measure_again(&stream, HOST, NULL, err);
	muster_stream_done(&stream);
	return failed < 0 ? muster_wrap(err, "from the host") : 0;
}

/* The rank's part of the node's bytes: at least one slot, at most FILE_MOST. */
static size_t file_bytes(const struct muster_probe_env *env)
{
	uint64_t bytes = env->storage_bytes / (uint64_t)(env->local_ranks > 0 ? env->local_ranks : 1);
	return (size_t)(bytes > FILE_MOST ? FILE_MOST : bytes < DISK_SLOT_BYTES ? DISK_SLOT_BYTES : bytes);
}

/* Without direct I/O the kernel's cache would answer instead of the disk, so nothing is measured then. */
static int measure_disk(struct muster_stream *stream, struct muster_stream_file *file, struct muster_error *err)
{
	if (!file->file.direct) {
		char why[sizeof file->file.why_buffered + 64];
		snprintf(why, sizeof why, "no direct I/O, and a cache is no disk: %s", file->file.why_buffered);
		emit_no_disk(stream->ctx, why);
		return 0;
	}
	if (measure_again(stream, DISK, file, err) < 0)
		return -1;
	measure_cufile(stream, file);
	return 0;
}

/* Where there is no scratch, and where no file can be written to it, all of the disk is null with the reason. What
 * fails on the GPU, and a request that fails or never ends, fails the callback. The file is done before the stream,
 * which must know whether all requests to the disk have ended (lent). */
static int together(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	struct muster_stream stream;
	struct muster_stream_file file;
	struct muster_error why = { 0 };
	struct muster_scratch scratch;
	if (!env->storage)
		return 0;
	if (muster_scratch_choose(env->root, env->storage_path, &scratch, &why) < 0) {
		emit_no_disk(ctx, why.text);
		return 0;
	}
	int failed = muster_stream_init(&stream, ctx, DISK_SLOTS, DISK_SLOT_BYTES, file_bytes(env), err);
	if (failed == 0) {
		failed = muster_stream_file_init(&stream, scratch.folder, stream.bytes, &file, err);
		if (failed == 0) {
			failed = measure_disk(&stream, &file, err);
		} else if (err->code != MUSTER_EIO && err->code != MUSTER_ETIME) {
			emit_no_disk(ctx, err->text);
			failed = 0;
		}
		muster_stream_file_done(&stream, &file);
	}
	muster_stream_done(&stream);
	return failed < 0 ? muster_wrap(err, "from the disk") : 0;
}

const struct muster_probe muster_probe_gpu_stream = {
	.name = "gpu_stream",
	.summary = "data that streams from the host and from the disk to the GPU while it computes",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.of_storage = true,
	.deadline_ms = 60000,
	.order = 62,
	METRICS(metrics),
	.begin = begin,
	.run = run,
	.together = together,
};
