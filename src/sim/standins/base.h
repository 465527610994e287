/* SPDX-License-Identifier: Apache-2.0 */
/* base.h - what the stand-in libraries share, and what libcuda's offers to the others
 *
 * A stand-in is a shared library with the real soname and ABI whose hardware is cluster.json. It exports what is marked
 * MUSTER_STANDIN_EXPORT and nothing else, and it always exports the mark by which muster tells that a run is simulated.
 */
#ifndef MUSTER_SIM_STANDINS_BASE_H
#define MUSTER_SIM_STANDINS_BASE_H

#include "sim/cluster.h"
#include "sim/noise.h"
#include "storage/pattern.h"
#include "vendor/cuda_abi.h"

#include <stdbool.h>
#include <stddef.h>

#define MUSTER_STANDIN_EXPORT __attribute__((visibility("default")))

/* For a static function (of others gcc would export a part) with a loop that most of the simulation's data goes
 * through: compiled twice, the second time for processors with AVX-512, which multiply eight words at once; glibc takes
 * the one that fits. Not with AddressSanitizer, which is not ready yet when glibc asks, and not with clang, which has
 * other names for processors. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define MUSTER_STANDIN_LOOP __attribute__((target_clones("arch=x86-64-v4", "default")))
#else
#define MUSTER_STANDIN_LOOP
#endif

MUSTER_STANDIN_EXPORT extern const char muster_standin_mark[];
#define MUSTER_STANDIN_MARK const char muster_standin_mark[] = "muster stand-in: simulated hardware"

/* Say why on stderr and end the process with status 70: the scenario asks for something that a stand-in cannot play. */
_Noreturn void muster_standin_end(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The numbers of a PCI bus id in any spelling ("0001:00:00.0", "00000001:00:00.0", "1:0:0"). False: it is none. */
struct muster_standin_bus_id {
	unsigned int domain, bus, device;
};
bool muster_standin_bus_id_parse(const char *text, struct muster_standin_bus_id *ret);
/* The same of a simulated GPU; what is none ends the process. */
struct muster_standin_bus_id muster_standin_bus_id_of(const struct muster_sim_gpu *gpu);

/* Whether NVLink joins two GPUs of one node. */
bool muster_standin_is_joined(const struct muster_sim_gpu *a, const struct muster_sim_gpu *b);

/* The bytes of a number in hex, two digits each, with '-' or ':' anywhere ("fe80:0000:..."). Any other text ends the
 * process: it is not `what` ("a GID"). */
void muster_standin_hex(const char *what, const char *text, unsigned char *ret, size_t bytes);

/* Data in simulated device memory that is longer than this is kept as a part of it that repeats: the probes' data
 * repeats after 8191 words of 8 bytes, a half. Data of a file, which does not, is kept as the pattern that it is, or as
 * it came. */
#define MUSTER_STANDIN_WINDOW ((size_t)2 * 8 * 8191)

/* Work in a stream that another library carries out. */
struct muster_standin_operation {
	/* Called when the operation is the next one of the stream, and again at each query of the stream. 0: not
	 * yet; 1: done, after *seconds of virtual time; -1: failed, and the context with it. Must not block. */
	int (*poll)(void *arg, double *seconds);
	void (*done)(void *arg); /* the stream lets go of it, done or dropped; called exactly once */
	void *arg;
	enum muster_sim_noise_kind noise; /* what lengthens the seconds */
};

/* The device of the calling thread's current context. */
struct muster_standin_device {
	int ordinal; /* as CUDA counts */
	const struct muster_sim_gpu *gpu;
};

/* What a kernel has filled memory with: place 0 of the pattern is the range's first word; flipped: the byte at which a
 * word with a wrong bit begins, SIZE_MAX: there is none. */
struct muster_standin_pattern {
	struct muster_pattern words; /* or_mask is 0 */
	size_t flipped;
};

/* What the process does with a GPU. */
struct muster_standin_use {
	bool present;   /* it has a context there now */
	bool worked;    /* work in a stream was done */
	bool loaded;    /* kernels are loaded now: the GPU is as busy, and as hot, as it can be */
	double seconds; /* of work while kernels were loaded */
};

/* X(type, name, parameters): what libcuda.so.1's stand-in exports beside the driver API, for the other stand-ins. One
 * lock guards all streams and memory; poll and done are called with it held, and it may be taken again by its holder.
 */
/* clang-format off */
#define MUSTER_STANDIN_CUDA_FUNCTIONS(X) \
	X(void, muster_standin_cuda_lock, (void)) \
	X(void, muster_standin_cuda_unlock, (void)) \
	/* false: no context is current */ \
	X(bool, muster_standin_cuda_current, (struct muster_standin_device *ret)) \
	/* put the operation behind what the stream (NULL: the default one) holds; false: no such stream */ \
	X(bool, muster_standin_cuda_enqueue, (CUstream stream, const struct muster_standin_operation *operation)) \
	/* whether another stream of that stream's device has work in its queue */ \
	X(bool, muster_standin_cuda_beside, (CUstream stream)) \
	/* do what can be done now, in every stream */ \
	X(void, muster_standin_cuda_progress, (void)) \
	/* memory of the current context's GPU that stays taken; false: there is not so much */ \
	X(bool, muster_standin_cuda_take, (size_t bytes)) \
	/* whether so many bytes from pointer on lie in one allocation */ \
	X(bool, muster_standin_cuda_check, (CUdeviceptr pointer, size_t bytes)) \
	/* copy; the caller has checked the range */ \
	X(void, muster_standin_cuda_read, (void *to, CUdeviceptr from, size_t bytes)) \
	/* the range holds the data, again and again: length is bytes, or a window */ \
	X(void, muster_standin_cuda_write, (CUdeviceptr to, size_t bytes, const void *data, size_t length)) \
	/* whether a kernel has filled the whole range with one pattern */ \
	X(bool, muster_standin_cuda_pattern, (CUdeviceptr from, size_t bytes, struct muster_standin_pattern *ret)) \
	/* the range, of whole 8-byte words, holds the pattern */ \
	X(void, muster_standin_cuda_fill, (CUdeviceptr to, size_t bytes, const struct muster_standin_pattern *what)) \
	/* one bit of a word that was written is wrong */ \
	X(void, muster_standin_cuda_flip, (CUdeviceptr word)) \
	/* a number that says what the range holds, as a kernel reads it: equal for equal contents */ \
	X(unsigned long long, muster_standin_cuda_sum, (CUdeviceptr from, size_t bytes)) \
	/* what this process does with the GPU */ \
	X(struct muster_standin_use, muster_standin_cuda_use, (const char *bus_id)) \
	/* whether all of that host memory is pinned */ \
	X(bool, muster_standin_cuda_pinned, (const void *pointer, size_t bytes)) \
	/* pin host memory, as the current context can; 0 bytes: no more */ \
	X(void, muster_standin_cuda_pin, (void *pointer, size_t bytes))
/* clang-format on */

/* libcuda.so.1's stand-in, loaded when it is not yet. Ends the process when another library has that name: simulated
 * and real hardware never mix. */
struct muster_standin_cuda {
#define X(type, symbol, parameters) type(*symbol) parameters;
	MUSTER_STANDIN_CUDA_FUNCTIONS(X)
#undef X
};
const struct muster_standin_cuda *muster_standin_cuda(void);
/* NULL when this process has not loaded it. */
const struct muster_standin_cuda *muster_standin_cuda_if_loaded(void);

/* -- a stand-in that misbehaves on purpose --
 *
 * Files of the stand-ins that export functions are compiled with -finstrument-functions: the compiler calls one hook at
 * the entry of every function, and the hook looks whether the scenario has this rank's worker misbehave there. No
 * stand-in knows of it; only codes that a function is to return, and times that it is to take, are asked for by the
 * first function that a call of CUDA or NVML goes through.
 */

/* The worker is about to load this library: a stand-in has no function to be met in yet. */
void muster_standin_loads(const char *file);

/* Take the time that the scenario has for the call which this thread is in, and give the code that it must return; 0:
 * the scenario has none. bus_id: of the GPU that the call is about; NULL: it is not known yet, and what the scenario
 * has for one GPU waits for the next question. */
int muster_standin_answer(const char *bus_id);

/* -- the virtual clock of a simulated worker process --
 *
 * A process has one such clock, in libmuster-preload.so: the GPUs, the disks and the process itself have one time. The
 * clock goes on only by what the process waits for, so what a program measures with it is the scenario's value exactly,
 * and nothing sleeps. The program reads the clock as CLOCK_MONOTONIC_RAW; all other clocks are those of the machine
 * that is really there. Weak: a stand-in can be loaded, and asked for versions, where that library is not.
 */

/* Any thread may call them. Seconds of virtual time; 0 when the process starts. */
MUSTER_STANDIN_EXPORT __attribute__((weak)) double muster_standin_host_now(void);
/* The process has waited until this time; a time that is past changes nothing. */
MUSTER_STANDIN_EXPORT __attribute__((weak)) void muster_standin_host_wait_until(double time);

/* -- what the simulated kernel logs while muster runs -- */

/* Append the node's lines for "now" to its /dev/kmsg; only the first call of all the node's processes does. */
void muster_standin_log_now(void);

#endif
