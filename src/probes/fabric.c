/* SPDX-License-Identifier: Apache-2.0 */
/* fabric.c - connections of the rank's GPU to other GPUs and to the CPU: NVLink fabric, C2C links, peer access
 *
 * NVML describes fabrics since driver R525, in three versions of one struct; the newest version that the driver
 * accepts is used. Whether the GPU should be in a fabric is for the expectation file.
 *
 * On NVL72 racks and on HGX with NVSwitch since driver R525: state NOT_STARTED and IN_PROGRESS pass some minutes after
 * boot, so the probe waits up to 10 s on a node that has booted within ten minutes. The health mask holds fields of two
 * bits, in which 2 means "no": 0xaa is a healthy GPU. C2C (Grace) is asked link by link; PCIe figures of such a GPU say
 * nothing, for its copies go over C2C.
 *
 * The order: peers, by CUDA alone; then fabric and C2C links, by NVML, without which the probe fails. Each value that
 * could not be had is null with the reason of its own call.
 *
 * What the state of the fabric means for the other values:
 *
 *   not-supported, not-started, in-progress   status is null; cluster and clique are NVML's, usually zeros
 *   completed                                 status is "success" or NVML's text of the error
 *   NVML answers with an error                all are null, and the label `cluster` is "unknown"
 */
#include "probes/gpu/device.h"
#include "system/start.h"
#include "vendor/cuda.h"
#include "vendor/nvml.h"
#include "util/text.h"
#include "probes/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { JOINS_TRIES = 20 }; /* every half second: 10 s, of the deadline's 25 s */

static const struct muster_metric metrics[] = {
	GPU_TEXT("gpu.fabric_state", FACT, NOTHING,
		"progress of joining the NVLink fabric: not-supported, not-started, in-progress, completed",
		SHOWN(IN(GPUS, 120, "state of the NVLink fabric"))),
	GPU_TEXT("gpu.fabric_status", FACT, NOTHING,
		"result of joining the fabric: success, or the NVML error text; no value before completion"),
	GPU_TEXT("gpu.fabric_cluster", FACT, TEXT, "UUID of the fabric; all zeros when it is in none"),
	NUMBER(GPU, "gpu.fabric_clique", NONE, FACT,
		"clique within the fabric: GPUs of one cluster and clique reach each other over NVLink",
		.labels = { "gpu", "cluster" }),
	GPU_TEXT("gpu.fabric_health", FACT, NOTHING,
		"healthy, or the faults of the GPU in the fabric, separated by spaces"),
	GPU_NUMBER("gpu.c2c_links", NONE, MORE, "C2C links to the CPU that are up; 0 when the GPU has none",
		SHOWN(IN(GPUS, 110, "C2C links", .second = "gpu.c2c_gbps", .between = " x "))),
	GPU_NUMBER("gpu.c2c_gbps", GB_PER_S, MORE, "highest speed of one C2C link"),
	NUMBER(GPU, "gpu.c2c_limit_gbps", GB_PER_S, DRIFTS,
		"C2C links that are up times the highest speed of one, one direction", .labels = { "gpu", "link" },
		.called = "gpu.pcie_limit_gbps"),
	GPU_NUMBER("gpu.peers", NONE, MORE, "other GPUs that CUDA shows to this rank"),
	GPU_NUMBER("gpu.p2p_peers", NONE, MORE, "number of these other GPUs whose memory this GPU may access"),
};

/* The mask's fields of two bits: 0 says nothing, 1 yes, 2 no. */
static const struct {
	unsigned int shift;
	const char *name;
} conditions[] = {
	{ NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW, "degraded-bandwidth" },
	{ NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_RECOVERY, "route-recovery" },
	{ NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY, "route-unhealthy" },
	{ NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY, "access-timeout-recovery" },
};

