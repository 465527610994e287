/* fault_log.c - what a faulty node's kernel has logged
 *
 * Texts are those of real logs; names and numbers of processes are not. AGE is a number and s, m, h or d, or "now":
 * when a rank of the node makes its first copy, or misbehaves.
 */
#include "sim/fault_kinds.h"

#include "util/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NOW "now"

/* "20m" in seconds, negative for "now". */
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

/* age as of read_age; a line a moment `later` than others of it. */
static void __attribute__((format(printf, 4, 5)))
append(const struct muster_fault_target *t, double age, double later, const char *format, ...)
{
	char text[512], line[600];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (age < 0)
		snprintf(line, sizeof line, NOW " %s", text);
	else
		snprintf(line, sizeof line, "%.3f %s", age > later ? age - later : 0, text);
	muster_fault_append(t, &t->node->kernel_log, &t->node->kernel_log_count, line);
}

/* CODE[:AGE] */
static int read_code(const char *value, long *ret_code, double *ret_age, struct muster_error *err)
{
	const char *colon = strchr(value, ':');
	char code[16];
	snprintf(code, sizeof code, "%.*s", (int)(colon ? colon - value : (long)strlen(value)), value);
	if (muster_parse_int(code, 0, 99999, ret_code, "CODE", err) < 0)
		return -1;
	return read_age(colon ? colon + 1 : "5m", ret_age, err);
}

int muster_fault_xid(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	static const struct {
		long code;
		const char *text;
	} texts[] = {
		{ 13, "Graphics SM Warp Exception on (GPC 0, TPC 1, SM 0): Out Of Range Address" },
		{ 31, "Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ "
		      "0x7f1a_b2c00000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ" },
		{ 48, "DBE (double bit error) ECC Error detected" },
		{ 63, "Row Remapper: New row marked for remapping, reset gpu to activate." },
		{ 74, "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)" },
		{ 79, "GPU has fallen off the bus." },
		{ 94, "Contained: SM (0x1). RST: No, D-RST: No" },
		{ 95, "Uncontained: FBHUB. RST: Yes, D-RST: No" },
		{ 119, "Timeout waiting for RPC from GSP! Expected function 76 (GSP_RM_CONTROL) (0x20800110 0x84)." },
	};
	const char *text = "no details";
	long code;
	double age;
	if (!t->gpu->bus_id)
		return muster_fail(err, MUSTER_EUSAGE, "the GPU is missing: this fault must come before gpu-missing");
	if (read_code(value, &code, &age, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].code == code)
			text = texts[i].text;
	/* the driver leaves the function out */
	append(t, age, 0, "NVRM: Xid (PCI:%.*s): %ld, pid=4711, name=train, %s", (int)strcspn(t->gpu->bus_id, "."),
		t->gpu->bus_id, code, text);
	return 0;
}

int muster_fault_sxid(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	static const char device[] = "nvidia-nvswitch3: SXid (PCI:0000:05:00.0)";
	long code;
	double age;
	if (read_code(value, &code, &age, err) < 0)
		return -1;
	append(t, age, 0, "%s: %ld, Non-fatal, Link 32 egress non-posted PRIV error (First)", device, code);
	append(t, age, 0.001, "%s: %ld, Severity 0 Engine instance 32 Sub-engine instance 00", device, code);
	append(t, age, 0.002, "%s: %ld, Data {0x000001c0, 0x00bd5c8a, 0x00000500, 0x00000064, 0x00000000}", device,
		code);
	return 0;
}

/* fatal|nonfatal|corrected[:AGE], of the node's first GPU. */
int muster_fault_aer(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	static const char *const words[] = { "fatal", "nonfatal", "corrected" };
	static const char *const severities[] = { "Uncorrected (Fatal)", "Uncorrected (Non-Fatal)", "Corrected" };
	const char *colon = strchr(value, ':'), *bus_id = t->node->gpus[0].bus_id;
	char word[16];
	double age;
	snprintf(word, sizeof word, "%.*s", (int)(colon ? colon - value : (long)strlen(value)), value);
	int severity = muster_parse_name(word, words, sizeof words / sizeof *words, "VALUE", err);
	if (severity < 0 || read_age(colon ? colon + 1 : "20m", &age, err) < 0)
		return -1;
	if (!bus_id)
		return muster_fail(err, MUSTER_EUSAGE, "the GPU is missing: this fault must come before gpu-missing");
	append(t, age, 0, "pcieport 0000:00:02.0: AER: %s error received: %s", severities[severity], bus_id);
	append(t, age, 0.001, "nvidia %s: PCIe Bus Error: severity=%s, type=Transaction Layer, (Receiver ID)", bus_id,
		severities[severity]);
	append(t, age, 0.002, "nvidia %s:   device [10de:2330] error status/mask=00004000/00000000", bus_id);
	return 0;
}

/* Of the node's first network adapter. */
int muster_fault_flap(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	double age;
	if (t->node->port_count == 0 || !t->node->ports[0].pci)
		return muster_fail(err, MUSTER_EUSAGE, "the node has no RDMA device");
	if (read_age(value, &age, err) < 0)
		return -1;
	const struct muster_sim_port *port = &t->node->ports[0];
	append(t, age, 0, "mlx5_core %s %s: Port: 1 Link DOWN", port->pci, port->device);
	append(t, age, 4, "mlx5_core %s %s: Port: 1 Link ACTIVE", port->pci, port->device);
	return 0;
}

int muster_fault_oom(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	double age;
	if (read_age(value, &age, err) < 0)
		return -1;
	append(t, age, 0,
		"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/"
		"system.slice,task=train,pid=4711,uid=1001");
	append(t, age, 0.001,
		"Out of memory: Killed process 4711 (train) total-vm:944892805kB, anon-rss:891289600kB, file-rss:0kB, "
		"shmem-rss:0kB, UID:1001 pgtables:1843200kB oom_score_adj:0");
	return 0;
}

int muster_fault_read_only(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	double age;
	if (read_age(value, &age, err) < 0)
		return -1;
	append(t, age, 0,
		"EXT4-fs error (device md0): ext4_journal_check_start:83: comm kworker/u193:2: Detected aborted "
		"journal");
	append(t, age, 0.001, "EXT4-fs (md0): Remounting filesystem read-only");
	return 0;
}
