/* child.h - run a program to its end, with a deadline; no shell */
#ifndef MUSTER_UTIL_CHILD_H
#define MUSTER_UTIL_CHILD_H

#include "muster/error.h"

enum { MUSTER_CHILD_OUTPUT_MAX = 1 << 20 }; /* bytes kept of each of its streams; the rest is read and dropped */

struct muster_child {
	int exit_code;     /* 0 to 255; 128 + the signal that ended it */
	char *out, *error; /* what it printed; NUL-terminated, free with muster_child_done */
};

/* argv[0] is looked up in PATH. -1 with err when it cannot be started (MUSTER_EIO; MUSTER_ENOTSUPPORTED when there is
 * no such program) or passes its deadline (MUSTER_ETIME): then it and what it started in its process group are killed.
 */
int muster_child_run(const char *const *argv, int deadline_ms, struct muster_child *ret, struct muster_error *err);
void muster_child_done(struct muster_child *child);

#endif
