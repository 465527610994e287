/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - `muster node`: measure this node alone, all of its GPUs, without MPI, Slurm or any other launcher
 *
 * For a prolog, a health check and a golden image. This process counts the GPUs, becomes one rank for each, and goes
 * the way of `muster run`; nothing of a job that happens to be here is taken over but the node's name.
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

/* What a launcher or a job has left in the environment is not about us. Slurm's name for the node is. */
static bool is_of_job(const char *entry, size_t length)
{
	return muster_env_is_of_job(entry, length) || strncmp(entry, "OMPI_", 5) == 0;
}

/* Entries of CUDA_VISIBLE_DEVICES, which hides the others from CUDA; -1 when it is not set. */
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

/* Number of GPUs for ranks; 1 when unknown, so that one rank can report the cause. */
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
