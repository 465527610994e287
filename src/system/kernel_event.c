/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_event.c - one line of the kernel's log becomes an event, if it tells of one
 *
 * Pure: a line in, an event out (or none). The reader of the log is kernel_log.c, and kernel_tally.c counts the events.
 *
 * Texts are those of Linux (drivers/pci/pcie/aer.c, drivers/net/ethernet/mellanox/mlx5, mm/oom_kill.c, ...) from 4.18
 * on; those of the NVIDIA driver are in kernel_nvidia.c. docs/dev/probes.md lists which lines are left out, and why.
 *
 * Readers are tried in this order until one finds an event; a function in the rows below decides alone:
 *
 *    rows below                    "EDAC MC0: ...", "Out of memory: Kill...", "mce: [Hardware Error]: ..."
 *    kernel_nvidia.c               "NVRM: ...", "nvidia-nvswitch3: ..."
 *    parse_device                  "DRIVER BUS-ID: ...": AER, PCIe hot-plug, and network adapters (kernel_adapter.c)
 *    kernel_host.c                 disks, file systems, CPUs that are stuck, the IOMMU
 *
 * A line about a process is no event, whatever it says: its first words may be the name that a user gave the process
 * (is_of_process).
 *
 * The first letter is compared before the rest, since nearly all lines are of no event and a log has up to a million of
 * them.
 */
#include "system/kernel_words.h"

#include <stdlib.h>
#include <string.h>

const char *const muster_kernel_event_names[MUSTER_KERNEL_EVENT_COUNT] = {
	[MUSTER_KERNEL_XID] = "xid",
	[MUSTER_KERNEL_SXID] = "sxid",
	[MUSTER_KERNEL_GPU_LOST] = "gpu-lost",
	[MUSTER_KERNEL_GPU_INIT] = "gpu-init",
	[MUSTER_KERNEL_RESET_NEEDED] = "reset-needed",
	[MUSTER_KERNEL_DRIVER_REBOOT] = "driver-reboot",
	[MUSTER_KERNEL_NVSWITCH] = "nvswitch-init",
	[MUSTER_KERNEL_AER_FATAL] = "aer-fatal",
	[MUSTER_KERNEL_AER_NONFATAL] = "aer-nonfatal",
	[MUSTER_KERNEL_AER_CORRECTED] = "aer-corrected",
	[MUSTER_KERNEL_PCIE_LINK] = "pcie-link",
	[MUSTER_KERNEL_NIC_ERROR] = "nic-error",
	[MUSTER_KERNEL_NIC_FATAL] = "nic-fatal",
	[MUSTER_KERNEL_NIC_QUEUE] = "nic-queue",
	[MUSTER_KERNEL_LINK_FLAP] = "link-flap",
	[MUSTER_KERNEL_LINK_FLAPS] = "link-flaps",
	[MUSTER_KERNEL_LINK_FLAPS_DAY] = "link-flaps-day",
	[MUSTER_KERNEL_IOMMU] = "iommu-fault",
	[MUSTER_KERNEL_MCE] = "mce",
	[MUSTER_KERNEL_EDAC_UNCORRECTED] = "edac-uncorrected",
	[MUSTER_KERNEL_EDAC_CORRECTED] = "edac-corrected",
	[MUSTER_KERNEL_OOM] = "oom",
	[MUSTER_KERNEL_HUNG_TASK] = "hung-task",
	[MUSTER_KERNEL_LOCKUP] = "lockup",
	[MUSTER_KERNEL_LOCKUP_LONG] = "lockup-long",
	[MUSTER_KERNEL_OOPS] = "oops",
	[MUSTER_KERNEL_DISK_LOST] = "disk-lost",
	[MUSTER_KERNEL_DISK_ERROR] = "disk-error",
	[MUSTER_KERNEL_FS_ERROR] = "fs-error",
	[MUSTER_KERNEL_READ_ONLY] = "read-only",
	[MUSTER_KERNEL_DRIVER_VERSION] = "driver-version",
	[MUSTER_KERNEL_DRIVER_UNSIGNED] = "driver-unsigned",
	[MUSTER_KERNEL_DRIVER_FIRMWARE] = "driver-firmware",
	[MUSTER_KERNEL_DRIVER_PROBE] = "driver-probe",
	[MUSTER_KERNEL_LINK_DOWN] = "link-down",
	[MUSTER_KERNEL_LINK_UP] = "link-up",
	[MUSTER_KERNEL_DRIVER_STARTS] = "driver-starts",
	[MUSTER_KERNEL_DRIVER_LOADED] = "driver-loaded",
	[MUSTER_KERNEL_GPU_RESET] = "gpu-reset",
};

