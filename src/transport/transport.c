/* SPDX-License-Identifier: Apache-2.0 */
/* transport.c - common to all transports: messages to the own rank, and the limits of a message */
#include "transport/transport.h"

#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

void muster_message_done(struct muster_message *message)
{
	free(message->bytes);
	*message = (struct muster_message){ 0 };
}

void muster_transport_init(struct muster_transport *t, const struct muster_transport_ops *ops,
	const struct muster_clock *clock, int rank, int size)
{
	*t = (struct muster_transport){
		.ops = ops, .clock = clock, .rank = rank, .size = size, .bytes_max = MUSTER_MESSAGE_BYTES_MAX
	};
	t->own_last = &t->own;
}

static void send_to_oneself(struct muster_transport *t, int tag, char *bytes, size_t length)
{
	struct muster_message *message = muster_calloc(1, sizeof *message);
	*message = (struct muster_message){ .tag = tag, .from = t->rank, .bytes = bytes, .length = length };
	*t->own_last = message;
	t->own_last = &message->next;
}

/* A message to the own rank does not pass through the transport: it is received before those of others. So the parts of
 * one process (supervisor.h) exchange messages as two processes do. */
int muster_transport_send(
	struct muster_transport *t, int to, int tag, const char *bytes, size_t length, struct muster_error *err)
{
	if (to < 0 || to >= t->size)
		return muster_fail(err, MUSTER_EPROTOCOL, "rank %d cannot send to rank %d: the job has %d ranks",
			t->rank, to, t->size);
	if (length > t->bytes_max)
		return muster_fail(err, MUSTER_EPROTOCOL,
			"rank %d cannot send to rank %d: a message of %zu bytes, at most %zu are allowed", t->rank, to,
			length, t->bytes_max);
	char *copy = muster_realloc(NULL, length + 1, 1);
	if (length > 0)
		memcpy(copy, bytes, length);
	copy[length] = '\0';
	if (to == t->rank) {
		send_to_oneself(t, tag, copy, length);
		return 0;
	}
	if (t->ops->send(t, to, tag, copy, length, err) < 0)
		return muster_wrap(err, "rank %d cannot send to rank %d", t->rank, to);
	return 0;
}

bool muster_transport_receive(struct muster_transport *t, struct muster_message *ret)
{
	struct muster_message *own = t->own;
	if (!own)
		return t->ops->receive(t, ret);
	t->own = own->next;
	if (!t->own)
		t->own_last = &t->own;
	*ret = *own;
	ret->next = NULL;
	free(own);
	return true;
}

void muster_transport_wait(struct muster_transport *t, int fd, double until_ms)
{
	if (!t->own)
		t->ops->wait(t, fd, until_ms);
}

void muster_transport_close(struct muster_transport *t, int grace_ms)
{
	struct muster_message message;
	while (t->own && muster_transport_receive(t, &message))
		muster_message_done(&message);
	t->ops->close(t, grace_ms);
}
