/* message.c - the messages between supervisors, as bytes */
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

static char *append(struct muster_packer *p, size_t length)
{
	if (p->room - p->length < length) {
		p->room = 2 * p->room > p->length + length ? 2 * p->room : p->length + length + 64;
		p->bytes = muster_realloc(p->bytes, p->room, 1);
	}
	p->length += length;
	return p->bytes + p->length - length;
}

static void put_u32(struct muster_packer *p, uint32_t number)
{
	char *at = append(p, 4);
	for (int i = 0; i < 4; i++)
		at[i] = (char)(number >> 8 * i);
}

static void put_int(struct muster_packer *p, int number)
{
	put_u32(p, (uint32_t)number);
}

static void put_u64(struct muster_packer *p, uint64_t number)
{
	put_u32(p, (uint32_t)number);
	put_u32(p, (uint32_t)(number >> 32));
}

static void put_double(struct muster_packer *p, double number)
{
	uint64_t bits;
	memcpy(&bits, &number, sizeof bits);
	put_u64(p, bits);
}

static void put_bytes(struct muster_packer *p, const char *bytes, size_t length)
{
	put_u32(p, (uint32_t)length);
	char *at = append(p, length + 1);
	if (length > 0)
		memcpy(at, bytes, length);
	at[length] = '\0';
}

static void put_text(struct muster_packer *p, const char *text)
{
	put_bytes(p, text ? text : "", text ? strlen(text) : 0);
}

static struct muster_unpacker unpacker(const char *bytes, size_t length)
{
	return (struct muster_unpacker){ .at = bytes, .end = bytes + length };
}

static uint32_t get_u32(struct muster_unpacker *u)
{
	uint32_t number = 0;
	if (u->bad || u->end - u->at < 4) {
		u->bad = true;
		return 0;
	}
	for (int i = 0; i < 4; i++)
		number |= (uint32_t)(unsigned char)u->at[i] << 8 * i;
	u->at += 4;
	return number;
}

static int get_int(struct muster_unpacker *u, int low, int high)
{
	int number = (int)get_u32(u);
	if (!u->bad && number >= low && number <= high)
		return number;
	u->bad = true;
	return 0;
}

static uint64_t get_u64(struct muster_unpacker *u)
{
	uint64_t low = get_u32(u);
	return low | (uint64_t)get_u32(u) << 32;
}

/* Neither infinite nor NaN. */
static double get_double(struct muster_unpacker *u)
{
	uint64_t bits = get_u64(u);
	double number;
	memcpy(&number, &bits, sizeof number);
	if (!u->bad && number >= -1e300 && number <= 1e300)
		return number;
	u->bad = true;
	return 0;
}

static struct muster_bytes get_bytes(struct muster_unpacker *u)
{
	size_t length = get_u32(u);
	if (u->bad || (size_t)(u->end - u->at) < length + 1 || u->at[length] != '\0') {
		u->bad = true;
		return (struct muster_bytes){ "", 0 };
	}
	struct muster_bytes bytes = { u->at, length };
	u->at += length + 1;
	return bytes;
}

static const char *get_text(struct muster_unpacker *u)
{
	struct muster_bytes bytes = get_bytes(u);
	if (memchr(bytes.bytes, '\0', bytes.length))
		u->bad = true;
	return u->bad ? "" : bytes.bytes;
}

static bool at_end(const struct muster_unpacker *u)
{
	return !u->bad && u->at == u->end;
}

/* ---- barriers ---- */

bool muster_barrier_same(struct muster_barrier_id a, struct muster_barrier_id b)
{
	return a.kind == b.kind && a.probe == b.probe && a.round == b.round;
}

static bool is_ring(struct muster_barrier_id id)
{
	return id.kind == MUSTER_BARRIER_RING || id.kind == MUSTER_BARRIER_RING_ID;
}

