/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_group.c - libnccl.so.2 for the simulation: collectives, sends and receives, alone and in groups
 *
 * What a group calls for is an operation in a stream of the simulated device and advances at each query of that stream
 * or of the communicator's state. Before a connection stands it is not in the stream yet: an event that is recorded
 * before ncclCommGetAsyncError says ncclSuccess comes before it.
 *
 * The way of a call:
 *
 *   ncclAllReduce(), ncclSend()   check the arguments, and add a work to the thread's group; the sends and receives of
 *                                 one group, communicator and stream are parts of one work
 *   end_call(), ncclGroupEnd()    a call outside of a group is a group of one; at the outer end each work is started
 *   start()                       number the work; if its ranks are connected, launch it, else it is deferred
 *   ..._launch_deferred()         connect, and then launch, in the order of the calls
 *   launch()                      the work becomes an operation of the stream
 *   work_poll()                   at each query: 0 until all data is there, then 1 with its time (nccl_time.c)
 *
 * Errors while a work is in the stream become the state of the communicator, and not an error of the stream, which
 * goes on.
 */
#include "sim/standins/nccl.h"

#include "muster/arena.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From the call until the stream is done with it. */
struct muster_simnccl_work {
	struct muster_simnccl_work *next;
	struct ncclComm *comm;
	cudaStream_t stream;
	enum muster_simring_traffic kind;
	bool beside;                             /* it was called for while another stream had work */
	struct muster_simring_work ring;         /* of an all-reduce */
	struct muster_simring_exchange exchange; /* all others */
	int root;                                /* of a broadcast */
	size_t bytes;                            /* of a broadcast */
};

/* What the calling thread has asked for since its first ncclGroupStart. */
static _Thread_local struct {
	int depth;
	ncclResult_t result; /* of the first call that failed */
	struct muster_simnccl_work *first;
} group;

static void append(struct muster_simnccl_work **list, struct muster_simnccl_work *work)
{
	while (*list)
		list = &(*list)->next;
	work->next = NULL;
	*list = work;
}

/* The work, and its reference to the communicator. */
static void work_free(struct muster_simnccl_work *work)
{
	muster_simnccl_release(work->comm);
	free(work->exchange.parts);
	free(work->exchange.sum);
	free(work);
}

static void drop_all(struct muster_simnccl_work **list)
{
	while (*list) {
		struct muster_simnccl_work *gone = *list;
		*list = gone->next;
		work_free(gone);
	}
}

void muster_simnccl_drop_deferred(struct ncclComm *comm)
{
	drop_all(&comm->deferred);
}

/* Whether the messages are those of an all-to-all: to more than one rank, or to this rank as well. */
static bool is_alltoall(const struct muster_simnccl_work *work)
{
	const struct muster_simring_exchange *exchange = &work->exchange;
	for (size_t i = 0; i < exchange->count && work->kind == MUSTER_SIMRING_MESSAGES; i++)
		if (exchange->parts[i].peer == work->comm->rank || exchange->parts[i].peer != exchange->parts[0].peer)
			return true;
	return false;
}

/* The scenario's hang and error come when the ring has worked for a moment. */
#define WORKS_BEFORE 2 /* all-reduces */

/* Whether the scenario has this rank never finish it: the fault nccl-hang names "reduce", "step" (an all-reduce beside
 * other work), "alltoall" or "exchange" (messages with one other rank). "init" is in nccl.c.
 */
static bool hangs(const struct muster_simnccl_work *work)
{
	const char *hang = muster_sim_this_rank()->nccl_hang;
	if (work->kind == MUSTER_SIMRING_ALLREDUCE)
		return strcmp(hang, work->beside ? "step" : "reduce") == 0 && work->ring.number > WORKS_BEFORE;
	return work->kind == MUSTER_SIMRING_MESSAGES && strcmp(hang, is_alltoall(work) ? "alltoall" : "exchange") == 0;
}

/* -- in the stream -- */

