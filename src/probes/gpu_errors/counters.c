/* counters.c - what NVML counts of the errors of a GPU's links */
#include "probes/gpu_errors/counters.h"

#include <string.h>

const char *const muster_nvlink_error_names[MUSTER_NVLINK_ERRORS] = {
	[MUSTER_NVLINK_RECOVERY] = "recovery",
	[MUSTER_NVLINK_REPLAY] = "replay",
	[MUSTER_NVLINK_CRC_FLIT] = "crc-flit",
	[MUSTER_NVLINK_LINK_RECOVERY] = "link-recovery",
	[MUSTER_NVLINK_CRC_DATA] = "crc-data",
	[MUSTER_NVLINK_ECC_DATA] = "ecc-data",
	[MUSTER_NVLINK_RECEIVE] = "receive",
	[MUSTER_NVLINK_INTEGRITY] = "link-integrity",
	[MUSTER_NVLINK_EFFECTIVE] = "effective",
	[MUSTER_NVLINK_SYMBOL] = "symbol",
};

#define NO_COUNTER (-1)

/* Up to Hopper NVML has a call for each link, and its field values for them may be 0 whatever happens; NVLink 5 has
 * field values alone. */
static const struct {
	int counter;        /* nvmlNvLinkErrorCounter_t */
	unsigned int field; /* 0: none */
} nvlink_kinds[MUSTER_NVLINK_ERRORS] = {
	[MUSTER_NVLINK_RECOVERY] = { NVML_NVLINK_ERROR_DL_RECOVERY,
		NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS },
	[MUSTER_NVLINK_REPLAY] = { NVML_NVLINK_ERROR_DL_REPLAY, 0 },
	[MUSTER_NVLINK_CRC_FLIT] = { NVML_NVLINK_ERROR_DL_CRC_FLIT, 0 },
	[MUSTER_NVLINK_LINK_RECOVERY] = { NO_COUNTER, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS },
	[MUSTER_NVLINK_CRC_DATA] = { NVML_NVLINK_ERROR_DL_CRC_DATA, 0 },
	[MUSTER_NVLINK_ECC_DATA] = { NVML_NVLINK_ERROR_DL_ECC_DATA, 0 },
	[MUSTER_NVLINK_RECEIVE] = { NO_COUNTER, NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS },
	[MUSTER_NVLINK_INTEGRITY] = { NO_COUNTER, NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS },
	[MUSTER_NVLINK_EFFECTIVE] = { NO_COUNTER, NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS },
	[MUSTER_NVLINK_SYMBOL] = { NO_COUNTER, NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS },
};

static int read_counter(const struct muster_nvml *nvml, nvmlDevice_t device, nvmlNvLinkErrorCounter_t counter,
	size_t links, double *ret, struct muster_error *err)
{
	for (unsigned int link = 0; link < links; link++) {
		unsigned long long count = 0;
		if (MUSTER_NVML(nvml, err, nvmlDeviceGetNvLinkErrorCounter, device, link, counter, &count) < 0)
			return muster_wrap(err, "NVLink %u", link);
		ret[link] = (double)count;
	}
	return 0;
}

static int read_field(const struct muster_nvml *nvml, nvmlDevice_t device, unsigned int field, size_t links,
	double *ret, struct muster_error *err)
{
	nvmlFieldValue_t values[NVML_NVLINK_MAX_LINKS] = { 0 };
	for (unsigned int link = 0; link < links; link++)
		values[link] = (nvmlFieldValue_t){ .fieldId = field, .scopeId = link };
	if (MUSTER_NVML(nvml, err, nvmlDeviceGetFieldValues, device, (int)links, values) < 0)
		return -1;
	for (unsigned int link = 0; link < links; link++)
		if (muster_nvml_field_number(nvml, err, &values[link], "field of an NVLink", &ret[link]) < 0)
			return muster_wrap(err, "NVLink %u", link);
	return 0;
}

static int read_kind(const struct muster_nvml *nvml, nvmlDevice_t device, size_t kind, bool fields, size_t links,
	double *ret, struct muster_error *err)
{
	if (fields ? nvlink_kinds[kind].field == 0 : nvlink_kinds[kind].counter == NO_COUNTER)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "NVLinks of this GPU have no such counter");
	return fields ? read_field(nvml, device, nvlink_kinds[kind].field, links, ret, err)
		      : read_counter(
				nvml, device, (nvmlNvLinkErrorCounter_t)nvlink_kinds[kind].counter, links, ret, err);
}

