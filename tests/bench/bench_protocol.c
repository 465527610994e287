/* SPDX-License-Identifier: Apache-2.0 */
/* bench_protocol.c - what the protocol costs: a whole job over the loopback on one core, from hello to the report
 *
 * usage: bench_protocol NODES...     nodes of 8 ranks each
 *
 * Supervisors, aggregators and rank 0 are the real ones. Of the process's memory, only that of rank 0 is what a run
 * pays in one place: stacks, records and workers of all other ranks are on their nodes in a real run. Workers are
 * scripts that yield as many samples as a rank of an eight-GPU node does. The report holds no expectations:
 * bench_report has what judging costs.
 */
#include "job.h"

#include "muster/report.h"
#include "util/text.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PER_NODE = 8, SAMPLES = 6 /* of each probe */ };

/* ---- malloc and its kin, which count ---- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
static struct muster_loop_memory memory;

/* A block with what malloc keeps beside it: counted, and returned. */
static void *count(void *block)
{
	memory.now += block ? malloc_usable_size(block) + sizeof(size_t) : 0;
	memory.peak = memory.now > memory.peak ? memory.now : memory.peak;
	return block;
}

static void discount(void *block)
{
	memory.now -= block ? malloc_usable_size(block) + sizeof(size_t) : 0;
}

void *malloc(size_t size)
{
	return count(__libc_malloc(size));
}

void *calloc(size_t number, size_t size)
{
	return count(__libc_calloc(number, size));
}

void *realloc(void *old, size_t size)
{
	discount(old);
	return count(__libc_realloc(old, size));
}

void *reallocarray(void *old, size_t number, size_t size)
{
	return realloc(old, number * size);
}

void free(void *block)
{
	discount(block);
	__libc_free(block);
}

/* ---- the job ---- */

static double cpu_s(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int write_report(void *arg, struct muster_run *run)
{
	struct muster_report report;
	struct muster_error err;
	double *seconds = arg, began_s = cpu_s();
	run->job.profile = "standard";
	run->job.version = MUSTER_VERSION;
	run->job.started = "2026-01-01T00:00:00Z";
	muster_evaluate(run, NULL, false, &report);
	FILE *out = fopen("/dev/null", "we");
	if (!out || muster_report_print_json(&report, out, &err) < 0) {
		fprintf(stderr, "the report could not be written\n");
		exit(1);
	}
	fclose(out);
	muster_report_done(&report);
	*seconds = cpu_s() - began_s;
	return MUSTER_EXIT_PASS;
}

struct measured {
	struct job_result result;
	double took_s, report_s;
	int ranks;
};

static void measure(int nodes, struct measured *ret)
{
	struct job_plan plan;
	double began_s = cpu_s();
	job_plan_healthy(&plan, nodes, PER_NODE, SAMPLES);
	plan.memory = &memory;
	struct job *job = job_new(&plan);
	job_run(job, write_report, &ret->report_s, &ret->result);
	ret->took_s = cpu_s() - began_s;
	ret->ranks = plan.ranks;
	if (ret->result.missing > 0 || ret->result.code != 0) {
		fprintf(stderr, "%zu ranks are missing, exit code %d\n", ret->result.missing, ret->result.code);
		exit(1);
	}
	job_free(job);
	job_plan_done(&plan);
}

int main(int argc, char **argv)
{
	double first = 0;
	puts("|   ranks |  nodes | CPU s | report s | us a rank | times the first | longest turn ms | rank 0 MiB | "
	     "all MiB |");
	for (int i = 1; i < argc; i++) {
		struct measured job;
		struct rusage usage;
		int nodes = (int)strtol(argv[i], NULL, 10);
		measure(nodes, &job);
		double each_us = job.took_s * 1e6 / job.ranks;
		first = first > 0 ? first : each_us;
		getrusage(RUSAGE_SELF, &usage);
		printf("| %7d | %6d | %5.1f | %8.1f | %9.0f | %15.2f | %15.0f | %10zu | %7ld |\n", job.ranks, nodes,
			job.took_s, job.report_s, each_us, each_us / first, job.result.longest_turn_ms,
			job.result.memory_peak >> 20, usage.ru_maxrss / 1024);
	}
	return 0;
}
