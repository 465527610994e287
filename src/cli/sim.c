/* sim.c - `muster sim`: run muster on a simulated cluster */
#include "cli/cli.h"
#include "util/text.h"
#include "muster/report.h"
#include "sim/fault.h"
#include "sim/launch.h"

#include <signal.h>
#include <stdio.h>

struct options {
	struct muster_sim_scenario scenario;
	const char *sku, *nodes, *cpu_masks, *scenario_file, *report, *prepare;
	bool alone, keep, list_faults, list_skus;
};

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
		return muster_fail(err, MUSTER_EUSAGE, "--alone is only for one node");
	s->no_job = o->alone;
	return s->sku ? 0 : muster_fail(err, MUSTER_EUSAGE, "--sku is missing: set the machine type to simulate");
}

static int simulate(
	const struct options *o, char *const *more, size_t more_count, int *ret_signal, struct muster_error *err)
{
	struct muster_paths paths;
	if (muster_paths_find(&paths, err) < 0)
		return -1;
	const struct muster_sim_launch launch = {
		.scenario = &o->scenario,
		.program = paths.program,
		.hardware = paths.hardware,
		.report = o->report,
		.prepare = o->prepare,
		.alone = o->alone,
		.keep = o->keep,
		.more = more,
		.more_count = more_count,
	};
	return muster_sim_launch(&launch, ret_signal, err);
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
			.help = "machine type to simulate, and to check against" },
		{ .name = "--nodes", .argument = "N", .text = &o.nodes, .help = "number of nodes (default: 1)" },
		{ .name = "--fault",
			.argument = "KIND@WHERE[=VALUE]",
			.each = add_fault,
			.arg = &o.scenario,
			.help = "simulate a fault; may be repeated" },
		{ .name = "--cpu-masks",
			.argument = "LIST",
			.text = &o.cpu_masks,
			.help = "CPU mask of each local rank, as for srun --cpu-bind=mask_cpu: (default: correct "
				"masks)" },
		{ .name = "--scenario",
			.argument = "FILE",
			.text = &o.scenario_file,
			.help = "JSON file with sku, nodes, faults and cpu_masks" },
		{ .name = "--report",
			.argument = "FILE",
			.text = &o.report,
			.help = "output file of the report, as in muster run" },
		{ .name = "--alone",
			.flag = &o.alone,
			.help = "run `muster node` on one node, without mpirun, instead of `muster run`" },
		{ .name = "--prepare",
			.argument = "DIRECTORY",
			.text = &o.prepare,
			.help = "create this directory with the files of the simulation, and start nothing" },
		{ .name = "--keep", .flag = &o.keep, .help = "keep the files of the simulation, and print their path" },
		{ .name = "--list-faults", .flag = &o.list_faults, .help = "list the kinds of faults" },
		{ .name = "--list-skus", .flag = &o.list_skus, .help = "list the machine types that can be simulated" },
	};
	struct muster_error err = { 0 };
	int code = -1, stopped_by = 0;
	muster_sim_scenario_init(&o.scenario);
	struct muster_cli cli = {
		.usage = "muster sim --sku NAME [--nodes N] [--fault KIND@WHERE[=VALUE]]... [-- options of muster run]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Simulates ranks on this machine under mpirun, one per GPU, on nodes sim-1, sim-2, "
			    "...\nThe exit code is that of muster run.",
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
