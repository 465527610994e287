/* SPDX-License-Identifier: Apache-2.0 */
/* products.c - products of large matrices by cuBLASLt: how fast, and always the same bits?
 *
 * D = A'B, n x n, of fixed contents. All products of a run are compared with the first one, bit for bit: cuBLASLt gives
 * the same bits for the same algorithm, GPU and library version. Results are kept in single precision where they can
 * be, so that a wrong bit is not rounded away.
 *
 * The plan in device memory, from load->memory on: A, B, the first product, the product that is made again and again,
 * and the workspace; 8192 rows need 0.8 GiB in BF16. A GPU with less free memory has smaller matrices.
 *
 * A round is a window: three products between events, then a kernel compares the last one with the first product.
 * Rounds are queued in batches of at most 80 ms, for the host must not be what is timed and a cancelled run must end
 * soon. The wait for a batch is also the moment at which the sampler takes a sample of its own, so that even a load
 * without the thread's 20 ms has one.
 */
#include "probes/gpu_load/load.h"
#include "probes/windows.h"
#include "util/array.h"

#include <stdio.h>

#define SIZE_MOST 8192
#define SIZE_LEAST 2048
#define PRODUCTS MUSTER_WINDOW_OPERATIONS /* of a window, which is a round */
#define BATCH_MS 80.0                     /* rounds that are queued together */
#define ROUNDS_MOST (MUSTER_LOAD_EVENTS / (PRODUCTS + 1))

/* What is multiplied, and where in the load's memory. */
struct plan {
	struct muster_product product;
	enum muster_precision precision;
	size_t n, from_bytes, to_bytes;
	CUdeviceptr a, b, first, again, workspace;
};

/* The largest matrices that fit into the memory, from `most` down to `least` rows, halved each time. Fills in n, sizes
 * and addresses of the plan. False: none do. */
static bool place(const struct muster_load *load, size_t most, size_t least, struct plan *plan)
{
	for (plan->n = most; plan->n >= least; plan->n /= 2) {
		plan->from_bytes = plan->n * plan->n * muster_product_values[plan->precision].from_bytes;
		plan->to_bytes = plan->n * plan->n * muster_product_values[plan->precision].to_bytes;
		plan->a = load->memory;
		plan->b = plan->a + muster_product_aligned(plan->from_bytes);
		plan->first = plan->b + muster_product_aligned(plan->from_bytes);
		plan->again = plan->first + muster_product_aligned(plan->to_bytes);
		plan->workspace = plan->again + muster_product_aligned(plan->to_bytes);
		if (plan->workspace + MUSTER_PRODUCT_WORKSPACE <= load->memory + load->bytes)
			return true;
	}
	return false;
}

static int multiply(struct muster_load *load, const struct plan *plan, CUdeviceptr into, struct muster_error *err)
{
	return muster_product_queue(&plan->product, plan->a, plan->b, into, plan->workspace, load->stream, err);
}

/* A, B and the product that all others are compared with. */
static int make_first(struct muster_load *load, const struct plan *plan, struct muster_error *err)
{
	struct muster_pattern contents = { 1, muster_product_values[plan->precision].and_mask,
		muster_product_values[plan->precision].or_mask, 0 };
	if (muster_kernel_fill(load->cuda, load->kernels, plan->a, plan->from_bytes, &contents, load->stream, err) < 0)
		return -1;
	contents.seed += plan->from_bytes; /* B continues where A ends */
	if (muster_kernel_fill(load->cuda, load->kernels, plan->b, plan->from_bytes, &contents, load->stream, err) < 0)
		return -1;
	return multiply(load, plan, plan->first, err);
}

/* A sum of the first product's bits, by a kernel. The checksum uses the field `wrong` of the report for its sum. */
static int sum_first(struct muster_load *load, const struct plan *plan, uint64_t *ret, struct muster_error *err)
{
	struct muster_kernel_report report;
	if (muster_load_clear_reports(load, err) < 0 ||
		muster_kernel_checksum(load->cuda, load->kernels, plan->first, plan->to_bytes,
			muster_load_report(load, MUSTER_LOAD_MEMORY), load->stream, err) < 0 ||
		muster_load_fetch_report(load, MUSTER_LOAD_MEMORY, &report, err) < 0)
		return -1;
	*ret = report.wrong;
	return 0;
}

