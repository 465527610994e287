/* sim.c - the subcommand sim: a cluster that is not there, mustered by the same program as a real one
 *
 * scenario + hardware -> cluster -> files in a fresh directory -> mpirun of `muster run` on every simulated rank -> its
 * exit code. Nothing is left behind but the report.
 */
#include "cli/cli.h"
#include "util/child.h"
#include "util/text.h"
#include "muster/report.h"
#include "sim/fault.h"
#include "sim/fs.h"
#include "sim/scenario.h"
#include "util/env.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct options {
	struct muster_sim_scenario scenario;
	const char *sku, *nodes, *cpu_masks, *scenario_file, *report, *prepare;
	bool alone, keep, list_faults, list_skus;
};

/* All on this machine, so that no ssh is needed ("isolated"). The supervisors talk through shared memory, and let each
 * other run: there are more of them than CPUs. A rank that is killed must not end the others, and all have the time
 * that Slurm would give them when mpirun is told to end. */
static const char *const mpirun_words[] = { "mpirun", "-q", "--oversubscribe", "--mca", "plm", "isolated", "--bind-to",
	"none", "--enable-recovery", "--mca", "pml", "ob1", "--mca", "btl", "self,vader", "--mca",
	"btl_vader_single_copy_mechanism", "none", "--mca", "coll_hcoll_enable", "0", "--mca", "mpi_yield_when_idle",
	"1", "--mca", "odls_base_sigkill_timeout", "10" };
#define MPIRUN_WORDS (sizeof mpirun_words / sizeof *mpirun_words)
enum { WRAPPER_WORDS_MAX = 32, LINGER_S = 30 };

static int add_fault(void *arg, const char *text, struct muster_error *err)
{
	(void)err;
	muster_sim_scenario_add_fault(arg, text);
	return 0;
}

/* The file first, then what the command line says instead. */
static int settle(struct options *o, struct muster_error *err)
{
	struct muster_sim_scenario *s = &o->scenario;
	long nodes = 1;
	if (o->scenario_file && muster_sim_scenario_read(s, o->scenario_file, err) < 0)
		return -1;
	if (o->nodes && muster_parse_int(o->nodes, 1, MUSTER_SIM_NODES_MAX, &nodes, "--nodes", err) < 0)
		return -1;
	if (o->nodes || s->nodes == 0)
		s->nodes = (int)nodes;
	if (o->sku)
		s->sku = o->sku;
	if (o->cpu_masks)
		s->cpu_masks = o->cpu_masks;
	if (o->alone && s->nodes != 1)
		return muster_fail(err, MUSTER_EUSAGE, "--alone is for one node");
	s->no_job = o->alone;
	return s->sku ? 0 : muster_fail(err, MUSTER_EUSAGE, "--sku is needed: which machine to simulate");
}

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

static bool is_of_job(const char *entry, size_t length)
{
	(void)length;
	return strncmp(entry, "SLURM_", 6) == 0 || strncmp(entry, "PMI_", 4) == 0 || strncmp(entry, "PMIX_", 5) == 0;
}

/* Open MPI refuses root unless told so, and must not take an outer job for its own. */
static void prepare_environment(void)
{
	muster_env_unset_if(is_of_job);
	setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
	setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
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
		return muster_fail(err, MUSTER_EIO, "rank 0 ended without a verdict");
	return (int)code;
}

/* Wait for mpirun, and pass on what tells us to stop: SIGTERM first, SIGKILL when told again. mpirun may hang when
 * ranks die; once rank 0 has ended it is not waited for any longer than the others need. Returns the signal, or 0. */
