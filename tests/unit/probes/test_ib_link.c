/* test_ib_link.c - RDMA ports in a small sysfs tree, with a scripted libibverbs beside it */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor/verbs.h"
#include "util/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern const struct muster_probe muster_probe_ib_link;

#define IB0 "/sys/class/infiniband/mlx5_ib0"
#define PORT0 IB0 "/ports/1"
#define AN0 "/sys/class/infiniband/mlx5_an0"

static struct probe_fake *context;

static struct {
	bool missing;     /* the library */
	int list_errno;   /* ibv_get_device_list fails */
	int open_errno;   /* ibv_open_device fails */
	int query_result; /* ibv_query_port's */
	bool without_ib0; /* it is not listed */
	size_t opened, closed, listed, freed;
	struct ibv_port_attr attr; /* of mlx5_ib0 */
} script;

static struct ibv_device devices[] = { { .name = "mlx5_an0" }, { .name = "mlx5_ib0" } };
static struct ibv_device *list[] = { &devices[0], &devices[1], NULL };

static struct ibv_device **get_device_list(int *count)
{
	errno = script.list_errno;
	if (script.list_errno)
		return NULL;
	script.listed++;
	*count = script.without_ib0 ? 1 : 2;
	return list;
}

static void free_device_list(struct ibv_device **freed)
{
	ck_assert_ptr_eq(freed, list);
	script.freed++;
}

static const char *get_device_name(struct ibv_device *device)
{
	return device->name;
}

static struct ibv_context *open_device(struct ibv_device *device)
{
	static struct ibv_context contexts[2];
	errno = script.open_errno;
	if (script.open_errno)
		return NULL;
	struct ibv_context *opened = &contexts[device - devices];
	opened->device = device;
	script.opened++;
	return opened;
}

static int close_device(struct ibv_context *opened)
{
	(void)opened;
	script.closed++;
	return 0;
}

const struct muster_verbs *muster_verbs(struct muster_error *err)
{
	static const struct muster_verbs verbs = {
		.get_device_list = get_device_list,
		.free_device_list = free_device_list,
		.get_device_name = get_device_name,
		.open_device = open_device,
		.close_device = close_device,
	};
	if (!script.missing)
		return &verbs;
	muster_fail(err, MUSTER_ELIB, "libibverbs: libibverbs.so.1 cannot be opened");
	return NULL;
}

int muster_verbs_query_port(
	const struct muster_verbs *verbs, struct ibv_context *opened, uint8_t port, struct ibv_port_attr *attr)
{
	(void)verbs;
	ck_assert_uint_eq(port, 1);
	*attr = script.attr;
	if (opened->device == &devices[0])
		attr->active_speed = 4;
	return script.query_result;
}

/* Time passes only where the probe sleeps. */
static struct {
	double slept_ms;
	int active_after; /* this many pauses the port is ACTIVE; -1: never */
} kernel = { .active_after = -1 };

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *now)
{
	(void)id;
	now->tv_sec = (time_t)(kernel.slept_ms / 1000);
	now->tv_nsec = (long)(kernel.slept_ms * 1e6) % 1000000000;
	return 0;
}

__attribute__((visibility("default"))) int nanosleep(const struct timespec *pause, struct timespec *left)
{
	(void)left;
	kernel.slept_ms += (double)pause->tv_sec * 1e3 + (double)pause->tv_nsec / 1e6;
	if (kernel.active_after > 0 && --kernel.active_after == 0)
		fake_file(context, PORT0 "/state", "4: ACTIVE\n");
	return 0;
}

