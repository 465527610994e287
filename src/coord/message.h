/* SPDX-License-Identifier: Apache-2.0 */
/* message.h - the messages between supervisors, as structs; message.c alone knows their bytes
 *
 * Numbers are 32 bits, little-endian; a text is its length, its bytes and a NUL. Unpacking checks everything; unpacked
 * texts point into the message's bytes.
 *
 * The life of a message: a packer grows on the heap; muster_send_packed (send.h) gives the transport a copy and frees
 * the packer; the transport frees the copy when it is sent. The receiver owns what muster_transport_receive returns
 * (event_loop.c, take_message) and frees it after use, so what outlives the message is copied into an arena or becomes
 * a part of the run.
 *
 * What a receiver may rely on: messages of one sender come in their order, and nothing else. A message may come twice,
 * or after its sender or its reason is gone; messages of two senders come in any order, so that a member's ENTER may
 * reach a leader that does not know yet that it leads. A malformed message is logged: of a message of parts,
 * those before the malformed one have been taken; else nothing changes.
 */
#ifndef MUSTER_COORD_MESSAGE_H
#define MUSTER_COORD_MESSAGE_H

#include "localize/pairs.h"
#include "muster/probe.h"
#include "worker/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum muster_tag {
	/* 0 is MUSTER_TAG_PEER_DIED of transport.h */
	MUSTER_TAG_HELLO = 1,  /* rank → rank 0: struct muster_hello */
	MUSTER_TAG_MEMBERSHIP, /* rank 0 → rank: struct muster_membership_news */
	MUSTER_TAG_ENTER,      /* member → leader: struct muster_enter */
	MUSTER_TAG_RELEASE,    /* leader → member: struct muster_part behind a barrier's id */
	MUSTER_TAG_REDUCE,     /* leader → rank 0: the payloads of its members at a barrier of the job: parts */
	MUSTER_TAG_SCATTER,    /* rank 0 → leader: an answer for each of its members: parts */
	MUSTER_TAG_PROGRESS,   /* leader → rank 0: struct muster_progress_news */
	MUSTER_TAG_INTERRUPT,  /* rank → rank 0 → rank: the whole run ends now; a text: the reason */
	MUSTER_TAG_HEARTBEAT, /* member ↔ leader, leader → rank 0, member → rank 0 when the leader is dead: no content
			       */
	MUSTER_TAG_RING_FAILED, /* rank or leader → rank 0: struct muster_ring_failed */
	MUSTER_TAG_CANCEL,      /* rank 0 → leader: parts, a reason for each rank whose ring is cancelled */
	MUSTER_TAG_CANCEL_RANK, /* leader → member: the same for one rank */
	MUSTER_TAG_RECORD,      /* rank → rank 0, when the leader is dead: the record as a part */
	MUSTER_TAG_GOODBYE,     /* rank 0 → rank: the answer of the record barrier */
};

/* The barriers of a run: what a rank enters with → the answer. */
enum muster_barrier_kind {
	MUSTER_BARRIER_NONE = 0,
	MUSTER_BARRIER_PEERS, /* of a node: the rank's struct muster_peer → those of all ranks, as parts */
	MUSTER_BARRIER_TURN,  /* of a node, for each probe and turn: nothing → nothing */
	MUSTER_BARRIER_RING,  /* of the job, for each probe and round: struct muster_ring_ready → muster_ring_place */
	MUSTER_BARRIER_RING_ID, /* of the job, for each probe and round of rings: the id from a ring's first rank → the
				 * id */
	MUSTER_BARRIER_RECORD,  /* of the job: the record → goodbye */
	MUSTER_BARRIER_KIND_COUNT
};

/* Names one barrier of the run. A node's barrier has the same id on every node. */
struct muster_barrier_id {
	enum muster_barrier_kind kind;
	int probe; /* index in the registry; 0 where there is none */
	int round; /* of a ring, or a probe's turn */
	int visit; /* how often speeds were measured before: muster/probe.h */
};