static int wait_for(pid_t pid, const sigset_t *signals, const struct muster_sim_cluster *cluster)
{
	const struct timespec second = { .tv_sec = 1 };
	int stop = 0, seconds = 0;
	while (!muster_child_ended(pid, 0, NULL)) {
		int number = sigtimedwait(signals, NULL, &second);
		if (number == SIGCHLD)
			continue;
		if (number > 0) {
			kill(pid, stop ? SIGKILL : SIGTERM);
			stop = number;
		} else if (exit_code(cluster, NULL) >= 0 && ++seconds == LINGER_S) {
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
static int run(const struct options *o, const struct muster_sim_cluster *cluster, const char *program,
	char *const *more, size_t more_count, const sigset_t *signals, const sigset_t *mask, int *ret_signal,
	struct muster_error *err)
{
	const char **argv = muster_arena_alloc(
		cluster->arena, (MPIRUN_WORDS + 2 * WRAPPER_WORDS_MAX + 16 + more_count) * sizeof *argv);
	size_t n = 0;
	pid_t pid = 0;
	if (!o->alone) {
		for (; n < MPIRUN_WORDS; n++)
			argv[n] = mpirun_words[n];
		argv[n++] = "-np";
		argv[n++] = muster_arena_printf(cluster->arena, "%zu", cluster->rank_count);
	}
	n += wrapper_words(cluster->arena, argv + n);
	argv[n++] = program;
	argv[n++] = "sim-rank";
	argv[n++] = cluster->directory;
	argv[n++] = "--";
	n += wrapper_words(cluster->arena, argv + n);
	argv[n++] = program;
	argv[n++] = o->alone ? "node" : "run";
	argv[n++] = "--sku";
	argv[n++] = cluster->sku;
	if (o->report) {
		argv[n++] = "--report";
		argv[n++] = o->report;
	}
	for (size_t i = 0; i < more_count; i++)
		argv[n++] = more[i];

	prepare_environment();
	if (o->alone)
		setenv("PMI_RANK", "0", 1); /* for sim-rank, as a launcher would */
	if (start(argv, mask, &pid, err) < 0)
		return -1;
	*ret_signal = wait_for(pid, signals, cluster);
	int code = exit_code(cluster, err);
	if (code >= 0)
		*ret_signal = 0; /* what was told to end has ended well */
	return *ret_signal ? 0 : code;
}

/* The exit code, or -1. *ret_signal is the signal that ended it, when one did. */
static int simulate(
	const struct options *o, char *const *more, size_t more_count, int *ret_signal, struct muster_error *err)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_sim_cluster cluster = { .arena = arena };
	struct muster_sim_hardware hardware;
	struct muster_paths paths;
	sigset_t signals, mask;
	const char *directory = NULL;
	int code = -1;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &mask);

	if (muster_paths_find(&paths, err) < 0 ||
		muster_sim_hardware_read(paths.hardware, o->scenario.sku, arena, &hardware, err) < 0)
		goto out;
	directory = o->prepare ? make_named_directory(o->prepare, arena, err) : make_directory(arena, err);
	if (!directory || muster_sim_scenario_build(&o->scenario, &hardware, arena, directory, &cluster, err) < 0 ||
		muster_sim_generate(&cluster, &hardware, err) < 0)
		goto out;
	/* The supervisors find the program here, whatever blanks its own path has. */
	const char *program = muster_arena_printf(arena, "%s/muster", directory);
	if (symlink(paths.program, program) < 0) {
		muster_fail(err, MUSTER_EIO, "link %s: %s", program, strerror(errno));
		goto out;
	}
	code = o->prepare ? MUSTER_EXIT_PASS
			  : run(o, &cluster, program, more, more_count, &signals, &mask, ret_signal, err);
out:
	if (directory && o->prepare && code >= 0)
		; /* the caller's */
	else if (directory && o->keep && cluster.directory)
		fprintf(stderr, "muster: the simulation's files are kept in %s\n", directory);
	else if (directory)
		nftw(directory, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	muster_sim_cluster_done(&cluster);
	return code;
}

static int list_skus(struct muster_error *err)
{
	struct muster_paths paths;
	if (muster_paths_find(&paths, err) < 0)
		return muster_cli_usage(err);
	struct muster_arena *arena = muster_arena_new();
	fputs(muster_sim_hardware_list(paths.hardware, arena), stdout);
	muster_arena_free(arena);
	return MUSTER_EXIT_PASS;
}

int muster_cmd_sim(int argc, char **argv)
{
	struct options o = { 0 };
	const struct muster_option options[] = {
		{ .name = "--sku",
			.argument = "NAME",
			.text = &o.sku,
			.help = "the machine type to simulate, and to judge by" },
		{ .name = "--nodes", .argument = "N", .text = &o.nodes, .help = "how many nodes of it (default: 1)" },
		{ .name = "--fault",
			.argument = "KIND@WHERE[=VALUE]",
			.each = add_fault,
			.arg = &o.scenario,
			.help = "break something; may be repeated" },
		{ .name = "--cpu-masks",
			.argument = "LIST",
			.text = &o.cpu_masks,
			.help = "CPU mask of each local rank, as for srun --cpu-bind=mask_cpu: (default: the right "
				"ones)" },
		{ .name = "--scenario",
			.argument = "FILE",
			.text = &o.scenario_file,
			.help = "JSON file with sku, nodes, faults and cpu_masks" },
		{ .name = "--report",
			.argument = "FILE",
			.text = &o.report,
			.help = "where the report goes, as in muster run" },
		{ .name = "--alone",
			.flag = &o.alone,
			.help = "run `muster node` on one node, without mpirun, instead of `muster run`" },
		{ .name = "--prepare",
			.argument = "DIRECTORY",
			.text = &o.prepare,
			.help = "make this directory, write the simulation's files into it, and start nothing" },
		{ .name = "--keep", .flag = &o.keep, .help = "keep the simulation's files, and say where they are" },
		{ .name = "--list-faults", .flag = &o.list_faults, .help = "show what can be broken" },
		{ .name = "--list-skus", .flag = &o.list_skus, .help = "show which machine types can be simulated" },
	};
	struct muster_error err = { 0 };
	int code = -1, stopped_by = 0;

	muster_sim_scenario_init(&o.scenario);
	struct muster_cli cli = {
		.usage = "muster sim --sku NAME [--nodes N] [--fault KIND@WHERE[=VALUE]]... [-- options of muster run]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Ranks are simulated on this machine under mpirun, one for each GPU, on nodes called "
			    "sim-1, sim-2, ...\nThe exit code is that of muster run.",
		.takes_rest = true,
	};
	int parsed = muster_cli_parse(&cli, argc, argv, &err);
	if (parsed > 0) {
		code = MUSTER_EXIT_PASS;
	} else if (parsed == 0 && o.list_faults) {
		muster_sim_fault_kinds_print(stdout);
		code = MUSTER_EXIT_PASS;
	} else if (parsed == 0 && o.list_skus) {
		code = list_skus(&err);
	} else if (parsed == 0 && settle(&o, &err) == 0) {
		code = simulate(&o, argv + cli.rest, (size_t)(argc - cli.rest), &stopped_by, &err);
	}
	muster_sim_scenario_done(&o.scenario);
	if (stopped_by) {
		signal(stopped_by, SIG_DFL);
		raise(stopped_by);
	}
	if (code >= 0)
		return code;
	muster_cli_usage(&err);
	return err.code == MUSTER_EUSAGE ? MUSTER_EXIT_USAGE : MUSTER_EXIT_INCONCLUSIVE;
}
