/* SPDX-License-Identifier: Apache-2.0 */
/* content.h - what a path leads to, and a hash of its content for nodes to compare */
#ifndef MUSTER_PROBES_PATHS_CONTENT_H
#define MUSTER_PROBES_PATHS_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

struct muster_path_content {
	char type[160]; /* "file", "folder", "missing", "a FIFO", "unreadable: Permission denied" */
	char hash[160]; /* "44bc2cf5ad770999, 1234 bytes", "44bc2cf5ad770999, 56 entries"; "" when there is none */
	char why[320];  /* why there is no hash */
	bool is_folder;
	size_t entries; /* of a folder, those below included */
	double open_ms; /* to look at the path and open it */
};

/* Read it until this moment of muster_now_ms. Links are followed to the path itself and not below it; nothing but files
 * and folders is opened. A folder's hash is that of its listing in an order of its own: names, types, sizes of files
 * and where links lead, at most MUSTER_PATH_ENTRIES entries deep, on one file system. with_files: of the files' content
 * too, the first GiB of it. A file's hash is XXH64 of its bytes, or of its first and its last 512 MiB. */
#define MUSTER_PATH_ENTRIES 100000
void muster_path_content_read(const char *path, bool with_files, double until_ms, struct muster_path_content *ret);

#endif
