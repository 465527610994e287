/* folders.c - what the user gave for the path of the data, looked at before a run begins
 *
 * A process of its own looks: a file system that does not answer would keep it, and not the run.
 */
#include "coord/folders.h"

#include "storage/file.h"
#include "storage/folder.h"
#include "util/child.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KILL_MS = 100, ANSWER = 3 };

static int look(const struct muster_options *options, int ranks, struct muster_error *err)
{
	struct muster_storage_file file = { .fd = -1 };
	const char *folder = options->checkpoint_path;
	if (folder && (muster_storage_folder_check(folder, err) < 0 ||
			      muster_storage_space_check(folder, ranks, options->checkpoint_bytes, err) < 0))
		return muster_wrap(err, "--checkpoint");
	if (options->broadcast_file && muster_storage_file_open_existing(options->broadcast_file, &file, err) < 0)
		return muster_wrap(err, "--broadcast-file");
	muster_storage_file_close(&file);
	return 0;
}

/* In the new process: nothing to say is all that is well. It may stay for as long as the file system does not answer,
 * and then keeps nothing that others wait for, such as the launcher's pipes. */
static _Noreturn void tell(const struct muster_options *options, int ranks, int to)
{
	struct muster_error err = { 0 };
	if (dup2(to, ANSWER) < 0 || close_range(0, ANSWER - 1, 0) < 0 || close_range(ANSWER + 1, ~0u, 0) < 0)
		_exit(1);
	to = ANSWER;
	if (look(options, ranks, &err) < 0 && write(to, err.text, strlen(err.text)) < 0)
		_exit(1);
	_exit(0);
}

int muster_folders_check(const struct muster_options *options, int ranks, int wait_ms, struct muster_error *err)
{
	int ends[2];
	char text[sizeof err->text];
	ssize_t length = 0;
	pid_t pid;
	struct muster_error ignored;
	if ((!options->checkpoint_path && !options->broadcast_file) || pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	if (muster_child_fork(true, &pid, &ignored) < 0) {
		close(ends[0]);
		close(ends[1]);
		return 0;
	}
	if (pid == 0)
		tell(options, ranks, ends[1]);
	close(ends[1]);
	struct pollfd answer = { .fd = ends[0], .events = POLLIN };
	if (poll(&answer, 1, wait_ms) > 0)
		length = read(ends[0], text, sizeof text - 1);
	close(ends[0]);
	muster_child_kill(pid, KILL_MS, NULL);
	return length > 0 ? muster_fail(err, MUSTER_EUSAGE, "%.*s", (int)length, text) : 0;
}
