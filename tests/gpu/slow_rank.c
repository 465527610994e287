/* SPDX-License-Identifier: Apache-2.0 */
/* slow_rank.c - makes one rank slow, for steps.py: a library that is preloaded into that rank
 *
 * muster opens cuBLASLt with dlopen, so the symbol is replaced where dlsym is asked for it. MUSTER_TEST_SLOW says how:
 * "sleep": the host sleeps 2 ms before each product, as a worker without its CPUs does; "clocks": each product is made
 * twice, as if the GPU had half of its clocks (one slow product of the three of a window would not show: their median
 * counts). Clocks themselves are never changed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int product(void *handle, void *description, const void *alpha, const void *A, void *a, const void *B, void *b,
	const void *beta, const void *C, void *c, void *D, void *d, const void *algorithm, void *workspace,
	size_t workspace_bytes, void *stream);
typedef void *finder(void *handle, const char *name);

static product *real_product;

static int slow_product(void *handle, void *description, const void *alpha, const void *A, void *a, const void *B,
	void *b, const void *beta, const void *C, void *c, void *D, void *d, const void *algorithm, void *workspace,
	size_t workspace_bytes, void *stream)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	const char *how = getenv("MUSTER_TEST_SLOW");
	if (how && strcmp(how, "sleep") == 0)
		nanosleep(&pause, NULL);
	if (how && strcmp(how, "clocks") == 0)
		real_product(handle, description, alpha, A, a, B, b, beta, C, c, D, d, algorithm, workspace,
			workspace_bytes, stream);
	return real_product(handle, description, alpha, A, a, B, b, beta, C, c, D, d, algorithm, workspace,
		workspace_bytes, stream);
}

/* glibc had dlsym in libdl up to 2.33, and on each architecture by another version. */
static finder *real_finder(void)
{
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5" };
	static finder *found;
	for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++) {
		void *address = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
		memcpy(&found, &address, sizeof found);
	}
	return found;
}

void *dlsym(void *restrict handle, const char *restrict name)
{
	product *instead = slow_product;
	void *address = real_finder()(handle, name);
	if (!address || strcmp(name, "cublasLtMatmul") != 0)
		return address;
	memcpy(&real_product, &address, sizeof real_product);
	memcpy(&address, &instead, sizeof address);
	return address;
}