bool muster_barrier_same(struct muster_barrier_id a, struct muster_barrier_id b);
/* Every rank enters barriers in one order, though it may leave some out: true when a comes before b in it. In each
 * visit, as far as it has them: PEERS; RING and RING_ID of round 0, in which the first ring begins (first visit only);
 * TURN by probe and turn; for each probe with rings and each round RING and RING_ID; RECORD. */
bool muster_barrier_before(struct muster_barrier_id a, struct muster_barrier_id b);
/* True: rank 0 answers it; false: the node's leader does. */
bool muster_barrier_is_of_job(struct muster_barrier_id id);

/* ---- bytes ---- */

struct muster_packer {
	char *bytes; /* malloc'd; the caller frees */
	size_t length, room;
};

struct muster_unpacker {
	const char *at, *end;
	bool bad; /* the bytes are malformed; values unpacked since then are 0 or "" */
};

/* A text or other bytes; borrowed. */
struct muster_bytes {
	const char *bytes; /* a NUL follows */
	size_t length;
};

void muster_packer_done(struct muster_packer *p);

/* ---- the messages ---- */

struct muster_hello {
	const char *host; /* the boot id of the node's kernel */
	const char *node;
};

struct muster_membership_news {
	int exit_code; /* 0: the run goes on. Otherwise the rank exits with it, and the rest is empty */
	int node_index, nodes;
	int left_ms;                /* of the whole run */
	const char *node;           /* unique, also when two hosts have one name */
	const int *members;         /* to pack: ranks of the node, ascending */
	const char *packed_members; /* unpacked: see muster_member_at */
	size_t member_count;
};

struct muster_enter {
	struct muster_barrier_id barrier;
	enum muster_phase ended; /* the rank has ended this phase and all before it; NONE: nothing new */
	struct muster_bytes payload;
};

/* Parts: a barrier's id, then any number of (rank, bytes). */
struct muster_parts {
	struct muster_barrier_id barrier;
	struct muster_unpacker rest;
};

struct muster_progress_news {
	int done[MUSTER_PHASE_COUNT]; /* members of the node that have ended each phase, or have died */
};

struct muster_ring_failed {
	struct muster_barrier_id ring;
	int rank; /* that failed */
	const char *why;
};

/* ---- payloads of barriers ---- */

/* How a ring ended for a rank; the stronger the evidence against the rank itself, the higher. */
enum muster_ring_end {
	MUSTER_RING_NONE = 0, /* it was in no ring */
	MUSTER_RING_OK,
	MUSTER_RING_CANCELLED,
	MUSTER_RING_REMOTE, /* the library reports a failure of another rank */
	MUSTER_RING_LATE,   /* time ran out */
	MUSTER_RING_GONE,   /* no further message from the rank */
	MUSTER_RING_ERROR,
	MUSTER_RING_HUNG,
	MUSTER_RING_CRASHED,
	MUSTER_RING_END_COUNT
};

/* RING: a rank enters with this. */
struct muster_ring_ready {
	bool brief; /* after a round of traffic: only can, end and detail; the other texts are "" */
	bool can;
	const char *uuid;         /* of its GPU, when it can; of a MIG instance the bus id of the whole GPU */
	const char *agree;        /* its value of the metric that must be equal in a ring; "" */
	const char *why;          /* the reason when it cannot; "" */
	enum muster_ring_end end; /* of the previous ring */
	double seconds;
	const char *detail; /* of that end; "" */
	/* From a ring's first rank. To pack: the figures; unpacked: see muster_ring_figure_at. */
	const struct muster_ring_figure *figures;
	const char *packed_figures;
	size_t figure_count;
};

/* RECORD: the answer. */
struct muster_again {
	uint64_t probes; /* 1 << index in the registry: measure their windows once more; 0: the run is over */
};

