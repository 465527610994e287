/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sysfs.c - the small files of sysfs and procfs with any bytes in them, read by the probes that read them
 *
 * An input is a list of files: a line "=NAME" for a name of the table below, then what the file holds. A file that is
 * not named is not there. The linker keeps vendor libraries away, and puts a clock in place that passes by itself.
 */
#include "fuzz.h"
#include "../temporary_root.h"

#include "system/sysfs.h"
#include "util/text.h"
#include "muster/arena.h"
#include "probe_context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern const struct muster_probe muster_probe_ib_link, muster_probe_storage, muster_probe_system;

#define DEVICE "sys/class/infiniband/mlx5_0/"
#define PORT DEVICE "ports/1/"
#define DISK "sys/block/nvme0n1/"
static const struct {
	const char *name, *path;
} files[] = {
	{ "link_layer", PORT "link_layer" },
	{ "state", PORT "state" },
	{ "phys_state", PORT "phys_state" },
	{ "rate", PORT "rate" },
	{ "lid", PORT "lid" },
	{ "gid", PORT "gids/0" },
	{ "pkey0", PORT "pkeys/0" },
	{ "pkey1", PORT "pkeys/1" },
	{ "link_downed", PORT "counters/link_downed" },
	{ "symbol_error", PORT "counters/symbol_error" },
	{ "out_of_sequence", PORT "hw_counters/out_of_sequence" },
	{ "node_guid", DEVICE "node_guid" },
	{ "fw_ver", DEVICE "fw_ver" },
	{ "hca_type", DEVICE "hca_type" },
	{ "node_type", DEVICE "node_type" },
	{ "sys_image_guid", DEVICE "sys_image_guid" },
	{ "gid_type", PORT "gid_attrs/types/0" },
	{ "numa_node", DEVICE "device/numa_node" },
	{ "uevent", DEVICE "device/uevent" },
	{ "size", DISK "size" },
	{ "model", DISK "device/model" },
	{ "transport", DISK "device/transport" },
	{ "os-release", "etc/os-release" },
	{ "osrelease", "proc/sys/kernel/osrelease" },
	{ "meminfo", "proc/meminfo" },
	{ "cpuinfo", "proc/cpuinfo" },
};
#define FILE_COUNT (sizeof files / sizeof *files)

static char root[64];
static double now_ms;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
double __wrap_muster_now_ms(void);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

void *__wrap_dlopen(const char *name, int flags)
{
	(void)name;
	return __real_dlopen("/none/there.so", flags);
}

double __wrap_muster_now_ms(void)
{
	return now_ms;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	now_ms += (double)time->tv_sec * 1e3 + (double)time->tv_nsec / 1e6;
	return 0;
}

static void remove_root(void)
{
	temporary_root_remove(root);
}

static void make_root(void)
{
	char path[256];
	temporary_root_make_in_memory(root, sizeof root, "fuzz");
	atexit(remove_root);
	for (size_t i = 0; i < FILE_COUNT; i++) {
		snprintf(path, sizeof path, "%s/%s", root, files[i].path);
		temporary_root_make_folders(root, path);
	}
}

static void put_file(size_t index, const uint8_t *bytes, size_t size)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", root, files[index].path);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	FUZZ_CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "%s: %s", path, strerror(errno));
	close(fd);
}

/* Only what the input before had is taken away: a few files of the tree change, not all. */
static void put_files(const uint8_t *bytes, size_t size)
{
	static bool here[FILE_COUNT];
	bool named[FILE_COUNT] = { false };
	const uint8_t *at = bytes, *end = bytes + size;
	while (at < end) {
		const uint8_t *line = memchr(at, '\n', (size_t)(end - at)), *body = line ? line + 1 : end;
		const uint8_t *next = memmem(body, (size_t)(end - body), "\n=", 2);
		size_t length = (size_t)((line ? line : end) - at);
		for (size_t i = 0; i < FILE_COUNT; i++)
			if (length == strlen(files[i].name) + 1 && at[0] == '=' &&
				memcmp(at + 1, files[i].name, length - 1) == 0) {
				put_file(i, body, (size_t)((next ? next + 1 : end) - body));
				named[i] = true;
			}
		at = next ? next + 1 : end;
	}
	for (size_t i = 0; i < FILE_COUNT; i++) {
		char path[256];
		snprintf(path, sizeof path, "%s/%s", root, files[i].path);
		if (here[i] && !named[i])
			unlink(path);
		here[i] = named[i];
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_context context;
	if (!*root)
		make_root();
	put_files(bytes, size);
	context_init(&context, root);
	context_run(&context, &muster_probe_ib_link, muster_probe_ib_link.run);
	context_run(&context, &muster_probe_ib_link, muster_probe_ib_link.finish);
	context_run(&context, &muster_probe_storage, muster_probe_storage.run);
	context_run(&context, &muster_probe_system, muster_probe_system.run);
	return 0;
}
