/* test_gpu_errors.c - what the driver remembers of a GPU's errors, against a scripted NVML */
#include "probes/gpu_errors/counters.h"
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
	return script.sram_result;
}

static nvmlReturn_t give_replays(nvmlDevice_t of, unsigned int *replays)
{
	(void)of;
	*replays = script.replays;
	return script.replay_result;
}

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
	memset(&script, 0, sizeof script);
	script.major = 9;
	script.links = 18;
}

static void teardown(void)
{
	fake_free(context);
}

static void begin_and_run(void)
{
	struct muster_error err;
	muster_probe_gpu_errors.begin(&context->ctx);
	ck_assert_msg(muster_probe_gpu_errors.run(&context->ctx, &err) == 0, "%s", err.text);
}

static void finish(void)
{
	struct muster_error err;
	ck_assert_msg(muster_probe_gpu_errors.finish(&context->ctx, &err) == 0, "%s", err.text);
}

/* The sample of the kind; NULL when there is none. */
static const struct muster_sample *of_kind(const char *metric, const char *kind)
{
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		if (strcmp(sample->metric->name, metric) == 0 && strcmp(sample->labels[1].value.string, kind) == 0)
			return sample;
	}
	return NULL;
}

static double number(const char *metric, const char *kind)
{
	const struct muster_sample *sample = of_kind(metric, kind);
	ck_assert_msg(sample && sample->value.type == MUSTER_NUMBER, "%s %s", metric, kind);
	return sample->value.number;
}

static const char *reason(const char *metric, const char *kind)
{
	const struct muster_sample *sample = of_kind(metric, kind);
	ck_assert_msg(sample && sample->value.type == MUSTER_NULL, "%s %s", metric, kind);
	return sample->reason;
}

TEST(counters_of_a_life_are_recorded_and_their_increase_is_told)
{
	script.counters[NVML_NVLINK_ERROR_DL_CRC_DATA][0] = 9;
	script.counters[NVML_NVLINK_ERROR_DL_CRC_DATA][17] = 19;
	script.fields[NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER][0] = 188;
	script.replays = 7;
	begin_and_run();
	ck_assert_double_eq(number("gpu.nvlink_errors", "crc-data"), 28);
	ck_assert_double_eq(number("gpu.nvlink_errors", "recovery"), 0);
	ck_assert_double_eq(number("gpu.pcie_errors", "l0-to-recovery"), 188);
	ck_assert_double_eq(number("gpu.pcie_errors", "replay"), 7);
	script.counters[NVML_NVLINK_ERROR_DL_RECOVERY][4] = 1;
	script.counters[NVML_NVLINK_ERROR_DL_CRC_DATA][17] = 24;
	script.counters[NVML_NVLINK_ERROR_DL_CRC_DATA][2] = 2;
	script.replays = 100;
	script.fields[NVML_FI_DEV_PCIE_COUNT_FATAL_ERROR][0] = 1;
	finish();
	ck_assert_double_eq(number("gpu.nvlink_errors_increase", "recovery"), 1);
	ck_assert_double_eq(number("gpu.nvlink_errors_increase", "replay"), 0);
	ck_assert_double_eq(number("gpu.nvlink_errors_increase", "crc-data"), 7);
	ck_assert_str_eq(
		fake_string(context, "gpu.nvlink_errors_at", BUS_ID), "recovery: 1 on link 4; crc-data: 5 on link 17");
	ck_assert_double_eq(number("gpu.pcie_errors_increase", "replay"), 93);
	ck_assert_double_eq(number("gpu.pcie_errors_increase", "fatal"), 1);
	ck_assert_double_eq(number("gpu.pcie_errors_increase", "l0-to-recovery"), 0);
	fake_complete(context, NULL);
}

static const struct {
	enum muster_profile profile;
	unsigned int kinds;
} profiles[] = { { MUSTER_QUICK, 0 }, { MUSTER_STANDARD, 3 }, { MUSTER_FULL, 5 } };

