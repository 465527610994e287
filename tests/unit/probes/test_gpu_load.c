/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_load.c - what the probe gpu_load makes of its samples, rounds and reports; its visits on a scripted GPU */
#include "probes/gpu_load.c"
#include "kernel_fakes.h"
#include "check_main.h"
#include "probe_fake.h"

#include <string.h>

/* ---- reasons for throttling ---- */

#define BRAKE nvmlClocksThrottleReasonHwPowerBrakeSlowdown
#define CAP nvmlClocksThrottleReasonSwPowerCap

TEST(a_reason_counts_from_three_samples_in_a_row_on)
{
	static const struct {
		const char *samples; /* 'b' brake, 'c' cap, '2' both, '.' none */
		double brake, cap, brake_seen;
	} rows[] = {
		{ "..........", 0, 0, 0 },
		{ "b.b.bb.b.b", 0, 0, 0.6 },
		{ "bbb.......", 0.3, 0, 0.3 },
		{ ".bbbb.bb..", 0.4, 0, 0.6 },
		{ "bbb.bbbb..", 0.7, 0, 0.7 },
		{ "cc222ccc..", 0.3, 0.8, 0.3 },
		{ "b2c2b.....", 0, 0.3, 0.4 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct muster_sampler sampler = { 0 };
		for (const char *at = rows[i].samples; *at; at++)
			muster_sampler_count(&sampler,
				*at == 'b'   ? BRAKE
				: *at == 'c' ? CAP
				: *at == '2' ? BRAKE | CAP
					     : 0,
				(double)(at - rows[i].samples) * 20);
		ck_assert_double_eq_tol(
			muster_sampler_share(&sampler, MUSTER_THROTTLE_POWER_BRAKE), rows[i].brake, 1e-9);
		ck_assert_double_eq_tol(muster_sampler_share(&sampler, MUSTER_THROTTLE_POWER_CAP), rows[i].cap, 1e-9);
		ck_assert_double_eq_tol(
			muster_sampler_seen(&sampler, MUSTER_THROTTLE_POWER_BRAKE), rows[i].brake_seen, 1e-9);
		ck_assert_double_eq(muster_sampler_share(&sampler, MUSTER_THROTTLE_SW_THERMAL), 0);
	}
	struct muster_sampler none = { 0 };
	ck_assert_double_eq(muster_sampler_share(&none, MUSTER_THROTTLE_POWER_BRAKE), 0);
	ck_assert_double_eq(muster_sampler_seen(&none, MUSTER_THROTTLE_POWER_BRAKE), 0);
}

/* A sample each 20 ms: its count of the reason, and '.' for as many without it. */
static const struct {
	const char *samples;
	double share;
} slowdowns[] = {
	{ "25.", 0 }, { "5.3s17.", 0 },  /* where the power jumps */
	{ "11s14.", 0 },                 /* not beyond the first 200 ms */
	{ "12.5s8.", 0 },                /* 80 ms */
	{ "12.6s7.", 100 / 480.0 },      /* 100 ms */
	{ "5.20s", 280 / 480.0 },        /* from 200 ms on */
	{ "10.3s3.4s5.", 100 / 480.0 },  /* 40 and 60 ms */
	{ "10.3s3.3s6.", 0 },            /* 40 and 40 ms */
	{ "10.2s1.2s1.9s", 160 / 480.0 } /* only rows of three and more */
};

TEST_EACH(a_slowdown_by_the_hardware_counts_after_the_start_and_from_100_ms_on, slowdowns)
{
	struct muster_sampler sampler = { 0 };
	double ms = 0;
	for (char *at = (char *)(uintptr_t)slowdowns[_i].samples; *at; at++)
		for (long count = strtol(at, &at, 10); count > 0; count--, ms += 20)
			muster_sampler_count(&sampler, *at == 's' ? nvmlClocksThrottleReasonHwSlowdown : 0, ms);
	ck_assert_double_eq_tol(muster_sampler_slow_share(&sampler), slowdowns[_i].share, 1e-9);
	struct muster_sampler none = { 0 };
	ck_assert_double_eq(muster_sampler_slow_share(&none), 0);
}

/* ---- the clock that load reaches ---- */

TEST(a_clock_counts_only_where_nothing_but_settings_held_it_down)
{
	static const struct {
		unsigned long long reasons;
		size_t clocks;
		const char *expected;
	} rows[] = {
		{ 0, 3, "gpu.sm_clock_reached_mhz 1410" },
		{ nvmlClocksThrottleReasonApplicationsClocksSetting, 3, "gpu.sm_clock_reached_mhz 1410" },
		{ CAP, 3, "gpu.sm_clock_reached_mhz -sw-power-cap held the clocks down under load" },
		{ BRAKE, 3, "gpu.sm_clock_reached_mhz -hw-power-brake held the clocks down under load" },
		{ 0, 0, "gpu.sm_clock_reached_mhz -no clock" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct probe_fake *probe = fake_new(&muster_probe_gpu_load);
		struct muster_load loaded = { .ctx = &probe->ctx, .bus_id = "0001:00:00.0" };
		struct muster_sampler *sampler = &loaded.sampler;
		sampler->figures[MUSTER_SAMPLED_SM_CLOCK] =
			(struct muster_sampled_figures){ .sum = 9, .highest = 1410, .count = rows[i].clocks };
		muster_fail(&sampler->figures[MUSTER_SAMPLED_SM_CLOCK].why_none, MUSTER_EVENDOR, "no clock");
		muster_sampler_count(sampler, 0, 0);
		muster_sampler_count(sampler, rows[i].reasons, 20);
		emit_reached(&loaded, sampler);
		fake_expect(probe, rows[i].expected, "a clock under load");
		fake_free(probe);
	}
}

TEST(without_nvml_nothing_is_sampled)
{
	struct muster_sampler sampler;
	muster_sampler_init(&sampler, &(struct muster_gpu){ .bus_id = "" });
	muster_sampler_start(&sampler);
	muster_sampler_take(&sampler);
	muster_sampler_stop(&sampler);
	ck_assert(!sampler.running);
	ck_assert_uint_eq(sampler.reasons_count, 0);
	for (size_t i = 0; i < MUSTER_SAMPLED_KINDS; i++)
		ck_assert(sampler.figures[i].count == 0 && *sampler.figures[i].why_none.text);
	ck_assert(*sampler.why_no_reasons.text);
}

/* ---- how far heat is from slowing the GPU down ---- */

/* What NVML answers to two samples: the GPU's temperature, the margin to its nearest limit; then the margin at which
 * the hardware slows it down, the thresholds of old; -1: not supported. */
static const struct heat {
	int celsius[2], margin[2], slowdown_margin, threshold, memory;
	const char *expected;
} heats[] = {
#define LIMITS(gpu, memory) "gpu.temperature_margin_celsius " gpu " | gpu.memory_temperature_limit_celsius " memory
	{ { 58, 50 }, { 29, 37 }, -2, 60, 95, LIMITS("31", "95") }, /* Ada and later: by the margin */
	/* an H200 whose load ends: 51 + 46 is no limit */
	{ { 41, 51 }, { 46, 46 }, -2, 89, 95, LIMITS("48", "95") },
	{ { 70, 69 }, { 4, 3 }, -2, -1, -1,
		LIMITS("5", "-nvmlDeviceGetTemperatureThreshold*") }, /* the memory is nearest */
	{ { 57, 58 }, { -1, -1 }, -2, 89, 95, LIMITS("31", "95") },   /* a driver before R570 */
	{ { 57, 56 }, { -1, -1 }, -99, 91, 0, LIMITS("34", "-NVML gives a limit of 0 degrees") }, /* Ampere */
	{ { 57, 57 }, { -1, -1 }, -99, -1, 95, LIMITS("-nvmlDeviceGetTemperatureThreshold*", "95") },
	{ { -1, -1 }, { -1, -1 }, -99, 91, 95, LIMITS("-nvmlDeviceGetTemperature:*", "95") },
};
static const struct heat *heat;
static size_t heat_sample;

static nvmlReturn_t give_fields(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	bool known = values->fieldId == NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT && heat->slowdown_margin != -99;
	(void)device;
	ck_assert(count == 1);
	values->nvmlReturn = known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
	values->valueType = NVML_VALUE_TYPE_SIGNED_INT;
	values->value.siVal = heat->slowdown_margin;
	return NVML_SUCCESS;
}

static nvmlReturn_t give_margin(nvmlDevice_t device, nvmlMarginTemperature_t *margin)
{
	(void)device;
	ck_assert_uint_eq(margin->version, nvmlMarginTemperature_v1);
	margin->marginTemperature = heat->margin[heat_sample];
	return heat->margin[heat_sample] == -1 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

static nvmlReturn_t give_heat(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *celsius)
{
	(void)device;
	*celsius = (unsigned int)heat->celsius[heat_sample];
	return sensor == NVML_TEMPERATURE_GPU && heat->celsius[heat_sample] != -1 ? NVML_SUCCESS
										  : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t give_threshold(nvmlDevice_t device, nvmlTemperatureThresholds_t what, unsigned int *celsius)
{
	int limit = what == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN ? heat->threshold : heat->memory;
	(void)device;
	*celsius = (unsigned int)limit;
	return limit == -1 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

TEST_EACH(the_margin_of_heat_is_the_lowest_sample_or_what_the_threshold_leaves, heats)
{
	struct probe_fake *probe = fake_new(&muster_probe_gpu_load);
	struct muster_load loaded = { .ctx = &probe->ctx, .bus_id = "0001:00:00.0", .sampler.nvml = &scripted_nvml };
	heat = &heats[_i];
	scripted_nvml = (struct muster_nvml){
		.nvmlDeviceGetFieldValues = give_fields,
		.nvmlDeviceGetMarginTemperature = give_margin,
		.nvmlDeviceGetTemperature = give_heat,
		.nvmlDeviceGetTemperatureThreshold = give_threshold,
	};
	pthread_mutex_init(&loaded.sampler.lock, NULL);
	loaded.sampler.why_no_reasons.code = MUSTER_ENOTSUPPORTED;
	for (size_t other = 0; other < MUSTER_SAMPLED_HEAT; other++)
		loaded.sampler.figures[other].why_none.code = MUSTER_ENOTSUPPORTED;
	for (heat_sample = 0; heat_sample < 2; heat_sample++)
		muster_sampler_take(&loaded.sampler);
	emit_limits(&loaded);
	fake_expect(probe, heat->expected, "limits");
	fake_free(probe);
}

/* ---- what was wrong ---- */

TEST(the_first_wrong_word_is_told_with_its_bit)
{
	struct muster_wrong wrong = { 0 };
	struct muster_kernel_report report = { .wrong = 3, .noted = 3 };
	report.noticed[0] = (struct muster_difference){ 0x500, { 1, 1 }, { 1, 9 } };
	report.noticed[1] = (struct muster_difference){ 0x20, { 0x7, 5 }, { 0x3, 5 } };
	report.noticed[2] = (struct muster_difference){ 0x21, { 0, 0 }, { 1, 1 } };
	muster_wrong_add(&wrong, &report, 0);
	ck_assert_uint_eq(wrong.words, 3);
	ck_assert_str_eq(wrong.first, "offset 0x200: expected 0x3, read 0x7, bit 2");
	report.noticed[0].place = 0; /* a later report does not change it */
	muster_wrong_add(&wrong, &report, 0);
	ck_assert_uint_eq(wrong.words, 6);
	ck_assert_str_eq(wrong.first, "offset 0x200: expected 0x3, read 0x7, bit 2");
	muster_wrong_note(&wrong, "something else");
	ck_assert_uint_eq(wrong.words, 7);
}

TEST(a_wrong_upper_half_and_several_bits)
{
	struct muster_wrong wrong = { 0 };
	struct muster_kernel_report report = { .wrong = 1000, .noted = 1000 }; /* more than there is room for */
	for (size_t i = 0; i < MUSTER_DIFFERENCES_MAX; i++)
		report.noticed[i] = (struct muster_difference){ 100 + i, { 4, UINT64_MAX }, { 4, 0 } };
	muster_wrong_add(&wrong, &report, 0);
	ck_assert_uint_eq(wrong.words, 1000);
	ck_assert_str_eq(wrong.first, "offset 0x648: expected 0x0, read 0xffffffffffffffff");
	struct muster_wrong none = { 0 };
	muster_wrong_add(&none, &(struct muster_kernel_report){ .wrong = 0 }, 0);
	ck_assert(none.words == 0 && !*none.first);
	muster_wrong_add(&none, &report, UINT64_C(0x100000000)); /* of a second range, which begins there */
	ck_assert_str_eq(none.first, "offset 0x100000648: expected 0x0, read 0xffffffffffffffff");
}

/* ---- rounds ---- */

TEST(medians_of_parts_of_a_series)
{
	struct muster_series series = { 0 };
	for (int i = 0; i < 1000; i++)
		muster_series_add(&series, 1000 - i);
	ck_assert_uint_eq(series.count, 1000);
	ck_assert_double_eq(muster_series_median(&series, 0, 1), 1000);
	ck_assert_double_eq(muster_series_median(&series, 0, 99), 951);
	ck_assert_double_eq(muster_series_median(&series, 901, 1000), 50);
	ck_assert_double_eq(series.values[0], 1000); /* in the order in which they came */
	muster_series_done(&series);
	ck_assert_ptr_null(series.values);
}

/* ---- visits, without products ---- */

const struct muster_cublaslt *muster_cublaslt(struct muster_error *err)
{
	if (err)
		muster_fail(err, MUSTER_ELIB, "libcublasLt.so.13 cannot be opened");
	return NULL;
}

int muster_cublaslt_check(cublasStatus_t status, struct muster_error *err, const char *call)
{
	return status == CUBLAS_STATUS_SUCCESS ? 0 : muster_fail(err, MUSTER_EVENDOR, "%s", call);
}

#define BUS_ID "0001:00:00.0"
#define SIZE_FIRST 8192 /* of the matrices, with much memory */

static struct probe_fake *context;
static double gbps[64];           /* of each launch in turn */
static size_t launches, wrong_at; /* wrong_at: of the memory, a byte that changes before it is read; SIZE_MAX: none */
static bool kept;                 /* memory for later visits */

static CUresult timed_launch(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
	unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream,
	void **parameters, void **extra)
{
	double bytes = (double)*(uint64_t *)parameters[1] * MUSTER_KERNEL_WORD;
	stream->ahead_ms += bytes / 1e6 / gbps[launches++ % LENGTH(gbps)];
	return fake_launch(
		function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters, extra);
}

static void flip(struct muster_load *of, CUdeviceptr range, size_t bytes)
{
	(void)of;
	if (wrong_at < bytes)
		((char *)(uintptr_t)range)[wrong_at] ^= 1;
}

static const struct fake_knob knobs[] = { FAKE_GPU_KNOBS, FAKE_KNOB("wrong_at", wrong_at), FAKE_KNOB("kept", kept),
	FAKE_KNOB("first_ms", first_ms), FAKE_KNOB("launches", launches), { .name = NULL } };

static void set_up_visits(void)
{
	fake_gpu_reset();
	fake_kernels_add(&scripted_cuda);
	scripted_cuda.cuLaunchKernel = timed_launch;
	fake.free_bytes = 11 * MIB;
	context = fake_gpu_new(&muster_probe_gpu_load);
	context->gpu.has_nvml = false;
	context->knobs = knobs;
	context->place = BUS_ID;
	context->ctx.env.profile = MUSTER_STANDARD;
	for (size_t i = 0; i < LENGTH(gbps); i++)
		gbps[i] = 100;
	launches = 0;
	kept = true;
	wrong_at = SIZE_MAX;
	muster_load_hook = flip;
	memset(&load, 0, sizeof load);
}

static void tear_down_visits(void)
{
	muster_load_hook = NULL;
	fake_free(context);
}

static const struct test_fixture visits = { .setup = set_up_visits, .teardown = tear_down_visits };

#define AGAIN(visit) "first_ms=1 | together | forget | launches=0 | visit=" visit

static const struct fake_row rows[] = {
	{ "a part of the memory and a pattern is a window", NULL,
		"gpu.memory_tested_mib 10 | launches 40 | gpu.memory_write_gbps 400~1 | gpu.memory_read_gbps "
		"[200 200 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100] | "
		"gpu.memory_wrong 0 | gpu.memory_wrong_at 'none" },
	{ "a full run writes ten patterns", "profile=2", "launches 200" },
	{ "a wrong byte of the last part has its place in the memory", "wrong_at=10485759",
		"gpu.memory_wrong 2 | gpu.memory_wrong_at 'offset 0x9ffff8: *, bit 56" },
	{ "later visits yield windows of one pattern and nothing else", AGAIN("1"),
		"samples 2 | gpu.memory_write_gbps [100 400 100] | gpu.memory_read_gbps [100 100 100] | launches 6" },
	{ "the last visit", AGAIN("2"), "samples 2 | launches 6" },
	{ "a visit at the end of a full run", AGAIN("3") " | profile=2",
		"samples 2 | gpu.memory_write_gbps [100 400 100 100 100 100 100 100 100]" },
	{ "a later visit tells wrong words", AGAIN("1") " | wrong_at=3145727", "samples 3 | gpu.memory_wrong 1" },
	{ "another part is not looked at", AGAIN("1") " | wrong_at=3145728", "samples 2" },
	{ "without memory there are no windows", AGAIN("1") " | kept=0 | alloc_result=2", "samples 0 | launches 0" },
	{ "a worker that was replaced has none", "visit=1", "samples 0 | launches 0" },
	{ "a quick run has no load", "profile=0", "samples 0 | launches 0" },
	{ "a GPU that others use is left alone", "why_shared=another program uses the GPU: 5 python3",
		"launches 0 | held 0 | gpu.memory_tested_mib -another program uses the GPU: 5 python3 | "
		"gpu.memory_write_gbps -?* | gpu.memory_wrong -?* | gpu.gemm_bf16_tflops -?* | "
		"gpu.load_seconds -?*" },
	{ "and in later visits", "visit=1 | why_shared=another", "samples 0 | launches 0" },
};

/* After the first visit, as on a GPU with more memory. */
static void keep_memory(void)
{
	ck_assert_int_eq(fake_alloc(&load.memory, 10 * MIB), CUDA_SUCCESS);
	load.bytes = 10 * MIB;
}

TEST_WITH(visits_of_the_memory, .end = LENGTH(rows), .fixture = &visits)
{
	gbps[1] = 400;
	gbps[10] = gbps[11] = 200;
	fake_given(context, rows[_i].given);
	if (kept && context->was_run)
		keep_memory();
	context->result = together(&context->ctx, &context->error);
	fake_expect(context, rows[_i].expected, rows[_i].name);
}

TEST_WITH(wrong_words_are_told_by_the_visit_that_finds_them, .end = 1, .fixture = &visits)
{
	fake_given(context, "wrong_at=7 | first_ms=1 | together | wrong_at=-1 | visit=1 | forget");
	keep_memory();
	fake_given(context, "together");
	fake_expect(context, "samples 2", "the first visit");
	fake_given(context, "forget | wrong_at=7 | visit=2 | together");
	fake_expect(context, "samples 3 | gpu.memory_wrong 1", "the last visit");
}

static CUresult scarce_alloc(CUdeviceptr *pointer, size_t bytes)
{
	return bytes > (size_t)1 << 30 ? CUDA_ERROR_OUT_OF_MEMORY : fake_alloc(pointer, bytes);
}

TEST_WITH(where_no_memory_was_kept_there_is_as_much_as_can_be_had, .end = 1, .fixture = &visits)
{
	load.cuda = &scripted_cuda;
	scripted_cuda.cuMemAlloc_v2 = scarce_alloc;
	ck_assert(has_memory());
	ck_assert_uint_eq(load.bytes, (size_t)1 << 30);
	ck_assert(has_memory()); /* it stays */
	ck_assert_uint_eq(load.bytes, (size_t)1 << 30);
}

/* NCCL's buffers may leave less memory than the first visit had, as on a small MIG instance. */
TEST_WITH(products_of_another_size_are_not_compared_with_those_of_the_first_visit, .end = 1, .fixture = &visits)
{
	struct muster_product_figures figures = { .tried = true, .measured = true, .size = SIZE_FIRST };
	load.cuda = &scripted_cuda;
	load.ctx = &context->ctx;
	load.bytes = (size_t)512 << 20; /* for 4096 rows and not for 8192 */
	ck_assert_int_eq(muster_load_products(&load, MUSTER_BF16, 0, &figures, &context->error), 0);
	ck_assert(figures.wrong.words == 0 && figures.tflops.count == 0 && figures.size == SIZE_FIRST);
}

TEST_MAIN(.setup = NULL)
