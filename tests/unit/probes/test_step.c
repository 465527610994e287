/* SPDX-License-Identifier: Apache-2.0 */
/* test_step.c - training steps of one rank, on a scripted GPU and against a scripted NCCL that plays all other ranks
 *
 * Every stream has its own time, and streams wait for each other's events, so that what overlaps takes no longer than
 * its longest part.
 */
#include "probes/nccl/session.c"
#include "probes/step.c"
#include "nccl_fakes.h"
#include "check_main.h"
#include "probe_fake.h"

#include <math.h>

#define BUS_ID "0001:00:00.0"
#define TFLOPS 600.0
#define COPY_GBPS 50.0

struct cublasLtMatrixLayoutOpaque_t {
	double rows, columns;
};

static struct {
	bool library_missing, no_algorithm;
	double host_ms;                      /* that the host needs to launch a product */
	size_t products, slow_from, slow_to; /* products from one to before the other take three times as long */
	int major;
} blas;

static struct {
	double others[8][AGREED_MAX]; /* what another rank brings to each agreement */
	size_t agreed, sums;
	double bytes, gbps;
	CUstream stream;
} nccl;

static struct probe_fake *context;
static struct muster_error err;
static struct muster_ring ring;

static cublasStatus_t fake_create(cublasLtHandle_t *handle)
{
	static char something;
	*handle = (cublasLtHandle_t)(void *)&something;
	return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t fake_description(cublasLtMatmulDesc_t *product, cublasComputeType_t compute, cudaDataType scale)
{
	ck_assert(compute == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F);
	*product = muster_calloc(1, 1);
	fake.held++;
	return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t fake_description_end(cublasLtMatmulDesc_t product)
{
	free(product);
	fake.held--;
	return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t fake_attribute(
	cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t what, const void *value, size_t bytes)
{
	(void)product;
	(void)value;
	(void)bytes;
	ck_assert_int_eq(what, CUBLASLT_MATMUL_DESC_TRANSA);
	return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t fake_layout(
	cublasLtMatrixLayout_t *matrix, cudaDataType type, uint64_t rows, uint64_t columns, int64_t leading)
{
	ck_assert(type == CUDA_R_16BF || type == CUDA_R_32F);
	ck_assert_int_eq(leading, (int64_t)rows);
	*matrix = muster_calloc(1, sizeof **matrix);
	**matrix = (struct cublasLtMatrixLayoutOpaque_t){ (double)rows, (double)columns };
	fake.held++;
	return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t fake_layout_end(cublasLtMatrixLayout_t matrix)
{
	free(matrix);
	fake.held--;
	return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t fake_preference(cublasLtMatmulPreference_t *preference)
{
	*preference = muster_calloc(1, 1);
	fake.held++;
	return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t fake_preference_end(cublasLtMatmulPreference_t preference)
{
	free(preference);
	fake.held--;
	return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t fake_preference_set(cublasLtMatmulPreference_t preference,
	cublasLtMatmulPreferenceAttributes_t what, const void *value, size_t bytes)
{
	(void)preference;
	(void)what;
	(void)value;
	(void)bytes;
	return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t fake_heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
	cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
	cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t *results, int *found)
{
	(void)handle;
	(void)product;
	(void)c;
	(void)preference;
	ck_assert_int_eq(wanted, 1);
	ck_assert(a->rows == b->rows && a->columns == d->rows && b->columns == d->columns);
	memset(results, 0, sizeof *results);
	*found = !blas.no_algorithm;
	return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t fake_multiply(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void *alpha,
	const void *A, cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b, const void *beta,
	const void *C, cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
	const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t workspace_bytes, CUstream stream)
{
	(void)handle, (void)product, (void)alpha, (void)beta, (void)C, (void)c, (void)d, (void)algorithm;
	/* the matrices do not overlap */
	ck_assert((const char *)A + 2 * (size_t)(a->rows * a->columns) <= (const char *)B);
	ck_assert((const char *)B + 2 * (size_t)(b->rows * b->columns) <= (const char *)D);
	ck_assert((char *)D + 4 * (size_t)(a->columns * b->columns) <= (char *)workspace);
	ck_assert_uint_eq(workspace_bytes, MUSTER_PRODUCT_WORKSPACE);
	bool slow = blas.products >= blas.slow_from && blas.products < blas.slow_to;
	blas.products++;
	stream->ahead_ms += blas.host_ms + 2 * a->rows * a->columns * b->columns / (TFLOPS * 1e9) * (slow ? 3 : 1);
	return CUBLAS_STATUS_SUCCESS;
}

static const struct muster_cublaslt fake_blas = {
	.cublasLtCreate = fake_create,
	.cublasLtMatmulDescCreate = fake_description,
	.cublasLtMatmulDescDestroy = fake_description_end,
	.cublasLtMatmulDescSetAttribute = fake_attribute,
	.cublasLtMatrixLayoutCreate = fake_layout,
	.cublasLtMatrixLayoutDestroy = fake_layout_end,
	.cublasLtMatmulPreferenceCreate = fake_preference,
	.cublasLtMatmulPreferenceDestroy = fake_preference_end,
	.cublasLtMatmulPreferenceSetAttribute = fake_preference_set,
	.cublasLtMatmulAlgoGetHeuristic = fake_heuristic,
	.cublasLtMatmul = fake_multiply,
};
const struct muster_cublaslt *muster_cublaslt(struct muster_error *ret)
{
	if (!blas.library_missing)
		return &fake_blas;
	muster_fail(ret, MUSTER_ELIB, "cuBLASLt: libcublasLt.so.13 cannot be opened");
	return NULL;
}
int muster_cublaslt_check(cublasStatus_t status, struct muster_error *ret, const char *call)
{
	return status == CUBLAS_STATUS_SUCCESS ? 0
					       : muster_fail(ret, MUSTER_EVENDOR, "%s: status %d", call, (int)status);
}

static ncclResult_t fake_reduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
	ncclComm_t comm, cudaStream_t stream)
{
	float *data = receive;
	ck_assert_ptr_eq(send, receive);
	ck_assert_ptr_eq(comm, &the_comm);
	ck_assert_int_eq(type, ncclFloat32);
	if (op == ncclMax) {
		queued.to = NULL;
		for (size_t i = 0; i < count; i++)
			data[i] = fmaxf(data[i], (float)nccl.others[nccl.agreed][i % (count / MUSTER_NCCL_COPIES)]);
		nccl.agreed++;
		return fake_take();
	}
	ck_assert_int_eq(op, ncclSum);
	ck_assert_ptr_eq(stream, nccl.stream);
	nccl.sums++;
	nccl.bytes += (double)count * sizeof *data;
	stream->ahead_ms += (double)count * sizeof *data / (nccl.gbps * 1e6);
	return ncclSuccess;
}
/* Memory that is not looked at: a step has gibibytes of it. */
static CUresult vast_alloc(CUdeviceptr *pointer, size_t bytes)
{
	static CUdeviceptr next = (CUdeviceptr)1 << 40;
	if (bytes < (size_t)600 << 20)
		return fake_alloc(pointer, bytes);
	if (bytes > fake.free_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pointer = next;
	next += bytes;
	fake.held++;
	return CUDA_SUCCESS;
}
static CUresult vast_free(CUdeviceptr pointer)
{
	if (pointer < (CUdeviceptr)1 << 40 || pointer >= (CUdeviceptr)1 << 46)
		return fake_device_free(pointer);
	fake.held--;
	return CUDA_SUCCESS;
}
static CUresult vast_set(CUdeviceptr to, unsigned int value, size_t words, CUstream stream)
{
	(void)to, (void)value, (void)words, (void)stream;
	return CUDA_SUCCESS;
}
static CUresult vast_h2d(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	if (bytes < MUSTER_STEP_COPY_BYTES)
		return fake_h2d(to, from, bytes, stream);
	stream->ahead_ms += (double)bytes / (COPY_GBPS * 1e6);
	return CUDA_SUCCESS;
}
static CUresult vast_d2h(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	if (bytes < MUSTER_STEP_COPY_BYTES)
		return fake_d2h(to, from, bytes, stream);
	stream->ahead_ms += (double)bytes / (COPY_GBPS * 1e6);
	return CUDA_SUCCESS;
}
static CUresult fake_attribute_of(int *value, CUdevice_attribute what, CUdevice device)
{
	(void)device;
	*value = what == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? blas.major : 0;
	return CUDA_SUCCESS;
}
static CUresult fake_module(
	CUmodule *module, const void *image, unsigned int count, CUjit_option *options, void **values)
{
	(void)image, (void)count, (void)options, (void)values;
	*module = (CUmodule)(void *)&blas;
	return CUDA_SUCCESS;
}
static CUresult fake_function(CUfunction *function, CUmodule module, const char *name)
{
	(void)module, (void)name;
	*function = (CUfunction)(void *)&blas;
	return CUDA_SUCCESS;
}
static CUresult fake_launch(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
	unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared, CUstream stream,
	void **parameters, void **extra)
{
	(void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
	(void)shared, (void)stream, (void)parameters, (void)extra;
	return CUDA_SUCCESS;
}

#define OTHER(agreement, place) FAKE_KNOB("other_" #agreement "_" #place, nccl.others[agreement][place])

static const struct fake_knob knobs[] = { FAKE_GPU_KNOBS, FAKE_KNOB("library_missing", blas.library_missing),
	FAKE_KNOB("no_algorithm", blas.no_algorithm), FAKE_KNOB("host_ms", blas.host_ms),
	FAKE_KNOB("major", blas.major), FAKE_KNOB("slow_from", blas.slow_from), FAKE_KNOB("number", ring.rank),
	FAKE_KNOB("of", ring.ranks), FAKE_KNOB("agreed", nccl.agreed), FAKE_KNOB("sums", nccl.sums), OTHER(0, 0),
	OTHER(0, 1), OTHER(1, 0), OTHER(3, 1), OTHER(4, 0), OTHER(5, 0), { .name = NULL } };

static void set_up(void)
{
	fake_gpu_reset();
	fake_nccl_reset();
	scripted_nccl.ncclAllReduce = fake_reduce;
	scripted_cuda.cuMemAlloc_v2 = vast_alloc;
	scripted_cuda.cuMemFree_v2 = vast_free;
	scripted_cuda.cuMemsetD32Async = vast_set;
	scripted_cuda.cuMemcpyHtoDAsync_v2 = vast_h2d;
	scripted_cuda.cuMemcpyDtoHAsync_v2 = vast_d2h;
	scripted_cuda.cuDeviceGetAttribute = fake_attribute_of;
	scripted_cuda.cuModuleLoadDataEx = fake_module;
	scripted_cuda.cuModuleGetFunction = fake_function;
	scripted_cuda.cuLaunchKernel = fake_launch;
	context = fake_gpu_new(&muster_probe_step);
	context->knobs = knobs;
	context->ctx.env.profile = MUSTER_STANDARD;
	context->ctx.env.steps = 20;
	memset(&blas, 0, sizeof blas);
	blas.major = 9;
	memset(&nccl, 0, sizeof nccl);
	nccl.gbps = 300;
	for (size_t i = 0; i < LENGTH(nccl.others); i++)
		for (size_t j = 0; j < AGREED_MAX; j++)
			nccl.others[i][j] = -INFINITY;
	ring = (struct muster_ring){ .rank = 0, .ranks = 4, .nodes = 1, .timeout_ms = 60000 };
	err = (struct muster_error){ 0 };
}

static void tear_down(void)
{
	fake_free(context);
}

static int play(void)
{
	const struct muster_traffic round = { .kind = "all", .peer = -1, .rounds = 1, .timeout_ms = 60000 };
	struct muster_nccl_session session;
	ck_assert_msg(muster_nccl_session_begin(&context->ctx, &ring, &session, &err) == 0, "%s", err.text);
	session.comm = &the_comm;
	nccl.stream = session.resources->stream;
	muster_nccl_session_keep(&session);
	int held = fake.held;
	int result = traffic(&context->ctx, &round, &err);
	if (result == 0)
		ck_assert_int_eq(fake.held, held);
	return result;
}

static double products_ms(double tokens)
{
	return 6 * 218103808.0 * tokens / (TFLOPS * 1e9);
}

static double number(const char *metric)
{
	return fake_number(context, metric, NULL);
}

/* Fast all-reduces are hidden; of slow ones, the last ends after the last product. */
TEST_LOOP(parts_that_overlap_take_as_long_as_the_longest, 0, 2)
{
	static const double gbps[] = { 300, 200 };
	nccl.gbps = gbps[_i];
	ck_assert_msg(play() == 0, "%s", err.text);
	double ms = products_ms(2048); /* 4.5 ms */
	ck_assert_double_eq(number("job.step_tokens"), 2048);
	ck_assert_double_eq(number("job.step_gradient_mib"), 416);
	ck_assert_double_eq_tol(number("rank.compute_ms"), ms, 1e-3);
	ck_assert_double_eq_tol(number("rank.step_compute_ms"), ms, 1e-3);
	double last = (double)muster_step_gradient(0, 0), all = (double)muster_step_gradients(0);
	double tail_ms = fmax(0, last / (gbps[_i] * 1e6) - ms * last / all / 3); /* one more product follows it */
	ck_assert(_i == 0 ? tail_ms == 0 : tail_ms > 0.01);
	ck_assert_double_eq_tol(number("rank.step_p50_ms"), ms + tail_ms, 1e-3);
	ck_assert_double_eq_tol(number("rank.step_p99_ms"), ms + tail_ms, 1e-3);
	ck_assert_double_eq_tol(number("job.overlap"), ms / (ms + tail_ms), 1e-3);
	ck_assert_double_eq_tol(fake_number(context, "gpu.h2d_loaded_gbps", BUS_ID), COPY_GBPS, 1e-2);
	ck_assert_double_eq_tol(fake_number(context, "gpu.d2h_loaded_gbps", BUS_ID), COPY_GBPS, 1e-2);
	ck_assert_uint_eq(fake_sample(context, "gpu.d2h_loaded_gbps", BUS_ID, NULL)->value_count, 20);
	/* two of 32 MiB, all gradients alone, the step that warms up and the steps */
	ck_assert_uint_eq(nccl.sums, 2 + MUSTER_STEP_WEIGHTS * (1 + 1 + 20));
	ck_assert_double_eq_tol(nccl.bytes, 2 * (32 << 20) + 22 * 436207616.0, 1);
	static const char *const derived[] = { "job.step_spread", NULL };
	fake_complete(context, derived);
}

TEST(other_ranks_leave_the_jobs_figures_alone)
{
	ring.rank = 3;
	ck_assert_int_eq(play(), 0);
	ck_assert_double_gt(number("rank.step_p50_ms"), 0);
	for (size_t i = 0; i < context->samples.count; i++)
		ck_assert_int_ne(context->samples.items[i].metric->scope, MUSTER_SCOPE_JOB);
}

/* Of a step of so many tokens, in milliseconds. */
#define PRODUCTS_512 "1.11669"
#define PRODUCTS_2048 "4.46677"
#define PRODUCTS_8192 "17.86706"
#define UNABLE(given, why)                                                                                             \
	{                                                                                                              \
		"where a rank cannot take part all is null with the reason", given,                                    \
			"agreed 1 | sums 0 | rank.compute_ms -*" why "* | job.overlap -*" why "*"                      \
	}
#define SMALL(mib, tokens)                                                                                             \
	{                                                                                                              \
		"a small GPU takes fewer tokens", "long_steps=1 | steps_wanted=1 | free_bytes=" mib,                   \
			"job.step_tokens " tokens                                                                      \
	}

static const struct fake_row rows[] = {
	{ "long steps take 20 ms", "long_steps=1 | steps_wanted=3",
		"job.step_tokens 8192 | rank.compute_ms " PRODUCTS_8192 "~1e-3" },
	/* the second agreement is about the time of 2048 tokens: 4.5 ms here */
	{ "the slowest rank decides how many tokens all take", "other_1_0=18",
		"job.step_tokens 512 | rank.compute_ms " PRODUCTS_512 "~1e-3" },
	{ "a rank with little memory decides too", "other_0_0=0 | other_0_1=-512", "job.step_tokens 512" },
	/* the fourth agreement is about 32 MiB: 0.11 ms here */
	{ "gradients are fewer where all-reduces are slow", "other_3_1=2", "job.step_gradient_mib 26" },
	/* the sixth agreement is about the median of the steps */
	{ "the job's step is that of the slowest rank", "other_4_0=6 | other_5_0=12", "job.overlap 0.5~1e-6" },
	{ "one rank alone reduces nothing", "of=1",
		"sums 0 | job.step_gradient_mib 0 | rank.step_p50_ms " PRODUCTS_2048 "~0.2 | job.overlap >=0.95" },
	{ "a host that is slow to launch shows alone and in steps", "host_ms=2",
		"rank.compute_ms >=24 | rank.step_compute_ms >=24" },
	UNABLE("library_missing=1", "libcublasLt.so.13 cannot be opened"),
	UNABLE("free_bytes=1048576000",
		"1000 of 1000 MiB are free on the GPU, and the matrices of the smallest step need"),
	UNABLE("major=7", "the GPU has no units for matrix products in bf16"),
	UNABLE("other_0_0=1", "another rank cannot multiply the matrices of a step"),
	SMALL("2097152000", "8192"),
	SMALL("1572864000", "4096"),
	SMALL("1090519040", "512"),
	{ "a product that fails is an error and ends the communicator", "no_algorithm=1",
		"error '*offers no algorithm* | given_up 1" },
};

TEST_EACH(steps_are_taken, rows)
{
	static const char *const derived[] = { "job.step_spread", NULL };
	fake_given(context, rows[_i].given);
	context->result = play();
	context->error = err;
	if (context->result == 0)
		fake_complete(context, derived);
	else
		ck_assert_ptr_null(standing.comm);
	fake_expect(context, rows[_i].expected, rows[_i].name);
}

TEST(a_step_that_takes_long_is_the_99th_percentile)
{
	blas.slow_from = (size_t)MUSTER_STEP_PRODUCTS * (2 + ROUNDS + 1 + 19);
	blas.slow_to = SIZE_MAX;
	ck_assert_int_eq(play(), 0);
	ck_assert_double_ge(number("rank.step_p99_ms"), 2.5 * products_ms(2048));
	ck_assert_double_le(number("rank.step_p50_ms"), 1.2 * products_ms(2048));
	ck_assert_double_eq_tol(number("rank.step_compute_ms"), products_ms(2048), 1e-3);
}

/* All rounds before the steps, or 15 of the steps: the median would be slow. The windows stay in their order. */
TEST_LOOP(what_disturbs_most_windows_leaves_the_best_one, 0, 2)
{
	static const char *const measured[] = { "rank.compute_ms", "rank.step_compute_ms" };
	static const size_t first[] = { 2, 2 + ROUNDS + 1 }, slow[] = { ROUNDS, 15 }, windows[] = { ROUNDS + 1, 20 };
	blas.slow_from = first[_i] * MUSTER_STEP_PRODUCTS;
	blas.slow_to = blas.slow_from + slow[_i] * MUSTER_STEP_PRODUCTS;
	ck_assert_int_eq(play(), 0);
	const struct muster_sample *sample = fake_sample(context, measured[_i], NULL, NULL);
	ck_assert_double_eq_tol(sample->value.number, products_ms(2048), 1e-3);
	ck_assert_uint_eq(sample->value_count, windows[_i]);
	for (size_t i = 0; i < windows[_i]; i++)
		ck_assert_double_eq_tol(sample->values[i], products_ms(2048) * (i < slow[_i] ? 3 : 1), 1e-2);
}

/* From some step on, the run is cancelled. */
static CUresult cancelling_d2h(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	if (blas.products > (size_t)MUSTER_STEP_PRODUCTS * 15)
		context->cancelled = "rank 0 received SIGUSR1";
	return vast_d2h(to, from, bytes, stream);
}

TEST(steps_that_were_taken_stay_when_the_run_is_ended_early)
{
	scripted_cuda.cuMemcpyDtoHAsync_v2 = cancelling_d2h;
	context->ctx.env.steps = 100000;
	ck_assert_int_eq(play(), -1);
	ck_assert_int_eq(err.code, MUSTER_ECALLEDOFF);
	ck_assert_double_eq_tol(number("rank.compute_ms"), products_ms(2048), 1e-3);
	ck_assert_double_eq_tol(number("rank.step_compute_ms"), products_ms(2048), 1e-3);
	ck_assert_double_ge(number("job.overlap"), 0.9);
	ck_assert_double_gt(fake_number(context, "gpu.d2h_loaded_gbps", BUS_ID), 0);
}

TEST(without_a_communicator_there_are_no_steps)
{
	const struct muster_traffic round = { .kind = "all", .peer = -1, .rounds = 1, .timeout_ms = 60000 };
	standing.comm = NULL;
	ck_assert_int_eq(traffic(&context->ctx, &round, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ENOTSUPPORTED);
	context->ctx.env.steps = 0;
	ck_assert_int_eq(traffic(&context->ctx, &round, &err), 0);
	ck_assert_uint_eq(context->samples.count, 0);
}

TEST_MAIN(.setup = set_up, .teardown = tear_down, .timeout = 200)
