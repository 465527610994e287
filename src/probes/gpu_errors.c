/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_errors.c - what the driver remembers of the GPU's errors, and what its links count while muster runs
 *
 * The counters are read twice: in a thread of its own from begin on, while CUDA starts (on an H200 each NVLink kind
 * takes 16 ms), and in finish. A worker that replaced another one takes a first reading in its own begin: an increase
 * since then is one of the run, and without such an increase what came before is not known: null. Without any first
 * reading finish is an error: there are no increases then, rather than 0.
 *
 *   begin    starts the thread that fills first.errors
 *   run      recovery action and SRAM at once; waits for the thread, and yields the counters
 *   finish   reads again, and yields increases and the worst links
 *
 * Which kinds of errors have a sample: the first JUDGED kinds of NVLink and all kinds of PCIe always, null where they
 * are not known; the other kinds of NVLink only where they are known, since no GPU has all of them.
 */
#include "probes/gpu/device.h"
#include "vendor/nvml.h"
#include "probes/metrics.h"
#include "muster/arena.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

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

/* ---- what NVML counts of the errors of a GPU's links ----
 *
 * Counters of the GPU's life: only their increase says something, and healthy links have some errors of most kinds.
 */

#define NO_COUNTER (-1)

/* Kinds of errors: of the NVLinks, those that checks of the profile standard use first, then of the PCIe link. */
enum {
	JUDGED = 3,   /* NVLink kinds before this one are null where the GPU does not have them, others are left out */
	STANDARD = 4, /* the profile standard reads the NVLink kinds before this one */
	PCIE = 10,    /* the first kind of the PCIe link */
	KINDS = 23,
};

/* Up to Hopper NVML has a call for each NVLink, and its field values for them may be 0 whatever happens; NVLink 5 has
 * field values alone. */
static const struct {
	const char *name;
	int counter;        /* nvmlNvLinkErrorCounter_t, for the call of each link; NO_COUNTER: none */
	unsigned int field; /* NVML_FI_DEV_..., for NVLink 5 and for PCIe; 0: none */
} kinds[KINDS] = {
	/* the link lost its partner; NVLink 5: and did not find it again */
	{ "recovery", NVML_NVLINK_ERROR_DL_RECOVERY, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS },
	{ "replay", NVML_NVLINK_ERROR_DL_REPLAY, 0 }, /* a packet was sent again */
	{ "crc-flit", NVML_NVLINK_ERROR_DL_CRC_FLIT, 0 },
	/* of NVLink 5: the link lost its partner */
	[JUDGED] = { "link-recovery", NO_COUNTER, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS },
	[STANDARD] = { "crc-data", NVML_NVLINK_ERROR_DL_CRC_DATA, 0 },
	{ "ecc-data", NVML_NVLINK_ERROR_DL_ECC_DATA, 0 },
	{ "receive", NO_COUNTER, NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS },
	{ "link-integrity", NO_COUNTER, NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS },
	{ "effective", NO_COUNTER, NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS },
	{ "symbol", NO_COUNTER, NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS },
	[PCIE] = { "replay", NO_COUNTER, 0 }, /* has a call that older drivers know */
	{ "l0-to-recovery", NO_COUNTER, NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER },
	{ "correctable", NO_COUNTER, NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS },
	{ "naks-received", NO_COUNTER, NVML_FI_DEV_PCIE_COUNT_NAKS_RECEIVED },
	{ "receiver", NO_COUNTER, NVML_FI_DEV_PCIE_COUNT_RECEIVER_ERROR },
	{ "bad-tlp", NO_COUNTER, NVML_FI_DEV_PCIE_COUNT_BAD_TLP },
	{ "naks-sent", NO_COUNTER, NVML_FI_DEV_PCIE_COUNT_NAKS_SENT },
	{ "bad-dllp", NO_COUNTER, NVML_FI_DEV_PCIE_COUNT_BAD_DLLP },
	{ "non-fatal", NO_COUNTER, NVML_FI_DEV_PCIE_COUNT_NON_FATAL_ERROR },
	{ "fatal", NO_COUNTER, NVML_FI_DEV_PCIE_COUNT_FATAL_ERROR },
	{ "unsupported-request", NO_COUNTER, NVML_FI_DEV_PCIE_COUNT_UNSUPPORTED_REQ },
	{ "lcrc", NO_COUNTER, NVML_FI_DEV_PCIE_COUNT_LCRC_ERROR },
	{ "lane", NO_COUNTER, NVML_FI_DEV_PCIE_COUNT_LANE_ERROR },
};

