/* SPDX-License-Identifier: Apache-2.0 */
/* test_metric.c - what follows from the rows of metrics and of labels */
#include "muster/probe.h"

#include "check_main.h"

static const struct {
	const char *metric;
	enum muster_worse worse;
} sides[] = {
	{ "gpu.h2d_gbps", MUSTER_WORSE_BELOW },
	{ "gpu.gemm_bf16_tflops", MUSTER_WORSE_BELOW },
	{ "gpu.nvlinks", MUSTER_WORSE_BELOW },
	{ "nccl.allreduce_p99_us", MUSTER_WORSE_ABOVE },
	{ "rank.compute_ms", MUSTER_WORSE_ABOVE },
	{ "gpu.load_seconds", MUSTER_WORSE_ABOVE },
	{ "gpu.ecc_corrected_increase", MUSTER_WORSE_ABOVE },
	{ "gpu.temperature_celsius", MUSTER_WORSE_NEITHER },
	{ "gpu.pcie_limit_gbps", MUSTER_WORSE_NEITHER },
	{ "node.cpus", MUSTER_WORSE_NEITHER },
	{ "gpu.copy_intact", MUSTER_WORSE_NEITHER },
	{ "node.driver_version", MUSTER_WORSE_NEITHER },
};

TEST_EACH(a_value_is_worse_on_one_side, sides)
{
	ck_assert_int_eq(muster_metric_worse(muster_metric_find(sides[_i].metric)), sides[_i].worse);
}

static const struct {
	const char *metric;
	bool speed, scatters;
	double noise;
} kinds[] = {
	{ "gpu.h2d_gbps", true, true, 0.08 },
	{ "gpu.h2d_together_gbps", true, true, 0.25 },
	{ "gpu.gemm_bf16_tflops", true, true, 0.08 },
	{ "gpu.pcie_limit_gbps", false, true, 0.08 },
	{ "port.rate_gbps", false, false, 0.08 },
	{ "pair.exchange_us", false, true, 0.08 },
	{ "gpu.nvlinks", false, false, 0.08 },
	{ "rank.allreduce_wrong", false, false, 0.08 },
	{ "gpu.copy_mib", false, false, 0.08 },
	{ "gpu.copy_intact", false, false, 0.08 },
};

TEST_EACH(a_metric_is_a_speed_or_scatters, kinds)
{
	const struct muster_metric *metric = muster_metric_find(kinds[_i].metric);
	ck_assert_int_eq(muster_metric_is_speed(metric), kinds[_i].speed);
	ck_assert_int_eq(muster_metric_scatters(metric), kinds[_i].scatters);
	ck_assert_double_eq(muster_metric_noise(metric, false), kinds[_i].noise);
	ck_assert_double_eq(muster_metric_noise(metric, true), kinds[_i].noise > 0.2 ? kinds[_i].noise : 0.05);
}

static const struct {
	const char *name;
	enum muster_role role;
	enum muster_type type;
	bool of_place, variant;
} labels[] = {
	{ "gpu", MUSTER_ROLE_PLACE, MUSTER_STRING, true, false },
	{ "link_layer", MUSTER_ROLE_OF_PLACE, MUSTER_STRING, true, true },
	{ "nic", MUSTER_ROLE_PART, MUSTER_STRING, false, false },
	{ "peer_gpu", MUSTER_ROLE_PEER, MUSTER_STRING, false, false },
	{ "transport", MUSTER_ROLE_ROUTE, MUSTER_STRING, false, true },
	{ "link", MUSTER_ROLE_NOTE, MUSTER_STRING, false, false },
	{ "bytes", MUSTER_ROLE_KEY, MUSTER_NUMBER, false, true },
	{ "numa_node", MUSTER_ROLE_KEY, MUSTER_NUMBER, false, false },
	{ "library", MUSTER_ROLE_KEY, MUSTER_STRING, false, false },
};

TEST_EACH(a_label_has_a_role, labels)
{
	const struct muster_label_row *row = muster_label_find(labels[_i].name);
	ck_assert_int_eq(muster_label_role(labels[_i].name), labels[_i].role);
	ck_assert_int_eq(row->type, labels[_i].type);
	ck_assert_int_eq(muster_label_is_of_place(labels[_i].name), labels[_i].of_place);
	ck_assert_int_eq(row->variant, labels[_i].variant);
}

TEST(an_unknown_label_is_a_key_and_has_no_row)
{
	ck_assert_ptr_null(muster_label_find("gp"));
	ck_assert_int_eq(muster_label_role("gp"), MUSTER_ROLE_KEY);
	ck_assert(muster_metric_has_peer(muster_metric_find("pair.exchange_us")));
	ck_assert(!muster_metric_has_peer(muster_metric_find("gpu.h2d_gbps")));
}

TEST_MAIN(.setup = NULL)
