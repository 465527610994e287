/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_host.c - lines of disks, arrays, file systems, CPUs that are stuck, the IOMMU, and of the kernel's own faults
 *
 * Texts are those of Linux 4.18 to 6.18, a row for each wording: kernel/hung_task.c, watchdog*.c, rcu/tree_stall.h and
 * tree_exp.h, workqueue.c, smp.c; fs/xfs/xfs_fsops.c and xfs_log.c, fs/ext4/super.c, fs/jbd2, fs/btrfs;
 * drivers/nvme/host, block/blk-core.c, fs/buffer.c, drivers/md, drivers/scsi, drivers/ata; drivers/iommu/amd,
 * intel/dmar.c, arm/arm-smmu*; arch/x86/mm/fault.c and kernel/traps.c, the same of arch/arm64.
 *
 * The rows of kernel_host.def are tried in their order. A row gives the beginning of the line, what else it contains,
 * and where the name of the device stands, or a function for lines with numbers in them. `weight` is the seconds that
 * something was stuck: of several lines the longest is the evidence.
 */
#include "system/kernel_words.h"

#include <stdlib.h>

#define STUCK_S 120       /* after so long a CPU does not come back by itself; that of a busy host does before */
#define JIFFIES_MOST 1000 /* of a second: fewer, if the kernel was built so */

/* "train:4711 blocked for more than 122 seconds.", from 6.17 on also "blocked in I/O wait for more than" */
static bool parse_hung(const char *text, struct muster_kernel_event *ret)
{
	const char *blocked = strstr(text, " blocked "), *most = blocked ? strstr(blocked, "for more than ") : NULL;
	if (!most)
		return false;
	event(ret, MUSTER_KERNEL_HUNG_TASK, "", false);
	ret->weight = strtoul(most + strlen("for more than "), NULL, 10);
	return true;
}

/* "12 stuck for 245s! [train:4711]", "3" */
static bool parse_lockup(const char *text, struct muster_kernel_event *ret)
{
	char device[40] = "";
	size_t digits = strspn(text, "0123456789");
	const char *stuck = strstr(text, " stuck for ");
	unsigned long seconds = stuck ? strtoul(stuck + strlen(" stuck for "), NULL, 10) : 0;
	if (digits > 0)
		snprintf(device, sizeof device, "cpu%.*s", (int)digits, text);
	event(ret, seconds >= STUCK_S ? MUSTER_KERNEL_LOCKUP_LONG : MUSTER_KERNEL_LOCKUP, device, false);
	ret->weight = seconds;
	return true;
}

/* "Watchdog detected hard LOCKUP on cpu 3", from 6.5 on with "CPU12: " before it */
static bool parse_hard_lockup(const char *text, struct muster_kernel_event *ret)
{
	static const char words[] = "hard LOCKUP on cpu ";
	const char *cpu = strstr(text, words);
	return cpu && parse_lockup(cpu + strlen(words), ret);
}

/* "rcu_sched self-detected stall on CPU", "rcu_preempt detected expedited stalls on CPUs/tasks: { 3-... } 21568 jiffies
 * s: 81", and the line that most stalls have behind them: "(detected by 0, t=60002 jiffies, g=379331397, q=294595)". */
static bool parse_stall(const char *text, struct muster_kernel_event *ret)
{
	const char *number = strstr(text, " jiffies");
	bool follows = *text == '(';
	if (follows ? !number || !strstr(text, "t=") : !strstr(text, "detected ") || !strstr(text, " stall"))
		return false;
	while (number && number > text && isdigit((unsigned char)number[-1]))
		number--;
	unsigned long seconds = number ? strtoul(number, NULL, 10) / JIFFIES_MOST : 0;
	event(ret, seconds >= STUCK_S ? MUSTER_KERNEL_LOCKUP_LONG : MUSTER_KERNEL_LOCKUP, "", follows);
	ret->weight = seconds;
	return true;
}

