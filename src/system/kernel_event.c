/* kernel_event.c - one line of the kernel's log becomes an event, if it tells of one
 *
 * Texts are those of Linux (drivers/pci/pcie/aer.c, drivers/net/ethernet/mellanox/mlx5, mm/oom_kill.c, ...) from 4.18
 * on, and of the NVIDIA driver. docs/dev/probes.md lists which lines are left out, and why.
 */
#include "system/kernel_event.h"
#include "system/sysfs.h"
#include "util/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const muster_kernel_event_names[MUSTER_KERNEL_EVENT_COUNT] = {
	[MUSTER_KERNEL_XID] = "xid",
	[MUSTER_KERNEL_SXID] = "sxid",
	[MUSTER_KERNEL_GPU_LOST] = "gpu-lost",
	[MUSTER_KERNEL_GPU_INIT] = "gpu-init",
	[MUSTER_KERNEL_AER_FATAL] = "aer-fatal",
	[MUSTER_KERNEL_AER_NONFATAL] = "aer-nonfatal",
	[MUSTER_KERNEL_AER_CORRECTED] = "aer-corrected",
	[MUSTER_KERNEL_PCIE_LINK] = "pcie-link",
	[MUSTER_KERNEL_NIC_ERROR] = "nic-error",
	[MUSTER_KERNEL_LINK_FLAP] = "link-flap",
	[MUSTER_KERNEL_MCE] = "mce",
	[MUSTER_KERNEL_EDAC_UNCORRECTED] = "edac-uncorrected",
	[MUSTER_KERNEL_EDAC_CORRECTED] = "edac-corrected",
	[MUSTER_KERNEL_OOM] = "oom",
	[MUSTER_KERNEL_HUNG_TASK] = "hung-task",
	[MUSTER_KERNEL_LOCKUP] = "lockup",
	[MUSTER_KERNEL_READ_ONLY] = "read-only",
	[MUSTER_KERNEL_LINK_DOWN] = "link-down",
	[MUSTER_KERNEL_LINK_UP] = "link-up",
	[MUSTER_KERNEL_DRIVER_STARTS] = "driver-starts",
	[MUSTER_KERNEL_DRIVER_LOADED] = "driver-loaded",
};

/* What follows prefix; NULL when text does not begin with it. */
static const char *after(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);
	return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static bool event(struct muster_kernel_event *ret, enum muster_kernel_event_kind kind, const char *device, bool follows)
{
	*ret = (struct muster_kernel_event){ .kind = kind, .follows = follows };
	snprintf(ret->device, sizeof ret->device, "%s", *device ? device : "none");
	return true;
}

/* A PCI address at the beginning of text, with or without its function (".0"), in sysfs form. Returns what follows it,
 * or NULL. */
static const char *take_bus_id(const char *text, char *ret, size_t size)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	char id[24];
	size_t domain = strspn(text, digits), length = domain + strlen(":bb:dd");
	if (domain < 4 || domain > 8 || strnlen(text, length) < length || text[domain] != ':' ||
		strspn(text + domain + 1, digits) != 2 || text[domain + 3] != ':' ||
		strspn(text + domain + 4, digits) != 2)
		return NULL;
	bool has_function = text[length] == '.' && text[length + 1] >= '0' && text[length + 1] <= '7';
	snprintf(id, sizeof id, "%.*s.%c", (int)length, text, has_function ? text[length + 1] : '0');
	return muster_bus_id_normalise(id, ret, size, NULL) < 0 ? NULL : text + length + (has_function ? 2 : 0);
}

/* The first PCI address of the text; "" when there is none. */
static const char *find_bus_id(const char *text, char *ret, size_t size)
{
	*ret = '\0';
	for (const char *at = text; *at; at++)
		if (isxdigit((unsigned char)*at) && (at == text || !isxdigit((unsigned char)at[-1])) &&
			take_bus_id(at, ret, size))
			break;
	return ret;
}

/* "(PCI:0000:3b:00): 79, ...", also "(0000:03:00): ", "(PCI:0000:c1:00 GPU-I:05): " of a MIG instance, and
 * "(PCI:0000:05:00.0): " of an NVSwitch. Returns what follows the code. */
