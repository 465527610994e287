/* SPDX-License-Identifier: Apache-2.0 */
/* test_device_select.c - a MIG instance is told from a whole GPU, and which library ended a worker */
#include "worker/device_select.c"

#include "check_main.h"

static struct {
	unsigned int mode;
	nvmlReturn_t mode_result, uuid_result;
	const char *uuid;
} script;

static nvmlReturn_t mig_mode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
	(void)device;
	*current = *pending = script.mode;
	return script.mode_result;
}

static nvmlReturn_t whole_uuid(nvmlDevice_t device, char *uuid, unsigned int length)
{
	(void)device;
	snprintf(uuid, length, "%s", script.uuid);
	return script.uuid_result;
}

TEST_LOOP(the_uuid_says_whether_it_is_an_instance, 0, 5)
{
	static const struct {
		unsigned int mode;
		nvmlReturn_t mode_result, uuid_result;
		const char *nvml, *uuid;
	} cases[] = {
		{ NVML_DEVICE_MIG_ENABLE, NVML_SUCCESS, NVML_SUCCESS, "GPU-whole", "MIG-mine" },
		/* a virtual machine's part of a GPU, to which MIG is on */
		{ NVML_DEVICE_MIG_ENABLE, NVML_SUCCESS, NVML_SUCCESS, "GPU-mine", "GPU-mine" },
		{ NVML_DEVICE_MIG_DISABLE, NVML_SUCCESS, NVML_SUCCESS, "GPU-whole", "GPU-mine" },
		{ NVML_DEVICE_MIG_ENABLE, NVML_ERROR_NOT_SUPPORTED, NVML_SUCCESS, "GPU-whole", "GPU-mine" },
		{ NVML_DEVICE_MIG_ENABLE, NVML_SUCCESS, NVML_ERROR_UNKNOWN, "GPU-whole", "GPU-mine" },
	};
	const struct muster_nvml nvml = { .nvmlDeviceGetMigMode = mig_mode, .nvmlDeviceGetUUID = whole_uuid };
	struct muster_gpu gpu = { .uuid = "GPU-mine" };
	script.mode = cases[_i].mode;
	script.mode_result = cases[_i].mode_result;
	script.uuid_result = cases[_i].uuid_result;
	script.uuid = cases[_i].nvml;
	mark_mig(&nvml, &gpu);
	ck_assert_str_eq(gpu.uuid, cases[_i].uuid);
}

static const struct {
	const char *step, *library;
} steps[] = {
	{ "nvmlInit_v2", "nvml" },
	{ "NVML: who uses GPU 0001:00:00.0", "nvml" },
	{ "loading libcuda.so.1", "cuda" },
	{ "cuInit", "cuda" },
	{ "cuDevicePrimaryCtxRetain on 0001:00:00.0", "cuda" },
	{ "hwloc: to the CPUs near 0001:00:00.0", NULL },
	{ "", NULL },
};

TEST_EACH(the_step_says_which_library_a_worker_died_of, steps)
{
	ck_assert_pstr_eq(muster_device_died_of(steps[_i].step), steps[_i].library);
}

TEST_MAIN(.setup = NULL)
