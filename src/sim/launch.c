/* launch.c - start a simulation: its files, its ranks under mpirun, its end
 *
 * scenario + hardware -> cluster -> files in a fresh directory -> mpirun of `muster run` on every simulated rank -> its
 * exit code.
 */
#include "sim/launch.h"

#include "util/child.h"
#include "util/text.h"
#include "muster/arena.h"
#include "sim/fs.h"
#include "util/env.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct simulation {
	const struct muster_sim_launch *launch;
	struct muster_sim_cluster cluster;
	const char *directory, *program; /* the simulation's own; NULL until they are made */
	sigset_t signals, mask;          /* those that are waited for; what was blocked before */
};

/* Words that Open MPI 4 and 5 both take. The supervisors talk through shared memory, and let each other run: there are
 * more of them than CPUs. A rank that is killed must not end the others. */
static const char *const mpirun_words[] = { "mpirun", "--oversubscribe", "--bind-to", "none", "--enable-recovery",
	"--mca", "pml", "ob1", "--mca", "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none",
	"--mca", "coll_hcoll_enable", "0", "--mca", "mpi_yield_when_idle", "1" };
#define MPIRUN_WORDS (sizeof mpirun_words / sizeof *mpirun_words)
enum { WRAPPER_WORDS_MAX = 32, LINGER_S = 30 };

/* The simulation's directory, as an absolute path in arena. The supervisors split a command line at blanks, so it has
 * none. */
static const char *make_directory(struct muster_arena *arena, struct muster_error *err)
{
	const char *base = getenv("TMPDIR");
	char path[PATH_MAX];
	if (!base || !*base)
		base = "/tmp";
	if (!realpath(base, path)) {
		muster_fail(err, MUSTER_EIO, "TMPDIR %s: %s", base, strerror(errno));
		return NULL;
	}
	if (strpbrk(path, " \t\n")) {
		muster_fail(err, MUSTER_EUSAGE, "TMPDIR must be a path without blanks, not \"%s\"", path);
		return NULL;
	}
	char *directory = muster_asprintf("%s/muster-sim-XXXXXX", path);
	const char *ret = mkdtemp(directory) ? muster_arena_string(arena, directory) : NULL;
	if (!ret)
		muster_fail(err, MUSTER_EIO, "mkdtemp %s: %s", directory, strerror(errno));
	free(directory);
	return ret;
}

/* The directory of --prepare, which must not be there yet. */
static const char *make_named_directory(const char *name, struct muster_arena *arena, struct muster_error *err)
{
	char path[PATH_MAX];
	if (mkdir(name, 0755) == 0 && realpath(name, path))
		return muster_arena_string(arena, path);
	muster_fail(err, MUSTER_EUSAGE, "--prepare %s: %s", name, strerror(errno));
	return NULL;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type, (void)where;
	remove(path); /* what cannot be removed stays; the directory then does too */
	return 0;
}

/* Open MPI refuses root without these variables, and must not mistake an outer job for its own. */
static void prepare_environment(void)
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

/* What `muster run` on rank 0 exited with, as sim-rank noted it. */
static int exit_code(const struct muster_sim_cluster *cluster, struct muster_error *err)
{
	char text[32];
	long code = 0;
	const char *path = muster_arena_printf(cluster->arena, "%s/exit", cluster->directory);
	if (muster_read_line(path, text, sizeof text, NULL) < 0 ||
		muster_parse_int(text, 0, 255, &code, path, NULL) < 0)
		return muster_fail(err, MUSTER_EIO, "rank 0 exited without a verdict");
	return (int)code;
}

/* Wait for mpirun, and pass on what tells us to stop: SIGTERM first, SIGKILL when told again. mpirun may hang when
 * ranks die; once rank 0 has ended it is not waited for any longer than the others need. Returns the signal, or 0. */
static int wait_for(pid_t pid, const struct simulation *s)
{
	const struct timespec second = { .tv_sec = 1 };
	int stop = 0, seconds = 0;
	while (!muster_child_ended(pid, 0, NULL)) {
		int number = sigtimedwait(&s->signals, NULL, &second);
		if (number == SIGCHLD)
			continue;
		if (number > 0) {
			kill(pid, stop ? SIGKILL : SIGTERM);
			stop = number;
		} else if (exit_code(&s->cluster, NULL) >= 0 && ++seconds == LINGER_S) {
			kill(pid, SIGKILL);
		}
	}
	return stop;
}

