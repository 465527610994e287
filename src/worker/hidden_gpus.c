/* SPDX-License-Identifier: Apache-2.0 */
/* hidden_gpus.c - whether every GPU is hidden: by CUDA_VISIBLE_DEVICES, as the driver reads it, or from the job
 *
 * What CUDA_VISIBLE_DEVICES hides of two GPUs:
 *
 *   "0,1"  "1"  "GPU-8f3c…"    not all
 *   ""  "-1"  "2"  "NoGPU"     all: the first entry names no GPU
 *   "0,2"                      not all: the driver stops at 2, behind GPU 0
 *   "0,0"  "1,0,1"             all: an entry stands twice
 */
#include "hidden_gpus.h"

#include "system/nvidia_gpus.h"
#include "vendor/nvml.h"
#include "util/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_uuid_of_gpu(const struct muster_nvml *nvml, unsigned int count, const char *entry, size_t length)
{
	char uuid[MUSTER_UUID_TEXT_SIZE + sizeof "GPU-"];
	nvmlDevice_t device;
	for (unsigned int i = 0; i < count; i++)
		if (nvml->nvmlDeviceGetHandleByIndex_v2(i, &device) == NVML_SUCCESS &&
			nvml->nvmlDeviceGetUUID(device, uuid, sizeof uuid) == NVML_SUCCESS &&
			strncmp(uuid, entry, length) == 0)
			return true;
	return false;
}

/* Whether an entry of CUDA_VISIBLE_DEVICES names one of count GPUs: by its number or the start of its UUID. */
static bool names_gpu(const struct muster_nvml *nvml, unsigned int count, const char *entry, size_t length)
{
	char *end;
	if (length > 4 && strncmp(entry, "GPU-", 4) == 0)
		return is_uuid_of_gpu(nvml, count, entry, length);
	long index = strtol(entry, &end, 10);
	return end == entry + length && length > 0 && index >= 0 && index < (long)count;
}

/* Whether a list hides every GPU: its first entry, where the driver stops reading, names none, or one entry before such
 * an entry stands twice (CUDA C++ Programming Guide, CUDA Environment Variables). */
static bool hides_all(const struct muster_nvml *nvml, unsigned int count, const char *visible)
{
	for (const char *at = visible;; at++) {
		at += strspn(at, " \t\n");
		size_t length = strcspn(at, ", \t\n");
		if (!names_gpu(nvml, count, at, length))
			return at == visible + strspn(visible, " \t\n");
		for (const char *other = visible; other < at; other++) {
			other += strspn(other, " \t\n");
			if (strcspn(other, ", \t\n") == length && other < at && strncmp(other, at, length) == 0)
				return true;
			other += strcspn(other, ",");
		}
		at += strcspn(at, ",");
		if (*at == '\0')
			return false;
	}
}

static unsigned int hidden_by_variable(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	struct muster_error err;
	const struct muster_nvml *nvml = visible ? muster_nvml(&err) : NULL;
	unsigned int count = 0;
	if (!nvml || nvml->nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS || count == 0)
		return 0;
	return hides_all(nvml, count, visible) ? count : 0;
}

void muster_gpus_hidden(const char *root, char *ret, size_t size)
{
	struct muster_nvidia_gpus bus;
	unsigned int count = hidden_by_variable();
	*ret = '\0';
	if (count > 0)
		snprintf(ret, size, "CUDA_VISIBLE_DEVICES=\"%s\" hides all %u GPUs of the node from this rank",
			getenv("CUDA_VISIBLE_DEVICES"), count);
	else if (muster_nvidia_gpus_list(root, &bus, NULL) == 0) {
		size_t hidden = muster_nvidia_gpus_count(&bus, MUSTER_NVIDIA_HIDDEN);
		if (hidden > 0 && muster_nvidia_gpus_count(&bus, MUSTER_NVIDIA_OURS) == 0)
			snprintf(ret, size, "all %zu GPUs of the node are hidden from this rank", hidden);
		muster_nvidia_gpus_done(&bus);
	}
}
