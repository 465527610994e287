/* SPDX-License-Identifier: Apache-2.0 */
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
} script;

static unsigned int speed, width, mtu; /* of mlx5_ib0 */
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
	*attr = (struct ibv_port_attr){ .active_speed = opened->device == &devices[0] ? 4 : (uint8_t)speed,
		.active_width = (uint8_t)width,
		.active_mtu = (enum ibv_mtu)mtu };
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

#define KNOB(field) FAKE_KNOB(#field, script.field)

static const struct fake_knob knobs[] = { KNOB(missing), KNOB(list_errno), KNOB(open_errno), KNOB(query_result),
	KNOB(without_ib0), FAKE_KNOB("speed", speed), FAKE_KNOB("width", width), FAKE_KNOB("mtu", mtu),
	FAKE_KNOB("active_after", kernel.active_after), FAKE_KNOB("slept_ms", kernel.slept_ms), { .name = NULL } };

static void setup(void)
{
	context = fake_new(&muster_probe_ib_link);
	context->knobs = knobs;
	memset(&script, 0, sizeof script);
	speed = 64;
	width = 2;
	mtu = IBV_MTU_4096;
	kernel.active_after = -1;
	kernel.slept_ms = 0;
	fake_file(context, "/sys/class", NULL);
}

static void setup_ports(void)
{
	setup();
	context->place = "mlx5_ib0/1";
	add_device(IB0, "0101:00:00.0", "InfiniBand\n", "200 Gb/sec (4X HDR)\n");
	add_device(AN0, "a1b2:00:02.0", "Ethernet\n", "40 Gb/sec (4X QDR)\n");
}

static void teardown(void)
{
	ck_assert_uint_eq(script.opened, script.closed);
	ck_assert_uint_eq(script.listed, script.freed);
	fake_free(context);
}

#define FACT(fact)                                                                                                     \
	{                                                                                                              \
		"every fact of a port is read", NULL, fact " | port.rate_agrees true | port.full_member true"          \
	}
#define NO_RATE "port.rate_gbps -?* | "
#define NO_VERBS_RATE "port.rate_verbs_gbps -?* | "
#define CANNOT_AGREE "port.rate_agrees -?*"
#define RATE(rate, speed, width, expected)                                                                             \
	{                                                                                                              \
		"the rate of both sides: " rate, PORT0 "/rate=" rate " | speed=" speed " | width=" width, expected     \
	}
#define SAME(rate, speed, width, gbps)                                                                                 \
	RATE(rate, speed, width, "port.rate_gbps " gbps " | port.rate_verbs_gbps " gbps " | port.rate_agrees true")
#define DIFFER(rate, speed, width, sysfs, verbs)                                                                       \
	RATE(rate, speed, width, "port.rate_gbps " sysfs " | port.rate_verbs_gbps " verbs " | port.rate_agrees false")
#define BAD_RATE(rate) RATE(rate, "64", "2", NO_RATE "port.rate_verbs_gbps 200 | " CANNOT_AGREE)
/* 40 Gb/s of Ethernet, which sysfs calls QDR, are 40 Gb/s of data */
#define LIMIT(rate, state, expected)                                                                                   \
	{                                                                                                              \
		"the limit is what is left after encoding: " rate, PORT0 "/rate=" rate " | " PORT0 "/state=" state,    \
			"port.limit_gbps " expected " | port.limit_gbps port=mlx5_an0/1 link_layer=Ethernet 5"         \
	}
#define NO_MEANING(field, number)                                                                                      \
	"-ibv_query_port of mlx5_ib0/1: active_" field " is " number ", which has no meaning here"
#define KEYS(first, second, third, list, member, partitions)                                                           \
	{                                                                                                              \
		"keys: " list, PORT0 "/pkeys/0=" first " | " PORT0 "/pkeys/1=" second " | " PORT0 "/pkeys/2=" third,   \
			"port.pkeys '" list " | port.full_member " member " | port.partitions '" partitions            \
	}
