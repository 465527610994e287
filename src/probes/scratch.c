/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - how fast the scratch writes and reads, whether it returns what was written, and its latency
 *
 * Only where the run was asked to: it writes. The file has no name from before its first byte, takes at most half of
 * what is free, and goes with the process. Two rounds, each with data of its own, so that what an earlier round left is
 * no right answer to a later one. The windows of both rounds follow each other, and the best one counts: other programs
 * can only make a disk slower.
 *
 * Time: two rounds of a write and a read of at most 5.5 s each, no second round after 14 s, 1 s of small reads, and a
 * request that is not answered in 20 s ends the test: below the probe's deadline of 45 s.
 *
 * A disk that fails a request is a value (node.scratch_failed 1) and no error of the probe. What the user can mend,
 * such as a folder without rights, is null with the reason, or an error where the user has named the folder.
 */
#include "probes/metrics.h"
#include "probes/windows.h"
#include "probes/scratch/passes.h"
#include "storage/file.h"
#include "storage/folder.h"
#include "storage/io.h"
#include "storage/pattern.h"
#include "system/scratch.h"
#include "util/clock.h"
#include "util/array.h"
#include "util/text.h"
#include "muster/arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- how long one small read takes ---- */

struct latency {
	double median_us, p99_us;
	uint64_t wrong; /* 8-byte words */
};

enum { READS = 2000, WARM_UP = 20, LEAST = 100, WAIT_MS = 20000 };

static int read_one(struct muster_io *io, const struct muster_storage_file *file, void *data, uint64_t offset,
	double *ret_us, struct muster_error *err)
{
	size_t tag;
	double began = muster_clock_now(&muster_clock_raw);
	if (muster_io_start(io, MUSTER_IO_READ, file, data, file->block, offset, 0, err) < 0 ||
		muster_io_wait(io, WAIT_MS, &tag, err) < 0)
		return -1;
	*ret_us = (muster_clock_now(&muster_clock_raw) - began) * 1e3;
	return 0;
}

/* Random reads of one block, 4 KiB on most disks, one after the other, of the first `bytes` bytes of a direct file that
 * has the content that belongs to seed. The first WARM_UP reads are not counted. At most READS more, for limit_ms, but
 * LEAST of them whatever the time. 0 with median and 99th percentile in microseconds and the number of wrong words (of
 * the warm-up too), or -1 with err. After a read that was not answered its memory is never freed: the disk may still
 * write to it. */
static int measure_latency(const struct muster_storage_file *file, uint64_t bytes, uint64_t seed, double limit_ms,
	struct latency *ret, struct muster_error *err)
{
	struct latency latency = { 0 };
	double *us = muster_calloc(READS, sizeof *us), until = muster_now_ms() + limit_ms, ignored;
	void *data = aligned_alloc(file->block, file->block);
	struct muster_io *io = data ? muster_io_new(1, err) : NULL;
	size_t count = 0, result = 0;
	if (!data)
		muster_fail(err, MUSTER_ENOMEM, "memory for reads: %s", strerror(errno));
	for (int i = 0; io && i < WARM_UP + READS && (count < LEAST || muster_now_ms() < until); i++) {
		/* a place of the pattern is as good as a random number, and the same in each run */
		const struct muster_pattern places = muster_storage_pattern(0);
		uint64_t offset = muster_pattern_word(&places, (uint64_t)i + 1) % (bytes / file->block) * file->block;
		if (read_one(io, file, data, offset, i < WARM_UP ? &ignored : &us[count], err) < 0) {
			result = 1;
			break;
		}
		count += i >= WARM_UP;
		latency.wrong += muster_storage_wrong(data, file->block, offset, seed);
	}
	bool stays = io && muster_io_running(io) > 0;
	bool done = io && result == 0 && count > 0;
	if (done) {
		latency.median_us = muster_median_of(us, count);
		latency.p99_us = muster_percentile_of(us, count, 0.99);
		*ret = latency;
	}
	muster_io_free(io);
	if (!stays) /* what a request may still write to */
		free(data);
	free(us);
	return done ? 0 : -1;
}

