/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_copy.c - gpu_copy against a scripted GPU */
#include "probes/gpu_copy.c"
#include "gpu_fakes.h"
#include "check_main.h"
#include "probe_fake.h"

#define BUS_ID "0001:00:00.0"

static struct muster_error err;
static struct probe_fake *context;

static const struct fake_knob knobs[] = { FAKE_GPU_KNOBS, FAKE_KNOB("first_ms", state.first_ms), { .name = NULL } };

static void set_up(void)
{
	static const double fast[] = { 25.0 };
	fake_gpu_reset();
	cuda_missing = nvml_missing = false;
	context = fake_gpu_new(&muster_probe_gpu_copy);
	context->knobs = knobs;
	context->place = BUS_ID;
	fake.h2d_gbps = fake.d2h_gbps = fast;
	fake.h2d_count = fake.d2h_count = 1;
	err = (struct muster_error){ 0 };
}

static void tear_down(void)
{
	fake.stuck = false;
	finish(&context->ctx, &err);
	fake_free(context);
}

/* So many calls of the function under test work; the next one fails. */
static int working;

static CUresult next_result(void)
{
	return working-- > 0 ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}
static CUresult failing_stream(CUstream *stream, unsigned int flags)
{
	CUresult result = next_result();
	return result ? result : fake_stream(stream, flags);
}
static CUresult failing_event(CUevent *event, unsigned int flags)
{
	CUresult result = next_result();
	return result ? result : fake_event(event, flags);
}
static CUresult failing_h2d(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	CUresult result = next_result();
	return result ? result : fake_h2d(to, from, bytes, stream);
}
static CUresult failing_d2h(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	CUresult result = next_result();
	return result ? result : fake_d2h(to, from, bytes, stream);
}
static CUresult failing_record(CUevent event, CUstream stream)
{
	CUresult result = next_result();
	return result ? result : fake_record(event, stream);
}
static CUresult failing_wait_event(CUstream stream, CUevent event, unsigned int flags)
{
	CUresult result = next_result();
	return result ? result : fake_wait_event(stream, event, flags);
}
static CUresult failing_elapsed(float *ms, CUevent start, CUevent end)
{
	CUresult result = next_result();
	return result ? result : fake_elapsed(ms, start, end);
}

/* In turn: one copy to warm up, then each window; of copies both ways the first one warms up too. */
TEST(a_window_is_the_median_of_its_copies_and_the_best_window_counts)
{
	static const double h2d[] = { 1, 10, 20, 25, 1, 20, 20, 20, 30, 31, 90, 1, 16, 16, 16, 5, 5, 5, 1, 18, 18, 18 };
	static const double d2h[] = { 1, 11, 12, 13, 1, 22, 22, 22, 9, 9, 50, 1, 30, 30, 30, 14, 14, 15, 1, 24, 24,
		24 };
	context->ctx.env.profile = MUSTER_STANDARD;
	fake.h2d_gbps = h2d;
	fake.d2h_gbps = d2h;
	fake.h2d_count = LENGTH(h2d);
	fake.d2h_count = LENGTH(d2h);
	fake_case(
		context, &(struct fake_row){ "windows", NULL,
				 "gpu.h2d_gbps [20 31 5] | gpu.h2d_gbps 31~1e-3 | gpu.d2h_gbps [12 9 14] | "
				 "gpu.d2h_gbps 14~1e-3 | gpu.bidirectional_gbps direction=h2d [20 16 18] | "
				 "gpu.bidirectional_gbps direction=h2d 20~1e-3 | gpu.bidirectional_gbps direction=d2h "
				 "[22 30 24] | gpu.bidirectional_gbps direction=d2h 30~1e-3 | "
				 "gpu.pcie_gen_loaded 4 | gpu.pcie_width_loaded 16 | gpu.copy_intact true" });
}

#define NUMA_NODE(number) "/sys/bus/pci/devices/" BUS_ID "/numa_node=" number
#define NO_LINK(why) "gpu.pcie_gen_loaded -*" why "* | gpu.pcie_width_loaded -*" why "* | gpu.h2d_gbps 25~1e-3"