/* Its field of four bits: what is wrong with how the GPU is set up in the fabric. */
static const char *const configurations[] = {
	[NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCORRECT_SYSGUID] = "incorrect-sysguid",
	[NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCORRECT_CHASSIS_SN] = "incorrect-chassis-sn",
	[NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NO_PARTITION] = "no-partition",
	[NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INSUFFICIENT_NVLINKS] = "insufficient-nvlinks",
	[NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCOMPATIBLE_GPU_FW] = "incompatible-gpu-firmware",
	[NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INVALID_LOCATION] = "invalid-location",
	[NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_GPU_STATE_INVALID] = "gpu-state-invalid",
};

/* What is wrong, separated by spaces; "healthy". What newer drivers put into higher bits shows in their summary, and a
 * value that muster does not know as its number. Fields of the mask come first; the summary counts only where they tell
 * of nothing:
 *
 *   mask     summary   text
 *   0xaa     0         healthy
 *   0x9a     0         route-unhealthy
 *   0x91aa   2         unhealthy: the fault is in a field of a newer driver
 */
static void describe_health(unsigned int mask, unsigned int summary, char *ret, size_t size)
{
	size_t used = 0;
	for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
		if ((mask >> conditions[i].shift & NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_DEGRADED_BW) ==
			NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_TRUE)
			used += (size_t)snprintf(ret + used, size - used, "%s%s", used ? " " : "", conditions[i].name);
	unsigned int wrong = mask >> NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION &
			     NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_INCORRECT_CONFIGURATION;
	if (wrong > NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NONE) {
		char other[16];
		snprintf(other, sizeof other, "%u", wrong);
		used += (size_t)snprintf(ret + used, size - used, "%sincorrect-configuration:%s", used ? " " : "",
			wrong < sizeof configurations / sizeof *configurations ? configurations[wrong] : other);
	}
	if (used == 0 && summary > NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY)
		snprintf(ret, size, "summary %u", summary);
	else if (used == 0)
		snprintf(ret, size, "%s",
			summary == NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY          ? "unhealthy"
			: summary == NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY ? "limited-capacity"
										     : "healthy");
}

/* A mask and a summary of 0 say neither yes nor no to anything, so they are no healthy GPU: null. */
static void measure_health(struct muster_probe_ctx *ctx, const char *bus_id, const nvmlGpuFabricInfo_v3_t *fabric,
	struct muster_error *no_health)
{
	char text[256];
	if (no_health->code == MUSTER_OK && fabric->healthMask == 0 && fabric->healthSummary == 0)
		muster_fail(no_health, MUSTER_ENOTSUPPORTED,
			"nvmlDeviceGetGpuFabricInfoV gives no health of the GPU: mask and summary are 0");
	describe_health(fabric->healthMask, fabric->healthSummary, text, sizeof text);
	muster_emit_read(ctx, "gpu.fabric_health", bus_id, no_health->code == MUSTER_OK ? 0 : -1, muster_string(text),
		no_health);
}

/* Whether it is worth waiting: a fabric completes some time after boot. On a node that has been up for long these
 * states stay, and the expectation file says what that means. */
static bool still_joins(struct muster_probe_ctx *ctx, const nvmlGpuFabricInfo_v3_t *fabric)
{
	return (fabric->state == NVML_GPU_FABRIC_STATE_NOT_STARTED ||
		       fabric->state == NVML_GPU_FABRIC_STATE_IN_PROGRESS) &&
	       muster_node_is_young(muster_probe_env(ctx)->root);
}

/* State, status, cluster, clique and health, from one reading. The status is NVML's error code of joining, whose text
 * is that of muster_nvml_check without the name of a call. */
