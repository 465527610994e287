/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - the variables that control CUDA, NCCL, UCX and MPI, and whether NCCL's topology file is correct
 *
 * Records the settings that a job of the user would get: the environment at the start of the worker, and the files
 * that NCCL reads. Variables that muster or a library has set in its own process since are ignored.
 *
 * The environment is read from /proc/self/environ, which does not change when a library calls setenv: NCCL puts the
 * lines of its files into its process's environment, and muster its own settings of NCCL's log.
 *
 * Where a setting comes from; the first place that has the name wins, as in NCCL:
 *
 *   1. the environment of the worker
 *   2. for NCCL_* alone: the file that NCCL_CONF_FILE names; without this variable the user's .nccl.conf
 *   3. for NCCL_* alone: /etc/nccl.conf
 *
 * If a file is there and cannot be read completely, each NCCL_* variable that has no value from the places before it is
 * null: the file may set it. The leader alone yields what is about the node: files, interfaces and adapters that
 * variables name, and the topology file compared with the kernel and hwloc.
 */
#include "vendor/nccl.h"
#include "vendor/nccl_topo.h"
#include "system/topology.h"
#include "util/file.h"
#include "util/xxh64.h"
#include "system/nvidia_gpus.h"
#include "system/setting_names.h"
#include "probes/metrics.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DIFFERENCES_SHOWN = 8,
	NCCL_SINCE_2_30 = 23003, /* the first release of 2.30 */
};

static const struct muster_metric metrics[] = {
	TEXT(RANK, "rank.setting", FACT, TEXT, "value in effect of this variable; \"not set\"", .labels = { "name" }),
	TEXT(RANK, "rank.setting_from", FACT, TEXT,
		"where this variable is set: \"environment\", or the path of NCCL's file; only for variables that are "
		"set",
		.labels = { "name" }),
	TEXT(NODE, "node.setting_lacks", FACT, TEXT,
		"what this variable names and the node lacks, files with the reason: \"/opt/topo.xml: No such file or "
		"directory\"; \"none\". Only for variables that are set and name files, interfaces or adapters",
		.labels = { "name" }),
	RANK_FLAG("rank.link_disabled", FACT,
		"this variable keeps NCCL from using links that are there: NCCL_P2P_DISABLE NVLinks of the GPU, "
		"NCCL_IB_DISABLE InfiniBand ports of the node",
		.labels = { "name" }),
	RANK_NUMBER("rank.settings_left_out", NONE, FACT,
		"NCCL_* variables that are set but not listed, because there are more than 64"),
	NODE_TEXT("node.topo_file", FACT, TEXT, "NCCL topology file that NCCL_TOPO_FILE names",
		SHOWN(IN(SOFTWARE, 70, "NCCL topology file"))),
	NODE_TEXT("node.topo_file_content", FACT, NOTHING, "its content, as its size and XXH64"),
	NODE_FLAG("node.topo_file_agrees", FACT, "the NCCL topology file has the correct NUMA nodes of GPUs and CPUs"),
	NODE_TEXT("node.topo_file_differs", FACT, TEXT,
		"difference between the NCCL topology file and the node; no value when there is none"),
};

/* A path that the user gave: in another root, one that is relative counts from there. */
static const char *user_path(struct muster_probe_ctx *ctx, char *buf, size_t size, const char *path)
{
	bool joined = *muster_probe_env(ctx)->root && *path != '/';
	return muster_root_path(ctx, buf, size, "%s%s", joined ? "/" : "", path);
}

/* ncclGetVersion's number; 0 with err when it is not known. */
static int nccl_version(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	int version = 0;
	muster_step(ctx, "NCCL: ask for its version");
	const struct muster_nccl *nccl = muster_nccl(err);
	if (nccl && nccl->ncclGetVersion(&version) != ncclSuccess)
		muster_fail(err, MUSTER_EVENDOR, "ncclGetVersion fails");
	return version;
}

