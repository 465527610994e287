/* send.c - chunks of all shards: from the host, over the network, to the host */
#include "probes/broadcast/send.h"

struct sender {
	const struct muster_nccl_session *s;
	const struct muster_broadcast_plan *plan;
	const struct muster_cuda *cuda;
	unsigned char *host;
	CUstream copies;
	CUevent copied, here; /* the chunk is on the reader's GPU; it has arrived on this one */
};

static int start(struct sender *sender, struct muster_error *err)
{
	const struct muster_cuda *cuda = sender->cuda;
	if (MUSTER_CUDA(cuda, err, cuStreamCreate, &sender->copies, CU_STREAM_NON_BLOCKING) < 0 ||
		MUSTER_CUDA(cuda, err, cuEventCreate, &sender->copied, CU_EVENT_DEFAULT) < 0)
		return -1;
	return MUSTER_CUDA(cuda, err, cuEventCreate, &sender->here, CU_EVENT_DEFAULT);
}

static void stop(struct sender *sender)
{
	if (sender->copied)
		sender->cuda->cuEventDestroy_v2(sender->copied);
	if (sender->here)
		sender->cuda->cuEventDestroy_v2(sender->here);
	if (sender->copies)
		sender->cuda->cuStreamDestroy_v2(sender->copies);
}

/* The own shard lies at the beginning of the data; chunks of the others, which this rank only passes on, behind. */
static CUdeviceptr place_of(const struct sender *sender, int shard, uint64_t offset)
{
	const struct muster_broadcast_plan *plan = sender->plan;
	CUdeviceptr data = sender->s->resources->data;
	return shard == plan->shard ? data + offset : data + plan->bytes + (uint64_t)shard * MUSTER_BROADCAST_CHUNK;
}

/* The second stream goes on when what the first one has so far is done. */
static int join(const struct sender *sender, CUstream first, CUevent event, CUstream second, struct muster_error *err)
{
	return MUSTER_CUDA(sender->cuda, err, cuEventRecord, event, first) < 0
		       ? -1
		       : MUSTER_CUDA(sender->cuda, err, cuStreamWaitEvent, second, event, 0);
}

static int broadcast(const struct sender *sender, uint64_t offset, uint64_t bytes, struct muster_error *err)
{
	const struct muster_nccl_session *s = sender->s;
	if (muster_nccl_group_start(s, err) < 0)
		return -1;
	for (int shard = 0; shard < sender->plan->shards; shard++)
		if (muster_nccl_broadcast(
			    s, place_of(sender, shard, offset), bytes, sender->plan->readers[shard], err) < 0)
			return -1;
	return muster_nccl_group_end(s, err);
}

static int send_chunk(const struct sender *sender, uint64_t offset, uint64_t bytes, struct muster_error *err)
{
	const struct muster_broadcast_plan *plan = sender->plan;
	const struct muster_cuda *cuda = sender->cuda;
	CUstream network = sender->s->resources->stream;
	CUdeviceptr own = place_of(sender, plan->shard, offset);
	if (plan->reads &&
		(MUSTER_CUDA(cuda, err, cuMemcpyHtoDAsync_v2, own, sender->host + offset, bytes, sender->copies) < 0 ||
			join(sender, sender->copies, sender->copied, network, err) < 0))
		return -1;
	if (broadcast(sender, offset, bytes, err) < 0)
		return -1;
	if (plan->reads || plan->shard < 0)
		return 0;
	if (join(sender, network, sender->here, sender->copies, err) < 0)
		return -1;
	return MUSTER_CUDA(cuda, err, cuMemcpyDtoHAsync_v2, sender->host + offset, own, bytes, sender->copies);
}

static int send_all(const struct sender *sender, double *ret_us, struct muster_error *err)
{
	const struct muster_nccl_session *s = sender->s;
	const struct muster_nccl_resources *resources = s->resources;
	const struct muster_broadcast_plan *plan = sender->plan;
	float nothing = 0;
	if (broadcast(sender, 0, plan->chunk, err) < 0 || /* the first one connects the ranks */
		muster_nccl_agree(s, &nothing, 1, err) < 0 || muster_nccl_record(s, resources->start, err) < 0 ||
		MUSTER_CUDA(sender->cuda, err, cuStreamWaitEvent, sender->copies, resources->start, 0) < 0)
		return -1;
	for (uint64_t offset = 0, bytes; offset < plan->bytes; offset += bytes) {
		bytes = plan->bytes - offset < plan->chunk ? plan->bytes - offset : plan->chunk;
		if (send_chunk(sender, offset, bytes, err) < 0)
			return -1;
	}
	if (join(sender, sender->copies, sender->copied, resources->stream, err) < 0 ||
		muster_nccl_finish(s, "the broadcast", err) < 0)
		return -1;
	return muster_nccl_elapsed_us(s, ret_us, err);
}

int muster_broadcast_send(const struct muster_nccl_session *s, const struct muster_broadcast_plan *plan, void *host,
	double *ret_us, struct muster_error *err)
{
	struct sender sender = { .s = s, .plan = plan, .cuda = s->resources->cuda, .host = host };
	int failed = start(&sender, err) < 0 ? -1 : send_all(&sender, ret_us, err);
	if (failed == 0) /* else what never ends still uses them */
		stop(&sender);
	return failed;
}
