/* SPDX-License-Identifier: Apache-2.0 */
/* device_select.c - which GPU a rank takes
 *
 * A launcher may show each rank one GPU, or all ranks all GPUs; both are right. What decides, and what is known of the
 * GPU:
 *
 *   CUDA starts, and shows one GPU                that one ("only-visible")
 *   CUDA starts, and shows several                the one with the local rank's number, in CUDA's order ("local-rank")
 *   CUDA starts, and shows none or too few        none ("none"), with why_none
 *   CUDA does not start, NVML works               the one with the local rank's number in NVML's list, if
 *                                                 CUDA_VISIBLE_DEVICES is not set: for probes that NVML is enough for
 *   a worker before died of CUDA or NVML          the same in the order of the bus, and only its bus id
 */
#include "device_select.h"
#include "hidden_gpus.h"

#include "vendor/cuda.h"
#include "vendor/nvml_gpus.h"
#include "system/nvidia_gpus.h"
#include "system/start.h"
#include "system/sysfs.h"
#include "system/topology.h"
#include "util/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static const char loading_cuda[] = "loading libcuda.so.1"; /* a step, known again in muster_device_died_of */
enum { NOT_READY_S = 10 };                                 /* how long a node that has just booted is waited for */

/* Start CUDA, by the first call of cuInit or again after it. gpu->why_none: CUDA shows no GPU because all of them are
 * hidden from this process, and by what; else "". That is no error of CUDA. gpu->cuda_start_ms is how long the very
 * first call took, without the time that this thread waited for a CPU. On a node that has just booted, error 802 only
 * says that Fabric Manager or IMEX has not started yet: CUDA is tried again each second, NOT_READY_S times in all calls
 * together.
 */
static int start_cuda(
	struct muster_probe_ctx *ctx, const struct muster_cuda *cuda, struct muster_gpu *gpu, struct muster_error *err)
{
	static int waited; /* in all calls of this process */
	static double took_ms;
	double began_ms = muster_clock_now(&muster_clock_monotonic), starved_ms = muster_starved_ms("thread-self");
	const struct timespec second = { .tv_sec = 1 };
	const char *root = muster_probe_env(ctx)->root;
	CUresult result = cuda->cuInit(0);
	if (took_ms <= 0) /* without what other programs on the CPUs take */
		took_ms = fmax(muster_clock_now(&muster_clock_monotonic) - began_ms -
				       (muster_starved_ms("thread-self") - starved_ms),
			1e-3);
	gpu->cuda_start_ms = took_ms;
	for (; result == CUDA_ERROR_SYSTEM_NOT_READY && muster_node_is_young(root); waited++) {
		if (waited == NOT_READY_S)
			return muster_fail(err, MUSTER_ETIME,
				"cuInit: CUDA_ERROR_SYSTEM_NOT_READY (802) for %d s, soon after the node has booted: "
				"Fabric Manager or IMEX may still start",
				NOT_READY_S);
		nanosleep(&second, NULL);
		result = cuda->cuInit(0);
	}
	*gpu->why_none = '\0';
	if (result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_INVALID_DEVICE)
		muster_gpus_hidden(root, gpu->why_none, sizeof gpu->why_none);
	if (*gpu->why_none)
		return 0;
	gpu->cuda_result = (int)result;
	return muster_cuda_check(cuda, result, err, "cuInit");
}

int muster_device_open(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	struct muster_error nvml_err;
	muster_step(ctx, "nvmlInit_v2");
	(void)muster_nvml(&nvml_err);
	muster_step(ctx, "%s", loading_cuda);
	const struct muster_cuda *cuda = muster_cuda(err);
	if (!cuda)
		return -1;
	muster_step(ctx, "cuInit");
	struct muster_gpu gpu;
	return start_cuda(ctx, cuda, &gpu, err);
}

/* CUDA gives a MIG instance the bus id of its GPU and a UUID of its own. The UUID gets the prefix that NVIDIA's tools
 * give it. In virtual machines MIG may be on for a device that is whole: there both libraries give one UUID. */
static void mark_mig(const struct muster_nvml *nvml, struct muster_gpu *gpu)
{
	unsigned int mode = NVML_DEVICE_MIG_DISABLE, pending;
	char uuid[96];
	if (nvml->nvmlDeviceGetMigMode(gpu->nvml_device, &mode, &pending) == NVML_SUCCESS &&
		mode == NVML_DEVICE_MIG_ENABLE &&
		nvml->nvmlDeviceGetUUID(gpu->nvml_device, uuid, sizeof uuid) == NVML_SUCCESS &&
		strcmp(uuid, gpu->uuid) != 0)
		memcpy(gpu->uuid, "MIG-", strlen("MIG-"));
}

static void join_nvml(struct muster_gpu *gpu)
{
	struct muster_error err;
	const struct muster_nvml *nvml = muster_nvml(&err);
	nvmlDevice_t device;
	if (!nvml || nvml->nvmlDeviceGetHandleByPciBusId_v2(gpu->bus_id, &device) != NVML_SUCCESS)
		return;
	gpu->has_nvml = true;
	gpu->nvml_device = device;
	nvml->nvmlDeviceGetIndex(device, &gpu->nvml_index);
	mark_mig(nvml, gpu);
}