#define WAIT(profile, state, active_after, waited, found)                                                              \
	{                                                                                                              \
		"a port is given time to become active: " state,                                                       \
			"profile=" profile " | " PORT0 "/state=" state " | " AN0                                       \
			"/ports/1/state=2: INIT | active_after=" active_after,                                         \
			"slept_ms " waited " | port.state '" found                                                     \
			" | port.state port=mlx5_an0/1 link_layer=Ethernet 'INIT"                                      \
	}
/* What only libibverbs tells is null with its reason; the rest stands. */
#define NO_VERBS(why)                                                                                                  \
	"port.speed -*" why "* | port.width -*" why "* | port.mtu_bytes -*" why "* | port.rate_verbs_gbps -*" why      \
	"* | port.rate_agrees -*" why "* | port.rate_gbps 200 | port.state 'ACTIVE"
#define COUNTER(metric, name) metric " port=mlx5_ib0/1 link_layer=InfiniBand counter=" name " "
#define INCREASE(name) COUNTER("port.counter_increase", name)
#define NO_COUNTERS                                                                                                    \
	"-" PORT0 "/counters/link_downed | -" PORT0 "/counters/symbol_error | -" PORT0 "/hw_counters/out_of_sequence"

static const struct fake_row rows[] = {
	FACT("port.state 'ACTIVE"),
	FACT("port.phys_state 'LinkUp"),
	FACT("port.speed 'HDR"),
	FACT("port.gid 'fe80:0000:0000:0000:0015:5dff:fe33:ff00"),
	FACT("port.guid '0015:5dff:fe33:ff00"),
	FACT("port.firmware '20.31.1014"),
	FACT("port.board_id 'MSF0000000012"),
	FACT("port.hca_type 'MT4124"),
	FACT("port.pci '0101:00:00.0"),
	FACT("port.pkeys '0x8001 0x7fff"),
	FACT("port.rate_gbps 200"),
	FACT("port.rate_verbs_gbps 200"),
	FACT("port.limit_gbps 25"),
	FACT("port.width 4"),
	FACT("port.mtu_bytes 4096"),
	FACT("port.lid 420"),
	FACT("port.numa_node 2"),
	{ "ports are told apart by link layer and not by name", NULL,
		"node.ib_ports 1 | node.ethernet_ports 1 | port.state port=mlx5_an0/1 link_layer=Ethernet 'ACTIVE | "
		"port.rate_verbs_gbps port=mlx5_an0/1 link_layer=Ethernet 40" },

	SAME("200 Gb/sec (4X HDR)", "64", "2", "200"),
	SAME("400 Gb/sec (4X NDR)", "128", "2", "400"),
	SAME("100 Gb/sec (4X EDR)", "32", "2", "100"),
	SAME("56 Gb/sec (4X FDR)", "16", "2", "56"),
	SAME("40 Gb/sec (4X FDR10)", "8", "2", "40"),
	SAME("2.5 Gb/sec (1X SDR)", "1", "1", "2.5"),
	SAME("20 Gb/sec (4X DDR)", "2", "2", "20"),
	SAME("400 Gb/sec (8X HDR)", "64", "4", "400"),
	SAME("300 Gb/sec (12X EDR)", "32", "8", "300"),
	SAME("100 Gb/sec (2X HDR)", "64", "16", "100"),
	/* up to half a per cent apart */
	RATE("100.4 Gb/sec (4X EDR)", "32", "2",
		"port.rate_gbps 100.4 | port.rate_verbs_gbps 100 | port.rate_agrees true"),
	RATE("99.6 Gb/sec (4X EDR)", "32", "2",
		"port.rate_gbps 99.6 | port.rate_verbs_gbps 100 | port.rate_agrees true"),
	DIFFER("200 Gb/sec (4X HDR)", "32", "2", "200", "100"),
	DIFFER("100.9 Gb/sec (4X EDR)", "32", "2", "100.9", "100"),
	DIFFER("99.5 Gb/sec (4X EDR)", "32", "2", "99.5", "100"),
	DIFFER("200 Gb/sec (4X HDR)", "64", "16", "200", "100"),
	DIFFER("0 Gb/sec", "64", "2", "0", "200"),
	DIFFER("9 Gb/sec", "64", "2", "9", "200"),
	RATE("800 Gb/sec (4X XDR)", "128", "2", "port.rate_gbps 800 | " NO_VERBS_RATE CANNOT_AGREE),
	RATE("200 Gb/sec (4X HDR)", "3", "2", "port.rate_gbps 200 | " NO_VERBS_RATE CANNOT_AGREE),
	RATE("200 Gb/sec (4X HDR)", "64", "7", "port.rate_gbps 200 | " NO_VERBS_RATE CANNOT_AGREE),
	RATE("200 Gb/sec (4X HDR)", "0", "0", "port.rate_gbps 200 | " NO_VERBS_RATE CANNOT_AGREE),
	BAD_RATE(":0 Gb/sec"),
	BAD_RATE("200"),
	BAD_RATE("200 Mb/sec"),
	BAD_RATE("Gb/sec"),
	BAD_RATE("-200 Gb/sec"),
	BAD_RATE("nan Gb/sec"),
	BAD_RATE("1e999 Gb/sec"),
	BAD_RATE("200 Gb/second"),
	BAD_RATE(""),

	LIMIT("400 Gb/sec (4X NDR)", "4: ACTIVE", "50~5e-4"),
	LIMIT("800 Gb/sec (4X XDR)", "4: ACTIVE", "100~5e-4"),
	LIMIT("100 Gb/sec (4X EDR)", "4: ACTIVE", "12.5~5e-4"),
	LIMIT("56 Gb/sec (4X FDR)", "4: ACTIVE", "6.818~5e-4"),
	LIMIT("40 Gb/sec (4X FDR10)", "4: ACTIVE", "5~5e-4"),
	LIMIT("40 Gb/sec (4X QDR)", "4: ACTIVE", "4~5e-4"),
	LIMIT("20 Gb/sec (4X DDR)", "4: ACTIVE", "2~5e-4"),
	LIMIT("10 Gb/sec (4X SDR)", "4: ACTIVE", "1~5e-4"),
	LIMIT("200 Gb/sec (4X HDR)", "1: DOWN", "-the port is DOWN"),
	LIMIT("200", "4: ACTIVE", "-the rate in sysfs is not in Gb/sec: \"200\""),

	{ "a speed without a meaning", "speed=3", "port.speed " NO_MEANING("speed", "3") },
	{ "and the rate", "speed=3", "port.rate_verbs_gbps " NO_MEANING("speed", "3") },
	{ "and the comparison", "speed=3", "port.rate_agrees " NO_MEANING("speed", "3") },
	{ "two speeds at once", "speed=129", "port.speed " NO_MEANING("speed", "129") },
	{ "a width without a meaning", "width=7", "port.width " NO_MEANING("width", "7") },
	{ "two widths at once", "width=17", "port.rate_verbs_gbps " NO_MEANING("width", "17") },
	{ "no MTU", "mtu=0", "port.mtu_bytes " NO_MEANING("mtu", "0") },
	{ "an MTU without a meaning", "mtu=6", "port.mtu_bytes " NO_MEANING("mtu", "6") },
	{ "every MTU is in bytes", "mtu=1", "port.mtu_bytes 256" },
	{ "every MTU is in bytes", "mtu=2", "port.mtu_bytes 512" },
	{ "every MTU is in bytes", "mtu=3", "port.mtu_bytes 1024" },
	{ "every MTU is in bytes", "mtu=4", "port.mtu_bytes 2048" },
	{ "every MTU is in bytes", "mtu=5", "port.mtu_bytes 4096" },

	KEYS("0x8001", "0xffff", "0x0000", "0x8001 0xffff", "true", "0x0001"),
	KEYS("0xffff", "0x8001", "0x0000", "0xffff 0x8001", "true", "0x0001"),
	KEYS("0xffff", "0x0000", "0x0000", "0xffff", "false", "default"),
	KEYS("0xffff", "0x0001", "0x0000", "0xffff 0x0001", "false", "0x0001"),
	KEYS("0x7fff", "0x0000", "0x0000", "0x7fff", "false", "default"),
	KEYS("0x0000", "0x0000", "0x0000", "none", "false", "none"),
	KEYS("0x0000", "0x0000", "0x8abc", "0x8abc", "true", "0x0abc"),
	KEYS("0x8012", "0x0012", "0x8002", "0x8012 0x0012 0x8002", "true", "0x0002 0x0012"),
	{ "keys that cannot be read are null with the file", PORT0 "/pkeys/1=key",
		"port.pkeys -*" PORT0 "/pkeys/1* | port.full_member -*" PORT0 "/pkeys/1* | port.partitions -*" PORT0
		"/pkeys/1*" },

	WAIT("0", "2: INIT", "-1", "500", "INIT"),
	WAIT("1", "2: INIT", "-1", "2000", "INIT"),
	WAIT("2", "3: ARMED", "-1", "2000", "ARMED"),
	WAIT("1", "2: INIT", "2", "200", "ACTIVE"),
	WAIT("1", "3: ARMED", "3", "300", "ACTIVE"),
	WAIT("1", "1: DOWN", "-1", "0", "DOWN"),
	WAIT("1", "4: ACTIVE", "-1", "0", "ACTIVE"),
	{ "a port that is down is told with its physical state",
		PORT0 "/state=1: DOWN | " PORT0 "/phys_state=2: Polling",
		"port.state 'DOWN | port.phys_state 'Polling" },

	{ "a device that cannot be opened is null with errno", "open_errno=13",
		NO_VERBS("ibv_open_device of mlx5_ib0: Permission denied") },
	{ "a query that fails leaves no half answer", "query_result=5",
		NO_VERBS("ibv_query_port of mlx5_ib0/1: Input/output error") },
	{ "a device that libibverbs does not list is named", "without_ib0=1",
		NO_VERBS("libibverbs does not list mlx5_ib0") " | port.width port=mlx5_an0/1 link_layer=Ethernet 4" },
	{ "a list that fails is null with errno", "list_errno=1",
		NO_VERBS("ibv_get_device_list: Operation not permitted") },
	{ "without the library sysfs still speaks and the error names it", "missing=1",
		"error '*libibverbs.so.1* | node.ib_ports 1 | " NO_VERBS("libibverbs.so.1 cannot be opened") },
	{ "an unreadable fact is null and names the file",
		"-" IB0 "/fw_ver | " IB0 "/board_id= | " PORT0 "/lid=zero | "
		"/sys/devices/0101:00:00.0/numa_node=-1",
		"port.firmware -*fw_ver: No such file* | port.board_id -*board_id is empty* | "
		"port.lid -*not a whole number* | port.numa_node -*numa_node is -1*" },
	{ "the NUMA node goes with the PCI address", NULL,
		"port.numa_node port=mlx5_ib0/1 link_layer=InfiniBand pci=0101:00:00.0 2" },
	{ "a device that is on no PCI bus has a place all the same", "-" IB0 "/device | " IB0 "/device/numa_node=1",
		"port.pci -*not the link to a PCI device* | "
		"port.numa_node port=mlx5_ib0/1 link_layer=InfiniBand pci=unknown 1" },
	{ "ports are numbers",
		IB0 "/ports/0/link_layer=InfiniBand | " IB0 "/ports/256/link_layer=InfiniBand | " IB0
		    "/ports/x/link_layer=InfiniBand | " IB0 "/ports/1x/link_layer=InfiniBand",
		"node.ib_ports 1 | node.ethernet_ports 1 | port.state #2" },
	{ "ports of another link layer count and have a state",
		AN0 "/ports/1/link_layer=Unspecified | " IB0 "/ports/1/link_layer=Unknown | " IB0
		    "/ports/1/state=1: DOWN",
		"node.ib_ports 0 | node.ethernet_ports 0 | node.other_rdma_ports 2 | "
		"port.state port=mlx5_an0/1 link_layer=other 'ACTIVE | "
		"port.state port=mlx5_ib0/1 link_layer=other 'DOWN" },
	{ "the link layer of a port may be unknown", "-" AN0 "/ports/1/link_layer",
		"node.ib_ports 1 | node.ethernet_ports 0 | port.state port=mlx5_an0/1 link_layer=unknown 'ACTIVE | "
		"port.state #2" },

	{ "counters since the port came up", NULL,
		COUNTER("port.counter", "link_downed") "3 | " COUNTER(
			"port.counter", "out_of_sequence") "7 | port.counter #6" },
	{ "the increase of a counter is what came since the start",
		"run | " PORT0 "/counters/link_downed=5 | " PORT0 "/hw_counters/out_of_sequence=1 | " PORT0
		"/counters/port_rcv_errors=9 | finish",
		INCREASE("link_downed") "2 | " INCREASE("symbol_error") "0 | " INCREASE(
			"out_of_sequence") "-*from 7 to 1* | " INCREASE("port_rcv_errors") "-*at the start* | "
											   "port.counter_increase "
											   "port=mlx5_an0/1 "
											   "link_layer=Ethernet "
											   "counter=link_downed 0" },
	{ "a counter that starts at zero may increase", "run | " PORT0 "/counters/symbol_error=4 | finish",
		INCREASE("symbol_error") "4" },
	{ "a port without counters says so once", NO_COUNTERS " | run | finish",
		COUNTER("port.counter", "none") "-?* | " INCREASE("none") "-?*" },
	{ "a counter that cannot be read is null with the file", PORT0 "/counters/link_downed=many | run | finish",
		COUNTER("port.counter", "link_downed") "-*/counters/link_downed* | " INCREASE(
			"link_downed") "-*/counters/link_downed* | " INCREASE("out_of_sequence") "0" },
	{ "steps name their device or port", NULL,
		"steps 'sysfs: list the RDMA devices; sysfs: read the ports; open libibverbs; ibv_get_device_list; "
		"ibv_open_device of mlx5_an0; ibv_query_port of mlx5_an0/1; ibv_open_device of mlx5_ib0; "
		"ibv_query_port of mlx5_ib0/1" },
	{ "the step of the end", "run | forget | finish", "steps 'sysfs: read the error counters again" },
	{ "a port that is waited for is one step", PORT0 "/state=2: INIT",
		"steps 'sysfs: list the RDMA devices; wait for the subnet manager to activate mlx5_ib0/1; "
		"sysfs: read the ports; open libibverbs; ibv_get_device_list; "
		"ibv_open_device of mlx5_an0; ibv_query_port of mlx5_an0/1; ibv_open_device of mlx5_ib0; "
		"ibv_query_port of mlx5_ib0/1" },
};

