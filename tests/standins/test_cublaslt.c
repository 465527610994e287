/* SPDX-License-Identifier: Apache-2.0 */
/* test_cublaslt.c - libcublasLt.so.13's stand-in: what can be multiplied, how fast, and that equal products are equal
 */
#include "check_main.h"
#include "standins/load_fixture.h"

#include "vendor/cublaslt_abi.h"

#include <stdlib.h>

#define N ((uint64_t)1024)
#define WORKSPACE (32 * MIB)

static struct {
#define X(symbol, parameters) cublasStatus_t(*symbol) parameters;
	MUSTER_CUBLASLT_FUNCTIONS(X)
#undef X
	size_t (*cublasLtGetVersion)(void);
} lt;

#define LT(call) ck_assert_int_eq(lt.call, CUBLAS_STATUS_SUCCESS)
#define STATUS(code, call) ck_assert_int_eq(lt.call, CUBLAS_STATUS_##code)

static cublasLtHandle_t handle;
static const struct muster_pattern factors = { 1, 0x80ff80ff80ff80ff, 0x3f003f003f003f00, 0 };

static void begin(void)
{
	example_start(changed, 0);
	load_open();
	void *library = example_open("libcublasLt.so.13");
#define X(symbol, parameters) example_find(library, #symbol, &lt.symbol, sizeof lt.symbol);
	MUSTER_CUBLASLT_FUNCTIONS(X)
#undef X
	example_find(library, "cublasLtGetVersion", &lt.cublasLtGetVersion, sizeof lt.cublasLtGetVersion);
	load_use(0);
	LT(cublasLtCreate(&handle));
}

static void start(void)
{
	load_unwritten();
	begin();
}

/* A product of two N x N matrices, as muster makes it: A transposed. */
struct plan {
	cublasLtMatmulDesc_t product;
	cublasLtMatrixLayout_t from, to;
	cublasLtMatmulPreference_t preference;
	cublasLtMatmulHeuristicResult_t chosen;
	CUdeviceptr a, b, workspace;
	bool doubles;
};

