/* SPDX-License-Identifier: Apache-2.0 */
/* history.c - what the kernel has logged of faults since boot: GPUs, PCIe, network adapters, memory, file systems
 *
 * The log is read; nothing is judged, and no event is left out for being harmless. An entry is one kind of event of one
 * device, with the age of its newest line. Each entry becomes three samples with the same labels: age, count and line.
 *
 *   kernel_log.c     the records of /dev/kmsg or the journal, one by one
 *   kernel_event.h   which event the line of a record tells of, if any; the tally, which counts equal events
 *   here             which of them are of the run, whose GPU it was, and the samples
 *
 * Which records are of the run: those not older than the supervisor, which is the parent of this process. run reads the
 * log up to now, finish what came since; static `history` is what finish needs of run. A worker that replaces another
 * one has none, reads the log from its beginning, and tells only what is of the run.
 *
 * Of Xids, those before the driver was loaded last, or before the reset that cures them, are left out (kernel_tally.c):
 * the time at which the driver was loaded is that of its lines in the log, or where these are overwritten that of its
 * folder in sysfs.
 */
#include "system/kernel_log.h"
#include "system/kernel_event.h"
#include "system/nvidia_gpus.h"
#include "util/text.h"
#include "probes/metrics.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Parts of events, by the tables of expectation files; those of one table have the same labels. */
#define XID(part)                                                                                                      \
	.labels = { "gpu", "code", "of", "when" }, .event = MUSTER_EVENT_XID, .event_part = MUSTER_EVENT_##part
#define SXID(part) .labels = { "device", "code", "when" }, .event = MUSTER_EVENT_SXID, .event_part = MUSTER_EVENT_##part
#define KERNEL(part)                                                                                                   \
	.labels = { "kind", "device", "when" }, .event = MUSTER_EVENT_KERNEL, .event_part = MUSTER_EVENT_##part

static const struct muster_metric metrics[] = {
	NODE_TEXT("node.kernel_log", FACT, NOTHING, "where the kernel's messages were read: \"kmsg\", \"journal\""),
	NODE_NUMBER("node.kernel_log_hours", HOURS, DRIFTS, "how far back they were read, at most since boot"),
	NODE_TEXT("node.kernel_log_start", DRIFTS, NOTHING, "\"boot\", or why messages of this boot were not read"),
	NODE_FLAG("node.kernel_log_cut", FACT, "there were more messages than can be read in time"),
	NODE_NUMBER("node.kernel_events_left_out", NONE, LESS,
		"events before the run that have no sample, because there were too many"),
	NODE_NUMBER("node.xid_age_hours", HOURS, DRIFTS, "time since the GPU's newest Xid of this code", XID(AGE)),
	NODE_NUMBER(
		"node.xid_count", NONE, DRIFTS, "Xids of this code and GPU since the driver was loaded", XID(COUNT)),
	NODE_TEXT("node.xid_line", DRIFTS, LINE, "the newest of them, as the kernel logged it", XID(LINE)),
	NODE_NUMBER(
		"node.sxid_age_hours", HOURS, DRIFTS, "time since the NVSwitch's newest SXid of this code", SXID(AGE)),
	NODE_NUMBER("node.sxid_count", NONE, DRIFTS, "SXids of this code and NVSwitch since the driver was loaded",
		SXID(COUNT)),
	NODE_TEXT("node.sxid_line", DRIFTS, LINE, "the newest of them, as the kernel logged it", SXID(LINE)),
	/* reports are compared by the findings about events */
	NODE_NUMBER("node.kernel_event_age_hours", HOURS, DRIFTS, "time since the device's newest event of this kind",
		KERNEL(AGE)),
	NODE_NUMBER(
		"node.kernel_event_count", NONE, DRIFTS, "events of this kind and device since boot", KERNEL(COUNT)),
	NODE_TEXT("node.kernel_event_line", DRIFTS, LINE, "the newest of them, as the kernel logged it", KERNEL(LINE)),
};

static struct {
	struct muster_kernel_log log;
	struct muster_kernel_tally tally;
	bool began;        /* `run` was called: this is no worker that replaced another one */
	double during_age; /* seconds: records that are at most so old came during the run; negative: all did */
	double driver_age; /* seconds: the NVIDIA driver has been loaded for so long at least; 0: not known */
} history;

