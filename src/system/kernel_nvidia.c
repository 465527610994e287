/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_nvidia.c - lines of the NVIDIA driver: Xids, SXids, and what it says of GPUs and switches without a number
 *
 * Texts are those of NVIDIA/open-gpu-kernel-modules, 535 to 595: src/nvidia/src/kernel/gpu/gpu.c for Xid 154,
 * src/common/nvswitch/kernel (intr_nvswitch.h, error_nvswitch.c) for SXids; kernel_nvidia.def has the others.
 *
 *    line                                                                    kind, device, code
 *    NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus    xid 0000:3b:00.0 79
 *    NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from ...   xid 0000:3b:00.0 154-gpu-reset-required
 *    nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 22013, Non-fatal, Link 32    sxid 0000:05:00.0 22013-nonfatal
 *    NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.                     gpu-lost 0000:3b:00.0
 *
 * Some codes have cases, which are added to the code behind a dash: one number of an Xid stands for errors of very
 * different weight, and expectation files name code and case.
 */
#include "system/kernel_words.h"

#include <stdlib.h>
#include <strings.h>

/* The address and the number of an Xid or SXid into *ret. text is what follows the opening bracket: "PCI:0000:3b:00):
 * 79, ...", also "0000:03:00): ", "PCI:0000:c1:00 GPU-I:05): " of a MIG instance, and "PCI:0000:05:00.0): " of an
 * NVSwitch. Zeros before the number are dropped. Returns what follows the number; NULL when the text is not of this
 * form. */
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
	if (zeros + length == 0 || length > 11)
		return NULL;
	event(ret, kind, device, false);
	snprintf(ret->code, sizeof ret->code, "%.*s", length ? (int)length : 1, length ? at + zeros : "0");
	return at + zeros + length;
}

/* "149" becomes "149-fatal"; an empty name adds nothing. */
static void add_case(struct muster_kernel_event *ret, const char *name)
{
	size_t used = strlen(ret->code);
	if (*name)
		snprintf(ret->code + used, sizeof ret->code - used, "-%s", name);
}

/* ---- Xid ---- */

static const char *severity_of(const char *word, size_t length)
{
	static const char *const words[][2] = { { "Fatal", "fatal" }, { "Non-fatal", "nonfatal" },
		{ "Nonfatal", "nonfatal" }, { "Correctable", "correctable" } };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i][0]) == length && strncasecmp(word, words[i][0], length) == 0)
			return words[i][1];
	return "";
}

/* "149, NETIR Nonfatal XC0 i0 Link 4 (0x...)", where the name of a process may stand before the driver's own words. */
static const char *nvlink5_case(const char *text)
{
	const char *end = NULL;
	for (const char *at = text; (at = strstr(at, " XC")); at++)
		end = at;
	const char *word = end;
	while (word > text && word[-1] != ' ' && word[-1] != ',')
		word--;
	return end ? severity_of(word, (size_t)(end - word)) : "";
}

/* "74, NVLink: fatal error detected on link 6(0x800000, 0x0, ...)". What each bit of the seven registers means is in
 * NVIDIA's Xid catalogue, WORKFLOW_NVLINK_ERR (also NVSentinel, docs/designs/019-workflow-nvlink-err.md): bits to be
 * ignored; bits that matter only when they return, or say that errors were corrected; all others. */
static const char *nvlink4_case(const char *text)
{
	static const struct {
		unsigned long ignored, watched;
	} registers[7] = { { 0x40800001, 0x28000000 }, { 0, 0 }, { 0, 0x000f0000 }, { 0, 0 }, { 0, 0x24900000 } };
	const char *link = strstr(text, " error detected on link ");
	char *at = link ? strchr(link, '(') : NULL;
	unsigned long any = 0, watched = 0;
	for (size_t i = 0; i < 7; i++) {
		if (!at || !after(at, i ? ", 0x" : "(0x"))
			return "";
		unsigned long bits = strtoul(at + (i ? 2 : 1), &at, 16);
		if (bits & ~(registers[i].ignored | registers[i].watched))
			return "";
		any |= bits;
		watched |= bits & registers[i].watched;
	}
	return *at != ')' || !any ? "" : watched ? "watch" : "harmless";
}

/* change: "recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)". What the driver needs now, as it says,
 * becomes the case "gpu-reset-required". What the line means for earlier ones (ret->ends):
 *
 *    from a reset, to no reset or reboot    the reset was done: it ends the errors that a reset cures
 *    every other change                     it ends what an earlier line asked for
 *    to none                                no event itself, only an end
 */
static bool parse_recovery_action(const char *change, struct muster_kernel_event *ret)
{
	const char *to = strstr(change, " to 0x"), *name = to ? strchr(to, '(') : NULL;
	const char *from = strchr(change, '(');
	char words[28];
	size_t length = name ? strcspn(name + 1, ")") : 0, used = 0;
	for (size_t i = 0; i < length && used + 1 < sizeof words; i++)
		words[used++] = isalnum((unsigned char)name[1 + i]) ? (char)tolower((unsigned char)name[1 + i]) : '-';
	words[used] = '\0';
	bool was_reset = from < to && (after(from, "(GPU Reset") || after(from, "(Drain and Reset"));
	bool goes_on = strstr(words, "reset") || strstr(words, "reboot");
	ret->ends = was_reset && !goes_on ? MUSTER_KERNEL_ENDS_RESET : MUSTER_KERNEL_ENDS_ACTION;
	if (to && (strcmp(words, "none") == 0 || after(to, " to 0x0 ")))
		*ret->code = '\0', ret->kind = MUSTER_KERNEL_GPU_RESET;
	else
		add_case(ret, words);
	return true;
}

