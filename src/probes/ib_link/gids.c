/* SPDX-License-Identifier: Apache-2.0 */
/* gids.c - the RoCE v2 entry of a port's table of GIDs, and the port's partition keys
 *
 * RoCE v2 is routed by IP; NCCL takes the GID of an IPv4 address where there is one (ncclIbGetGidIndex of NCCL's
 * net_ib), unless NCCL_IB_GID_INDEX names an entry.
 *
 * What is emitted, by what the port is:
 *
 *   port                                          port.gid_roce_v2   port.roce_v2
 *   not Ethernet, or an iWARP device              null               null
 *   no entry of the table can be read             null               null
 *   an entry of RoCE v2                           its index          true
 *   no entry of RoCE v2, port ACTIVE              null               false
 *   no entry of RoCE v2, port not ACTIVE          null               null: such a port has lost its addresses
 *
 * Partition keys: bits 0 to 14 are the partition, bit 15 says that the port is a full member. 0x7fff and 0xffff are the
 * default partition, 0 is an empty entry. An example:
 *
 *   table             port.pkeys             port.partitions   port.full_member
 *   0x8012 0xffff 0   "0x8012 0xffff"        "0x0012"          true
 *   0x0012 0x7fff 0   "0x0012 0x7fff"        "0x0012"          false
 *   0xffff 0          "0xffff"               "default"         false
 */
#include "probes/ib_link/ports.h"

#include "system/sysfs.h"
#include "util/array.h"
#include "util/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How well other hosts can be reached from a GID: 3 an IPv4 address (mapped to IPv6), 2 an IPv6 address that is routed,
 * 1 a link-local one, 0 an empty entry. */
static int reach(const char *gid)
{
	static const char ipv4[] = "0000:0000:0000:0000:0000:ffff:", link_local[] = "fe80:";
	if (strspn(gid, "0:") == strlen(gid))
		return 0;
	if (strncmp(gid, ipv4, sizeof ipv4 - 1) == 0)
		return 3;
	return strncmp(gid, link_local, sizeof link_local - 1) == 0 ? 1 : 2;
}

/* ret_index: the RoCE v2 entry with the best reach, and the first of several; -1 when there is none. Returns -1 with
 * err when no entry of any type can be read: the table then says nothing. */
static int find_entry(
	struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, long *ret_index, struct muster_error *err)
{
	char path[PATH_MAX], type[64], gid[64], file[300];
	struct muster_names entries;
	size_t known = 0;
	int best = 0;
	*ret_index = -1;
	if (muster_sysfs_names(muster_rdma_path(ctx, port, true, "gid_attrs/types", path, sizeof path), &entries, err) <
		0)
		return -1;
	for (size_t i = 0; i < entries.count && best < 3; i++) {
		long index;
		snprintf(file, sizeof file, "gid_attrs/types/%s", entries.items[i]);
		/* an empty entry cannot be read, nor one that belongs to another network namespace */
		if (muster_parse_int(entries.items[i], 0, INT_MAX, &index, "index", NULL) < 0 ||
			muster_rdma_line(ctx, port, true, file, type, sizeof type, NULL) < 0)
			continue;
		snprintf(file, sizeof file, "gids/%s", entries.items[i]);
		if (muster_rdma_line(ctx, port, true, file, gid, sizeof gid, NULL) < 0)
			continue;
		known++;
		int its = strcmp(type, "RoCE v2") == 0 ? reach(gid) : 0;
		if (its > best) {
			best = its;
			*ret_index = index;
		}
	}
	muster_names_done(&entries);
	return known > 0 ? 0 : muster_fail(err, MUSTER_EIO, "%s has no entry that can be read", path);
}

