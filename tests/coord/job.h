/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - a whole job in one process: supervisors over the loopback, on a virtual clock, with scripted workers
 *
 * A seed draws the job and all that goes wrong in it; job_run plays it and job_check holds the outcome against what was
 * drawn. The same seed always plays the same.
 */
#ifndef MUSTER_TESTS_COORD_JOB_H
#define MUSTER_TESTS_COORD_JOB_H

#include "coord/supervisor.h"
#include "transport_loop.h"

#include <stdint.h>

struct job;

/* What becomes of a rank. */
enum fate {
	FATE_LIVES = 0,
	FATE_DIES,   /* its supervisor, at a turn of its loop */
	FATE_PAUSES, /* it stands still for less than the silence that counts as death */
	FATE_SILENT, /* it stands still for longer than that */
	FATE_COUNT
};

/* What becomes of its worker, at one of its commands. */
enum worker_fate { WORKER_LIVES = 0, WORKER_CRASHES, WORKER_HANGS, WORKER_ERROR, WORKER_TAKES_RANK_ALONG };

struct rank_plan {
	enum fate fate;
	uint64_t at_turn; /* of FATE */
	double pause_ms;
	enum worker_fate worker;
	int at_command; /* of the worker's fate */
	enum worker_fate in_traffic;
	int at_traffic;        /* of the fate in traffic: the number of the round that the rank is in, from 0 */
	double start_ms, slow; /* slow: how many times longer its commands take */
	bool bad_node;         /* rings of more than its own node fail */
};

struct job_plan {
	uint64_t seed;
	int nodes, per_node, ranks;
	bool cyclic;          /* ranks are placed over the nodes in turn */
	bool tells_of_deaths; /* as the sockets of one node do */
	int deadline_s;
	enum muster_localise localise;
	enum muster_profile profile;
	double delay_ms, jitter_ms; /* of messages */
	double duplicates, garbage; /* how often */
	int bad_node;               /* -1: none */
	double interrupt_ms;        /* a signal reaches rank interrupt_rank then; 0: none */
	int interrupt_rank;
	int samples;                       /* of each probe */
	struct muster_loop_memory *memory; /* NULL: not counted */
	struct rank_plan *rank;            /* of each */
};

/* Draw a plan from a seed; job_plan_done frees it. */
void job_plan_draw(struct job_plan *plan, uint64_t seed);
/* A healthy job of this size. */
void job_plan_healthy(struct job_plan *plan, int nodes, int per_node, int samples);
void job_plan_done(struct job_plan *plan);

struct job_result {
	double virtual_ms; /* when the last rank was through */
	uint64_t messages, turns;
	double longest_turn_ms, total_ms; /* CPU time of one turn of rank 0; wall time of all of it */
	size_t memory_peak;               /* bytes of rank 0 */
	size_t missing;                   /* ranks that the report names as missing */
	int code;                         /* rank 0's exit code; -1: it did not live */
};

/* Play it. finalize may be NULL; else it is called with the run instead of only looking at it (for benchmarks). */
typedef int job_finalize_fn(void *arg, struct muster_run *run);
struct job *job_new(const struct job_plan *plan);
void job_run(struct job *job, job_finalize_fn *finalize, void *arg, struct job_result *ret);
/* Rounds of traffic of this rank that ended well. */
int job_traffic_done(const struct job *job, int rank);
/* NULL when everything is as it must be; else what is not, malloc'd. */
char *job_check(struct job *job);
void job_free(struct job *job);

/* The plan in a line or more, for people. */
void job_plan_print(const struct job_plan *plan);

#endif