/* Two forms of PCIe's Advanced Error Reporting; text follows "DRIVER BUS-ID: ":
 *
 *    "PCIe Bus Error: severity=Uncorrected (Fatal), ..."                      of the device itself
 *    "AER: Multiple Uncorrected (Non-Fatal) error received: 0000:3b:00.0"     of the port above it
 *
 * The port's line of an uncorrected error adds to the device's line (`follows`). A port's line of a corrected error is
 * no event. */
static bool parse_aer(const char *text, const char *device, struct muster_kernel_event *ret)
{
	const char *rest = after(text, "AER: ");
	const char *bus_error = after(rest ? rest : text, "PCIe Bus Error: ");
	bool received = !bus_error && rest && strstr(rest, " error ") && strstr(rest, " received");
	const char *severity = bus_error ? bus_error : rest;
	if (!bus_error && !received)
		return false;
	const char *words = after(severity, bus_error ? "severity=" : "Multiple ");
	severity = words ? words : severity;
	if (!after(severity, "Uncorrect"))
		/* of a corrected error the port's line says nothing that the device's own line does not say */
		return bus_error && after(severity, "Correct") &&
		       event(ret, MUSTER_KERNEL_AER_CORRECTED, device, false);
	/* the device that the port names, unless that is the root complex, which stands for "not known" */
	char named[40];
	if (received && *find_bus_id(severity, named, sizeof named) && strcmp(named, "0000:00:00.0") != 0)
		device = named;
	bool fatal = strncmp(severity + strcspn(severity, "(,"), "(Fatal)", 7) == 0;
	return event(ret, fatal ? MUSTER_KERNEL_AER_FATAL : MUSTER_KERNEL_AER_NONFATAL, device, received);
}

/* What any PCI device's driver, or its port's, says: text follows "DRIVER BUS-ID: ". */
static bool parse_pci(const char *text, const char *device, struct muster_kernel_event *ret)
{
	if (after(text, "AER: ") || after(text, "PCIe Bus Error: "))
		return parse_aer(text, device, ret);
	/* not that of nouveau: nvidia/ad102/gsp/ */
	const char *firmware = after(text, "Direct firmware load for nvidia/");
	if (firmware && isdigit((unsigned char)*firmware) && strstr(firmware, "/gsp_"))
		return event(ret, MUSTER_KERNEL_DRIVER_FIRMWARE, device, false);
	if (after(text, "DPC: containment event"))
		return event(ret, MUSTER_KERNEL_AER_FATAL, device, false);
	if (!after(text, "pciehp: Slot("))
		return false;
	if (strstr(text, "): Link Down"))
		return event(ret, MUSTER_KERNEL_PCIE_LINK, device, false);
	return strstr(text, "): Card not present") && event(ret, MUSTER_KERNEL_PCIE_LINK, device, true);
}

/* "DRIVER BUS-ID: text" or "DRIVER BUS-ID NAME: text". */
static bool parse_device(const char *text, struct muster_kernel_event *ret)
{
	char device[40];
	size_t driver = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
	if (driver == 0 || text[driver] != ' ')
		return false;
	const char *rest = take_bus_id(text + driver + 1, device, sizeof device);
	if (!rest || (*rest != ':' && *rest != ' '))
		return false;
	if (after(rest, ": ") && parse_pci(rest + 2, device, ret))
		return true;
	return muster_kernel_adapter_parse(text, rest, device, ret);
}

/* "CPU 3: Machine Check Exception: 5 Bank 7: be00000000800400": bit 61 of the status says that the error was not
 * corrected (Intel SDM volume 3B, IA32_MCi_STATUS; AMD's is the same). Without a status it counts as not corrected. */
static bool parse_machine_check(const char *text, struct muster_kernel_event *ret)
{
	char device[40] = "";
	const char *check = strstr(text, ": Machine Check"), *bank = check ? strstr(check, " Bank ") : NULL;
	const char *status = bank ? strstr(bank, ": ") : NULL;
	const char *cpu = after(text, "CPU ");
	if (!check)
		return false;
	if (cpu)
		snprintf(device, sizeof device, "cpu%.*s", (int)strspn(cpu, "0123456789"), cpu);
	bool corrected = status && !(strtoull(status + 2, NULL, 16) >> 61 & 1);
	return event(ret, corrected ? MUSTER_KERNEL_EDAC_CORRECTED : MUSTER_KERNEL_MCE, device, false);
}

/* "[Hardware Error]: " with "mce: " before it, or nothing (AMD). "Machine check events logged" is no event: the kernel
 * prints it of corrected errors too. What has "{3}" before it is of the firmware: kernel_firmware.c. */
