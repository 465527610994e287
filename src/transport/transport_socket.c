/* SPDX-License-Identifier: Apache-2.0 */
/* transport_socket.c - the ranks of one node without a launcher
 *
 * A star: rank 0 has a peer for each other rank, and each other rank has one peer, rank 0. Bytes on a socket:
 *
 *   | tag, 4 bytes | length, 4 bytes | length bytes | tag, …
 *
 * To send: the message becomes a frame at the end of the peer's list, and the list is written as far as the kernel
 * takes it. To receive: bytes are read to the end of the peer's inbox, and whole messages are taken from its beginning.
 * A peer whose socket has ended has fd -1; its inbox is still read to the end, and then comes MUSTER_TAG_PEER_DIED,
 * once.
 */
#include "transport/transport_socket.h"

#include "muster/arena.h"
#include "util/child.h"
#include "util/env.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 16, END_POLL_MS = 2, IDLE_MS = 20, KILLED_MS = 10000 };

struct header { /* of a message on a socket; both ends are this program on this machine */
	uint32_t tag, length;
};

struct frame { /* not yet sent, or not wholly */
	char *bytes;
	size_t length, sent;
	struct frame *next;
};

struct peer {
	int rank, fd; /* -1: it has gone */
	bool death_reported;
	pid_t pid; /* rank 0's children; 0 once reaped */
	struct frame *first, **last;
	char *inbox; /* bytes that were read and belong to no message that was taken */
	size_t held, room;
};

static struct star {
	struct muster_transport transport; /* first: the one is cast to the other */
	struct peer *peers;
	size_t count, next; /* next: the peer whose messages are read first */
} local;

static void set_peers(size_t count)
{
	local.peers = muster_calloc(count + 1, sizeof *local.peers);
	local.count = count;
	for (size_t i = 0; i < count; i++) {
		local.peers[i].fd = -1;
		local.peers[i].last = &local.peers[i].first;
	}
}

/* In the new process: close the sockets of rank 0, and keep the one to it. */
static void become(int rank, int fd)
{
	char text[16];
	for (size_t i = 0; i < local.count; i++)
		if (local.peers[i].fd >= 0)
			close(local.peers[i].fd);
	free(local.peers);
	set_peers(1);
	local.peers[0].fd = fd;
	snprintf(text, sizeof text, "%d", rank);
	muster_env_set(MUSTER_ENV_LOCAL_RANK, text, false);
}

/* The rank that this process becomes, or -1 with err. */
static int start_ranks(int ranks, struct muster_error *err)
{
	fflush(NULL); /* or each process would print what has not been printed yet */
	for (int rank = 1; rank < ranks; rank++) {
		struct peer *peer = &local.peers[rank - 1];
		int ends[2];
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
			return muster_fail(err, MUSTER_EIO, "socketpair: %s", strerror(errno));
		int rc = muster_child_fork(true, &peer->pid, err);
		if (rc == 0 && peer->pid == 0) {
			close(ends[0]);
			become(rank, ends[1]);
			return rank;
		}
		close(ends[1]);
		peer->rank = rank;
		peer->fd = ends[0];
		if (rc < 0)
			return -1;
	}
	return 0;
}

static void drop_frame(struct peer *peer)
{
	struct frame *frame = peer->first;
	peer->first = frame->next;
	if (!peer->first)
		peer->last = &peer->first;
	free(frame->bytes);
	free(frame);
}

/* Nothing more comes from the peer: what was not sent yet is dropped. */
static void peer_gone(struct peer *peer)
{
	close(peer->fd);
	peer->fd = -1;
	while (peer->first)
		drop_frame(peer);
}

/* Write frames until the kernel takes no more. Never waits. */
static void peer_write(struct peer *peer)
{
	while (peer->fd >= 0 && peer->first) {
		struct frame *frame = peer->first;
		ssize_t sent = send(
			peer->fd, frame->bytes + frame->sent, frame->length - frame->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno != EAGAIN && errno != EINTR) {
			/* what the peer has sent before is still read, and then the end */
			shutdown(peer->fd, SHUT_RDWR);
			while (peer->first)
				drop_frame(peer);
		}
		if (sent < 0)
			return;
		frame->sent += (size_t)sent;
		if (frame->sent == frame->length)
			drop_frame(peer);
	}
}

static int socket_send(
	struct muster_transport *t, int to, int tag, char *bytes, size_t length, struct muster_error *err)
{
	const struct header header = { .tag = (uint32_t)tag, .length = (uint32_t)length };
	struct peer *peer = NULL;
	for (size_t i = 0; i < local.count && !peer; i++)
		if (local.peers[i].rank == to)
			peer = &local.peers[i];
	if (!peer || peer->fd < 0) { /* a rank that has died is no error */
		free(bytes);
		return peer ? 0 : muster_fail(err, MUSTER_EPROTOCOL, "only rank 0 can send to every rank of the node");
	}
	(void)t;
	struct frame *frame = muster_calloc(1, sizeof *frame);
	frame->length = sizeof header + length;
	frame->bytes = muster_realloc(NULL, frame->length, 1);
	memcpy(frame->bytes, &header, sizeof header);
	memcpy(frame->bytes + sizeof header, bytes, length);
	free(bytes);
	*peer->last = frame;
	peer->last = &frame->next;
	peer_write(peer);
	return 0;
}

