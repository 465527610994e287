/* SPDX-License-Identifier: Apache-2.0 */
/* cublaslt.c - libcublasLt.so.13 for the simulation: matrix products
 *
 * Follows cuBLASLt's documentation for what each call checks and gives. Nothing is multiplied: a product is a number
 * that stands for its factors and for the algorithm, so that equal products are equal in all their bits, and no others.
 *
 * The way of a product:
 *
 *   1. cublasLtMatmulAlgoGetHeuristic() checks that the types and sizes can be multiplied, and answers with the one
 *      algorithm that there is. It holds the problem's key, the architecture and the size of the workspace.
 *   2. cublasLtMatmul() checks all of it again, also that the algorithm is for this problem, and queues the product.
 *   3. multiply() is its poll: it sums up what the factors hold when the product is the next one of its stream
 *      (cuda_compare.c), and fills the result with a pattern whose seed stands for factors, problem and scalars.
 *   4. The product takes 2 m n k / rate on the virtual clock, longer with the fault soak-drift.
 *
 * So a changed bit of a factor gives another product, as on a GPU, and equal factors give the same product on all GPUs
 * of one architecture.
 */
#include "vendor/cublaslt_abi.h"
#include "sim/cluster.h"
#include "sim/standins/base.h"

#include "muster/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define X(symbol, parameters) MUSTER_STANDIN_EXPORT cublasStatus_t symbol parameters;
MUSTER_CUBLASLT_FUNCTIONS(X)
#undef X
MUSTER_STANDIN_EXPORT size_t cublasLtGetVersion(void);

MUSTER_STANDIN_MARK;

#define VERSION 130101
#define WORKSPACE ((size_t)32 << 20) /* what the algorithm wants, and does without where it may not have so much */
#define DRIFT_FROM 0.3               /* seconds of products after which the rate falls, if it does: no soak, no fall */
#define DEVICES_MAX 64

struct cublasLtContext {
	char unused;
};

struct cublasLtMatmulDescOpaque_t {
	cublasComputeType_t compute;
	cudaDataType scale;
	int32_t transpose_a;
};

struct cublasLtMatrixLayoutOpaque_t {
	cudaDataType type;
	uint64_t rows, columns;
	int64_t leading;
};

struct cublasLtMatmulPreferenceOpaque_t {
	uint64_t workspace;
};

/* -- objects -- */

