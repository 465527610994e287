/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernels.c - libcuda.so.1's stand-in does with memory what muster's kernels do, and NVML's shows the load
 *
 * Small ranges hold real words; what a larger one holds is only known as patterns. Both must mean the same.
 */
#include "check_main.h"
#include "standins/load_fixture.h"

#include "sim/standins/base.h"
#include "vendor/nvml_abi.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct muster_pattern plain = { 7, UINT64_MAX, 0, 0 };
static const struct muster_pattern inverse = { 7, UINT64_MAX, 0, UINT64_MAX };
static const struct muster_pattern other = { 8, UINT64_MAX, 0, 0 };
static const struct muster_pattern masked = { 3, 0x80ff80ff80ff80ff, 0x3f003f003f003f00, 0x1111 };
static const struct muster_pattern ones = { 5, 0, 0, UINT64_MAX };

static void begin(void)
{
	example_start(changed, 0);
	load_open();
	load_use(0);
}

static void start(void)
{
	load_unwritten();
	begin();
}

/* -- what memory holds -- */

TEST_LOOP(a_fill_writes_the_pattern_and_nothing_beside_it, 0, 4)
{
	static uint64_t words[6 * KIB / 8];
	const struct muster_pattern *patterns[] = { &plain, &inverse, &masked, &ones };
	CUdeviceptr memory = take(sizeof words);
	OK(cuMemsetD32Async(memory, 0x55555555, sizeof words / 4, NULL));
	fill(memory + KIB, 4 * KIB, *patterns[_i]);
	OK(cuMemcpyDtoHAsync_v2(words, memory, sizeof words, NULL));
	OK(cuStreamQuery(NULL));
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		bool inside = i >= KIB / 8 && i < 5 * KIB / 8;
		ck_assert_uint_eq(
			words[i], inside ? muster_pattern_word(patterns[_i], i - KIB / 8) : 0x5555555555555555);
	}
}

static const size_t sizes[] = { 16, 48, 4 * KIB, MUSTER_STANDIN_WINDOW / 16 * 16, MUSTER_STANDIN_WINDOW / 16 * 16 + 16,
	MIB, 600 * MIB };

TEST_EACH(what_was_filled_is_verified_and_nothing_else_is, sizes)
{
	size_t bytes = sizes[_i], words = bytes / MUSTER_KERNEL_WORD;
	CUdeviceptr memory = take(bytes);
	ck_assert_uint_eq(verify(memory, bytes, plain).wrong, words); /* never written */
	fill(memory, bytes, plain);
	ck_assert_uint_eq(verify(memory, bytes, plain).wrong, 0);
	struct muster_kernel_report report = verify(memory, bytes, other);
	ck_assert_uint_eq(report.wrong, words);
	ck_assert_uint_eq(report.noted, words < 5920 * 256 ? words : 5920 * 256);
	for (size_t i = 0; i < words && i < MUSTER_DIFFERENCES_MAX; i++) {
		const struct muster_difference *difference = &report.noticed[i];
		ck_assert_uint_eq(difference->read[0], muster_pattern_word(&plain, 2 * difference->place));
		ck_assert_uint_eq(difference->read[1], muster_pattern_word(&plain, 2 * difference->place + 1));
		ck_assert_uint_eq(difference->expected[0], muster_pattern_word(&other, 2 * difference->place));
		ck_assert_uint_eq(difference->expected[1], muster_pattern_word(&other, 2 * difference->place + 1));
	}
	fill(memory, bytes, inverse);
	ck_assert_uint_eq(verify(memory, bytes, plain).wrong, words);
	ck_assert_uint_eq(verify(memory, bytes, inverse).wrong, 0);
}

TEST(masks_that_mean_the_same_are_the_same)
{
	CUdeviceptr memory = take(2 * MIB);
	fill(memory, 2 * MIB, (struct muster_pattern){ 9, 0xffff, 0xff, 0xf0 });
	ck_assert_uint_eq(verify(memory, 2 * MIB, (struct muster_pattern){ 9, 0xff00, 0x0f, 0 }).wrong, 0);
	fill(memory, 2 * MIB, ones);
	ck_assert_uint_eq(verify(memory, 2 * MIB, (struct muster_pattern){ 77, 0, UINT64_MAX, 0 }).wrong, 0);
	ck_assert_uint_eq(verify(memory, 2 * MIB, (struct muster_pattern){ 77, 0, 0, 0 }).wrong, 2 * MIB / 16);
}

