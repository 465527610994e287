/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - open a vendor library at run time, and know what was really loaded
 *
 * A missing library or function is an error value that names everything tried, never a loader error that kills srun.
 *
 * Each vendor library has a table of symbols (struct muster_symbol) and a struct of function pointers that the table
 * fills in. An optional function that is absent is NULL, or `instead`, which answers as the library does for what it
 * does not support. No call here is made before the library is opened, and libraries are never closed.
 */
#ifndef MUSTER_VENDOR_LIBRARY_H
#define MUSTER_VENDOR_LIBRARY_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_symbol {
	const char *name;
	const char *version;   /* the symbol version to take ("IBVERBS_1.1"); NULL: the default one */
	void *address;         /* where the function pointer goes */
	bool optional;         /* not in every library that we support */
	void (*instead)(void); /* what stands in for an optional function that is absent; may be NULL */
};

/* Of a library: its table. */
#define MUSTER_SYMBOLS(table) .symbols = (table), .symbol_count = sizeof(table) / sizeof *(table)

struct muster_library {
	const char *title;            /* "CUDA driver" */
	const char *soname;           /* "libcuda.so.1" */
	const char *older_sonames[2]; /* tried in this order where there is none of that name; may be NULL */
	const char *oldest; /* what has all the functions, for the message when one is missing: "driver R470" */
	const struct muster_symbol *symbols;
	size_t symbol_count;
	bool preloaded_first;      /* a preloaded library's functions come first, as in a program that is linked */
	void *handle;              /* NULL until opened */
	char path[4096];           /* the file that was loaded, symbolic links resolved; "" when none was */
	bool standin;              /* it carries the mark of muster's own stand-ins (symbol muster_standin_mark) */
	_Atomic bool tried;        /* what stands above and below is there when it is set */
	struct muster_error error; /* why it could not be opened, when tried and handle is NULL */
};

/* dlopen library->soname, or an older one, once and fill the symbols. Later calls repeat the first answer. A library
 * that lacks a function counts as not opened, but its path stays known. May be called by several threads at once. */
int muster_library_open(struct muster_library *library, struct muster_error *err);

/* Do not open this library: it has ended a worker before, and every call that needs it says why. Before it is opened.
 */
void muster_library_refuse(struct muster_library *library, const char *why);

/* Each in the file of its own name. */
extern struct muster_library muster_cuda_library, muster_nvml_library, muster_nccl_library, muster_verbs_library,
	muster_cublaslt_library, muster_cufile_library;

/* The libraries that every run tries to open: CUDA, NVML, NCCL, verbs. */
#define MUSTER_LIBRARY_COUNT 4
extern struct muster_library *const muster_libraries[MUSTER_LIBRARY_COUNT];
bool muster_library_any_standin(void);

#endif
