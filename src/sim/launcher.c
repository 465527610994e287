/* launcher.c - start the ranks of a simulation with mpirun, and wait for their end */
#include "sim/command.h"

#include "coord/deadlines.h"
#include "util/child.h"
#include "util/env.h"
#include "util/text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Words that Open MPI 4 and 5 both take. The supervisors talk through shared memory, and let each other run: there are
 * more of them than CPUs. A rank that is killed must not end the others. */
static const char *const mpirun_words[] = { "mpirun", "--oversubscribe", "--bind-to", "none", "--enable-recovery",
	"--mca", "pml", "ob1", "--mca", "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none",
	"--mca", "coll_hcoll_enable", "0", "--mca", "mpi_yield_when_idle", "1" };
#define MPIRUN_WORDS (sizeof mpirun_words / sizeof *mpirun_words)

enum {
	LINGER_S = 30,         /* of mpirun, when rank 0 has ended */
	START_S = 60,          /* for the first rank to begin ... */
	RANKS_STARTED_IN_S = 4 /* ... and a second more for so many ranks */
};

/* Open MPI refuses root without these variables, and must not mistake an outer job for its own. */
static void prepare_environment(const struct muster_sim_launcher *launcher)
{
	static const char *const settings[][2] = {
		{ "OMPI_ALLOW_RUN_AS_ROOT", "1" },
		{ "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1" },
		/* Open MPI 4: all on this machine, so that no ssh is needed; nothing but the ranks' own words; and the
		 * ranks have the time that Slurm would give them when mpirun is told to end. Open MPI 5 needs none of
		 * the three, and ignores them. */
		{ "OMPI_MCA_plm", "isolated" },
		{ "OMPI_MCA_orte_execute_quiet", "1" },
		{ "OMPI_MCA_odls_base_sigkill_timeout", "10" },
	};
	muster_env_unset_if(muster_env_is_of_job);
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		setenv(settings[i][0], settings[i][1], 1);
	/* mpirun gives every rank a terminal, whatever its own output is: only this process knows where rank 0's output
	 * ends, unless the user does. */
	muster_env_set(MUSTER_ENV_TERMINAL, isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) ? "1" : "0", true);
	if (launcher->alone)
		setenv("PMI_RANK", "0", 1); /* for sim-rank, as a launcher would */
	else
		muster_env_set(MUSTER_ENV_SIM_STDOUT,
			muster_arena_printf(launcher->arena, "/proc/%ld/fd/%d", (long)getpid(), STDOUT_FILENO), false);
}

/* Rank 0 opens our output by its name (rank.c). In a file, its writes and those through our descriptor must not
 * overwrite each other. Returns the descriptor's flags before; -1: it is no file. */
static int append_begin(void)
{
	struct stat status;
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	if (flags < 0 || fstat(STDOUT_FILENO, &status) < 0 || !S_ISREG(status.st_mode))
		return -1;
	fcntl(STDOUT_FILENO, F_SETFL, flags | O_APPEND);
	return flags;
}

/* What is printed later comes behind. */
static void append_end(int flags)
{
	if (flags < 0)
		return;
	lseek(STDOUT_FILENO, 0, SEEK_END);
	fcntl(STDOUT_FILENO, F_SETFL, flags);
}

/* In a process group of its own: a Ctrl-C at the terminal reaches it once, through us. */
static int start(const char *const *argv, const sigset_t *mask, pid_t *ret, struct muster_error *err)
{
	const struct muster_child how = {
		.argv = argv,
		.blocked = mask,
		.descriptors = { -1, STDOUT_FILENO, STDERR_FILENO },
		.descriptor_count = 3,
		.flags = MUSTER_CHILD_GROUP | MUSTER_CHILD_AWAITED,
	};
	if (muster_child_start(&how, ret, err) == 0)
		return 0;
	if (err->code == MUSTER_ENOTSUPPORTED)
		muster_fail(err, MUSTER_EIO, "mpirun is not in PATH: install Open MPI (package openmpi-bin)");
	return -1;
}

/* The number that rank 0's sim-rank has left; -1: none yet. */
static int noted(const struct muster_sim_launcher *launcher, const char *name)
{
	char text[32];
	long number = 0;
	const char *path = muster_arena_printf(launcher->arena, "%s/%s", launcher->directory, name);
	if (muster_read_line(path, text, sizeof text, NULL) < 0 ||
		muster_parse_int(text, 0, INT_MAX, &number, path, NULL) < 0)
		return -1;
	return (int)number;
}

