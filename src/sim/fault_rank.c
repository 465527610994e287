/* SPDX-License-Identifier: Apache-2.0 */
/* fault_rank.c - what a rank may use, and how its process and its NCCL behave
 *
 * How a worker misbehaves is kept as text in the rank's `deaths` ("cuInit:segv"; fault_misbehave.h has the form). Texts
 * are parsed here only to refuse a wrong one. worker_env.c hands them to the worker in an environment variable, and
 * standins/misbehave.c carries them out.
 */
#include "sim/fault.h"

#include "util/text.h"
#include "sim/scenario.h"

/* All the CPUs of the last NUMA node that the rank's GPU is not on; NULL when there is no other. */
static const char *far_mask(const struct muster_fault_target *t)
{
	const struct muster_sim_gpu *gpu = &t->node->gpus[t->rank->local_rank];
	int numa_node = -1;
	for (size_t i = 0; i < t->node->numa_count; i++)
		if (t->node->numas[i].os_index != gpu->numa_node)
			numa_node = t->node->numas[i].os_index;
	return numa_node < 0 ? NULL : muster_sim_numa_mask(t->cluster->arena, t->node, numa_node);
}

int muster_fault_cpu_mask(const struct muster_fault_target *t, struct muster_error *err)
{
	const char *mask = t->value ? t->value : far_mask(t);
	if (!mask)
		return muster_fail(err, MUSTER_EUSAGE, "the node has only one NUMA node: give a MASK");
	if (muster_sim_mask_check(t->node, mask, err) < 0)
		return -1;
	t->rank->cpu_mask = mask;
	return 0;
}

/* CUDA_VISIBLE_DEVICES of the rank names the GPU of the rank before it on the node. */
int muster_fault_duplicate_gpu(const struct muster_fault_target *t, struct muster_error *err)
{
	if (t->rank->local_rank == 0)
		return muster_fail(
			err, MUSTER_EUSAGE, "it is the first rank of its node, and there is no rank before it");
	t->rank->visible_gpus = muster_arena_printf(t->cluster->arena, "%d", t->rank->local_rank - 1);
	return 0;
}

/* VALUE is FUNCTION:CODE for cuda-error and nvml-error, FUNCTION:TIME for cuda-slow and nvml-slow. Every rank of the
 * node gets it. For one GPU the text becomes "cuMemAlloc_v2:2@0003:00:00.0": every rank may ask about every GPU of the
 * node, and only calls about this one have the code or take the time. The function must be one of the kind's library.
 */
int muster_fault_answer(const struct muster_fault_target *t, struct muster_error *err)
{
	struct muster_sim_misbehaviour death;
	const char *value = t->value;
	bool of_gpu;
	if (value && t->gpu)
		value = muster_arena_printf(t->cluster->arena, "%s@%s", value, t->gpu->bus_id);
	if (value && muster_sim_misbehaviour_parse(value, &death, err) < 0)
		return -1;
	if (!value || death.how != t->fault->how)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be a function and a %s",
			t->fault->how == MUSTER_SIM_RETURNS ? "code: cuInit:803, nvmlInit_v2:18"
							    : "time: cuInit:40s, nvmlInit_v2:40s");
	if (!muster_sim_is_function_of(death.function, t->fault->library, &of_gpu))
		return muster_fail(err, MUSTER_EUSAGE, "%s is of another library", death.function);
	for (size_t i = 0; i < t->cluster->rank_count; i++) {
		struct muster_sim_rank *rank = &t->cluster->ranks[i];
		if (&t->cluster->nodes[rank->node] == t->node)
			muster_fault_append(t, &rank->deaths, &rank->death_count, value);
	}
	return 0;
}

int muster_fault_dies(const struct muster_fault_target *t, struct muster_error *err)
{
	struct muster_sim_misbehaviour death;
	if (!t->value)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE is missing: FUNCTION:HOW, for example cuInit:segv");
	if (muster_sim_misbehaviour_parse(t->value, &death, err) < 0)
		return -1;
	muster_fault_append(t, &t->rank->deaths, &t->rank->death_count, t->value);
	return 0;
}