TEST_EACH(a_profile_has_the_kinds_of_nvlink_errors_that_it_has_time_for, profiles)
{
	static const char *const kinds[] = { "recovery", "replay", "crc-flit", "crc-data", "ecc-data" };
	context->ctx.env.profile = profiles[_i].profile;
	begin_and_run();
	ck_assert_uint_eq(script.counter_calls, profiles[_i].kinds * 18);
	finish();
	ck_assert_uint_eq(script.counter_calls, 2 * profiles[_i].kinds * 18);
	for (unsigned int i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (i < profiles[_i].kinds)
			ck_assert_double_eq(number("gpu.nvlink_errors_increase", kinds[i]), 0);
		else if (i < MUSTER_NVLINK_JUDGED)
			ck_assert_str_eq(reason("gpu.nvlink_errors_increase", kinds[i]), "not read in this profile");
		else
			ck_assert_ptr_null(of_kind("gpu.nvlink_errors_increase", kinds[i]));
}

TEST(nvlink_5_has_its_counters_as_fields)
{
	script.major = 10;
	script.fields[NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS][5] = 1000;
	begin_and_run();
	script.fields[NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS][5] = 2;
	finish();
	ck_assert_uint_eq(script.counter_calls, 0);
	ck_assert_double_eq(number("gpu.nvlink_errors", "symbol"), 1000);
	ck_assert_double_eq(number("gpu.nvlink_errors_increase", "recovery"), 2);
	ck_assert_double_eq(number("gpu.nvlink_errors_increase", "symbol"), 0);
	ck_assert_ptr_nonnull(strstr(reason("gpu.nvlink_errors_increase", "replay"), "no such counter"));
	ck_assert_ptr_null(of_kind("gpu.nvlink_errors", "crc-data"));
}

TEST(a_gpu_without_nvlinks_has_none_of_their_errors)
{
	script.links = 0;
	begin_and_run();
	finish();
	ck_assert_double_eq(number("gpu.nvlink_errors_increase", "recovery"), 0);
	ck_assert_str_eq(fake_string(context, "gpu.nvlink_errors_at", BUS_ID), "none");
}

TEST(what_nvml_does_not_tell_is_null_with_the_reason)
{
	script.links_result = script.fields_result = script.sram_result = script.replay_result = script.action_result =
		NVML_ERROR_NOT_SUPPORTED;
	begin_and_run();
	finish();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.recovery_action", BUS_ID), "RECOVERY_ACTION"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.sram_threshold_exceeded", BUS_ID), "nvmlDeviceGetSram"));
	ck_assert_ptr_nonnull(strstr(reason("gpu.nvlink_errors_increase", "recovery"), "NVLINK_LINK_COUNT"));
	ck_assert_ptr_nonnull(strstr(reason("gpu.pcie_errors_increase", "replay"), "nvmlDeviceGetPcieReplayCounter"));
	ck_assert_ptr_nonnull(strstr(reason("gpu.pcie_errors_increase", "fatal"), "PCIe"));
	fake_complete(context, NULL);
}

TEST(a_link_that_cannot_be_asked_makes_its_kind_unknown)
{
	script.counter_result = NVML_ERROR_GPU_IS_LOST;
	begin_and_run();
	ck_assert_ptr_nonnull(
		strstr(reason("gpu.nvlink_errors", "recovery"), "NVLink 0: nvmlDeviceGetNvLinkErrorCounter"));
}

TEST(a_counter_that_went_backwards_is_no_increase)
{
	script.replays = 7;
	begin_and_run();
	script.replays = 3;
	finish();
	ck_assert_ptr_nonnull(strstr(reason("gpu.pcie_errors_increase", "replay"), "backwards"));
}

static const char *const words[] = { "none", "gpu-reset", "node-reboot", "drain-p2p", "drain-and-reset", "action 5" };

TEST_EACH(the_recovery_action_is_told_in_nvidias_words, words)
{
	script.action = _i;
	script.sram = _i == 2;
	begin_and_run();
	ck_assert_str_eq(fake_string(context, "gpu.recovery_action", BUS_ID), words[_i]);
	ck_assert_int_eq(fake_boolean(context, "gpu.sram_threshold_exceeded", BUS_ID), _i == 2);
}

TEST(a_worker_that_replaced_another_has_its_own_start)
{
	muster_probe_gpu_errors.begin(&context->ctx); /* the other one has run */
	finish();
	ck_assert_double_eq(number("gpu.nvlink_errors_increase", "recovery"), 0);
}

TEST(without_nvml_there_is_an_error)
{
	struct muster_error err;
	nvml_missing = true;
	muster_probe_gpu_errors.begin(&context->ctx);
	ck_assert_int_eq(muster_probe_gpu_errors.run(&context->ctx, &err), -1);
	nvml_missing = false;
	ck_assert_int_eq(muster_probe_gpu_errors.finish(&context->ctx, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "were not read"));
	context->gpu.has_nvml = false;
	ck_assert_int_eq(muster_probe_gpu_errors.run(&context->ctx, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "NVML does not show GPU " BUS_ID));
}

TEST_MAIN(.setup = setup, .teardown = teardown)
