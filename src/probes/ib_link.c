/* ib_link.c - state, speed and width of every RDMA port
 *
 * Yields samples only. A port that is down is a fact here; whether it should be up is the expectation file's business.
 * sysfs says which ports there are; libibverbs, joined by device name, adds what only it knows.
 */
#include "vendor/verbs.h"
#include "system/sysfs.h"
#include "util/sort.h"
#include "util/text.h"
#include "muster/arena.h"
#include "probes/metrics.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct muster_metric metrics[] = {
	NODE_METRIC("node.ib_ports", MUSTER_NUMBER, "", "RDMA ports whose link layer is InfiniBand"),
	NODE_METRIC("node.ethernet_ports", MUSTER_NUMBER, "", "RDMA ports whose link layer is Ethernet"),
	PORT_METRIC("port.state", MUSTER_STRING, "", "logical state: ACTIVE, INIT, ARMED, DOWN"),
	PORT_METRIC("port.phys_state", MUSTER_STRING, "", "physical state: LinkUp, Polling, Disabled ..."),
	PORT_METRIC("port.rate_gbps", MUSTER_NUMBER, "Gb/s", "rate as sysfs names it (\"200 Gb/sec (4X HDR)\")"),
	PORT_METRIC("port.rate_verbs_gbps", MUSTER_NUMBER, "Gb/s", "speed times width as libibverbs gives them"),
	PORT_METRIC("port.rate_agrees", MUSTER_BOOLEAN, "", "sysfs and libibverbs give the same rate"),
	PORT_METRIC("port.limit_gbps", MUSTER_NUMBER, "GB/s",
		"what the link can carry in one direction after encoding; null where the port is not ACTIVE"),
	PORT_METRIC("port.speed", MUSTER_STRING, "", "speed of one lane by name: HDR, NDR ..."),
	PORT_METRIC("port.width", MUSTER_NUMBER, "lanes", "lanes"),
	PORT_METRIC("port.mtu_bytes", MUSTER_NUMBER, "bytes", "active MTU"),
	PORT_METRIC("port.lid", MUSTER_NUMBER, "", "local identifier"),
	PORT_METRIC("port.gid", MUSTER_STRING, "", "GID 0"),
	PORT_METRIC("port.guid", MUSTER_STRING, "", "node GUID"),
	PORT_METRIC("port.firmware", MUSTER_STRING, "", "firmware version"),
	PORT_METRIC("port.board_id", MUSTER_STRING, "", "board id"),
	PORT_METRIC("port.hca_type", MUSTER_STRING, "", "adapter type"),
	PORT_METRIC("port.pci", MUSTER_STRING, "", "PCI address"),
	MUSTER_METRIC(MUSTER_SCOPE_PORT, "port.numa_node", MUSTER_NUMBER, "",
		"NUMA node from sysfs; null when the kernel does not know (-1)", "port", "link_layer", "pci"),
	PORT_METRIC(
		"port.pkeys", MUSTER_STRING, "", "valid P_Keys in the table's order, separated by spaces; \"none\""),
	PORT_METRIC("port.full_member", MUSTER_BOOLEAN, "",
		"at least one P_Key other than the default is a full-member key (0x8000 bit set)"),
	PORT_METRIC("port.partitions", MUSTER_STRING, "",
		"partitions of these P_Keys, whatever their order and membership; \"default\" when there is no other"),
	MUSTER_METRIC(MUSTER_SCOPE_PORT, "port.counter", MUSTER_NUMBER, "",
		"error counter at the start of the run; one null when the port has none", "port", "link_layer",
		"counter"),
	MUSTER_METRIC(MUSTER_SCOPE_PORT, "port.counter_increase", MUSTER_NUMBER, "",
		"increase of the error counter during the run", "port", "link_layer", "counter"),
};

struct port {
	char device[256], label[272], link_layer[32];
	int number;
	bool asked;                      /* libibverbs answered */
	struct ibv_port_attr attr;       /* all zero unless it did */
	char why[MUSTER_ERROR_TEXT_MAX]; /* why it did not */
};

struct ports {
	struct port *items;
	size_t count;
};

static struct port *add_port(struct ports *ports, const char *device, int number)
{
	ports->items = muster_realloc(ports->items, ports->count + 1, sizeof *ports->items);
	struct port *port = &ports->items[ports->count++];
	*port = (struct port){ .number = number };
	snprintf(port->device, sizeof port->device, "%s", device);
	snprintf(port->label, sizeof port->label, "%s/%d", device, number);
	return port;
}

