/* SPDX-License-Identifier: Apache-2.0 */
/* membership.c - the ranks that said hello, their nodes, the leader of each node
 *
 * A node is a pair of a name and a boot id, which is another one for each kernel that runs: two hosts that share a name
 * are two nodes. An example with five ranks; rank 3 has sent no hello:
 *
 *   rank     0   1   2   4          nodes     0: a      1: b      2: a#2
 *   name     a   b   a   a          leaders   0         1         4
 *   boot id  x   y   x   z          by_node   0 2       1         4
 *                                   first     0         2         3         (4)
 */
#include "coord/membership.h"

#include "util/log.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void muster_membership_init(struct muster_membership *m, int ranks, struct muster_arena *arena)
{
	*m = (struct muster_membership){
		.arena = arena, .ranks = ranks, .members = muster_calloc((size_t)ranks, sizeof *m->members)
	};
}

void muster_membership_done(struct muster_membership *m)
{
	free(m->members);
	free(m->leaders);
	free(m->by_node);
	free(m->first);
	free(m->names);
	*m = (struct muster_membership){ 0 };
}

bool muster_membership_hello(struct muster_membership *m, int rank, const char *node, const char *host)
{
	struct muster_member *member = &m->members[rank];
	if (member->here || member->gone)
		return false;
	member->here = true;
	member->host = muster_arena_string(m->arena, host);
	member->node = muster_arena_string(m->arena, node);
	m->here_count++;
	return true;
}

/* A rank that said hello before it died is taken back. */
void muster_membership_gone(struct muster_membership *m, int rank)
{
	struct muster_member *member = &m->members[rank];
	m->here_count -= member->here;
	m->gone_count += !member->gone;
	member->here = false;
	member->gone = true;
}

bool muster_membership_complete(const struct muster_membership *m)
{
	return m->here_count + m->gone_count >= m->ranks;
}

/* ---- nodes ---- */

/* A host and its node, or, without a host, a name and how many hosts have it. Names are interned: equal texts are equal
 * pointers. */
struct slot {
	const char *node, *host;
	size_t value;
	bool used;
};

struct table { /* open addressing; a power of two, at most half full */
	struct slot *slots;
	size_t room;
};

/* The slot; *ret_new: it was created by this call. */
static struct slot *slot_get(struct table *table, const char *node, const char *host, bool *ret_new)
{
	uint64_t hash = ((uint64_t)(uintptr_t)node ^ (uint64_t)(uintptr_t)host * 31) * 0x9e3779b97f4a7c15u;
	size_t at = (size_t)(hash >> 24) & (table->room - 1);
	while (table->slots[at].used && (table->slots[at].node != node || table->slots[at].host != host))
		at = (at + 1) & (table->room - 1);
	*ret_new = !table->slots[at].used;
	if (*ret_new)
		table->slots[at] = (struct slot){ .node = node, .host = host, .used = true };
	return &table->slots[at];
}

/* The node's name for a new host: the first host keeps its name, others get a name that no node has. */
static const char *name_host(struct muster_membership *m, struct table *table, const char *node)
{
	const char *name;
	bool is_new;
	size_t hosts = ++slot_get(table, node, NULL, &is_new)->value, number = hosts;
	if (hosts == 1)
		return node;
	do {
		name = muster_arena_printf(m->arena, "%s#%zu", node, number++);
		(void)slot_get(table, name, NULL, &is_new);
	} while (!is_new);
	muster_log(
		MUSTER_LOG_WARN, NULL, "%zu hosts have the name %s; here one of them is named %s", hosts, node, name);
	return name;
}

/* Node indices in the order of their lowest rank. */
static void number_nodes(struct muster_membership *m)
{
	struct table table = { .room = 16 };
	while (table.room < 4 * (size_t)m->ranks)
		table.room *= 2;
	table.slots = muster_calloc(table.room, sizeof *table.slots);
	bool new_host;
	for (int rank = 0; rank < m->ranks; rank++) /* names that no host can get */
		if (m->members[rank].here)
			(void)slot_get(&table, m->members[rank].node, NULL, &new_host);
	for (int rank = 0; rank < m->ranks; rank++) {
		struct muster_member *member = &m->members[rank];
		if (!member->here)
			continue;
		struct slot *host = slot_get(&table, member->node, member->host, &new_host);
		if (new_host) {
			host->value = m->node_count++;
			m->leaders[host->value] = rank;
			m->names[host->value] = name_host(m, &table, member->node);
		}
		member->node_index = (int)host->value;
	}
	free(table.slots);
}

/* by_node is a counting sort: m->first has two more entries than nodes, so that the sums, which end one place too far
 * to the right, are moved into their places while the ranks are put in. */
void muster_membership_close(struct muster_membership *m)
{
	m->leaders = muster_calloc((size_t)m->ranks, sizeof *m->leaders);
	m->names = muster_calloc((size_t)m->ranks, sizeof *m->names);
	m->by_node = muster_calloc((size_t)m->ranks, sizeof *m->by_node);
	number_nodes(m);
	m->first = muster_calloc(m->node_count + 2, sizeof *m->first);
	for (int rank = 0; rank < m->ranks; rank++)
		if (m->members[rank].here)
			m->first[m->members[rank].node_index + 2]++;
	for (size_t i = 2; i < m->node_count + 2; i++)
		m->first[i] += m->first[i - 1];
	for (int rank = 0; rank < m->ranks; rank++) {
		struct muster_member *member = &m->members[rank];
		if (!member->here)
			continue;
		m->by_node[m->first[member->node_index + 1]++] = rank;
		member->node = m->names[member->node_index];
	}
}

const int *muster_membership_ranks(const struct muster_membership *m, size_t node, size_t *ret_count)
{
	*ret_count = m->first[node + 1] - m->first[node];
	return m->by_node + m->first[node];
}
