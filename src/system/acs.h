/* SPDX-License-Identifier: Apache-2.0 */
/* acs.h - PCIe switches that send traffic between two devices up to the root complex
 *
 * ACS sends traffic between two devices below one switch up to the root complex, to be checked by the IOMMU; GPUDirect
 * then has a fraction of its rate. Virtual machines need it, bare-metal clusters switch it off.
 */
#ifndef MUSTER_SYSTEM_ACS_H
#define MUSTER_SYSTEM_ACS_H

#include "muster/error.h"

#include <stddef.h>

struct muster_acs_bridges {
	char (*items)[32]; /* bus ids, each once */
	size_t count, room;
};

/* Add the bridges of PCIe switches above a device (its directory or link in sysfs) whose Access Control Services
 * validate sources or redirect requests. A root port is no bridge of a switch: what passes it goes through the root
 * complex anyway. -1 with err when the configuration space of a bridge cannot be read: beyond its first 64 bytes that
 * needs root. */
int muster_acs_add(const char *device, struct muster_acs_bridges *bridges, struct muster_error *err);
void muster_acs_done(struct muster_acs_bridges *bridges);

#endif
