/* trend.c - what a metric's difference from one run to the next means, and what becomes of repeated measurements */
#include "model/trend.h"

#include "util/sort.h"

#include <stdlib.h>
#include <string.h>

/* Everything that is not here is a fact. Limits are not compared: what they are made of is. */
static const struct metric_trend {
	const char *metric;
	enum muster_trend trend;
} trends[] = {
	{ "gpu.bidirectional_gbps", MUSTER_TREND_MORE },
	{ "gpu.c2c_gbps", MUSTER_TREND_MORE },
	{ "gpu.c2c_limit_gbps", MUSTER_TREND_DRIFTS },
	{ "gpu.c2c_links", MUSTER_TREND_MORE },
	{ "gpu.cufile_gbps", MUSTER_TREND_MORE },
	{ "gpu.cufile_wrong", MUSTER_TREND_LESS },
	{ "gpu.d2h_gbps", MUSTER_TREND_MORE },
	{ "gpu.d2h_loaded_gbps", MUSTER_TREND_MORE },
	{ "gpu.d2h_spread", MUSTER_TREND_DRIFTS },
	{ "gpu.d2h_together_gbps", MUSTER_TREND_MORE },
	{ "gpu.ecc_corrected_increase", MUSTER_TREND_LESS },
	{ "gpu.ecc_corrected_volatile", MUSTER_TREND_LESS },
	{ "gpu.ecc_uncorrected_aggregate", MUSTER_TREND_LESS },
	{ "gpu.ecc_uncorrected_increase", MUSTER_TREND_LESS },
	{ "gpu.ecc_uncorrected_volatile", MUSTER_TREND_LESS },
	{ "gpu.foreign_memory_mib", MUSTER_TREND_DRIFTS },
	{ "gpu.foreign_process", MUSTER_TREND_DRIFTS },
	{ "gpu.foreign_processes", MUSTER_TREND_LESS },
	{ "gpu.gemm_bf16_tflops", MUSTER_TREND_MORE },
	{ "gpu.gemm_drift", MUSTER_TREND_DRIFTS },
	{ "gpu.gemm_fp64_tflops", MUSTER_TREND_MORE },
	{ "gpu.gemm_fp8_tflops", MUSTER_TREND_MORE },
	{ "gpu.gemm_spread", MUSTER_TREND_DRIFTS },
	{ "gpu.gemm_sustained_tflops", MUSTER_TREND_MORE },
	{ "gpu.gemm_wrong", MUSTER_TREND_LESS },
	{ "gpu.h2d_gbps", MUSTER_TREND_MORE },
	{ "gpu.h2d_loaded_gbps", MUSTER_TREND_MORE },
	{ "gpu.h2d_spread", MUSTER_TREND_DRIFTS },
	{ "gpu.h2d_together_gbps", MUSTER_TREND_MORE },
	{ "gpu.load_seconds", MUSTER_TREND_DRIFTS },
	{ "gpu.matmul_bf16_limit_tflops", MUSTER_TREND_DRIFTS },
	{ "gpu.mem_clock_loaded_mhz", MUSTER_TREND_DRIFTS },
	{ "gpu.mem_clock_mhz", MUSTER_TREND_DRIFTS },
	{ "gpu.memory_held_mib", MUSTER_TREND_DRIFTS },
	{ "gpu.memory_limit_gbps", MUSTER_TREND_DRIFTS },
	{ "gpu.memory_read_gbps", MUSTER_TREND_MORE },
	{ "gpu.memory_temperature_loaded_celsius", MUSTER_TREND_DRIFTS },
	{ "gpu.memory_tested_mib", MUSTER_TREND_DRIFTS },
	{ "gpu.memory_tested_share", MUSTER_TREND_DRIFTS },
	{ "gpu.memory_used_mib", MUSTER_TREND_DRIFTS },
	{ "gpu.memory_write_gbps", MUSTER_TREND_MORE },
	{ "gpu.memory_wrong", MUSTER_TREND_LESS },
	{ "gpu.nvlink_errors", MUSTER_TREND_DRIFTS }, /* of the counters' whole life */
	{ "gpu.nvlink_errors_at", MUSTER_TREND_DRIFTS },
	{ "gpu.nvlink_errors_increase", MUSTER_TREND_LESS },
	{ "gpu.nvlink_gbps", MUSTER_TREND_MORE },
	{ "gpu.nvlink_limit_gbps", MUSTER_TREND_DRIFTS },
	{ "gpu.nvlink_peer_gpus", MUSTER_TREND_DRIFTS }, /* gpu.nvlink_peers counts them */
	{ "gpu.nvlink_peers", MUSTER_TREND_MORE },
	{ "gpu.nvlinks", MUSTER_TREND_MORE },
	{ "gpu.p2p_peers", MUSTER_TREND_MORE },
	{ "gpu.pcie_errors", MUSTER_TREND_DRIFTS },
	{ "gpu.pcie_errors_increase", MUSTER_TREND_LESS },
	{ "gpu.pcie_gen", MUSTER_TREND_DRIFTS }, /* drops when idle */
	{ "gpu.pcie_gen_loaded", MUSTER_TREND_MORE },
	{ "gpu.pcie_gen_max", MUSTER_TREND_MORE },
	{ "gpu.pcie_limit_gbps", MUSTER_TREND_DRIFTS },
	{ "gpu.pcie_width", MUSTER_TREND_DRIFTS },
	{ "gpu.pcie_width_loaded", MUSTER_TREND_MORE },
	{ "gpu.pcie_width_max", MUSTER_TREND_MORE },
	{ "gpu.peers", MUSTER_TREND_MORE },
	{ "gpu.power_brake_ms", MUSTER_TREND_LESS },
	{ "gpu.power_loaded_watts", MUSTER_TREND_DRIFTS },
	{ "gpu.power_watts", MUSTER_TREND_DRIFTS },
	{ "gpu.remapped_correctable", MUSTER_TREND_LESS },
	{ "gpu.remapped_uncorrectable", MUSTER_TREND_LESS },
	{ "gpu.sm_clock_loaded_mhz", MUSTER_TREND_DRIFTS },
	{ "gpu.sm_clock_mhz", MUSTER_TREND_DRIFTS },
	{ "gpu.stream_gbps", MUSTER_TREND_MORE },
	{ "gpu.stream_tested_mib", MUSTER_TREND_DRIFTS },
	{ "gpu.stream_wrong", MUSTER_TREND_LESS },
	{ "gpu.temperature_celsius", MUSTER_TREND_DRIFTS },
	{ "gpu.temperature_loaded_celsius", MUSTER_TREND_DRIFTS },
	{ "gpu.thermal_violation_ms", MUSTER_TREND_LESS },
	{ "gpu.throttle_reasons", MUSTER_TREND_DRIFTS },
	{ "gpu.throttled_share", MUSTER_TREND_DRIFTS },
	{ "job.broadcast_gbps", MUSTER_TREND_MORE },
	{ "job.broadcast_wrong", MUSTER_TREND_LESS },
	{ "job.checkpoint_read_gbps", MUSTER_TREND_MORE },
	{ "job.checkpoint_slowest", MUSTER_TREND_DRIFTS },
	{ "job.checkpoint_write_gbps", MUSTER_TREND_MORE },
	{ "job.overlap", MUSTER_TREND_DRIFTS },
	{ "job.shared_read_gbps", MUSTER_TREND_MORE },
	{ "job.step_gradient_mib", MUSTER_TREND_DRIFTS }, /* as fast as all-reduces are beside products */
	{ "job.step_spread", MUSTER_TREND_DRIFTS },
	{ "job.step_tokens", MUSTER_TREND_DRIFTS },
	{ "nccl.allgather_busbw_gbps", MUSTER_TREND_MORE },
	/* busbw says the same, and is comparable between rings of different sizes */
	{ "nccl.allreduce_algbw_gbps", MUSTER_TREND_DRIFTS },
	{ "nccl.allreduce_busbw_gbps", MUSTER_TREND_MORE },
	{ "nccl.allreduce_limit_gbps", MUSTER_TREND_DRIFTS },
	{ "nccl.allreduce_outliers", MUSTER_TREND_DRIFTS },
	{ "nccl.allreduce_p50_us", MUSTER_TREND_DRIFTS },
	{ "nccl.allreduce_p99_us", MUSTER_TREND_DRIFTS },
	{ "nccl.allreduce_us", MUSTER_TREND_DRIFTS },
	{ "nccl.alltoall_busbw_gbps", MUSTER_TREND_MORE },
	{ "nccl.alltoall_connect_ms", MUSTER_TREND_DRIFTS },
	{ "nccl.alltoall_limit_gbps", MUSTER_TREND_DRIFTS },
	{ "nccl.reducescatter_busbw_gbps", MUSTER_TREND_MORE },
	{ "nccl.ring_nodes", MUSTER_TREND_MORE },
	{ "nccl.ring_ranks", MUSTER_TREND_MORE },
	{ "node.broadcast_hash", MUSTER_TREND_DRIFTS },
	{ "node.broadcast_stored_gbps", MUSTER_TREND_MORE },
	{ "node.disk_to_gpu_gbps", MUSTER_TREND_MORE },
	{ "node.gpu_count", MUSTER_TREND_MORE },
	{ "node.gpus_hidden", MUSTER_TREND_DRIFTS }, /* as the job asked for, and as other jobs run */
	{ "node.gpus_on_pci", MUSTER_TREND_MORE },
	{ "node.ib_ports", MUSTER_TREND_MORE },
	{ "node.kernel_event_age_hours", MUSTER_TREND_DRIFTS },
	{ "node.kernel_event_count", MUSTER_TREND_DRIFTS }, /* events are compared by their findings */
	{ "node.kernel_event_line", MUSTER_TREND_DRIFTS },
	{ "node.kernel_events_left_out", MUSTER_TREND_LESS },
	{ "node.kernel_log_hours", MUSTER_TREND_DRIFTS },
	{ "node.kernel_log_start", MUSTER_TREND_DRIFTS },
	{ "node.load_average", MUSTER_TREND_DRIFTS },
	{ "node.nic_ports_up", MUSTER_TREND_MORE },
	{ "node.nic_share", MUSTER_TREND_MORE },
	{ "node.nvme_disks", MUSTER_TREND_MORE },
	{ "node.other_jobs", MUSTER_TREND_DRIFTS },
	{ "node.path_open_ms", MUSTER_TREND_DRIFTS },
	{ "node.scratch_failed", MUSTER_TREND_LESS },
	{ "node.scratch_free_gb", MUSTER_TREND_DRIFTS },
	{ "node.scratch_free_share", MUSTER_TREND_DRIFTS },
	{ "node.scratch_latency_p99_us", MUSTER_TREND_DRIFTS },
	{ "node.scratch_latency_us", MUSTER_TREND_DRIFTS },
	{ "node.scratch_members", MUSTER_TREND_MORE },
	{ "node.scratch_missing_members", MUSTER_TREND_LESS },
	{ "node.scratch_read_gbps", MUSTER_TREND_MORE },
	{ "node.scratch_tested_mib", MUSTER_TREND_DRIFTS },
	{ "node.scratch_write_gbps", MUSTER_TREND_MORE },
	{ "node.scratch_wrong", MUSTER_TREND_LESS },
	{ "node.stream_triad_gbps", MUSTER_TREND_MORE },
	{ "node.stream_triad_numa_gbps", MUSTER_TREND_MORE },
	{ "node.sxid_age_hours", MUSTER_TREND_DRIFTS },
	{ "node.sxid_count", MUSTER_TREND_DRIFTS },
	{ "node.sxid_line", MUSTER_TREND_DRIFTS },
	{ "node.xid_age_hours", MUSTER_TREND_DRIFTS },
	{ "node.xid_count", MUSTER_TREND_DRIFTS },
	{ "node.xid_line", MUSTER_TREND_DRIFTS },
	{ "pair.exchange_bytes", MUSTER_TREND_DRIFTS },
	{ "pair.exchange_gbps", MUSTER_TREND_MORE },
	{ "pair.exchange_limit_gbps", MUSTER_TREND_DRIFTS },
	{ "pair.exchange_us", MUSTER_TREND_DRIFTS },
	{ "pair.exchange_usual_gbps", MUSTER_TREND_DRIFTS },
	{ "pair.exchange_wrong", MUSTER_TREND_LESS },
	{ "port.counter", MUSTER_TREND_DRIFTS }, /* of the port's whole life */
	{ "port.counter_increase", MUSTER_TREND_LESS },
	{ "port.lid", MUSTER_TREND_DRIFTS }, /* dealt by the subnet manager */
	{ "port.limit_gbps", MUSTER_TREND_DRIFTS },
	{ "port.rate_gbps", MUSTER_TREND_MORE },
	{ "port.rate_verbs_gbps", MUSTER_TREND_MORE },
	{ "port.width", MUSTER_TREND_MORE },
	{ "rank.allgather_wrong", MUSTER_TREND_LESS },
	{ "rank.allreduce_p99_us", MUSTER_TREND_DRIFTS },
	{ "rank.allreduce_us", MUSTER_TREND_DRIFTS },
	{ "rank.allreduce_wrong", MUSTER_TREND_LESS },
	{ "rank.alltoall_unreached", MUSTER_TREND_DRIFTS },
	{ "rank.alltoall_wrong", MUSTER_TREND_LESS },
	{ "rank.broadcast_gbps", MUSTER_TREND_MORE },
	{ "rank.broadcast_hash", MUSTER_TREND_DRIFTS },
	{ "rank.broadcast_mib", MUSTER_TREND_DRIFTS },
	{ "rank.broadcast_stored_gbps", MUSTER_TREND_MORE },
	{ "rank.broadcast_wrong", MUSTER_TREND_LESS },
	{ "rank.checkpoint_mib", MUSTER_TREND_DRIFTS },
	{ "rank.checkpoint_read_gbps", MUSTER_TREND_MORE },
	{ "rank.checkpoint_write_gbps", MUSTER_TREND_MORE },
	{ "rank.checkpoint_wrong", MUSTER_TREND_LESS },
	{ "rank.compute_ms", MUSTER_TREND_DRIFTS }, /* for as many tokens as the slowest rank allows */
	{ "rank.nccl_init_ms", MUSTER_TREND_DRIFTS },
	{ "rank.reducescatter_wrong", MUSTER_TREND_LESS },
	{ "rank.shared_read_gbps", MUSTER_TREND_MORE },
	{ "rank.step_compute_ms", MUSTER_TREND_DRIFTS },
	{ "rank.step_p50_ms", MUSTER_TREND_DRIFTS },
	{ "rank.step_p99_ms", MUSTER_TREND_DRIFTS },
};