static void add_device(const char *directory, const char *pci, const char *layer, const char *rate)
{
	char path[256], link[256], target[256];
	const struct {
		const char *file, *text;
	} files[] = {
		{ "fw_ver", "20.31.1014\n" },
		{ "hca_type", "MT4124\n" },
		{ "board_id", "MSF0000000012\n" },
		{ "node_guid", "0015:5dff:fe33:ff00\n" },
		{ "ports/1/link_layer", layer },
		{ "ports/1/state", "4: ACTIVE\n" },
		{ "ports/1/phys_state", "5: LinkUp\n" },
		{ "ports/1/rate", rate },
		{ "ports/1/lid", "0x1a4\n" },
		{ "ports/1/gids/0", "fe80:0000:0000:0000:0015:5dff:fe33:ff00\n" },
		{ "ports/1/pkeys/0", "0x8001\n" },
		{ "ports/1/pkeys/1", "0x7fff\n" },
		{ "ports/1/pkeys/2", "0x0000\n" },
		{ "ports/1/counters/link_downed", "3\n" },
		{ "ports/1/counters/symbol_error", "0\n" },
		{ "ports/1/hw_counters/out_of_sequence", "7\n" },
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", directory, files[i].file);
		fake_file(context, path, files[i].text);
	}
	snprintf(path, sizeof path, "/sys/devices/%s/numa_node", pci);
	fake_file(context, path, "2\n");
	snprintf(link, sizeof link, "%s%s/device", context->root, directory);
	snprintf(target, sizeof target, "%s/sys/devices/%s", context->root, pci);
	ck_assert_int_eq(symlink(target, link), 0);
}

static void setup(void)
{
	context = fake_new(&muster_probe_ib_link);
	memset(&script, 0, sizeof script);
	script.attr = (struct ibv_port_attr){ .active_speed = 64, .active_width = 2, .active_mtu = IBV_MTU_4096 };
	fake_file(context, "/sys/class", NULL);
}

static void setup_ports(void)
{
	setup();
	add_device(IB0, "0101:00:00.0", "InfiniBand\n", "200 Gb/sec (4X HDR)\n");
	add_device(AN0, "a1b2:00:02.0", "Ethernet\n", "40 Gb/sec (4X QDR)\n");
}

static void teardown(void)
{
	ck_assert_uint_eq(script.opened, script.closed);
	ck_assert_uint_eq(script.listed, script.freed);
	fake_free(context);
}

static void measure(void)
{
	static const char *const later[] = { "port.counter_increase", NULL };
	struct muster_error err;
	ck_assert_msg(muster_probe_ib_link.run(&context->ctx, &err) == 0, "%s", err.text);
	fake_complete(context, later);
}

static const struct {
	const char *metric, *text;
	double number;
} facts[] = {
	{ "port.state", "ACTIVE", 0 },
	{ "port.phys_state", "LinkUp", 0 },
	{ "port.speed", "HDR", 0 },
	{ "port.gid", "fe80:0000:0000:0000:0015:5dff:fe33:ff00", 0 },
	{ "port.guid", "0015:5dff:fe33:ff00", 0 },
	{ "port.firmware", "20.31.1014", 0 },
	{ "port.board_id", "MSF0000000012", 0 },
	{ "port.hca_type", "MT4124", 0 },
	{ "port.pci", "0101:00:00.0", 0 },
	{ "port.pkeys", "0x8001 0x7fff", 0 },
	{ "port.rate_gbps", NULL, 200 },
	{ "port.rate_verbs_gbps", NULL, 200 },
	{ "port.limit_gbps", NULL, 25 },
	{ "port.width", NULL, 4 },
	{ "port.mtu_bytes", NULL, 4096 },
	{ "port.lid", NULL, 420 },
	{ "port.numa_node", NULL, 2 },
};

TEST_EACH(every_fact_of_a_port_is_read, facts)
{
	measure();
	if (facts[_i].text)
		ck_assert_str_eq(fake_string(context, facts[_i].metric, "mlx5_ib0/1"), facts[_i].text);
	else
		ck_assert_double_eq(fake_number(context, facts[_i].metric, "mlx5_ib0/1"), facts[_i].number);
	ck_assert(fake_boolean(context, "port.rate_agrees", "mlx5_ib0/1"));
	ck_assert(fake_boolean(context, "port.full_member", "mlx5_ib0/1"));
}

TEST(ports_are_told_apart_by_link_layer_and_not_by_name)
{
	measure();
	ck_assert_double_eq(fake_number(context, "node.ib_ports", NULL), 1);
	ck_assert_double_eq(fake_number(context, "node.ethernet_ports", NULL), 1);
	const struct muster_sample *sample = fake_sample(context, "port.state", "mlx5_an0/1", NULL);
	ck_assert_str_eq(muster_sample_label(sample, "link_layer")->string, "Ethernet");
	ck_assert_double_eq(fake_number(context, "port.rate_verbs_gbps", "mlx5_an0/1"), 40);
}

