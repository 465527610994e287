/* terminal.c - the terminal of the mpirun that has started this process */
#include "coord/terminal.h"

#include "util/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

enum { ANCESTORS_MOST = 8 }; /* a shell script or two between mpirun and this process */

/* Processes that start ranks on their own host, and forward what these print. */
static const char *const launchers[] = { "mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra", "mpirun.real" };

bool muster_process_stat_parse(const char *text, struct muster_process_stat *ret)
{
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	int parent, group, session, terminal, foreground;
	char state;
	if (!name || !end || end < name ||
		sscanf(end + 1, " %c %d %d %d %d %d", &state, &parent, &group, &session, &terminal, &foreground) != 6)
		return false;
	unsigned int device = (unsigned int)terminal; /* proc(5): the minor number is in bits 31 to 20 and 7 to 0 */
	*ret = (struct muster_process_stat){
		.parent = parent,
		.group = group,
		.terminal = makedev(device >> 8 & 0xfff, (device & 0xff) | (device >> 12 & 0xfff00)),
		.foreground = foreground,
	};
	snprintf(ret->name, sizeof ret->name, "%.*s", (int)(end - name - 1), name + 1);
	return true;
}

static bool read_stat(pid_t pid, struct muster_process_stat *ret)
{
	char path[64], text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	return muster_read_line(path, text, sizeof text, NULL) == 0 && muster_process_stat_parse(text, ret);
}

static bool is_launcher(const char *name)
{
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
		if (strcmp(name, launchers[i]) == 0)
			return true;
	return false;
}

/* The nearest launcher among the ancestors; 0 when there is none. */
static pid_t find_launcher(struct muster_process_stat *ret)
{
	pid_t pid = getppid();
	for (int i = 0; i < ANCESTORS_MOST && pid > 1 && read_stat(pid, ret); i++) {
		if (is_launcher(ret->name))
			return pid;
		pid = ret->parent;
	}
	return 0;
}

/* Whether its standard error is this terminal. */
static bool prints_on(pid_t pid, dev_t terminal)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, STDERR_FILENO);
	return stat(path, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == terminal;
}

void muster_terminal_open(struct muster_terminal *ret)
{
	struct muster_process_stat self, launcher;
	struct termios modes;
	*ret = (struct muster_terminal){ .fd = -1 };
	pid_t pid = find_launcher(&launcher);
	if (pid == 0 || !read_stat(getpid(), &self) || self.terminal == 0 || self.terminal != launcher.terminal ||
		!prints_on(pid, launcher.terminal))
		return;
	ret->launcher = launcher.group;
	ret->fd = open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	/* with tostop, the terminal would stop a process that is not in the foreground */
	if (ret->fd >= 0 &&
		(tcgetattr(ret->fd, &modes) < 0 || (modes.c_lflag & TOSTOP) || !muster_terminal_is_watched(ret)))
		muster_terminal_close(ret);
}

bool muster_terminal_is_watched(const struct muster_terminal *terminal)
{
	return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == terminal->launcher;
}

void muster_terminal_close(struct muster_terminal *terminal)
{
	if (terminal->fd >= 0)
		close(terminal->fd);
	terminal->fd = -1;
}
