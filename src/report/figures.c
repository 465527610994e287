/* figures.c - the speeds that every writer shows, in their order, with their titles */
#include "report/figures.h"

#include "model/share.h"

#include <string.h>

const struct muster_figure muster_figures[MUSTER_FIGURE_COUNT] = {
	{ "gpu.gemm_bf16_tflops", "BF16", NULL, NULL, NULL },
	{ "gpu.gemm_sustained_tflops", "BF16, end of the soak", NULL, NULL, NULL },
	{ "gpu.gemm_fp64_tflops", "FP64", NULL, NULL, NULL },
	{ "gpu.gemm_fp8_tflops", "FP8", NULL, NULL, NULL },
	{ "gpu.h2d_gbps", "H2D, one GPU at a time", NULL, NULL, NULL },
	{ "gpu.d2h_gbps", "D2H, one GPU at a time", NULL, NULL, NULL },
	{ "gpu.h2d_together_gbps", "H2D, all GPUs at once", NULL, NULL, NULL },
	{ "gpu.d2h_together_gbps", "D2H, all GPUs at once", NULL, NULL, NULL },
	{ "gpu.bidirectional_gbps", "H2D while D2H runs", "direction", "h2d", NULL },
	{ "gpu.bidirectional_gbps", "D2H while H2D runs", "direction", "d2h", NULL },
	{ "gpu.stream_gbps", "stream, host to GPU", "source", "host", NULL },
	{ "gpu.stream_gbps", "stream, disk to GPU", "source", "disk", NULL },
	{ "gpu.memory_write_gbps", "GPU memory, written", NULL, NULL, NULL },
	{ "gpu.memory_read_gbps", "GPU memory, read", NULL, NULL, NULL },
	{ "nccl.allreduce_busbw_gbps", "all-reduce busbw", NULL, NULL, NULL },
	{ "nccl.alltoall_busbw_gbps", "all-to-all busbw", NULL, NULL, NULL },
	{ "nccl.allgather_busbw_gbps", "all-gather busbw", NULL, NULL, NULL },
	{ "nccl.reducescatter_busbw_gbps", "reduce-scatter busbw", NULL, NULL, NULL },
	{ "pair.exchange_gbps", "exchange within the node", "kind", "edge", "pair.exchange_limit_gbps" },
	{ "pair.exchange_gbps", "exchange with the next node", "kind", "rail", "pair.exchange_limit_gbps" },
};

bool muster_figure_is_about(const struct muster_figure *figure, const struct muster_label *labels, size_t count)
{
	const char *value = figure->key ? muster_label_string(labels, count, figure->key) : NULL;
	return !value || strcmp(value, figure->value) == 0;
}

const struct muster_figure *muster_figure_of(const char *metric, const struct muster_label *labels, size_t count)
{
	for (size_t i = 0; i < MUSTER_FIGURE_COUNT; i++)
		if (strcmp(muster_figures[i].metric, metric) == 0 &&
			muster_figure_is_about(&muster_figures[i], labels, count))
			return &muster_figures[i];
	return NULL;
}

const struct muster_sample *muster_figure_limit(
	const struct muster_figure *figure, const struct muster_samples *samples, const struct muster_sample *sample)
{
	for (size_t i = 0; figure && figure->limit && i < samples->count; i++)
		if (samples->items[i].value.type == MUSTER_NUMBER &&
			strcmp(samples->items[i].metric->name, figure->limit) == 0 &&
			muster_limit_fits(&samples->items[i], sample))
			return &samples->items[i];
	return muster_limit_among(samples, sample);
}
