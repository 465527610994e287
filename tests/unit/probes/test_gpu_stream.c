/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_stream.c - gpu_stream on a scripted GPU, with files of this machine, and a scripted cuFile
 *
 * Time on the GPU is virtual; reads from the disk take what they take.
 */
#include "probes/gpu_stream/stream.h"
#include "probes/windows.h"
#include "kernel_fakes.h"
#include "check_main.h"
#include "probe_fake.h"
#include "util/leaks.h"
#include "vendor/cufile.h"

#include <stdio.h>
#include <unistd.h>

#define BUS_ID "0001:00:00.0"
#define FOLDER_SIZE 300

extern const struct muster_probe muster_probe_gpu_stream;

static struct probe_fake *context;
static struct muster_error err;
static char folder[FOLDER_SIZE];
static bool small_memory; /* at most 36 MiB of the GPU's */
static size_t spoil_at;   /* the copy to the GPU that changes a bit; 0: none */
static size_t spoil_slot; /* 1: each copy to the place of the first one does */
static CUdeviceptr first_place;

/* -- cuFile -- */

static struct {
	bool missing, compatible, open;
	bool direct;             /* nvidia-fs is there */
	CUfileOpError no_handle; /* of the compatibility mode */
	bool broken, spoils;     /* reads fail; a bit of each is wrong */
	int sessions, handles, buffers, quiet;
	int fd;
} cufile;

static CUfileError_t gives(CUfileOpError code)
{
	return (CUfileError_t){ code, CUDA_SUCCESS };
}
static CUfileError_t fake_driver_open(void)
{
	if (!cufile.direct && !cufile.compatible)
		return gives(CU_FILE_DRIVER_NOT_INITIALIZED);
	ck_assert(!cufile.open);
	cufile.open = true;
	cufile.sessions++;
	return gives(CU_FILE_SUCCESS);
}
static CUfileError_t fake_driver_close(void)
{
	ck_assert(cufile.open && cufile.handles == 0 && cufile.buffers == 0);
	cufile.open = false;
	return gives(CU_FILE_SUCCESS);
}
static CUfileError_t fake_properties(CUfileDrvProps_t *properties)
{
	properties->nvfs.major_version = 2;
	properties->nvfs.minor_version = 26;
	return gives(CU_FILE_SUCCESS);
}
static CUfileError_t fake_handle(CUfileHandle_t *handle, CUfileDescr_t *description)
{
	ck_assert(cufile.open);
	ck_assert_int_eq(description->type, CU_FILE_HANDLE_TYPE_OPAQUE_FD);
	if (cufile.no_handle != CU_FILE_SUCCESS)
		return gives(cufile.no_handle);
	cufile.fd = description->handle.fd;
	cufile.handles++;
	*handle = &cufile;
	return gives(CU_FILE_SUCCESS);
}
static void fake_handle_end(CUfileHandle_t handle)
{
	ck_assert_ptr_eq(handle, &cufile);
	cufile.handles--;
}
static CUfileError_t fake_buffer(const void *memory, size_t bytes, int flags)
{
	ck_assert(memory && bytes > 0 && flags == 0);
	cufile.buffers++;
	return gives(CU_FILE_SUCCESS);
}
static CUfileError_t fake_buffer_end(const void *memory)
{
	(void)memory;
	cufile.buffers--;
	return gives(CU_FILE_SUCCESS);
}
static ssize_t fake_cufile_read(CUfileHandle_t handle, void *memory, size_t bytes, off_t file_offset, off_t offset)
{
	ck_assert_ptr_eq(handle, &cufile);
	if (cufile.broken)
		return -(ssize_t)CU_FILE_INTERNAL_ERROR;
	void *aligned;
	ck_assert_int_eq(posix_memalign(&aligned, 4096, bytes), 0);
	ssize_t got = pread(cufile.fd, aligned, bytes, file_offset);
	memcpy((char *)memory + offset, aligned, got > 0 ? (size_t)got : 0);
	free(aligned);
	if (cufile.spoils)
		((char *)memory)[offset] ^= 1;
	return got;
}
static const struct muster_cufile fake_cufile = {
	.cuFileDriverOpen = fake_driver_open,
	.cuFileDriverClose = fake_driver_close,
	.cuFileDriverGetProperties = fake_properties,
	.cuFileHandleRegister = fake_handle,
	.cuFileHandleDeregister = fake_handle_end,
	.cuFileBufRegister = fake_buffer,
	.cuFileBufDeregister = fake_buffer_end,
	.cuFileRead = fake_cufile_read,
};
const struct muster_cufile *muster_cufile(struct muster_error *ret)
{
	if (!cufile.missing)
		return &fake_cufile;
	muster_fail(ret, MUSTER_ELIB, "cuFile: libcufile.so.0 cannot be opened");
	return NULL;
}
void muster_cufile_quiet(void)
{
	cufile.quiet++;
}
void muster_cufile_allow_compatibility(bool allowed)
{
	cufile.compatible = allowed;
}
int muster_cufile_check(CUfileError_t status, struct muster_error *ret, const char *call)
{
	return status.err == CU_FILE_SUCCESS
		       ? 0
		       : muster_fail(ret, MUSTER_ENOTSUPPORTED, "%s: status %d", call, (int)status.err);
}
const char *muster_cufile_meaning(CUfileError_t status)
{
	return status.err == CU_FILE_DRIVER_NOT_INITIALIZED ? "nvidia-fs is not loaded" : "another status";
}

