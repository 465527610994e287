/* SPDX-License-Identifier: Apache-2.0 */
/* send.h - send a packed message, refuse a malformed one */
#ifndef MUSTER_COORD_SEND_H
#define MUSTER_COORD_SEND_H

#include "coord/message.h"
#include "util/log.h"
#include "transport/transport.h"

/* Send the packed message, and free it. A message that cannot be sent is logged. */
static inline void muster_send_packed(struct muster_transport *t, int to, enum muster_tag tag, struct muster_packer *p)
{
	struct muster_error err;
	if (muster_transport_send(t, to, (int)tag, p->bytes ? p->bytes : "", p->length, &err) < 0)
		muster_log(MUSTER_LOG_ERROR, NULL, "%s", err.text);
	muster_packer_done(p);
}

/* Send what belongs to this rank at a barrier, as the only part. */
static inline void muster_send_part(struct muster_transport *t, int to, enum muster_tag tag,
	struct muster_barrier_id barrier, int rank, const char *bytes, size_t length)
{
	struct muster_packer p = { 0 };
	muster_pack_parts(&p, barrier);
	muster_pack_part(&p, rank, bytes, length);
	muster_send_packed(t, to, tag, &p);
}

/* -1 with err. */
static inline int muster_message_malformed(const struct muster_message *message, struct muster_error *err)
{
	return muster_fail(err, MUSTER_EPROTOCOL, "a malformed message (tag %d, %zu bytes) from rank %d", message->tag,
		message->length, message->from);
}

#endif
