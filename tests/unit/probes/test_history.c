/* SPDX-License-Identifier: Apache-2.0 */
/* test_history.c - what nodes of our own making have logged */
#include "check_main.h"
#include "probe_fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

extern const struct muster_probe muster_probe_history;

static struct probe_fake *context;

static void setup(void)
{
	context = fake_new(&muster_probe_history);
	fake_file(context, "/proc/uptime", "360000.00 1.00\n");
}

static void teardown(void)
{
	fake_free(context);
}

/* Records of the kernel's log, "AGE IN HOURS: LINE", behind that of the boot 100 hours ago. */
static void write_log(const char *lines)
{
	static char kmsg[1 << 20];
	size_t used = (size_t)snprintf(kmsg, sizeof kmsg, "4,0,0,-;Linux version 6.8.0 (buildd@muster) (gcc) #1 SMP\n");
	for (int sequence = 1; *lines; sequence++) {
		char *text;
		double age = strtod(lines, &text);
		size_t length = strcspn(text, "\n");
		used += (size_t)snprintf(kmsg + used, sizeof kmsg - used, "4,%d,%.0f,-;%.*s\n", sequence,
			(100 - age) * 3600e6, (int)length - 2, text + 2);
		ck_assert_uint_lt(used, sizeof kmsg);
		lines = text + length + (text[length] == '\n');
	}
	fake_file(context, "/dev/kmsg", kmsg);
}

/* Two GPUs on the bus with the driver bound, of which a container covers the second one's files. */
#define GPU_AT(bus_id)                                                                                                 \
	"/sys/bus/pci/devices/" bus_id "/vendor=0x10de | /sys/bus/pci/devices/" bus_id "/class=0x030200 | "            \
	"/sys/bus/pci/devices/" bus_id "/driver->../../../../bus/pci/drivers/nvidia | "
#define OURS_AND_HIDDEN                                                                                                \
	GPU_AT("0001:00:00.0")                                                                                         \
	GPU_AT("0002:00:00.0") "/dev/nvidia0= | /proc/driver/nvidia/gpus/0001:00:00.0/information=Device Minor: \t 0"
#define XID(age, gpu, code, more) age ": NVRM: Xid (PCI:000" gpu ":00:00): " code ", " more "\n"
#define LOST(gpu) "1: NVRM: GPU at PCI:000" gpu ":00:00 has fallen off the bus.\n"
#define OF_GPU(metric, gpu, code, of, when) metric " gpu=000" gpu ":00:00.0 code=" code " of=" of " when=" when " "
#define AGE(gpu, of) OF_GPU("node.xid_age_hours", gpu, "79", of, "before") "1 | "
#define NO_LOG " -*/dev/kmsg: No such file* | "

