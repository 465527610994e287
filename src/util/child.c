/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - start a program, learn of its end, or run it to its end with a deadline; no shell
 *
 * Three ways to use it: muster_child_fork (a new process that goes on in the caller's code), muster_child_start (a
 * program; its end is asked for with muster_child_ended or muster_child_kill), and muster_child_run (a program, what it
 * prints, and its exit code, within a deadline).
 *
 * Between fork and exec only async-signal-safe calls are allowed: another thread may hold any lock at the fork, and it
 * does not exist in the new process to release it. So nothing there may use malloc or stdio.
 *
 * How muster_child_start learns that the program has begun (MUSTER_CHILD_AWAITED): the new process has the write end of
 * a pipe that exec closes (O_CLOEXEC). A read that ends without a byte means that exec has worked; otherwise errno
 * comes through the pipe.
 */
#include "util/child.h"

#include "util/array.h"
#include "util/text.h"
#include "muster/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	STREAMS = 2,
	REAP_MS = 10,
	KILLED_MS = 2000,            /* for a process that was sent SIGKILL */
	CLEAR = 64,                  /* descriptors from here on are out of the way of those that a program gets */
	FALLBACK_DESCRIPTORS = 1024, /* that a program does not inherit where there is no close_range */
};

/* A process may have been started with SIGCHLD set to SIG_IGN: the kernel would then reap children by itself, and
 * waitpid would find none. A bound process asks for SIGKILL at the end of its starter, and then looks whether the
 * starter had ended before it asked. */
int muster_child_fork(bool bound, pid_t *ret, struct muster_error *err)
{
	struct sigaction action;
	if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
		signal(SIGCHLD, SIG_DFL);
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		return muster_fail(err, MUSTER_EIO, "fork: %s", strerror(errno));
	if (pid == 0 && bound && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent))
		_exit(MUSTER_CHILD_ORPHAN);
	*ret = pid;
	return 0;
}

/* -- in the new process -- */

/* Put how->descriptors at 0, 1, 2, ... In two steps: first copies at numbers from CLEAR on, then these onto the final
 * numbers. In one step, with 1 to become 2 and 2 to become 1, the first dup2 would overwrite a descriptor that is still
 * needed. The copies close at exec, and what dup2 makes does not. */
static int place_descriptors(const struct muster_child *how)
{
	int clear[MUSTER_CHILD_DESCRIPTORS_MAX], count = (int)how->descriptor_count;
	for (int i = 0; i < count; i++) {
		int from = how->descriptors[i] < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : how->descriptors[i];
		if (from < 0 || (clear[i] = fcntl(from, F_DUPFD_CLOEXEC, CLEAR)) < 0)
			return -1;
	}
	for (int i = 0; i < count; i++)
		if (dup2(clear[i], i) < 0)
			return -1;
	if (how->flags & MUSTER_CHILD_CLOSED && close_range((unsigned int)count, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		for (int fd = count; fd < FALLBACK_DESCRIPTORS; fd++) /* before Linux 5.11 */
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	return 0;
}

/* A new program inherits ignored and blocked signals. By default none is blocked in it. */
static void set_signals(const struct muster_child *how)
{
	static const int others[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 };
	sigset_t none;
	sigemptyset(&none);
	for (size_t i = 0; i < sizeof others / sizeof *others && how->flags & MUSTER_CHILD_IGNORES; i++)
		signal(others[i], SIG_IGN);
	if (how->flags & MUSTER_CHILD_SIGPIPE)
		signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, how->blocked ? how->blocked : &none, NULL);
}

static void say(const char *text)
{
	(void)!write(STDERR_FILENO, text, strlen(text));
}

/* Become the program, or end. report: the end of a pipe where errno goes when there is no program; -1: words go to
 * stderr. `report` itself moves out of the way of the final descriptors first. */
static _Noreturn void become(const struct muster_child *how, int report)
{
	char *const *argv = (char *const *)(uintptr_t)how->argv;
	if (report >= 0)
		report = fcntl(report, F_DUPFD_CLOEXEC, CLEAR);
	if (how->flags & MUSTER_CHILD_GROUP)
		setpgid(0, 0);
	if (place_descriptors(how) == 0) {
		set_signals(how);
		if (how->environment)
			environ = (char **)how->environment;
		/* execvp would hand a file that the kernel does not run, such as another processor's program, to a
		 * shell */
		if (strchr(argv[0], '/'))
			execv(argv[0], argv);
		else
			execvp(argv[0], argv);
	}
	int why = errno;
	if (report >= 0) {
		(void)!write(report, &why, sizeof why);
	} else {
		say(argv[0]);
		say(": ");
		say(strerror(why));
		say("\n");
	}
	_exit(MUSTER_CHILD_UNRUNNABLE);
}

/* -- in this one -- */

/* Read the pipe until exec closes it, or errno comes. In the second case the child is reaped here. */
static int await(pid_t pid, int report, const char *program, struct muster_error *err)
{
	int why = 0;
	ssize_t got = TEMP_FAILURE_RETRY(read(report, &why, sizeof why));
	close(report);
	if (got != sizeof why)
		return 0;
	muster_child_ended(pid, KILLED_MS, NULL);
	if (why == ENOENT)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s%s", program,
			strchr(program, '/') ? ": No such file or directory" : " is not in PATH");
	return muster_fail(err, MUSTER_EIO, "%s: %s", program, strerror(why));
}

