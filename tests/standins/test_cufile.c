/* SPDX-License-Identifier: Apache-2.0 */
/* test_cufile.c - data of files on a simulated GPU: copied from the host, or read by libcufile.so.0's stand-in
 *
 * A file has another word at each place, and is longer than what simulated memory keeps as it came.
 */
#include "check_main.h"
#include "standins/load_fixture.h"

#include "sim/standins/base.h"
#include "vendor/cufile_abi.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define BYTES (3 * MIB + 4096)
#define WORDS (BYTES / sizeof(uint64_t))

static const struct muster_pattern content = { 77, UINT64_MAX, 0, 0 };
static uint64_t words[WORDS];

static struct {
#define X(symbol, parameters) CUfileError_t(*symbol) parameters;
	MUSTER_CUFILE_FUNCTIONS(X)
#undef X
#define X(result, symbol, parameters) result(*symbol) parameters;
	MUSTER_CUFILE_OTHER_FUNCTIONS(X)
#undef X
} cufile;

static void set_up(void)
{
	load_unwritten();
	example_start(changed, 0);
	load_open();
	load_use(0);
	unsetenv("CUFILE_ALLOW_COMPAT_MODE");
	void *library = example_open("libcufile.so.0");
#define X(symbol, parameters) example_find(library, #symbol, &cufile.symbol, sizeof cufile.symbol);
	MUSTER_CUFILE_FUNCTIONS(X)
#undef X
#define X(result, symbol, parameters) example_find(library, #symbol, &cufile.symbol, sizeof cufile.symbol);
	MUSTER_CUFILE_OTHER_FUNCTIONS(X)
#undef X
	for (size_t i = 0; i < WORDS; i++)
		words[i] = muster_pattern_word(&content, i);
}

static void copy(CUdeviceptr to, const void *from, size_t bytes)
{
	OK(cuMemcpyHtoDAsync_v2(to, from, bytes, NULL));
	OK(cuStreamQuery(NULL));
}

/* -- copies -- */

TEST(a_copy_of_a_file_is_what_a_kernel_reads)
{
	static uint64_t back[WORDS];
	CUdeviceptr memory = take(2 * BYTES);
	copy(memory + 64, words, BYTES);
	ck_assert_uint_eq(verify(memory + 64, BYTES, content).wrong, 0);
	OK(cuMemcpyDtoHAsync_v2(back, memory + 64, BYTES, NULL));
	OK(cuStreamQuery(NULL));
	ck_assert_mem_eq(back, words, BYTES);
	struct muster_pattern later = content;
	later.seed += 4096 / 8;
	ck_assert_uint_eq(verify(memory + 64 + 4096, BYTES - 4096, later).wrong, 0);
	ck_assert_uint_eq(verify(memory, BYTES, content).wrong, BYTES / 16); /* another place */
}

TEST(pieces_of_a_file_make_the_whole)
{
	CUdeviceptr memory = take(BYTES);
	for (size_t at = 0; at < BYTES; at += 4096)
		copy(memory + at, (const char *)words + at, 4096);
	ck_assert_uint_eq(verify(memory, BYTES, content).wrong, 0);
	copy(memory + 8192, words, 4096); /* a block that belongs elsewhere */
	ck_assert_uint_eq(verify(memory, BYTES, content).wrong, 4096 / 16);
}

/* Words with a wrong bit; the 16-byte words that hold them. */
static const struct {
	size_t wrong[5], count;
} bits[] = {
	{ { 0 }, 1 },
	{ { 1 }, 1 },
	{ { 0, 1, 2, 3 }, 2 },
	{ { WORDS - 1 }, 1 },
	{ { 5, 4096, 4097, 100000, WORDS / 2 }, 4 },
};

TEST_EACH(a_wrong_bit_in_the_hosts_buffer_is_found, bits)
{
	static uint64_t spoilt[WORDS];
	CUdeviceptr memory = take(BYTES);
	memcpy(spoilt, words, sizeof spoilt);
	for (size_t i = 0; i < 5 && (i == 0 || bits[_i].wrong[i]); i++)
		spoilt[bits[_i].wrong[i]] ^= (uint64_t)1 << 40;
	copy(memory, spoilt, BYTES);
	struct muster_kernel_report report = verify(memory, BYTES, content);
	ck_assert_uint_eq(report.wrong, bits[_i].count);
	ck_assert_uint_eq(report.noticed[0].place, bits[_i].wrong[0] / 2);
	copy(memory, words, BYTES);
	ck_assert_uint_eq(verify(memory, BYTES, content).wrong, 0);
}

