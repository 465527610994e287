/* SPDX-License-Identifier: Apache-2.0 */
/* message.c - the messages between supervisors, as bytes
 *
 * An ENTER message of a rank at the barrier of turn 1 of probe 5, without a payload:
 *
 *   offset  bytes          field
 *   0       02 00 00 00    barrier.kind, MUSTER_BARRIER_TURN
 *   4       05 00 00 00    barrier.probe
 *   8       01 00 00 00    barrier.round
 *   12      00 00 00 00    barrier.visit
 *   16      ff ff ff ff    ended, MUSTER_PHASE_NONE (-1)
 *   20      00 00 00 00    length of the payload
 *   24      00             the NUL behind the payload
 *
 * Each message has one function, go_through_NAME, which names its fields in their order with the values that they may
 * have, and MESSAGE makes muster_pack_NAME and muster_unpack_NAME from it. So the two directions cannot differ, and a
 * new field is one line. There is no version in a message.
 */
#include "coord/message.h"

#include "muster/arena.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { INT_BYTES = 4, FIGURE_BYTES = 16 };

/* ---- bytes ---- */

void muster_packer_done(struct muster_packer *p)
{
	free(p->bytes);
	*p = (struct muster_packer){ 0 };
}

/* Room for so many more bytes, which become a part of the message; returns their beginning. At least doubles the
 * memory, so that a record of many parts is copied only a few times. */
static char *append(struct muster_packer *p, size_t length)
{
	if (p->room - p->length < length) {
		p->room = 2 * p->room > p->length + length ? 2 * p->room : p->length + length + 64;
		p->bytes = muster_realloc(p->bytes, p->room, 1);
	}
	p->length += length;
	return p->bytes + p->length - length;
}

static struct muster_unpacker unpacker(const char *bytes, size_t length)
{
	return (struct muster_unpacker){ .at = bytes, .end = bytes + length };
}

static bool at_end(const struct muster_unpacker *u)
{
	return !u->bad && u->at == u->end;
}

/* ---- one description for both directions ---- */

/* Bytes that are written, or with `to` NULL read. Each message has one function that goes through its fields: it gives
 * a field's value and gets that of the message, which is the same where the bytes are written. */
struct wire {
	struct muster_packer *to;
	struct muster_unpacker from;
};

/* 32 bits, the lowest byte first. Of bytes that are too short all later fields are read as 0: `bad` stays set. */
static uint32_t half_word(struct wire *w, uint32_t value)
{
	if (w->to) {
		char *at = append(w->to, INT_BYTES);
		for (int i = 0; i < INT_BYTES; i++)
			at[i] = (char)(value >> 8 * i);
		return value;
	}
	struct muster_unpacker *u = &w->from;
	uint32_t read = 0;
	u->bad = u->bad || u->end - u->at < INT_BYTES;
	if (u->bad)
		return 0;
	for (int i = 0; i < INT_BYTES; i++)
		read |= (uint32_t)(unsigned char)u->at[i] << 8 * i;
	u->at += INT_BYTES;
	return read;
}

static uint64_t word(struct wire *w, uint64_t value)
{
	uint64_t low = half_word(w, (uint32_t)value);
	return low | (uint64_t)half_word(w, (uint32_t)(value >> 32)) << 32;
}

/* A number from low to high. Only what is read is checked: a number out of its range makes the message malformed. */
static int number(struct wire *w, int value, int low, int high)
{
	int number = (int)half_word(w, (uint32_t)value);
	if (w->to || (!w->from.bad && number >= low && number <= high))
		return number;
	w->from.bad = true;
	return 0;
}

/* The 64 bits of a double. What is read is neither infinite nor NaN. */
static double real(struct wire *w, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	bits = word(w, bits);
	memcpy(&value, &bits, sizeof value);
	w->from.bad = w->from.bad || (!w->to && !(value >= -1e300 && value <= 1e300));
	return w->from.bad ? 0 : value;
}

/* A length, the bytes, and a NUL that the length does not count: so a text can be used where it lies in the message.
 * What is read points into the message. */
