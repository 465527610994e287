/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda.c - libcuda.so.1's stand-in does what the driver API's documentation says, on a virtual clock
 */
#include "standins/example.h"

#include "sim/standins/base.h"

#include "check_main.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WINDOW MUSTER_STANDIN_WINDOW
#define MIB ((size_t)1 << 20)

static struct {
#define X(symbol, parameters) CUresult(*symbol) parameters;
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
#define X(type, symbol, parameters) type(*symbol) parameters;
	MUSTER_STANDIN_CUDA_FUNCTIONS(X)
#undef X
} cuda;

static void open_cuda(void)
{
	void *library = example_open("libcuda.so.1");
#define X(symbol, parameters) example_find(library, #symbol, &cuda.symbol, sizeof cuda.symbol);
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
#define X(type, symbol, parameters) example_find(library, #symbol, &cuda.symbol, sizeof cuda.symbol);
	MUSTER_STANDIN_CUDA_FUNCTIONS(X)
#undef X
}

static void start(void)
{
	unsetenv("CUDA_VISIBLE_DEVICES");
	unsetenv("CUDA_DEVICE_ORDER");
	example_start(example_cluster(), 0);
	open_cuda();
}

#define OK(call) ck_assert_int_eq(cuda.call, CUDA_SUCCESS)
#define GIVES(code, call) ck_assert_int_eq(cuda.call, code)

static CUcontext begin(void)
{
	CUcontext context;
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	return context;
}

static void end(void)
{
	OK(cuDevicePrimaryCtxRelease_v2(0));
}

TEST(nothing_works_before_cuInit_but_the_version)
{
	int count, version;
	CUcontext context;
	CUdeviceptr pointer;
	OK(cuDriverGetVersion(&version));
	ck_assert_int_eq(version, 13000);
	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDevicePrimaryCtxRetain(&context, 0));
	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc_v2(&pointer, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuInit(1));
	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
}

/* CUDA counts the example's GPUs backwards: CUDA device 0 is the GPU at bus 0004. */
static const struct {
	const char *visible, *order, *seen; /* seen: the first digit of each bus id's domain */
} visibles[] = {
	{ NULL, NULL, "4321" },
	{ NULL, "PCI_BUS_ID", "1234" },
	{ NULL, "FASTEST_FIRST", "4321" },
	{ "0,1,2,3", NULL, "4321" },
	{ "2,0", NULL, "24" },
	{ "2,0", "PCI_BUS_ID", "31" },
	{ " 1 , 3", NULL, "31" },
	{ "1,9,2", NULL, "3" },
	{ "1,-1,2", NULL, "3" },
	{ "1,x,2", NULL, "3" },
	{ "1,,2", NULL, "3" },
	{ "1,2,", NULL, "32" },
	{ "0,1,0", NULL, "" },
	{ "", NULL, "" },
	{ "9", NULL, "" },
	{ "-1", NULL, "" },
	{ "NoDevFiles", NULL, "" },
	{ "GPU-abc00002", NULL, "3" },
	{ "GPU-ABC00002-0123,GPU-abc00000-0123-4567-89ab-cdef00000000", NULL, "31" },
	{ "1,GPU-abc00000", NULL, "31" },
	{ "GPU-abc", NULL, "" },
	{ "GPU-", NULL, "" },
	{ "GPU-dead,0", NULL, "" },
	{ "MIG-1,0", NULL, "" },
};

TEST_EACH(visible_devices_are_those_that_the_driver_would_show, visibles)
{
	int count;
	char seen[EXAMPLE_GPUS + 1] = "";
	if (visibles[_i].visible)
		setenv("CUDA_VISIBLE_DEVICES", visibles[_i].visible, 1);
	if (visibles[_i].order)
		setenv("CUDA_DEVICE_ORDER", visibles[_i].order, 1);
	if (!*visibles[_i].seen) {
		GIVES(CUDA_ERROR_NO_DEVICE, cuInit(0));
		GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
		return;
	}
	OK(cuInit(0));
	OK(cuDeviceGetCount(&count));
	for (int i = 0; i < count; i++) {
		char bus_id[16];
		OK(cuDeviceGetPCIBusId(bus_id, sizeof bus_id, i));
		seen[i] = bus_id[3];
	}
	ck_assert_str_eq(seen, visibles[_i].seen);
}

