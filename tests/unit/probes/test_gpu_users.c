/* test_gpu_users.c - who else is on the GPU, against a scripted NVML and a /proc of files */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor_fakes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct muster_probe muster_probe_gpu_users;

#define BUS_ID "0001:00:00.0"
#define MIB (1ull << 20)
#define UNKNOWN (~0ull)
#define US 0 /* stands for the PID of this process */

static struct probe_fake *context;

/* What NVML answers. */
static struct {
	nvmlReturn_t compute_result, memory_result, older_result, busy_result;
	nvmlProcessInfo_v2_t compute[40], graphics[4], mps[4];
	unsigned int compute_count, graphics_count, mps_count;
	unsigned long long used_mib, freed_mib; /* each reading finds less by freed_mib */
	unsigned int percent;
	int memory_readings, busy_readings;
	int coherent;
} script;
static char device;

static nvmlReturn_t list(
	const nvmlProcessInfo_v2_t *from, unsigned int there, unsigned int *count, nvmlProcessInfo_v2_t *processes)
{
	ck_assert_uint_ge(*count, there);
	*count = there;
	for (unsigned int i = 0; i < there; i++) {
		processes[i] = from[i];
		if (from[i].pid == US)
			processes[i].pid = (unsigned int)getpid();
	}
	return NVML_SUCCESS;
}

static nvmlReturn_t give_compute(nvmlDevice_t of, unsigned int *count, nvmlProcessInfo_v2_t *processes)
{
	ck_assert_ptr_eq(of, &device);
	return script.compute_result ? script.compute_result
				     : list(script.compute, script.compute_count, count, processes);
}

static nvmlReturn_t give_graphics(nvmlDevice_t of, unsigned int *count, nvmlProcessInfo_v2_t *processes)
{
	(void)of;
	return list(script.graphics, script.graphics_count, count, processes);
}

static nvmlReturn_t give_mps(nvmlDevice_t of, unsigned int *count, nvmlProcessInfo_v2_t *processes)
{
	(void)of;
	return list(script.mps, script.mps_count, count, processes);
}

static nvmlReturn_t give_memory(nvmlDevice_t of, nvmlMemory_v2_t *memory)
{
	(void)of;
	ck_assert_uint_eq(memory->version, nvmlMemory_v2);
	memory->used = script.used_mib * MIB;
	memory->reserved = 615 * MIB;
	script.used_mib -= script.freed_mib < script.used_mib ? script.freed_mib : script.used_mib;
	script.memory_readings++;
	return script.memory_result;
}

static nvmlReturn_t give_older_memory(nvmlDevice_t of, nvmlMemory_t *memory)
{
	(void)of;
	memory->used = 77 * MIB;
	return script.older_result;
}

static nvmlReturn_t give_rates(nvmlDevice_t of, nvmlUtilization_t *rates)
{
	(void)of;
	*rates = (nvmlUtilization_t){ .gpu = script.percent };
	script.busy_readings++;
	return script.busy_result;
}

static CUresult give_attribute(int *value, CUdevice_attribute attribute, CUdevice of)
{
	(void)of;
	*value = attribute == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES && script.coherent;
	return CUDA_SUCCESS;
}

static void setup(void)
{
	scripted_nvml = (struct muster_nvml){
		.nvmlDeviceGetComputeRunningProcesses_v2 = give_compute,
		.nvmlDeviceGetGraphicsRunningProcesses_v2 = give_graphics,
		.nvmlDeviceGetMPSComputeRunningProcesses_v2 = give_mps,
		.nvmlDeviceGetMemoryInfo_v2 = give_memory,
		.nvmlDeviceGetMemoryInfo = give_older_memory,
		.nvmlDeviceGetUtilizationRates = give_rates,
	};
	scripted_cuda = (struct muster_cuda){ .cuDeviceGetAttribute = give_attribute };
	context = fake_new(&muster_probe_gpu_users);
	fake_gpu(context, BUS_ID, "GPU-1");
	context->gpu.has_nvml = true;
	context->gpu.nvml_device = (nvmlDevice_t)(void *)&device;
	fake_file(context, "/proc/1/comm", "systemd\n");
	memset(&script, 0, sizeof script);
	unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
	unsetenv("CUDA_MPS_PIPE_DIRECTORY");
	unsetenv("SLURM_SHARDS_ON_NODE");
}

static void teardown(void)
{
	fake_free(context);
}