static const struct {
	const char *rate;
	unsigned int speed, width;
	double sysfs, verbs; /* -1: null */
	int agrees;          /* -1: null */
} rates[] = {
	{ "200 Gb/sec (4X HDR)", 64, 2, 200, 200, 1 },
	{ "400 Gb/sec (4X NDR)", 128, 2, 400, 400, 1 },
	{ "100 Gb/sec (4X EDR)", 32, 2, 100, 100, 1 },
	{ "56 Gb/sec (4X FDR)", 16, 2, 56, 56, 1 },
	{ "40 Gb/sec (4X FDR10)", 8, 2, 40, 40, 1 },
	{ "2.5 Gb/sec (1X SDR)", 1, 1, 2.5, 2.5, 1 },
	{ "20 Gb/sec (4X DDR)", 2, 2, 20, 20, 1 },
	{ "400 Gb/sec (8X HDR)", 64, 4, 400, 400, 1 },
	{ "300 Gb/sec (12X EDR)", 32, 8, 300, 300, 1 },
	{ "100 Gb/sec (2X HDR)", 64, 16, 100, 100, 1 },
	{ "200 Gb/sec (4X HDR)", 32, 2, 200, 100, 0 },
	{ "100.9 Gb/sec (4X EDR)", 32, 2, 100.9, 100, 0 }, /* more than half a per cent apart */
	{ "100.4 Gb/sec (4X EDR)", 32, 2, 100.4, 100, 1 },
	{ "200 Gb/sec (4X HDR)", 64, 16, 200, 100, 0 },
	{ "800 Gb/sec (4X XDR)", 128, 2, 800, -1, -1 },
	{ "200 Gb/sec (4X HDR)", 3, 2, 200, -1, -1 },
	{ "200 Gb/sec (4X HDR)", 64, 7, 200, -1, -1 },
	{ "200 Gb/sec (4X HDR)", 0, 0, 200, -1, -1 },
	{ "0 Gb/sec", 64, 2, 0, 200, 0 },
	{ "9 Gb/sec", 64, 2, 9, 200, 0 },
	{ "99.5 Gb/sec (4X EDR)", 32, 2, 99.5, 100, 0 },
	{ "99.6 Gb/sec (4X EDR)", 32, 2, 99.6, 100, 1 },
	{ ":0 Gb/sec", 64, 2, -1, 200, -1 },
	{ "200", 64, 2, -1, 200, -1 },
	{ "200 Mb/sec", 64, 2, -1, 200, -1 },
	{ "Gb/sec", 64, 2, -1, 200, -1 },
	{ "-200 Gb/sec", 64, 2, -1, 200, -1 },
	{ "nan Gb/sec", 64, 2, -1, 200, -1 },
	{ "1e999 Gb/sec", 64, 2, -1, 200, -1 },
	{ "200 Gb/second", 64, 2, -1, 200, -1 },
	{ "", 64, 2, -1, 200, -1 },
};

static const struct {
	const char *rate, *state;
	double gbps;     /* of InfiniBand; 0: null */
	const char *why; /* it is null */
} limits[] = {
	{ "400 Gb/sec (4X NDR)", "4: ACTIVE", 50, NULL },
	{ "800 Gb/sec (4X XDR)", "4: ACTIVE", 100, NULL },
	{ "100 Gb/sec (4X EDR)", "4: ACTIVE", 12.5, NULL },
	{ "56 Gb/sec (4X FDR)", "4: ACTIVE", 6.818, NULL },
	{ "40 Gb/sec (4X FDR10)", "4: ACTIVE", 5, NULL },
	{ "40 Gb/sec (4X QDR)", "4: ACTIVE", 4, NULL },
	{ "20 Gb/sec (4X DDR)", "4: ACTIVE", 2, NULL },
	{ "10 Gb/sec (4X SDR)", "4: ACTIVE", 1, NULL },
	{ "200 Gb/sec (4X HDR)", "1: DOWN", 0, "the port is DOWN" },
	{ "200", "4: ACTIVE", 0, "the rate in sysfs is not in Gb/sec: \"200\"" },
};

