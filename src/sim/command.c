/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - `muster sim`: run muster on a simulated cluster
 *
 * The steps of muster_sim_command, in their order:
 *
 *   1. Read the command line. The options of muster sim go into the scenario (scenario.h) and into the struct of the
 *      launch (command.h). The options of muster run are not evaluated here: each becomes a word in `more`.
 *   2. settle(): read the file of --scenario, set defaults, find the noise and its seed.
 *   3. is_run_possible(): have the parser of muster run (with --alone of muster node) read the words in `more`, so that
 *      a wrong option is one message here, before anything is started, and not one message of each rank.
 *   4. muster_sim_launch() (launch.c): write the files, start the ranks, wait for their end.
 *   5. say_unmeasured(): read the report, and name each fault that this run could not show.
 *
 * The exit code is that of `muster run`. Where no run was started, or the run gave no exit code, it is 0 for a list and
 * for --prepare, 2 for wrong input, and 3 for other errors. When a signal
 * ended the simulation, this process ends by the same signal at last, so that a shell sees it.
 */
#include "sim/command.h"

#include "cli/run_options.h"

#include "muster/arena.h"
#include "muster/report.h"
#include "sim/fault.h"
#include "sim/noise.h"
#include "system/hardware.h"

#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SEED_MAX 999999

/* An option of `muster run`. The parser calls pass_on() with this struct each time when the option is given. */
struct passed {
	struct options *options;
	const char *name;
};

struct options {
	struct muster_sim_launch launch;
	struct muster_options run;         /* what `muster run` will do, as is_run_possible() has read it */
	const char **more;                 /* becomes launch.more; launch.more_count says how many words there are */
	time_t started;                    /* a report with an older time is of an earlier run */
	const char *scenario_file, *noise; /* arguments of the options; NULL: not given */
	bool list_faults, list_skus;
};

static int add_fault(void *arg, const char *text, struct muster_error *err)
{
	(void)err;
	muster_sim_scenario_add_fault(arg, text);
	return 0;
}

/* Keep an option for muster run as one word: "--profile=quick", or "--strict" for an option without an argument. */
static int pass_on(void *arg, const char *text, struct muster_error *err)
{
	const struct passed *passed = arg;
	struct options *o = passed->options;
	(void)err;
	o->more[o->launch.more_count++] = muster_arena_printf(
		o->launch.scenario.arena, "%s%s%s", passed->name, text ? "=" : "", text ? text : "");
	return 0;
}

/* Put the options of muster run behind those of muster sim, so that both can be given without "--" between them.
 * options: has `own` rows of muster sim, and room for MUSTER_OPTIONS_MAX. An option with a name that muster sim has too
 * (--sku, --report, --html) is left out: make_command() in launch.c passes these on. Returns the number of all rows. */
static size_t add_passed(struct options *o, struct muster_option *options, size_t own)
{
	struct muster_option run[MUSTER_OPTIONS_MAX];
	size_t count = muster_run_options(&o->run, run), all = own;
	struct passed *passed = muster_arena_alloc(o->launch.scenario.arena, count * sizeof *passed);
	for (size_t i = 0; i < count; i++) {
		size_t same = 0;
		while (same < own && strcmp(options[same].name, run[i].name) != 0)
			same++;
		if (same < own)
			continue;
		passed[i] = (struct passed){ o, run[i].name };
		options[all++] = (struct muster_option){ .name = run[i].name,
			.argument = run[i].argument,
			.help = run[i].help,
			.is_path_optional = run[i].is_path_optional,
			.bare = run[i].bare,
			.each = pass_on,
			.arg = &passed[i],
			.words = run[i].words,
			.names = run[i].names,
			.name_count = run[i].name_count,
			.group = MUSTER_GROUP_PASSED_ON };
	}
	return all;
}

/* Whether muster run will take its options: what is wrong with them is said before anything starts. The words are those
 * that make_command() in launch.c passes on. False: *ret_code is the exit code, and the message, or the help, has been
 * printed. */