static bool parse_hardware_error(const char *text, struct muster_kernel_event *ret)
{
	const char *error = strstr(text, "[Hardware Error]: ");
	if (!error || error - text > 16)
		return false;
	error += strlen("[Hardware Error]: ");
	if (parse_machine_check(error, ret))
		return true;
	if (after(error, "Corrected error, no action required"))
		return event(ret, MUSTER_KERNEL_EDAC_CORRECTED, "", false);
	return (after(error, "Uncorrected, ") || after(error, "Deferred error") ||
		       after(error, "System Fatal error")) &&
	       event(ret, MUSTER_KERNEL_MCE, "", false);
}

/* "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (...)" */
static bool parse_edac(const char *text, struct muster_kernel_event *ret)
{
	char device[40];
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > 4 || !after(text + digits, ": "))
		return false;
	snprintf(device, sizeof device, "mc%.*s", (int)digits, text);
	const char *count = text + digits + 2, *word = count + strspn(count, "0123456789");
	bool corrected = after(word, " CE ");
	if (word == count || !(corrected || after(word, " UE ")) || !isalpha((unsigned char)word[4]) ||
		!strstr(word, " on "))
		return false;
	return event(ret, corrected ? MUSTER_KERNEL_EDAC_CORRECTED : MUSTER_KERNEL_EDAC_UNCORRECTED, device, false);
}

/* The kernel ran out of memory as a whole. Kills in a memory cgroup (constraint=CONSTRAINT_MEMCG) are an affair of the
 * job whose limit it is. The line adds to "Out of memory: Kill...". */
static bool parse_oom(const char *text, struct muster_kernel_event *ret)
{
	bool machine = strstr(text, ",global_oom") && !after(text, "CONSTRAINT_MEMCG");
	return machine && event(ret, MUSTER_KERNEL_OOM, "", true);
}

/* By the beginning of a line: a function that reads the rest (or with `whole` the whole line); without a function,
 * `has` is what the rest must contain, and `kind` the event, which names no device. */
static const struct {
	const char *begins;
	bool (*parse)(const char *text, struct muster_kernel_event *ret);
	bool whole;
	const char *has;
	enum muster_kernel_event_kind kind;
} rows[] = {
	{ "Loading of ", NULL, false, " is rejected", MUSTER_KERNEL_DRIVER_UNSIGNED },
	{ "nvidia: loading of ", NULL, false, " is rejected", MUSTER_KERNEL_DRIVER_UNSIGNED },
	{ "Lockdown: ", NULL, false, ": unsigned module loading is restricted", MUSTER_KERNEL_DRIVER_UNSIGNED },
	{ "mce: [Hardware Error]", parse_hardware_error, true, NULL, 0 },
	{ "[Hardware Error]", parse_hardware_error, true, NULL, 0 },
	{ "mce: Uncorrected hardware memory error", NULL, false, "", MUSTER_KERNEL_MCE },
	{ "Memory failure: 0x", NULL, false, "recovery action for", MUSTER_KERNEL_EDAC_UNCORRECTED },
	{ "EDAC MC", parse_edac, false, NULL, 0 },
	{ "Out of memory: Kill", NULL, false, " process ", MUSTER_KERNEL_OOM },
	{ "oom-kill:constraint=", parse_oom, false, NULL, 0 },
};

/* What the kernel says of a process begins with the name that the process gave itself, of any 15 bytes, and may end
 * with the name of its file: "NAME[4711]: segfault", "NAME[4711] trap", "NAME (4711): " (Linux, arch/x86/mm/fault.c,
 * traps.c). Such a name could look like an event. So the first 15 bytes and what follows them are searched for
 * the forms in which the kernel goes on. */
static bool is_of_process(const char *text)
{
	for (const char *at = text; *at && at <= text + 15; at++) {
		const char *pid = *at == '[' ? at + 1 : after(at, " (");
		const char *end = pid ? pid + strspn(pid, "0123456789") : NULL;
		if (end > pid && *end == (*at == '[' ? ']' : ')') && (end[1] == ':' || end[1] == ' '))
			return true;
		if ((*at == ':' && (after(at, ": page allocation failure") || after(at, ": vmalloc "))) ||
			(*at == ' ' && (after(at, " invoked oom-killer") || after(at, " uses obsolete (PF_INET"))))
			return true;
	}
	return false;
}

bool muster_kernel_event_parse(const char *text, struct muster_kernel_event *ret)
{
	bool is_process = is_of_process(text);
	for (size_t i = 0; i < sizeof rows / sizeof *rows && !is_process; i++) {
		const char *rest = *text == *rows[i].begins ? after(text, rows[i].begins) : NULL;
		if (rest && rows[i].parse)
			return rows[i].parse(rows[i].whole ? text : rest, ret);
		if (rest && strstr(rest, rows[i].has))
			return event(ret, rows[i].kind, "", false);
	}
	return !is_process && (muster_kernel_nvidia_parse(text, ret) || parse_device(text, ret) ||
				      muster_kernel_host_parse(text, ret));
}
