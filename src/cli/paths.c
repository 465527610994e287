/* paths.c - paths of the installed files, relative to the running binary
 *
 * Build tree: <dir>/muster next to <dir>/share and <dir>/lib. Installed: <prefix>/bin/muster, <prefix>/share and
 * <prefix>/<libdir>, which is lib, lib64 or a multiarch directory. No path is compiled in, so a moved prefix works.
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

static struct muster_paths paths;

static bool is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* "<base>/<rest>" when that is a directory, else NULL; malloc'd. */
static char *directory_try(const char *base, const char *rest)
{
	char *path = muster_asprintf("%s/%s", base, rest);
	if (is_directory(path))
		return path;
	free(path);
	return NULL;
}

/* <base>/lib/<triplet>/muster/<name>: the triplet is whichever folder has it. */
static char *multiarch_find(const char *base, const char *name)
{
	char *lib = muster_asprintf("%s/lib", base), *found = NULL;
	struct muster_names names = { 0 };
	muster_file_names(lib, "", alphasort, &names, NULL);
	for (size_t i = 0; i < names.count && !found; i++) {
		char *rest = muster_asprintf("%s/muster/%s", names.items[i], name);
		found = directory_try(lib, rest);
		free(rest);
	}
	muster_names_done(&names);
	free(lib);
	return found;
}

/* <base>/<libdir>/muster/<name>, or where it would be. */
static char *library_find(const char *base, const char *name)
{
	static const char *const folders[] = { "lib/muster", "lib64/muster" };
	char *found = NULL;
	for (size_t i = 0; i < sizeof folders / sizeof *folders && !found; i++) {
		char *rest = muster_asprintf("%s/%s", folders[i], name);
		found = directory_try(base, rest);
		free(rest);
	}
	if (!found)
		found = multiarch_find(base, name);
	return found ? found : muster_asprintf("%s/lib/muster/%s", base, name);
}

/* All below one base; stand-ins and MPI modules may be left out of a package. */
static bool base_try(const char *base)
{
	char *configs = directory_try(base, "share/muster/configs");
	char *hardware;
	if (!configs)
		return false;
	hardware = directory_try(base, "share/muster/hardware");
	paths.configs = configs;
	paths.standins = library_find(base, "sim");
	paths.mpi = library_find(base, "mpi");
	paths.hardware = hardware ? hardware : muster_asprintf("%s/share/muster/hardware", base);
	return true;
}

int muster_paths_find(struct muster_paths *ret, struct muster_error *err)
{
	char program[PATH_MAX];
	char *build, *prefix;
	bool found;
	if (!paths.program) {
		ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
		if (length < 0)
			return muster_fail(err, MUSTER_EIO,
				"cannot find the path of the muster binary: /proc/self/exe: %s", strerror(errno));
		program[length] = '\0';
		build = muster_strdup(program);
		*strrchr(build, '/') = '\0';
		prefix = muster_strdup(build);
		if (strrchr(prefix, '/'))
			*strrchr(prefix, '/') = '\0';
		found = base_try(build) || base_try(prefix);
		if (!found)
			muster_fail(err, MUSTER_EIO,
				"cannot find muster's files: neither %s/share/muster/configs nor "
				"%s/share/muster/configs exists",
				build, prefix);
		free(build);
		free(prefix);
		if (!found)
			return -1;
		paths.program = muster_strdup(program);
	}
	*ret = paths;
	return 0;
}
