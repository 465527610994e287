/* child.c - run a program to its end, with a deadline; no shell */
#include "util/child.h"

#include "util/text.h"
#include "muster/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 2, REAP_MS = 10 };

struct stream {
	int fd; /* -1 once it has ended */
	char *text;
	size_t length;
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
	stream->text = muster_realloc(stream->text, stream->length + kept + 1, 1);
	memcpy(stream->text + stream->length, piece, kept);
	stream->length += kept;
}

static int spawn(const char *const *argv, int ends[STREAMS][2], pid_t *ret, struct muster_error *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults, none;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[0][1], 1);
	posix_spawn_file_actions_adddup2(&actions, ends[1][1], 2);
	posix_spawnattr_init(&attributes);
	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int code = posix_spawnp(ret, argv[0], &actions, &attributes, (char *const *)argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (code == ENOENT)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s is not in PATH", argv[0]);
	return code ? muster_fail(err, MUSTER_EIO, "%s: %s", argv[0], strerror(code)) : 0;
}

/* Until the process is reaped; false when its time is up. What it leaves in the pipes is read, but nobody who inherited
 * them is waited for. */
static bool wait_until(pid_t pid, double until_ms, struct stream streams[STREAMS], int *ret_status)
{
	for (bool ended = false;;) {
		ended = ended || waitpid(pid, ret_status, WNOHANG) == pid;
		struct pollfd fds[STREAMS];
		for (size_t i = 0; i < STREAMS; i++)
			fds[i] = (struct pollfd){ .fd = streams[i].fd, .events = POLLIN };
		int ready = poll(fds, STREAMS, ended ? 0 : REAP_MS);
		for (size_t i = 0; i < STREAMS && ready > 0; i++)
			if (fds[i].revents)
				stream_read(&streams[i]);
		if (ended && ready <= 0)
			return true;
		if (!ended && muster_now_ms() > until_ms)
			return false;
	}
}

int muster_child_run(const char *const *argv, int deadline_ms, struct muster_child *ret, struct muster_error *err)
{
	int ends[STREAMS][2] = { { -1, -1 }, { -1, -1 } }, status = 0, rc = -1;
	struct stream streams[STREAMS] = { { .fd = -1 }, { .fd = -1 } };
	double until_ms = muster_now_ms() + deadline_ms;
	pid_t pid;
	signal(SIGCHLD, SIG_DFL); /* whoever started us may have ignored it, and waitpid would never learn of the end */
	for (size_t i = 0; i < STREAMS; i++) {
		if (pipe2(ends[i], O_CLOEXEC | O_NONBLOCK) < 0) {
			muster_fail(err, MUSTER_EIO, "%s: pipe: %s", argv[0], strerror(errno));
			goto out;
		}
		/* only our end: the program expects a blocking one */
		fcntl(ends[i][1], F_SETFL, 0);
		streams[i] = (struct stream){ .fd = ends[i][0], .text = muster_calloc(1, 1) };
	}
	rc = spawn(argv, ends, &pid, err);
	for (size_t i = 0; i < STREAMS; i++) {
		close(ends[i][1]);
		ends[i][1] = -1;
	}
	if (rc < 0)
		goto out;
	if (!wait_until(pid, until_ms, streams, &status)) {
		kill(-pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		rc = muster_fail(err, MUSTER_ETIME, "%s gave no answer within %g s", argv[0], deadline_ms / 1e3);
		goto out;
	}
	for (size_t i = 0; i < STREAMS; i++)
		streams[i].text[streams[i].length] = '\0';
	*ret = (struct muster_child){
		.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
		.out = streams[0].text,
		.error = streams[1].text,
	};
out:
	for (size_t i = 0; i < STREAMS; i++) {
		if (streams[i].fd >= 0)
			close(streams[i].fd);
		if (ends[i][1] >= 0)
			close(ends[i][1]);
		if (rc < 0)
			free(streams[i].text);
	}
	return rc;
}

void muster_child_done(struct muster_child *child)
{
	free(child->out);
	free(child->error);
	*child = (struct muster_child){ 0 };
}
