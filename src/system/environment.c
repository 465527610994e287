/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - the environment that this process was started with
 *
 * The kernel keeps it apart from what setenv changes later: NCCL, for one, puts the settings of its files there.
 */
#include "system/settings.h"

#include "util/file.h"

enum { BYTES_MAX = 8 << 20 }; /* the kernel lets a new process have 6 MiB of arguments and environment */

int muster_environment_read(char **ret_block, size_t *ret_length, struct muster_error *err)
{
	return muster_file_read("/proc/self/environ", BYTES_MAX, ret_block, ret_length, err);
}
