/* SPDX-License-Identifier: Apache-2.0 */
/* installed.c - what an update can change although no version does: modules, their parameters, the kernel's command
 * line and settings, and configuration files by their content
 *
 * A file that this user may not read is null. Values are recorded, not judged: reports of before and after an
 * update are compared, and nodes with each other. A configuration file is told by size and XXH64, because it may hold
 * secrets of a site.
 *
 * Lists of what is compared by name stand in the functions. A name that is always looked for has a sample on every
 * node, with a value such as "not loaded" or "no file". Names that the node itself gives (parameters of the driver,
 * installed packages) have samples only where they are there; without the list there are none.
 */
#include "system/sysfs.h"
#include "util/text.h"
#include "util/xxh64.h"
#include "probes/metrics.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARAMETERS_MAX = 128, FILE_MOST = 1 << 20, PACKAGES_MOST = 64 << 20 }; /* lines; bytes; bytes */

static const struct muster_metric metrics[] = {
	TEXT(NODE, "node.driver_parameter", FACT, TEXT,
		"value of this parameter of the NVIDIA driver (/proc/driver/nvidia/params)", .labels = { "name" }),
	TEXT(NODE, "node.module", FACT, TEXT,
		"version of this kernel module; \"loaded\" where it has none, \"not loaded\"", .labels = { "name" }),
	NODE_TEXT("node.kernel_command_line", FACT, TEXT, "command line of the kernel (/proc/cmdline)"),
	TEXT(NODE, "node.kernel_setting", FACT, NOTHING, "value of this setting of the kernel (sysctl)",
		.labels = { "name" }),
	TEXT(NODE, "node.file_content", FACT, NOTHING,
		"content of this configuration file, as its size and XXH64: \"153 bytes, 01cf...\"; \"no file\"",
		.labels = { "name" }),
	TEXT(NODE, "node.package", FACT, NOTHING,
		"version of this installed package of Debian or Ubuntu: a service or a library beside the driver",
		.labels = { "name" }),
};

/* One sample for each line "EnableGpuFirmware: 18" or "RegistryDwords: \"\"", with the text behind the colon as it is.
 * Where the file cannot be read there is no sample: a node without the driver has no parameters. */
static void measure_parameters(struct muster_probe_ctx *ctx)
{
	char path[PATH_MAX], *text, *rest, *line;
	struct muster_error why;
	size_t length, count = 0;
	muster_root_path(ctx, path, sizeof path, "/proc/driver/nvidia/params");
	if (muster_file_read(path, FILE_MOST, &text, &length, &why) < 0)
		return;
	for (rest = text; (line = strsep(&rest, "\n")) && count < PARAMETERS_MAX;) {
		char *colon = strchr(line, ':');
		if (!colon || colon == line)
			continue;
		*colon = '\0';
		muster_emit_for(ctx, "node.driver_parameter", line, muster_string(colon + 1 + strspn(colon + 1, " ")));
		count++;
	}
	free(text);
}

static void measure_modules(struct muster_probe_ctx *ctx)
{
	static const char *const names[] = { "nvidia_uvm", "nvidia_peermem", "nvidia_fs", "gdrdrv", "mlx5_core",
		"mlx5_ib", "ib_umad", "mana_ib" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[PATH_MAX], version[128];
		bool loaded = muster_module_is_loaded(muster_probe_env(ctx)->root, names[i]);
		muster_root_path(ctx, path, sizeof path, "/sys/module/%s/version", names[i]);
		bool known = loaded && muster_read_line(path, version, sizeof version, NULL) == 0;
		muster_emit_for(ctx, "node.module", names[i],
			muster_string(known    ? version
				      : loaded ? "loaded"
					       : "not loaded"));
	}
}

