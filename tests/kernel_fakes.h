/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_fakes.h - muster's kernels on the scripted GPU of gpu_fakes.h, whose device memory is host memory
 *
 * The parameters are those of kernels.ptx. Includes gpu_fakes.h's cuda: fake_kernels_add puts the calls into it.
 */
#ifndef MUSTER_TESTS_KERNEL_FAKES_H
#define MUSTER_TESTS_KERNEL_FAKES_H

#include "gpu_fakes.h"
#include "probes/gpu/kernels.h"

struct CUmod_st {
	int unused;
};
struct CUfunc_st {
	const char *name;
};

static CUresult fake_module_load(
	CUmodule *module, const void *image, unsigned int option_count, CUjit_option *options, void **values)
{
	static struct CUmod_st loaded;
	(void)option_count;
	(void)options;
	(void)values;
	ck_assert_ptr_nonnull(strstr(image, ".version"));
	*module = &loaded;
	return CUDA_SUCCESS;
}

static CUresult fake_function(CUfunction *function, CUmodule module, const char *name)
{
	static struct CUfunc_st functions[] = { { "muster_fill" }, { "muster_verify" }, { "muster_compare" },
		{ "muster_checksum" } };
	(void)module;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strcmp(functions[i].name, name) == 0)
			*function = &functions[i];
	return CUDA_SUCCESS;
}

static void fake_difference(
	struct muster_kernel_report *report, uint64_t at, const uint64_t *read, const uint64_t *expected)
{
	if (memcmp(read, expected, MUSTER_KERNEL_WORD) == 0)
		return;
	report->wrong++;
	if (report->noted++ >= MUSTER_DIFFERENCES_MAX)
		return;
	struct muster_difference *kept = &report->noticed[report->noted - 1];
	kept->place = at / 2;
	memcpy(kept->read, read, sizeof kept->read);
	memcpy(kept->expected, expected, sizeof kept->expected);
}

/* Fill, verify and compare. */
static CUresult fake_launch(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
	unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream,
	void **parameters, void **extra)
{
	uint64_t *words = (uint64_t *)(uintptr_t)(*(CUdeviceptr *)parameters[0]);
	ck_assert(grid_x > 0 && grid_y == 1 && grid_z == 1 && block_x > 0 && block_y == 1 && block_z == 1);
	ck_assert(shared_bytes == 0 && !extra && stream);
	queued.to = NULL;
	if (strcmp(function->name, "muster_compare") == 0) {
		const uint64_t *expected = (const uint64_t *)(uintptr_t)(*(CUdeviceptr *)parameters[1]);
		for (uint64_t i = 0; i < *(uint64_t *)parameters[2] * 2; i += 2)
			fake_difference((void *)(uintptr_t)(*(CUdeviceptr *)parameters[3]), i, &words[i], &expected[i]);
		return CUDA_SUCCESS;
	}
	const struct muster_pattern pattern = { *(uint64_t *)parameters[2], *(uint64_t *)parameters[3],
		*(uint64_t *)parameters[4], *(uint64_t *)parameters[5] };
	bool fills = strcmp(function->name, "muster_fill") == 0;
	ck_assert(fills || strcmp(function->name, "muster_verify") == 0);
	for (uint64_t i = 0; i < *(uint64_t *)parameters[1] * 2; i += 2) {
		const uint64_t expected[] = { muster_pattern_word(&pattern, i), muster_pattern_word(&pattern, i + 1) };
		if (fills)
			memcpy(&words[i], expected, sizeof expected);
		else
			fake_difference((void *)(uintptr_t)(*(CUdeviceptr *)parameters[6]), i, &words[i], expected);
	}
	return CUDA_SUCCESS;
}

static void fake_kernels_add(struct muster_cuda *gpu)
{
	gpu->cuModuleLoadDataEx = fake_module_load;
	gpu->cuModuleGetFunction = fake_function;
	gpu->cuLaunchKernel = fake_launch;
}

#endif
