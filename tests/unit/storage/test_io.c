/* SPDX-License-Identifier: Apache-2.0 */
/* test_io.c - many requests at once, through io_uring and by threads
 *
 * This program has a pread of its own, which stands between the threads and the kernel, and functions of io_uring that
 * may be refused, as a container's rules refuse io_uring_queue_init.
 */
#include "check_main.h"
#include "temporary_root.h"
#include "storage/io_backend.h"
#include "storage/pattern.h"
#include "util/text.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { MIB = 1 << 20, DEPTH = 8, BLOCKS = 40, SEED = 4711 };

static char root[64];
static struct muster_storage_file file;
static struct muster_error err;
static struct muster_io *io;
static char *memory;          /* DEPTH times one MiB */
static size_t most_of_a_read; /* bytes that pread does at most; 0: no limit */
static int refuse_uring, refuse_submit, refuse_wait, interrupted, hang;

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
	while (hang)
		pause();
	if (interrupted > 0) {
		interrupted--;
		errno = EINTR;
		return -1;
	}
	if (most_of_a_read && bytes > most_of_a_read)
		bytes = most_of_a_read;
	return syscall(SYS_pread64, fd, data, bytes, offset);
}

#ifdef MUSTER_HAVE_LIBURING
#include <liburing.h>
int io_uring_queue_init(unsigned depth, struct io_uring *ring, unsigned flags)
{
	int (*real)(unsigned, struct io_uring *, unsigned);
	if (refuse_uring)
		return -refuse_uring;
	*(void **)&real = dlsym(RTLD_NEXT, "io_uring_queue_init");
	return real(depth, ring, flags);
}

int io_uring_submit(struct io_uring *ring)
{
	int (*real)(struct io_uring *);
	*(void **)&real = dlsym(RTLD_NEXT, "io_uring_submit");
	return refuse_submit ? -refuse_submit : real(ring);
}

int io_uring_wait_cqe_timeout(struct io_uring *ring, struct io_uring_cqe **ret, struct __kernel_timespec *time)
{
	int (*real)(struct io_uring *, struct io_uring_cqe **, struct __kernel_timespec *);
	*(void **)&real = dlsym(RTLD_NEXT, "io_uring_wait_cqe_timeout");
	return refuse_wait ? -refuse_wait : real(ring, ret, time);
}
#endif

