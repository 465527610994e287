/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_log.c - what the simulated kernel logs while muster runs
 *
 * A fault with AGE "now" (fault_log.c) is logged when a rank of the node first copies to a GPU, or when its worker
 * misbehaves. The processes of a node share the file, and each line must be there once: the process that creates the
 * file dev/.kmsg-now-I writes line I. Records have numbers that rise, and these begin far above those of fs.c.
 */
#include "sim/standins/base.h"

#include "util/env.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void muster_standin_log_now(void)
{
	enum { SEQUENCE = 1000000 }; /* after those of the generator */
	static atomic_bool told;
	char path[PATH_MAX], line[1024];
	if (!muster_env(MUSTER_ENV_SIM_CLUSTER) || atomic_exchange(&told, true))
		return;
	const struct muster_sim_node *node = muster_sim_this_node();
	if (node->kernel_log_hidden)
		return;
	int fd = -1;
	for (size_t i = 0; i < node->kernel_log_count; i++) {
		if (strncmp(node->kernel_log[i], "now ", 4) != 0)
			continue;
		snprintf(path, sizeof path, "%s/dev/.kmsg-now-%zu", node->directory, i);
		int first = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (first < 0)
			continue;
		close(first);
		snprintf(path, sizeof path, "%s/dev/kmsg", node->directory);
		int length = snprintf(line, sizeof line, "3,%zu,%lld,-;%s\n", SEQUENCE + i,
			(long long)MUSTER_SIM_UPTIME_S * 1000000, node->kernel_log[i] + 4);
		if (fd < 0)
			fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		if (fd < 0 || write(fd, line, (size_t)length) != length)
			muster_standin_end("%s: %s", path, strerror(errno));
	}
	if (fd >= 0)
		close(fd);
}
