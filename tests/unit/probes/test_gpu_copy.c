/* test_gpu_copy.c - gpu_copy against a scripted GPU */
#include "probes/gpu_copy.c"
#include "gpu_fakes.h"
#include "check_main.h"
#include "probe_fake.h"

#define BUS_ID "0001:00:00.0"

static struct muster_error err;
static struct probe_fake *context;

static const struct fake_knob knobs[] = { FAKE_GPU_KNOBS, { .name = NULL } };

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

TEST(rates_are_the_median_of_the_repeats_without_the_warm_up)
{
	static const double h2d[] = { 3, 10, 20, 25, 20, 40 }, d2h[] = { 50, 11, 12, 13, 14, 15 };
	fake.h2d_gbps = h2d;
	fake.d2h_gbps = d2h;
	fake.h2d_count = fake.d2h_count = 6;
	ck_assert_msg(run(&context->ctx, &err) == 0, "%s", err.text);
	ck_assert_double_eq_tol(fake_number(context, "gpu.h2d_gbps", BUS_ID), 20, 1e-3);
	ck_assert_double_eq_tol(fake_number(context, "gpu.h2d_spread", BUS_ID), (40 - 10) / 20.0, 1e-3);
	ck_assert_double_eq_tol(fake_number(context, "gpu.d2h_gbps", BUS_ID), 13, 1e-3);
	ck_assert_double_eq_tol(fake_number(context, "gpu.d2h_spread", BUS_ID), (15 - 11) / 13.0, 1e-3);
	ck_assert_double_eq(fake_number(context, "gpu.pcie_gen_loaded", BUS_ID), 4);
	ck_assert_double_eq(fake_number(context, "gpu.pcie_width_loaded", BUS_ID), 16);
	ck_assert(fake_boolean(context, "gpu.copy_intact", BUS_ID));
}

#define NUMA_NODE(number) "/sys/bus/pci/devices/" BUS_ID "/numa_node=" number
#define NO_LINK(why) "gpu.pcie_gen_loaded -*" why "* | gpu.pcie_width_loaded -*" why "* | gpu.h2d_gbps 25~1e-3"

static const struct fake_row rows[] = {
	{ "a quick run copies 32 MiB one way at a time", "profile=0",
		"gpu.copy_mib 32 | h2d_done 6 | gpu.bidirectional_gbps #0" },
	{ "a standard run copies 64 MiB", "profile=1", "gpu.copy_mib 64" },
	{ "a full run copies 64 MiB", "profile=2", "gpu.copy_mib 64" },
	{ "the first byte is wrong", "corrupt_at=0", "gpu.copy_intact false" },
	{ "the last byte of a block is wrong", "corrupt_at=65535", "gpu.copy_intact false" },
	{ "the first byte of a block is wrong", "corrupt_at=65536", "gpu.copy_intact false" },
	{ "the last byte is wrong", "corrupt_at=33554431", "gpu.copy_intact false" },
	{ "together works in a worker that never ran alone", "together", "gpu.h2d_together_gbps 25~1e-3 | held 0" },
	{ "finish releases what run left", "run | finish", "held 0" },
	{ "memory that cannot be pinned is an error that leaves nothing", "register_result=2",
		"error '*cuMemHostRegister_v2: result 2* | held 0" },
	{ "no room on the GPU is an error that leaves nothing", "alloc_result=2",
		"error '*cuMemAlloc_v2: result 2* | held 0" },
	{ "a link that NVML cannot read is null with the reason", "pcie_result=3",
		"gpu.pcie_gen_loaded -*nvmlDeviceGetCurrPcieLinkGeneration* | "
		"gpu.pcie_width_loaded -*nvmlDeviceGetCurrPcieLinkWidth*" },
	{ "without NVML the copies are measured and the link is not", "nvml_missing=1",
		NO_LINK("libnvidia-ml.so.1 cannot be opened") },
	{ "a GPU that NVML does not show", "has_nvml=0", NO_LINK("NVML does not show this GPU") },
	{ "a NUMA node that is not there is null with the reason", NUMA_NODE("4000"),
		"gpu.copy_numa_node -*4000* | gpu.copy_intact true" },
	{ "without the driver nothing is measured", "cuda_missing=1",
		"error '*libcuda.so.1 cannot be opened* | gpu.h2d_gbps #0" },
	{ "without the driver nothing is measured together", "cuda_missing=1 | together",
		"error '?* | gpu.h2d_together_gbps #0" },
	{ "a copy that took no time is an error", "d2h_count=0",
		"error 'device to host: cuEventElapsedTime: a copy of 33554432 bytes took 0 ms | gpu.h2d_gbps "
		"25~1e-3" },
	{ "one repeat measures once", "repeats=1 | run | together",
		"gpu.h2d_gbps #1 | gpu.d2h_together_gbps #1 | gpu.copy_mib #1" },
	{ "each repeat measures again", "repeats=2 | run | together",
		"gpu.h2d_gbps #2 | gpu.d2h_together_gbps #2 | gpu.copy_mib #1" },
	{ "each step says how much is copied", "run | together",
		"steps 'cuMemHostRegister_v2 of 32 MiB; cuMemAlloc_v2 of 32 MiB; 6 copies host to device; "
		"6 copies device to host; 23 copies host to device with all GPUs of the node; "
		"23 copies device to host with all GPUs of the node" },
};

