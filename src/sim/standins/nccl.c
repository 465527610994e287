/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.c - libnccl.so.2 for the simulation: communicators
 *
 * If a rank dies or never starts, the others wait for ever, as with NCCL, until they abort.
 *
 * The life of a communicator, which is never blocking:
 *
 *   ncclCommInitRankConfig    join the ring that the id names; the state is ncclInProgress
 *   ncclCommGetAsyncError     go on: when all ranks are there, check what NCCL checks (one GPU twice, IMEX, the
 *                             scenario's barriers), and become ncclSuccess or the error that NCCL would give
 *   ncclAllReduce, ...        see nccl_group.c; since NCCL 2.22 the first one connects the ranks
 *   ncclCommSplit             the parent is ncclInProgress until all of its ranks have called; the child is made then
 *   ncclCommAbort             the handle is gone; the memory goes with the last work that is still in a stream
 */
#include "sim/standins/nccl.h"

#include "muster/arena.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

MUSTER_STANDIN_MARK;

#define LAZY_CONNECT_VERSION 22200 /* since then rings are connected by the first collective, not by init */

/* One lock for CUDA's and NCCL's stand-ins: work of NCCL is polled by streams, which hold it. */
void muster_simnccl_lock(void)
{
	muster_standin_cuda()->muster_standin_cuda_lock();
}

ncclResult_t muster_simnccl_unlock(ncclResult_t result)
{
	muster_standin_cuda()->muster_standin_cuda_unlock();
	return result;
}

/* -- what needs no communicator -- */

ncclResult_t ncclGetVersion(int *version)
{
	*version = muster_sim_this_node()->nccl_version;
	return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
	switch (result) {
	case ncclSuccess: return "no error";
	case ncclUnhandledCudaError: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
	case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
	case ncclInternalError: return "internal error - please report this issue to the NCCL developers";
	case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
	case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
	case ncclRemoteError: return "remote process exited or there was a network error";
	case ncclInProgress: return "NCCL operation in progress";
	}
	return "unknown result code";
}

const char *ncclGetLastError(ncclComm_t comm)
{
	(void)comm; /* as in NCCL, it is the process's */
	return muster_simlog_last_warning();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	muster_sim_cluster();
	memset(id, 0, sizeof *id);
	return getrandom(id->internal, sizeof(uint64_t), 0) == sizeof(uint64_t) ? ncclSuccess : ncclSystemError;
}

/* -- a communicator's life -- */

/* One user of the communicator less: the caller, or a work. The last one frees it. */
void muster_simnccl_release(struct ncclComm *comm)
{
	if (--comm->references > 0)
		return;
	if (comm->ring)
		muster_simring_leave(comm->ring);
	free(comm->peers);
	free(comm);
}

/* A bus id as NCCL numbers it in its log: "0001:00:00.0" is 100000. */
static uint64_t bus_number(const struct muster_sim_gpu *gpu)
{
	struct muster_standin_bus_id id = muster_standin_bus_id_of(gpu);
	return (uint64_t)id.domain << 20 | (uint64_t)id.bus << 12 | (uint64_t)id.device << 4;
}

/* As init.cc of NCCL: each rank looks for another one on its own GPU; the rest see the connection close. */
static ncclResult_t check_duplicates(struct ncclComm *comm)
{
	ncclResult_t result = ncclSuccess;
	for (int i = 0; i < comm->ranks; i++) {
		for (int j = 0; j < comm->ranks; j++) {
			const struct muster_simring_member *a = muster_simring_member(comm->ring, i);
			const struct muster_simring_member *b = muster_simring_member(comm->ring, j);
			if (i == j || a->node != b->node || strcmp(a->bus_id, b->bus_id) != 0)
				continue;
			if (i != comm->rank) {
				result = result == ncclSuccess ? ncclRemoteError : result;
				continue;
			}
			muster_simlog_warn("Duplicate GPU detected : rank %d and rank %d both on CUDA device %" PRIx64,
				i, j, bus_number(comm->device.gpu));
			return ncclInvalidUsage;
		}
	}
	if (result == ncclRemoteError)
		muster_simlog_warn("Connection closed by a remote peer that could not initialize");
	return result;
}

#define FABRIC_COMPLETED 3 /* NVML_GPU_FABRIC_STATE_COMPLETED */

static bool has_fabric(const struct muster_sim_gpu *gpu)
{
	return gpu->fabric_state == FABRIC_COMPLETED && gpu->fabric_status == 0 &&
	       strspn(gpu->fabric_cluster, "0-") != strlen(gpu->fabric_cluster);
}

/* Whether NCCL would cross from one GPU to the other over NVLink though they are on different nodes. */
static bool is_one_fabric(const struct muster_sim_gpu *a, const struct muster_sim_gpu *b)
{
	return has_fabric(a) && has_fabric(b) && strcmp(a->fabric_cluster, b->fabric_cluster) == 0 &&
	       a->fabric_clique == b->fabric_clique;
}

/* As mnnvl.cc of NCCL: memory is shared between nodes through IMEX, and where it does not work a rank says so and ends;
 * the rest see the connection close. */
static ncclResult_t check_imex(const struct ncclComm *comm)
{
	ncclResult_t result = ncclSuccess;
	for (int i = 0; i < comm->ranks; i++) {
		if (muster_simring_member(comm->ring, i)->imex || !muster_simring_is_mnnvl(comm->ring, i))
			continue;
		result = ncclRemoteError;
		if (i != comm->rank)
			continue;
		muster_simlog_warn("MNNVL (cliqueSize %d) is available but not working on this system. Check the IMEX "
				   "channel configuration (/dev/nvidia-caps-imex-channels). Set NCCL_MNNVL_ENABLE=0 to "
				   "ignore this issue.",
			comm->ranks);
		return ncclSystemError;
	}
	if (result == ncclRemoteError)
		muster_simlog_warn("Connection closed by a remote peer that could not initialize");
	return result;
}

/* Go on with initialising, if the others are there. In this order: a barrier of the mode "hang" keeps the start from
 * ever ending; a GPU that two ranks have, IMEX that does not work, and a barrier of the mode "error" end it with an
 * error; else the start takes its time on the virtual clock, and the communicator is ready.
 */
void muster_simnccl_advance_init(struct ncclComm *comm)
{
	if (comm->ready || comm->state != ncclInProgress || !muster_simring_is_complete(comm->ring))
		return;
	if (muster_simring_is_broken(comm->ring, "hang"))
		return;
	comm->state = check_duplicates(comm);
	comm->state = comm->state == ncclSuccess ? check_imex(comm) : comm->state;
	if (comm->state == ncclSuccess && muster_simring_is_broken(comm->ring, "error")) {
		muster_simlog_warn("NET/IB : Got completion from peer with status=12 opcode=0 len=0 vendor err 129");
		comm->state = ncclRemoteError;
	}
	if (comm->state != ncclSuccess)
		return;
	comm->ready = true;
	muster_simnccl_pass(muster_simring_start_seconds(comm->ranks, strcmp(comm->made_by, "ncclCommSplit") == 0));
	if (muster_sim_this_node()->nccl_version < LAZY_CONNECT_VERSION)
		muster_simnccl_connect(comm);
	muster_simlog_channel_count(comm->ring, comm->rank, comm->ranks);
	muster_simlog_info("%s comm %p rank %d nranks %d cudaDev %d nvmlDev %d busId %" PRIx64 " commId 0x%" PRIx64
			   " - Init COMPLETE",
		comm->made_by, (void *)comm, comm->rank, comm->ranks, comm->device.ordinal,
		comm->device.gpu->nvml_index, bus_number(comm->device.gpu), comm->token);
}

/* A configuration as NCCL_CONFIG_INITIALIZER makes it, for communicators that do not block: all that muster uses. */
static bool is_config(const ncclConfig_t *config)
{
	return config && config->magic == MUSTER_NCCL_CONFIG_MAGIC && config->version >= MUSTER_NCCL_CONFIG_VERSION &&
	       config->size >= sizeof(struct muster_nccl_config) && config->blocking == 0;
}

/* The first node that NVLink connects to the GPU's node. */
static int find_domain(const struct muster_sim_gpu *gpu, int node)
{
	const struct muster_sim_cluster *cluster = muster_sim_cluster();
	for (int i = 0; i < node; i++)
		if (cluster->nodes[i].gpu_count > 0 && is_one_fabric(&cluster->nodes[i].gpus[0], gpu))
			return i;
	return node;
}

/* The scenario's errors come with the traffic. Every rank of the node writes the same, and writing it twice adds
 * nothing; without a gap, for one may read while another writes. */
static void raise_counter(const struct muster_sim_port *port, const struct muster_sim_counter *counter)
{
	char path[4096];
	bool hw = strncmp(counter->name, "hw:", 3) == 0;
	snprintf(path, sizeof path, "%s/sys/class/infiniband/%s/ports/%d/%scounters/%s",
		muster_sim_this_node()->directory, port->device, port->port, hw ? "hw_" : "",
		hw ? counter->name + 3 : counter->name);
	FILE *file = fopen(path, "r+");
	if (!file || fprintf(file, "%.0f\n", counter->value + counter->increase) < 0 || fclose(file) != 0)
		muster_standin_end("%s: %s", path, strerror(errno));
}

void muster_simnccl_raise_counters(void)
{
	const struct muster_sim_node *node = muster_sim_this_node();
	for (size_t i = 0; i < node->port_count; i++)
		for (size_t c = 0; c < node->ports[i].counter_count; c++)
			if (node->ports[i].counters[c].increase > 0)
				raise_counter(&node->ports[i], &node->ports[i].counters[c]);
}

/* Join the others of a communicator, if no rank is there twice. like: what the new communicator has from its maker.
 * *ret is written only on success, which is ncclInProgress.
 */
static ncclResult_t join(ncclComm_t *ret, const struct ncclComm *like, const struct muster_simring_member *self)
{
	struct muster_error err;
	struct muster_simring *ring = muster_simring_join(like->token, like->rank, like->ranks, self, &err);
	if (!ring) {
		muster_simlog_warn("%s", err.text);
		return err.code == MUSTER_EUSAGE ? ncclInvalidUsage : ncclSystemError;
	}
	*ret = muster_calloc(1, sizeof **ret);
	**ret = *like;
	(*ret)->ring = ring;
	(*ret)->state = ncclInProgress;
	(*ret)->references = 1;
	(*ret)->peers = muster_calloc((size_t)like->ranks, sizeof *like->peers);
	return ncclInProgress;
}

/* What bootstrap.cc of NCCL 2.28 needs: an interface whose name begins as one of the list. A node has eth0. */
static bool finds_interface(void)
{
	const char *list = getenv("NCCL_SOCKET_IFNAME");
	if (!list || !*list || *list == '^')
		return true;
	const bool whole = *list == '=';
	for (const char *at = list + whole; *at; at += strspn(at, ",")) {
		size_t length = strcspn(at, ":,");
		if (strncmp("eth0", at, length) == 0 && (!whole || length == strlen("eth0")))
			return true;
		at += strcspn(at, ",");
	}
	return false;
}

/* Tell the ring what the others must know of this rank: where its GPU is, and what the environment of the process
 * forbids. */
static ncclResult_t init(ncclComm_t *ret, int ranks, uint64_t token, int rank)
{
	struct muster_standin_device device;
	if (!muster_standin_cuda()->muster_standin_cuda_current(&device)) {
		muster_simlog_warn("Cuda failure 'invalid device context'");
		return ncclUnhandledCudaError;
	}
	muster_simlog_start(rank);
	if (!finds_interface()) {
		muster_simlog_warn("Bootstrap : no socket interface found");
		return ncclInvalidUsage;
	}
	int node = muster_sim_this_rank()->node;
	const char *mnnvl = getenv("NCCL_MNNVL_ENABLE");
	struct muster_simring_member self = { .node = node,
		.domain = find_domain(device.gpu, node),
		.fabric = has_fabric(device.gpu) && (!mnnvl || strcmp(mnnvl, "0") != 0),
		.imex = muster_sim_this_node()->imex_channels > 0,
		.nvml_index = device.gpu->nvml_index,
		.slow = muster_sim_this_rank()->nccl_slow,
		.jitter = muster_sim_this_rank()->nccl_jitter,
		.no_ib = muster_simlog_setting("NCCL_IB_DISABLE") != 0,
		.no_p2p = muster_simlog_setting("NCCL_P2P_DISABLE") != 0 };
	snprintf(self.bus_id, sizeof self.bus_id, "%s", device.gpu->bus_id);
	const struct ncclComm like = {
		.rank = rank, .ranks = ranks, .token = token, .device = device, .made_by = "ncclCommInitRankConfig"
	};
	return join(ret, &like, &self);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
	uint64_t token;
	memcpy(&token, id.internal, sizeof token);
	if (!is_config(config)) {
		muster_simlog_warn("Invalid arguments: a configuration that is none, or blocking");
		return ncclInvalidArgument;
	}
	while (strcmp(muster_sim_this_rank()->nccl_hang, "init") == 0)
		pause();
	muster_simnccl_lock();
	*comm = NULL;
	return muster_simnccl_unlock(init(comm, ranks, token, rank));
}

/* As bootstrap.cc: each id is that of another root. The ring of the stand-in needs one alone. */
ncclResult_t ncclCommInitRankScalable(
	ncclComm_t *comm, int ranks, int rank, int count, ncclUniqueId *ids, ncclConfig_t *config)
{
	for (int i = 0; i < count; i++)
		for (int j = 0; j < i; j++)
			if (memcmp(&ids[i], &ids[j], sizeof ids[i]) == 0)
				muster_standin_end("ncclCommInitRankScalable: ids %d and %d are the same", j, i);
	if (count < 1 || count > ranks) {
		muster_simlog_warn("improper usage of ncclCommInitRank: nId = %d, nranks=%d", count, ranks);
		return ncclInvalidArgument;
	}
	return ncclCommInitRankConfig(comm, ranks, ids[0], rank, config);
}

/* -- a part of its ranks -- */

#define COLOR_FACTOR 0x9e3779b97f4a7c15u /* so that colours have other tokens, and other than their parent */

/* As ncclCommSplit of init.cc: the parent is busy until all ranks have come, and the child appears then. */
static void advance_split(struct ncclComm *comm)
{
	struct ncclComm like = { .device = comm->device, .made_by = "ncclCommSplit" };
	like.rank = muster_simring_split(comm->ring, comm->split_color, comm->split_key, &like.ranks);
	like.token = comm->token ^ (uint64_t)(comm->split_color + 1) * COLOR_FACTOR;
	if (like.rank < 0)
		return;
	comm->state = join(comm->child_to, &like, muster_simring_member(comm->ring, comm->rank));
	if (comm->state == ncclInProgress)
		comm->state = ncclSuccess;
	comm->child_to = NULL;
}

/* Only noted here; advance_split() makes the child. *new_comm is NULL until then. */
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *new_comm, ncclConfig_t *config)
{
	muster_simnccl_lock();
	*new_comm = NULL;
	if (color < 0 || config)
		muster_standin_end("the simulated NCCL splits with a colour, and without a configuration");
	if (comm->state != ncclSuccess) {
		muster_simlog_warn("Attempt to use communicator before the previous operation returned ncclSuccess");
		return muster_simnccl_unlock(ncclInvalidArgument);
	}
	comm->split_color = color;
	comm->split_key = key;
	comm->child_to = new_comm;
	return muster_simnccl_unlock(comm->state = ncclInProgress);
}

