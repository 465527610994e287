/* SPDX-License-Identifier: Apache-2.0 */
/* host_memory.c - the bandwidth of the host's memory, on all NUMA nodes at once
 *
 * The leader of the node measures before any rank copies to its GPU: ranks wait for each other before the first copy.
 * The memory of a GPU that the kernel shows as a NUMA node has no CPUs, and stays out of this.
 *
 * A round, for each thread: meet, note the time, a[i] = b[i] + s c[i] over its own part, note the time, meet; the first
 * thread then makes the rates of the round from all times, while the others wait at a third meeting. The rate of a NUMA
 * node is the bytes of its threads by the time from the first start to the last end, so a slow thread counts.
 *
 *   thread 0        prepare | meet | meet  triad  meet  take_round  meet | meet  triad  ...  release
 *   other threads   prepare | meet | meet  triad  meet              meet | meet  triad  ...  release
 *
 * All threads meet in every round, also those that have no memory or may not use their core: they only take no part in
 * the triad. So a NUMA node that fails does not stop the others.
 *
 * Memory: three arrays on each NUMA node, each of 4 times its last-level caches, at most 1 GiB, and all together at
 * most 5 % of what is free, of the cgroup's limit too. A node that cannot have that, or whose cores this process may
 * not use, is null with the reason: in a container with a part of the CPUs no figure would be comparable.
 */
#include "probes/metrics.h"
#include "probes/windows.h"
#include "system/memory_left.h"
#include "system/topology.h"
#include "util/clock.h"
#include "util/text.h"
#include "vendor/library.h"
#include "muster/arena.h"
#include "muster/error.h"

#include <errno.h>
#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- a[i] = b[i] + s * c[i], one thread on each core, arrays on the NUMA node of the core ---- */

/* The rules are those of STREAM (J. D. McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance
 * Computers", 1995, and stream.c 5.10): 8-byte elements, arrays several times larger than the caches, 24 bytes counted
 * for each element (two reads and a write; what a cache reads of a line before it is written is not counted), first
 * touch by the thread that works on it, the first round not counted, the best of the others. Each of them is a window.
 * A round takes from the first thread's start to the last one's end. Stores are the compiler's own, so an x86 CPU reads
 * each line of a[] before it is written, as with STREAM without options for streaming stores. */

#define ROUNDS_MAX 11   /* with the first one */
#define ROUNDS_MS 400.0 /* no further round after so much time, once rounds_min are done */
#define BUSY_MS 1500.0  /* on a node that others use: after so much time, one round beside the first is enough */

/* The rates of the rounds that count, in GB/s and in their order; none: the clock did not go on. */
struct rates {
	double gbps[ROUNDS_MAX - 1];
	size_t count;
};

/* A NUMA node that has CPUs and memory. */
struct part {
	hwloc_obj_t node;
	size_t cores;         /* of the NUMA node, whether this process may use them or not */
	uint64_t array_bytes; /* of each of the three arrays */
	struct rates rates;   /* of no meaning where why is not "" */
	char why[256];        /* why there is no result */
};

struct triad {
	hwloc_topology_t topology;
	struct part *parts;
	size_t part_count;
	bool simulated;     /* far more cores than this machine has, so threads that wait must sleep */
	struct rates rates; /* of all parts together, where no part has a why */
	int rounds_min;     /* with the first one: so many are made, unless BUSY_MS is over */
};

#define STACK_BYTES ((size_t)512 << 10)
#define APART                                                                                                          \
	1344 /* bytes between the arrays, which are whole pages: else equal places of all three share cache sets */

/* Four lanes, so that compilers use vectors at any level of optimisation. */
typedef double lanes __attribute__((vector_size(32)));

