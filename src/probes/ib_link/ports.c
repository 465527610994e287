/* SPDX-License-Identifier: Apache-2.0 */
/* ports.c - the RDMA ports of the node: which there are, the small files of each, their counters and their rate
 *
 * Files below /sys/class/infiniband/DEVICE: fw_ver, board_id, hca_type, node_guid; below ports/N: state ("4: ACTIVE"),
 * phys_state ("5: LinkUp"), rate ("200 Gb/sec (4X HDR)"), lid, link_layer, pkeys/I, gids/I, gid_attrs/types/I,
 * counters/, hw_counters/. Drivers differ in which counters they have, and a virtual function of Azure has few. Numbers
 * of ports begin with 1.
 *
 * A port's label in samples is DEVICE/N: "mlx5_ib0/1". Its link layer is "InfiniBand", "Ethernet", "other" for any
 * other text of the kernel (EFA), or "unknown" where the file cannot be read.
 */
#include "probes/ib_link/ports.h"

#include "system/sysfs.h"
#include "util/text.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A port at the end of the list; valid until the next call. */
static struct muster_rdma_port *add_port(struct muster_rdma_ports *ports, const char *device, int number)
{
	ports->items = muster_realloc(ports->items, ports->count + 1, sizeof *ports->items);
	struct muster_rdma_port *port = &ports->items[ports->count++];
	*port = (struct muster_rdma_port){ .number = number };
	snprintf(port->device, sizeof port->device, "%s", device);
	snprintf(port->label, sizeof port->label, "%s/%d", device, number);
	return port;
}

void muster_rdma_emit_with(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, const char *metric,
	const char *third, int result, struct muster_value value, const struct muster_error *why)
{
	const struct muster_value labels[] = { muster_string(port->label), muster_string(port->link_layer),
		muster_string(third) };
	muster_emit_read_with(ctx, metric, labels, third ? 3 : 2, result, value, why);
}

void muster_rdma_emit(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, const char *metric, int result,
	struct muster_value value, const struct muster_error *why)
{
	muster_rdma_emit_with(ctx, port, metric, NULL, result, value, why);
}

const char *muster_rdma_path(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, bool of_port,
	const char *file, char *buf, size_t size)
{
	if (of_port)
		return muster_root_path(
			ctx, buf, size, "/sys/class/infiniband/%s/ports/%d/%s", port->device, port->number, file);
	return muster_root_path(ctx, buf, size, "/sys/class/infiniband/%s/%s", port->device, file);
}

int muster_rdma_line(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, bool of_port, const char *file,
	char *ret, size_t size, struct muster_error *err)
{
	char path[PATH_MAX];
	if (muster_read_line(muster_rdma_path(ctx, port, of_port, file, path, sizeof path), ret, size, err) < 0)
		return -1;
	return *ret ? 0 : muster_fail(err, MUSTER_EIO, "%s is empty", path);
}

const char *muster_rdma_after_colon(const char *text)
{
	const char *colon = strchr(text, ':');
	return colon ? colon + 1 + strspn(colon + 1, " ") : text;
}

/* Whether the device is a virtual function of another device of the list. A host with SR-IOV may show a hundred virtual
 * functions, which have the link of their physical function. In a virtual machine or a container that shows only the
 * virtual function, this function is measured. */
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

/* A directory /sys/class/infiniband that does not exist is a node without devices: no port, and no error. Without
 * /sys/class there is no sysfs at all, which is an error. Entries of ports/ that are no number are passed over. */
int muster_rdma_ports_find(struct muster_probe_ctx *ctx, struct muster_rdma_ports *ports, struct muster_error *err)
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
			struct muster_rdma_port *port = add_port(ports, devices.items[i], (int)number);
			if (muster_rdma_line(
				    ctx, port, true, "link_layer", port->link_layer, sizeof port->link_layer, NULL) < 0)
				snprintf(port->link_layer, sizeof port->link_layer, "unknown");
			else if (strcmp(port->link_layer, "InfiniBand") != 0 &&
				 strcmp(port->link_layer, "Ethernet") != 0) /* "Unknown", "Unspecified": EFA */
				snprintf(port->link_layer, sizeof port->link_layer, "other");
		}
		if (result == 0)
			muster_names_done(&numbers);
	}
	muster_names_done(&devices);
	return result;
}

/* Waits for ports of InfiniBand in INIT or ARMED, one after the other, 0.5 s in the profile quick and else 2 s for all
 * ports together. What a port's state is after that is a fact, which is emitted. */
void muster_rdma_ports_wait(struct muster_probe_ctx *ctx, const struct muster_rdma_ports *ports)
{
	double limit_ms = muster_probe_env(ctx)->profile == MUSTER_QUICK ? 500 : 2000, start = muster_now_ms();
	bool waited = false;
	for (size_t i = 0; i < ports->count; i++) {
		char text[64];
		while (strcmp(ports->items[i].link_layer, "InfiniBand") == 0 &&
			muster_rdma_line(ctx, &ports->items[i], true, "state", text, sizeof text, NULL) == 0 &&
			(strcmp(muster_rdma_after_colon(text), "INIT") == 0 ||
				strcmp(muster_rdma_after_colon(text), "ARMED") == 0) &&
			muster_now_ms() - start < limit_ms) {
			if (!waited)
				muster_step(ctx, "wait for the subnet manager to activate %s", ports->items[i].label);
			waited = true;
			muster_sleep_ms(100);
		}
	}
}