/* The first whole message of the inbox, if there is one. */
static bool take_message(struct peer *peer, struct muster_message *ret)
{
	struct header header;
	if (peer->held < sizeof header)
		return false;
	memcpy(&header, peer->inbox, sizeof header);
	if (header.length > MUSTER_MESSAGE_BYTES_MAX) {
		peer_gone(peer);
		peer->held = 0;
		return false;
	}
	size_t whole = sizeof header + header.length;
	if (peer->held < whole)
		return false;
	char *bytes = muster_realloc(NULL, (size_t)header.length + 1, 1);
	memcpy(bytes, peer->inbox + sizeof header, header.length);
	bytes[header.length] = '\0';
	peer->held -= whole;
	memmove(peer->inbox, peer->inbox + whole, peer->held);
	*ret = (struct muster_message){
		.tag = (int)header.tag, .from = peer->rank, .bytes = bytes, .length = header.length
	};
	return true;
}

/* Whether something came. */
static bool peer_read(struct peer *peer)
{
	if (peer->fd < 0)
		return false;
	if (peer->room - peer->held < READ_BYTES) {
		peer->room = peer->held + 2 * READ_BYTES;
		peer->inbox = muster_realloc(peer->inbox, peer->room, 1);
	}
	ssize_t got = read(peer->fd, peer->inbox + peer->held, peer->room - peer->held);
	if (got > 0) {
		peer->held += (size_t)got;
		return true;
	}
	if (got == 0 || (errno != EAGAIN && errno != EINTR))
		peer_gone(peer);
	return false;
}

/* Begins at the peer behind the one whose message was taken last, so that a rank with many messages does not keep
 * others from being heard. A socket is read only when its inbox has no whole message. */
static bool socket_receive(struct muster_transport *t, struct muster_message *ret)
{
	(void)t;
	for (size_t i = 0; i < local.count; i++) {
		struct peer *peer = &local.peers[(local.next + i) % local.count];
		peer_write(peer);
		do {
			if (take_message(peer, ret)) {
				local.next = (local.next + i + 1) % local.count;
				return true;
			}
		} while (peer_read(peer));
		if (peer->fd < 0 && !peer->death_reported) {
			peer->death_reported = true;
			*ret = (struct muster_message){
				.tag = MUSTER_TAG_PEER_DIED, .from = peer->rank, .bytes = muster_calloc(1, 1)
			};
			return true;
		}
	}
	return false;
}

/* Whether the started processes have ended and all frames are written or dropped. Also makes progress with sending. */
static bool all_ended(void)
{
	bool ended = true;
	for (size_t i = 0; i < local.count; i++) {
		struct peer *peer = &local.peers[i];
		peer_write(peer);
		if (peer->pid > 0 && muster_child_ended(peer->pid, 0, NULL))
			peer->pid = 0;
		ended = ended && peer->pid == 0 && !(peer->first && peer->fd >= 0);
	}
	return ended;
}

static void socket_close(struct muster_transport *t, int grace_ms)
{
	double until_ms = muster_clock_now(t->clock) + grace_ms;
	while (!all_ended() && muster_clock_now(t->clock) < until_ms)
		poll(NULL, 0, END_POLL_MS);
	for (size_t i = 0; i < local.count; i++)
		if (local.peers[i].pid > 0)
			muster_child_kill(local.peers[i].pid, KILLED_MS, NULL);
}

/* Until bytes come from a peer or on fd. */
static void socket_wait(struct muster_transport *t, int fd, double until_ms)
{
	struct pollfd *files = muster_calloc(local.count + 1, sizeof *files);
	nfds_t count = 0;
	double left_ms = until_ms - muster_clock_now(t->clock);
	for (size_t i = 0; i < local.count; i++)
		if (local.peers[i].fd >= 0)
			files[count++] = (struct pollfd){
				.fd = local.peers[i].fd,
				.events = (short)(POLLIN | (local.peers[i].first ? POLLOUT : 0)),
			};
	if (fd >= 0)
		files[count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	/* the caller looks for signals between two waits, so a wait must be short */
	if (left_ms > 0)
		poll(files, count, left_ms < IDLE_MS ? 1 : IDLE_MS);
	free(files);
}

static const struct muster_transport_ops socket_ops = {
	.name = "socket",
	.send = socket_send,
	.receive = socket_receive,
	.wait = socket_wait,
	.close = socket_close,
};

int muster_transport_socket_start(
	int ranks, const struct muster_clock *clock, struct muster_transport **ret, struct muster_error *err)
{
	set_peers((size_t)ranks - 1);
	int rank = start_ranks(ranks, err);
	muster_transport_init(&local.transport, &socket_ops, clock, rank, ranks);
	if (rank < 0) {
		socket_close(&local.transport, 0);
		return muster_wrap(err, "cannot start %d ranks", ranks);
	}
	*ret = &local.transport;
	return 0;
}
