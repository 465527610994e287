/* SPDX-License-Identifier: Apache-2.0 */
/* preload.c - libmuster-preload.so: the parts of a simulated machine that programs ask the C library for
 *
 * Loaded before the worker's libraries, so that hwloc's own binding code runs against the scenario: the rank's CPU
 * mask, memory policy on NUMA nodes that this machine lacks, and vendor libraries that the scenario says are not
 * installed. Everything else goes on to the C library as it came.
 *
 *   sched_getaffinity, sched_setaffinity   answered from masks that are kept here; no thread is really bound
 *   syscall(SYS_mbind), SYS_set_mempolicy  remembered here; no page is really moved
 *   SYS_get_mempolicy, SYS_move_pages      answered from what was remembered
 *   dlopen, dlerror                        a library that the scenario lacks is not found
 *   curl_easy_perform, XML_Parse           only so that a fault can name them (misbehave.c)
 */
#include "sim/standins/preload.h"

#include "sim/fault_misbehave.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

MUSTER_STANDIN_EXPORT int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
MUSTER_STANDIN_EXPORT int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
MUSTER_STANDIN_EXPORT void *dlopen(const char *file, int mode);
MUSTER_STANDIN_EXPORT char *dlerror(void);
MUSTER_STANDIN_EXPORT long syscall(long number, ...);
MUSTER_STANDIN_EXPORT int curl_easy_perform(void *easy);
MUSTER_STANDIN_EXPORT int XML_Parse(void *parser, const char *text, int length, int is_final);

/* -- CPU masks: the scenario's until the main thread sets another one for all; any other thread may have its own -- */

enum { CPUS_MAX = 4096 };

/* own_cpus is the process's mask once it has set one; a thread that has set its own has it in thread_cpus. */
static cpu_set_t own_cpus[CPUS_MAX / CPU_SETSIZE];
static bool has_own_cpus;
static _Thread_local cpu_set_t thread_cpus[CPUS_MAX / CPU_SETSIZE];
static _Thread_local bool has_thread_cpus;

/* Hex, without 0x or with. hwloc must not be linked here: it is what the worker tests this library with. */
static void read_mask(const char *text, cpu_set_t *ret, size_t size)
{
	const char *first = strncasecmp(text, "0x", 2) == 0 ? text + 2 : text;
	size_t length = strspn(first, "0123456789abcdefABCDEF");
	if (length == 0 || length > CPUS_MAX / 4 || first[length])
		muster_standin_end("cpu_mask: \"%.60s\" is no CPU mask", text);
	CPU_ZERO_S(size, ret);
	for (size_t i = 0; i < length; i++) {
		const char digit[] = { first[length - 1 - i], '\0' };
		unsigned long cpus = strtoul(digit, NULL, 16);
		for (size_t cpu = 0; cpu < 4; cpu++)
			if (cpus >> cpu & 1)
				CPU_SET_S(4 * i + cpu, size, ret);
	}
}

/* What the process executes next has these CPUs too (cluster.h). */
static void hand_on(const cpu_set_t *cpus)
{
	char text[CPUS_MAX / 4 + 1];
	for (size_t i = 0; i < CPUS_MAX / 4; i++) {
		unsigned int digit = 0;
		for (size_t cpu = 0; cpu < 4; cpu++)
			digit |= (unsigned int)(CPU_ISSET_S(CPUS_MAX - 4 * (i + 1) + cpu, CPUS_MAX / 8, cpus) != 0)
				 << cpu;
		text[i] = "0123456789abcdef"[digit];
	}
	text[CPUS_MAX / 4] = '\0';
	setenv("MUSTER_SIM_CPU_MASK", text + strspn(text, "0"), 1);
}

/* Whether the number is 0 or that of a thread of this process: signal 0 only asks whether such a thread is there. */
static bool is_own_thread(pid_t pid)
{
	return pid == 0 || muster_standin_next()->syscall(SYS_tgkill, (long)getpid(), (long)pid, 0L) == 0;
}

/* The mask of the calling thread (pid 0), of another thread or of the whole process: these have one mask together.
 * errno is not changed by a call that succeeds. */
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	int kept_errno = errno;
	if (!is_own_thread(pid)) {
		errno = kept_errno;
		return muster_standin_next()->sched_getaffinity(pid, size, set);
	}
	cpu_set_t cpus[CPUS_MAX / CPU_SETSIZE];
	bool by_thread = pid == 0 && has_thread_cpus;
	memcpy(cpus, by_thread ? thread_cpus : own_cpus, sizeof cpus);
	if (!by_thread && !has_own_cpus)
		read_mask(muster_sim_this_rank()->cpu_mask, cpus, sizeof cpus);
	for (size_t cpu = 8 * size; cpu < CPUS_MAX; cpu++) {
		if (CPU_ISSET_S(cpu, sizeof cpus, cpus)) {
			errno = EINVAL; /* as the kernel, for a set that is too short */
			return -1;
		}
	}
	CPU_ZERO_S(size, set);
	memcpy(set, cpus, size < sizeof cpus ? size : sizeof cpus);
	return 0;
}