/* -- the GPU -- */

const struct muster_cublaslt *muster_cublaslt(struct muster_error *ret)
{
	muster_fail(ret, MUSTER_ELIB, "cuBLASLt: libcublasLt.so.13 cannot be opened");
	return NULL;
}
int muster_cublaslt_check(cublasStatus_t status, struct muster_error *ret, const char *call)
{
	(void)ret;
	ck_abort_msg("%s: %d", call, (int)status);
}

static CUresult spoiling_h2d(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	CUresult result = fake_h2d(to, from, bytes, stream);
	queued.to = NULL;
	if (!first_place)
		first_place = to;
	if (fake.h2d_done == spoil_at || (spoil_slot && to == first_place))
		((unsigned char *)(uintptr_t)to)[bytes / 2] ^= 4;
	return result;
}
static CUresult small_alloc(CUdeviceptr *pointer, size_t bytes)
{
	return small_memory && bytes > (size_t)36 << 20 ? CUDA_ERROR_OUT_OF_MEMORY : fake_alloc(pointer, bytes);
}
static CUresult fake_retain(CUcontext *ret, CUdevice device)
{
	(void)device;
	*ret = NULL;
	fake.held++;
	return CUDA_SUCCESS;
}
static CUresult fake_release(CUdevice device)
{
	(void)device;
	fake.held--;
	return CUDA_SUCCESS;
}
static CUresult fake_current(CUcontext given)
{
	(void)given;
	return CUDA_SUCCESS;
}

#define KNOB(field) FAKE_KNOB(#field, cufile.field)

static const struct fake_knob knobs[] = { FAKE_GPU_KNOBS, KNOB(missing), KNOB(direct), KNOB(no_handle), KNOB(broken),
	KNOB(spoils), KNOB(open), KNOB(sessions), KNOB(quiet), FAKE_KNOB("spoil_at", spoil_at),
	FAKE_KNOB("spoil_slot", spoil_slot), FAKE_KNOB("small", small_memory), { .name = NULL } };

