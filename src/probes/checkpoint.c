/* checkpoint.c - all ranks write GPU memory to a shared folder at once, read it back and compare
 *
 * The first round writes, the second one reads, so that no rank reads while others write. Each rank is by itself: the
 * communicator has no part in it, and a rank that fails or stalls takes nothing from the others.
 */
#include "probes/checkpoint/work.h"

#include "probes/metrics.h"
#include "storage/space.h"

#include <stdio.h>

static const struct muster_metric metrics[] = {
	RANK_METRIC("rank.checkpoint_write_gbps", MUSTER_NUMBER, "GB/s",
		"GPU memory to the shared folder while all ranks write, until the file system has it (fsync)"),
	RANK_METRIC("rank.checkpoint_read_gbps", MUSTER_NUMBER, "GB/s", "read back while all ranks read"),
	RANK_METRIC("rank.checkpoint_wrong", MUSTER_NUMBER, "", "8-byte words that are not as they were written"),
	RANK_METRIC("rank.checkpoint_mib", MUSTER_NUMBER, "MiB",
		"how much was written: less than was asked for where it would have taken too long"),
	RANK_METRIC("rank.checkpoint_file", MUSTER_STRING, "",
		"how the file was written and read: \"direct\", or \"buffered\" and why; and what carried the "
		"requests"),
	MUSTER_METRIC(MUSTER_SCOPE_JOB, "job.checkpoint_write_gbps", MUSTER_NUMBER, "GB/s",
		"all ranks at once write to the shared folder: bytes / the slowest rank's time; not measured but "
		"derived",
		NULL),
	MUSTER_METRIC(MUSTER_SCOPE_JOB, "job.checkpoint_read_gbps", MUSTER_NUMBER, "GB/s",
		"all ranks at once read back from the shared folder: bytes / the slowest rank's time; not measured but "
		"derived",
		NULL),
	MUSTER_METRIC(MUSTER_SCOPE_JOB, "job.checkpoint_slowest", MUSTER_STRING, "",
		"the rank that wrote most slowly; not measured but derived", NULL),
};

/* Of one round; with fsync, and requests that are under way at that moment, still far below the deadline. */
#define MOST_MS 12000

static struct muster_checkpoint_work work; /* from the first round to the second */

static void tell_file(struct muster_probe_ctx *ctx)
{
	char text[512];
	const struct muster_storage_file *file = &work.file;
	snprintf(text, sizeof text, "%s%s, %s",
		file->direct ? "direct" : "buffered: ", file->direct ? "" : file->why_buffered,
		muster_io_method(work.io));
	muster_emit_for(ctx, "rank.checkpoint_file", NULL, muster_string(text));
}

static void tell_rate(struct muster_probe_ctx *ctx, const char *metric, uint64_t bytes, double ms)
{
	if (ms > 0)
		muster_emit_for(ctx, metric, NULL, muster_number((double)bytes / 1e6 / ms));
	else
		muster_emit_null_for(ctx, metric, NULL, "no time passed between its beginning and its end");
}

static int write_all(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	double ms;
	muster_step(ctx, "free space of %s", env->checkpoint_path);
	if (muster_storage_space_check(env->checkpoint_path, env->ranks, env->checkpoint_bytes, err) < 0 ||
		muster_checkpoint_open(&work, ctx, env->checkpoint_path, env->checkpoint_bytes, err) < 0)
		return -1;
	tell_file(ctx);
	if (muster_checkpoint_write(&work, env->checkpoint_bytes, MOST_MS, &ms, err) < 0)
		return -1;
	tell_rate(ctx, "rank.checkpoint_write_gbps", work.bytes, ms);
	muster_emit_for(ctx, "rank.checkpoint_mib", NULL, muster_number((double)work.bytes / 1048576));
	return 0;
}

static int read_all(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	double ms;
	uint64_t bytes, wrong;
	work.ctx = ctx;
	if (muster_checkpoint_read(&work, MOST_MS, &ms, &bytes, &wrong, err) < 0)
		return -1;
	tell_rate(ctx, "rank.checkpoint_read_gbps", bytes, ms);
	muster_emit_for(ctx, "rank.checkpoint_wrong", NULL, muster_number((double)wrong));
	return 0;
}

static int traffic(struct muster_probe_ctx *ctx, const struct muster_traffic *round, struct muster_error *err)
{
	bool writes = round->round == 0;
	if (!muster_probe_env(ctx)->checkpoint_path || (!writes && !work.open))
		return 0;
	int failed = writes ? write_all(ctx, err) : read_all(ctx, err);
	if (failed)
		muster_failing(ctx, err); /* closing the file may hang, too */
	if (failed || !writes)
		muster_checkpoint_done(&work);
	return failed;
}

const struct muster_probe muster_probe_checkpoint = {
	.name = "checkpoint",
	.summary = "all ranks write GPU memory to a shared folder at once, and read it back",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.of_job = true,
	.deadline_ms = 30000,
	.order = 78,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.traffic = traffic,
	.traffic_shape = MUSTER_TRAFFIC_EACH,
	.traffic_rounds = 2,
	.hang_advice = "the file system of the folder did not answer: check its servers and the mount on this node "
		       "(stat of the folder with a timeout, dmesg); the nodes themselves may be healthy",
};
