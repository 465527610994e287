/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - a small tree of files in place of the machine's; a fixture owns it */
#ifndef MUSTER_TESTS_TREE_H
#define MUSTER_TESTS_TREE_H

#include "temporary_root.h"

#include <check.h>

static char root[64];

static inline void tree_make(void)
{
	temporary_root_make_in_memory(root, sizeof root, "tree");
}

static inline void tree_remove(void)
{
	ck_assert_int_eq(temporary_root_remove(root), 0);
}

/* Where a path of the tree is; the folders above it are made. */
static inline const char *in_tree(const char *path)
{
	static char whole[512];
	snprintf(whole, sizeof whole, "%s/%s", root, path);
	temporary_root_make_folders(root, whole);
	return whole;
}

static inline void put_as(const char *path, const char *text, const char *mode)
{
	FILE *out = fopen(in_tree(path), mode);
	ck_assert_msg(out != NULL, "%s", path);
	fputs(text, out);
	ck_assert_int_eq(fclose(out), 0);
}

static inline void put(const char *path, const char *text)
{
	put_as(path, text, "we");
}

static inline void put_link(const char *path, const char *to)
{
	ck_assert_msg(symlink(to, in_tree(path)) == 0, "%s", path);
}

#endif
