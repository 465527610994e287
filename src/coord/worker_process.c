/* SPDX-License-Identifier: Apache-2.0 */
/* worker_process.c - a worker that is a process
 *
 *   supervisor               worker
 *   commands, write end ───▶ descriptor 3, MUSTER_WORKER_COMMANDS
 *   results, read end   ◀─── descriptor 4, MUSTER_WORKER_RESULTS
 *   noise, read end     ◀─── descriptors 1 and 2: what vendor libraries print
 *                            descriptor 0: /dev/null
 *
 * Results have a pipe of their own, so that a library that prints cannot damage a result. The supervisor's ends never
 * block, except that a command waits up to SEND_WAIT_MS for room. Of what is printed only the end is kept, as evidence
 * for a crash.
 */
#include "coord/worker_process.h"

#include "transport/module.h"

#include "muster/arena.h"
#include "util/child.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/text.h"
#include "worker/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WRAPPER_WORDS = 64,
	LINE_MAX_BYTES = 1 << 20, /* a longer line is a protocol error */
	SEND_WAIT_MS = 1000, /* for a worker that does not read: commands are small, and its pipe has room for many */
	OUTPUT_READS = 64,   /* at a time; the rest is read the next time */
	ENDING_MS = 200,     /* for a worker that has closed its results and may be exiting */
};

/* The environment is copied before MPI_Init, which adds variables; hwloc in the worker leaves out the
 * plugins that open drivers (transport/module.h), unless the user has set its variable. */
void muster_worker_process_init(struct muster_worker_process *worker, const char *program)
{
	size_t count = 0;
	while (environ[count])
		count++;
	*worker = (struct muster_worker_process){
		.program = program,
		.environment = muster_calloc(count + 2, sizeof *worker->environment),
		.commands = -1,
		.results = -1,
		.noise = -1,
	};
	for (size_t i = 0; i < count; i++)
		worker->environment[i] = muster_strdup(environ[i]);
	if (!getenv("HWLOC_PLUGINS_BLACKLIST"))
		worker->environment[count] = muster_strdup("HWLOC_PLUGINS_BLACKLIST=" MUSTER_HWLOC_PLUGINS);
}

void muster_worker_process_done(struct muster_worker_process *worker)
{
	for (char **entry = worker->environment; entry && *entry; entry++)
		free(*entry);
	free(worker->environment);
	worker->environment = NULL;
}

/* ---- start ---- */

/* $MUSTER_WORKER_WRAPPER's words, then the worker's own command line. Returns the buffer that the words lie in. */
static char *command_line(const char *program, const char **words)
{
	const char *wrapper = muster_env(MUSTER_ENV_WORKER_WRAPPER);
	char *buffer = muster_strdup(wrapper ? wrapper : ""), *rest = buffer, *word;
	int count = 0;
	while (count < WRAPPER_WORDS - 3 && (word = strsep(&rest, " \t")) != NULL)
		if (*word)
			words[count++] = word;
	words[count++] = program;
	words[count++] = "worker";
	words[count] = NULL;
	return buffer;
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Start a worker with three pipes. The new process inherits its ends of them and no other descriptor, dies with this
 * thread, and ignores SIGTERM and the like. -1 with err; then everything is closed again. */
static int start(void *arg, struct muster_error *err)
{
	struct muster_worker_process *worker = arg;
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } }; /* commands, results, noise */
	for (int i = 0; i < 3; i++)
		if (pipe2(pipes[i], O_CLOEXEC) < 0) {
			muster_fail(err, MUSTER_EIO, "cannot make a pipe for the worker: %s", strerror(errno));
			close_all(pipes[0], 6);
			return -1;
		}
	const char *words[WRAPPER_WORDS];
	char *buffer = command_line(worker->program, words);
	const struct muster_child how = {
		.argv = words,
		.environment = worker->environment,
		.descriptors = { -1, pipes[2][1],
			pipes[2][1], [MUSTER_WORKER_COMMANDS] = pipes[0][0], [MUSTER_WORKER_RESULTS] = pipes[1][1] },
		.descriptor_count = MUSTER_WORKER_RESULTS + 1,
		/* what is sent to all processes of a job step is the supervisor's to answer */
		.flags = MUSTER_CHILD_BOUND | MUSTER_CHILD_CLOSED | MUSTER_CHILD_IGNORES,
	};
	int rc = muster_child_start(&how, &worker->pid, err);
	free(buffer);
	if (rc < 0) {
		close_all(pipes[0], 6);
		return muster_wrap(err, "cannot start the worker");
	}
	const int ours[] = { pipes[0][1], pipes[1][0], pipes[2][0] }, its[] = { pipes[0][0], pipes[1][1], pipes[2][1] };
	close_all(its, 3);
	for (int i = 0; i < 3; i++)
		fcntl(ours[i], F_SETFL, O_NONBLOCK);
	worker->commands = ours[0];
	worker->results = ours[1];
	worker->noise = ours[2];
	worker->lines = (struct muster_line_reader){ .most = LINE_MAX_BYTES };
	worker->output_length = 0;
	return 0;
}