static int by_name(const void *key, const void *item)
{
	return strcmp(key, *(const char *const *)item);
}

enum muster_trend muster_metric_trend(const struct muster_metric *metric)
{
	const struct metric_trend *found =
		bsearch(metric->name, trends, sizeof trends / sizeof *trends, sizeof *trends, by_name);
	return found ? found->trend : MUSTER_TREND_FACT;
}

bool muster_metric_is_time(const struct muster_metric *metric)
{
	return strcmp(metric->unit, "ms") == 0 || strcmp(metric->unit, "us") == 0 || strcmp(metric->unit, "s") == 0;
}

enum muster_worse muster_metric_worse(const struct muster_metric *metric)
{
	enum muster_trend trend = muster_metric_trend(metric);
	if (metric->type != MUSTER_NUMBER)
		return MUSTER_WORSE_NEITHER;
	if (trend == MUSTER_TREND_MORE)
		return MUSTER_WORSE_BELOW;
	return trend == MUSTER_TREND_LESS || muster_metric_is_time(metric) ? MUSTER_WORSE_ABOVE : MUSTER_WORSE_NEITHER;
}

bool muster_metric_scatters(const struct muster_metric *metric)
{
	enum muster_trend trend = muster_metric_trend(metric);
	bool rate = strcmp(metric->unit, "GB/s") == 0 || strcmp(metric->unit, "TFLOP/s") == 0 ||
		    strcmp(metric->unit, "us") == 0;
	return metric->type == MUSTER_NUMBER && (trend == MUSTER_TREND_DRIFTS || (trend != MUSTER_TREND_FACT && rate));
}

