/* SPDX-License-Identifier: Apache-2.0 */
/* setting_names.c - whether the files and devices that a variable names are there
 *
 * What a value of each kind may be, and what is looked for:
 *
 *    files         "/opt/topo.xml"                  the path, below root; a name without "/" is not looked for
 *    interfaces    "eth", "=eth0", "^docker"        /sys/class/net
 *    adapters      "mlx5_0:1,mlx5_1", "=mlx5_0"     /sys/class/infiniband
 *
 * NCCL takes words as beginnings of names, with "=" as whole names; with "^" they are names that NCCL must not use, and
 * are not looked for. UCX and Gloo take whole names (`whole`).
 */
#include "system/setting_names.h"

#include "system/sysfs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Interfaces of the network, adapters of RDMA, or both. */
enum { FILES = 0, INTERFACES = 1, ADAPTERS = 2 };

static const struct {
	const char *name;
	int of;
	bool whole; /* of names, not their beginnings */
} kinds[] = {
	{ "NCCL_TOPO_FILE", FILES, true },
	{ "NCCL_GRAPH_FILE", FILES, true },
	{ "NCCL_CONF_FILE", FILES, true },
	{ "NCCL_TUNER_CONFIG_FILE", FILES, true },
	{ "NCCL_TUNER_CONFIG_PATH", FILES, true },
	{ "NCCL_NET_PLUGIN", FILES, true },
	{ "NCCL_TUNER_PLUGIN", FILES, true },
	{ "NCCL_PROFILER_PLUGIN", FILES, true },
	{ "NCCL_GIN_PLUGIN", FILES, true },
	{ "NCCL_RMA_PLUGIN", FILES, true },
	{ "NCCL_SOCKET_IFNAME", INTERFACES, false },
	{ "NCCL_OOB_NET_IFNAME", INTERFACES, false },
	{ "GLOO_SOCKET_IFNAME", INTERFACES, true },
	{ "NCCL_IB_HCA", ADAPTERS, false },
	{ "UCX_NET_DEVICES", INTERFACES | ADAPTERS, true },
};

static bool is_there(const struct muster_names *names, const char *word, size_t length, bool whole)
{
	for (size_t i = 0; i < names->count; i++)
		if (strncmp(names->items[i], word, length) == 0 && (!whole || !names->items[i][length]))
			return true;
	return false;
}

/* lists: of interfaces and of adapters; one that does not matter is empty. Returns the words of the list for which
 * there is no device, joined by ", "; "none" when all are there. The port behind ":" does not count. "all" and patterns
 * with *, ? or [ are not looked for. */
static const char *lacking_devices(
	const struct muster_names lists[2], const char *value, bool whole, struct muster_arena *arena)
{
	const char *text = "";
	whole = whole || *value == '=';
	for (const char *at = value + (*value == '='), *end; *at; at = end + strspn(end, ",")) {
		end = at + strcspn(at, ",");
		size_t length = strcspn(at, ":,"); /* without the port */
		bool pattern = strcspn(at, "*?[") < length || (length == 3 && strncmp(at, "all", 3) == 0);
		if (length > 0 && !pattern && !is_there(&lists[0], at, length, whole) &&
			!is_there(&lists[1], at, length, whole))
			text = muster_arena_printf(arena, "%s%s%.*s", text, *text ? ", " : "", (int)length, at);
	}
	return *text ? text : "none";
}

static const char *lacking_file(const char *root, const char *value, struct muster_arena *arena)
{
	char path[PATH_MAX];
	if (!strchr(value, '/'))
		return NULL; /* a plugin's name, or a file of a folder that only the job knows */
	snprintf(path, sizeof path, "%s%s%s", root, *root && *value != '/' ? "/" : "", value);
	return access(path, R_OK) == 0 ? "none" : muster_arena_printf(arena, "%s: %s", value, strerror(errno));
}

/* Where sysfs lists no interface at all, interfaces cannot be compared: NULL. */
const char *muster_setting_lacks(const char *root, const struct muster_setting *setting, struct muster_arena *arena)
{
	static const char *const classes[] = { "net", "infiniband" };
	struct muster_names lists[2] = { 0 };
	struct muster_error err;
	const char *text = NULL;
	bool known = true;
	size_t i = 0;
	while (i < sizeof kinds / sizeof *kinds && strcmp(kinds[i].name, setting->name) != 0)
		i++;
	if (i == sizeof kinds / sizeof *kinds || !setting->value || !*setting->value || *setting->value == '^')
		return NULL;
	if (kinds[i].of == FILES)
		return lacking_file(root, setting->value, arena);
	for (int of = 0; of < 2; of++)
		if (kinds[i].of & 1 << of) {
			const char *path = muster_arena_printf(arena, "%s/sys/class/%s", root, classes[of]);
			known = muster_sysfs_names(path, &lists[of], &err) == 0 && known;
		}
	/* a host without any interface shows no list */
	if (known && (lists[0].count > 0 || !(kinds[i].of & INTERFACES)))
		text = lacking_devices(lists, setting->value, kinds[i].whole, arena);
	muster_names_done(&lists[0]);
	muster_names_done(&lists[1]);
	return text;
}