TEST(a_device_tells_what_the_scenario_says)
{
	CUdevice device;
	char text[64];
	CUuuid uuid;
	int value;
	static const unsigned char wanted[16] = { 0xab, 0xc0, 0, 3, 1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0, 0,
		0, 0 };
	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 4));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
	OK(cuDeviceGetName(text, sizeof text, device));
	ck_assert_str_eq(text, "Example GPU");
	OK(cuDeviceGetName(text, 4, device));
	ck_assert_str_eq(text, "Exa");
	OK(cuDeviceGetPCIBusId(text, 13, device));
	ck_assert_str_eq(text, "0004:0A:00.0");
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDeviceGetPCIBusId(text, 12, device));
	OK(cuDeviceGetUuid_v2(&uuid, device));
	ck_assert_mem_eq(uuid.bytes, wanted, sizeof wanted);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, device));
	ck_assert_int_eq(value, 4);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device));
	ck_assert_int_eq(value, 10);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, device));
	ck_assert_int_eq(value, 0);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
	ck_assert_int_eq(value, 8);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
	ck_assert_int_eq(value, 108);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, device));
	ck_assert_int_eq(value, 5120);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, device));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetName(text, sizeof text, 7));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDeviceGetName(NULL, 5, device));
}

TEST(gpus_reach_each_other_unless_one_of_the_two_may_not)
{
	int can;
	struct muster_sim_cluster *cluster = example_cluster();
	example_end();
	cluster->nodes[0].gpus[2].p2p = false; /* CUDA device 1 */
	example_start(cluster, 0);
	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceCanAccessPeer(&can, 0, 2));
	OK(cuInit(0));
	OK(cuDeviceCanAccessPeer(&can, 0, 2));
	ck_assert_int_eq(can, 1);
	OK(cuDeviceCanAccessPeer(&can, 0, 1));
	ck_assert_int_eq(can, 0);
	OK(cuDeviceCanAccessPeer(&can, 1, 0));
	ck_assert_int_eq(can, 0);
	OK(cuDeviceCanAccessPeer(&can, 2, 2));
	ck_assert_int_eq(can, 0);
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&can, 0, 4));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&can, -1, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDeviceCanAccessPeer(NULL, 0, 1));
}

TEST(calls_need_a_live_current_context)
{
	CUcontext context;
	CUdeviceptr pointer;
	CUstream stream;
	OK(cuInit(0));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&pointer, 1));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuStreamCreate(&stream, 0));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuMemAlloc_v2(&pointer, 1));
	OK(cuStreamCreate(&stream, 0));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	GIVES((CUresult)709, cuMemAlloc_v2(&pointer, 1));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(context));
	OK(cuCtxSetCurrent(NULL));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&pointer, 1));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(pointer));
	end();
}

TEST(memory_is_counted_and_runs_out)
{
	size_t left, total;
	CUdeviceptr a, b;
	begin();
	OK(cuMemAlloc_v2(&a, 600 * MIB));
	OK(cuMemGetInfo_v2(&left, &total));
	ck_assert_uint_eq(total, 1024 * MIB);
	ck_assert_uint_eq(left, 424 * MIB);
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&b, 424 * MIB + 1));
	OK(cuMemAlloc_v2(&b, 424 * MIB));
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&b, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&b, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(a + 1));
	OK(cuMemFree_v2(a));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(a));
	OK(cuMemFree_v2(b));
	OK(cuMemFree_v2(0));
	OK(cuMemGetInfo_v2(&left, &total));
	ck_assert_uint_eq(left, total);
	end();
}

