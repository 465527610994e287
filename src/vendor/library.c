/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - open a vendor library at run time, and know what was really loaded
 *
 * Life of a library: its struct stands in the file that knows it (cuda.c, nvml.c, ...), closed and without
 * functions at first. The first call of muster_library_open by any thread opens it and fills its functions in, or keeps
 * the reason why not. Every later call gives the same answer. Nothing is ever closed: unloading drivers is not safe.
 *
 * RTLD_NOW, so that a library with unmet needs of its own fails here, with words, and not in the middle of a probe.
 * RTLD_LOCAL: the vendor libraries find each other by soname.
 */
#include "vendor/library.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct muster_library *const muster_libraries[MUSTER_LIBRARY_COUNT] = {
	&muster_cuda_library,
	&muster_nvml_library,
	&muster_nccl_library,
	&muster_verbs_library,
};

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* The file that was loaded, links resolved. Reports name it: a library of another version may come first in the search
 * path. */
static void find_path(struct muster_library *library, void *handle)
{
	struct link_map *map;
	char *real;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
		return;
	real = realpath(map->l_name, NULL);
	snprintf(library->path, sizeof library->path, "%s", real ? real : map->l_name);
	free(real);
}

/* Fill one function pointer in. A pointer to a function cannot be converted to `void *` in ISO C, so that it is copied
 * as bytes. */
static int fill_symbol(const struct muster_library *library, void *handle, const struct muster_symbol *symbol,
	struct muster_error *err)
{
	void *function = library->preloaded_first ? dlsym(RTLD_DEFAULT, symbol->name) : NULL;
	if (!function)
		function =
			symbol->version ? dlvsym(handle, symbol->name, symbol->version) : dlsym(handle, symbol->name);
	if (!function && !symbol->optional)
		return muster_fail(err, MUSTER_ELIB, "%s: %s has no function %s%s%s; %s or later is needed",
			library->title, library->path, symbol->name, symbol->version ? "@" : "",
			symbol->version ? symbol->version : "", library->oldest);
	if (function)
		memcpy(symbol->address, &function, sizeof function);
	else
		memcpy(symbol->address, &symbol->instead, sizeof symbol->instead);
	return 0;
}

/* The newest of its names that can be opened; NULL with err, which is about the newest, when none can. */
static void *open_handle(const struct muster_library *library, struct muster_error *err)
{
	const size_t older = sizeof library->older_sonames / sizeof *library->older_sonames;
	void *handle = dlopen(library->soname, RTLD_NOW | RTLD_LOCAL);
	if (handle)
		return handle;
	muster_fail(err, MUSTER_ELIB, "%s: %s cannot be opened: %s", library->title, library->soname, dlerror());
	for (size_t i = 0; i < older && library->older_sonames[i] && !handle; i++)
		handle = dlopen(library->older_sonames[i], RTLD_NOW | RTLD_LOCAL);
	return handle;
}

/* library->handle is set last: a library that lacks a function counts as not opened. */
static int open_once(struct muster_library *library, struct muster_error *err)
{
	void *handle = open_handle(library, err);
	if (!handle)
		return -1;
	find_path(library, handle);
	library->standin = dlsym(handle, "muster_standin_mark") != NULL;
	for (size_t i = 0; i < library->symbol_count; i++)
		if (fill_symbol(library, handle, &library->symbols[i], err) < 0)
			return -1;
	library->handle = handle;
	return 0;
}

/* `tried` is atomic and is set after everything else. A caller that sees it needs no lock: nothing changes any more,
 * and it does not wait while another library is being opened. */
int muster_library_open(struct muster_library *library, struct muster_error *err)
{
	if (!library->tried) {
		pthread_mutex_lock(&opening);
		if (!library->tried) {
			open_once(library, &library->error);
			library->tried = true;
		}
		pthread_mutex_unlock(&opening);
	}
	if (!library->handle && err)
		*err = library->error;
	return library->handle ? 0 : -1;
}

void muster_library_refuse(struct muster_library *library, const char *why)
{
	muster_fail(&library->error, MUSTER_EVENDOR, "%s", why);
	library->tried = true;
}

bool muster_library_any_standin(void)
{
	for (size_t i = 0; i < MUSTER_LIBRARY_COUNT; i++)
		if (muster_libraries[i]->standin)
			return true;
	return false;
}