static const struct muster_metric metrics[] = {
	NUMBER(NODE, "node.scratch_write_gbps", GB_PER_S, MORE,
		"the scratch, written past the kernel's cache by several threads with requests of 1 MiB: the best "
		"window of 256 MiB",
		.labels = { "layout" }, .windows = "scratch"),
	NUMBER(NODE, "node.scratch_read_gbps", GB_PER_S, MORE, "the same, read", .labels = { "layout" },
		.windows = "scratch"),
	NODE_NUMBER("node.scratch_latency_us", US, DRIFTS, "one random read of 4 KiB, alone: median"),
	NODE_NUMBER("node.scratch_latency_p99_us", US, DRIFTS, "the same, 99th percentile"),
	NODE_NUMBER("node.scratch_wrong", NONE, LESS, "words of 8 bytes that were read other than written",
		.counts_wrong = true),
	NODE_NUMBER("node.scratch_failed", NONE, LESS,
		"requests that the scratch refused or did not answer; the first one ends the test"),
	NODE_NUMBER("node.scratch_tested_mib", MEBIBYTES, DRIFTS,
		"size of the file, as far as it was written, read and compared; 0 where there is nothing to test"),
	NODE_TEXT("node.scratch_io", FACT, NOTHING, "how it was done: io_uring or threads, direct or buffered"),
};

enum {
	ROUNDS = 2,
	PASS_MS = 5500,    /* of each round's write, and of its read */
	ROUNDS_MS = 14000, /* no further round begins after that */
	LATENCY_MS = 1000,
	FEW_CPUS = 4, /* fewer cannot fill and verify what fast disks do */
	LEAST_BLOCKS = 16,
};

/* The windows of all rounds. */
struct rates {
	double gbps[ROUNDS * MUSTER_WINDOWS_MOST];
	size_t count;
};

/* The test, from the choice of the folder to what is emitted. */
struct test {
	struct muster_probe_ctx *ctx;
	struct muster_scratch scratch; /* folder is "" where there is none */
	struct muster_storage_file file;
	struct muster_passes *passes; /* NULL until the file is there */
	char layout[128];             /* label of the rates: what decides how fast it can be */
	struct rates write, read;
	struct latency latency;
	bool has_latency;
	/* Blocks of 1 MiB: the most that a round has read back. Wrong words of 8 bytes: of all rounds and small reads.
	 */
	uint64_t blocks, wrong;
};

/* Keeps the rate of a pass as a window. counts: whether the pass is a whole window; a shorter one counts only where it
 * is the first of the file, on a slow disk or in a small file. */
static void keep(struct rates *rates, const struct muster_pass *pass, bool counts)
{
	if (counts && pass->seconds > 0 && rates->count < sizeof rates->gbps / sizeof *rates->gbps)
		rates->gbps[rates->count++] = (double)(pass->blocks * MUSTER_PASS_BLOCK) / pass->seconds / 1e9;
}

/* The first `blocks` blocks, a window after the other: as many as there is time for, *ret_blocks. A buffered file is
 * one window: it ends when all is on the disk. */
static int run_windows(struct test *test, enum muster_io_way way, uint64_t blocks, uint64_t seed, uint64_t *ret_blocks,
	struct muster_error *err)
{
	const uint64_t window = test->file.direct ? MUSTER_WINDOW_BYTES / MUSTER_PASS_BLOCK : blocks;
	double until = muster_now_ms() + PASS_MS;
	struct rates *rates = way == MUSTER_IO_WRITE ? &test->write : &test->read;
	struct muster_pass pass;
	uint64_t done = 0, size;
	do {
		size = blocks - done < window ? blocks - done : window;
		if (muster_passes_run(
			    test->passes, way, &test->file, done, size, seed, until - muster_now_ms(), &pass, err) < 0)
			return -1;
		keep(rates, &pass, pass.blocks == window || done == 0);
		test->wrong += pass.wrong;
		done += pass.blocks;
	} while (pass.blocks == size && done < blocks && muster_now_ms() < until);
	*ret_blocks = done;
	return 0;
}