static const char *take_code(const char *text, enum muster_kernel_event_kind kind, struct muster_kernel_event *ret)
{
	char device[40];
	const char *pci = after(text, "PCI:");
	const char *at = take_bus_id(pci ? pci : text, device, sizeof device);
	at = at ? strstr(at, "): ") : NULL;
	if (!at)
		return NULL;
	at += strlen("): ");
	size_t zeros = strspn(at, "0"), length = strspn(at + zeros, "0123456789");
	if (zeros + length == 0 || length >= sizeof ret->code)
		return NULL;
	event(ret, kind, device, false);
	snprintf(ret->code, sizeof ret->code, "%.*s", length ? (int)length : 1, length ? at + zeros : "0");
	return at + zeros + length;
}

static bool parse_nvrm(const char *text, struct muster_kernel_event *ret)
{
	char device[40];
	const char *xid = after(text, "Xid (");
	struct muster_kernel_event found;
	if (xid) {
		const char *rest = take_code(xid, MUSTER_KERNEL_XID, &found);
		/* Xid 154 tells each change of what the GPU needs: also that it needs nothing any more. */
		if (!rest || (strcmp(found.code, "154") == 0 && strstr(rest, "to 0x0 (None)")))
			return false;
		*ret = found;
		return true;
	}
	if (after(text, "loading NVIDIA UNIX"))
		return event(ret, MUSTER_KERNEL_DRIVER_LOADED, "", false);
	if (strstr(text, "fallen off the bus"))
		return event(ret, MUSTER_KERNEL_GPU_LOST, find_bus_id(text, device, sizeof device), false);
	if (strstr(text, "RmInitAdapter failed"))
		return event(ret, MUSTER_KERNEL_GPU_INIT, find_bus_id(text, device, sizeof device), false);
	if (strstr(text, "rm_init_adapter failed"))
		return event(ret, MUSTER_KERNEL_GPU_INIT, find_bus_id(text, device, sizeof device), true);
	return false;
}

/* "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 ..."; two lines more have the same code, with
 * the severity and the registers. */
static bool parse_nvswitch(const char *text, struct muster_kernel_event *ret)
{
	const char *sxid = strstr(text, ": SXid (");
	struct muster_kernel_event found;
	const char *rest = sxid ? take_code(sxid + strlen(": SXid ("), MUSTER_KERNEL_SXID, &found) : NULL;
	if (!rest)
		return false;
	found.follows = after(rest, ", Data {") || after(rest, ", Severity ");
	*ret = found;
	return true;
}

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
		/* the port's "received" says nothing that the device's own line does not say */
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
	if (after(text, "DPC: containment event"))
		return event(ret, MUSTER_KERNEL_AER_FATAL, device, false);
	if (!after(text, "pciehp: Slot("))
		return false;
	if (strstr(text, "): Link Down"))
		return event(ret, MUSTER_KERNEL_PCIE_LINK, device, false);
	return strstr(text, "): Card not present") && event(ret, MUSTER_KERNEL_PCIE_LINK, device, true);
}

static bool parse_mlx5(const char *text, const char *device, struct muster_kernel_event *ret)
{
	static const struct {
		const char *has;
		enum muster_kernel_event_kind kind;
		bool follows;
	} rows[] = {
		{ ": Link down", MUSTER_KERNEL_LINK_DOWN, false },
		{ ": Link up", MUSTER_KERNEL_LINK_UP, false },
		{ ": Port: 1 Link DOWN", MUSTER_KERNEL_LINK_DOWN, false },
		{ ": Port: 1 Link ACTIVE", MUSTER_KERNEL_LINK_UP, false },
		{ "Port module event[error]", MUSTER_KERNEL_NIC_ERROR, false },
		{ ", Cable unplugged", MUSTER_KERNEL_LINK_DOWN, false },
		{ ", Cable plugged", MUSTER_KERNEL_LINK_UP, false },
		{ "Fatal error ", MUSTER_KERNEL_NIC_ERROR, false },
		{ "Health issue observed", MUSTER_KERNEL_NIC_ERROR, false },
		{ "health compromised", MUSTER_KERNEL_NIC_ERROR, false },
		{ "High temperature on sensors", MUSTER_KERNEL_NIC_ERROR, false },
		{ "timeout. Will cause a leak of a command resource", MUSTER_KERNEL_NIC_ERROR, false },
		{ "TX timeout detected", MUSTER_KERNEL_NIC_ERROR, false },
		{ "assert_var[", MUSTER_KERNEL_NIC_ERROR, true },
		/* not "syndrome (0x": that is a command which the firmware refused, normal in a virtual machine */
		{ "synd 0x", MUSTER_KERNEL_NIC_ERROR, true },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strstr(text, rows[i].has))
			return event(ret, rows[i].kind, device, rows[i].follows);
	return false;
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
	return after(text, "mlx5_core ") && parse_mlx5(rest, device, ret);
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

/* "[Hardware Error]: " with "mce: " before it, "{3}" of the firmware (APEI), or nothing (AMD). "Machine check events
 * logged" is no event: the kernel prints it of corrected errors too. */
static bool parse_hardware_error(const char *text, struct muster_kernel_event *ret)
{
	const char *error = strstr(text, "[Hardware Error]: ");
	if (!error || error - text > 16)
		return false;
	bool firmware = *text == '{';
	error += strlen("[Hardware Error]: ");
	if (parse_machine_check(error, ret))
		return true;
	if (firmware)
		return (after(error, "event severity: recoverable") || after(error, "event severity: fatal") ||
			       after(error, "event severity: panic")) &&
		       event(ret, MUSTER_KERNEL_MCE, "", false);
	if (after(error, "Corrected error, no action required"))
		return event(ret, MUSTER_KERNEL_EDAC_CORRECTED, "", false);
	return (after(error, "Uncorrected, ") || after(error, "Deferred error") ||
		       after(error, "System Fatal error")) &&
	       event(ret, MUSTER_KERNEL_MCE, "", false);
}

/* "EDAC MC0: 1 CE memory read error on ..." */
static bool parse_edac(const char *text, struct muster_kernel_event *ret)
{
	char device[40];
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > 4 || !after(text + digits, ": "))
		return false;
	snprintf(device, sizeof device, "mc%.*s", (int)digits, text);
	const char *count = text + digits + 2, *word = count + strspn(count, "0123456789");
	if (word == count)
		return false;
	if (after(word, " UE "))
		return event(ret, MUSTER_KERNEL_EDAC_UNCORRECTED, device, false);
	return after(word, " CE ") && event(ret, MUSTER_KERNEL_EDAC_CORRECTED, device, false);
}