void muster_rdma_gids_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port)
{
	char state[64], node_type[64] = "";
	long index = -1;
	struct muster_error why;
	int found = 0, active = 0;
	if (strcmp(port->link_layer, "Ethernet") != 0)
		found = muster_fail(
			&why, MUSTER_ENOTSUPPORTED, "only Ethernet has RoCE; this port is %s", port->link_layer);
	else if (muster_rdma_line(ctx, port, false, "node_type", node_type, sizeof node_type, NULL) == 0 &&
		 strstr(node_type, "RNIC"))
		found = muster_fail(&why, MUSTER_ENOTSUPPORTED, "%s is an iWARP device", port->device);
	else
		found = find_entry(ctx, port, &index, &why);
	if (found == 0 && index < 0)
		muster_fail(&why, MUSTER_ENOTSUPPORTED, "no GID of the port is of RoCE v2");
	muster_rdma_emit(ctx, port, "port.gid_roce_v2", index < 0 ? -1 : 0, muster_number((double)index), &why);
	if (found == 0 && index < 0) /* a port that is down has lost its addresses */
		active = muster_rdma_line(ctx, port, true, "state", state, sizeof state, &why);
	if (found == 0 && index < 0 && active == 0 && strcmp(muster_rdma_after_colon(state), "ACTIVE") != 0)
		active = muster_fail(&why, MUSTER_ENOTSUPPORTED, "the port is %s", muster_rdma_after_colon(state));
	muster_rdma_emit(ctx, port, "port.roce_v2", found < 0 || active < 0 ? -1 : 0, muster_boolean(index >= 0), &why);
}

/* ---- a port's partition keys ---- */

/* The partitions of the keys, each once and in ascending order, without the default partition, of which every port may
 * have a key. NULL: there is no other. The caller frees. keys: replaced by their partitions, and sorted. */
static char *partitions_text(int *keys, size_t count)
{
	char *list = NULL;
	for (size_t i = 0; i < count; i++)
		keys[i] &= 0x7fff;
	if (count > 0)
		qsort(keys, count, sizeof *keys, muster_by_int);
	for (size_t i = 0; i < count; i++)
		if (keys[i] != 0x7fff && (i == 0 || keys[i] != keys[i - 1]))
			muster_list_add(&list, " ", "0x%04x", (unsigned int)keys[i]);
	return list;
}

/* One key that cannot be read makes all three metrics null: a list with a gap would look like a port of fewer
 * partitions. */
void muster_rdma_pkeys_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port)
{
	char path[PATH_MAX], file[PATH_MAX], text[64];
	struct muster_names names = { 0 };
	struct muster_error why;
	bool full_member = false;
	size_t count = 0;
	char *list = NULL;
	int result = muster_sysfs_names(muster_rdma_path(ctx, port, true, "pkeys", path, sizeof path), &names, &why);
	int *keys = muster_calloc(names.count + 1, sizeof *keys);
	if (result == 0 && names.count == 0)
		result = muster_fail(&why, MUSTER_EIO, "%s has no entries", path);
	for (size_t i = 0; result == 0 && i < names.count; i++) {
		long key = 0;
		snprintf(text, sizeof text, "pkeys/%s", names.items[i]);
		result = muster_sysfs_number(muster_rdma_path(ctx, port, true, text, file, sizeof file), &key, &why);
		if (result < 0 || key == 0)
			continue;
		keys[count++] = (int)(key & 0xffff);
		full_member = full_member || (key != 0xffff && (key & 0x8000));
		muster_list_add(&list, " ", "0x%04lx", key);
	}
	char *partitions = partitions_text(keys, count);
	muster_rdma_emit(ctx, port, "port.pkeys", result, muster_string(list ? list : "none"), &why);
	muster_rdma_emit(ctx, port, "port.full_member", result, muster_boolean(full_member), &why);
	muster_rdma_emit(ctx, port, "port.partitions", result,
		muster_string(partitions  ? partitions
			      : count > 0 ? "default"
					  : "none"),
		&why);
	free(partitions);
	free(keys);
	free(list);
	muster_names_done(&names);
}
