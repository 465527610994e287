/* subprocess.c - a worker process, as its supervisor sees it */
#include "subprocess.h"

#include "util/child.h"
#include "util/text.h"
#include "muster/arena.h"
#include "util/env.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WRAPPER_WORDS = 64,
	SEND_WAIT_MS = 1000, /* for a worker that does not read: commands are small, and its pipe has room for many */
	NOISE_READS = 128,   /* at a time; the rest waits for the next time */
};

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

static void close_all(int pipes[3][2])
{
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 2; j++)
			if (pipes[i][j] >= 0)
				close(pipes[i][j]);
}

int muster_subprocess_start(
	struct muster_subprocess *proc, const char *program, char *const *environment, struct muster_error *err)
{
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } }; /* commands, results, noise */
	*proc = (struct muster_subprocess){
		.commands = -1, .results = -1, .noise = -1, .lines.most = MUSTER_SUBPROCESS_LINE_MAX
	};
	for (int i = 0; i < 3; i++) {
		if (pipe2(pipes[i], O_CLOEXEC) < 0) {
			int why = errno;
			close_all(pipes);
			return muster_fail(err, MUSTER_EIO, "cannot make a pipe for the worker: %s", strerror(why));
		}
	}
	const char *words[WRAPPER_WORDS];
	char *buffer = command_line(program, words);
	const struct muster_child how = {
		.argv = words,
		.environment = environment,
		.descriptors = { -1, pipes[2][1], pipes[2][1], [MUSTER_SUBPROCESS_COMMANDS] = pipes[0][0],
			[MUSTER_SUBPROCESS_RESULTS] = pipes[1][1] },
		.descriptor_count = MUSTER_SUBPROCESS_RESULTS + 1,
		/* what is sent to all processes of a job step is the supervisor's to answer */
		.flags = MUSTER_CHILD_BOUND | MUSTER_CHILD_CLOSED | MUSTER_CHILD_IGNORES,
	};
	int rc = muster_child_start(&how, &proc->pid, err);
	free(buffer);
	if (rc < 0) {
		close_all(pipes);
		return muster_wrap(err, "cannot start the worker");
	}
	close(pipes[0][0]);
	close(pipes[1][1]);
	close(pipes[2][1]);
	proc->commands = pipes[0][1];
	proc->results = pipes[1][0];
	proc->noise = pipes[2][0];
	fcntl(proc->commands, F_SETFL, O_NONBLOCK);
	fcntl(proc->results, F_SETFL, O_NONBLOCK);
	fcntl(proc->noise, F_SETFL, O_NONBLOCK);
	return 0;
}

int muster_subprocess_send(struct muster_subprocess *proc, const char *text, size_t length, struct muster_error *err)
{
	char *line = muster_calloc(length + 1, 1);
	memcpy(line, text, length);
	line[length] = '\n';
	size_t left = length + 1;
	const char *at = line;
	int result = 0;
	while (left > 0 && proc->commands >= 0) {
		struct pollfd room = { .fd = proc->commands, .events = POLLOUT };
		ssize_t sent = write(proc->commands, at, left);
		if (sent < 0 && (errno == EINTR || (errno == EAGAIN && poll(&room, 1, SEND_WAIT_MS) > 0)))
			continue;
		if (sent < 0)
			break;
		at += sent;
		left -= (size_t)sent;
	}
	if (left > 0)
		result = muster_fail(err, MUSTER_EIO, "the worker closed its command pipe");
	free(line);
	return result;
}

int muster_subprocess_next_line(
	struct muster_subprocess *proc, const char **ret, size_t *ret_length, struct muster_error *err)
{
	*ret = NULL;
	if (proc->results < 0)
		return 1;
	proc->lines.fd = proc->results;
	int got = muster_line_reader_next(&proc->lines, ret, ret_length);
	if (proc->lines.too_long > 0)
		return muster_fail(
			err, MUSTER_EPROTOCOL, "the worker sent a line of more than %zu bytes", proc->lines.most);
	if (got > 0 && !proc->lines.cut)
		return 0;
	*ret = NULL;
	if (got < 0 && errno == EAGAIN)
		return 0;
	close(proc->results);
	proc->results = -1;
	return 1;
}

void muster_subprocess_read_noise(struct muster_subprocess *proc)
{
	enum { HALF = MUSTER_SUBPROCESS_NOISE / 2 };
	for (int reads = 0; proc->noise >= 0 && reads < NOISE_READS; reads++) {
		if (proc->noise_length == MUSTER_SUBPROCESS_NOISE) {
			memcpy(proc->last_noise, proc->last_noise + HALF, HALF);
			proc->noise_length = HALF;
		}
		ssize_t got = read(proc->noise, proc->last_noise + proc->noise_length,
			MUSTER_SUBPROCESS_NOISE - proc->noise_length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return;
		if (got == 0) {
			close(proc->noise);
			proc->noise = -1;
			return;
		}
		proc->noise_length += (size_t)got;
		proc->last_noise[proc->noise_length] = '\0';
	}
}

void muster_subprocess_quit(struct muster_subprocess *proc, int grace_ms)
{
	double until = muster_now_ms() + grace_ms;
	siginfo_t info = { 0 };
	if (proc->commands >= 0)
		close(proc->commands);
	proc->commands = -1;
	while (proc->pid > 0 && muster_now_ms() < until &&
		waitid(P_PID, (id_t)proc->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
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

bool muster_subprocess_end(struct muster_subprocess *proc, int grace_ms, char *ret_how, size_t size)
{
	bool by_itself = false;
	snprintf(ret_how, size, "not running");
	if (proc->pid > 0) {
		int status = 0;
		/* it may be ending by itself just now: its own status says more than our signal */
		by_itself = muster_child_ended(proc->pid, proc->results < 0 ? 200 : 0, &status);
		if (by_itself)
			say_status(status, ret_how, size);
		else if (muster_child_kill(proc->pid, grace_ms, NULL))
			snprintf(ret_how, size, "killed");
		else
			snprintf(ret_how, size, "could not be killed (uninterruptible), abandoned");
	}
	muster_subprocess_read_noise(proc);
	int fds[] = { proc->commands, proc->results, proc->noise };
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(proc->lines.text);
	proc->lines = (struct muster_line_reader){ .most = MUSTER_SUBPROCESS_LINE_MAX };
	proc->commands = proc->results = proc->noise = -1;
	proc->pid = 0;
	return by_itself;
}

const char *muster_subprocess_last_words(const struct muster_subprocess *proc, char *out, size_t size)
{
	size_t end = proc->noise_length;
	while (end > 0 && (proc->last_noise[end - 1] == '\n' || proc->last_noise[end - 1] == ' '))
		end--;
	size_t start = end;
	while (start > 0 && proc->last_noise[start - 1] != '\n')
		start--;
	snprintf(out, size, "%.*s", (int)(end - start), proc->last_noise + start);
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	return out;
}
