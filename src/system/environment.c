/* environment.c - the environment that this process was started with
 *
 * The kernel keeps it apart from what setenv changes later: NCCL, for one, puts the settings of its files there.
 */
#include "system/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 8 << 20 }; /* the kernel lets a new process have 6 MiB of arguments and environment */

int muster_environment_read(char **ret_block, size_t *ret_length, struct muster_error *err)
{
	static const char path[] = "/proc/self/environ";
	FILE *in = fopen(path, "re");
	if (!in)
		return muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
	char *block = muster_calloc(BYTES_MAX, 1);
	size_t length = fread(block, 1, BYTES_MAX, in);
	int why = ferror(in) ? errno : 0;
	fclose(in);
	if (why != 0 || length == BYTES_MAX) {
		free(block);
		return muster_fail(err, MUSTER_EIO, "%s: %s", path, why ? strerror(why) : "longer than 8 MiB");
	}
	*ret_block = block;
	*ret_length = length;
	return 0;
}
