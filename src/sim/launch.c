/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - start a simulation: its files, its ranks, its end
 *
 * scenario + hardware -> cluster -> files in a fresh directory -> mpirun of `muster run` on every simulated rank -> its
 * exit code.
 *
 * Who makes, reads and removes the files of a simulation, all of them in its directory:
 *
 * - Roots of nodes: fs.c and node_files.txt make /sys, /proc, /dev and /etc as muster reads them, before any rank
 *   starts; dev/kmsg has the log before the run.
 * - cluster.json: cluster.c writes it last; it is what the stand-ins know of the machine.
 * - Links to the programs: made here, because the supervisors split a command line at blanks.
 * - Notes of ranks: rank.c writes them as a rank begins and ends; read here, to tell a slow start from a dead one.
 * - dev/kmsg and the counters of ports grow during the run: stand-ins write them, as a real kernel would.
 * - The file of a ring, one for each communicator: nccl_ring.c; gone once all of its ranks have opened it.
 *
 * The directory is removed at the end, whatever the exit code, unless --keep or --prepare asks for it.
 */
#include "sim/command.h"

#include "coord/deadlines.h"
#include "muster/arena.h"
#include "report/text_summary.h"
#include "sim/fs.h"
#include "transport/module.h"
#include "util/child.h"
#include "util/env.h"
#include "util/log.h"
#include "util/text.h"
#include "util/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <hwloc.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct simulation {
	const struct muster_sim_launch *launch;
	struct muster_sim_cluster cluster;
	const char *directory, *program, *simulator; /* the simulation's own; NULL until they are made */
	sigset_t signals, mask;                      /* those that are waited for; what was blocked before */
};

#define IN_MEMORY_BYTES 4e9 /* room for a simulation there, and for others beside it */

static size_t count_ranks(const struct simulation *s)
{
	return s->launch->scenario.alone ? 1 : s->cluster.rank_count;
}

/* Where the thousands of small files of a simulation cost least: in memory, unless large files come beside them. */
static const char *find_base(const struct muster_sim_launch *launch)
{
	static const char memory[] = "/dev/shm";
	static const char *const writers[] = { "--storage", "--checkpoint", "--broadcast" };
	struct statvfs room;
	for (size_t i = 0; i < launch->more_count; i++)
		for (size_t k = 0; k < sizeof writers / sizeof *writers; k++)
			if (strncmp(launch->more[i], writers[k], strlen(writers[k])) == 0)
				return "/tmp";
	bool fits = access(memory, W_OK | X_OK) == 0 && statvfs(memory, &room) == 0 &&
		    (double)room.f_bavail * (double)room.f_frsize > IN_MEMORY_BYTES;
	return fits ? memory : "/tmp";
}

/* The simulation's directory, as an absolute path in arena. The supervisors split a command line at blanks, so it has
 * none. */