/* One round: write, fdatasync, read back and verify. fdatasync also empties the kernel's cache of the file, so that a
 * buffered file is read from the disk, too. After the last round the small reads, of the data that this round has
 * written. Each round has a seed of its own. -1 with err. */
static int write_and_read(struct test *test, uint64_t blocks, int round, struct muster_error *err)
{
	const uint64_t seed = muster_storage_seed();
	uint64_t written, back;
	muster_step(test->ctx, "write %llu MiB to a file in %s, round %d", (unsigned long long)blocks,
		test->scratch.path, round + 1);
	if (run_windows(test, MUSTER_IO_WRITE, blocks, seed, &written, err) < 0)
		return -1;
	muster_step(test->ctx, "fdatasync of a file in %s, round %d", test->scratch.path, round + 1);
	if (muster_storage_file_settle(&test->file, err) < 0)
		return -1;
	muster_step(test->ctx, "read %llu MiB of a file in %s, round %d", (unsigned long long)written,
		test->scratch.path, round + 1);
	if (run_windows(test, MUSTER_IO_READ, written, seed, &back, err) < 0)
		return -1;
	test->blocks = back > test->blocks ? back : test->blocks;
	if (round + 1 < ROUNDS || !test->file.direct)
		return 0;
	muster_step(test->ctx, "small reads of a file in %s", test->scratch.path);
	if (measure_latency(&test->file, written * MUSTER_PASS_BLOCK, seed, LATENCY_MS, &test->latency, err) < 0)
		return -1;
	test->wrong += test->latency.wrong;
	test->has_latency = true;
	return 0;
}

/* ---- what is emitted ---- */

/* Every metric but scratch_io, always. result: 0, or -1 with why. failed: the disk itself is why.
 *
 *                             rates, latency    wrong, failed                 tested_mib
 *   the test went well        values            values, failed is 0           what was read
 *   the disk has failed       null with why     values so far, failed is 1    what was read
 *   it could not be tested    null with why     null with why                 what was read, often 0
 *
 * The latency of a file that is not direct is null, too: its reads come from the kernel's cache. */
static void emit_figures(const struct test *test, int result, bool failed, const char *why)
{
	struct muster_probe_ctx *ctx = test->ctx;
	int latency = test->has_latency ? result : -1, counted = failed ? 0 : result;
	const char *no_latency = result < 0 ? why : "the file is not direct: reads come from the kernel's cache";
	const struct muster_value layout = muster_string(test->layout);
	const char *no_rate = result < 0 ? why : "the clock did not go on";
	muster_windows_emit(ctx, "node.scratch_write_gbps", &layout, 1, test->write.gbps,
		result < 0 ? 0 : test->write.count, no_rate);
	muster_windows_emit(
		ctx, "node.scratch_read_gbps", &layout, 1, test->read.gbps, result < 0 ? 0 : test->read.count, no_rate);
	muster_emit_result(
		ctx, "node.scratch_latency_us", NULL, latency, muster_number(test->latency.median_us), no_latency);
	muster_emit_result(
		ctx, "node.scratch_latency_p99_us", NULL, latency, muster_number(test->latency.p99_us), no_latency);
	muster_emit_result(ctx, "node.scratch_wrong", NULL, counted, muster_number((double)test->wrong), why);
	muster_emit_result(ctx, "node.scratch_failed", NULL, counted, muster_number(failed), why);
	muster_emit_for(ctx, "node.scratch_tested_mib", NULL, muster_number((double)test->blocks));
}

static void emit_io(struct test *test, const char *why_not)
{
	char text[640];
	if (!test->passes || why_not) {
		muster_emit_null_for(test->ctx, "node.scratch_io", NULL, "%s", why_not ? why_not : "nothing was done");
		return;
	}
	snprintf(text, sizeof text, "%s, %s%s", muster_passes_method(test->passes),
		test->file.direct ? "direct" : "buffered: ", test->file.why_buffered);
	muster_emit_for(test->ctx, "node.scratch_io", NULL, muster_string(text));
}

/* ---- the test ---- */

/* As many blocks of 1 MiB as were asked for, or as fit into half of what is free to this user. -1 with err, also for
 * less than LEAST_BLOCKS. A file system that gives no size has no limit here. */