static bool is_run_possible(struct options *o, int *ret_code)
{
	const struct muster_sim_launch *launch = &o->launch;
	char **argv = muster_arena_alloc(launch->scenario.arena, (launch->more_count + 8) * sizeof *argv);
	const char *const own[][2] = { { "--sku", launch->scenario.sku }, { "--report", launch->report },
		{ "--html", launch->html } };
	int argc = 0;
	argv[argc++] = launch->scenario.alone ? (char *)"node" : (char *)"run";
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (own[i][1])
			argv[argc++] = (char *)(uintptr_t)muster_arena_printf(
				launch->scenario.arena, "%s=%s", own[i][0], own[i][1]);
	memcpy(argv + argc, o->more, launch->more_count * sizeof *argv);
	argc += (int)launch->more_count;
	o->run = launch->scenario.alone ? muster_node_defaults : muster_run_defaults;
	int rc = muster_run_options_parse(
		argc, argv, "muster sim ... -- [options of muster run]", NULL, true, &o->run, ret_code);
	muster_run_options_done(&o->run);
	return rc == 0;
}

/* Print which of the faults the run did not measure, and the option for it. Nothing is printed of a run whose report is
 * on standard output or could not be written, nor when the file is older than this process: it is another run's. */
static void say_unmeasured(const struct options *o)
{
	const struct muster_sim_scenario *s = &o->launch.scenario;
	struct stat status;
	struct muster_error ignored;
	if (s->fault_count > 0 && stat(o->run.report, &status) == 0 && S_ISREG(status.st_mode) &&
		status.st_mtime >= o->started)
		muster_sim_faults_unmeasured(s->faults, s->fault_count, o->run.report, stderr, &ignored);
}

/* The file of the noise as an absolute path, and a seed where the user gave none. The seed is printed, so that a run
 * can be repeated. */
static int settle_noise(struct options *o, struct muster_error *err)
{
	struct muster_sim_scenario *s = &o->launch.scenario;
	s->noise = muster_sim_noise_find(o->launch.paths.noise, o->noise, s->arena, err);
	if (!s->noise)
		return -1;
	if (s->noise_seed == 0)
		s->noise_seed = (int)((time(NULL) * 1000 + getpid()) % SEED_MAX) + 1;
	fprintf(stderr, "muster: --noise %s --noise-seed %d\n", o->noise, s->noise_seed);
	return 0;
}

/* Complete the scenario. What the command line says counts before what the file says, and that before a default. */
static int settle(struct options *o, struct muster_error *err)
{
	struct muster_sim_scenario *s = &o->launch.scenario;
	if (o->scenario_file && muster_sim_scenario_read(s, o->scenario_file, err) < 0)
		return -1;
	if (s->nodes == 0)
		s->nodes = 1;
	if (s->alone && s->nodes != 1)
		return muster_fail(err, MUSTER_EUSAGE, "--alone is only for one node");
	if (!s->sku)
		return muster_fail(err, MUSTER_EUSAGE, "--sku is missing: set the machine type to simulate");
	return o->noise ? settle_noise(o, err) : 0;
}

/* The options of `muster run`, for a shell: argv[0] is any word, the others are what muster gets. */
static int complete_run(int argc, char **argv)
{
	static char run[] = "run";
	struct muster_paths paths;
	struct muster_error err;
	(void)argc;
	argv[0] = run;
	if (muster_paths_find(&paths, &err) == 0)
		execv(paths.program, argv - 1); /* argv[-1] is a word of ours: the program's argv[0] */
	return MUSTER_EXIT_USAGE;
}

