/* SPDX-License-Identifier: Apache-2.0 */
/* test_fault_misbehave.c - the words that say how a worker misbehaves */
#include "sim/fault_misbehave.h"

#include "check_main.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *text, *function;
	long call;
	enum muster_sim_how how;
} good[] = {
	{ "cuInit:segv", "cuInit", 1, MUSTER_SIM_DIES_SEGV },
	{ "ncclAllReduce#3:hang", "ncclAllReduce", 3, MUSTER_SIM_DIES_HANG },
	{ "dlopen:libcuda.so.1:long-line", "dlopen:libcuda.so.1", 1, MUSTER_SIM_DIES_LONG_LINE },
	{ "dlopen:libcuda.so.1#2:exit", "dlopen:libcuda.so.1", 2, MUSTER_SIM_DIES_EXIT },
	{ "cuInit:803", "cuInit", 0, MUSTER_SIM_RETURNS },
	{ "nvmlDeviceGetName#2:40s@0001:00:00.0", "nvmlDeviceGetName", 2, MUSTER_SIM_WAITS },
};

#define ZEROS_64 "0000000000000000000000000000000000000000000000000000000000000000"

static const struct {
	const char *text, *says;
} bad[] = {
	{ "", "FUNCTION:HOW" },
	{ "cuInit", "FUNCTION:HOW" },
	{ ":segv", "FUNCTION:HOW" },
	{ "cuInit:", "HOW: segv, bus, " },
	{ "cuInit:sneeze", "HOW: segv, bus, " },
	{ "cuInut:segv", "\"cuInut\" must be a function" },
	{ "dlopen::segv", "\"dlopen:\" must be a function" },
	{ "cuInit#0:segv", "CALL: a whole number from 1" },
	{ "cuInit#x:segv", "CALL: a whole number from 1" },
	{ "dlopen:x y:segv", "\"dlopen:x y\" must be a function" },
	{ "cuMemAlloc_v2:segv@0001:00:00.0", "only a code or a time can be about one GPU" },
	{ "cuInit:1e300s", "TIME must be at most" },
	{ "cuInit:" ZEROS_64 ZEROS_64 ZEROS_64 ZEROS_64 "40s", "is too long" },
	{ "nvmlDeviceGetName:40s@0001:00:00.000000000000000000000", "is too long" },
	{ "cuInit#:segv", "CALL: a whole number from 1" },
};

TEST_EACH(function_call_and_how_are_read, good)
{
	struct muster_sim_misbehaviour death;
	struct muster_error err = { 0 };
	ck_assert_msg(muster_sim_misbehaviour_parse(good[_i].text, &death, &err) == 0, "%s", err.text);
	ck_assert_str_eq(death.function, good[_i].function);
	ck_assert_int_eq(death.call, good[_i].call);
	ck_assert_int_eq(death.how, good[_i].how);
}

TEST_EACH(what_cannot_be_meant_is_refused, bad)
{
	struct muster_sim_misbehaviour death;
	struct muster_error err = { 0 };
	ck_assert_int_eq(muster_sim_misbehaviour_parse(bad[_i].text, &death, &err), -1);
	ck_assert_msg(strstr(err.text, bad[_i].says) != NULL, "%s", err.text);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
}

TEST(every_function_that_can_be_named_is_exported_by_a_stand_in)
{
	static const char *const files[] = { "libcuda.so.1", "libcublasLt.so.13", "libcufile.so.0", "libnvidia-ml.so.1",
		"libnccl.so.2", "libibverbs.so.1", "libmuster-preload.so" };
	void *libraries[sizeof files / sizeof *files];
	char path[4096];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/lib/muster/sim/%s", MUSTER_BUILD_DIR, files[i]);
		libraries[i] = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
		ck_assert_msg(libraries[i] != NULL, "%s", dlerror());
	}
	for (size_t f = 0; f < muster_sim_misbehaviour_function_count; f++) {
		const char *name = muster_sim_misbehaviour_functions[f];
		bool found = false;
		for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
			Dl_info info;
			void *function = dlsym(libraries[i], name);
			found = found || (function && dladdr(function, &info) && strstr(info.dli_fname, files[i]));
		}
		ck_assert_msg(found, "no stand-in has %s", name);
	}
}

TEST_MAIN(.setup = NULL)