static const struct fake_row rows[] = {
	{ "a quick run copies 32 MiB one way at a time", "profile=0",
		"gpu.copy_mib 32 | h2d_done 4 | gpu.h2d_gbps [25] | gpu.bidirectional_gbps #0" },
	{ "a standard run has three windows", "profile=1", "gpu.copy_mib 32 | h2d_done 22 | gpu.h2d_gbps [25 25 25]" },
	{ "a full run has nine", "profile=2", "h2d_done 64 | gpu.h2d_gbps [25 25 25 25 25 25 25 25 25]" },
#define LATER(visit)                                                                                                   \
	{                                                                                                              \
		"a later visit yields windows and nothing else",                                                       \
			"profile=1 | first_ms=1 | corrupt_at=0 | run | together | forget | visit=" visit               \
			" | run | together",                                                                           \
			"gpu.h2d_gbps [25 25 25] | gpu.d2h_gbps [25 25 25] | "                                         \
			"gpu.bidirectional_gbps direction=d2h [25 25 25] | gpu.d2h_together_gbps [25 25 25] | "        \
			"samples 6 | held >0 | steps 'copies host to device; copies device to host; copies both ways " \
			"at once; copies host to device with*"                                                         \
	}
	LATER("1"),
	LATER("2"),
	LATER("3"),
	{ "a worker that was replaced goes on", "profile=1 | visit=1", "gpu.h2d_gbps [25 25 25] | samples 4" },
	{ "the first byte is wrong", "corrupt_at=0", "gpu.copy_intact false" },
	{ "the last byte of a block is wrong", "corrupt_at=65535", "gpu.copy_intact false" },
	{ "the first byte of a block is wrong", "corrupt_at=65536", "gpu.copy_intact false" },
	{ "the last byte is wrong", "corrupt_at=33554431", "gpu.copy_intact false" },
	{ "together works in a worker that never ran alone", "together", "gpu.h2d_together_gbps [25]" },
	{ "finish releases what the visits left", "run | together | visit=1 | forget | run | finish", "held 0" },
	{ "memory that cannot be pinned is an error that leaves nothing", "register_result=2",
		"error '*cuMemHostRegister_v2: result 2* | held 0" },
	{ "no room on the GPU is an error that leaves nothing", "alloc_result=2",
		"error '*cuMemAlloc_v2: result 2* | held 0" },
	{ "a link that NVML cannot read is null with the reason", "pcie_result=3",
		"gpu.pcie_gen_loaded -*nvmlDeviceGetCurrPcieLinkGeneration* | "
		"gpu.pcie_width_loaded -*nvmlDeviceGetCurrPcieLinkWidth*" },
	{ "without NVML the copies are measured and the link is not", "nvml_missing=1",
		NO_LINK("libnvidia-ml.so.1 cannot be opened") },
	{ "a GPU that NVML does not show", "has_nvml=0",
		NO_LINK("NVML does not show GPU " BUS_ID ", which CUDA gave to this rank") },
	{ "a NUMA node that is not there is null with the reason", NUMA_NODE("4000"),
		"gpu.copy_numa_node -*4000* | gpu.copy_intact true" },
	{ "without the driver nothing is measured", "cuda_missing=1",
		"error '*libcuda.so.1 cannot be opened* | gpu.h2d_gbps #0" },
	{ "without the driver nothing is measured together", "cuda_missing=1 | together",
		"error '?* | gpu.h2d_together_gbps #0" },
	{ "a copy that took no time is an error", "d2h_count=0",
		"error 'device to host: cuEventElapsedTime: a copy of 33554432 bytes took 0 ms | gpu.h2d_gbps "
		"25~1e-3" },
	{ "with repeats there are more windows", "repeats=2 | run | together",
		"gpu.h2d_gbps [25 25] | gpu.d2h_together_gbps [25 25] | gpu.copy_mib #1" },
	{ "each step is named", "run | together",
		"steps 'cuMemHostRegister_v2 of 32 MiB; cuMemAlloc_v2 of 32 MiB; copies host to device; "
		"copies device to host; copies host to device with all GPUs of the node; "
		"copies device to host with all GPUs of the node" },
};

TEST_EACH(copies_alone_and_together, rows)
{
	fake_case(context, &rows[_i]);
	ck_assert(!cuda_missing || context->samples.count == 0);
}

