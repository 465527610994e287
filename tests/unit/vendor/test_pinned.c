/* SPDX-License-Identifier: Apache-2.0 */
/* test_pinned.c - memory for the copy engine: where it lies, and that it is given back */
#include "check_main.h"
#include "probe_fake.h"
#include "vendor/pinned.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20 };
#define BUS_ID "0001:00:00.0"

static CUresult answer;
static void *registered;
static int unregistered;

static CUresult host_register(void *pointer, size_t bytes, unsigned int flags)
{
	ck_assert_uint_eq(bytes, BYTES);
	ck_assert_uint_eq(flags, CU_MEMHOSTREGISTER_PORTABLE);
	for (size_t i = 0; i < bytes; i += 4096)
		ck_assert_int_eq(((const char *)pointer)[i], 0);
	registered = pointer;
	return answer;
}

static CUresult host_unregister(void *pointer)
{
	ck_assert_ptr_eq(pointer, registered);
	unregistered++;
	return CUDA_SUCCESS;
}

static CUresult error_name(CUresult error, const char **name)
{
	(void)error;
	*name = "CUDA_ERROR_OUT_OF_MEMORY";
	return CUDA_SUCCESS;
}

static CUresult error_text(CUresult error, const char **text)
{
	(void)error;
	*text = "out of memory";
	return CUDA_SUCCESS;
}

static const struct muster_cuda cuda = {
	.cuMemHostRegister_v2 = host_register,
	.cuMemHostUnregister = host_unregister,
	.cuGetErrorName = error_name,
	.cuGetErrorString = error_text,
};

static struct probe_fake *context;

/* hwloc's memory of a node: it is refused where an error is set; otherwise it is memory of this test, to be given back
 * once. */
static int binding_error;
static void *bound, *freed;

__attribute__((visibility("default"))) void *hwloc_alloc_membind(
	hwloc_topology_t topology, size_t bytes, hwloc_const_bitmap_t set, hwloc_membind_policy_t policy, int flags)
{
	(void)topology;
	ck_assert_uint_eq(bytes, BYTES);
	ck_assert_int_eq(hwloc_bitmap_first(set), 0);
	ck_assert_int_eq(hwloc_bitmap_weight(set), 1);
	ck_assert_int_eq(policy, HWLOC_MEMBIND_BIND);
	ck_assert_int_eq(flags, HWLOC_MEMBIND_STRICT | HWLOC_MEMBIND_BYNODESET);
	errno = binding_error;
	bound = binding_error ? NULL : aligned_alloc(4096, bytes);
	if (bound)
		memset(bound, 1, bytes);
	return bound;
}

__attribute__((visibility("default"))) int hwloc_free(hwloc_topology_t topology, void *data, size_t bytes)
{
	(void)topology;
	ck_assert_uint_eq(bytes, BYTES);
	ck_assert_ptr_eq(data, bound);
	ck_assert_ptr_null(freed);
	freed = data;
	free(data);
	return 0;
}

/* A root in which the kernel gives the GPU this NUMA node. */
static int alloc_near(const char *numa_node, struct muster_pinned *ret, struct muster_error *err)
{
	fake_file(context, "/sys/bus/pci/devices/" BUS_ID "/numa_node", numa_node);
	return muster_pinned_alloc(&cuda, BYTES, context->root, BUS_ID, ret, err);
}

static void setup(void)
{
	context = fake_new(NULL);
	answer = CUDA_SUCCESS;
	unregistered = 0;
	binding_error = 0;
	bound = freed = NULL;
}

static void teardown(void)
{
	fake_free(context);
}

TEST(memory_on_the_gpus_node_is_zeroed_and_given_back_once)
{
	struct muster_pinned pinned;
	struct muster_error err = { 0 };
	ck_assert_msg(alloc_near("0", &pinned, &err) == 0, "%s", err.text);
	ck_assert_ptr_eq(pinned.data, registered);
	ck_assert_uint_eq(pinned.bytes, BYTES);
	ck_assert_ptr_eq(pinned.data, bound);
	ck_assert(pinned.bound);
	ck_assert_int_eq(pinned.numa_node, 0);
	ck_assert_str_eq(pinned.why, "");
	muster_pinned_free(&cuda, &pinned);
	ck_assert_ptr_eq(freed, bound);
	ck_assert_int_eq(unregistered, 1);
	ck_assert_ptr_null(pinned.data);
	ck_assert_int_eq(pinned.numa_node, -1);
	muster_pinned_free(&cuda, &pinned);
	ck_assert_int_eq(unregistered, 1);
}

TEST(memory_of_a_gpu_without_a_place_is_given_with_the_reason)
{
	struct muster_pinned pinned;
	struct muster_error err = { 0 };
	ck_assert_msg(alloc_near("4000", &pinned, &err) == 0, "%s", err.text);
	ck_assert(!pinned.bound);
	ck_assert_int_eq(pinned.numa_node, -1);
	ck_assert_ptr_nonnull(strstr(pinned.why, "numa_node is 4000, and hwloc knows no such NUMA node"));
	memset(pinned.data, 1, pinned.bytes);
	muster_pinned_free(&cuda, &pinned);
	ck_assert_int_eq(unregistered, 1);
}

TEST(memory_that_the_driver_refuses_is_not_kept)
{
	struct muster_pinned pinned = { .numa_node = 7 };
	struct muster_error err = { 0 };
	answer = CUDA_ERROR_OUT_OF_MEMORY;
	ck_assert_int_eq(alloc_near("0", &pinned, &err), -1);
	ck_assert_str_eq(err.text, "cuMemHostRegister_v2: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
	ck_assert_int_eq(unregistered, 0);
	ck_assert_ptr_nonnull(bound);
	ck_assert_ptr_eq(freed, bound);
	ck_assert_int_eq(pinned.numa_node, 7); /* what is given is written on success alone */
}

static const struct {
	int error;
	const char *why;
} refusals[] = {
	{ EPERM, "memory cannot be bound to NUMA node 0: Operation not permitted" },
	{ ENOSYS, "memory cannot be bound to NUMA node 0: Function not implemented" },
};

TEST_EACH(memory_that_cannot_be_bound_is_given_with_the_reason, refusals)
{
	struct muster_pinned pinned;
	struct muster_error err = { 0 };
	binding_error = refusals[_i].error;
	ck_assert_msg(alloc_near("0", &pinned, &err) == 0, "%s", err.text);
	ck_assert(!pinned.bound);
	ck_assert_int_eq(pinned.numa_node, -1);
	ck_assert_str_eq(pinned.why, refusals[_i].why);
	muster_pinned_free(&cuda, &pinned);
	ck_assert_ptr_null(freed);
	ck_assert_int_eq(unregistered, 1);
}

TEST(more_memory_than_there_is_is_an_error_with_its_size)
{
	struct muster_pinned pinned = { .numa_node = 7 };
	struct muster_error err = { 0 };
	fake_file(context, "/sys/bus/pci/devices/" BUS_ID "/numa_node", "4000");
	ck_assert_int_eq(muster_pinned_alloc(&cuda, SIZE_MAX / 2, context->root, BUS_ID, &pinned, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ENOMEM);
	ck_assert_str_eq(err.text, "mmap of 9223372036854775807 bytes: Cannot allocate memory");
	ck_assert_int_eq(pinned.numa_node, 7);
	ck_assert_ptr_null(pinned.data);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