static void setup(void)
{
	temporary_root_make_below(root, sizeof root, "/var/tmp", "io");
	ck_assert_msg(muster_storage_file_open(root, BLOCKS * MIB, &file, &err) == 0, "%s", err.text);
	memory = mmap(NULL, DEPTH * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	refuse_uring = refuse_submit = refuse_wait = interrupted = hang = 0;
	most_of_a_read = 0;
}

static void teardown(void)
{
	muster_io_free(io);
	io = NULL;
	muster_storage_file_close(&file);
	munmap(memory, DEPTH * MIB);
	ck_assert_int_eq(rmdir(root), 0);
}

/* 0: io_uring where the machine has it, 1: threads. */
static void make(int way, unsigned depth)
{
	io = way ? muster_io_new_threads(depth, "a test", &err) : muster_io_new(depth, &err);
	ck_assert_msg(io != NULL, "%s", err.text);
}

static void start(enum muster_io_way way, size_t block, size_t slot)
{
	char *data = memory + slot * MIB;
	uint64_t offset = (uint64_t)block * MIB;
	if (way == MUSTER_IO_WRITE)
		muster_storage_fill(data, MIB, offset, SEED);
	else
		memset(data, 0, MIB);
	ck_assert_msg(
		muster_io_start(io, way, &file, data, MIB, offset, block * DEPTH + slot, &err) == 0, "%s", err.text);
}

/* All blocks of the file with all requests that can be in flight; the words that are wrong. */
static uint64_t all_blocks(enum muster_io_way way)
{
	bool seen[BLOCKS] = { false };
	uint64_t wrong = 0;
	size_t next = 0, tag;
	for (; next < DEPTH; next++)
		start(way, next, next);
	for (size_t done = 0; done < BLOCKS; done++) {
		ck_assert_msg(muster_io_wait(io, 20000, &tag, &err) == 0, "%s", err.text);
		size_t block = tag / DEPTH, slot = tag % DEPTH;
		ck_assert(block < BLOCKS && !seen[block]);
		seen[block] = true;
		if (way == MUSTER_IO_READ)
			wrong += muster_storage_wrong(memory + slot * MIB, MIB, (uint64_t)block * MIB, SEED);
		if (next < BLOCKS)
			start(way, next++, slot);
	}
	ck_assert_uint_eq(muster_io_running(io), 0);
	return wrong;
}

TEST_LOOP(what_is_written_is_read_back, 0, 2)
{
	make(_i, DEPTH);
	all_blocks(MUSTER_IO_WRITE);
	ck_assert_int_eq(muster_storage_file_settle(&file, &err), 0);
	ck_assert_uint_eq(all_blocks(MUSTER_IO_READ), 0);
	memset(memory, 0, MIB);
	ck_assert_int_eq(pwrite(file.fd, memory, file.block, 5 * MIB), (ssize_t)file.block);
	ck_assert_uint_eq(all_blocks(MUSTER_IO_READ), file.block / 8);
}

TEST_LOOP(more_requests_than_the_depth_are_refused, 0, 2)
{
	size_t tag;
	make(_i, 2);
	start(MUSTER_IO_WRITE, 0, 0);
	start(MUSTER_IO_WRITE, 1, 1);
	ck_assert_int_eq(muster_io_start(io, MUSTER_IO_WRITE, &file, memory + 2 * MIB, MIB, 0, 0, &err), -1);
	ck_assert_str_eq(err.text, "2 requests run already");
	ck_assert_int_eq(muster_io_wait(io, 20000, &tag, &err), 0);
	start(MUSTER_IO_WRITE, 2, 2);
}

TEST_LOOP(a_read_ends_with_the_file, 0, 2)
{
	char path[128];
	size_t tag;
	snprintf(path, sizeof path, "%s/odd", root);
	FILE *out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	for (int i = 0; i < 10001; i++)
		fputc(i % 251, out);
	fclose(out);
	muster_storage_file_close(&file);
	ck_assert_msg(muster_storage_file_open_existing(path, &file, &err) == 0, "%s", err.text);
	unlink(path);
	make(_i, 2);
	ck_assert_msg(muster_io_start(io, MUSTER_IO_READ, &file, memory, 10001, 0, 3, &err) == 0, "%s", err.text);
	ck_assert_msg(muster_io_wait(io, 20000, &tag, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(tag, 3);
	ck_assert_int_eq((unsigned char)memory[10000], 10000 % 251);
	ck_assert_msg(muster_io_start(io, MUSTER_IO_READ, &file, memory, MIB, 8192, 4, &err) == 0, "%s", err.text);
	ck_assert_msg(muster_io_wait(io, 20000, &tag, &err) == 0, "%s", err.text);
	ck_assert_int_eq((unsigned char)memory[0], 8192 % 251);
	ck_assert_int_eq(muster_io_start(io, MUSTER_IO_READ, &file, memory, MIB, 16384, 5, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "the file has 10001"));
}

TEST_LOOP(a_file_that_became_shorter_is_an_error_with_its_place, 0, 2)
{
	size_t tag = 99;
	make(_i, 2);
	ck_assert_int_eq(ftruncate(file.fd, 2 * MIB), 0);
	start(MUSTER_IO_READ, 3, 0);
	ck_assert_int_eq(muster_io_wait(io, 20000, &tag, &err), -1);
	ck_assert_str_eq(err.text, "read of 1 MiB at 3 MiB: the file ended before");
	ck_assert_uint_eq(tag, 3 * DEPTH);
	ck_assert_uint_eq(muster_io_running(io), 0);
}

TEST_LOOP(a_full_disk_is_an_error_with_its_reason, 0, 2)
{
	struct muster_storage_file full = { .fd = open("/dev/full", O_RDWR | O_CLOEXEC), .block = 4096, .bytes = MIB };
	size_t tag;
	make(_i, 2);
	ck_assert_int_eq(muster_io_start(io, MUSTER_IO_WRITE, &full, memory, MIB, 0, 7, &err), 0);
	ck_assert_int_eq(muster_io_wait(io, 20000, &tag, &err), -1);
	ck_assert_str_eq(err.text, "write of 1 MiB at 0 B: No space left on device");
	ck_assert_uint_eq(tag, 7);
	close(full.fd);
}

TEST_LOOP(what_is_not_aligned_is_refused_before_the_kernel_does, 0, 2)
{
	make(_i, 2);
	if (!file.direct)
		return;
	ck_assert_int_eq(muster_io_start(io, MUSTER_IO_WRITE, &file, memory + 8, MIB, 0, 0, &err), -1);
	ck_assert_int_eq(muster_io_start(io, MUSTER_IO_WRITE, &file, memory, MIB, 512, 0, &err), -1);
	ck_assert_int_eq(muster_io_start(io, MUSTER_IO_WRITE, &file, memory, 1000, 0, 0, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "direct access needs multiples of"));
	ck_assert_uint_eq(muster_io_running(io), 0);
}

/* A FIFO without a writer stands for a file system that never answers; threads hang in this program's pread. */
TEST_LOOP(what_does_not_end_costs_its_time_and_no_more, 0, 2)
{
	char path[128];
	size_t tag = 99;
	snprintf(path, sizeof path, "%s/fifo", root);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	struct muster_storage_file never = { .fd = open(path, O_RDWR | O_CLOEXEC), .block = 4096, .bytes = MIB };
	unlink(path);
	make(_i, 2);
	hang = strcmp(muster_io_method(io), "io_uring") != 0;
	ck_assert_int_eq(muster_io_start(io, MUSTER_IO_READ, &never, memory, MIB, 0, 0, &err), 0);
	ck_assert_int_eq(muster_io_wait(io, 200, &tag, &err), -1);
	ck_assert_msg(err.code == MUSTER_ETIME, "%s", err.text);
	ck_assert_str_eq(err.text, "1 in flight: none was done within 0.2 s");
	ck_assert_uint_eq(tag, 99);
	double began = muster_now_ms();
	muster_io_free(io);
	io = NULL;
	ck_assert_double_lt(muster_now_ms() - began, 5000);
	close(never.fd);
}

TEST_LOOP(nothing_to_wait_for_is_an_error, 0, 2)
{
	size_t tag;
	make(_i, 2);
	ck_assert_int_eq(muster_io_wait(io, 20000, &tag, &err), -1);
	ck_assert_str_eq(err.text, "no request runs");
}

TEST(threads_ask_for_the_rest_of_what_was_done_in_part)
{
	make(1, DEPTH);
	all_blocks(MUSTER_IO_WRITE);
	most_of_a_read = 3 * file.block;
	interrupted = 5;
	ck_assert_uint_eq(all_blocks(MUSTER_IO_READ), 0);
	most_of_a_read = file.block - 1;
	if (!file.direct)
		return;
	size_t tag;
	start(MUSTER_IO_READ, 0, 0);
	ck_assert_int_eq(muster_io_wait(io, 20000, &tag, &err), -1);
}

TEST(where_io_uring_is_refused_there_are_threads_and_the_reason)
{
#ifdef MUSTER_HAVE_LIBURING
	refuse_uring = EPERM;
	make(0, DEPTH);
	ck_assert_str_eq(muster_io_method(io), "threads: io_uring_queue_init: Operation not permitted");
	all_blocks(MUSTER_IO_WRITE);
	ck_assert_uint_eq(all_blocks(MUSTER_IO_READ), 0);
#else
	make(0, DEPTH);
	ck_assert_str_eq(muster_io_method(io), "threads: this muster was built without liburing");
#endif
}

TEST(a_request_that_was_not_submitted_is_not_done_later)
{
	size_t tag;
	make(0, 2);
	memset(memory, 7, MIB);
	refuse_submit = EBUSY;
	if (strcmp(muster_io_method(io), "io_uring") == 0)
		ck_assert_int_eq(muster_io_start(io, MUSTER_IO_WRITE, &file, memory, MIB, 3 * MIB, 0, &err), -1);
	refuse_submit = 0;
	for (size_t block = 5; block < 9; block++) {
		start(MUSTER_IO_WRITE, block, 1);
		ck_assert_msg(muster_io_wait(io, 20000, &tag, &err) == 0 && tag == block * DEPTH + 1, "%s", err.text);
	}
	ck_assert_int_eq(pread(file.fd, memory, file.block, 3 * MIB), (ssize_t)file.block);
	ck_assert_int_eq(memory[0], 0);
}

TEST(draining_ends_where_no_request_can_be_waited_for)
{
	make(0, 2);
	start(MUSTER_IO_WRITE, 0, 0);
	refuse_wait = strcmp(muster_io_method(io), "io_uring") == 0 ? EBADF : 0;
	muster_io_drain(io, 20000);
	ck_assert_uint_eq(muster_io_running(io), refuse_wait ? 1 : 0);
	refuse_wait = 0;
}

TEST(a_depth_that_cannot_be_is_refused)
{
	ck_assert_ptr_null(muster_io_new(0, &err));
	ck_assert_ptr_null(muster_io_new(MUSTER_IO_DEPTH_MAX + 1, &err));
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	make(0, MUSTER_IO_DEPTH_MAX);
	muster_io_free(io);
	make(1, MUSTER_IO_DEPTH_MAX);
}

TEST_MAIN(.setup = setup, .teardown = teardown, .begin = check_needs_root_folder)
