/* test_fabric.c - fabrics, C2C links and peers against a scripted NVML and CUDA driver
 *
 * The scripts below stand where src/vendor/ would open the vendor's libraries.
 */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor_fakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct muster_probe muster_probe_fabric;

#define BUS_ID "0008:01:00.0"
#define CLUSTER "1a2b3c4d-5e6f-4081-92a3-b4c5d6e7f809"
#define NO_CLUSTER "00000000-0000-0000-0000-000000000000"

static struct probe_fake *context;

static struct {
	unsigned int
		newest; /* version of the fabric's struct: 3, 2, or 1 when NVML has only the first function, 0: none */
	nvmlReturn_t fabric_result, status;
	nvmlGpuFabricState_t state;
	unsigned int clique, mask;
	unsigned char summary, uuid[16];
	nvmlReturn_t fields_result, count_result, speed_result;
	nvmlReturn_t last_status;                   /* of asking the last link */
	unsigned int links, links_up, mbps, slower; /* mbps: of link 1; the others have so much less */
	int devices;
	unsigned int unreachable; /* a bit for each device that cannot be reached */
	CUresult count_devices_result, peer_result;
} script;

static nvmlReturn_t give_fabric(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
	(void)device;
	if (script.newest == 0)
		return NVML_ERROR_FUNCTION_NOT_FOUND;
	memcpy(info->clusterUuid, script.uuid, sizeof info->clusterUuid);
	info->status = script.status;
	info->cliqueId = script.clique;
	info->state = script.state;
	return script.fabric_result;
}

static nvmlReturn_t give_fabric_version(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
	(void)device;
	unsigned int version = info->version >> 24;
	if (script.newest < 2)
		return NVML_ERROR_FUNCTION_NOT_FOUND;
	if (version < 2 || version > script.newest)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	ck_assert_uint_eq(info->version & 0xffffff, version == 3 ? 40 : 36);
	memcpy(info->clusterUuid, script.uuid, sizeof info->clusterUuid);
	info->status = script.status;
	info->cliqueId = script.clique;
	info->state = script.state;
	info->healthMask = script.mask;
	if (version == 3)
		info->healthSummary = script.summary;
	return script.fabric_result;
}

static nvmlReturn_t give_fields(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	(void)device;
	ck_assert_int_eq(count, 1);
	values->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
	values->nvmlReturn = NVML_SUCCESS;
	switch (values->fieldId) {
	case NVML_FI_DEV_C2C_LINK_COUNT:
		values->value.uiVal = script.links;
		values->nvmlReturn = script.count_result;
		break;
	case NVML_FI_DEV_C2C_LINK_GET_STATUS:
		values->value.uiVal = values->scopeId < script.links_up;
		if (values->scopeId + 1 == script.links)
			values->nvmlReturn = script.last_status;
		break;
	case NVML_FI_DEV_C2C_LINK_GET_MAX_BW:
		ck_assert_uint_lt(values->scopeId, script.links_up);
		values->value.uiVal = script.mbps - (values->scopeId == 1 ? 0 : script.slower);
		values->nvmlReturn = script.speed_result;
		break;
	default: ck_abort_msg("field %u", values->fieldId);
	}
	return script.fields_result;
}

static CUresult give_count(int *count)
{
	*count = script.devices;
	return script.count_devices_result;
}

static CUresult give_device(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return CUDA_SUCCESS;
}

static CUresult give_access(int *can, CUdevice device, CUdevice peer)
{
	ck_assert_int_eq(device, 0);
	ck_assert_int_ne(peer, 0);
	*can = !(script.unreachable & 1u << peer);
	return script.peer_result;
}

/* A GPU of a rack, all well. */
static void setup(void)
{
	static const unsigned char uuid[16] = { 0x1a, 0x2b, 0x3c, 0x4d, 0x5e, 0x6f, 0x40, 0x81, 0x92, 0xa3, 0xb4, 0xc5,
		0xd6, 0xe7, 0xf8, 0x09 };
	context = fake_new(&muster_probe_fabric);
	fake_gpu(context, BUS_ID, "GPU-1");
	context->gpu.has_nvml = true;
	scripted_nvml = (struct muster_nvml){ .nvmlDeviceGetGpuFabricInfo = give_fabric,
		.nvmlDeviceGetGpuFabricInfoV = give_fabric_version,
		.nvmlDeviceGetFieldValues = give_fields };
	scripted_cuda = (struct muster_cuda){
		.cuDeviceGetCount = give_count, .cuDeviceGet = give_device, .cuDeviceCanAccessPeer = give_access
	};
	nvml_missing = cuda_missing = false;
	memset(&script, 0, sizeof script);
	memcpy(script.uuid, uuid, sizeof uuid);
	script.newest = 3;
	script.state = NVML_GPU_FABRIC_STATE_COMPLETED;
	script.clique = 32766;
	script.mask = 0x1aa;
	script.summary = NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY;
	script.links = script.links_up = 10;
	script.mbps = 44712;
	script.devices = 4;
}

