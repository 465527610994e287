/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_kernels.c - libcuda.so.1 for the simulation: modules, and muster's kernels by their names
 *
 * A kernel takes bytes / bandwidth of virtual time. The module's text is not compiled: a function exists if the text
 * has an entry of that name, and kernels.h says what each does.
 *
 * The life of a launch: cuLaunchKernel() reads the parameters, which may change after the call, and puts an operation
 * into the stream; run() is its poll and does the work when the launch is the next one of its stream. An address that
 * is wrong is found only then, and breaks the context, as on a GPU. NVML shows a GPU under load while a module is
 * loaded.
 */
#include "sim/standins/cuda.h"

#include "muster/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 1024 /* of a block */

enum kernel { FILL, VERIFY, COMPARE, CHECKSUM, KERNEL_COUNT };

static const char *const kernels[] = {
	[FILL] = "muster_fill",
	[VERIFY] = "muster_verify",
	[COMPARE] = "muster_compare",
	[CHECKSUM] = "muster_checksum",
};
_Static_assert(sizeof kernels / sizeof *kernels == KERNEL_COUNT, "a name for each kernel");

/* A function has no properties: its place in its module's array says which kernel it is. */
struct CUfunc_st {
	char unused;
};

struct CUmod_st {
	struct CUmod_st *next;
	char *text;
	struct CUfunc_st functions[KERNEL_COUNT];
};

/* -- modules -- */

/* What the driver's compiler says goes into the buffer that the options name, cut to the buffer's size. */
static void log_error(unsigned int count, const CUjit_option *options, void *const *values, const char *text)
{
	char *log = NULL;
	size_t room = 0;
	for (unsigned int i = 0; i < count; i++) {
		if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
			log = values[i];
		else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			room = (size_t)(uintptr_t)values[i];
	}
	if (log && room > 0)
		snprintf(log, room, "%s", text);
}

CUresult cuModuleLoadDataEx(
	CUmodule *module, const void *image, unsigned int option_count, CUjit_option *options, void **values)
{
	struct CUctx_st *context;
	ENTER(muster_simcuda_enter_context(&context), module && image && (option_count == 0 || (options && values)));
	if (!strstr(image, ".version")) {
		log_error(option_count, options, values, "ptxas fatal   : Missing .version directive at start of file");
		return muster_simcuda_leave(CUDA_ERROR_INVALID_IMAGE_);
	}
	struct CUmod_st *new = muster_calloc(1, sizeof *new);
	*new = (struct CUmod_st){ .next = context->modules, .text = muster_strdup(image) };
	context->modules = new;
	*module = new;
	return muster_simcuda_leave(CUDA_SUCCESS);
}

static void unload(struct CUmod_st **at)
{
	struct CUmod_st *gone = *at;
	*at = gone->next;
	free(gone->text);
	free(gone);
}

void muster_simcuda_forget_modules(struct CUctx_st *context)
{
	while (context->modules)
		unload(&context->modules);
}

/* The context's own list: a module of another context is as unknown as one that is gone. */
static struct CUmod_st **find_module(struct CUctx_st *context, CUmodule module)
{
	struct CUmod_st **at = &context->modules;
	while (*at && *at != module)
		at = &(*at)->next;
	return *at ? at : NULL;
}

CUresult cuModuleUnload(CUmodule module)
{
	struct CUctx_st *context;
	ENTER(muster_simcuda_enter_context(&context), true);
	if (!find_module(context, module))
		return muster_simcuda_leave(CUDA_ERROR_INVALID_HANDLE);
	muster_simcuda_wait_idle();
	struct CUmod_st **at = find_module(context, module);
	if (at) /* the lock was free while waiting: another thread may have unloaded it */
		unload(at);
	return muster_simcuda_leave(CUDA_SUCCESS);
}

/* Whether PTX text has ".entry NAME(". */
static bool has_entry(const char *text, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = text; length > 0 && (at = strstr(at, ".entry ")) != NULL;) {
		at += sizeof ".entry " - 1;
		if (strncmp(at, name, length) == 0 && at[length] == '(')
			return true;
	}
	return false;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	struct CUctx_st *context;
	ENTER(muster_simcuda_enter_context(&context), function && name);
	if (!find_module(context, module))
		return muster_simcuda_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!has_entry(module->text, name))
		return muster_simcuda_leave(CUDA_ERROR_NOT_FOUND_);
	enum kernel kernel = 0;
	while (kernel < KERNEL_COUNT && strcmp(kernels[kernel], name) != 0)
		kernel++;
	if (kernel == KERNEL_COUNT)
		muster_standin_end("no stand-in knows what the kernel \"%s\" does", name);
	*function = &module->functions[kernel];
	return muster_simcuda_leave(CUDA_SUCCESS);
}

/* -- kernels -- */

/* From cuLaunchKernel until the stream is done with it. words: of 16 bytes; threads: of all blocks. */
struct launch {
	enum kernel kernel;
	struct CUctx_st *context;
	CUdeviceptr range, expected, report;
	uint64_t words;
	struct muster_pattern pattern;
	size_t threads;
};