/* One reading of all kinds: about 3 KiB of counters and 24 KiB of reasons. */
struct errors {
	bool known[KINDS];
	double links[KINDS][NVML_NVLINK_MAX_LINKS]; /* of the PCIe link the first one */
	struct muster_error why[KINDS];             /* unless known */
};

/* The counts of all links, by a call for each: up to Hopper. One link that cannot be read makes the kind unknown. */
static int read_counter(const struct muster_nvml *nvml, nvmlDevice_t device, nvmlNvLinkErrorCounter_t counter,
	size_t links, double *ret, struct muster_error *err)
{
	for (unsigned int link = 0; link < links; link++) {
		unsigned long long count = 0;
		if (MUSTER_NVML(nvml, err, nvmlDeviceGetNvLinkErrorCounter, device, link, counter, &count) < 0)
			return muster_wrap(err, "NVLink %u", link);
		ret[link] = (double)count;
	}
	return 0;
}

/* The same by field values, all links in one call: NVLink 5. The scope of a value is the link. */
static int read_field(const struct muster_nvml *nvml, nvmlDevice_t device, unsigned int field, size_t links,
	double *ret, struct muster_error *err)
{
	nvmlFieldValue_t values[NVML_NVLINK_MAX_LINKS] = { 0 };
	for (unsigned int link = 0; link < links; link++)
		values[link] = (nvmlFieldValue_t){ .fieldId = field, .scopeId = link };
	if (MUSTER_NVML(nvml, err, nvmlDeviceGetFieldValues, device, (int)links, values) < 0)
		return -1;
	for (unsigned int link = 0; link < links; link++)
		if (muster_nvml_field_number(nvml, err, &values[link], "field of an NVLink", &ret[link]) < 0)
			return muster_wrap(err, "NVLink %u", link);
	return 0;
}

/* fields: by field values, else by counters. Counts of each of `links` links, or -1 with err: MUSTER_ENOTSUPPORTED
 * where this form does not have the kind. */
static int read_kind(const struct muster_nvml *nvml, nvmlDevice_t device, size_t kind, bool fields, size_t links,
	double *ret, struct muster_error *err)
{
	if (fields ? kinds[kind].field == 0 : kinds[kind].counter == NO_COUNTER)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "NVLinks of this GPU have no such counter");
	return fields ? read_field(nvml, device, kinds[kind].field, links, ret, err)
		      : read_counter(nvml, device, (nvmlNvLinkErrorCounter_t)kinds[kind].counter, links, ret, err);
}

/* A vGPU may have NVLinks and say nothing of them. */
static bool is_vgpu(const struct muster_nvml *nvml, nvmlDevice_t device)
{
	nvmlGpuVirtualizationMode_t mode = NVML_GPU_VIRTUALIZATION_MODE_NONE;
	return nvml->nvmlDeviceGetVirtualizationMode(device, &mode) != NVML_SUCCESS ||
	       mode == NVML_GPU_VIRTUALIZATION_MODE_VGPU;
}

/* The first `most` NVLink kinds, of all links. On Hopper each link and kind is a call of nearly 1 ms. How many links
 * there are decides what comes next:
 *
 *   not supported, and no vGPU    the GPU has no NVLinks: as 0 links
 *   another error, or a vGPU      every kind is unknown, with NVML's reason
 *   0                             the kinds that the profile reads are known and 0
 *   1 to NVML_NVLINK_MAX_LINKS    they are read, by field values from compute capability 10 on */