static void measure_fabric(
	struct muster_probe_ctx *ctx, const struct muster_nvml *nvml, nvmlDevice_t device, const char *bus_id)
{
	static const char *const states[] = {
		[NVML_GPU_FABRIC_STATE_NOT_SUPPORTED] = "not-supported",
		[NVML_GPU_FABRIC_STATE_NOT_STARTED] = "not-started",
		[NVML_GPU_FABRIC_STATE_IN_PROGRESS] = "in-progress",
		[NVML_GPU_FABRIC_STATE_COMPLETED] = "completed",
	};
	static const char *const all[] = { "gpu.fabric_state", "gpu.fabric_status", "gpu.fabric_cluster",
		"gpu.fabric_health" };
	nvmlGpuFabricInfo_v3_t fabric;
	struct muster_error why, no_health;
	char other[32], cluster[MUSTER_UUID_TEXT_SIZE] = "unknown";
	struct muster_value labels[] = { muster_string(bus_id), muster_string(cluster) };
	muster_step(ctx, "NVML: NVLink fabric of GPU %s", bus_id);
	int result = muster_gpu_fabric(nvml, device, &fabric, &no_health, &why);
	for (int i = 0; result == 0 && still_joins(ctx, &fabric) && i < JOINS_TRIES; i++) {
		muster_sleep_ms(500);
		result = muster_gpu_fabric(nvml, device, &fabric, &no_health, &why);
	}
	if (result < 0) {
		for (size_t i = 0; i < sizeof all / sizeof *all; i++)
			muster_emit_read(ctx, all[i], bus_id, -1, muster_null(), &why);
		muster_emit_read_with(ctx, "gpu.fabric_clique", labels, 2, -1, muster_null(), &why);
		return;
	}
	muster_uuid_text(fabric.clusterUuid, cluster);
	snprintf(other, sizeof other, "state %u", fabric.state);
	const char *state = fabric.state < sizeof states / sizeof *states ? states[fabric.state] : other;
	muster_emit_for(ctx, "gpu.fabric_state", bus_id, muster_string(state));
	if (fabric.state < NVML_GPU_FABRIC_STATE_COMPLETED)
		muster_emit_null_for(ctx, "gpu.fabric_status", bus_id, "the GPU has not joined a fabric: %s", state);
	else if (fabric.status == NVML_SUCCESS)
		muster_emit_for(ctx, "gpu.fabric_status", bus_id, muster_string("success"));
	else if (muster_nvml_check(nvml, fabric.status, &why, "fabric") < 0)
		muster_emit_for(ctx, "gpu.fabric_status", bus_id, muster_string(why.text + strlen("fabric: ")));
	muster_emit_for(ctx, "gpu.fabric_cluster", bus_id, muster_string(cluster));
	muster_emit(ctx, "gpu.fabric_clique", labels, 2, muster_number(fabric.cliqueId));
	measure_health(ctx, bus_id, &fabric, &no_health);
}

/* C2C links that are up, and the highest of their speeds in MB/s. A GPU without such links answers NOT_SUPPORTED to the
 * count: 0 links. A link whose speed is not given counts as up. 0, or -1 with err. */
static int count_c2c(
	const struct muster_nvml *nvml, nvmlDevice_t device, double *ret_up, double *ret_mbps, struct muster_error *err)
{
	double links = 0, up = 0, highest = 0;
	nvmlFieldValue_t count = { .fieldId = NVML_FI_DEV_C2C_LINK_COUNT };
	if (MUSTER_NVML(nvml, err, nvmlDeviceGetFieldValues, device, 1, &count) < 0)
		return -1;
	/* A driver that does not know the field says "invalid argument". */
	if (count.nvmlReturn != NVML_ERROR_NOT_SUPPORTED &&
		MUSTER_NVML_FIELD(nvml, err, device, NVML_FI_DEV_C2C_LINK_COUNT, 0, &links) < 0)
		return -1;
	for (unsigned int link = 0; link < links; link++) {
		double active, mbps;
		if (MUSTER_NVML_FIELD(nvml, err, device, NVML_FI_DEV_C2C_LINK_GET_STATUS, link, &active) < 0)
			return muster_wrap(err, "C2C link %u", link);
		if (active < 1)
			continue;
		if (MUSTER_NVML_FIELD(nvml, err, device, NVML_FI_DEV_C2C_LINK_GET_MAX_BW, link, &mbps) == 0)
			highest = fmax(highest, mbps);
		up++;
	}
	*ret_up = up;
	*ret_mbps = highest;
	return 0;
}

