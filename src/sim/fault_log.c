/* SPDX-License-Identifier: Apache-2.0 */
/* fault_log.c - what a faulty node's kernel has logged
 *
 * The texts are in node_files.txt. AGE is a number and s, m, h or d, or "now":
 * when a rank of the node makes its first copy, or misbehaves.
 *
 * A fault appends lines to the node's `kernel_log`. fault xid@node1/gpu4=79:3h on ND96asr_v4 appends
 *
 *   "10800.000 NVRM: Xid (PCI:000b:00:00): 79, pid=4711, name=train, GPU has fallen off the bus."
 *
 * the age in seconds, a blank and the text; with AGE "now" the line begins with "now ". fs.c sorts the lines with aged
 * texts into dev/kmsg before the run, and standins/kernel_log.c appends the others during the run.
 */
#include "sim/fault.h"

#include "sim/files.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

#define NOW "now"

/* "20m" in seconds, negative for "now". The node booted MUSTER_SIM_UPTIME_S ago, and its log can have nothing older. */
static int read_age(const char *text, double *ret, struct muster_error *err)
{
	static const struct {
		char letter;
		double seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	char *end = NULL;
	*ret = -1;
	if (strcmp(text, NOW) == 0)
		return 0;
	double number = *text >= '0' && *text <= '9' ? strtod(text, &end) : -1;
	for (size_t i = 0; end && i < sizeof units / sizeof *units; i++)
		if (end[0] == units[i].letter && end[1] == '\0')
			*ret = number * units[i].seconds;
	if (*ret < 0)
		return muster_fail(
			err, MUSTER_EUSAGE, "AGE must be a number and s, m, h or d, or \"now\", not \"%s\"", text);
	if (*ret > MUSTER_SIM_UPTIME_S)
		return muster_fail(err, MUSTER_EUSAGE, "AGE %s is before the node's boot %d hours ago", text,
			MUSTER_SIM_UPTIME_S / 3600);
	return 0;
}

/* Append the lines that node_files.txt has for the thing; age as of read_age. names: what ${NAME} stands for in them.
 * A line "@4 ..." comes 4 s after the fault, and so is 4 s younger. Whether the thing has any lines. */
static bool append(const struct muster_fault_target *t, const char *thing, double age, const char *const (*names)[2])
{
	struct muster_sim_files files = { .arena = t->cluster->arena };
	muster_sim_files_make(&files, thing, &(struct muster_sim_scope){ .names = names });
	for (size_t i = 0; i < files.log_count; i++) {
		double later = files.log[i].seconds;
		muster_fault_append(t, &t->node->kernel_log, &t->node->kernel_log_count,
			age < 0 ? muster_arena_printf(files.arena, NOW " %s", files.log[i].text)
				: muster_arena_printf(
					  files.arena, "%.3f %s", age > later ? age - later : 0, files.log[i].text));
	}
	free(files.log);
	return files.log_count > 0;
}

#define APPEND(t, thing, age, ...) append(t, thing, age, MUSTER_SIM_PAIRS(__VA_ARGS__))

/* Of WORD[:AGE]. */
static const char *word_of(const struct muster_fault_target *t)
{
	return muster_fault_until(t, t->value, strchr(t->value, ':'));
}

/* Without AGE, that of the fault's default. */
static int read_age_behind_word(const struct muster_fault_target *t, double *ret, struct muster_error *err)
{
	const char *colon = strchr(t->value, ':');
	return read_age((colon ? colon : strchr(t->fault->default_value, ':')) + 1, ret, err);
}

/* CODE[:AGE], of a GPU or, for an SXid, of no GPU. Some codes have lines of their own ([xid_79] in node_files.txt), all
 * others those of [xid]. */
int muster_fault_xid(const struct muster_fault_target *t, struct muster_error *err)
{
	struct muster_arena *arena = t->cluster->arena;
	const char *kind = t->fault->name, *device = "";
	long number;
	double age;
	if (muster_parse_int(word_of(t), 0, 99999, &number, "CODE", err) < 0 || read_age_behind_word(t, &age, err) < 0)
		return -1;
	if (t->gpu) /* the driver leaves the function out */
		device = muster_fault_until(t, t->gpu->bus_id, strchr(t->gpu->bus_id, '.'));
	const char *code = muster_arena_printf(arena, "%ld", number);
	if (!APPEND(t, muster_arena_printf(arena, "%s_%s", kind, code), age, { "pci", device }, { "code", code }))
		APPEND(t, kind, age, { "pci", device }, { "code", code });
	return 0;
}

/* fatal|nonfatal|corrected[:AGE], of the node's first GPU. */
int muster_fault_aer(const struct muster_fault_target *t, struct muster_error *err)
{
	static const char *const words[] = { "fatal", "nonfatal", "corrected" };
	static const char *const severities[] = { "Uncorrected (Fatal)", "Uncorrected (Non-Fatal)", "Corrected" };
	double age;
	int severity = muster_parse_name(word_of(t), words, sizeof words / sizeof *words, "VALUE", err);
	if (severity < 0 || read_age_behind_word(t, &age, err) < 0)
		return -1;
	APPEND(t, "aer", age, { "severity", severities[severity] }, { "bus_id", t->node->gpus[0].bus_id });
	return 0;
}

/* What a bad part brings into the log: NAME[:AGE], of the first GPU or adapter where a line names one. */
int muster_fault_lines(const struct muster_fault_target *t, struct muster_error *err)
{
	double age;
	if (read_age_behind_word(t, &age, err) < 0)
		return -1;
	if (!APPEND(t, muster_arena_printf(t->cluster->arena, "log %s", word_of(t)), age,
		    { "pci", t->node->port_count && t->node->ports->pci ? t->node->ports->pci : "0000:5e:00.0" },
		    { "bus_id", t->node->gpus[0].bus_id }))
		return muster_fail(err, MUSTER_EUSAGE, "there are no lines \"%s\"", word_of(t));
	return 0;
}

/* VALUE is a device, "nvme0n1". The kernel still shows the disk, with size 0, and an array that has it. */
int muster_fault_disk_dead(const struct muster_fault_target *t, struct muster_error *err)
{
	struct muster_sim_node *node = t->node;
	struct muster_sim_disk *disks = muster_arena_alloc(t->cluster->arena, node->disk_count * sizeof *disks);
	for (size_t i = 0; i < node->disk_count; i++) {
		const char *device = node->disks[i].device;
		if (strcmp(device, t->value) != 0)
			continue;
		memcpy(disks, node->disks, node->disk_count * sizeof *disks); /* those of all nodes */
		disks[i] = disks[0];
		disks[0] = node->disks[i]; /* the first is the one that the array loses */
		disks[0].gb = 0;
		node->disks = disks;
		node->volumes->missing_members += strcmp(node->volumes->layout, "none") != 0;
		APPEND(t, "disk-dead", 1200, { "device", device },
			{ "controller", muster_fault_until(t, device, strrchr(device, 'n')) });
		return 0;
	}
	return muster_fail(err, MUSTER_EUSAGE, "the node has no disk \"%s\"", t->value);
}

/* Of the node's first network adapter. */
int muster_fault_flap(const struct muster_fault_target *t, struct muster_error *err)
{
	double age;
	if (read_age(t->value, &age, err) < 0)
		return -1;
	APPEND(t, "flap", age, { "pci", t->node->ports[0].pci }, { "device", t->node->ports[0].device });
	return 0;
}

/* SECONDS TEXT, or "now TEXT", which the row has appended to the log. */
int muster_fault_kernel_line(const struct muster_fault_target *t, struct muster_error *err)
{
	const char *blank = strchr(t->value, ' '), *age = muster_fault_until(t, t->value, blank);
	double seconds;
	if (!blank)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be SECONDS TEXT, not \"%s\"", t->value);
	return strcmp(age, NOW) == 0 ? 0 : muster_fault_number(age, 0, MUSTER_SIM_UPTIME_S, &seconds, err);
}

/* A fault that needs no more than AGE has its lines under its own name. */
int muster_fault_logged(const struct muster_fault_target *t, struct muster_error *err)
{
	double age;
	if (read_age(t->value, &age, err) < 0)
		return -1;
	append(t, t->fault->name, age, NULL);
	return 0;
}
