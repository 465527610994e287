/* fs_log.c - the kernel's log of a simulated node, as /dev/kmsg shows it
 *
 * A healthy node's log has its noise: links that train after boot, commands that a virtual machine may not give, a
 * container that ran out of its own memory. None of these is a fault.
 */
#include "sim/fs.h"

#include "sim/fs_tree.h"
#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

struct line {
	double seconds; /* since boot */
	size_t order;   /* among lines of one time */
	const char *text;
};

struct lines {
	struct muster_arena *arena;
	struct line *items;
	size_t count, room;
};

static void add(struct lines *lines, double seconds, const char *text)
{
	if (lines->count < lines->room) {
		lines->items[lines->count] = (struct line){ seconds, lines->count, text };
		lines->count++;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	return x->seconds != y->seconds ? (x->seconds > y->seconds) - (x->seconds < y->seconds)
					: (x->order > y->order) - (x->order < y->order);
}

#define ADD(lines, seconds, ...) add(lines, seconds, muster_arena_printf((lines)->arena, __VA_ARGS__))

static void add_boot(struct lines *lines, const struct muster_sim_node *node)
{
	ADD(lines, 0, "Linux version %s (buildd@muster) (gcc) #1 SMP", node->kernel);
	ADD(lines, 0.2, "Command line: BOOT_IMAGE=/boot/vmlinuz root=UUID=0 ro console=ttyS0");
	ADD(lines, 1.1, "EDAC MC: Ver: 3.0.0");
	ADD(lines, 1.2, "mce: CPU0: Thermal monitoring enabled (TM1)");
	ADD(lines, 2.5, "EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.");
	ADD(lines, 3, "EXT4-fs (sda1): re-mounted. Quota mode: none.");
	ADD(lines, 20, "NFS: Registering the id_resolver key type");
	ADD(lines, 90000,
		"Memory cgroup out of memory: Killed process 41022 (python) total-vm:31457280kB, anon-rss:20971520kB");
	ADD(lines, 90000.001,
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0,task=python,pid="
		"41022,uid=1001");
}

static void add_ports(struct lines *lines, const struct muster_sim_node *node)
{
	for (size_t i = 0; i < node->port_count; i++) {
		const struct muster_sim_port *port = &node->ports[i];
		double at = 5 + (double)i / 10;
		ADD(lines, at, "mlx5_core %s: firmware version: %s", port->pci, port->firmware);
		ADD(lines, at + 0.01,
			"mlx5_core %s: 126.024 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 link",
			port->pci);
		ADD(lines, at + 0.02,
			"mlx5_core %s: mlx5_cmd_out_err:808:(pid 412): ACCESS_REG(0x805) op_mod(0x1) failed, status "
			"bad operation(0x2), syndrome (0x305684), err(-22)",
			port->pci);
		ADD(lines, at + 0.03, "mlx5_core %s: Port module event: module 0, Cable plugged", port->pci);
		ADD(lines, at + 20, "mlx5_core %s %s: Port: 1 Link ACTIVE", port->pci, port->device);
		ADD(lines, at + 300, "mlx5_core %s %s: Port: 1 Link DOWN", port->pci, port->device);
		ADD(lines, at + 310, "mlx5_core %s %s: Port: 1 Link ACTIVE", port->pci, port->device);
	}
}

static void add_driver(struct lines *lines, const struct muster_sim_node *node)
{
	ADD(lines, 30, "nvidia-nvlink: Nvlink Core is being initialized, major device number 511");
	for (size_t i = 0; i < node->gpu_count; i++)
		ADD(lines, 30.1 + (double)i / 100, "nvidia %s: enabling device (0000 -> 0002)", node->gpus[i].bus_id);
	ADD(lines, 31, "NVRM: loading NVIDIA UNIX Open Kernel Module for %s  %s  Release Build", node->architecture,
		node->driver_version);
}

/* Those of the faults; what comes during the run is added then, by the stand-ins. */
static void add_faults(struct lines *lines, const struct muster_sim_node *node)
{
	for (size_t i = 0; i < node->kernel_log_count; i++) {
		char *text;
		double age = strtod(node->kernel_log[i], &text);
		if (text != node->kernel_log[i] && *text == ' ')
			add(lines, MUSTER_SIM_UPTIME_S - age, muster_arena_string(lines->arena, text + 1));
	}
}

void muster_sim_put_log(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	enum { BOOT_MAX = 16, PER_PORT = 8 };
	struct lines lines = { .arena = muster_arena_new() };
	muster_sim_tree_enter(t, "proc");
	muster_sim_tree_put(t, "uptime", "%d.00 %d.00", MUSTER_SIM_UPTIME_S, MUSTER_SIM_UPTIME_S);
	lines.room = BOOT_MAX + PER_PORT * node->port_count + node->gpu_count + node->kernel_log_count;
	lines.items = muster_arena_alloc(lines.arena, lines.room * sizeof *lines.items);
	add_boot(&lines, node);
	add_ports(&lines, node);
	add_driver(&lines, node);
	add_faults(&lines, node);
	qsort(lines.items, lines.count, sizeof *lines.items, by_time);
	muster_sim_tree_enter(t, "dev");
	FILE *out = node->kernel_log_hidden ? NULL : muster_sim_tree_start(t, "kmsg");
	for (size_t i = 0; out && i < lines.count; i++)
		fprintf(out, "6,%zu,%.0f,-;%s\n", i, lines.items[i].seconds * 1e6, lines.items[i].text);
	muster_sim_tree_finish(t, "kmsg", out);
	muster_arena_free(lines.arena);
}
