/* SPDX-License-Identifier: Apache-2.0 */
/* roster.c - which rank of the job each rank of the ring is, and which of them are near: in one node or NVLink domain
 *
 * On a communicator over several nodes NCCL gives all peers the channels of the slowest path: 1 to 4. GPUs that NVLink
 * joins have all their channels only on a communicator of themselves.
 *
 * What is shared by one all-reduce: for each rank of the ring its number in the job and 48 bits of a hash of its
 * domain, in parts of 24 bits, as a float holds them. Two domains have one hash once in 3 x 10^14 pairs; then ranks
 * would only exchange on a communicator that has fewer channels than theirs could.
 *
 * Near means: the same cluster UUID and clique of an NVLink fabric that has completed; else the same node, and on a
 * node where NVLink joins some GPUs only, the same group of joined GPUs. NVML answers without a context, and a GPU that
 * cannot be asked counts by its node's name alone.
 */
#include "probes/nccl/session.h"

#include "muster/arena.h"
#include "probes/gpu/device.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xxh64.h"
#include "vendor/nccl_log.h"

#include <stdlib.h>
#include <string.h>

/* By number in the ring. */
static struct entry {
	int rank;        /* of the job */
	uint64_t domain; /* the same for near ranks: PART_BITS twice */
} * roster;
static int roster_count;

static ncclComm_t near; /* of the near ranks; NCCL writes it when the split is done. NULL: none */
static size_t near_at;  /* where in NCCL's log its lines begin */

int muster_nccl_rank_of_job(int ring_rank)
{
	return ring_rank >= 0 && ring_rank < roster_count ? roster[ring_rank].rank : -1;
}

/* ---- all ranks tell each other ---- */

/* Floats of an entry: rank, upper and lower part of the domain; and the bits of a whole number that a float holds. */
enum { PARTS = 3, PART_BITS = 24 };

/* NVLink may join the GPUs of a node two by two. GPUs that are all joined to each other have the same lowest bus id
 * among them, which is added to the hash. peers are in NVML's order, which is that of the bus ids. A GPU without peers
 * adds nothing. */
static void add_first_joined(struct muster_xxh64 *hash, const struct muster_nvml *nvml, const struct muster_gpu *gpu)
{
	struct muster_nvml_gpus peers;
	struct muster_error why;
	(void)muster_gpu_nvlink_peers(nvml, gpu->nvml_device, &peers, &why);
	if (peers.count > 0) {
		const char *first =
			strcmp(peers.items[0].bus_id, gpu->bus_id) < 0 ? peers.items[0].bus_id : gpu->bus_id;
		muster_xxh64_add(hash, first, strlen(first));
	}
	muster_nvml_gpus_done(&peers);
}

/* The hash of this rank's domain, 2 x PART_BITS bits. As NCCL sees it: GPUs of one fabric between nodes are near, where
 * the fabric has completed without an error; a cluster UUID of zeros is none. */
static uint64_t own_domain(const struct muster_probe_env *env)
{
	struct muster_xxh64 hash;
	struct muster_error why;
	nvmlGpuFabricInfo_v3_t fabric;
	static const unsigned char none[sizeof fabric.clusterUuid];
	const struct muster_nvml *nvml = muster_gpu_nvml(env->gpu, &why);
	muster_xxh64_init(&hash);
	if (nvml && muster_gpu_fabric(nvml, env->gpu->nvml_device, &fabric, &why, &why) == 0 &&
		fabric.state == NVML_GPU_FABRIC_STATE_COMPLETED && fabric.status == NVML_SUCCESS &&
		memcmp(fabric.clusterUuid, none, sizeof none) != 0) {
		muster_xxh64_add(&hash, fabric.clusterUuid, sizeof fabric.clusterUuid);
		muster_xxh64_add(&hash, &fabric.cliqueId, sizeof fabric.cliqueId);
	} else {
		muster_xxh64_add(&hash, env->node_name, strlen(env->node_name));
		if (nvml)
			add_first_joined(&hash, nvml, env->gpu);
	}
	return muster_xxh64_value(&hash) >> (64 - 2 * PART_BITS);
}

/* Each rank puts its own parts at its own place among zeros, and the maximum over all ranks is the table of all. parts:
 * PARTS floats for each rank, the whole table MUSTER_NCCL_COPIES times. The rank is sent plus one, so that 0 is a rank
 * that has sent nothing. */
static int share(const struct muster_nccl_session *s, CUdeviceptr at, float *parts, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	const struct muster_probe_env *env = muster_probe_env(s->ctx);
	size_t count = MUSTER_NCCL_COPIES * PARTS * (size_t)s->ring.ranks, bytes = count * sizeof *parts;
	uint64_t domain = own_domain(env);
	memset(parts, 0, bytes);
	for (int copy = 0; copy < MUSTER_NCCL_COPIES; copy++) {
		float *own = parts + PARTS * ((size_t)copy * (size_t)s->ring.ranks + (size_t)s->ring.rank);
		own[0] = (float)(env->rank + 1);
		own[1] = (float)(domain >> PART_BITS);
		own[2] = (float)(domain & ((1u << PART_BITS) - 1));
	}
	if (MUSTER_CUDA(resources->cuda, err, cuMemcpyHtoDAsync_v2, at, parts, bytes, resources->stream) < 0 ||
		muster_nccl_sum(s, at, count, ncclMax, err) < 0 ||
		MUSTER_CUDA(resources->cuda, err, cuMemcpyDtoHAsync_v2, parts, at, bytes, resources->stream) < 0)
		return -1;
	return muster_nccl_finish(s, "telling all ranks who they are", err);
}

