/* test_probes_copy.c - gpu_copy against a scripted GPU, and where its memory lies */
#include "../../src/probes/gpu_copy.c"
#include "gpu_fakes.h"

#include <sys/stat.h>
#include <unistd.h>

static struct muster_error err;

static void set_up(void)
{
	static const double fast[] = { 25.0 };
	fake_reset();
	fake.h2d_gbps = fake.d2h_gbps = fast;
	fake.h2d_count = fake.d2h_count = 1;
	err = (struct muster_error){ 0 };
}

static void tear_down(void)
{
	fake.stuck = false;
	finish(&fake.ctx, &err);
}

START_TEST(rates_are_the_median_of_the_repeats_without_the_warm_up)
{
	static const double h2d[] = { 3, 10, 20, 25, 20, 40 }, d2h[] = { 50, 11, 12, 13, 14, 15 };
	fake.h2d_gbps = h2d;
	fake.d2h_gbps = d2h;
	fake.h2d_count = fake.d2h_count = 6;
	ck_assert_msg(run(&fake.ctx, &err) == 0, "%s", err.text);
	ck_assert_double_eq_tol(number_of("gpu.h2d_gbps", "0001:00:00.0"), 20, 1e-3);
	ck_assert_double_eq_tol(number_of("gpu.h2d_spread", "0001:00:00.0"), (40 - 10) / 20.0, 1e-3);
	ck_assert_double_eq_tol(number_of("gpu.d2h_gbps", "0001:00:00.0"), 13, 1e-3);
	ck_assert_double_eq_tol(number_of("gpu.d2h_spread", "0001:00:00.0"), (15 - 11) / 13.0, 1e-3);
	ck_assert_double_eq(number_of("gpu.pcie_gen_loaded", NULL), 4);
	ck_assert_double_eq(number_of("gpu.pcie_width_loaded", NULL), 16);
	ck_assert(sample_of("gpu.copy_intact", NULL)->value.boolean);
}
END_TEST

START_TEST(the_profile_sets_the_size)
{
	static const struct {
		enum muster_profile profile;
		double mib;
	} cases[] = { { MUSTER_QUICK, 32 }, { MUSTER_STANDARD, 64 }, { MUSTER_FULL, 64 } };
	fake.ctx.env.profile = cases[_i].profile;
	ck_assert_int_eq(run(&fake.ctx, &err), 0);
	ck_assert_double_eq(number_of("gpu.copy_mib", NULL), cases[_i].mib);
}
END_TEST

START_TEST(one_wrong_byte_anywhere_is_not_intact)
{
	static const size_t places[] = { 0, 65535, 65536, ((size_t)32 << 20) - 1 };
	fake.corrupt_at = places[_i];
	ck_assert_int_eq(run(&fake.ctx, &err), 0);
	ck_assert(!sample_of("gpu.copy_intact", NULL)->value.boolean);
}
END_TEST

START_TEST(together_copies_long_enough_to_overlap_and_releases_all)
{
	ck_assert_int_eq(run(&fake.ctx, &err), 0);
	size_t before = fake.h2d_done;
	ck_assert_int_gt(fake.held, 0);
	ck_assert_int_eq(together(&fake.ctx, &err), 0);
	double ms = (double)(fake.h2d_done - before) * (32 << 20) / 1e6 / 25;
	ck_assert_double_ge(ms, 60);
	ck_assert_double_le(ms, 70);
	ck_assert_double_eq_tol(number_of("gpu.h2d_together_gbps", "0001:00:00.0"), 25, 1e-3);
	ck_assert_double_eq_tol(number_of("gpu.d2h_together_gbps", "0001:00:00.0"), 25, 1e-3);
	ck_assert_int_eq(fake.held, 0);
}
END_TEST

START_TEST(together_works_in_a_worker_that_never_ran_alone)
{
	ck_assert_int_eq(together(&fake.ctx, &err), 0);
	ck_assert_double_eq_tol(number_of("gpu.h2d_together_gbps", NULL), 25, 1e-3);
	ck_assert_int_eq(fake.held, 0);
}
END_TEST

