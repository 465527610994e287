/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.h - the parts of libnccl.so.2's stand-in and what they know of each other
 *
 * nccl.c has the communicators, nccl_group.c the collectives and groups of sends, nccl_ring.c moves the data of an
 * all-reduce between the processes, nccl_exchange.c the data of everything else, nccl_time.c says how long they take,
 * nccl_channels.c over how many channels two ranks send, nccl_log.c writes what NCCL_DEBUG asks for, nccl_paths.c which
 * way leads from one rank to another.
 *
 * Words: a ring is what the ranks of one communicator share (struct muster_simring, one file in the simulation's
 * directory); a communicator is one rank's handle of it (struct ncclComm). A work is a call from ncclAllReduce() and so
 * on until the stream is done with it. A part is one message of a work, to or from one rank. A domain is a set of nodes
 * that NVLink connects: a rack, or one node.
 *
 * No call waits for another rank, except ncclCommGetAsyncError() for a millisecond. Each call, and each query of a
 * stream or of a communicator's state, does what can be done at once. So the caller's own deadline ends the wait for a
 * rank that never comes.
 */
#ifndef MUSTER_SIM_STANDINS_NCCL_H
#define MUSTER_SIM_STANDINS_NCCL_H

#include "vendor/nccl_abi.h"
#include "sim/cluster.h"
#include "sim/standins/base.h"
#include "sim/standins/nccl_channels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X(symbol, parameters) MUSTER_STANDIN_EXPORT ncclResult_t symbol parameters;
MUSTER_NCCL_FUNCTIONS(X)
MUSTER_NCCL_OPTIONAL_FUNCTIONS(X)
#undef X
MUSTER_STANDIN_EXPORT const char *ncclGetErrorString(ncclResult_t result);
MUSTER_STANDIN_EXPORT const char *ncclGetLastError(ncclComm_t comm);

/* -- the ring: shared memory between its ranks -- */

/* What each rank tells the others. */
struct muster_simring_member {
	int node;   /* index into the cluster's nodes */
	int domain; /* of NVLink: the first node of those that its fabric connects */
	int nvml_index;
	char bus_id[32];
	double slow, jitter;
	bool no_ib, no_p2p; /* NCCL_IB_DISABLE, NCCL_P2P_DISABLE of its process */
	bool fabric, imex;  /* it may use NVLink to other nodes; its node has an IMEX channel */
};

#define MUSTER_SIMNCCL_IMEX_CHECKED 22700 /* since then a communicator fails where IMEX does not work */

struct muster_simring;

/* Join the ring that token names. Does not wait for the others. NULL with err: it could not be joined. */
struct muster_simring *muster_simring_join(
	uint64_t token, int rank, int ranks, const struct muster_simring_member *self, struct muster_error *err);
/* 1: all ranks are present, 0: not yet. After 1 no file remains on disk, even if the processes die. */
int muster_simring_is_complete(struct muster_simring *ring);
const struct muster_simring_member *muster_simring_member(const struct muster_simring *ring, int rank);
/* How many it spans; the ring must be complete. */
int muster_simring_nodes(const struct muster_simring *ring);
int muster_simring_domains(const struct muster_simring *ring);
/* Whether NVLink joins the rank to another node of the ring. */
bool muster_simring_is_mnnvl(const struct muster_simring *ring, int rank);
/* Whether the network lies between its members so that it is broken in this way: "hang", "error", "slow". */
bool muster_simring_is_broken(const struct muster_simring *ring, const char *mode);
void muster_simring_leave(struct muster_simring *ring);
/* Tell the others how this rank wants to split the ring, which is split once. Among the ranks of the same colour, in
 * the order of their keys, this rank's number, once all ranks of the ring have told; -1 before. */
int muster_simring_split(struct muster_simring *ring, int color, int key, int *ret_ranks);
/* A number that changes when another rank has done what this one may wait for. */
unsigned int muster_simring_news(const struct muster_simring *ring);
/* Sleep until there are other news than these, or for a millisecond: a rank that polls would take the CPU from those
 * that it waits for. The virtual clock stands still. */