int muster_sim_command(int argc, char **argv)
{
	struct options o = { 0 };
	struct muster_option options[MUSTER_OPTIONS_MAX] = {
		{ "--sku", "NAME", "machine type to simulate, and to check against", .text = &o.launch.scenario.sku,
			.words = muster_words_simulated },
		{ "--nodes", "N", "number of nodes (default: 1)", .number = &o.launch.scenario.nodes, .low = 1,
			.high = MUSTER_SIM_NODES_MAX },
		{ "--fault", "KIND@WHERE[=VALUE]", "simulate a fault; may be repeated", .each = add_fault,
			.arg = &o.launch.scenario, .words = muster_sim_words_faults },
		{ "--cpu-masks", "LIST",
			"CPU mask of each local rank, as for srun --cpu-bind=mask_cpu: (default: correct masks)",
			.text = &o.launch.scenario.cpu_masks },
		{ "--scenario", "FILE", "JSON file with sku, nodes, faults and cpu_masks", .text = &o.scenario_file },
		{ "--noise", "NAME|FILE",
			"recorded noise of a real host that disturbs all GPUs: noisy-a, noisy-b, quiet",
			.text = &o.noise, .words = muster_sim_words_noise },
		{ "--noise-seed", "N", "where a node begins in the recorded noise (default: drawn and printed)",
			.number = &o.launch.scenario.noise_seed, .low = 1, .high = SEED_MAX },
		{ "--report", "FILE", "output file of the report, as in muster run", .text = &o.launch.report },
		{ "--html", "FILE", "output file of the HTML page, as in muster run", .text = &o.launch.html },
		{ "--alone", NULL, "run `muster node` on one node, without mpirun, instead of `muster run`",
			.flag = &o.launch.scenario.alone },
		{ "--prepare", "DIRECTORY", "create this directory with the files of the simulation, and start nothing",
			.text = &o.launch.prepare },
		{ "--keep", NULL, "keep the files of the simulation, and print their path", .flag = &o.launch.keep },
		{ "--list-faults", NULL, "list the kinds of faults", .flag = &o.list_faults },
		{ "--list-skus", NULL, "list the machine types that can be simulated", .flag = &o.list_skus },
	};
	struct muster_cli cli = {
		.usage = "muster sim --sku NAME [--nodes N] [--fault KIND@WHERE[=VALUE]]... [options]",
		.options = options,
		.epilogue = "Options of muster run (with --alone of muster node), such as --profile quick, are options "
			    "of muster sim too; muster run --help lists them.\nSimulates ranks on this machine under "
			    "mpirun, one per GPU, on nodes sim-1, sim-2, ...\nThe exit code is that of muster run.",
		.takes_rest = true,
		.rest_command = complete_run,
	};
	struct muster_error err = { 0 };
	int code, stopped_by = 0;
	muster_sim_scenario_init(&o.launch.scenario);
	o.started = time(NULL) - 1; /* times of files are a little behind */
	o.more = muster_arena_alloc(o.launch.scenario.arena, (size_t)(argc + 1) * sizeof *o.more);
	while (options[cli.option_count].name)
		cli.option_count++;
	cli.option_count = add_passed(&o, options, cli.option_count);
	if (!muster_cli_begin(&cli, argc, argv, &o.launch.paths, &code))
		goto out;
	if (o.list_faults) {
		muster_sim_fault_kinds_print(stdout);
	} else if (o.list_skus) {
		fputs(muster_hardware_list(o.launch.paths.hardware, o.launch.scenario.arena), stdout);
	} else {
		code = settle(&o, &err);
		if (code == 0) {
			while (cli.rest < argc)
				o.more[o.launch.more_count++] = argv[cli.rest++];
			o.launch.more = o.more;
			if (!is_run_possible(&o, &code))
				goto out;
			code = muster_sim_launch(&o.launch, &stopped_by, &err);
			if (code >= 0 && code != MUSTER_EXIT_USAGE && !stopped_by && !o.launch.prepare)
				say_unmeasured(&o);
		}
		if (code < 0) {
			muster_cli_usage(&err);
			code = err.code == MUSTER_EUSAGE ? MUSTER_EXIT_USAGE : MUSTER_EXIT_INCONCLUSIVE;
		}
	}
out:
	muster_sim_scenario_done(&o.launch.scenario);
	if (stopped_by) {
		signal(stopped_by, SIG_DFL);
		raise(stopped_by);
	}
	return code;
}
