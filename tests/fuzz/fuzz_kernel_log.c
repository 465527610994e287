/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kernel_log.c - a kernel's log of any bytes: what probe history makes of it is bounded and plain
 *
 * The input is the file /dev/kmsg of a root of its own, which the probe reads from its end; its lines are counted from
 * its beginning too.
 */
#include "fuzz.h"

#include "system/kernel_log.h"
#include "system/kernel_event.h"
#include "probe_context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct muster_probe muster_probe_history;

static char root[64], proc[80], dev[80], uptime_file[96], kmsg[96];

static void remove_root(void)
{
	unlink(uptime_file);
	unlink(kmsg);
	rmdir(proc);
	rmdir(dev);
	rmdir(root);
}

static void put_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	FUZZ_CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "%s: %s", path, strerror(errno));
	close(fd);
}

static void make_root(void)
{
	snprintf(root, sizeof root, "%s/muster-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	FUZZ_CHECK(mkdtemp(root) != NULL, "%s: %s", root, strerror(errno));
	snprintf(proc, sizeof proc, "%s/proc", root);
	snprintf(dev, sizeof dev, "%s/dev", root);
	snprintf(uptime_file, sizeof uptime_file, "%s/uptime", proc);
	snprintf(kmsg, sizeof kmsg, "%s/kmsg", dev);
	FUZZ_CHECK(mkdir(proc, 0755) == 0 && mkdir(dev, 0755) == 0, "%s: %s", root, strerror(errno));
	put_file(uptime_file, "432000.00 1.00\n", 15);
	atexit(remove_root);
}

static void check_tally(const struct muster_kernel_tally *tally)
{
	for (size_t g = 0; g < MUSTER_KERNEL_GROUPS; g++)
		for (size_t i = 0; i < tally->count[g]; i++) {
			const struct muster_kernel_seen *seen = &tally->seen[g][i];
			FUZZ_CHECK(
				seen->count > 0 && seen->event.kind < MUSTER_KERNEL_LINK_DOWN, "%d", seen->event.kind);
			FUZZ_CHECK(
				*seen->event.device && strnlen(seen->line, sizeof seen->line) <= MUSTER_KERNEL_LINE_MAX,
				"%s", seen->event.device);
			fuzz_check_plain(seen->line, strlen(seen->line), false);
			FUZZ_CHECK((*seen->event.code != '\0') == (g != MUSTER_KERNEL_OTHERS), "%s", seen->event.code);
		}
}

/* The input's lines as they stand, whatever their times. */
static void check_lines(const char *bytes, size_t size)
{
	static struct muster_kernel_tally tally;
	memset(&tally, 0, sizeof tally);
	for (size_t at = 0; at < size;) {
		const char *newline = memchr(bytes + at, '\n', size - at);
		size_t length = newline ? (size_t)(newline - bytes) - at : size - at;
		char text[MUSTER_KERNEL_TEXT_MAX + 1];
		uint64_t sequence;
		double seconds;
		if (muster_kernel_record_parse(bytes + at, length, &sequence, &seconds, text)) {
			FUZZ_CHECK(strlen(text) <= length && seconds >= 0, "%g", seconds);
			muster_kernel_tally_add(&tally, text, seconds, false, false);
		}
		at += length + 1;
	}
	muster_kernel_tally_end(&tally);
	check_tally(&tally);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	enum { SAMPLES_MAX = 4 + 3 * 3 * MUSTER_KERNEL_SEEN_MAX };
	struct fuzz_context context;
	if (!*root)
		make_root();
	put_file(kmsg, bytes, size);
	context_init(&context, root);
	FUZZ_CHECK(context_run(&context, &muster_probe_history, muster_probe_history.run) <= SAMPLES_MAX, "too many");
	FUZZ_CHECK(
		context_run(&context, &muster_probe_history, muster_probe_history.finish) <= SAMPLES_MAX, "too many");
	check_lines((const char *)bytes, size);
	return 0;
}