static bool same_thing(const struct muster_sample *a, const struct muster_sample *b)
{
	if (a->metric != b->metric || a->label_count != b->label_count)
		return false;
	for (size_t i = 0; i < a->label_count; i++)
		if (!muster_value_equal(a->labels[i].value, b->labels[i].value))
			return false;
	return true;
}

static double judged_of(const struct muster_metric *metric, const double *values, size_t count)
{
	double sorted[MUSTER_REPEATS_MAX];
	memcpy(sorted, values, count * sizeof *values);
	double median = muster_median_of(sorted, count);
	if (muster_metric_scatters(metric))
		return median;
	return muster_metric_trend(metric) == MUSTER_TREND_MORE ? sorted[0] : sorted[count - 1];
}

/* Fold the samples after `first` with the same metric and labels into it; they are marked by a metric of NULL. */
static void fold_into(struct muster_samples *samples, size_t first, struct muster_arena *arena)
{
	struct muster_sample *sample = &samples->items[first];
	bool one_number =
		sample->metric->type == MUSTER_NUMBER && muster_metric_trend(sample->metric) != MUSTER_TREND_FACT;
	double values[MUSTER_REPEATS_MAX];
	size_t count = 0;
	if (sample->value.type == MUSTER_NUMBER)
		values[count++] = sample->value.number;
	for (size_t i = first + 1; i < samples->count; i++) {
		struct muster_sample *other = &samples->items[i];
		if (!other->metric || !same_thing(sample, other))
			continue;
		if (sample->value.type == MUSTER_NULL && other->value.type != MUSTER_NULL) {
			sample->value = other->value;
			sample->reason = NULL;
		} else if (other->value.type != MUSTER_NULL && !one_number &&
			   !muster_value_equal(sample->value, other->value)) {
			continue;
		}
		if (other->value.type == MUSTER_NUMBER && count < MUSTER_REPEATS_MAX)
			values[count++] = other->value.number;
		other->metric = NULL;
	}
	if (count < 2 || !one_number)
		return;
	double *kept = muster_arena_alloc(arena, count * sizeof *kept);
	memcpy(kept, values, count * sizeof *kept);
	sample->values = kept;
	sample->value_count = count;
	sample->value = muster_number(judged_of(sample->metric, values, count));
}

static void fold(struct muster_samples *samples, struct muster_arena *arena)
{
	size_t kept = 0;
	for (size_t i = 0; i < samples->count; i++) {
		if (!samples->items[i].metric)
			continue;
		fold_into(samples, i, arena);
		samples->items[kept++] = samples->items[i];
	}
	samples->count = kept;
}

void muster_run_fold_repeats(struct muster_run *run)
{
	fold(&run->job.samples, run->arena);
	for (size_t i = 0; i < run->node_count; i++) {
		fold(&run->nodes[i].samples, run->arena);
		for (size_t j = 0; j < run->nodes[i].rank_count; j++)
			fold(&run->nodes[i].ranks[j].samples, run->arena);
	}
}
