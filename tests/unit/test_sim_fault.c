/* test_sim_fault.c - each fault changes what it says, and nothing else */
#include "unit/sim_fixture.h"

#include "sim/fault.h"

#include <stdlib.h>
#include <string.h>

#define SAME_NUMBER(a, b) ((a) >= (b) && (a) <= (b))

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Which facts of two clusters of equal shape differ, as "sim-1/0001:00:00.0.name " and so on. */
struct differences {
	char text[1024];
	size_t used;
};

static void differ(struct differences *d, bool same, const char *node, const char *what, const char *fact)
{
	if (!same)
		d->used += (size_t)snprintf(d->text + d->used, sizeof d->text - d->used, "%s%s/%s.%s",
			d->used ? " " : "", node, what, fact);
}

static const struct muster_sim_gpu *gpu_in(const struct muster_sim_node *node, const char *bus_id)
{
	for (size_t i = 0; i < node->gpu_count; i++)
		if (strcmp(node->gpus[i].bus_id, bus_id) == 0)
			return &node->gpus[i];
	return NULL;
}

static const struct muster_sim_port *port_in(const struct muster_sim_node *node, const char *device)
{
	for (size_t i = 0; i < node->port_count; i++)
		if (strcmp(node->ports[i].device, device) == 0)
			return &node->ports[i];
	return NULL;
}

#define TEXT(fact) differ(d, same_text(a->fact, b->fact), node, what, #fact)
#define NUMBER(fact) differ(d, SAME_NUMBER((double)a->fact, (double)b->fact), node, what, #fact)

static void compare_gpu(
	struct differences *d, const char *node, const struct muster_sim_gpu *a, const struct muster_sim_gpu *b)
{
	const char *what = a->bus_id;
	TEXT(uuid), TEXT(name), TEXT(vbios), NUMBER(memory_mib), NUMBER(numa_node), NUMBER(ecc), NUMBER(mig);
	NUMBER(pcie_gen), NUMBER(pcie_width), NUMBER(nvlinks), NUMBER(nvlinks_active), NUMBER(nvlink_mbps);
	NUMBER(throttle_reasons), NUMBER(temperature_celsius), NUMBER(power_watts);
	NUMBER(ecc_corrected_volatile), NUMBER(ecc_uncorrected_volatile), NUMBER(ecc_uncorrected_aggregate);
	NUMBER(remap_pending), NUMBER(remap_failed);
	NUMBER(h2d_gbps), NUMBER(d2h_gbps), NUMBER(h2d_together_gbps), NUMBER(d2h_together_gbps);
}

static void compare_port(
	struct differences *d, const char *node, const struct muster_sim_port *a, const struct muster_sim_port *b)
{
	const char *what = a->device;
	TEXT(pci), TEXT(link_layer), TEXT(state), TEXT(phys_state), TEXT(rate), TEXT(gid), TEXT(guid), TEXT(firmware);
	NUMBER(active_speed), NUMBER(active_width), NUMBER(active_mtu), NUMBER(lid), NUMBER(sm_lid), NUMBER(pkey_count);
}

static void compare_node(struct differences *d, const struct muster_sim_node *a, const struct muster_sim_node *b)
{
	const char *node = a->name, *what = "node";
	TEXT(os_name), TEXT(kernel), TEXT(driver_version), TEXT(nvml_version), NUMBER(cuda_driver),
		NUMBER(nccl_version);
	NUMBER(missing_library_count);
	for (size_t i = 0; i < a->gpu_count; i++) {
		const struct muster_sim_gpu *other = gpu_in(b, a->gpus[i].bus_id);
		differ(d, other != NULL, node, a->gpus[i].bus_id, "there");
		if (other)
			compare_gpu(d, node, &a->gpus[i], other);
	}
	for (size_t i = 0; i < a->port_count; i++) {
		const struct muster_sim_port *other = port_in(b, a->ports[i].device);
		differ(d, other != NULL, node, a->ports[i].device, "there");
		if (other)
			compare_port(d, node, &a->ports[i], other);
	}
}

