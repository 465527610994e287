/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.c - libcuda.so.1 for the simulation: devices and contexts
 *
 * Follows the CUDA driver API's documentation for what each call checks and gives.
 *
 * The life of the library in a worker: cuInit() finds the devices that this process may see, and the list stays as it
 * is; cuDevicePrimaryCtxRetain() begins a device's primary context, the only kind that there is; cuCtxSetCurrent()
 * makes it the calling thread's; the last release drops its streams, events, modules and memory. struct CUctx_st stands
 * for the device and for its context.
 *
 * What most exported functions check, in this order: a code that the scenario has for the call (misbehave.c); that
 * cuInit was called; for calls about a context, that a live one is current and that no work in it has failed; the
 * arguments.
 */
#include "sim/standins/cuda.h"

#include "muster/arena.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

MUSTER_STANDIN_MARK;

static struct {
	bool initialised;         /* cuInit has succeeded */
	struct CUctx_st *devices; /* in CUDA's order; NULL until cuInit */
	size_t count;
} driver;

/* Recursive: an operation's poll function calls back. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Thread_local struct CUctx_st *current;

CUresult muster_simcuda_enter(void)
{
	CUresult answer = (CUresult)muster_standin_answer(NULL);
	pthread_mutex_lock(&lock);
	if (answer != CUDA_SUCCESS)
		return answer;
	return driver.initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

/* The scenario is asked a second time, with the GPU that the call is about: a fault may be for one GPU alone. */
CUresult muster_simcuda_enter_context(struct CUctx_st **ret)
{
	CUresult result = muster_simcuda_enter();
	if (result != CUDA_SUCCESS)
		return result;
	if (!current)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (current->retained == 0)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED_;
	*ret = current;
	CUresult answer = (CUresult)muster_standin_answer(current->gpu->bus_id);
	return answer != CUDA_SUCCESS ? answer : current->broken;
}

CUresult muster_simcuda_leave(CUresult result)
{
	pthread_mutex_unlock(&lock);
	return result;
}

void muster_simcuda_pause(void)
{
	pthread_mutex_unlock(&lock);
	nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
	pthread_mutex_lock(&lock);
}

size_t muster_simcuda_device_count(void)
{
	return driver.count;
}

struct CUctx_st *muster_simcuda_device(size_t ordinal)
{
	return &driver.devices[ordinal];
}

struct CUctx_st *muster_simcuda_current(void)
{
	return current && current->retained ? current : NULL;
}

void muster_standin_cuda_lock(void)
{
	pthread_mutex_lock(&lock);
}

void muster_standin_cuda_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

bool muster_standin_cuda_current(struct muster_standin_device *ret)
{
	struct CUctx_st *context = muster_simcuda_current();
	if (!context)
		return false;
	*ret = (struct muster_standin_device){ (int)(context - driver.devices), context->gpu };
	return true;
}

/* -- which devices there are -- */

static int by_cuda_index(const void *a, const void *b)
{
	const struct muster_sim_gpu *const *x = a, *const *y = b;
	return ((*x)->cuda_index > (*y)->cuda_index) - ((*x)->cuda_index < (*y)->cuda_index);
}

static int by_bus_id(const void *a, const void *b)
{
	const struct muster_sim_gpu *const *x = a, *const *y = b;
	return strcmp((*x)->bus_id, (*y)->bus_id);
}

/* The GPU whose UUID begins with these characters; NULL: none or several do. */
static const struct muster_sim_gpu *find_uuid(
	const struct muster_sim_gpu **gpus, size_t count, const char *prefix, size_t length)
{
	const struct muster_sim_gpu *found = NULL;
	for (size_t i = 0; i < count; i++) {
		if (strncasecmp(gpus[i]->uuid, prefix, length) != 0)
			continue;
		if (found)
			return NULL; /* more than one: invalid */
		found = gpus[i];
	}
	return found;
}

/* The GPU that one entry of CUDA_VISIBLE_DEVICES names; NULL ends the list. */
static const struct muster_sim_gpu *find_visible(
	const struct muster_sim_gpu **gpus, size_t count, const char *entry, size_t length)
{
	if (length > 4 && strncmp(entry, "GPU-", 4) == 0)
		return find_uuid(gpus, count, entry, length);
	char *end;
	long index = strtol(entry, &end, 10);
	return end == entry || index < 0 || (size_t)index >= count ? NULL : gpus[index];
}

/* CUDA_VISIBLE_DEVICES as the driver reads it: the list ends at the first entry that names no GPU, and an entry that
 * names a GPU for the second time leaves none at all. Picks from gpus into ret. */
static size_t pick_visible(
	const struct muster_sim_gpu **gpus, size_t count, const char *visible, const struct muster_sim_gpu **ret)
{
	size_t picked = 0;
	for (;;) {
		while (isspace((unsigned char)*visible))
			visible++;
		size_t length = strcspn(visible, ", \t\n");
		const struct muster_sim_gpu *gpu = length ? find_visible(gpus, count, visible, length) : NULL;
		if (!gpu)
			return picked;
		for (size_t i = 0; i < picked; i++)
			if (ret[i] == gpu)
				return 0;
		ret[picked++] = gpu;
		visible += strcspn(visible, ",");
		if (*visible++ == '\0')
			return picked;
	}
}