TEST_EACH(copies_alone_and_together, rows)
{
	fake_case(context, &rows[_i]);
	ck_assert(!cuda_missing || context->samples.count == 0);
}

TEST(together_copies_long_enough_to_overlap_and_releases_all)
{
	fake_case(context, &(struct fake_row){ "alone", NULL, "held >0" });
	size_t before = fake.h2d_done;
	fake_given(context, "together");
	fake_expect(context, "gpu.h2d_together_gbps 25~1e-3 | gpu.d2h_together_gbps 25~1e-3 | held 0", "together");
	double ms = (double)(fake.h2d_done - before) * (32 << 20) / 1e6 / 25;
	ck_assert_double_ge(ms, 30);
	ck_assert_double_le(ms, 35);
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

/* What a metric with the two labels gpu and direction is. */
static double both(const char *direction)
{
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		if (strcmp(sample->metric->name, "gpu.bidirectional_gbps") == 0 &&
			strcmp(sample->labels[1].value.string, direction) == 0) {
			ck_assert_str_eq(sample->labels[0].value.string, BUS_ID);
			return sample->value.number;
		}
	}
	ck_abort_msg("no gpu.bidirectional_gbps %s", direction);
}

/* Of the copies alone 6; then 3 rounds of 6. */
TEST(each_direction_has_its_own_rate_while_both_copy)
{
	static const double h2d[] = { 25, 25, 25, 25, 25, 25, 1, 20, 20, 20, 20, 20, 1, 16, 16, 16, 16, 16, 20 };
	static const double d2h[] = { 25, 25, 25, 25, 25, 25, 1, 22, 22, 22, 22, 22, 1, 30, 30, 30, 30, 30, 22 };
	context->ctx.env.profile = MUSTER_STANDARD;
	fake.h2d_gbps = h2d;
	fake.d2h_gbps = d2h;
	fake.h2d_count = LENGTH(h2d);
	fake.d2h_count = LENGTH(d2h);
	ck_assert_msg(run(&context->ctx, &err) == 0, "%s", err.text);
	ck_assert_double_eq_tol(both("h2d"), 20, 1e-3);
	ck_assert_double_eq_tol(both("d2h"), 22, 1e-3);
	ck_assert(fake_boolean(context, "gpu.copy_intact", BUS_ID));
	ck_assert_ptr_nonnull(strstr(context->steps, "18 copies both ways at once\n"));
}