/* "0n1: detected capacity change from 7501476528 to 0" */
static bool parse_capacity(const char *text, struct muster_kernel_event *ret)
{
	char name[40], device[44];
	const char *to = strstr(text, " to ");
	snprintf(device, sizeof device, "nvme%s", take_name(text, name, sizeof name));
	return to && strcmp(to, " to 0") == 0 && event(ret, MUSTER_KERNEL_DISK_LOST, device, false);
}

/* " error, dev nvme1n1, sector 2048 op 0x1:(WRITE)", " error on dev md0, logical block 0". A disk that refuses to
 * forget blocks, and drives without a medium, are healthy. */
static bool parse_block(const char *text, struct muster_kernel_event *ret)
{
	static const char *const healthy[] = { "fd", "sr", "loop", "nbd", "zram" };
	const char *at = strstr(text, " error"), *disk = at ? strstr(at, "dev") : NULL;
	char device[40];
	disk = disk ? disk + strcspn(disk, " ") : "";
	bool fails = *disk && !strstr(disk, ":(DISCARD)") && !strstr(disk, ":(WRITE_ZEROES)");
	for (size_t i = 0; i < sizeof healthy / sizeof *healthy && fails; i++)
		fails = !after(disk + 1, healthy[i]);
	return fails && event(ret, MUSTER_KERNEL_DISK_ERROR, take_name(disk + 1, device, sizeof device), false);
}

/* "Request device [3b:00.0] ...", "device=0000:41:00.0", "client: 0009:01:00.0"; without a domain it is domain 0. */
static bool parse_iommu(const char *text, struct muster_kernel_event *ret)
{
	static const char *const names[] = { "device=", "device [", "client: " };
	char device[40] = "", address[24];
	for (size_t i = 0; i < sizeof names / sizeof *names && !*device; i++) {
		const char *at = strstr(text, names[i]);
		at = at ? at + strlen(names[i]) : "";
		snprintf(address, sizeof address, "%s%.12s", strcspn(at, ":") == 2 ? "0000:" : "", at);
		take_bus_id(address, device, sizeof device);
	}
	return event(ret, MUSTER_KERNEL_IOMMU, device, false);
}

/* "rdmap79s0: Admin queue is closed": an adapter of EFA, as udev names those that are neither InfiniBand nor Ethernet
 */
static bool parse_infiniband(const char *text, struct muster_kernel_event *ret)
{
	char device[40];
	if (!after(text, "rdma") && !after(text, "efa"))
		return false;
	return muster_kernel_adapter_parse(
		"efa ", strstr(text, ": ") ? strstr(text, ": ") : "", take_name(text, device, sizeof device), ret);
}

static const struct {
	const char *begins, *has;
	enum muster_kernel_event_kind kind;
	const char *at;
	bool follows;
	bool (*parse)(const char *text, struct muster_kernel_event *ret);
} rows[] = {
#define CALL(begins, has, parse) { begins, has, 0, NULL, false, parse },
#define ROW(kind, begins, has, at) { begins, has, MUSTER_KERNEL_##kind, at, false, NULL },
#define FOLLOWS(kind, begins, has, at) { begins, has, MUSTER_KERNEL_##kind, at, true, NULL },
#include "system/kernel_host.def"
};

/* `at` of a row says where the device's name stands: NULL behind the beginning, "\n" at the beginning of the line, ""
 * nowhere, all else behind the first place of that text. */
bool muster_kernel_host_parse(const char *text, struct muster_kernel_event *ret)
{
	char device[40] = "";
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *rest = *text == *rows[i].begins ? after(text, rows[i].begins) : NULL, *at = rows[i].at;
		if (!rest || !strstr(rest, rows[i].has))
			continue;
		if (rows[i].parse)
			return rows[i].parse(rest, ret);
		const char *name = !at ? rest : *at == '\n' ? text : *at ? strstr(text, at) : NULL;
		if (name)
			take_name(name + (at && *at != '\n' ? strlen(at) : 0), device, sizeof device);
		return event(ret, rows[i].kind, device, rows[i].follows);
	}
	return false;
}
