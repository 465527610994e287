/* SPDX-License-Identifier: Apache-2.0 */
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
	unsigned int state;
	unsigned int clique, mask, summary;
	unsigned char uuid[16];
	bool joined; /* else the cluster is 0 */
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
	memset(info->clusterUuid, 0, sizeof info->clusterUuid);
	if (script.joined)
		memcpy(info->clusterUuid, script.uuid, sizeof info->clusterUuid);
	info->status = script.status;
	info->cliqueId = script.clique;
	info->state = (nvmlGpuFabricState_t)script.state;
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
	memset(info->clusterUuid, 0, sizeof info->clusterUuid);
	if (script.joined)
		memcpy(info->clusterUuid, script.uuid, sizeof info->clusterUuid);
	info->status = script.status;
	info->cliqueId = script.clique;
	info->state = (nvmlGpuFabricState_t)script.state;
	info->healthMask = script.mask;
	if (version == 3)
		info->healthSummary = (unsigned char)script.summary;
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

#define KNOB(field) FAKE_KNOB(#field, script.field)

static const struct fake_knob knobs[] = { KNOB(newest), KNOB(fabric_result), KNOB(status), KNOB(state), KNOB(clique),
	KNOB(mask), KNOB(summary), KNOB(joined), KNOB(fields_result), KNOB(count_result), KNOB(speed_result),
	KNOB(last_status), KNOB(links), KNOB(links_up), KNOB(mbps), KNOB(slower), KNOB(devices), KNOB(unreachable),
	KNOB(count_devices_result), KNOB(peer_result), FAKE_KNOB("nvml_missing", nvml_missing),
	FAKE_KNOB("cuda_missing", cuda_missing), { .name = NULL } };

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
	context->knobs = knobs;
	context->place = BUS_ID;
	memset(&script, 0, sizeof script);
	memcpy(script.uuid, uuid, sizeof uuid);
	fake_given(context,
		"newest=3 | state=3 | clique=32766 | mask=0x1aa | summary=1 | joined=1 | links=10 | links_up=10 | "
		"mbps=44712 | devices=4");
}

static void teardown(void)
{
	fake_free(context);
}

#define IN_CLUSTER(cluster) "gpu.fabric_clique gpu=" BUS_ID " cluster=" cluster " "
#define WELL(health)                                                                                                   \
	"gpu.fabric_state 'completed | gpu.fabric_status 'success | gpu.fabric_cluster '" CLUSTER                      \
	" | " IN_CLUSTER(CLUSTER) "32766 | gpu.fabric_health " health                                                  \
				  " | gpu.c2c_links 10 | gpu.c2c_gbps 44.712~1e-9 | gpu.peers 3 | gpu.p2p_peers 3"
#define SILENT(newest, result, why)                                                                                    \
	{                                                                                                              \
		"what NVML does not tell of a fabric", "newest=" newest " | fabric_result=" result,                    \
			"gpu.fabric_state -" why " | gpu.fabric_status -" why " | gpu.fabric_cluster -" why            \
			" | gpu.fabric_clique -" why " | gpu.fabric_health -" why " | gpu.c2c_links 10"                \
	}
#define STATE(state, name)                                                                                             \
	{                                                                                                              \
		"before a fabric is joined there is no status",                                                        \
			"state=" state " | joined=0 | clique=0 | mask=0 | summary=0",                                  \
			"gpu.fabric_state '" name " | gpu.fabric_status -*" name "* | gpu.fabric_cluster '" NO_CLUSTER \
			" | " IN_CLUSTER(NO_CLUSTER) "0 | gpu.fabric_health -*are 0*"                                  \
	}
#define HEALTH(mask, summary, health)                                                                                  \
	{                                                                                                              \
		"health is what the fields of the mask say", "mask=" mask " | summary=" summary,                       \
			"gpu.fabric_health '" health                                                                   \
	}
#define SPEED(links, why) "gpu.c2c_links " links " | gpu.c2c_gbps -" why " | gpu.c2c_limit_gbps -" why
#define NONE_UP SPEED("0", "no C2C link is up")
#define NO_SPEED SPEED("2", "NVML_FI_DEV_C2C_LINK_GET_MAX_BW gives no speed")
#define LINK_9 "-C2C link 9: NVML_FI_DEV_C2C_LINK_GET_STATUS: result 15"