TEST(a_part_continues_the_pattern_of_the_whole)
{
	CUdeviceptr memory = take(600 * MIB);
	struct muster_pattern later = plain;
	later.seed += 100 * MIB / 8;
	fill(memory, 600 * MIB, plain);
	ck_assert_uint_eq(verify(memory + 100 * MIB, 200 * MIB, later).wrong, 0);
	ck_assert_uint_eq(verify(memory + 100 * MIB, 200 * MIB, plain).wrong, 200 * MIB / 16);
	fill(memory + 100 * MIB, 200 * MIB, later); /* the same words again */
	ck_assert_uint_eq(verify(memory, 600 * MIB, plain).wrong, 0);
}

TEST(a_fill_replaces_what_it_covers)
{
	CUdeviceptr memory = take(600 * MIB);
	fill(memory, 600 * MIB, plain);
	fill(memory + 64, 32 * MIB, other);
	struct muster_kernel_report report = verify(memory, 600 * MIB, plain);
	ck_assert_uint_eq(report.wrong, 2 * MIB);
	ck_assert_uint_eq(report.noticed[0].place, 4);
	ck_assert_uint_eq(verify(memory, 64, plain).wrong, 0);
	ck_assert_uint_eq(verify(memory + 64, 32 * MIB, other).wrong, 0);
	fill(memory, 64 + 16, plain); /* over an end */
	ck_assert_uint_eq(verify(memory, 600 * MIB, plain).wrong, 2 * MIB - 1);
	fill(memory, 600 * MIB, plain);
	ck_assert_uint_eq(verify(memory, 600 * MIB, plain).wrong, 0);
}

TEST_EACH(a_copy_into_memory_is_found_with_its_place, sizes)
{
	size_t bytes = sizes[_i];
	CUdeviceptr memory = take(bytes);
	size_t last = bytes / 16 - 1;
	uint64_t wrong = muster_pattern_word(&plain, 2 * last + 1) ^ 0x400;
	fill(memory, bytes, plain);
	OK(cuMemcpyHtoDAsync_v2(memory + 16 * last + 8, &wrong, sizeof wrong, NULL));
	struct muster_kernel_report report = verify(memory, bytes, plain);
	ck_assert_uint_eq(report.wrong, 1);
	ck_assert_uint_eq(report.noted, 1);
	ck_assert_uint_eq(report.noticed[0].place, last);
	ck_assert_uint_eq(report.noticed[0].read[0], report.noticed[0].expected[0]);
	ck_assert_uint_eq(report.noticed[0].read[1], wrong);
	ck_assert_uint_eq(report.noticed[0].expected[1], wrong ^ 0x400);
	OK(cuMemsetD32Async(memory, 0, 4, NULL));
	ck_assert_uint_eq(verify(memory, bytes, plain).wrong, last == 0 ? 1 : 2);
	OK(cuMemsetD32Async(memory, 0, bytes / 4, NULL));
	ck_assert_uint_eq(verify(memory, bytes, plain).wrong, bytes / 16);
}

TEST(a_report_adds_up)
{
	struct muster_error err;
	CUdeviceptr memory = take(MIB);
	fill(memory, MIB, plain);
	clear();
	for (int i = 0; i < 3; i++)
		DONE(muster_kernel_verify(&cuda, &kernels, memory, 64, &other, report_at, NULL, &err));
	struct muster_kernel_report report = fetch();
	ck_assert_uint_eq(report.wrong, 12);
	ck_assert_uint_eq(report.noted, 12);
	ck_assert_uint_eq(report.noticed[11].place, 3);
	uint64_t sum = checksum(memory, 64);
	DONE(muster_kernel_checksum(&cuda, &kernels, memory, 64, report_at, NULL, &err));
	ck_assert_uint_eq(fetch().wrong, 2 * sum);
}

TEST_EACH(two_ranges_are_compared, sizes)
{
	size_t bytes = sizes[_i] < 400 * MIB ? sizes[_i] : 400 * MIB;
	CUdeviceptr a = take(bytes), b = take(bytes + 32) + 32;
	fill(a, bytes, masked);
	fill(b, bytes, masked);
	ck_assert_uint_eq(compare(a, b, bytes).wrong, 0);
	fill(b + bytes - 16, 16, other);
	struct muster_kernel_report report = compare(a, b, bytes);
	ck_assert_uint_eq(report.wrong, 1);
	ck_assert_uint_eq(report.noticed[0].place, bytes / 16 - 1);
	ck_assert_uint_eq(report.noticed[0].read[0], muster_pattern_word(&masked, bytes / 8 - 2));
	ck_assert_uint_eq(report.noticed[0].expected[0], muster_pattern_word(&other, 0));
}