bool muster_barrier_before(struct muster_barrier_id a, struct muster_barrier_id b)
{
	if (a.kind != b.kind && !(is_ring(a) && is_ring(b)))
		return a.kind < b.kind;
	if (a.probe != b.probe)
		return a.probe < b.probe;
	return a.round != b.round ? a.round < b.round : a.kind < b.kind;
}

bool muster_barrier_is_of_job(struct muster_barrier_id id)
{
	return is_ring(id) || id.kind == MUSTER_BARRIER_RECORD;
}

static void put_barrier(struct muster_packer *p, struct muster_barrier_id id)
{
	put_int(p, (int)id.kind);
	put_int(p, id.probe);
	put_int(p, id.round);
}

static struct muster_barrier_id get_barrier(struct muster_unpacker *u)
{
	struct muster_barrier_id id;
	id.kind = (enum muster_barrier_kind)get_int(u, MUSTER_BARRIER_PEERS, MUSTER_BARRIER_KIND_COUNT - 1);
	id.probe = get_int(u, 0, INT_MAX);
	id.round = get_int(u, 0, INT_MAX);
	return id;
}

/* ---- messages ---- */

void muster_pack_hello(struct muster_packer *p, const struct muster_hello *hello)
{
	put_text(p, hello->host);
	put_text(p, hello->node);
}

bool muster_unpack_hello(const char *bytes, size_t length, struct muster_hello *ret)
{
	struct muster_unpacker u = unpacker(bytes, length);
	ret->host = get_text(&u);
	ret->node = get_text(&u);
	return at_end(&u) && *ret->node;
}

void muster_pack_membership(struct muster_packer *p, const struct muster_membership_news *news)
{
	put_int(p, news->exit_code);
	put_int(p, news->node_index);
	put_int(p, news->nodes);
	put_int(p, news->left_ms);
	put_text(p, news->node);
	put_u32(p, (uint32_t)news->member_count);
	for (size_t i = 0; i < news->member_count; i++)
		put_int(p, news->members[i]);
}

bool muster_unpack_membership(const char *bytes, size_t length, struct muster_membership_news *ret)
{
	struct muster_unpacker u = unpacker(bytes, length);
	ret->exit_code = get_int(&u, 0, 255);
	ret->node_index = get_int(&u, 0, INT_MAX);
	ret->nodes = get_int(&u, 0, INT_MAX);
	ret->left_ms = get_int(&u, 0, INT_MAX);
	ret->node = get_text(&u);
	ret->member_count = get_u32(&u);
	ret->packed_members = u.at;
	for (size_t i = 0, least = 0; !u.bad && i < ret->member_count; i++) {
		size_t member = (size_t)get_int(&u, 0, INT_MAX);
		u.bad = u.bad || member < least;
		least = member + 1;
	}
	return at_end(&u);
}

int muster_member_at(const struct muster_membership_news *news, size_t index)
{
	struct muster_unpacker u = unpacker(news->packed_members + index * INT_BYTES, INT_BYTES);
	return get_int(&u, 0, INT_MAX);
}

void muster_pack_enter(struct muster_packer *p, const struct muster_enter *enter)
{
	put_barrier(p, enter->barrier);
	put_int(p, (int)enter->ended);
	put_bytes(p, enter->payload.bytes, enter->payload.length);
}

bool muster_unpack_enter(const char *bytes, size_t length, struct muster_enter *ret)
{
	struct muster_unpacker u = unpacker(bytes, length);
	ret->barrier = get_barrier(&u);
	ret->ended = (enum muster_phase)get_int(&u, MUSTER_PHASE_NONE, MUSTER_PHASE_COUNT - 1);
	ret->payload = get_bytes(&u);
	return at_end(&u);
}

void muster_pack_progress(struct muster_packer *p, const struct muster_progress_news *news)
{
	for (int phase = 0; phase < MUSTER_PHASE_COUNT; phase++)
		put_int(p, news->done[phase]);
}

