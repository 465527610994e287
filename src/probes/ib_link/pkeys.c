/* pkeys.c - a port's partition keys */
#include "probes/ib_link/ports.h"

#include "system/sysfs.h"
#include "util/sort.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* The partitions that the port has keys of, each once and in order: the key without the bit that says how the port is a
 * member. Every port may have a key of the default partition beside its own. */
static char *partitions_text(int *keys, size_t count)
{
	char *list = muster_strdup("");
	for (size_t i = 0; i < count; i++)
		keys[i] &= 0x7fff;
	if (count > 0)
		qsort(keys, count, sizeof *keys, muster_by_int);
	for (size_t i = 0; i < count; i++) {
		if (keys[i] == 0x7fff || (i > 0 && keys[i] == keys[i - 1]))
			continue;
		char *longer = muster_asprintf("%s%s0x%04x", list, *list ? " " : "", (unsigned int)keys[i]);
		free(list);
		list = longer;
	}
	return list;
}

void muster_rdma_pkeys_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port)
{
	char path[PATH_MAX], file[PATH_MAX], text[64];
	struct muster_names names = { 0 };
	struct muster_error why;
	bool full_member = false;
	size_t count = 0;
	char *list = muster_strdup("");
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
		char *longer = muster_asprintf("%s%s0x%04lx", list, *list ? " " : "", key);
		free(list);
		list = longer;
	}
	char *partitions = partitions_text(keys, count);
	muster_rdma_emit(ctx, port, "port.pkeys", result, muster_string(*list ? list : "none"), why.text);
	muster_rdma_emit(ctx, port, "port.full_member", result, muster_boolean(full_member), why.text);
	muster_rdma_emit(ctx, port, "port.partitions", result,
		muster_string(*partitions ? partitions
			      : count > 0 ? "default"
					  : "none"),
		why.text);
	free(partitions);
	free(keys);
	free(list);
	muster_names_done(&names);
}
