/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_users.c - who else is on the GPU, against a scripted NVML and a /proc of files */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor_fakes.h"

#include <fnmatch.h>
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

#define KNOB(field) FAKE_KNOB(#field, script.field)

static const struct fake_knob knobs[] = { KNOB(compute_result), KNOB(memory_result), KNOB(busy_result),
	KNOB(compute_count), KNOB(used_mib), KNOB(freed_mib), KNOB(percent), KNOB(coherent), KNOB(memory_readings),
	KNOB(busy_readings), { .name = NULL } };

static nvmlReturn_t no_instances(nvmlDevice_t of, unsigned int *count)
{
	(void)of;
	*count = 0;
	return NVML_SUCCESS;
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
	context->knobs = knobs;
	context->place = BUS_ID;
	fake_gpu(context, BUS_ID, "GPU-1");
	context->gpu.has_nvml = true;
	context->gpu.nvml_device = (nvmlDevice_t)(void *)&device;
	memset(&script, 0, sizeof script);
	fake_given(context, "/proc/1/comm=systemd | /tmp/mps/control= | -CUDA_MPS_ACTIVE_THREAD_PERCENTAGE | "
			    "-CUDA_MPS_PIPE_DIRECTORY | -SLURM_SHARDS_ON_NODE");
}

static void teardown(void)
{
	fake_free(context);
}

/* "PID:MIB ..."; a PID of 0 is this process, and a MIB of "?" is not known. */
static void add(const char *processes)
{
	while (processes && *processes) {
		char *end;
		unsigned int pid = (unsigned int)strtoul(processes, &end, 10);
		unsigned long long memory = end[1] == '?' ? UNKNOWN : strtoull(end + 1, &end, 10) * MIB;
		script.compute[script.compute_count++] = (nvmlProcessInfo_v2_t){ .pid = pid, .usedGpuMemory = memory };
		processes = strchr(end, ' ');
		processes += processes ? 1 : 0;
	}
}

#define STRANGERS(when, number) "gpu.foreign_processes gpu=" BUS_ID " when=" when " " number " | "
#define NAMES(when, names) "gpu.foreign_process gpu=" BUS_ID " when=" when " " names
#define NO_LIST "-*nvmlDeviceGetComputeRunningProcesses_v2*"
/* Where the GPU is shared on purpose, nobody is a stranger; who is there is told all the same. */
#define SHARED(how) "rank.gpu_sharing '" how " | " STRANGERS("start", "-?*") "gpu.foreign_memory_mib -*" how "*"
#define EXCLUSIVE "rank.gpu_sharing 'exclusive | " STRANGERS("start", ">=0")
#define OF_SYSTEM "gpu.foreign_memory_mib -*the system's*"
#define MODE(mode) "/proc/driver/nvidia/params=CoherentGPUMemoryMode: \"" mode "\" | "
#define TWENTY                                                                                                         \
	"100:10 101:10 102:10 103:10 104:10 105:10 106:10 107:10 108:10 109:10 110:10 111:10 112:10 113:10 114:10 "    \
	"115:10 116:10 117:10 118:10 119:10"