bool muster_unpack_progress(const char *bytes, size_t length, struct muster_progress_news *ret)
{
	struct muster_unpacker u = unpacker(bytes, length);
	for (int phase = 0; phase < MUSTER_PHASE_COUNT; phase++)
		ret->done[phase] = get_int(&u, 0, INT_MAX);
	return at_end(&u);
}

void muster_pack_ring_failed(struct muster_packer *p, const struct muster_ring_failed *failed)
{
	put_barrier(p, failed->ring);
	put_int(p, failed->rank);
	put_text(p, failed->why);
}

bool muster_unpack_ring_failed(const char *bytes, size_t length, struct muster_ring_failed *ret)
{
	struct muster_unpacker u = unpacker(bytes, length);
	ret->ring = get_barrier(&u);
	ret->rank = get_int(&u, 0, INT_MAX);
	ret->why = get_text(&u);
	return at_end(&u) && ret->ring.kind == MUSTER_BARRIER_RING;
}

void muster_pack_text(struct muster_packer *p, const char *text)
{
	put_text(p, text);
}

bool muster_unpack_text(const char *bytes, size_t length, const char **ret)
{
	struct muster_unpacker u = unpacker(bytes, length);
	*ret = get_text(&u);
	return at_end(&u);
}

/* ---- parts ---- */

void muster_pack_parts(struct muster_packer *p, struct muster_barrier_id barrier)
{
	put_barrier(p, barrier);
}

void muster_pack_part(struct muster_packer *p, int rank, const char *bytes, size_t length)
{
	put_int(p, rank);
	put_bytes(p, bytes, length);
}

bool muster_unpack_parts(const char *bytes, size_t length, struct muster_parts *ret)
{
	ret->rest = unpacker(bytes, length);
	ret->barrier = get_barrier(&ret->rest);
	return !ret->rest.bad;
}

bool muster_unpack_part(struct muster_parts *parts, int *ret_rank, struct muster_bytes *ret)
{
	if (parts->rest.bad || parts->rest.at == parts->rest.end)
		return false;
	*ret_rank = get_int(&parts->rest, 0, INT_MAX);
	*ret = get_bytes(&parts->rest);
	return !parts->rest.bad;
}

/* ---- the GPUs of a node's ranks ---- */

void muster_pack_peer_entry(struct muster_packer *p, const struct muster_peer_entry *entry)
{
	put_int(p, entry->local_rank);
	put_text(p, entry->gpu);
	put_text(p, entry->uuid);
	put_text(p, entry->path);
}

bool muster_unpack_peer_entry(const char *bytes, size_t length, struct muster_peer_entry *ret)
{
	struct muster_unpacker u = unpacker(bytes, length);
	ret->local_rank = get_int(&u, 0, INT_MAX);
	ret->gpu = get_text(&u);
	ret->uuid = get_text(&u);
	ret->path = get_text(&u);
	return at_end(&u);
}

/* ---- rings ---- */

void muster_pack_ring_ready(struct muster_packer *p, const struct muster_ring_ready *ready)
{
	put_int(p, ready->brief);
	put_int(p, ready->can);
	put_int(p, (int)ready->end);
	put_text(p, ready->detail);
	if (ready->brief)
		return;
	put_text(p, ready->uuid);
	put_text(p, ready->agree);
	put_text(p, ready->why);
	put_double(p, ready->seconds);
	put_u32(p, (uint32_t)ready->figure_count);
	for (size_t i = 0; i < ready->figure_count; i++) {
		put_u64(p, ready->figures[i].bytes);
		put_double(p, ready->figures[i].rate);
	}
}

static struct muster_ring_figure get_figure(struct muster_unpacker *u)
{
	struct muster_ring_figure figure;
	figure.bytes = get_u64(u);
	figure.rate = get_double(u);
	return figure;
}

