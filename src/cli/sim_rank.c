/* sim_rank.c - the subcommand sim-rank: be one rank of the simulated job
 *
 * Started by mpirun for every rank. Gives `muster run` the environment that srun would give it on its simulated node,
 * and runs it. It ends well whatever the run's exit code is, because mpirun would take anything else for a broken job;
 * rank 0's exit code is left in the simulation's directory, where `muster sim` finds it.
 */
#include "cli/cli.h"
#include "util/child.h"
#include "util/file.h"
#include "util/text.h"
#include "muster/report.h"
#include "sim/cluster.h"
#include "util/env.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* This process's rank, whoever started it. */
static int find_rank(const struct muster_sim_cluster *cluster, size_t *ret, struct muster_error *err)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID" };
	long rank = 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *text = getenv(names[i]);
		if (!text)
			continue;
		if (muster_parse_int(text, 0, (long)cluster->rank_count - 1, &rank, names[i], err) < 0)
			return -1;
		*ret = (size_t)rank;
		return 0;
	}
	return muster_fail(err, MUSTER_EUSAGE, "sim-rank must be started by mpirun or srun");
}

static void set(struct muster_arena *arena, const char *name, size_t number)
{
	setenv(name, muster_arena_printf(arena, "%zu", number), 1);
}

/* What srun sets for a task, on every name that it goes by. */
static void set_slurm(const struct muster_sim_cluster *cluster, size_t index)
{
	struct muster_arena *arena = cluster->arena;
	const struct muster_sim_rank *rank = &cluster->ranks[index];
	size_t nodes = cluster->node_count, tasks = cluster->rank_count, per_node = tasks / nodes;
	const char *masks = "";
	for (size_t i = 0; i < tasks; i++)
		if (cluster->ranks[i].node == rank->node)
			masks = muster_arena_printf(
				arena, "%s%s0x%s", masks, *masks ? "," : "", cluster->ranks[i].cpu_mask);
	const char *list = nodes == 1 ? cluster->nodes[0].name : muster_arena_printf(arena, "sim-[1-%zu]", nodes);
	const char *tasks_per_node = muster_arena_printf(arena, nodes == 1 ? "%zu" : "%zu(x%zu)", per_node, nodes);

	set(arena, "SLURM_JOB_ID", 1);
	set(arena, "SLURM_JOBID", 1);
	set(arena, "SLURM_STEP_ID", 0);
	set(arena, "SLURM_NTASKS", tasks);
	set(arena, "SLURM_NPROCS", tasks);
	set(arena, "SLURM_STEP_NUM_TASKS", tasks);
	set(arena, "SLURM_NNODES", nodes);
	set(arena, "SLURM_JOB_NUM_NODES", nodes);
	set(arena, "SLURM_STEP_NUM_NODES", nodes);
	set(arena, "SLURM_NTASKS_PER_NODE", per_node);
	set(arena, "SLURM_GPUS_ON_NODE", per_node);
	set(arena, "SLURM_PROCID", index);
	set(arena, "SLURM_LOCALID", (size_t)rank->local_rank);
	set(arena, "SLURM_NODEID", (size_t)rank->node);
	setenv("SLURM_TASKS_PER_NODE", tasks_per_node, 1);
	setenv("SLURM_STEP_TASKS_PER_NODE", tasks_per_node, 1);
	setenv("SLURM_JOB_NODELIST", list, 1);
	setenv("SLURM_NODELIST", list, 1);
	setenv("SLURM_STEP_NODELIST", list, 1);
	setenv("SLURMD_NODENAME", cluster->nodes[rank->node].name, 1);
	setenv("SLURM_CPU_BIND", muster_arena_printf(arena, "quiet,mask_cpu:%s", masks), 1);
	setenv("SLURM_CPU_BIND_VERBOSE", "quiet", 1);
	setenv("SLURM_CPU_BIND_TYPE", "mask_cpu:", 1);
	setenv("SLURM_CPU_BIND_LIST", masks, 1);
}

/* Run the command and return its wait status. It does not outlive us. A signal to all of us reaches it once: through
 * us.
 */
static int run(char **command, int *ret, struct muster_error *err)
{
	static const int passed_on[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 };
	sigset_t signals, before;
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
		sigaddset(&signals, passed_on[i]);
	sigprocmask(SIG_BLOCK, &signals, &before);
	const struct muster_child how = {
		.argv = (const char *const *)(uintptr_t)command,
		.blocked = &before,
		.flags = MUSTER_CHILD_GROUP | MUSTER_CHILD_BOUND,
	};
	pid_t pid;
	int rc = muster_child_start(&how, &pid, err);
	while (rc == 0 && !muster_child_ended(pid, 0, ret)) {
		int number = sigwaitinfo(&signals, NULL);
		if (number > 0 && number != SIGCHLD)
			kill(pid, number);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static int note_exit(const struct muster_sim_cluster *cluster, int code, struct muster_error *err)
{
	struct muster_file file;
	if (muster_file_open(&file, muster_arena_printf(cluster->arena, "%s/exit", cluster->directory), err) < 0)
		return -1;
	fprintf(file.out, "%d\n", code);
	return muster_file_commit(&file, err);
}

int muster_cmd_sim_rank(int argc, char **argv)
{
	struct muster_error err = { 0 };
	struct muster_sim_cluster cluster = { 0 };
	size_t rank = 0;
	int status = 0;

	if (argc < 4 || strcmp(argv[2], "--") != 0) {
		muster_fail(&err, MUSTER_EUSAGE, "usage: muster sim-rank DIRECTORY -- COMMAND...");
		return muster_cli_usage(&err);
	}
	char *path = muster_asprintf("%s/cluster.json", argv[1]);
	int rc = muster_sim_cluster_read(path, &cluster, &err);
	free(path);
	if (rc < 0 || find_rank(&cluster, &rank, &err) < 0)
		goto fail;
	set_slurm(&cluster, rank);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* mpirun may be killed when it hangs */
	const char *wrapper = muster_env(MUSTER_ENV_SIM_WRAPPER);
	wrapper = wrapper ? wrapper : "";
	muster_env_set(MUSTER_ENV_WORKER_WRAPPER,
		muster_arena_printf(
			cluster.arena, "%s %s/muster sim-worker %s %zu %s", wrapper, argv[1], argv[1], rank, wrapper),
		false);
	if (run(argv + 3, &status, &err) < 0)
		goto fail;
	if (WIFEXITED(status) && rank == 0 && note_exit(&cluster, WEXITSTATUS(status), &err) < 0)
		goto fail;
	muster_sim_cluster_done(&cluster);
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return 0;
fail:
	muster_sim_cluster_done(&cluster);
	return muster_cli_usage(&err);
}
