/* SPDX-License-Identifier: Apache-2.0 */
/* deadlines.c - all time constants of a run
 *
 * The values in front of the run's end must keep their order, as in the drawing of deadlines.h: a part that waits for
 * another part must wait longer than the other part waits. From the first to the last:
 *
 *   barrier_aggregator > barrier_coordinator > barrier_member    a leader answers before its members give up
 *   record_aggregator > record_coordinator                       rank 0 takes records longer than leaders wait for them
 *
 * `scale` multiplies all times but `turn` and progress_every, and no share.
 */
#include "coord/deadlines.h"

#include "util/env.h"
#include "util/text.h"

void muster_deadlines_init(struct muster_deadlines *ret, double scale)
{
	*ret = (struct muster_deadlines){
		.heartbeat_every = 1000 * scale,
		.silence = 15000 * scale,
		.hello_least = 5000 * scale,
		.hello_interrupted = 1000 * scale,
		.hello_share = 1.0 / 12,
		.hello_per_rank = scale,
		.start_share = 1.0 / 3,
		.barrier_aggregator = 5000 * scale,
		.barrier_coordinator = 4500 * scale,
		.barrier_member = 4000 * scale,
		.record_aggregator = 3000 * scale,
		.record_coordinator = 1000 * scale,
		.gather_reserve = 5000 * scale,
		.again_least = 5000 * scale,
		.report = 3500 * scale,
		.report_per_rank = 0.2 * scale,
		.leave = 4500 * scale,
		.finalize = 5000 * scale,
		.finalize_least = 500 * scale,
		.limit = 1500 * scale,
		.interrupted = 5000 * scale,
		.spool = 1000 * scale,
		.command_least = 500 * scale,
		.command_short = 5000 * scale,
		.command_open = 30000 * scale,
		.open_cold = 90000 * scale,
		.command_cancel = 5000 * scale,
		.hang_least = 3000 * scale,
		.trial = 10000 * scale,
		.trial_least = 2000 * scale,
		.pair = 10000 * scale,
		.last_ring = 1500 * scale,
		.worker_margin = 1000 * scale,
		.ring_per_rank = 10 * scale,
		.ring_share = 0.6,
		.turn = 100,
		.progress_every = 100,
		.scale = scale,
	};
}

double muster_deadlines_scale(bool simulated)
{
	const char *text = muster_env(MUSTER_ENV_TEST_TIME_SCALE);
	double scale;
	struct muster_error err;
	if (!text || !simulated || muster_parse_double(text, &scale, "MUSTER_TEST_TIME_SCALE", &err) < 0)
		return 1;
	return scale < 0.05 ? 0.05 : scale > 1 ? 1 : scale;
}

/* 0.2 ms for each rank: 10,000 ranks have 5.5 s. */
double muster_deadlines_report(const struct muster_deadlines *d, int ranks)
{
	return d->report + d->report_per_rank * ranks;
}

/* The later one of two moments: a time after this rank's MPI_Init, and a third of the whole deadline after the start,
 * so that ranks whose MPI_Init took longer are waited for too. An example: a deadline of 120 s and 8 ranks have 10 s
 * after MPI_Init, and at least 40 s after the start. */
double muster_deadlines_hello(
	const struct muster_deadlines *d, double start_ms, double whole_ms, double ready_ms, int ranks)
{
	double share = whole_ms * d->hello_share, each = d->hello_per_rank * ranks;
	double least = d->hello_least > share ? d->hello_least : share;
	double until = ready_ms + (least > each ? least : each), third = start_ms + whole_ms * d->start_share;
	return until > third ? until : third;
}
