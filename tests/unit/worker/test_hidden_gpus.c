/* SPDX-License-Identifier: Apache-2.0 */
/* test_hidden_gpus.c - CUDA_VISIBLE_DEVICES that hides every GPU */
#include "worker/hidden_gpus.h"

#include "check_main.h"
#include "vendor_fakes.h"

#include <stdio.h>

static unsigned int gpus;

static nvmlReturn_t count_gpus(unsigned int *ret)
{
	*ret = gpus;
	return NVML_SUCCESS;
}

static nvmlReturn_t by_index(unsigned int index, nvmlDevice_t *ret)
{
	static char devices[8];
	*ret = (nvmlDevice_t)(void *)&devices[index];
	return NVML_SUCCESS;
}

static nvmlReturn_t uuid_of(nvmlDevice_t device, char *uuid, unsigned int size)
{
	(void)device;
	snprintf(uuid, size, "GPU-53fbae45-06ac-4d88-d127-748913a9c54a");
	return NVML_SUCCESS;
}

static const struct {
	const char *visible; /* NULL: not set */
	unsigned int gpus, hidden;
} cases[] = {
	{ "-1", 8, 8 },
	{ "", 8, 8 },
	{ " ", 8, 8 },
	{ "8", 8, 8 },
	{ "8,0", 8, 8 },
	{ "3,3", 8, 8 },
	{ "3, 3", 8, 8 },
	{ "0,1,2,1", 8, 8 },
	{ "GPU-deadbeef", 8, 8 },
	{ "GPU-", 8, 8 },
	{ "MIG-53fbae45", 8, 8 },
	{ "NoDevFiles", 1, 1 },
	/* what names a GPU hides none of them by itself: the driver has another reason to show none */
	{ NULL, 8, 0 },
	{ "0", 8, 0 },
	{ "7", 8, 0 },
	{ " 0,1,2,3,4,5,6,7", 8, 0 },
	{ "1,10,0", 11, 0 },
	{ "1,-1,1", 8, 0 },
	{ "0,", 8, 0 },
	{ "GPU-53fbae45", 8, 0 },
	{ "-1", 0, 0 },
};

TEST_EACH(a_list_hides_all_gpus_when_it_starts_with_none_or_names_one_twice, cases)
{
	nvml_missing = false;
	scripted_nvml = (struct muster_nvml){ .nvmlDeviceGetCount_v2 = count_gpus,
		.nvmlDeviceGetHandleByIndex_v2 = by_index,
		.nvmlDeviceGetUUID = uuid_of };
	gpus = cases[_i].gpus;
	if (cases[_i].visible)
		setenv("CUDA_VISIBLE_DEVICES", cases[_i].visible, 1);
	else
		unsetenv("CUDA_VISIBLE_DEVICES");
	char why[512], expected[64] = "";
	muster_gpus_hidden("/nowhere", why, sizeof why);
	if (cases[_i].hidden)
		snprintf(expected, sizeof expected, " hides all %u GPUs of the node", cases[_i].hidden);
	ck_assert_msg(*expected ? strstr(why, expected) != NULL : !*why, "%s", why);
	nvml_missing = true;
	muster_gpus_hidden("/nowhere", why, sizeof why);
	ck_assert_str_eq(why, "");
}

TEST_MAIN(.setup = NULL)