/* CUDA does not start: the GPU that the rank would have had, for probes that NVML is enough for. */
static void take_by_nvml(struct muster_probe_ctx *ctx, struct muster_gpu *gpu)
{
	const int own = muster_probe_env(ctx)->local_rank;
	const struct muster_nvml *nvml = muster_nvml(NULL);
	struct muster_nvml_gpus gpus;
	if (!nvml || getenv("CUDA_VISIBLE_DEVICES") || muster_nvml_gpus_list(&gpus, NULL) < 0)
		return;
	if (own < (int)gpus.count && *gpus.items[own].bus_id) {
		snprintf(gpu->bus_id, sizeof gpu->bus_id, "%s", gpus.items[own].bus_id);
		nvml->nvmlDeviceGetUUID(gpus.items[own].device, gpu->uuid, sizeof gpu->uuid);
		join_nvml(gpu);
	}
	muster_nvml_gpus_done(&gpus);
}

const char *muster_device_died_of(const char *step)
{
	if (strncasecmp(step, "nvml", strlen("nvml")) == 0)
		return "nvml";
	return strncmp(step, "cu", strlen("cu")) == 0 || strcmp(step, loading_cuda) == 0 ? "cuda" : NULL;
}

void muster_device_assume(struct muster_probe_ctx *ctx, struct muster_gpu *ret)
{
	struct muster_nvidia_gpus bus;
	int at = muster_probe_env(ctx)->local_rank;
	if (getenv("CUDA_VISIBLE_DEVICES") || muster_nvidia_gpus_list(muster_probe_env(ctx)->root, &bus, NULL) < 0)
		return;
	for (size_t i = 0; i < bus.count; i++) {
		const struct muster_nvidia_gpu *gpu = &bus.items[i];
		if (gpu->access == MUSTER_NVIDIA_OURS && strcmp(gpu->driver, "nvidia") == 0 && at-- == 0)
			snprintf(ret->bus_id, sizeof ret->bus_id, "%s", gpu->bus_id);
	}
	muster_nvidia_gpus_done(&bus);
}

int muster_device_select(struct muster_probe_ctx *ctx, struct muster_gpu *ret, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	const struct muster_cuda *cuda = muster_cuda(err);
	muster_step(ctx, "cuDeviceGetCount");
	/* again, so that the error of a failed open is reported here too */
	if (!cuda || start_cuda(ctx, cuda, ret, err) < 0) {
		take_by_nvml(ctx, ret);
		return -1;
	}
	if (*ret->why_none) {
		ret->visible = 0;
		return 0;
	}
	if (MUSTER_CUDA(cuda, err, cuDeviceGetCount, &ret->visible) < 0)
		return -1;
	if (ret->visible == 0 || (ret->visible > 1 && env->local_rank >= ret->visible)) {
		snprintf(ret->why_none, sizeof ret->why_none, "CUDA shows %d GPU%s to local rank %d of %d",
			ret->visible, ret->visible == 1 ? "" : "s", env->local_rank, env->local_ranks);
		return 0;
	}
	int ordinal = ret->visible == 1 ? 0 : env->local_rank;
	CUdevice device;
	muster_step(ctx, "cuDeviceGet of GPU %d", ordinal);
	if (MUSTER_CUDA(cuda, err, cuDeviceGet, &device, ordinal) < 0 ||
		muster_cuda_bus_id(cuda, device, ret->bus_id, sizeof ret->bus_id, err) < 0 ||
		muster_cuda_uuid(cuda, device, ret->uuid, sizeof ret->uuid, err) < 0 ||
		MUSTER_CUDA(cuda, err, cuDeviceGetName, ret->name, sizeof ret->name, device) < 0)
		return muster_wrap(err, "GPU %d", ordinal);
	snprintf(ret->choice, sizeof ret->choice, "%s", ret->visible == 1 ? "only-visible" : "local-rank");
	ret->cuda_device = device;
	join_nvml(ret);
	return 0;
}

int muster_device_use(struct muster_probe_ctx *ctx, struct muster_gpu *gpu, struct muster_error *err)
{
	const struct muster_cuda *cuda = muster_cuda(err);
	CUcontext context;
	muster_step(ctx, "cuDevicePrimaryCtxRetain on %s", gpu->bus_id);
	if (!cuda)
		return -1;
	gpu->cuda_result = (int)cuda->cuDevicePrimaryCtxRetain(&context, gpu->cuda_device);
	if (muster_cuda_check(cuda, (CUresult)gpu->cuda_result, err, "cuDevicePrimaryCtxRetain") < 0)
		return -1;
	return MUSTER_CUDA(cuda, err, cuCtxSetCurrent, context) < 0 ? muster_wrap(err, "GPU %s", gpu->bus_id) : 0;
}

void muster_device_bind_cpus(struct muster_probe_ctx *ctx, const struct muster_gpu *gpu)
{
	hwloc_obj_t node;
	if (!*gpu->bus_id)
		return;
	muster_step(ctx, "hwloc: to the CPUs near %s", gpu->bus_id);
	hwloc_topology_t topology = muster_topology(NULL);
	if (topology && muster_topology_gpu_node(topology, muster_probe_env(ctx)->root, gpu->bus_id, &node, NULL) == 0)
		(void)hwloc_set_cpubind(topology, node->cpuset, HWLOC_CPUBIND_THREAD);
}

const char *muster_device_path(struct muster_probe_ctx *ctx, const struct muster_gpu *gpu, char *out, size_t size)
{
	char path[4096];
	long node;
	muster_root_path(ctx, path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", gpu->bus_id);
	if (*gpu->bus_id && muster_sysfs_natural(path, &node, NULL) == 0)
		snprintf(out, size, "numa%ld", node);
	else
		snprintf(out, size, "host");
	return out;
}
