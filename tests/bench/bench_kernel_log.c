/* SPDX-License-Identifier: Apache-2.0 */
/* bench_kernel_log.c - how many lines of a kernel's log are read and looked at in a second of one CPU
 *
 * bench_kernel_log LINES: a log of so many harmless lines of each kind, of which a fault's line is the first.
 */
#include "system/kernel_event.h"
#include "system/kernel_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct muster_kernel_tally tally;

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The record's line, as /dev/kmsg gives it. */
static void read_line(const char *record)
{
	char text[MUSTER_KERNEL_TEXT_MAX + 1];
	uint64_t sequence;
	double seconds;
	if (muster_kernel_record_parse(record, strlen(record), &sequence, &seconds, text))
		muster_kernel_tally_add(&tally, text, seconds, false, false);
}

int main(int argc, char **argv)
{
	static const char *const lines[] = {
		"mlx5_core 0000:5e:00.0: mlx5_cmd_out_err:838:(pid 4711): ACCESS_REG failed, syndrome (0x305684)",
		"pcieport 0000:00:03.1: AER: Corrected error received: 0000:01:00.0",
		"pcieport 0000:00:03.1: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)",
		"audit: type=1400 audit(1700000000.123:4): apparmor=\"DENIED\" operation=\"open\" name=\"/etc/x\"",
		"INFO: task train:4711 is blocked on a mutex likely owned by task train:4712.",
	};
	int count = argc == 2 ? (int)strtol(argv[1], NULL, 10) : 0;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		memset(&tally, 0, sizeof tally);
		read_line("6,1,1000000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=0, GPU has fallen off the bus.");
		char record[512];
		snprintf(record, sizeof record, "6,2,9000000,-;%s", lines[i]);
		double start = cpu_s();
		for (int n = 0; n < count; n++)
			read_line(record);
		printf("%.0f lines a second, the Xid is %s: %.50s\n", count / (cpu_s() - start),
			tally.count[MUSTER_KERNEL_XIDS] == 1 ? "kept" : "LOST", lines[i]);
	}
	return 0;
}