static void teardown(void)
{
	fake_free(context);
}

static void measure(void)
{
	struct muster_error err;
	ck_assert_msg(muster_probe_fabric.run(&context->ctx, &err) == 0, "%s", err.text);
	fake_complete(context, NULL);
	ck_assert_str_eq(context->steps, "CUDA: peer access of GPU " BUS_ID "\nNVML: open\n"
					 "NVML: NVLink fabric of GPU " BUS_ID "\nNVML: C2C links of GPU " BUS_ID "\n");
}

static const char *cluster_label(void)
{
	const struct muster_sample *sample = fake_sample(context, "gpu.fabric_clique", BUS_ID, NULL);
	ck_assert_uint_eq(sample->label_count, 2);
	return sample->labels[1].value.string;
}

TEST_LOOP(a_gpu_of_a_rack_tells_all_whatever_the_age_of_the_driver, 1, 4)
{
	script.newest = (unsigned int)_i;
	measure();
	ck_assert_str_eq(fake_string(context, "gpu.fabric_state", BUS_ID), "completed");
	ck_assert_str_eq(fake_string(context, "gpu.fabric_status", BUS_ID), "success");
	ck_assert_str_eq(fake_string(context, "gpu.fabric_cluster", BUS_ID), CLUSTER);
	ck_assert_double_eq(fake_number(context, "gpu.fabric_clique", BUS_ID), 32766);
	ck_assert_str_eq(cluster_label(), CLUSTER);
	if (_i >= 2)
		ck_assert_str_eq(fake_string(context, "gpu.fabric_health", BUS_ID), "healthy");
	else
		ck_assert_str_eq(
			fake_reason(context, "gpu.fabric_health", BUS_ID), "nvmlDeviceGetGpuFabricInfoV: result 13");
	ck_assert_double_eq(fake_number(context, "gpu.c2c_links", BUS_ID), 10);
	ck_assert_double_eq_tol(fake_number(context, "gpu.c2c_gbps", BUS_ID), 44.712, 1e-9);
	ck_assert_double_eq(fake_number(context, "gpu.peers", BUS_ID), 3);
	ck_assert_double_eq(fake_number(context, "gpu.p2p_peers", BUS_ID), 3);
}

static const struct {
	unsigned int newest;
	nvmlReturn_t result;
	const char *reason;
} silences[] = {
	{ 0, NVML_SUCCESS, "nvmlDeviceGetGpuFabricInfo: result 13" },
	{ 1, NVML_ERROR_NOT_SUPPORTED, "nvmlDeviceGetGpuFabricInfo: result 3" },
	{ 3, NVML_ERROR_NOT_SUPPORTED, "nvmlDeviceGetGpuFabricInfoV: result 3" },
	{ 3, NVML_ERROR_GPU_IS_LOST, "nvmlDeviceGetGpuFabricInfoV: result 15" },
};

TEST_EACH(what_nvml_does_not_tell_of_a_fabric_is_null_with_its_reason, silences)
{
	static const char *const all[] = { "gpu.fabric_state", "gpu.fabric_status", "gpu.fabric_cluster",
		"gpu.fabric_clique", "gpu.fabric_health" };
	script.newest = silences[_i].newest;
	script.fabric_result = silences[_i].result;
	measure();
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		ck_assert_str_eq(fake_reason(context, all[i], BUS_ID), silences[_i].reason);
	ck_assert_double_eq(fake_number(context, "gpu.c2c_links", BUS_ID), 10);
}

static const struct {
	nvmlGpuFabricState_t state;
	const char *name;
} states[] = {
	{ NVML_GPU_FABRIC_STATE_NOT_SUPPORTED, "not-supported" },
	{ NVML_GPU_FABRIC_STATE_NOT_STARTED, "not-started" },
	{ NVML_GPU_FABRIC_STATE_IN_PROGRESS, "in-progress" },
	{ 9, "state 9" },
};