static const char *make_directory(
	const struct muster_sim_launch *launch, struct muster_arena *arena, struct muster_error *err)
{
	const char *base = getenv("TMPDIR");
	char path[PATH_MAX];
	if (!base || !*base)
		base = find_base(launch);
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

/* -- the ranks: on this machine, with Open MPI's mpirun, 4 or 5 -- */

/* Words that Open MPI 4 and 5 both take. The supervisors talk through shared memory, and let each other run: there are
 * more of them than CPUs. A rank that is killed must not end the others.
 *
 *   --oversubscribe, --bind-to none         more ranks than CPUs, and none is bound
 *   --enable-recovery                       a rank that dies does not end the job
 *   pml ob1, btl self,vader                 messages by shared memory alone, whatever network this machine has
 *   btl_vader_single_copy_mechanism none    through a buffer, without reading another process's memory
 *   coll_hcoll_enable 0                     no HCOLL
 *   mpi_yield_when_idle 1                   a rank that waits leaves the CPU to the others
 */
static const char *const mpirun_words[] = { "mpirun", "--oversubscribe", "--bind-to", "none", "--enable-recovery",
	"--mca", "pml", "ob1", "--mca", "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none",
	"--mca", "coll_hcoll_enable", "0", "--mca", "mpi_yield_when_idle", "1" };
#define MPIRUN_WORDS (sizeof mpirun_words / sizeof *mpirun_words)

enum {
	LINGER_S = 30,         /* of mpirun, when rank 0 has ended */
	START_S = 60,          /* for the first rank to begin ... */
	RANKS_STARTED_IN_S = 4 /* ... and a second more for so many ranks */
};

/* The terminals of the ranks have no size: that of ours goes the way that shells have for it. */
static void tell_size(void)
{
	struct muster_screen screen;
	char text[32];
	muster_screen_of(stdout, &screen);
	if (!isatty(STDOUT_FILENO))
		return;
	snprintf(text, sizeof text, "%zu", screen.columns);
	setenv("COLUMNS", text, 1);
	snprintf(text, sizeof text, "%zu", screen.lines);
	setenv("LINES", text, 1);
}

/* Open MPI looks at all devices of this machine in each rank and reads their PCI configuration, which takes
 * milliseconds a device in a virtual machine. It gets this machine without devices from a file; where that cannot be
 * made it looks for itself. */
static void give_mpi_this_machine(const struct simulation *s)
{
	const char *path = muster_arena_printf(s->cluster.arena, "%s/mpi.xml", s->directory);
	hwloc_topology_t topology;
	if (hwloc_topology_init(&topology) < 0)
		return;
	if (hwloc_topology_load(topology) == 0 && hwloc_topology_export_xml(topology, path, 0) == 0)
		setenv("OMPI_MCA_hwloc_base_topo_file", path, 1);
	hwloc_topology_destroy(topology);
}

/* Open MPI refuses root without these variables, and must not mistake an outer job for its own. */
static void prepare_environment(const struct simulation *s)
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
		/* The simulated machine is in files, and hwloc reads XML without libxml2. */
		{ "HWLOC_PLUGINS_BLACKLIST", MUSTER_HWLOC_PLUGINS ",hwloc_pci.so,hwloc_xml_libxml.so" },
	};
	muster_env_unset_if(muster_env_is_of_job);
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		setenv(settings[i][0], settings[i][1], 1);
	/* mpirun gives every rank a terminal, whatever its own output is: only this process knows where rank 0's output
	 * ends, unless the user does. */
	muster_env_set(MUSTER_ENV_TERMINAL, isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) ? "1" : "0", true);
	tell_size();
	if (s->launch->scenario.alone) {
		setenv("PMI_RANK", "0", 1); /* for sim-rank, as a launcher would */
		return;
	}
	give_mpi_this_machine(s);
	muster_env_set(MUSTER_ENV_SIM_STDOUT,
		muster_arena_printf(s->cluster.arena, "/proc/%ld/fd/%d", (long)getpid(), STDOUT_FILENO), false);
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
static int noted(const struct simulation *s, const char *name)
{
	char text[32];
	long number = 0;
	const char *path = muster_arena_printf(s->cluster.arena, "%s/%s", s->cluster.directory, name);
	if (muster_read_line(path, text, sizeof text, NULL) < 0 ||
		muster_parse_int(text, 0, INT_MAX, &number, path, NULL) < 0)
		return -1;
	return (int)number;
}

/* Ask for the end by the signal that came: rank 0 makes the report, which names the signal, and Open MPI 5 would leave
 * it only a quarter of a second for that. */