/* The main thread sets the mask of all threads that have none of their own, and that of programs which it executes. */
int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	int kept_errno = errno;
	bool own = is_own_thread(pid);
	errno = kept_errno;
	if (!own)
		return muster_standin_next()->sched_setaffinity(pid, size, set);
	if (CPU_COUNT_S(size, set) == 0) {
		errno = EINVAL;
		return -1;
	}
	bool by_thread = pid == 0 && gettid() != getpid();
	cpu_set_t *cpus = by_thread ? thread_cpus : own_cpus;
	CPU_ZERO_S(sizeof own_cpus, cpus);
	memcpy(cpus, set, size < sizeof own_cpus ? size : sizeof own_cpus);
	*(by_thread ? &has_thread_cpus : &has_own_cpus) = true;
	if (!by_thread)
		hand_on(cpus);
	return 0;
}

/* -- libraries that are not installed -- */

static _Thread_local char missing_text[512]; /* what dlerror owes; "" for nothing */
static _Thread_local char given_text[sizeof missing_text];

/* What the scenario lacks is missing under every version and path (muster_sim_is_library). The text that dlerror() has
 * to give is that of the dynamic linker. */
void *dlopen(const char *file, int mode)
{
	missing_text[0] = '\0';
	if (!file)
		return muster_standin_next()->dlopen(file, mode);
	const struct muster_sim_node *node = muster_sim_this_node();
	for (size_t i = 0; i < node->missing_library_count; i++) {
		if (!muster_sim_is_library(file, node->missing_libraries[i]))
			continue;
		muster_standin_next()->dlerror(); /* an older error is overwritten */
		snprintf(missing_text, sizeof missing_text,
			"%.400s: cannot open shared object file: No such file or directory", file);
		return NULL;
	}
	if (!(mode & RTLD_NOLOAD))
		muster_standin_loads(file);
	return muster_standin_next()->dlopen(file, mode);
}

char *dlerror(void)
{
	char *newer = muster_standin_next()->dlerror();
	memcpy(given_text, missing_text, sizeof given_text);
	missing_text[0] = '\0';
	if (newer)
		return newer;
	return given_text[0] ? given_text : NULL;
}

/* -- what a probe asks that calls no vendor library: places to misbehave in, and nothing else -- */

int curl_easy_perform(void *easy)
{
	/* muster has opened it, for itself alone */
	void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_NOLOAD);
	void *function = library ? dlsym(library, "curl_easy_perform") : NULL;
	int (*perform)(void *easy);
	if (!function)
		muster_standin_end("libcurl is not there");
	memcpy(&perform, &function, sizeof perform);
	return perform(easy);
}

int XML_Parse(void *parser, const char *text, int length, int is_final)
{
	int (*parse)(void *parser, const char *text, int length, int is_final);
	void *function = dlsym(RTLD_NEXT, "XML_Parse");
	if (!function)
		muster_standin_end("no library after this one has XML_Parse");
	memcpy(&parse, &function, sizeof parse);
	return parse(parser, text, length, is_final);
}

/* -- memory policy: remembered, never carried out -- */

#define NODES_MAX 1024
#define WORD_BITS (8 * sizeof(unsigned long))

/* As set_mempolicy(2) and mbind(2) have it: a mode, and a bit for each NUMA node. ranges: the last 64 that were bound;
 * a new one takes the place of the oldest. What is in no range has the policy of the process. */
struct policy {
	int mode;
	unsigned long nodes[NODES_MAX / WORD_BITS];
};

static struct {
	pthread_mutex_t lock;
	struct policy process;
	struct range {
		uintptr_t from, to; /* to == 0: unused */
		struct policy policy;
	} ranges[64];
	size_t oldest;
} memory = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool has_node(unsigned long os_index)
{
	const struct muster_sim_node *node = muster_sim_this_node();
	for (size_t i = 0; i < node->numa_count; i++)
		if (node->numas[i].os_index >= 0 && (unsigned long)node->numas[i].os_index == os_index)
			return true;
	return false;
}