size_t cublasLtGetVersion(void)
{
	return VERSION;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
	struct muster_standin_device device;
	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!muster_standin_cuda()->muster_standin_cuda_current(&device))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	static struct cublasLtContext the_only_one;
	*handle = &the_only_one;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *product, cublasComputeType_t compute, cudaDataType scale)
{
	if (!product)
		return CUBLAS_STATUS_INVALID_VALUE;
	*product = muster_calloc(1, sizeof **product);
	**product = (struct cublasLtMatmulDescOpaque_t){ .compute = compute, .scale = scale };
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(
	cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t what, const void *value, size_t bytes)
{
	int32_t transpose;
	if (!product || !value || what != CUBLASLT_MATMUL_DESC_TRANSA || bytes != sizeof transpose)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(&transpose, value, sizeof transpose);
	if (transpose != CUBLAS_OP_N && transpose != CUBLAS_OP_T)
		return CUBLAS_STATUS_INVALID_VALUE;
	product->transpose_a = transpose;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(
	cublasLtMatrixLayout_t *matrix, cudaDataType type, uint64_t rows, uint64_t columns, int64_t leading)
{
	if (!matrix)
		return CUBLAS_STATUS_INVALID_VALUE;
	*matrix = muster_calloc(1, sizeof **matrix);
	**matrix = (struct cublasLtMatrixLayoutOpaque_t){ type, rows, columns, leading };
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
	if (!preference)
		return CUBLAS_STATUS_INVALID_VALUE;
	*preference = muster_calloc(1, sizeof **preference);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
	cublasLtMatmulPreferenceAttributes_t what, const void *value, size_t bytes)
{
	if (!preference || !value || what != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ||
		bytes != sizeof preference->workspace)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(&preference->workspace, value, sizeof preference->workspace);
	return CUBLAS_STATUS_SUCCESS;
}

#define DESTROYS(symbol, type)                                                                                         \
	cublasStatus_t symbol(type gone)                                                                               \
	{                                                                                                              \
		free(gone);                                                                                            \
		return CUBLAS_STATUS_SUCCESS;                                                                          \
	}
DESTROYS(cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t)
DESTROYS(cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t)
DESTROYS(cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreference_t)

/* -- what can be multiplied, and how -- */

/* What the library can do with factors of one type. bytes: of an element. A type that is only a result (CUDA_R_32F) has
 * no row: element_bytes() knows its size. */
static const struct type {
	cudaDataType type;
	size_t bytes;
	cublasComputeType_t compute;
	cudaDataType scale;
	cudaDataType results[3];
	size_t result_count;
	bool transposed_only; /* of A; and rows and columns are multiples of 16 */
	size_t tflops;        /* offset in struct muster_sim_gpu */
} types[] = {
	{ CUDA_R_64F, 8, CUBLAS_COMPUTE_64F, CUDA_R_64F, { CUDA_R_64F }, 1, false,
		offsetof(struct muster_sim_gpu, gemm_fp64_tflops) },
	{ CUDA_R_16BF, 2, CUBLAS_COMPUTE_32F, CUDA_R_32F, { CUDA_R_16BF, CUDA_R_32F }, 2, false,
		offsetof(struct muster_sim_gpu, gemm_bf16_tflops) },
	{ CUDA_R_8F_E4M3, 1, CUBLAS_COMPUTE_32F, CUDA_R_32F, { CUDA_R_16BF, CUDA_R_32F, CUDA_R_8F_E4M3 }, 3, true,
		offsetof(struct muster_sim_gpu, gemm_fp8_tflops) },
};

static const struct type *find_type(cudaDataType type)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].type == type)
			return &types[i];
	return NULL;
}

static size_t element_bytes(cudaDataType type)
{
	const struct type *found = find_type(type);
	return found ? found->bytes : sizeof(float);
}

/* A product of matrices m x k and k x n. */
struct problem {
	const struct type *type;
	double tflops;
	uint64_t m, n, k;
	uint64_t key; /* stands for types, sizes and layouts */
	int architecture;
};

static uint64_t stir(uint64_t into, uint64_t value)
{
	into = (into ^ value) * 0x9e3779b97f4a7c15u;
	return into ^ into >> 31;
}

static bool is_matrix(const struct cublasLtMatrixLayoutOpaque_t *matrix)
{
	return matrix && matrix->rows > 0 && matrix->columns > 0 && matrix->leading >= (int64_t)matrix->rows;
}

static bool has_result(const struct type *type, cudaDataType result)
{
	for (size_t i = 0; i < type->result_count; i++)
		if (type->results[i] == result)
			return true;
	return false;
}

/* Whether the library has kernels for these types; the sizes fit each other already. */
static bool can_multiply(const struct type *type, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
	cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d)
{
	if (!type || b->type != a->type || c->type != d->type || !has_result(type, d->type) ||
		product->compute != type->compute || product->scale != type->scale)
		return false;
	bool in_sixteens = (a->rows | a->columns | b->rows | b->columns) % 16 == 0;
	return !type->transposed_only || (product->transpose_a == CUBLAS_OP_T && in_sixteens);
}

/* Check what the layouts and the product say, and make a problem of it; the device is the current one. INVALID_VALUE:
 * sizes that do not fit each other; NOT_SUPPORTED: types that cannot be multiplied, or that this GPU has no units for
 * (a rate of 0 in the scenario). *ret only on success.
 */
