/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - files are opened to be read, and written whole or not at all
 *
 * How a file is written:
 *
 *    muster_file_open      a file without a name (O_TMPFILE), where the file system has that; else "PATH.XXXXXX"
 *    (the caller writes)
 *    muster_file_commit    flush, fsync, give it a name beside PATH if it has none, rename it to PATH, fsync the folder
 *    muster_file_abandon   close it, and remove its temporary name
 *
 * So PATH has the old content or the whole new one at any time. A writer that is killed leaves nothing when its file
 * has no name yet. PATH itself is replaced: if it is a link, the link is replaced and not followed.
 *
 * Written to directly, without a temporary file: standard output ("-"), FIFOs, character devices, and files that are
 * open already under a name of the kernel (/dev/stdout, /dev/fd/3).
 *
 * PATH.gz: what the caller writes goes through a stream that deflates (gzip.c) to `plain`.
 */
#include "util/file.h"

#include "muster/arena.h"
#include "util/gzip.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_TRIED = 100 };

/* "-" is a copy of descriptor 0, so that the caller can close what it gets. O_NONBLOCK: open does not wait for the
 * writer of a FIFO. */
int muster_file_open_read(const char *path, struct muster_error *err)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
					: open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? muster_fail(err, muster_errno_code(errno), "%s: %s", path, strerror(errno)) : fd;
}

int muster_write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t written = TEMP_FAILURE_RETRY(write(fd, bytes, length));
		if (written < 0)
			return errno;
		bytes += written;
		length -= (size_t)written;
	}
	return 0;
}

/* 1: written to as it is, a FIFO, a character device, or a file that is open already (/dev/stdout). 0: a plain file, or
 * none yet. -1: nothing that a report can be put into. */
static int is_special(const char *path, struct muster_error *err)
{
	static const char *const open_files[] = { "/dev/std", "/dev/fd/", "/proc/" };
	struct stat status;
	if (stat(path, &status) < 0)
		return 0;
	for (size_t i = 0; i < sizeof open_files / sizeof *open_files && S_ISREG(status.st_mode); i++)
		if (strncmp(path, open_files[i], strlen(open_files[i])) == 0)
			return 1;
	if (S_ISDIR(status.st_mode))
		return muster_fail(err, MUSTER_EIO, "%s: is a directory, a file name is needed", path);
	if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode))
		return muster_fail(err, MUSTER_EIO, "%s: is neither a file nor a FIFO nor a character device", path);
	return !S_ISREG(status.st_mode);
}

/* The descriptor of a regular file that this process has open and that the kernel names so: /dev/stdout, /dev/fd/3. -1:
 * none. */
static int descriptor_of(const char *path)
{
	static const char *const names[] = { "/dev/fd/", "/proc/self/fd/" };
	long fd = strcmp(path, "/dev/stdout") == 0   ? STDOUT_FILENO
		  : strcmp(path, "/dev/stderr") == 0 ? STDERR_FILENO
						     : -1;
	struct stat status;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(path, names[i], strlen(names[i])) == 0)
			(void)muster_parse_int(path + strlen(names[i]), 0, INT_MAX, &fd, path, NULL);
	return fstat((int)fd, &status) == 0 && S_ISREG(status.st_mode) ? (int)fd : -1;
}

/* A regular file that is open already is not opened by its name: that would give it a second offset, at its start. */
static int open_special(struct muster_file *file, const char *path, struct muster_error *err)
{
	int own = descriptor_of(path);
	/* a FIFO without a reader fails instead of waiting for one; from then on writes may wait */
	int fd = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0 && (own >= 0 || fcntl(fd, F_SETFL, 0) == 0) && (file->out = fdopen(fd, "w")))
		return 0;
	muster_fail(err, MUSTER_EIO, "%s: %s", path, errno == ENXIO ? "it has no reader" : strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* There is no call that only asks for the mask. mkostemp makes files with mode 0600, and the mask gives them the usual
 * one. */
static mode_t current_umask(void)
{
	mode_t mask = umask(0);
	umask(mask);
	return mask;
}

static char *directory_of(const char *path)
{
	char *copy = muster_strdup(path), *directory = muster_strdup(dirname(copy));
	free(copy);
	return directory;
}

/* Without a name, or with one in *ret_temporary. */
static int open_beside(const char *path, char **ret_temporary, struct muster_error *err)
{
	char *directory = directory_of(path);
	int fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	bool missing = fd < 0 && errno == ENOENT;
	if (missing)
		muster_fail(err, MUSTER_EIO, "%s: the folder %s does not exist", path, directory);
	free(directory);
	*ret_temporary = NULL;
	if (fd >= 0 || missing)
		return fd;
	char *temporary = muster_asprintf("%s.XXXXXX", path);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd >= 0 && fchmod(fd, 0666 & ~current_umask()) == 0) {
		*ret_temporary = temporary;
		return fd;
	}
	muster_fail(err, MUSTER_EIO, "%s: cannot create a file beside it: %s", path, strerror(errno));
	if (fd >= 0) {
		close(fd);
		unlink(temporary);
	}
	free(temporary);
	return -1;
}