static int poll_all_reduce(struct muster_simnccl_work *work, double *seconds)
{
	struct ncclComm *comm = work->comm;
	int state = muster_simring_advance(comm->ring, &work->ring);
	if (state > 0)
		*seconds = muster_simring_seconds(comm->ring, &work->ring);
	if (state < 0)
		muster_simlog_warn("The ranks' counts or operations differ in all-reduce %" PRIu64, work->ring.number);
	return state;
}

/* A broadcast, an all-gather and a reduce-scatter have their own times; messages have the time of an all-to-all, or of
 * the slowest of the messages with one other rank. */
static double exchange_seconds(const struct muster_simnccl_work *work)
{
	const struct muster_simring *ring = work->comm->ring;
	const struct muster_simring_exchange *exchange = &work->exchange;
	size_t sent = 0;
	double seconds = 0;
	for (size_t i = 0; i < exchange->count; i++)
		sent += exchange->parts[i].sends ? exchange->parts[i].bytes : 0;
	if (work->kind == MUSTER_SIMRING_BROADCAST)
		return muster_simring_broadcast_seconds(ring, work->root, work->bytes);
	if (work->kind != MUSTER_SIMRING_MESSAGES || is_alltoall(work))
		return muster_simring_traffic_seconds(ring, work->kind, sent);
	for (size_t i = 0; i < exchange->count; i++)
		seconds = fmax(seconds, muster_simring_pair_seconds(ring, work->comm->rank, exchange->parts[i].peer,
						exchange->parts[i].bytes));
	return seconds;
}

static int poll_exchange(struct muster_simnccl_work *work, double *seconds)
{
	int state = muster_simring_exchange_advance(work->comm->ring, &work->exchange);
	if (state > 0)
		*seconds = exchange_seconds(work);
	if (state < 0)
		muster_simlog_warn("The counts of two ranks differ");
	return state;
}

/* The struct muster_standin_operation's poll. In this order: the fault nccl-async-error, once; an aborted or broken
 * communicator ends its work at once; the fault nccl-hang; the data. */
static int work_poll(void *arg, double *seconds)
{
	struct muster_simnccl_work *work = arg;
	struct ncclComm *comm = work->comm;
	if (work->ring.number > WORKS_BEFORE && muster_sim_this_rank()->nccl_async_error &&
		comm->state == ncclSuccess) {
		muster_simlog_warn("NET/IB : Got async event : local catastrophic error");
		comm->state = ncclSystemError;
	}
	if (comm->aborted || (comm->state != ncclSuccess && comm->state != ncclInProgress))
		return 1; /* it ends, with whatever it has done */
	if (hangs(work))
		return 0;
	int state =
		work->kind == MUSTER_SIMRING_ALLREDUCE ? poll_all_reduce(work, seconds) : poll_exchange(work, seconds);
	if (state < 0)
		comm->state = ncclInvalidUsage;
	return state != 0;
}

static void work_done(void *arg)
{
	work_free(arg);
}

/* Put the work into its stream; frees the work when there is no such stream. */
static ncclResult_t launch(struct muster_simnccl_work *work)
{
	struct muster_standin_operation operation = { .poll = work_poll,
		.done = work_done,
		.noise =
			work->kind == MUSTER_SIMRING_ALLREDUCE ? MUSTER_SIM_NOISE_ALLREDUCE : MUSTER_SIM_NOISE_EXCHANGE,
		.arg = work };
	if (muster_standin_cuda()->muster_standin_cuda_enqueue(work->stream, &operation))
		return ncclSuccess;
	muster_simlog_warn("Cuda failure 'invalid resource handle'");
	work_free(work);
	return ncclUnhandledCudaError;
}

/* -- connections -- */

/* Connections of the ring stand as soon as they are wanted; connect_peers() is about those between two ranks, which
 * stand when both have called for them. Each takes time on the virtual clock, one after the other. Returns whether
 * all connections of the work stand. A rank that the scenario has hang in an all-to-all does not connect for it.
 */
