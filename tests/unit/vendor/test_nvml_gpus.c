/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvml_gpus.c - the GPUs of a scripted NVML, of which it cannot reach all */
#include "check_main.h"
#include "vendor/nvml_gpus.h"

#include "vendor_fakes.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int lost; /* a bit for each GPU without a handle */
static nvmlReturn_t count_result;

static nvmlReturn_t give_count(unsigned int *count)
{
	*count = 3;
	return count_result;
}

static nvmlReturn_t give_handle(unsigned int index, nvmlDevice_t *device)
{
	*device = (nvmlDevice_t)(uintptr_t)(index + 1);
	return lost >> index & 1 ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

static nvmlReturn_t give_pci(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	snprintf(pci->busId, sizeof pci->busId, "0000000%X:00:00.0", (unsigned int)(uintptr_t)device + 8);
	return NVML_SUCCESS;
}

static void setup(void)
{
	nvml_missing = false;
	lost = 0;
	count_result = NVML_SUCCESS;
	scripted_nvml.nvmlDeviceGetCount_v2 = give_count;
	scripted_nvml.nvmlDeviceGetHandleByIndex_v2 = give_handle;
	scripted_nvml.nvmlDeviceGetPciInfo_v3 = give_pci;
}

static const struct {
	unsigned int lost;
	const char *text;
} rows[] = {
	{ 0, "0009:00:00.0 000a:00:00.0 000b:00:00.0" },
	{ 1, "000a:00:00.0 000b:00:00.0" },
	{ 2, "0009:00:00.0 000b:00:00.0" },
	{ 4, "0009:00:00.0 000a:00:00.0" },
	{ 7, "" },
};

TEST_EACH(a_lost_gpu_does_not_hide_the_others, rows)
{
	struct muster_nvml_gpus gpus;
	struct muster_error err;
	lost = rows[_i].lost;
	ck_assert_msg(muster_nvml_gpus_list(&gpus, &err) == 0, "%s", err.text);
	char *text = muster_nvml_gpus_text(&gpus);
	ck_assert_str_eq(text, rows[_i].text);
	ck_assert_uint_eq(gpus.count, 3);
	ck_assert_uint_eq(gpus.reached, (strlen(text) + 1) / strlen("0009:00:00.0 "));
	for (unsigned int i = 0; i < 3; i++) {
		char why[128];
		snprintf(why, sizeof why, "GPU %u in NVML's order: nvmlDeviceGetHandleByIndex_v2: result 15", i);
		if (lost >> i & 1)
			ck_assert_str_eq(gpus.items[i].error.text, why);
	}
	free(text);
	muster_nvml_gpus_done(&gpus);
}

TEST(without_a_count_there_is_no_list)
{
	struct muster_nvml_gpus gpus;
	struct muster_error err;
	count_result = NVML_ERROR_UNKNOWN;
	ck_assert_int_eq(muster_nvml_gpus_list(&gpus, &err), -1);
	ck_assert_str_eq(err.text, "nvmlDeviceGetCount_v2: result 999");
	nvml_missing = true;
	ck_assert_int_eq(muster_nvml_gpus_list(&gpus, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "libnvidia-ml.so.1"));
}

TEST_MAIN(.setup = setup)
