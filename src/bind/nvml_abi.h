/* nvml_abi.h - the part of NVML that muster calls, as nvml.h of driver R470 and later declares it
 *
 * Types carry nvml.h's names so that tests/abi/ can compare them with the vendor's header.
 */
#ifndef MUSTER_NVML_ABI_H
#define MUSTER_NVML_ABI_H

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
	NVML_ERROR_GPU_IS_LOST = 15,
	NVML_ERROR_UNKNOWN = 999
} nvmlReturn_t;

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef enum nvmlEnableState_enum { NVML_FEATURE_DISABLED = 0, NVML_FEATURE_ENABLED = 1 } nvmlEnableState_t;
typedef enum nvmlClockType_enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 } nvmlClockType_t;
typedef enum nvmlTemperatureSensors_enum { NVML_TEMPERATURE_GPU = 0 } nvmlTemperatureSensors_t;
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
	NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4
} nvmlValueType_t;

typedef struct nvmlPciInfo_st {
	char busIdLegacy[16];
	unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
	char busId[32];
} nvmlPciInfo_t;
typedef struct nvmlMemory_st {
	unsigned long long total, free, used; /* bytes */
} nvmlMemory_t;
typedef union nvmlValue_st {
	double dVal;
	unsigned int uiVal;
	unsigned long ulVal;
	unsigned long long ullVal;
	signed long long sllVal;
} nvmlValue_t;
typedef struct nvmlFieldValue_st {
	unsigned int fieldId, scopeId;
	long long timestamp, latencyUsec;
	nvmlValueType_t valueType;
	nvmlReturn_t nvmlReturn;
	nvmlValue_t value;
} nvmlFieldValue_t;

#define NVML_NVLINK_MAX_LINKS 18
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON 90
#define NVML_FI_DEV_NVLINK_LINK_COUNT 91
#define NVML_DEVICE_MIG_DISABLE 0x0
#define NVML_DEVICE_MIG_ENABLE 0x1
#define nvmlClocksThrottleReasonGpuIdle 0x0000000000000001LL
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
	X(nvmlShutdown, (void)) \
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
	X(nvmlDeviceGetPowerUsage, (nvmlDevice_t device, unsigned int *milliwatts)) \
	X(nvmlDeviceGetEnforcedPowerLimit, (nvmlDevice_t device, unsigned int *milliwatts)) \
	X(nvmlDeviceGetTotalEccErrors, (nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter, \
		unsigned long long *errors)) \
	X(nvmlDeviceGetRemappedRows, (nvmlDevice_t device, unsigned int *correctable, unsigned int *uncorrectable, \
		unsigned int *pending, unsigned int *failed)) \
	X(nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t device, int *major, int *minor))
/* clang-format on */

#endif