/* The kernel uses one bit less than maxnode. EINVAL for nodes that the scenario does not have. */
static int read_policy(int mode, const unsigned long *mask, unsigned long maxnode, struct policy *ret)
{
	struct policy policy = { .mode = mode };
	for (unsigned long bit = 0; mask && bit + 1 < maxnode; bit++) {
		if (!(mask[bit / WORD_BITS] >> bit % WORD_BITS & 1))
			continue;
		if (bit >= NODES_MAX || !has_node(bit))
			return EINVAL;
		policy.nodes[bit / WORD_BITS] |= 1ul << bit % WORD_BITS;
	}
	*ret = policy;
	return 0;
}

static struct range *find_range(uintptr_t address)
{
	for (size_t i = 0; i < sizeof memory.ranges / sizeof *memory.ranges; i++)
		if (address >= memory.ranges[i].from && address < memory.ranges[i].to)
			return &memory.ranges[i];
	return NULL;
}

/* The NUMA node that a page at this address is on, if each page is on the lowest node of its policy; without one, on
 * the scenario's first node. */
static int node_of(uintptr_t address)
{
	const struct range *range = find_range(address);
	const struct policy *policy = range ? &range->policy : &memory.process;
	for (unsigned int bit = 0; bit < NODES_MAX; bit++)
		if (policy->nodes[bit / WORD_BITS] >> bit % WORD_BITS & 1)
			return (int)bit;
	return muster_sim_this_node()->numa_count ? muster_sim_this_node()->numas[0].os_index : 0;
}

/* 0 or an error number. preload_numa.c is told of it, because a thread that binds memory then works on that memory. */
static int bind_range(uintptr_t from, size_t length, int mode, const unsigned long *mask, unsigned long maxnode)
{
	struct policy policy;
	int failed = read_policy(mode, mask, maxnode, &policy);
	if (failed)
		return failed;
	struct range *range = find_range(from);
	if (!range)
		range = &memory.ranges[memory.oldest++ % (sizeof memory.ranges / sizeof *memory.ranges)];
	*range = (struct range){ from, from + length, policy };
	muster_standin_numa_bound(node_of(from), length);
	return 0;
}

static int get_policy(int *mode, unsigned long *mask, unsigned long maxnode, uintptr_t address, unsigned long flags)
{
	const struct range *range = flags & MPOL_F_ADDR ? find_range(address) : NULL;
	const struct policy *policy = range ? &range->policy : &memory.process;
	if (mode)
		*mode = flags & MPOL_F_NODE ? node_of(flags & MPOL_F_ADDR ? address : 0) : policy->mode;
	size_t words = maxnode > 0 ? (maxnode - 1 + WORD_BITS - 1) / WORD_BITS : 0;
	for (size_t i = 0; mask && i < words; i++)
		mask[i] = i < sizeof policy->nodes / sizeof *policy->nodes ? policy->nodes[i] : 0;
	return 0;
}

static int move_pages(unsigned long count, void *const *pages, const int *nodes, int *status)
{
	for (unsigned long i = 0; i < count; i++) {
		if (nodes && (nodes[i] < 0 || !has_node((unsigned long)nodes[i])))
			return ENODEV;
		status[i] = nodes ? nodes[i] : node_of((uintptr_t)pages[i]);
	}
	return 0;
}

static long answer(int error)
{
	pthread_mutex_unlock(&memory.lock);
	if (error == 0)
		return 0;
	errno = error;
	return -1;
}

/* It reads six arguments whatever the caller gave: a sanitizer would object to those that are not there. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
	long a[6];
	va_list arguments;
	va_start(arguments, number);
	for (size_t i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number != SYS_mbind && number != SYS_set_mempolicy && number != SYS_get_mempolicy &&
		number != SYS_move_pages && number != SYS_migrate_pages)
		return muster_standin_next()->syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);

	muster_sim_this_node(); /* outside the lock: it may end the process */
	pthread_mutex_lock(&memory.lock);
	switch (number) {
	case SYS_mbind:
		return answer(bind_range(
			(uintptr_t)a[0], (size_t)a[1], (int)a[2], (const unsigned long *)a[3], (unsigned long)a[4]));
	case SYS_set_mempolicy:
		return answer(
			read_policy((int)a[0], (const unsigned long *)a[1], (unsigned long)a[2], &memory.process));
	case SYS_get_mempolicy:
		return answer(get_policy(
			(int *)a[0], (unsigned long *)a[1], (unsigned long)a[2], (uintptr_t)a[3], (unsigned long)a[4]));
	case SYS_move_pages:
		return answer(move_pages((unsigned long)a[1], (void *const *)a[2], (const int *)a[3], (int *)a[4]));
	default: return answer(0);
	}
}