static void read_nvlinks(const struct muster_nvml *nvml, nvmlDevice_t device, size_t most, struct errors *ret)
{
	int major = 0, minor = 0;
	double links = 0;
	struct muster_error why = { 0 };
	(void)nvml->nvmlDeviceGetCudaComputeCapability(device, &major, &minor);
	int failed = MUSTER_NVML_FIELD(nvml, &why, device, NVML_FI_DEV_NVLINK_LINK_COUNT, 0, &links);
	if (failed && why.code == MUSTER_ENOTSUPPORTED && !is_vgpu(nvml, device))
		failed = 0; /* the device has no NVLinks */
	if (!failed && !(links >= 0 && links <= NVML_NVLINK_MAX_LINKS))
		failed = muster_fail(&why, MUSTER_EVENDOR, "NVML gives %g NVLinks", links);
	for (size_t kind = 0; kind < PCIE; kind++) {
		if (failed)
			ret->why[kind] = why;
		else if (kind >= most)
			muster_fail(&ret->why[kind], MUSTER_ENOTSUPPORTED, "not read in this profile");
		else if (links < 1) /* and so there are no errors of theirs */
			ret->known[kind] = true;
		else
			ret->known[kind] = read_kind(nvml, device, kind, major >= 10, (size_t)links, ret->links[kind],
						   &ret->why[kind]) == 0;
	}
}

/* All kinds of the PCIe link: replays by their own call, the others as field values in one call. The link's count
 * stands in the place of link 0. */
static void read_pcie(const struct muster_nvml *nvml, nvmlDevice_t device, struct errors *ret)
{
	nvmlFieldValue_t values[KINDS] = { 0 };
	struct muster_error why = { 0 };
	unsigned int replays = 0;
	for (size_t i = PCIE + 1; i < KINDS; i++)
		values[i].fieldId = kinds[i].field;
	int failed = MUSTER_NVML(nvml, &why, nvmlDeviceGetFieldValues, device, KINDS - PCIE - 1, &values[PCIE + 1]);
	ret->known[PCIE] = MUSTER_NVML(nvml, &ret->why[PCIE], nvmlDeviceGetPcieReplayCounter, device, &replays) == 0;
	ret->links[PCIE][0] = replays;
	for (size_t i = PCIE + 1; i < KINDS; i++) {
		if (failed)
			ret->why[i] = why;
		else
			ret->known[i] = muster_nvml_field_number(nvml, &ret->why[i], &values[i],
						"field of the PCIe link", ret->links[i]) == 0;
	}
}

static void read_errors(const struct muster_nvml *nvml, nvmlDevice_t device, size_t nvlinks, struct errors *ret)
{
	*ret = (struct errors){ 0 };
	read_pcie(nvml, device, ret);
	read_nvlinks(nvml, device, nvlinks, ret);
}

/* Of all links. */
static double sum_of(const struct errors *errors, size_t kind)
{
	double sum = 0;
	for (size_t link = 0; link < NVML_NVLINK_MAX_LINKS; link++)
		sum += errors->links[kind][link];
	return sum;
}

/* ---- the probe ---- */

/* The counters before muster does anything, read beside the start of CUDA: NVLink's take their time. The thread writes
 * `errors` and `read` alone; both are looked at after pthread_join. */
static struct {
	pthread_t thread;
	bool running, read;  /* running: there is a thread to join; read: errors is filled */
	bool told;           /* run was called: this is no worker that replaced another one */
	size_t nvlink_kinds; /* that this run reads */
	const struct muster_nvml *nvml;
	nvmlDevice_t device;
	struct errors errors;
} first;

/* Each kind takes 16 ms on an H200, at the start and at the end: too much for a quick run, which uses links little. */
static size_t nvlink_kinds(enum muster_profile profile)
{
	switch (profile) {
	case MUSTER_QUICK: return 0;
	case MUSTER_STANDARD: return STANDARD;
	default: return PCIE;
	}
}

static void *read_first(void *arg)
{
	read_errors(first.nvml, first.device, first.nvlink_kinds, &first.errors);
	first.read = true;
	return arg;
}

/* Must return at once. Where no thread can be made, run reads the counters itself. */
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