/* Which devices the process sees, and in which order: CUDA's own order is the scenario's cuda_index, unless
 * CUDA_DEVICE_ORDER asks for that of the bus; CUDA_VISIBLE_DEVICES then picks from this list. */
static void find_devices(void)
{
	const struct muster_sim_node *node = muster_sim_this_node();
	const char *order_text = getenv("CUDA_DEVICE_ORDER"), *visible = getenv("CUDA_VISIBLE_DEVICES");
	const struct muster_sim_gpu **gpus = muster_calloc(node->gpu_count + 1, sizeof *gpus);
	const struct muster_sim_gpu **picked = muster_calloc(node->gpu_count + 1, sizeof *picked);
	size_t count = node->gpu_count;
	for (size_t i = 0; i < count; i++)
		gpus[i] = &node->gpus[i];
	qsort(gpus, count, sizeof *gpus,
		order_text && strcmp(order_text, "PCI_BUS_ID") == 0 ? by_bus_id : by_cuda_index);
	memcpy(picked, gpus, count * sizeof *gpus);
	if (visible)
		count = pick_visible(gpus, count, visible, picked);
	driver.devices = muster_calloc(count + 1, sizeof *driver.devices);
	driver.count = count;
	for (size_t i = 0; i < count; i++)
		driver.devices[i].gpu = picked[i];
	free(gpus);
	free(picked);
}

/* May be called again, and then gives its answer anew. Where it finds no device, the driver stays not initialised for
 * the calls that follow. */
CUresult cuInit(unsigned int flags)
{
	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = muster_simcuda_enter();
	if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_INITIALIZED)
		return muster_simcuda_leave(result);
	if (!driver.devices)
		find_devices();
	driver.initialised = driver.count > 0;
	return muster_simcuda_leave(driver.initialised ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

/* -- what can be asked before cuInit -- */

CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = muster_sim_this_node()->cuda_driver;
	return (CUresult)muster_standin_answer(NULL);
}