static void set_up(void)
{
	static const double rate[] = { 25.0 };
	fake_gpu_reset();
	fake_kernels_add(&scripted_cuda);
	scripted_cuda.cuMemcpyHtoDAsync_v2 = spoiling_h2d;
	scripted_cuda.cuMemAlloc_v2 = small_alloc;
	scripted_cuda.cuDevicePrimaryCtxRetain = fake_retain;
	scripted_cuda.cuDevicePrimaryCtxRelease_v2 = fake_release;
	scripted_cuda.cuCtxSetCurrent = fake_current;
	cuda_missing = small_memory = false;
	memset(&cufile, 0, sizeof cufile);
	spoil_at = spoil_slot = first_place = 0;
	err = (struct muster_error){ 0 };
	context = fake_gpu_new(&muster_probe_gpu_stream);
	context->knobs = knobs;
	context->place = BUS_ID;
	fake.h2d_gbps = rate;
	fake.h2d_count = 1;
	fake_file(context, "/scratch", NULL);
	fake_file(context, "/proc/self/mountinfo", "21 1 0:30 / / rw - tmpfs tmpfs rw\n");
	snprintf(folder, sizeof folder, "%s/scratch", context->root);
	context->ctx.env.storage = true;
	context->ctx.env.storage_path = "/scratch";
	context->ctx.env.storage_bytes = (uint64_t)160 << 20;
	context->ctx.env.local_ranks = 4;
}

static void tear_down(void)
{
	ck_assert_int_eq(rmdir(folder), 0); /* nothing is left in it */
	fake.stuck = false;
	fake_free(context);
}

/* Some file systems take no direct I/O, and then nothing is told of the disk. */
static bool has_direct(void)
{
	struct muster_storage_file file;
	bool direct = muster_storage_file_open(folder, 4096, &file, &err) == 0 && file.direct;
	muster_storage_file_close(&file);
	return direct;
}

#define OF(metric, source) metric " gpu=" BUS_ID " source=" source
#define RATE(source, load) OF("gpu.stream_gbps", source) " load=" load " "
#define WRONG(source) OF("gpu.stream_wrong", source) " "
#define NO_CUFILE(why)                                                                                                 \
	"gpu.cufile_gbps -" why " | gpu.cufile_path -" why " | gpu.cufile_wrong -" why                                 \
	" | " RATE("disk", "alone") ">0 | open 0 | held 0"
#define NO_FOLDER "-*/no/such/folder* | "

static const struct fake_row rows[] = {
	{ "a run that measures no storage does nothing", "storage=0 | cuda_missing=1 | begin | run | together",
		"gpu.stream_gbps #0 | gpu.stream_wrong #0 | gpu.cufile_gbps #0 | quiet 0" },
	{ "buffers stream from the host at the copies' rate", NULL,
		RATE("host", "alone") "25~1e-3 | " WRONG("host") "0 | " RATE(
			"host", "products") "-cuBLASLt: libcublasLt.so.13 cannot be opened | held 0" },
	/* of 68 copies, the last four stay in the GPU's memory */
	{ "a word that changes on the way from the host is counted", "spoil_slot=1", WRONG("host") "1" },
	{ "without a folder nothing comes from the disk", "storage_path=/no/such/folder | together",
		RATE("disk", "alone") NO_FOLDER RATE("disk", "products") NO_FOLDER "gpu.cufile_gbps " NO_FOLDER
										   "held 0" },
	{ "no room is an error that leaves nothing", "alloc_result=2", "error '*cuMemAlloc_v2: result 2* | held 0" },
	{ "no room is an error together too", "alloc_result=2 | together", "error '?* | held 0" },
	{ "room for some of the host's buffers is an error", "small=1",
		"error '*32 MiB of free memory for 128 MiB* | code 'notsupported | held 0" },
	{ "no pinned memory is an error that leaves nothing", "register_result=2",
		"error '*cuMemHostRegister_v2: result 2* | held 0" },
	{ "no pinned memory is an error together too", "register_result=2 | together", "error '?* | held 0" },
};

TEST_EACH(data_streams_from_the_host, rows)
{
	fake_case(context, &rows[_i]);
	ck_assert(context->ctx.env.storage || context->samples.count == 0);
}