static int choose_size(const struct test *test, uint64_t *ret_blocks, struct muster_error *err)
{
	struct statvfs space;
	uint64_t wanted = muster_probe_env(test->ctx)->storage_bytes / MUSTER_PASS_BLOCK;
	int folder = muster_storage_folder_open(test->scratch.folder, err);
	if (folder < 0)
		return -1;
	int result = fstatvfs(folder, &space) < 0
			     ? muster_fail(err, MUSTER_EIO, "fstatvfs of %s: %s", test->scratch.path, strerror(errno))
			     : 0;
	close(folder);
	if (result < 0)
		return -1;
	double left = (double)space.f_bavail * (double)(space.f_frsize ? space.f_frsize : space.f_bsize);
	double fit = left / 2 / (double)MUSTER_PASS_BLOCK;
	uint64_t blocks = fit < (double)wanted && space.f_blocks > 0 ? (uint64_t)fit : wanted;
	if (blocks < LEAST_BLOCKS)
		return muster_fail(err, MUSTER_ENOTSUPPORTED,
			"%s has %.2f GB free, which is too little for a test file", test->scratch.path, left / 1e9);
	*ret_blocks = blocks;
	return 0;
}

/* The file, the threads and the whole label `layout`: few CPUs and a buffered file limit the rate, too, so figures with
 * them are not compared with those of other nodes. */
static int prepare(struct test *test, uint64_t *ret_blocks, struct muster_error *err)
{
	if (choose_size(test, ret_blocks, err) < 0)
		return -1;
	muster_step(test->ctx, "a file of %llu MiB in %s", (unsigned long long)*ret_blocks, test->scratch.path);
	if (muster_storage_file_open(test->scratch.folder, *ret_blocks * MUSTER_PASS_BLOCK, &test->file, err) < 0)
		return -1;
	test->passes = muster_passes_new(err);
	if (!test->passes)
		return -1;
	int cpus = muster_passes_cpus(test->passes);
	size_t length = (size_t)snprintf(test->layout, sizeof test->layout, "%s", test->scratch.layout);
	if (cpus < FEW_CPUS)
		length += (size_t)snprintf(test->layout + length, sizeof test->layout - length, ", %d CPUs", cpus);
	if (!test->file.direct)
		snprintf(test->layout + length, sizeof test->layout - length, ", buffered");
	return 0;
}

static int measure(struct test *test, struct muster_error *err)
{
	uint64_t blocks = 0;
	double until = muster_now_ms() + ROUNDS_MS;
	if (prepare(test, &blocks, err) < 0)
		return -1;
	for (int round = 0; round < ROUNDS && (round == 0 || muster_now_ms() < until); round++)
		if (write_and_read(test, blocks, round, err) < 0)
			return -1;
	return 0;
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	struct test test = { .ctx = ctx, .file = { .fd = -1 }, .layout = "none" };
	struct muster_error why;
	if (!env->storage)
		return 0;
	int result = muster_scratch_choose(env->root, env->storage_path, &test.scratch, &why);
	if (result == 0) {
		snprintf(test.layout, sizeof test.layout, "%s", test.scratch.layout);
		result = measure(&test, &why);
	}
	/* what the disk did, and what it did not do in 20 s, is a value; of a folder that was asked for, the rest is an
	 * error */
	bool failed = result < 0 && *test.scratch.folder && (why.code == MUSTER_EIO || why.code == MUSTER_ETIME);
	bool is_error = result < 0 && !failed && env->storage_path;
	if (!is_error) {
		emit_figures(&test, result, failed, why.text);
		emit_io(&test, result < 0 && !failed ? why.text : NULL);
	}
	muster_passes_free(test.passes);
	muster_storage_file_close(&test.file);
	if (is_error && err)
		*err = why;
	return is_error ? -1 : 0;
}

const struct muster_probe muster_probe_scratch = {
	.name = "scratch",
	.summary = "rates, latency and content of a file on the node's local disks",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 45000,
	.order = 26,
	METRICS(metrics),
	.run = run,
};
