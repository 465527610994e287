/* SPDX-License-Identifier: Apache-2.0 */
/* paths.c - paths of the installed files, relative to the running binary
 *
 * No absolute path is compiled in: the path of the running binary (/proc/self/exe) says where all else is, so a moved
 * installation works. Two layouts are known, and in both muster-sim is below MUSTER_LIBEXEC:
 *
 *    build tree     <dir>/muster           <dir>/share/muster/configs ...      <dir>/lib/muster/...
 *    installed      <prefix>/bin/muster    <prefix>/share/muster/configs ...   <prefix>/<libdir>/muster/...
 *
 * The base, <dir> or <prefix>, is the first of two candidates that has share/muster/configs: the folder of the binary,
 * and the one above. For muster-sim, which links this file too, the candidate is what stands before MUSTER_LIBEXEC in
 * its path. <libdir> is lib, lib64 or a multiarch directory such as lib/x86_64-linux-gnu.
 */
#include "cli/cli.h"
#include "muster/arena.h"
#include "util/file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIMULATOR "/" MUSTER_LIBEXEC "/muster/muster-sim"

static struct muster_paths paths; /* found once in a process; all NULL before that */

/* The path, which is malloc'd, when it is a directory; else it is freed, and NULL returned. */
static char *directory(char *path)
{
	struct stat st;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return path;
	free(path);
	return NULL;
}

/* The folder of libraries called name ("sim", "mpi") below base, malloc'd: the first that exists of lib/muster/<name>,
 * lib64/muster/<name> and lib/<triplet>/muster/<name>. Where none exists, the first of these, so that an error message
 * names a path. */
static char *library_find(const char *base, const char *name)
{
	char *lib = muster_asprintf("%s/lib", base);
	struct muster_names triplets = { 0 };
	char *found = directory(muster_asprintf("%s/lib/muster/%s", base, name));
	if (!found)
		found = directory(muster_asprintf("%s/lib64/muster/%s", base, name));
	if (!found)
		muster_file_names(lib, "", alphasort, &triplets, NULL);
	for (size_t i = 0; i < triplets.count && !found; i++)
		found = directory(muster_asprintf("%s/%s/muster/%s", lib, triplets.items[i], name));
	muster_names_done(&triplets);
	free(lib);
	return found ? found : muster_asprintf("%s/lib/muster/%s", base, name);
}

/* Whether base has the folder of expectation files, by which an installation is recognised. Then all paths but
 * `program` are set from it. The simulator, the hardware descriptions and the MPI modules are not looked for: a package
 * may be without them, and the command that needs one says so. */
static bool base_try(const char *base)
{
	char *configs = directory(muster_asprintf("%s/share/muster/configs", base));
	if (!configs)
		return false;
	paths.configs = configs;
	paths.standins = library_find(base, "sim");
	paths.mpi = library_find(base, "mpi");
	paths.hardware = muster_asprintf("%s/share/muster/hardware", base);
	paths.noise = muster_asprintf("%s/share/muster/noise", base);
	paths.simulator = muster_asprintf("%s" SIMULATOR, base);
	return true;
}

/* Where muster is, for muster-sim, which is below base. */
static char *program_find(const char *base)
{
	char *path = muster_asprintf("%s/muster", base);
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return muster_asprintf("%s/bin/muster", base);
}

int muster_paths_find(struct muster_paths *ret, struct muster_error *err)
{
	char program[PATH_MAX];
	char *build, *prefix;
	bool found, is_simulator;
	if (!paths.program) {
		ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
		if (length < 0)
			return muster_fail(err, MUSTER_EIO,
				"cannot find the path of the muster binary: /proc/self/exe: %s", strerror(errno));
		program[length] = '\0';
		build = muster_strdup(program);
		char *simulator = strstr(build, SIMULATOR);
		is_simulator = simulator && strcmp(simulator, SIMULATOR) == 0;
		*(is_simulator ? simulator : strrchr(build, '/')) = '\0';
		prefix = muster_strdup(build);
		if (strrchr(prefix, '/'))
			*strrchr(prefix, '/') = '\0';
		found = base_try(build) || base_try(prefix);
		if (!found)
			muster_fail(err, MUSTER_EIO,
				"cannot find muster's files: neither %s/share/muster/configs nor "
				"%s/share/muster/configs exists",
				build, prefix);
		else
			paths.program = is_simulator ? program_find(build) : muster_strdup(program);
		free(build);
		free(prefix);
		if (!found)
			return -1;
	}
	*ret = paths;
	return 0;
}
