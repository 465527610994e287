/* ports.c - the RDMA ports of the node: which there are, and the small files of each */
#include "probes/ib_link/ports.h"

#include "system/sysfs.h"
#include "util/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
	const char *third, int result, struct muster_value value, const char *why)
{
	const struct muster_value labels[] = { muster_string(port->label), muster_string(port->link_layer),
		muster_string(third) };
	size_t count = third ? 3 : 2;
	if (result < 0)
		muster_emit_null(ctx, metric, labels, count, "%s", why);
	else
		muster_emit(ctx, metric, labels, count, value);
}

void muster_rdma_emit(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, const char *metric, int result,
	struct muster_value value, const char *why)
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
		}
		if (result == 0)
			muster_names_done(&numbers);
	}
	muster_names_done(&devices);
	return result;
}

void muster_rdma_ports_wait(struct muster_probe_ctx *ctx, const struct muster_rdma_ports *ports)
{
	const struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };
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
			nanosleep(&pause, NULL);
		}
	}
}
