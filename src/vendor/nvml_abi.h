/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_abi.h - the part of NVML that muster calls, as nvml.h of driver R470 and later declares it
 *
 * Types carry nvml.h's names so that tests/abi/ can compare them with the vendor's header. A line with "since" or
 * "until" names what not every such header has; elsewhere a name that the header lacks is an error.
 */
#ifndef MUSTER_VENDOR_NVML_ABI_H
#define MUSTER_VENDOR_NVML_ABI_H

#ifndef MUSTER_ABI_VENDOR_TYPES
typedef enum nvmlReturn_enum {
	NVML_SUCCESS = 0,
	NVML_ERROR_UNINITIALIZED = 1,
	NVML_ERROR_INVALID_ARGUMENT = 2,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NO_PERMISSION = 4,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_INSUFFICIENT_SIZE = 7,
	NVML_ERROR_DRIVER_NOT_LOADED = 9,
	NVML_ERROR_FUNCTION_NOT_FOUND = 13,
	NVML_ERROR_CORRUPTED_INFOROM = 14,
	NVML_ERROR_GPU_IS_LOST = 15,
	NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25, /* since R525 */
	NVML_ERROR_DEPRECATED = 26,                /* since R535 */
	NVML_ERROR_UNKNOWN = 999
} nvmlReturn_t;

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef enum nvmlEnableState_enum { NVML_FEATURE_DISABLED = 0, NVML_FEATURE_ENABLED = 1 } nvmlEnableState_t;
typedef enum nvmlComputeMode_enum {
	NVML_COMPUTEMODE_DEFAULT = 0,
	NVML_COMPUTEMODE_EXCLUSIVE_THREAD = 1,
	NVML_COMPUTEMODE_PROHIBITED = 2,
	NVML_COMPUTEMODE_EXCLUSIVE_PROCESS = 3
} nvmlComputeMode_t;
typedef enum nvmlClockType_enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 } nvmlClockType_t;
typedef enum nvmlTemperatureSensors_enum { NVML_TEMPERATURE_GPU = 0 } nvmlTemperatureSensors_t;
typedef enum nvmlTemperatureThresholds_enum {
	NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1,
	NVML_TEMPERATURE_THRESHOLD_MEM_MAX = 2
} nvmlTemperatureThresholds_t;
typedef enum nvmlMemoryErrorType_enum {
	NVML_MEMORY_ERROR_TYPE_CORRECTED = 0,
	NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1
} nvmlMemoryErrorType_t;
typedef enum nvmlEccCounterType_enum { NVML_VOLATILE_ECC = 0, NVML_AGGREGATE_ECC = 1 } nvmlEccCounterType_t;
typedef enum nvmlValueType_enum {
	NVML_VALUE_TYPE_DOUBLE = 0,
	NVML_VALUE_TYPE_UNSIGNED_INT = 1,
	NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
	NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
	NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4,
	NVML_VALUE_TYPE_SIGNED_INT = 5 /* since R535 */
} nvmlValueType_t;