/* The value, or null with why when result is negative; third: the metric's third label. */
static void yield_with(struct muster_probe_ctx *ctx, const struct port *port, const char *metric, const char *third,
	int result, struct muster_value value, const char *why)
{
	const struct muster_value labels[] = { muster_string(port->label), muster_string(port->link_layer),
		muster_string(third) };
	size_t count = third ? 3 : 2;
	if (result < 0)
		muster_emit_null(ctx, metric, labels, count, "%s", why);
	else
		muster_emit(ctx, metric, labels, count, value);
}

static void yield(struct muster_probe_ctx *ctx, const struct port *port, const char *metric, int result,
	struct muster_value value, const char *why)
{
	yield_with(ctx, port, metric, NULL, result, value, why);
}

/* The path of a file of the port's device, or with of_port of the port itself. */
static const char *port_path(
	struct muster_probe_ctx *ctx, const struct port *port, bool of_port, const char *file, char *buf, size_t size)
{
	if (of_port)
		return muster_root_path(
			ctx, buf, size, "/sys/class/infiniband/%s/ports/%d/%s", port->device, port->number, file);
	return muster_root_path(ctx, buf, size, "/sys/class/infiniband/%s/%s", port->device, file);
}

static int read_port_line(struct muster_probe_ctx *ctx, const struct port *port, bool of_port, const char *file,
	char *ret, size_t size, struct muster_error *err)
{
	char path[PATH_MAX];
	if (muster_read_line(port_path(ctx, port, of_port, file, path, sizeof path), ret, size, err) < 0)
		return -1;
	return *ret ? 0 : muster_fail(err, MUSTER_EIO, "%s is empty", path);
}

/* "ACTIVE" of "4: ACTIVE". */
static const char *after_colon(const char *text)
{
	const char *colon = strchr(text, ':');
	return colon ? colon + 1 + strspn(colon + 1, " ") : text;
}

/* Whether the device is a virtual function of another device of the list: a host with SR-IOV may show a hundred of
 * them, and they have the links of the first. In a virtual machine or a container that has only a virtual function,
 * that is the device. */
static bool is_virtual(struct muster_probe_ctx *ctx, const char *device, const struct muster_names *devices)
{
	char path[PATH_MAX];
	struct muster_names parents;
	bool found = false;
	muster_root_path(ctx, path, sizeof path, "/sys/class/infiniband/%s/device/physfn/infiniband", device);
	if (muster_sysfs_names(path, &parents, NULL) < 0)
		return false;
	for (size_t i = 0; i < parents.count && !found; i++)
		for (size_t j = 0; j < devices->count && !found; j++)
			found = strcmp(parents.items[i], devices->items[j]) == 0;
	muster_names_done(&parents);
	return found;
}

static int find_ports(struct muster_probe_ctx *ctx, struct ports *ports, struct muster_error *err)
{
	char path[PATH_MAX];
	struct muster_names devices, numbers;
	if (access(muster_root_path(ctx, path, sizeof path, "/sys/class"), X_OK) != 0)
		return muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
	if (muster_sysfs_names(muster_root_path(ctx, path, sizeof path, "/sys/class/infiniband"), &devices, err) < 0)
		return -1;
	int result = 0;
	for (size_t i = 0; result == 0 && i < devices.count; i++) {
		if (is_virtual(ctx, devices.items[i], &devices))
			continue;
		muster_root_path(ctx, path, sizeof path, "/sys/class/infiniband/%s/ports", devices.items[i]);
		result = muster_sysfs_names(path, &numbers, err);
		for (size_t j = 0; result == 0 && j < numbers.count; j++) {
			long number;
			if (muster_parse_int(numbers.items[j], 1, UINT8_MAX, &number, "port", NULL) < 0)
				continue;
			struct port *port = add_port(ports, devices.items[i], (int)number);
			if (read_port_line(
				    ctx, port, true, "link_layer", port->link_layer, sizeof port->link_layer, NULL) < 0)
				snprintf(port->link_layer, sizeof port->link_layer, "unknown");
		}
		if (result == 0)
			muster_names_done(&numbers);
	}
	muster_names_done(&devices);
	return result;
}