static void compare(
	struct differences *d, const struct muster_sim_cluster *before, const struct muster_sim_cluster *after)
{
	for (size_t i = 0; i < before->node_count; i++)
		compare_node(d, &before->nodes[i], &after->nodes[i]);
	for (size_t i = 0; i < before->rank_count; i++) {
		const struct muster_sim_rank *a = &before->ranks[i], *b = &after->ranks[i];
		const char *node = before->nodes[a->node].name;
		char what[32];
		snprintf(what, sizeof what, "rank%zu", i);
		TEXT(cpu_mask), TEXT(visible_gpus), NUMBER(nccl_slow), NUMBER(nccl_wrong_sum);
	}
}

static const struct {
	const char *fault, *changes;
} table[] = {
	{ "gpu-missing@node2/gpu4", "sim-2/000b:00:00.0.there" },
	{ "gpu-name@node1/gpu0", "sim-1/0001:00:00.0.name" },
	{ "h2d-slow@node1/gpu4=11.2", "sim-1/000b:00:00.0.h2d_gbps sim-1/000b:00:00.0.h2d_together_gbps" },
	{ "h2d-slow@node1/gpu4=20", "sim-1/000b:00:00.0.h2d_gbps" },
	{ "d2h-slow@node2/gpu7", "sim-2/000e:00:00.0.d2h_gbps sim-2/000e:00:00.0.d2h_together_gbps" },
	{ "nvlink-down@node1/gpu2=3", "sim-1/0003:00:00.0.nvlinks_active" },
	{ "ecc-uncorrected@node1/gpu1=5",
		"sim-1/0002:00:00.0.ecc_uncorrected_volatile sim-1/0002:00:00.0.ecc_uncorrected_aggregate" },
	{ "ib-down@node1/mlx5_ib3", "sim-1/mlx5_ib3.state sim-1/mlx5_ib3.phys_state sim-1/mlx5_ib3.rate "
				    "sim-1/mlx5_ib3.active_speed sim-1/mlx5_ib3.lid sim-1/mlx5_ib3.sm_lid" },
	{ "ib-init@node2/mlx5_ib0", "sim-2/mlx5_ib0.state sim-2/mlx5_ib0.lid sim-2/mlx5_ib0.sm_lid" },
	{ "ib-rate@node1/mlx5_ib7", "sim-1/mlx5_ib7.rate sim-1/mlx5_ib7.active_speed" },
	{ "ib-rate@node1/mlx5_ib7=50", "sim-1/mlx5_ib7.rate sim-1/mlx5_ib7.active_width" },
	{ "ib-missing@node2/mlx5_ib5", "sim-2/mlx5_ib5.there" },
	{ "cpu-mask@rank12", "sim-2/rank12.cpu_mask" },
	{ "cpu-mask@rank3=f", "sim-1/rank3.cpu_mask" },
	{ "duplicate-gpu@rank5", "sim-1/rank5.visible_gpus" },
	{ "nccl-slow@rank3=4", "sim-1/rank3.nccl_slow" },
	{ "nccl-wrong-sum@rank9", "sim-2/rank9.nccl_wrong_sum" },
	{ "driver-drift@node2", "sim-2/node.driver_version sim-2/node.nvml_version" },
	{ "lib-missing@node1", "sim-1/node.missing_library_count" },
};

START_TEST(a_fault_changes_just_this)
{
	struct muster_sim_cluster healthy, broken;
	struct differences d = { 0 };
	struct muster_error err = { 0 };
	ck_assert_int_eq(sim_two_nodes(NULL, NULL, &healthy, &err), 0);
	ck_assert_msg(sim_two_nodes(table[_i].fault, NULL, &broken, &err) == 0, "%s", err.text);
	compare(&d, &healthy, &broken);
	ck_assert_str_eq(d.text, table[_i].changes);
	muster_sim_cluster_done(&healthy);
	muster_sim_cluster_done(&broken);
}
END_TEST