/* All threads and what they share. start_all fills it before any thread goes on. */
struct rounds {
	struct triad *triad;
	struct thread *threads;
	size_t thread_count;
	size_t started;        /* threads that meet: the first of `threads` */
	pthread_mutex_t start; /* held until `started` is known */
	atomic_size_t arrived; /* at the next meeting */
	atomic_uint meetings;  /* that are over */
	bool last;             /* written by the first thread between two meetings */
};

struct thread {
	struct rounds *rounds;
	struct part *part;
	hwloc_const_cpuset_t cpus; /* of its core */
	pthread_t id;
	bool barred;             /* this process may not use the core */
	char why[192];           /* why there is no memory, or no thread */
	unsigned char *memory;   /* all three arrays; NULL: the thread only meets the others */
	size_t mapped;           /* bytes of memory */
	bool bound;              /* memory is hwloc's, else of mmap */
	size_t count;            /* lanes of each array */
	double start_ms, end_ms; /* of the triad in this round, by the raw clock */
};

/* ---- threads meet ---- */

/* Returns when every thread has called it. The last one to arrive lets all go on. `arrived` is set to 0 before
 * `meetings` grows, so that a thread that is already at the next meeting is counted there. The others do not sleep: to
 * wake a hundred threads up takes as long as a part of a round. In a simulation they do, because there are far more of
 * them than this machine has cores. */
static void meet(struct rounds *r)
{
	unsigned int before = atomic_load(&r->meetings);
	if (atomic_fetch_add(&r->arrived, 1) + 1 == r->started) {
		atomic_store(&r->arrived, 0);
		atomic_fetch_add(&r->meetings, 1);
		return;
	}
	while (atomic_load(&r->meetings) == before)
		if (r->triad->simulated)
			muster_sleep_ms(2);
		else
			sched_yield();
}

/* ---- a thread's memory ---- */

/* The arrays of a thread lie one behind the other, with gaps so that they share no cache sets:
 *
 *   | a: bytes | APART | b: bytes | APART | c: bytes | APART |
 */
static lanes *array_of(const struct thread *t, size_t index)
{
	return (lanes *)(void *)(t->memory + index * (t->count * sizeof(lanes) + APART));
}

/* Memory for the three arrays on the thread's NUMA node and nowhere else: 0, or -1 with t->why. Memory of another node
 * would give the rate of the link between them. Containers may forbid the binding. */
static int map_bound(struct thread *t)
{
	const struct triad *triad = t->rounds->triad;
	hwloc_obj_t node = t->part->node;
	t->memory = hwloc_alloc_membind(triad->topology, t->mapped, node->nodeset, HWLOC_MEMBIND_BIND,
		HWLOC_MEMBIND_STRICT | HWLOC_MEMBIND_BYNODESET);
	t->bound = t->memory != NULL;
	if (t->bound)
		return 0;
	int failed = errno;
	if (hwloc_get_nbobjs_by_type(triad->topology, HWLOC_OBJ_NUMANODE) > 1) {
		snprintf(t->why, sizeof t->why, "memory cannot be bound to NUMA node %u: %s", node->os_index,
			strerror(failed));
		return -1;
	}
	/* with a single NUMA node there is no other place */
	t->memory = mmap(NULL, t->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->memory != MAP_FAILED)
		return 0;
	t->memory = NULL;
	snprintf(t->why, sizeof t->why, "mmap of %zu bytes: %s", t->mapped, strerror(errno));
	return -1;
}

/* Binds the thread to its core, then makes and touches its part of the arrays: each core of a NUMA node gets the same
 * part, in whole pages. The first touch by the thread itself places the pages, and its CPU is near by then. A thread
 * that is barred, or gets no memory, leaves t->memory NULL. */
