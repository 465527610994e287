/* test_history.c - what nodes of our own making have logged */
#include "check_main.h"
#include "probe_fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const struct muster_probe muster_probe_history;

#define HOUR 3600
#define UPTIME (100 * HOUR)

static struct probe_fake *context;
static char kmsg[1 << 20];
static size_t kmsg_used;

static void setup(void)
{
	context = fake_new(&muster_probe_history);
	kmsg_used = 0;
	*kmsg = '\0';
	fake_file(context, "/proc/uptime", "360000.00 1.00\n");
}

static void teardown(void)
{
	fake_free(context);
}

/* A record that was written so many seconds ago. */
static void __attribute__((format(printf, 2, 3))) log_line(double age, const char *format, ...)
{
	static int sequence;
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	sequence = kmsg_used ? sequence + 1 : 0;
	kmsg_used += (size_t)snprintf(
		kmsg + kmsg_used, sizeof kmsg - kmsg_used, "4,%d,%.0f,-;%s\n", sequence, (UPTIME - age) * 1e6, text);
	ck_assert_uint_lt(kmsg_used, sizeof kmsg);
}

static void boot(void)
{
	log_line(UPTIME, "Linux version 6.8.0 (buildd@muster) (gcc) #1 SMP");
}

static void run(void)
{
	struct muster_error err;
	fake_file(context, "/dev/kmsg", kmsg);
	ck_assert_int_eq(muster_probe_history.run(&context->ctx, &err), 0);
}

static void finish(void)
{
	struct muster_error err;
	fake_file(context, "/dev/kmsg", kmsg);
	ck_assert_int_eq(muster_probe_history.finish(&context->ctx, &err), 0);
}

/* The one sample of the metric with this value in this label. */
static const struct muster_sample *sample_with(const char *metric, const char *label, const char *value)
{
	const struct muster_sample *found = NULL;
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		const char *has = muster_label_string(sample->labels, sample->label_count, label);
		if (strcmp(sample->metric->name, metric) != 0 || !has || strcmp(has, value) != 0)
			continue;
		ck_assert_msg(!found, "%s twice", metric);
		found = sample;
	}
	ck_assert_msg(found != NULL, "no %s with %s %s", metric, label, value);
	return found;
}

TEST(a_healthy_node_has_a_log_and_no_events)
{
	boot();
	log_line(HOUR, "usb 1-1: new high-speed USB device number 2 using xhci_hcd");
	run();
	ck_assert_str_eq(fake_string(context, "node.kernel_log", NULL), "kmsg");
	ck_assert_double_eq(fake_number(context, "node.kernel_log_hours", NULL), 100);
	ck_assert_str_eq(fake_string(context, "node.kernel_log_start", NULL), "boot");
	ck_assert_double_eq(fake_number(context, "node.kernel_events_left_out", NULL), 0);
	ck_assert_uint_eq(context->samples.count, 4);
	finish();
	ck_assert_uint_eq(context->samples.count, 4);
}

TEST(a_node_whose_log_cannot_be_read_says_why_and_nothing_else)
{
	struct muster_error err;
	ck_assert_int_eq(muster_probe_history.run(&context->ctx, &err), 0);
	static const char *const metrics[] = { "node.kernel_log", "node.kernel_log_hours", "node.kernel_log_start",
		"node.kernel_events_left_out" };
	for (int i = 0; i < LENGTH(metrics); i++)
		ck_assert_ptr_nonnull(strstr(fake_reason(context, metrics[i], NULL), "/dev/kmsg: No such file"));
	ck_assert_int_eq(muster_probe_history.finish(&context->ctx, &err), 0);
	ck_assert_uint_eq(context->samples.count, 4);
}

TEST(an_event_has_its_age_its_count_and_its_newest_line)
{
	boot();
	log_line(3 * HOUR, "NVRM: Xid (PCI:0001:00:00): 94, pid=1, name=old, Contained");
	log_line(2 * HOUR, "NVRM: Xid (PCI:0001:00:00): 94, pid=2, name=new, Contained");
	log_line(HOUR, "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress error");
	log_line(HOUR / 2, "EXT4-fs (md0): Remounting filesystem read-only");
	run();
	ck_assert_double_eq(sample_with("node.xid_age_hours", "code", "94")->value.number, 2);
	ck_assert_double_eq(sample_with("node.xid_count", "gpu", "0001:00:00.0")->value.number, 2);
	ck_assert_str_eq(sample_with("node.xid_line", "when", "before")->value.string,
		"NVRM: Xid (PCI:0001:00:00): 94, pid=2, name=new, Contained");
	ck_assert_double_eq(sample_with("node.sxid_age_hours", "device", "0000:05:00.0")->value.number, 1);
	ck_assert_double_eq(sample_with("node.sxid_count", "code", "12028")->value.number, 1);
	ck_assert_double_eq(sample_with("node.kernel_event_age_hours", "kind", "read-only")->value.number, 0.5);
	ck_assert_str_eq(sample_with("node.kernel_event_line", "device", "md0")->value.string,
		"EXT4-fs (md0): Remounting filesystem read-only");
	fake_complete(context, NULL);
}