typedef enum nvmlGpuVirtualizationMode {
	NVML_GPU_VIRTUALIZATION_MODE_NONE = 0,
	NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH = 1,
	NVML_GPU_VIRTUALIZATION_MODE_VGPU = 2,
	NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU = 3,
	NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA = 4
} nvmlGpuVirtualizationMode_t;
typedef enum { NVML_GRID_LICENSE_FEATURE_CODE_COMPUTE = 4 } nvmlGridLicenseFeatureCode_t;
typedef enum nvmlGpuP2PStatus_enum {
	NVML_P2P_STATUS_OK = 0,
	NVML_P2P_STATUS_GPU_NOT_SUPPORTED = 2,
	NVML_P2P_STATUS_NOT_SUPPORTED = 5,
	NVML_P2P_STATUS_UNKNOWN = 6
} nvmlGpuP2PStatus_t;
typedef enum nvmlGpuP2PCapsIndex_enum { NVML_P2P_CAPS_INDEX_NVLINK = 2 } nvmlGpuP2PCapsIndex_t;
typedef enum nvmlNvLinkErrorCounter_enum {
	NVML_NVLINK_ERROR_DL_REPLAY = 0,
	NVML_NVLINK_ERROR_DL_RECOVERY = 1,
	NVML_NVLINK_ERROR_DL_CRC_FLIT = 2,
	NVML_NVLINK_ERROR_DL_CRC_DATA = 3,
	NVML_NVLINK_ERROR_DL_ECC_DATA = 4
} nvmlNvLinkErrorCounter_t;
typedef enum nvmlDeviceGpuRecoveryAction_s {
	NVML_GPU_RECOVERY_ACTION_NONE = 0,                /* since R570 */
	NVML_GPU_RECOVERY_ACTION_GPU_RESET = 1,           /* since R570 */
	NVML_GPU_RECOVERY_ACTION_NODE_REBOOT = 2,         /* since R570 */
	NVML_GPU_RECOVERY_ACTION_DRAIN_P2P = 3,           /* since R570 */
	NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET = 4,     /* since R570 */
	NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN = 5, /* since R595 */
	NVML_GPU_RECOVERY_ACTION_BUS_RESET = 6,           /* since R615 */
	NVML_GPU_RECOVERY_ACTION_SYSTEM_REBOOT = 7        /* since R615 */
} nvmlDeviceGpuRecoveryAction_t;                          /* since R570 */

