/* SPDX-License-Identifier: Apache-2.0 */
/* test_library.c - vendor libraries that are missing, incomplete, unwilling or whole
 *
 * The broken ones are built by tests/abi/tests.cmake. Opened by path first, they are then found under their soname,
 * whatever the machine has. Each test runs in a process of its own (Check forks), so nothing is open at its start.
 */
#include "vendor/cuda.h"
#include "vendor/library.h"
#include "vendor/nccl.h"
#include "vendor/nvml.h"
#include "vendor/verbs.h"

#include "check_main.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKES MUSTER_BUILD_DIR "/tests/fakes/"

static char *real_path(const char *path)
{
	char *real = realpath(path, NULL);
	ck_assert_msg(real != NULL, "%s is not there", path);
	return real;
}

static void put_in_place(const char *file_name)
{
	char path[4096];
	snprintf(path, sizeof path, FAKES "%s", file_name);
	ck_assert_msg(dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL, "%s", dlerror());
}

TEST(a_missing_library_is_named_with_the_loaders_words_and_stays_missing)
{
	struct muster_library library = { .title = "A thing", .soname = "libmuster-none.so.7", .oldest = "thing 2" };
	struct muster_error err = { 0 }, again = { 0 };
	ck_assert_int_eq(muster_library_open(&library, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ELIB);
	ck_assert_str_eq(err.text, "A thing: libmuster-none.so.7 cannot be opened: "
				   "libmuster-none.so.7: cannot open shared object file: No such file or directory");
	ck_assert_ptr_null(library.handle);
	ck_assert_str_eq(library.path, "");
	ck_assert(library.tried);

	library.soname = "libc.so.6"; /* is there, but the first answer holds */
	ck_assert_int_eq(muster_library_open(&library, &again), -1);
	ck_assert_int_eq(again.code, MUSTER_ELIB);
	ck_assert_str_eq(again.text, err.text);
	ck_assert_int_eq(muster_library_open(&library, NULL), -1);
}

TEST(a_library_that_ended_a_worker_is_not_opened)
{
	struct muster_library library = { .title = "libm", .soname = "libm.so.6", .oldest = "any" };
	struct muster_error err = { 0 };
	muster_library_refuse(&library, "signal 11; last step: cuInit");
	ck_assert_int_eq(muster_library_open(&library, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EVENDOR);
	ck_assert_str_eq(err.text, "signal 11; last step: cuInit");
	ck_assert_ptr_null(library.handle);
}

TEST(a_missing_function_is_named_with_the_file_and_what_would_have_it)
{
	char *path = real_path(FAKES "libcuda.so.1"), expected[8192];
	struct muster_error err = { 0 }, again = { 0 };
	put_in_place("libcuda.so.1");
	ck_assert_ptr_null(muster_cuda(&err));
	snprintf(expected, sizeof expected,
		"CUDA driver: %s has no function cuMemcpyHtoDAsync_v2; driver R470 or later is needed", path);
	ck_assert_int_eq(err.code, MUSTER_ELIB);
	ck_assert_str_eq(err.text, expected);
	ck_assert_ptr_null(muster_cuda(&again));
	ck_assert_str_eq(again.text, expected);
	ck_assert_ptr_null(muster_cuda_library.handle);
	ck_assert_str_eq(muster_cuda_library.path, path);
	ck_assert(!muster_cuda_library.standin);
	free(path);
}

TEST(a_function_in_another_symbol_version_does_not_count)
{
	char *path = real_path(FAKES "libibverbs.so.1"), expected[8192];
	struct muster_error err = { 0 };
	put_in_place("libibverbs.so.1");
	ck_assert_ptr_null(muster_verbs(&err));
	snprintf(expected, sizeof expected,
		"libibverbs: %s has no function ibv_query_port@IBVERBS_1.1; libibverbs 1.1 or later is needed", path);
	ck_assert_str_eq(err.text, expected);
	free(path);
}

TEST(a_library_that_refuses_to_start_is_asked_once)
{
	struct muster_error err = { 0 }, again = { 0 };
	put_in_place("libnvidia-ml.so.1");
	ck_assert_ptr_null(muster_nvml(&err));
	ck_assert_int_eq(err.code, MUSTER_EVENDOR);
	ck_assert_str_eq(err.text, "nvmlInit_v2: Driver Not Loaded (9)");
	ck_assert_ptr_null(muster_nvml(&again));
	ck_assert_str_eq(again.text, err.text);
	ck_assert_ptr_nonnull(muster_nvml_library.handle);
}

TEST(a_function_that_nvml_lacks_answers_that_it_is_not_there)
{
	nvmlGpuFabricInfo_t fabric;
	nvmlGpuFabricInfoV_t newer;
	nvmlGridLicensableFeatures_t licences;
	unsigned int mhz;
	const struct muster_nvml *nvml;
	struct muster_error err = { 0 };
	put_in_place("libnvidia-ml.so.1");
	setenv("MUSTER_FAKE_NVML_STARTS", "1", 1);
	nvml = muster_nvml(&err);
	ck_assert_msg(nvml != NULL, "%s", err.text);
	ck_assert_int_eq(nvml->nvmlDeviceGetGpuFabricInfo(NULL, &fabric), NVML_ERROR_FUNCTION_NOT_FOUND);
	ck_assert_int_eq(nvml->nvmlDeviceGetGpuFabricInfoV(NULL, &newer), NVML_ERROR_FUNCTION_NOT_FOUND);
	ck_assert_int_eq(
		nvml->nvmlDeviceGetApplicationsClock(NULL, NVML_CLOCK_SM, &mhz), NVML_ERROR_FUNCTION_NOT_FOUND);
	ck_assert_int_eq(nvml->nvmlDeviceGetGridLicensableFeatures_v4(NULL, &licences), NVML_ERROR_FUNCTION_NOT_FOUND);
	ck_assert_int_eq(nvml->nvmlDeviceGetIndex(NULL, &mhz), NVML_SUCCESS);
}

TEST(an_optional_function_may_be_missing_and_a_standin_is_known_by_its_mark)
{
	char *path = real_path(FAKES "libnccl.so.2");
	const struct muster_nccl *nccl;
	struct muster_error err = { 0 };
	put_in_place("libnccl.so.2");
	ck_assert(!muster_library_any_standin());
	nccl = muster_nccl(&err);
	ck_assert_msg(nccl != NULL, "%s", err.text);
	ck_assert_ptr_eq(muster_nccl(NULL), nccl);
	ck_assert(nccl->ncclGetVersion != NULL && nccl->ncclAllReduce != NULL && nccl->ncclGetErrorString != NULL);
	ck_assert(nccl->ncclGetLastError == NULL);
	ck_assert_str_eq(muster_nccl_library.path, path);
	ck_assert(muster_nccl_library.standin);
	ck_assert(muster_library_any_standin());
	free(path);
}

TEST(the_packaged_libibverbs_has_every_function_in_its_version)
{
	const struct muster_verbs *verbs;
	struct muster_error err = { 0 };
	struct ibv_device **list;
	int count = -1;
	verbs = muster_verbs(&err);
	ck_assert_msg(verbs != NULL, "%s", err.text);
	ck_assert(strncmp(muster_verbs_library.path, "/", 1) == 0);
	ck_assert(strstr(muster_verbs_library.path, "libibverbs.so.1") != NULL);
	list = verbs->get_device_list(&count);
	if (list) { /* NULL: the kernel has no RDMA at all */
		ck_assert_int_ge(count, 0);
		verbs->free_device_list(list);
	}
}

TEST(the_four_libraries_are_listed_in_order)
{
	static const char *const sonames[] = { "libcuda.so.1", "libnvidia-ml.so.1", "libnccl.so.2", "libibverbs.so.1" };
	for (size_t i = 0; i < MUSTER_LIBRARY_COUNT; i++) {
		ck_assert_str_eq(muster_libraries[i]->soname, sonames[i]);
		ck_assert(!muster_libraries[i]->tried);
	}
}

TEST_MAIN(.setup = NULL)