/* Xid 154 has the action as its case, 74 the registers of NVLink 4; of all others, NVLink 5 names a severity. */
static bool parse_xid(const char *text, struct muster_kernel_event *ret)
{
	struct muster_kernel_event found;
	const char *rest = take_code(text, MUSTER_KERNEL_XID, &found);
	if (!rest)
		return false;
	const char *change = strstr(rest, "recovery action changed from 0x");
	*ret = found;
	if (change && strcmp(found.code, "154") == 0)
		return parse_recovery_action(change, ret);
	add_case(ret, strcmp(found.code, "74") == 0 ? nvlink4_case(rest) : nvlink5_case(rest));
	return true;
}

/* ---- without a number ---- */

static const struct {
	const char *begins, *has;
	enum muster_kernel_event_kind kind;
	bool follows, nothing;
} rows[] = {
#define ROW(kind, begins, has) { begins, has, MUSTER_KERNEL_##kind, false, false },
#define FOLLOWS(kind, begins, has) { begins, has, MUSTER_KERNEL_##kind, true, false },
#define NOTHING(begins, has) { begins, has, 0, false, true },
#include "system/kernel_nvidia.def"
};

/* The event of the first row that fits. Rows whose beginning has an "@" are of NVSwitches. */
static bool find_line(bool of_switch, const char *text, const char *device, struct muster_kernel_event *ret)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *begins = rows[i].begins;
		if ((*begins == '@') != of_switch)
			continue;
		begins += of_switch;
		bool fits = strcmp(begins, "*") == 0 || (*begins == *text && after(text, begins));
		if (fits && strstr(text, rows[i].has))
			return !rows[i].nothing && event(ret, rows[i].kind, device, rows[i].follows);
	}
	return false;
}

/* text follows "NVRM: ": "GPU 0000:09:00.0: GPU has fallen off the bus.", "GPU0 kgspBootstrap_GH100: Failed to boot
 * GSP.", "RmInitAdapter failed! (...)". Three things may stand before the words of the table and are taken off in turn:
 * the address of the GPU, the driver's own number of it ("GPU0 "), and the name of a function. Without an address at
 * the beginning the first address in the text is the device. */
static bool parse_nvrm(const char *text, struct muster_kernel_event *ret)
{
	static const char identifier[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	static const char *const befores[] = { "GPU at PCI:", "GPU at ", "GPU ", "The NVIDIA GPU " };
	const char *says = NULL;
	char device[40] = "";
	for (size_t i = 0; i < sizeof befores / sizeof *befores && !says; i++)
		if ((says = after(text, befores[i])))
			says = take_bus_id(says, device, sizeof device);
	says = says ? says + strspn(says, ": ") : text;
	size_t gpu = after(says, "GPU") ? 3 + strspn(says + 3, "0123456789") : 0;
	if (gpu > 3 && says[gpu] == ' ')
		says += gpu + 1;
	size_t function = strspn(says, identifier);
	if (function > 0 && after(says + function, ": ") && !after(says, "NVRM: "))
		says += function + 2;
	if (!*device && !after(says, "API mismatch"))
		find_bus_id(says, device, sizeof device);
	return find_line(false, says, device, ret);
}

/* "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 ..."; more lines have the same code, with the
 * severity as a number and the registers. A switch that is probed begins anew. */
static bool parse_nvswitch(const char *text, struct muster_kernel_event *ret)
{
	struct muster_kernel_event found;
	char device[40] = "";
	size_t digits = strspn(text, "0123456789");
	const char *says = after(text + digits, ":"), *sxid = after(text + digits, ": SXid (");
	const char *probed = after(text, ": Probing device ");
	if (probed && take_bus_id(probed, device, sizeof device)) {
		event(ret, MUSTER_KERNEL_GPU_RESET, device, false);
		ret->ends = MUSTER_KERNEL_ENDS_RESET;
		return true;
	}
	const char *rest = sxid ? take_code(sxid, MUSTER_KERNEL_SXID, &found) : NULL;
	if (!rest) {
		if (digits)
			snprintf(device, sizeof device, "nvswitch%.*s", (int)digits, text);
		return says && find_line(true, says + strspn(says, " "), device, ret);
	}
	const char *word = after(rest, ", "), *severity = after(rest, ", Severity ");
	found.follows = severity || after(rest, ", Data {");
	*ret = found;
	if (word && strstr(word, "Minion Link NA interrupt"))
		add_case(ret, "na"); /* called fatal; the other end of the link was reset */
	else if (severity)
		add_case(ret, *severity == '0' ? "nonfatal" : "fatal");
	else if (word)
		add_case(ret, severity_of(word, strcspn(word, ", ")));
	return true;
}

bool muster_kernel_nvidia_parse(const char *text, struct muster_kernel_event *ret)
{
	const char *rest;
	if ((rest = after(text, "NVRM: Xid (")))
		return parse_xid(rest, ret);
	if ((rest = after(text, "NVRM: ")))
		return parse_nvrm(rest, ret);
	if ((rest = after(text, "nvidia-nvswitch")))
		return parse_nvswitch(rest, ret);
	if (after(text, "nvidia-uvm: ") && (rest = strstr(text, "] Encountered a global fatal error")))
		return parse_nvrm(rest + 2, ret);
	if ((rest = after(text, "nvidia: probe of ")) || (rest = after(text, "nvidia "))) {
		char device[40];
		rest = take_bus_id(rest, device, sizeof device);
		return rest &&
		       (after(rest, " failed with error") || after(rest, ": probe with driver nvidia failed")) &&
		       event(ret, MUSTER_KERNEL_GPU_INIT, device, true);
	}
	return after(text, "nvidia-nvlink: Nvlink Core is being initialized") &&
	       event(ret, MUSTER_KERNEL_DRIVER_STARTS, "", false);
}