TEST_EACH(before_a_fabric_is_joined_there_is_no_status_and_the_rest_is_as_it_is, states)
{
	script.state = states[_i].state;
	memset(script.uuid, 0, sizeof script.uuid);
	script.clique = 0;
	script.mask = script.summary = 0;
	measure();
	ck_assert_str_eq(fake_string(context, "gpu.fabric_state", BUS_ID), states[_i].name);
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.fabric_status", BUS_ID), states[_i].name));
	ck_assert_str_eq(fake_string(context, "gpu.fabric_cluster", BUS_ID), NO_CLUSTER);
	ck_assert_str_eq(cluster_label(), NO_CLUSTER);
	ck_assert_double_eq(fake_number(context, "gpu.fabric_clique", BUS_ID), 0);
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.fabric_health", BUS_ID), "are 0"));
}

TEST(a_fabric_that_was_joined_in_vain_is_told_in_nvmls_words)
{
	script.status = NVML_ERROR_UNKNOWN;
	measure();
	ck_assert_str_eq(fake_string(context, "gpu.fabric_status", BUS_ID), "result 999");
}

static const struct {
	unsigned int mask;
	unsigned char summary;
	const char *health;
} healths[] = {
	{ 0xaa, 0, "healthy" },
	{ 0x1aa, NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY, "healthy" },
	{ 0x2, 0, "healthy" }, /* an older driver: only the bandwidth */
	{ 0, NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY, "healthy" },
	{ 0xa9, NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY, "degraded-bandwidth" },
	{ 0xa6, 0, "route-recovery" },
	{ 0x9a, 0, "route-unhealthy" },
	{ 0x6a, 0, "access-timeout-recovery" },
	{ 0x55, 0, "degraded-bandwidth route-recovery route-unhealthy access-timeout-recovery" },
	{ 0x2aa, 0, "incorrect-configuration:incorrect-sysguid" },
	{ 0x4a9, 0, "degraded-bandwidth incorrect-configuration:no-partition" },
	{ 0x5aa, 0, "incorrect-configuration:insufficient-nvlinks" },
	{ 0x8aa, 0, "incorrect-configuration:gpu-state-invalid" },
	{ 0xfaa, 0, "incorrect-configuration:unknown" },
	{ 0x3aa, 0, "incorrect-configuration:incorrect-chassis-sn" },
	{ 0x6aa, 0, "incorrect-configuration:incompatible-gpu-firmware" },
	{ 0x7aa, 0, "incorrect-configuration:invalid-location" },
	{ 0x9aa, 0, "incorrect-configuration:unknown" },
	{ 0x51aa, NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY, "healthy" }, /* fields of newer drivers where 1 is good */
	{ 0x91aa, NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY, "unhealthy" },
	{ 0x1aa, NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY, "limited-capacity" },
};

TEST_EACH(health_is_what_the_fields_of_the_mask_say, healths)
{
	script.mask = healths[_i].mask;
	script.summary = healths[_i].summary;
	measure();
	ck_assert_str_eq(fake_string(context, "gpu.fabric_health", BUS_ID), healths[_i].health);
}

static const struct {
	const char *what;
	nvmlReturn_t fields_result, count_result, speed_result;
	unsigned int links, up, mbps;
	double expected; /* links; -1: null */
	const char *no_speed;
} c2cs[] = {
	{ "one down", NVML_SUCCESS, NVML_SUCCESS, NVML_SUCCESS, 10, 9, 44712, 9, NULL },
	{ "all down", NVML_SUCCESS, NVML_SUCCESS, NVML_SUCCESS, 10, 0, 44712, 0, "no C2C link is up" },
	{ "none there", NVML_SUCCESS, NVML_SUCCESS, NVML_SUCCESS, 0, 0, 0, 0, "no C2C link is up" },
	{ "none on such a GPU", NVML_SUCCESS, NVML_ERROR_NOT_SUPPORTED, NVML_SUCCESS, 7, 7, 0, 0, "no C2C link is up" },
	{ "a driver that has not heard of them", NVML_SUCCESS, NVML_ERROR_INVALID_ARGUMENT, NVML_SUCCESS, 0, 0, 0, -1,
		"NVML_FI_DEV_C2C_LINK_COUNT: result 2" },
	{ "no field at all", NVML_ERROR_NOT_SUPPORTED, NVML_SUCCESS, NVML_SUCCESS, 10, 10, 0, -1,
		"nvmlDeviceGetFieldValues: result 3" },
	{ "no speed", NVML_SUCCESS, NVML_SUCCESS, NVML_ERROR_NOT_SUPPORTED, 2, 2, 44712, 2,
		"NVML_FI_DEV_C2C_LINK_GET_MAX_BW gives no speed" },
	{ "no speed in it", NVML_SUCCESS, NVML_SUCCESS, NVML_SUCCESS, 2, 2, 0, 2,
		"NVML_FI_DEV_C2C_LINK_GET_MAX_BW gives no speed" },
};

