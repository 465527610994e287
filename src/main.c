/* main.c - the subcommands */
#include "cli/cli.h"
#include "muster/report.h"
#include "worker/worker.h"

#include <stdio.h>
#include <string.h>

static const struct muster_command commands[] = {
	{ .name = "run",
		.summary = "measure this job's nodes and judge them (under srun or mpirun)",
		.main = muster_cmd_run },
	{ .name = "node", .summary = "measure this node alone, without a launcher", .main = muster_cmd_node },
	{ .name = "check", .summary = "judge a saved report again", .main = muster_cmd_check },
	{ .name = "assemble",
		.summary = "the report of a run that died, from what its ranks left on disk",
		.main = muster_cmd_assemble },
	{ .name = "sim",
		.summary = "a simulated cluster on this machine: demo, faults, tests",
		.main = muster_cmd_sim },
	{ .name = "metrics", .summary = "everything that can be measured", .main = muster_cmd_metrics },
	{ .name = "skus",
		.summary = "the machine types that are known, and what each must show",
		.main = muster_cmd_skus },
	{ .name = "lint", .summary = "what is wrong with an expectation file", .main = muster_cmd_lint },
	{ .name = "bind",
		.summary = "CPU masks, GPU order and gres.conf lines that put ranks next to their GPUs",
		.main = muster_cmd_bind },
	{ .name = "report",
		.summary = "a saved report as text, JSON, JUnit XML or Markdown",
		.main = muster_cmd_report },
	{ .name = "diff",
		.summary = "what is worse, better or changed between two saved reports",
		.main = muster_cmd_diff },
	{ .name = "nodes",
		.summary = "the good, the bad and the missing nodes of a saved report",
		.main = muster_cmd_nodes },
	{ .name = "drain", .summary = "drain the bad nodes of a saved report in Slurm", .main = muster_cmd_drain },
	{ .name = "resume", .summary = "give back to Slurm what muster has drained", .main = muster_cmd_resume },
	{ .name = "worker", .main = muster_cmd_worker, .hidden = true },
	{ .name = "sim-rank", .main = muster_cmd_sim_rank, .hidden = true },
	{ .name = "sim-worker", .main = muster_cmd_sim_worker, .hidden = true },
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void print_usage(FILE *out)
{
	fputs("muster " MUSTER_VERSION
	      ": is this GPU cluster fit to start an expensive job?\n\nusage: muster COMMAND [options]\n\n",
		out);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!commands[i].hidden)
			fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\n`muster COMMAND --help` says more. Exit codes: 0 pass, 1 fail, 2 usage, 3 inconclusive.\n", out);
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
	fprintf(stderr, "muster: unknown command \"%.60s\"; `muster --help` lists them\n", argv[1]);
	return MUSTER_EXIT_USAGE;
}