TEST_EACH(the_limit_of_a_port_is_what_is_left_after_encoding, limits)
{
	fake_file(context, PORT0 "/rate", limits[_i].rate);
	fake_file(context, PORT0 "/state", limits[_i].state);
	measure();
	if (limits[_i].why)
		ck_assert_str_eq(fake_reason(context, "port.limit_gbps", "mlx5_ib0/1"), limits[_i].why);
	else
		ck_assert_double_eq_tol(fake_number(context, "port.limit_gbps", "mlx5_ib0/1"), limits[_i].gbps, 5e-4);
	/* 40 Gb/s of Ethernet, which sysfs calls QDR, are 40 Gb/s of data */
	ck_assert_double_eq(fake_number(context, "port.limit_gbps", "mlx5_an0/1"), 5);
}

static void expect_number(const char *metric, double number)
{
	if (number < 0)
		ck_assert_msg(*fake_reason(context, metric, "mlx5_ib0/1"), "%s", metric);
	else
		ck_assert_double_eq(fake_number(context, metric, "mlx5_ib0/1"), number);
}

static const struct {
	unsigned int speed, width, mtu;
	const char *metric, *why;
} codes[] = {
	{ 3, 2, 5, "port.speed", "ibv_query_port of mlx5_ib0/1: active_speed is 3, which has no meaning here" },
	{ 3, 2, 5, "port.rate_verbs_gbps",
		"ibv_query_port of mlx5_ib0/1: active_speed is 3, which has no meaning here" },
	{ 3, 2, 5, "port.rate_agrees", "ibv_query_port of mlx5_ib0/1: active_speed is 3, which has no meaning here" },
	{ 129, 2, 5, "port.speed", "ibv_query_port of mlx5_ib0/1: active_speed is 129, which has no meaning here" },
	{ 64, 7, 5, "port.width", "ibv_query_port of mlx5_ib0/1: active_width is 7, which has no meaning here" },
	{ 64, 17, 5, "port.rate_verbs_gbps",
		"ibv_query_port of mlx5_ib0/1: active_width is 17, which has no meaning here" },
	{ 64, 2, 0, "port.mtu_bytes", "ibv_query_port of mlx5_ib0/1: active_mtu is 0, which has no meaning here" },
	{ 64, 2, 6, "port.mtu_bytes", "ibv_query_port of mlx5_ib0/1: active_mtu is 6, which has no meaning here" },
};

TEST_EACH(a_code_without_a_meaning_is_named_as_the_reason, codes)
{
	script.attr.active_speed = (uint8_t)codes[_i].speed;
	script.attr.active_width = (uint8_t)codes[_i].width;
	script.attr.active_mtu = (enum ibv_mtu)codes[_i].mtu;
	measure();
	ck_assert_str_eq(fake_reason(context, codes[_i].metric, "mlx5_ib0/1"), codes[_i].why);
}

TEST_LOOP(every_mtu_is_in_bytes, 0, 5)
{
	static const double bytes[] = { 256, 512, 1024, 2048, 4096 };
	script.attr.active_mtu = (enum ibv_mtu)(IBV_MTU_256 + _i);
	measure();
	ck_assert_double_eq(fake_number(context, "port.mtu_bytes", "mlx5_ib0/1"), bytes[_i]);
}

TEST_EACH(the_rate_comes_from_both_sides_and_is_compared, rates)
{
	fake_file(context, PORT0 "/rate", rates[_i].rate);
	script.attr.active_speed = (uint8_t)rates[_i].speed;
	script.attr.active_width = (uint8_t)rates[_i].width;
	measure();
	expect_number("port.rate_gbps", rates[_i].sysfs);
	expect_number("port.rate_verbs_gbps", rates[_i].verbs);
	if (rates[_i].agrees < 0)
		ck_assert(*fake_reason(context, "port.rate_agrees", "mlx5_ib0/1"));
	else
		ck_assert_int_eq(fake_boolean(context, "port.rate_agrees", "mlx5_ib0/1"), rates[_i].agrees);
}