START_TEST(finish_releases_what_run_left)
{
	ck_assert_int_eq(run(&fake.ctx, &err), 0);
	ck_assert_int_eq(finish(&fake.ctx, &err), 0);
	ck_assert_int_eq(fake.held, 0);
}
END_TEST

START_TEST(memory_that_cannot_be_pinned_is_an_error_that_leaves_nothing)
{
	fake.register_result = CUDA_ERROR_OUT_OF_MEMORY;
	ck_assert_int_eq(run(&fake.ctx, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "cuMemHostRegister_v2: CUDA_ERROR_OUT_OF_MEMORY"));
	ck_assert_int_eq(fake.held, 0);
}
END_TEST

START_TEST(no_room_on_the_gpu_is_an_error_that_leaves_nothing)
{
	fake.alloc_result = CUDA_ERROR_OUT_OF_MEMORY;
	ck_assert_int_eq(run(&fake.ctx, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY"));
	ck_assert_int_eq(fake.held, 0);
}
END_TEST

START_TEST(a_copy_that_never_ends_is_an_error_and_its_buffers_are_left_alone)
{
	fake.stuck = true;
	ck_assert_int_eq(run(&fake.ctx, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ETIME);
	ck_assert_ptr_nonnull(strstr(err.text, "host to device: "));
	int held = fake.held;
	ck_assert_int_eq(finish(&fake.ctx, &err), 0);
	ck_assert_int_eq(fake.held, held);
}
END_TEST

START_TEST(a_link_that_nvml_cannot_read_is_null_with_the_reason)
{
	fake.pcie_result = NVML_ERROR_NOT_SUPPORTED;
	ck_assert_int_eq(run(&fake.ctx, &err), 0);
	const struct recorded *sample = sample_of("gpu.pcie_gen_loaded", NULL);
	ck_assert_int_eq(sample->value.type, MUSTER_NULL);
	ck_assert_ptr_nonnull(strstr(sample->text, "nvmlDeviceGetCurrPcieLinkGeneration"));
}
END_TEST

START_TEST(an_unknown_numa_node_is_null_with_the_reason)
{
	ck_assert_int_eq(run(&fake.ctx, &err), 0);
	const struct recorded *sample = sample_of("gpu.copy_numa_node", "0001:00:00.0");
	ck_assert_int_eq(sample->value.type, MUSTER_NULL);
	ck_assert_ptr_nonnull(strstr(sample->text, "/nonexistent/sys/bus/pci/devices/0001:00:00.0/numa_node"));
}
END_TEST

/* A root with the files of a table: path, text. */
struct file {
	const char *path, *text;
};
static void write_root(char *root, const struct file *files)
{
	ck_assert_ptr_nonnull(mkdtemp(root));
	for (; files->path; files++) {
		char path[512];
		snprintf(path, sizeof path, "%s/%s", root, files->path);
		for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
			*at = '\0';
			mkdir(path, 0700);
		}
		FILE *out = fopen(path, "w");
		ck_assert_ptr_nonnull(out);
		fputs(files->text, out);
		fclose(out);
	}
}
static void remove_root(const char *root, const struct file *files)
{
	for (; files->path; files++) {
		char path[512];
		snprintf(path, sizeof path, "%s/%s", root, files->path);
		unlink(path);
		for (char *slash; (slash = strrchr(path, '/')) && slash > path + strlen(root);) {
			*slash = '\0';
			rmdir(path);
		}
	}
	rmdir(root);
}

#define GPU_NODE "sys/bus/pci/devices/0001:00:00.0/numa_node"
static const struct near_case {
	struct file files[12];
	int node; /* -1: an error */
	const char *error;
} near_cases[] = {
	{ .files = { { GPU_NODE, "2\n" } }, .node = 2 },
	{ .files = { { GPU_NODE, "-1\n" } }, .node = -1, .error = "the kernel does not know" },
	{ .files = { { GPU_NODE, "two\n" } }, .node = -1, .error = "numa_node" },
	{ .files = { { GPU_NODE, "1\n" }, { "sys/devices/system/node/node1/cpulist", "24-47\n" } }, .node = 1 },
	/* a node of GPU memory has no CPUs: the nearest that has some, by distance, and one without memory does not
	   count */
	{ .files = { { GPU_NODE, "9\n" }, { "sys/devices/system/node/node9/cpulist", "\n" },
		  { "sys/devices/system/node/online", "0-2,9\n" }, { "sys/devices/system/node/has_memory", "0,2,9\n" },
		  { "sys/devices/system/node/node0/cpulist", "0-71\n" },
		  { "sys/devices/system/node/node1/cpulist", "72-143\n" },
		  { "sys/devices/system/node/node2/cpulist", "144-215\n" },
		  { "sys/devices/system/node/node9/distance", "80 20 40 10\n" } },
		.node = 2 },
	{ .files = { { GPU_NODE, "1\n" }, { "sys/devices/system/node/node1/cpulist", "\n" } },
		.node = -1,
		.error = "has no CPUs" },
};

START_TEST(the_nearest_node_has_cpus_and_memory)
{
	const struct near_case *it = &near_cases[_i];
	char root[] = "/tmp/muster-numa-XXXXXX";
	int node = -2;
	write_root(root, it->files);
	int failed = muster_numa_near(root, "0001:00:00.0", &node, &err);
	remove_root(root, it->files);
	if (it->node >= 0) {
		ck_assert_msg(failed == 0, "%s", err.text);
		ck_assert_int_eq(node, it->node);
	} else {
		ck_assert_int_eq(failed, -1);
		ck_assert_msg(strstr(err.text, it->error) != NULL, "%s", err.text);
		ck_assert_int_eq(node, -2);
	}
}
END_TEST

START_TEST(memory_for_a_node_that_is_not_there_is_given_unbound)
{
	struct muster_pinned pinned;
	ck_assert_int_eq(muster_pinned_alloc(&fake_cuda, 1 << 20, 4000, &pinned, &err), 0);
	ck_assert_int_eq(pinned.numa_node, -1);
	ck_assert_ptr_nonnull(strstr(pinned.why, "NUMA node 4000"));
	memset(pinned.data, 1, pinned.bytes);
	muster_pinned_free(&fake_cuda, &pinned);
	ck_assert_int_eq(fake.held, 0);
}
END_TEST

START_TEST(memory_for_a_node_that_is_there_is_bound_or_says_why_not)
{
	struct muster_pinned pinned;
	ck_assert_int_eq(muster_pinned_alloc(&fake_cuda, 1 << 20, 0, &pinned, &err), 0);
	if (pinned.numa_node < 0) /* a container may forbid mbind */
		ck_assert_ptr_nonnull(strstr(pinned.why, "NUMA node 0"));
	else
		ck_assert_int_eq(pinned.numa_node, 0);
	memset(pinned.data, 1, pinned.bytes);
	muster_pinned_free(&fake_cuda, &pinned);
	ck_assert_int_eq(fake.held, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu_copy");
	TCase *tests = tcase_create("gpu_copy");
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, rates_are_the_median_of_the_repeats_without_the_warm_up);
	tcase_add_loop_test(tests, the_profile_sets_the_size, 0, 3);
	tcase_add_loop_test(tests, one_wrong_byte_anywhere_is_not_intact, 0, 4);
	tcase_add_test(tests, together_copies_long_enough_to_overlap_and_releases_all);
	tcase_add_test(tests, together_works_in_a_worker_that_never_ran_alone);
	tcase_add_test(tests, finish_releases_what_run_left);
	tcase_add_test(tests, memory_that_cannot_be_pinned_is_an_error_that_leaves_nothing);
	tcase_add_test(tests, no_room_on_the_gpu_is_an_error_that_leaves_nothing);
	tcase_add_test(tests, a_copy_that_never_ends_is_an_error_and_its_buffers_are_left_alone);
	tcase_add_test(tests, a_link_that_nvml_cannot_read_is_null_with_the_reason);
	tcase_add_test(tests, an_unknown_numa_node_is_null_with_the_reason);
	tcase_add_loop_test(
		tests, the_nearest_node_has_cpus_and_memory, 0, (int)(sizeof near_cases / sizeof *near_cases));
	tcase_add_test(tests, memory_for_a_node_that_is_not_there_is_given_unbound);
	tcase_add_test(tests, memory_for_a_node_that_is_there_is_bound_or_says_why_not);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
