/* nccl_ring.c - libnccl.so.2 for the simulation: the data really goes from process to process and is summed
 *
 * The ranks share one file in the cluster's directory, named after the communicator's token: counters, what each rank
 * says of itself, a window of device memory for each rank, and one for the result. An all-reduce has three steps that
 * no rank ever waits in: publish one's own window, reduce one's own slice over all windows, gather the result. Each
 * step is taken when a counter says that all ranks have done what must come before it; the counters only grow, so the
 * number of the all-reduce tells how far they must have come.
 */
#include "sim/standins/nccl.h"

#include "muster/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct slot {
	atomic_bool taken;
	struct muster_simring_member member;
	/* of the all-reduce that the rank published last */
	size_t count;
	ncclRedOp_t op;
};

struct shared {
	atomic_int ranks; /* as the first one said; 0 until then */
	atomic_int joined;
	atomic_uint_fast64_t published, reduced, gathered; /* by all ranks together, since the beginning */
	struct slot slots[];
};

struct muster_simring {
	struct shared *shared;
	size_t bytes;
	char *path; /* NULL once it is gone */
	int rank, ranks;
};

static size_t header_bytes(int ranks)
{
	size_t bytes = sizeof(struct shared) + (size_t)ranks * sizeof(struct slot);
	return (bytes + 4095) / 4096 * 4096;
}

static float *window(const struct muster_simring *ring, int rank)
{
	return (float *)(void *)((unsigned char *)ring->shared + header_bytes(ring->ranks) +
				 (size_t)rank * MUSTER_STANDIN_WINDOW);
}

/* The window of the result follows the windows of the ranks. */
static float *result(const struct muster_simring *ring)
{
	return window(ring, ring->ranks);
}

/* The first rank makes the file; the others find it long enough. */
static struct shared *map_file(const char *path, size_t bytes, struct muster_error *err)
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

struct muster_simring *muster_simring_join(
	uint64_t token, int rank, int ranks, const struct muster_simring_member *self, struct muster_error *err)
{
	struct muster_simring *ring = muster_calloc(1, sizeof *ring);
	ring->rank = rank;
	ring->ranks = ranks;
	ring->bytes = header_bytes(ranks) + ((size_t)ranks + 1) * MUSTER_STANDIN_WINDOW;
	ring->path = muster_asprintf("%s/nccl-%016" PRIx64, muster_sim_cluster()->directory, token);
	ring->shared = map_file(ring->path, ring->bytes, err);
	if (!ring->shared)
		goto fail;
	int before = 0;
	if (!atomic_compare_exchange_strong(&ring->shared->ranks, &before, ranks) && before != ranks) {
		muster_fail(err, MUSTER_EUSAGE, "rank %d counts %d ranks, another one %d", rank, ranks, before);
		goto fail;
	}
	struct slot *slot = &ring->shared->slots[rank];
	if (atomic_exchange(&slot->taken, true)) {
		muster_fail(err, MUSTER_EUSAGE, "there are two ranks %d", rank);
		goto fail;
	}
	slot->member = *self;
	if (atomic_fetch_add(&ring->shared->joined, 1) + 1 == ranks)
		unlink(ring->path);
	return ring;
fail:
	if (ring->shared)
		munmap(ring->shared, ring->bytes);
	free(ring->path);
	free(ring);
	return NULL;
}

int muster_simring_is_complete(struct muster_simring *ring)
{
	if (atomic_load(&ring->shared->joined) != ring->ranks)
		return 0;
	free(ring->path);
	ring->path = NULL;
	return 1;
}

const struct muster_simring_member *muster_simring_member(const struct muster_simring *ring, int rank)
{
	return &ring->shared->slots[rank].member;
}

/* How many different values a number of the members has. */
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