static const struct fake_row rows[] = {
	{ "a GPU of a rack, an old driver", "newest=1", WELL("-nvmlDeviceGetGpuFabricInfoV: result 13") },
	{ "a GPU of a rack, a newer driver", "newest=2", WELL("'healthy") },
	{ "a GPU of a rack, the newest driver", "newest=3", WELL("'healthy") },
	SILENT("0", "0", "nvmlDeviceGetGpuFabricInfo: result 13"),
	SILENT("1", "3", "nvmlDeviceGetGpuFabricInfo: result 3"),
	SILENT("3", "3", "nvmlDeviceGetGpuFabricInfoV: result 3"),
	SILENT("3", "15", "nvmlDeviceGetGpuFabricInfoV: result 15"),
	STATE("0", "not-supported"),
	STATE("1", "not-started"),
	STATE("2", "in-progress"),
	{ "a state of the future", "state=9", "gpu.fabric_state 'state 9 | gpu.fabric_status 'success" },
	{ "a fabric that was joined in vain is told in NVML's words", "status=999", "gpu.fabric_status 'result 999" },

	/* summary: 1 healthy, 2 unhealthy, 3 limited capacity */
	HEALTH("0xaa", "0", "healthy"),
	HEALTH("0x1aa", "1", "healthy"),
	HEALTH("0x2", "0", "healthy"), /* an older driver: only the bandwidth */
	HEALTH("0", "1", "healthy"),
	HEALTH("0xa9", "3", "degraded-bandwidth"),
	HEALTH("0xa6", "0", "route-recovery"),
	HEALTH("0x9a", "0", "route-unhealthy"),
	HEALTH("0x6a", "0", "access-timeout-recovery"),
	HEALTH("0x55", "0", "degraded-bandwidth route-recovery route-unhealthy access-timeout-recovery"),
	HEALTH("0x2aa", "0", "incorrect-configuration:incorrect-sysguid"),
	HEALTH("0x4a9", "0", "degraded-bandwidth incorrect-configuration:no-partition"),
	HEALTH("0x5aa", "0", "incorrect-configuration:insufficient-nvlinks"),
	HEALTH("0x8aa", "0", "incorrect-configuration:gpu-state-invalid"),
	HEALTH("0xfaa", "0", "incorrect-configuration:15"),
	HEALTH("0x3aa", "0", "incorrect-configuration:incorrect-chassis-sn"),
	HEALTH("0x6aa", "0", "incorrect-configuration:incompatible-gpu-firmware"),
	HEALTH("0x7aa", "0", "incorrect-configuration:invalid-location"),
	HEALTH("0x9aa", "0", "incorrect-configuration:9"),
	HEALTH("0x51aa", "1", "healthy"), /* fields of newer drivers where 1 is good */
	HEALTH("0x91aa", "2", "unhealthy"),
	HEALTH("0x1aa", "3", "limited-capacity"),
	HEALTH("0x1aa", "4", "summary 4"),

	{ "one C2C link down", "links_up=9",
		"gpu.c2c_links 9 | gpu.c2c_gbps 44.712~1e-9 | "
		"gpu.c2c_limit_gbps gpu=" BUS_ID " link=C2C~(9~x~44.7) 402.408~1e-9" },
	{ "all C2C links down", "links_up=0", NONE_UP },
	{ "no C2C links there", "links=0 | links_up=0 | mbps=0", NONE_UP },
	{ "no C2C links on such a GPU", "count_result=3 | links=7 | links_up=7 | mbps=0", NONE_UP },
	{ "a driver that has not heard of C2C links", "count_result=2 | links=0 | links_up=0 | mbps=0",
		SPEED("-NVML_FI_DEV_C2C_LINK_COUNT: result 2", "NVML_FI_DEV_C2C_LINK_COUNT: result 2") },
	{ "no field at all", "fields_result=3 | mbps=0",
		SPEED("-nvmlDeviceGetFieldValues: result 3", "nvmlDeviceGetFieldValues: result 3") },
	{ "no speed of C2C links", "speed_result=3 | links=2 | links_up=2", NO_SPEED },
	{ "a speed of 0", "links=2 | links_up=2 | mbps=0", NO_SPEED },
	{ "the speed of C2C is that of the fastest link", "slower=10000", "gpu.c2c_gbps 44.712~1e-9" },
	{ "a C2C link that cannot be asked is not taken for one that is down", "last_status=15",
		"gpu.c2c_links " LINK_9 " | gpu.c2c_gbps " LINK_9 },

	{ "without CUDA the peers are unknown and the fabric is told", "cuda_missing=1",
		"gpu.peers -*libcuda.so.1* | gpu.p2p_peers -*libcuda.so.1* | gpu.fabric_status 'success" },
	{ "a rank that sees only its own GPU cannot tell of peer access", "devices=1",
		"gpu.peers 0 | gpu.p2p_peers -CUDA shows only this rank's own GPU" },
	{ "peers that cannot be reached do not count", "unreachable=4", "gpu.peers 3 | gpu.p2p_peers 2" },
	{ "a peer that cannot be asked", "peer_result=999",
		"gpu.p2p_peers -CUDA device 1: cuDeviceCanAccessPeer: result 999" },
	{ "peers that cannot be counted", "count_devices_result=3", "gpu.peers -cuDeviceGetCount: result 3" },
};

TEST_EACH(what_connects_a_gpu_is_told, rows)
{
	fake_case(context, &rows[_i]);
	fake_complete(context, NULL);
	fake_expect(context,
		"steps 'CUDA: peer access of GPU " BUS_ID "; NVML: open; NVML: NVLink fabric of GPU " BUS_ID
		"; NVML: C2C links of GPU " BUS_ID,
		rows[_i].name);
}

TEST_LOOP(without_nvml_the_peers_are_told_all_the_same, 0, 2)
{
	fake_case(context, &(struct fake_row){ "no NVML", _i ? "has_nvml=0" : "nvml_missing=1",
				   _i ? "error '*" BUS_ID "*" : "error '?* | gpu.p2p_peers 3" });
	ck_assert(_i == 1 || context->error.code == MUSTER_ELIB);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
