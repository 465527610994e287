/* SPDX-License-Identifier: Apache-2.0 */
/* cufile.c - libcufile.so.0 for the simulation: reads from a file to the GPU's memory
 *
 * Follows the cuFile API reference for what each call checks and gives. The kernel module nvidia-fs is never loaded, so
 * all reads are of the compatibility mode: what reads a file takes its time, as on the simulated disk.
 *
 * A read goes in pieces of 16 MiB: pread() of the preloaded library (files.c), which takes the virtual time of the
 * volume, into a host buffer, and from there into the simulated device memory, which takes none. The buffer is pinned,
 * because volume.c takes a read into pinned memory for one that all ranks of the node do at once.
 */
#include "vendor/cufile_abi.h"
#include "sim/standins/base.h"

#include "muster/arena.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define X(symbol, parameters) MUSTER_STANDIN_EXPORT CUfileError_t symbol parameters;
MUSTER_CUFILE_FUNCTIONS(X)
#undef X
#define X(result, symbol, parameters) MUSTER_STANDIN_EXPORT result symbol parameters;
MUSTER_CUFILE_OTHER_FUNCTIONS(X)
#undef X

MUSTER_STANDIN_MARK;

#define PIECE ((size_t)16 << 20) /* properties.max_direct_io_size_kb */
#define ALIGNMENT 4096

struct handle {
	struct handle *next;
	int fd;
};

static struct {
	pthread_mutex_t lock;
	bool open;
	struct handle *handles;
} driver = { .lock = PTHREAD_MUTEX_INITIALIZER };

static CUfileError_t leave(CUfileOpError error)
{
	pthread_mutex_unlock(&driver.lock);
	return (CUfileError_t){ error, CUDA_SUCCESS };
}

/* Without nvidia-fs the driver opens only where it may do without. */
static CUfileOpError open_driver(void)
{
	const char *allowed = getenv("CUFILE_ALLOW_COMPAT_MODE");
	struct muster_standin_device device;
	if (driver.open)
		return CU_FILE_SUCCESS;
	if (allowed && strcmp(allowed, "false") == 0)
		return CU_FILE_DRIVER_NOT_INITIALIZED;
	if (!muster_standin_cuda()->muster_standin_cuda_current(&device))
		return CU_FILE_PLATFORM_NOT_SUPPORTED;
	driver.open = true;
	return CU_FILE_SUCCESS;
}

CUfileError_t cuFileDriverOpen(void)
{
	pthread_mutex_lock(&driver.lock);
	return leave(open_driver());
}

CUfileError_t cuFileDriverClose(void)
{
	pthread_mutex_lock(&driver.lock);
	if (!driver.open)
		return leave(CU_FILE_DRIVER_NOT_INITIALIZED);
	driver.open = false;
	return leave(CU_FILE_SUCCESS);
}

CUfileError_t cuFileDriverGetProperties(CUfileDrvProps_t *properties)
{
	pthread_mutex_lock(&driver.lock);
	if (!properties)
		return leave(CU_FILE_INVALID_VALUE);
	CUfileOpError error = open_driver();
	if (error == CU_FILE_SUCCESS)
		*properties = (CUfileDrvProps_t){
			.nvfs = { .poll_thresh_size = 4, .max_direct_io_size = PIECE >> 10, .dcontrolflags = 2 },
			.fflags = 15,
			.max_device_cache_size = 131072,
			.max_device_pinned_mem_size = 33554432,
			.max_batch_io_size = 128,
			.max_batch_io_timeout_msecs = 5
		};
	return leave(error);
}

static struct handle **find(CUfileHandle_t handle)
{
	struct handle **at = &driver.handles;
	while (*at && *at != handle)
		at = &(*at)->next;
	return *at ? at : NULL;
}

CUfileError_t cuFileHandleRegister(CUfileHandle_t *handle, CUfileDescr_t *description)
{
	pthread_mutex_lock(&driver.lock);
	if (!handle || !description || description->type != CU_FILE_HANDLE_TYPE_OPAQUE_FD || description->fs_ops)
		return leave(CU_FILE_INVALID_VALUE);
	CUfileOpError error = open_driver();
	if (error != CU_FILE_SUCCESS)
		return leave(error);
	struct handle *new = muster_calloc(1, sizeof *new);
	*new = (struct handle){ .next = driver.handles, .fd = description->handle.fd };
	driver.handles = new;
	*handle = new;
	return leave(CU_FILE_SUCCESS);
}

void cuFileHandleDeregister(CUfileHandle_t handle)
{
	pthread_mutex_lock(&driver.lock);
	struct handle **at = find(handle), *gone = at ? *at : NULL;
	if (gone) {
		*at = gone->next;
		free(gone);
	}
	leave(CU_FILE_SUCCESS);
}

CUfileError_t cuFileBufRegister(const void *memory, size_t bytes, int flags)
{
	pthread_mutex_lock(&driver.lock);
	bool known = muster_standin_cuda()->muster_standin_cuda_check((CUdeviceptr)(uintptr_t)memory, bytes);
	return leave(!known || bytes == 0 || flags != 0 ? CU_FILE_INVALID_VALUE : CU_FILE_SUCCESS);
}

CUfileError_t cuFileBufDeregister(const void *memory)
{
	pthread_mutex_lock(&driver.lock);
	return leave(memory ? CU_FILE_SUCCESS : CU_FILE_INVALID_VALUE);
}

/* A piece of the file to device memory: as read(2) answers. */
static ssize_t read_piece(int fd, void *between, size_t bytes, off_t offset, CUdeviceptr to)
{
	const struct muster_standin_cuda *cuda = muster_standin_cuda();
	ssize_t got = pread(fd, between, bytes, offset);
	if (got <= 0)
		return got;
	cuda->muster_standin_cuda_lock();
	bool known = cuda->muster_standin_cuda_check(to, (size_t)got);
	if (known)
		cuda->muster_standin_cuda_write(to, (size_t)got, between, (size_t)got);
	cuda->muster_standin_cuda_unlock();
	return known ? got : -(ssize_t)CU_FILE_INVALID_VALUE;
}

/* Returns the bytes, fewer at the end of the file; -1 with errno, or a CUfileOpError below 0. Bytes that were read
 * before an error are not counted then. */
ssize_t cuFileRead(CUfileHandle_t handle, void *memory, size_t bytes, off_t file_offset, off_t memory_offset)
{
	CUdeviceptr to = (CUdeviceptr)(uintptr_t)memory + (CUdeviceptr)memory_offset;
	ssize_t done = 0, got = 0;
	void *between;
	pthread_mutex_lock(&driver.lock);
	struct handle **at = find(handle);
	int fd = at ? (*at)->fd : -1;
	pthread_mutex_unlock(&driver.lock);
	if (fd < 0)
		return -(ssize_t)CU_FILE_HANDLE_NOT_REGISTERED;
	if (posix_memalign(&between, ALIGNMENT, PIECE) != 0)
		return -1;
	muster_standin_cuda()->muster_standin_cuda_pin(between, PIECE); /* as the real one */
	for (; (size_t)done < bytes; done += got) {
		size_t left = bytes - (size_t)done;
		got = read_piece(fd, between, left < PIECE ? left : PIECE, file_offset + done, to + (CUdeviceptr)done);
		if (got <= 0)
			break;
	}
	muster_standin_cuda()->muster_standin_cuda_pin(between, 0);
	free(between);
	return got < 0 ? got : done;
}
