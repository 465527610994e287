/* SPDX-License-Identifier: Apache-2.0 */
/* test_paths.c - the program finds its files beside itself, in a build tree and in any prefix
 *
 * The test copies itself into each layout and asks the copy, which prints what it found.
 */
#include "cli/cli.h"
#include "temporary_root.h"

#include "check_main.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static int print_paths(void)
{
	struct muster_paths paths;
	struct muster_error err;
	if (muster_paths_find(&paths, &err) < 0) {
		printf("%s\n", err.text);
		return 2;
	}
	printf("%s %s %s %s\n", paths.program, paths.configs, paths.standins, paths.hardware);
	return 0;
}

static void make_folders(const char *path)
{
	char text[512];
	snprintf(text, sizeof text, "%s/%s/", root, path);
	for (char *at = text + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(text, 0755);
		*at = '/';
	}
}

/* Copy this program to root/path and return what the copy prints. */
static const char *ask_copy(const char *path)
{
	static char answer[2048];
	char to[512], block[65536];
	FILE *in = fopen("/proc/self/exe", "rb"), *out;
	size_t got;
	snprintf(to, sizeof to, "%s/%s", root, path);
	out = fopen(to, "wb");
	ck_assert(in && out);
	while ((got = fread(block, 1, sizeof block, in)) > 0)
		ck_assert_uint_eq(fwrite(block, 1, got, out), got);
	fclose(in);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(chmod(to, 0755), 0);
	const char *wrapper = getenv("MUSTER_SIM_WRAPPER"); /* the emulator, when this is another processor's program */
	snprintf(block, sizeof block, "%s %s --print", wrapper ? wrapper : "", to);
	FILE *pipe = popen(block, "r");
	ck_assert_ptr_nonnull(pipe);
	ck_assert_ptr_nonnull(fgets(answer, sizeof answer, pipe));
	pclose(pipe);
	return answer;
}

static const struct {
	const char *program, *base, *libdir;
} layouts[] = {
	{ "build/muster", "build", "lib" },
	{ "usr/bin/muster", "usr", "lib" },
	{ "usr64/bin/muster", "usr64", "lib64" },
	{ "multi/bin/muster", "multi", "lib/x86_64-linux-gnu" },
};

TEST_EACH(files_are_found_in_each_layout, layouts)
{
	char path[256], said[2048];
	temporary_root_make(root, sizeof root, "paths");
	make_folders(layouts[_i].base);
	snprintf(path, sizeof path, "%s/bin", layouts[_i].base);
	make_folders(path);
	snprintf(path, sizeof path, "%s/share/muster/configs", layouts[_i].base);
	make_folders(path);
	snprintf(path, sizeof path, "%s/share/muster/hardware", layouts[_i].base);
	make_folders(path);
	snprintf(path, sizeof path, "%s/%s/muster/sim", layouts[_i].base, layouts[_i].libdir);
	make_folders(path);
	snprintf(said, sizeof said,
		"%s/%s %s/%s/share/muster/configs %s/%s/%s/muster/sim %s/%s/share/muster/hardware\n", root,
		layouts[_i].program, root, layouts[_i].base, root, layouts[_i].base, layouts[_i].libdir, root,
		layouts[_i].base);
	ck_assert_str_eq(ask_copy(layouts[_i].program), said);
	temporary_root_remove(root);
}

TEST(a_lost_binary_says_where_it_looked)
{
	char said[512];
	temporary_root_make(root, sizeof root, "paths");
	make_folders("bin");
	snprintf(said, sizeof said,
		"cannot find muster's files: neither %s/bin/share/muster/configs nor %s/share/muster/configs exists\n",
		root, root);
	ck_assert_str_eq(ask_copy("bin/muster"), said);
	temporary_root_remove(root);
}

static void begin(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--print") == 0)
		exit(print_paths());
}

TEST_MAIN(.begin = begin)