static struct muster_bytes bytes_of(struct wire *w, struct muster_bytes value)
{
	size_t length = half_word(w, (uint32_t)value.length);
	struct muster_unpacker *u = &w->from;
	if (w->to) {
		char *at = append(w->to, length + 1);
		if (length > 0)
			memcpy(at, value.bytes, length);
		at[length] = '\0';
		return value;
	}
	if (u->bad || (size_t)(u->end - u->at) < length + 1 || u->at[length] != '\0') {
		u->bad = true;
		return (struct muster_bytes){ "", 0 };
	}
	struct muster_bytes read = { u->at, length };
	u->at += length + 1;
	return read;
}

/* Bytes without a NUL among them; NULL is written as "". */
static const char *text(struct wire *w, const char *value)
{
	struct muster_bytes bytes = bytes_of(w, (struct muster_bytes){ value ? value : "", value ? strlen(value) : 0 });
	w->from.bad = w->from.bad || (!w->to && memchr(bytes.bytes, '\0', bytes.length));
	return w->from.bad ? "" : bytes.bytes;
}

/* muster_pack_NAME and muster_unpack_NAME of a message. go_through_NAME goes through the fields of a struct, and
 * returns whether their values fit each other; it also writes the fields, so that packing takes a copy. The rest of the
 * arguments: initialisers of an unpacked struct, for fields that this message does not have. */
#define MESSAGE(name, type, ...)                                                                                       \
	void muster_pack_##name(struct muster_packer *p, const struct type *message)                                   \
	{                                                                                                              \
		struct type copy = *message;                                                                           \
		(void)go_through_##name(&(struct wire){ .to = p }, &copy);                                             \
	}                                                                                                              \
	bool muster_unpack_##name(const char *bytes, size_t length, struct type *ret)                                  \
	{                                                                                                              \
		struct wire w = { .from = unpacker(bytes, length) };                                                   \
		*ret = (struct type){ __VA_ARGS__ };                                                                   \
		bool fits = go_through_##name(&w, ret);                                                                \
		return fits && at_end(&w.from);                                                                        \
	}

/* ---- barriers ---- */

bool muster_barrier_same(struct muster_barrier_id a, struct muster_barrier_id b)
{
	return a.kind == b.kind && a.probe == b.probe && a.round == b.round && a.visit == b.visit;
}

static bool is_ring(struct muster_barrier_id id)
{
	return id.kind == MUSTER_BARRIER_RING || id.kind == MUSTER_BARRIER_RING_ID;
}

/* The first ring begins before the turns of the first visit, and goes on after them. */
static int part_of_visit(struct muster_barrier_id id)
{
	switch (id.kind) {
	case MUSTER_BARRIER_NONE: return 0;
	case MUSTER_BARRIER_PEERS: return 1;
	case MUSTER_BARRIER_TURN: return 3;
	case MUSTER_BARRIER_RECORD: return 5;
	default: return id.visit == 0 && id.round == 0 ? 2 : 4;
	}
}

bool muster_barrier_before(struct muster_barrier_id a, struct muster_barrier_id b)
{
	int part_a = part_of_visit(a), part_b = part_of_visit(b);
	if (a.visit != b.visit)
		return a.visit < b.visit;
	if (part_a != part_b)
		return part_a < part_b;
	if (a.probe != b.probe)
		return a.probe < b.probe;
	return a.round != b.round ? a.round < b.round : a.kind < b.kind;
}

bool muster_barrier_is_of_job(struct muster_barrier_id id)
{
	return is_ring(id) || id.kind == MUSTER_BARRIER_RECORD;
}

static struct muster_barrier_id barrier(struct wire *w, struct muster_barrier_id id)
{
	id.kind =
		(enum muster_barrier_kind)number(w, (int)id.kind, MUSTER_BARRIER_PEERS, MUSTER_BARRIER_KIND_COUNT - 1);
	id.probe = number(w, id.probe, 0, INT_MAX);
	id.round = number(w, id.round, 0, INT_MAX);
	id.visit = number(w, id.visit, 0, MUSTER_VISITS);
	return id;
}

/* ---- messages ---- */

static bool go_through_hello(struct wire *w, struct muster_hello *m)
{
	m->host = text(w, m->host);
	m->node = text(w, m->node);
	return *m->node;
}
MESSAGE(hello, muster_hello, 0)

