/* test_kernel_tally.c - lines in either order of time become the same counts */
#include "check_main.h"
#include "system/kernel_event.h"

#include <stdio.h>
#include <string.h>

#define DAY 86400.0
#define XID "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus."
#define LOST "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus."
#define STARTS "nvidia-nvlink: Nvlink Core is being initialized, major device number 511"
#define LOADED "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build"
#define NVSWITCH "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 22013, "
#define DOWN "mlx5_core 0000:5e:00.0 ens1: Link down"
#define UP "mlx5_core 0000:5e:00.0 ens1: Link up"
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
}

/* "kind device code count line;" of each entry. */
static void print(char *out, size_t size)
{
	size_t used = 0;
	*out = '\0';
	for (size_t g = 0; g < MUSTER_KERNEL_GROUPS; g++)
		for (size_t i = 0; i < tally.count[g]; i++) {
			const struct muster_kernel_seen *seen = &tally.seen[g][i];
			used += (size_t)snprintf(out + used, size - used, "%s %s %lu %g %.30s;",
				muster_kernel_event_names[seen->event.kind], seen->event.device, seen->count,
				seen->newest, seen->line);
		}
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
	/* flaps: not while links train, and not of one half */
	{ { { DAY, DOWN }, { DAY + 4, UP }, { DAY + 60, DOWN }, { DAY + 61, UP } },
		"link-flap 0000:5e:00.0 2 86461 mlx5_core 0000:5e:00.0 ens1: L;" },
	{ { { 100, DOWN }, { 110, UP }, { 1799, DOWN }, { 1801, UP } }, "" },
	{ { { DAY, DOWN } }, "" },
	{ { { DAY, UP } }, "" },
	{ { { DAY, UP }, { DAY + 60, DOWN } }, "" },
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

TEST(halves_of_flaps_that_were_read_in_different_orders_do_not_belong_together)
{
	muster_kernel_tally_add(&tally, DOWN, DAY + 60, false, false);
	muster_kernel_tally_add(&tally, DOWN, DAY, false, true);
	muster_kernel_tally_add(&tally, UP, DAY - 1, false, true);
	ck_assert_uint_eq(tally.count[MUSTER_KERNEL_OTHERS], 0);
	muster_kernel_tally_add(&tally, DOWN, DAY - 2, false, true);
	ck_assert_uint_eq(tally.count[MUSTER_KERNEL_OTHERS], 1);
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
