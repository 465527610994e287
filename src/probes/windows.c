/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c - how many windows a visit has, and when the last visit may begin */
#include "probes/windows.h"

#include "util/text.h"

/* By profile: how many windows each visit has, and the least time from the first visit to the last. Most runs need no
 * pause for that, since other probes work between the visits; a quick run on one GPU may. A disturbance lasts 0.02 to
 * 0.12 s, so that 250 ms separate two of them. */
static const struct {
	size_t windows; /* of a visit */
	double apart_ms;
} policies[MUSTER_PROFILE_COUNT] = {
	[MUSTER_QUICK] = { 1, 250 },
	[MUSTER_STANDARD] = { 3, 500 },
	[MUSTER_FULL] = { 9, 500 },
};

size_t muster_windows_count(struct muster_probe_ctx *ctx)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	size_t repeats = env->repeats > 1 ? (size_t)env->repeats : 1, count = policies[env->profile].windows * repeats;
	return count < MUSTER_WINDOWS_MOST ? count : MUSTER_WINDOWS_MOST;
}

/* Only the last visit of the run and the visit after it sleep, and only as long as is missing. In a worker that
 * replaced another one the first visit is not known: then this visit counts as the first. */
void muster_windows_wait(struct muster_probe_ctx *ctx, double *first_ms)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	double now_ms = muster_now_ms();
	if (*first_ms == 0)
		*first_ms = now_ms;
	double left_ms = *first_ms + policies[env->profile].apart_ms - now_ms;
	if (env->visit >= MUSTER_VISITS - 1 && left_ms > 0)
		muster_sleep_ms(left_ms);
}