/* The members are at the end, 4 bytes each and strictly ascending. They are checked, and not copied: muster_member_at
 * reads them where they lie. */
static bool go_through_membership(struct wire *w, struct muster_membership_news *m)
{
	m->exit_code = number(w, m->exit_code, 0, 255);
	m->node_index = number(w, m->node_index, 0, INT_MAX);
	m->nodes = number(w, m->nodes, 0, INT_MAX);
	m->left_ms = number(w, m->left_ms, 0, INT_MAX);
	m->node = text(w, m->node);
	m->member_count = (size_t)number(w, (int)m->member_count, 0, INT_MAX);
	m->packed_members = w->from.at;
	for (size_t i = 0, least = 0; !w->from.bad && i < m->member_count; i++) {
		size_t member = (size_t)number(w, w->to ? m->members[i] : 0, 0, INT_MAX);
		w->from.bad = w->from.bad || member < least;
		least = member + 1;
	}
	return true;
}
MESSAGE(membership, muster_membership_news, 0)

int muster_member_at(const struct muster_membership_news *news, size_t index)
{
	struct wire w = { .from = unpacker(news->packed_members + index * INT_BYTES, INT_BYTES) };
	return number(&w, 0, 0, INT_MAX);
}

static bool go_through_enter(struct wire *w, struct muster_enter *m)
{
	m->barrier = barrier(w, m->barrier);
	m->ended = (enum muster_phase)number(w, (int)m->ended, MUSTER_PHASE_NONE, MUSTER_PHASE_COUNT - 1);
	m->payload = bytes_of(w, m->payload);
	return true;
}
MESSAGE(enter, muster_enter, 0)

static bool go_through_progress(struct wire *w, struct muster_progress_news *m)
{
	for (int phase = 0; phase < MUSTER_PHASE_COUNT; phase++)
		m->done[phase] = number(w, m->done[phase], 0, INT_MAX);
	return true;
}
MESSAGE(progress, muster_progress_news, 0)

static bool go_through_ring_failed(struct wire *w, struct muster_ring_failed *m)
{
	m->ring = barrier(w, m->ring);
	m->rank = number(w, m->rank, 0, INT_MAX);
	m->why = text(w, m->why);
	return m->ring.kind == MUSTER_BARRIER_RING;
}
MESSAGE(ring_failed, muster_ring_failed, 0)

void muster_pack_text(struct muster_packer *p, const char *string)
{
	(void)text(&(struct wire){ .to = p }, string);
}

bool muster_unpack_text(const char *bytes, size_t length, const char **ret)
{
	struct wire w = { .from = unpacker(bytes, length) };
	*ret = text(&w, NULL);
	return at_end(&w.from);
}

/* ---- parts ---- */

void muster_pack_parts(struct muster_packer *p, struct muster_barrier_id id)
{
	(void)barrier(&(struct wire){ .to = p }, id);
}

void muster_pack_part(struct muster_packer *p, int rank, const char *bytes, size_t length)
{
	struct wire w = { .to = p };
	(void)number(&w, rank, 0, INT_MAX);
	(void)bytes_of(&w, (struct muster_bytes){ bytes, length });
}

bool muster_unpack_parts(const char *bytes, size_t length, struct muster_parts *ret)
{
	struct wire w = { .from = unpacker(bytes, length) };
	ret->barrier = barrier(&w, (struct muster_barrier_id){ 0 });
	ret->rest = w.from;
	return !ret->rest.bad;
}

bool muster_unpack_part(struct muster_parts *parts, int *ret_rank, struct muster_bytes *ret)
{
	if (parts->rest.bad || parts->rest.at == parts->rest.end)
		return false;
	struct wire w = { .from = parts->rest };
	*ret_rank = number(&w, 0, 0, INT_MAX);
	*ret = bytes_of(&w, (struct muster_bytes){ "", 0 });
	parts->rest = w.from;
	return !parts->rest.bad;
}

/* ---- payloads of barriers ---- */

static bool go_through_peer(struct wire *w, struct muster_peer *m)
{
	m->local_rank = number(w, m->local_rank, 0, INT_MAX);
	m->gpu_bus_id = text(w, m->gpu_bus_id);
	m->gpu_uuid = text(w, m->gpu_uuid);
	m->gpu_path = text(w, m->gpu_path);
	return true;
}
MESSAGE(peer, muster_peer, 0)