START_TEST(every_fault_of_the_table_is_tested)
{
	for (size_t k = 0; k < muster_sim_fault_kind_count(); k++) {
		const char *name = muster_sim_fault_kind_at(k)->name;
		bool found = false;
		for (size_t i = 0; i < sizeof table / sizeof *table; i++)
			found = found || (strncmp(table[i].fault, name, strlen(name)) == 0 &&
						 table[i].fault[strlen(name)] == '@');
		ck_assert_msg(found, "no test for %s", name);
	}
}
END_TEST

START_TEST(values_are_what_was_asked_for)
{
	struct muster_sim_scenario s;
	struct muster_sim_hardware hw;
	struct muster_sim_cluster c;
	struct muster_error err;
	static const char *const faults[] = { "h2d-slow@node1/gpu4=11.2", "nvlink-down@node1/gpu4=3",
		"gpu-name@node1/gpu4=Tesla = old", "nccl-slow@rank3=4", "duplicate-gpu@rank5",
		"lib-missing@node2=libcuda.so.1", "lib-missing@node2=libibverbs.so.1", "driver-drift@node2=570.1",
		"cpu-mask@rank4" };
	muster_sim_scenario_init(&s);
	s.sku = SIM_SKU;
	s.nodes = 2;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		muster_sim_scenario_add_fault(&s, faults[i]);
	ck_assert_int_eq(sim_build(&s, "/nowhere", &hw, &c, &err), 0);
	const struct muster_sim_gpu *gpu = &c.nodes[0].gpus[4];
	ck_assert_double_eq(gpu->h2d_gbps, 11.2);
	ck_assert_double_eq(gpu->h2d_together_gbps, 11.2);
	ck_assert_int_eq(gpu->nvlinks_active, 9);
	ck_assert_str_eq(gpu->name, "Tesla = old");
	ck_assert_double_eq(c.ranks[3].nccl_slow, 4);
	ck_assert_str_eq(c.ranks[5].visible_gpus, "4");
	ck_assert_str_ne(c.ranks[4].cpu_mask, "ffffff000000000000000000");
	ck_assert_uint_eq(c.nodes[1].missing_library_count, 2);
	ck_assert_str_eq(c.nodes[1].missing_libraries[0], "libcuda.so.1");
	ck_assert_str_eq(c.nodes[1].missing_libraries[1], "libibverbs.so.1");
	ck_assert_str_eq(c.nodes[1].driver_version, "570.1");
	ck_assert_str_eq(c.nodes[1].nvml_version, "13.570.1");
	muster_sim_cluster_done(&c);
	muster_sim_scenario_done(&s);
}
END_TEST

START_TEST(places_count_in_the_healthy_cluster_and_indices_close_up)
{
	struct muster_sim_scenario s;
	struct muster_sim_hardware hw;
	struct muster_sim_cluster c;
	struct muster_error err;
	muster_sim_scenario_init(&s);
	s.sku = SIM_SKU;
	s.nodes = 1;
	muster_sim_scenario_add_fault(&s, "gpu-missing@node1/gpu2");
	muster_sim_scenario_add_fault(&s, "gpu-name@node1/gpu4=this one");
	ck_assert_int_eq(sim_build(&s, "/nowhere", &hw, &c, &err), 0);
	const struct muster_sim_node *node = &c.nodes[0];
	ck_assert_uint_eq(node->gpu_count, 7);
	ck_assert_str_eq(gpu_in(node, "000b:00:00.0")->name, "this one");
	for (size_t i = 0; i < 7; i++) {
		ck_assert_int_eq(node->gpus[i].cuda_index, (int)i);
		ck_assert_int_eq(node->gpus[i].nvml_index, (int)i);
	}
	ck_assert_uint_eq(c.rank_count, 8);
	muster_sim_cluster_done(&c);
	muster_sim_scenario_done(&s);
}
END_TEST

