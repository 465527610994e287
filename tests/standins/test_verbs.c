/* SPDX-License-Identifier: Apache-2.0 */
/* test_verbs.c - libibverbs.so.1's stand-in gives the structs of infiniband/verbs.h, by versioned symbols
 */
#include "standins/example.h"

#include <infiniband/verbs.h>

#include "check_main.h"
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#undef ibv_get_device_list
#undef ibv_query_port

static struct {
	struct ibv_device **(*get_device_list)(int *count);
	void (*free_device_list)(struct ibv_device **list);
	const char *(*get_device_name)(struct ibv_device *device);
	struct ibv_context *(*open_device)(struct ibv_device *device);
	int (*close_device)(struct ibv_context *context);
	int (*query_port)(struct ibv_context *context, uint8_t port, void *attr);
} verbs;

static void find(void *library, const char *name, void *ret, size_t size)
{
	void *function = dlvsym(library, name, "IBVERBS_1.1");
	ck_assert_msg(function != NULL, "there is no %s@IBVERBS_1.1", name);
	ck_assert_ptr_null(dlvsym(library, name, "IBVERBS_1.0"));
	memcpy(ret, &function, size);
}

static void start(void)
{
	example_start(example_cluster(), 0);
	void *library = example_open("libibverbs.so.1");
	find(library, "ibv_get_device_list", &verbs.get_device_list, sizeof verbs.get_device_list);
	find(library, "ibv_free_device_list", &verbs.free_device_list, sizeof verbs.free_device_list);
	find(library, "ibv_get_device_name", &verbs.get_device_name, sizeof verbs.get_device_name);
	find(library, "ibv_open_device", &verbs.open_device, sizeof verbs.open_device);
	find(library, "ibv_close_device", &verbs.close_device, sizeof verbs.close_device);
	find(library, "ibv_query_port", &verbs.query_port, sizeof verbs.query_port);
}

static struct ibv_context *open_first(void)
{
	struct ibv_device **list = verbs.get_device_list(NULL);
	struct ibv_context *context = verbs.open_device(list[0]);
	ck_assert_ptr_nonnull(context);
	verbs.free_device_list(list);
	return context;
}

TEST(ports_of_one_device_belong_together)
{
	int count = -1;
	struct ibv_device **list = verbs.get_device_list(&count);
	ck_assert_int_eq(count, 2);
	ck_assert_str_eq(verbs.get_device_name(list[0]), "mlx5_ib0");
	ck_assert_str_eq(verbs.get_device_name(list[1]), "mlx5_an0");
	ck_assert_ptr_null(list[2]);
	struct ibv_context *context = verbs.open_device(list[0]);
	ck_assert_int_eq(verbs.close_device(context), 0);
	verbs.free_device_list(list);
}

TEST(a_node_without_ports_has_an_empty_list)
{
	struct muster_sim_cluster *cluster = example_cluster();
	int count = -1;
	example_end();
	cluster->nodes[0].port_count = 0;
	example_start(cluster, 0);
	struct ibv_device **list = verbs.get_device_list(&count);
	ck_assert_int_eq(count, 0);
	ck_assert_ptr_null(list[0]);
	verbs.free_device_list(list);
}

TEST(the_contexts_own_operation_gives_every_field)
{
	struct ibv_context *context = open_first();
	struct ibv_port_attr attr;
	struct verbs_context *own = verbs_get_ctx(context);
	ck_assert_ptr_nonnull(own);
	ck_assert_uint_ge(own->sz, sizeof *own - offsetof(struct verbs_context, query_port)); /* as verbs_get_ctx_op */
	memset(&attr, 0xff, sizeof attr);
	ck_assert_int_eq(own->query_port(context, 1, &attr, sizeof attr), 0);
	ck_assert_int_eq(attr.state, IBV_PORT_ACTIVE);
	ck_assert_int_eq(attr.phys_state, 5);
	ck_assert_int_eq(attr.active_mtu, IBV_MTU_4096);
	ck_assert_int_eq(attr.active_speed, 64);
	ck_assert_int_eq(attr.active_width, 2);
	ck_assert_int_eq(attr.lid, 17);
	ck_assert_int_eq(attr.sm_lid, 1);
	ck_assert_int_eq(attr.pkey_tbl_len, 2);
	ck_assert_int_eq(attr.link_layer, IBV_LINK_LAYER_INFINIBAND);
	ck_assert_int_eq(attr.port_cap_flags2, 0);
	ck_assert_int_eq(own->query_port(context, 2, &attr, sizeof attr), 0);
	ck_assert_int_eq(attr.state, IBV_PORT_INIT);
	ck_assert_int_eq(attr.phys_state, 2);
	ck_assert_int_eq(own->query_port(context, 3, &attr, sizeof attr), EINVAL);
	verbs.close_device(context);
}

TEST(the_old_entry_leaves_newer_fields_alone)
{
	struct ibv_context *context = open_first();
	struct ibv_port_attr attr;
	memset(&attr, 0xff, sizeof attr);
	ck_assert_int_eq(verbs.query_port(context, 1, &attr), 0);
	ck_assert_int_eq(attr.state, IBV_PORT_ACTIVE);
	ck_assert_int_eq(attr.flags, 0);
	ck_assert_int_eq(attr.port_cap_flags2, 0xffff);
	verbs.close_device(context);
}

TEST_MAIN(.setup = start, .teardown = example_end)
