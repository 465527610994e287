/* SPDX-License-Identifier: Apache-2.0 */
/* setting_names.h - whether the files and devices that a variable names are there
 */
#ifndef MUSTER_SYSTEM_SETTING_NAMES_H
#define MUSTER_SYSTEM_SETTING_NAMES_H

#include "system/settings.h"

/* What the variable names and the node lacks, or this process may not read: "/opt/topo.xml: No such file or
 * directory", "mlx5_8, mlx5_9"; "none". NULL for a variable that is not set or names neither files nor devices, and
 * where the kernel lists no devices to compare with. root is the prefix of /sys and of paths. The text is in the
 * arena.
 *
 * NCCL takes a list of interfaces or adapters as beginnings of names, with "=" as whole names, and with "^" as those
 * that it must not use (parseStringList and matchIfList of NCCL 2.28, src/misc/utils.cc); UCX and Gloo take whole
 * names. */
const char *muster_setting_lacks(const char *root, const struct muster_setting *setting, struct muster_arena *arena);

#endif