/* Queue rounds of products, each product between two events, and a comparison after each round. A round has PRODUCTS +
 * 1 events of its own, so the time of its comparison is in no rate. All comparisons add to one report. */
static int queue_rounds(struct muster_load *load, const struct plan *plan, size_t rounds, struct muster_error *err)
{
	for (size_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i <= PRODUCTS; i++)
			if ((i > 0 && multiply(load, plan, plan->again, err) < 0) ||
				MUSTER_CUDA(load->cuda, err, cuEventRecord, load->events[round * (PRODUCTS + 1) + i],
					load->stream) < 0)
				return -1;
		if (muster_load_hook)
			muster_load_hook(load, plan->again, plan->to_bytes);
		if (muster_kernel_compare(load->cuda, load->kernels, plan->again, plan->first, plan->to_bytes,
			    muster_load_report(load, MUSTER_LOAD_MEMORY), load->stream, err) < 0)
			return -1;
	}
	return 0;
}

/* One batch: queue, wait, and read the events. ret_ms: the median time of one product in the last round. Added to
 * figures: what was wrong, and a rate for each round unless the batch only warms up. A product of n x n matrices is
 * 2 n^3 operations; TFLOP/s is operations / (ms x 1e9). */
static int run_batch(struct muster_load *load, const struct plan *plan, size_t rounds, bool warms_up,
	struct muster_product_figures *figures, double *ret_ms, struct muster_error *err)
{
	struct muster_kernel_report report;
	double n = (double)plan->n;
	if (muster_load_clear_reports(load, err) < 0 || queue_rounds(load, plan, rounds, err) < 0)
		return -1;
	muster_sampler_take(&load->sampler);
	if (muster_load_fetch_report(load, MUSTER_LOAD_MEMORY, &report, err) < 0)
		return -1;
	for (size_t round = 0; round < rounds; round++) {
		double ms[PRODUCTS];
		for (size_t i = 0, at = round * (PRODUCTS + 1); i < PRODUCTS; i++)
			if (muster_load_elapsed(load, at + i, at + i + 1, &ms[i], err) < 0)
				return -1;
		*ret_ms = muster_median_of(ms, PRODUCTS);
		if (!warms_up)
			muster_series_add(&figures->tflops, 2 * n * n * n / (*ret_ms * 1e9));
	}
	muster_wrong_add(&figures->wrong, &report, 0);
	return 0;
}

static int clamp(double value, int least, int most)
{
	return value < least ? least : value > most ? most : (int)value;
}

/* Warm-up, the sum of the first product, then batches for about `ms`. In later visits of a run, and in later cycles of
 * a soak, the first product is made anew from the same A and B: its sum must be that of the run's first one.
 *
 * How many rounds a batch has: as many as fit into BATCH_MS, or into `ms` where that is shorter, from 1 to ROUNDS_MOST,
 * for which there are events. A visit needs muster_windows_count windows, so a batch has at least so many rounds; where
 * that is ROUNDS_MOST or more, as with many --repeats, the number stays. A later visit has ms 0: one batch. */
static int measure(struct muster_load *load, const struct plan *plan, double ms, struct muster_product_figures *figures,
	struct muster_error *err)
{
	double one_ms;
	uint64_t sum;
	if (make_first(load, plan, err) < 0 || run_batch(load, plan, 1, true, figures, &one_ms, err) < 0 ||
		sum_first(load, plan, &sum, err) < 0)
		return -1;
	if (!figures->measured)
		figures->sum = sum;
	else if (figures->sum != sum) /* the first product of this cycle was wrong, or that of the first one */
		muster_wrong_note(&figures->wrong, "the sum of a later first product differs");
	figures->measured = true;
	double round_ms = one_ms * PRODUCTS;
	size_t least = muster_windows_count(load->ctx), most = ROUNDS_MOST;
	size_t rounds = (size_t)clamp((ms < BATCH_MS ? ms : BATCH_MS) / round_ms, 1, ROUNDS_MOST);
	rounds = rounds < least && least < most ? least : rounds;
	int batches = clamp(ms / (round_ms * (double)rounds), 1, 10000);
	for (int i = 0; i < batches; i++)
		if (muster_cancelled(load->ctx, err) < 0 ||
			run_batch(load, plan, rounds, false, figures, &one_ms, err) < 0)
			return -1;
	return 0;
}