static const struct {
	const char *keys[3];
	const char *list;
	bool full_member;
	const char *partitions;
} pkeys[] = {
	{ { "0x8001", "0xffff", "0x0000" }, "0x8001 0xffff", true, "0x0001" },
	{ { "0xffff", "0x8001", "0x0000" }, "0xffff 0x8001", true, "0x0001" },
	{ { "0xffff", "0x0000", "0x0000" }, "0xffff", false, "default" },
	{ { "0xffff", "0x0001", "0x0000" }, "0xffff 0x0001", false, "0x0001" },
	{ { "0x7fff", "0x0000", "0x0000" }, "0x7fff", false, "default" },
	{ { "0x0000", "0x0000", "0x0000" }, "none", false, "none" },
	{ { "0x0000", "0x0000", "0x8abc" }, "0x8abc", true, "0x0abc" },
	{ { "0x8012", "0x0012", "0x8002" }, "0x8012 0x0012 0x8002", true, "0x0002 0x0012" },
};

TEST_EACH(keys_tell_membership_and_partitions, pkeys)
{
	for (int i = 0; i < 3; i++) {
		char path[256];
		snprintf(path, sizeof path, PORT0 "/pkeys/%d", i);
		fake_file(context, path, pkeys[_i].keys[i]);
	}
	measure();
	ck_assert_str_eq(fake_string(context, "port.pkeys", "mlx5_ib0/1"), pkeys[_i].list);
	ck_assert(fake_boolean(context, "port.full_member", "mlx5_ib0/1") == pkeys[_i].full_member);
	ck_assert_str_eq(fake_string(context, "port.partitions", "mlx5_ib0/1"), pkeys[_i].partitions);
}

static double counter_of(const char *metric, const char *port, const char *counter)
{
	const struct muster_sample *sample = fake_sample(context, metric, port, counter);
	ck_assert_msg(sample->value.type == MUSTER_NUMBER, "%s is null: %s", counter, sample->reason);
	return sample->value.number;
}

TEST(the_increase_of_a_counter_is_what_came_since_the_start)
{
	struct muster_error err;
	measure();
	ck_assert_double_eq(counter_of("port.counter", "mlx5_ib0/1", "link_downed"), 3);
	ck_assert_double_eq(counter_of("port.counter", "mlx5_ib0/1", "out_of_sequence"), 7);
	ck_assert_uint_eq(fake_count(context, "port.counter"), 6);
	fake_file(context, PORT0 "/counters/link_downed", "5\n");
	fake_file(context, PORT0 "/hw_counters/out_of_sequence", "1\n");
	fake_file(context, PORT0 "/counters/port_rcv_errors", "9\n");
	ck_assert_int_eq(muster_probe_ib_link.finish(&context->ctx, &err), 0);
	ck_assert_double_eq(counter_of("port.counter_increase", "mlx5_ib0/1", "link_downed"), 2);
	ck_assert_double_eq(counter_of("port.counter_increase", "mlx5_ib0/1", "symbol_error"), 0);
	ck_assert_ptr_nonnull(strstr(
		fake_sample(context, "port.counter_increase", "mlx5_ib0/1", "out_of_sequence")->reason, "from 7 to 1"));
	ck_assert_ptr_nonnull(
		strstr(fake_sample(context, "port.counter_increase", "mlx5_ib0/1", "port_rcv_errors")->reason,
			"at the start"));
	ck_assert_double_eq(counter_of("port.counter_increase", "mlx5_an0/1", "link_downed"), 0);
}

TEST(a_port_without_counters_says_so_once)
{
	struct muster_error err;
	static const char *const files[] = { "counters/link_downed", "counters/symbol_error",
		"hw_counters/out_of_sequence" };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char path[4096];
		snprintf(path, sizeof path, "%s" PORT0 "/%s", context->root, files[i]);
		ck_assert_int_eq(unlink(path), 0);
	}
	measure();
	ck_assert_ptr_nonnull(fake_sample(context, "port.counter", "mlx5_ib0/1", "none")->reason);
	ck_assert_int_eq(muster_probe_ib_link.finish(&context->ctx, &err), 0);
	ck_assert_ptr_nonnull(fake_sample(context, "port.counter_increase", "mlx5_ib0/1", "none")->reason);
}

TEST(a_replaced_worker_does_not_invent_an_increase)
{
	struct muster_error err = { 0 };
	ck_assert_msg(muster_probe_ib_link.finish(&context->ctx, &err) == 0, "%s", err.text);
	ck_assert_uint_gt(context->samples.count, 0);
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		ck_assert_str_eq(sample->metric->name, "port.counter_increase");
		ck_assert_int_eq(sample->value.type, MUSTER_NULL);
	}
	const struct muster_sample *sample =
		fake_sample(context, "port.counter_increase", "mlx5_ib0/1", "symbol_error");
	ck_assert_str_eq(sample->reason, "the worker that read symbol_error at the start was replaced");
}

