/* main.c - the subcommands */
#include "cli/cli.h"
#include "muster/report.h"
#include "worker/worker.h"

#include <stdio.h>
#include <string.h>

static const struct muster_command commands[] = {
	{ .name = "run",
		.summary = "measure and check the nodes of this job (under srun or mpirun)",
		.main = muster_cmd_run },
	{ .name = "node", .summary = "measure and check this node only, without a launcher", .main = muster_cmd_node },
	{ .name = "check", .summary = "evaluate a saved report again", .main = muster_cmd_check },
	{ .name = "assemble",
		.summary = "build the report of a run that died, from files on disk",
		.main = muster_cmd_assemble },
	{ .name = "sim", .summary = "run on a simulated cluster, with faults", .main = muster_cmd_sim },
	{ .name = "metrics", .summary = "list the metrics that can be measured", .main = muster_cmd_metrics },
	{ .name = "skus", .summary = "list the machine types and their checks", .main = muster_cmd_skus },
	{ .name = "lint", .summary = "find mistakes in expectation files", .main = muster_cmd_lint },
	{ .name = "bind",
		.summary = "print CPU masks, GPU order and gres.conf lines that place ranks next to their GPUs",
		.main = muster_cmd_bind },
	{ .name = "report",
		.summary = "print a saved report as text, JSON, JUnit XML or Markdown",
		.main = muster_cmd_report },
	{ .name = "diff", .summary = "compare two saved reports: worse, better, changed", .main = muster_cmd_diff },
	{ .name = "nodes",
		.summary = "list the good, bad or missing nodes of a saved report",
		.main = muster_cmd_nodes },
	{ .name = "drain", .summary = "drain the failed nodes of a saved report in Slurm", .main = muster_cmd_drain },
	{ .name = "resume", .summary = "undrain nodes that muster drained", .main = muster_cmd_resume },
	{ .name = "worker", .main = muster_cmd_worker, .hidden = true },
	{ .name = "sim-rank", .main = muster_cmd_sim_rank, .hidden = true },
	{ .name = "sim-worker", .main = muster_cmd_sim_worker, .hidden = true },
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void print_usage(FILE *out)
{
	fputs("muster " MUSTER_VERSION ": preflight check of a GPU cluster\n\nusage: muster COMMAND [options]\n\n",
		out);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!commands[i].hidden)
			fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\nRun `muster COMMAND --help` for details. Exit codes: 0 pass, 1 fail, 2 usage, 3 inconclusive.\n", out);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_usage(stderr);
		return MUSTER_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		print_usage(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("muster " MUSTER_VERSION);
		return 0;
	}
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].main(argc - 1, argv + 1);
	fprintf(stderr, "muster: unknown command \"%.60s\"; `muster --help` lists all commands\n", argv[1]);
	return MUSTER_EXIT_USAGE;
}
