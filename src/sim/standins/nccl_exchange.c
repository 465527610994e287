/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_exchange.c - libnccl.so.2 for the simulation: data from one rank to another, and what is made of such messages
 *
 * A message waits until its receiver wants it: the sender then leaves it in the mailbox between the two and keeps it
 * there until it is taken. No rank ever waits in here, and a receiver that never comes keeps no window of the sender.
 *
 * Message k from one rank to another (their messages have numbers, and go one after the other):
 *
 *   1. receiver: wanted = k
 *   2. sender, when wanted >= k and taken >= k - 1: put the data into a free window, or the pattern into the mail;
 *      sent = k
 *   3. receiver, when sent >= k: take the data; refused = k if the lengths differ; taken = k
 *   4. sender, when taken >= k: done, or failed if refused is k
 *
 * Data is sent in one of two forms. Memory that a kernel has filled is sent as the pattern, which the receiver's memory
 * has then too, of any length; all other data, and what is summed up, is sent as a window (base.h).
 */
#include "sim/standins/nccl_shared.h"

#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

enum step { BEGINS, UNDERWAY, DONE };

/* Mailboxes follow the window of the sum, which has number `ranks` (nccl_shared.h). */
static struct muster_simring_mail *mail_between(const struct muster_simring *ring, int from, int to)
{
	size_t place = (size_t)from * (size_t)ring->ranks + (size_t)to;
	void *boxes = muster_simring_window(ring, ring->ranks + 1);
	return (struct muster_simring_mail *)boxes + place;
}

/* The windows of a rank for what is on its way follow the mailboxes. */
static unsigned char *out_window(const struct muster_simring *ring, int rank, int index)
{
	void *behind = mail_between(ring, ring->ranks, 0);
	return (unsigned char *)behind + ((size_t)rank * MUSTER_SIMRING_OUT + (size_t)index) * MUSTER_STANDIN_WINDOW;
}

bool muster_simring_connect(struct muster_simring *ring, int peer)
{
	if (!atomic_exchange(&mail_between(ring, ring->rank, peer)->connects, true))
		muster_simring_tell(ring, peer);
	return atomic_load(&mail_between(ring, peer, ring->rank)->connects);
}

void muster_simring_exchange_start(struct muster_simring *ring, struct muster_simring_exchange *exchange)
{
	for (size_t i = 0; i < exchange->count; i++) {
		struct muster_simring_part *part = &exchange->parts[i];
		part->number = part->sends ? ++ring->sent[part->peer] : ++ring->received[part->peer];
	}
}

static size_t window_bytes(size_t bytes)
{
	return bytes < MUSTER_STANDIN_WINDOW ? bytes : MUSTER_STANDIN_WINDOW;
}

/* -- sending -- */

/* A window of this rank that is free; -1: there is none. */
static int find_window(const struct muster_simring *ring)
{
	struct muster_simring_slot *slot = &ring->shared->slots[ring->rank];
	for (int i = 0; i < MUSTER_SIMRING_OUT; i++)
		if (atomic_load(&slot->untaken[i]) == 0)
			return i;
	return -1;
}

/* Put the message into the mail. What is summed up is sent as numbers, and not as the pattern that it may be. False:
 * all windows of this rank are on their way, and the message must wait.
 */
static bool fill_mail(struct muster_simring *ring, const struct muster_simring_exchange *exchange,
	const struct muster_simring_part *part, struct muster_simring_mail *mail)
{
	const struct muster_standin_cuda *cuda = muster_standin_cuda();
	mail->bytes = part->bytes;
	mail->window = -1;
	if (!exchange->reduces && cuda->muster_standin_cuda_pattern(part->at, part->bytes, &mail->pattern))
		return true;
	int index = find_window(ring);
	if (index < 0)
		return false;
	cuda->muster_standin_cuda_read(out_window(ring, ring->rank, index), part->at, window_bytes(part->bytes));
	atomic_fetch_add(&ring->shared->slots[ring->rank].untaken[index], 1);
	mail->window = index;
	return true;
}

/* 1: the message was taken by this call; 0: not yet; -1: the receiver wanted another length. */
static int advance_send(
	struct muster_simring *ring, const struct muster_simring_exchange *exchange, struct muster_simring_part *part)
{
	struct muster_simring_mail *mail = mail_between(ring, ring->rank, part->peer);
	if (part->step == BEGINS) {
		if (atomic_load(&mail->wanted) < part->number || atomic_load(&mail->taken) < part->number - 1 ||
			!fill_mail(ring, exchange, part, mail))
			return 0;
		atomic_store(&mail->sent, part->number);
		muster_simring_tell(ring, part->peer);
		part->step = UNDERWAY;
	}
	if (atomic_load(&mail->taken) < part->number)
		return 0;
	part->step = DONE;
	return atomic_load(&mail->refused) == part->number ? -1 : 1;
}

