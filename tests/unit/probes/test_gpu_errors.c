/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_errors.c - what the driver remembers of a GPU's errors, against a scripted NVML */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor_fakes.h"

#include <stdio.h>
#include <string.h>

extern const struct muster_probe muster_probe_gpu_errors;

#define BUS_ID "0001:00:00.0"

static struct probe_fake *context;

/* What NVML answers. */
static struct {
	int major;
	double links;
	nvmlReturn_t links_result, counter_result, fields_result, sram_result, replay_result;
	double action;
	nvmlReturn_t action_result;
	bool sram;
	unsigned int replays, counter_calls;
	unsigned long long counters[5][18], fields[256][18];
} script;
static char device;

static nvmlReturn_t give_capability(nvmlDevice_t of, int *major, int *minor)
{
	ck_assert_ptr_eq(of, &device);
	*major = script.major;
	*minor = 0;
	return NVML_SUCCESS;
}

static nvmlReturn_t give_counter(
	nvmlDevice_t of, unsigned int link, nvmlNvLinkErrorCounter_t kind, unsigned long long *count)
{
	(void)of;
	ck_assert_uint_lt(link, (unsigned int)script.links);
	script.counter_calls++;
	*count = script.counters[kind][link];
	return script.counter_result;
}

static nvmlReturn_t give_fields(nvmlDevice_t of, int count, nvmlFieldValue_t *values)
{
	(void)of;
	for (int i = 0; i < count; i++) {
		nvmlFieldValue_t *value = &values[i];
		value->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
		value->nvmlReturn = script.fields_result;
		if (value->fieldId == NVML_FI_DEV_NVLINK_LINK_COUNT) {
			value->value.ullVal = (unsigned long long)script.links;
			value->nvmlReturn = script.links_result;
		} else if (value->fieldId == NVML_FI_DEV_GET_GPU_RECOVERY_ACTION) {
			value->value.ullVal = (unsigned long long)script.action;
			value->nvmlReturn = script.action_result;
		} else {
			value->value.ullVal = script.fields[value->fieldId][value->scopeId];
		}
	}
	return NVML_SUCCESS;
}

static nvmlReturn_t give_sram(nvmlDevice_t of, nvmlEccSramErrorStatus_t *status)
{
	(void)of;
	ck_assert_uint_eq(status->version, nvmlEccSramErrorStatus_v1);
	status->bThresholdExceeded = script.sram;
	status->aggregateUncParity = 1;
	status->aggregateUncSecDed = 2;
	status->aggregateCor = 400;
	return script.sram_result;
}

static nvmlReturn_t give_replays(nvmlDevice_t of, unsigned int *replays)
{
	(void)of;
	*replays = script.replays;
	return script.replay_result;
}

#define KNOB(field) FAKE_KNOB(#field, script.field)
#define FIELD(name, field, link) FAKE_KNOB(name, script.fields[field][link])
#define LINK(name, kind, link) FAKE_KNOB(name, script.counters[kind][link])

static const struct fake_knob knobs[] = { KNOB(major), KNOB(links), KNOB(links_result), KNOB(counter_result),
	KNOB(fields_result), KNOB(sram_result), KNOB(replay_result), KNOB(action), KNOB(action_result), KNOB(sram),
	KNOB(replays), KNOB(counter_calls), FIELD("to_recovery", NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER, 0),
	FIELD("fatal", NVML_FI_DEV_PCIE_COUNT_FATAL_ERROR, 0),
	FIELD("symbol_5", NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS, 5),
	FIELD("recovery_5", NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, 5),
	FIELD("failed_5", NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS, 5),
	LINK("crc_data_0", NVML_NVLINK_ERROR_DL_CRC_DATA, 0), LINK("crc_data_2", NVML_NVLINK_ERROR_DL_CRC_DATA, 2),
	LINK("crc_data_17", NVML_NVLINK_ERROR_DL_CRC_DATA, 17), LINK("recovery_4", NVML_NVLINK_ERROR_DL_RECOVERY, 4),
	FAKE_KNOB("nvml_missing", nvml_missing), { .name = NULL } };

