/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda.c - what src/vendor/cuda.c makes of the driver's answers
 *
 * The driver is a handful of functions in this file.
 */
#include "check_main.h"
#include "vendor/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct muster_error err;

static CUresult error_name(CUresult error, const char **name)
{
	if (error == CUDA_ERROR_UNKNOWN)
		return CUDA_ERROR_INVALID_VALUE;
	*name = error == CUDA_ERROR_NOT_SUPPORTED   ? "CUDA_ERROR_NOT_SUPPORTED"
		: error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
						    : "CUDA_ERROR_LAUNCH_FAILED";
	return CUDA_SUCCESS;
}

static CUresult error_string(CUresult error, const char **text)
{
	if (error == CUDA_ERROR_NOT_SUPPORTED)
		return CUDA_ERROR_INVALID_VALUE;
	*text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "unspecified launch failure";
	return CUDA_SUCCESS;
}

static const char *bus_id_answer;
static CUresult bus_id(char *text, int size, CUdevice device)
{
	if (device != 3)
		return CUDA_ERROR_LAUNCH_FAILED;
	snprintf(text, (size_t)size, "%s", bus_id_answer);
	return CUDA_SUCCESS;
}

static const char *uuid_answer;
static CUresult uuid(CUuuid *ret, CUdevice device)
{
	if (device != 3)
		return CUDA_ERROR_LAUNCH_FAILED;
	memcpy(ret->bytes, uuid_answer, sizeof ret->bytes);
	return CUDA_SUCCESS;
}

/* The stream is busy this many more times, then gives the answer. */
static int busy;
static CUresult stream_answer;
static CUresult stream_query(CUstream stream)
{
	(void)stream;
	return busy-- > 0 ? CUDA_ERROR_NOT_READY : stream_answer;
}

static const struct muster_cuda driver = {
	.cuGetErrorName = error_name,
	.cuGetErrorString = error_string,
	.cuDeviceGetPCIBusId = bus_id,
	.cuDeviceGetUuid_v2 = uuid,
	.cuStreamQuery = stream_query,
};

static const struct {
	CUresult result;
	int code;
	const char *text;
} checks[] = {
	{ CUDA_ERROR_LAUNCH_FAILED, MUSTER_EVENDOR,
		"cuCall: CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure" },
	{ CUDA_ERROR_OUT_OF_MEMORY, MUSTER_ERESOURCE, "cuCall: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory" },
	{ CUDA_ERROR_NOT_SUPPORTED, MUSTER_ENOTSUPPORTED, "cuCall: CUDA_ERROR_NOT_SUPPORTED (801)" },
	{ CUDA_ERROR_UNKNOWN, MUSTER_EVENDOR, "cuCall: error 999, without a name in this driver" },
};

TEST_EACH(a_failed_call_is_told_with_its_name_number_and_text, checks)
{
	ck_assert_int_eq(muster_cuda_check(&driver, checks[_i].result, &err, "cuCall"), -1);
	ck_assert_int_eq((int)err.code, checks[_i].code);
	ck_assert_str_eq(err.text, checks[_i].text);
}

TEST(success_leaves_the_error_alone)
{
	err = (struct muster_error){ .text = "as before" };
	ck_assert_int_eq(muster_cuda_check(&driver, CUDA_SUCCESS, &err, "cuCall"), 0);
	ck_assert_str_eq(err.text, "as before");
}

TEST(the_bus_id_is_as_sysfs_spells_it)
{
	char text[32] = "untouched";
	bus_id_answer = "00000001:0A:00.0";
	ck_assert_int_eq(muster_cuda_bus_id(&driver, 3, text, sizeof text, &err), 0);
	ck_assert_str_eq(text, "0001:0a:00.0");
	ck_assert_int_eq(muster_cuda_bus_id(&driver, 4, text, sizeof text, &err), -1);
	ck_assert_str_eq(err.text, "cuDeviceGetPCIBusId: CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure");
	bus_id_answer = "nonsense";
	ck_assert_int_eq(muster_cuda_bus_id(&driver, 3, text, sizeof text, &err), -1);
	ck_assert_str_eq(text, "0001:0a:00.0");
}

static const struct {
	const char *bytes, *text;
} uuids[] = {
	{ "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"GPU-00000000-0000-0000-0000-000000000000" },
	{ "\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10",
		"GPU-01234567-89ab-cdef-fedc-ba9876543210" },
	{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"GPU-ffffffff-ffff-ffff-ffff-ffffffffffff" },
};

TEST_EACH(the_uuid_is_as_nvml_spells_it, uuids)
{
	char text[48];
	uuid_answer = uuids[_i].bytes;
	ck_assert_int_eq(muster_cuda_uuid(&driver, 3, text, sizeof text, &err), 0);
	ck_assert_str_eq(text, uuids[_i].text);
	ck_assert_int_eq(muster_cuda_uuid(&driver, 3, text, 41, &err), 0);
}

TEST(a_uuid_is_never_cut)
{
	char text[40] = "untouched";
	uuid_answer = uuids[0].bytes;
	ck_assert_int_eq(muster_cuda_uuid(&driver, 3, text, sizeof text, &err), -1);
	ck_assert_str_eq(text, "untouched");
	ck_assert_int_eq(muster_cuda_uuid(&driver, 4, text, sizeof text, &err), -1);
	ck_assert_str_eq(err.text, "cuDeviceGetUuid_v2: CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure");
}

TEST(waiting_goes_on_until_the_stream_is_done)
{
	busy = 5;
	stream_answer = CUDA_SUCCESS;
	ck_assert_msg(muster_cuda_wait(&driver, NULL, 60000, &err) == 0, "%s", err.text);
	ck_assert_int_eq(busy, -1);
}

TEST(waiting_ends_with_the_streams_error)
{
	busy = 2;
	stream_answer = CUDA_ERROR_LAUNCH_FAILED;
	ck_assert_int_eq(muster_cuda_wait(&driver, NULL, 60000, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EVENDOR);
	ck_assert_str_eq(err.text, "cuStreamQuery: CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure");
}

TEST(waiting_ends_when_the_time_is_over)
{
	busy = 1000000000;
	ck_assert_int_eq(muster_cuda_wait(&driver, NULL, 5, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ETIME);
	ck_assert_str_eq(err.text, "the GPU's stream was still busy after 5 ms");
}

TEST(a_stream_that_is_done_needs_no_time)
{
	busy = 0;
	stream_answer = CUDA_SUCCESS;
	ck_assert_msg(muster_cuda_wait(&driver, NULL, 0, &err) == 0, "%s", err.text);
}

TEST_MAIN(.setup = NULL)
