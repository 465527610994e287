/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - one process of a job, from its start to its exit
 *
 * worker started → transport (MPI_Init) → supervisor.c → worker ended → exit.
 *
 * Each way out of the process, and which code ends it:
 *
 *   MPI_Init returns an error or exits      end_without_mpi, in the main thread or in an atexit handler
 *   MPI_Init does not return, or a signal   end_without_mpi, in the thread of muster_signals_watch
 *   a signal later                          the run ends early (event_loop.c), then leave
 *   a second signal, after more than 1 s    on_signal in signals.c, at once
 *   the end of the run                      leave; MPI_Finalize may hang: SIGALRM
 *   a hang anywhere                         leave_now, by SIGALRM, with the exit code of the last call of limit
 *
 * All of these end with _exit: exit handlers of MPI and of drivers may wait for ranks or devices that are gone.
 */
#include "coord/process.h"

#include "coord/signals.h"
#include "coord/worker_process.h"
#include "muster/report.h"
#include "system/start.h"
#include "transport/transport_socket.h"
#include "util/env.h"
#include "util/leaks.h"
#include "util/log.h"
#include "util/text.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct process {
	struct muster_supervisor supervisor; /* rank and ranks: before MPI_Init as the launcher's environment says */
	struct muster_supervisor_host host;
	struct muster_worker_process worker;
	struct muster_finalize finalize;
	char boot_id[64];
};

/* ---- the limit of the process ---- */

static volatile sig_atomic_t limit_exit_code;
static char limit_message[128]; /* "": none */

static void leave_now(int signal_number)
{
	(void)signal_number;
	ssize_t said = write(STDERR_FILENO, limit_message, strlen(limit_message));
	(void)said;
	_exit(limit_exit_code);
}

/* End the process with this code after so long, whatever it does then. The last call counts. A setting of 0 would stop
 * the timer, so that 1 ms is the least. */