/* A ring that never became complete leaves its file to the last one that gives it up. */
void muster_simring_leave(struct muster_simring *ring)
{
	if (ring->path && atomic_load(&ring->shared->joined) != ring->ranks) {
		atomic_store(&ring->shared->slots[ring->rank].taken, false);
		if (atomic_fetch_sub(&ring->shared->joined, 1) == 1)
			unlink(ring->path);
	}
	munmap(ring->shared, ring->bytes);
	free(ring->path);
	free(ring);
}

/* -- all-reduce -- */

static void reduce(const struct muster_simring *ring, ncclRedOp_t op, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		float value = window(ring, 0)[i];
		for (int rank = 1; rank < ring->ranks; rank++) {
			float other = window(ring, rank)[i];
			value = op == ncclMax ? (other > value ? other : value) : value + other;
		}
		result(ring)[i] = value;
	}
}

static bool publish(struct muster_simring *ring, struct muster_simring_work *work, size_t elements, uint64_t before)
{
	struct shared *shared = ring->shared;
	struct slot *slot = &shared->slots[ring->rank];
	if (atomic_load(&shared->reduced) < before) /* another rank may still read this rank's window */
		return false;
	muster_standin_cuda()->muster_standin_cuda_read(window(ring, ring->rank), work->send, elements * sizeof(float));
	slot->count = work->count;
	slot->op = work->op;
	atomic_fetch_add(&shared->published, 1);
	return true;
}

static bool reduce_slice(
	struct muster_simring *ring, struct muster_simring_work *work, size_t elements, uint64_t before, uint64_t all)
{
	struct shared *shared = ring->shared;
	if (atomic_load(&shared->published) < all || atomic_load(&shared->gathered) < before)
		return false;
	size_t rank = (size_t)ring->rank, ranks = (size_t)ring->ranks;
	reduce(ring, work->op, elements * rank / ranks, elements * (rank + 1) / ranks);
	return true;
}

/* Checked before the slice is counted as reduced, for then the others may publish anew. */
static bool is_agreed(const struct muster_simring *ring, const struct muster_simring_work *work)
{
	for (int i = 0; i < ring->ranks; i++) {
		const struct slot *slot = &ring->shared->slots[i];
		if (slot->count != work->count || slot->op != work->op)
			return false;
	}
	return true;
}

static bool gather(struct muster_simring *ring, struct muster_simring_work *work, size_t elements, uint64_t all)
{
	struct shared *shared = ring->shared;
	size_t bytes = elements * sizeof(float);
	if (atomic_load(&shared->reduced) < all)
		return false;
	float *own = muster_calloc(1, bytes);
	memcpy(own, result(ring), bytes);
	if (muster_sim_this_rank()->nccl_wrong_sum && elements > 1) {
		/* never the first value, which a careless check would look at */
		size_t at = elements - elements / 3 - 1;
		own[at > 0 ? at : 1] += 1;
	}
	muster_standin_cuda()->muster_standin_cuda_write(work->receive, own, bytes);
	free(own);
	atomic_fetch_add(&shared->gathered, 1);
	return true;
}

int muster_simring_advance(struct muster_simring *ring, struct muster_simring_work *work)
{
	uint64_t before = (work->number - 1) * (uint64_t)ring->ranks, all = before + (uint64_t)ring->ranks;
	size_t most = MUSTER_STANDIN_WINDOW / sizeof(float), elements = work->count < most ? work->count : most;
	if (work->step == 0) {
		if (!publish(ring, work, elements, before))
			return 0;
		work->step = 1;
	}
	if (work->step == 1) {
		if (!reduce_slice(ring, work, elements, before, all))
			return 0;
		if (!is_agreed(ring, work))
			return -1;
		atomic_fetch_add(&ring->shared->reduced, 1);
		work->step = 2;
	}
	return gather(ring, work, elements, all) ? 1 : 0;
}

/* -- time -- */

