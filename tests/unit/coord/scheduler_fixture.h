/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_fixture.h - rank 0's ring scheduler with a whole job of ranks, each of which can take part in a ring
 *
 * Messages to rank 0, which is this process, and to others go to a recorder.
 */
#ifndef MUSTER_TESTS_UNIT_COORD_SCHEDULER_FIXTURE_H
#define MUSTER_TESTS_UNIT_COORD_SCHEDULER_FIXTURE_H

#include "coord/ring_scheduler.h"

#include "check_main.h"
#include "muster/run.h"
#include "recorder.h"

#include <stdio.h>

enum { RANKS_MAX = 640, LIMIT_MS = 600000 };

static struct recorder r;
static struct muster_deadlines deadlines;
static struct muster_membership members;
static struct muster_run run;
static struct muster_ring_context context;
static struct muster_ring_scheduler *scheduler;
static int probe_index, ranks;
static struct muster_ring_ready ready[RANKS_MAX]; /* what each rank enters with */

static inline void say_nothing(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

/* All but the scheduler, whose context may still be changed. */
static inline void job_start(int nodes, int per_node, double scale)
{
	ranks = nodes * per_node;
	ck_assert_int_le(ranks, RANKS_MAX);
	muster_deadlines_init(&deadlines, scale);
	recorder_init(&r, 0, ranks);
	muster_run_init(&run);
	muster_membership_init(&members, ranks, run.arena);
	for (int rank = 0; rank < ranks; rank++) {
		char name[16];
		snprintf(name, sizeof name, "n%d", rank / per_node);
		muster_membership_hello(&members, rank, name, name);
		ready[rank] = (struct muster_ring_ready){
			.can = true,
			.uuid = muster_arena_printf(run.arena, "GPU-%d", rank),
			.agree = "2.28.9",
			.detail = "",
		};
	}
	muster_membership_close(&members);
	probe_index = 0;
	while (!muster_probe_at((size_t)probe_index)->ring)
		probe_index++;
	context = (struct muster_ring_context){
		.transport = &r.transport,
		.members = &members,
		.deadlines = &deadlines,
		.run = &run,
		.limit_ms = LIMIT_MS,
		.localise = MUSTER_LOCALISE_AUTO,
		.say = say_nothing,
	};
}

static inline void scheduler_start(void)
{
	scheduler = muster_ring_scheduler_new(&context, muster_probe_at((size_t)probe_index), probe_index);
}

static inline void teardown(void)
{
	muster_ring_scheduler_free(scheduler);
	muster_membership_done(&members);
	muster_run_done(&run);
	recorder_done(&r);
}

/* Append what a rank enters the next round with. */
static inline void add_part(struct muster_packer *p, int rank)
{
	struct muster_packer payload = { 0 };
	muster_pack_ring_ready(&payload, &ready[rank]);
	muster_pack_part(p, rank, payload.bytes, payload.length);
	muster_packer_done(&payload);
}

#endif