static bool connect_peers(struct muster_simnccl_work *work)
{
	struct ncclComm *comm = work->comm;
	bool all = true;
	for (size_t i = 0; i < work->exchange.count; i++) {
		int peer = work->exchange.parts[i].peer;
		if (peer == comm->rank || comm->peers[peer])
			continue;
		comm->peers[peer] = !(is_alltoall(work) && hangs(work)) && muster_simring_connect(comm->ring, peer);
		all = all && comm->peers[peer];
		if (!comm->peers[peer])
			continue;
		muster_simnccl_pass(muster_simring_connect_seconds(comm->ring, true));
		muster_simlog_pair(comm->ring, comm->rank, peer);
	}
	return all;
}

static bool is_connected(const struct muster_simnccl_work *work)
{
	const struct ncclComm *comm = work->comm;
	if (work->kind != MUSTER_SIMRING_MESSAGES)
		return comm->connected;
	for (size_t i = 0; i < work->exchange.count; i++)
		if (work->exchange.parts[i].peer != comm->rank && !comm->peers[work->exchange.parts[i].peer])
			return false;
	return true;
}

void muster_simnccl_connect(struct ncclComm *comm)
{
	muster_simnccl_pass(muster_simring_connect_seconds(comm->ring, false));
	muster_simlog_channels(comm->ring, comm->rank, comm->ranks);
	comm->connected = true;
}

static bool connect_work(struct muster_simnccl_work *work)
{
	struct ncclComm *comm = work->comm;
	if (work->kind == MUSTER_SIMRING_MESSAGES)
		return connect_peers(work);
	if (!comm->connected)
		muster_simnccl_connect(comm);
	return true;
}

void muster_simnccl_launch_deferred(struct ncclComm *comm)
{
	static bool raised;
	if (!comm->deferred)
		return;
	if (!raised)
		muster_simnccl_raise_counters();
	raised = true;
	while (comm->deferred && connect_work(comm->deferred)) {
		struct muster_simnccl_work *work = comm->deferred;
		comm->deferred = work->next;
		ncclResult_t result = launch(work);
		if (result == ncclSuccess)
			continue;
		comm->state = result;
		drop_all(&comm->deferred);
		return;
	}
	if (!comm->deferred && comm->state == ncclInProgress)
		comm->state = ncclSuccess;
}

/* -- groups -- */

/* A work goes behind those that are deferred already, even if its own ranks are connected: the order in the stream is
 * that of the calls. */
static ncclResult_t start(struct muster_simnccl_work *work)
{
	struct ncclComm *comm = work->comm;
	if (work->kind == MUSTER_SIMRING_ALLREDUCE)
		work->ring.number = ++comm->all_reduces;
	else
		muster_simring_exchange_start(comm->ring, &work->exchange);
	if (!comm->deferred && is_connected(work))
		return launch(work);
	append(&comm->deferred, work);
	return comm->state = ncclInProgress;
}

/* Start the works of the group. After an error the others are dropped. ncclInProgress: some wait for connections. */
static ncclResult_t end_group(void)
{
	ncclResult_t result = group.result;
	while (group.first && (result == ncclSuccess || result == ncclInProgress)) {
		struct muster_simnccl_work *work = group.first;
		group.first = work->next;
		ncclResult_t started = start(work);
		result = started == ncclSuccess ? result : started;
	}
	drop_all(&group.first);
	group.result = ncclSuccess;
	return result;
}

ncclResult_t ncclGroupStart(void)
{
	group.depth++;
	return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
	muster_simnccl_lock();
	return muster_simnccl_unlock(--group.depth > 0 ? ncclSuccess : end_group());
}

/* The answer of a call, which outside of a group is one. */
static ncclResult_t end_call(ncclResult_t result)
{
	if (result != ncclSuccess && group.result == ncclSuccess)
		group.result = result;
	return muster_simnccl_unlock(group.depth > 0 ? result : end_group());
}