/* A memory cgroup's kills ("Memory cgroup out of memory", constraint=CONSTRAINT_MEMCG) are its job's own affair. */
static bool parse_oom(const char *text, struct muster_kernel_event *ret)
{
	bool machine = strstr(text, ",global_oom") && !strstr(text, "CONSTRAINT_MEMCG");
	return machine && event(ret, MUSTER_KERNEL_OOM, "", true);
}

static bool parse_lockup(const char *text, struct muster_kernel_event *ret)
{
	static const char *const marks[] = { "soft lockup - CPU#", "hard LOCKUP on cpu " };
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		const char *cpu = strstr(text, marks[i]);
		char device[40];
		if (!cpu)
			continue;
		cpu += strlen(marks[i]);
		snprintf(device, sizeof device, "cpu%.*s", (int)strspn(cpu, "0123456789"), cpu);
		return event(ret, MUSTER_KERNEL_LOCKUP, device, false);
	}
	return (strstr(text, "detected stall") || strstr(text, "self-detected stall")) &&
	       event(ret, MUSTER_KERNEL_LOCKUP, "", false);
}

/* "EXT4-fs (md0): Remounting filesystem read-only", "XFS (md127): ... Shutting down filesystem", "BTRFS info (device
 * sda1: state EA): forced readonly" */
static bool parse_file_system(const char *text, struct muster_kernel_event *ret)
{
	if (!strstr(text, "Remounting filesystem read-only") && !strcasestr(text, "shutting down filesystem") &&
		!strstr(text, "forced readonly"))
		return false;
	char device[40] = "";
	const char *open = strchr(text, '(');
	const char *name = open ? after(open, "(device ") : NULL;
	name = name || !open ? name : open + 1;
	if (name)
		snprintf(device, sizeof device, "%.*s", (int)strcspn(name, ": )"), name);
	return event(ret, MUSTER_KERNEL_READ_ONLY, device, false);
}

