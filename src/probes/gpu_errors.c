/* gpu_errors.c - what the driver remembers of the GPU's errors, and what its links count while muster runs */
#include "probes/gpu/device.h"
#include "probes/gpu_errors/counters.h"
#include "vendor/nvml.h"
#include "probes/metrics.h"

#include <pthread.h>
#include <stdio.h>

#define COUNTER_METRIC(name, better, ...) NUMBER(GPU, name, NONE, better, __VA_ARGS__, .labels = { "gpu", "kind" })

static const struct muster_metric metrics[] = {
	GPU_TEXT("gpu.recovery_action", FACT, NOTHING,
		"what the driver says the GPU needs: none, gpu-reset, node-reboot, drain-p2p, drain-and-reset, "
		"recover-imex-domain, bus-reset, system-reboot; \"action 8\" is one that muster does not know"),
	GPU_FLAG("gpu.sram_threshold_exceeded", FACT,
		"the SRAM has had more uncorrected errors than NVIDIA allows a GPU"),
	GPU_NUMBER("gpu.sram_uncorrected_aggregate", NONE, LESS,
		"uncorrected errors of the SRAM in the life of the GPU, by parity and ECC"),
	GPU_NUMBER("gpu.sram_corrected_aggregate", NONE, LESS, "corrected errors of the SRAM in the life of the GPU"),
	COUNTER_METRIC("gpu.nvlink_errors", DRIFTS, "errors of all NVLinks together, in the life of the counters",
		.counts_errors = true),
	COUNTER_METRIC("gpu.nvlink_errors_increase", LESS, "errors of all NVLinks together while muster ran",
		.counts_errors = true),
	GPU_TEXT("gpu.nvlink_errors_at", DRIFTS, NOTHING,
		"for each kind that increased, the link with the most errors; \"none\""),
	COUNTER_METRIC("gpu.pcie_errors", DRIFTS, "errors of the PCIe link, in the life of the counters",
		.counts_errors = true),
	COUNTER_METRIC(
		"gpu.pcie_errors_increase", LESS, "errors of the PCIe link while muster ran", .counts_errors = true),
};

/* The counters before muster does anything, read beside the start of CUDA: NVLink's take their time. */
static struct {
	pthread_t thread;
	bool running, read;
	size_t nvlink_kinds; /* that this run reads */
	const struct muster_nvml *nvml;
	nvmlDevice_t device;
	struct muster_nvlink_errors nvlink;
	struct muster_pcie_errors pcie;
} first;

/* Each kind takes 16 ms on an H200, at the start and at the end: too much for a quick run, which uses links little. */
static size_t nvlink_kinds(enum muster_profile profile)
{
	switch (profile) {
	case MUSTER_QUICK: return 0;
	case MUSTER_STANDARD: return MUSTER_NVLINK_STANDARD;
	default: return MUSTER_NVLINK_ERRORS;
	}
}

static void *read_first(void *arg)
{
	muster_pcie_errors_read(first.nvml, first.device, &first.pcie);
	muster_nvlink_errors_read(first.nvml, first.device, first.nvlink_kinds, &first.nvlink);
	first.read = true;
	return arg;
}

static void begin(struct muster_probe_ctx *ctx)
{
	const struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	first.nvml = muster_nvml(NULL);
	first.device = gpu->nvml_device;
	first.nvlink_kinds = nvlink_kinds(muster_probe_env(ctx)->profile);
	first.running = first.nvml && gpu->has_nvml && pthread_create(&first.thread, NULL, read_first, NULL) == 0;
}

static const char *const actions[] = {
	[NVML_GPU_RECOVERY_ACTION_NONE] = "none",
	[NVML_GPU_RECOVERY_ACTION_GPU_RESET] = "gpu-reset",
	[NVML_GPU_RECOVERY_ACTION_NODE_REBOOT] = "node-reboot",
	[NVML_GPU_RECOVERY_ACTION_DRAIN_P2P] = "drain-p2p",
	[NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET] = "drain-and-reset",
	[NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN] = "recover-imex-domain",
	[NVML_GPU_RECOVERY_ACTION_BUS_RESET] = "bus-reset",
	[NVML_GPU_RECOVERY_ACTION_SYSTEM_REBOOT] = "system-reboot",
};

enum { ACTIONS = sizeof actions / sizeof *actions };

static void measure_memory(struct muster_probe_ctx *ctx, const struct muster_nvml *nvml)
{
	const struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	double action = 0;
	char other[32];
	nvmlEccSramErrorStatus_t sram = { .version = nvmlEccSramErrorStatus_v1 };
	struct muster_error why;
	muster_step(ctx, "NVML: recovery action and memory errors of GPU %s", gpu->bus_id);
	int result = MUSTER_NVML_FIELD(nvml, &why, gpu->nvml_device, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, 0, &action);
	snprintf(other, sizeof other, "action %g", action);
	bool known = action >= 0 && action < ACTIONS;
	muster_emit_read(ctx, "gpu.recovery_action", gpu->bus_id, result,
		muster_string(known ? actions[(int)action] : other), &why);
	result = MUSTER_NVML(nvml, &why, nvmlDeviceGetSramEccErrorStatus, gpu->nvml_device, &sram);
	muster_emit_read(ctx, "gpu.sram_threshold_exceeded", gpu->bus_id, result,
		muster_boolean(sram.bThresholdExceeded != 0), &why);
	muster_emit_read(ctx, "gpu.sram_uncorrected_aggregate", gpu->bus_id, result,
		muster_number((double)sram.aggregateUncParity + (double)sram.aggregateUncSecDed), &why);
	muster_emit_read(ctx, "gpu.sram_corrected_aggregate", gpu->bus_id, result,
		muster_number((double)sram.aggregateCor), &why);
}