/* ---- lines ---- */

/* Write the line and its newline. -1 with err when the worker has closed its end, or takes nothing for SEND_WAIT_MS. A
 * line may be sent in part then: the worker is lost anyway. */
static int send_line(void *arg, const char *text, size_t length, struct muster_error *err)
{
	struct muster_worker_process *worker = arg;
	char *line = muster_calloc(length + 1, 1), *at = line;
	size_t left = length + 1;
	memcpy(line, text, length);
	line[length] = '\n';
	while (left > 0 && worker->commands >= 0) {
		struct pollfd room = { .fd = worker->commands, .events = POLLOUT };
		ssize_t sent = write(worker->commands, at, left);
		if (sent < 0 && (errno == EINTR || (errno == EAGAIN && poll(&room, 1, SEND_WAIT_MS) > 0)))
			continue;
		if (sent < 0)
			break;
		at += sent;
		left -= (size_t)sent;
	}
	free(line);
	return left > 0 ? muster_fail(err, MUSTER_EIO, "the worker closed its command pipe") : 0;
}

/* As the operation next_line (worker_client.h). A last line without its newline was cut by the worker's death, and is
 * dropped. After the end the descriptor is closed, and every further call returns 1. */
static int next_line(void *arg, const char **ret, size_t *ret_length, struct muster_error *err)
{
	struct muster_worker_process *worker = arg;
	*ret = NULL;
	if (worker->results < 0)
		return 1;
	worker->lines.fd = worker->results;
	int got = muster_line_reader_next(&worker->lines, ret, ret_length);
	if (worker->lines.too_long > 0)
		return muster_fail(
			err, MUSTER_EPROTOCOL, "the worker sent a line of more than %zu bytes", worker->lines.most);
	if (got > 0 && !worker->lines.cut)
		return 0;
	*ret = NULL;
	if (got < 0 && errno == EAGAIN)
		return 0;
	close(worker->results);
	worker->results = -1;
	return 1;
}

/* ---- output ---- */

/* Append to the kept output, and drop as much of its beginning as does not fit. */
static void keep_output(struct muster_worker_process *worker, const char *text, size_t length)
{
	size_t most = MUSTER_WORKER_OUTPUT_KEPT, kept = worker->output_length;
	if (length > most) {
		text += length - most;
		length = most;
	}
	if (kept > most - length) {
		memmove(worker->output, worker->output + kept - (most - length), most - length);
		kept = most - length;
	}
	memcpy(worker->output + kept, text, length);
	worker->output_length = kept + length;
}