/* Who must get the same bits: the label made_by of the checksum. The opaque data of cublasLtMatmulAlgo_t identifies the
 * algorithm and its tiles; it is hashed, because a label is read by people. Ranks whose text is equal are compared, on
 * one node and between nodes. */
static void name_maker(const struct muster_load *load, const struct plan *plan, char *ret, size_t size)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < sizeof plan->product.chosen.algo.data / sizeof *plan->product.chosen.algo.data; i++)
		hash = muster_pattern_word(
			&(struct muster_pattern){ plan->product.chosen.algo.data[i], UINT64_MAX, 0, 0 }, hash);
	snprintf(ret, size, "%.60s, cuBLASLt %zu, %zu, algorithm %08llx", muster_probe_env(load->ctx)->gpu->name,
		plan->product.lib->cublasLtGetVersion(), plan->n, (unsigned long long)(hash >> 32));
}

/* One call of muster_load_products but for the words of its errors: place, choose the algorithm, measure. */
static int try(struct muster_load *load, struct plan *plan, double ms, struct muster_product_figures *figures,
	struct muster_error *err)
{
	/* Bits are compared with those of the first visit, and other sizes have others. A later visit may have less
	 * memory: then it makes no products, which proves nothing against the GPU. */
	bool known = figures->measured;
	if (!place(load, known ? figures->size : SIZE_MOST, known ? figures->size : SIZE_LEAST, plan))
		return known ? 0
			     : muster_fail(err, MUSTER_ENOTSUPPORTED,
				       "%zu MiB of free memory are too few for two matrices", load->bytes >> 20);
	if (muster_product_init(&plan->product, plan->precision, plan->n, plan->n, plan->n, err) < 0)
		return -1;
	figures->size = plan->n;
	name_maker(load, plan, figures->made_by, sizeof figures->made_by);
	return measure(load, plan, ms, figures, err);
}

void muster_load_first_product(struct muster_load *load)
{
	const CUdevice device = muster_probe_env(load->ctx)->gpu->cuda_device;
	const size_t n = SIZE_LEAST, matrix = muster_product_aligned(n * n * sizeof(float));
	struct muster_product product = { 0 };
	struct muster_error why;
	CUdeviceptr memory = 0;
	if (muster_product_need_units(load->cuda, device, MUSTER_BF16, &why) < 0)
		return;
	muster_step(load->ctx, "first product by cuBLASLt");
	if (muster_product_init(&product, MUSTER_BF16, n, n, n, &why) == 0 &&
		load->cuda->cuMemAlloc_v2(&memory, 3 * matrix + MUSTER_PRODUCT_WORKSPACE) == CUDA_SUCCESS &&
		muster_product_queue(&product, memory, memory + matrix, memory + 2 * matrix, memory + 3 * matrix,
			load->stream, &why) == 0 &&
		muster_load_wait(load, &why) < 0)
		memory = 0; /* work that never ended still uses it */
	muster_product_done(&product);
	if (memory)
		load->cuda->cuMemFree_v2(memory);
}

/* What a failure is depends on whether this precision has worked before in the run, and on the error:
 *
 *   measured before                   the load fails: the GPU could do it, and then could not
 *   not yet; ENOTSUPPORTED or ELIB    figures->why_not, the reason of nulls; the load goes on, and does not try again
 *   not yet; another error            figures->why_not, and the load fails */
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
	muster_product_done(&plan.product);
	if (failed == 0 || figures->measured)
		return failed < 0 ? muster_wrap(err, "matrix products in %s", name) : 0;
	figures->why_not = *err;
	bool cannot = err->code == MUSTER_ENOTSUPPORTED || err->code == MUSTER_ELIB;
	return cannot ? 0 : muster_wrap(err, "matrix products in %s", name);
}