/* The parameters in their order, as in kernels.ptx. */
static void read_parameters(struct launch *launch, void **parameters)
{
	uint64_t *const pattern[] = { &launch->pattern.seed, &launch->pattern.and_mask, &launch->pattern.or_mask,
		&launch->pattern.xor_mask };
	size_t next = 0;
	launch->range = *(CUdeviceptr *)parameters[next++];
	if (launch->kernel == COMPARE)
		launch->expected = *(CUdeviceptr *)parameters[next++];
	launch->words = *(uint64_t *)parameters[next++];
	for (size_t i = 0; i < 4 && (launch->kernel == FILL || launch->kernel == VERIFY); i++)
		*pattern[i] = *(uint64_t *)parameters[next++];
	if (launch->kernel != FILL)
		launch->report = *(CUdeviceptr *)parameters[next++];
}

/* Where a kernel reads or writes: false when no memory is there, or not for accesses of that size. */
static bool find_range(
	struct CUctx_st *context, CUdeviceptr at, uint64_t bytes, size_t alignment, struct muster_simcuda_range *ret)
{
	if (at % alignment != 0)
		context->broken = CUDA_ERROR_MISALIGNED_ADDRESS_;
	else if (!muster_simcuda_range_find(at, bytes, ret))
		context->broken = CUDA_ERROR_ILLEGAL_ADDRESS_;
	return context->broken == CUDA_SUCCESS;
}

/* The struct muster_standin_operation's poll: 1, or -1 when an address is wrong. A comparison reads two ranges. The
 * report is read, added to and written back, because several launches may add to one report. */
static int run(void *arg, double *seconds)
{
	const struct launch *launch = arg;
	struct CUctx_st *context = launch->context;
	struct muster_simcuda_range range, expected, report;
	struct muster_kernel_report noted;
	uint64_t bytes = launch->words * MUSTER_KERNEL_WORD;
	bool fills = launch->kernel == FILL, compares = launch->kernel == COMPARE;
	if (launch->words > UINT64_MAX / MUSTER_KERNEL_WORD)
		bytes = UINT64_MAX; /* no memory is so long */
	if (!find_range(context, launch->range, bytes, MUSTER_KERNEL_WORD, &range) ||
		(compares && !find_range(context, launch->expected, bytes, MUSTER_KERNEL_WORD, &expected)) ||
		(!fills && !find_range(context, launch->report, sizeof noted, sizeof(uint64_t), &report)))
		return -1;
	*seconds = (double)bytes * (compares ? 2 : 1) /
		   ((fills ? context->gpu->memory_write_gbps : context->gpu->memory_read_gbps) * 1e9);
	if (fills) {
		muster_simcuda_fill(range, bytes, &launch->pattern);
		return 1;
	}
	muster_simcuda_get(report, &noted, sizeof noted);
	if (launch->kernel == VERIFY)
		muster_simcuda_verify(range, bytes, &launch->pattern, launch->threads, &noted);
	else if (compares)
		muster_simcuda_compare(range, expected, bytes, launch->threads, &noted);
	else
		noted.wrong += muster_simcuda_sum(range, bytes);
	muster_simcuda_put(report, &noted, sizeof noted);
	return 1;
}

/* Which kernel a function of the context is; KERNEL_COUNT: the context does not have the function. */
static enum kernel find_kernel(const struct CUctx_st *context, CUfunction function)
{
	for (const struct CUmod_st *module = context->modules; module; module = module->next)
		for (enum kernel kernel = 0; kernel < KERNEL_COUNT; kernel++)
			if (function == &module->functions[kernel])
				return kernel;
	return KERNEL_COUNT;
}

/* Blocks and grids count only as a number of threads: each thread of a real kernel notes at most one difference. */
CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
	unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream,
	void **parameters, void **extra)
{
	struct CUctx_st *context;
	const uint64_t block = (uint64_t)block_x * block_y * block_z, grid = (uint64_t)grid_x * grid_y * grid_z;
	ENTER(muster_simcuda_enter_context(&context), true);
	enum kernel kernel = find_kernel(context, function);
	if (kernel == KERNEL_COUNT)
		return muster_simcuda_leave(CUDA_ERROR_INVALID_HANDLE);
	if (block == 0 || block > THREADS_MAX || grid == 0 || shared_bytes > 0 || !parameters || extra)
		return muster_simcuda_leave(CUDA_ERROR_INVALID_VALUE);
	struct launch *launch = muster_calloc(1, sizeof *launch);
	*launch = (struct launch){ .kernel = kernel, .context = context, .threads = grid * block };
	read_parameters(launch, parameters);
	const struct muster_standin_operation operation = {
		.poll = run, .done = free, .noise = MUSTER_SIM_NOISE_MEMORY, .arg = launch
	};
	if (!muster_standin_cuda_enqueue(stream, &operation)) {
		free(launch);
		return muster_simcuda_leave(CUDA_ERROR_INVALID_HANDLE);
	}
	return muster_simcuda_leave(CUDA_SUCCESS);
}
