/* products.c - products of large matrices by cuBLASLt: how fast, and always the same bits?
 *
 * D = A'B, n x n, of fixed contents. All products of a run are compared with the first one, bit for bit: cuBLASLt gives
 * the same bits for the same algorithm, GPU and library version. The algorithm is the first that the library's
 * heuristic offers; it depends on these alone, so every rank that may be compared with another takes the same one.
 * Results are kept in single precision where they can be, so that a wrong bit is not rounded away.
 */
#include "probes/gpu_load/load.h"

#include "vendor/cublaslt.h"

#include <stdio.h>
#include <string.h>

#define SIZE_MOST 8192
#define SIZE_LEAST 2048
#define WORKSPACE ((size_t)32 << 20)
#define ALIGNMENT ((size_t)2 << 20)
#define ROUND_MS 15.0 /* products that are timed together */
#define BATCH_MS 80.0 /* rounds that are queued together */
#define ROUNDS_MOST (MUSTER_LOAD_EVENTS / 2)

const char *const muster_precision_names[MUSTER_PRECISIONS] = { "bf16", "fp64", "fp8" };

/* Contents: random signs and fractions, and one random bit of the exponent: every value is ±[0.5, 2). */
static const struct {
	cudaDataType from, to, scale;
	cublasComputeType_t compute;
	size_t from_bytes, to_bytes;
	uint64_t and_mask, or_mask;
} kinds[MUSTER_PRECISIONS] = {
	[MUSTER_BF16] = { CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2, 4, 0x80ff80ff80ff80ff,
		0x3f003f003f003f00 },
	[MUSTER_FP64] = { CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 8, 8, 0x801fffffffffffff,
		0x3fe0000000000000 },
	[MUSTER_FP8] = { CUDA_R_8F_E4M3, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1, 4, 0x8f8f8f8f8f8f8f8f,
		0x3030303030303030 },
};

/* What cuBLASLt was asked to do, and where in the load's memory. */
struct plan {
	const struct muster_cublaslt *lib;
	cublasLtHandle_t handle;
	cublasLtMatmulDesc_t product;
	cublasLtMatrixLayout_t from, to;
	cublasLtMatmulPreference_t preference;
	cublasLtMatmulHeuristicResult_t chosen;
	enum muster_precision precision;
	size_t n, from_bytes, to_bytes;
	CUdeviceptr a, b, first, again, workspace;
};

static void release(struct plan *plan)
{
	if (plan->preference)
		plan->lib->cublasLtMatmulPreferenceDestroy(plan->preference);
	if (plan->from)
		plan->lib->cublasLtMatrixLayoutDestroy(plan->from);
	if (plan->to)
		plan->lib->cublasLtMatrixLayoutDestroy(plan->to);
	if (plan->product)
		plan->lib->cublasLtMatmulDescDestroy(plan->product);
}

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The largest matrices that fit into the memory. False: none do. */
static bool place(const struct muster_load *load, struct plan *plan)
{
	for (plan->n = SIZE_MOST; plan->n >= SIZE_LEAST; plan->n /= 2) {
		plan->from_bytes = plan->n * plan->n * kinds[plan->precision].from_bytes;
		plan->to_bytes = plan->n * plan->n * kinds[plan->precision].to_bytes;
		plan->a = load->memory;
		plan->b = plan->a + aligned(plan->from_bytes);
		plan->first = plan->b + aligned(plan->from_bytes);
		plan->again = plan->first + aligned(plan->to_bytes);
		plan->workspace = plan->again + aligned(plan->to_bytes);
		if (plan->workspace + WORKSPACE <= load->memory + load->bytes)
			return true;
	}
	return false;
}