TEST(a_buffer_of_zeros_is_no_file)
{
	static uint64_t zeros[WORDS];
	CUdeviceptr memory = take(BYTES);
	copy(memory, words, BYTES);
	copy(memory, zeros, BYTES);
	ck_assert_uint_eq(verify(memory, BYTES, content).wrong, BYTES / 16);
	ck_assert_uint_eq(verify(memory, BYTES, (struct muster_pattern){ 0 }).wrong, 0);
}

/* -- cuFile -- */

static CUfileHandle_t open_file(int *ret_fd)
{
	char name[] = "/tmp/muster-cufile-XXXXXX";
	CUfileHandle_t handle;
	*ret_fd = mkstemp(name);
	ck_assert_int_ge(*ret_fd, 0);
	unlink(name);
	ck_assert_int_eq(pwrite(*ret_fd, words, BYTES, 0), BYTES);
	CUfileDescr_t description = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = *ret_fd };
	ck_assert_int_eq(cufile.cuFileHandleRegister(&handle, &description).err, CU_FILE_SUCCESS);
	return handle;
}

TEST(cufile_reads_a_file_to_the_gpu)
{
	CUdeviceptr memory = take(BYTES + 4096);
	void *base = (void *)(uintptr_t)memory;
	int fd;
	ck_assert_int_eq(cufile.cuFileDriverOpen().err, CU_FILE_SUCCESS);
	CUfileHandle_t handle = open_file(&fd);
	ck_assert_int_eq(cufile.cuFileBufRegister(base, BYTES + 4096, 0).err, CU_FILE_SUCCESS);
	ck_assert_int_eq(cufile.cuFileRead(handle, base, BYTES, 0, 4096), BYTES);
	ck_assert_uint_eq(verify(memory + 4096, BYTES, content).wrong, 0);
	ck_assert_int_eq(cufile.cuFileRead(handle, base, 8192, BYTES - 4096, 0), 4096); /* the file ends there */
	ck_assert_int_eq(cufile.cuFileRead(handle, base, BYTES + 4096, 0, 4096), BYTES);
	ck_assert_int_eq(cufile.cuFileBufDeregister(base).err, CU_FILE_SUCCESS);
	cufile.cuFileHandleDeregister(handle);
	ck_assert_int_lt(cufile.cuFileRead(handle, base, 4096, 0, 0), 0);
	ck_assert_int_eq(cufile.cuFileDriverClose().err, CU_FILE_SUCCESS);
	close(fd);
}

TEST(without_nvidia_fs_only_the_compatibility_mode_opens)
{
	CUfileDrvProps_t properties;
	setenv("CUFILE_ALLOW_COMPAT_MODE", "false", 1);
	ck_assert_int_eq(cufile.cuFileDriverOpen().err, CU_FILE_DRIVER_NOT_INITIALIZED);
	ck_assert_int_eq(cufile.cuFileDriverGetProperties(&properties).err, CU_FILE_DRIVER_NOT_INITIALIZED);
	setenv("CUFILE_ALLOW_COMPAT_MODE", "true", 1);
	ck_assert_int_eq(cufile.cuFileDriverOpen().err, CU_FILE_SUCCESS);
	ck_assert_int_eq(cufile.cuFileDriverGetProperties(&properties).err, CU_FILE_SUCCESS);
	ck_assert_uint_eq(properties.nvfs.major_version, 0);
	ck_assert_uint_eq(properties.nvfs.dcontrolflags, 2);
}

TEST(what_cufile_cannot_do_is_refused)
{
	CUfileDescr_t description = { .type = (enum CUfileFileHandleType)2 };
	CUfileHandle_t handle;
	int fd;
	CUdeviceptr memory = take(4096);
	ck_assert_int_eq(cufile.cuFileHandleRegister(&handle, &description).err, CU_FILE_INVALID_VALUE);
	ck_assert_int_eq(cufile.cuFileHandleRegister(&handle, NULL).err, CU_FILE_INVALID_VALUE);
	ck_assert_int_eq(cufile.cuFileBufRegister(words, 4096, 0).err, CU_FILE_INVALID_VALUE);
	handle = open_file(&fd);
	ck_assert_int_lt(cufile.cuFileRead(handle, (void *)(uintptr_t)memory, 8192, 0, 0), 0); /* too long for it */
	close(fd);
	ck_assert_int_lt(cufile.cuFileRead(handle, (void *)(uintptr_t)memory, 4096, 0, 0), 0);
}

TEST_MAIN(.setup = set_up, .teardown = example_end)
