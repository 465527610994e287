/* SPDX-License-Identifier: Apache-2.0 */
/* adapters.c - network adapters of the PCI bus that have no RDMA device */
#include "probes/ib_link/ports.h"
#include "system/sysfs.h"
#include "util/text.h"
#include "muster/arena.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MELLANOX = 0x15b3, ETHERNET = 0x0200, INFINIBAND = 0x0207 };

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
	bool any = false; /* one with a device has its driver, also one that is built into the kernel */
	int result =
		muster_sysfs_names(muster_root_path(ctx, path, sizeof path, "/sys/bus/pci/devices"), &devices, &why);
	for (size_t i = 0; result == 0 && i < devices.count; i++) {
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