static const struct {
	const char *fault, *said;
} wrong[] = {
	{ "h2d-slo@node1/gpu4", "no such fault; close to it: d2h-slow, h2d-slow" },
	{ "nccl@rank1", "close to it: nccl-slow, nccl-wrong-sum" },
	{ "banana@node1", "no such fault; muster sim --list-faults" },
	{ "@node1", "no such fault" },
	{ "h2d-slow", "KIND@WHERE" },
	{ "", "KIND@WHERE" },
	{ "h2d-slow@node1", "\"node1\" is no place for this fault: write one such as node1/gpu4" },
	{ "h2d-slow@rank3", "such as node1/gpu4" },
	{ "driver-drift@node1/gpu4", "such as node1" },
	{ "nccl-slow@node1", "such as rank5" },
	{ "ib-down@mlx5_ib3", "such as node1/mlx5_ib3" },
	{ "h2d-slow@node3/gpu1", "there is no node3: nodes are node1 to node2" },
	{ "h2d-slow@node0/gpu1", "there is no node0" },
	{ "h2d-slow@node1x/gpu1", "\"node1x\" is no node" },
	{ "h2d-slow@sim-1/gpu1", "\"sim-1\" is no node" },
	{ "h2d-slow@node1/gpu8", "there is no gpu8: GPUs are gpu0 to gpu7" },
	{ "h2d-slow@node1/4", "\"4\" is no GPU" },
	{ "h2d-slow@node1/gpu-1", "\"gpu-1\" is no GPU" },
	{ "ib-down@node1/mlx5_ib8", "the node has no RDMA device \"mlx5_ib8\"" },
	{ "nccl-slow@rank16", "there is no rank16: ranks are rank0 to rank15" },
	{ "nccl-slow@rank", "\"rank\" is no rank" },
	{ "h2d-slow@node1/gpu4=fast", "a number is needed" },
	{ "h2d-slow@node1/gpu4=-1", "VALUE must be from" },
	{ "h2d-slow@node1/gpu4=nan", "number" },
	{ "h2d-slow@node1/gpu4=", "VALUE (GB/s) is empty" },
	{ "ib-down@node1/mlx5_ib3=1", "takes no VALUE" },
	{ "ib-rate@node1/mlx5_ib3=77", "VALUE must be one of 10," },
	{ "nvlink-down@node1/gpu4=13", "from 1 to 12" },
	{ "nvlink-down@node1/gpu4=0", "from 1 to 12" },
	{ "ecc-uncorrected@node1/gpu4=1.5", "whole number" },
	{ "nccl-slow@rank1=0.5", "VALUE must be from 1" },
	{ "cpu-mask@rank1=xyz", "mask" },
	{ "cpu-mask@rank1=0", "holds no CPU" },
	{ "cpu-mask@rank1=1000000000000000000000000", "CPUs that the node has not: 96" },
	{ "duplicate-gpu@rank8", "the first rank of its node" },
	{ "lib-missing@node1=libfoo.so", "VALUE must be one of libcuda.so.1" },
	{ "driver-drift@node1=new", "VALUE must be a version" },
};

START_TEST(a_wrong_fault_is_a_usage_error_that_names_it)
{
	struct muster_sim_cluster c;
	struct muster_error err;
	ck_assert_int_eq(sim_two_nodes(wrong[_i].fault, NULL, &c, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, wrong[_i].said), "%s", err.text);
	ck_assert_msg(strstr(err.text, wrong[_i].fault), "%s", err.text);
	ck_assert_ptr_null(strchr(err.text, '\n'));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim_fault");
	TCase *tcase = tcase_create("fault");
	tcase_add_loop_test(tcase, a_fault_changes_just_this, 0, sizeof table / sizeof *table);
	tcase_add_test(tcase, every_fault_of_the_table_is_tested);
	tcase_add_test(tcase, values_are_what_was_asked_for);
	tcase_add_test(tcase, places_count_in_the_healthy_cluster_and_indices_close_up);
	tcase_add_loop_test(tcase, a_wrong_fault_is_a_usage_error_that_names_it, 0, sizeof wrong / sizeof *wrong);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