typedef struct nvmlPciInfo_st {
	char busIdLegacy[16];
	unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
	char busId[32];
} nvmlPciInfo_t;
typedef struct nvmlMemory_st {
	unsigned long long total, free, used; /* bytes */
} nvmlMemory_t;
typedef struct nvmlMemory_v2_st {
	unsigned int version;
	unsigned long long total, reserved, free, used; /* bytes; used: without the driver's own, which is reserved */
} nvmlMemory_v2_t;                                      /* since R510 */
#define nvmlMemory_v2 ((unsigned int)(sizeof(nvmlMemory_v2_t) | 2u << 24)) /* since R510 */
typedef struct nvmlBAR1Memory_st {
	unsigned long long bar1Total, bar1Free, bar1Used; /* bytes */
} nvmlBAR1Memory_t;
typedef struct {
	unsigned int version;
	unsigned int bChannelRepairPending;
	unsigned int bTpcRepairPending;
} nvmlRepairStatus_v1_t;                                                               /* since R575 */
typedef nvmlRepairStatus_v1_t nvmlRepairStatus_t;                                      /* since R575 */
#define nvmlRepairStatus_v1 ((unsigned int)(sizeof(nvmlRepairStatus_v1_t) | 1u << 24)) /* since R575 */
typedef struct nvmlUtilization_st {
	unsigned int gpu, memory; /* per cent of the last sample period, which is 1/6 to 1 s long */
} nvmlUtilization_t;
/* What the second form of the calls gives in every driver; R470 has it under another name. */
typedef struct nvmlProcessInfo_v2_st {
	unsigned int pid;
	unsigned long long usedGpuMemory; /* bytes; all ones: not known */
	unsigned int gpuInstanceId;
	unsigned int computeInstanceId;
} nvmlProcessInfo_v2_t; /* since R510 */
typedef struct nvmlDeviceAttributes_st {
	unsigned int multiprocessorCount;
	unsigned int sharedCopyEngineCount;
	unsigned int sharedDecoderCount;
	unsigned int sharedEncoderCount;
	unsigned int sharedJpegCount;
	unsigned int sharedOfaCount;
	unsigned int gpuInstanceSliceCount;
	unsigned int computeInstanceSliceCount;
	unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;
typedef struct {
	unsigned int version;
	unsigned long long aggregateUncParity;
	unsigned long long aggregateUncSecDed;
	unsigned long long aggregateCor;
	unsigned long long volatileUncParity;
	unsigned long long volatileUncSecDed;
	unsigned long long volatileCor;
	unsigned long long aggregateUncBucketL2;
	unsigned long long aggregateUncBucketSm;
	unsigned long long aggregateUncBucketPcie;
	unsigned long long aggregateUncBucketMcu;
	unsigned long long aggregateUncBucketOther;
	unsigned int bThresholdExceeded;
} nvmlEccSramErrorStatus_v1_t;                                /* since R550 */
typedef nvmlEccSramErrorStatus_v1_t nvmlEccSramErrorStatus_t; /* since R550; whichever version is the header's newest */
#define nvmlEccSramErrorStatus_v1 ((unsigned int)(sizeof(nvmlEccSramErrorStatus_v1_t) | 1u << 24)) /* since R550 */
typedef union nvmlValue_st {
	double dVal;
	unsigned int uiVal;
	unsigned long ulVal;
	unsigned long long ullVal;
	signed long long sllVal;
	signed int siVal; /* since R535 */
} nvmlValue_t;
typedef struct nvmlFieldValue_st {
	unsigned int fieldId, scopeId;
	long long timestamp, latencyUsec;
	nvmlValueType_t valueType;
	nvmlReturn_t nvmlReturn;
	nvmlValue_t value;
} nvmlFieldValue_t;
typedef struct {
	unsigned int version;
	int marginTemperature; /* degrees to the nearest temperature at which the GPU is slowed down */
} nvmlMarginTemperature_v1_t;  /* since R570 */
typedef nvmlMarginTemperature_v1_t nvmlMarginTemperature_t;                                      /* since R570 */
#define nvmlMarginTemperature_v1 ((unsigned int)(sizeof(nvmlMarginTemperature_v1_t) | 1u << 24)) /* since R570 */
typedef struct nvmlGridLicenseExpiry_st {
	unsigned int year;
	unsigned short month, day, hour, min, sec;
	unsigned char status;
} nvmlGridLicenseExpiry_t;
typedef struct nvmlGridLicensableFeature_st {
	nvmlGridLicenseFeatureCode_t featureCode;
	unsigned int featureState; /* not 0: licensed */
	char licenseInfo[128];
	char productName[128];
	unsigned int featureEnabled;
	nvmlGridLicenseExpiry_t licenseExpiry;
} nvmlGridLicensableFeature_t;
typedef struct nvmlGridLicensableFeatures_st {
	int isGridLicenseSupported;
	unsigned int licensableFeaturesCount;
	nvmlGridLicensableFeature_t gridLicensableFeatures[3];
} nvmlGridLicensableFeatures_t;

typedef unsigned char nvmlGpuFabricState_t; /* since R525 */
typedef struct {
	unsigned char clusterUuid[16];
	nvmlReturn_t status;   /* worth reading only when the state is COMPLETED */
	unsigned int cliqueId; /* since R545; partitionId before */
	nvmlGpuFabricState_t state;
} nvmlGpuFabricInfo_t; /* since R525 */
typedef struct {
	unsigned int version;
	unsigned char clusterUuid[16];
	nvmlReturn_t status;
	unsigned int cliqueId;
	nvmlGpuFabricState_t state;
	unsigned int healthMask;
} nvmlGpuFabricInfo_v2_t; /* since R545 */
typedef struct {
	unsigned int version;
	unsigned char clusterUuid[16];
	nvmlReturn_t status;
	unsigned int cliqueId;
	nvmlGpuFabricState_t state;
	unsigned int healthMask; /* up to here as version 2 has it */
	unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;                            /* since R580 */
typedef nvmlGpuFabricInfo_v3_t nvmlGpuFabricInfoV_t; /* since R550; whichever version is the header's newest */
#define nvmlGpuFabricInfo_v2 ((unsigned int)(sizeof(nvmlGpuFabricInfo_v2_t) | 2u << 24)) /* since R545 */
#define nvmlGpuFabricInfo_v3 ((unsigned int)(sizeof(nvmlGpuFabricInfo_v3_t) | 3u << 24)) /* since R580 */

#define NVML_NVLINK_MAX_LINKS 18
#define NVML_FI_DEV_PERF_POLICY_THERMAL 75 /* ns for which heat has held the clocks down, in steps of 100 ms */
#define NVML_FI_DEV_MEMORY_TEMP 82         /* degrees Celsius */
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON 90
#define NVML_FI_DEV_NVLINK_LINK_COUNT 91
#define NVML_FI_DEV_NVLINK_GET_SPEED 164                            /* since R525; scope: the link; MB/s */
#define NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER 169                 /* since R525 */
#define NVML_FI_DEV_C2C_LINK_COUNT 170                              /* since R525 */
#define NVML_FI_DEV_C2C_LINK_GET_STATUS 171                         /* since R525; scope: the link */
#define NVML_FI_DEV_C2C_LINK_GET_MAX_BW 172                         /* since R525; scope: the link; MB/s */
#define NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS 173               /* since R535; all PCIE_COUNT: life-time */
#define NVML_FI_DEV_PCIE_COUNT_NAKS_RECEIVED 174                    /* since R535 */
#define NVML_FI_DEV_PCIE_COUNT_RECEIVER_ERROR 175                   /* since R535 */
#define NVML_FI_DEV_PCIE_COUNT_BAD_TLP 176                          /* since R535 */
#define NVML_FI_DEV_PCIE_COUNT_NAKS_SENT 177                        /* since R535 */
#define NVML_FI_DEV_PCIE_COUNT_BAD_DLLP 178                         /* since R535 */
#define NVML_FI_DEV_PCIE_COUNT_NON_FATAL_ERROR 179                  /* since R535 */
#define NVML_FI_DEV_PCIE_COUNT_FATAL_ERROR 180                      /* since R535 */
#define NVML_FI_DEV_PCIE_COUNT_UNSUPPORTED_REQ 181                  /* since R535 */
#define NVML_FI_DEV_PCIE_COUNT_LCRC_ERROR 182                       /* since R535 */
#define NVML_FI_DEV_PCIE_COUNT_LANE_ERROR 183                       /* since R535 */
#define NVML_FI_DEV_POWER_INSTANT 186                               /* since R535; mW */
#define NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT 194                 /* since R535; signed, a margin in degrees */
#define NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS 206        /* since R560; scope: the link; NVLink 5 */
#define NVML_FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS 207          /* since R560 */
#define NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS 208                     /* since R560 */
#define NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS 211    /* since R560 */
#define NVML_FI_DEV_NVLINK_COUNT_XMIT_DISCARDS 212                  /* since R560 */
#define NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS 214    /* since R560 */
#define NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS 215           /* since R560 */
#define NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS 219               /* since R560 */
#define NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS 221                  /* since R560 */
#define NVML_FI_DEV_GET_GPU_RECOVERY_ACTION 230                     /* since R570 */
#define NVML_GPU_FABRIC_STATE_NOT_SUPPORTED 0                       /* since R525 */
#define NVML_GPU_FABRIC_STATE_NOT_STARTED 1                         /* since R525 */
#define NVML_GPU_FABRIC_STATE_IN_PROGRESS 2                         /* since R525 */
#define NVML_GPU_FABRIC_STATE_COMPLETED 3                           /* since R525 */
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW 0             /* since R545 */
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_RECOVERY 2          /* since R570 */
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY 4         /* since R570 */
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY 6 /* since R570 */
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION 8 /* since R575 */
#define NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_TRUE 1    /* since R545; the other two-bit fields have the same form */
#define NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_FALSE 2   /* since R545 */
#define NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_DEGRADED_BW 0x3 /* since R550; a mask, in spite of its name */
#define NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_INCORRECT_CONFIGURATION 0xf              /* since R575 */
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NONE 1                 /* since R575 */
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCORRECT_SYSGUID 2    /* since R575 */
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCORRECT_CHASSIS_SN 3 /* since R575 */
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NO_PARTITION 4         /* since R580 */
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INSUFFICIENT_NVLINKS 5 /* since R580 */
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCOMPATIBLE_GPU_FW 6  /* since R590 */
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INVALID_LOCATION 7     /* since R590 */
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_GPU_STATE_INVALID 8    /* since R595 */
#define NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY 1                                   /* since R580 */
#define NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY 2                                 /* since R580 */
#define NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY 3                          /* since R580 */
#define NVML_DEVICE_MIG_DISABLE 0x0
#define NVML_DEVICE_MIG_ENABLE 0x1
#define nvmlClocksThrottleReasonGpuIdle 0x0000000000000001LL
#define nvmlClocksThrottleReasonApplicationsClocksSetting 0x0000000000000002LL
#define nvmlClocksThrottleReasonSwPowerCap 0x0000000000000004LL
#define nvmlClocksThrottleReasonHwSlowdown 0x0000000000000008LL
#define nvmlClocksThrottleReasonSwThermalSlowdown 0x0000000000000020LL
#define nvmlClocksThrottleReasonHwThermalSlowdown 0x0000000000000040LL
#define nvmlClocksThrottleReasonHwPowerBrakeSlowdown 0x0000000000000080LL
#endif

/* X(symbol, parameters): every function returns nvmlReturn_t. */
/* clang-format off */
#define MUSTER_NVML_FUNCTIONS(X) \
	X(nvmlInit_v2, (void)) \
	X(nvmlSystemGetDriverVersion, (char *version, unsigned int length)) \
	X(nvmlSystemGetNVMLVersion, (char *version, unsigned int length)) \
	X(nvmlDeviceGetCount_v2, (unsigned int *count)) \
	X(nvmlDeviceGetHandleByIndex_v2, (unsigned int index, nvmlDevice_t *device)) \
	X(nvmlDeviceGetHandleByPciBusId_v2, (const char *bus_id, nvmlDevice_t *device)) \
	X(nvmlDeviceGetIndex, (nvmlDevice_t device, unsigned int *index)) \
	X(nvmlDeviceGetName, (nvmlDevice_t device, char *name, unsigned int length)) \
	X(nvmlDeviceGetUUID, (nvmlDevice_t device, char *uuid, unsigned int length)) \
	X(nvmlDeviceGetPciInfo_v3, (nvmlDevice_t device, nvmlPciInfo_t *pci)) \
	X(nvmlDeviceGetVbiosVersion, (nvmlDevice_t device, char *version, unsigned int length)) \
	X(nvmlDeviceGetMemoryInfo, (nvmlDevice_t device, nvmlMemory_t *memory)) \
	X(nvmlDeviceGetEccMode, (nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending)) \
	X(nvmlDeviceGetMigMode, (nvmlDevice_t device, unsigned int *current, unsigned int *pending)) \
	X(nvmlDeviceGetPersistenceMode, (nvmlDevice_t device, nvmlEnableState_t *mode)) \
	X(nvmlDeviceGetCurrPcieLinkGeneration, (nvmlDevice_t device, unsigned int *generation)) \
	X(nvmlDeviceGetMaxPcieLinkGeneration, (nvmlDevice_t device, unsigned int *generation)) \
	X(nvmlDeviceGetCurrPcieLinkWidth, (nvmlDevice_t device, unsigned int *width)) \
	X(nvmlDeviceGetMaxPcieLinkWidth, (nvmlDevice_t device, unsigned int *width)) \
	X(nvmlDeviceGetNvLinkState, (nvmlDevice_t device, unsigned int link, nvmlEnableState_t *active)) \
	X(nvmlDeviceGetFieldValues, (nvmlDevice_t device, int count, nvmlFieldValue_t *values)) \
	X(nvmlDeviceGetClockInfo, (nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)) \
	X(nvmlDeviceGetMaxClockInfo, (nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)) \
	X(nvmlDeviceGetCurrentClocksThrottleReasons, (nvmlDevice_t device, unsigned long long *reasons)) \
	X(nvmlDeviceGetTemperature, (nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *celsius)) \
	X(nvmlDeviceGetTemperatureThreshold, (nvmlDevice_t device, nvmlTemperatureThresholds_t what, \
		unsigned int *celsius)) \
	X(nvmlDeviceGetPowerUsage, (nvmlDevice_t device, unsigned int *milliwatts)) \
	X(nvmlDeviceGetEnforcedPowerLimit, (nvmlDevice_t device, unsigned int *milliwatts)) \
	X(nvmlDeviceGetTotalEccErrors, (nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter, \
		unsigned long long *errors)) \
	X(nvmlDeviceGetRemappedRows, (nvmlDevice_t device, unsigned int *correctable, unsigned int *uncorrectable, \
		unsigned int *pending, unsigned int *failed)) \
	X(nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t device, int *major, int *minor)) \
	X(nvmlDeviceGetVirtualizationMode, (nvmlDevice_t device, nvmlGpuVirtualizationMode_t *mode))

/* The same for functions that nothing else depends on, or that some drivers lack: newer than R470, or announced to go
 * (applications clocks, the first form of the fabric's state, the second form of the
 * lists of processes). Where one is missing, calling it answers
 * NVML_ERROR_FUNCTION_NOT_FOUND. */
#define MUSTER_NVML_OPTIONAL_FUNCTIONS(X) \
	X(nvmlDeviceGetP2PStatus, (nvmlDevice_t device, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t what, \
		nvmlGpuP2PStatus_t *status)) \
	X(nvmlDeviceGetApplicationsClock, (nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)) \
	X(nvmlDeviceGetDefaultApplicationsClock, (nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)) \
	X(nvmlDeviceGetPowerManagementLimit, (nvmlDevice_t device, unsigned int *milliwatts)) \
	X(nvmlDeviceGetPowerManagementDefaultLimit, (nvmlDevice_t device, unsigned int *milliwatts)) \
	X(nvmlDeviceGetComputeMode, (nvmlDevice_t device, nvmlComputeMode_t *mode)) \
	X(nvmlDeviceGetBAR1MemoryInfo, (nvmlDevice_t device, nvmlBAR1Memory_t *memory)) \
	X(nvmlDeviceValidateInforom, (nvmlDevice_t device)) \
	X(nvmlDeviceGetInforomImageVersion, (nvmlDevice_t device, char *version, unsigned int length)) \
	X(nvmlDeviceGetGspFirmwareVersion, (nvmlDevice_t device, char *version)) \
	X(nvmlDeviceGetMarginTemperature, (nvmlDevice_t device, nvmlMarginTemperature_t *margin)) \
	X(nvmlDeviceGetRepairStatus, (nvmlDevice_t device, nvmlRepairStatus_t *status)) \
	X(nvmlDeviceGetGridLicensableFeatures_v4, (nvmlDevice_t device, nvmlGridLicensableFeatures_t *features)) \
	X(nvmlDeviceGetMemoryInfo_v2, (nvmlDevice_t device, nvmlMemory_v2_t *memory)) \
	X(nvmlDeviceGetUtilizationRates, (nvmlDevice_t device, nvmlUtilization_t *rates)) \
	X(nvmlDeviceGetComputeRunningProcesses_v2, (nvmlDevice_t device, unsigned int *count, \
		nvmlProcessInfo_v2_t *processes)) \
	X(nvmlDeviceGetGraphicsRunningProcesses_v2, (nvmlDevice_t device, unsigned int *count, \
		nvmlProcessInfo_v2_t *processes)) \
	X(nvmlDeviceGetMPSComputeRunningProcesses_v2, (nvmlDevice_t device, unsigned int *count, \
		nvmlProcessInfo_v2_t *processes)) \
	X(nvmlDeviceGetSerial, (nvmlDevice_t device, char *serial, unsigned int length)) \
	X(nvmlDeviceGetBoardPartNumber, (nvmlDevice_t device, char *number, unsigned int length)) \
	X(nvmlDeviceGetRetiredPagesPendingStatus, (nvmlDevice_t device, nvmlEnableState_t *pending)) \
	X(nvmlDeviceGetSramEccErrorStatus, (nvmlDevice_t device, nvmlEccSramErrorStatus_t *status)) \
	X(nvmlDeviceGetNvLinkErrorCounter, (nvmlDevice_t device, unsigned int link, nvmlNvLinkErrorCounter_t kind, \
		unsigned long long *count)) \
	X(nvmlDeviceGetPcieReplayCounter, (nvmlDevice_t device, unsigned int *replays)) \
	X(nvmlDeviceGetMaxMigDeviceCount, (nvmlDevice_t device, unsigned int *count)) \
	X(nvmlDeviceGetMigDeviceHandleByIndex, (nvmlDevice_t device, unsigned int index, nvmlDevice_t *instance)) \
	X(nvmlDeviceGetAttributes_v2, (nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)) \
	X(nvmlDeviceGetGpuFabricInfo, (nvmlDevice_t device, nvmlGpuFabricInfo_t *info)) \
	X(nvmlDeviceGetGpuFabricInfoV, (nvmlDevice_t device, nvmlGpuFabricInfoV_t *info))
/* clang-format on */

#endif