/* A port in INIT has a link but no answer from the subnet manager yet: give it some time before it is called so. */
static void wait_for_subnet_manager(struct muster_probe_ctx *ctx, const struct ports *ports)
{
	const struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };
	double limit_ms = muster_probe_env(ctx)->profile == MUSTER_QUICK ? 500 : 2000, start = muster_now_ms();
	bool waited = false;
	for (size_t i = 0; i < ports->count; i++) {
		char text[64];
		while (strcmp(ports->items[i].link_layer, "InfiniBand") == 0 &&
			read_port_line(ctx, &ports->items[i], true, "state", text, sizeof text, NULL) == 0 &&
			(strcmp(after_colon(text), "INIT") == 0 || strcmp(after_colon(text), "ARMED") == 0) &&
			muster_now_ms() - start < limit_ms) {
			if (!waited)
				muster_step(ctx, "wait for the subnet manager to activate %s", ports->items[i].label);
			waited = true;
			nanosleep(&pause, NULL);
		}
	}
}

static void ask_device(
	struct muster_probe_ctx *ctx, const struct muster_verbs *verbs, struct ibv_device *device, struct ports *ports)
{
	const char *name = verbs->get_device_name(device);
	muster_step(ctx, "ibv_open_device of %s", name);
	struct ibv_context *context = verbs->open_device(device);
	int why = errno;
	for (size_t i = 0; i < ports->count; i++) {
		struct port *port = &ports->items[i];
		if (strcmp(port->device, name) != 0)
			continue;
		if (!context) {
			snprintf(port->why, sizeof port->why, "ibv_open_device of %s: %s", name, strerror(why));
			continue;
		}
		muster_step(ctx, "ibv_query_port of %s", port->label);
		int result = muster_verbs_query_port(verbs, context, (uint8_t)port->number, &port->attr);
		port->asked = result == 0;
		if (result == 0)
			continue;
		memset(&port->attr, 0, sizeof port->attr);
		snprintf(port->why, sizeof port->why, "ibv_query_port of %s: %s", port->label, strerror(result));
	}
	if (context)
		verbs->close_device(context);
}

static void ask_verbs(struct muster_probe_ctx *ctx, const struct muster_verbs *verbs, struct ports *ports)
{
	int count = 0;
	muster_step(ctx, "ibv_get_device_list");
	struct ibv_device **devices = verbs->get_device_list(&count);
	int why = errno;
	for (size_t i = 0; i < ports->count; i++) {
		struct port *port = &ports->items[i];
		if (devices)
			snprintf(port->why, sizeof port->why, "libibverbs does not list %s", port->device);
		else
			snprintf(port->why, sizeof port->why, "ibv_get_device_list: %s", strerror(why));
	}
	for (int i = 0; devices && i < count; i++)
		ask_device(ctx, verbs, devices[i], ports);
	if (devices)
		verbs->free_device_list(devices);
}

/* Facts that are one line of one file, of the port or of its device. */
static const struct {
	const char *metric, *file;
	bool of_port;
} texts[] = {
	{ "port.state", "state", true },           /* "4: ACTIVE" */
	{ "port.phys_state", "phys_state", true }, /* "5: LinkUp" */
	{ "port.gid", "gids/0", true },
	{ "port.guid", "node_guid", false },
	{ "port.firmware", "fw_ver", false },
	{ "port.board_id", "board_id", false },
	{ "port.hca_type", "hca_type", false },
};

/* A device's name says nothing of its place: the NUMA node goes with the PCI address, "unknown" when there is none. */
static void measure_place(struct muster_probe_ctx *ctx, const struct port *port)
{
	char address[64], path[PATH_MAX];
	struct muster_error why;
	long node = 0;
	port_path(ctx, port, false, "device", path, sizeof path);
	int result = muster_sysfs_pci_address(path, address, sizeof address, &why);
	yield(ctx, port, "port.pci", result, muster_string(address), why.text);
	const char *pci = result == 0 ? address : "unknown";
	result = muster_sysfs_natural(port_path(ctx, port, false, "device/numa_node", path, sizeof path), &node, &why);
	yield_with(ctx, port, "port.numa_node", pci, result, muster_number((double)node), why.text);
}

static void measure_files(struct muster_probe_ctx *ctx, const struct port *port)
{
	char text[256], path[PATH_MAX];
	struct muster_error why;
	long lid = 0;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		int result = read_port_line(ctx, port, texts[i].of_port, texts[i].file, text, sizeof text, &why);
		bool numbered = result == 0 && *text >= '0' && *text <= '9' && strstr(text, ": ");
		yield(ctx, port, texts[i].metric, result, muster_string(numbered ? after_colon(text) : text), why.text);
	}
	int result = muster_sysfs_natural(port_path(ctx, port, true, "lid", path, sizeof path), &lid, &why);
	yield(ctx, port, "port.lid", result, muster_number((double)lid), why.text);
}