/* What kernels.ptx computes. */
static uint64_t sum_of(const struct muster_pattern *pattern, size_t bytes)
{
	uint64_t sum = 0;
	for (size_t place = 0; place < bytes / 8; place++) {
		uint64_t word = muster_pattern_word(pattern, place);
		sum += muster_pattern_word(&(struct muster_pattern){ word, UINT64_MAX, 0, 0 }, place);
	}
	return sum;
}

TEST_EACH(equal_contents_have_equal_sums_on_any_gpu, sizes)
{
	size_t bytes = sizes[_i] < 200 * MIB ? sizes[_i] : 200 * MIB;
	CUdeviceptr a = take(bytes + 16) + 16, b = take(bytes);
	fill(a, bytes, plain);
	fill(b, bytes, plain);
	uint64_t sum = checksum(a, bytes);
	if (bytes <= MUSTER_STANDIN_WINDOW)
		ck_assert_uint_eq(sum, sum_of(&plain, bytes));
	ck_assert_uint_eq(checksum(b, bytes), sum);
	fill(b, 16, other);
	ck_assert_uint_ne(checksum(b, bytes), sum);
	fill(b, bytes, other);
	ck_assert_uint_ne(checksum(b, bytes), sum);
	if (bytes > 48) { /* the same two patterns, with their border elsewhere */
		fill(b, 16, ones);
		uint64_t first = checksum(b, bytes);
		fill(b, 32, ones);
		ck_assert_uint_ne(checksum(b, bytes), first);
	}
	load_use(1);
	CUdeviceptr c = take(bytes);
	fill(c, bytes, plain);
	ck_assert_uint_eq(checksum(c, bytes), sum);
}

/* -- what the scenario breaks -- */

static const struct test_fixture other_fixture = { .setup = load_unwritten, .teardown = example_end };

TEST_WITH(a_bad_bit_is_wrong_where_it_should_be_0, .end = LENGTH(sizes), .fixture = &other_fixture)
{
	size_t at = sizes[_i] / 16 * 8, bytes = sizes[_i]; /* a word in the middle */
	gpu(0)->memory_bad_at = at;
	gpu(0)->memory_bad_bit = 41;
	begin();
	CUdeviceptr memory = take(bytes);
	size_t found = 0;
	for (int i = 0; i < 2; i++) {
		const struct muster_pattern *pattern = i == 0 ? &plain : &inverse;
		fill(memory, bytes, *pattern);
		struct muster_kernel_report report = verify(memory, bytes, *pattern);
		uint64_t expected = muster_pattern_word(pattern, at / 8);
		if (expected >> 40 & 1) {
			ck_assert_uint_eq(report.wrong, 0);
			continue;
		}
		found++;
		ck_assert_uint_eq(report.wrong, 1);
		ck_assert_uint_eq(report.noticed[0].place, at / 16);
		ck_assert_uint_eq(report.noticed[0].expected[at / 8 % 2], expected);
		ck_assert_uint_eq(report.noticed[0].read[at / 8 % 2], expected | (uint64_t)1 << 40);
		uint64_t sum = checksum(memory, bytes);
		load_use(1); /* which is well */
		CUdeviceptr good = take(bytes);
		fill(good, bytes, *pattern);
		ck_assert_uint_ne(checksum(good, bytes), sum);
		load_use(0);
		if (at >= 16)
			ck_assert_uint_eq(verify(memory, at / 16 * 16, *pattern).wrong, 0);
	}
	ck_assert_uint_eq(found, 1);
}

TEST_WITH(memory_that_others_hold_cannot_be_had, .end = 1, .fixture = &other_fixture)
{
	size_t free_bytes, total;
	CUdeviceptr memory;
	gpu(0)->memory_held_mib = 300;
	begin();
	OK(cuMemGetInfo_v2(&free_bytes, &total));
	ck_assert_uint_eq(total, 1024 * MIB);
	ck_assert_uint_eq(free_bytes, 724 * MIB - sizeof(struct muster_kernel_report));
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&memory, 724 * MIB));
	OK(cuMemAlloc_v2(&memory, 723 * MIB));
}