static struct muster_ring_figure figure(struct wire *w, struct muster_ring_figure value)
{
	value.bytes = word(w, value.bytes);
	value.rate = real(w, value.rate);
	return value;
}

/* A brief message ends after `detail`. Figures are 16 bytes each and stay in the message, as members do above. */
static bool go_through_ring_ready(struct wire *w, struct muster_ring_ready *m)
{
	m->brief = number(w, m->brief, 0, 1);
	m->can = number(w, m->can, 0, 1);
	m->end = (enum muster_ring_end)number(w, (int)m->end, 0, MUSTER_RING_END_COUNT - 1);
	m->detail = text(w, m->detail);
	if (m->brief)
		return true;
	m->uuid = text(w, m->uuid);
	m->agree = text(w, m->agree);
	m->why = text(w, m->why);
	m->seconds = real(w, m->seconds);
	m->figure_count = (size_t)number(w, (int)m->figure_count, 0, MUSTER_RING_FIGURES_MAX);
	m->packed_figures = w->from.at;
	for (size_t i = 0; i < m->figure_count; i++)
		(void)figure(w, w->to ? m->figures[i] : (struct muster_ring_figure){ 0 });
	return true;
}
MESSAGE(ring_ready, muster_ring_ready, .uuid = "", .agree = "", .why = "")

struct muster_ring_figure muster_ring_figure_at(const struct muster_ring_ready *ready, size_t index)
{
	struct wire w = { .from = unpacker(ready->packed_figures + index * FIGURE_BYTES, FIGURE_BYTES) };
	return figure(&w, (struct muster_ring_figure){ 0 });
}

static bool go_through_again(struct wire *w, struct muster_again *m)
{
	m->probes = word(w, m->probes);
	return true;
}
MESSAGE(again, muster_again, 0)

/* The role decides which fields follow. */
static bool go_through_ring_place(struct wire *w, struct muster_ring_place *m)
{
	m->role = (enum muster_ring_role)number(w, (int)m->role, 0, MUSTER_ROLE_COUNT - 1);
	switch (m->role) {
	case MUSTER_ROLE_MEMBER:
		m->ring.part = (enum muster_ring_part)number(w, (int)m->ring.part, 0, MUSTER_RING_PARTS - 1);
		m->ring.rank = number(w, m->ring.rank, 0, INT_MAX);
		m->ring.ranks = number(w, m->ring.ranks, 1, INT_MAX);
		m->ring.nodes = number(w, m->ring.nodes, 0, INT_MAX);
		m->ring.trial = number(w, m->ring.trial, 0, 1);
		m->deadline_ms = number(w, m->deadline_ms, 0, INT_MAX);
		return m->ring.rank < m->ring.ranks;
	case MUSTER_ROLE_TRAFFIC:
		m->probe = number(w, m->probe, 0, INT_MAX);
		m->kind = (enum muster_traffic_kind)number(w, (int)m->kind, 0, MUSTER_TRAFFIC_KIND_COUNT - 1);
		m->traffic.peer = number(w, m->traffic.peer, -1, INT_MAX);
		m->peer_rank = number(w, m->peer_rank, -1, INT_MAX);
		m->traffic.round = number(w, m->traffic.round, 0, INT_MAX);
		m->traffic.rounds = number(w, m->traffic.rounds, 1, INT_MAX);
		m->traffic.visit = number(w, m->traffic.visit, 0, MUSTER_VISITS);
		m->deadline_ms = number(w, m->deadline_ms, 0, INT_MAX);
		return m->traffic.round < m->traffic.rounds;
	case MUSTER_ROLE_NO_TRAFFIC:
		m->probe = number(w, m->probe, 0, INT_MAX);
		m->why = text(w, m->why);
		return true;
	case MUSTER_ROLE_OVER:
	case MUSTER_ROLE_EXCLUDED: m->why = text(w, m->why); return true;
	default: return true;
	}
}
MESSAGE(ring_place, muster_ring_place, .traffic = { .peer = -1 }, .peer_rank = -1, .why = "")