void muster_simring_sleep(struct muster_simring *ring, unsigned int seen);

/* One all-reduce of floats as one rank sees it. All ranks must start theirs in the same order with the same count and
 * op.
 */
struct muster_simring_work {
	uint64_t number; /* 1, 2, ... */
	int step;        /* 0 at first */
	CUdeviceptr send, receive;
	size_t count;
	ncclRedOp_t op;
};
/* Do what can be done without waiting. 1: finished; 0: not yet; -1: the ranks' arguments differ. */
int muster_simring_advance(struct muster_simring *ring, struct muster_simring_work *work);

/* -- the ring: from one rank to another -- */

/* One message. Of the messages from one rank to another, the first that is sent is the first that is received. */
struct muster_simring_part {
	int peer;
	bool sends;
	CUdeviceptr at;
	size_t bytes;
	uint64_t number; /* 1, 2, ... from this rank to the other, and back */
	int step;        /* 0 at first */
};

/* Messages that go on side by side, whatever becomes of the others. When it reduces, what comes is summed up by floats
 * (or compared, as op says), and the sum is laid at `receive`. */
struct muster_simring_exchange {
	struct muster_simring_part *parts;
	size_t count;
	bool reduces;
	ncclRedOp_t op;
	CUdeviceptr receive;
	size_t bytes;
	float *sum; /* NULL at first; the owner frees it */
	int summed; /* ranks so far */
};

/* Number the parts; once, in the order of the calls. */
void muster_simring_exchange_start(struct muster_simring *ring, struct muster_simring_exchange *exchange);
/* As muster_simring_advance. */
int muster_simring_exchange_advance(struct muster_simring *ring, struct muster_simring_exchange *exchange);
/* Tell the other rank that this one connects to it; whether it has said so as well. */
bool muster_simring_connect(struct muster_simring *ring, int peer);

/* -- the ring: its ways -- */

enum muster_simring_path { MUSTER_SIMRING_NVLINK, MUSTER_SIMRING_HOST, MUSTER_SIMRING_NETWORK };

/* What a rank uses. */
struct muster_simring_way {
	const struct muster_sim_gpu *gpu;
	const struct muster_sim_port *adapter; /* to the network; NULL: sockets */
	int adapter_index;                     /* among the adapters that NCCL uses */
	double adapter_gbps; /* each way: its part, where ranks of the node share the adapter, or sockets */
	double adapter_cap;  /* what the scenario slows this part down to; infinity: it does not */
};

int muster_simring_ranks(const struct muster_simring *ring);
/* The ring must be complete. */
const struct muster_simring_way *muster_simring_way(const struct muster_simring *ring, int rank);
/* Between two ranks: NVLink within a node or a rack, the host's memory in a node without it, else the network. */
enum muster_simring_path muster_simring_path(const struct muster_simring *ring, int a, int b);
/* Whether NCCL uses the node's port, where RDMA may be used. */
bool muster_simring_uses(const struct muster_sim_node *node, const struct muster_sim_port *port);
/* In GB/s each way: what the path allows, and what the scenario slows it down to, or infinity. */
double muster_simring_limit(const struct muster_simring *ring, int a, int b);
double muster_simring_cap(const struct muster_simring *ring, int a, int b);
/* The latter of one GPU's links. */
double muster_simring_edge_cap(const struct muster_sim_gpu *gpu);
/* How many channels its ranks have; the ring must be complete. */
const struct muster_simchannels *muster_simring_channels(const struct muster_simring *ring);
/* Whether the network between the two ranks' nodes is broken in this way. */
bool muster_simring_is_barred(const struct muster_simring *ring, int a, int b, const char *mode);

/* -- time -- */

/* What the ranks call for. The time of messages is that of an all-to-all. */
enum muster_simring_traffic {
	MUSTER_SIMRING_MESSAGES,
	MUSTER_SIMRING_ALLGATHER,
	MUSTER_SIMRING_REDUCESCATTER,
	MUSTER_SIMRING_BROADCAST,
	MUSTER_SIMRING_ALLREDUCE
};

