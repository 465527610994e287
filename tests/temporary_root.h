/* SPDX-License-Identifier: Apache-2.0 */
/* temporary_root.h - a folder of a test's own, for a small tree of files */
#ifndef MUSTER_TESTS_TEMPORARY_ROOT_H
#define MUSTER_TESTS_TEMPORARY_ROOT_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void temporary_root_make_below(char *root, size_t size, const char *folder, const char *name)
{
	snprintf(root, size, "%s/muster-%s-XXXXXX", folder, name);
	if (!mkdtemp(root)) {
		perror(root);
		abort();
	}
}

/* Make an empty folder, with this name in its path, which is written to root. */
static inline void temporary_root_make(char *root, size_t size, const char *name)
{
	temporary_root_make_below(root, size, "/tmp", name);
}

/* The same in memory where that can be, for tests that make hundreds of files. */
static inline void temporary_root_make_in_memory(char *root, size_t size, const char *name)
{
	temporary_root_make_below(root, size, access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp", name);
}

static inline int temporary_root_remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status, (void)type, (void)walk;
	return remove(path);
}

/* Remove the folder with all that is in it. -1 with errno. */
static inline int temporary_root_remove(const char *root)
{
	return nftw(root, temporary_root_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Make the folders between root and the last part of path, which begins with root. */
static inline void temporary_root_make_folders(const char *root, char *path)
{
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
		*slash = '\0';
		mkdir(path, 0755);
	}
}

#endif
