/* SPDX-License-Identifier: Apache-2.0 */
/* test_answers.c - what src/vendor/ makes of the answers of NVML, NCCL and libibverbs */
#include "check_main.h"
#include "vendor/nccl.h"
#include "vendor/nvml.h"
#include "vendor/verbs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *nvml_text(nvmlReturn_t result)
{
	return result == NVML_ERROR_UNKNOWN ? NULL : "Some Text";
}

static const struct {
	nvmlReturn_t result;
	int code;
	const char *text;
} nvml_checks[] = {
	{ NVML_ERROR_NOT_SUPPORTED, MUSTER_ENOTSUPPORTED, "nvmlCall: Some Text (3)" },
	{ NVML_ERROR_FUNCTION_NOT_FOUND, MUSTER_ENOTSUPPORTED, "nvmlCall: Some Text (13)" },
	{ NVML_ERROR_NO_PERMISSION, MUSTER_ENOPERMISSION, "nvmlCall: Some Text (4)" },
	{ NVML_ERROR_GPU_IS_LOST, MUSTER_EVENDOR, "nvmlCall: Some Text (15)" },
	{ NVML_ERROR_UNKNOWN, MUSTER_EVENDOR, "nvmlCall: an error that NVML has no text for (999)" },
};

TEST_EACH(nvml_answers_are_told_apart, nvml_checks)
{
	const struct muster_nvml nvml = { .nvmlErrorString = nvml_text };
	struct muster_error err = { 0 };
	ck_assert_int_eq(muster_nvml_check(&nvml, NVML_SUCCESS, &err, "nvmlCall"), 0);
	ck_assert_str_eq(err.text, "");
	ck_assert_int_eq(muster_nvml_check(&nvml, nvml_checks[_i].result, &err, "nvmlCall"), -1);
	ck_assert_int_eq((int)err.code, nvml_checks[_i].code);
	ck_assert_str_eq(err.text, nvml_checks[_i].text);
}

static const struct {
	int number;
	const char *text;
} versions[] = {
	{ 2408, "2.4.8" },
	{ 2804, "2.8.4" },
	{ 20903, "2.9.3" },
	{ 21400, "2.14.0" },
	{ 22809, "2.28.9" },
	{ 23004, "2.30.4" },
	{ 30000, "3.0.0" },
};

TEST_EACH(nccl_versions_read_as_people_write_them, versions)
{
	char text[32];
	ck_assert_str_eq(muster_nccl_version_text(versions[_i].number, text, sizeof text), versions[_i].text);
}

static const char *nccl_text(ncclResult_t result)
{
	return result == ncclSystemError ? "unhandled system error" : NULL;
}

static const char *nccl_last(ncclComm_t comm)
{
	return comm ? "" : "Call to connect failed\n  Connection refused\n";
}

static const char *nccl_memory(ncclComm_t comm)
{
	(void)comm;
	return "Cuda failure 2 'out of memory'";
}

TEST(nccl_answers_carry_the_last_error_in_one_line)
{
	struct muster_nccl nccl = { .ncclGetErrorString = nccl_text, .ncclGetLastError = nccl_last };
	ncclComm_t comm = (ncclComm_t)(void *)&nccl; /* any pointer: only passed on */
	struct muster_error err = { 0 };
	ck_assert_int_eq(muster_nccl_check(&nccl, ncclSuccess, NULL, &err, "ncclCall"), 0);
	ck_assert_int_eq(muster_nccl_check(&nccl, ncclInProgress, NULL, &err, "ncclCall"), 0);
	ck_assert_str_eq(err.text, "");
	ck_assert_int_eq(muster_nccl_check(&nccl, ncclSystemError, NULL, &err, "ncclCall"), -1);
	ck_assert_int_eq(err.code, MUSTER_ERESOURCE);
	ck_assert_ptr_null(strchr(err.text, '\n'));
	ck_assert_ptr_nonnull(strstr(err.text, "ncclCall: unhandled system error (2): Call to connect failed"));
	ck_assert_ptr_nonnull(strstr(err.text, "Connection refused"));
	ck_assert_int_eq(muster_nccl_check(&nccl, ncclSystemError, comm, &err, "ncclCall"), -1);
	ck_assert_str_eq(err.text, "ncclCall: unhandled system error (2)");
	nccl.ncclGetLastError = nccl_memory;
	ck_assert_int_eq(muster_nccl_check(&nccl, ncclUnhandledCudaError, NULL, &err, "ncclCall"), -1);
	ck_assert_int_eq(err.code, MUSTER_ERESOURCE);
	nccl.ncclGetLastError = NULL;
	ck_assert_int_eq(muster_nccl_check(&nccl, ncclInternalError, NULL, &err, "ncclCall"), -1);
	ck_assert_int_eq(err.code, MUSTER_EVENDOR);
	ck_assert_int_eq(muster_nccl_check(&nccl, ncclRemoteError, NULL, &err, "ncclCall"), -1);
	ck_assert_str_eq(err.text, "ncclCall: an error without a text in NCCL (6)");
	ck_assert_int_eq(err.code, MUSTER_EREMOTE); /* where it began is another process */
}

/* Both ways to ask for a port; each fails the test when attr was not zeroed before. */
static const char *asked;
static int answer;

static int compat_query(struct ibv_context *context, uint8_t port, void *attr)
{
	static const struct ibv_port_attr zero;
	(void)context;
	ck_assert_int_eq(port, 2);
	ck_assert_int_eq(memcmp(attr, &zero, sizeof zero), 0);
	asked = "compat";
	return answer;
}

static int extended_query(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
	ck_assert_uint_eq(size, sizeof *attr);
	compat_query(context, port, attr);
	asked = "extended";
	return answer;
}

static const struct {
	bool extended, has_operation, long_enough;
	const char *asked;
} ports[] = {
	{ true, true, true, "extended" },
	{ true, false, true, "compat" },
	{ true, true, false, "compat" },
	{ false, true, true, "compat" },
};

TEST_EACH(a_port_is_asked_for_all_its_fields_where_the_context_can, ports)
{
	const struct muster_verbs verbs = { .query_port_compat = compat_query };
	struct verbs_context context = { 0 };
	struct ibv_port_attr attr;
	context.context.abi_compat = ports[_i].extended ? __VERBS_ABI_IS_EXTENDED : NULL;
	context.query_port = ports[_i].has_operation ? extended_query : NULL;
	context.sz = ports[_i].long_enough ? sizeof context : 8;
	for (answer = 0; answer <= EINVAL; answer += EINVAL) {
		memset(&attr, 0xff, sizeof attr);
		ck_assert_int_eq(muster_verbs_query_port(&verbs, &context.context, 2, &attr), answer);
		ck_assert_str_eq(asked, ports[_i].asked);
	}
}

TEST_MAIN(.setup = NULL)
