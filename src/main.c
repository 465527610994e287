/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the subcommands
 *
 * main() looks argv[1] up in the table `commands` and calls the function of that row with the words from argv[1] on:
 * the argv[0] of a command is its name in the table. Each command reads its own options (cli/cli.h), and the value that
 * it returns is the exit code of the process. A run ends the process itself (coord/process.h), and
 * `muster sim` and `muster bind --exec` become another program.
 *
 * Rows with a summary are for users: the help, the completion of a shell and the suggestions for a mistyped name show
 * these rows, and they stand first. The rows without a summary are:
 *
 *    --help, -h, --version, -V       other spellings of `help` and `version`
 *    --complete                      what a shell calls for the first word (cli/complete.h)
 *    worker                          the worker process of a rank, which the supervisor of that rank starts
 *    sim-rank, sim-worker            processes of a simulation, which muster-sim starts (sim/main.c)
 */
#include "cli/cli.h"
#include "muster/report.h"
#include "util/text.h"
#include "util/version.h"
#include "worker/worker.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static int help(int argc, char **argv);
static int version(int argc, char **argv);
static int complete(int argc, char **argv);

static const struct muster_command commands[] = {
	{ "run", "measure and check the nodes of this job (under srun or mpirun)", muster_cmd_run },
	{ "node", "measure and check this node only, without a launcher", muster_cmd_node },
	{ "check", "evaluate a saved report again", muster_cmd_check },
	{ "assemble", "build the report of a run that died, from files on disk", muster_cmd_assemble },
	{ "sim", "run on a simulated cluster, with faults", muster_cmd_sim },
	{ "metrics", "list the metrics that can be measured", muster_cmd_metrics },
	{ "skus", "list the machine types and their checks", muster_cmd_skus },
	{ "explain", "say what an id of a report means, why, and what to do", muster_cmd_explain },
	{ "lint", "find mistakes in expectation files", muster_cmd_lint },
	{ "bind", "print CPU masks, GPU order and gres.conf lines that place ranks next to their GPUs",
		muster_cmd_bind },
	{ "report", "print a saved report as text, JSON, JUnit XML, Markdown, HTML or for Prometheus",
		muster_cmd_report },
	{ "baseline", "learn from saved reports what machines of a type usually measure", muster_cmd_baseline },
	{ "diff", "compare two saved reports: worse, better, changed", muster_cmd_diff },
	{ "history",
		"keep reports in a database (history add), and ask it: nodes and values over time, history flapping, "
		"worst, diff, trial",
		muster_cmd_history },
	{ "nodes", "list the good, bad or missing nodes of a saved report", muster_cmd_nodes },
	{ "drain", "drain the failed nodes of a saved report in Slurm", muster_cmd_drain },
	{ "resume", "undrain nodes that muster drained", muster_cmd_resume },
	{ "ticket", "print what the cloud's support desk asks for about a failed node", muster_cmd_ticket },
	{ "help", "print this help; `muster help COMMAND` is `muster COMMAND --help`", help },
	{ "version", "print the version, as --version and -V", version },
	{ "--help", NULL, help },
	{ "-h", NULL, help },
	{ "--version", NULL, version },
	{ "-V", NULL, version },
	{ MUSTER_COMPLETE, NULL, complete },
	{ "worker", NULL, muster_cmd_worker },
	{ "sim-rank", NULL, muster_cmd_sim },
	{ "sim-worker", NULL, muster_cmd_sim },
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands, COLUMN = 12 };

static void print_usage(FILE *out)
{
	fprintf(out, "muster %s: preflight check of a GPU cluster\n\nusage: muster COMMAND [options]\n\n",
		muster_version);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (commands[i].summary)
			muster_help_row(out, commands[i].name, commands[i].summary, COLUMN);
	fputs("\nExit codes: 0 pass, 1 fail, 2 usage, 3 inconclusive.\n", out);
}

static const struct muster_command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(name, commands[i].name) == 0)
			return &commands[i];
	return NULL;
}

static int unknown_command(const char *name)
{
	size_t shown = 0; /* number of rows with a summary */
	char near[MUSTER_SUGGEST_MAX];
	while (commands[shown].summary)
		shown++;
	fprintf(stderr, "muster: unknown command \"%.60s\"%s (muster --help lists all commands)\n", name,
		muster_suggest(name, commands, shown, sizeof *commands, near));
	return MUSTER_EXIT_USAGE;
}

/* Four cases, of which the first that fits decides:
 *
 *    muster help --complete WORD     a shell completes the operand of help: it is offered the names of commands
 *    muster help UNKNOWN             an error with a suggestion
 *    muster help COMMAND             the command itself is called with --help, so that there is one help of it
 *    muster help, muster help help   the list of commands
 */
static int help(int argc, char **argv)
{
	const struct muster_command *command = argc > 1 ? find_command(argv[1]) : NULL;
	if (command && command->main == complete)
		return complete(argc - 1, argv + 1);
	char word[] = "--help", *words[] = { argc > 1 ? argv[1] : word, word, NULL };
	if (argc > 1 && !command)
		return unknown_command(argv[1]);
	if (command && command->main != help)
		return command->main(2, words);
	print_usage(stdout);
	return MUSTER_EXIT_PASS;
}

static int version(int argc, char **argv)
{
	struct muster_cli cli = { .usage = "muster version" };
	int code;
	if (!muster_cli_begin(&cli, argc, argv, NULL, &code))
		return code;
	printf("muster %s\n", muster_version);
	return muster_cli_printed(MUSTER_EXIT_PASS);
}

/* The answer to `muster --complete WORD`: the names of commands that begin with WORD, in the form that cli/complete.h
 * describes. argv[0] is not looked at. */
static int complete(int argc, char **argv)
{
	const struct muster_typed typed = { .before = "", .word = argc > 1 ? argv[1] : "" };
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (commands[i].summary)
			muster_offer(&typed, commands[i].name, commands[i].summary);
	muster_offer(&typed, "--help", "print this help");
	muster_offer(&typed, "--version", "print the version");
	return MUSTER_EXIT_PASS;
}

int main(int argc, char **argv)
{
	signal(SIGXFSZ, SIG_IGN); /* past a limit on file sizes a write fails, and says so */
	if (argc < 2) {
		print_usage(stderr);
		return MUSTER_EXIT_USAGE;
	}
	const struct muster_command *command = find_command(argv[1]);
	return command ? command->main(argc - 1, argv + 1) : unknown_command(argv[1]);
}