static const struct {
	const char *name, *given;
	const char *log;  /* NULL: there is none */
	const char *more; /* log of the end; NULL: there is no end; "": the same */
	const char *expected;
} rows[] = {
	{ "a healthy node has a log and no events", NULL,
		"1: usb 1-1: new high-speed USB device number 2 using xhci_hcd\n", "",
		"node.kernel_log 'kmsg | node.kernel_log_hours 100 | node.kernel_log_start 'boot | "
		"node.kernel_events_left_out 0 | node.kernel_log_cut false | samples 5" },
	{ "a node whose log cannot be read says why and nothing else", NULL, NULL, "",
		"node.kernel_log" NO_LOG "node.kernel_log_hours" NO_LOG "node.kernel_log_start" NO_LOG
		"node.kernel_events_left_out" NO_LOG "samples 5" },
	{ "an event has its age, its count and its newest line", NULL,
		XID("3", "1", "94", "pid=1, name=old, Contained") XID("2", "1", "94",
			"pid=2, name=new, Contained") "1: nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, "
						      "Link 32 egress error\n"
						      "0.5: EXT4-fs (md0): Remounting filesystem read-only\n",
		NULL,
		OF_GPU("node.xid_age_hours", "1", "94", "job", "before") "2 | " OF_GPU(
			"node.xid_count", "1", "94", "job", "before") "2 | " OF_GPU("node.xid_line", "1", "94", "job",
			"before") "'NVRM: Xid (PCI:0001:00:00): 94, pid=2, name=new, Contained | node.xid_count #1 | "
				  "node.sxid_age_hours device=0000:05:00.0 1 | node.sxid_count code=12028-nonfatal 1 | "
				  "node.sxid_count #1 | "
				  "node.kernel_event_age_hours kind=read-only 0.5 | node.kernel_event_line device=md0 "
				  "'EXT4-fs (md0): Remounting filesystem read-only | node.kernel_event_line #1" },
	{ "another job's GPU is told from ours and from one that is gone", OURS_AND_HIDDEN,
		XID("1", "1", "79", "pid=1, GPU has fallen off the bus.") XID("1", "2", "79",
			"pid=1, GPU has fallen off the bus.") XID("1", "3", "79", "pid=1, GPU has fallen off the bus."),
		NULL, AGE("1", "job") AGE("2", "other") AGE("3", "job") "node.xid_age_hours #3" },
	{ "that another job's GPU was lost is left out", OURS_AND_HIDDEN, LOST("1") LOST("2") LOST("3"), NULL,
		"node.kernel_event_count #2 | node.kernel_event_count device=0001:00:00.0 #1 | "
		"node.kernel_event_count device=0003:00:00.0 #1" },
	{ "what comes during the run is not told at its start", NULL, XID("1", "1", "94", "pid=1, Contained"), NULL,
		"node.xid_count #1" },
	{ "what comes during the run is told at its end", NULL, XID("1", "1", "94", "pid=1, Contained"),
		XID("1", "1", "94", "pid=1, Contained") XID("0", "1", "94", "pid=2, Contained")
			XID("0", "1", "94", "pid=3, Contained"),
		"node.xid_count #2 | node.xid_count when=before 1 | node.xid_count when=during 2" },
	{ "what came between the start of the run and the probe is not told by the probe", NULL,
		XID("0", "1", "79", "pid=2, GPU has fallen off the bus."), NULL, "node.xid_count #0" },
	{ "what came between the start of the run and the probe is of the run", NULL,
		XID("0", "1", "79", "pid=2, GPU has fallen off the bus."), "", "node.xid_count when=during 1" },
	/* each test case runs in a process of its own, so that nothing is left of a run here */
	{ "a worker that replaced another one tells only what is of the run", "finish",
		XID("10", "1", "94", "pid=1, Contained") XID("0", "2", "79", "pid=2, GPU has fallen off the bus."),
		NULL, "node.xid_count #1 | " OF_GPU("node.xid_count", "2", "79", "job", "during") "1" },
};

TEST_EACH(the_kernels_log_is_read, rows)
{
	int samples = 0;
	const struct fake_knob knobs[] = { FAKE_KNOB("samples", samples), { .name = NULL } };
	context->knobs = knobs;
	if (rows[_i].log)
		write_log(rows[_i].log);
	fake_given(context, rows[_i].given);
	if (!context->was_run)
		fake_run(context);
	if (rows[_i].more && *rows[_i].more)
		write_log(rows[_i].more);
	if (rows[_i].more)
		fake_given(context, "finish");
	if (fake_count(context, "node.sxid_count") > 0) /* an event of each kind */
		fake_complete(context, NULL);
	samples = (int)context->samples.count;
	fake_expect(context, rows[_i].expected, rows[_i].name);
}

/* the folder of the module is older than the line that says that the driver was loaded */
TEST_LOOP(a_line_does_not_load_a_driver_that_was_there, 0, 2)
{
	char path[300];
	const struct timespec times[2] = { { .tv_sec = time(NULL) - (_i ? 7200 : 1) },
		{ .tv_sec = time(NULL) - (_i ? 7200 : 1) } };
	fake_file(context, "/sys/module/nvidia", NULL);
	snprintf(path, sizeof path, "%s/sys/module/nvidia", context->root);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	write_log(XID(
		"3", "1", "79", "GPU has fallen off the bus.") "1: nvidia-nvlink: Nvlink Core is being initialized, "
							       "major device number 511\n");
	fake_run(context);
	ck_assert_uint_eq(fake_count(context, "node.xid_count"), _i ? 1 : 0);
}

TEST(of_a_flood_the_samples_are_bounded_and_the_rest_is_counted)
{
	enum { DEVICES = 100, KEPT = 64 }; /* few enough for a slow machine: the log is read for 80 ms */
	const char *lines = "";
	for (int i = 0; i < DEVICES; i++)
		lines = muster_arena_printf(context->arena,
			"%s1: pcieport %04x:00:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer\n", lines,
			i);
	write_log(lines);
	fake_run(context);
	ck_assert_uint_eq(fake_count(context, "node.kernel_event_count"), KEPT);
	ck_assert_double_eq(fake_number(context, "node.kernel_events_left_out", NULL), DEVICES - KEPT);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
