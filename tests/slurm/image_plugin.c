/* SPDX-License-Identifier: Apache-2.0 */
/* image_plugin.c - in the place of a container plugin: --container-image=DIR gives the tasks of a step another root
 *
 * Like pyxis it has its options from srun, sbatch and salloc, and enters the image in task_init. The image is a folder.
 * Of the host it has /dev, /proc, /sys, the system's programs and libraries, and what --container-mounts=DIR,DIR...
 * names.
 */
#include <errno.h>
#include <sched.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT extern const char plugin_name[], plugin_type[];
EXPORT extern const unsigned int plugin_version, spank_plugin_version;
SPANK_PLUGIN(image, 1)
EXPORT int slurm_spank_init(spank_t spank, int argc, char **argv);
EXPORT int slurm_spank_task_init(spank_t spank, int argc, char **argv);

enum { IMAGE, MOUNTS, OPTIONS };

static char given[OPTIONS][4096];

static int option_set(int which, const char *text, int remote)
{
	(void)remote;
	snprintf(given[which], sizeof given[which], "%s", text ? text : "");
	return ESPANK_SUCCESS;
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	static const char *const names[OPTIONS] = { "container-image", "container-mounts" };
	(void)argc, (void)argv;
	for (int which = 0; which < OPTIONS; which++) {
		struct spank_option option = {
			.name = (char *)names[which],
			.arginfo = (char *)"DIR",
			.usage = (char *)"for the tests",
			.has_arg = 1,
			.val = which,
			.cb = option_set,
		};
		if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
			return -1;
	}
	return ESPANK_SUCCESS;
}

/* This folder of the host is in the image under the same name. */
static int show(const char *folder)
{
	char path[8192];
	struct stat status;
	if (stat(folder, &status) < 0)
		return 0;
	for (const char *slash = folder; slash; slash = strchr(slash + 1, '/')) {
		snprintf(path, sizeof path, "%s%.*s", given[IMAGE], (int)(slash - folder), folder);
		mkdir(path, 0755);
	}
	snprintf(path, sizeof path, "%s%s", given[IMAGE], folder);
	mkdir(path, 0755);
	return mount(folder, path, NULL, MS_BIND | MS_REC, NULL);
}

int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	static const char *const shown[] = { "/bin", "/lib", "/lib64", "/usr", "/dev", "/proc", "/sys" };
	uint32_t step = 0;
	char *rest = given[MOUNTS], *folder, here[4096];
	(void)argc, (void)argv;
	if (!*given[IMAGE] || spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS ||
		step == SLURM_BATCH_SCRIPT)
		return ESPANK_SUCCESS;
	int failed = !getcwd(here, sizeof here) || unshare(CLONE_NEWNS) < 0 ||
		     mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0;
	for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
		failed = failed || show(shown[i]) < 0;
	while ((folder = strsep(&rest, ",")))
		failed = failed || (*folder && show(folder) < 0);
	failed = failed || chroot(given[IMAGE]) < 0 || (chdir(here) < 0 && chdir("/") < 0);
	if (failed)
		slurm_error("image: cannot enter %s: %s", given[IMAGE], strerror(errno));
	return failed ? -1 : ESPANK_SUCCESS;
}