static void ask_to_end(const struct simulation *s, pid_t pid, int number)
{
	int rank_0 = noted(s, MUSTER_SIM_RANK_0);
	if (rank_0 > 0 && noted(s, MUSTER_SIM_EXIT) < 0)
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
static struct waiting wait_for(const struct simulation *s, pid_t pid, int start_s)
{
	const struct timespec second = { .tv_sec = 1 };
	struct waiting w = { .start_s = start_s };
	for (int seconds = 0, lingers = 0; !muster_child_ended(pid, 0, &w.status);) {
		int number = sigtimedwait(&s->signals, NULL, &second);
		if (number == SIGCHLD)
			continue;
		if (number > 0 && w.stop)
			kill(pid, SIGKILL);
		else if (number > 0)
			ask_to_end(s, pid, number);
		else if (noted(s, MUSTER_SIM_EXIT) >= 0)
			lingers++;
		else
			seconds++;
		w.stop = number > 0 ? number : w.stop;
		w.never_began = seconds >= start_s && noted(s, MUSTER_SIM_RANK_0) < 0;
		if (lingers >= LINGER_S || w.never_began)
			kill(pid, SIGKILL);
	}
	return w;
}

/* -1 with err, which says how the launcher ended without an exit code of rank 0. */
static int failed(const struct simulation *s, const struct waiting *w, struct muster_error *err)
{
	const char *what = s->launch->scenario.alone ? "sim-rank" : "mpirun";
	if (w->never_began)
		return muster_fail(err, MUSTER_EIO,
			"%s had not started rank 0 after %d s, and was killed: are the limits of this shell (ulimit "
			"-a) too low for %zu ranks?",
			what, w->start_s, count_ranks(s));
	if (WIFSIGNALED(w->status))
		return muster_fail(err, MUSTER_EIO, "%s was killed by signal %d before rank 0 had a verdict", what,
			WTERMSIG(w->status));
	return muster_fail(
		err, MUSTER_EIO, "%s ended with code %d before rank 0 had a verdict", what, WEXITSTATUS(w->status));
}

/* The command that starts all ranks, NULL at its end. With the wrapper's words (MUSTER_SIM_WRAPPER) at [W] it is
 *
 *   mpirun WORDS -np 16 [W] DIR/muster-sim sim-rank DIR -- [W] DIR/muster run --sku NAME ... MORE
 *   [W] DIR/muster-sim sim-rank DIR -- [W] DIR/muster node --sku NAME ... MORE        with --alone
 */
static const char *const *make_command(const struct simulation *s)
{
	const struct muster_sim_launch *o = s->launch;
	const struct muster_sim_cluster *cluster = &s->cluster;
	const char *const options[][2] = {
		{ "--sku", cluster->sku },
		/* what a simulation writes is really written, on this machine; options of the user come later and count
		 */
		{ "--storage-bytes", "64M" },
		{ "--checkpoint-bytes", "16M" },
		{ "--report", o->report },
		{ "--html", o->html },
	};
	const char **argv = muster_arena_alloc(
		cluster->arena, (MPIRUN_WORDS + 2 * MUSTER_WRAPPER_WORDS_MAX + 20 + o->more_count) * sizeof *argv);
	size_t n = 0;
	if (!o->scenario.alone) {
		memcpy(argv, mpirun_words, sizeof mpirun_words);
		n = MPIRUN_WORDS;
		argv[n++] = "-np";
		argv[n++] = muster_arena_printf(cluster->arena, "%zu", count_ranks(s));
	}
	n += muster_cli_wrapper(cluster->arena, argv + n);
	argv[n++] = s->simulator;
	argv[n++] = "sim-rank";
	argv[n++] = cluster->directory;
	argv[n++] = "--";
	n += muster_cli_wrapper(cluster->arena, argv + n);
	argv[n++] = s->program;
	argv[n++] = o->scenario.alone ? "node" : "run";
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (options[i][1]) {
			argv[n++] = options[i][0];
			argv[n++] = options[i][1];
		}
	for (size_t i = 0; i < o->more_count; i++)
		argv[n++] = o->more[i];
	return argv;
}

/* mpirun takes seconds for many ranks, and the ranks' own progress begins after that: on a terminal, say so. */
static void say_start(const struct simulation *s)
{
	static const char *const silent[] = { "off", "json", "--progress=off", "--log-format=json" };
	const char *progress = muster_env(MUSTER_ENV_PROGRESS);
	bool said =
		!s->launch->scenario.alone && isatty(STDERR_FILENO) == 1 && !(progress && strcmp(progress, "off") == 0);
	for (size_t i = 0; i < s->launch->more_count; i++)
		for (size_t k = 0; k < sizeof silent / sizeof *silent; k++)
			said = said && strcmp(s->launch->more[i], silent[k]) != 0;
	char ranks[64];
	if (said)
		muster_log(
			MUSTER_LOG_INFO, NULL, "mpirun starts %s", muster_text_plural(ranks, count_ranks(s), "rank"));
}

/* A rank of the simulation in each process that the launcher starts. The exit code of rank 0; -1 with err, which says
 * what ended and how, when there is none. *ret_signal: the signal that ended the simulation before there was one; 0:
 * none, or rank 0 has ended well in spite of it. */
static int run(const struct simulation *s, int *ret_signal, struct muster_error *err)
{
	pid_t pid = 0;
	char *own = muster_mpi_bundle_programs(s->launch->paths.mpi);
	if (own) /* an mpirun that the installation brings along is the one that fits its MPI module */
		muster_sim_put_before(s->cluster.arena, "PATH", own);
	free(own);
	prepare_environment(s);
	int flags = append_begin();
	int rc = start(make_command(s), &s->mask, &pid, err);
	struct waiting w = { 0 };
	if (rc == 0) {
		say_start(s);
		w = wait_for(s, pid,
			(int)((START_S + (double)count_ranks(s) / RANKS_STARTED_IN_S) * muster_deadlines_scale(true)));
	}
	append_end(flags);
	if (rc < 0)
		return -1;
	int code = noted(s, MUSTER_SIM_EXIT);
	*ret_signal = code < 0 ? w.stop : 0; /* a run that was asked to end has ended without error */
	if (code >= 0 || w.stop)
		return code < 0 ? 0 : code;
	return failed(s, &w, err);
}

/* -- the files -- */

/* A link to the program in the simulation's directory: the supervisors find it there, whatever blanks its own path has.
 * *ret: the link's path. */
static int link_program(const struct simulation *s, const char *program, const char **ret, struct muster_error *err)
{
	*ret = muster_arena_printf(s->cluster.arena, "%s/%s", s->directory, strrchr(program, '/') + 1);
	return symlink(program, *ret) == 0 ? 0 : muster_fail(err, MUSTER_EIO, "link %s: %s", *ret, strerror(errno));
}

/* Steps before anything is started: the directory, the cluster, its files, the links to the programs. A wrong SKU, mask
 * or fault ends here with err, MUSTER_EUSAGE; muster_sim_launch() then removes what was made. */
static int prepare(struct simulation *s, struct muster_error *err)
{
	const struct muster_sim_launch *o = s->launch;
	struct muster_arena *arena = s->cluster.arena;
	struct muster_sim_hardware hardware;
	if (muster_sim_hardware_read(o->paths.hardware, o->scenario.sku, arena, &hardware, err) < 0)
		return -1;
	s->directory = o->prepare ? make_named_directory(o->prepare, arena, err) : make_directory(o, arena, err);
	if (!s->directory ||
		muster_sim_scenario_build(&o->scenario, &hardware, arena, s->directory, &s->cluster, err) < 0 ||
		muster_sim_generate(&s->cluster, &hardware, err) < 0 ||
		link_program(s, o->paths.program, &s->program, err) < 0)
		return -1;
	return link_program(s, o->paths.simulator, &s->simulator, err);
}

/* The signals are blocked from here on, so that one which comes while the files are written is taken by wait_for(), and
 * the directory is removed even then. With --prepare it is kept, unless something failed. */
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
