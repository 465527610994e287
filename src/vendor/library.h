/* library.h - open a vendor library at run time, and know what was really loaded
 *
 * A missing library or function is an error value that names everything tried, never a loader error that kills srun.
 */
#ifndef MUSTER_VENDOR_LIBRARY_H
#define MUSTER_VENDOR_LIBRARY_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_symbol {
	const char *name;
	const char *version; /* the symbol version to take ("IBVERBS_1.1"); NULL: the default one */
	void *address;       /* where the function pointer goes */
	bool optional;       /* newer than the oldest driver we support: stays NULL when absent */
};

struct muster_library {
	const char *title;  /* "CUDA driver" */
	const char *soname; /* "libcuda.so.1" */
	const char *oldest; /* what has all the functions, for the message when one is missing: "driver R470" */
	void *handle;       /* NULL until opened */
	char path[4096];    /* the file that was loaded, symbolic links resolved; "" when none was */
	bool standin;       /* it carries the mark of muster's own stand-ins (symbol muster_standin_mark) */
	bool tried;
	struct muster_error error; /* why it could not be opened, when tried and handle is NULL */
};

/* dlopen library->soname once and fill the symbols. Later calls repeat the first answer. A library that lacks a
 * function counts as not opened, but its path stays known. May be called by several threads at once. */
int muster_library_open(
	struct muster_library *library, const struct muster_symbol *symbols, size_t count, struct muster_error *err);

/* Each in the file of its own name. */
extern struct muster_library muster_cuda_library, muster_nvml_library, muster_nccl_library, muster_verbs_library;

/* The four libraries, opened or not, for the system probe and the simulated mark. */
#define MUSTER_LIBRARY_COUNT 4
struct muster_library *muster_library_at(size_t index); /* CUDA, NVML, NCCL, verbs; NULL beyond them */
bool muster_library_any_standin(void);

#endif
