/* SPDX-License-Identifier: Apache-2.0 */
/* plain_fs.c - a file system without files that have no name: a folder, shown again by FUSE
 *
 * usage: plain_fs FOLDER MOUNT_POINT     in the foreground, until it is unmounted
 *
 * libfuse answers no O_TMPFILE. What is unlinked while it is open is really unlinked, and read and written on.
 */
#define FUSE_USE_VERSION 31
#include <fuse.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int folder;

static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int or_errno(long result)
{
	return result < 0 ? -errno : (int)result;
}

static void *start(struct fuse_conn_info *connection, struct fuse_config *config)
{
	(void)connection;
	config->hard_remove = 1;
	config->nullpath_ok = 1;
	config->attr_timeout = config->entry_timeout = 0;
	return NULL;
}

static int get(const char *path, struct stat *ret, struct fuse_file_info *file)
{
	return or_errno(file ? fstat((int)file->fh, ret) : fstatat(folder, below(path), ret, AT_SYMLINK_NOFOLLOW));
}

static int list(const char *path, void *into, fuse_fill_dir_t fill, off_t from, struct fuse_file_info *file,
	enum fuse_readdir_flags flags)
{
	(void)path, (void)from, (void)file, (void)flags;
	DIR *all = fdopendir(dup(folder));
	if (!all)
		return -errno;
	rewinddir(all);
	for (struct dirent *entry; (entry = readdir(all)) != NULL;)
		fill(into, entry->d_name, NULL, 0, 0);
	closedir(all);
	return 0;
}

static int make(const char *path, mode_t mode, struct fuse_file_info *file)
{
	int fd = openat(folder, below(path), (file->flags & ~O_DIRECT) | O_CREAT | O_CLOEXEC, mode);
	file->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int release(const char *path, struct fuse_file_info *file)
{
	(void)path;
	close((int)file->fh);
	return 0;
}

static int get_bytes(const char *path, char *data, size_t bytes, off_t offset, struct fuse_file_info *file)
{
	(void)path;
	return or_errno(pread((int)file->fh, data, bytes, offset));
}

static int put_bytes(const char *path, const char *data, size_t bytes, off_t offset, struct fuse_file_info *file)
{
	(void)path;
	return or_errno(pwrite((int)file->fh, data, bytes, offset));
}

static int set_size(const char *path, off_t bytes, struct fuse_file_info *file)
{
	(void)path;
	return file ? or_errno(ftruncate((int)file->fh, bytes)) : -ENOTSUP;
}

static int sync_data(const char *path, int only_data, struct fuse_file_info *file)
{
	(void)path, (void)only_data;
	return or_errno(fdatasync((int)file->fh));
}

static int forget(const char *path)
{
	return or_errno(unlinkat(folder, below(path), 0));
}

static int space(const char *path, struct statvfs *ret)
{
	(void)path;
	return or_errno(fstatvfs(folder, ret));
}

static const struct fuse_operations operations = {
	.init = start,
	.getattr = get,
	.readdir = list,
	.create = make,
	.release = release,
	.read = get_bytes,
	.write = put_bytes,
	.truncate = set_size,
	.fsync = sync_data,
	.unlink = forget,
	.statfs = space,
};

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: plain_fs FOLDER MOUNT_POINT\n");
		return 2;
	}
	folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0) {
		perror(argv[1]);
		return 2;
	}
	char *words[] = { argv[0], "-f", "-s", argv[2], NULL };
	return fuse_main(4, words, &operations, NULL);
}