static void setup(void)
{
	scripted_nvml = (struct muster_nvml){
		.nvmlDeviceGetCudaComputeCapability = give_capability,
		.nvmlDeviceGetNvLinkErrorCounter = give_counter,
		.nvmlDeviceGetFieldValues = give_fields,
		.nvmlDeviceGetSramEccErrorStatus = give_sram,
		.nvmlDeviceGetPcieReplayCounter = give_replays,
	};
	context = fake_new(&muster_probe_gpu_errors);
	fake_gpu(context, BUS_ID, "GPU-1");
	context->gpu.has_nvml = true;
	context->gpu.nvml_device = (nvmlDevice_t)(void *)&device;
	context->ctx.env.profile = MUSTER_FULL;
	context->knobs = knobs;
	context->place = BUS_ID;
	memset(&script, 0, sizeof script);
	fake_given(context, "profile=2 | major=9 | links=18");
}

static void teardown(void)
{
	fake_free(context);
}

#define OF(metric, kind) metric " gpu=" BUS_ID " kind=" kind " "
#define NVLINK(kind) OF("gpu.nvlink_errors", kind)
#define NVLINK_MORE(kind) OF("gpu.nvlink_errors_increase", kind)
#define PCIE(kind) OF("gpu.pcie_errors", kind)
#define PCIE_MORE(kind) OF("gpu.pcie_errors_increase", kind)
#define NOT_READ "-not read in this profile | "
#define ACTION(number, sram, words, exceeded)                                                                          \
	{                                                                                                              \
		"the recovery action is told in NVIDIA's words", "action=" number " | sram=" sram " | begin | run",    \
			"gpu.recovery_action '" words " | gpu.sram_threshold_exceeded " exceeded                       \
	}