/* MB that take these milliseconds; the rate of the first of the two directions. */
static const struct {
	copy_times own, other;
	double gbps;
} overlaps[] = {
	{ { 0, 1, 2, 3, 4, 5 }, { 0, 1, 2, 3, 4, 5 }, 1 },
	{ { 0, 2, 4, 6, 8, 10 }, { 0, 1, 2, 3, 4, 5 }, 0.5 },          /* two copies lie within the other's time */
	{ { 0, 1, 2, 3, 4, 4.5 }, { 0, 1, 2, 3, 4, 4.2 }, 1 },         /* the last one, faster alone, does not count */
	{ { 0, 0.5, 1.5, 2.5, 3.5, 4.5 }, { 0.2, 1, 2, 3, 4, 5 }, 1 }, /* nor the first one */
	{ { 0, 9, 18, 27, 36, 45 }, { 1, 2, 3, 4, 5, 6 }, 1.0 / 9 },   /* no copy within the other's time */
	{ { 6, 7, 8, 9, 10, 11 }, { 0, 1, 2, 3, 4, 5 }, 1 },
	{ { 3, 3, 3, 3, 3, 3 }, { 0, 1, 2, 3, 4, 5 }, 0 },
};

TEST_EACH(only_copies_within_the_other_directions_time_count, overlaps)
{
	ck_assert_double_eq_tol(rate_of_both(overlaps[_i].own, overlaps[_i].other, 1000000), overlaps[_i].gbps, 1e-9);
}

TEST(alone_and_together_leave_no_metric_out)
{
	context->ctx.env.profile = MUSTER_STANDARD;
	ck_assert_int_eq(run(&context->ctx, &err), 0);
	ck_assert_int_eq(together(&context->ctx, &err), 0);
	fake_complete(context, NULL);
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

static const struct {
	struct muster_cuda cuda; /* the one function that is not the fake's */
	int working;
	const char *error;
} failures[] = {
	{ { .cuStreamCreate = failing_stream }, 0, "cuStreamCreate: result 719" },
	{ { .cuEventCreate = failing_event }, REPEATS_MAX, "cuEventCreate: result 719" },
	{ { .cuMemcpyHtoDAsync_v2 = failing_h2d }, 0, "host to device: cuMemcpyHtoDAsync_v2: result 719" },
	{ { .cuMemcpyDtoHAsync_v2 = failing_d2h }, REPEATS, "device to host: cuMemcpyDtoHAsync_v2: result 719" },
	{ { .cuEventRecord = failing_record }, REPEATS, "host to device: cuEventRecord: result 719" },
	{ { .cuEventElapsedTime = failing_elapsed }, REPEATS - 1, "host to device: cuEventElapsedTime: result 719" },
	{ { .cuStreamWaitEvent = failing_wait_event }, 1, "both ways at once: cuStreamWaitEvent: result 719" },
	{ { .cuMemcpyHtoDAsync_v2 = failing_h2d }, REPEATS + 2, "both ways at once: cuMemcpyHtoDAsync_v2: result 719" },
	{ { .cuEventElapsedTime = failing_elapsed }, DIRECTIONS *REPEATS + 1,
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
	working = _i == 0 ? 0 : REPEATS;
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
	size_t repeats;
} lengths[] = {
	{ 0, REPEATS },
	{ 31, REPEATS },
	{ 6, REPEATS },
	{ 5.01, REPEATS },
	{ 5, 6 },
	{ 2, 15 },
	{ 0.46875, 64 },
	{ 0.4, 75 },
	{ 0.0746, 402 }, /* 32 MiB at 450 GB/s */
	{ 0.001, REPEATS_MAX },
};

TEST(together_makes_as_many_copies_as_take_30_ms)
{
	for (size_t i = 0; i < LENGTH(lengths); i++) {
		state.alone_ms[D2H] = lengths[i].alone_ms;
		ck_assert_uint_eq(together_repeats(D2H), lengths[i].repeats);
		ck_assert_uint_eq(together_repeats(H2D), REPEATS);
	}
	state.alone_ms[D2H] = 0;
}

TEST_MAIN(.setup = set_up, .teardown = tear_down, .timeout = 200)