static void measure_kernel(struct muster_probe_ctx *ctx)
{
	static const struct {
		const char *name, *path;
	} settings[] = {
		{ "kernel.numa_balancing", "/proc/sys/kernel/numa_balancing" },
		{ "vm.zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode" },
		{ "vm.nr_hugepages", "/proc/sys/vm/nr_hugepages" },
		{ "vm.overcommit_memory", "/proc/sys/vm/overcommit_memory" },
		{ "kernel.yama.ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope" },
	};
	char path[PATH_MAX], text[4096];
	struct muster_error why;
	muster_root_path(ctx, path, sizeof path, "/proc/cmdline");
	int result = muster_read_line(path, text, sizeof text, &why);
	muster_emit_read(ctx, "node.kernel_command_line", NULL, result, muster_string(text), &why);
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		muster_root_path(ctx, path, sizeof path, "%s", settings[i].path);
		result = muster_read_line(path, text, sizeof text, &why);
		muster_emit_read(ctx, "node.kernel_setting", settings[i].name, result, muster_string(text), &why);
	}
}

/* "153 bytes, 01cf..." of each file; "no file"; null for a file that cannot be looked for or read, or is above
 * FILE_MOST. */
static void measure_files(struct muster_probe_ctx *ctx)
{
	static const char *const files[] = { "/etc/nccl.conf", "/etc/security/limits.conf",
		"/etc/modprobe.d/nvidia.conf", "/etc/nvidia-imex/nodes_config.cfg",
		"/usr/share/nvidia/nvswitch/fabricmanager.cfg", "/etc/mpi/openmpi-mca-params.conf" };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char path[PATH_MAX], *content, text[MUSTER_CONTENT_TEXT_SIZE] = "no file";
		struct muster_error why = { 0 };
		size_t length;
		muster_root_path(ctx, path, sizeof path, "%s", files[i]);
		bool there = access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
		int result = there ? muster_file_read(path, FILE_MOST, &content, &length, &why) : 0;
		if (there && result == 0) {
			muster_content_text(content, length, text);
			free(content);
		}
		muster_emit_read(ctx, "node.file_content", files[i], result, muster_string(text), &why);
	}
}

/* Services print their versions only when they are run, and on a node in use nothing is run for that: the list of
 * packages has them. RPM's is a database of its own, which is not read. The list of dpkg(1), /var/lib/dpkg/status, has
 * a paragraph for each package, with these fields among others, in this order:
 *
 *   Package: nvidia-fabricmanager-580
 *   Status: install ok installed
 *   Version: 580.126.16-1
 *
 * A wanted name is the beginning of a package's name, because many have the driver's branch at the end. A package that
 * was removed and has left its configuration files is still listed, with another status. */
static void measure_packages(struct muster_probe_ctx *ctx)
{
	static const char *const wanted[] = { "nvidia-fabricmanager", "nvidia-imex", "nvidia-persistenced", "nvlsm",
		"datacenter-gpu-manager", "gdrdrv-dkms", "nvidia-container-toolkit", "mlnx-ofed-kernel-modules",
		"doca-ofed", "rdma-core", "libnccl2", "cuda-compat" };
	char path[PATH_MAX], *text, *rest, *line, name[64] = "";
	bool installed = false;
	size_t length;
	muster_root_path(ctx, path, sizeof path, "/var/lib/dpkg/status");
	if (muster_file_read(path, PACKAGES_MOST, &text, &length, NULL) < 0)
		return;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		if (strncmp(line, "Package: ", 9) == 0) {
			snprintf(name, sizeof name, "%s", line + 9);
			installed = false;
		} else if (strncmp(line, "Status: ", 8) == 0) {
			installed = muster_text_ends_in(line, " installed");
		} else if (strncmp(line, "Version: ", 9) == 0 && installed) {
			for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
				if (strncmp(name, wanted[i], strlen(wanted[i])) == 0)
					muster_emit_for(ctx, "node.package", name, muster_string(line + 9));
		}
	}
	free(text);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)err;
	muster_step(ctx, "read files of the kernel");
	measure_parameters(ctx);
	measure_modules(ctx);
	measure_kernel(ctx);
	muster_step(ctx, "read configuration files");
	measure_files(ctx);
	measure_packages(ctx);
	return 0;
}

const struct muster_probe muster_probe_installed = {
	.name = "installed",
	.summary = "modules, parameters and settings that an update can change without a version",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 10000,
	.order = 24,
	METRICS(metrics),
	.run = run,
};
