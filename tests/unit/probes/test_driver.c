/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver.c - how the driver started, by scripted codes, and what files say of its module and its libraries */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor_fakes.h"
#include "vendor/library.h"

#include <stdio.h>

extern const struct muster_probe muster_probe_driver;

struct muster_library muster_cuda_library = { .path = "/lib/libcuda.so.580.95.05", .handle = &muster_cuda_library };
struct muster_library muster_nvml_library = { .path = "/lib/libnvidia-ml.so.1", .handle = &muster_nvml_library };

static struct probe_fake *context;
static int nvml_answer;

int muster_nvml_start(char *ret_version, unsigned int size)
{
	snprintf(ret_version, size, "13.580.95.05");
	return nvml_answer;
}

static const struct fake_knob knobs[] = { FAKE_KNOB("nvml", nvml_answer), FAKE_KNOB("cuda_missing", cuda_missing),
	{ .name = NULL } };

static void setup(void)
{
	context = fake_new(&muster_probe_driver);
	context->knobs = knobs;
	fake_gpu(context, "0001:00:00.0", "GPU-1");
	muster_probe_env(&context->ctx)->gpu->visible = 1;
	fake_given(context, "nvml=0 | cuda_missing=0 | /dev/nvidiactl= | /dev/nvidia-uvm=");
}

static void teardown(void)
{
	fake_free(context);
}

#define VERSION(text) "/proc/driver/nvidia/version=NVRM version: NVIDIA UNIX " text
static const struct fake_row rows[] = {
	{ "a driver that starts", VERSION("Open Kernel Module for x86_64  580.126.16  Release Build"),
		"rank.driver_start 'ok | node.driver_module '580.126.16 | node.driver_flavour 'open "
		"| node.device_files 'none | node.driver_libraries '/lib/libcuda.so.580.95.05, /lib/libnvidia-ml.so.1 "
		"(13.580.95.05)" },
	{ "the other kind of the module", VERSION("x86_64 Kernel Module  570.1  Thu Sep  4 12:00:00 UTC 2025"),
		"node.driver_module '570.1 | node.driver_flavour 'proprietary" },
	{ "another file in its place", "/proc/driver/nvidia/version=GCC version:  12",
		"node.driver_flavour -*names no driver* | node.driver_module -*names no driver*" },
	{ "NVML refuses", "nvml=18", "rank.driver_start 'nvml-18" },
	{ "both libraries are missing", "nvml=-1 | cuda_missing=1", "rank.driver_start 'nvml-missing cuda-missing" },
	{ "no module", NULL, "node.driver_module 'none | node.driver_flavour -*No such file*" },
	{ "a container that covers the version", "/.dockerenv= | /sys/module/nvidia/",
		"node.driver_module -*/proc/driver/nvidia/version*" },
	{ "a container of a node without the module", "/.dockerenv=", "node.driver_module 'none" },
	{ "a file is missing", "-/dev/nvidia-uvm", "node.device_files '/dev/nvidia-uvm: No such file or directory" },
};

TEST(the_start_of_cuda_has_its_time)
{
	fake_case(context, &(struct fake_row){ "none", NULL, "rank.cuda_start_ms -CUDA was not started" });
	fake_forget(context);
	muster_probe_env(&context->ctx)->gpu->cuda_start_ms = 6557;
	fake_given(context, "run");
	ck_assert_double_eq(fake_number(context, "rank.cuda_start_ms", NULL), 6557);
}

TEST_EACH(files_and_codes_say_how_the_driver_is, rows)
{
	fake_case(context, &rows[_i]);
	fake_complete(context, NULL);
}

TEST(the_code_of_cuda_follows_that_of_nvml)
{
	muster_probe_env(&context->ctx)->gpu->cuda_result = 803;
	fake_case(context, &(struct fake_row){ "both", "nvml=18", "rank.driver_start 'nvml-18 cuda-803" });
}

TEST(drivers_that_were_not_asked_are_not_known)
{
	muster_probe_env(&context->ctx)->gpu->visible = -1;
	snprintf(muster_probe_env(&context->ctx)->gpu->why_none, 32, "cuInit hung");
	fake_case(context, &(struct fake_row){ "skipped", NULL, "rank.driver_start -cuInit hung" });
}

TEST(a_library_that_ended_a_worker_is_named)
{
	muster_probe_env(&context->ctx)->gpu->visible = -1;
	muster_probe_env(&context->ctx)->gpu->died_of = "cuda";
	fake_case(context, &(struct fake_row){ "died", NULL, "rank.driver_start 'cuda-died" });
}

TEST_MAIN(.setup = setup, .teardown = teardown)
