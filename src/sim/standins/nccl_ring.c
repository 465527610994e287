/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_ring.c - libnccl.so.2 for the simulation: the data really goes from process to process and is summed
 *
 * The ranks share one file in the cluster's directory, named after the communicator's token; nccl_shared.h has what is
 * in it. An all-reduce has three steps that no rank ever waits in: publish one's own window, reduce one's own slice
 * over all windows, gather the result. Each step is taken when a counter says that all ranks have done what must come
 * before it; the counters only grow, so the number of the all-reduce tells how far they must have come.
 *
 * All-reduce k (from 1) of n ranks, as muster_simring_advance() takes it:
 *
 *   step    begins when                                       does                              then counts in
 *   0       reduced >= (k-1) n: my window is read by no one   copy my data into my window       published
 *   1       published >= k n: all windows are there, and      sum up my n-th part of all        reduced
 *           gathered >= (k-1) n: the old sum is taken         windows into the sum
 *   2       reduced >= k n: the sum is complete               copy the sum into my memory       gathered
 *
 * Only a window of the data is summed up (base.h: the probes' data repeats), so 8 GiB cost no more than one window.
 */
#include "sim/standins/nccl_shared.h"

#include "muster/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static size_t header_bytes(int ranks)
{
	size_t bytes = sizeof(struct muster_simring_shared) + (size_t)ranks * sizeof(struct muster_simring_slot);
	return (bytes + 4095) / 4096 * 4096;
}

unsigned char *muster_simring_window(const struct muster_simring *ring, int rank)
{
	return (unsigned char *)ring->shared + header_bytes(ring->ranks) + (size_t)rank * MUSTER_STANDIN_WINDOW;
}

static float *window(const struct muster_simring *ring, int rank)
{
	return (float *)(void *)muster_simring_window(ring, rank);
}

/* Of the whole file. */
static size_t file_bytes(int ranks)
{
	size_t count = (size_t)ranks;
	return header_bytes(ranks) + (count + 1 + count * MUSTER_SIMRING_OUT) * MUSTER_STANDIN_WINDOW +
	       count * count * sizeof(struct muster_simring_mail);
}

/* The window of the result follows the windows of the ranks. */
static float *result(const struct muster_simring *ring)
{
	return window(ring, ring->ranks);
}

/* The first rank makes the file; the others find it long enough. */
static struct muster_simring_shared *map_file(const char *path, size_t bytes, struct muster_error *err)
{
	int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	void *shared = MAP_FAILED;
	struct stat known;
	if (file >= 0 && fstat(file, &known) == 0 &&
		(known.st_size >= (off_t)bytes || ftruncate(file, (off_t)bytes) == 0))
		shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (shared == MAP_FAILED)
		muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
	if (file >= 0)
		close(file);
	return shared == MAP_FAILED ? NULL : shared;
}

static void forget(struct muster_simring *ring)
{
	if (ring->shared)
		munmap(ring->shared, ring->bytes);
	free(ring->path);
	free(ring->sent);
	free(ring->received);
	free(ring->ways);
	free(ring);
}

/* -- waiting for each other -- */

void muster_simring_tell(const struct muster_simring *ring, int rank)
{
	struct muster_simring_slot *slot = &ring->shared->slots[rank];
	atomic_fetch_add(&slot->news, 1);
	if (atomic_load(&slot->sleeps))
		syscall(SYS_futex, &slot->news, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void tell_all(const struct muster_simring *ring)
{
	for (int rank = 0; rank < ring->ranks; rank++)
		if (rank != ring->rank)
			muster_simring_tell(ring, rank);
}

/* Count up; the rank that reaches the number tells the others. */
static void count(const struct muster_simring *ring, atomic_uint_fast64_t *counter, uint64_t number)
{
	if (atomic_fetch_add(counter, 1) + 1 == number)
		tell_all(ring);
}

unsigned int muster_simring_news(const struct muster_simring *ring)
{
	return atomic_load(&ring->shared->slots[ring->rank].news);
}

/* seen: muster_simring_news() before the caller looked for something to do. If news came in between, FUTEX_WAIT returns
 * at once. A millisecond is the most, so a wake-up that is lost costs no more. */
void muster_simring_sleep(struct muster_simring *ring, unsigned int seen)
{
	static const struct timespec most = { .tv_nsec = 1000000 };
	struct muster_simring_slot *slot = &ring->shared->slots[ring->rank];
	atomic_store(&slot->sleeps, true);
	syscall(SYS_futex, &slot->news, FUTEX_WAIT, seen, &most, NULL, 0);
	atomic_store(&slot->sleeps, false);
}

/* -- joining -- */

/* The first rank sets the number of ranks, and any rank with another number is refused; so is a rank that is there
 * already. The last rank to come removes the file's name: all have the file mapped, and nothing is left if they are
 * killed. */
struct muster_simring *muster_simring_join(
	uint64_t token, int rank, int ranks, const struct muster_simring_member *self, struct muster_error *err)
{
	struct muster_simring *ring = muster_calloc(1, sizeof *ring);
	ring->rank = rank;
	ring->ranks = ranks;
	ring->bytes = file_bytes(ranks);
	ring->sent = muster_calloc((size_t)ranks, sizeof *ring->sent);
	ring->received = muster_calloc((size_t)ranks, sizeof *ring->received);
	ring->path = muster_asprintf("%s/nccl-%016" PRIx64, muster_sim_cluster()->directory, token);
	ring->shared = map_file(ring->path, ring->bytes, err);
	if (!ring->shared)
		goto fail;
	int before = 0;
	if (!atomic_compare_exchange_strong(&ring->shared->ranks, &before, ranks) && before != ranks) {
		muster_fail(err, MUSTER_EUSAGE, "rank %d counts %d ranks, another one %d", rank, ranks, before);
		goto fail;
	}
	struct muster_simring_slot *slot = &ring->shared->slots[rank];
	if (atomic_exchange(&slot->taken, true)) {
		muster_fail(err, MUSTER_EUSAGE, "there are two ranks %d", rank);
		goto fail;
	}
	slot->member = *self;
	if (atomic_fetch_add(&ring->shared->joined, 1) + 1 == ranks) {
		unlink(ring->path);
		tell_all(ring);
	}
	return ring;
fail:
	forget(ring);
	return NULL;
}

bool muster_simring_is_mnnvl(const struct muster_simring *ring, int rank)
{
	const struct muster_simring_member *self = muster_simring_member(ring, rank);
	for (int i = 0; i < ring->ranks; i++) {
		const struct muster_simring_member *other = muster_simring_member(ring, i);
		if (other->domain == self->domain && other->node != self->node)
			return true;
	}
	return false;
}

/* As mnnvl.cc of NCCL 2.27: where one rank may not use NVLink to other nodes, none does. Before, a node without an IMEX
 * channel went alone. Each process finds the same. */
static void settle_domains(struct muster_simring *ring)
{
	bool all = true, old = muster_sim_this_node()->nccl_version < MUSTER_SIMNCCL_IMEX_CHECKED;
	for (int i = 0; i < ring->ranks; i++)
		all = all && ring->shared->slots[i].member.fabric;
	for (int i = 0; i < ring->ranks; i++) {
		struct muster_simring_member *member = &ring->shared->slots[i].member;
		member->domain = all && (member->imex || !old) ? member->domain : member->node;
	}
}

int muster_simring_is_complete(struct muster_simring *ring)
{
	if (atomic_load(&ring->shared->joined) != ring->ranks)
		return 0;
	if (ring->path)
		settle_domains(ring);
	free(ring->path);
	ring->path = NULL;
	return 1;
}

const struct muster_simring_member *muster_simring_member(const struct muster_simring *ring, int rank)
{
	return &ring->shared->slots[rank].member;
}

int muster_simring_ranks(const struct muster_simring *ring)
{
	return ring->ranks;
}

/* How many different values a number of the members has. offset: of an int in struct muster_simring_member. */
static int count_distinct(const struct muster_simring *ring, size_t offset)
{
	int distinct = 0;
	for (int i = 0; i < ring->ranks; i++) {
		const char *mine = (const char *)&ring->shared->slots[i].member + offset;
		int earlier = 0;
		while (earlier < i &&
			memcmp((const char *)&ring->shared->slots[earlier].member + offset, mine, sizeof(int)) != 0)
			earlier++;
		distinct += earlier == i;
	}
	return distinct;
}

int muster_simring_nodes(const struct muster_simring *ring)
{
	return count_distinct(ring, offsetof(struct muster_simring_member, node));
}

int muster_simring_domains(const struct muster_simring *ring)
{
	return count_distinct(ring, offsetof(struct muster_simring_member, domain));
}

bool muster_simring_is_broken(const struct muster_simring *ring, const char *mode)
{
	const struct muster_sim_cluster *cluster = muster_sim_cluster();
	for (size_t i = 0; i < cluster->barrier_count; i++) {
		const struct muster_sim_partition *barrier = &cluster->barriers[i];
		bool a = false, b = false;
		for (int rank = 0; rank < ring->ranks; rank++) {
			char side = barrier->sides[ring->shared->slots[rank].member.node];
			a = a || side == 'a';
			b = b || side == 'b';
		}
		if (a && b && strcmp(barrier->mode, mode) == 0)
			return true;
	}
	return false;
}

/* A ring that never became complete leaves its file to the last rank that leaves, which removes the file. */
void muster_simring_leave(struct muster_simring *ring)
{
	if (ring->path && atomic_load(&ring->shared->joined) != ring->ranks) {
		atomic_store(&ring->shared->slots[ring->rank].taken, false);
		if (atomic_fetch_sub(&ring->shared->joined, 1) == 1)
			unlink(ring->path);
	}
	forget(ring);
}

/* -- splits -- */

int muster_simring_split(struct muster_simring *ring, int color, int key, int *ret_ranks)
{
	struct muster_simring_slot *own = &ring->shared->slots[ring->rank];
	int before = 0;
	own->color = color;
	own->key = key;
	if (!atomic_exchange(&own->splits, true) && atomic_fetch_add(&ring->shared->splitting, 1) + 1 == ring->ranks)
		tell_all(ring);
	*ret_ranks = 0;
	for (int i = 0; i < ring->ranks; i++) {
		const struct muster_simring_slot *slot = &ring->shared->slots[i];
		if (!atomic_load(&slot->splits))
			return -1;
		*ret_ranks += slot->color == color;
		before += slot->color == color && (slot->key < key || (slot->key == key && i < ring->rank));
	}
	return before;
}

/* -- all-reduce -- */

MUSTER_STANDIN_LOOP static void add(ncclRedOp_t op, float *restrict sum, const float *restrict values, size_t count)
{
	if (op == ncclMax)
		for (size_t i = 0; i < count; i++)
			sum[i] = values[i] > sum[i] ? values[i] : sum[i];
	else
		for (size_t i = 0; i < count; i++)
			sum[i] += values[i];
}

void muster_simring_add(ncclRedOp_t op, float *restrict sum, const float *restrict values, size_t count)
{
	add(op, sum, values, count);
}

/* Sum up (or compare) the elements from `from` to `to` of all windows, in the order of the ranks: floats that are added
 * in another order may give another sum. */
static void reduce(const struct muster_simring *ring, ncclRedOp_t op, size_t from, size_t to)
{
	memcpy(result(ring) + from, window(ring, 0) + from, (to - from) * sizeof(float));
	for (int rank = 1; rank < ring->ranks; rank++)
		muster_simring_add(op, result(ring) + from, window(ring, rank) + from, to - from);
}

/* Checked before the slice is counted as reduced, for then the others may publish anew. */
static bool is_agreed(const struct muster_simring *ring, const struct muster_simring_work *work)
{
	for (int i = 0; i < ring->ranks; i++) {
		const struct muster_simring_slot *slot = &ring->shared->slots[i];
		if (slot->count != work->count || slot->op != work->op)
			return false;
	}
	return true;
}

/* Copy the sum into this rank's memory, repeated up to the length of the call; with the fault nccl-wrong-sum one value
 * of this rank's copy is wrong. */
static void gather(const struct muster_simring *ring, const struct muster_simring_work *work, size_t elements)
{
	size_t bytes = elements * sizeof(float);
	float *own = muster_calloc(1, bytes);
	memcpy(own, result(ring), bytes);
	if (muster_sim_this_rank()->nccl_wrong_sum && elements > 1) {
		/* never the first value, which a careless check would look at */
		size_t at = elements - elements / 3 - 1;
		own[at > 0 ? at : 1] += 1;
	}
	muster_standin_cuda()->muster_standin_cuda_write(work->receive, work->count * sizeof(float), own, bytes);
	free(own);
}

int muster_simring_advance(struct muster_simring *ring, struct muster_simring_work *work)
{
	struct muster_simring_shared *shared = ring->shared;
	struct muster_simring_slot *slot = &shared->slots[ring->rank];
	size_t rank = (size_t)ring->rank, ranks = (size_t)ring->ranks;
	uint64_t before = (work->number - 1) * ranks, all = before + ranks;
	size_t most = MUSTER_STANDIN_WINDOW / sizeof(float), elements = work->count < most ? work->count : most;
	if (work->step == 0) {
		if (atomic_load(&shared->reduced) < before) /* another rank may still read this rank's window */
			return 0;
		muster_standin_cuda()->muster_standin_cuda_read(
			window(ring, ring->rank), work->send, elements * sizeof(float));
		slot->count = work->count;
		slot->op = work->op;
		count(ring, &shared->published, all);
		work->step = 1;
	}
	if (work->step == 1) {
		if (atomic_load(&shared->published) < all || atomic_load(&shared->gathered) < before)
			return 0;
		if (!is_agreed(ring, work))
			return -1;
		reduce(ring, work->op, elements * rank / ranks, elements * (rank + 1) / ranks);
		count(ring, &shared->reduced, all);
		work->step = 2;
	}
	if (atomic_load(&shared->reduced) < all)
		return 0;
	gather(ring, work, elements);
	count(ring, &shared->gathered, all);
	return 1;
}