/* One counter. Kinds that no check uses are left out where the GPU does not have them. */
static void yield(struct muster_probe_ctx *ctx, const char *metric, const char *kind, bool known, double value,
	const struct muster_error *why)
{
	const struct muster_value labels[] = { muster_string(muster_probe_env(ctx)->gpu->bus_id), muster_string(kind) };
	muster_emit_read_with(ctx, metric, labels, 2, known ? 0 : -1, muster_number(value), why);
}

static void tell_first(struct muster_probe_ctx *ctx)
{
	for (size_t i = 0; i < MUSTER_NVLINK_ERRORS; i++)
		if (i < MUSTER_NVLINK_JUDGED || first.nvlink.known[i])
			yield(ctx, "gpu.nvlink_errors", muster_nvlink_error_names[i], first.nvlink.known[i],
				muster_nvlink_errors_sum(&first.nvlink, i), &first.nvlink.why[i]);
	for (size_t i = 0; i < MUSTER_PCIE_ERRORS; i++)
		yield(ctx, "gpu.pcie_errors", muster_pcie_error_names[i], first.pcie.known[i], first.pcie.counts[i],
			&first.pcie.why[i]);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_nvml *nvml = muster_gpu_nvml(muster_probe_env(ctx)->gpu, err);
	if (!nvml)
		return -1;
	measure_memory(ctx, nvml);
	muster_step(ctx, "NVML: error counters of the links of GPU %s", muster_probe_env(ctx)->gpu->bus_id);
	if (first.running)
		pthread_join(first.thread, NULL);
	else
		read_first(NULL);
	first.running = false;
	tell_first(ctx);
	return 0;
}

/* A counter that went backwards was set to 0 meanwhile. */
static void yield_increase(struct muster_probe_ctx *ctx, const char *metric, const char *kind, bool before, bool after,
	double increase, const struct muster_error *why)
{
	struct muster_error backwards;
	muster_fail(&backwards, MUSTER_ENOTSUPPORTED, "the counter went backwards while muster ran");
	if (!before || !after)
		yield(ctx, metric, kind, false, 0, why);
	else
		yield(ctx, metric, kind, increase >= 0, increase, &backwards);
}

/* "recovery: 2 on link 3", for kinds with an increase. */
static void describe_links(const struct muster_nvlink_errors *last, char *ret, size_t size)
{
	size_t used = 0;
	snprintf(ret, size, "none");
	for (size_t i = 0; i < MUSTER_NVLINK_ERRORS; i++) {
		double most = 0;
		size_t worst = 0;
		for (size_t link = 0; first.nvlink.known[i] && last->known[i] && link < NVML_NVLINK_MAX_LINKS; link++) {
			double more = last->links[i][link] - first.nvlink.links[i][link];
			worst = more > most ? link : worst;
			most = more > most ? more : most;
		}
		if (most > 0 && used < size)
			used += (size_t)snprintf(ret + used, size - used, "%s%s: %g on link %zu", used ? "; " : "",
				muster_nvlink_error_names[i], most, worst);
	}
}

static void tell_nvlink_increase(struct muster_probe_ctx *ctx, const struct muster_nvlink_errors *last)
{
	char at[512];
	for (size_t i = 0; i < MUSTER_NVLINK_ERRORS; i++)
		if (i < MUSTER_NVLINK_JUDGED || (first.nvlink.known[i] && last->known[i]))
			yield_increase(ctx, "gpu.nvlink_errors_increase", muster_nvlink_error_names[i],
				first.nvlink.known[i], last->known[i],
				muster_nvlink_errors_sum(last, i) - muster_nvlink_errors_sum(&first.nvlink, i),
				first.nvlink.known[i] ? &last->why[i] : &first.nvlink.why[i]);
	describe_links(last, at, sizeof at);
	muster_emit_for(ctx, "gpu.nvlink_errors_at", muster_probe_env(ctx)->gpu->bus_id, muster_string(at));
}

static int finish(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	const struct muster_nvml *nvml = muster_gpu_nvml(env->gpu, err);
	struct muster_nvlink_errors nvlink;
	struct muster_pcie_errors pcie;
	if (!nvml)
		return -1;
	muster_step(ctx, "NVML: error counters of the links of GPU %s at the end", env->gpu->bus_id);
	if (first.running) /* another worker ran the first part */
		pthread_join(first.thread, NULL);
	first.running = false;
	if (!first.read)
		return muster_fail(err, MUSTER_EVENDOR, "the counters at the start were not read");
	muster_nvlink_errors_read(nvml, env->gpu->nvml_device, first.nvlink_kinds, &nvlink);
	muster_pcie_errors_read(nvml, env->gpu->nvml_device, &pcie);
	tell_nvlink_increase(ctx, &nvlink);
	for (size_t i = 0; i < MUSTER_PCIE_ERRORS; i++)
		yield_increase(ctx, "gpu.pcie_errors_increase", muster_pcie_error_names[i], first.pcie.known[i],
			pcie.known[i], pcie.counts[i] - first.pcie.counts[i],
			first.pcie.known[i] ? &pcie.why[i] : &first.pcie.why[i]);
	return 0;
}

const struct muster_probe muster_probe_gpu_errors = {
	.name = "gpu_errors",
	.summary = "what the driver remembers of the GPU's errors, and error counters of its links",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.by_nvml = true,
	.deadline_ms = 15000,
	.order = 32,
	METRICS(metrics),
	.begin = begin,
	.run = run,
	.finish = finish,
};
