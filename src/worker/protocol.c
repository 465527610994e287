/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.c - the commands to a worker and its answers as JSON
 *
 * One table of fields for each struct, from which both sides work: the sender writes a struct by it, the receiver reads
 * it. A row is a key, a member of the struct and its kind; a key that differs from the member's name stands in the row.
 * Tables of type OPEN skip keys that they do not have, such as "do" and "probe", which have no field. An example:
 *
 *   {"do":"ring","probe":"nccl_allreduce","ring_part":0,"ring_rank":3,"ring_ranks":8,"ring_nodes":1,
 *    "timeout_ms":59000,"ring_trial":false,"ring_ids":"1f0a…"}
 */
#include "worker/protocol.h"

#include "json/object.h"

static const struct muster_field figure_fields[] = {
	{ MUSTER_FIELD(muster_ring_figure, bytes, WORD) },
	{ MUSTER_FIELD(muster_ring_figure, rate, NUMBER) },
};
static const struct muster_object_type figure_type = MUSTER_OBJECT_TYPE(muster_ring_figure, figure_fields);

#define ANSWER(member, kind) MUSTER_FIELD(muster_worker_answer, member, kind), .optional = true
static const struct muster_field answer_fields[] = {
	{ ANSWER(code, TEXT) },
	{ ANSWER(error, TEXT) },
	{ ANSWER(ring_id, TEXT) },
	{ ANSWER(gpus, INT), .absent = -1 },
	{ ANSWER(gpu, TEXT) },
	{ ANSWER(uuid, TEXT) },
	{ ANSWER(path, TEXT) },
	{ ANSWER(agree, TEXT) },
	{ ANSWER(why_none, TEXT) },
	{ ANSWER(simulated, BOOLEAN) },
	{ ANSWER(figures, OBJECT), MUSTER_FIELD_MANY(muster_worker_answer, figure_count),
		.most = MUSTER_RING_FIGURES_MAX, .object = &figure_type },
};
const struct muster_object_type muster_worker_answer_type =
	MUSTER_OBJECT_TYPE_OPEN(muster_worker_answer, answer_fields);

static const struct muster_field take_fields[] = {
	{ MUSTER_FIELD_AS(muster_take, "rank", env.rank, INT) },
	{ MUSTER_FIELD_AS(muster_take, "ranks", env.ranks, INT) },
	{ MUSTER_FIELD_AS(muster_take, "local_rank", env.local_rank, INT) },
	{ MUSTER_FIELD_AS(muster_take, "local_ranks", env.local_ranks, INT) },
	{ MUSTER_FIELD_AS(muster_take, "node_index", env.node_index, INT) },
	{ MUSTER_FIELD_AS(muster_take, "nodes", env.nodes, INT) },
	{ MUSTER_FIELD_AS(muster_take, "node", env.node_name, TEXT) },
	{ MUSTER_FIELD_AS(muster_take, "leader", env.leader, BOOLEAN) },
	{ MUSTER_FIELD_AS(muster_take, "in_job", env.in_job, BOOLEAN) },
	{ MUSTER_FIELD_AS(muster_take, "shared", env.shared, BOOLEAN) },
	{ MUSTER_FIELD_AS(muster_take, "profile", env.profile, INT) },
	{ MUSTER_FIELD_AS(muster_take, "min_bytes", env.min_bytes, WORD) },
	{ MUSTER_FIELD_AS(muster_take, "max_bytes", env.max_bytes, WORD) },
	{ MUSTER_FIELD_AS(muster_take, "repeats", env.repeats, INT) },
	{ MUSTER_FIELD_AS(muster_take, "soak", env.soak_s, INT) },
	{ MUSTER_FIELD_AS(muster_take, "steps", env.steps, INT) },
	{ MUSTER_FIELD_AS(muster_take, "long_steps", env.long_steps, BOOLEAN) },
	{ MUSTER_FIELD_AS(muster_take, "storage", env.storage, BOOLEAN) },
	{ MUSTER_FIELD_AS(muster_take, "broadcast", env.broadcast, BOOLEAN) },
	{ MUSTER_FIELD_AS(muster_take, "storage_path", env.storage_path, TEXT), .optional = true },
	{ MUSTER_FIELD_AS(muster_take, "storage_bytes", env.storage_bytes, WORD) },
	{ MUSTER_FIELD_AS(muster_take, "checkpoint_path", env.checkpoint_path, TEXT), .optional = true },
	{ MUSTER_FIELD_AS(muster_take, "checkpoint_bytes", env.checkpoint_bytes, WORD) },
	{ MUSTER_FIELD_AS(muster_take, "broadcast_file", env.broadcast_file, TEXT), .optional = true },
	{ MUSTER_FIELD_AS(muster_take, "expect_paths", env.expect_paths, TEXT),
		MUSTER_FIELD_MANY(muster_take, env.expect_path_count) },
	{ MUSTER_FIELD(muster_take, why_skipped, TEXT) },
	{ MUSTER_FIELD(muster_take, skipped_at, TEXT) },
};
const struct muster_object_type muster_take_type = MUSTER_OBJECT_TYPE_OPEN(muster_take, take_fields);

