/* latency.h - how long one small read takes when the disk has nothing else to do for muster
 */
#ifndef MUSTER_PROBES_SCRATCH_LATENCY_H
#define MUSTER_PROBES_SCRATCH_LATENCY_H

#include "storage/file.h"

struct muster_latency {
	double median_us, p99_us;
	uint64_t wrong; /* 8-byte words */
};

/* Random reads of one block, 4 KiB on most disks, one after the other, of the first `bytes` bytes of a direct file that
 * has the content that belongs to seed: for at most limit_ms. */
int muster_latency_measure(const struct muster_storage_file *file, uint64_t bytes, uint64_t seed, double limit_ms,
	struct muster_latency *ret, struct muster_error *err);

#endif
