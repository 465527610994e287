/* bundle.c - variables and programs of an MPI that the installation brings along */
#include "transport/bundle.h"

#include "muster/arena.h"
#include "util/env.h"
#include "util/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENVIRONMENT_MAX = 64 << 10 };

/* <directory>/NAME, of "NAME" or "NAME.so". */
static char *folder_of(const char *directory, const char *name)
{
	size_t length = strlen(name);
	if (length > 3 && strcmp(name + length - 3, ".so") == 0)
		length -= 3;
	return muster_asprintf("%s/%.*s", directory, (int)length, name);
}

static int line_apply(const char *folder, char *line)
{
	char *equals = strchr(line, '=');
	if (!equals || equals == line)
		return -1;
	*equals = '\0';
	if (strncmp(equals + 1, "./", 2) != 0)
		return setenv(line, equals + 1, 1);
	char *path = muster_asprintf("%s/%s", folder, equals + 3);
	int rc = setenv(line, path, 1);
	free(path);
	return rc;
}

int muster_mpi_bundle_enter(const char *directory, const char *name, struct muster_error *err)
{
	char *folder = folder_of(directory, name), *path = muster_asprintf("%s/environment", folder), *text = NULL;
	size_t length;
	int rc = 0;
	if (access(path, F_OK) == 0)
		rc = muster_file_read(path, ENVIRONMENT_MAX, &text, &length, err);
	for (char *line = text, *end; rc == 0 && line && *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		if (*line && *line != '#' && line_apply(folder, line) < 0)
			rc = muster_fail(err, MUSTER_EUSAGE, "%s: \"%.60s\" is not VARIABLE=VALUE", path, line);
	}
	free(text);
	free(path);
	free(folder);
	return rc;
}

char *muster_mpi_bundle_programs(const char *directory)
{
	const char *wanted = muster_env(MUSTER_ENV_MPI);
	struct muster_names modules = { 0 };
	char *found = NULL;
	struct muster_error err;
	if (muster_file_names(directory, ".so", alphasort, &modules, &err) < 0)
		return NULL;
	for (size_t i = 0; i < modules.count && !found; i++) {
		char *folder = folder_of(directory, modules.items[i]);
		const char *name = folder + strlen(directory) + 1;
		char *programs = muster_asprintf("%s/bin", folder), *mpirun = muster_asprintf("%s/mpirun", programs);
		if ((!wanted || strcmp(wanted, name) == 0) && access(mpirun, X_OK) == 0)
			found = programs;
		else
			free(programs);
		free(mpirun);
		free(folder);
	}
	muster_names_done(&modules);
	return found;
}
