/* launch.c - start a simulation: its files, its ranks, its end
 *
 * scenario + hardware -> cluster -> files in a fresh directory -> mpirun of `muster run` on every simulated rank -> its
 * exit code.
 */
#include "sim/command.h"

#include "util/text.h"
#include "muster/arena.h"
#include "sim/fs.h"

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
	const char *directory, *program, *simulator; /* the simulation's own; NULL until they are made */
	sigset_t signals, mask;                      /* those that are waited for; what was blocked before */
};

/* What a simulation writes is really written, on this machine. Options of the user come later and count. */
static const char *const small_files[] = { "--storage-bytes", "64M", "--checkpoint-bytes", "16M" };

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

/* A rank of the simulation in each process that the launcher starts. */
static int run(const struct simulation *s, int *ret_signal, struct muster_error *err)
{
	const struct muster_sim_launch *o = s->launch;
	const struct muster_sim_cluster *cluster = &s->cluster;
	struct muster_sim_launcher launcher = {
		.directory = cluster->directory,
		.arena = cluster->arena,
		.ranks = o->alone ? 1 : cluster->rank_count,
		.alone = o->alone,
		.signals = &s->signals,
		.blocked = &s->mask,
	};
	const char **argv =
		muster_arena_alloc(cluster->arena, (2 * MUSTER_WRAPPER_WORDS_MAX + 18 + o->more_count) * sizeof *argv);
	size_t n = muster_cli_wrapper(cluster->arena, argv);
	argv[n++] = s->simulator;
	argv[n++] = "sim-rank";
	argv[n++] = cluster->directory;
	argv[n++] = "--";
	n += muster_cli_wrapper(cluster->arena, argv + n);
	argv[n++] = s->program;
	argv[n++] = o->alone ? "node" : "run";
	argv[n++] = "--sku";
	argv[n++] = cluster->sku;
	for (size_t i = 0; i < sizeof small_files / sizeof *small_files; i++)
		argv[n++] = small_files[i];
	if (o->report) {
		argv[n++] = "--report";
		argv[n++] = o->report;
	}
	if (o->html) {
		argv[n++] = "--html";
		argv[n++] = o->html;
	}
	for (size_t i = 0; i < o->more_count; i++)
		argv[n++] = o->more[i];
	return muster_sim_launcher_run(&launcher, argv, n, ret_signal, err);
}

/* A link to the program in the simulation's directory: the supervisors find it there, whatever blanks its own path has.
 */
static int link_program(const struct simulation *s, const char *program, const char **ret, struct muster_error *err)
{
	*ret = muster_arena_printf(s->cluster.arena, "%s/%s", s->directory, strrchr(program, '/') + 1);
	return symlink(program, *ret) == 0 ? 0 : muster_fail(err, MUSTER_EIO, "link %s: %s", *ret, strerror(errno));
}

/* The files in a directory of their own, with links to the programs. */
static int prepare(struct simulation *s, struct muster_error *err)
{
	const struct muster_sim_launch *o = s->launch;
	struct muster_arena *arena = s->cluster.arena;
	struct muster_sim_hardware hardware;
	if (muster_sim_hardware_read(o->paths.hardware, o->scenario.sku, arena, &hardware, err) < 0)
		return -1;
	s->directory = o->prepare ? make_named_directory(o->prepare, arena, err) : make_directory(arena, err);
	if (!s->directory ||
		muster_sim_scenario_build(&o->scenario, &hardware, arena, s->directory, &s->cluster, err) < 0 ||
		muster_sim_generate(&s->cluster, &hardware, err) < 0)
		return -1;
	return link_program(s, o->paths.program, &s->program, err) < 0 ||
			       link_program(s, o->paths.simulator, &s->simulator, err) < 0
		       ? -1
		       : 0;
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
