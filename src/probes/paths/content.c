/* SPDX-License-Identifier: Apache-2.0 */
/* content.c - what a path leads to, and a hash of its content
 *
 * Times of change and owners are no part of a hash: copies of one folder on several disks differ in them, and what a
 * client of NFS shows of them may be old. The limits are counts and not times wherever they can be, so that all nodes
 * stop at the same place.
 *
 * What is hashed of a folder, depth first and sorted by strcmp, each text with its NUL: the name, then "file SIZE",
 * "link" and its target, "folder" ... "end", "closed" for a folder that is not entered (another file system, too deep,
 * no rights), "special" for devices and sockets, "unreadable". So two nodes that may read different parts differ in the
 * hash.
 *
 * Each system call may hang where a network file system does not answer; the step names the path, and the supervisor
 * ends the worker at its deadline.
 */
#include "probes/paths/content.h"

#include "muster/arena.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xxh64.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)
#define WHOLE_MAX (1024 * MIB) /* read of a file, or of all files of a folder */
#define BUFFER_BYTES MIB
enum { DEPTH_MAX = 64, NAMES_MAX = 1000000, NAMES_PER_LOOK = 1024 };

/* The state of one path's reading. */
struct walk {
	struct muster_xxh64 hash;
	unsigned char *buffer; /* BUFFER_BYTES */
	bool with_files;
	double until_ms;
	bool late, full; /* the time is over, so no hash; there are more than MUSTER_PATH_ENTRIES entries */
	dev_t device;    /* of the path: folders on others are not entered */
	size_t entries;
	uint64_t bytes; /* of content */
};

/* Looked at between two pieces of work. Once true it stays true. */
static bool is_late(struct walk *w)
{
	w->late = w->late || muster_now_ms() > w->until_ms;
	return w->late;
}

/* With its NUL, so that what follows cannot be taken for a part of it. */
static void add_text(struct walk *w, const char *text)
{
	muster_xxh64_add(&w->hash, text, strlen(text) + 1);
}

/* ---- files ---- */

/* The bytes from this offset on, at most count; they stop at the end of the file. -1: errno. */
static int add_bytes(struct walk *w, int fd, uint64_t offset, uint64_t count)
{
	while (count > 0 && !is_late(w)) {
		size_t part = count < BUFFER_BYTES ? (size_t)count : BUFFER_BYTES;
		ssize_t got = pread(fd, w->buffer, part, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -1 : 0;
		muster_xxh64_add(&w->hash, w->buffer, (size_t)got);
		offset += (uint64_t)got;
		count -= (uint64_t)got;
		w->bytes += (uint64_t)got;
	}
	return 0;
}

/* ---- folders ---- */

struct names {
	char **items;
	size_t count, room;
};

/* All names of the folder, sorted by strcmp: readdir gives them in an order that differs between nodes. The caller
 * frees them, also after -1 with errno. A folder with more than NAMES_MAX names is EOVERFLOW. */
static int read_names(struct walk *w, DIR *folder, struct names *names)
{
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(folder);
		if (!entry)
			break;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (names->count == NAMES_MAX) {
			errno = EOVERFLOW;
			break;
		}
		MUSTER_ARRAY_PUSH(names->items, names->count, names->room, muster_strdup(entry->d_name));
		if (names->count % NAMES_PER_LOOK == 0 && is_late(w))
			break;
	}
	if (names->count > 0)
		qsort(names->items, names->count, sizeof *names->items, muster_by_text);
	return errno ? -1 : 0;
}

static void add_folder(struct walk *w, int fd, int depth);

/* Adds the content of a file of the folder, as long as less than WHOLE_MAX bytes were read of all its files. O_NOFOLLOW
 * and O_NONBLOCK: the name may have become a link or a FIFO since it was looked at. */
static void add_file_below(struct walk *w, int folder, const char *name)
{
	if (!w->with_files || w->bytes >= WHOLE_MAX)
		return;
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || add_bytes(w, fd, 0, WHOLE_MAX - w->bytes) < 0)
		add_text(w, "unreadable");
	if (fd >= 0)
		close(fd);
}

/* Adds one entry: its name, its type, and what belongs to it (the head of this file has the texts). depth: of the
 * folder that has the entry, from 0. */
static void add_entry(struct walk *w, int folder, const char *name, int depth)
{
	char text[PATH_MAX];
	struct stat status;
	add_text(w, name);
	w->entries++;
	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
		add_text(w, "unreadable");
	} else if (S_ISREG(status.st_mode)) {
		snprintf(text, sizeof text, "file %lld", (long long)status.st_size);
		add_text(w, text);
		add_file_below(w, folder, name);
	} else if (S_ISLNK(status.st_mode)) {
		ssize_t length = readlinkat(folder, name, text, sizeof text - 1);
		text[length < 0 ? 0 : length] = '\0';
		add_text(w, "link");
		add_text(w, text);
	} else if (S_ISDIR(status.st_mode)) {
		add_text(w, "folder");
		int fd = status.st_dev == w->device && depth < DEPTH_MAX
				 ? openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
				 : -1;
		if (fd >= 0)
			add_folder(w, fd, depth + 1);
		add_text(w, fd >= 0 ? "end" : "closed");
	} else {
		add_text(w, "special");
	}
}

