/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h - what every subcommand has
 *
 * The life of a command: muster_cli_begin() reads its arguments by a table, or prints the help, and from then on stdout
 * is the file of --output, under a temporary name; the command prints; muster_cli_printed() gives that file its name,
 * or says what was not written. A command that fails in between returns muster_cli_usage(): the temporary file is
 * removed as the process ends, and a file of an earlier run stays as it is.
 *
 * Exit codes (enum muster_exit): 0; 1 only where a check failed or runs got worse; 2 for what the user can correct; 3
 * for what could not be evaluated, read or written.
 */
#ifndef MUSTER_CLI_CLI_H
#define MUSTER_CLI_CLI_H

#include "cli/complete.h"
#include "muster/error.h"
#include "muster/finding.h"
#include "muster/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct muster_command {
	const char *name, *summary; /* name first, for muster_suggest; without a summary: for muster's own use */
	int (*main)(int argc, char **argv); /* argv[0] is the subcommand's name; returns the exit code */
};

int muster_cmd_run(int argc, char **argv);
int muster_cmd_node(int argc, char **argv);
int muster_cmd_sim(int argc, char **argv);
int muster_cmd_check(int argc, char **argv);
int muster_cmd_assemble(int argc, char **argv);
int muster_cmd_metrics(int argc, char **argv);
int muster_cmd_skus(int argc, char **argv);
int muster_cmd_lint(int argc, char **argv);
int muster_cmd_explain(int argc, char **argv);
int muster_cmd_bind(int argc, char **argv);
int muster_cmd_nodes(int argc, char **argv);
int muster_cmd_drain(int argc, char **argv);
int muster_cmd_resume(int argc, char **argv);
int muster_cmd_report(int argc, char **argv);
int muster_cmd_baseline(int argc, char **argv);
int muster_cmd_diff(int argc, char **argv);
int muster_cmd_history(int argc, char **argv);
int muster_cmd_ticket(int argc, char **argv);

/* "muster: <text>" on stderr, and MUSTER_EXIT_USAGE. */
int muster_cli_usage(const struct muster_error *err);

/* The exit code of a command that has printed all that it has to say: code, or MUSTER_EXIT_INCONCLUSIVE with a line on
 * stderr when stdout, or the file of --output, did not take it. That file is there only from now on. */
int muster_cli_printed(int code);

/* How text to a stream is laid out: colours on a terminal without $NO_COLOR, and the terminal's size. path: of the
 * report that it is about, or NULL. */
struct muster_layout muster_cli_layout(FILE *out, const char *path);
/* The same of a list to standard output: what is no terminal gets each entry on one line, however long, for grep. */
struct muster_layout muster_cli_list_layout(void);

/* "muster: <text>" on stderr, and MUSTER_EXIT_INCONCLUSIVE: of what could not be written. */
int muster_cli_unwritten(const struct muster_error *err);

/* The metric that the user names; NULL with err, which says what the user may have meant. what: "--metric". */
struct muster_metric;
const struct muster_metric *muster_cli_metric(const char *name, const char *what, struct muster_error *err);

/* Judge the run by the expectations and publish the report: to path (NULL: to no file), or under the name `otherwise`.
 * Returns the exit code. */
struct muster_selection;
struct muster_run;
int muster_cli_judge(struct muster_selection *choice, struct muster_run *run, enum muster_strictness strict,
	const char *path, const char *otherwise);

/* --strict, of every command that judges: into an enum muster_strictness. */
#define MUSTER_CLI_STRICT(into, more)                                                                                  \
	{                                                                                                              \
		"--strict", "[=all]",                                                                                  \
			"warnings and inconclusive results fail the run, but no warning of an inferred value; all: "   \
			"that too" more,                                                                               \
			MUSTER_CLI_CHOICE(into, muster_strictness_names), .bare = MUSTER_STRICT,                       \
									  .group = MUSTER_GROUP_THRESHOLDS             \
	}

/* --format, of every command that prints text or JSON: into an enum muster_form; MUSTER_CLI_JSON is an old spelling of
 * --format json, for the same table. */
enum muster_form { MUSTER_FORM_TEXT, MUSTER_FORM_JSON };
extern const char *const muster_cli_forms[2];
#define MUSTER_CLI_FORMAT(into)                                                                                        \
	{                                                                                                              \
		"--format", "FORMAT", "text (default) or json", MUSTER_CLI_CHOICE(into, muster_cli_forms),             \
			.group = MUSTER_GROUP_OUTPUT                                                                   \
	}
#define MUSTER_CLI_JSON                                                                                                \
	{                                                                                                              \
		"--json", .instead = "--format json"                                                                   \
	}

/* Where the installation keeps things, found relative to the running binary: in the build tree or in an install prefix.
 * Pointers stay valid for the life of the process. */
struct muster_paths {
	const char *program;   /* the muster binary */
	const char *simulator; /* muster-sim, which may not be installed */
	const char *configs;   /* expectation files */
	const char *standins;  /* the stand-in libraries */
	const char *hardware;  /* hardware descriptions for the simulation */
	const char *noise;     /* recorded noise for the simulation */
	const char *mpi;       /* MPI modules */
};
int muster_paths_find(struct muster_paths *ret, struct muster_error *err);