static void prepare(struct thread *t)
{
	const struct triad *triad = t->rounds->triad;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	hwloc_bitmap_t now = hwloc_bitmap_alloc();
	/* the kernel takes away what a cgroup forbids; without any CPU that is left, it refuses */
	t->barred = hwloc_set_cpubind(triad->topology, t->cpus, HWLOC_CPUBIND_THREAD) < 0 ||
		    hwloc_get_cpubind(triad->topology, now, HWLOC_CPUBIND_THREAD) < 0 ||
		    !hwloc_bitmap_intersects(now, t->cpus);
	hwloc_bitmap_free(now);
	size_t bytes = (size_t)(t->part->array_bytes / t->part->cores) / page * page;
	t->count = bytes / sizeof(lanes);
	t->mapped = 3 * (bytes + APART);
	if (t->count == 0)
		snprintf(t->why, sizeof t->why, "less than a page of each array for a core");
	if (t->barred || t->count == 0 || map_bound(t) < 0)
		return;
	/* huge pages, where the kernel gives them on request; without them it works as well */
	madvise(t->memory, t->mapped, MADV_HUGEPAGE);
	for (size_t i = 0; i < t->count; i++) {
		array_of(t, 0)[i] = (lanes){ 1, 1, 1, 1 };
		array_of(t, 1)[i] = (lanes){ 2, 2, 2, 2 };
		array_of(t, 2)[i] = (lanes){ 0, 0, 0, 0 };
	}
}

static void release(struct thread *t)
{
	if (t->bound)
		hwloc_free(t->rounds->triad->topology, t->memory, t->mapped);
	else if (t->memory)
		munmap(t->memory, t->mapped);
}

/* ---- rounds ---- */

__attribute__((noinline)) static void triad(
	lanes *restrict a, const lanes *restrict b, const lanes *restrict c, double scalar, size_t count)
{
	for (size_t i = 0; i < count; i++)
		a[i] = b[i] + scalar * c[i];
}

/* GB/s: bytes by the time from the first start to the last end of the threads of a part, or of all where part is NULL.
 * Three arrays count (two reads, one write). 0 where the clock did not go on. */
static double rate(const struct rounds *r, const struct part *part)
{
	double start_ms = 0, end_ms = 0, bytes = 0;
	for (size_t i = 0; i < r->thread_count; i++) {
		const struct thread *t = &r->threads[i];
		if (!t->memory || (part && t->part != part))
			continue;
		start_ms = bytes == 0 || t->start_ms < start_ms ? t->start_ms : start_ms;
		end_ms = bytes == 0 || t->end_ms > end_ms ? t->end_ms : end_ms;
		bytes += 3.0 * (double)(t->count * sizeof(lanes));
	}
	return end_ms > start_ms ? bytes / (end_ms - start_ms) / 1e6 : 0;
}

static void keep(struct rates *rates, double gbps)
{
	if (gbps > 0)
		rates->gbps[rates->count++] = gbps;
}

/* By the first thread, while the others wait. Keeps the rates of the round, except of the first one (round 0), and
 * decides whether it was the last: after ROUNDS_MAX, after BUSY_MS with one round that counts, or after ROUNDS_MS with
 * rounds_min. */
static void take_round(struct rounds *r, int round, double start_ms)
{
	struct triad *triad = r->triad;
	for (size_t p = 0; p < triad->part_count && round > 0; p++)
		keep(&triad->parts[p].rates, rate(r, &triad->parts[p]));
	if (round > 0)
		keep(&triad->rates, rate(r, NULL));
	double since_ms = muster_now_ms() - start_ms;
	r->last = round + 1 >= ROUNDS_MAX || (round > 0 && since_ms > BUSY_MS) ||
		  (round + 1 >= triad->rounds_min && since_ms > ROUNDS_MS);
}

/* One thread, from its start to its end. r->start is held until start_all knows how many threads there are, which
 * `meet` needs. */
static void *work(void *arg)
{
	struct thread *t = arg;
	struct rounds *r = t->rounds;
	pthread_mutex_lock(&r->start);
	pthread_mutex_unlock(&r->start);
	prepare(t);
	meet(r);
	double start_ms = muster_now_ms();
	for (int round = 0; !r->last; round++) {
		meet(r);
		t->start_ms = muster_clock_now(&muster_clock_raw);
		if (t->memory)
			triad(array_of(t, 0), array_of(t, 1), array_of(t, 2), 3, t->count);
		t->end_ms = muster_clock_now(&muster_clock_raw);
		meet(r);
		if (t == r->threads)
			take_round(r, round, start_ms);
		meet(r);
	}
	release(t);
	return NULL;
}