static struct plan describe(cudaDataType type, cudaDataType result, int32_t transpose, uint64_t workspace)
{
	struct plan plan = { .doubles = type == CUDA_R_64F };
	LT(cublasLtMatmulDescCreate(&plan.product, plan.doubles ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
		plan.doubles ? CUDA_R_64F : CUDA_R_32F));
	LT(cublasLtMatmulDescSetAttribute(plan.product, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose));
	LT(cublasLtMatrixLayoutCreate(&plan.from, type, N, N, (int64_t)N));
	LT(cublasLtMatrixLayoutCreate(&plan.to, result, N, N, (int64_t)N));
	LT(cublasLtMatmulPreferenceCreate(&plan.preference));
	LT(cublasLtMatmulPreferenceSetAttribute(
		plan.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
	return plan;
}

static cublasStatus_t choose(struct plan *plan)
{
	int found = -1;
	cublasStatus_t status = lt.cublasLtMatmulAlgoGetHeuristic(handle, plan->product, plan->from, plan->from,
		plan->to, plan->to, plan->preference, 1, &plan->chosen, &found);
	ck_assert_int_eq(found, status == CUBLAS_STATUS_SUCCESS);
	return status;
}

static struct plan make_plan(cudaDataType type, cudaDataType result)
{
	struct plan plan = describe(type, result, CUBLAS_OP_T, WORKSPACE);
	ck_assert_int_eq(choose(&plan), CUBLAS_STATUS_SUCCESS);
	plan.a = take(8 * N * N);
	plan.b = take(8 * N * N);
	plan.workspace = take(WORKSPACE);
	fill(plan.a, 8 * N * N, factors);
	fill(plan.b, 8 * N * N, factors);
	return plan;
}

static void done(struct plan *plan)
{
	LT(cublasLtMatmulPreferenceDestroy(plan->preference));
	LT(cublasLtMatrixLayoutDestroy(plan->from));
	LT(cublasLtMatrixLayoutDestroy(plan->to));
	LT(cublasLtMatmulDescDestroy(plan->product));
}

static cublasStatus_t try(const struct plan *plan, CUdeviceptr into, double alpha, double beta, size_t workspace)
{
	const float scalars[] = { (float)alpha, (float)beta };
	const void *one = plan->doubles ? (const void *)&alpha : &scalars[0];
	const void *zero = plan->doubles ? (const void *)&beta : &scalars[1];
	return lt.cublasLtMatmul(handle, plan->product, one, (void *)(uintptr_t)plan->a, plan->from,
		(void *)(uintptr_t)plan->b, plan->from, zero, (void *)(uintptr_t)into, plan->to,
		(void *)(uintptr_t)into, plan->to, &plan->chosen.algo, (void *)(uintptr_t)plan->workspace, workspace,
		NULL);
}

static void multiply(const struct plan *plan, CUdeviceptr into)
{
	ck_assert_int_eq(try(plan, into, 1, 0, WORKSPACE), CUBLAS_STATUS_SUCCESS);
}

TEST(the_version_is_one_of_cuda_13)
{
	ck_assert_uint_eq(lt.cublasLtGetVersion(), 130101);
}

static const struct {
	cudaDataType type, result;
	int32_t transpose;
	cublasStatus_t status;
} kinds[] = {
	{ CUDA_R_16BF, CUDA_R_32F, CUBLAS_OP_T, CUBLAS_STATUS_SUCCESS },
	{ CUDA_R_16BF, CUDA_R_16BF, CUBLAS_OP_N, CUBLAS_STATUS_SUCCESS },
	{ CUDA_R_16BF, CUDA_R_64F, CUBLAS_OP_N, CUBLAS_STATUS_NOT_SUPPORTED },
	{ CUDA_R_64F, CUDA_R_64F, CUBLAS_OP_N, CUBLAS_STATUS_SUCCESS },
	{ CUDA_R_64F, CUDA_R_32F, CUBLAS_OP_N, CUBLAS_STATUS_NOT_SUPPORTED },
	{ CUDA_R_32F, CUDA_R_32F, CUBLAS_OP_N, CUBLAS_STATUS_NOT_SUPPORTED },
	{ CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_OP_T, CUBLAS_STATUS_SUCCESS },
	{ CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_OP_N, CUBLAS_STATUS_NOT_SUPPORTED },
};

static const struct test_fixture other_fixture = { .setup = load_unwritten, .teardown = example_end };

TEST_WITH(some_types_can_be_multiplied, .end = LENGTH(kinds), .fixture = &other_fixture)
{
	gpu(0)->gemm_fp8_tflops = 200;
	begin();
	struct plan plan = describe(kinds[_i].type, kinds[_i].result, kinds[_i].transpose, WORKSPACE);
	ck_assert_int_eq(choose(&plan), kinds[_i].status);
	done(&plan);
}

TEST(a_gpu_without_the_units_has_no_algorithm)
{
	struct plan plan = describe(CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_OP_T, WORKSPACE);
	ck_assert_int_eq(choose(&plan), CUBLAS_STATUS_NOT_SUPPORTED);
	done(&plan);
}

TEST(wrong_arguments_are_named_so)
{
	struct plan plan = make_plan(CUDA_R_16BF, CUDA_R_32F);
	cublasLtMatrixLayout_t short_one;
	int32_t transpose = 7;
	int found;
	STATUS(INVALID_VALUE, cublasLtCreate(NULL));
	STATUS(INVALID_VALUE, cublasLtMatmulDescCreate(NULL, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	STATUS(INVALID_VALUE, cublasLtMatmulDescSetAttribute(plan.product, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, 1));
	STATUS(INVALID_VALUE, cublasLtMatmulDescSetAttribute(
				      plan.product, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose));
	STATUS(INVALID_VALUE, cublasLtMatmulPreferenceSetAttribute(
				      plan.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &transpose, 4));
	LT(cublasLtMatrixLayoutCreate(&short_one, CUDA_R_16BF, N / 2, N, (int64_t)N));
	STATUS(INVALID_VALUE, cublasLtMatmulAlgoGetHeuristic(handle, plan.product, short_one, plan.from, plan.to,
				      plan.to, plan.preference, 1, &plan.chosen, &found));
	STATUS(INVALID_VALUE, cublasLtMatmulAlgoGetHeuristic(handle, plan.product, plan.from, plan.from, plan.to,
				      plan.to, plan.preference, 0, &plan.chosen, &found));
	STATUS(NOT_INITIALIZED, cublasLtMatmulAlgoGetHeuristic(NULL, plan.product, plan.from, plan.from, plan.to,
					plan.to, plan.preference, 1, &plan.chosen, &found));
	LT(cublasLtMatrixLayoutDestroy(short_one));
	ck_assert_int_eq(try(&plan, 0, 1, 0, WORKSPACE), CUBLAS_STATUS_INVALID_VALUE);
	ck_assert_int_eq(try(&plan, plan.b, 1, 0, WORKSPACE - 1), CUBLAS_STATUS_INVALID_VALUE);
	plan.workspace = 0;
	ck_assert_int_eq(try(&plan, plan.b, 1, 0, WORKSPACE), CUBLAS_STATUS_INVALID_VALUE);
	done(&plan);
}

TEST(an_algorithm_is_for_one_problem_and_one_architecture)
{
	struct plan plan = make_plan(CUDA_R_16BF, CUDA_R_32F), other = make_plan(CUDA_R_16BF, CUDA_R_16BF);
	struct plan small = describe(CUDA_R_16BF, CUDA_R_32F, CUBLAS_OP_T, WORKSPACE - 1);
	CUdeviceptr into = take(4 * N * N);
	ck_assert_int_eq(choose(&small), CUBLAS_STATUS_SUCCESS);
	ck_assert_uint_eq(plan.chosen.workspaceSize, WORKSPACE);
	ck_assert_uint_eq(small.chosen.workspaceSize, 0);
	small.a = plan.a;
	small.b = plan.b;
	ck_assert_int_eq(try(&small, into, 1, 0, 0), CUBLAS_STATUS_SUCCESS);
	plan.chosen = other.chosen;
	ck_assert_int_eq(try(&plan, into, 1, 0, WORKSPACE), CUBLAS_STATUS_INVALID_VALUE);
	other.chosen.algo.data[1]++;
	ck_assert_int_eq(try(&other, into, 1, 0, WORKSPACE), CUBLAS_STATUS_ARCH_MISMATCH);
	done(&plan);
	done(&other);
	done(&small);
}

TEST(equal_products_are_equal_and_no_others_are)
{
	struct plan plan = make_plan(CUDA_R_16BF, CUDA_R_32F);
	const size_t bytes = 4 * N * N;
	CUdeviceptr first = take(bytes), again = take(bytes);
	multiply(&plan, first);
	multiply(&plan, again);
	ck_assert_uint_eq(compare(again, first, bytes).wrong, 0);
	uint64_t sum = checksum(first, bytes);
	ck_assert_uint_eq(checksum(again, bytes), sum);
	ck_assert_int_eq(try(&plan, again, 2, 0, WORKSPACE), CUBLAS_STATUS_SUCCESS);
	ck_assert_uint_eq(compare(again, first, bytes).wrong, bytes / 16);
	ck_assert_int_eq(try(&plan, first, 1, 1, WORKSPACE), CUBLAS_STATUS_SUCCESS); /* and what was there */
	ck_assert_uint_ne(checksum(first, bytes), sum);
	fill(plan.b + 64, 16, factors);
	multiply(&plan, again);
	ck_assert_uint_ne(checksum(again, bytes), sum);
	done(&plan);
}

TEST(a_product_is_the_same_on_another_gpu)
{
	struct plan plan = make_plan(CUDA_R_16BF, CUDA_R_32F);
	const size_t bytes = 4 * N * N;
	CUdeviceptr here = take(bytes);
	multiply(&plan, here);
	uint64_t sum = checksum(here, bytes);
	done(&plan);
	load_use(1);
	plan = make_plan(CUDA_R_16BF, CUDA_R_32F);
	CUdeviceptr there = take(bytes);
	multiply(&plan, there);
	ck_assert_uint_eq(checksum(there, bytes), sum);
	done(&plan);
}

TEST(products_take_their_time)
{
	struct plan plan = make_plan(CUDA_R_16BF, CUDA_R_32F), doubles = make_plan(CUDA_R_64F, CUDA_R_64F);
	CUdeviceptr into = take(8 * N * N);
	OK(cuStreamQuery(NULL));
	CUevent started = now();
	for (int i = 0; i < 100; i++)
		multiply(&plan, into);
	OK(cuStreamQuery(NULL));
	ck_assert_double_eq_tol(since(started), 100 * 2.0 * N * N * N / 100e12 * 1e3, 1e-4);
	started = now();
	multiply(&doubles, into);
	OK(cuStreamQuery(NULL));
	ck_assert_double_eq_tol(since(started), 2.0 * N * N * N / 10e12 * 1e3, 1e-4);
	done(&plan);
	done(&doubles);
}

TEST(a_product_outside_of_memory_breaks_the_context)
{
	struct plan plan = make_plan(CUDA_R_16BF, CUDA_R_32F);
	multiply(&plan, take(4 * N * N - 16));
	GIVES(CUDA_ERROR_LAUNCH_FAILED, cuStreamQuery(NULL));
	done(&plan);
}

/* -- what the scenario breaks -- */

TEST_WITH(one_product_in_so_many_has_a_wrong_bit, .end = 1, .fixture = &other_fixture)
{
	gpu(0)->gemm_wrong = 4;
	begin();
	struct plan plan = make_plan(CUDA_R_16BF, CUDA_R_32F);
	const size_t bytes = 4 * N * N;
	CUdeviceptr first = take(bytes), again = take(bytes);
	int wrong = 0;
	multiply(&plan, first);
	for (int i = 0; i < 40; i++) {
		multiply(&plan, again);
		struct muster_kernel_report report = compare(again, first, bytes);
		ck_assert_uint_le(report.wrong, 1);
		wrong += (int)report.wrong;
		if (report.wrong)
			ck_assert_uint_ne(report.noticed[0].read[0] ^ report.noticed[0].expected[0],
				report.noticed[0].read[1] ^ report.noticed[0].expected[1]);
		ck_assert_int_eq(checksum(again, bytes) != checksum(first, bytes), report.wrong == 1);
	}
	ck_assert_int_ge(wrong, 9);
	ck_assert_int_le(wrong, 11);
	done(&plan);
}

TEST_WITH(the_first_product_is_never_wrong, .end = 1, .fixture = &other_fixture)
{
	gpu(0)->gemm_wrong = 1;
	begin();
	struct plan plan = make_plan(CUDA_R_16BF, CUDA_R_32F);
	const size_t bytes = 4 * N * N;
	CUdeviceptr first = take(bytes), again = take(bytes);
	multiply(&plan, first);
	multiply(&plan, again);
	ck_assert_uint_eq(compare(again, first, bytes).wrong, 1);
	done(&plan);
}

TEST_WITH(the_first_product_takes_memory_for_its_code, .end = 1, .fixture = &other_fixture)
{
	size_t before, after, total;
	gpu(0)->module_mib = 600;
	begin();
	struct plan plan = make_plan(CUDA_R_16BF, CUDA_R_32F);
	CUdeviceptr into = take(4 * N * N);
	OK(cuMemGetInfo_v2(&before, &total));
	CUdeviceptr all = take(before - 500 * MIB);
	ck_assert_int_eq(try(&plan, into, 1, 0, WORKSPACE), CUBLAS_STATUS_ALLOC_FAILED);
	OK(cuMemFree_v2(all));
	multiply(&plan, into);
	multiply(&plan, into);
	OK(cuMemGetInfo_v2(&after, &total));
	ck_assert_uint_eq(before - after, 600 * MIB);
	done(&plan);
}

/* Milliseconds of one product in the middle of each tenth of a load of that many products. */
static void run_tenths(const struct plan *plan, CUdeviceptr into, int products, double ret_ms[10])
{
	for (int i = 0; i < products; i++) {
		OK(cuStreamQuery(NULL));
		CUevent started = now();
		multiply(plan, into);
		OK(cuStreamQuery(NULL));
		if (i % (products / 10) == products / 20)
			ret_ms[i / (products / 10)] = since(started);
		OK(cuEventDestroy_v2(started));
	}
}

TEST_WITH(products_drift_in_a_long_load_alone, .end = 1, .fixture = &other_fixture)
{
	double ms[10];
	gpu(0)->gemm_bf16_tflops = 0.1; /* 21 ms each */
	gpu(0)->gemm_drift = 0.2;
	begin();
	struct plan plan = make_plan(CUDA_R_16BF, CUDA_R_32F);
	CUdeviceptr into = take(4 * N * N);
	run_tenths(&plan, into, 10, ms);
	for (int i = 1; i < 10; i++)
		ck_assert_double_eq_tol(ms[i], ms[0], 1e-3);
	run_tenths(&plan, into, 2000, ms);
	for (int i = 1; i < 10; i++)
		ck_assert_double_gt(ms[i], ms[i - 1]);
	ck_assert_double_eq_tol(ms[0] / ms[9], 0.8, 0.02);
	done(&plan);
}

TEST_MAIN(.setup = start, .teardown = example_end)