static const struct {
	CUresult code;
	const char *name, *text;
} errors[] = {
	{ CUDA_SUCCESS, "CUDA_SUCCESS", "no error" },
	{ CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
	{ CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
	{ CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
	{ CUDA_ERROR_DEVICE_UNAVAILABLE_, "CUDA_ERROR_DEVICE_UNAVAILABLE",
		"CUDA-capable device(s) is/are busy or unavailable" },
	{ CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
	{ CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
	{ CUDA_ERROR_INVALID_IMAGE_, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
	{ CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
	{ CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered" },
	{ CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
	{ CUDA_ERROR_NOT_FOUND_, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
	{ CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready" },
	{ CUDA_ERROR_ILLEGAL_ADDRESS_, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" },
	{ CUDA_ERROR_CONTEXT_IS_DESTROYED_, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed" },
	{ CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED_, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
		"part or all of the requested memory range is already mapped" },
	{ CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED_, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
		"pointer does not correspond to a registered memory region" },
	{ CUDA_ERROR_MISALIGNED_ADDRESS_, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address" },
	{ CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
	{ CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
	{ CUDA_ERROR_SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized" },
	{ CUDA_ERROR_SYSTEM_DRIVER_MISMATCH_, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
		"system has unsupported display driver / cuda driver combination" },
	{ CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

/* Sets *ret to the name of a result, or to its text; NULL for one that the driver does not know. */
static CUresult explain(CUresult error, bool by_name, const char **ret)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = NULL;
	for (size_t i = 0; i < sizeof errors / sizeof *errors && !*ret; i++)
		if (errors[i].code == error)
			*ret = by_name ? errors[i].name : errors[i].text;
	CUresult answer = (CUresult)muster_standin_answer(NULL);
	return answer != CUDA_SUCCESS || *ret ? answer : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
	return explain(error, true, name);
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
	return explain(error, false, text);
}

/* -- devices -- */

/* muster_simcuda_enter, for a call about one device: it must exist, and needs no context. */
static CUresult enter_device(CUdevice device, bool arguments_ok, struct CUctx_st **ret)
{
	CUresult result = muster_simcuda_enter();
	if (result != CUDA_SUCCESS)
		return result;
	if (!arguments_ok)
		return CUDA_ERROR_INVALID_VALUE;
	if (device < 0 || (size_t)device >= driver.count)
		return CUDA_ERROR_INVALID_DEVICE;
	*ret = &driver.devices[device];
	return (CUresult)muster_standin_answer((*ret)->gpu->bus_id);
}

CUresult cuDeviceGetCount(int *count)
{
	ENTER(muster_simcuda_enter(), count != NULL);
	*count = (int)driver.count;
	return muster_simcuda_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	struct CUctx_st *found;
	ENTER(enter_device(ordinal, device != NULL, &found), true);
	*device = ordinal;
	return muster_simcuda_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	struct CUctx_st *found;
	ENTER(enter_device(device, name && size > 0, &found), true);
	snprintf(name, (size_t)size, "%s", found->gpu->name);
	return muster_simcuda_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	struct CUctx_st *found;
	ENTER(enter_device(device, uuid != NULL, &found), true);
	unsigned char bytes[sizeof uuid->bytes] = { 0 };
	char buffer[MUSTER_SIM_UUID_SIZE];
	const char *text = muster_sim_uuid(found->gpu, buffer);
	bool prefix = strncmp(text, "GPU-", 4) == 0 || strncmp(text, "MIG-", 4) == 0;
	muster_standin_hex("a GPU's UUID", text + (prefix ? 4 : 0), bytes, sizeof bytes);
	memcpy(uuid->bytes, bytes, sizeof bytes);
	return muster_simcuda_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	struct CUctx_st *found;
	ENTER(enter_device(device, value != NULL, &found), true);
	CUresult result = CUDA_SUCCESS;
	struct muster_standin_bus_id id = muster_standin_bus_id_of(found->gpu);
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = muster_sim_multiprocessors(found->gpu); break;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = found->gpu->memory_bus_bits; break;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *value = (int)id.bus; break;
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: *value = (int)id.device; break;
	case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: *value = (int)id.domain; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = found->gpu->compute_major; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = found->gpu->compute_minor; break;
	case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED: *value = muster_sim_this_node()->dma_buf; break;
	default: result = CUDA_ERROR_INVALID_VALUE;
	}
	return muster_simcuda_leave(result);
}

/* Both GPUs must be allowed to (the fault p2p-off is of one), and no GPU is a peer of itself. */
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	struct CUctx_st *found;
	ENTER(enter_device(device, can != NULL, &found), true);
	if (peer < 0 || (size_t)peer >= driver.count)
		return muster_simcuda_leave(CUDA_ERROR_INVALID_DEVICE);
	*can = device != peer && found->gpu->p2p && driver.devices[peer].gpu->p2p;
	return muster_simcuda_leave(CUDA_SUCCESS);
}

/* The driver prints upper case; sysfs prints lower case. */
CUresult cuDeviceGetPCIBusId(char *bus_id, int size, CUdevice device)
{
	struct CUctx_st *found;
	ENTER(enter_device(device, bus_id && size > 0, &found), true);
	struct muster_standin_bus_id id = muster_standin_bus_id_of(found->gpu);
	char text[32];
	int length = snprintf(text, sizeof text, "%04X:%02X:%02X.0", id.domain, id.bus, id.device);
	if (length >= size)
		return muster_simcuda_leave(CUDA_ERROR_INVALID_VALUE);
	memcpy(bus_id, text, (size_t)length + 1);
	return muster_simcuda_leave(CUDA_SUCCESS);
}

/* -- contexts: only primary ones -- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	struct CUctx_st *found;
	ENTER(enter_device(device, context != NULL, &found), true);
	if (found->gpu->compute_mode == 2) /* prohibited */
		return muster_simcuda_leave(CUDA_ERROR_DEVICE_UNAVAILABLE_);
	if (found->retained++ == 0) {
		*found = (struct CUctx_st){ .gpu = found->gpu, .retained = 1, .loaded_seconds = found->loaded_seconds };
		found->default_stream.context = found;
		found->default_stream.last = &found->default_stream.first;
	}
	*context = found;
	return muster_simcuda_leave(CUDA_SUCCESS);
}

/* For NVML's stand-in, which shows a GPU as busy or hot by this. Nothing is in use of a GPU that this process cannot
 * see. */
struct muster_standin_use muster_standin_cuda_use(const char *bus_id)
{
	struct muster_standin_use use = { 0 };
	muster_standin_cuda_lock();
	for (size_t i = 0; i < driver.count; i++) {
		const struct CUctx_st *one = &driver.devices[i];
		if (strcmp(one->gpu->bus_id, bus_id) == 0)
			use = (struct muster_standin_use){ one->retained > 0, one->worked, one->modules != NULL,
				one->loaded_seconds };
	}
	muster_standin_cuda_unlock();
	return use;
}

/* The last release ends the context, and what was made in it. */
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	struct CUctx_st *found;
	ENTER(enter_device(device, true, &found), true);
	if (found->retained == 0)
		return muster_simcuda_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (--found->retained == 0) {
		muster_simcuda_forget_streams(found);
		muster_simcuda_forget_modules(found);
		muster_simcuda_forget_memory(found);
	}
	return muster_simcuda_leave(CUDA_SUCCESS);
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	ENTER(muster_simcuda_enter(), true);
	bool known = !context;
	for (size_t i = 0; i < driver.count; i++)
		known = known || (context == &driver.devices[i] && context->retained > 0);
	if (!known)
		return muster_simcuda_leave(CUDA_ERROR_INVALID_CONTEXT);
	current = context;
	return muster_simcuda_leave(CUDA_SUCCESS);
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	struct CUctx_st *context;
	ENTER(muster_simcuda_enter_context(&context), free_bytes && total_bytes);
	*total_bytes = (size_t)(muster_sim_memory_mib(context->gpu) * 1048576);
	*free_bytes = muster_simcuda_free_bytes(context);
	return muster_simcuda_leave(CUDA_SUCCESS);
}