/* Seconds since the supervisor began, which is this process's parent and outlives its workers; 0 when not known. */
static double run_age_s(void)
{
	enum { START_TIME = 22 }; /* the field of /proc/PID/stat, in clock ticks since boot (proc(5)) */
	char path[64], text[4096];
	struct timespec now;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
	if (muster_read_line(path, text, sizeof text, NULL) < 0)
		return 0;
	const char *at = strrchr(text, ')'); /* the second field is a name of any characters */
	for (int field = 2; at && field < START_TIME; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	clock_gettime(CLOCK_BOOTTIME, &now);
	double start = strtod(at, NULL) / (double)sysconf(_SC_CLK_TCK);
	return fmax(0, (double)now.tv_sec + (double)now.tv_nsec / 1e9 - start);
}

/* A folder of sysfs has the time at which it was first looked at (Linux, fs/kernfs/inode.c): never before its module.
 */
static double driver_age_s(const char *root)
{
	char path[PATH_MAX];
	struct stat status;
	snprintf(path, sizeof path, "%s/sys/module/nvidia", root);
	return stat(path, &status) < 0 ? 0 : fmax(0, difftime(time(NULL), status.st_mtime));
}

/* One record of the log, for the tally. driver_by is the time since boot at which the driver was loaded at the latest:
 * seconds + age_s is the present moment on the log's own clock, and the driver's age is taken from that. */
static void take(void *arg, const struct muster_kernel_record *record)
{
	(void)arg;
	if (history.driver_age > 0)
		history.tally.driver_by = record->seconds + record->age_s - history.driver_age;
	bool during = history.during_age < 0 || record->age_s <= history.during_age;
	muster_kernel_tally_add(&history.tally, record->text, record->seconds, during, record->backwards);
}

/* A GPU that is on the bus and kept from this process is another job's; one that has left the bus was ours. */
static const char *whose(const struct muster_nvidia_gpus *gpus, const char *bus_id)
{
	const struct muster_nvidia_gpu *gpu = muster_nvidia_gpus_find(gpus, bus_id);
	return gpu && gpu->access != MUSTER_NVIDIA_OURS ? "other" : "job";
}

/* The three samples of one entry. The labels stand in the order of the metrics' rows, see XID, SXID and KERNEL above:
 *
 *   Xid      gpu, code, of, when
 *   SXid     device, code, when
 *   others   kind, device, when
 */
static void emit_seen(struct muster_probe_ctx *ctx, enum muster_kernel_group group,
	const struct muster_kernel_seen *seen, double uptime_s, const struct muster_nvidia_gpus *gpus)
{
	static const struct {
		const char *age, *count, *line;
	} names[] = {
		[MUSTER_KERNEL_XIDS] = { "node.xid_age_hours", "node.xid_count", "node.xid_line" },
		[MUSTER_KERNEL_SXIDS] = { "node.sxid_age_hours", "node.sxid_count", "node.sxid_line" },
		[MUSTER_KERNEL_OTHERS] = { "node.kernel_event_age_hours", "node.kernel_event_count",
			"node.kernel_event_line" },
	};
	struct muster_value labels[MUSTER_LABELS_MAX];
	size_t count = 0;
	if (group == MUSTER_KERNEL_OTHERS)
		labels[count++] = muster_string(muster_kernel_event_names[seen->event.kind]);
	labels[count++] = muster_string(seen->event.device);
	if (group != MUSTER_KERNEL_OTHERS)
		labels[count++] = muster_string(seen->event.code);
	if (group == MUSTER_KERNEL_XIDS)
		labels[count++] = muster_string(whose(gpus, seen->event.device));
	labels[count++] = muster_string(seen->during ? "during" : "before");
	double age_s = fmax(0, uptime_s - seen->newest);
	muster_emit(ctx, names[group].age, labels, count, muster_number(age_s / 3600));
	muster_emit(ctx, names[group].count, labels, count, muster_number((double)seen->count));
	muster_emit(ctx, names[group].line, labels, count, muster_string(seen->line));
}

/* run (finishing is false) tells what was before the run. finish tells the rest: what came during the run, and entries
 * of before that run did not have, because it had read only a part of the log. In a worker that replaced another one
 * finish tells only what is of the run, because the other worker's run has told what was before. An entry is told once.
 * Of the events without a label `of`, those of another job's GPU are left out. */
static void emit_all(struct muster_probe_ctx *ctx, bool finishing, double uptime_s)
{
	struct muster_nvidia_gpus gpus = { 0 };
	if (history.tally.count[MUSTER_KERNEL_XIDS] + history.tally.count[MUSTER_KERNEL_OTHERS] > 0)
		muster_nvidia_gpus_list(muster_probe_env(ctx)->root, &gpus, NULL);
	for (size_t g = 0; g < MUSTER_KERNEL_GROUPS; g++)
		for (size_t i = 0; i < history.tally.count[g]; i++) {
			struct muster_kernel_seen *seen = &history.tally.seen[g][i];
			if (seen->told || (finishing ? !seen->during && !history.began : seen->during))
				continue;
			seen->told = true;
			if (g == MUSTER_KERNEL_OTHERS && strcmp(whose(&gpus, seen->event.device), "other") == 0)
				continue;
			emit_seen(ctx, (enum muster_kernel_group)g, seen, uptime_s, &gpus);
		}
	muster_nvidia_gpus_done(&gpus);
}

/* A log that cannot be read is no error of the probe: each value about the log is null with the reason, and there are
 * no events. Whether the log was cut is said by finish where this read has not reached the newest record, since finish
 * goes on from there. */
static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	static const char *const sources[] = {
		[MUSTER_KERNEL_LOG_KMSG] = "kmsg", [MUSTER_KERNEL_LOG_JOURNAL] = "journal"
	};
	const char *root = muster_probe_env(ctx)->root;
	struct muster_kernel_reach reach;
	struct muster_error why;
	(void)err;
	muster_kernel_log_done(&history.log);
	memset(&history, 0, sizeof history);
	history.began = true;
	history.during_age = run_age_s() + muster_kernel_log_slack_s(root);
	history.driver_age = driver_age_s(root);
	muster_step(ctx, "read /dev/kmsg or the journal");
	int result = muster_kernel_log_read(&history.log, root, take, NULL, &reach, &why);
	muster_kernel_tally_end(&history.tally);
	muster_emit_read(ctx, "node.kernel_log", NULL, result,
		muster_string(result < 0 ? NULL : sources[history.log.source]), &why);
	muster_emit_read(ctx, "node.kernel_log_hours", NULL, result, muster_number(reach.oldest_s / 3600), &why);
	muster_emit_read(
		ctx, "node.kernel_log_start", NULL, result, muster_string(*reach.limit ? reach.limit : "boot"), &why);
	if (result < 0 || !history.log.unread) /* else finish goes on */
		muster_emit_read(ctx, "node.kernel_log_cut", NULL, result, muster_boolean(reach.cut), &why);
	muster_emit_read(
		ctx, "node.kernel_events_left_out", NULL, result, muster_number((double)history.tally.left_out), &why);
	if (result == 0)
		emit_all(ctx, false, reach.uptime_s);
	return 0;
}

