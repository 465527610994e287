/* command.c - `muster sim`: run muster on a simulated cluster */
#include "sim/command.h"

#include "muster/arena.h"
#include "muster/report.h"
#include "sim/fault.h"
#include "sim/noise.h"
#include "system/hardware.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SEED_MAX 999999

struct options {
	struct muster_sim_launch launch;
	const char *scenario_file, *noise;
	bool list_faults, list_skus;
};

static int add_fault(void *arg, const char *text, struct muster_error *err)
{
	(void)err;
	muster_sim_scenario_add_fault(arg, text);
	return 0;
}

/* The seed is printed, so that a run can be repeated. */
static int settle_noise(struct options *o, struct muster_error *err)
{
	struct muster_sim_scenario *s = &o->launch.scenario;
	s->noise = muster_sim_noise_find(o->launch.paths.noise, o->noise, s->arena, err);
	if (!s->noise)
		return -1;
	if (s->noise_seed == 0)
		s->noise_seed = (int)(time(NULL) * 1000 + getpid()) % SEED_MAX + 1;
	fprintf(stderr, "muster: --noise %s --noise-seed %d\n", o->noise, s->noise_seed);
	return 0;
}

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
		execv(paths.program, argv - 1); /* argv[-1] is a word of ours */
	return MUSTER_EXIT_USAGE;
}

int muster_sim_command(int argc, char **argv)
{
	struct options o = { 0 };
	const struct muster_option options[] = {
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
		.usage = "muster sim --sku NAME [--nodes N] [--fault KIND@WHERE[=VALUE]]... [-- options of muster run]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Simulates ranks on this machine under mpirun, one per GPU, on nodes sim-1, sim-2, "
			    "...\nThe exit code is that of muster run.",
		.takes_rest = true,
		.rest_command = complete_run,
	};
	struct muster_error err = { 0 };
	int code, stopped_by = 0;
	muster_sim_scenario_init(&o.launch.scenario);
	if (!muster_cli_begin(&cli, argc, argv, &o.launch.paths, &code))
		goto out;
	if (o.list_faults) {
		muster_sim_fault_kinds_print(stdout);
	} else if (o.list_skus) {
		fputs(muster_hardware_list(o.launch.paths.hardware, o.launch.scenario.arena), stdout);
	} else {
		code = settle(&o, &err);
		if (code == 0) {
			o.launch.more = argv + cli.rest;
			o.launch.more_count = (size_t)(argc - cli.rest);
			code = muster_sim_launch(&o.launch, &stopped_by, &err);
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
