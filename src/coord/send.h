/* send.h - send a packed message; a message that cannot be sent is logged */
#ifndef MUSTER_COORD_SEND_H
#define MUSTER_COORD_SEND_H

#include "coord/message.h"
#include "util/log.h"
#include "transport/transport.h"

/* Send what was packed, and free it. */
static inline void muster_send_packed(struct muster_transport *t, int to, enum muster_tag tag, struct muster_packer *p)
{
	struct muster_error err;
	if (muster_transport_send(t, to, (int)tag, p->bytes ? p->bytes : "", p->length, &err) < 0)
		muster_log(MUSTER_LOG_ERROR, NULL, "%s", err.text);
	muster_packer_done(p);
}

#endif