/* MUSTER_ENOTSUPPORTED where the library has no such product for this GPU. */
static int describe(struct plan *plan, struct muster_error *err)
{
	const struct muster_cublaslt *lib = plan->lib;
	const int32_t transposed = CUBLAS_OP_T; /* the only form that every precision has */
	const uint64_t workspace = WORKSPACE;
	int found = 0;
	uint64_t n = plan->n;
	if (MUSTER_CUBLASLT(lib, err, cublasLtMatmulDescCreate, &plan->product, kinds[plan->precision].compute,
		    kinds[plan->precision].scale) < 0 ||
		MUSTER_CUBLASLT(lib, err, cublasLtMatmulDescSetAttribute, plan->product, CUBLASLT_MATMUL_DESC_TRANSA,
			&transposed, sizeof transposed) < 0 ||
		MUSTER_CUBLASLT(lib, err, cublasLtMatrixLayoutCreate, &plan->from, kinds[plan->precision].from, n, n,
			(int64_t)n) < 0 ||
		MUSTER_CUBLASLT(lib, err, cublasLtMatrixLayoutCreate, &plan->to, kinds[plan->precision].to, n, n,
			(int64_t)n) < 0 ||
		MUSTER_CUBLASLT(lib, err, cublasLtMatmulPreferenceCreate, &plan->preference) < 0 ||
		MUSTER_CUBLASLT(lib, err, cublasLtMatmulPreferenceSetAttribute, plan->preference,
			CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace) < 0 ||
		MUSTER_CUBLASLT(lib, err, cublasLtMatmulAlgoGetHeuristic, plan->handle, plan->product, plan->from,
			plan->from, plan->to, plan->to, plan->preference, 1, &plan->chosen, &found) < 0)
		return -1;
	if (found < 1)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "cublasLtMatmulAlgoGetHeuristic offers no algorithm");
	return muster_cublaslt_check(plan->chosen.state, err, "cublasLtMatmulAlgoGetHeuristic");
}

static int multiply(struct muster_load *load, const struct plan *plan, CUdeviceptr into, struct muster_error *err)
{
	static const double one_double = 1, zero_double = 0;
	static const float one_float = 1, zero_float = 0;
	bool doubles = kinds[plan->precision].scale == CUDA_R_64F;
	const void *one = doubles ? (const void *)&one_double : &one_float;
	const void *zero = doubles ? (const void *)&zero_double : &zero_float;
	void *d = (void *)(uintptr_t)into; /* CUDA's runtime interface has device addresses as pointers */
	return MUSTER_CUBLASLT(plan->lib, err, cublasLtMatmul, plan->handle, plan->product, one,
		(const void *)(uintptr_t)plan->a, plan->from, (const void *)(uintptr_t)plan->b, plan->from, zero, d,
		plan->to, d, plan->to, &plan->chosen.algo, (void *)(uintptr_t)plan->workspace, WORKSPACE, load->stream);
}

/* A, B and the product that all others are compared with. */
static int make_first(struct muster_load *load, const struct plan *plan, struct muster_error *err)
{
	struct muster_pattern contents = { 1, kinds[plan->precision].and_mask, kinds[plan->precision].or_mask, 0 };
	if (muster_kernel_fill(load->cuda, load->kernels, plan->a, plan->from_bytes, &contents, load->stream, err) < 0)
		return -1;
	contents.seed += plan->from_bytes; /* B continues where A ends */
	if (muster_kernel_fill(load->cuda, load->kernels, plan->b, plan->from_bytes, &contents, load->stream, err) < 0)
		return -1;
	return multiply(load, plan, plan->first, err);
}

static int sum_first(struct muster_load *load, const struct plan *plan, uint64_t *ret, struct muster_error *err)
{
	struct muster_kernel_report report;
	if (muster_load_clear_report(load, err) < 0 ||
		muster_kernel_checksum(
			load->cuda, load->kernels, plan->first, plan->to_bytes, load->report, load->stream, err) < 0 ||
		muster_load_fetch_report(load, &report, err) < 0)
		return -1;
	*ret = report.wrong;
	return 0;
}

/* Queue rounds of products, each between two events and followed by a comparison. */
static int queue_rounds(
	struct muster_load *load, const struct plan *plan, size_t rounds, size_t products, struct muster_error *err)
{
	for (size_t round = 0; round < rounds; round++) {
		if (MUSTER_CUDA(load->cuda, err, cuEventRecord, load->events[2 * round], load->stream) < 0)
			return -1;
		for (size_t i = 0; i < products; i++)
			if (multiply(load, plan, plan->again, err) < 0)
				return -1;
		if (MUSTER_CUDA(load->cuda, err, cuEventRecord, load->events[2 * round + 1], load->stream) < 0)
			return -1;
		if (muster_load_hook)
			muster_load_hook(load, plan->again, plan->to_bytes);
		if (muster_kernel_compare(load->cuda, load->kernels, plan->again, plan->first, plan->to_bytes,
			    load->report, load->stream, err) < 0)
			return -1;
	}
	return 0;
}

