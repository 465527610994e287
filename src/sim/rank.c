/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - be one rank of a simulated job
 *
 * The process that mpirun starts, muster-sim sim-rank, in the order of its steps:
 *
 *   1. Read cluster.json, and find this process's rank in the variables of the launcher.
 *   2. Set the variables that srun would set for the rank on its simulated node (set_slurm), and those by which muster
 *      finds the simulated node (set_muster).
 *   3. On rank 0: print into the output of `muster sim` itself, and leave the own pid in the file rank-0, by which
 *      `muster sim` knows that the job has begun and where signals go.
 *   4. Run the command, and pass signals on to it.
 *   5. On rank 0: leave the command's exit code in the file exit, which becomes that of `muster sim`.
 */
#include "sim/command.h"

#include "util/child.h"
#include "util/file.h"
#include "util/text.h"
#include "muster/arena.h"
#include "util/env.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The rank of this process, from the first of these variables that is set: of Open MPI, PMIx, PMI or Slurm. With
 * --alone launch.c itself sets PMI_RANK. */
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

#define NUMBER(number) muster_arena_printf(arena, "%zu", (size_t)(number))

/* What srun sets for a task, on every name that it goes by. Masks are listed for all ranks of the node, as srun's
 * mask_cpu takes them: "0xffffff,0xffffff000000". OMPI_MCA_orte_num_nodes is not Slurm's but Open MPI's word for the
 * nodes. */
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
	const struct {
		const char *value, *names[3];
	} settings[] = {
		{ "1", { "SLURM_JOB_ID", "SLURM_JOBID" } },
		{ "0", { "SLURM_STEP_ID" } },
		{ NUMBER(tasks), { "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_NUM_TASKS" } },
		{ NUMBER(nodes), { "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_STEP_NUM_NODES" } },
		{ NUMBER(nodes), { "OMPI_MCA_orte_num_nodes" } },
		{ NUMBER(per_node), { "SLURM_NTASKS_PER_NODE", "SLURM_GPUS_ON_NODE" } },
		{ NUMBER(index), { "SLURM_PROCID" } },
		{ NUMBER(rank->local_rank), { "SLURM_LOCALID" } },
		{ NUMBER(rank->node), { "SLURM_NODEID" } },
		{ muster_arena_printf(arena, nodes == 1 ? "%zu" : "%zu(x%zu)", per_node, nodes),
			{ "SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE" } },
		{ nodes == 1 ? cluster->nodes[0].name : muster_arena_printf(arena, "sim-[1-%zu]", nodes),
			{ "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_STEP_NODELIST" } },
		{ cluster->nodes[rank->node].name, { "SLURMD_NODENAME" } },
		{ muster_arena_printf(arena, "quiet,mask_cpu:%s", masks), { "SLURM_CPU_BIND" } },
		{ "quiet", { "SLURM_CPU_BIND_VERBOSE" } },
		{ "mask_cpu:", { "SLURM_CPU_BIND_TYPE" } },
		{ masks, { "SLURM_CPU_BIND_LIST" } },
	};
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		for (size_t n = 0; n < 3 && settings[i].names[n]; n++)
			setenv(settings[i].names[n], settings[i].value, 1);
}

/* Run the command to its end; *ret is its wait status. The command is killed when this process ends. It has a process
 * group of its own, so a signal to the group of this process does not reach it: this process passes the signal on, and
 * so the command gets it once. -1 with err when the command could not be started. */
static int run(char *const *command, int *ret, struct muster_error *err)
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

/* For `muster sim`: a number in a file of this name. */
static int note(const struct muster_sim_cluster *cluster, const char *name, int number, struct muster_error *err)
{
	struct muster_file file;
	if (muster_file_open(&file, muster_arena_printf(cluster->arena, "%s/%s", cluster->directory, name), err) < 0)
		return -1;
	fprintf(file.out, "%d\n", number);
	return muster_file_commit(&file, err);
}

/* Print where `muster sim` does, not into mpirun's pipe: Open MPI 5 may move a part of what comes there to stderr. A
 * socket cannot be opened by its name; the pipe stays then. */
static void take_stdout(void)
{
	const char *path = muster_env(MUSTER_ENV_SIM_STDOUT);
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	dup2(fd, STDOUT_FILENO);
	close(fd);
}

/* The supervisor starts its worker through sim-worker, so that only the worker finds stand-ins: the supervisor's MPI
 * runs on the machine that is really there. It learns that the run is simulated, which lets tests shorten its
 * deadlines, and reads the boot id of its simulated node. path: of cluster.json. */
static void set_muster(const struct muster_sim_cluster *cluster, const char *path, const char *directory, size_t rank)
{
	const char *wrapper = muster_env(MUSTER_ENV_SIM_WRAPPER);
	wrapper = wrapper ? wrapper : "";
	muster_env_set(MUSTER_ENV_SIM_CLUSTER, path, false);
	muster_env_set(MUSTER_ENV_ROOT, cluster->nodes[cluster->ranks[rank].node].directory, false);
	muster_env_set(MUSTER_ENV_WORKER_WRAPPER,
		muster_arena_printf(cluster->arena, "%s %s/muster-sim sim-worker %s %zu %s", wrapper, directory,
			directory, rank, wrapper),
		false);
}

int muster_sim_rank_run(const char *directory, char *const *command, int *ret_status, struct muster_error *err)
{
	struct muster_sim_cluster cluster = { 0 };
	size_t rank = 0;
	int status = 0;
	char *path = muster_asprintf("%s/cluster.json", directory);
	int rc = muster_sim_cluster_read(path, &cluster, err);
	if (rc == 0)
		rc = find_rank(&cluster, &rank, err);
	if (rc == 0) {
		set_slurm(&cluster, rank);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* mpirun may be killed when it hangs */
		set_muster(&cluster, path, directory, rank);
	}
	if (rc == 0 && rank == 0) {
		take_stdout();
		rc = note(&cluster, MUSTER_SIM_RANK_0, getpid(), err);
	}
	if (rc == 0)
		rc = run(command, &status, err);
	if (rc == 0 && WIFEXITED(status) && rank == 0)
		rc = note(&cluster, MUSTER_SIM_EXIT, WEXITSTATUS(status), err);
	muster_sim_cluster_done(&cluster);
	free(path);
	if (rc == 0)
		*ret_status = status;
	return rc;
}