static const size_t sizes[] = { 1, 5, 4096, WINDOW - 3, WINDOW, WINDOW + 8, 3 * WINDOW + 12, 5 * MIB + 1 };

static void wait_for(CUstream stream)
{
	OK(cuStreamQuery(stream));
}

TEST_EACH(periodic_data_survives_the_trip_at_any_size, sizes)
{
	size_t bytes = sizes[_i], at = 13;
	unsigned char *out = malloc(bytes), *back = malloc(bytes);
	CUdeviceptr a, b;
	CUstream stream;
	begin();
	for (size_t i = 0; i < bytes; i++)
		out[i] = (unsigned char)(i % (8 * 8191) * 31 >> 3);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&a, bytes + at));
	OK(cuMemAlloc_v2(&b, bytes));
	OK(cuMemHostRegister_v2(out, bytes, 0));
	OK(cuMemHostRegister_v2(back, bytes, CU_MEMHOSTREGISTER_PORTABLE));
	memset(back, 0, bytes);
	OK(cuMemcpyHtoDAsync_v2(a + at, out, bytes, stream));
	OK(cuMemcpyDtoDAsync_v2(b, a + at, bytes, stream));
	OK(cuMemcpyDtoHAsync_v2(back, b, bytes, stream));
	OK(cuMemcpyDtoHAsync_v2(back, b, bytes, stream));
	wait_for(stream);
	ck_assert_mem_eq(out, back, bytes);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync_v2(b + 1, out, bytes, stream));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoHAsync_v2(back, b + 1, bytes, stream));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoHAsync_v2(back, 4096, bytes, stream));
	OK(cuMemHostUnregister(out));
	OK(cuMemHostUnregister(back));
	end();
	free(out);
	free(back);
}

TEST(a_fill_sets_words_and_nothing_beside_them)
{
	CUdeviceptr a;
	CUstream stream;
	static uint32_t back[2 * WINDOW / sizeof(uint32_t)];
	size_t words = sizeof back / sizeof *back;
	begin();
	OK(cuStreamCreate(&stream, 0));
	OK(cuMemAlloc_v2(&a, sizeof back));
	OK(cuMemsetD32Async(a, 0x01020304, words, stream));
	OK(cuMemcpyDtoHAsync_v2(back, a, sizeof back, stream));
	wait_for(stream);
	ck_assert_uint_eq(back[0], 0x01020304);
	ck_assert_uint_eq(back[words - 1], 0x01020304);
	OK(cuMemsetD32Async(a + 8, 7, 2, stream));
	OK(cuMemcpyDtoHAsync_v2(back, a, 32, stream));
	wait_for(stream);
	ck_assert_uint_eq(back[1], 0x01020304);
	ck_assert_uint_eq(back[2], 7);
	ck_assert_uint_eq(back[3], 7);
	ck_assert_uint_eq(back[4], 0x01020304);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD32Async(a + 2, 7, 2, stream));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD32Async(a, 7, words + 1, stream));
	end();
}

/* Gigabytes per second of so many copies at once. */
static double rate(CUstream stream, CUdeviceptr device, void *host, size_t bytes, bool to_device, int copies)
{
	CUevent before, after;
	float ms;
	OK(cuEventCreate(&before, CU_EVENT_DEFAULT));
	OK(cuEventCreate(&after, CU_EVENT_DEFAULT));
	OK(cuEventRecord(before, stream));
	for (int i = 0; i < copies; i++)
		if (to_device)
			OK(cuMemcpyHtoDAsync_v2(device, host, bytes, stream));
		else
			OK(cuMemcpyDtoHAsync_v2(host, device, bytes, stream));
	OK(cuEventRecord(after, stream));
	wait_for(stream);
	OK(cuEventElapsedTime(&ms, before, after));
	OK(cuEventDestroy_v2(before));
	OK(cuEventDestroy_v2(after));
	return copies * (double)bytes / 1e6 / (double)ms;
}