/* All machine types of the folder, in an arena; the caller ends each with muster_expect_done. A file that cannot be
 * read is named on stderr, and the others are there all the same: MUSTER_EXIT_USAGE. */
struct muster_arena;
struct muster_expect;
int muster_cli_types(const char *configs, struct muster_arena *arena, struct muster_expect **ret, size_t *ret_count);

/* The words that MUSTER_SIM_WRAPPER puts before each program of a simulation, to `to`. Returns how many they are. */
enum { MUSTER_WRAPPER_WORDS_MAX = 32 };
size_t muster_cli_wrapper(struct muster_arena *arena, const char **to);

/* How the help groups the options of a command; one group is enough for most commands. */
enum muster_option_group {
	MUSTER_GROUP_WHAT = 0,
	MUSTER_GROUP_THRESHOLDS,
	MUSTER_GROUP_OUTPUT,
	MUSTER_GROUP_STORAGE,
	MUSTER_GROUP_EXPERT,
	MUSTER_GROUP_COUNT,
	MUSTER_GROUP_PASSED_ON = MUSTER_GROUP_COUNT /* to another command, whose help has the option */
};

/* One option of a subcommand. A command has a table of them, and the help, the completion and the parser read it. A row
 * sets one of flag, text, number, bytes, choice and each, which says where the argument goes and how it is checked
 * (flag and text together: [DIR]). Where the user gives an option several times, the last one counts, except with
 * `each`. */
struct muster_option {
	const char *name;     /* "--report" */
	const char *argument; /* "FILE"; NULL for a flag */
	const char *help;
	bool is_path_optional; /* the argument is a path, and the next word only when that begins with '/' */
	bool *flag;
	const char **text;
	int *number; /* a whole number from low to high */
	long low, high;
	bool is_time;             /* the number is of seconds, and "90s", "5m" and "2h" are such numbers too */
	uint64_t *bytes;          /* "8M" */
	void *choice;             /* an enum: the place of the argument in names */
	const char *const *names; /* name_count of them */
	size_t name_count;
	int bare; /* 0, or the choice without an argument, which is then given only after a '=' */
	int (*each)(void *arg, const char *text, struct muster_error *err); /* called for every occurrence instead */
	void *arg;
	muster_words
		*words; /* what a shell offers as the argument; NULL: names, or what the word for it says (FILE, DIR) */
	enum muster_option_group group;
	const char *instead; /* of an old spelling: the new one, with its value if that is always the same: "--format
				json" */
};

/* For the initialiser of a struct muster_option: an argument that is one of the names. */
#define MUSTER_CLI_CHOICE(into, array) .choice = (into), .names = (array), .name_count = sizeof(array) / sizeof *(array)

enum { MUSTER_OPTIONS_MAX = 64 }; /* of one command */

struct muster_cli {
	const char *usage; /* "muster check REPORT [options]" */
	const struct muster_option *options;
	size_t option_count;
	const char *epilogue;  /* of the help; NULL for none */
	const char **operands; /* room for operands_most; what was found */
	size_t operands_least, operands_most;
	const char *needed;                         /* said when there are fewer than the least */
	muster_words *words;                        /* what a shell offers as operands; NULL: nothing */
	bool prints;                                /* the command has --output FILE, which takes what goes to stdout */
	bool takes_rest;                            /* what stands behind "--" is for the caller; else it is operands */
	int (*rest_command)(int argc, char **argv); /* whose options stand behind "--"; NULL: operands do */
	bool silent;                                /* another process prints the help: of a job's ranks one does */
	const char *output;                         /* found: the value of --output; NULL */
	size_t operand_count;                       /* found */
	int rest;                                   /* found: index of the first argument behind "--", or argc */
};

/* For the initialiser of a struct muster_cli: an array of options; exactly so many operands. */
#define MUSTER_CLI_OPTIONS(table) .options = (table), .option_count = sizeof(table) / sizeof *(table)
#define MUSTER_CLI_OPERANDS(to, count) .operands = (to), .operands_least = (count), .operands_most = (count)

/* The option at this place: those of the table, then --output and --help; NULL after the last. */
const struct muster_option *muster_cli_option_at(const struct muster_cli *cli, size_t i);
/* The option that a word names, "--report" or "--report=FILE"; NULL when there is none. */
const struct muster_option *muster_cli_option(const struct muster_cli *cli, const char *word);

/* help.c: print the help to stdout; one row of it, its text from a column on; a text that begins at a column and goes
 * on at the indent. 80 columns wide. */
void muster_help_print(const struct muster_cli *cli);
void muster_help_row(FILE *out, const char *name, const char *text, int column);
void muster_help_text(FILE *out, const char *text, int at, int indent);

/* Parse argv[1..] by the table ("--name value" and "--name=value"). Anything that is no option is an operand, and so is
 * all that follows "--". "--help" prints usage, the table and the epilogue, and gives 1; so does "--complete"
 * (complete.h). 0 when parsed; -1 with err, and nothing printed, for anything unknown, too much or too little. */
int muster_cli_parse(struct muster_cli *cli, int argc, char **argv, struct muster_error *err);

/* The same, then find the paths (NULL: the command needs none), and let stdout be the file of --output until
 * muster_cli_printed. False: the command has printed its help or an error, and *ret_code is its exit code. */
bool muster_cli_begin(struct muster_cli *cli, int argc, char **argv, struct muster_paths *paths, int *ret_code);

#endif
