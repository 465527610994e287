/* SPDX-License-Identifier: Apache-2.0 */
/* test_volume.c - with libmuster-preload.so, files on a volume of the simulated node take the scenario's time and space
 *
 * The program runs itself with the library loaded, once for each case: `test_volume CASE`. muster's own code for files
 * and requests is what asks.
 */
#include "standins/example.h"
#include "check_main.h"

#include "storage/io.h"
#include "storage/pattern.h"
#include "vendor/cuda.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

enum { BLOCKS = 32, DEPTH = 8 }; /* of 1 MiB: a file; requests at once */

static char folder[4096];
static unsigned char *memory; /* DEPTH blocks */
static const struct muster_sim_volume *volume;

static double now_s(void)
{
	struct timespec now;
	MUST(clock_gettime(CLOCK_MONOTONIC_RAW, &now) == 0);
	return (double)(now.tv_sec - MUSTER_SIM_UPTIME_S) + (double)now.tv_nsec / 1e9;
}

static bool is_about(double value, double wanted)
{
	return fabs(value - wanted) < 2e-8;
}

static struct muster_storage_file open_file(void)
{
	struct muster_storage_file file;
	struct muster_error err;
	if (muster_storage_file_open(folder, BLOCKS * MIB, &file, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return file;
}

/* All of the file, DEPTH requests at a time. Returns the number of words that differ, of what was read. */
static uint64_t stream(struct muster_io *io, enum muster_io_way way, const struct muster_storage_file *file)
{
	struct muster_error err;
	uint64_t wrong = 0;
	unsigned char *blocks[BLOCKS];
	size_t started = 0, tag = 0;
	for (size_t done = 0; done < BLOCKS; done++) {
		for (; started < BLOCKS && started - done < DEPTH; started++) {
			blocks[started] = done == 0 ? memory + started * MIB : blocks[tag];
			if (way == MUSTER_IO_WRITE)
				muster_storage_fill(blocks[started], MIB, started * MIB, 7);
			MUST(muster_io_start(io, way, file, blocks[started], MIB, started * MIB, started, &err) == 0);
		}
		MUST(muster_io_wait(io, 10000, &tag, &err) == 0);
		if (muster_io_method(io)[0] == 'i')
			MUST(tag == done);
		if (way == MUSTER_IO_READ)
			wrong += muster_storage_wrong(blocks[tag], MIB, tag * MIB, 7);
	}
	return wrong;
}

static void check_rates(const char *method, size_t ranks, uint64_t wrong)
{
	struct muster_error err;
	struct muster_storage_file file = open_file();
	double bytes = BLOCKS * (double)MIB;
	struct muster_io *io = muster_io_new(DEPTH, &err);
	MUST(io && strcmp(muster_io_method(io), method) == 0);
	double start = now_s();
	stream(io, MUSTER_IO_WRITE, &file);
	double written = now_s();
	MUST(is_about(written - start, bytes / (volume->write_gbps * 1e9)));
	MUST(stream(io, MUSTER_IO_READ, &file) == wrong);
	MUST(is_about(now_s() - written, bytes * (double)ranks / (volume->read_gbps * 1e9)));
	muster_io_free(io);
	muster_storage_file_close(&file);
}

#ifdef MUSTER_HAVE_LIBURING
#define METHOD "io_uring"
#define REFUSED "io_uring_queue_init: Operation not permitted"
#else
#define METHOD REFUSED
#define REFUSED "this muster was built without liburing"
#endif

static void requests_take_their_time(void)
{
	check_rates(METHOD, 1, 0);
}

static void threads_take_the_same_time(void)
{
	check_rates("threads: " REFUSED, 1, 0);
}

static void a_wrong_bit_is_one_wrong_word(void)
{
	check_rates(METHOD, 1, 1);
}

static void ranks_that_feed_gpus_share_the_disk(void)
{
	struct muster_cuda cuda;
	CUcontext context;
	void *function, *library = dlopen(MUSTER_BUILD_DIR "/lib/muster/sim/libcuda.so.1", RTLD_NOW);
	MUST(library != NULL);
#define X(symbol, parameters)                                                                                          \
	MUST((function = dlsym(library, #symbol)) != NULL);                                                            \
	memcpy(&cuda.symbol, &function, sizeof function);
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
	MUST(cuda.cuInit(0) == CUDA_SUCCESS && cuda.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
	MUST(cuda.cuCtxSetCurrent(context) == CUDA_SUCCESS);
	MUST(cuda.cuMemHostRegister_v2(memory, DEPTH * MIB, 0) == CUDA_SUCCESS);
	check_rates(METHOD, EXAMPLE_GPUS, 0);
}

/* One small request of 50 takes twice the latency. */
static void small_requests_wait_for_the_disk(void)
{
	struct muster_storage_file file = open_file(); /* a small request already */
	double one = volume->latency_us / 1e6 + 4096 / (volume->read_gbps * 1e9);
	for (int i = 2; i <= 100; i++) {
		double start = now_s();
		MUST(pread(file.fd, memory, 4096, i * 4096) == 4096);
		MUST(is_about(now_s() - start, one + (i % 50 == 0 ? volume->latency_us / 1e6 : 0)));
	}
	muster_storage_file_close(&file);
}

/* In the root of the node, but on no volume; not in the root. */
static void files_elsewhere_are_in_the_shared_folder(void)
{
	const struct muster_sim_node *node = muster_sim_this_node();
	double start = now_s();
	char path[4096];
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_DIRECT, 0600);
	MUST(fd >= 0 || errno == EOPNOTSUPP);
	if (fd >= 0) {
		MUST(pwrite(fd, memory, MIB, 0) == (ssize_t)MIB);
		MUST(is_about(now_s() - start, (double)MIB / (node->volumes[1].write_gbps * 1e9)));
	}
	close(fd);
	start = now_s();
	snprintf(path, sizeof path, "%s/cluster.json", node->directory);
	fd = open(path, O_RDONLY);
	MUST(fd >= 0 && pread(fd, memory, 100, 0) == 100);
	close(fd);
	MUST(now_s() == start);
}

static void space_is_the_scenarios(void)
{
	struct statvfs space;
	MUST(statvfs(folder, &space) == 0);
	MUST(space.f_frsize == 4096 && fabs((double)space.f_blocks * 4096 - volume->gb * 1e9) < 4096);
	MUST(fabs((double)space.f_bavail * 4096 - volume->free_gb * 1e9) < 4096);
	MUST(!(space.f_flag & ST_RDONLY));
}

static void nothing_is_written_where_it_is_read_only(void)
{
	struct muster_storage_file file;
	struct muster_error err;
	struct statvfs space;
	MUST(statvfs(folder, &space) == 0 && space.f_flag & ST_RDONLY);
	MUST(open(folder, O_TMPFILE | O_RDWR, 0600) < 0 && errno == EROFS);
	MUST(muster_storage_file_open(folder, MIB, &file, &err) < 0);
	MUST(strstr(err.text, "Read-only file system"));
}

static void an_array_without_a_disk_has_errors(void)
{
	struct muster_storage_file file;
	struct muster_error err;
	MUST(muster_storage_file_open(folder, MIB, &file, &err) < 0);
	MUST(strstr(err.text, "Input/output error"));
}

static void requests_that_never_end_are_waited_for_in_vain(void)
{
	struct muster_error err;
	struct muster_storage_file file = open_file();
	struct muster_io *io = muster_io_new(DEPTH, &err);
	size_t tag;
	double before = now_s();
	MUST(io && muster_io_start(io, MUSTER_IO_READ, &file, memory, MIB, 0, 3, &err) == 0);
	MUST(muster_io_wait(io, 50, &tag, &err) < 0 && err.code == MUSTER_ETIME);
	MUST(now_s() == before);
	/* others are not held up */
	MUST(muster_io_start(io, MUSTER_IO_WRITE, &file, memory, MIB, 0, 4, &err) == 0);
	MUST(muster_io_wait(io, 10000, &tag, &err) == 0 && tag == 4);
	_exit(0);
}

static void refuse_io_uring(struct muster_sim_node *node)
{
	node->io_uring_refused = true;
}

static void break_a_bit(struct muster_sim_node *node)
{
	node->volumes[0].flipped_at = 3 * MIB + 5;
}

static void lose_a_disk(struct muster_sim_node *node)
{
	node->volumes[0].missing_members = 1;
}

static void mount_read_only(struct muster_sim_node *node)
{
	node->volumes[0].read_only = true;
}

static void stall_reads(struct muster_sim_node *node)
{
	node->volumes[0].stalls = "read";
}

static const struct {
	const char *name;
	void (*run)(void);
	void (*change)(struct muster_sim_node *node);
} cases[] = {
	{ "requests", requests_take_their_time, NULL },
	{ "threads", threads_take_the_same_time, refuse_io_uring },
	{ "bit", a_wrong_bit_is_one_wrong_word, break_a_bit },
	{ "gpus", ranks_that_feed_gpus_share_the_disk, NULL },
	{ "small", small_requests_wait_for_the_disk, NULL },
	{ "elsewhere", files_elsewhere_are_in_the_shared_folder, NULL },
	{ "space", space_is_the_scenarios, NULL },
	{ "read-only", nothing_is_written_where_it_is_read_only, mount_read_only },
	{ "array", an_array_without_a_disk_has_errors, lose_a_disk },
	{ "stall", requests_that_never_end_are_waited_for_in_vain, stall_reads },
};

TEST_EACH(a_volume_is_the_scenarios, cases)
{
	static struct muster_sim_volume volumes[2] = { {
		.path = "/fast/scratch",
		.filesystem = "xfs",
		.device = "md127",
		.layout = "raid0",
		.gb = 1000,
		.free_gb = 990,
		.read_gbps = 9.3,
		.write_gbps = 8.2,
		.latency_us = 95,
		.stalls = "",
	} };
	static const char *const made[] = { "/fast", "/fast/scratch" };
	struct muster_sim_cluster *cluster = example_cluster();
	char path[4096];
	cluster->nodes[0].volumes = volumes;
	cluster->nodes[0].volume_count = 2;
	volumes[1] = (struct muster_sim_volume){ .path = MUSTER_SIM_SHARED,
		.filesystem = "nfs4",
		.device = "nfs.sim:/export",
		.layout = "none",
		.gb = 1,
		.free_gb = 1,
		.read_gbps = 20,
		.write_gbps = 10,
		.latency_us = 800,
		.stalls = "" };
	if (cases[_i].change)
		cases[_i].change(&cluster->nodes[0]);
	example_start(cluster, 0);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s%s", cluster->nodes[0].directory, made[i]);
		ck_assert_int_eq(mkdir(path, 0700), 0);
	}
	example_preloaded(cases[_i].name);
	ck_assert_int_eq(rmdir(path), 0);
	path[strlen(path) - strlen("/scratch")] = '\0';
	ck_assert_int_eq(rmdir(path), 0);
	example_end();
}

static int run_case(const char *name)
{
	const struct muster_sim_node *node = muster_sim_this_node();
	volume = &node->volumes[0];
	snprintf(folder, sizeof folder, "%s%s", node->directory, volume->path);
	memory = aligned_alloc(MIB, DEPTH * MIB);
	MUST(memory != NULL);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (strcmp(name, cases[i].name) != 0)
			continue;
		cases[i].run();
		free(memory);
		return 0;
	}
	return 1;
}

static void begin(int argc, char **argv)
{
	if (argc > 1)
		exit(run_case(argv[1]));
	check_needs_root_folder(argc, argv);
}

TEST_MAIN(.begin = begin)
