/* SPDX-License-Identifier: Apache-2.0 */
/* verbs.c - libibverbs, opened at run time
 *
 * Every symbol is asked for with its version: the library also carries 1.0 functions of the same names, for structs of
 * another layout.
 */
#include "vendor/verbs.h"
#include "vendor/library.h"

#include <string.h>

static struct muster_verbs functions;

static const struct muster_symbol symbols[] = {
	{ .name = "ibv_get_device_list", .version = "IBVERBS_1.1", .address = &functions.get_device_list },
	{ .name = "ibv_free_device_list", .version = "IBVERBS_1.1", .address = &functions.free_device_list },
	{ .name = "ibv_get_device_name", .version = "IBVERBS_1.1", .address = &functions.get_device_name },
	{ .name = "ibv_open_device", .version = "IBVERBS_1.1", .address = &functions.open_device },
	{ .name = "ibv_close_device", .version = "IBVERBS_1.1", .address = &functions.close_device },
	{ .name = "ibv_query_port", .version = "IBVERBS_1.1", .address = &functions.query_port_compat },
};

struct muster_library muster_verbs_library = {
	.title = "libibverbs",
	.soname = "libibverbs.so.1",
	.oldest = "libibverbs 1.1",
	MUSTER_SYMBOLS(symbols),
};

const struct muster_verbs *muster_verbs(struct muster_error *err)
{
	return muster_library_open(&muster_verbs_library, err) < 0 ? NULL : &functions;
}

/* verbs_get_ctx_op finds the provider's own operation, which knows the size of the struct that it fills in. The
 * exported function is for programs that were built with the older, shorter struct. */
int muster_verbs_query_port(
	const struct muster_verbs *verbs, struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	struct verbs_context *extended = __extension__ verbs_get_ctx_op(context, query_port);
	memset(attr, 0, sizeof *attr);
	if (extended)
		return extended->query_port(context, port, attr, sizeof *attr);
	return verbs->query_port_compat(context, port, attr);
}
