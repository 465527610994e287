/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernel_tally.c - lines in either order of time become the same counts */
#include "check_main.h"
#include "system/kernel_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY 86400.0
#define XID "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus."
#define LOST "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus."
#define STARTS "nvidia-nvlink: Nvlink Core is being initialized, major device number 511"
#define LOADED "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build"
#define ECC(bus) "NVRM: Xid (PCI:0000:" bus ":00): 48, pid=4711, name=train, DBE (double bit error) ECC Error detected"
#define ASKS(from, to) "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from " from " to " to
#define RESET ASKS("0x1 (GPU Reset Required)", "0x0 (None)")
#define NVSWITCH "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 22013, "
#define DOWN "mlx5_core 0000:5e:00.0 ens1: Link down"
#define UP "mlx5_core 0000:5e:00.0 ens1: Link up"
#define HEALTH "mlx5_core 0000:5e:00.0: "
#define OOM "Out of memory: Killed process 4711 (train) total-vm:1kB"

static struct muster_kernel_tally tally;

struct line {
	double seconds;
	const char *text;
};

static void setup(void)
{
	memset(&tally, 0, sizeof tally);
}

static void add(const struct line *lines, size_t count, bool backwards)
{
	for (size_t i = 0; i < count; i++) {
		const struct line *line = &lines[backwards ? count - 1 - i : i];
		muster_kernel_tally_add(&tally, line->text, line->seconds, false, backwards);
	}
	muster_kernel_tally_end(&tally);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* "kind device code count line;" of each entry, by name. */
static void print(char *out, size_t size)
{
	static char entries[8][128];
	size_t count = 0;
	*out = '\0';
	for (size_t g = 0; g < MUSTER_KERNEL_GROUPS; g++)
		for (size_t i = 0; i < tally.count[g]; i++) {
			const struct muster_kernel_seen *seen = &tally.seen[g][i];
			snprintf(entries[count++], sizeof *entries, "%s %s %lu %g %.30s;",
				muster_kernel_event_names[seen->event.kind], seen->event.device, seen->count,
				seen->newest, seen->line);
		}
	qsort(entries, count, sizeof *entries, by_name);
	for (size_t i = 0, used = 0; i < count; i++)
		used += (size_t)snprintf(out + used, size - used, "%s", entries[i]);
}

/* Lines in order of time, and what they become read in each order. */
static const struct {
	struct line lines[8];
	const char *seen;
} cases[] = {
	{ { { 0 } }, "" },
	{ { { DAY, XID }, { DAY + 600, XID }, { DAY + 1200, XID } },
		"xid 0000:3b:00.0 3 87600 NVRM: Xid (PCI:0000:3b:00): 79;" },
	/* a second of one event's lines */
	{ { { DAY, NVSWITCH "Data {0x1}" }, { DAY, NVSWITCH "Non-fatal, Link 4" }, { DAY, NVSWITCH "Severity 0" },
		  { DAY + 5, NVSWITCH "Data {0x2}" }, { DAY + 5, NVSWITCH "Non-fatal, Link 5" },
		  { DAY + 5, NVSWITCH "Severity 0" } },
		"sxid 0000:05:00.0 2 86405 nvidia-nvswitch3: SXid (PCI:00;" },
	/* the line with the GPU's address comes last */
	{ { { DAY, "NVRM: RmInitAdapter: Cannot initialize GSP firmware RM" },
		  { DAY + 0.5, "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x62:0x40:2015)" },
		  { DAY + 0.5, "NVRM: GPU 0000:3b:00.0: rm_init_adapter failed, device minor number 4" },
		  { DAY + 5, "NVRM: RmInitAdapter: Cannot initialize GSP firmware RM" },
		  { DAY + 5.5, "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x62:0x40:2015)" } },
		"gpu-init 0000:3b:00.0 2 86405.5 NVRM: GPU 0000:3b:00.0: RmInit;" },
	/* lines that only add, alone */
	{ { { DAY, NVSWITCH "Data {0x1}" }, { DAY + 5, NVSWITCH "Data {0x1}" } },
		"sxid 0000:05:00.0 2 86405 nvidia-nvswitch3: SXid (PCI:00;" },
	/* a driver that was loaded again */
	{ { { DAY, XID }, { DAY + 1, LOST }, { DAY + 2, OOM }, { DAY + 60, STARTS }, { DAY + 61, LOADED } },
		"oom none 1 86402 Out of memory: Killed process ;" },
	/* what it says while it loads */
	{ { { DAY, STARTS }, { DAY + 1, LOST }, { DAY + 2, LOADED } },
		"gpu-lost 0000:3b:00.0 1 86401 NVRM: GPU 0000:3b:00.0: GPU ha;" },
	{ { { DAY - 100, XID }, { DAY + 1, LOST }, { DAY + 2, LOADED } },
		"gpu-lost 0000:3b:00.0 1 86401 NVRM: GPU 0000:3b:00.0: GPU ha;" },
	/* what a crashed process is called */
	{ { { DAY, XID },
		  { DAY + 60, "nvidia-nvlink: [25550]: segfault at 0 ip 0000000000401646 sp 00007fff1c686d30 error "
			      "6 in Nvlink Core is being initialized[1646,401000+78000]" } },
		"xid 0000:3b:00.0 1 86400 NVRM: Xid (PCI:0000:3b:00): 79;" },
	/* a reset cures what a reset can cure, of this GPU, of before */
	{ { { DAY, ECC("3b") }, { DAY + 1, XID }, { DAY + 60, RESET } },
		"xid 0000:3b:00.0 1 86401 NVRM: Xid (PCI:0000:3b:00): 79;" },
	{ { { DAY, ECC("3b") }, { DAY, ECC("4b") }, { DAY + 60, RESET } },
		"xid 0000:4b:00.0 1 86400 NVRM: Xid (PCI:0000:4b:00): 48;" },
	/* a failed remap stays; what the driver asked for is over when it asks for something else */
	{ { { DAY, "NVRM: Xid (PCI:0000:3b:00): 64, Row Remapper Error" }, { DAY + 60, RESET } },
		"xid 0000:3b:00.0 1 86400 NVRM: Xid (PCI:0000:3b:00): 64;" },
	{ { { DAY, ASKS("0x0 (None)", "0x1 (GPU Reset Required)") },
		  { DAY + 60, ASKS("0x1 (GPU Reset Required)", "0x2 (Node Reboot Required)") } },
		"xid 0000:3b:00.0 1 86460 NVRM: Xid (PCI:0000:3b:00): 15;" },
	{ { { DAY, ECC("3b") }, { DAY + 1, ASKS("0x0 (None)", "0x3 (Drain P2P)") },
		  { DAY + 60, ASKS("0x3 (Drain P2P)", "0x0 (None)") } },
		"xid 0000:3b:00.0 1 86400 NVRM: Xid (PCI:0000:3b:00): 48;" },
	{ { { DAY, NVSWITCH "Fatal, Link 4" },
		  { DAY + 60, "nvidia-nvswitch: Probing device 0000:05:00.0, Vendor Id" } },
		"" },
	{ { { DAY, "NVRM: GPU 0000:3b:00.0: GSP RM heartbeat timed out" }, { DAY + 1, LOST }, { DAY + 60, RESET } },
		"gpu-lost 0000:3b:00.0 1 86401 NVRM: GPU 0000:3b:00.0: GPU ha;" },
	{ { { DAY, RESET }, { DAY + 60, ECC("3b") } }, "xid 0000:3b:00.0 1 86460 NVRM: Xid (PCI:0000:3b:00): 48;" },
	/* flaps: not while links train, and not of one half */
	{ { { DAY, DOWN }, { DAY + 4, UP }, { DAY + 60, DOWN }, { DAY + 61, UP } },
		"link-flap 0000:5e:00.0 2 86461 mlx5_core 0000:5e:00.0 ens1: L;" },
	{ { { 100, DOWN }, { 110, UP }, { 1799, DOWN }, { 1801, UP } }, "" },
	{ { { DAY, DOWN } }, "" },
	{ { { DAY, UP } }, "" },
	{ { { DAY, UP }, { DAY + 60, DOWN } }, "" },
	/* the heaviest line is kept, whatever came later; the time is the newest's */
	{ { { DAY, "watchdog: BUG: soft lockup - CPU#3 stuck for 67s! [train:4711]" },
		  { DAY + 90, "watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [train:4711]" } },
		"lockup cpu3 2 86490 watchdog: BUG: soft lockup - C;" },
	{ { { DAY, HEALTH "Health issue observed, firmware internal error, severity(3) ERROR:" },
		  { DAY, HEALTH "synd 0x1: firmware internal error" },
		  { DAY + 60, HEALTH "CREATE_MKEY(0x200) timeout. Will cause a leak of a command resource" } },
		"nic-error 0000:5e:00.0 2 86460 " HEALTH "Health;" },
	/* errors of the firmware: what the section is about, of the device that it names */
	{ { { DAY, "{3}[Hardware Error]: event severity: recoverable" }, { DAY + 60, OOM } },
		"mce none 1 86400 {3}[Hardware Error]: event sev;oom none 1 86460 Out of memory: Killed process ;" },
	{ { { DAY, "{4}[Hardware Error]: event severity: corrected" } }, "" },
	{ { { DAY, "{1}[Hardware Error]: event severity: recoverable" },
		  { DAY, "{1}[Hardware Error]:  Error 0, type: fatal" },
		  { DAY, "{1}[Hardware Error]:   section_type: PCIe error" },
		  { DAY, "mce: [Hardware Error]: Machine check events logged" },
		  { DAY, "{1}[Hardware Error]:   device_id: 0000:5e:00.0" },
		  { DAY, "{1}[Hardware Error]:   vendor_id: 0x144d, device_id: 0xa808" } },
		"aer-fatal 0000:5e:00.0 1 86400 {1}[Hardware Error]:   section;" },
	{ { { DAY, "{12}[Hardware Error]: event severity: recoverable" },
		  { DAY, "{12}[Hardware Error]:  Error 0, type: corrected" },
		  { DAY, "{12}[Hardware Error]:   section_type: memory error" },
		  { DAY, "{12}[Hardware Error]:  Error 1, type: recoverable" },
		  { DAY, "{12}[Hardware Error]:   section_type: ARM processor error" },
		  { DAY + 60, "{13}[Hardware Error]: event severity: corrected" } },
		"edac-corrected none 1 86400 {12}[Hardware Error]:   sectio;"
		"mce none 1 86400 {12}[Hardware Error]:   sectio;" },
	/* one cable, told twice */
	{ { { DAY, "mlx5_core 0000:5e:00.0: Port module event: module 0, Cable unplugged" }, { DAY + 0.1, DOWN },
		  { DAY + 4, "mlx5_core 0000:5e:00.0: Port module event: module 0, Cable plugged" },
		  { DAY + 4.1, UP } },
		"link-flap 0000:5e:00.0 1 86404 mlx5_core 0000:5e:00.0: Port m;" },
};

TEST_EACH(lines_are_counted_by_what_they_tell, cases)
{
	size_t count = 0;
	char text[1024];
	while (count < 8 && cases[_i].lines[count].text)
		count++;
	add(cases[_i].lines, count, false);
	print(text, sizeof text);
	ck_assert_str_eq(text, cases[_i].seen);
}

TEST_EACH(and_from_the_newest_line_backwards_as_well, cases)
{
	size_t count = 0;
	char forwards[1024], backwards[1024];
	while (count < 8 && cases[_i].lines[count].text)
		count++;
	add(cases[_i].lines, count, false);
	print(forwards, sizeof forwards);
	setup();
	add(cases[_i].lines, count, true);
	print(backwards, sizeof backwards);
	/* of a cable that is told twice, the other pair of lines is the flap: a tenth of a second apart */
	if (strstr(forwards, "Port m")) {
		ck_assert_uint_eq(tally.count[MUSTER_KERNEL_OTHERS], 1);
		ck_assert_uint_eq(tally.seen[MUSTER_KERNEL_OTHERS][0].count, 1);
	} else {
		ck_assert_str_eq(backwards, forwards);
	}
}

/* Three within three hours, and five within a day, in either order of lines. */
static const struct {
	double hours[6];
	size_t flaps;
	unsigned long often, daily;
} flaps[] = {
	{ { 0, 1 }, 2, 0, 0 },
	{ { 0, 1, 2.9 }, 3, 1, 0 },
	{ { 0, 2, 4 }, 3, 0, 0 },
	{ { 0, 5, 10, 15, 23.5 }, 5, 0, 1 },
	{ { 0, 5, 10, 15, 25 }, 5, 0, 0 },
	{ { 0, 0.5, 1, 1.5, 2, 2.5 }, 6, 4, 2 },
};

TEST_EACH(links_that_go_down_often_are_told_apart, flaps)
{
	for (int backwards = 0; backwards <= 1; backwards++) {
		struct line lines[12];
		unsigned long often = 0, daily = 0;
		setup();
		for (size_t i = 0; i < flaps[_i].flaps; i++) {
			double at = DAY + flaps[_i].hours[i] * 3600;
			lines[2 * i] = (struct line){ at, DOWN };
			lines[2 * i + 1] = (struct line){ at + 4, UP };
		}
		add(lines, 2 * flaps[_i].flaps, backwards);
		for (size_t i = 0; i < tally.count[MUSTER_KERNEL_OTHERS]; i++) {
			const struct muster_kernel_seen *seen = &tally.seen[MUSTER_KERNEL_OTHERS][i];
			often += seen->event.kind == MUSTER_KERNEL_LINK_FLAPS ? seen->count : 0;
			daily += seen->event.kind == MUSTER_KERNEL_LINK_FLAPS_DAY ? seen->count : 0;
			ck_assert_double_eq(seen->newest, lines[2 * flaps[_i].flaps - 1].seconds);
		}
		ck_assert_uint_eq(often, flaps[_i].often);
		ck_assert_uint_eq(daily, flaps[_i].daily);
	}
}

TEST(halves_of_flaps_that_were_read_in_different_orders_do_not_belong_together)
{
	muster_kernel_tally_add(&tally, DOWN, DAY + 60, false, false);
	muster_kernel_tally_add(&tally, DOWN, DAY, false, true);
	muster_kernel_tally_add(&tally, UP, DAY - 1, false, true);
	ck_assert_uint_eq(tally.count[MUSTER_KERNEL_OTHERS], 0);
	muster_kernel_tally_add(&tally, DOWN, DAY - 2, false, true);
	ck_assert_uint_eq(tally.count[MUSTER_KERNEL_OTHERS], 1);
}

TEST_LOOP(a_driver_that_was_there_before_is_not_loaded_by_a_line, 0, 2)
{
	static const struct line lines[] = { { DAY, XID }, { DAY + 300, STARTS }, { DAY + 302, LOADED } };
	tally.driver_by = _i == 0 ? DAY - 10 : DAY + 299; /* the second: when its folder came */
	add(lines, 3, false);
	ck_assert_uint_eq(tally.count[MUSTER_KERNEL_XIDS], _i == 0 ? 1 : 0);
}

TEST(of_one_events_lines_the_one_that_tells_it_is_kept)
{
	static const struct line lines[] = { { DAY, NVSWITCH "Data {0x1}" }, { DAY, NVSWITCH "Non-fatal, Link 4" },
		{ DAY, NVSWITCH "Severity 0" } };
	for (int backwards = 0; backwards <= 1; backwards++) {
		setup();
		add(lines, 3, backwards);
		ck_assert_str_eq(tally.seen[MUSTER_KERNEL_SXIDS][0].line, NVSWITCH "Non-fatal, Link 4");
	}
}

TEST_LOOP(two_severities_of_one_code_are_two_events, 0, 2)
{
	static const struct line lines[] = { { DAY, NVSWITCH "Fatal, Link 4" }, { DAY, NVSWITCH "Severity 1 Engine" },
		{ DAY, NVSWITCH "Data {0x1}" }, { DAY + 5, NVSWITCH "Non-fatal, Link 4" },
		{ DAY + 5, NVSWITCH "Severity 0 Engine" }, { DAY + 5, NVSWITCH "Data {0x1}" } };
	add(lines, 6, _i);
	ck_assert_uint_eq(tally.count[MUSTER_KERNEL_SXIDS], 2);
	for (size_t i = 0; i < 2; i++) {
		const struct muster_kernel_seen *seen = &tally.seen[MUSTER_KERNEL_SXIDS][i];
		ck_assert_uint_eq(seen->count, 1);
		ck_assert_str_eq(seen->event.code, seen->newest > DAY ? "22013-nonfatal" : "22013-fatal");
		ck_assert_ptr_nonnull(strstr(seen->line, "atal, Link 4"));
	}
}

TEST(what_came_during_the_run_is_apart)
{
	muster_kernel_tally_add(&tally, XID, DAY, false, false);
	muster_kernel_tally_add(&tally, XID, DAY + 60, true, false);
	ck_assert_uint_eq(tally.count[MUSTER_KERNEL_XIDS], 2);
	ck_assert(!tally.seen[MUSTER_KERNEL_XIDS][0].during && tally.seen[MUSTER_KERNEL_XIDS][1].during);
}

static void add_aer(unsigned int device, double seconds, bool backwards)
{
	char text[128];
	snprintf(text, sizeof text, "pcieport %04x:%02x:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer",
		device >> 8, device & 0xff);
	muster_kernel_tally_add(&tally, text, seconds, false, backwards);
}

TEST_LOOP(a_flood_of_one_kind_leaves_room_for_the_others, 0, 2)
{
	bool backwards = _i;
	muster_kernel_tally_add(&tally, OOM, backwards ? 1e6 : 1, false, backwards);
	for (unsigned int i = 0; i < 5000; i++)
		add_aer(i, backwards ? 1e6 - i : 10.0 + i, backwards);
	muster_kernel_tally_add(
		&tally, "EXT4-fs (md0): Remounting filesystem read-only", backwards ? 1 : 1e6, false, backwards);
	size_t corrected = 0, others = 0;
	double oldest = 1e9;
	for (size_t i = 0; i < tally.count[MUSTER_KERNEL_OTHERS]; i++) {
		const struct muster_kernel_seen *seen = &tally.seen[MUSTER_KERNEL_OTHERS][i];
		bool aer = seen->event.kind == MUSTER_KERNEL_AER_CORRECTED;
		corrected += aer;
		others += !aer;
		oldest = aer && seen->newest < oldest ? seen->newest : oldest;
	}
	ck_assert_uint_eq(corrected, MUSTER_KERNEL_SEEN_MAX - 2);
	ck_assert_uint_eq(others, 2);
	ck_assert_uint_eq(tally.left_out, 5000 - corrected);
	ck_assert_double_ge(oldest, backwards ? 1e6 - 64 : 10.0 + 5000 - 64); /* the newest are kept */
}

TEST(a_line_is_kept_as_far_as_it_is_plain_text)
{
	char text[2048], *end = stpcpy(text, "NVRM: Xid (PCI:0000:3b:00): 13, name=\x1b[31m\xff\xc3\xa9, ");
	memset(end, 'x', 1000);
	end[1000] = '\0';
	muster_kernel_tally_add(&tally, text, DAY, false, false);
	const char *line = tally.seen[MUSTER_KERNEL_XIDS][0].line;
	ck_assert_uint_eq(strlen(line), MUSTER_KERNEL_LINE_MAX);
	ck_assert_ptr_nonnull(strstr(line, "name=?[31m?\xc3\xa9, xxx"));
	/* a character that would be cut is left out */
	setup();
	memset(end, ' ', 1000);
	memcpy(text + MUSTER_KERNEL_LINE_MAX - 1, "\xc3\xa9", 2);
	muster_kernel_tally_add(&tally, text, DAY, false, false);
	ck_assert_uint_eq(strlen(line), MUSTER_KERNEL_LINE_MAX - 1);
}

TEST(links_beyond_the_table_are_no_flaps)
{
	for (unsigned int i = 0; i < 2 * MUSTER_KERNEL_LINKS_MAX; i++) {
		char down[80], up[80];
		snprintf(down, sizeof down, "mlx5_core 0000:%02x:00.0 ens1: Link down", i);
		snprintf(up, sizeof up, "mlx5_core 0000:%02x:00.0 ens1: Link up", i);
		muster_kernel_tally_add(&tally, down, DAY, false, false);
		muster_kernel_tally_add(&tally, up, DAY + 1, false, false);
	}
	ck_assert_uint_eq(tally.count[MUSTER_KERNEL_OTHERS], MUSTER_KERNEL_LINKS_MAX);
}

TEST_MAIN(.setup = setup)
