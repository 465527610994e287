/* nccl.h - the parts of libnccl.so.2's stand-in and what they know of each other
 *
 * nccl.c has the communicators, nccl_ring.c moves the data between the processes, nccl_log.c
 * writes what NCCL_DEBUG asks for.
 */
#ifndef MUSTER_SIM_STANDINS_NCCL_H
#define MUSTER_SIM_STANDINS_NCCL_H

#include "vendor/nccl_abi.h"
#include "sim/cluster.h"
#include "sim/standins/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X(symbol, parameters) MUSTER_STANDIN_EXPORT ncclResult_t symbol parameters;
MUSTER_NCCL_FUNCTIONS(X)
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
	double slow;
	bool no_ib, no_p2p; /* NCCL_IB_DISABLE, NCCL_P2P_DISABLE of its process */
};

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
/* Whether the network lies between its members so that it is broken in this way: "hang", "error", "slow". */
bool muster_simring_is_broken(const struct muster_simring *ring, const char *mode);
void muster_simring_leave(struct muster_simring *ring);

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
/* What it takes: from the cluster's bandwidths and the slowest rank. */
double muster_simring_seconds(const struct muster_simring *ring, size_t bytes);

/* -- NCCL_DEBUG -- */

void muster_simlog_start(int rank); /* this process's first words; rank 0 gives the version */
void muster_simlog_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Also keeps the text for ncclGetLastError. */
void muster_simlog_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *muster_simlog_last_warning(void);
/* Whether this environment variable is a number that is not 0. */
bool muster_simlog_is_set(const char *variable);
/* The lines of the ring's connections on this rank. */
void muster_simlog_channels(const struct muster_simring *ring, int rank, int ranks);

#endif