/* ---- all threads ---- */

/* One thread for each core of the NUMA node; a machine may show CPUs without cores. Returns how many; into may be NULL.
 */
static size_t list_cores(const struct triad *triad, struct part *part, struct rounds *r, struct thread *into)
{
	hwloc_const_cpuset_t cpus = part->node->cpuset;
	bool has_cores = hwloc_get_nbobjs_inside_cpuset_by_type(triad->topology, cpus, HWLOC_OBJ_CORE) > 0;
	hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
	hwloc_obj_t core = NULL;
	size_t count = 0;
	while ((core = hwloc_get_next_obj_inside_cpuset_by_type(triad->topology, cpus, type, core)) != NULL) {
		if (into)
			into[count] = (struct thread){ .rounds = r, .part = part, .cpus = core->cpuset };
		count++;
	}
	return count;
}

/* Starts a thread for each core. Threads that could not be started have a why, and are not among those that meet. No
 * signal of the process is handled by these threads: they inherit a mask that blocks all. */
static void start_all(struct rounds *r)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int failed = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_mutex_lock(&r->start);
	while (!failed && r->started < r->thread_count) {
		failed = pthread_create(&r->threads[r->started].id, &attributes, work, &r->threads[r->started]);
		r->started += failed == 0;
	}
	for (size_t i = r->started; i < r->thread_count; i++)
		snprintf(r->threads[i].why, sizeof r->threads[i].why, "pthread_create: %s", strerror(failed));
	pthread_mutex_unlock(&r->start);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The reason of a part that has no result, from its threads: first that cores are barred, then the first thread's why,
 * then a clock that did not go on. */
static void explain(const struct rounds *r, struct part *part)
{
	size_t barred = 0;
	for (size_t i = 0; i < r->thread_count; i++) {
		const struct thread *t = &r->threads[i];
		if (t->part != part)
			continue;
		barred += t->barred;
		if (*t->why && !*part->why)
			snprintf(part->why, sizeof part->why, "%s", t->why);
	}
	if (barred > 0)
		snprintf(part->why, sizeof part->why, "this process may use %zu of the %zu cores of NUMA node %u",
			part->cores - barred, part->cores, part->node->os_index);
	else if (!*part->why && part->rates.count == 0)
		snprintf(part->why, sizeof part->why, "the clock did not go on");
}

/* How many threads a NUMA node gets: one for each core. */
static size_t cores_of(hwloc_topology_t topology, hwloc_obj_t node)
{
	return list_cores(&(struct triad){ .topology = topology }, &(struct part){ .node = node }, NULL, NULL);
}

/* Measure with arrays of array_bytes on each part whose why is ""; takes about half a second. A part that fails gets a
 * why, and the others go on. */
static void measure_triad(struct triad *triad)
{
	struct rounds r = { .triad = triad, .start = PTHREAD_MUTEX_INITIALIZER };
	size_t cores = 0;
	for (size_t p = 0; p < triad->part_count; p++)
		cores += triad->parts[p].cores;
	r.threads = muster_calloc(cores + 1, sizeof *r.threads);
	for (size_t p = 0; p < triad->part_count; p++)
		if (!*triad->parts[p].why)
			r.thread_count += list_cores(triad, &triad->parts[p], &r, &r.threads[r.thread_count]);
	start_all(&r);
	for (size_t i = 0; i < r.started; i++)
		pthread_join(r.threads[i].id, NULL);
	for (size_t p = 0; p < triad->part_count; p++)
		explain(&r, &triad->parts[p]);
	pthread_mutex_destroy(&r.start);
	free(r.threads);
}

