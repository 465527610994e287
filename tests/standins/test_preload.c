/* SPDX-License-Identifier: Apache-2.0 */
/* test_preload.c - with libmuster-preload.so a process is on the simulated machine: its CPUs, its memory, its libraries
 *
 * The program runs itself with the library loaded, once for each case: `test_preload CASE`.
 */
#include "standins/example.h"

#include "vendor/cuda.h"

#include "check_main.h"
#include <dlfcn.h>
#include <errno.h>
#include <hwloc.h>
#include <linux/mempolicy.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The example's ranks have the mask f0. */
static void the_mask_is_the_ranks(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	MUST(sched_getaffinity(0, sizeof set, &set) == 0);
	MUST(CPU_COUNT(&set) == 4);
	MUST(CPU_ISSET(4, &set) && CPU_ISSET(7, &set) && !CPU_ISSET(3, &set));
	CPU_ZERO(&set);
	MUST(sched_getaffinity(getpid(), sizeof set, &set) == 0);
	MUST(CPU_COUNT(&set) == 4);
	MUST(sched_getaffinity(0, 0, &set) == -1 && errno == EINVAL);
	MUST(sched_getaffinity(getppid(), sizeof set, &set) == 0); /* another process has its real one */
	MUST(CPU_COUNT(&set) == (int)strtol(getenv("REAL_CPUS"), NULL, 10));
}

static void missing_libraries_are_not_there(void)
{
	const char *text;
	MUST(dlopen("libnccl.so.2", RTLD_NOW) == NULL);
	text = dlerror();
	MUST(text && strcmp(text, "libnccl.so.2: cannot open shared object file: No such file or directory") == 0);
	MUST(dlerror() == NULL);
	MUST(dlopen("/anywhere/libnccl.so.2.28.9", RTLD_NOW) == NULL);
	MUST(dlerror() != NULL);
	MUST(dlopen("libnccl.so", RTLD_NOW) == NULL);
	void *self = dlopen(NULL, RTLD_NOW);
	MUST(self != NULL && dlerror() == NULL);
	void *math = dlopen("libm.so.6", RTLD_NOW);
	MUST(math != NULL && dlsym(math, "cos") != NULL);
	MUST(dlsym(math, "no_such_function") == NULL);
	text = dlerror();
	MUST(text && strstr(text, "no_such_function"));
	MUST(dlopen("libnccl-nothing.so.2", RTLD_NOW) == NULL);
	text = dlerror();
	MUST(text && strstr(text, "libnccl-nothing.so.2"));
}

/* The example's nodes are 0 and 3. */
static void memory_policy_knows_the_scenarios_nodes(void)
{
	static char page[8192] __attribute__((aligned(4096)));
	unsigned long mask = 1ul << 3, found[2] = { 99, 99 };
	int mode = -1, status = -1;
	void *pages[] = { page };
	MUST(syscall(SYS_get_mempolicy, &mode, found, 128ul, 0, 0) == 0);
	MUST(mode == MPOL_DEFAULT && found[0] == 0 && found[1] == 0);
	MUST(syscall(SYS_mbind, page, sizeof page, MPOL_BIND, &mask, 64ul, 0) == 0);
	MUST(syscall(SYS_get_mempolicy, &mode, found, 64ul, page + 5000, MPOL_F_ADDR) == 0);
	MUST(mode == MPOL_BIND && found[0] == mask);
	MUST(syscall(SYS_get_mempolicy, &mode, NULL, 0ul, page, MPOL_F_ADDR | MPOL_F_NODE) == 0);
	MUST(mode == 3);
	MUST(syscall(SYS_move_pages, 0, 1ul, pages, NULL, &status, 0) == 0);
	MUST(status == 3);
	mask = 1ul << 1;
	MUST(syscall(SYS_mbind, page, sizeof page, MPOL_BIND, &mask, 64ul, 0) == -1 && errno == EINVAL);
	mask = 1ul << 3;
	MUST(syscall(SYS_set_mempolicy, MPOL_PREFERRED, &mask, 64ul) == 0);
	MUST(syscall(SYS_get_mempolicy, &mode, found, 64ul, 0, 0) == 0);
	MUST(mode == MPOL_PREFERRED && found[0] == mask);
	MUST(syscall(SYS_getpid) == getpid());
	MUST(syscall(SYS_close, -1) == -1 && errno == EBADF);
}