/* What the driver says that the GPU needs, by number, and the errors of its SRAM. An action that muster does not know
 * is told as "action 8" and never as none. */
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

/* One counter, or what it has increased by. known: the kind was read, which decides whether there is a sample (head of
 * the file). given: there is a value; else the sample is null with why. */
static void emit_counter(struct muster_probe_ctx *ctx, bool increase, size_t kind, bool known, double value, bool given,
	const struct muster_error *why)
{
	static const char *const names[2][2] = { { "gpu.nvlink_errors", "gpu.nvlink_errors_increase" },
		{ "gpu.pcie_errors", "gpu.pcie_errors_increase" } };
	const struct muster_value labels[] = { muster_string(muster_probe_env(ctx)->gpu->bus_id),
		muster_string(kinds[kind].name) };
	if (known || kind < JUDGED || kind >= PCIE)
		muster_emit_read_with(
			ctx, names[kind >= PCIE][increase], labels, 2, given ? 0 : -1, muster_number(value), why);
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
	first.told = true;
	for (size_t i = 0; i < KINDS; i++)
		emit_counter(ctx, false, i, first.errors.known[i], sum_of(&first.errors, i), first.errors.known[i],
			&first.errors.why[i]);
	return 0;
}

/* Of each kind the last sum less the first one. Only where both are known; a counter that went backwards was set to 0
 * meanwhile, and is null. replaced: why no increase is not known to be none; NULL in the worker of run. */
static void emit_increase(struct muster_probe_ctx *ctx, const struct errors *last, const struct muster_error *replaced)
{
	struct muster_error backwards;
	muster_fail(&backwards, MUSTER_ENOTSUPPORTED, "the counter went backwards while muster ran");
	for (size_t i = 0; i < KINDS; i++) {
		bool known = first.errors.known[i] && last->known[i];
		double increase = sum_of(last, i) - sum_of(&first.errors, i);
		emit_counter(ctx, true, i, known, increase, known && (replaced ? increase > 0 : increase >= 0),
			known                   ? increase < 0 ? &backwards : replaced
			: first.errors.known[i] ? &last->why[i]
						: &first.errors.why[i]);
	}
}

/* "recovery: 2 on link 3", for kinds with an increase. NULL: there are none. */
static char *describe_links(const struct errors *last)
{
	char *text = NULL;
	for (size_t i = 0; i < PCIE; i++) {
		double most = 0;
		size_t worst = 0;
		for (size_t link = 0; first.errors.known[i] && last->known[i] && link < NVML_NVLINK_MAX_LINKS; link++) {
			double more = last->links[i][link] - first.errors.links[i][link];
			worst = more > most ? link : worst;
			most = more > most ? more : most;
		}
		if (most > 0)
			muster_list_add(&text, "; ", "%s: %g on link %zu", kinds[i].name, most, worst);
	}
	return text;
}

static int finish(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	const struct muster_nvml *nvml = muster_gpu_nvml(env->gpu, err);
	struct errors last;
	struct muster_error why, *replaced = NULL;
	if (!nvml)
		return -1;
	muster_step(ctx, "NVML: error counters of the links of GPU %s at the end", env->gpu->bus_id);
	if (first.running)
		pthread_join(first.thread, NULL);
	first.running = false;
	if (!first.read)
		return muster_fail(err, MUSTER_EVENDOR, "the counters at the start were not read");
	read_errors(nvml, env->gpu->nvml_device, first.nvlink_kinds, &last);
	if (!first.told) {
		muster_fail(&why, MUSTER_ENOTSUPPORTED, "the worker that read the counters at the start was replaced");
		replaced = &why;
	}
	emit_increase(ctx, &last, replaced);
	char *at = describe_links(&last);
	bool known = at || (first.errors.known[0] && last.known[0] && !replaced);
	muster_emit_read(ctx, "gpu.nvlink_errors_at", env->gpu->bus_id, known ? 0 : -1, muster_string(at ? at : "none"),
		replaced                ? replaced
		: first.errors.known[0] ? &last.why[0]
					: &first.errors.why[0]);
	free(at);
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