TEST(together_the_first_and_the_last_copies_do_not_count)
{
	static const double h2d[] = { 25, 25, 25, 25, 1, 20, 30, 24, 23, 22, 21, 1, 25 };
	fake.h2d_gbps = h2d;
	fake.h2d_count = LENGTH(h2d);
	fake_case(context, &(struct fake_row){ "margins", "run | repeats=2 | together",
				   "gpu.h2d_together_gbps [24 22] | h2d_done 12" });
}

/* As many as there are events for. */
TEST(together_very_fast_copies_have_fewer_windows)
{
	static const double fast[] = { 1e6 };
	fake.h2d_gbps = fake.d2h_gbps = fast;
	fake_case(context, &(struct fake_row){ "fast", "profile=2 | run | together",
				   "gpu.d2h_together_gbps [1e6 1e6 1e6 1e6 1e6 1e6]" });
}

TEST_LOOP(what_was_measured_before_a_failure_stays, 0, 2)
{
	context->ctx.env.profile = MUSTER_STANDARD;
	working = 2 * COPIES + 3; /* of the second window one more */
	scripted_cuda.cuMemcpyDtoHAsync_v2 = failing_d2h;
	fake.corrupt_at = _i == 0 ? SIZE_MAX : 0;
	fake_case(context,
		&(struct fake_row){ "d2h breaks", NULL,
			muster_arena_printf(context->arena,
				"error 'device to host: cuMemcpyDtoHAsync_v2: result 719 | gpu.h2d_gbps [25 25] | "
				"gpu.d2h_gbps [25] | gpu.bidirectional_gbps direction=d2h [25] | gpu.copy_intact %s",
				_i == 0 ? "#0" : "false") });
}

