/* sizes.c - the message sizes that a profile and its bounds make */
#include "probes/nccl/session.h"

size_t muster_nccl_sizes(const struct muster_probe_env *env, uint64_t sizes[SIZES_MAX])
{
	static const uint64_t all[] = { 8 * MIB, 64 * MIB, 256 * MIB, 512 * MIB, GIB, 2 * GIB, 4 * GIB, 8 * GIB };
	static const struct {
		size_t first, count;
	} profiles[MUSTER_PROFILE_COUNT] = {
		[MUSTER_QUICK] = { 1, 1 },
		[MUSTER_STANDARD] = { 0, 4 },
		[MUSTER_FULL] = { 0, 8 },
	};
	uint64_t low = env->min_bytes, high = env->max_bytes;
	size_t count = 0;
	if (low && high) {
		for (uint64_t size = low; size && size <= high && count < SIZES_MAX; size *= 2)
			sizes[count++] = size;
	} else {
		for (size_t i = 0; i < profiles[env->profile].count; i++) {
			uint64_t size = all[profiles[env->profile].first + i];
			if (size >= low && (!high || size <= high))
				sizes[count++] = size;
		}
		if (count == 0)
			sizes[count++] = low ? low : high;
	}
	for (size_t i = 0; i < count; i++) /* whole values only */
		sizes[i] = sizes[i] < sizeof(float) ? sizeof(float) : sizes[i] - sizes[i] % sizeof(float);
	return count;
}