/* All in seconds: from the cluster's bandwidths, the links and adapters that the ranks use, and the slowest rank.
 * bytes: of all-gather what a rank receives with its own part, of all-to-all and reduce-scatter what it sends. */
double muster_simring_seconds(const struct muster_simring *ring, const struct muster_simring_work *work);
double muster_simring_pair_seconds(const struct muster_simring *ring, int a, int b, size_t bytes);
double muster_simring_traffic_seconds(
	const struct muster_simring *ring, enum muster_simring_traffic traffic, size_t bytes);
double muster_simring_broadcast_seconds(const struct muster_simring *ring, int root, size_t bytes);
/* Until a communicator of so many ranks is there, made or split from another one: 0.39 to 0.45 s of two H200, and 32 ms
 * (docs/dev/measurements.md); 0.66 s of 8 ranks in NVIDIA/nccl-tests issue 273, 2.5 minutes of some thousand in
 * NVIDIA/nccl issue 1156. */
double muster_simring_start_seconds(int ranks, bool split);
/* Of the first collective, or of the first message to a rank: measured on two H200 (docs/dev/measurements.md). */
double muster_simring_connect_seconds(const struct muster_simring *ring, bool message);
/* The process has waited so long, on the virtual clock. */
void muster_simnccl_pass(double seconds);

/* -- NCCL_DEBUG -- */

void muster_simlog_start(int rank); /* this process's first words; rank 0 gives the version */
void muster_simlog_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Also keeps the text for ncclGetLastError. */
void muster_simlog_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *muster_simlog_last_warning(void);
/* The number that this environment variable has; 0: none. */
int muster_simlog_setting(const char *variable);
/* How many channels the communicator has. */
void muster_simlog_channel_count(const struct muster_simring *ring, int rank, int ranks);
/* The lines of the ring's connections on this rank. */
void muster_simlog_channels(const struct muster_simring *ring, int rank, int ranks);
/* The line of an all-reduce's algorithm, which only rank 0 writes. */
void muster_simlog_algorithm(const struct muster_simring *ring, int rank, int ranks, size_t bytes);
/* The lines of the connections from this rank to the other, and back. */
void muster_simlog_pair(const struct muster_simring *ring, int rank, int peer);

/* -- communicators -- */

struct muster_simnccl_work;

struct ncclComm {
	struct muster_simring *ring;
	struct muster_standin_device device;
	int rank, ranks;
	uint64_t token;       /* of the unique id, or of the parent and the colour; the ring's name */
	uint64_t all_reduces; /* so far */
	ncclResult_t state;   /* as ncclCommGetAsyncError gives it */
	/* ready: all ranks have come, and the start has succeeded; connected: the connections of collectives stand */
	bool ready, connected, aborted;
	bool *peers;                          /* the ranks that it has connected to */
	struct muster_simnccl_work *deferred; /* wait for connections, in their order */
	const char *made_by;                  /* the call: "ncclCommSplit" */
	int split_color, split_key;           /* of the split that goes on */
	struct ncclComm **child_to;           /* of a split that goes on; else NULL */
	size_t references;                    /* the caller's, and one for each work */
};

/* All with the lock of libcuda's stand-in held. */
void muster_simnccl_lock(void);
ncclResult_t muster_simnccl_unlock(ncclResult_t result); /* returns result */
void muster_simnccl_advance_init(struct ncclComm *comm);
void muster_simnccl_release(struct ncclComm *comm);
/* For collectives. */
void muster_simnccl_connect(struct ncclComm *comm);
/* The errors of ports that the scenario has come with the first traffic, not with the start of a communicator. */
void muster_simnccl_raise_counters(void);
/* Launch what waits for connections and has them. */
void muster_simnccl_launch_deferred(struct ncclComm *comm);
void muster_simnccl_drop_deferred(struct ncclComm *comm);

#endif