int muster_child_start(const struct muster_child *how, pid_t *ret, struct muster_error *err)
{
	int report[2] = { -1, -1 };
	pid_t pid;
	if (how->flags & MUSTER_CHILD_AWAITED && pipe2(report, O_CLOEXEC) < 0)
		return muster_fail(err, MUSTER_EIO, "%s: pipe: %s", how->argv[0], strerror(errno));
	int rc = muster_child_fork(how->flags & MUSTER_CHILD_BOUND, &pid, err);
	if (rc == 0 && pid == 0)
		become(how, report[1]);
	if (report[1] >= 0)
		close(report[1]);
	if (rc < 0) {
		if (report[0] >= 0)
			close(report[0]);
		return muster_wrap(err, "%s", how->argv[0]);
	}
	if (report[0] >= 0 && await(pid, report[0], how->argv[0], err) < 0)
		return -1;
	*ret = pid;
	return 0;
}

/* waitpid does not wait: it is asked each millisecond until the time is over. -1 of waitpid (no such child) counts as
 * ended with an unknown status, since somewhere else it was reaped. */
bool muster_child_ended(pid_t pid, int wait_ms, int *ret_status)
{
	double until_ms = muster_now_ms() + wait_ms;
	int status = MUSTER_CHILD_STATUS_UNKNOWN;
	pid_t gone;
	while ((gone = waitpid(pid, &status, WNOHANG)) == 0 && muster_now_ms() < until_ms)
		poll(NULL, 0, 1);
	if (gone == 0)
		return false;
	if (ret_status)
		*ret_status = gone == pid ? status : MUSTER_CHILD_STATUS_UNKNOWN;
	return true;
}

bool muster_child_kill(pid_t pid, int wait_ms, int *ret_status)
{
	if (muster_child_ended(pid, 0, ret_status))
		return true;
	kill(pid, SIGKILL);
	return muster_child_ended(pid, wait_ms, ret_status);
}

int muster_child_exit_code(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 255;
}

/* -- to its end -- */

struct stream {
	int fd; /* -1 once it has ended */
	char *text;
	size_t length, room;
};

static void stream_read(struct stream *stream)
{
	char piece[4096];
	ssize_t got = read(stream->fd, piece, sizeof piece);
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		close(stream->fd);
		stream->fd = -1;
		return;
	}
	size_t room = MUSTER_CHILD_OUTPUT_MAX - stream->length, kept = (size_t)got < room ? (size_t)got : room;
	MUSTER_ARRAY_RESERVE(stream->text, stream->length, stream->room, kept + 1);
	memcpy(stream->text + stream->length, piece, kept);
	stream->length += kept;
}