/* hwloc's own binding code, on a machine that is not this one. */
static void hwloc_binds_where_this_machine_has_nothing(void)
{
	hwloc_topology_t topology;
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), where = hwloc_bitmap_alloc();
	MUST(hwloc_topology_init(&topology) == 0);
	MUST(hwloc_topology_set_synthetic(topology, "package:2 numa:1(indexes=0,3) core:4 pu:1") == 0);
	MUST(hwloc_topology_load(topology) == 0);
	MUST(hwloc_topology_is_thissystem(topology));
	MUST(hwloc_get_cpubind(topology, cpus, HWLOC_CPUBIND_PROCESS) == 0);
	MUST(hwloc_bitmap_weight(cpus) == 4 && hwloc_bitmap_isset(cpus, 4));
	hwloc_bitmap_only(where, 3);
	void *memory = hwloc_alloc_membind(
		topology, 65536, where, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_STRICT | HWLOC_MEMBIND_BYNODESET);
	MUST(memory != NULL);
	memset(memory, 1, 65536);
	hwloc_bitmap_zero(where);
	MUST(hwloc_get_area_memlocation(topology, memory, 65536, where, HWLOC_MEMBIND_BYNODESET) == 0);
	MUST(hwloc_bitmap_weight(where) == 1 && hwloc_bitmap_isset(where, 3));
	hwloc_free(topology, memory, 65536);
	hwloc_bitmap_free(cpus);
	hwloc_bitmap_free(where);
	hwloc_topology_destroy(topology);
}