/* Ask for the end by the signal that came: rank 0 makes the report, which names the signal, and Open MPI 5 would leave
 * it only a quarter of a second for that. */
static void ask_to_end(const struct muster_sim_launcher *launcher, pid_t pid, int number)
{
	int rank_0 = noted(launcher, MUSTER_SIM_RANK_0);
	if (rank_0 > 0 && noted(launcher, MUSTER_SIM_EXIT) < 0)
		kill(rank_0, number);
	else
		kill(pid, SIGTERM);
}

struct waiting {
	int stop;         /* the signal that asked for the end; 0 */
	int status;       /* of the launcher, as waitpid(2) gives it */
	int start_s;      /* how long a first rank may take to begin */
	bool never_began; /* no rank has begun in time */
};

/* Wait for the launcher's end. When told to stop a second time it is killed. mpirun may hang when ranks die: once rank
 * 0 has ended it is not waited for any longer than the others need; and it may wait for ever for ranks that it cannot
 * start. */
static struct waiting wait_for(const struct muster_sim_launcher *launcher, pid_t pid, int start_s)
{
	const struct timespec second = { .tv_sec = 1 };
	struct waiting w = { .start_s = start_s };
	for (int seconds = 0, lingers = 0; !muster_child_ended(pid, 0, &w.status);) {
		int number = sigtimedwait(launcher->signals, NULL, &second);
		if (number == SIGCHLD)
			continue;
		if (number > 0 && w.stop)
			kill(pid, SIGKILL);
		else if (number > 0)
			ask_to_end(launcher, pid, number);
		else if (noted(launcher, MUSTER_SIM_EXIT) >= 0)
			lingers++;
		else
			seconds++;
		w.stop = number > 0 ? number : w.stop;
		w.never_began = seconds >= start_s && noted(launcher, MUSTER_SIM_RANK_0) < 0;
		if (lingers >= LINGER_S || w.never_began)
			kill(pid, SIGKILL);
	}
	return w;
}

static int failed(const struct muster_sim_launcher *launcher, const struct waiting *w, struct muster_error *err)
{
	const char *what = launcher->alone ? "sim-rank" : "mpirun";
	if (w->never_began)
		return muster_fail(err, MUSTER_EIO,
			"%s had not started rank 0 after %d s, and was killed: are the limits of this shell (ulimit "
			"-a) "
			"too low for %zu ranks?",
			what, w->start_s, launcher->ranks);
	if (WIFSIGNALED(w->status))
		return muster_fail(err, MUSTER_EIO, "%s was killed by signal %d before rank 0 had a verdict", what,
			WTERMSIG(w->status));
	return muster_fail(
		err, MUSTER_EIO, "%s ended with code %d before rank 0 had a verdict", what, WEXITSTATUS(w->status));
}

int muster_sim_launcher_run(const struct muster_sim_launcher *launcher, const char *const *command, size_t words,
	int *ret_signal, struct muster_error *err)
{
	const char **argv = muster_arena_alloc(launcher->arena, (MPIRUN_WORDS + words + 3) * sizeof *argv);
	size_t n = 0;
	pid_t pid = 0;
	if (!launcher->alone) {
		for (; n < MPIRUN_WORDS; n++)
			argv[n] = mpirun_words[n];
		argv[n++] = "-np";
		argv[n++] = muster_arena_printf(launcher->arena, "%zu", launcher->ranks);
	}
	memcpy(argv + n, command, words * sizeof *argv);
	prepare_environment(launcher);
	int flags = append_begin();
	int rc = start(argv, launcher->blocked, &pid, err);
	struct waiting w = { 0 };
	if (rc == 0)
		w = wait_for(launcher, pid,
			(int)((START_S + (double)launcher->ranks / RANKS_STARTED_IN_S) * muster_deadlines_scale(true)));
	append_end(flags);
	if (rc < 0)
		return -1;
	int code = noted(launcher, MUSTER_SIM_EXIT);
	*ret_signal = code < 0 ? w.stop : 0; /* a run that was asked to end has ended without error */
	if (code >= 0 || w.stop)
		return code < 0 ? 0 : code;
	return failed(launcher, &w, err);
}