static const struct {
	enum muster_profile profile;
	const char *state; /* of the InfiniBand port; the Ethernet port is in INIT */
	int active_after;  /* pauses; -1: never */
	double waited_ms;
	const char *found;
} waits[] = {
	{ MUSTER_QUICK, "2: INIT\n", -1, 500, "INIT" },
	{ MUSTER_STANDARD, "2: INIT\n", -1, 2000, "INIT" },
	{ MUSTER_FULL, "3: ARMED\n", -1, 2000, "ARMED" },
	{ MUSTER_STANDARD, "2: INIT\n", 2, 200, "ACTIVE" },
	{ MUSTER_STANDARD, "3: ARMED\n", 3, 300, "ACTIVE" },
	{ MUSTER_STANDARD, "1: DOWN\n", -1, 0, "DOWN" },
	{ MUSTER_STANDARD, "4: ACTIVE\n", -1, 0, "ACTIVE" },
};

TEST_EACH(a_port_is_given_time_to_become_active_and_then_told_as_it_is, waits)
{
	context->ctx.env.profile = waits[_i].profile;
	fake_file(context, PORT0 "/state", waits[_i].state);
	fake_file(context, AN0 "/ports/1/state", "2: INIT\n");
	kernel.active_after = waits[_i].active_after;
	kernel.slept_ms = 0;
	measure();
	ck_assert_double_eq(kernel.slept_ms, waits[_i].waited_ms);
	ck_assert_str_eq(fake_string(context, "port.state", "mlx5_ib0/1"), waits[_i].found);
	ck_assert_str_eq(fake_string(context, "port.state", "mlx5_an0/1"), "INIT");
}

TEST(a_port_that_is_down_is_told_with_its_physical_state)
{
	fake_file(context, PORT0 "/state", "1: DOWN\n");
	fake_file(context, PORT0 "/phys_state", "2: Polling\n");
	measure();
	ck_assert_str_eq(fake_string(context, "port.state", "mlx5_ib0/1"), "DOWN");
	ck_assert_str_eq(fake_string(context, "port.phys_state", "mlx5_ib0/1"), "Polling");
}

/* What only libibverbs tells is null with its reason; the rest stands. */
static void expect_no_verbs(const char *part)
{
	static const char *const of_verbs[] = { "port.speed", "port.width", "port.mtu_bytes", "port.rate_verbs_gbps",
		"port.rate_agrees" };
	for (size_t i = 0; i < sizeof of_verbs / sizeof *of_verbs; i++)
		ck_assert_msg(strstr(fake_reason(context, of_verbs[i], "mlx5_ib0/1"), part) != NULL, "%s is null: %s",
			of_verbs[i], fake_reason(context, of_verbs[i], "mlx5_ib0/1"));
	ck_assert_double_eq(fake_number(context, "port.rate_gbps", "mlx5_ib0/1"), 200);
	ck_assert_str_eq(fake_string(context, "port.state", "mlx5_ib0/1"), "ACTIVE");
}

TEST(a_device_that_cannot_be_opened_is_null_with_errno)
{
	script.open_errno = EACCES;
	measure();
	expect_no_verbs("ibv_open_device of mlx5_ib0: Permission denied");
}

TEST(a_query_that_fails_leaves_no_half_answer)
{
	script.query_result = EIO;
	measure();
	expect_no_verbs("ibv_query_port of mlx5_ib0/1: Input/output error");
}

TEST(a_device_that_libibverbs_does_not_list_is_named)
{
	script.without_ib0 = true;
	measure();
	expect_no_verbs("libibverbs does not list mlx5_ib0");
	ck_assert_double_eq(fake_number(context, "port.width", "mlx5_an0/1"), 4);
}

TEST(a_list_that_fails_is_null_with_errno)
{
	script.list_errno = EPERM;
	measure();
	expect_no_verbs("ibv_get_device_list: Operation not permitted");
}

