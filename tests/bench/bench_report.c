/* bench_report.c - how long it takes to read, judge and write a report, and how that grows with the ranks
 *
 * bench_report RANKS...: for each number of ranks, one process makes a report and another one, bound to a single CPU,
 * is timed with it. With several numbers the cost per rank of each is compared with the first one's.
 */
#include "muster/report.h"

#include "util/text.h"
#include "synthetic_run.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct muster_allreduce_timing {
	double read_s, judge_s, write_s, wall_s;
	double peak_mib, text_mib;
	size_t samples, findings;
};

static int make_report(const char *path, int ranks, struct muster_error *err)
{
	struct muster_run run;
	synthetic_run(&run, ranks);
	struct muster_report report = { .run = &run, .sku = "Standard_ND96asr_v4", .verdict = MUSTER_INCONCLUSIVE };
	int rc = muster_report_write_json(&report, path, err);
	muster_run_done(&run);
	return rc;
}

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t count_samples(const struct muster_run *run)
{
	size_t count = run->job.samples.count;
	for (size_t i = 0; i < run->node_count; i++) {
		count += run->nodes[i].samples.count;
		for (size_t j = 0; j < run->nodes[i].rank_count; j++)
			count += run->nodes[i].ranks[j].samples.count;
	}
	return count;
}

static int time_report(
	const char *path, const char *written, struct muster_allreduce_timing *ret, struct muster_error *err)
{
	struct muster_expect expect;
	struct muster_run run;
	struct muster_report report;
	struct stat status;
	if (muster_expect_load(MUSTER_SOURCE_DIR "/configs", "Standard_ND96asr_v4", NULL, &expect, err) < 0)
		return -1;
	double wall = muster_now_ms(), start = cpu_s();
	if (muster_report_read(path, &run, err) < 0)
		return -1;
	double read_done = cpu_s();
	muster_evaluate(&run, &expect, false, &report);
	double judged = cpu_s();
	if (muster_report_write_json(&report, written, err) < 0)
		return -1;
	double done = cpu_s();
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	*ret = (struct muster_allreduce_timing){ .read_s = read_done - start,
		.judge_s = judged - read_done,
		.write_s = done - judged,
		.wall_s = (muster_now_ms() - wall) / 1e3,
		.peak_mib = (double)usage.ru_maxrss / 1024,
		.text_mib = stat(path, &status) == 0 ? (double)status.st_size / 1048576 : 0,
		.samples = count_samples(&run),
		.findings = report.finding_count };
	muster_report_done(&report);
	muster_run_done(&run);
	muster_expect_done(&expect);
	return 0;
}

static int one_cpu(struct muster_error *err)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	int cpu = sched_getcpu();
	CPU_SET((size_t)(cpu < 0 ? 0 : cpu), &set);
	return sched_setaffinity(0, sizeof set, &set) == 0
		       ? 0
		       : muster_fail(err, MUSTER_EIO, "sched_setaffinity: %s", strerror(errno));
}

/* Run one step in a process of its own, so that its memory is its own too. */
static int in_child(int ranks, const char *path, const char *written, struct muster_allreduce_timing *ret)
{
	int ends[2] = { -1, -1 };
	if (ret && pipe(ends) < 0)
		return -1;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		struct muster_error err = { 0 };
		struct muster_allreduce_timing timing = { 0 };
		int rc = !ret                ? make_report(path, ranks, &err)
			 : one_cpu(&err) < 0 ? -1
					     : time_report(path, written, &timing, &err);
		if (rc == 0 && ret && write(ends[1], &timing, sizeof timing) != (ssize_t)sizeof timing)
			rc = muster_fail(&err, MUSTER_EIO, "pipe: %s", strerror(errno));
		if (rc < 0)
			fprintf(stderr, "bench_report: %s\n", err.text);
		_exit(rc == 0 ? 0 : 1);
	}
	int status = 0, rc = child < 0 ? -1 : 0;
	if (ret) {
		close(ends[1]);
		if (rc == 0 && read(ends[0], ret, sizeof *ret) != (ssize_t)sizeof *ret)
			rc = -1;
		close(ends[0]);
	}
	if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
		rc = -1;
	return rc;
}

static int bench(const char *directory, int ranks, double *first_us)
{
	struct muster_allreduce_timing t;
	char *path = muster_asprintf("%s/in.json", directory), *written = muster_asprintf("%s/out.json", directory);
	int rc = in_child(ranks, path, NULL, NULL);
	if (rc == 0)
		rc = in_child(ranks, path, written, &t);
	unlink(path);
	unlink(written);
	free(path);
	free(written);
	if (rc < 0)
		return -1;
	double cpu = t.read_s + t.judge_s + t.write_s, us = cpu / ranks * 1e6;
	printf("%7d ranks, %9zu samples, %6.0f MiB of JSON, %zu findings: read %.2f + judge %.2f + write %.2f = %.2f s "
	       "of "
	       "CPU (%.2f s wall), peak %.0f MiB, %.1f us a rank",
		ranks, t.samples, t.text_mib, t.findings, t.read_s, t.judge_s, t.write_s, cpu, t.wall_s, t.peak_mib,
		us);
	if (*first_us > 0)
		printf(", %.2f times the first", us / *first_us);
	else
		*first_us = us;
	putchar('\n');
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: bench_report RANKS...\n", stderr);
		return 2;
	}
	const char *base = getenv("TMPDIR");
	char *directory = muster_asprintf("%s/muster-bench-XXXXXX", base ? base : "/tmp");
	double first_us = 0;
	if (!mkdtemp(directory)) {
		fprintf(stderr, "bench_report: %s: %s\n", directory, strerror(errno));
		free(directory);
		return 1;
	}
	int rc = 0;
	for (int i = 1; i < argc && rc == 0; i++) {
		struct muster_error err;
		long ranks;
		if (muster_parse_int(argv[i], 1, 1 << 22, &ranks, "RANKS", &err) < 0) {
			fprintf(stderr, "bench_report: %s\n", err.text);
			rc = -1;
		} else {
			rc = bench(directory, (int)ranks, &first_us);
		}
	}
	rmdir(directory);
	free(directory);
	return rc == 0 ? 0 : 1;
}