/* -- time -- */

TEST(kernels_run_at_the_scenarios_bandwidth)
{
	CUdeviceptr memory = take(500 * 1000 * 1000), second = memory + 240 * 1000 * 1000;
	CUevent started = now();
	fill(memory, 500 * 1000 * 1000, plain);
	OK(cuStreamQuery(NULL));
	ck_assert_double_eq_tol(since(started), 0.5, 1e-6);
	started = now();
	verify(memory, 500 * 1000 * 1000, plain);
	ck_assert_double_eq_tol(since(started), 0.25, 1e-3); /* and a copy of the report */
	started = now();
	compare(memory, second, 200 * 1000 * 1000);
	ck_assert_double_eq_tol(since(started), 0.2, 1e-3);
	started = now();
	checksum(memory, 500 * 1000 * 1000);
	ck_assert_double_eq_tol(since(started), 0.25, 1e-3);
}

TEST(a_kernel_waits_for_its_turn_in_the_stream)
{
	static uint64_t words[8], zeros[8];
	CUdeviceptr memory = take(sizeof words);
	OK(cuMemcpyHtoDAsync_v2(memory, zeros, sizeof zeros, NULL));
	fill(memory, sizeof words, plain);
	OK(cuMemcpyDtoHAsync_v2(words, memory, sizeof words, NULL));
	OK(cuMemsetD32Async(memory, 0, sizeof words / 4, NULL));
	OK(cuStreamQuery(NULL));
	ck_assert_uint_eq(words[7], muster_pattern_word(&plain, 7));
	ck_assert_uint_eq(verify(memory, sizeof words, (struct muster_pattern){ 0 }).wrong, 0);
}

/* -- modules and launches -- */

TEST(a_module_has_the_functions_of_its_text)
{
	CUmodule module;
	CUfunction function;
	char log[100] = "";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)(uintptr_t)sizeof log };
	GIVES(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx(&module, NULL, 0, NULL, NULL));
	ck_assert_int_eq(cuda.cuModuleLoadDataEx(&module, ".entry muster_fill(", 2, options, values), 200);
	ck_assert_ptr_nonnull(strstr(log, ".version"));
	OK(cuModuleLoadDataEx(&module, ".version 7.0 .visible .entry muster_fill(.param", 0, NULL, NULL));
	OK(cuModuleGetFunction(&function, module, "muster_fill"));
	ck_assert_int_eq(cuda.cuModuleGetFunction(&function, module, "muster_fil"), 500);
	ck_assert_int_eq(cuda.cuModuleGetFunction(&function, module, ""), 500);
	OK(cuModuleUnload(module));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&function, module, "muster_fill"));
}

static CUresult launch(CUfunction function, unsigned int grid, unsigned int block, CUdeviceptr range, CUstream stream)
{
	uint64_t words = 1, seed = 0, mask = 0;
	void *parameters[] = { &range, &words, &seed, &mask, &mask, &mask };
	return cuda.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, parameters, NULL);
}