TEST_EACH(c2c_links_that_are_up_are_counted, c2cs)
{
	script.fields_result = c2cs[_i].fields_result;
	script.count_result = c2cs[_i].count_result;
	script.speed_result = c2cs[_i].speed_result;
	script.links = c2cs[_i].links;
	script.links_up = c2cs[_i].up;
	script.mbps = c2cs[_i].mbps;
	measure();
	if (c2cs[_i].expected < 0)
		ck_assert_str_eq(fake_reason(context, "gpu.c2c_links", BUS_ID), c2cs[_i].no_speed);
	else
		ck_assert_msg(fake_number(context, "gpu.c2c_links", BUS_ID) == c2cs[_i].expected, "%s", c2cs[_i].what);
	const struct muster_sample *limit = fake_sample(context, "gpu.c2c_limit_gbps", BUS_ID, NULL);
	if (c2cs[_i].no_speed) {
		ck_assert_str_eq(fake_reason(context, "gpu.c2c_gbps", BUS_ID), c2cs[_i].no_speed);
		ck_assert_str_eq(limit->reason, c2cs[_i].no_speed);
		return;
	}
	ck_assert_double_eq_tol(fake_number(context, "gpu.c2c_gbps", BUS_ID), 44.712, 1e-9);
	ck_assert_double_eq_tol(limit->value.number, 44.712 * c2cs[_i].expected, 1e-9);
	ck_assert_str_eq(muster_sample_label(limit, "link")->string, "C2C (9 x 44.7)");
}

TEST(the_speed_of_c2c_is_that_of_the_fastest_link)
{
	script.slower = 10000;
	measure();
	ck_assert_double_eq_tol(fake_number(context, "gpu.c2c_gbps", BUS_ID), 44.712, 1e-9);
}

TEST(a_c2c_link_that_cannot_be_asked_is_not_taken_for_one_that_is_down)
{
	static const char *const both[] = { "gpu.c2c_links", "gpu.c2c_gbps" };
	script.last_status = NVML_ERROR_GPU_IS_LOST;
	measure();
	for (size_t i = 0; i < 2; i++)
		ck_assert_str_eq(fake_reason(context, both[i], BUS_ID),
			"C2C link 9: NVML_FI_DEV_C2C_LINK_GET_STATUS: result 15");
}

TEST(without_cuda_the_peers_are_unknown_and_the_fabric_is_told)
{
	static const char *const both[] = { "gpu.peers", "gpu.p2p_peers" };
	cuda_missing = true;
	measure();
	for (size_t i = 0; i < 2; i++)
		ck_assert_ptr_nonnull(strstr(fake_reason(context, both[i], BUS_ID), "libcuda.so.1"));
	ck_assert_str_eq(fake_string(context, "gpu.fabric_status", BUS_ID), "success");
}

TEST(a_rank_that_sees_only_its_own_gpu_cannot_tell_of_peer_access)
{
	script.devices = 1;
	measure();
	ck_assert_double_eq(fake_number(context, "gpu.peers", BUS_ID), 0);
	ck_assert_str_eq(fake_reason(context, "gpu.p2p_peers", BUS_ID), "CUDA shows only this rank's own GPU");
}

TEST(peers_that_cannot_be_reached_do_not_count)
{
	script.unreachable = 1u << 2;
	measure();
	ck_assert_double_eq(fake_number(context, "gpu.peers", BUS_ID), 3);
	ck_assert_double_eq(fake_number(context, "gpu.p2p_peers", BUS_ID), 2);
	fake_forget(context);
	script.peer_result = CUDA_ERROR_UNKNOWN;
	measure();
	ck_assert_str_eq(
		fake_reason(context, "gpu.p2p_peers", BUS_ID), "CUDA device 1: cuDeviceCanAccessPeer: result 999");
	fake_forget(context);
	script.count_devices_result = CUDA_ERROR_NOT_INITIALIZED;
	measure();
	ck_assert_str_eq(fake_reason(context, "gpu.peers", BUS_ID), "cuDeviceGetCount: result 3");
}

TEST(without_nvml_the_peers_are_told_all_the_same)
{
	struct muster_error err;
	nvml_missing = true;
	ck_assert_int_eq(muster_probe_fabric.run(&context->ctx, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ELIB);
	ck_assert_double_eq(fake_number(context, "gpu.p2p_peers", BUS_ID), 3);
	fake_forget(context);
	nvml_missing = context->gpu.has_nvml = false;
	ck_assert_int_eq(muster_probe_fabric.run(&context->ctx, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, BUS_ID));
}

TEST_MAIN(.setup = setup, .teardown = teardown)
