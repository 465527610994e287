/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c - how NVML and CUDA started, and what of the NVIDIA driver the node has: module, libraries, files
 *
 * The leader also yields the module, the libraries and the device files: they say what is wrong where neither library
 * starts. No check but same.driver_flavour evaluates these values; the causes of an expectation file are recognised by
 * them.
 *
 * Whether NVML or CUDA start is known before any probe runs: the worker has called cuInit, and a worker that died of a
 * library is replaced by one that does not open it again (muster_library_refuse). This probe only puts the answers into
 * words.
 */
#include "system/mounts.h"
#include "system/sysfs.h"
#include "vendor/cuda.h"
#include "vendor/library.h"
#include "vendor/nvml.h"
#include "util/text.h"
#include "muster/arena.h"
#include "probes/metrics.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct muster_metric metrics[] = {
	RANK_TEXT("rank.driver_start", FACT, NOTHING,
		"\"ok\", or the libraries that did not start, each with the code of its first call that failed "
		"(\"nvml-18 cuda-803\"), \"missing\", or \"died\" where a worker hung or crashed in it"),
	RANK_NUMBER("rank.cuda_start_ms", MS, DRIFTS, "time of cuInit, which starts the driver"),
	NODE_TEXT("node.driver_module", DRIFTS, NOTHING,
		"version of the loaded module nvidia; \"none\": it is not loaded"),
	NODE_TEXT("node.driver_flavour", FACT, NOTHING,
		"kernel modules of the NVIDIA driver that are loaded: \"open\", \"proprietary\"",
		SHOWN(IN(SOFTWARE, 32, "NVIDIA kernel modules"))),
	NODE_TEXT("node.driver_libraries", DRIFTS, NOTHING,
		"files of libcuda and libnvidia-ml, whose names have the version, and the version that NVML gives"),
	NODE_TEXT("node.device_files", FACT, NOTHING,
		"files in /dev that all GPUs need and this process cannot open, each with the reason; \"none\""),
};

/* rank.driver_start, by what is known:
 *
 *   no library failed                          "ok"
 *   NVML: missing; nvmlInit_v2 failed          "nvml-missing"; "nvml-18"
 *   CUDA: missing; cuInit or context failed    "cuda-missing"; "cuda-803"
 *   a worker before hung or crashed in one     "nvml-died" or "cuda-died"
 *   nothing of this is known                   null
 *
 * NVML's word comes first; of CUDA there is one word at most. asked: the worker has called CUDA. nvml: as
 * muster_nvml_start, 0 where it was not asked. */
static void measure_start(struct muster_probe_ctx *ctx, bool asked, int nvml)
{
	const struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	char *text = NULL;
	if (nvml != 0)
		muster_list_add(&text, " ", nvml < 0 ? "nvml-missing" : "nvml-%d", nvml);
	if (asked && !muster_cuda(NULL))
		muster_list_add(&text, " ", "cuda-missing");
	else if (gpu->died_of)
		muster_list_add(&text, " ", "%s-died", gpu->died_of);
	else if (gpu->cuda_result != 0)
		muster_list_add(&text, " ", "cuda-%d", gpu->cuda_result);
	muster_emit_result(ctx, "rank.driver_start", NULL, text || gpu->visible >= 0 ? 0 : -1,
		muster_string(text ? text : "ok"), gpu->why_none);
	free(text);
	if (gpu->cuda_start_ms > 0)
		muster_emit_for(ctx, "rank.cuda_start_ms", NULL, muster_number(gpu->cuda_start_ms));
	else
		muster_emit_null_for(ctx, "rank.cuda_start_ms", NULL, "CUDA was not started");
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.16  Release Build", or of the proprietary module
 * "NVIDIA UNIX x86_64 Kernel Module  580.126.16  Thu Sep ..." (NVIDIA/open-gpu-kernel-modules,
 * kernel-open/nvidia/nv-procfs.c, src/nvidia/Makefile). A container may cover the file. */
static void measure_module(struct muster_probe_ctx *ctx)
{
	const char *root = muster_probe_env(ctx)->root;
	char path[PATH_MAX], text[256], container[64];
	struct muster_error why;
	muster_container_name(root, container, sizeof container);
	bool covered = strcmp(container, "none") != 0 && muster_module_is_loaded(root, "nvidia");
	muster_root_path(ctx, path, sizeof path, "/proc/driver/nvidia/version");
	int result = muster_read_line(path, text, sizeof text, &why);
	bool named = result == 0 && strncmp(text, "NVRM version:", strlen("NVRM version:")) == 0;
	if (result == 0)
		muster_fail(&why, MUSTER_EIO, "%s", named ? "the file has no version" : "the file names no driver");
	const char *flavour = named && strstr(text, "Open Kernel Module") ? "open" : "proprietary";
	muster_emit_read(ctx, "node.driver_flavour", NULL, named ? 0 : -1, muster_string(flavour), &why);
	char *version = named ? strstr(text, "  ") : NULL;
	if (version)
		*strchrnul(version += 2, ' ') = '\0';
	muster_emit_read(ctx, "node.driver_module", NULL, version || (result < 0 && !covered) ? 0 : -1,
		muster_string(version ? version : "none"), &why);
}

/* The two files in /dev that every GPU needs, as far as this process may open them for reading and writing (access, so
 * that nothing is opened); and the files that the loader took for both libraries. */
static void measure_files(struct muster_probe_ctx *ctx, const char *nvml_version)
{
	static const char *const files[] = { "/dev/nvidiactl", "/dev/nvidia-uvm" };
	char path[PATH_MAX], *unusable = NULL, *libraries = NULL;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (access(muster_root_path(ctx, path, sizeof path, "%s", files[i]), R_OK | W_OK) < 0)
			muster_list_add(&unusable, "; ", "%s: %s", files[i], strerror(errno));
	muster_emit_for(ctx, "node.device_files", NULL, muster_string(unusable ? unusable : "none"));
	if (muster_cuda_library.handle)
		muster_list_add(&libraries, ", ", "%s", muster_cuda_library.path);
	if (muster_nvml_library.handle)
		muster_list_add(&libraries, ", ", "%s (%s)", muster_nvml_library.path, nvml_version);
	muster_emit_result(ctx, "node.driver_libraries", NULL, libraries ? 0 : -1, muster_string(libraries),
		"neither libcuda.so.1 nor libnvidia-ml.so.1 can be opened");
	free(unusable);
	free(libraries);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	const bool asked = gpu->visible >= 0 || gpu->why_code != MUSTER_OK;
	char nvml_version[96] = "no version";
	(void)err;
	measure_start(ctx, asked, asked ? muster_nvml_start(nvml_version, sizeof nvml_version) : 0);
	if (muster_probe_env(ctx)->leader) {
		measure_module(ctx);
		measure_files(ctx, nvml_version);
	}
	return 0;
}

const struct muster_probe muster_probe_driver = {
	.name = "driver",
	.summary = "how NVML and CUDA started, and the module, libraries and files of the NVIDIA driver",
	.scope = MUSTER_SCOPE_RANK,
	.deadline_ms = 10000,
	.order = 21,
	METRICS(metrics),
	.run = run,
};