/* Where the communicator is, after doing what can be done. */
static ncclResult_t advance(struct ncclComm *comm)
{
	muster_simnccl_advance_init(comm);
	if (comm->child_to)
		advance_split(comm);
	muster_simnccl_launch_deferred(comm);
	muster_standin_cuda()->muster_standin_cuda_progress();
	return comm->state;
}

/* NCCL's call does not wait. This one does, a moment, for ranks that share the CPUs of this machine: when something is
 * under way (a work holds a reference, or the state says so) it sleeps without the lock, at most a millisecond, until a
 * peer has news. The reference that it takes keeps the communicator while another thread may abort it.
 */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
	muster_simnccl_lock();
	unsigned int seen = muster_simring_news(comm->ring);
	*state = advance(comm);
	if (comm->references > 1 || *state == ncclInProgress) {
		comm->references++;
		muster_simnccl_unlock(ncclSuccess);
		muster_simring_sleep(comm->ring, seen);
		muster_simnccl_lock();
		*state = comm->aborted ? comm->state : advance(comm);
		muster_simnccl_release(comm);
	}
	return muster_simnccl_unlock(ncclSuccess);
}

/* Work still in a stream ends at once, whatever it did. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
	muster_simnccl_lock();
	comm->aborted = true;
	muster_simnccl_drop_deferred(comm);
	muster_simnccl_release(comm);
	return muster_simnccl_unlock(ncclSuccess);
}