static void add(unsigned int pid, unsigned long long mib)
{
	script.compute[script.compute_count++] =
		(nvmlProcessInfo_v2_t){ .pid = pid, .usedGpuMemory = mib == UNKNOWN ? UNKNOWN : mib * MIB };
}

static void begin_and_run(void)
{
	struct muster_error err;
	muster_probe_gpu_users.begin(&context->ctx);
	ck_assert_msg(muster_probe_gpu_users.run(&context->ctx, &err) == 0, "%s", err.text);
}

static void finish(void)
{
	struct muster_error err;
	ck_assert_msg(muster_probe_gpu_users.finish(&context->ctx, &err) == 0, "%s", err.text);
}

/* The sample of the GPU at the time. */
static const struct muster_sample *at(const char *metric, const char *when)
{
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		if (strcmp(sample->metric->name, metric) == 0 && strcmp(sample->labels[1].value.string, when) == 0)
			return sample;
	}
	ck_abort_msg("no %s at the %s", metric, when);
}

static double strangers(const char *when)
{
	const struct muster_sample *sample = at("gpu.foreign_processes", when);
	ck_assert_int_eq(sample->value.type, MUSTER_NUMBER);
	return sample->value.number;
}

/* The names at the time, or why there are none. */
static const char *names(const char *when)
{
	const struct muster_sample *sample = at("gpu.foreign_process", when);
	return sample->value.type == MUSTER_STRING ? sample->value.string : sample->reason;
}

TEST(a_gpu_without_other_programs_has_none)
{
	begin_and_run();
	add(US, 518);
	finish();
	ck_assert_double_eq(strangers("start"), 0);
	ck_assert_double_eq(strangers("end"), 0);
	ck_assert_str_eq(names("start"), "none");
	ck_assert_str_eq(names("end"), "none");
	ck_assert_str_eq(fake_string(context, "rank.gpu_sharing", NULL), "exclusive");
	ck_assert_double_eq(fake_number(context, "gpu.memory_used_mib", BUS_ID), 0);
	ck_assert_double_eq(fake_number(context, "gpu.utilisation_before", BUS_ID), 0);
	ck_assert_int_eq(script.memory_readings, 1); /* without waiting */
	fake_complete(context, NULL);
}

TEST(a_stranger_is_named_with_user_and_memory)
{
	char expected[128];
	fake_file(context, "/proc/1253/comm", "python3\n");
	add(1253, 21064);
	script.used_mib = 21072;
	begin_and_run();
	snprintf(expected, sizeof expected, "1253 python3 (uid%ld) 21064 MiB", (long)getuid());
	ck_assert_str_eq(names("start"), expected);
	ck_assert_double_eq(strangers("start"), 1);
	ck_assert_double_eq(fake_number(context, "gpu.memory_used_mib", BUS_ID), 21072);
	ck_assert_double_eq(fake_number(context, "gpu.foreign_memory_mib", BUS_ID), 8);
}

TEST(a_program_that_cannot_be_named_is_a_stranger_too)
{
	add(1253, UNKNOWN); /* of another PID namespace, or hidden by hidepid */
	script.used_mib = 30000;
	begin_and_run();
	ck_assert_str_eq(names("start"), "1253 ? memory not known");
	ck_assert_double_eq(fake_number(context, "gpu.foreign_memory_mib", BUS_ID), 0);
}

TEST(a_name_is_one_printable_word)
{
	fake_file(context, "/proc/7/comm", "Web \x1b[1m\xc3\xa9\n");
	add(7, 1);
	begin_and_run();
	ck_assert_ptr_nonnull(strstr(names("start"), "7 Web__[1m__ "));
}

TEST(of_many_strangers_the_first_sixteen_are_named)
{
	for (unsigned int i = 0; i < 20; i++)
		add(100 + i, 10);
	begin_and_run();
	ck_assert_double_eq(strangers("start"), 20);
	ck_assert_ptr_nonnull(strstr(names("start"), "115 ? 10 MiB; and 4 more"));
	ck_assert_ptr_null(strstr(names("start"), "116 ?"));
}

TEST(a_stranger_that_comes_later_is_found_at_the_end)
{
	fake_file(context, "/proc/5/comm", "early\n");
	fake_file(context, "/proc/9/comm", "late\n");
	add(5, 100);
	begin_and_run();
	add(US, 518);
	add(9, 1);
	finish();
	ck_assert_double_eq(strangers("start"), 1);
	ck_assert_double_eq(strangers("end"), 1);
	ck_assert_ptr_nonnull(strstr(names("end"), "9 late "));
	ck_assert_ptr_null(strstr(names("end"), "early"));
}

