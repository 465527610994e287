/* test_gpu_stream.c - gpu_stream on a scripted GPU, with files of this machine, and a scripted cuFile
 *
 * Time on the GPU is virtual; reads from the disk take what they take.
 */
#include "probes/gpu_stream/stream.h"
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
static size_t spoil_at; /* the copy to the GPU that changes a bit; 0: none */

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
	if (fake.h2d_done == spoil_at)
		((unsigned char *)(uintptr_t)to)[bytes / 2] ^= 4;
	return result;
}
/* At most 30 MiB. */
static CUresult small_alloc(CUdeviceptr *pointer, size_t bytes)
{
	return bytes > (size_t)30 << 20 ? CUDA_ERROR_OUT_OF_MEMORY : fake_alloc(pointer, bytes);
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

static void set_up(void)
{
	static const double rate[] = { 25.0 };
	fake_gpu_reset();
	fake_kernels_add(&scripted_cuda);
	scripted_cuda.cuMemcpyHtoDAsync_v2 = spoiling_h2d;
	scripted_cuda.cuDevicePrimaryCtxRetain = fake_retain;
	scripted_cuda.cuDevicePrimaryCtxRelease_v2 = fake_release;
	scripted_cuda.cuCtxSetCurrent = fake_current;
	cuda_missing = false;
	memset(&cufile, 0, sizeof cufile);
	spoil_at = 0;
	err = (struct muster_error){ 0 };
	context = fake_gpu_new(&muster_probe_gpu_stream);
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

/* The value of a metric with the labels gpu, source and load (NULL: it has no such label). */
static const struct muster_sample *sample_of(const char *metric, const char *source, const char *load)
{
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		if (strcmp(sample->metric->name, metric) == 0 && strcmp(sample->labels[0].value.string, BUS_ID) == 0 &&
			strcmp(sample->labels[1].value.string, source) == 0 &&
			(!load || strcmp(sample->labels[2].value.string, load) == 0))
			return sample;
	}
	ck_abort_msg("no %s %s %s", metric, source, load ? load : "");
}
static double number_of(const char *metric, const char *source, const char *load)
{
	const struct muster_sample *sample = sample_of(metric, source, load);
	ck_assert_msg(sample->value.type == MUSTER_NUMBER, "%s", sample->reason);
	return sample->value.number;
}

/* Some file systems take no direct I/O, and then nothing is told of the disk. */
static bool has_direct(void)
{
	struct muster_storage_file file;
	bool direct = muster_storage_file_open(folder, 4096, &file, &err) == 0 && file.direct;
	muster_storage_file_close(&file);
	return direct;
}

static int run(void)
{
	return muster_probe_gpu_stream.run(&context->ctx, &err);
}
static int together(void)
{
	return muster_probe_gpu_stream.together(&context->ctx, &err);
}

TEST(a_run_that_measures_no_storage_does_nothing)
{
	context->ctx.env.storage = false;
	cuda_missing = true;
	muster_probe_gpu_stream.begin(&context->ctx);
	ck_assert_int_eq(run(), 0);
	ck_assert_int_eq(together(), 0);
	ck_assert_uint_eq(context->samples.count, 0);
	ck_assert_int_eq(cufile.quiet, 0);
}

TEST(buffers_stream_from_the_host_at_the_copies_rate)
{
	ck_assert_msg(run() == 0, "%s", err.text);
	ck_assert_double_eq_tol(number_of("gpu.stream_gbps", "host", "alone"), 25, 1e-3);
	ck_assert_double_eq(number_of("gpu.stream_wrong", "host", NULL), 0);
	ck_assert_str_eq(sample_of("gpu.stream_gbps", "host", "products")->reason,
		"cuBLASLt: libcublasLt.so.13 cannot be opened");
	ck_assert_int_eq(fake.held, 0);
}

/* Of 68 copies, the last four stay in the GPU's memory. */
TEST(a_word_that_changes_on_the_way_from_the_host_is_counted)
{
	spoil_at = 66;
	ck_assert_int_eq(run(), 0);
	ck_assert_double_eq(number_of("gpu.stream_wrong", "host", NULL), 1);
}

TEST(a_rank_streams_its_part_of_the_bytes_from_the_disk)
{
	if (!has_direct())
		return;
	muster_probe_gpu_stream.begin(&context->ctx);
	ck_assert_int_eq(cufile.quiet, 1);
	ck_assert_msg(together() == 0, "%s", err.text);
	ck_assert_double_eq(fake_number(context, "gpu.stream_tested_mib", BUS_ID), 40);
	ck_assert_double_gt(number_of("gpu.stream_gbps", "disk", "alone"), 0);
	ck_assert_double_eq(number_of("gpu.stream_wrong", "disk", NULL), 0);
	ck_assert_uint_eq(fake.h2d_done, 10); /* each block once */
	ck_assert_double_gt(fake_number(context, "gpu.cufile_gbps", BUS_ID), 0);
	ck_assert_str_eq(fake_string(context, "gpu.cufile_path", BUS_ID), "compatibility: nvidia-fs is not loaded");
	ck_assert_double_eq(fake_number(context, "gpu.cufile_wrong", BUS_ID), 0);
	ck_assert_int_eq(fake.held, 0);
	ck_assert(!cufile.open);
	ck_assert_int_eq(run(), 0);
	fake_complete(context, (const char *const[]){ "node.disk_to_gpu_gbps", NULL });
}

TEST(a_word_that_changes_on_the_way_from_the_disk_is_counted)
{
	if (!has_direct())
		return;
	spoil_at = 7;
	cufile.spoils = true;
	ck_assert_int_eq(together(), 0);
	ck_assert_double_eq(number_of("gpu.stream_wrong", "disk", NULL), 1);
	ck_assert_double_eq(fake_number(context, "gpu.cufile_wrong", BUS_ID), 3); /* one of each piece */
}

TEST(the_direct_path_is_told)
{
	if (!has_direct())
		return;
	cufile.direct = true;
	ck_assert_int_eq(together(), 0);
	ck_assert_str_eq(fake_string(context, "gpu.cufile_path", BUS_ID), "direct: nvidia-fs 2.26");
	ck_assert_int_eq(cufile.sessions, 1);
}

TEST_LOOP(a_cufile_that_cannot_do_it_is_null_with_the_reason, 0, 3)
{
	static const char *const reasons[] = { "cuFile: libcufile.so.0 cannot be opened",
		"cuFileHandleRegister: status 5027", "cuFileRead: status 5030" };
	if (!has_direct())
		return;
	cufile.missing = _i == 0;
	cufile.no_handle = _i == 1 ? CU_FILE_HANDLE_NOT_REGISTERED : CU_FILE_SUCCESS;
	cufile.broken = _i == 2;
	ck_assert_int_eq(together(), 0);
	ck_assert_str_eq(fake_reason(context, "gpu.cufile_gbps", BUS_ID), reasons[_i]);
	ck_assert_str_eq(fake_reason(context, "gpu.cufile_path", BUS_ID), reasons[_i]);
	ck_assert_str_eq(fake_reason(context, "gpu.cufile_wrong", BUS_ID), reasons[_i]);
	ck_assert_double_gt(number_of("gpu.stream_gbps", "disk", "alone"), 0);
	ck_assert(!cufile.open);
	ck_assert_int_eq(fake.held, 0);
}

TEST(without_a_folder_nothing_comes_from_the_disk)
{
	context->ctx.env.storage_path = "/no/such/folder";
	ck_assert_int_eq(together(), 0);
	ck_assert_ptr_nonnull(strstr(sample_of("gpu.stream_gbps", "disk", "alone")->reason, "/no/such/folder"));
	ck_assert_ptr_nonnull(strstr(sample_of("gpu.stream_gbps", "disk", "products")->reason, "/no/such/folder"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.cufile_gbps", BUS_ID), "/no/such/folder"));
	ck_assert_int_eq(fake.held, 0);
}

TEST(little_memory_on_the_gpu_takes_a_smaller_file)
{
	if (!has_direct())
		return;
	scripted_cuda.cuMemAlloc_v2 = small_alloc;
	ck_assert_int_eq(together(), 0);
	ck_assert_double_eq(fake_number(context, "gpu.stream_tested_mib", BUS_ID), 20);
	ck_assert_double_eq(number_of("gpu.stream_wrong", "disk", NULL), 0);
}

/* What a copy that never ended still uses stays until the process ends: no leak. */
static int run_and_leave_buffers(void)
{
#ifdef MUSTER_HAS_LSAN
	__lsan_disable();
#endif
	int result = run();
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

TEST_LOOP(no_room_or_no_pinned_memory_is_an_error_that_leaves_nothing, 0, 2)
{
	fake.alloc_result = _i == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
	fake.register_result = _i == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	ck_assert_int_eq(run(), -1);
	ck_assert_ptr_nonnull(strstr(err.text, _i == 0 ? "cuMemAlloc_v2: result 2" : "cuMemHostRegister_v2: result 2"));
	ck_assert_int_eq(together(), -1);
	ck_assert_int_eq(fake.held, 0);
}

TEST_MAIN(.setup = set_up, .teardown = tear_down, .timeout = 60)