/* The words of $MUSTER_SIM_WRAPPER to `to`, which has room for WRAPPER_WORDS_MAX. Returns how many they are. */
static size_t wrapper_words(struct muster_arena *arena, const char **to)
{
	const char *wrapper = muster_env(MUSTER_ENV_SIM_WRAPPER), blanks[] = " \t";
	size_t count = 0;
	for (const char *at = wrapper ? wrapper : ""; count < WRAPPER_WORDS_MAX && *(at += strspn(at, blanks));
		count++) {
		to[count] = muster_arena_string_n(arena, at, strcspn(at, blanks));
		at += strlen(to[count]);
	}
	return count;
}

/* mpirun with a rank of the simulation in each process. */
static int run(const struct simulation *s, int *ret_signal, struct muster_error *err)
{
	const struct muster_sim_launch *o = s->launch;
	const struct muster_sim_cluster *cluster = &s->cluster;
	const char **argv = muster_arena_alloc(
		cluster->arena, (MPIRUN_WORDS + 2 * WRAPPER_WORDS_MAX + 16 + o->more_count) * sizeof *argv);
	size_t n = 0;
	pid_t pid = 0;
	if (!o->alone) {
		for (; n < MPIRUN_WORDS; n++)
			argv[n] = mpirun_words[n];
		argv[n++] = "-np";
		argv[n++] = muster_arena_printf(cluster->arena, "%zu", cluster->rank_count);
	}
	n += wrapper_words(cluster->arena, argv + n);
	argv[n++] = s->program;
	argv[n++] = "sim-rank";
	argv[n++] = cluster->directory;
	argv[n++] = "--";
	n += wrapper_words(cluster->arena, argv + n);
	argv[n++] = s->program;
	argv[n++] = o->alone ? "node" : "run";
	argv[n++] = "--sku";
	argv[n++] = cluster->sku;
	if (o->report) {
		argv[n++] = "--report";
		argv[n++] = o->report;
	}
	for (size_t i = 0; i < o->more_count; i++)
		argv[n++] = o->more[i];

	prepare_environment();
	if (o->alone)
		setenv("PMI_RANK", "0", 1); /* for sim-rank, as a launcher would */
	if (start(argv, &s->mask, &pid, err) < 0)
		return -1;
	*ret_signal = wait_for(pid, s);
	int code = exit_code(cluster, err);
	if (code >= 0)
		*ret_signal = 0; /* a run that was asked to end has ended without error */
	return *ret_signal ? 0 : code;
}

/* The files in a directory of their own, and a link to the program: the supervisors find it there, whatever blanks its
 * own path has. */
static int prepare(struct simulation *s, struct muster_error *err)
{
	const struct muster_sim_launch *o = s->launch;
	struct muster_arena *arena = s->cluster.arena;
	struct muster_sim_hardware hardware;
	if (muster_sim_hardware_read(o->hardware, o->scenario->sku, arena, &hardware, err) < 0)
		return -1;
	s->directory = o->prepare ? make_named_directory(o->prepare, arena, err) : make_directory(arena, err);
	if (!s->directory ||
		muster_sim_scenario_build(o->scenario, &hardware, arena, s->directory, &s->cluster, err) < 0 ||
		muster_sim_generate(&s->cluster, &hardware, err) < 0)
		return -1;
	s->program = muster_arena_printf(arena, "%s/muster", s->directory);
	if (symlink(o->program, s->program) < 0)
		return muster_fail(err, MUSTER_EIO, "link %s: %s", s->program, strerror(errno));
	return 0;
}

int muster_sim_launch(const struct muster_sim_launch *launch, int *ret_signal, struct muster_error *err)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	struct simulation s = { .launch = launch, .cluster = { .arena = muster_arena_new() } };
	*ret_signal = 0;
	sigemptyset(&s.signals);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaddset(&s.signals, signals[i]);
	sigprocmask(SIG_BLOCK, &s.signals, &s.mask);

	int code = prepare(&s, err);
	if (code == 0 && !launch->prepare)
		code = run(&s, ret_signal, err);
	if (s.directory && launch->keep && !launch->prepare && s.cluster.directory)
		fprintf(stderr, "muster: the simulation's files are kept in %s\n", s.directory);
	else if (s.directory && (!launch->prepare || code < 0))
		nftw(s.directory, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
	sigprocmask(SIG_SETMASK, &s.mask, NULL);
	muster_sim_cluster_done(&s.cluster);
	return code;
}