/* A vGPU may have NVLinks and say nothing of them. */
static bool is_vgpu(const struct muster_nvml *nvml, nvmlDevice_t device)
{
	nvmlGpuVirtualizationMode_t mode = NVML_GPU_VIRTUALIZATION_MODE_NONE;
	return nvml->nvmlDeviceGetVirtualizationMode(device, &mode) != NVML_SUCCESS ||
	       mode == NVML_GPU_VIRTUALIZATION_MODE_VGPU;
}

void muster_nvlink_errors_read(
	const struct muster_nvml *nvml, nvmlDevice_t device, size_t kinds, struct muster_nvlink_errors *ret)
{
	int major = 0, minor = 0;
	double links = 0;
	struct muster_error why = { 0 };
	memset(ret, 0, sizeof *ret);
	(void)nvml->nvmlDeviceGetCudaComputeCapability(device, &major, &minor);
	int failed = MUSTER_NVML_FIELD(nvml, &why, device, NVML_FI_DEV_NVLINK_LINK_COUNT, 0, &links);
	if (failed && why.code == MUSTER_ENOTSUPPORTED && !is_vgpu(nvml, device))
		failed = 0; /* the device has no NVLinks */
	if (!failed && !(links >= 0 && links <= NVML_NVLINK_MAX_LINKS))
		failed = muster_fail(&why, MUSTER_EVENDOR, "NVML gives %g NVLinks", links);
	for (size_t kind = 0; kind < MUSTER_NVLINK_ERRORS; kind++) {
		if (failed)
			ret->why[kind] = why;
		else if (kind >= kinds)
			muster_fail(&ret->why[kind], MUSTER_ENOTSUPPORTED, "not read in this profile");
		else if (links < 1) /* and so there are no errors of theirs */
			ret->known[kind] = true;
		else
			ret->known[kind] = read_kind(nvml, device, kind, major >= 10, (size_t)links, ret->links[kind],
						   &ret->why[kind]) == 0;
	}
}

double muster_nvlink_errors_sum(const struct muster_nvlink_errors *errors, size_t kind)
{
	double sum = 0;
	for (size_t link = 0; link < NVML_NVLINK_MAX_LINKS; link++)
		sum += errors->links[kind][link];
	return sum;
}

const char *const muster_pcie_error_names[MUSTER_PCIE_ERRORS] = { "replay", "l0-to-recovery", "correctable",
	"naks-received", "receiver", "bad-tlp", "naks-sent", "bad-dllp", "non-fatal", "fatal", "unsupported-request",
	"lcrc", "lane" };

/* Of all but replays, which have a call that older drivers know. */
static const unsigned int pcie_fields[MUSTER_PCIE_ERRORS] = { 0, NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER,
	NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS, NVML_FI_DEV_PCIE_COUNT_NAKS_RECEIVED,
	NVML_FI_DEV_PCIE_COUNT_RECEIVER_ERROR, NVML_FI_DEV_PCIE_COUNT_BAD_TLP, NVML_FI_DEV_PCIE_COUNT_NAKS_SENT,
	NVML_FI_DEV_PCIE_COUNT_BAD_DLLP, NVML_FI_DEV_PCIE_COUNT_NON_FATAL_ERROR, NVML_FI_DEV_PCIE_COUNT_FATAL_ERROR,
	NVML_FI_DEV_PCIE_COUNT_UNSUPPORTED_REQ, NVML_FI_DEV_PCIE_COUNT_LCRC_ERROR, NVML_FI_DEV_PCIE_COUNT_LANE_ERROR };

void muster_pcie_errors_read(const struct muster_nvml *nvml, nvmlDevice_t device, struct muster_pcie_errors *ret)
{
	nvmlFieldValue_t values[MUSTER_PCIE_ERRORS] = { 0 };
	struct muster_error why = { 0 };
	unsigned int replays = 0;
	memset(ret, 0, sizeof *ret);
	for (size_t i = 1; i < MUSTER_PCIE_ERRORS; i++)
		values[i].fieldId = pcie_fields[i];
	int failed = MUSTER_NVML(nvml, &why, nvmlDeviceGetFieldValues, device, MUSTER_PCIE_ERRORS - 1, &values[1]);
	ret->known[0] = MUSTER_NVML(nvml, &ret->why[0], nvmlDeviceGetPcieReplayCounter, device, &replays) == 0;
	ret->counts[0] = replays;
	for (size_t i = 1; i < MUSTER_PCIE_ERRORS; i++) {
		if (failed)
			ret->why[i] = why;
		else
			ret->known[i] = muster_nvml_field_number(nvml, &ret->why[i], &values[i],
						"field of the PCIe link", &ret->counts[i]) == 0;
	}
}