static bool is_there(struct muster_probe_ctx *ctx, const char *path)
{
	char whole[PATH_MAX];
	return path && access(user_path(ctx, whole, sizeof whole, path), R_OK) == 0;
}

/* Adds the lines of one of NCCL's configuration files. A file that this process cannot open is ignored, because NCCL
 * ignores it, too. -1 with err for a file that is too large or fails while it is read. */
static int read_conf(
	struct muster_probe_ctx *ctx, struct muster_settings *settings, const char *path, struct muster_error *err)
{
	struct muster_error unknown;
	char whole[PATH_MAX], *text;
	size_t length;
	muster_step(ctx, "read %s", path);
	if (!is_there(ctx, path))
		return 0;
	user_path(ctx, whole, sizeof whole, path);
	if (muster_file_read(whole, MUSTER_SETTINGS_FILE_MAX, &text, &length, err) < 0)
		return -1;
	/* NCCL since 2.30 ignores a carriage return at the end of a line, so where there is one its version matters */
	bool from_windows = memchr(text, '\r', length) && nccl_version(ctx, &unknown) >= NCCL_SINCE_2_30;
	muster_settings_add_file(settings, text, length, from_windows, path);
	free(text);
	return 0;
}

/* *ret: the user's own file, NULL when NCCL looks for none. -1 with err when it depends on a version that is not known.
 * userHomeDir of src/misc/param.cc: the home of the password database up to 2.29.7, $HOME since 2.30.3. The version
 * does not matter where both are one file, or where neither file is there; so NCCL is opened only where it does. */
static int users_conf(
	struct muster_probe_ctx *ctx, struct muster_arena *arena, const char **ret, struct muster_error *err)
{
	muster_step(ctx, "getpwuid: look up the home directory");
	const struct passwd *user = getpwuid(getuid());
	const char *home = getenv("HOME");
	const char *before = user && user->pw_dir ? muster_arena_printf(arena, "%s/.nccl.conf", user->pw_dir) : NULL;
	const char *since = home ? muster_arena_printf(arena, "%s/.nccl.conf", home) : NULL;
	struct muster_error why;
	*ret = since;
	if ((before && since && strcmp(before, since) == 0) || (!is_there(ctx, before) && !is_there(ctx, since)))
		return 0;
	int version = nccl_version(ctx, &why);
	if (!version)
		return muster_fail(err, why.code,
			"NCCL up to 2.29 reads %s, later ones %s, and the version is not known: %s",
			before ? before : "no file of the user", since ? since : "no file of the user", why.text);
	*ret = version < NCCL_SINCE_2_30 ? before : since;
	return 0;
}

/* In NCCL's order. -1 with err when a file could not be read completely: its settings are then unknown. */
static int read_confs(struct muster_probe_ctx *ctx, struct muster_settings *settings, struct muster_error *err)
{
	const struct muster_setting *named = muster_settings_find(settings, "NCCL_CONF_FILE");
	const char *first = named ? named->value : NULL;
	if (!(first && *first) && users_conf(ctx, settings->arena, &first, err) < 0)
		return -1;
	if (first && read_conf(ctx, settings, first, err) < 0)
		return -1;
	return read_conf(ctx, settings, "/etc/nccl.conf", err);
}

/* Whether NCCL's files may set the variable: they set no others. */
static bool is_nccls(const struct muster_setting *setting)
{
	return strncmp(setting->name, "NCCL_", 5) == 0;
}

/* A variable's value as NCCL takes it (ncclLoadParam of src/misc/param.cc, 2.18 to 2.30): an empty variable is its
 * default, and numbers are read with any base, so "0x1" and "01" are 1, and so is "1\r". Equal values are then equal
 * texts. NULL: the variable is not set. Variables of others than NCCL are taken as they are. */