/* A GPU on the bus with the driver bound, which a cgroup may keep from this process: then it has no device node. */
static void put_gpu(const char *bus_id, int minor, bool hidden)
{
	char path[256], link[256], text[64];
	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", bus_id);
	fake_file(context, path, "0x10de\n");
	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", bus_id);
	fake_file(context, path, "0x030200\n");
	snprintf(link, sizeof link, "%s/sys/bus/pci/devices/%s/driver", context->root, bus_id);
	ck_assert_int_eq(symlink("../../../../bus/pci/drivers/nvidia", link), 0);
	snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", bus_id);
	snprintf(text, sizeof text, "Device Minor: \t %d\n", minor);
	fake_file(context, path, text);
	snprintf(path, sizeof path, "/dev/nvidia%d", minor);
	if (!hidden)
		fake_file(context, path, "");
}

TEST(another_jobs_gpu_is_told_from_ours_and_from_one_that_is_gone)
{
	put_gpu("0001:00:00.0", 0, false);
	put_gpu("0002:00:00.0", 1, true);
	boot();
	for (int i = 1; i <= 3; i++)
		log_line(HOUR, "NVRM: Xid (PCI:000%d:00:00): 79, pid=1, GPU has fallen off the bus.", i);
	run();
	static const char *const of[] = { "job", "other", "job" };
	for (int i = 1; i <= 3; i++) {
		char gpu[32];
		snprintf(gpu, sizeof gpu, "000%d:00:00.0", i);
		const struct muster_sample *sample = sample_with("node.xid_age_hours", "gpu", gpu);
		ck_assert_str_eq(muster_label_string(sample->labels, sample->label_count, "of"), of[i - 1]);
	}
}

TEST(that_another_jobs_gpu_was_lost_is_left_out)
{
	put_gpu("0001:00:00.0", 0, false);
	put_gpu("0002:00:00.0", 1, true);
	boot();
	for (int i = 1; i <= 3; i++)
		log_line(HOUR, "NVRM: GPU at PCI:000%d:00:00 has fallen off the bus.", i);
	run();
	ck_assert_uint_eq(fake_count(context, "node.kernel_event_count"), 2);
	sample_with("node.kernel_event_count", "device", "0001:00:00.0");
	sample_with("node.kernel_event_count", "device", "0003:00:00.0");
}

TEST(what_comes_during_the_run_is_told_at_its_end)
{
	boot();
	log_line(HOUR, "NVRM: Xid (PCI:0001:00:00): 94, pid=1, Contained");
	run();
	ck_assert_uint_eq(fake_count(context, "node.xid_count"), 1);
	log_line(0, "NVRM: Xid (PCI:0001:00:00): 94, pid=2, Contained");
	log_line(0, "NVRM: Xid (PCI:0001:00:00): 94, pid=3, Contained");
	finish();
	ck_assert_uint_eq(fake_count(context, "node.xid_count"), 2);
	ck_assert_double_eq(sample_with("node.xid_count", "when", "before")->value.number, 1);
	ck_assert_double_eq(sample_with("node.xid_count", "when", "during")->value.number, 2);
}

TEST(what_came_between_the_start_of_the_run_and_the_probe_is_of_the_run)
{
	boot();
	log_line(0, "NVRM: Xid (PCI:0001:00:00): 79, pid=2, GPU has fallen off the bus.");
	run();
	ck_assert_uint_eq(fake_count(context, "node.xid_count"), 0);
	finish();
	ck_assert_double_eq(sample_with("node.xid_count", "when", "during")->value.number, 1);
}

/* Each test case runs in a process of its own, so that nothing is left of `run` here. */
TEST(a_worker_that_replaced_another_one_tells_only_what_is_of_the_run)
{
	boot();
	log_line(10 * HOUR, "NVRM: Xid (PCI:0001:00:00): 94, pid=1, Contained");
	log_line(0, "NVRM: Xid (PCI:0002:00:00): 79, pid=2, GPU has fallen off the bus.");
	finish();
	ck_assert_uint_eq(fake_count(context, "node.xid_count"), 1);
	sample_with("node.xid_count", "gpu", "0002:00:00.0");
	sample_with("node.xid_count", "when", "during");
}

TEST(of_a_flood_the_samples_are_bounded_and_the_rest_is_counted)
{
	enum { DEVICES = 1000, KEPT = 64 };
	boot();
	for (int i = 0; i < DEVICES; i++)
		log_line(HOUR, "pcieport %04x:00:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer", i);
	run();
	ck_assert_uint_eq(fake_count(context, "node.kernel_event_count"), KEPT);
	ck_assert_double_eq(fake_number(context, "node.kernel_events_left_out", NULL), DEVICES - KEPT);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