TEST(copies_run_at_the_scenarios_bandwidth)
{
	size_t bytes = 8 * MIB;
	char *host = calloc(1, bytes + 1);
	CUdeviceptr device;
	CUstream stream;
	begin();
	OK(cuStreamCreate(&stream, 0));
	OK(cuMemAlloc_v2(&device, bytes));
	ck_assert_double_eq_tol(rate(stream, device, host, bytes, true, 1), 25.0 / 3, 1e-4);
	OK(cuMemHostRegister_v2(host, bytes, 0));
	ck_assert_double_eq_tol(rate(stream, device, host, bytes, true, 1), 25, 1e-4);
	ck_assert_double_eq_tol(rate(stream, device, host + 1, bytes, true, 1), 25.0 / 3, 1e-4);
	ck_assert_double_eq_tol(rate(stream, device, host, bytes, false, 1), 20, 1e-4);
	ck_assert_double_eq_tol(rate(stream, device, host, bytes, false, 1), 20, 1e-4);
	/* again and again alone; more copies at once than the first time are those of all GPUs of the node */
	ck_assert_double_eq_tol(rate(stream, device, host, bytes, true, 1), 25, 1e-4);
	ck_assert_double_eq_tol(rate(stream, device, host, bytes, false, 1), 20, 1e-4);
	ck_assert_double_eq_tol(rate(stream, device, host, bytes, true, 2), 16, 1e-4);
	ck_assert_double_eq_tol(rate(stream, device, host, bytes, false, 2), 10, 1e-4);
	end();
	free(host);
}

TEST(gpus_without_a_rank_do_not_compete)
{
	size_t bytes = 8 * MIB;
	char *host = calloc(1, bytes);
	CUdeviceptr device;
	CUstream stream;
	struct muster_sim_cluster *cluster = example_cluster();
	example_end();
	cluster->rank_count = 1;
	example_start(cluster, 0);
	begin();
	OK(cuStreamCreate(&stream, 0));
	OK(cuMemAlloc_v2(&device, bytes));
	OK(cuMemHostRegister_v2(host, bytes, 0));
	for (int copies = 1; copies < 3; copies++) {
		ck_assert_double_eq_tol(rate(stream, device, host, bytes, true, copies), 25, 1e-4);
		ck_assert_double_eq_tol(rate(stream, device, host, bytes, false, copies), 20, 1e-4);
	}
	end();
	free(host);
}

TEST(pinned_memory_is_registered_once)
{
	static char host[8192];
	begin();
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(NULL, 1, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(host, 0, 0));
	OK(cuMemHostRegister_v2(host, 4096, 0));
	GIVES((CUresult)712, cuMemHostRegister_v2(host + 4095, 4096, 0));
	OK(cuMemHostRegister_v2(host + 4096, 4096, 0));
	GIVES((CUresult)713, cuMemHostUnregister(host + 1));
	OK(cuMemHostUnregister(host));
	GIVES((CUresult)713, cuMemHostUnregister(host));
	OK(cuMemHostUnregister(host + 4096));
	end();
}

static int polled, let_go, poll_gives;

static int poll_operation(void *arg, double *seconds)
{
	(void)arg;
	polled++;
	*seconds = 0.25;
	return poll_gives;
}

static void operation_done(void *arg)
{
	(void)arg;
	let_go++;
}

