/* SPDX-License-Identifier: Apache-2.0 */
/* fault_misbehave.h - how a rank's worker misbehaves inside a vendor library: "FUNCTION[#K]:HOW[@BUS-ID]"
 *
 * FUNCTION is a function of a stand-in, one that the preloaded library answers, or "dlopen:SONAME"; K is the call that
 * counts, the first one when left out. HOW is a word, or for a function of CUDA or NVML a code that it returns, or a
 * time that it takes: "803", "40s"; without K every call does so. With BUS-ID, a call does so only if
 * the call is about this GPU; K counts all calls. The scenario and the stand-ins read the same words.
 *
 *   cuInit:segv                          the first call of cuInit crashes
 *   ncclAllReduce#3:hang                 the third call never returns
 *   dlopen:libnccl.so.2:exit             the process ends when it loads NCCL
 *   nvmlInit_v2:18                       every call returns 18
 *   cuMemAlloc_v2#2:2@0003:00:00.0       the second call of all returns 2, if it is for this GPU
 *   cuInit:40s                           every call takes 40 s
 *
 * Such a text is the VALUE of a fault (fault_rank.c), then an element of a rank's `deaths` in cluster.json, and at
 * last, separated by blanks, in MUSTER_SIM_DIES of the worker's environment, from where standins/misbehave.c reads it.
 */
#ifndef MUSTER_SIM_FAULT_MISBEHAVE_H
#define MUSTER_SIM_FAULT_MISBEHAVE_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Name, and what the stand-in does. */
#define MUSTER_SIM_DEATHS(X)                                                                                           \
	X(SEGV, "segv", "signal 11")                                                                                   \
	X(BUS, "bus", "signal 7")                                                                                      \
	X(ABORT, "abort", "abort()")                                                                                   \
	X(KILL, "kill", "signal 9, as from the kernel when memory has run out")                                        \
	X(EXIT, "exit", "exit(0)")                                                                                     \
	X(OOM, "oom", "takes memory until it is refused, then abort()")                                                \
	X(HANG, "hang", "never returns")                                                                               \
	X(SPIN, "spin", "never returns, and uses a CPU")                                                               \
	X(STOP, "stop", "stops itself with signal 19")                                                                 \
	X(IGNORE_TERM, "ignore-term", "blocks every signal that can be blocked, and never returns")                    \
	X(UNKILLABLE, "unkillable", "never returns, and is not gone after signal 9 (it is traced by another process)") \
	X(GARBAGE, "garbage", "writes bytes that mean nothing to where the worker's results go")                       \
	X(HALF_LINE, "half-line", "writes the beginning of a result there")                                            \
	X(FLOOD, "flood", "writes 100 MB of well-formed lines there")                                                  \
	X(LONG_LINE, "long-line", "writes 100 MB without a newline there")                                             \
	X(SILENCE, "silence", "closes what the results go through, and goes on")                                       \
	X(STDOUT, "stdout", "prints 1 MB to standard output and standard error, and goes on")                          \
	X(LEAK, "leak", "loses a block of memory, and goes on")                                                        \
	X(OVERREAD, "overread", "reads a byte behind a block of memory, and goes on")                                  \
	X(CHATTER, "chatter", "prints for ever")

enum muster_sim_how {
#define X(name, word, meaning) MUSTER_SIM_DIES_##name,
	MUSTER_SIM_DEATHS(X)
#undef X
		MUSTER_SIM_DIES_COUNT,
	MUSTER_SIM_RETURNS = MUSTER_SIM_DIES_COUNT,
	MUSTER_SIM_WAITS
};

struct muster_sim_misbehaviour {
	char function[128]; /* or "dlopen:SONAME" */
	long call;          /* counted from 1; 0: each */
	enum muster_sim_how how;
	int code;        /* of RETURNS; not 0 */
	double seconds;  /* of WAITS, on the virtual clock and on the real one */
	char bus_id[32]; /* "": calls about any GPU or none */
};

#define MUSTER_SIM_DLOPEN "dlopen:"

int muster_sim_misbehaviour_parse(const char *text, struct muster_sim_misbehaviour *ret, struct muster_error *err);

/* The functions that can be named, besides "dlopen:SONAME". */
extern const char *const muster_sim_misbehaviour_functions[];
extern const size_t muster_sim_misbehaviour_function_count;
bool muster_sim_is_function(const char *name); /* one of them */
/* Whether the function is one of the library's, "cuda" or "nvml", and then whether its calls are about one GPU. */
bool muster_sim_is_function_of(const char *name, const char *library, bool *ret_of_gpu);

/* Whether file is the library `soname` under any version: "libnccl.so", "/usr/lib/libnccl.so.2.28.9". */
bool muster_sim_is_library(const char *file, const char *soname);

#endif