TEST_EACH(ports_are_read_from_sysfs_and_libibverbs, rows)
{
	static const char *const later[] = { "port.counter_increase", NULL };
	fake_case(context, &rows[_i]);
	if (!strstr(rows[_i].given ? rows[_i].given : "", "forget"))
		fake_complete(context, later);
	if (context->result < 0)
		ck_assert_int_eq(context->error.code, MUSTER_ELIB);
}

TEST(a_replaced_worker_does_not_invent_an_increase)
{
	fake_case(context,
		&(struct fake_row){ "finish alone", "finish",
			INCREASE("symbol_error") "-the worker that read symbol_error at the start was replaced" });
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		ck_assert_str_eq(sample->metric->name, "port.counter_increase");
		ck_assert_int_eq(sample->value.type, MUSTER_NULL);
	}
}

static const struct test_fixture other_fixture = { .setup = setup, .teardown = teardown };
#define ADAPTER                                                                                                        \
	"/sys/bus/pci/devices/0101:00:00.0/vendor=0x15b3 | /sys/bus/pci/devices/0101:00:00.0/class=0x020700 | "        \
	"/sys/bus/pci/devices/0102:00:00.0/vendor=0x15b3 | /sys/bus/pci/devices/0102:00:00.0/class=0x060400 | "
