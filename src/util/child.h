/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - start a program, learn of its end, or run it to its end with a deadline; no shell */
#ifndef MUSTER_UTIL_CHILD_H
#define MUSTER_UTIL_CHILD_H

#include "muster/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum muster_child_flag {
	MUSTER_CHILD_GROUP = 1 << 0,   /* in a process group of its own: no Ctrl-C of the terminal reaches it */
	MUSTER_CHILD_BOUND = 1 << 1,   /* SIGKILL when the thread that started it ends */
	MUSTER_CHILD_CLOSED = 1 << 2,  /* inherits the descriptors named and no other */
	MUSTER_CHILD_IGNORES = 1 << 3, /* ignores SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 */
	MUSTER_CHILD_SIGPIPE = 1 << 4, /* SIGPIPE ends it, whatever this process does with SIGPIPE */
	MUSTER_CHILD_AWAITED = 1 << 5, /* return when the program has begun, or with the reason why not */
	MUSTER_CHILD_UNRUNNABLE = 127, /* exit status of one that is not awaited; the reason is on its stderr */
	MUSTER_CHILD_ORPHAN = 126,     /* exit status of a bound one whose starter was gone already */
	MUSTER_CHILD_DESCRIPTORS_MAX = 8,
	MUSTER_CHILD_OUTPUT_MAX = 64 << 20, /* bytes kept of each stream by muster_child_run */
	MUSTER_CHILD_STATUS_UNKNOWN = -1,
};

struct muster_child {
	const char *const *argv;  /* argv[0] is looked up in PATH when it has no '/' */
	char *const *environment; /* NULL: this process's */
	const sigset_t *blocked;  /* signals; NULL: none */
	/* Which of our descriptors become its descriptors 0, 1, 2, ...; -1 stands for /dev/null, read only. */
	int descriptors[MUSTER_CHILD_DESCRIPTORS_MAX];
	size_t descriptor_count;
	unsigned int flags;
};

/* As fork(2); in the new process *ret is 0, and with `bound` it does not outlive the thread that called. A SIGCHLD that
 * the parent has set to ignored is reset to its default: else waiting for the end would fail. */
int muster_child_fork(bool bound, pid_t *ret, struct muster_error *err);

/* -1 with err: MUSTER_EIO; MUSTER_ENOTSUPPORTED for an awaited program that is not there. */
int muster_child_start(const struct muster_child *how, pid_t *ret, struct muster_error *err);

/* Whether it has ended, now or within wait_ms; it is reaped then, and the pid must not be used again.
 * *ret_status (may be NULL) is as waitpid(2) gives it, or MUSTER_CHILD_STATUS_UNKNOWN when another
 * caller has reaped it. */
bool muster_child_ended(pid_t pid, int wait_ms, int *ret_status);

/* SIGKILL to one that has not ended by itself, and at most wait_ms for its end. False when it is still there: it is in
 * an uninterruptible system call, and to be abandoned. */
bool muster_child_kill(pid_t pid, int wait_ms, int *ret_status);

/* 0 to 255; 128 + the signal that ended it; 255 for MUSTER_CHILD_STATUS_UNKNOWN. */
int muster_child_exit_code(int status);

struct muster_child_output {
	int exit_code;     /* as of muster_child_exit_code */
	char *out, *error; /* what it printed; NUL-terminated, free with muster_child_output_done */
	bool cut;          /* `out` is not all */
};

/* Start a program that reads nothing, and wait for its end. -1 with err when it cannot be started (MUSTER_EIO;
 * MUSTER_ENOTSUPPORTED when there is no such program) or passes its deadline (MUSTER_ETIME): then it and what it
 * started in its process group are killed. */
int muster_child_run(
	const char *const *argv, int deadline_ms, struct muster_child_output *ret, struct muster_error *err);
void muster_child_output_done(struct muster_child_output *output);

#endif