TEST(programs_of_the_same_file_are_no_strangers)
{
	char path[PATH_MAX];
	fake_file(context, "/proc/31", NULL);
	snprintf(path, sizeof path, "%s/proc/31/exe", context->root);
	ck_assert_int_eq(symlink("/proc/self/exe", path), 0);
	fake_file(context, "/proc/32/exe", "another file");
	add(31, 500);
	add(32, 500);
	begin_and_run();
	ck_assert_double_eq(strangers("start"), 1);
	ck_assert_ptr_nonnull(strstr(names("start"), "32 ?"));
}

TEST(a_process_that_has_ended_does_not_count_at_the_end)
{
	begin_and_run();
	add(US, 518);
	add(33, 500); /* without an entry in /proc, which shows all processes */
	finish();
	ck_assert_double_eq(strangers("end"), 0);
}

TEST(a_process_that_proc_hides_counts_at_the_end)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/proc/1/comm", context->root);
	ck_assert_int_eq(unlink(path), 0);
	snprintf(path, sizeof path, "%s/proc/1", context->root);
	ck_assert_int_eq(rmdir(path), 0);
	begin_and_run();
	add(US, 518);
	add(33, 500);
	finish();
	ck_assert_double_eq(strangers("end"), 1);
}

TEST(pids_of_another_namespace_say_nothing_at_the_end)
{
	begin_and_run();
	add(999, 518);
	finish();
	ck_assert_int_eq(at("gpu.foreign_processes", "end")->value.type, MUSTER_NULL);
	ck_assert_ptr_nonnull(strstr(names("end"), "another PID namespace"));
}