/* -- receiving -- */

/* Add one rank's values to the sum, or for ncclMax keep the larger ones; the first values are the sum. */
static void add_up(struct muster_simring_exchange *exchange, const float *values, size_t bytes)
{
	size_t count = bytes / sizeof(float);
	if (exchange->summed == 0) {
		exchange->sum = muster_calloc(count, sizeof *exchange->sum);
		memcpy(exchange->sum, values, count * sizeof *values);
		return;
	}
	muster_simring_add(exchange->op, exchange->sum, values, count);
}

/* On a rank whose exchanges are wrong one bit of the message is, and never of the first value, which a careless check
 * would look at. */
static void lay(CUdeviceptr at, size_t bytes, unsigned char *data)
{
	const struct muster_standin_cuda *cuda = muster_standin_cuda();
	size_t length = window_bytes(bytes);
	bool wrong = muster_sim_this_rank()->exchange_wrong;
	if (wrong && bytes == length)
		data[bytes - bytes / 3 - 1] ^= 1;
	cuda->muster_standin_cuda_write(at, bytes, data, length);
	if (wrong && bytes != length)
		cuda->muster_standin_cuda_flip(at + bytes / 3 / sizeof(uint64_t) * sizeof(uint64_t));
}

/* Take a message out of the mail: into device memory, or into the sum. The sender's window is free again afterwards. */
static void take(const struct muster_simring *ring, struct muster_simring_exchange *exchange,
	const struct muster_simring_part *part, const struct muster_simring_mail *mail)
{
	static _Alignas(float) unsigned char data[MUSTER_STANDIN_WINDOW]; /* under the lock of libcuda's stand-in */
	struct muster_standin_pattern pattern = mail->pattern;
	if (mail->window < 0) {
		if (part->at % sizeof(uint64_t) != 0)
			muster_standin_end("a rank receives a pattern that begins within a word");
		if (muster_sim_this_rank()->exchange_wrong)
			pattern.flipped = mail->bytes / 3 / sizeof(uint64_t) * sizeof(uint64_t);
		muster_standin_cuda()->muster_standin_cuda_fill(part->at, part->bytes, &pattern);
		return;
	}
	memcpy(data, out_window(ring, part->peer, mail->window), window_bytes(mail->bytes));
	atomic_fetch_sub(&ring->shared->slots[part->peer].untaken[mail->window], 1);
	if (exchange->reduces)
		add_up(exchange, (const float *)(const void *)data, window_bytes(mail->bytes));
	else
		lay(part->at, part->bytes, data);
}

/* As advance_send. A sum is made in the order of the ranks: a part of rank r is looked at once r ranks are summed up.
 */
static int advance_receive(
	struct muster_simring *ring, struct muster_simring_exchange *exchange, struct muster_simring_part *part)
{
	struct muster_simring_mail *mail = mail_between(ring, part->peer, ring->rank);
	if (exchange->reduces && exchange->summed != part->peer)
		return 0;
	if (part->step == BEGINS) {
		atomic_store(&mail->wanted, part->number);
		muster_simring_tell(ring, part->peer);
	}
	part->step = UNDERWAY;
	if (atomic_load(&mail->sent) < part->number)
		return 0;
	bool fits = mail->bytes == part->bytes;
	if (fits)
		take(ring, exchange, part, mail);
	else
		atomic_store(&mail->refused, part->number);
	exchange->summed++;
	part->step = DONE;
	atomic_store(&mail->taken, part->number);
	muster_simring_tell(ring, part->peer);
	return fits ? 1 : -1;
}

/* -- both -- */

/* Goes through all parts as long as one of them moves: what was received may let a rank send. */
int muster_simring_exchange_advance(struct muster_simring *ring, struct muster_simring_exchange *exchange)
{
	bool moved = true;
	size_t done = 0;
	while (moved && done < exchange->count) {
		moved = false;
		done = 0;
		for (size_t i = 0; i < exchange->count; i++) {
			struct muster_simring_part *part = &exchange->parts[i];
			int state = 0;
			if (part->step != DONE)
				state = part->sends ? advance_send(ring, exchange, part)
						    : advance_receive(ring, exchange, part);
			if (state < 0)
				return -1;
			moved = moved || state > 0;
			done += part->step == DONE;
		}
	}
	if (done < exchange->count)
		return 0;
	if (exchange->reduces)
		lay(exchange->receive, exchange->bytes, (unsigned char *)exchange->sum);
	return 1;
}