/* -- calls -- */

static size_t type_bytes(ncclDataType_t type)
{
	static const unsigned char bytes[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2 }; /* ncclInt8 to ncclBfloat16 */
	if ((size_t)type >= sizeof bytes)
		muster_standin_end("NCCL has no type %d", (int)type);
	return bytes[type];
}

/* What each call begins with; end_call must follow. */
static ncclResult_t enter(struct ncclComm *comm)
{
	muster_simnccl_lock();
	muster_simnccl_advance_init(comm);
	if (comm->state == ncclInProgress) {
		muster_simlog_warn("Attempt to use communicator before the previous operation returned ncclSuccess");
		return ncclInvalidArgument;
	}
	return comm->state;
}

static ncclResult_t check_rank(const struct ncclComm *comm, int rank)
{
	if (rank >= 0 && rank < comm->ranks)
		return ncclSuccess;
	muster_simlog_warn("Invalid root %d (root should be in the 0..%d range)", rank, comm->ranks);
	return ncclInvalidArgument;
}

static ncclResult_t check_sums(ncclDataType_t type, ncclRedOp_t op)
{
	if (type == ncclFloat32 && (op == ncclSum || op == ncclMax))
		return ncclSuccess;
	muster_simlog_warn("The simulated NCCL sums and compares float32 only");
	return ncclInvalidArgument;
}

static ncclResult_t check_buffer(const void *buffer, size_t bytes)
{
	if (bytes == 0 || muster_standin_cuda()->muster_standin_cuda_check((CUdeviceptr)(uintptr_t)buffer, bytes))
		return ncclSuccess;
	muster_simlog_warn("A buffer of %zu bytes is not device memory, or too short", bytes);
	return ncclInvalidArgument;
}

static struct muster_simnccl_work *add_work(
	struct ncclComm *comm, cudaStream_t stream, enum muster_simring_traffic kind)
{
	struct muster_simnccl_work *work = muster_calloc(1, sizeof *work);
	work->comm = comm;
	work->stream = stream;
	work->kind = kind;
	work->beside = muster_standin_cuda()->muster_standin_cuda_beside(stream);
	comm->references++;
	append(&group.first, work);
	return work;
}

/* One message more: `bytes` at `at` (device memory) to or from the rank `peer` of the communicator. */
static void add_part(struct muster_simnccl_work *work, int peer, bool sends, const void *at, size_t bytes)
{
	struct muster_simring_exchange *exchange = &work->exchange;
	struct muster_simring_part *parts = muster_calloc(exchange->count + 1, sizeof *parts);
	if (exchange->count > 0)
		memcpy(parts, exchange->parts, exchange->count * sizeof *parts);
	parts[exchange->count++] = (struct muster_simring_part){
		.peer = peer, .sends = sends, .at = (CUdeviceptr)(uintptr_t)at, .bytes = bytes
	};
	free(exchange->parts);
	exchange->parts = parts;
}

/* A call ends here when one of its checks fails. */
#define REQUIRE(checked)                                                                                               \
	do {                                                                                                           \
		ncclResult_t answer = (checked);                                                                       \
		if (answer != ncclSuccess)                                                                             \
			return end_call(answer);                                                                       \
	} while (0)

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
	ncclComm_t comm, cudaStream_t stream)
{
	REQUIRE(enter(comm));
	REQUIRE(check_sums(type, op));
	REQUIRE(check_buffer(send, count * sizeof(float)));
	REQUIRE(check_buffer(receive, count * sizeof(float)));
	if (count > 0) {
		add_work(comm, stream, MUSTER_SIMRING_ALLREDUCE)->ring =
			(struct muster_simring_work){ .send = (CUdeviceptr)(uintptr_t)send,
				.receive = (CUdeviceptr)(uintptr_t)receive,
				.count = count,
				.op = op };
		muster_simlog_algorithm(comm->ring, comm->rank, comm->ranks, count * sizeof(float));
	}
	return end_call(ncclSuccess);
}