static const struct fake_row rows[] = {
	{ "counters of a life are recorded",
		"crc_data_0=9 | crc_data_17=19 | to_recovery=188 | replays=7 | begin | run",
		NVLINK("crc-data") "28 | " NVLINK("recovery") "0 | " PCIE("l0-to-recovery") "188 | " PCIE(
			"replay") "7" },
	{ "and their increase is told",
		"crc_data_0=9 | crc_data_17=19 | to_recovery=188 | replays=7 | begin | run | recovery_4=1 | "
		"crc_data_17=24 | crc_data_2=2 | replays=100 | fatal=1 | finish",
		NVLINK_MORE("recovery") "1 | " NVLINK_MORE("replay") "0 | " NVLINK_MORE(
			"crc-data") "7 | "
				    "gpu.nvlink_errors_at 'recovery: 1 on link 4; crc-data: 5 on link 17 "
				    "| " PCIE_MORE("replay") "93 | " PCIE_MORE("fatal") "1 | " PCIE_MORE(
					    "l0-to-recovery") "0" },
	{ "a quick run reads no NVLink errors", "profile=0 | begin | run | finish",
		"counter_calls 0 | gpu.nvlink_errors_at " NOT_READ NVLINK_MORE("recovery")
			NOT_READ NVLINK_MORE("replay") NOT_READ NVLINK_MORE("crc-flit")
				NOT_READ NVLINK_MORE("crc-data") "#0 | " NVLINK_MORE("ecc-data") "#0" },
	/* of each of 18 links, at the start and at the end */
	{ "a standard run reads three kinds", "profile=1 | begin | run | finish",
		"counter_calls 108 | " NVLINK_MORE("recovery") "0 | " NVLINK_MORE("replay") "0 | " NVLINK_MORE(
			"crc-flit") "0 | " NVLINK_MORE("crc-data") "#0 | " NVLINK_MORE("ecc-data") "#0" },
	{ "a full run reads all kinds at its start", "begin | run", "counter_calls 90" },
	{ "a full run reads all kinds", "begin | run | finish",
		"counter_calls 180 | " NVLINK_MORE("recovery") "0 | " NVLINK_MORE("replay") "0 | " NVLINK_MORE(
			"crc-flit") "0 | " NVLINK_MORE("crc-data") "0 | " NVLINK_MORE("ecc-data") "0" },
	{ "NVLink 5 has its counters as fields", "major=10 | symbol_5=1000 | begin | run | recovery_5=2 | finish",
		"counter_calls 0 | " NVLINK("symbol") "1000 | " NVLINK_MORE("link-recovery") "2" },
	{ "and some of the others not at all", "major=10 | begin | run | finish",
		NVLINK_MORE("replay") "-*no such counter* | " NVLINK("crc-data") "#0" },
	{ "and standard reads what links came through, and what they did not",
		"profile=1 | major=10 | begin | run | recovery_5=2 | failed_5=1 | finish",
		NVLINK_MORE("link-recovery") "2 | " NVLINK_MORE("recovery") "1 | " NVLINK("symbol") "#0" },
	{ "older GPUs do not tell these apart", "profile=1 | begin | run | finish", NVLINK("link-recovery") "#0" },
	{ "a GPU without NVLinks has none of their errors", "links=0 | begin | run | finish",
		NVLINK_MORE("recovery") "0 | gpu.nvlink_errors_at 'none" },
	{ "what NVML does not tell is null with the reason",
		"links_result=3 | fields_result=3 | sram_result=3 | replay_result=3 | action_result=3 | begin "
		"| run | finish",
		"gpu.recovery_action -*RECOVERY_ACTION* | gpu.sram_threshold_exceeded -*nvmlDeviceGetSram* | "
		"gpu.nvlink_errors_at !*LINK_COUNT* | " NVLINK_MORE("recovery") "-*NVLINK_LINK_COUNT* | " PCIE_MORE(
			"replay") "-*nvmlDeviceGetPcieReplayCounter* | " PCIE_MORE("fatal") "-*PCIe*" },
	{ "a link that cannot be asked makes its kind unknown", "counter_result=15 | begin | run",
		NVLINK("recovery") "-*NVLink 0: nvmlDeviceGetNvLinkErrorCounter*" },
	{ "a counter that went backwards is no increase", "replays=7 | begin | run | replays=3 | finish",
		PCIE_MORE("replay") "-*backwards*" },
	{ "the SRAM's errors are those of a life", "begin | run",
		"gpu.sram_uncorrected_aggregate 3 | gpu.sram_corrected_aggregate 400" },
	{ "and unknown where NVML does not tell", "sram_result=3 | begin | run",
		"gpu.sram_uncorrected_aggregate -*nvmlDeviceGetSram* | gpu.sram_corrected_aggregate -*" },
	ACTION("0", "0", "none", "false"),
	ACTION("1", "0", "gpu-reset", "false"),
	ACTION("2", "1", "node-reboot", "true"),
	ACTION("3", "0", "drain-p2p", "false"),
	ACTION("4", "0", "drain-and-reset", "false"),
	ACTION("5", "0", "recover-imex-domain", "false"),
	ACTION("6", "0", "bus-reset", "false"),
	ACTION("7", "0", "system-reboot", "false"),
	ACTION("8", "0", "action 8", "false"),
	/* the other one has run */
	{ "a worker that replaced another knows of no errors before its own start", "begin | finish",
		NVLINK_MORE("recovery") "-*was replaced* | gpu.nvlink_errors_at -*was replaced* | " PCIE_MORE(
			"fatal") "-*was replaced*" },
	{ "without NVML there is an error", "nvml_missing=1 | begin | run", "error '?*" },
	{ "without a start there is no increase", "nvml_missing=1 | begin | nvml_missing=0 | finish",
		"error '*were not read*" },
	{ "a GPU that NVML does not show", "has_nvml=0 | begin | run", "error '*NVML does not show GPU " BUS_ID "*" },
};

TEST_EACH(errors_are_what_the_driver_remembers, rows)
{
	fake_case(context, &rows[_i]);
	/* a full run from its start to its end */
	if (context->result == 0 && strstr(rows[_i].given, "run | ") && strstr(rows[_i].given, "finish") &&
		context->ctx.env.profile == MUSTER_FULL)
		fake_complete(context, NULL);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
