/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - whether the node or its NVIDIA driver may still be starting
 *
 * A node that is young, or a driver that may be cold, gets more time before something counts as failed. PROCESSES_MS
 * bounds the time for the list of processes.
 */
#include "system/start.h"

#include "system/processes.h"
#include "util/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROCESSES_MS = 40, YOUNG_S = 600 };

int muster_node_up_s(const char *root, double *ret, struct muster_error *err)
{
	char path[PATH_MAX], text[128], *end;
	snprintf(path, sizeof path, "%s/proc/uptime", root);
	if (muster_read_line(path, text, sizeof text, err) < 0)
		return -1;
	*ret = strtod(text, &end);
	if (end == text || (*end && *end != ' ') || !(*ret >= 0 && *ret < 1e12))
		return muster_fail(err, MUSTER_EIO, "%s: no time: \"%.40s\"", path, text);
	return 0;
}

bool muster_node_is_young(const char *root)
{
	double up_s;
	return muster_node_up_s(root, &up_s, NULL) == 0 && up_s < YOUNG_S;
}

/* "May be" is the answer in doubt: where the processes cannot be listed, as in a container. */
bool muster_driver_may_be_cold(const char *root)
{
	struct muster_processes processes;
	if (muster_node_is_young(root) || muster_processes_list(root, PROCESSES_MS, &processes, NULL) < 0)
		return true;
	bool kept = muster_processes_find(&processes, "nvidia-persistenced") != NULL;
	muster_processes_done(&processes);
	return !kept;
}