#define MIB ((uint64_t)1 << 20)
#define ARRAY_MAX (1024 * MIB)    /* of a NUMA node, each of three */
#define ARRAY_UNKNOWN (256 * MIB) /* where the topology shows no caches */
#define ARRAY_SIMULATED (2 * MIB) /* no caches, and no time that depends on real memory */
#define CACHES 4                  /* STREAM's rule: each array has at least the size of so many last-level caches */
enum { FREE_PART = 20 };          /* all arrays together: at most this part of the memory that is left */

static const struct muster_metric metrics[] = {
	NODE_NUMBER("node.stream_triad_gbps", GB_PER_S, MORE,
		"bandwidth of the host's memory on all NUMA nodes at once: STREAM's triad, 24 bytes for each element",
		.windows = "host memory"),
	NUMBER(NODE, "node.slow_windows", RATIO, DRIFTS,
		"share of the windows that are below 80 % of the best one; not measured but derived",
		.labels = { "part", "range" }, .is_steadiness = true),
	NUMBER(NODE, "node.stream_triad_numa_gbps", GB_PER_S, MORE, "the same of one NUMA node, while all of them work",
		.labels = { "numa_node" }, .windows = "host memory"),
};

/* Bytes of all last-level caches that the CPUs of the NUMA node use: of the highest level that any cache has; 0: the
 * topology shows no cache. */
static uint64_t cache_bytes(hwloc_topology_t topology, hwloc_obj_t node)
{
	static const hwloc_obj_type_t levels[] = { HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE,
		HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE };
	uint64_t bytes = 0;
	for (size_t i = 0; i < sizeof levels / sizeof *levels && bytes == 0; i++) {
		hwloc_obj_t cache = NULL;
		while ((cache = hwloc_get_next_obj_by_type(topology, levels[i], cache)) != NULL)
			if (hwloc_bitmap_intersects(cache->cpuset, node->cpuset))
				bytes += cache->attr->cache.size;
	}
	return bytes;
}

/* Bytes of each of the part's three arrays: CACHES times its caches, at most ARRAY_MAX. 0 with the reason in the part
 * where the arrays would be too small (ARRAY_MAX cuts them so that even the three together have less than CACHES times
 * the caches), or too large (the three together are more than a twentieth of what is left). left: this part's share of
 * what the node and the cgroups leave; the NUMA node may have less. Below a root prefix the size is fixed. */
static uint64_t array_bytes(struct muster_probe_ctx *ctx, hwloc_topology_t topology, struct part *part, uint64_t left)
{
	const char *root = muster_probe_env(ctx)->root;
	uint64_t caches = cache_bytes(topology, part->node), left_here = left;
	char needed[32], had[32];
	struct muster_error why;
	if (*root)
		return ARRAY_SIMULATED;
	uint64_t bytes = caches == 0 ? ARRAY_UNKNOWN : CACHES * caches;
	bytes = bytes < ARRAY_MAX ? bytes : ARRAY_MAX;
	if (3 * bytes < CACHES * caches) {
		snprintf(part->why, sizeof part->why, "%s of cache on NUMA node %u: the arrays would have to be larger",
			muster_bytes_text(caches, had, sizeof had), part->node->os_index);
		return 0;
	}
	if (muster_memory_left_on(root, part->node->os_index, &left_here, &why) < 0)
		left_here = left;
	left_here = left < left_here ? left : left_here;
	if (3 * bytes <= left_here / FREE_PART)
		return bytes;
	snprintf(part->why, sizeof part->why, "arrays of %s on NUMA node %u are more than 5 %% of the %s that are free",
		muster_bytes_text(3 * bytes, needed, sizeof needed), part->node->os_index,
		muster_bytes_text(left_here, had, sizeof had));
	return 0;
}