static const struct fake_row without[] = {
	{ "a node without RDMA has no ports", "list_errno=38 | run | finish",
		"node.ib_ports 0 | node.ethernet_ports 0" },
	{ "and needs no library", "list_errno=38 | missing=1 | run | finish",
		"node.ib_ports 0 | node.ethernet_ports 0" },
	{ "an empty folder", "list_errno=38 | missing=1 | /sys/class/infiniband/ | run | finish",
		"node.ib_ports 0 | node.ethernet_ports 0" },
	{ "adapters whose driver is not loaded", "list_errno=38 | " ADAPTER "/sys/module/mlx5_core/ | run | finish",
		"node.ib_ports 0 | node.rdma_adapters_unused '0101:00:00.0, mlx5_ib is not loaded" },
	{ "none of whose modules is loaded", "list_errno=38 | " ADAPTER "run | finish",
		"node.rdma_adapters_unused '0101:00:00.0, mlx5_core is not loaded" },
	{ "and that have it", "list_errno=38 | " ADAPTER "/sys/module/mlx5_core/ | /sys/module/mlx5_ib/ | run | finish",
		"node.rdma_adapters_unused '0101:00:00.0, mlx5_ib has made no device" },
	{ "virtual functions are for guests",
		"list_errno=38 | " ADAPTER "/sys/bus/pci/devices/0101:00:00.0/physfn/ | run | finish",
		"node.rdma_adapters_unused 'none" },
	{ "without sysfs nothing is counted", "-/sys/class", "error '*/sys/class*" },
	{ "a replaced worker of a node without ports misses nothing", "finish", "" },
};