/* Rows with a function: it gets what follows the beginning, or the whole line. Rows with `has`: the line's. */
static const struct {
	const char *begins;
	bool (*parse)(const char *text, struct muster_kernel_event *ret);
	bool whole;
	const char *has;
	enum muster_kernel_event_kind kind;
} rows[] = {
	{ "NVRM: ", parse_nvrm, false, NULL, 0 },
	{ "nvidia-nvswitch", parse_nvswitch, false, NULL, 0 },
	{ "nvidia-nvlink: ", NULL, false, "Nvlink Core is being initialized", MUSTER_KERNEL_DRIVER_STARTS },
	{ "mce: [Hardware Error]", parse_hardware_error, true, NULL, 0 },
	{ "[Hardware Error]", parse_hardware_error, true, NULL, 0 },
	{ "{", parse_hardware_error, true, NULL, 0 },
	{ "mce: ", NULL, false, "Uncorrected hardware memory error", MUSTER_KERNEL_MCE },
	{ "Memory failure: 0x", NULL, false, "recovery action for", MUSTER_KERNEL_EDAC_UNCORRECTED },
	{ "EDAC MC", parse_edac, false, NULL, 0 },
	{ "Out of memory: Kill", NULL, false, " process ", MUSTER_KERNEL_OOM },
	{ "oom-kill:", parse_oom, false, NULL, 0 },
	{ "INFO: task ", NULL, false, " blocked for more than ", MUSTER_KERNEL_HUNG_TASK },
	{ "watchdog: ", parse_lockup, false, NULL, 0 },
	{ "NMI watchdog: ", parse_lockup, false, NULL, 0 },
	{ "BUG: soft lockup", parse_lockup, true, NULL, 0 },
	{ "rcu: INFO: ", parse_lockup, false, NULL, 0 },
	{ "INFO: rcu_", parse_lockup, false, NULL, 0 },
	{ "EXT4-fs ", parse_file_system, false, NULL, 0 },
	{ "XFS ", parse_file_system, false, NULL, 0 },
	{ "BTRFS", parse_file_system, false, NULL, 0 },
};

bool muster_kernel_event_parse(const char *text, struct muster_kernel_event *ret)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *rest = *text == *rows[i].begins ? after(text, rows[i].begins) : NULL;
		if (rest && rows[i].parse)
			return rows[i].parse(rows[i].whole ? text : rest, ret);
		if (rest && strstr(rest, rows[i].has))
			return event(ret, rows[i].kind, "", false);
	}
	return parse_device(text, ret);
}

/* ---- the events of a kernel log, counted: one entry for each distinct event ---- */

#define FOLLOWS_WITHIN_S 1.0 /* lines of one event */
#define LOADING_S 60.0       /* the NVIDIA driver's, from its first line to its last, where its first is not there */

static bool is_gpu(enum muster_kernel_event_kind kind)
{
	return kind == MUSTER_KERNEL_XID || kind == MUSTER_KERNEL_SXID || kind == MUSTER_KERNEL_GPU_LOST ||
	       kind == MUSTER_KERNEL_GPU_INIT;
}

static enum muster_kernel_group group_of(enum muster_kernel_event_kind kind)
{
	return kind == MUSTER_KERNEL_XID    ? MUSTER_KERNEL_XIDS
	       : kind == MUSTER_KERNEL_SXID ? MUSTER_KERNEL_SXIDS
					    : MUSTER_KERNEL_OTHERS;
}

/* At most size - 1 bytes, whole characters, and nothing that could drive a terminal. */
static void keep_line(char *to, size_t size, const char *text)
{
	size_t used = 0, left = strlen(text);
	while (left > 0) {
		unsigned long point;
		size_t bytes = muster_utf8_next(text, left, &point);
		bool plain = bytes > 0 && !muster_utf8_is_harmful(point);
		size_t taken = bytes ? bytes : 1;
		if (used + (plain ? bytes : 1) >= size)
			break;
		if (plain)
			memcpy(to + used, text, bytes);
		else
			to[used] = '?';
		used += plain ? bytes : 1;
		text += taken;
		left -= taken;
	}
	to[used] = '\0';
}

static struct muster_kernel_seen *find(
	struct muster_kernel_seen *seen, size_t count, const struct muster_kernel_event *event, bool during)
{
	for (size_t i = 0; i < count; i++)
		if (seen[i].event.kind == event->kind && seen[i].during == during &&
			strcmp(seen[i].event.device, event->device) == 0 &&
			strcmp(seen[i].event.code, event->code) == 0)
			return &seen[i];
	return NULL;
}

/* The place that a new event of this kind takes when all are taken: of the kind that has the most entries, the oldest.
 * NULL when the new one is older still. */
static struct muster_kernel_seen *displace(
	struct muster_kernel_seen *seen, size_t count, enum muster_kernel_event_kind kind, double seconds)
{
	size_t entries[MUSTER_KERNEL_EVENT_COUNT] = { 0 };
	enum muster_kernel_event_kind most = kind;
	struct muster_kernel_seen *oldest = NULL;
	for (size_t i = 0; i < count; i++)
		entries[seen[i].event.kind]++;
	for (size_t i = 0; i < MUSTER_KERNEL_EVENT_COUNT; i++)
		if (entries[i] > entries[most])
			most = (enum muster_kernel_event_kind)i;
	for (size_t i = 0; i < count; i++)
		if (seen[i].event.kind == most && (!oldest || seen[i].newest < oldest->newest))
			oldest = &seen[i];
	return oldest && (most != kind || oldest->newest <= seconds) ? oldest : NULL;
}