/* A ring whose table does not fit into the pinned memory (above 58,000 ranks) has no roster: ranks of the job are then
 * not known, and no near communicator is made. The device buffer is of this call alone. */
int muster_nccl_roster_make(const struct muster_nccl_session *s, struct muster_error *err)
{
	const struct muster_cuda *cuda = s->resources->cuda;
	float *parts = s->resources->chunks.data;
	size_t count = (size_t)s->ring.ranks, once = PARTS * count * sizeof *parts, bytes = MUSTER_NCCL_COPIES * once;
	CUdeviceptr at;
	free(roster);
	roster = NULL;
	roster_count = 0;
	if (bytes > CHUNKS_BYTES)
		return 0;
	if (MUSTER_CUDA(cuda, err, cuMemAlloc_v2, &at, bytes) < 0)
		return -1;
	if (share(s, at, parts, err) < 0)
		return -1; /* what is in the stream may still use the buffer */
	cuda->cuMemFree_v2(at);
	muster_nccl_vote((const unsigned char *)parts, once, parts);
	roster = muster_calloc(count, sizeof *roster);
	roster_count = s->ring.ranks;
	for (size_t i = 0; i < count; i++, parts += PARTS)
		roster[i] = (struct entry){ (int)parts[0] - 1, (uint64_t)parts[1] << PART_BITS | (uint64_t)parts[2] };
	return 0;
}

/* ---- the communicator of near ranks ---- */

/* Whether some ranks are near each other and others are not: all ranks of the ring find the same. */
static bool is_divided(void)
{
	bool near_ones = false, far_ones = false;
	for (int a = 0; a < roster_count; a++)
		for (int b = a + 1; b < roster_count && !(near_ones && far_ones); b++)
			*(roster[a].domain == roster[b].domain ? &near_ones : &far_ones) = true;
	return near_ones && far_ones;
}

/* How many near ranks there are before this one of the ring; ret_first: the first of them, or itself. */
static int count_before(int ring_rank, int *ret_first)
{
	int count = 0;
	*ret_first = ring_rank;
	for (int i = ring_rank; i-- > 0;)
		if (roster[i].domain == roster[ring_rank].domain) {
			*ret_first = i;
			count++;
		}
	return count;
}

/* color: the number of the first rank of the domain, which is another one for each domain. Keys are the numbers in the
 * ring, so the order within a domain is that of the ring, which count_before relies on. Two waits: the split is done on
 * the ring's communicator, and then the new one must be ready itself. */
int muster_nccl_near_make(const struct muster_nccl_session *s, double *ret_ms, struct muster_error *err)
{
	const struct muster_nccl *nccl = s->resources->nccl;
	struct muster_nccl_session of_near = *s;
	double began_ms = muster_clock_now(&muster_clock_raw);
	int color;
	*ret_ms = 0;
	if (!nccl->ncclCommSplit || near || s->ring.rank >= roster_count || !is_divided())
		return 0;
	count_before(s->ring.rank, &color);
	muster_nccl_log_read(&near_at, NULL);
	muster_step(s->ctx, "ncclCommSplit: the ranks of this node or NVLink domain");
	/* without a configuration: not blocking, as the ring's, and nothing is shared with it */
	ncclResult_t result = nccl->ncclCommSplit(s->comm, color, s->ring.rank, &near, NULL);
	if (muster_nccl_settle(s, result, "ncclCommSplit", err) < 0)
		return -1;
	if (!near)
		return muster_fail(err, MUSTER_EVENDOR, "ncclCommSplit made no communicator");
	of_near.comm = near;
	if (muster_nccl_settle(&of_near, ncclInProgress, "ncclCommSplit", err) < 0)
		return -1;
	*ret_ms = muster_clock_now(&muster_clock_raw) - began_ms;
	return 0;
}

void muster_nccl_near_leave(const struct muster_nccl *nccl)
{
	if (near)
		nccl->ncclCommAbort(near);
	near = NULL;
}

void muster_nccl_near_forget(void)
{
	near = NULL;
}

/* Without a near communicator no lines of another one stand in the log (log_mixed SIZE_MAX), and ranks of a ring within
 * one node are near each other. */
struct muster_nccl_between muster_nccl_between(const struct muster_nccl_session *s, int peer)
{
	int own = s->ring.rank, first;
	if (near && roster[own].domain == roster[peer].domain)
		return (struct muster_nccl_between){ near, count_before(own, &first), count_before(peer, &first),
			near_at, near_at, true };
	return (struct muster_nccl_between){ s->comm, own, peer, muster_nccl_log_of_ring(SIZE_MAX),
		near ? near_at : SIZE_MAX, s->ring.nodes == 1 };
}