bool muster_unpack_ring_ready(const char *bytes, size_t length, struct muster_ring_ready *ret)
{
	struct muster_unpacker u = unpacker(bytes, length);
	*ret = (struct muster_ring_ready){ .uuid = "", .agree = "", .why = "" };
	ret->brief = get_int(&u, 0, 1) != 0;
	ret->can = get_int(&u, 0, 1) != 0;
	ret->end = (enum muster_ring_end)get_int(&u, 0, MUSTER_RING_END_COUNT - 1);
	ret->detail = get_text(&u);
	if (ret->brief)
		return at_end(&u);
	ret->uuid = get_text(&u);
	ret->agree = get_text(&u);
	ret->why = get_text(&u);
	ret->seconds = get_double(&u);
	ret->figure_count = (size_t)get_int(&u, 0, MUSTER_RING_FIGURES_MAX);
	ret->packed_figures = u.at;
	for (size_t i = 0; i < ret->figure_count; i++)
		(void)get_figure(&u);
	return at_end(&u);
}

struct muster_ring_figure muster_ring_figure_at(const struct muster_ring_ready *ready, size_t index)
{
	struct muster_unpacker u = unpacker(ready->packed_figures + index * FIGURE_BYTES, FIGURE_BYTES);
	return get_figure(&u);
}

void muster_pack_ring_place(struct muster_packer *p, const struct muster_ring_place *place)
{
	put_int(p, (int)place->role);
	switch (place->role) {
	case MUSTER_ROLE_MEMBER:
		put_int(p, place->rank);
		put_int(p, place->ranks);
		put_int(p, place->nodes);
		put_int(p, place->trial);
		put_int(p, place->deadline_ms);
		break;
	case MUSTER_ROLE_TRAFFIC:
		put_int(p, place->probe);
		put_int(p, (int)place->kind);
		put_int(p, place->peer);
		put_int(p, place->peer_rank);
		put_int(p, place->round);
		put_int(p, place->rounds);
		put_int(p, place->deadline_ms);
		break;
	case MUSTER_ROLE_NO_TRAFFIC:
		put_int(p, place->probe);
		put_text(p, place->why);
		break;
	case MUSTER_ROLE_OVER:
	case MUSTER_ROLE_EXCLUDED: put_text(p, place->why); break;
	default: break;
	}
}

bool muster_unpack_ring_place(const char *bytes, size_t length, struct muster_ring_place *ret)
{
	struct muster_unpacker u = unpacker(bytes, length);
	*ret = (struct muster_ring_place){ .peer = -1, .peer_rank = -1, .why = "" };
	ret->role = (enum muster_ring_role)get_int(&u, 0, MUSTER_ROLE_COUNT - 1);
	switch (ret->role) {
	case MUSTER_ROLE_MEMBER:
		ret->rank = get_int(&u, 0, INT_MAX);
		ret->ranks = get_int(&u, 1, INT_MAX);
		ret->nodes = get_int(&u, 0, INT_MAX);
		ret->trial = get_int(&u, 0, 1) != 0;
		ret->deadline_ms = get_int(&u, 0, INT_MAX);
		return at_end(&u) && ret->rank < ret->ranks;
	case MUSTER_ROLE_TRAFFIC:
		ret->probe = get_int(&u, 0, INT_MAX);
		ret->kind = (enum muster_traffic_kind)get_int(&u, 0, MUSTER_TRAFFIC_KIND_COUNT - 1);
		ret->peer = get_int(&u, -1, INT_MAX);
		ret->peer_rank = get_int(&u, -1, INT_MAX);
		ret->round = get_int(&u, 0, INT_MAX);
		ret->rounds = get_int(&u, 1, INT_MAX);
		ret->deadline_ms = get_int(&u, 0, INT_MAX);
		return at_end(&u) && ret->round < ret->rounds;
	case MUSTER_ROLE_NO_TRAFFIC:
		ret->probe = get_int(&u, 0, INT_MAX);
		ret->why = get_text(&u);
		break;
	case MUSTER_ROLE_OVER:
	case MUSTER_ROLE_EXCLUDED: ret->why = get_text(&u); break;
	default: break;
	}
	return at_end(&u);
}