static const char *taken_value(const struct muster_setting *setting, char buf[32])
{
	char *end;
	if (!setting->value || !is_nccls(setting))
		return setting->value;
	if (!*setting->value)
		return NULL;
	errno = 0;
	long long number = strtoll(setting->value, &end, 0);
	if (errno || end == setting->value || end[strspn(end, " \t\r")])
		return setting->value;
	snprintf(buf, 32, "%lld", number);
	return buf;
}

/* Could a file that could not be read have set it? */
static bool is_unknown(const struct muster_setting *setting, const struct muster_error *unread)
{
	return !setting->value && unread && is_nccls(setting);
}

/* rank.setting of every variable, set or not, and rank.setting_from of those that have a value:
 *
 *   a file that may set it was not read    null, which could not be read
 *   not set, not NCCL's, and no job        null: only a job's environment would set it (`muster node`)
 *   not set otherwise                      "not set"
 *   set                                    the value as NCCL takes it
 *
 * unread: why one of NCCL's files is not known; NULL when all are. */
static void emit_settings(
	struct muster_probe_ctx *ctx, const struct muster_settings *settings, const struct muster_error *unread)
{
	for (size_t i = 0; i < settings->count; i++) {
		const struct muster_setting *setting = &settings->items[i];
		char buf[32];
		const char *value = taken_value(setting, buf);
		if (is_unknown(setting, unread))
			muster_emit_read(ctx, "rank.setting", setting->name, -1, muster_null(), unread);
		else if (!setting->value && !is_nccls(setting) && !muster_probe_env(ctx)->in_job)
			muster_emit_null_for(ctx, "rank.setting", setting->name,
				"only a job's environment sets this variable, and this is not a job");
		else
			muster_emit_for(ctx, "rank.setting", setting->name, muster_string(value ? value : "not set"));
		if (value)
			muster_emit_for(ctx, "rank.setting_from", setting->name, muster_string(setting->from));
	}
	muster_emit_for(ctx, "rank.settings_left_out", NULL, muster_number((double)settings->left_out));
}

/* Of each variable that names files, interfaces or adapters: what of these the node lacks. A node on which no variable
 * names any gets one sample with the label "any". */
static void emit_lacks(struct muster_probe_ctx *ctx, const struct muster_settings *settings)
{
	bool any = false;
	for (size_t i = 0; i < settings->count; i++) {
		const char *lacks =
			muster_setting_lacks(muster_probe_env(ctx)->root, &settings->items[i], settings->arena);
		if (lacks)
			muster_emit_for(ctx, "node.setting_lacks", settings->items[i].name, muster_string(lacks));
		any = any || lacks;
	}
	if (!any) /* else a node without such a variable would lack what another one has */
		muster_emit_for(ctx, "node.setting_lacks", "any", muster_string("none"));
}

/* Differences as one text, separated by "; ". */
struct differences {
	char text[1024]; /* of the first DIFFERENCES_SHOWN */
	int count;       /* of all */
};

static void __attribute__((format(printf, 2, 3))) differ(struct differences *all, const char *format, ...)
{
	size_t used = strlen(all->text);
	va_list args;
	if (all->count++ >= DIFFERENCES_SHOWN)
		return;
	used += (size_t)snprintf(all->text + used, sizeof all->text - used, "%s", used ? "; " : "");
	va_start(args, format);
	vsnprintf(all->text + used, sizeof all->text - used, format, args);
	va_end(args);
}

static const char *node_text(int numa_node, char *out, size_t size)
{
	if (numa_node < 0)
		snprintf(out, size, "no NUMA node");
	else
		snprintf(out, size, "NUMA node %d", numa_node);
	return out;
}

/* The CPUs of every NUMA node in the file, compared with hwloc's. A NUMA node without CPUs in the file is only looked
 * for. -1 with err where hwloc's set has no end or too many CPUs. */