static void count(struct muster_kernel_tally *tally, const struct muster_kernel_event *event, const char *text,
	double seconds, bool during)
{
	enum muster_kernel_group group = group_of(event->kind);
	struct muster_kernel_seen *seen = tally->seen[group];
	struct muster_kernel_seen *entry = find(seen, tally->count[group], event, during);
	bool is_new = !entry;
	if (is_new && tally->count[group] < MUSTER_KERNEL_SEEN_MAX) {
		entry = &seen[tally->count[group]++];
	} else if (is_new) {
		tally->left_out++;
		entry = displace(seen, tally->count[group], event->kind, seconds);
		if (!entry)
			return;
	}
	if (is_new)
		*entry = (struct muster_kernel_seen){ .event = *event, .during = during, .newest = -1, .last = -1 };
	bool same =
		!is_new && fabs(seconds - entry->last) <= FOLLOWS_WITHIN_S && (event->follows || entry->last_follows);
	entry->last = seconds;
	if (same && event->follows)
		return;
	entry->last_follows = event->follows;
	if (!same)
		entry->count++;
	bool better = entry->event.follows && !event->follows && entry->newest - seconds <= FOLLOWS_WITHIN_S;
	if (seconds < entry->newest && !better)
		return;
	entry->event.follows = event->follows;
	entry->newest = fmax(seconds, entry->newest);
	keep_line(entry->line, sizeof entry->line, text);
}

static void driver_loaded(struct muster_kernel_tally *tally, double since)
{
	if (since <= tally->gpus_since)
		return;
	tally->gpus_since = since;
	for (size_t g = 0; g < MUSTER_KERNEL_GROUPS; g++) {
		size_t kept = 0;
		for (size_t i = 0; i < tally->count[g]; i++)
			if (!is_gpu(tally->seen[g][i].event.kind) || tally->seen[g][i].newest >= since)
				tally->seen[g][kept++] = tally->seen[g][i];
		tally->count[g] = kept;
	}
}

/* A flap: down, and later up again. The half that is read first waits for the other one. */
static void link_changed(struct muster_kernel_tally *tally, const struct muster_kernel_event *event, const char *text,
	double seconds, bool during, bool backwards)
{
	for (size_t i = 0; i < tally->half_count && tally->backwards != backwards; i++)
		tally->halves[i].open = false; /* halves that another order of lines left */
	tally->backwards = backwards;
	bool first = (event->kind == MUSTER_KERNEL_LINK_DOWN) != backwards;
	struct muster_kernel_half *half = NULL;
	if (seconds < MUSTER_KERNEL_TRAINING_S)
		return;
	for (size_t i = 0; i < tally->half_count && !half; i++)
		if (strcmp(tally->halves[i].device, event->device) == 0)
			half = &tally->halves[i];
	if (!half && first && tally->half_count < MUSTER_KERNEL_LINKS_MAX) {
		half = &tally->halves[tally->half_count++];
		*half = (struct muster_kernel_half){ .at = seconds };
		memcpy(half->device, event->device, sizeof half->device);
	}
	if (!half || half->open == first)
		return;
	if (first) {
		half->open = true;
		half->at = seconds;
		half->during = during;
		keep_line(half->line, sizeof half->line, text);
		return;
	}
	half->open = false;
	struct muster_kernel_event flap = *event;
	flap.kind = MUSTER_KERNEL_LINK_FLAP;
	count(tally, &flap, backwards ? text : half->line, backwards ? half->at : seconds,
		backwards ? half->during : during);
}

void muster_kernel_tally_add(
	struct muster_kernel_tally *tally, const char *text, double seconds, bool during, bool backwards)
{
	struct muster_kernel_event event;
	if (!muster_kernel_event_parse(text, &event))
		return;
	switch (event.kind) {
	case MUSTER_KERNEL_DRIVER_STARTS: driver_loaded(tally, seconds); break;
	case MUSTER_KERNEL_DRIVER_LOADED: driver_loaded(tally, seconds - LOADING_S); break;
	case MUSTER_KERNEL_LINK_DOWN:
	case MUSTER_KERNEL_LINK_UP: link_changed(tally, &event, text, seconds, during, backwards); break;
	default:
		if (!is_gpu(event.kind) || seconds >= tally->gpus_since)
			count(tally, &event, text, seconds, during);
	}
}