/* One batch: the time of one product, and in figures what was wrong, and the rates unless it only warms up. */
static int run_batch(struct muster_load *load, const struct plan *plan, size_t rounds, size_t products, bool warms_up,
	struct muster_product_figures *figures, double *ret_ms, struct muster_error *err)
{
	struct muster_kernel_report report;
	double n = (double)plan->n;
	if (muster_load_clear_report(load, err) < 0 || queue_rounds(load, plan, rounds, products, err) < 0)
		return -1;
	muster_sampler_take(&load->sampler);
	if (muster_load_fetch_report(load, &report, err) < 0)
		return -1;
	for (size_t round = 0; round < rounds; round++) {
		double ms;
		if (muster_load_elapsed(load, 2 * round, 2 * round + 1, &ms, err) < 0)
			return -1;
		*ret_ms = ms / (double)products;
		if (!warms_up)
			muster_series_add(&figures->tflops, 2 * n * n * n / (*ret_ms * 1e9));
	}
	muster_wrong_add(&figures->wrong, &report);
	return 0;
}

static int clamp(double value, int least, int most)
{
	return value < least ? least : value > most ? most : (int)value;
}

static int measure(struct muster_load *load, const struct plan *plan, double ms, struct muster_product_figures *figures,
	struct muster_error *err)
{
	double one_ms;
	uint64_t sum;
	if (make_first(load, plan, err) < 0 || run_batch(load, plan, 1, 1, true, figures, &one_ms, err) < 0 ||
		sum_first(load, plan, &sum, err) < 0)
		return -1;
	if (!figures->measured)
		figures->sum = sum;
	else if (figures->sum != sum) /* the first product of this cycle was wrong, or that of the first one */
		muster_wrong_note(&figures->wrong, "the sum of a later first product differs");
	figures->measured = true;
	size_t products = (size_t)clamp(ROUND_MS / one_ms, 1, 64);
	size_t rounds = (size_t)clamp(BATCH_MS / (one_ms * (double)products), 1, ROUNDS_MOST);
	int batches = clamp(ms / (one_ms * (double)(products * rounds)), 1, 10000);
	for (int i = 0; i < batches; i++)
		if (muster_cancelled(load->ctx, err) < 0 ||
			run_batch(load, plan, rounds, products, false, figures, &one_ms, err) < 0)
			return -1;
	return 0;
}

static void name_maker(const struct muster_load *load, const struct plan *plan, char *ret, size_t size)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < sizeof plan->chosen.algo.data / sizeof *plan->chosen.algo.data; i++)
		hash = muster_pattern_word(
			&(struct muster_pattern){ plan->chosen.algo.data[i], UINT64_MAX, 0, 0 }, hash);
	snprintf(ret, size, "%.60s, cuBLASLt %zu, %zu, algorithm %08llx", muster_probe_env(load->ctx)->gpu->name,
		plan->lib->cublasLtGetVersion(), plan->n, (unsigned long long)(hash >> 32));
}

static int try(struct muster_load *load, struct plan *plan, double ms, struct muster_product_figures *figures,
	struct muster_error *err)
{
	static cublasLtHandle_t handle; /* of this process; creating one takes time */
	plan->lib = muster_cublaslt(err);
	if (!plan->lib)
		return -1;
	if (!place(load, plan))
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "%zu MiB of free memory are too few for two matrices",
			load->bytes >> 20);
	if (!handle && MUSTER_CUBLASLT(plan->lib, err, cublasLtCreate, &handle) < 0)
		return -1;
	plan->handle = handle;
	if (describe(plan, err) < 0)
		return -1;
	figures->size = plan->n;
	name_maker(load, plan, figures->made_by, sizeof figures->made_by);
	return measure(load, plan, ms, figures, err);
}

int muster_load_products(struct muster_load *load, enum muster_precision precision, double ms,
	struct muster_product_figures *figures, struct muster_error *err)
{
	struct plan plan = { .precision = precision };
	const char *name = muster_precision_names[precision];
	if (figures->tried && !figures->measured)
		return 0;
	figures->tried = true;
	muster_step(load->ctx, "matrix products in %s by cuBLASLt", name);
	int failed = try(load, &plan, ms, figures, err);
	if (plan.lib)
		release(&plan);
	if (failed == 0 || figures->measured)
		return failed < 0 ? muster_wrap(err, "matrix products in %s", name) : 0;
	snprintf(figures->why_not, sizeof figures->why_not, "%s", err->text);
	bool cannot = err->code == MUSTER_ENOTSUPPORTED || err->code == MUSTER_ELIB;
	return cannot ? 0 : muster_wrap(err, "matrix products in %s", name);
}
