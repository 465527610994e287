/* SPDX-License-Identifier: Apache-2.0 */
/* schedules.c - many jobs, each drawn from a seed, each held against what must always be true
 *
 * usage: schedules [--first] [FROM [COUNT]]    seeds FROM to FROM + COUNT - 1 (1, 2000), and a list of known ones;
 *                                              --first: stop at the first wrong one, else at the fifth
 *        schedules --seed SEED                 one, with its plan
 */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0 when all is well. */
static int play(uint64_t seed, bool loud)
{
	struct job_plan plan;
	struct job_result result;
	job_plan_draw(&plan, seed);
	if (loud)
		job_plan_print(&plan);
	struct job *job = job_new(&plan);
	job_run(job, NULL, NULL, &result);
	char *wrong = job_check(job);
	if (loud)
		printf("%.0f ms of virtual time, %llu messages, %llu turns, %.0f ms; %zu missing, exit code %d\n",
			result.virtual_ms, (unsigned long long)result.messages, (unsigned long long)result.turns,
			result.total_ms, result.missing, result.code);
	if (wrong) {
		printf("seed %llu: %s\n", (unsigned long long)seed, wrong);
		if (!loud)
			job_plan_print(&plan);
		printf("replay: schedules --seed %llu\n", (unsigned long long)seed);
	}
	job_free(job);
	job_plan_done(&plan);
	int bad = wrong != NULL;
	free(wrong);
	return bad;
}

/* What they showed is mended: orphans and leaders who come back, a goodbye that died with a leader, an interruption
 * during the hellos, a late record at the run's end, a hanging first rank of a ring, a ring without one who had left, a
 * stop while the membership came, a worker that hung in training steps that were ended early, a leader that died in
 * traffic too near the run's end, ids asked for of a ring that never was. */
static const uint64_t once_wrong[] = { 28, 2138, 30324, 51067, 51374, 51667, 51777, 52601, 53400, 54931, 57418, 60719,
	61809, 74059, 82498, 82725, 82862, 85891, 103444 };

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && strcmp(argv[1], "--seed") == 0)
		return play(strtoull(argv[2], NULL, 10), true);
	bool first = argc > 1 && strcmp(argv[1], "--first") == 0;
	argc -= first;
	argv += first;
	uint64_t from = argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
		 count = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000, seed = from;
	int bad = 0, enough = first ? 1 : 5;
	for (size_t i = 0; i < sizeof once_wrong / sizeof *once_wrong; i++)
		bad += play(once_wrong[i], false);
	for (; seed < from + count && bad < enough; seed++)
		bad += play(seed, false);
	printf("%llu schedules, %d wrong\n", (unsigned long long)(seed - from), bad);
	return bad != 0;
}