TEST(a_stream_is_a_queue_and_events_hold_its_time)
{
	static char host[64];
	CUstream stream, other;
	CUevent before, after, untimed;
	CUdeviceptr device;
	float ms;
	struct muster_standin_operation operation = { poll_operation, operation_done, NULL, MUSTER_SIM_NOISE_NONE };
	begin();
	OK(cuStreamCreate(&stream, 0));
	OK(cuStreamCreate(&other, 0));
	OK(cuEventCreate(&before, 0));
	OK(cuEventCreate(&after, 0));
	OK(cuEventCreate(&untimed, 2));
	OK(cuMemAlloc_v2(&device, 64));
	OK(cuEventQuery(before));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, before, after));

	poll_gives = 0;
	OK(cuMemsetD32Async(device, 0x41414141, 16, stream));
	OK(cuEventRecord(before, stream));
	ck_assert(cuda.muster_standin_cuda_enqueue(stream, &operation));
	OK(cuMemHostRegister_v2(host, sizeof host, 0));
	OK(cuMemcpyDtoHAsync_v2(host, device, sizeof host, stream));
	OK(cuEventRecord(after, stream));
	OK(cuEventRecord(untimed, stream));
	GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
	OK(cuStreamQuery(other));
	OK(cuEventQuery(before));
	GIVES(CUDA_ERROR_NOT_READY, cuEventQuery(after));
	GIVES(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, before, after));
	ck_assert_int_eq(host[0], 0);
	ck_assert_int_ge(polled, 1);

	poll_gives = 1;
	OK(cuStreamQuery(stream));
	ck_assert_int_eq(host[63], 0x41);
	ck_assert_int_eq(let_go, 1);
	OK(cuEventElapsedTime(&ms, before, after));
	ck_assert_float_eq_tol(ms, 250, 0.001f);
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, before, untimed));
	OK(cuEventDestroy_v2(before));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(before));
	OK(cuStreamDestroy_v2(stream));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
	end();
}

static int take_half_a_second(void *arg, double *seconds)
{
	(void)arg;
	*seconds = 0.5;
	return 1;
}

static void ignore(void *arg)
{
	(void)arg;
}

static double seconds_between(CUevent from, CUevent to)
{
	float ms;
	OK(cuEventElapsedTime(&ms, from, to));
	return (double)ms / 1e3;
}

TEST(streams_run_side_by_side_and_wait_for_events_as_they_were)
{
	CUstream a, b;
	CUevent begun, marked, ended, late;
	struct muster_standin_operation half_second = { take_half_a_second, ignore, NULL, MUSTER_SIM_NOISE_NONE };
	begin();
	OK(cuStreamCreate(&a, 0));
	OK(cuStreamCreate(&b, 0));
	OK(cuEventCreate(&begun, 0));
	OK(cuEventCreate(&marked, 0));
	OK(cuEventCreate(&ended, 0));
	OK(cuEventCreate(&late, 0));
	OK(cuEventRecord(begun, a));
	ck_assert(cuda.muster_standin_cuda_enqueue(a, &half_second));
	OK(cuEventRecord(marked, a));
	for (int i = 0; i < 3; i++)
		ck_assert(cuda.muster_standin_cuda_enqueue(a, &half_second));
	ck_assert(cuda.muster_standin_cuda_enqueue(b, &half_second)); /* beside the first one */
	OK(cuStreamWaitEvent(b, marked, 0));
	OK(cuEventRecord(marked, a)); /* the wait is for the event as it was */
	ck_assert(cuda.muster_standin_cuda_enqueue(b, &half_second));
	OK(cuEventRecord(ended, b));
	OK(cuEventDestroy_v2(late)); /* an event that was never recorded, and one that is gone before it is reached */
	OK(cuEventCreate(&late, 0));
	OK(cuEventRecord(late, b));
	OK(cuStreamWaitEvent(a, late, 0));
	OK(cuEventDestroy_v2(late));
	OK(cuStreamQuery(b));
	OK(cuStreamQuery(a));
	ck_assert_double_eq_tol(seconds_between(begun, ended), 1, 1e-6);
	ck_assert_double_eq_tol(seconds_between(begun, marked), 2, 1e-6);
	/* what is asked for later begins later, in an idle stream too */
	OK(cuEventRecord(ended, b));
	OK(cuStreamQuery(b));
	ck_assert_double_eq_tol(seconds_between(marked, ended), 0, 1e-6);
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(b, (CUevent)&a, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(b, marked, 5));
	end();
}

/* Seconds of so many copies in each of two streams that begin together: to the device in one, to the host in the
 * other. */
