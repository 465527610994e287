/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - `muster node`: measure this node alone, all of its GPUs, without MPI, Slurm or any other launcher
 *
 * For a prolog, a health check and the check of an image: no MPI, no Slurm and no other launcher. In this order:
 *
 *    1. the options are read, with the profile quick as the default
 *    2. the variables that a job or its launcher set are removed from the environment, so that the run does not take
 *       itself for a part of that job; Slurm's name for the node stays
 *    3. a worker process counts the GPUs, because the supervisor loads no vendor library (count_gpus)
 *    4. this process forks one rank for each GPU, joined by socket pairs (transport_socket.h)
 *    5. each rank goes the way of a rank of `muster run` (muster_process_run), and does not return
 */
#include "cli/cli.h"
#include "cli/run_options.h"
#include "muster/arena.h"
#include "muster/report.h"
#include "coord/process.h"
#include "coord/worker_process.h"
#include "util/leaks.h"
#include "util/log.h"
#include "transport/transport_socket.h"
#include "util/env.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COUNT_DEADLINE_MS = 10000, COUNT_POLL_MS = 20, RANKS_MAX = 256 };

/* Whether an entry of the environment belongs to a job that this process happens to be in. The name of the node in
 * Slurm is no such entry. */
static bool is_of_job(const char *entry, size_t length)
{
	return muster_env_is_of_job(entry, length) || strncmp(entry, "OMPI_", 5) == 0;
}

/* The number of entries of CUDA_VISIBLE_DEVICES: CUDA shows no other GPU to a program. 0 for an empty value, -1 when
 * the variable is not set. What the entries are (indices, UUIDs) does not matter here. */
static int visible_count(void)
{
	const char *text = getenv("CUDA_VISIBLE_DEVICES");
	int count = 0;
	if (!text)
		return -1;
	for (const char *at = text; *at; at += *at == ',') {
		count++;
		at += strcspn(at, ",");
	}
	return count;
}

/* The number of ranks, from 1 to RANKS_MAX: one for each GPU that the worker finds and CUDA_VISIBLE_DEVICES does not
 * hide. When the worker cannot start, crashes, or passes its deadline, the entries of that variable count, and without
 * the variable there is one rank, so that a rank can report the cause. The worker is ended here, before the ranks start
 * workers of their own. */
static int count_gpus(const char *program)
{
	struct muster_worker_process process;
	struct muster_worker_client client = { .ops = &muster_worker_process_ops, .worker = &process, .rank = -1 };
	struct muster_deadlines deadlines;
	struct muster_error err;
	int count = 0, visible = visible_count();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* if the parent ignores SIGCHLD, waitpid fails with ECHILD */
	muster_deadlines_init(&deadlines, muster_deadlines_scale(muster_env(MUSTER_ENV_SIM_CLUSTER) != NULL));
	muster_worker_process_init(&process, program);
	client.clock = &muster_clock_monotonic;
	client.deadlines = &deadlines;
	client.arena = muster_arena_new();
	if (muster_worker_client_start(&client, &err) == 0) {
		muster_worker_client_command(&client, "{\"do\":\"count\"}", COUNT_DEADLINE_MS);
		while (muster_worker_client_poll(&client) == MUSTER_WORKER_BUSY) {
			struct pollfd results = { .fd = client.ops->fd(client.worker), .events = POLLIN };
			poll(&results, 1, COUNT_POLL_MS);
		}
		count = client.answer.gpus;
	}
	muster_worker_client_done(&client, muster_leaks_grace_ms());
	muster_worker_process_done(&process);
	muster_arena_free(client.arena);
	if (visible >= 0 && (visible < count || count == 0))
		count = visible;
	return count < 1 ? 1 : count > RANKS_MAX ? RANKS_MAX : count;
}

int muster_cmd_node(int argc, char **argv)
{
	static struct muster_options options;
	struct muster_error err;
	int code;
	options = muster_node_defaults;
	if (muster_run_options_parse(argc, argv, "muster node [options]",
		    "Measures this node without a launcher, with one rank per GPU (of CUDA_VISIBLE_DEVICES, if "
		    "set).\nExit codes: 0 pass, 1 fail, 2 usage or configuration, 3 inconclusive.\n",
		    true, &options, &code))
		return code;
	if (options.profile == MUSTER_QUICK)
		options.hint = "The profile quick has no load on the GPUs and no test of their memory: --profile "
			       "standard has both.";
	muster_env_unset_if(is_of_job);
	/* made before the ranks are: without a launcher they have no other name in common */
	struct muster_process_job job = {
		.argc = argc,
		.argv = argv,
		.run_name = muster_asprintf("node %lld %ld", (long long)time(NULL), (long)getpid()),
	};
	if (muster_transport_socket_start(count_gpus(options.program), &muster_clock_monotonic, &job.transport, &err) <
		0) {
		muster_log(MUSTER_LOG_ERROR, NULL, "%s", err.text);
		return MUSTER_EXIT_INCONCLUSIVE;
	}
	muster_process_run(&options, &job);
}