static double clock_s(clockid_t id)
{
	struct timespec now;
	MUST(clock_gettime(id, &now) == 0);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Every other clock is the machine's. */
static void the_raw_clock_is_the_simulations(void)
{
	double raw = clock_s(CLOCK_MONOTONIC_RAW), monotonic = clock_s(CLOCK_MONOTONIC);
	struct timespec wait = { .tv_nsec = 20000000 };
	MUST(raw == MUSTER_SIM_UPTIME_S);
	nanosleep(&wait, NULL);
	MUST(clock_s(CLOCK_MONOTONIC_RAW) == raw);
	MUST(clock_s(CLOCK_MONOTONIC) >= monotonic + 0.02);
	MUST(clock_s(CLOCK_REALTIME) > 1e9 && clock_gettime(-1, &wait) == -1);
}

/* 1 GB. */
static void the_raw_clock_is_that_of_the_gpus(void)
{
	enum { BYTES = 10000000, COPIES = 100 };
	struct muster_cuda cuda;
	CUcontext context;
	CUdeviceptr to;
	void *from = calloc(1, BYTES), *library = dlopen(MUSTER_BUILD_DIR "/lib/muster/sim/libcuda.so.1", RTLD_NOW);
	MUST(library != NULL);
	void *function;
#define X(symbol, parameters)                                                                                          \
	MUST((function = dlsym(library, #symbol)) != NULL);                                                            \
	memcpy(&cuda.symbol, &function, sizeof function);
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
	MUST(cuda.cuInit(0) == CUDA_SUCCESS && cuda.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
	MUST(cuda.cuCtxSetCurrent(context) == CUDA_SUCCESS && cuda.cuMemAlloc_v2(&to, BYTES) == CUDA_SUCCESS);
	MUST(cuda.cuMemHostRegister_v2(from, BYTES, 0) == CUDA_SUCCESS);
	double gbps = muster_sim_this_node()->gpus[0].h2d_gbps, before = clock_s(CLOCK_MONOTONIC_RAW);
	for (int i = 0; i < COPIES; i++)
		MUST(cuda.cuMemcpyHtoDAsync_v2(to, from, BYTES, NULL) == CUDA_SUCCESS);
	MUST(clock_s(CLOCK_MONOTONIC_RAW) == before);
	MUST(cuda.cuStreamQuery(NULL) == CUDA_SUCCESS);
	MUST(fabs(clock_s(CLOCK_MONOTONIC_RAW) - before - (double)BYTES * COPIES / (gbps * 1e9)) < 1e-8);
}

/* Bound to node 3, which has 20 GB/s: 1 MB each, by two threads at once; *ret is the time of a pass. */
static pthread_barrier_t two;

static void *pass_over_memory(void *ret)
{
	static char pages[2][1048576] __attribute__((aligned(4096)));
	static atomic_int next;
	unsigned long mask = 1ul << 3;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(6, &set);
	MUST(sched_setaffinity(0, sizeof set, &set) == 0);
	CPU_ZERO(&set);
	MUST(sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1 && CPU_ISSET(6, &set));
	MUST(syscall(SYS_mbind, pages[next++ % 2], 1000000ul, MPOL_BIND, &mask, 64ul, 0) == 0);
	pthread_barrier_wait(&two);
	double before = clock_s(CLOCK_MONOTONIC_RAW);
	*(double *)ret = clock_s(CLOCK_MONOTONIC_RAW) - before;
	pthread_barrier_wait(&two);
	return NULL;
}

static void threads_share_the_memory_of_a_numa_node(void)
{
	static char page[4096] __attribute__((aligned(4096)));
	unsigned long mask = 1ul << 3;
	pthread_t threads[2];
	double seconds[2];
	cpu_set_t set;
	MUST(syscall(SYS_mbind, page, sizeof page, MPOL_BIND, &mask, 64ul, 0) == 0);
	pthread_barrier_init(&two, NULL, 2);
	for (int again = 0; again < 2; again++) { /* threads that have ended have no part any more */
		for (int i = 0; i < 2; i++)
			MUST(pthread_create(&threads[i], NULL, pass_over_memory, &seconds[i]) == 0);
		for (int i = 0; i < 2; i++)
			MUST(pthread_join(threads[i], NULL) == 0 && fabs(seconds[i] - 1e6 / (20e9 / 2)) < 1e-8);
	}
	MUST(clock_s(CLOCK_MONOTONIC_RAW) == MUSTER_SIM_UPTIME_S); /* the main thread has bound some too */
	CPU_ZERO(&set);
	MUST(sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 4);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "clock", the_raw_clock_is_the_simulations },
	{ "gpus", the_raw_clock_is_that_of_the_gpus },
	{ "mask", the_mask_is_the_ranks },
	{ "libraries", missing_libraries_are_not_there },
	{ "policy", memory_policy_knows_the_scenarios_nodes },
	{ "threads", threads_share_the_memory_of_a_numa_node },
	{ "hwloc", hwloc_binds_where_this_machine_has_nothing },
};

static void start(void)
{
	static const char *missing[] = { "libnccl.so.2" };
	struct muster_sim_cluster *cluster = example_cluster();
	cluster->nodes[0].missing_libraries = missing;
	cluster->nodes[0].missing_library_count = 1;
	example_start(cluster, 0);
}

TEST_EACH(the_process_is_on_the_simulated_machine, cases)
{
	char count[16];
	cpu_set_t set;
	ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
	snprintf(count, sizeof count, "%d", CPU_COUNT(&set));
	setenv("REAL_CPUS", count, 1);
	example_preloaded(cases[_i].name);
}

/* The child process: one case on the simulated machine. */
static void run_case(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++) {
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			exit(0);
		}
	}
}

TEST_MAIN(.setup = start, .teardown = example_end, .begin = run_case)