/* Read what has been printed, at most OUTPUT_READS times: a worker may print without end. */
static void read_output(void *arg)
{
	struct muster_worker_process *worker = arg;
	char text[4096];
	for (int reads = 0; worker->noise >= 0 && reads < OUTPUT_READS; reads++) {
		ssize_t got = read(worker->noise, text, sizeof text);
		if (got < 0 && errno != EINTR)
			return;
		if (got > 0)
			keep_output(worker, text, (size_t)got);
		if (got == 0) {
			close(worker->noise);
			worker->noise = -1;
		}
	}
}

/* The last line that is not blank, cut to the size of out. Control characters become spaces, since the text goes into
 * reports and logs. Returns out. */
static const char *last_output(void *arg, char *out, size_t size)
{
	const struct muster_worker_process *worker = arg;
	size_t end = worker->output_length;
	while (end > 0 && (worker->output[end - 1] == '\n' || worker->output[end - 1] == ' '))
		end--;
	size_t begin = end;
	while (begin > 0 && worker->output[begin - 1] != '\n')
		begin--;
	snprintf(out, size, "%.*s", (int)(end - begin), worker->output + begin);
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	return out;
}

/* ---- the end ---- */

/* The end of the command pipe asks the worker to exit. Wait for that, but leave the process to be reaped by end(). */
static void quit(void *arg, int grace_ms)
{
	struct muster_worker_process *worker = arg;
	double until_ms = muster_now_ms() + grace_ms;
	siginfo_t info = { 0 };
	close_all(&worker->commands, 1);
	worker->commands = -1;
	while (worker->pid > 0 && muster_now_ms() < until_ms &&
		waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
		poll(NULL, 0, 1);
}

static void say_status(int status, char *ret_how, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(ret_how, size, "signal %d (%s%s)", WTERMSIG(status), strsignal(WTERMSIG(status)),
			WTERMSIG(status) == SIGKILL ? "; the kernel sends it when memory is exhausted" : "");
	else if (WIFEXITED(status))
		snprintf(ret_how, size, "exit status %d", WEXITSTATUS(status));
}

/* End the worker and close the pipes, after a last look at what it printed. ret_how: its own signal or exit status when
 * it had ended by itself, else "killed". A process in an uninterruptible system call does not die of SIGKILL: it is
 * abandoned after grace_ms. Returns whether it had ended by itself. */
static bool end(void *arg, int grace_ms, char *ret_how, size_t size)
{
	struct muster_worker_process *worker = arg;
	int status = 0;
	/* it may be ending by itself just now: its own status says more than our signal */
	bool by_itself =
		worker->pid > 0 && muster_child_ended(worker->pid, worker->results < 0 ? ENDING_MS : 0, &status);
	snprintf(ret_how, size, "not running");
	if (by_itself)
		say_status(status, ret_how, size);
	else if (worker->pid > 0)
		snprintf(ret_how, size, "%s",
			muster_child_kill(worker->pid, grace_ms, NULL)
				? "killed"
				: "could not be killed (uninterruptible), abandoned");
	read_output(worker);
	close_all((const int[]){ worker->commands, worker->results, worker->noise }, 3);
	free(worker->lines.text);
	worker->lines = (struct muster_line_reader){ 0 };
	worker->pid = 0;
	worker->commands = worker->results = worker->noise = -1;
	return by_itself;
}

static int fd(void *arg)
{
	const struct muster_worker_process *worker = arg;
	return worker->results;
}

/* Of the thread that runs the probes. */
static double starved_ms(void *arg)
{
	const struct muster_worker_process *worker = arg;
	char thread[32];
	snprintf(thread, sizeof thread, "%ld", (long)worker->pid);
	return worker->pid > 0 ? muster_starved_ms(thread) : 0;
}

const struct muster_worker_ops muster_worker_process_ops = {
	.start = start,
	.send = send_line,
	.next_line = next_line,
	.read_output = read_output,
	.quit = quit,
	.end = end,
	.last_output = last_output,
	.fd = fd,
	.starved_ms = starved_ms,
};