static int compare_cpus(const struct muster_nccl_topo *topo, hwloc_topology_t topology, struct differences *all,
	struct muster_error *err)
{
	for (size_t i = 0; i < topo->node_count; i++) {
		const struct muster_nccl_topo_node *node = &topo->nodes[i];
		if (node->numa_node < 0)
			continue;
		hwloc_obj_t real = hwloc_get_numanode_obj_by_os_index(topology, (unsigned int)node->numa_node);
		if (!real) {
			differ(all, "NUMA node %d is in the file but not in the kernel", node->numa_node);
			continue;
		}
		if (muster_cpuset_check(real->cpuset, err) < 0)
			return -1;
		if (!node->cpus || hwloc_bitmap_isequal(real->cpuset, node->cpus))
			continue;
		char *file = muster_cpuset_list(node->cpus), *kernel = muster_cpuset_list(real->cpuset);
		differ(all, "NUMA node %d: CPUs %.60s in the file, %.60s in the kernel", node->numa_node,
			*file ? file : "none", *kernel ? kernel : "none");
		free(file);
		free(kernel);
	}
	return 0;
}

/* A GPU of the node against its place in the file: that it is there, and under which NUMA node. -1 with err when the
 * real NUMA node is not known. */
static int compare_gpu(struct muster_probe_ctx *ctx, const struct muster_nccl_topo *topo, const char *address,
	hwloc_topology_t topology, struct differences *all, struct muster_error *err)
{
	char words[32];
	hwloc_obj_t node;
	size_t i = 0;
	while (i < topo->gpu_count && strcmp(topo->gpus[i].bus_id, address) != 0)
		i++;
	if (i == topo->gpu_count) {
		differ(all, "GPU %s is not in the file", address);
		return 0;
	}
	if (muster_topology_gpu_node(topology, muster_probe_env(ctx)->root, address, &node, err) < 0)
		return muster_wrap(err, "GPU %s", address);
	if (topo->gpus[i].numa_node != (int)node->os_index)
		differ(all, "GPU %s: %s in the file, %u in the kernel", address,
			node_text(topo->gpus[i].numa_node, words, sizeof words), node->os_index);
	return 0;
}

/* All GPUs of this operating system and all NUMA nodes. 0 when everything could be compared, or enough to find a
 * difference: then the file is wrong whatever else is unknown. A GPU that is only in the file proves nothing against
 * the file: it may have fallen off the bus. */
static int compare(struct muster_probe_ctx *ctx, const struct muster_nccl_topo *topo, struct differences *all,
	struct muster_error *err)
{
	struct muster_nvidia_gpus gpus;
	muster_step(ctx, "hwloc: load the topology");
	hwloc_topology_t topology = muster_topology(err);
	if (!topology || compare_cpus(topo, topology, all, err) < 0 ||
		muster_nvidia_gpus_list(muster_probe_env(ctx)->root, &gpus, err) < 0)
		return -1;
	int result = 0;
	for (size_t i = 0; i < gpus.count; i++)
		if (gpus.items[i].access != MUSTER_NVIDIA_SET_ASIDE &&
			compare_gpu(ctx, topo, gpus.items[i].bus_id, topology, all, err) < 0)
			result = -1;
	if (gpus.count == muster_nvidia_gpus_count(&gpus, MUSTER_NVIDIA_SET_ASIDE))
		result = muster_fail(
			err, MUSTER_ENOTSUPPORTED, "the kernel shows no NVIDIA GPU to compare with the file");
	muster_nvidia_gpus_done(&gpus);
	return all->count > 0 ? 0 : result;
}

/* result: whether everything was compared, with why it was not. */
static void emit_differences(
	struct muster_probe_ctx *ctx, const struct differences *all, int result, const struct muster_error *why)
{
	int more = all->count - DIFFERENCES_SHOWN;
	char *text = muster_asprintf(more > 0 ? "%s; and %d more" : "%s", all->text, more);
	muster_emit_read(ctx, "node.topo_file_agrees", NULL, result, muster_boolean(all->count == 0), why);
	muster_emit_result(ctx, "node.topo_file_differs", NULL, all->count > 0 ? result : -1, muster_string(text),
		result < 0 ? why->text : "the file agrees");
	free(text);
}