static const struct {
	const char *name, *given, *start, *end; /* end: processes that come before it; NULL: there is no end */
	const char *expected;
} rows[] = {
	/* without waiting: one reading */
	{ "a GPU without other programs has none", NULL, NULL, "0:518",
		STRANGERS("start", "0") STRANGERS("end", "0") NAMES("start", "'none | ")
			NAMES("end", "'none | ") "rank.gpu_sharing 'exclusive | gpu.memory_used_mib 0 | "
						 "gpu.utilisation_before 0 | memory_readings 1" },
	{ "a stranger is named with user and memory", "/proc/1253/comm=python3 | used_mib=21072", "1253:21064", NULL,
		STRANGERS("start", "1") NAMES("start",
			"'1253 python3 (USER) 21064 MiB | ") "gpu.memory_used_mib 21072 | gpu.foreign_memory_mib 8" },
	/* of another PID namespace, or hidden by hidepid */
	{ "a program that cannot be named is a stranger too", "used_mib=30000", "1253:?", NULL,
		NAMES("start", "'1253 ? memory not known | ") "gpu.foreign_memory_mib 0" },
	{ "a name is one printable word", "/proc/7/comm=Web \x1b[1m\xc3\xa9", "7:1", NULL,
		NAMES("start", "'*7 Web__[1m__ *") },
	{ "of many strangers the first 16 are named", NULL, TWENTY, NULL,
		STRANGERS("start", "20") NAMES("start", "'100 ? *115 ? 10 MiB; and 4 more") },
	{ "a stranger that comes later is counted at the end, and the earlier one named again",
		"/proc/5/comm=early | /proc/9/comm=late", "5:100", "0:518 9:1",
		STRANGERS("start", "1") STRANGERS("end", "1") NAMES("end", "'5 early *; 9 late * 1 MiB") },
	{ "a stranger that stays is named at the end", "/proc/5/comm=early", "5:100", "0:518",
		STRANGERS("start", "1") STRANGERS("end", "0") NAMES("end", "'5 early (USER) 100 MiB") },
	{ "programs of the same file are no strangers", "/proc/31/exe->/proc/self/exe | /proc/32/exe=another file",
		"31:500 32:500", NULL, STRANGERS("start", "1") NAMES("start", "'*32 ?*") },
	/* without an entry in /proc, which shows all processes */
	{ "a process that has ended does not count at the end", NULL, NULL, "0:518 33:500",
		STRANGERS("end", "0") "rank.gpu_sharing 'exclusive" },
	{ "a process that /proc hides counts at the end", "-/proc/1/comm | -/proc/1", NULL, "0:518 33:500",
		STRANGERS("end", "1") "rank.gpu_sharing 'exclusive" },
	{ "PIDs of another namespace say nothing at the end", NULL, NULL, "999:518",
		STRANGERS("end", "-?*") NAMES("end", "-*another PID namespace*") },
	{ "without lists there are the reasons", "compute_result=3 | memory_result=3 | busy_result=3", NULL, "",
		NAMES("start", NO_LIST " | ")
			NAMES("end", NO_LIST " | ") "gpu.memory_used_mib -*nvmlDeviceGetMemoryInfo* | "
						    "gpu.foreign_memory_mib -*nvmlDeviceGetMemoryInfo* | "
						    "gpu.utilisation_before -*Utilization*" },
	{ "an old driver counts no reserve", "memory_result=13", NULL, NULL, "gpu.memory_used_mib 77" },
	/* half a second is enough */
	{ "memory that no process has is a stranger's", "used_mib=5000", "5:2000", NULL,
		"gpu.foreign_memory_mib 3000 | memory_readings <=6" },
	{ "memory of a job that has just ended is waited for", "used_mib=10000 | freed_mib=3000", NULL, NULL,
		"gpu.memory_used_mib 1000" },
	{ "memory that never stops falling is not waited for", "used_mib=80000 | freed_mib=1", NULL, NULL,
		"memory_readings 20" },
	{ "a busy GPU is asked again", "percent=90", NULL, NULL, "gpu.utilisation_before 0.9 | busy_readings 12" },

	{ "nobody shares", NULL, NULL, NULL, EXCLUSIVE },
	{ "the run was asked to share", "shared=1 | uuid=MIG-1", NULL, NULL, SHARED("asked") },
	{ "an instance", "uuid=MIG-1", NULL, NULL, SHARED("mig") },
	{ "MPS by a share", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50", NULL, NULL, SHARED("mps") },
	{ "no share", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=", NULL, NULL, EXCLUSIVE },
	{ "MPS without its daemon", "CUDA_MPS_PIPE_DIRECTORY=/tmp/no-daemon", NULL, NULL, EXCLUSIVE },
	{ "MPS by its folder", "CUDA_MPS_PIPE_DIRECTORY=/tmp/mps", NULL, NULL, SHARED("mps") },
	{ "MPS by its server", "/proc/50/comm=nvidia-cuda-mps", "50:30", NULL,
		SHARED("mps") " | " NAMES("start", "'*nvidia-cuda-mps*") },
	{ "another program", "/proc/50/comm=python3", "50:30", NULL, EXCLUSIVE NAMES("start", "'*python3*") },
	{ "a shard", "SLURM_SHARDS_ON_NODE=4", NULL, NULL, SHARED("shard") },

	{ "memory of the GPU alone", "used_mib=500", NULL, NULL, "gpu.foreign_memory_mib 500" },
	{ "memory of the system, by mode", MODE("numa") "used_mib=500", NULL, NULL, OF_SYSTEM },
	{ "memory of the system", "coherent=1 | used_mib=500", NULL, NULL, OF_SYSTEM },
	{ "memory of the system, with an empty mode", MODE("") "coherent=1 | used_mib=500", NULL, NULL, OF_SYSTEM },
	{ "memory of the driver", MODE("driver") "coherent=1 | used_mib=500", NULL, NULL,
		"gpu.foreign_memory_mib 500" },
};

TEST_EACH(who_else_is_on_the_gpu_is_told, rows)
{
	char expected[1024], *user;
	snprintf(expected, sizeof expected, "%s", rows[_i].expected);
	if ((user = strstr(expected, "USER"))) {
		char rest[512];
		snprintf(rest, sizeof rest, "%s", user + 4);
		snprintf(user, sizeof expected - (size_t)(user - expected), "uid%ld%s", (long)getuid(), rest);
	}
	fake_given(context, rows[_i].given);
	if (strncmp(context->gpu.uuid, "MIG-", 4) == 0) /* nobody else's instances are looked for */
		scripted_nvml.nvmlDeviceGetMaxMigDeviceCount = no_instances;
	add(rows[_i].start);
	fake_given(context, "begin | run");
	add(rows[_i].end);
	if (rows[_i].end) {
		fake_given(context, "finish");
		fake_complete(context, NULL);
	}
	fake_expect(context, expected, rows[_i].name);
}

/* root's check beside a user who executes muster's file */
TEST(a_program_of_another_user_is_a_stranger_whatever_its_file)
{
	char path[sizeof context->root + 16];
	fake_given(context, "/proc/31/exe->/proc/self/exe");
	snprintf(path, sizeof path, "%s/proc/31", context->root);
	int strangers = chown(path, 33, (gid_t)-1) == 0; /* only root can */
	add("31:500");
	fake_given(context, "begin | run");
	fake_expect(context, strangers ? STRANGERS("start", "1") : STRANGERS("start", "0"), "of another user");
}

TEST(a_worker_that_replaced_another_counts_all_strangers_at_the_end)
{
	add("0:518 5:100");
	fake_given(context, "/proc/5/comm=early | begin");
	fake_case(context, &(struct fake_row){ "replaced", "finish", STRANGERS("end", "1") "samples 2" });
}

/* What other probes ask for. */
static const struct {
	const char *given, *start, *why;
} shared_rows[] = {
	{ NULL, NULL, "" },
	{ "/proc/5/comm=python3", "5:100", "another program uses the GPU: 5 python3 (uid*) 100 MiB" },
	{ "shared=1 | /proc/5/comm=python3", "5:100", "another program uses the GPU: 5 *" },
	{ "used_mib=5000", NULL, "another program uses the GPU: 5000 MiB are in use" },
	{ "used_mib=1000", NULL, "" },
	{ MODE("numa") "used_mib=5000", NULL, "" },
	{ "percent=90", NULL, "another program uses the GPU: it is busy" },
	{ "shared=1", NULL, "another program may use the GPU (asked)" },
	{ "has_nvml=0 | shared=1", NULL, "another program may use the GPU (asked)" },
	{ "SLURM_SHARDS_ON_NODE=4", NULL, "another program may use the GPU (shard)" },
	{ "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50", NULL, "another program may use the GPU (mps)" },
	{ "uuid=MIG-1", NULL, "" },
	{ NULL, TWENTY, "another program uses the GPU: 100 ? *" },
};

TEST_EACH(other_probes_know_whether_the_gpu_is_shared, shared_rows)
{
	fake_given(context, shared_rows[_i].given);
	scripted_nvml.nvmlDeviceGetMaxMigDeviceCount = no_instances;
	add(shared_rows[_i].start);
	fake_given(context, "begin");
	ck_assert_msg(fnmatch(shared_rows[_i].why, context->gpu.why_shared, 0) == 0, "%s", context->gpu.why_shared);
}

TEST(a_display_server_is_no_stranger)
{
	script.graphics[0] = (nvmlProcessInfo_v2_t){ .pid = 40, .usedGpuMemory = 60 * MIB };
	script.graphics[1] = (nvmlProcessInfo_v2_t){ .pid = 41, .usedGpuMemory = 600 * MIB };
	script.graphics_count = 2;
	script.mps[0] = (nvmlProcessInfo_v2_t){ .pid = 42, .usedGpuMemory = MIB };
	script.mps_count = 1;
	add("42:1"); /* listed twice */
	fake_given(context, "begin | run");
	fake_expect(context, STRANGERS("start", "2") "rank.gpu_sharing 'exclusive", "a display server");
}

TEST_LOOP(a_gpu_that_nvml_does_not_show_is_an_error, 0, 2)
{
	nvml_missing = _i == 1;
	fake_case(context, &(struct fake_row){ "no NVML", _i ? "begin | finish" : "has_nvml=0 | begin | run",
				   _i ? "error '*libnvidia-ml.so.1*" : "error '*NVML does not show GPU " BUS_ID "*" });
}

TEST_MAIN(.setup = setup, .teardown = teardown, .timeout = 20)