static int open_plain(struct muster_file *file, const char *path, struct muster_error *err)
{
	int special = is_special(path, err);
	if (special != 0)
		return special < 0 ? -1 : open_special(file, path, err);
	char *temporary;
	int fd = open_beside(path, &temporary, err);
	if (fd < 0)
		return -1;
	*file = (struct muster_file){ .out = fdopen(fd, "w"), .path = muster_strdup(path), .temporary = temporary };
	if (file->out)
		return 0;
	muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
	close(fd);
	muster_file_abandon(file);
	return -1;
}

/* With a name that ends in .gz, the caller writes to file->out, which deflates to file->plain. */
int muster_file_open(struct muster_file *file, const char *path, struct muster_error *err)
{
	*file = (struct muster_file){ 0 };
	if (strcmp(path, "-") == 0) {
		file->out = stdout;
		return 0;
	}
	if (open_plain(file, path, err) < 0 || !muster_text_ends_in(path, ".gz"))
		return file->out ? 0 : -1;
	file->plain = file->out;
	file->out = muster_gzip_open(file->plain, err);
	if (file->out)
		return 0;
	muster_file_abandon(file);
	return muster_wrap(err, "%s", path);
}

int muster_file_check(const char *path, struct muster_error *err)
{
	struct muster_file file;
	int special = strcmp(path, "-") == 0 ? 1 : is_special(path, err);
	if (special != 0) /* to open a FIFO and close it would be the end of the file for its reader */
		return special < 0 ? -1 : 0;
	if (muster_file_open(&file, path, err) < 0)
		return -1;
	muster_file_abandon(&file);
	return 0;
}

/* The rename is on disk only after its directory is. Some file systems refuse to sync a directory: not an error. */
static void sync_directory(const char *path)
{
	char *directory = directory_of(path);
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(directory);
}

/* Give the file without a name one beside its path, since only a file with a name can be renamed over another. linkat
 * cannot replace a file: names of the process id and a number are tried until one is free. */
static int name_it(struct muster_file *file)
{
	char *self = muster_asprintf("/proc/self/fd/%d", fileno(file->out));
	int failed = -1;
	for (int i = 0; i < NAMES_TRIED && failed; i++) {
		char *temporary = muster_asprintf("%s.%ld-%d", file->path, (long)getpid(), i);
		failed = linkat(AT_FDCWD, self, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW);
		if (failed)
			free(temporary);
		else
			file->temporary = temporary;
		if (failed && errno != EEXIST)
			break;
	}
	free(self);
	return failed;
}

/* The deflating stream is closed first: closing writes the end of the gzip data. errno is read before the cleanup,
 * which may change it. 0 there means a write error of which no call has told the reason. */
int muster_file_commit(struct muster_file *file, struct muster_error *err)
{
	const char *name = file->path ? file->path : file->out == stdout ? "stdout" : "the report's FIFO or device";
	errno = 0;
	int failed = 0;
	if (file->plain) {
		failed = ferror(file->out);
		failed = fclose(file->out) != 0 || failed;
		file->out = file->plain;
		file->plain = NULL;
	}
	/* a flush says why, also after an earlier error */
	failed = fflush(file->out) != 0 || failed || ferror(file->out);
	if (!failed && file->path)
		failed = fsync(fileno(file->out)) != 0 || (!file->temporary && name_it(file) < 0) ||
			 rename(file->temporary, file->path) != 0;
	int why = errno;
	if (failed) {
		muster_fail(err, MUSTER_EIO, "%s: %s%s", name, why ? strerror(why) : "write error",
			file->path ? "; what was there before is untouched" : "");
	} else if (file->path) {
		sync_directory(file->path);
		free(file->temporary);
		file->temporary = NULL;
	}
	muster_file_abandon(file);
	return failed ? -1 : 0;
}

void muster_file_abandon(struct muster_file *file)
{
	if (file->out && file->out != stdout)
		fclose(file->out);
	if (file->plain)
		fclose(file->plain);
	if (file->temporary)
		unlink(file->temporary);
	free(file->temporary);
	free(file->path);
	*file = (struct muster_file){ 0 };
}

int muster_file_names(const char *directory, const char *suffix,
	int (*order)(const struct dirent **, const struct dirent **), struct muster_names *ret,
	struct muster_error *err)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, NULL, order), why = errno;
	if (count < 0) {
		muster_fail(err, muster_errno_code(why), "%s: %s", directory, strerror(why));
		errno = why;
		return -1;
	}
	*ret = (struct muster_names){ .items = muster_calloc((size_t)count + 1, sizeof *ret->items) };
	for (int i = 0; i < count; i++) {
		if (entries[i]->d_name[0] != '.' && muster_text_ends_in(entries[i]->d_name, suffix))
			ret->items[ret->count++] = muster_strdup(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

void muster_names_done(struct muster_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct muster_names){ 0 };
}