/* Each rank sends its part to every rank, and to itself, as messages. */
ncclResult_t ncclAllGather(
	const void *send, void *receive, size_t send_count, ncclDataType_t type, ncclComm_t comm, cudaStream_t stream)
{
	size_t bytes = send_count * type_bytes(type);
	REQUIRE(enter(comm));
	REQUIRE(check_buffer(send, bytes));
	REQUIRE(check_buffer(receive, bytes * (size_t)comm->ranks));
	if (bytes == 0)
		return end_call(ncclSuccess);
	struct muster_simnccl_work *work = add_work(comm, stream, MUSTER_SIMRING_ALLGATHER);
	for (int rank = 0; rank < comm->ranks; rank++) {
		add_part(work, rank, true, send, bytes);
		add_part(work, rank, false, (char *)receive + (size_t)rank * bytes, bytes);
	}
	return end_call(ncclSuccess);
}

ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type, int root,
	ncclComm_t comm, cudaStream_t stream)
{
	size_t bytes = count * type_bytes(type);
	REQUIRE(enter(comm));
	REQUIRE(check_rank(comm, root));
	REQUIRE(check_buffer(receive, bytes));
	if (send != receive)
		muster_standin_end("the simulated NCCL broadcasts in place only");
	if (bytes == 0 || comm->ranks == 1)
		return end_call(ncclSuccess);
	struct muster_simnccl_work *work = add_work(comm, stream, MUSTER_SIMRING_BROADCAST);
	work->root = root;
	work->bytes = bytes;
	for (int rank = 0; rank < comm->ranks && comm->rank == root; rank++)
		if (rank != root)
			add_part(work, rank, true, send, bytes);
	if (comm->rank != root)
		add_part(work, root, false, receive, bytes);
	return end_call(ncclSuccess);
}

/* Rank r gets part r of every rank's data, and sums the parts up. */
ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t receive_count, ncclDataType_t type,
	ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	size_t bytes = receive_count * sizeof(float);
	REQUIRE(enter(comm));
	REQUIRE(check_sums(type, op));
	REQUIRE(check_buffer(send, bytes * (size_t)comm->ranks));
	REQUIRE(check_buffer(receive, bytes));
	if (bytes == 0)
		return end_call(ncclSuccess);
	struct muster_simnccl_work *work = add_work(comm, stream, MUSTER_SIMRING_REDUCESCATTER);
	work->exchange.reduces = true;
	work->exchange.op = op;
	work->exchange.receive = (CUdeviceptr)(uintptr_t)receive;
	work->exchange.bytes = bytes;
	for (int rank = 0; rank < comm->ranks; rank++) {
		add_part(work, rank, true, (const char *)send + (size_t)rank * bytes, bytes);
		add_part(work, rank, false, NULL, bytes);
	}
	return end_call(ncclSuccess);
}

/* Those of a group that go to one communicator and stream go side by side. */
static ncclResult_t message(struct ncclComm *comm, int peer, bool sends, const void *at, size_t count,
	ncclDataType_t type, cudaStream_t stream)
{
	size_t bytes = count * type_bytes(type);
	REQUIRE(enter(comm));
	REQUIRE(check_rank(comm, peer));
	REQUIRE(check_buffer(at, bytes));
	if (bytes == 0)
		return end_call(ncclSuccess);
	struct muster_simnccl_work *work = group.first;
	while (work && (work->kind != MUSTER_SIMRING_MESSAGES || work->comm != comm || work->stream != stream))
		work = work->next;
	add_part(work ? work : add_work(comm, stream, MUSTER_SIMRING_MESSAGES), peer, sends, at, bytes);
	return end_call(ncclSuccess);
}

ncclResult_t ncclSend(
	const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
	return message(comm, peer, true, send, count, type, stream);
}

ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
	return message(comm, peer, false, receive, count, type, stream);
}