/* libibverbs' codes for the speed of a lane and the number of lanes. The rates are those that sysfs calculates with:
 * FDR is 14 and not 14.0625, FDR10 is 10 and not 10.3125. */
static const struct speed {
	const char *name;
	double gbps;
} speeds[] = {
	[1] = { "SDR", 2.5 },
	[2] = { "DDR", 5 },
	[4] = { "QDR", 10 },
	[8] = { "FDR10", 10 },
	[16] = { "FDR", 14 },
	[32] = { "EDR", 25 },
	[64] = { "HDR", 50 },
	[128] = { "NDR", 100 },
};
static const int lanes_of[] = { [1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2 };

static const struct speed *find_speed(unsigned int code)
{
	return code < sizeof speeds / sizeof *speeds && speeds[code].name ? &speeds[code] : NULL;
}

static int find_lanes(unsigned int code)
{
	return code < sizeof lanes_of / sizeof *lanes_of && lanes_of[code] ? lanes_of[code] : -1;
}

/* The rate that begins sysfs' words: "200 Gb/sec (4X HDR)". */
static int parse_rate(const char *text, double *ret, struct muster_error *err)
{
	char *end;
	double rate = strtod(text, &end);
	if (*text < '0' || *text > '9' || !isfinite(rate) || strncmp(end, " Gb/sec", 7) != 0 ||
		(end[7] && end[7] != ' '))
		return muster_fail(err, MUSTER_EIO, "the rate in sysfs is not in Gb/sec: \"%s\"", text);
	*ret = rate;
	return 0;
}

/* The share of the bits of the rate in sysfs that are data. SDR, DDR and QDR of InfiniBand are rates before 8b/10b; FDR
 * is 14.0625 before 64b/66b, of which sysfs says 14. The later ones, and all rates of Ethernet, are those of the data.
 */
static double data_share(const struct port *port, const char *rate)
{
	static const struct {
		const char *name;
		double share;
	} encoded[] = { { " SDR)", 0.8 }, { " DDR)", 0.8 }, { " QDR)", 0.8 }, { " FDR)", 14.0625 / 14 * 64 / 66 } };
	for (size_t i = 0; strcmp(port->link_layer, "InfiniBand") == 0 && i < sizeof encoded / sizeof *encoded; i++)
		if (strstr(rate, encoded[i].name))
			return encoded[i].share;
	return 1;
}

/* text: the rate in sysfs' words. A link that is down has the rate of its next attempt. */
static void measure_limit(struct muster_probe_ctx *ctx, const struct port *port, const char *text, int result,
	double rate, struct muster_error *why)
{
	char state[128] = "";
	if (result == 0)
		result = read_port_line(ctx, port, true, "state", state, sizeof state, why);
	if (result == 0 && strcmp(after_colon(state), "ACTIVE") != 0)
		result = muster_fail(why, MUSTER_ENOTSUPPORTED, "the port is %s", after_colon(state));
	yield(ctx, port, "port.limit_gbps", result, muster_number(rate / 8 * data_share(port, text)), why->text);
}

/* Why libibverbs' attributes do not tell something: it was not asked, or the field holds a code without a meaning. */
static const char *why_not(const struct port *port, const char *field, unsigned int code, char *buf, size_t size)
{
	if (port->asked)
		snprintf(buf, size, "ibv_query_port of %s: %s is %u, which has no meaning here", port->label, field,
			code);
	else
		snprintf(buf, size, "%s", port->why);
	return buf;
}

/* The rate as sysfs has it, in its words and as a number. */
static int read_rate(
	struct muster_probe_ctx *ctx, const struct port *port, char text[128], double *ret, struct muster_error *err)
{
	*text = '\0';
	*ret = 0;
	return read_port_line(ctx, port, true, "rate", text, 128, err) < 0 ? -1 : parse_rate(text, ret, err);
}

static void measure_rate(struct muster_probe_ctx *ctx, const struct port *port)
{
	char text[128];
	double rate;
	struct muster_error why;
	int result = read_rate(ctx, port, text, &rate, &why);
	yield(ctx, port, "port.rate_gbps", result, muster_number(rate), why.text);
	measure_limit(ctx, port, text, result, rate, &why);
}

/* What libibverbs says, and whether its rate agrees with that of sysfs. */
static void measure_attributes(struct muster_probe_ctx *ctx, const struct port *port)
{
	const struct ibv_port_attr *attr = &port->attr;
	char text[128], why[MUSTER_ERROR_TEXT_MAX];
	double rate;
	struct muster_error no_rate;
	int sysfs = read_rate(ctx, port, text, &rate, &no_rate);
	int mtu = attr->active_mtu >= IBV_MTU_256 && attr->active_mtu <= IBV_MTU_4096 ? 128 << attr->active_mtu : -1;
	why_not(port, "active_mtu", attr->active_mtu, why, sizeof why);
	yield(ctx, port, "port.mtu_bytes", mtu, muster_number(mtu), why);
	int lanes = find_lanes(attr->active_width);
	why_not(port, "active_width", attr->active_width, why, sizeof why);
	yield(ctx, port, "port.width", lanes, muster_number(lanes), why);
	int verbs = lanes;
	/* active_speed has eight bits and stops at NDR: at XDR it holds something else. */
	const struct speed *speed = strstr(text, "XDR") ? NULL : find_speed(attr->active_speed);
	if (!speed) {
		why_not(port, "active_speed", attr->active_speed, why, sizeof why);
		verbs = -1;
	}
	double product = speed ? speed->gbps * lanes : 0;
	yield(ctx, port, "port.speed", speed ? 0 : -1, muster_string(speed ? speed->name : ""), why);
	yield(ctx, port, "port.rate_verbs_gbps", verbs, muster_number(product), why);

	/* Half a per cent: the kernel rounds some speeds. A wrong speed or width is off by a fifth or more. */
	yield(ctx, port, "port.rate_agrees", sysfs < 0 ? sysfs : verbs,
		muster_boolean(fabs(rate - product) <= 0.005 * rate), sysfs < 0 ? no_rate.text : why);
}

/* The partitions that the port has keys of, each once and in order: the key without the bit that says how the port is a
 * member. Every port may have a key of the default partition beside its own. */
static char *partitions_text(int *keys, size_t count)
{
	char *list = muster_strdup("");
	for (size_t i = 0; i < count; i++)
		keys[i] &= 0x7fff;
	if (count > 0)
		qsort(keys, count, sizeof *keys, muster_by_int);
	for (size_t i = 0; i < count; i++) {
		if (keys[i] == 0x7fff || (i > 0 && keys[i] == keys[i - 1]))
			continue;
		char *longer = muster_asprintf("%s%s0x%04x", list, *list ? " " : "", (unsigned int)keys[i]);
		free(list);
		list = longer;
	}
	return list;
}

static void measure_pkeys(struct muster_probe_ctx *ctx, const struct port *port)
{
	char path[PATH_MAX], file[PATH_MAX], text[64];
	struct muster_names names = { 0 };
	struct muster_error why;
	bool full_member = false;
	size_t count = 0;
	char *list = muster_strdup("");
	int result = muster_sysfs_names(port_path(ctx, port, true, "pkeys", path, sizeof path), &names, &why);
	int *keys = muster_calloc(names.count + 1, sizeof *keys);
	if (result == 0 && names.count == 0)
		result = muster_fail(&why, MUSTER_EIO, "%s has no entries", path);
	for (size_t i = 0; result == 0 && i < names.count; i++) {
		long key = 0;
		snprintf(text, sizeof text, "pkeys/%s", names.items[i]);
		result = muster_sysfs_number(port_path(ctx, port, true, text, file, sizeof file), &key, &why);
		if (result < 0 || key == 0)
			continue;
		keys[count++] = (int)(key & 0xffff);
		full_member = full_member || (key != 0xffff && (key & 0x8000));
		char *longer = muster_asprintf("%s%s0x%04lx", list, *list ? " " : "", key);
		free(list);
		list = longer;
	}
	char *partitions = partitions_text(keys, count);
	yield(ctx, port, "port.pkeys", result, muster_string(*list ? list : "none"), why.text);
	yield(ctx, port, "port.full_member", result, muster_boolean(full_member), why.text);
	yield(ctx, port, "port.partitions", result,
		muster_string(*partitions ? partitions
			      : count > 0 ? "default"
					  : "none"),
		why.text);
	free(partitions);
	free(keys);
	free(list);
	muster_names_done(&names);
}

static const char *const counter_files[] = { "counters/link_downed", "counters/link_error_recovery",
	"counters/symbol_error", "counters/port_rcv_errors", "counters/port_rcv_remote_physical_errors",
	"counters/port_xmit_discards", "counters/local_link_integrity_errors",
	"counters/excessive_buffer_overrun_errors", "counters/VL15_dropped", "hw_counters/out_of_sequence",
	"hw_counters/packet_seq_err", "hw_counters/local_ack_timeout_err", "hw_counters/rnr_nak_retry_err",
	"hw_counters/implied_nak_seq_err" };
#define COUNTERS (sizeof counter_files / sizeof *counter_files)

/* Read every counter that the port has into start, with metric port.counter; or when start is known, yield what was
 * added to it. Drivers differ in which counters they have: a missing file is no fact about the port. */
static void measure_counters(struct muster_probe_ctx *ctx, const struct port *port, bool again, long start[COUNTERS])
{
	const char *metric = again ? "port.counter_increase" : "port.counter";
	size_t present = 0;
	for (size_t i = 0; i < COUNTERS; i++) {
		char path[PATH_MAX];
		struct muster_error why;
		long now = -1;
		const char *counter = strrchr(counter_files[i], '/') + 1;
		if (!again)
			start[i] = -1;
		if (access(port_path(ctx, port, true, counter_files[i], path, sizeof path), F_OK) != 0)
			continue;
		present++;
		int result = muster_sysfs_number(path, &now, &why);
		if (!again)
			start[i] = now;
		else if (result == 0 && start[i] < 0)
			result = muster_fail(&why, MUSTER_EIO, "%s could not be read at the start", path);
		else if (result == 0 && now < start[i])
			result = muster_fail(&why, MUSTER_EIO, "%s was reset: from %ld to %ld", path, start[i], now);
		struct muster_value value = muster_number((double)(again ? now - start[i] : now));
		yield_with(ctx, port, metric, counter, result, value, why.text);
	}
	if (present == 0)
		yield_with(ctx, port, metric, "none", -1, muster_null(), "the port has no error counters in sysfs");
}

/* What finish needs of run: the ports, and where their counters stood. */
static struct {
	bool known;
	struct ports ports;
	long (*counters)[COUNTERS];
} start;

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	struct ports ports = { 0 };
	muster_step(ctx, "sysfs: list the RDMA devices");
	if (find_ports(ctx, &ports, err) < 0) {
		free(ports.items);
		return -1;
	}
	wait_for_subnet_manager(ctx, &ports);

	size_t infiniband = 0, ethernet = 0;
	start.counters = muster_realloc(start.counters, ports.count + 1, sizeof *start.counters);
	muster_step(ctx, "sysfs: read the ports");
	for (size_t i = 0; i < ports.count; i++) {
		struct port *port = &ports.items[i];
		infiniband += strcmp(port->link_layer, "InfiniBand") == 0;
		ethernet += strcmp(port->link_layer, "Ethernet") == 0;
		measure_files(ctx, port);
		measure_place(ctx, port);
		measure_rate(ctx, port);
		measure_pkeys(ctx, port);
		measure_counters(ctx, port, false, start.counters[i]);
	}
	muster_emit_for(ctx, "node.ib_ports", NULL, muster_number((double)infiniband));
	muster_emit_for(ctx, "node.ethernet_ports", NULL, muster_number((double)ethernet));

	/* after the files: a device that hangs when it is opened does not hide the state of its ports */
	muster_step(ctx, "open libibverbs");
	struct muster_error no_verbs;
	const struct muster_verbs *verbs = muster_verbs(&no_verbs);
	if (verbs)
		ask_verbs(ctx, verbs, &ports);
	for (size_t i = 0; i < ports.count; i++) {
		if (!verbs)
			snprintf(ports.items[i].why, sizeof ports.items[i].why, "%s", no_verbs.text);
		measure_attributes(ctx, &ports.items[i]);
	}
	free(start.ports.items);
	start.ports = ports;
	start.known = true;
	if (!verbs && ports.count > 0) {
		if (err)
			*err = no_verbs;
		return -1;
	}
	return 0;
}

static int finish(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	struct ports ports = { 0 };
	bool none = !start.known && find_ports(ctx, &ports, err) == 0 && ports.count == 0;
	free(ports.items);
	if (none)
		return 0;
	if (!start.known)
		return muster_fail(err, MUSTER_EIO,
			"the worker that read the error counters at the start was replaced: the increase is unknown");
	muster_step(ctx, "sysfs: read the error counters again");
	for (size_t i = 0; i < start.ports.count; i++)
		measure_counters(ctx, &start.ports.items[i], true, start.counters[i]);
	return 0;
}

const struct muster_probe muster_probe_ib_link = {
	.name = "ib_link",
	.summary = "state, speed and width of every RDMA port",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 10000,
	.order = 50,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.run = run,
	.finish = finish,
};
