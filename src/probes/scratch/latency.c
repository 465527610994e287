/* latency.c - how long one small read takes */
#include "probes/scratch/latency.h"
#include "storage/io.h"
#include "storage/pattern.h"
#include "util/clock.h"
#include "util/sort.h"
#include "util/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

int muster_latency_measure(const struct muster_storage_file *file, uint64_t bytes, uint64_t seed, double limit_ms,
	struct muster_latency *ret, struct muster_error *err)
{
	struct muster_latency latency = { 0 };
	double *us = calloc(READS, sizeof *us), until = muster_now_ms() + limit_ms, ignored;
	void *data = aligned_alloc(file->block, file->block);
	struct muster_io *io = us && data ? muster_io_new(1, err) : NULL;
	size_t count = 0, result = 0;
	if (!us || !data)
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
