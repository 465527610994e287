/* SPDX-License-Identifier: Apache-2.0 */
/* adapters.c - network adapters of the PCI bus that have no RDMA device
 *
 * An adapter whose driver did not start has no device below /sys/class/infiniband, so no port of it is measured, and
 * the counts of ports are all that is low. This list names the adapter. An adapter is a function of the PCI bus of
 * vendor 0x15b3, of class 0x0200 (Ethernet) or 0x0207 (InfiniBand), that is no virtual function.
 *
 * node.rdma_adapters_unused has the PCI addresses of adapters without a device, or "none". Where no adapter has a
 * device, the text ends with what is known of the cause:
 *
 *   mlx5_core is not loaded                    "0000:17:00.0, mlx5_core is not loaded"
 *   mlx5_core is loaded, mlx5_ib is not        "0000:17:00.0, mlx5_ib is not loaded"
 *   both are loaded                            "0000:17:00.0, mlx5_ib has made no device"
 *   another adapter has a device               "0000:17:00.0": the modules work
 */
#include "probes/ib_link/ports.h"
#include "system/sysfs.h"
#include "util/text.h"
#include "muster/arena.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MELLANOX = 0x15b3, ETHERNET = 0x0200, INFINIBAND = 0x0207 };

/* A number from a file of a PCI function; -1 when it cannot be read. */
static long number_of(struct muster_probe_ctx *ctx, const char *bus_id, const char *file)
{
	char path[PATH_MAX];
	long number;
	muster_root_path(ctx, path, sizeof path, "/sys/bus/pci/devices/%s/%s", bus_id, file);
	return muster_sysfs_number(path, &number, NULL) < 0 ? -1 : number;
}

void muster_rdma_adapters_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_ports *ports)
{
	struct muster_names devices;
	struct muster_error why;
	char path[PATH_MAX], address[64], *unused = NULL;
	bool any = false; /* an adapter with a device: its driver works, even if it is built into the kernel */
	int result =
		muster_sysfs_names(muster_root_path(ctx, path, sizeof path, "/sys/bus/pci/devices"), &devices, &why);
	for (size_t i = 0; result == 0 && i < devices.count; i++) {
		/* the lowest byte is the programming interface */
		long class_code = number_of(ctx, devices.items[i], "class") >> 8;
		bool found = false;
		muster_root_path(ctx, path, sizeof path, "/sys/bus/pci/devices/%s/physfn", devices.items[i]);
		if (number_of(ctx, devices.items[i], "vendor") != MELLANOX ||
			(class_code != ETHERNET && class_code != INFINIBAND) ||
			access(path, F_OK) == 0) /* a virtual function: for a guest, without a driver here */
			continue;
		for (size_t p = 0; p < ports->count && !found; p++)
			found = muster_sysfs_pci_address(
					muster_rdma_path(ctx, &ports->items[p], false, "device", path, sizeof path),
					address, sizeof address, NULL) == 0 &&
				strcmp(address, devices.items[i]) == 0;
		any = any || found;
		if (!found)
			muster_list_add(&unused, " ", "%s", devices.items[i]);
	}
	bool core = muster_module_is_loaded(muster_probe_env(ctx)->root, "mlx5_core");
	bool ib = muster_module_is_loaded(muster_probe_env(ctx)->root, "mlx5_ib");
	char *text = muster_asprintf("%s%s", unused ? unused : "none",
		!unused || any ? ""
		: !core        ? ", mlx5_core is not loaded"
		: ib           ? ", mlx5_ib has made no device"
			       : ", mlx5_ib is not loaded");
	muster_emit_read(ctx, "node.rdma_adapters_unused", NULL, result, muster_string(text), &why);
	if (result == 0)
		muster_names_done(&devices);
	free(unused);
	free(text);
}