TEST_WITH(where_there_are_no_ports_only_the_node_is_told_of, .end = LENGTH(without), .fixture = &other_fixture)
{
	fake_case(context, &without[_i]);
	ck_assert_uint_eq(context->samples.count, strstr(without[_i].expected, "node.") ? 4 : 0);
}

/* A host with SR-IOV. In a machine that has only the virtual functions they are its devices. */
TEST_LOOP(virtual_functions_of_a_device_that_is_there_are_left_out, 0, 2)
{
	char path[128];
	for (int i = 0; i < 60; i++) {
		snprintf(path, sizeof path, "/sys/class/infiniband/mlx5_%d/ports/1/link_layer=InfiniBand", i);
		fake_given(context, path);
		snprintf(path, sizeof path, "/sys/class/infiniband/mlx5_%d/device/physfn/infiniband/%s/", i,
			_i ? "mlx5_ib0" : "mlx5_other");
		fake_given(context, path);
	}
	fake_run(context);
	ck_assert_int_eq(context->result, 0);
	ck_assert_double_eq(fake_number(context, "node.ib_ports", NULL), _i ? 1 : 61);
	ck_assert_uint_eq(fake_count(context, "port.state"), _i ? 2 : 62);
}

/* The folder stays, and nothing is in it. */
TEST(a_port_without_keys_is_told_with_the_folder)
{
	fake_case(context, &(struct fake_row){ "no keys",
				   "-" AN0 "/ports/1/pkeys/0 | -" AN0 "/ports/1/pkeys/1 | -" AN0 "/ports/1/pkeys/2",
				   "port.pkeys port=mlx5_an0/1 link_layer=Ethernet -*/pkeys has no entries* | "
				   "port.full_member port=mlx5_an0/1 link_layer=Ethernet -*/pkeys has no entries* | "
				   "port.partitions port=mlx5_an0/1 link_layer=Ethernet -*/pkeys has no entries*" });
}

TEST_MAIN(.setup = setup_ports, .teardown = teardown)
