/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - find and open an MPI module; read a launcher's environment
 *
 *   <libdir>/muster/mpi/openmpi.so               a module
 *   <libdir>/muster/mpi/openmpi/                 the MPI that it is linked with, where the installation brings one
 *   <libdir>/muster/mpi/openmpi/environment      OPAL_PREFIX=./
 *   <libdir>/muster/mpi/openmpi/bin/mpirun
 */
#include "transport/module.h"
#include "muster/arena.h"
#include "util/env.h"
#include "util/file.h"
#include "util/text.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- modules ---- */

/* NULL with the loader's message. Global: Open MPI's plugins look for libmpi's symbols there. */
static const struct muster_mpi_module *open_one(const char *path, char *ret_why, size_t size)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	const struct muster_mpi_module *module = handle ? dlsym(handle, MUSTER_MPI_MODULE_SYMBOL) : NULL;
	const char *why = dlerror();
	if (module && module->version == MUSTER_MPI_MODULE_VERSION)
		return module;
	snprintf(ret_why, size, "%s", module ? "it belongs to another version of muster" : why ? why : "unknown error");
	if (handle)
		dlclose(handle);
	return NULL;
}

static void append_why(char *text, size_t size, const char *name, const char *why)
{
	size_t used = strlen(text);
	snprintf(text + used, size - used, "%s%s: %s", used ? "; " : "", name, why);
}

/* Modules are tried in the order of their names until one can be opened; libmpi's absence shows here, as an error of
 * the loader. A module that is open stays open, also when its variables cannot be set. */
int muster_mpi_module_open(const char *directory, const struct muster_mpi_module **ret, struct muster_error *err)
{
	const char *wanted = muster_env(MUSTER_ENV_MPI);
	struct muster_names modules = { 0 };
	const struct muster_mpi_module *module = NULL;
	char tried[800] = "", why[512];
	int failed = 0, fitting = 0;
	(void)muster_file_names(directory, ".so", alphasort, &modules, NULL); /* none, then */
	for (size_t i = 0; i < modules.count; i++) {
		const char *name = modules.items[i];
		bool fits = !wanted ||
			    (strncmp(name, wanted, strlen(wanted)) == 0 && strcmp(name + strlen(wanted), ".so") == 0);
		if (fits && !module) {
			char *path = muster_asprintf("%s/%s", directory, name);
			fitting++;
			module = open_one(path, why, sizeof why);
			if (!module)
				append_why(tried, sizeof tried, name, why);
			else
				failed = muster_mpi_bundle_enter(directory, name, err);
			free(path);
		}
	}
	muster_names_done(&modules);
	if (!fitting && wanted)
		return muster_fail(err, MUSTER_ELIB, "MUSTER_MPI is %.60s, and there is no %s/%.60s.so", wanted,
			directory, wanted);
	if (!fitting)
		return muster_fail(err, MUSTER_ELIB,
			"this muster was built without MPI: no module in %s; `muster node` needs none", directory);
	if (!module)
		return muster_fail(err, MUSTER_ELIB, "cannot load MPI: %s; `muster node` needs none", tried);
	if (failed)
		return -1;
	*ret = module;
	return 0;
}

/* ---- the launcher's environment ---- */

/* The first of these variables that has a whole number of at least `low`. */
static int number_in(const char *const *names, size_t count, int low, int otherwise)
{
	for (size_t i = 0; i < count; i++) {
		const char *text = getenv(names[i]);
		long number;
		struct muster_error err;
		if (text && muster_parse_int(text, low, INT_MAX, &number, names[i], &err) == 0)
			return (int)number;
	}
	return otherwise;
}

int muster_launch_rank(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID" };
	return number_in(names, sizeof names / sizeof *names, 0, 0);
}

bool muster_launched(void)
{
	static const char *const signs[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PMI_FD" };
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (getenv(signs[i]))
			return true;
	return false;
}

/* At least this process's rank + 1: PMIx sets a variable for the rank and none for the size. */
int muster_launch_size(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
		"SLURM_NTASKS" };
	int least = muster_launch_rank() + 1;
	return muster_launched() ? number_in(names, sizeof names / sizeof *names, least, least) : 1;
}

/* ---- variables and programs of an MPI that the installation brings along ---- */

enum { ENVIRONMENT_MAX = 64 << 10 };

/* <directory>/NAME, of "NAME" or "NAME.so". */
static char *folder_of(const char *directory, const char *name)
{
	size_t length = strlen(name);
	if (length > 3 && strcmp(name + length - 3, ".so") == 0)
		length -= 3;
	return muster_asprintf("%s/%.*s", directory, (int)length, name);
}

/* Set the variable of one line, which is changed. -1 when there is no '=', or nothing before it. "./lib" becomes
 * FOLDER/lib. */
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
