/* SPDX-License-Identifier: Apache-2.0 */
/* test_thresholds.c - numbers of the shipped checks, by what their sources call healthy and sick */
#include "check_main.h"
#include "run_text.h"

#define RANK "a/0 = 0001:00:00.0 u0\n"
#define GPU(metric, value) RANK "a/0 " metric " gpu=0001:00:00.0 " value "\n"
#define ONE(rank, metric, value) "a/" rank " " metric " gpu=000" rank ":00:00.0 " value "\n"
/* Eight GPUs, and what the last one has. */
#define EIGHT(metric, value, last)                                                                                     \
	ONE("0", metric, value)                                                                                        \
	ONE("1", metric, value)                                                                                        \
	ONE("2", metric, value)                                                                                        \
	ONE("3", metric, value)                                                                                        \
	ONE("4", metric, value) ONE("5", metric, value) ONE("6", metric, value) ONE("7", metric, last)

#define GB300 "Standard_ND128isr_GB300_v6"
#define H100 "Standard_ND96isr_H100_v5"

static const struct {
	const char *sku, *run, *check, *judged;
} rows[] = {
	/* a rack of GB300 that Azure published */
	{ GB300, RANK "job job.step_spread kind=rack among=a 0.084\n", "step.spread", "pass" },
	{ GB300, RANK "job job.step_spread kind=rack among=a 0.13\n", "step.spread", "warn" },
	{ "generic-nvidia", RANK "job job.step_spread kind=rack among=a 0.084\n", "step.spread", "pass" },
	/* DCGM's diagnostic: 512 are too many */
	{ H100, GPU("gpu.remapped_uncorrectable", "511"), "gpu.remapped_rows", "pass" },
	{ H100, GPU("gpu.remapped_uncorrectable", "512"), "gpu.remapped_rows", "fail" },
	/* what Azure's agent calls a warning is none of the job's end */
	{ H100, GPU("gpu.recovery_action", "drain-p2p"), "gpu.recovery_action", "pass" },
	{ H100, GPU("gpu.recovery_action", "drain-p2p"), "gpu.recovery_other", "warn" },
	{ H100, GPU("gpu.recovery_action", "drain-and-reset"), "gpu.recovery_action", "fail" },
	{ H100, GPU("gpu.recovery_action", "drain-and-reset"), "gpu.recovery_reboot", "pass" },
	{ H100, GPU("gpu.recovery_action", "system-reboot"), "gpu.recovery_action", "pass" },
	{ H100, GPU("gpu.recovery_action", "system-reboot"), "gpu.recovery_reboot", "fail" },
	{ H100, GPU("gpu.remap_pending", "true"), "gpu.remap_pending", "fail" },
	/* Azure's own health check fails such GPUs, NVIDIA uses them; a corrupted InfoROM both fail */
	{ H100, GPU("gpu.sram_uncorrected_aggregate", "1"), "gpu.sram_uncorrected", "warn" },
	{ "generic-nvidia", GPU("gpu.sram_uncorrected_aggregate", "1"), "gpu.sram_uncorrected", "" },
	{ H100, GPU("gpu.sram_corrected_aggregate", "10000"), "gpu.sram_corrected", "pass" },
	{ H100, GPU("gpu.sram_corrected_aggregate", "10001"), "gpu.sram_corrected", "warn" },
	{ H100, GPU("gpu.ecc_corrected_volatile", "20000000"), "gpu.ecc_corrected", "pass" },
	{ H100, GPU("gpu.ecc_corrected_volatile", "20000001"), "gpu.ecc_corrected", "warn" },
	{ H100, GPU("gpu.inforom_valid", "false"), "gpu.inforom", "fail" },
	{ "generic-nvidia", GPU("gpu.inforom_valid", "false"), "gpu.inforom", "warn" },
	/* Azure's health check: 3, 5 or 10 % less memory than a healthy machine has */
	{ H100, RANK "a node.memory_mib 1819321\n", "node.memory", "pass" },
	{ H100, RANK "a node.memory_mib 1819000\n", "node.memory", "fail" },
	{ "Standard_NC24ads_A100_v4", RANK "a node.memory_mib 199000\n", "node.memory", "fail" },
	{ "Standard_NC48ads_A100_v4", RANK "a node.memory_mib 430095\n", "node.memory", "pass" },
	{ "Standard_NC48ads_A100_v4", RANK "a node.memory_mib 429000\n", "node.memory", "fail" },
	{ "Standard_NC96ads_A100_v4", RANK "a node.memory_mib 860000\n", "node.memory", "fail" },
	{ "Standard_NC40ads_H100_v5", RANK "a node.memory_mib 312000\n", "node.memory", "fail" },
	{ "Standard_NC80adis_H100_v5", RANK "a node.memory_mib 625640\n", "node.memory", "pass" },
	/* Megatron-LM: 10 % below the median is an outlier */
	{ H100, EIGHT("gpu.gemm_sustained_tflops", "700", "637"), "load.sustained", "pass" },
	{ H100, EIGHT("gpu.gemm_sustained_tflops", "700", "637"), "load.sustained_close", "pass warn" },
	{ H100, EIGHT("gpu.gemm_sustained_tflops", "700", "623"), "load.sustained", "pass fail" },
};

TEST_EACH(a_number_is_judged_as_its_source_does, rows)
{
	struct muster_report *report = run_text_judge(rows[_i].sku, rows[_i].run, false);
	ck_assert_msg(strcmp(run_text_result(report, rows[_i].check), rows[_i].judged) == 0, "%s: %s instead of %s",
		rows[_i].check, run_text_result(report, rows[_i].check), rows[_i].judged);
}

TEST_MAIN(.teardown = fixture_done)
