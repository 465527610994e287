/* environment.c - the environment that this process was started with
 *
 * The kernel keeps it apart from what setenv changes later: NCCL, for one, puts the settings of its files there.
 */
#include "system/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES_MAX = 8 << 20 }; /* the kernel lets a new process have 6 MiB of arguments and environment */

int muster_environment_read(char **ret_block, size_t *ret_length, struct muster_error *err)
{
	static const char path[] = "/proc/self/environ";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0, room = 0;
	char *block = NULL;
	ssize_t got = fd < 0 ? -1 : 1;
	while (got > 0 && length < BYTES_MAX) {
		if (room - length < 4096)
			block = muster_realloc(block, room = room ? 2 * room : 16384, 1);
		got = read(fd, block + length, room - length);
		length += got > 0 ? (size_t)got : 0;
	}
	int why = errno;
	if (fd >= 0)
		close(fd);
	if (got != 0) {
		free(block);
		return muster_fail(err, MUSTER_EIO, "%s: %s", path, got < 0 ? strerror(why) : "longer than 8 MiB");
	}
	*ret_block = block;
	*ret_length = length;
	return 0;
}