static void leave_in(double milliseconds, int exit_code)
{
	long whole = milliseconds < 1 ? 1 : (long)milliseconds;
	struct sigaction action = { .sa_handler = leave_now };
	struct itimerval timer = { .it_value = { .tv_sec = whole / 1000, .tv_usec = whole % 1000 * 1000 } };
	limit_exit_code = exit_code;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void limit(const struct muster_supervisor *s, double until_ms, int exit_code)
{
	snprintf(limit_message, sizeof limit_message,
		"muster: rank %d: still running long after the run's deadline: exiting\n", s->rank);
	leave_in(until_ms - muster_now_ms(), exit_code);
}

/* ---- facts about this process ---- */

/* RFC 3339, UTC. */
static void now_text(char *out, size_t size)
{
	struct tm parts;
	time_t now = time(NULL);
	gmtime_r(&now, &parts);
	strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

/* Slurm's name for the node where there is one: host names of a site need not be its node names. */
static const char *node_name(struct muster_arena *arena)
{
	const char *slurm = getenv("SLURMD_NODENAME");
	char name[256] = "unknown";
	if (slurm && *slurm)
		return muster_arena_string(arena, slurm);
	gethostname(name, sizeof name - 1);
	return muster_arena_string(arena, name);
}

/* Of a simulated node too; "" when the kernel does not tell it. */
static void read_boot_id(struct process *p)
{
	const char *root = muster_env(MUSTER_ENV_ROOT);
	char *path = muster_asprintf("%s/proc/sys/kernel/random/boot_id", root ? root : "");
	(void)muster_read_line(path, p->boot_id, sizeof p->boot_id, NULL);
	p->supervisor.boot_id = p->boot_id;
	free(path);
}

/* ---- the spool ---- */

/* A path that means the same wherever it is read; names stay as they are. */
static const char *absolute(const char *name, bool path)
{
	size_t length = name ? strlen(name) : 0;
	if (!name || (!path && !strchr(name, '/') && (length < 5 || strcmp(name + length - 5, ".json") != 0)))
		return name;
	char *whole = realpath(name, NULL); /* lives as long as the process */
	return whole ? whole : name;
}

/* A spool that cannot be opened cancels the run on rank 0; another rank goes on without. */
static void open_spool(struct process *p, const char *run_name)
{
	struct muster_supervisor *s = &p->supervisor;
	const struct muster_options *o = s->options;
	const char *nodes = muster_env_of_step("SLURM_STEP_NODELIST"), *started = getenv("OMPI_MCA_orte_num_nodes");
	const char *of_job = getenv("SLURM_JOB_NUM_NODES");
	struct muster_error err;
	if (!o->spool)
		return;
	p->finalize.run_name = run_name ? muster_strdup(run_name) : muster_spool_run_name(s->started);
	const struct muster_spool_header header = {
		.run = p->finalize.run_name,
		.job = getenv("SLURM_JOB_ID"),
		.rank = s->rank,
		.ranks = s->ranks,
		.node = s->node,
		/* mpirun may have started ranks on some nodes of the job only */
		.nodelist = nodes || (started && of_job && strcmp(started, of_job) != 0) ? nodes
											 : getenv("SLURM_JOB_NODELIST"),
		.started = s->started,
		.sku = absolute(o->sku, false),
		.overlay = absolute(o->overlay, true),
		.profile = muster_profile_names[o->profile],
		.strict = (int)o->strict,
		.beside_jobs = o->beside_jobs,
		.repeats = o->repeats,
		.measures = o->measures,
	};
	if (muster_spool_open(&s->spool, o->spool, &header, s->start_ms, &err) < 0)
		muster_log(MUSTER_LOG_ERROR, &(struct muster_log_place){ .node = s->node, .rank = s->rank },
			"--spool %s", err.text);
	s->worker.spool = s->spool;
}

/* ---- MPI ---- */

/* The run cannot begin: rank 0 reports that. why is malloc'd. */
static _Noreturn void end_without_mpi(struct muster_supervisor *s, char *why)
{
	int code = MUSTER_EXIT_INCONCLUSIVE;
	s->interrupted = why;
	muster_spool_end(s->spool, why);
	muster_spool_close(s->spool, (int)s->deadlines.spool);
	if (s->rank != 0)
		muster_log(MUSTER_LOG_ERROR, &(struct muster_log_place){ .node = s->node, .rank = s->rank }, "%s", why);
	else if ((code = muster_finalize_prepare(s)) == 0)
		code = muster_finalize_alone(s);
	fflush(NULL);
	_exit(code);
}

/* Runs in a thread of its own, while MPI_Init hangs in the main one. */
static void mpi_is_late(void *arg, int signal_number)
{
	struct muster_supervisor *s = arg;
	double seconds = (muster_now_ms() - s->start_ms) / 1e3;
	end_without_mpi(s, signal_number
				   ? muster_asprintf("rank %d received SIG%s after %.1f s, before MPI_Init returned",
					     s->rank, sigabbrev_np(signal_number), seconds)
				   : muster_asprintf("MPI_Init did not return within %.0f s: a rank of this job "
						     "never started, has died, or MPI failed on it",
					     seconds));
}

/* MPI_Init does not return when it fails: MPI calls exit. */
static struct muster_supervisor *in_mpi_init; /* for atexit, whose functions have no argument */

static void mpi_has_failed(void)
{
	struct muster_supervisor *s = in_mpi_init;
	if (!s)
		return;
	in_mpi_init = NULL;
	muster_signals_watch_end();
	end_without_mpi(s, muster_asprintf("MPI_Init failed on rank %d", s->rank));
}

/* A launcher that MPI does not know, or a wrong --mpi, starts many jobs of one rank: each of them would write the same
 * report. Only the first writes; the others measure and evaluate too, so that none ends before it, and exit with their
 * own exit code. */
static void check_single_rank(struct process *p)
{
	int launch_size = p->supervisor.ranks, nowhere;
	p->finalize.silent = p->supervisor.rank > 0;
	if (!p->finalize.silent && launch_size > 1)
		muster_log(MUSTER_LOG_WARN, NULL,
			"the launcher started %d processes, but MPI sees only one: this is a job of one rank",
			launch_size);
	if (p->finalize.silent && (nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)) >= 0) {
		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
		close(nowhere);
	}
}

/* MPI_Init takes seconds in a large job, and nothing else is printed meanwhile. */
static void say_start(const struct muster_supervisor *s)
{
	struct muster_progress progress;
	char text[64];
	if (s->rank != 0 || s->ranks < 2)
		return;
	snprintf(text, sizeof text, "starting MPI: %d ranks", s->ranks);
	muster_progress_init(&progress, s->clock, s->options, s->ranks);
	muster_progress_say(&progress, text);
	muster_progress_end(&progress);
}

/* The transport of this rank: MPI's, or without a module a socket transport of one rank. -1 with err when MPI says why
 * it failed. When it does not return, or calls exit, this function does not return either. */
static int start_mpi(struct muster_supervisor *s, const struct muster_process_job *job, struct muster_error *err)
{
	struct muster_error warning;
	int argc = job->argc;
	char **argv = job->argv;
	if (!job->mpi)
		return muster_transport_socket_start(1, s->clock, &s->transport, err);
	say_start(s);
	muster_signals_watch(s->start_ms + s->options->deadline_s * 1e3 * s->deadlines.start_share, mpi_is_late, s);
	in_mpi_init = s;
	atexit(mpi_has_failed);
	int failed = job->mpi->open(s->clock, &argc, &argv, &s->transport, &warning, err);
	in_mpi_init = NULL;
	muster_signals_watch_end();
	if (!failed && *warning.text)
		muster_log(MUSTER_LOG_WARN, NULL, "%s", warning.text);
	return failed;
}

/* ---- start and exit ---- */

static int received_signal(const struct muster_supervisor *s, double *ret_ms)
{
	(void)s;
	return muster_signals_received(ret_ms);
}

static _Noreturn void leave(struct process *p, int code)
{
	struct muster_supervisor *s = &p->supervisor;
	const struct muster_deadlines *d = &s->deadlines;
	muster_supervisor_limit(s, code); /* the exit code holds, even if something hangs from here on */
	fflush(stdout);
	muster_log_trace(s->rank, muster_now_ms() - s->start_ms, "ending the worker");
	muster_worker_client_done(&s->worker, muster_leaks_grace_ms());
	muster_worker_process_done(&p->worker);
	const char *trouble = muster_spool_trouble(s->spool);
	if (trouble)
		muster_log(MUSTER_LOG_WARN, &(struct muster_log_place){ .node = s->node, .rank = s->rank },
			"--spool: %s", trouble);
	muster_spool_close(s->spool, (int)s->deadlines.spool);
	muster_log_trace(s->rank, muster_now_ms() - s->start_ms, "leaving MPI");
	/* MPI_Finalize does not return when a rank is missing */
	double left_ms = s->end_ms + d->leave - muster_now_ms();
	double finalize_ms = fmax(fmin(left_ms, d->finalize), d->finalize_least);
	double grace_ms = fmax(finalize_ms / 2, d->finalize_least);
	limit_message[0] = '\0';
	leave_in(d->finalize_least + finalize_ms, code);
	fflush(NULL);
	muster_leaks_check();
	muster_transport_close(s->transport, (int)grace_ms);
	_exit(code);
}

_Noreturn void muster_process_run(const struct muster_options *options, const struct muster_process_job *job)
{
	struct process *p = muster_calloc(1, sizeof *p);
	struct muster_supervisor *s = &p->supervisor;
	struct muster_error err;
	signal(SIGPIPE, SIG_IGN);
	muster_signals_listen();
	p->host = (struct muster_supervisor_host){
		.arg = &p->finalize,
		.signal = received_signal,
		.limit = limit,
		.prepare = muster_finalize_prepare,
		.too_slow = muster_finalize_too_slow,
		.finalize = muster_finalize_run,
		.in_job = !job->transport,
	};
	s->options = options;
	s->host = &p->host;
	s->clock = &muster_clock_monotonic;
	s->transport = job->transport;
	s->rank = job->transport ? job->transport->rank : muster_launch_rank();
	s->ranks = job->transport ? job->transport->size : muster_launch_size();
	muster_deadlines_init(&s->deadlines, muster_deadlines_scale(muster_env(MUSTER_ENV_SIM_CLUSTER) != NULL));
	muster_supervisor_init(s);
	now_text(s->started, sizeof s->started);
	s->start_ms = muster_now_ms();
	s->end_ms = s->start_ms + options->deadline_s * 1e3;
	s->node = node_name(s->arena);
	read_boot_id(p);
	muster_log_who(s->node, s->rank);
	open_spool(p, job->run_name);

	/* the driver's slow start runs in parallel with MPI's */
	muster_worker_process_init(&p->worker, options->program);
	s->worker.ops = &muster_worker_process_ops;
	s->worker.worker = &p->worker;
	muster_supervisor_start_worker(s);
	const char *root = muster_env(MUSTER_ENV_ROOT);
	if (!s->no_worker && muster_driver_may_be_cold(root ? root : ""))
		muster_probe_runner_cold(s);
	if (!s->transport && start_mpi(s, job, &err) < 0)
		end_without_mpi(s, muster_strdup(err.text));
	if (s->transport->size == 1)
		check_single_rank(p);
	s->ranks = s->transport->size;
	muster_supervisor_limit(s, MUSTER_EXIT_INCONCLUSIVE);
	muster_spool_place(s->spool, s->transport->rank, s->transport->size);
	leave(p, muster_supervisor_run(s, muster_now_ms()));
}