TEST(without_lists_there_are_the_reasons)
{
	script.compute_result = NVML_ERROR_NOT_SUPPORTED;
	script.memory_result = NVML_ERROR_NOT_SUPPORTED;
	script.busy_result = NVML_ERROR_NOT_SUPPORTED;
	begin_and_run();
	finish();
	ck_assert_ptr_nonnull(strstr(names("start"), "nvmlDeviceGetComputeRunningProcesses_v2"));
	ck_assert_ptr_nonnull(strstr(names("end"), "nvmlDeviceGetComputeRunningProcesses_v2"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.memory_used_mib", BUS_ID), "nvmlDeviceGetMemoryInfo"));
	ck_assert_ptr_nonnull(
		strstr(fake_reason(context, "gpu.foreign_memory_mib", BUS_ID), "nvmlDeviceGetMemoryInfo"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.utilisation_before", BUS_ID), "Utilization"));
	fake_complete(context, NULL);
}

TEST(an_old_driver_counts_no_reserve)
{
	script.memory_result = NVML_ERROR_FUNCTION_NOT_FOUND;
	begin_and_run();
	ck_assert_double_eq(fake_number(context, "gpu.memory_used_mib", BUS_ID), 77);
}

TEST(memory_that_no_process_has_is_a_strangers)
{
	add(5, 2000);
	script.used_mib = 5000;
	begin_and_run();
	ck_assert_double_eq(fake_number(context, "gpu.foreign_memory_mib", BUS_ID), 3000);
	ck_assert_int_le(script.memory_readings, 6); /* it stays: half a second is enough */
}

TEST(memory_of_a_job_that_has_just_ended_is_waited_for)
{
	script.used_mib = 10000;
	script.freed_mib = 3000;
	begin_and_run();
	ck_assert_double_eq(fake_number(context, "gpu.memory_used_mib", BUS_ID), 1000);
}

TEST(memory_that_never_stops_falling_is_not_waited_for)
{
	script.used_mib = 80000;
	script.freed_mib = 1;
	begin_and_run();
	ck_assert_int_eq(script.memory_readings, 20);
}

TEST(a_busy_gpu_is_asked_again)
{
	script.percent = 90;
	begin_and_run();
	ck_assert_double_eq(fake_number(context, "gpu.utilisation_before", BUS_ID), 0.9);
	ck_assert_int_eq(script.busy_readings, 12);
}

TEST(a_display_server_is_no_stranger)
{
	script.graphics[0] = (nvmlProcessInfo_v2_t){ .pid = 40, .usedGpuMemory = 60 * MIB };
	script.graphics[1] = (nvmlProcessInfo_v2_t){ .pid = 41, .usedGpuMemory = 600 * MIB };
	script.graphics_count = 2;
	script.mps[0] = (nvmlProcessInfo_v2_t){ .pid = 42, .usedGpuMemory = MIB };
	script.mps_count = 1;
	add(42, 1); /* listed twice */
	begin_and_run();
	ck_assert_double_eq(strangers("start"), 2);
}

static const struct {
	const char *variable, *value, *uuid, *process, *sharing;
	bool asked;
} sharings[] = {
	{ .sharing = "exclusive" },
	{ .sharing = "asked", .asked = true, .uuid = "MIG-1" },
	{ .sharing = "mig", .uuid = "MIG-1" },
	{ .sharing = "mps", .variable = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", .value = "50" },
	{ .sharing = "exclusive", .variable = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", .value = "" },
	{ .sharing = "exclusive", .variable = "CUDA_MPS_PIPE_DIRECTORY", .value = "/tmp/no-daemon" },
	{ .sharing = "mps", .variable = "CUDA_MPS_PIPE_DIRECTORY", .value = "/tmp/mps" },
	{ .sharing = "mps", .process = "nvidia-cuda-mps" },
	{ .sharing = "exclusive", .process = "python3" },
	{ .sharing = "shard", .variable = "SLURM_SHARDS_ON_NODE", .value = "4" },
};

static nvmlReturn_t no_instances(nvmlDevice_t of, unsigned int *count)
{
	(void)of;
	*count = 0;
	return NVML_SUCCESS;
}

TEST_EACH(sharing_is_found, sharings)
{
	scripted_nvml.nvmlDeviceGetMaxMigDeviceCount = no_instances;
	fake_file(context, "/tmp/mps/control", "");
	context->ctx.env.shared = sharings[_i].asked;
	if (sharings[_i].variable)
		setenv(sharings[_i].variable, sharings[_i].value, 1);
	if (sharings[_i].uuid)
		snprintf(context->gpu.uuid, sizeof context->gpu.uuid, "%s", sharings[_i].uuid);
	if (sharings[_i].process) {
		fake_file(context, "/proc/50/comm", sharings[_i].process);
		add(50, 30);
	}
	begin_and_run();
	ck_assert_str_eq(fake_string(context, "rank.gpu_sharing", NULL), sharings[_i].sharing);
	bool exclusive = strcmp(sharings[_i].sharing, "exclusive") == 0;
	ck_assert_int_eq(at("gpu.foreign_processes", "start")->value.type, exclusive ? MUSTER_NUMBER : MUSTER_NULL);
	if (!exclusive)
		ck_assert_ptr_nonnull(
			strstr(fake_reason(context, "gpu.foreign_memory_mib", BUS_ID), sharings[_i].sharing));
	/* who is there is told in any case */
	if (sharings[_i].process)
		ck_assert_ptr_nonnull(strstr(names("start"), sharings[_i].process));
}

static const struct {
	int coherent;
	const char *mode;
	bool known;
} memories[] = {
	{ 0, NULL, true },
	{ 0, "CoherentGPUMemoryMode: \"numa\"\n", false },
	{ 1, NULL, false },
	{ 1, "CoherentGPUMemoryMode: \"\"\n", false },
	{ 1, "CoherentGPUMemoryMode: \"driver\"\n", true },
};

TEST_EACH(memory_of_the_system_says_nothing, memories)
{
	script.coherent = memories[_i].coherent;
	script.used_mib = 500;
	if (memories[_i].mode)
		fake_file(context, "/proc/driver/nvidia/params", memories[_i].mode);
	begin_and_run();
	if (memories[_i].known)
		ck_assert_double_eq(fake_number(context, "gpu.foreign_memory_mib", BUS_ID), 500);
	else
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.foreign_memory_mib", BUS_ID), "the system's"));
}

TEST(a_gpu_that_nvml_does_not_show_is_an_error)
{
	struct muster_error err;
	context->gpu.has_nvml = false;
	muster_probe_gpu_users.begin(&context->ctx);
	ck_assert_int_eq(muster_probe_gpu_users.run(&context->ctx, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "NVML does not show GPU " BUS_ID));
	nvml_missing = true;
	ck_assert_int_eq(muster_probe_gpu_users.finish(&context->ctx, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "libnvidia-ml.so.1"));
}

TEST_MAIN(.setup = setup, .teardown = teardown, .timeout = 20)