TEST(without_the_library_sysfs_still_speaks_and_the_error_names_it)
{
	struct muster_error err;
	script.missing = true;
	ck_assert_int_eq(muster_probe_ib_link.run(&context->ctx, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ELIB);
	ck_assert_ptr_nonnull(strstr(err.text, "libibverbs.so.1"));
	expect_no_verbs("libibverbs.so.1 cannot be opened");
	ck_assert_double_eq(fake_number(context, "node.ib_ports", NULL), 1);
}

TEST(an_unreadable_fact_is_null_and_names_the_file)
{
	char path[4096];
	snprintf(path, sizeof path, "%s" IB0 "/fw_ver", context->root);
	ck_assert_int_eq(unlink(path), 0);
	fake_file(context, IB0 "/board_id", "");
	fake_file(context, PORT0 "/lid", "zero");
	fake_file(context, "/sys/devices/0101:00:00.0/numa_node", "-1\n");
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "port.firmware", "mlx5_ib0/1"), "fw_ver: No such file"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "port.board_id", "mlx5_ib0/1"), "board_id is empty"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "port.lid", "mlx5_ib0/1"), "not a whole number"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "port.numa_node", "mlx5_ib0/1"), "numa_node is -1"));
}

TEST(the_numa_node_goes_with_the_pci_address)
{
	char path[4096];
	measure();
	ck_assert_double_eq(fake_sample(context, "port.numa_node", "mlx5_ib0/1", "0101:00:00.0")->value.number, 2);
	/* a device that is on no PCI bus has a place all the same */
	fake_forget(context);
	snprintf(path, sizeof path, "%s" IB0 "/device", context->root);
	ck_assert_int_eq(unlink(path), 0);
	fake_file(context, IB0 "/device/numa_node", "1\n");
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "port.pci", "mlx5_ib0/1"), "not the link to a PCI device"));
	ck_assert_double_eq(fake_sample(context, "port.numa_node", "mlx5_ib0/1", "unknown")->value.number, 1);
}

static const struct test_fixture other_fixture = { .setup = setup, .teardown = teardown };

TEST_WITH(a_node_without_rdma_has_no_ports_and_needs_no_library, .end = 3, .fixture = &other_fixture)
{
	static const struct {
		bool missing, directory;
	} nodes[] = { { false, false }, { true, false }, { true, true } };
	struct muster_error err;
	script.missing = nodes[_i].missing;
	script.list_errno = ENOSYS;
	if (nodes[_i].directory)
		fake_file(context, "/sys/class/infiniband", NULL);
	ck_assert_int_eq(muster_probe_ib_link.run(&context->ctx, &err), 0);
	ck_assert_int_eq(muster_probe_ib_link.finish(&context->ctx, &err), 0);
	ck_assert_double_eq(fake_number(context, "node.ib_ports", NULL), 0);
	ck_assert_double_eq(fake_number(context, "node.ethernet_ports", NULL), 0);
	ck_assert_uint_eq(context->samples.count, 2);
}

TEST_WITH(without_sysfs_nothing_is_counted, .end = 1, .fixture = &other_fixture)
{
	struct muster_error err;
	char path[512];
	snprintf(path, sizeof path, "%s/sys/class", context->root);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(muster_probe_ib_link.run(&context->ctx, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "/sys/class"));
	ck_assert_uint_eq(context->samples.count, 0);
}

TEST(each_step_names_its_device_or_port)
{
	struct muster_error err;
	measure();
	ck_assert_str_eq(context->steps,
		"sysfs: list the RDMA devices\nsysfs: read the ports\nopen libibverbs\nibv_get_device_list\n"
		"ibv_open_device of mlx5_an0\nibv_query_port of mlx5_an0/1\n"
		"ibv_open_device of mlx5_ib0\nibv_query_port of mlx5_ib0/1\n");
	fake_forget(context);
	ck_assert_int_eq(muster_probe_ib_link.finish(&context->ctx, &err), 0);
	ck_assert_str_eq(context->steps, "sysfs: read the error counters again\n");
}

TEST(a_port_that_is_waited_for_is_one_step)
{
	fake_file(context, PORT0 "/state", "2: INIT\n");
	measure();
	const char *wait = "wait for the subnet manager to activate mlx5_ib0/1\n",
		   *found = strstr(context->steps, wait);
	ck_assert_ptr_nonnull(found);
	ck_assert_ptr_null(strstr(found + 1, wait));
}