static void copy_both_ways(CUstream streams[2], CUdeviceptr device, char *host, size_t bytes, int copies, double ret[2])
{
	CUevent events[3];
	for (int i = 0; i < 3; i++)
		OK(cuEventCreate(&events[i], 0));
	OK(cuEventRecord(events[2], streams[0]));
	OK(cuStreamWaitEvent(streams[1], events[2], 0));
	for (int i = 0; i < copies; i++) {
		OK(cuMemcpyHtoDAsync_v2(device, host, bytes, streams[0]));
		OK(cuMemcpyDtoHAsync_v2(host + bytes, device + bytes, bytes, streams[1]));
	}
	for (int i = 0; i < 2; i++)
		OK(cuEventRecord(events[i], streams[i]));
	for (int i = 0; i < 2; i++)
		wait_for(streams[i]);
	for (int i = 0; i < 2; i++)
		ret[i] = seconds_between(events[2], events[i]);
}

TEST(copies_both_ways_at_once_are_slower_than_one_way)
{
	size_t bytes = 8 * MIB;
	char *host = calloc(2, bytes);
	CUdeviceptr device;
	CUstream streams[2];
	double seconds[2], size = (double)bytes;
	struct muster_standin_operation half_second = { take_half_a_second, ignore, NULL, MUSTER_SIM_NOISE_NONE };
	begin();
	for (int i = 0; i < 2; i++)
		OK(cuStreamCreate(&streams[i], 0));
	OK(cuMemAlloc_v2(&device, 2 * bytes));
	OK(cuMemHostRegister_v2(host, 2 * bytes, 0));
	for (int copies = 1; copies < 4; copies++) {
		/* more copies than the first time, and yet not those of all GPUs of the node */
		ck_assert_double_eq_tol(rate(streams[0], device, host, bytes, true, 1), 25, 1e-4);
		copy_both_ways(streams, device, host, bytes, copies, seconds);
		ck_assert_double_eq_tol(copies * size / 1e9 / seconds[0], 25 * 0.89, 1e-2);
		/* the last ones to the host are alone */
		ck_assert_double_ge(copies * size / 1e9 / seconds[1], 20 * 0.8899);
		ck_assert_double_le(copies * size / 1e9 / seconds[1], 20.0001);
		/* nor are those beside other work */
		ck_assert(cuda.muster_standin_cuda_enqueue(streams[1], &half_second));
		ck_assert_double_eq_tol(rate(streams[0], device, host, bytes, true, 3), 25, 1e-4);
		wait_for(streams[1]);
	}
	ck_assert_double_eq_tol(rate(streams[0], device, host, bytes, true, 2), 16, 1e-4);
	end();
	free(host);
}

TEST(failed_work_breaks_the_context_for_good)
{
	CUstream stream;
	CUdeviceptr device;
	const char *text;
	struct muster_standin_operation operation = { poll_operation, operation_done, NULL, MUSTER_SIM_NOISE_NONE };
	begin();
	poll_gives = -1;
	OK(cuStreamCreate(&stream, 0));
	ck_assert(cuda.muster_standin_cuda_enqueue(stream, &operation));
	ck_assert(cuda.muster_standin_cuda_enqueue(stream, &operation));
	GIVES(CUDA_ERROR_LAUNCH_FAILED, cuStreamQuery(stream));
	ck_assert_int_eq(let_go, 2);
	GIVES(CUDA_ERROR_LAUNCH_FAILED, cuMemAlloc_v2(&device, 1));
	OK(cuGetErrorName(CUDA_ERROR_LAUNCH_FAILED, &text));
	ck_assert_str_eq(text, "CUDA_ERROR_LAUNCH_FAILED");
	OK(cuGetErrorString(CUDA_ERROR_LAUNCH_FAILED, &text));
	ck_assert_ptr_nonnull(text);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)4242, &text));
	end();
}

TEST_MAIN(.setup = start, .teardown = example_end)