/* What came since `run`. A worker that replaced another one reads the log as `run` would, and tells only what is of the
 * run. */
static int finish(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const char *root = muster_probe_env(ctx)->root;
	struct muster_kernel_reach reach = { 0 };
	struct muster_error why;
	(void)err;
	if (history.began && history.log.source == MUSTER_KERNEL_LOG_NONE)
		return 0; /* run said why */
	muster_step(ctx, "read /dev/kmsg or the journal again");
	history.driver_age = driver_age_s(root);
	history.during_age = history.began && !history.log.unread ? -1 : run_age_s() + muster_kernel_log_slack_s(root);
	bool unread = history.log.unread;
	int result = muster_kernel_log_read(&history.log, root, take, NULL, &reach, &why);
	if (unread)
		muster_emit_read(ctx, "node.kernel_log_cut", NULL, result, muster_boolean(reach.cut), &why);
	if (result < 0)
		return 0;
	muster_kernel_tally_end(&history.tally);
	emit_all(ctx, true, reach.uptime_s);
	return 0;
}

const struct muster_probe muster_probe_history = {
	.name = "history",
	.summary = "faults that the kernel and the NVIDIA driver have logged since boot",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 5000,
	.order = 12,
	METRICS(metrics),
	.run = run,
	.finish = finish,
};