/* ---- a port's error counters: their values, and what was added to them ---- */

/* Below ports/N. A counter's label is the last part of the path: "link_downed". */
static const char *const counter_files[MUSTER_RDMA_COUNTERS] = { "counters/link_downed", "counters/link_error_recovery",
	"counters/symbol_error", "counters/port_rcv_errors", "counters/port_rcv_remote_physical_errors",
	"counters/port_xmit_discards", "counters/local_link_integrity_errors",
	"counters/excessive_buffer_overrun_errors", "counters/VL15_dropped", "hw_counters/out_of_sequence",
	"hw_counters/packet_seq_err", "hw_counters/local_ack_timeout_err", "hw_counters/rnr_nak_retry_err",
	"hw_counters/implied_nak_seq_err" };

/* What is emitted for a counter whose file is there:
 *
 *   again   start                  file now          sample
 *   no      is written             a number          port.counter, the number
 *   no      is set to -1           cannot be read    port.counter, null
 *   yes     NULL                   anything          port.counter_increase, null: another worker has read it
 *   yes     -1                     a number          null: it could not be read at the start
 *   yes     above the number       a number          null: it was reset
 *   yes     at most the number     a number          the difference
 *   yes     anything               cannot be read    null
 *
 * A port without any of the files has one null, with the counter "none". */
void muster_rdma_counters_measure(
	struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, bool again, long start[MUSTER_RDMA_COUNTERS])
{
	const char *metric = again ? "port.counter_increase" : "port.counter";
	size_t present = 0;
	bool unknown = again && !start;
	for (size_t i = 0; i < MUSTER_RDMA_COUNTERS; i++) {
		char path[PATH_MAX];
		struct muster_error why;
		long now = -1;
		const char *counter = strrchr(counter_files[i], '/') + 1;
		if (!again)
			start[i] = -1;
		if (access(muster_rdma_path(ctx, port, true, counter_files[i], path, sizeof path), F_OK) != 0)
			continue;
		present++;
		int result = unknown ? muster_fail(&why, MUSTER_ENOTSUPPORTED,
					       "the worker that read %s at the start was replaced", counter)
				     : muster_sysfs_number(path, &now, &why);
		if (!again)
			start[i] = now;
		else if (result == 0 && start[i] < 0)
			result = muster_fail(&why, MUSTER_EIO, "%s could not be read at the start", path);
		else if (result == 0 && now < start[i])
			result = muster_fail(
				&why, MUSTER_ENOTSUPPORTED, "%s was reset: from %ld to %ld", path, start[i], now);
		struct muster_value value = muster_number((double)(again && result == 0 ? now - start[i] : now));
		muster_rdma_emit_with(ctx, port, metric, counter, result, value, &why);
	}
	struct muster_error none;
	muster_fail(&none, MUSTER_EABSENT, "the port has no error counters in sysfs");
	if (present == 0)
		muster_rdma_emit_with(ctx, port, metric, "none", -1, muster_null(), &none);
}

/* ---- a port's rate as sysfs has it, and what the link can carry of it ---- */

/* The rate that begins sysfs' words: 200 of "200 Gb/sec (4X HDR)". The number may have a fraction. */
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

/* The share of the bits of the rate in sysfs that are data; rate: in sysfs' words. SDR, DDR and QDR of InfiniBand are
 * rates before the encoding 8b/10b, so 0.8 of them are data. FDR is 14.0625 Gb/s a lane before 64b/66b, and sysfs says
 * 14. FDR10, the later rates and all rates of Ethernet are those of the data. */
static double data_share(const struct muster_rdma_port *port, const char *rate)
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

/* GB/s that the link carries in one direction. text: the rate in sysfs' words; result, rate, why: what reading it gave.
 * Only an ACTIVE port has a limit: sysfs has the rate of the next attempt for a link that is down. */
static void measure_limit(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, const char *text,
	int result, double rate, struct muster_error *why)
{
	char state[128] = "";
	if (result == 0)
		result = muster_rdma_line(ctx, port, true, "state", state, sizeof state, why);
	if (result == 0 && strcmp(muster_rdma_after_colon(state), "ACTIVE") != 0)
		result = muster_fail(why, MUSTER_ENOTSUPPORTED, "the port is %s", muster_rdma_after_colon(state));
	muster_rdma_emit(ctx, port, "port.limit_gbps", result, muster_number(rate / 8 * data_share(port, text)), why);
}

int muster_rdma_rate_read(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, char text[128],
	double *ret, struct muster_error *err)
{
	*text = '\0';
	*ret = 0;
	return muster_rdma_line(ctx, port, true, "rate", text, 128, err) < 0 ? -1 : parse_rate(text, ret, err);
}

void muster_rdma_rate_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port)
{
	char text[128];
	double rate;
	struct muster_error why;
	int result = muster_rdma_rate_read(ctx, port, text, &rate, &why);
	muster_rdma_emit(ctx, port, "port.rate_gbps", result, muster_number(rate), &why);
	measure_limit(ctx, port, text, result, rate, &why);
}