static void measure_c2c(
	struct muster_probe_ctx *ctx, const struct muster_nvml *nvml, nvmlDevice_t device, const char *bus_id)
{
	struct muster_error why;
	double up = 0, mbps = 0;
	muster_step(ctx, "NVML: C2C links of GPU %s", bus_id);
	int result = count_c2c(nvml, device, &up, &mbps, &why);
	muster_emit_read(ctx, "gpu.c2c_links", bus_id, result, muster_number(up), &why);
	if (result == 0 && up < 1)
		result = muster_fail(&why, MUSTER_ENOTSUPPORTED, "no C2C link is up");
	else if (result == 0 && mbps <= 0)
		result = muster_fail(&why, MUSTER_EVENDOR, "NVML_FI_DEV_C2C_LINK_GET_MAX_BW gives no speed");
	muster_emit_read(ctx, "gpu.c2c_gbps", bus_id, result, muster_number(mbps / 1000), &why);

	char link[64] = "C2C";
	const struct muster_value labels[] = { muster_string(bus_id), muster_string(link) };
	if (result == 0)
		snprintf(link, sizeof link, "C2C (%g x %.1f)", up, mbps / 1000);
	muster_emit_read_with(ctx, "gpu.c2c_limit_gbps", labels, 2, result, muster_number(up * mbps / 1000), &why);
}

/* How many of the `count` devices but our own it can reach. 0, or -1 with err. */
static int count_peers(const struct muster_cuda *cuda, CUdevice own, int count, int *ret, struct muster_error *err)
{
	int reached = 0;
	for (int i = 0; i < count; i++) {
		CUdevice peer;
		int can = 0;
		if (MUSTER_CUDA(cuda, err, cuDeviceGet, &peer, i) < 0)
			return -1;
		if (peer == own)
			continue;
		if (MUSTER_CUDA(cuda, err, cuDeviceCanAccessPeer, &can, own, peer) < 0)
			return muster_wrap(err, "CUDA device %d", i);
		reached += can != 0;
	}
	*ret = reached;
	return 0;
}

/* By CUDA: the GPUs that it shows to this rank but its own, and how many of these the GPU may access. CUDA allows that
 * over PCIe, too, so it does not prove NVLink. */
static void measure_peers(struct muster_probe_ctx *ctx, const struct muster_gpu *gpu)
{
	struct muster_error why;
	int count = 0, reached = 0;
	muster_step(ctx, "CUDA: peer access of GPU %s", gpu->bus_id);
	const struct muster_cuda *cuda = muster_gpu_cuda(gpu, &why);
	int result = cuda ? MUSTER_CUDA(cuda, &why, cuDeviceGetCount, &count) : -1;
	muster_emit_read(ctx, "gpu.peers", gpu->bus_id, result, muster_number(count - 1), &why);
	if (result == 0 && count < 2)
		result = muster_fail(&why, MUSTER_ENOTSUPPORTED, "CUDA shows only this rank's own GPU");
	else if (result == 0)
		result = count_peers(cuda, gpu->cuda_device, count, &reached, &why);
	muster_emit_read(ctx, "gpu.p2p_peers", gpu->bus_id, result, muster_number(reached), &why);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	measure_peers(ctx, gpu);
	muster_step(ctx, "NVML: open");
	const struct muster_nvml *nvml = muster_gpu_nvml(gpu, err);
	if (!nvml)
		return -1;
	measure_fabric(ctx, nvml, gpu->nvml_device, gpu->bus_id);
	measure_c2c(ctx, nvml, gpu->nvml_device, gpu->bus_id);
	return 0;
}

const struct muster_probe muster_probe_fabric = {
	.name = "fabric",
	.summary = "NVLink fabric, C2C links and peer access of the rank's GPU",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.by_nvml = true,
	.deadline_ms = 25000,
	.order = 35,
	METRICS(metrics),
	.run = run,
};