/* The file's text, or why there is none. A file that is there but too long is MUSTER_EUSAGE. */
static int read_topo(struct muster_probe_ctx *ctx, const struct muster_setting *setting,
	const struct muster_error *unread, char **ret_text, size_t *ret_length, struct muster_error *err)
{
	char path[PATH_MAX];
	if (is_unknown(setting, unread))
		return muster_fail(err, MUSTER_EIO, "%s", unread->text);
	if (!setting->value)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "NCCL_TOPO_FILE is not set");
	if (!*setting->value)
		return muster_fail(err, MUSTER_EIO, "NCCL_TOPO_FILE is empty (%s)", setting->from);
	muster_step(ctx, "read %s", setting->value);
	user_path(ctx, path, sizeof path, setting->value);
	return muster_file_read(path, MUSTER_NCCL_TOPO_BYTES_MAX, ret_text, ret_length, err);
}

/* The four samples of the topology file. `result` and `why` go through these stages, each of which the next one needs:
 *
 *   read_topo    not set, unknown or unreadable: all null. Too long: the path is yielded, the rest is null
 *   parse        no topology file (MUSTER_EUSAGE): a difference. Another error, such as no expat: two nulls
 *   compare      the differences, or why there was nothing to compare with
 */
static void measure_topo(
	struct muster_probe_ctx *ctx, const struct muster_settings *settings, const struct muster_error *unread)
{
	const struct muster_setting *setting = muster_settings_find(settings, "NCCL_TOPO_FILE");
	struct muster_nccl_topo *topo = muster_calloc(1, sizeof *topo);
	struct differences all = { 0 };
	struct muster_error why = { 0 };
	size_t length = 0;
	char *text = NULL, content[MUSTER_CONTENT_TEXT_SIZE] = "";
	int result = read_topo(ctx, setting, unread, &text, &length, &why);
	muster_emit_read(ctx, "node.topo_file", NULL, why.code == MUSTER_EUSAGE ? 0 : result,
		muster_string(setting->value), &why);
	if (result == 0)
		muster_content_text(text, length, content);
	muster_emit_read(ctx, "node.topo_file_content", NULL, result, muster_string(content), &why);
	if (result == 0) {
		result = muster_nccl_topo_parse(text, length, topo, &why);
		if (result == 0) {
			result = compare(ctx, topo, &all, &why);
		} else if (why.code == MUSTER_EUSAGE) {
			differ(&all, "it cannot be read: %.900s", why.text);
			result = 0;
		}
	}
	emit_differences(ctx, &all, result, &why);
	free(text);
	muster_nccl_topo_done(topo);
	free(topo);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	struct muster_settings settings;
	struct muster_error unread;
	size_t length;
	char *block;
	if (muster_environment_read(&block, &length, err) < 0)
		return -1;
	struct muster_arena *arena = muster_arena_new();
	muster_settings_init(&settings, arena);
	muster_settings_add_environment(&settings, block, length);
	free(block);
	bool all_read = read_confs(ctx, &settings, &unread) == 0;
	emit_settings(ctx, &settings, all_read ? NULL : &unread);
	if (muster_probe_env(ctx)->leader) {
		emit_lacks(ctx, &settings);
		measure_topo(ctx, &settings, all_read ? NULL : &unread);
	}
	muster_arena_free(arena);
	return 0;
}

const struct muster_probe muster_probe_environment = {
	.name = "environment",
	.summary = "variables that control CUDA, NCCL, UCX and MPI, and NCCL's topology file",
	.scope = MUSTER_SCOPE_RANK,
	.of_job = true,
	.deadline_ms = 10000,
	.order = 15,
	METRICS(metrics),
	.run = run,
};
