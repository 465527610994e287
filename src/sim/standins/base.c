/* SPDX-License-Identifier: Apache-2.0 */
/* base.c - what every stand-in library needs
 *
 * Linked into each of them together with cluster.c, kernel_log.c and misbehave.c. The functions that libcuda.so.1's
 * stand-in has for the others are found by name at run time, because that library must be one and the same for all:
 * its streams, its memory and its lock exist once in a process.
 */
#include "sim/standins/base.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_UNSCRIPTED 70 /* EX_SOFTWARE of sysexits.h, as in cluster.c */

void muster_standin_end(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fputs("muster stand-in: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	_Exit(EXIT_UNSCRIPTED);
}

bool muster_standin_bus_id_parse(const char *text, struct muster_standin_bus_id *ret)
{
	struct muster_standin_bus_id id;
	int used = 0;
	if (sscanf(text, "%8x:%2x:%2x%n", &id.domain, &id.bus, &id.device, &used) != 3 ||
		(text[used] != '\0' && text[used] != '.') || id.device > 0x1f)
		return false;
	*ret = id;
	return true;
}

struct muster_standin_bus_id muster_standin_bus_id_of(const struct muster_sim_gpu *gpu)
{
	struct muster_standin_bus_id id;
	if (!muster_standin_bus_id_parse(gpu->bus_id, &id))
		muster_standin_end("\"%s\" is not a PCI bus id", gpu->bus_id);
	return id;
}

/* Both are in the same run of nvlink_group neighbours in NVML's order, such as all eight of ND96asr_v4, and each has a
 * link that is up. */
bool muster_standin_is_joined(const struct muster_sim_gpu *a, const struct muster_sim_gpu *b)
{
	return a->nvlink_group > 1 && a->nvlinks_active > 0 && b->nvlinks_active > 0 &&
	       a->nvml_index / a->nvlink_group == b->nvml_index / b->nvlink_group;
}

void muster_standin_hex(const char *what, const char *text, unsigned char *ret, size_t bytes)
{
	size_t digits = 0;
	for (const char *at = text; *at; at++) {
		const char digit[] = { *at, '\0' };
		if (*at == '-' || *at == ':')
			continue;
		if (!isxdigit((unsigned char)*at) || digits == 2 * bytes)
			muster_standin_end("\"%s\" is not %s", text, what);
		ret[digits / 2] = (unsigned char)((unsigned long)ret[digits / 2] << 4 | strtoul(digit, NULL, 16));
		digits++;
	}
	if (digits != 2 * bytes)
		muster_standin_end("\"%s\" is not %s", text, what);
}

/* -- libcuda.so.1's stand-in, for the others -- */

/* mode: RTLD_NOLOAD to find the library only where the process has it already. The functions are looked up once. A
 * libcuda.so.1 that lacks one of them is NVIDIA's. */
static const struct muster_standin_cuda *find_cuda(int mode)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct muster_standin_cuda functions;
	static const struct muster_standin_cuda *found;
	void *function;
	pthread_mutex_lock(&lock);
	void *library = found ? NULL : dlopen("libcuda.so.1", RTLD_NOW | mode);
	if (library) {
#define X(type, symbol, parameters)                                                                                    \
	if (!(function = dlsym(library, #symbol)))                                                                     \
		muster_standin_end("libcuda.so.1 is not simulated, and another library is");                           \
	memcpy(&functions.symbol, &function, sizeof function);
		MUSTER_STANDIN_CUDA_FUNCTIONS(X)
#undef X
		found = &functions;
	}
	const struct muster_standin_cuda *answer = found;
	pthread_mutex_unlock(&lock);
	return answer;
}

const struct muster_standin_cuda *muster_standin_cuda(void)
{
	const struct muster_standin_cuda *found = find_cuda(0);
	if (!found)
		muster_standin_end("a library finds no libcuda.so.1: %s", dlerror());
	return found;
}

const struct muster_standin_cuda *muster_standin_cuda_if_loaded(void)
{
	return find_cuda(RTLD_NOLOAD);
}
