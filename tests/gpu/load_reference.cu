/* SPDX-License-Identifier: Apache-2.0 */
/* load_reference.cu - what gpu_load measures, by CUDA's own means: cuBLAS in a loop, plain kernels over all free memory
 *
 * usage: load_reference [SECONDS]    one JSON line: the GPU's rates, TFLOP/s and GB/s
 */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		int status = (int)(call);                                                                              \
		if (status != 0) {                                                                                     \
			fprintf(stderr, "%s: %d\n", #call, status);                                                    \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

__global__ void store(ulonglong2 *to, size_t count, unsigned long long seed)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (size_t)blockDim.x)
		to[i] = make_ulonglong2(i ^ seed, ~i ^ seed);
}

__global__ void load(const ulonglong2 *from, size_t count, unsigned long long seed, unsigned long long *wrong)
{
	unsigned long long bad = 0;
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (size_t)blockDim.x)
		bad += from[i].x != (i ^ seed) || from[i].y != (~i ^ seed);
	if (bad)
		atomicAdd(wrong, bad);
}

/* Values of ±[0.5, 2), as muster's. */
template <typename T> __global__ void contents(T *to, size_t count, T keep, T set)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (size_t)blockDim.x) {
		unsigned long long x = (i + 1) * 0x9e3779b97f4a7c15ull;
		x ^= x >> 32;
		x *= 0xd6e8feb86659fd93ull;
		x ^= x >> 29;
		to[i] = (T)((x & keep) | set);
	}
}

static float between(cudaEvent_t from, cudaEvent_t to)
{
	float ms;
	CHECK(cudaEventSynchronize(to));
	CHECK(cudaEventElapsedTime(&ms, from, to));
	return ms;
}

static double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values[values.size() / 2];
}

int main(int argc, char **argv)
{
	double target_ms = argc > 1 ? atof(argv[1]) * 1e3 : 240;
	size_t room, total;
	cudaEvent_t a, b;
	unsigned long long *wrong;
	char *memory;
	CHECK(cudaFree(0));
	CHECK(cudaMalloc(&wrong, 8));
	CHECK(cudaMemset(wrong, 0, 8));
	CHECK(cudaMemGetInfo(&room, &total));
	room = (room - (512u << 20)) >> 20 << 20;
	CHECK(cudaMalloc(&memory, room));
	CHECK(cudaEventCreate(&a));
	CHECK(cudaEventCreate(&b));
	printf("{\"what\": \"load\", \"mib\": %zu", room >> 20);
	std::vector<double> writes, reads;
	for (int i = 0; i < 3; i++) {
		CHECK(cudaEventRecord(a));
		store<<<2048, 256>>>((ulonglong2 *)memory, room / 16, i);
		CHECK(cudaEventRecord(b));
		writes.push_back(room / 1e6 / between(a, b));
		CHECK(cudaEventRecord(a));
		load<<<2048, 256>>>((ulonglong2 *)memory, room / 16, i, wrong);
		CHECK(cudaEventRecord(b));
		reads.push_back(room / 1e6 / between(a, b));
	}
	printf(", \"write_gbps\": %.1f, \"read_gbps\": %.1f", median(writes), median(reads));

	cublasHandle_t handle;
	CHECK(cublasCreate(&handle));
	const size_t n = 8192;
	struct {
		const char *name;
		cudaDataType from, to;
		cublasComputeType_t compute;
		size_t bytes;
	} kinds[] = {
		{ "bf16", CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2 },
		{ "bf16_to_bf16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 2 },
		{ "fp64", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 8 },
	};
	for (auto &kind : kinds) {
		double one64 = 1, zero64 = 0;
		float one32 = 1, zero32 = 0;
		void *one = kind.bytes == 8 ? (void *)&one64 : &one32, *zero = kind.bytes == 8 ? (void *)&zero64 : &zero32;
		char *A = memory, *B = A + n * n * kind.bytes, *C = B + n * n * kind.bytes;
		if (kind.bytes == 8)
			contents<unsigned long long><<<2048, 256>>>((unsigned long long *)A, 2 * n * n, 0x801fffffffffffffull,
				0x3fe0000000000000ull);
		else
			contents<unsigned short><<<2048, 256>>>((unsigned short *)A, 2 * n * n, 0x80ff, 0x3f00);
		std::vector<double> rates;
		double spent = 0;
		for (int round = 0; spent < target_ms || round < 3; round++) {
			const int count = kind.bytes == 8 ? 1 : 8;
			CHECK(cudaEventRecord(a));
			for (int i = 0; i < count; i++)
				CHECK(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, one, A, kind.from, n, B, kind.from, n,
					zero, C, kind.to, n, kind.compute, CUBLAS_GEMM_DEFAULT));
			CHECK(cudaEventRecord(b));
			double ms = between(a, b);
			spent += ms;
			if (round > 0)
				rates.push_back(2.0 * n * n * n * count / (ms * 1e9));
		}
		/* as muster counts: the best, since power or heat may hold the clocks down in later ones */
		printf(", \"%s_tflops\": %.1f", kind.name, *std::max_element(rates.begin(), rates.end()));
	}
	printf("}\n");
	return 0;
}