static cublasStatus_t read_problem(cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
	cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, struct problem *ret)
{
	struct muster_standin_device device;
	if (!product || !is_matrix(a) || !is_matrix(b) || !is_matrix(c) || !is_matrix(d))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!muster_standin_cuda()->muster_standin_cuda_current(&device))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	bool transposed = product->transpose_a == CUBLAS_OP_T;
	struct problem problem = { .type = find_type(a->type),
		.m = transposed ? a->columns : a->rows,
		.k = transposed ? a->rows : a->columns,
		.n = b->columns,
		.architecture = 10 * device.gpu->compute_major + device.gpu->compute_minor };
	if (b->rows != problem.k || c->rows != problem.m || c->columns != problem.n || d->rows != problem.m ||
		d->columns != problem.n)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!can_multiply(problem.type, product, a, b, c, d))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	memcpy(&problem.tflops, (const char *)device.gpu + problem.type->tflops, sizeof problem.tflops);
	if (problem.tflops <= 0)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	const uint64_t parts[] = { (uint64_t)a->type, (uint64_t)d->type, transposed, problem.m, problem.n, problem.k,
		(uint64_t)a->leading, (uint64_t)b->leading, (uint64_t)c->leading, (uint64_t)d->leading };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		problem.key = stir(problem.key, parts[i]);
	*ret = problem;
	return CUBLAS_STATUS_SUCCESS;
}

/* Places in cublasLtMatmulAlgo_t.data: for which problem, on which architecture, with how large a workspace. */
enum { KEY, ARCHITECTURE, WORKSPACE_BYTES };

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
	cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
	cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t *results, int *found)
{
	struct problem problem;
	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!preference || wanted <= 0 || !results || !found)
		return CUBLAS_STATUS_INVALID_VALUE;
	*found = 0;
	cublasStatus_t status = read_problem(product, a, b, c, d, &problem);
	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	size_t workspace = preference->workspace >= WORKSPACE ? WORKSPACE : 0;
	*results = (cublasLtMatmulHeuristicResult_t){ .workspaceSize = workspace, .wavesCount = 1 };
	results->algo.data[KEY] = problem.key;
	results->algo.data[ARCHITECTURE] = (uint64_t)problem.architecture;
	results->algo.data[WORKSPACE_BYTES] = workspace;
	*found = 1;
	return CUBLAS_STATUS_SUCCESS;
}

/* -- multiplying -- */

/* Of each device, so far; under libcuda's lock. */
static struct {
	uint64_t products;
	double seconds;
} history[DEVICES_MAX];

struct operand {
	CUdeviceptr at;
	size_t bytes;
};

struct work {
	struct muster_standin_device device;
	struct operand factors[3], result; /* A and B, and C where it is added */
	size_t factor_count;
	uint64_t key; /* stands for the problem, the algorithm and the scalars */
	double seconds;
};

/* How many times as long a product takes after so many seconds of them. Between the middles of the first and the last
 * tenth of any long time lies a factor of 19, and over that the rate loses the share. */
static double slowdown(const struct muster_sim_gpu *gpu, double seconds)
{
	if (gpu->gemm_drift <= 0 || seconds <= DRIFT_FROM)
		return 1;
	return pow(seconds / DRIFT_FROM, -log(1 - gpu->gemm_drift) / log(19));
}

/* Whether the product with this number, from 1, has a wrong bit: about one in gemm_wrong. number * 2^64 / golden ratio
 * spreads the numbers evenly, so that who looks at each second or third product finds as many. Never the first product,
 * which others are compared with. */
static bool is_wrong(const struct muster_sim_gpu *gpu, uint64_t number)
{
	return gpu->gemm_wrong > 0 && number > 1 &&
	       number * 0x9e3779b97f4a7c15u <= UINT64_MAX / (uint64_t)gpu->gemm_wrong;
}

/* The struct muster_standin_operation's poll: 1, or -1 when a matrix lies outside of an allocation. The wrong bit of a
 * wrong product is in the middle of the result, at a whole 8-byte word. */
static int multiply(void *arg, double *seconds)
{
	const struct muster_standin_cuda *cuda = muster_standin_cuda();
	const struct work *work = arg;
	const struct muster_sim_gpu *gpu = work->device.gpu;
	uint64_t what = work->key;
	if (!cuda->muster_standin_cuda_check(work->result.at, work->result.bytes))
		return -1;
	for (size_t i = 0; i < work->factor_count; i++) {
		const struct operand *factor = &work->factors[i];
		if (!cuda->muster_standin_cuda_check(factor->at, factor->bytes))
			return -1;
		what = stir(what, cuda->muster_standin_cuda_sum(factor->at, factor->bytes));
	}
	uint64_t number = ++history[work->device.ordinal].products;
	cuda->muster_standin_cuda_fill(work->result.at, work->result.bytes,
		&(struct muster_standin_pattern){ .words = { .seed = what, .and_mask = UINT64_MAX },
			.flipped = is_wrong(gpu, number) ? work->result.bytes / 16 * 8 : SIZE_MAX });
	*seconds = work->seconds * slowdown(gpu, history[work->device.ordinal].seconds);
	history[work->device.ordinal].seconds += *seconds;
	return 1;
}