TEST(a_copy_that_never_ends_is_an_error_and_its_buffers_are_left_alone)
{
	fake.stuck = true;
	ck_assert_int_eq(run(&context->ctx, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ETIME);
	ck_assert_ptr_nonnull(strstr(err.text, "host to device: "));
	int held = fake.held;
	ck_assert_int_eq(finish(&context->ctx, &err), 0);
	ck_assert_int_eq(fake.held, held);
}

TEST(memory_on_a_node_that_is_there_is_bound_or_says_why_not)
{
	fake_file(context, "/sys/bus/pci/devices/" BUS_ID "/numa_node", "0\n");
	ck_assert_int_eq(run(&context->ctx, &err), 0);
	if (fake_sample(context, "gpu.copy_numa_node", BUS_ID, NULL)->value.type ==
		MUSTER_NULL) /* mbind may be forbidden */
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.copy_numa_node", BUS_ID), "NUMA node 0"));
	else
		ck_assert_double_eq(fake_number(context, "gpu.copy_numa_node", BUS_ID), 0);
}

/* MB that take these milliseconds; the rate of the first of the two directions. */
static const struct {
	copy_times own, other;
	double gbps;
} overlaps[] = {
	{ { 0, 1, 2, 3 }, { 0, 1, 2, 3 }, 1 },
	{ { 0, 2, 4, 6 }, { 0, 1, 2, 3 }, 0.5 },       /* one copy lies within the other's time */
	{ { 0, 1, 2, 2.5 }, { 0, 1, 2, 2.2 }, 1 },     /* the last one, faster alone, does not count */
	{ { 0, 0.5, 1.5, 2.5 }, { 0.2, 1, 2, 3 }, 1 }, /* nor the first one */
	{ { 0, 9, 18, 27 }, { 1, 2, 3, 4 }, 1.0 / 9 }, /* no copy within the other's time */
	{ { 4, 5, 6, 7 }, { 0, 1, 2, 3 }, 1 },
	{ { 3, 3, 3, 3 }, { 0, 1, 2, 3 }, 0 },
};

TEST_EACH(only_copies_within_the_other_directions_time_count, overlaps)
{
	ck_assert_double_eq_tol(rate_of_both(overlaps[_i].own, overlaps[_i].other, 1000000), overlaps[_i].gbps, 1e-9);
}

TEST(a_simulated_gpu_has_small_buffers)
{
	fake.standin = true;
	fake_run(context);
	ck_assert_double_eq(fake_sample(context, "gpu.copy_mib", BUS_ID, NULL)->value.number, 4);
}

TEST(alone_and_together_leave_no_metric_out)
{
	context->ctx.env.profile = MUSTER_STANDARD;
	ck_assert_int_eq(run(&context->ctx, &err), 0);
	ck_assert_int_eq(together(&context->ctx, &err), 0);
	fake_complete(context, (const char *const[]){ "gpu.slow_windows", NULL });
}

static const struct {
	struct muster_cuda cuda; /* the one function that is not the fake's */
	int working;
	const char *error;
} failures[] = {
	{ { .cuStreamCreate = failing_stream }, 0, "cuStreamCreate: result 719" },
	{ { .cuEventCreate = failing_event }, COPIES_MOST, "cuEventCreate: result 719" },
	{ { .cuMemcpyHtoDAsync_v2 = failing_h2d }, 0, "host to device: cuMemcpyHtoDAsync_v2: result 719" },
	{ { .cuMemcpyDtoHAsync_v2 = failing_d2h }, COPIES, "device to host: cuMemcpyDtoHAsync_v2: result 719" },
	{ { .cuEventRecord = failing_record }, COPIES, "host to device: cuEventRecord: result 719" },
	{ { .cuEventElapsedTime = failing_elapsed }, COPIES - 1, "host to device: cuEventElapsedTime: result 719" },
	{ { .cuStreamWaitEvent = failing_wait_event }, 1, "both ways at once: cuStreamWaitEvent: result 719" },
	{ { .cuMemcpyHtoDAsync_v2 = failing_h2d }, COPIES + 2, "both ways at once: cuMemcpyHtoDAsync_v2: result 719" },
	{ { .cuEventElapsedTime = failing_elapsed }, DIRECTIONS *COPIES + 1,
		"both ways at once: cuEventElapsedTime: result 719" },
};

TEST_EACH(a_call_that_fails_is_named_and_all_is_released, failures)
{
	const struct muster_cuda *bad = &failures[_i].cuda;
	working = failures[_i].working;
	context->ctx.env.profile = MUSTER_STANDARD;
#define TAKE(function) scripted_cuda.function = bad->function ? bad->function : scripted_cuda.function
	TAKE(cuStreamCreate);
	TAKE(cuEventCreate);
	TAKE(cuMemcpyHtoDAsync_v2);
	TAKE(cuMemcpyDtoHAsync_v2);
	TAKE(cuEventRecord);
	TAKE(cuStreamWaitEvent);
	TAKE(cuEventElapsedTime);
#undef TAKE
	ck_assert_int_eq(run(&context->ctx, &err), -1);
	ck_assert_str_eq(err.text, failures[_i].error);
	ck_assert_int_eq(finish(&context->ctx, &err), 0);
	ck_assert_int_eq(fake.held, 0);
}

TEST_LOOP(together_says_where_an_error_came_from, 0, 2)
{
	ck_assert_int_eq(run(&context->ctx, &err), 0);
	working = _i == 0 ? 0 : COPIES - 1;
	if (_i == 0)
		scripted_cuda.cuMemcpyDtoHAsync_v2 = failing_d2h;
	else
		scripted_cuda.cuEventElapsedTime = failing_elapsed;
	ck_assert_int_eq(together(&context->ctx, &err), -1);
	ck_assert_str_eq(
		err.text, _i == 0 ? "device to host with all GPUs of the node: cuMemcpyDtoHAsync_v2: result 719"
				  : "host to device with all GPUs of the node: cuEventElapsedTime: result 719");
}

static const struct {
	double alone_ms; /* 0: not measured */
	size_t window, margin;
} lengths[] = {
	{ 0, COPIES, 1 },
	{ 31, COPIES, 1 },
	{ 1, COPIES, 2 },
	{ 0.75, 4, 2 },
	{ 0.5, 6, 4 },
	{ 0.0746, 40, 26 }, /* 32 MiB at 450 GB/s */
	{ 0.001, 64, 64 },
};

TEST_EACH(a_window_together_has_as_many_copies_as_take_3_ms, lengths)
{
	state.alone_ms[D2H] = lengths[_i].alone_ms;
	ck_assert_uint_eq(copies_of(D2H, WINDOW_MS, COPIES), lengths[_i].window);
	ck_assert_uint_eq(copies_of(D2H, MARGIN_MS, 1), lengths[_i].margin);
	state.alone_ms[D2H] = 0;
}

TEST_MAIN(.setup = set_up, .teardown = tear_down, .timeout = 200)
