/* subprocess.h - a worker process, as its supervisor sees it: a line to send, lines to receive, and an end */
#ifndef MUSTER_UTIL_SUBPROCESS_H
#define MUSTER_UTIL_SUBPROCESS_H

#include "muster/error.h"
#include "util/line_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define MUSTER_SUBPROCESS_NOISE 2048

enum {
	MUSTER_SUBPROCESS_COMMANDS = 3,       /* the process's descriptor for the lines that it is sent */
	MUSTER_SUBPROCESS_RESULTS = 4,        /* and for those that it sends */
	MUSTER_SUBPROCESS_LINE_MAX = 1 << 20, /* bytes of a line that it sends; a longer one is a protocol error */
};

struct muster_subprocess {
	pid_t pid;                                    /* 0 when there is none */
	int commands;                                 /* write end; -1 */
	int results, noise;                           /* read ends, non-blocking; -1 after their end */
	struct muster_line_reader lines;              /* of results */
	char last_noise[MUSTER_SUBPROCESS_NOISE + 1]; /* the tail of its standard output and standard error */
	size_t noise_length;
};

/* Start `<program> worker` with this environment, behind the words of $MUSTER_WORKER_WRAPPER when that is set. It dies
 * with us. */
int muster_subprocess_start(
	struct muster_subprocess *proc, const char *program, char *const *environment, struct muster_error *err);

/* Send one line (without its newline). -1 with err when the worker has closed its command pipe. */
int muster_subprocess_send(struct muster_subprocess *proc, const char *text, size_t length, struct muster_error *err);

/* Read what has come, without waiting. *ret is the next line without its newline, valid until the next call; or NULL
 * when there is none yet. 1: the worker closed its end and every whole line was handed out. 0: it lives. -1: protocol
 * error. */
int muster_subprocess_next_line(
	struct muster_subprocess *proc, const char **ret, size_t *ret_length, struct muster_error *err);

/* Take over what it printed, so that its pipe does not fill. One that never stops printing is not read for ever. */
void muster_subprocess_read_noise(struct muster_subprocess *proc);

/* No more commands: it may end by itself within grace_ms. muster_subprocess_end must follow. */
void muster_subprocess_quit(struct muster_subprocess *proc, int grace_ms);

/* End it: SIGKILL, and wait at most grace_ms for it to go; an uninterruptible one is abandoned, and our ends of its
 * pipes are closed. *ret_how (at least 64 bytes) says how it ended: "signal 11 (Segmentation fault)", "exit status 1",
 * "killed", "could not be killed". Whether it had ended by itself. */
bool muster_subprocess_end(struct muster_subprocess *proc, int grace_ms, char *ret_how, size_t size);

/* The last line that it printed, made harmless; "" when it printed nothing. Returns out. */
const char *muster_subprocess_last_words(const struct muster_subprocess *proc, char *out, size_t size);

#endif