/* The bytes from the first to the last element: columns are `leading` elements apart, and the last one is not padded.
 */
static struct operand operand_of(const void *at, const struct cublasLtMatrixLayoutOpaque_t *matrix)
{
	size_t elements = (matrix->columns - 1) * (uint64_t)matrix->leading + matrix->rows;
	return (struct operand){ (CUdeviceptr)(uintptr_t)at, elements * element_bytes(matrix->type) };
}

static bool is_zero(const void *scalar, cudaDataType type)
{
	static const double nothing;
	return memcmp(scalar, &nothing, element_bytes(type)) == 0;
}

static uint64_t stir_scalar(uint64_t into, const void *scalar, cudaDataType type)
{
	uint64_t value = 0;
	memcpy(&value, scalar, element_bytes(type));
	return stir(into, value);
}

/* D = alpha A B + beta C. C is read only where beta is not 0. The first product of a device takes memory for the
 * library's code where the scenario has it so (the fault eager-modules). */
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void *alpha, const void *A,
	cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b, const void *beta, const void *C,
	cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm,
	void *workspace, size_t workspace_bytes, CUstream stream)
{
	static bool loaded[DEVICES_MAX]; /* the code, with the first product */
	const struct muster_standin_cuda *cuda = muster_standin_cuda();
	struct muster_standin_device device;
	struct problem problem;
	if (!handle || !cuda->muster_standin_cuda_current(&device))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	cublasStatus_t status = read_problem(product, a, b, c, d, &problem);
	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	if (!alpha || !beta || !A || !B || !D || (!C && !is_zero(beta, product->scale)) ||
		(workspace_bytes > 0 && !workspace) || device.ordinal >= DEVICES_MAX)
		return CUBLAS_STATUS_INVALID_VALUE;
	cublasLtMatmulAlgo_t own = { .data = { [KEY] = problem.key, [ARCHITECTURE] = (uint64_t)problem.architecture } };
	if (!algorithm)
		algorithm = &own;
	if (algorithm->data[ARCHITECTURE] != (uint64_t)problem.architecture)
		return CUBLAS_STATUS_ARCH_MISMATCH;
	if (algorithm->data[KEY] != problem.key || algorithm->data[WORKSPACE_BYTES] > workspace_bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (device.gpu->module_mib > 0 && !loaded[device.ordinal] &&
		!cuda->muster_standin_cuda_take((size_t)(device.gpu->module_mib * 1048576)))
		return CUBLAS_STATUS_ALLOC_FAILED;
	loaded[device.ordinal] = true;
	struct work *work = muster_calloc(1, sizeof *work);
	*work = (struct work){ .device = device,
		.factors = { operand_of(A, a), operand_of(B, b), operand_of(C, c) },
		.factor_count = is_zero(beta, product->scale) ? 2 : 3,
		.result = operand_of(D, d),
		.seconds = 2.0 * (double)problem.m * (double)problem.n * (double)problem.k / (problem.tflops * 1e12) };
	for (size_t i = 0; i < sizeof algorithm->data / sizeof *algorithm->data; i++)
		work->key = stir(work->key, algorithm->data[i]);
	work->key = stir_scalar(stir_scalar(work->key, alpha, product->scale), beta, product->scale);
	const struct muster_standin_operation operation = {
		.poll = multiply, .done = free, .noise = MUSTER_SIM_NOISE_PRODUCT, .arg = work
	};
	cuda->muster_standin_cuda_lock();
	bool queued = cuda->muster_standin_cuda_enqueue(stream, &operation);
	cuda->muster_standin_cuda_unlock();
	if (!queued)
		free(work);
	return queued ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