TEST(a_launch_that_cannot_be_is_refused)
{
	CUfunction fills = kernels.fill;
	CUdeviceptr memory = take(16);
	ck_assert_int_eq(launch(fills, 1, 1, memory, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(launch(fills, 0, 1, memory, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(launch(fills, 1, 1025, memory, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(launch(NULL, 1, 1, memory, NULL), CUDA_ERROR_INVALID_HANDLE);
	ck_assert_int_eq(launch(fills, 1, 1, memory, (CUstream)&memory), CUDA_ERROR_INVALID_HANDLE);
	muster_kernels_unload(&cuda, &kernels);
	ck_assert_int_eq(launch(fills, 1, 1, memory, NULL), CUDA_ERROR_INVALID_HANDLE);
}

TEST_LOOP(a_kernel_outside_of_memory_breaks_the_context, 0, 2)
{
	CUdeviceptr memory = take(16);
	const char *name;
	ck_assert_int_eq(launch(kernels.fill, 1, 1, memory + (_i ? 8 : 16), NULL), CUDA_SUCCESS);
	CUresult broken = cuda.cuStreamQuery(NULL);
	OK(cuGetErrorName(broken, &name));
	ck_assert_str_eq(name, _i ? "CUDA_ERROR_MISALIGNED_ADDRESS" : "CUDA_ERROR_ILLEGAL_ADDRESS");
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&memory, 16), broken);
}

TEST(a_kernel_that_is_not_musters_ends_the_process)
{
	CUmodule module;
	CUfunction function;
	OK(cuModuleLoadDataEx(&module, ".version 7.0 .visible .entry one(.param", 0, NULL, NULL));
	pid_t child = fork();
	if (child == 0) {
		cuda.cuModuleGetFunction(&function, module, "one");
		_exit(0);
	}
	int status = 0;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WEXITSTATUS(status), 70);
}

/* -- what NVML shows -- */

static struct {
#define X(symbol, parameters) nvmlReturn_t(*symbol) parameters;
	MUSTER_NVML_FUNCTIONS(X)
#undef X
} nvml;

#define NVML(call) ck_assert_int_eq(nvml.call, NVML_SUCCESS)

static nvmlDevice_t open_nvml(void)
{
	nvmlDevice_t device;
	void *library = example_open("libnvidia-ml.so.1");
#define X(symbol, parameters) example_find(library, #symbol, &nvml.symbol, sizeof nvml.symbol);
	MUSTER_NVML_FUNCTIONS(X)
#undef X
	NVML(nvmlInit_v2());
	NVML(nvmlDeviceGetHandleByPciBusId_v2("0004:0a:00.0", &device));
	return device;
}

static void expect_shown(nvmlDevice_t device, bool loaded)
{
	unsigned int number;
	unsigned long long reasons;
	nvmlFieldValue_t fields[] = { { .fieldId = NVML_FI_DEV_MEMORY_TEMP },
		{ .fieldId = NVML_FI_DEV_POWER_INSTANT } };
	NVML(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &number));
	ck_assert_uint_eq(number, loaded ? 1300 : 210);
	NVML(nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEM, &number));
	ck_assert_uint_eq(number, 1215);
	NVML(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &number));
	ck_assert_uint_eq(number, loaded ? 61 : 33);
	NVML(nvmlDeviceGetPowerUsage(device, &number));
	ck_assert_uint_eq(number, loaded ? 390500 : 55250);
	NVML(nvmlDeviceGetCurrentClocksThrottleReasons(device, &reasons));
	ck_assert_uint_eq(reasons, loaded ? 0x44 : 0x20);
	NVML(nvmlDeviceGetFieldValues(device, 2, fields));
	ck_assert_int_eq(fields[0].nvmlReturn, NVML_SUCCESS);
	ck_assert_uint_eq(fields[0].value.uiVal, loaded ? 72 : 33);
	ck_assert_int_eq(fields[1].nvmlReturn, NVML_SUCCESS);
	ck_assert_uint_eq(fields[1].value.uiVal, loaded ? 390500 : 55250);
}

static unsigned long long violation(nvmlDevice_t device)
{
	nvmlFieldValue_t field = { .fieldId = NVML_FI_DEV_PERF_POLICY_THERMAL };
	NVML(nvmlDeviceGetFieldValues(device, 1, &field));
	ck_assert_int_eq(field.nvmlReturn, NVML_SUCCESS);
	ck_assert_int_eq(field.valueType, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
	return field.value.ullVal;
}

TEST(nvml_shows_the_load_while_there_are_kernels)
{
	nvmlDevice_t device = open_nvml(), idle;
	NVML(nvmlDeviceGetHandleByPciBusId_v2("0001:0a:00.0", &idle));
	expect_shown(device, true);
	expect_shown(idle, false);
	muster_kernels_unload(&cuda, &kernels);
	expect_shown(device, false);
}

TEST(heat_is_counted_by_the_time_under_load)
{
	nvmlDevice_t device = open_nvml();
	CUdeviceptr memory = take(500 * 1000 * 1000);
	unsigned long long before = violation(device);
	fill(memory, 500 * 1000 * 1000, plain);
	OK(cuStreamQuery(NULL));
	ck_assert_uint_eq((violation(device) - before + 500) / 1000, 500);
	muster_kernels_unload(&cuda, &kernels);
	ck_assert_uint_eq((violation(device) - before + 500) / 1000, 500);
}

TEST_WITH(without_heat_no_time_is_counted, .end = 1, .fixture = &other_fixture)
{
	gpu(0)->throttle_reasons_loaded = 0x84;
	begin();
	nvmlDevice_t device = open_nvml();
	fill(take(MIB), MIB, plain);
	OK(cuStreamQuery(NULL));
	ck_assert_uint_eq(violation(device), 0);
}

TEST_MAIN(.setup = start, .teardown = example_end)
