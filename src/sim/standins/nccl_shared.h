/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_shared.h - the file that the ranks of a ring share
 *
 * Counters, what each rank says of itself, a window of device memory for each rank and one for a sum, a mailbox for
 * each rank and each one that it may write to, and windows for what is on its way. The file has holes where nothing was
 * written, so that it takes little room.
 *
 * A field has one writer: a slot is its rank's, but for untaken and news, which the others change too; of a mail,
 * `wanted`, `taken` and `refused` are the receiver's and the rest is the sender's. The counters of struct
 * muster_simring_shared only rise, by one for each rank and slice, so that "all ranks are done with slice n" is
 * counter >= n * ranks, and none is ever reset. A slice of an all-reduce: publish into one's window; when all have,
 * reduce one's share into the window of the sum; when all have, gather it. A window is written again only when
 * `reduced` says that no rank reads it, and the sum's only when `gathered` does. What is counted must be written
 * before.
 */
#ifndef MUSTER_SIM_STANDINS_NCCL_SHARED_H
#define MUSTER_SIM_STANDINS_NCCL_SHARED_H

#include "sim/standins/nccl.h"

#include <stdatomic.h>

/* The layout, for n ranks (W: MUSTER_STANDIN_WINDOW):
 *
 *   struct muster_simring_shared, with n slots          rounded up to 4096 bytes
 *   n windows of W                                      what each rank publishes of an all-reduce
 *   1 window of W                                       the sum
 *   n * n mailboxes, struct muster_simring_mail         from rank f to rank t: number f * n + t
 *   n * MUSTER_SIMRING_OUT windows of W                 messages of each rank that are on their way
 */
#define MUSTER_SIMRING_OUT 4 /* windows of a rank for what is on its way */

struct muster_simring_slot {
	atomic_bool taken;
	struct muster_simring_member member;
	/* of the all-reduce that the rank published last */
	size_t count;
	ncclRedOp_t op;
	atomic_int untaken[MUSTER_SIMRING_OUT]; /* by window: messages that the others have not taken yet */
	int color, key;                         /* of a split */
	atomic_bool splits;
	atomic_uint news;   /* counts what others did that this rank may wait for; a futex */
	atomic_bool sleeps; /* the rank waits for that futex */
};

struct muster_simring_shared {
	atomic_int ranks; /* as the first one said; 0 until then */
	atomic_int joined, splitting;
	atomic_uint_fast64_t published, reduced, gathered; /* by all ranks together, since the beginning */
	struct muster_simring_slot slots[];
};

/* From one rank to another: one message at a time. The numbers are those of messages. */
struct muster_simring_mail {
	atomic_bool connects;             /* the sender does */
	atomic_uint_fast64_t wanted;      /* the receiver has come so far */
	atomic_uint_fast64_t sent, taken; /* what follows is the message `sent` until it is taken */
	atomic_uint_fast64_t refused;     /* the last one of another length than was wanted */
	size_t bytes;
	int window; /* of the sender; -1: the message is a pattern */
	struct muster_standin_pattern pattern;
};

struct muster_simring {
	struct muster_simring_shared *shared; /* the mapped file */
	size_t bytes;
	char *path; /* NULL once this rank knows that all have joined: the file has no name then */
	int rank, ranks;
	uint64_t *sent, *received;          /* by peer: messages that have a number */
	struct muster_simring_way *ways;    /* by rank; NULL until one is asked for */
	struct muster_simchannels channels; /* all 0 until they are asked for */
};

/* The rank has news: what it sleeps for may have happened. Call it after the change: the sleeper looks again only then.
 */
void muster_simring_tell(const struct muster_simring *ring, int rank);

/* Where the windows of the ranks, the window of a sum after them, and then the mailboxes begin. */
unsigned char *muster_simring_window(const struct muster_simring *ring, int rank);
/* Add so many values to the sum, or for ncclMax keep the larger ones. */
void muster_simring_add(ncclRedOp_t op, float *restrict sum, const float *restrict values, size_t count);

#endif