TEST(ports_are_numbers_and_their_layer_may_be_unknown)
{
	static const char *const others[] = { "0", "256", "x", "1x" };
	char path[4096];
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		snprintf(path, sizeof path, IB0 "/ports/%s/link_layer", others[i]);
		fake_file(context, path, "InfiniBand\n");
	}
	snprintf(path, sizeof path, "%s" AN0 "/ports/1/link_layer", context->root);
	ck_assert_int_eq(unlink(path), 0);
	measure();
	ck_assert_double_eq(fake_number(context, "node.ib_ports", NULL), 1);
	ck_assert_double_eq(fake_number(context, "node.ethernet_ports", NULL), 0);
	ck_assert_uint_eq(fake_count(context, "port.state"), 2);
	const struct muster_sample *sample = fake_sample(context, "port.state", "mlx5_an0/1", NULL);
	ck_assert_str_eq(muster_sample_label(sample, "link_layer")->string, "unknown");
}

TEST(pkeys_that_cannot_be_read_are_null_with_the_file)
{
	static const char *const both[] = { "port.pkeys", "port.full_member", "port.partitions" };
	char path[4096];
	fake_file(context, PORT0 "/pkeys/1", "key\n");
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s" AN0 "/ports/1/pkeys/%d", context->root, i);
		ck_assert_int_eq(unlink(path), 0);
	}
	measure();
	for (size_t i = 0; i < LENGTH(both); i++) {
		ck_assert_ptr_nonnull(strstr(fake_reason(context, both[i], "mlx5_ib0/1"), PORT0 "/pkeys/1"));
		ck_assert_ptr_nonnull(strstr(fake_reason(context, both[i], "mlx5_an0/1"), "/pkeys has no entries"));
	}
}

TEST(a_counter_that_cannot_be_read_is_null_with_the_file)
{
	struct muster_error err;
	fake_file(context, PORT0 "/counters/link_downed", "many\n");
	measure();
	ck_assert_ptr_nonnull(strstr(
		fake_sample(context, "port.counter", "mlx5_ib0/1", "link_downed")->reason, "/counters/link_downed"));
	ck_assert_int_eq(muster_probe_ib_link.finish(&context->ctx, &err), 0);
	ck_assert_ptr_nonnull(strstr(fake_sample(context, "port.counter_increase", "mlx5_ib0/1", "link_downed")->reason,
		"/counters/link_downed"));
	ck_assert_double_eq(counter_of("port.counter_increase", "mlx5_ib0/1", "out_of_sequence"), 0);
}

TEST(a_counter_that_starts_at_zero_may_increase)
{
	struct muster_error err;
	measure();
	fake_file(context, PORT0 "/counters/symbol_error", "4\n");
	ck_assert_int_eq(muster_probe_ib_link.finish(&context->ctx, &err), 0);
	ck_assert_double_eq(counter_of("port.counter_increase", "mlx5_ib0/1", "symbol_error"), 4);
}

TEST_WITH(a_replaced_worker_of_a_node_without_ports_misses_nothing, .end = 1, .fixture = &other_fixture)
{
	struct muster_error err = { 0 };
	ck_assert_msg(muster_probe_ib_link.finish(&context->ctx, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(context->samples.count, 0);
}

/* A host with SR-IOV. In a machine that has only the virtual functions they are its devices. */
TEST_LOOP(virtual_functions_of_a_device_that_is_there_are_left_out, 0, 2)
{
	char path[128];
	struct muster_error err;
	for (int i = 0; i < 60; i++) {
		snprintf(path, sizeof path, "/sys/class/infiniband/mlx5_%d/ports/1/link_layer", i);
		fake_file(context, path, "InfiniBand\n");
		snprintf(path, sizeof path, "/sys/class/infiniband/mlx5_%d/device/physfn/infiniband/%s", i,
			_i ? "mlx5_ib0" : "mlx5_other");
		fake_file(context, path, NULL);
	}
	ck_assert_int_eq(muster_probe_ib_link.run(&context->ctx, &err), 0);
	ck_assert_double_eq(fake_number(context, "node.ib_ports", NULL), _i ? 1 : 61);
	ck_assert_uint_eq(fake_count(context, "port.state"), _i ? 2 : 62);
}

TEST_MAIN(.setup = setup_ports, .teardown = teardown)
