/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h - messages between the supervisors of a job
 *
 * Point to point only, and nothing blocks: no message comes from a dead rank. A message is a tag, a sender and bytes.
 * There are three transports: MPI (a module of its own, module.h), the sockets of `muster node` (transport_socket.h),
 * and the tests' own, inside a single process with a virtual clock (tests/coord/transport_loop.h).
 */
#ifndef MUSTER_TRANSPORT_TRANSPORT_H
#define MUSTER_TRANSPORT_TRANSPORT_H

#include "muster/error.h"
#include "util/clock.h"

#include <stdbool.h>
#include <stddef.h>

/* A tag from the transport itself: the sender has died. MPI never reports this. */
#define MUSTER_TAG_PEER_DIED 0

#define MUSTER_MESSAGE_BYTES_MAX ((size_t)256 << 20)

struct muster_message {
	int tag, from;
	char *bytes; /* malloc'd, NUL-terminated; muster_message_done frees it */
	size_t length;
	struct muster_message *next; /* for the transport */
};

struct muster_transport;

struct muster_transport_ops {
	const char *name; /* "mpi", "socket", "loop" */
	/* Begin to send; owns bytes (malloc'd, with a NUL after length) from now on, also when it fails. Never to the
	 * own rank. */
	int (*send)(struct muster_transport *t, int to, int tag, char *bytes, size_t length, struct muster_error *err);
	/* The next message of another rank: true and *ret. Also makes progress with sending. */
	bool (*receive)(struct muster_transport *t, struct muster_message *ret);
	/* Sleep until a message may have come, fd (-1: none) can be read, or until_ms by the transport's clock. May
	 * return early. */
	void (*wait)(struct muster_transport *t, int fd, double until_ms);
	/* Wait at most grace_ms for pending messages and started processes, and close. */
	void (*close)(struct muster_transport *t, int grace_ms);
};

struct muster_transport {
	const struct muster_transport_ops *ops;
	const struct muster_clock *clock;
	int rank, size;
	size_t bytes_max;                       /* of one message */
	struct muster_message *own, **own_last; /* to the own rank */
};

/* For transports: initialise the common part. */
void muster_transport_init(struct muster_transport *t, const struct muster_transport_ops *ops,
	const struct muster_clock *clock, int rank, int size);

/* Send a copy of the bytes; returns at once. A rank may send to itself. -1 when the message cannot be sent (too large,
 * refused, no such rank), with both ranks in err. A message to a dead rank is not an error. */
int muster_transport_send(
	struct muster_transport *t, int to, int tag, const char *bytes, size_t length, struct muster_error *err);

/* The next message, if one has come. Messages of one rank keep their order. The caller frees it. */
bool muster_transport_receive(struct muster_transport *t, struct muster_message *ret);
void muster_transport_wait(struct muster_transport *t, int fd, double until_ms);
/* Frees everything except t itself. */
void muster_transport_close(struct muster_transport *t, int grace_ms);

void muster_message_done(struct muster_message *message);

#endif
