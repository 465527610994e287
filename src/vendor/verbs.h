/* SPDX-License-Identifier: Apache-2.0 */
/* verbs.h - libibverbs, opened at run time; its structs come from the package's own header */
#ifndef MUSTER_VENDOR_VERBS_H
#define MUSTER_VENDOR_VERBS_H

#include "muster/error.h"

#include <infiniband/verbs.h>

struct muster_verbs {
	struct ibv_device **(*get_device_list)(int *count);
	void (*free_device_list)(struct ibv_device **list);
	const char *(*get_device_name)(struct ibv_device *device);
	struct ibv_context *(*open_device)(struct ibv_device *device);
	int (*close_device)(struct ibv_context *context);
	/* the compat entry fills only the old, shorter struct: call muster_verbs_query_port instead */
	int (*query_port_compat)(struct ibv_context *context, uint8_t port, void *attr);
};

/* The functions (each with its symbol version), opened on the first call; NULL with err when something is missing. */
const struct muster_verbs *muster_verbs(struct muster_error *err);

/* Zeroes attr, then asks the context's own operation when it has one (all fields), else the compat entry. 0 or errno.
 */
int muster_verbs_query_port(
	const struct muster_verbs *verbs, struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);

#endif
