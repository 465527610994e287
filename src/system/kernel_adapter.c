/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_adapter.c - what the drivers of network adapters say of a fault or of a link
 *
 * Texts are those of Linux 4.18 to 6.18: drivers/net/ethernet/mellanox/mlx5/core/health.c, cmd.c and events.c,
 * drivers/infiniband/hw/efa/efa_com.c, drivers/net/ethernet/broadcom/bnxt/bnxt.c with
 * drivers/infiniband/hw/bnxt_re/qplib_rcfw.c, drivers/net/ethernet/intel/ice/ice_main.c,
 * drivers/net/ethernet/microsoft/mana/hw_channel.c, net/sched/sch_generic.c.
 *
 * A line is "mlx5_core 0000:5e:00.0: TEXT" or "mlx5_core 0000:5e:00.0 ens1: TEXT". The rows of kernel_adapter.def give
 * the beginning of the driver's name, the beginning of TEXT, and what else TEXT contains; the first row that fits
 * decides.
 */
#include "system/kernel_words.h"

static const struct {
	const char *driver, *says, *has;
	enum muster_kernel_event_kind kind;
	unsigned long weight;
	bool follows;
} rows[] = {
#define ROW(kind, driver, says, has, weight) { driver, says, has, MUSTER_KERNEL_##kind, weight, false },
#define FOLLOWS(kind, driver, says, has, weight) { driver, says, has, MUSTER_KERNEL_##kind, weight, true },
#include "system/kernel_adapter.def"
};

bool muster_kernel_adapter_parse(
	const char *driver, const char *rest, const char *device, struct muster_kernel_event *ret)
{
	const char *says = strstr(rest, ": "), *end = NULL;
	if (!says)
		return false;
	says += 2;
	/* the IOMMU's driver writes in the name of the device's; controllers of USB and SATA do so at boot */
	if (after(says, "AMD-Vi: Event logged ["))
		return !after(driver, "xhci_hcd ") && !after(driver, "ahci ") &&
		       event(ret, MUSTER_KERNEL_IOMMU, device, false);
	/* "poll_health:834:(pid 0): device's health compromised"; a command that the firmware refused is frequent */
	const char *pid = strstr(says, ":(pid ");
	if (pid && (end = strstr(pid, "): ")))
		says = end + 3;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		/* first letters first: most lines are of none */
		if ((!*rows[i].driver || *rows[i].driver == *driver) && (!*rows[i].says || *rows[i].says == *says) &&
			after(driver, rows[i].driver) && after(says, rows[i].says) && strstr(says, rows[i].has)) {
			event(ret, rows[i].kind, device, rows[i].follows);
			ret->weight = rows[i].weight;
			return true;
		}
	return false;
}