/* Adds the entries of the folder, and theirs. Closes the descriptor. A folder that fails while it is read is
 * "unreadable" in the hash, before the names that were read. */
static void add_folder(struct walk *w, int fd, int depth)
{
	struct names names = { 0 };
	DIR *folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		add_text(w, "unreadable");
		return;
	}
	if (read_names(w, folder, &names) < 0)
		add_text(w, "unreadable");
	for (size_t i = 0; i < names.count && !is_late(w) && !w->full; i++) {
		w->full = w->entries == MUSTER_PATH_ENTRIES;
		if (!w->full)
			add_entry(w, dirfd(folder), names.items[i], depth);
	}
	for (size_t i = 0; i < names.count; i++)
		free(names.items[i]);
	free(names.items);
	closedir(folder);
}

/* ---- the path ---- */

/* "44bc2cf5ad770999, 56 entries", "..., the first 100000 entries", "..., 56 entries, 1234 bytes of content". Empty
 * where the time was over: two nodes would have stopped at different places. */
static void hash_folder(struct walk *w, int fd, struct muster_path_content *ret)
{
	char content[64] = "";
	add_folder(w, fd, 0);
	ret->entries = w->entries;
	if (w->late)
		return;
	if (w->with_files)
		snprintf(content, sizeof content, ", %llu bytes of content", (unsigned long long)w->bytes);
	snprintf(ret->hash, sizeof ret->hash, "%016llx, %s%zu entries%s",
		(unsigned long long)muster_xxh64_value(&w->hash), w->full ? "the first " : "", w->entries, content);
}

/* "44bc2cf5ad770999, 1234 bytes"; of a file above WHOLE_MAX, the first and the last half of that. size: as fstat said.
 */
static void hash_file(struct walk *w, int fd, uint64_t size, struct muster_path_content *ret)
{
	const uint64_t half = WHOLE_MAX / 2;
	bool whole = size <= WHOLE_MAX;
	int failed = add_bytes(w, fd, 0, whole ? size : half);
	if (!failed && !whole)
		failed = add_bytes(w, fd, size - half, half);
	if (failed)
		snprintf(ret->why, sizeof ret->why, "read: %s", strerror(errno));
	else if (!w->late)
		snprintf(ret->hash, sizeof ret->hash, "%016llx%s, %llu bytes",
			(unsigned long long)muster_xxh64_value(&w->hash),
			whole ? "" : " of the first and the last 512 MiB", (unsigned long long)size);
}

static const char *special_type(mode_t mode)
{
	return S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/* The descriptor of a file or a folder, with its status; -1: type says what is there instead. stat comes first, because
 * open of a device may do something, such as rewinding a tape; O_NONBLOCK is for a path that has become a FIFO since.
 */
static int open_path(const char *path, struct stat *status, struct muster_path_content *ret)
{
	int fd = -1;
	bool found = stat(path, status) == 0;
	if (found && !S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode)) {
		snprintf(ret->type, sizeof ret->type, "%s", special_type(status->st_mode));
		return -1;
	}
	if (found)
		fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, status) == 0)
		snprintf(ret->type, sizeof ret->type, "%s", S_ISDIR(status->st_mode) ? "folder" : "file");
	else if (errno == ENOENT || errno == ENOTDIR)
		snprintf(ret->type, sizeof ret->type, "missing");
	else
		snprintf(ret->type, sizeof ret->type, "unreadable: %s", strerror(errno));
	return fd;
}

void muster_path_content_read(const char *path, bool with_files, double until_ms, struct muster_path_content *ret)
{
	struct walk w = { .with_files = with_files, .until_ms = until_ms };
	struct stat status;
	double start_ms = muster_now_ms(), from_ms = muster_clock_now(&muster_clock_raw);
	*ret = (struct muster_path_content){ 0 };
	int fd = open_path(path, &status, ret);
	ret->open_ms = muster_clock_now(&muster_clock_raw) - from_ms;
	if (fd < 0) {
		snprintf(ret->why, sizeof ret->why, "%s", ret->type);
		return;
	}
	muster_xxh64_init(&w.hash);
	w.buffer = muster_calloc(1, BUFFER_BYTES);
	w.device = status.st_dev;
	ret->is_folder = S_ISDIR(status.st_mode);
	if (ret->is_folder) {
		hash_folder(&w, fd, ret);
	} else {
		hash_file(&w, fd, (uint64_t)status.st_size, ret);
		close(fd);
	}
	if (w.late && ret->is_folder)
		snprintf(ret->why, sizeof ret->why, "not read within %.1f s: %zu entries so far",
			(muster_now_ms() - start_ms) / 1e3, w.entries);
	else if (w.late)
		snprintf(ret->why, sizeof ret->why, "not read within %.1f s: %llu of %lld bytes so far",
			(muster_now_ms() - start_ms) / 1e3, (unsigned long long)w.bytes, (long long)status.st_size);
	free(w.buffer);
}
