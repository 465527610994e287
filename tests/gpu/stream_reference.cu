/* SPDX-License-Identifier: Apache-2.0 */
/* stream_reference.cu - what gpu_stream measures, as a bare loop: copies from pinned memory, and reads by threads
 *
 * usage: stream_reference FOLDER MIB    one JSON line: GB/s of each stream; a file of MIB MiB lies in FOLDER meanwhile
 *
 * Nothing of muster is in it. From the host: all copies are queued at once. From the disk: a thread for each buffer
 * reads a block, copies it, waits for the copy and takes the next block; once alone and once beside products, as a
 * virtual disk has another rate right after a write.
 */
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		int status = (int)(call);                                                                              \
		if (status != 0) {                                                                                     \
			fprintf(stderr, "%s: %d\n", #call, status);                                                    \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static const size_t MIB = (size_t)1 << 20, HOST_COPY = 32 * MIB, HOST_SLOTS = 4, HOST_COPIES = 64, BLOCK = 4 * MIB,
		    READERS = 32, TURNS = 3;

static char *pinned, *device;
static cudaStream_t copies, compute;

static double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values[values.size() / 2];
}

/* Products on the stream `compute` until `going` is false. */
struct products {
	cublasHandle_t handle;
	__nv_bfloat16 *a, *b;
	float *d;
	std::atomic<bool> going{ false };
	std::thread thread;
	static const int N = 4096;

	products()
	{
		CHECK(cublasCreate(&handle));
		CHECK(cublasSetStream(handle, compute));
		CHECK(cudaMalloc(&a, sizeof *a * N * N));
		CHECK(cudaMalloc(&b, sizeof *b * N * N));
		CHECK(cudaMalloc(&d, sizeof *d * N * N));
		std::vector<unsigned short> values((size_t)N * N);
		for (size_t i = 0; i < values.size(); i++)
			values[i] = (unsigned short)(((i * 0x9e3779b97f4a7c15ull >> 40) & 0x80ff) | 0x3f00);
		CHECK(cudaMemcpy(a, values.data(), sizeof *a * N * N, cudaMemcpyHostToDevice));
		CHECK(cudaMemcpy(b, values.data(), sizeof *b * N * N, cudaMemcpyHostToDevice));
		multiply();
		CHECK(cudaStreamSynchronize(compute));
	}
	void multiply()
	{
		const float one = 1, zero = 0;
		CHECK(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, N, N, N, &one, a, CUDA_R_16BF, N, b, CUDA_R_16BF, N,
			&zero, d, CUDA_R_32F, N, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
	}
	void start()
	{
		going = true;
		thread = std::thread([this] {
			cudaEvent_t done[2];
			for (auto &event : done)
				CHECK(cudaEventCreate(&event));
			for (size_t i = 0; going; i++) {
				CHECK(cudaEventSynchronize(done[i % 2])); /* of the batch before the last one */
				for (int k = 0; k < 50; k++)
					multiply();
				CHECK(cudaEventRecord(done[i % 2], compute));
			}
		});
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
	void stop()
	{
		going = false;
		thread.join();
		CHECK(cudaStreamSynchronize(compute));
	}
};

static double from_host()
{
	cudaEvent_t begin, end;
	float ms;
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	for (size_t i = 0; i < HOST_SLOTS + HOST_COPIES; i++) {
		size_t at = i % HOST_SLOTS * HOST_COPY;
		if (i == HOST_SLOTS)
			CHECK(cudaEventRecord(begin, copies));
		CHECK(cudaMemcpyAsync(device + at, pinned + at, HOST_COPY, cudaMemcpyHostToDevice, copies));
	}
	CHECK(cudaEventRecord(end, copies));
	CHECK(cudaEventSynchronize(end));
	CHECK(cudaEventElapsedTime(&ms, begin, end));
	return (double)(HOST_COPIES * HOST_COPY) / 1e6 / ms;
}

static double from_disk(int file, size_t bytes)
{
	std::atomic<size_t> next{ 0 };
	std::vector<std::thread> threads;
	auto began = std::chrono::steady_clock::now();
	for (size_t i = 0; i < READERS; i++)
		threads.emplace_back([&, i] {
			cudaEvent_t copied;
			CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
			for (size_t at; (at = next.fetch_add(BLOCK)) < bytes;) {
				char *slot = pinned + i * BLOCK;
				if (pread(file, slot, BLOCK, (off_t)at) != (ssize_t)BLOCK) {
					perror("pread");
					exit(1);
				}
				CHECK(cudaMemcpyAsync(device + at, slot, BLOCK, cudaMemcpyHostToDevice, copies));
				CHECK(cudaEventRecord(copied, copies));
				CHECK(cudaEventSynchronize(copied));
			}
			CHECK(cudaEventDestroy(copied));
		});
	for (auto &thread : threads)
		thread.join();
	double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
	return (double)bytes / 1e9 / seconds;
}

/* A file without a name, of other bytes everywhere. */
static int make_file(const char *folder, size_t bytes)
{
	int file = open(folder, O_TMPFILE | O_RDWR | O_DIRECT, 0600);
	if (file < 0) {
		perror(folder);
		exit(1);
	}
	for (size_t at = 0; at < bytes; at += BLOCK) {
		for (size_t i = 0; i < BLOCK / 8; i++)
			((unsigned long long *)pinned)[i] = (at + i) * 0xd6e8feb86659fd93ull;
		if (pwrite(file, pinned, BLOCK, (off_t)at) != (ssize_t)BLOCK) {
			perror("pwrite");
			exit(1);
		}
	}
	fsync(file);
	return file;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	size_t bytes = strtoull(argv[2], NULL, 10) * MIB;
	CHECK(cudaMallocHost(&pinned, HOST_SLOTS * HOST_COPY));
	CHECK(cudaMalloc(&device, std::max(bytes, HOST_SLOTS * HOST_COPY)));
	CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
	memset(pinned, 1, HOST_SLOTS * HOST_COPY);
	products work;
	double rates[2][2];
	for (int loaded = 0; loaded < 2; loaded++) {
		std::vector<double> host;
		if (loaded)
			work.start();
		for (size_t i = 0; i < TURNS; i++)
			host.push_back(from_host());
		if (loaded)
			work.stop();
		rates[0][loaded] = median(host);
	}
	int file = make_file(argv[1], bytes);
	for (int loaded = 0; loaded < 2; loaded++) {
		if (loaded)
			work.start();
		rates[1][loaded] = from_disk(file, bytes);
		if (loaded)
			work.stop();
	}
	printf("{\"what\": \"stream\"");
	for (int disk = 0; disk < 2; disk++)
		for (int loaded = 0; loaded < 2; loaded++)
			printf(", \"%s_%s\": %.3f", disk ? "disk" : "host", loaded ? "products" : "alone", rates[disk][loaded]);
	printf("}\n");
	return 0;
}