/* RING: the answer. */
enum muster_ring_role {
	MUSTER_ROLE_OVER = 0, /* there are no more rounds */
	MUSTER_ROLE_MEMBER,
	MUSTER_ROLE_IDLE,     /* in no trial of this round */
	MUSTER_ROLE_EXCLUDED, /* a full ring without this rank: why */
	/* traffic on the communicator of the last full ring: no RING_ID barrier follows */
	MUSTER_ROLE_TRAFFIC,
	MUSTER_ROLE_WAITS,      /* the rank has no partner in this round */
	MUSTER_ROLE_NO_TRAFFIC, /* the probe's rounds that are left do not run, on no rank: why */
	MUSTER_ROLE_COUNT
};

struct muster_ring_place {
	enum muster_ring_role role;
	int deadline_ms;         /* MEMBER, TRAFFIC */
	struct muster_ring ring; /* MEMBER: without its id */
	/* TRAFFIC, and the first one of NO_TRAFFIC too */
	int probe; /* index in the registry */
	enum muster_traffic_kind kind;
	struct muster_traffic traffic; /* without its kind */
	int peer_rank;                 /* the peer's number in the job */
	/* EXCLUDED, NO_TRAFFIC; OVER: why no round of traffic had this rank, "" when that is as it should be */
	const char *why;
};

/* Each pack appends to p. Each unpack returns false when the bytes do not have this form, or have a byte more. */
void muster_pack_hello(struct muster_packer *p, const struct muster_hello *hello);
bool muster_unpack_hello(const char *bytes, size_t length, struct muster_hello *ret);
void muster_pack_membership(struct muster_packer *p, const struct muster_membership_news *news);
bool muster_unpack_membership(const char *bytes, size_t length, struct muster_membership_news *ret);
/* One of an unpacked message's members; index < member_count. */
int muster_member_at(const struct muster_membership_news *news, size_t index);
void muster_pack_enter(struct muster_packer *p, const struct muster_enter *enter);
bool muster_unpack_enter(const char *bytes, size_t length, struct muster_enter *ret);
void muster_pack_progress(struct muster_packer *p, const struct muster_progress_news *news);
bool muster_unpack_progress(const char *bytes, size_t length, struct muster_progress_news *ret);
void muster_pack_ring_failed(struct muster_packer *p, const struct muster_ring_failed *failed);
bool muster_unpack_ring_failed(const char *bytes, size_t length, struct muster_ring_failed *ret);
void muster_pack_text(struct muster_packer *p, const char *text);
bool muster_unpack_text(const char *bytes, size_t length, const char **ret);

void muster_pack_parts(struct muster_packer *p, struct muster_barrier_id barrier);
void muster_pack_part(struct muster_packer *p, int rank, const char *bytes, size_t length);
bool muster_unpack_parts(const char *bytes, size_t length, struct muster_parts *ret);
/* The next part: false at the end. parts->rest.bad afterwards: the bytes are malformed there. */
bool muster_unpack_part(struct muster_parts *parts, int *ret_rank, struct muster_bytes *ret);

/* The rank is not packed: a part has it. */
void muster_pack_peer(struct muster_packer *p, const struct muster_peer *peer);
bool muster_unpack_peer(const char *bytes, size_t length, struct muster_peer *ret);

void muster_pack_ring_ready(struct muster_packer *p, const struct muster_ring_ready *ready);
bool muster_unpack_ring_ready(const char *bytes, size_t length, struct muster_ring_ready *ret);
/* One of an unpacked message's figures; index < figure_count. */
struct muster_ring_figure muster_ring_figure_at(const struct muster_ring_ready *ready, size_t index);
void muster_pack_again(struct muster_packer *p, const struct muster_again *again);
bool muster_unpack_again(const char *bytes, size_t length, struct muster_again *ret);
void muster_pack_ring_place(struct muster_packer *p, const struct muster_ring_place *place);
bool muster_unpack_ring_place(const char *bytes, size_t length, struct muster_ring_place *ret);

#endif
