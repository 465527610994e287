/* SPDX-License-Identifier: Apache-2.0 */
/* start.h - whether the node or its NVIDIA driver may still be starting
 *
 * A driver that starts cold takes seconds for each GPU, one after the other: nvidia-smi -pm 1 took more than 25 s on
 * eight A100 (AgentBaker, pull request 2829). Fabrics and IMEX domains of a rack complete minutes after boot
 * (NVSentinel, issue 883).
 */
#ifndef MUSTER_SYSTEM_START_H
#define MUSTER_SYSTEM_START_H

#include "muster/error.h"

#include <stdbool.h>

/* Since boot, as /proc/uptime of root says. */
int muster_node_up_s(const char *root, double *ret, struct muster_error *err);

/* Whether it has been up for less than ten minutes. */
bool muster_node_is_young(const char *root);

/* Whether the driver may have to start when a process uses it: the node is young, or no process of
 * nvidia-persistenced is seen. */
bool muster_driver_may_be_cold(const char *root);

#endif