#define BARRIER_SLOW 20    /* this many times as long, over a slow network */
#define SOCKETS_SLOW 10    /* over sockets in place of InfiniBand: 17 GB/s where 169 is normal */
#define SHM_SLOW 8         /* through host memory in place of NVLink */
#define ALONE_SECONDS 5e-6 /* one rank: nothing is sent */

/* The bandwidth at `bytes` among table[0 .. count - 1], which are of one number of nodes. Below the smallest size the
 * time stays that of the smallest; above the largest the bandwidth stays. */
static double busbw_gbps(const struct muster_sim_bandwidth *table, size_t count, double bytes)
{
	if (bytes <= table[0].bytes)
		return table[0].busbw_gbps * bytes / table[0].bytes;
	for (size_t i = 1; i < count; i++) {
		if (bytes > table[i].bytes)
			continue;
		double share = log(bytes / table[i - 1].bytes) / log(table[i].bytes / table[i - 1].bytes);
		return table[i - 1].busbw_gbps + share * (table[i].busbw_gbps - table[i - 1].busbw_gbps);
	}
	return table[count - 1].busbw_gbps;
}

/* True when a row for that many domains and nodes is at most what the ring spans, domains first. */
static bool is_within(const struct muster_sim_bandwidth *row, int domains, int nodes)
{
	return row->domains < domains || (row->domains == domains && row->nodes <= nodes);
}

/* The rows for a ring over so many NVLink domains and nodes: those of the largest numbers that are not larger, or the
 * first ones. */
static const struct muster_sim_bandwidth *find_table(int domains, int nodes, size_t *ret_count)
{
	const struct muster_sim_cluster *cluster = muster_sim_cluster();
	const struct muster_sim_bandwidth *first = cluster->bandwidths, *end = first + cluster->bandwidth_count;
	if (first == end)
		muster_standin_end("the scenario has no bandwidths for an all-reduce");
	for (const struct muster_sim_bandwidth *row = first; row < end && is_within(row, domains, nodes); row++)
		if (row->domains != first->domains || row->nodes != first->nodes)
			first = row;
	*ret_count = 0;
	while (first + *ret_count < end && first[*ret_count].domains == first->domains &&
		first[*ret_count].nodes == first->nodes)
		++*ret_count;
	return first;
}

/* How many times longer it takes because a rank may not use InfiniBand, or NVLink to a rank of its node. */
static double disabled_slow(const struct muster_simring *ring)
{
	const struct muster_sim_cluster *cluster = muster_sim_cluster();
	bool no_ib = false, no_p2p = false;
	for (int i = 0; i < ring->ranks; i++) {
		no_ib = no_ib || ring->shared->slots[i].member.no_ib;
		no_p2p = no_p2p || ring->shared->slots[i].member.no_p2p;
	}
	no_ib = no_ib && muster_simring_domains(ring) > 1 && strncmp(cluster->inter_transport, "NET/IB", 6) == 0;
	no_p2p = no_p2p && ring->ranks > muster_simring_nodes(ring) && strncmp(cluster->intra_transport, "P2P", 3) == 0;
	return fmax(no_ib ? SOCKETS_SLOW : 1, no_p2p ? SHM_SLOW : 1);
}

double muster_simring_seconds(const struct muster_simring *ring, size_t bytes)
{
	double slow = 1, ranks = ring->ranks;
	for (int i = 0; i < ring->ranks; i++)
		slow = fmax(slow, ring->shared->slots[i].member.slow);
	if (muster_simring_is_broken(ring, "slow"))
		slow *= BARRIER_SLOW;
	if (ring->ranks == 1)
		return ALONE_SECONDS * slow;
	slow *= disabled_slow(ring);
	size_t count;
	const struct muster_sim_bandwidth *table =
		find_table(muster_simring_domains(ring), muster_simring_nodes(ring), &count);
	double algbw = busbw_gbps(table, count, (double)bytes) / (2 * (ranks - 1) / ranks);
	return (double)bytes / (algbw * 1e9) * slow;
}