static const struct muster_field peer_fields[] = {
	{ MUSTER_FIELD(muster_peer, rank, INT) },
	{ MUSTER_FIELD(muster_peer, local_rank, INT) },
	{ MUSTER_FIELD_AS(muster_peer, "gpu", gpu_bus_id, TEXT) },
	{ MUSTER_FIELD_AS(muster_peer, "uuid", gpu_uuid, TEXT) },
};
static const struct muster_object_type peer_type = MUSTER_OBJECT_TYPE_OPEN(muster_peer, peer_fields);

static const struct muster_field peers_fields[] = {
	{ MUSTER_FIELD(muster_probe_env, peers, OBJECT), MUSTER_FIELD_MANY(muster_probe_env, peer_count),
		.object = &peer_type },
};
const struct muster_object_type muster_peers_type = MUSTER_OBJECT_TYPE_OPEN(muster_probe_env, peers_fields);

static const struct muster_field visit_fields[] = {
	{ MUSTER_FIELD(muster_probe_env, visit, INT) },
};
const struct muster_object_type muster_visit_type = MUSTER_OBJECT_TYPE_OPEN(muster_probe_env, visit_fields);

static const struct muster_field ring_fields[] = {
	{ MUSTER_FIELD_AS(muster_ring_command, "ring_part", ring.part, INT) },
	{ MUSTER_FIELD_AS(muster_ring_command, "ring_rank", ring.rank, INT) },
	{ MUSTER_FIELD_AS(muster_ring_command, "ring_ranks", ring.ranks, INT) },
	{ MUSTER_FIELD_AS(muster_ring_command, "ring_nodes", ring.nodes, INT) },
	{ MUSTER_FIELD_AS(muster_ring_command, "timeout_ms", ring.timeout_ms, INT) },
	{ MUSTER_FIELD_AS(muster_ring_command, "ring_trial", ring.trial, BOOLEAN) },
	{ MUSTER_FIELD_AS(muster_ring_command, "ring_ids", ids, TEXT) },
};
const struct muster_object_type muster_ring_type = MUSTER_OBJECT_TYPE_OPEN(muster_ring_command, ring_fields);

static const struct muster_field traffic_fields[] = {
	{ MUSTER_FIELD(muster_traffic, kind, TEXT) },
	{ MUSTER_FIELD(muster_traffic, peer, INT) },
	{ MUSTER_FIELD(muster_traffic, round, INT) },
	{ MUSTER_FIELD(muster_traffic, rounds, INT) },
	{ MUSTER_FIELD(muster_traffic, visit, INT) },
	{ MUSTER_FIELD(muster_traffic, timeout_ms, INT) },
};
const struct muster_object_type muster_traffic_type = MUSTER_OBJECT_TYPE_OPEN(muster_traffic, traffic_fields);