/* Read both streams until the process is reaped; false when its time is up. After the end, what is in the pipes is
 * still read, without waiting and until the time is up: another process that inherited the pipes may keep them open,
 * and write without end. */
static bool wait_until(pid_t pid, double until_ms, struct stream streams[STREAMS], int *ret_status)
{
	for (bool ended = false;;) {
		ended = ended || muster_child_ended(pid, 0, ret_status);
		struct pollfd fds[STREAMS];
		for (size_t i = 0; i < STREAMS; i++)
			fds[i] = (struct pollfd){ .fd = streams[i].fd, .events = POLLIN };
		int ready = poll(fds, STREAMS, ended ? 0 : REAP_MS);
		for (size_t i = 0; i < STREAMS && ready > 0; i++)
			if (fds[i].revents)
				stream_read(&streams[i]);
		if (ended && (ready <= 0 || muster_now_ms() > until_ms))
			return true;
		if (!ended && muster_now_ms() > until_ms)
			return false;
	}
}

/* The program with /dev/null as its input and a pipe for each stream. Our ends do not block. The other ends are closed
 * here in any case, so that the pipes end with the program. */
static int start_with_streams(
	const char *const *argv, struct stream streams[STREAMS], pid_t *ret, struct muster_error *err)
{
	struct muster_child how = {
		.argv = argv,
		.descriptors = { -1, -1, -1 },
		.descriptor_count = 1 + STREAMS,
		.flags = MUSTER_CHILD_GROUP | MUSTER_CHILD_SIGPIPE | MUSTER_CHILD_AWAITED,
	};
	int rc = 0;
	for (size_t i = 0; i < STREAMS && rc == 0; i++) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) < 0) {
			rc = muster_fail(err, MUSTER_EIO, "%s: pipe: %s", argv[0], strerror(errno));
			break;
		}
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		streams[i] = (struct stream){ .fd = ends[0], .text = muster_calloc(1, 1) };
		how.descriptors[1 + i] = ends[1];
	}
	if (rc == 0)
		rc = muster_child_start(&how, ret, err);
	for (size_t i = 1; i < how.descriptor_count; i++)
		if (how.descriptors[i] >= 0)
			close(how.descriptors[i]);
	return rc;
}

/* At the deadline the whole process group is killed: a program may have started others, which hold its pipes. */
int muster_child_run(
	const char *const *argv, int deadline_ms, struct muster_child_output *ret, struct muster_error *err)
{
	struct stream streams[STREAMS] = { { .fd = -1 }, { .fd = -1 } };
	double until_ms = muster_now_ms() + deadline_ms;
	int status = 0;
	pid_t pid;
	int rc = start_with_streams(argv, streams, &pid, err);
	if (rc == 0 && !wait_until(pid, until_ms, streams, &status)) {
		kill(-pid, SIGKILL);
		muster_child_ended(pid, KILLED_MS, NULL);
		rc = muster_fail(err, MUSTER_ETIME, "%s gave no answer within %g s", argv[0], deadline_ms / 1e3);
	}
	for (size_t i = 0; i < STREAMS; i++) {
		if (streams[i].fd >= 0)
			close(streams[i].fd);
		if (rc < 0)
			free(streams[i].text);
		else
			streams[i].text[streams[i].length] = '\0';
	}
	if (rc == 0)
		*ret = (struct muster_child_output){
			.exit_code = muster_child_exit_code(status),
			.out = streams[0].text,
			.error = streams[1].text,
			.cut = streams[0].length == MUSTER_CHILD_OUTPUT_MAX,
		};
	return rc;
}

void muster_child_output_done(struct muster_child_output *output)
{
	free(output->out);
	free(output->error);
	*output = (struct muster_child_output){ 0 };
}
