/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_cpus.c - what the kernel says of a process's CPUs on a machine that is not this one
 *
 * For machines.py and placement.c. sched_getaffinity answers with $MACHINE_CPUS, numbers with blanks between them.
 * sched_setaffinity adds a line to the file $MACHINE_RECORD: the local rank, and such numbers.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	const char *text = getenv("MACHINE_CPUS");
	(void)pid;
	if (size < 128 || !text) { /* a kernel for 1024 CPUs refuses smaller sets; hwloc then tries a larger one */
		errno = EINVAL;
		return -1;
	}
	CPU_ZERO_S(size, set);
	for (char *end; *text; text = end) {
		unsigned long cpu = strtoul(text, &end, 10);
		if (end == text)
			abort();
		CPU_SET_S(cpu, size, set);
	}
	return 0;
}

__attribute__((visibility("default"))) int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	const char *path = getenv("MACHINE_RECORD"), *rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
	FILE *out = path ? fopen(path, "ae") : NULL;
	(void)pid;
	if (!out || !rank)
		abort();
	fputs(rank, out); /* the line is written by fclose, at once: the ranks share the file */
	for (size_t cpu = 0; cpu < size * 8; cpu++)
		if (CPU_ISSET_S(cpu, size, set))
			fprintf(out, " %zu", cpu);
	fputc('\n', out);
	return fclose(out);
}