/* Four copies warm up, and a window has eight. */
TEST(what_disturbs_some_copies_does_not_change_the_others_windows)
{
	double rates[4 + 2 * 8 + 1];
	for (size_t i = 0; i < (size_t)LENGTH(rates); i++)
		rates[i] = i < 4 + 8 ? 5 : i < 4 + 2 * 8 ? 20 : 25;
	fake.h2d_gbps = rates;
	fake.h2d_count = (size_t)LENGTH(rates);
	fake.standin = true; /* all copies are done before the time of a pass is over, on a busy machine too */
	fake_run(context);
	const struct muster_sample *sample = fake_sample(context, "gpu.stream_gbps", BUS_ID, "alone");
	ck_assert_double_eq_tol(sample->value.number, 25, 1e-3);
	ck_assert_uint_eq(sample->value_count, MUSTER_STREAM_WINDOWS);
	for (size_t i = 0; i < sample->value_count; i++)
		ck_assert_double_eq_tol(sample->values[i], i == 0 ? 5 : i == 1 ? 20 : 25, 1e-3);
}

TEST(a_shorter_window_counts_where_it_is_the_only_one)
{
	struct muster_stream_pass pass = { 0 };
	muster_stream_keep(&pass, MUSTER_WINDOW_BYTES, 100);
	muster_stream_keep(&pass, MUSTER_WINDOW_BYTES, 200);
	muster_stream_keep(&pass, 1 << 20, 1);
	ck_assert_uint_eq(pass.windows, 2);
	ck_assert_double_eq_tol(pass.gbps[0], 2.68435456, 1e-9);
	ck_assert_double_eq_tol(pass.gbps[1], 1.34217728, 1e-9);
	ck_assert_uint_eq(pass.bytes, 2 * MUSTER_WINDOW_BYTES + (1 << 20));
	pass = (struct muster_stream_pass){ 0 };
	muster_stream_keep(&pass, 1 << 20, 1);
	ck_assert_uint_eq(pass.windows, 1);
}

static const struct fake_row disk_rows[] = {
	/* each block once */
	{ "a rank streams its part of the bytes from the disk", "begin | together",
		"quiet 1 | gpu.stream_tested_mib 40 | " RATE("disk", "alone") ">0 | " WRONG(
			"disk") "0 | h2d_done 10 | gpu.cufile_gbps >0 | gpu.cufile_path 'compatibility: nvidia-fs is "
				"not loaded | "
				"gpu.cufile_wrong 0 | held 0 | open 0" },
	/* one of each piece */
	{ "a word that changes on the way from the disk is counted", "spoil_at=7 | spoils=1 | together",
		WRONG("disk") "1 | gpu.cufile_wrong 3" },
	{ "the direct path is told", "direct=1 | together", "gpu.cufile_path 'direct: nvidia-fs 2.26 | sessions 1" },
	{ "without cuFile the reason is told", "missing=1 | together",
		NO_CUFILE("cuFile: libcufile.so.0 cannot be opened") },
	{ "a cuFile that takes no file", "no_handle=5027 | together", NO_CUFILE("cuFileHandleRegister: status 5027") },
	{ "a cuFile that cannot read", "broken=1 | together", NO_CUFILE("cuFileRead: status 5030") },
	{ "little memory on the GPU takes a smaller file", "small=1 | together",
		"gpu.stream_tested_mib 20 | " WRONG("disk") "0" },
};

TEST_EACH(data_streams_from_the_disk, disk_rows)
{
	if (!has_direct())
		return;
	fake_case(context, &disk_rows[_i]);
	fake_run(context);
	if (small_memory) /* the buffers of the host's data have no room */
		return;
	ck_assert_int_eq(context->result, 0);
	fake_complete(context, (const char *const[]){ "node.disk_to_gpu_gbps", NULL });
}

/* What a copy that never ended still uses stays until the process ends: no leak. */
static int run_and_leave_buffers(void)
{
#ifdef MUSTER_HAS_LSAN
	__lsan_disable();
#endif
	int result = muster_probe_gpu_stream.run(&context->ctx, &err);
#ifdef MUSTER_HAS_LSAN
	__lsan_enable();
#endif
	return result;
}

TEST(a_copy_that_never_ends_is_an_error_and_its_buffers_are_left_alone)
{
	fake.stuck = true;
	ck_assert_int_eq(run_and_leave_buffers(), -1);
	ck_assert_int_eq(err.code, MUSTER_ETIME);
	ck_assert_int_gt(fake.held, 0);
}

TEST_MAIN(.setup = set_up, .teardown = tear_down, .timeout = 200)