/* The NUMA nodes that have CPUs and memory. */
static size_t list_parts(hwloc_topology_t topology, struct part **ret)
{
	hwloc_nodeset_t homes = hwloc_bitmap_alloc();
	hwloc_obj_t node = NULL;
	size_t count = 0;
	muster_topology_homes(topology, hwloc_topology_get_complete_cpuset(topology), homes);
	struct part *parts = muster_calloc((size_t)hwloc_bitmap_weight(homes) + 1, sizeof *parts);
	while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != NULL)
		if (hwloc_bitmap_isset(homes, node->os_index) && node->attr->numanode.local_memory > 0)
			parts[count++] = (struct part){ .node = node, .cores = cores_of(topology, node) };
	hwloc_bitmap_free(homes);
	*ret = parts;
	return count;
}

/* One sample of each NUMA node, and the sum, which is null with the first reason where any NUMA node has one: a sum
 * without a part would be compared with whole ones. */
static void emit(struct muster_probe_ctx *ctx, const struct triad *triad)
{
	const struct part *missing = NULL;
	size_t most = 0;
	for (size_t i = 0; i < triad->part_count; i++)
		most = triad->parts[i].cores > most ? triad->parts[i].cores : most;
	for (size_t i = 0; i < triad->part_count; i++) {
		const struct part *part = &triad->parts[i];
		struct muster_value label = muster_number(part->node->os_index);
		missing = !missing && *part->why ? part : missing;
		if (*part->why)
			muster_emit_null(ctx, "node.stream_triad_numa_gbps", &label, 1, "%s", part->why);
		else if (part->cores < most) /* few cores cannot use all channels: another NUMA node is no measure */
			muster_emit_null(ctx, "node.stream_triad_numa_gbps", &label, 1,
				"NUMA node %u has %zu cores and another one %zu: not comparable", part->node->os_index,
				part->cores, most);
		else
			muster_windows_emit(ctx, "node.stream_triad_numa_gbps", &label, 1, part->rates.gbps,
				part->rates.count, NULL);
	}
	muster_windows_emit(ctx, "node.stream_triad_gbps", NULL, 0, triad->rates.gbps, missing ? 0 : triad->rates.count,
		missing ? missing->why : "no NUMA node has CPUs and memory");
}

/* Nothing, not even nulls, in a run that does not measure storage. A limit of CPU time and programs of others make
 * every part null: the memory would not be what limits the rate. */
static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	struct triad triad = { .rounds_min = env->profile == MUSTER_QUICK ? 4 : 10,
		.simulated = muster_library_any_standin() };
	uint64_t left = 0;
	double cores = 0;
	if (!env->storage)
		return 0;
	double cpus = muster_cgroup_cpus(env->root);
	muster_step(ctx, "load the topology");
	triad.topology = muster_topology(err);
	if (!triad.topology || muster_memory_left(env->root, &left, err) < 0)
		return -1;
	triad.part_count = list_parts(triad.topology, &triad.parts);
	for (size_t i = 0; i < triad.part_count; i++)
		cores += (double)triad.parts[i].cores;
	for (size_t i = 0; i < triad.part_count; i++) {
		struct part *part = &triad.parts[i];
		if (cpus > 0 && cpus < cores)
			snprintf(part->why, sizeof part->why,
				"the cgroup of this process has the CPU time of %.3g of %.0f cores", cpus, cores);
		else if (env->shared)
			snprintf(part->why, sizeof part->why, "other programs may use the memory of this node");
		else
			part->array_bytes = array_bytes(ctx, triad.topology, part, left / triad.part_count);
	}
	muster_step(ctx, "triad on %zu NUMA nodes", triad.part_count);
	measure_triad(&triad);
	emit(ctx, &triad);
	free(triad.parts);
	return 0;
}

const struct muster_probe muster_probe_host_memory = {
	.name = "host_memory",
	.summary = "bandwidth of the host's memory",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 15000,
	.order = 55,
	METRICS(metrics),
	.run = run,
};
