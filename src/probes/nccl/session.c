/* session.c - the communicator that stands, from one ring and one probe to the next */
#include "probes/nccl/session.h"

#include "util/text.h"

static struct muster_nccl_session standing; /* comm NULL: none does */

/* Make a second ring in the same process possible. */
static void leave_ring_before(struct muster_probe_ctx *ctx, const struct muster_nccl *nccl)
{
	if (!standing.comm)
		return;
	muster_step(ctx, "ncclCommAbort of the previous communicator");
	nccl->ncclCommAbort(standing.comm);
	standing.comm = NULL;
	muster_nccl_log_end_ring();
}

int muster_nccl_session_begin(struct muster_probe_ctx *ctx, const struct muster_ring *ring,
	struct muster_nccl_session *ret, struct muster_error *err)
{
	struct muster_nccl_session s = { .ctx = ctx, .ring = *ring, .started_ms = muster_now_ms() };
	s.deadline_ms = s.started_ms + ring->timeout_ms;
	s.resources = muster_nccl_resources_make(ctx, err);
	if (!s.resources || muster_nccl_buffer_make(ctx, false, err) < 0)
		return -1;
	leave_ring_before(ctx, s.resources->nccl);
	*ret = s;
	return 0;
}

/* The communicator is left to the end of the process: ncclCommFinalize alone took 0.39 s with four H200
 * (docs/dev/measurements.md), and nothing of it outlives us. */
void muster_nccl_session_keep(const struct muster_nccl_session *s)
{
	standing = *s;
	if (muster_probe_env(s->ctx)->profile != MUSTER_QUICK)
		return;
	standing.resources = NULL;
	muster_nccl_resources_release();
}

int muster_nccl_session_standing(
	struct muster_probe_ctx *ctx, int timeout_ms, struct muster_nccl_session *ret, struct muster_error *err)
{
	if (!standing.comm || !standing.resources)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "no communicator of a ring stands in this process");
	*ret = standing;
	ret->ctx = ctx;
	ret->ring.timeout_ms = timeout_ms;
	ret->started_ms = muster_now_ms();
	ret->deadline_ms = ret->started_ms + timeout_ms;
	ret->bytes = 0;
	return 0;
}

int muster_nccl_session_fail(struct muster_nccl_session *s, const struct muster_error *err)
{
	if (err->code != MUSTER_ECALLEDOFF)
		muster_nccl_log_tell_tail(s->ctx);
	/* An abort may hang, and so may freeing what a kernel uses that never ends: first say what happened. */
	muster_failing(s->ctx, err);
	standing.comm = NULL;
	if (s->comm) {
		muster_step(s->ctx, "ncclCommAbort after: %s", err->text);
		s->resources->nccl->ncclCommAbort(s->comm);
	}
	muster_step(s->ctx, "freeing the buffers of NCCL's traffic");
	muster_nccl_resources_release();
	muster_nccl_log_end_ring();
	return -1;
}
