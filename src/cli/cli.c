/* SPDX-License-Identifier: Apache-2.0 */
/* cli.c - options of a subcommand, read by a table
 *
 * Each subcommand, except run, node and sim, calls muster_cli_begin() first. In this order: the words are read
 * (words_take), the installed files are found (paths.c), and stdout becomes the file of --output (output_begin). So a
 * mistake in the options, or an output folder that is not there, ends the command before it has done anything.
 *
 * The rules for one word of the command line, of which the first that fits decides:
 *
 *    after "--"                      an operand; where the command takes_rest, "--" ends the reading instead
 *    "-"                             an operand: standard input, or standard output
 *    --help, -h                      the help is printed, and no later word is read
 *    begins with "-"                 an option of the table, and perhaps the next word as its argument (option_take)
 *    all others                      an operand, up to operands_most
 *
 * Checks of several options together are the command's own.
 *
 * The parser prints only for --help and --complete, and for the old spelling of an option. What is wrong with the
 * user's input goes to the caller as one sentence, because only the caller knows whether this process is the one that
 * should print it: of the ranks of a job only rank 0 does.
 */
#include "cli/cli.h"
#include "eval/derive.h"
#include "eval/select.h"
#include "muster/arena.h"
#include "muster/expect.h"
#include "muster/probe.h"
#include "transport/module.h"
#include "util/child.h"
#include "util/file.h"
#include "util/log.h"
#include "util/screen.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int muster_cli_usage(const struct muster_error *err)
{
	muster_log(MUSTER_LOG_ERROR, NULL, "%s", err->text);
	return MUSTER_EXIT_USAGE;
}

int muster_cli_unwritten(const struct muster_error *err)
{
	muster_log(MUSTER_LOG_ERROR, NULL, "%s", err->text);
	return MUSTER_EXIT_INCONCLUSIVE;
}

const char *const muster_cli_forms[] = { "text", "json" };

/* ---- --output ----
 *
 * What a command prints goes to stdout in any case. With --output FILE the variable stdout is the stream of a temporary
 * file beside FILE (of FILE itself, if that is a FIFO or a device), from output_begin() on. muster_cli_printed() gives
 * that file its name; a process that ends without that call removes the file (output_abandon). There is one such file
 * in a process, so the state is static.
 */

static struct muster_file output; /* the file of --output until muster_cli_printed; all NULL: stdout is as it was */
static FILE *terminal;            /* the stdout that the process began with; NULL without --output FILE */
static const char *output_path;   /* the value of --output, which the table of common options sets */

/* For atexit(3): remove the temporary file, unless muster_cli_printed() has given it its name. */
static void output_abandon(void)
{
	if (terminal)
		stdout = terminal;
	muster_file_abandon(&output);
}

/* Let stdout be the file of --output. Nothing changes without the option, for "-", and of a command that does not
 * print. -1 with err when the file cannot be made. */
static int output_begin(struct muster_cli *cli, struct muster_error *err)
{
	cli->output = cli->prints ? output_path : NULL;
	if (!cli->output || strcmp(cli->output, "-") == 0)
		return 0;
	if (muster_file_open(&output, cli->output, err) < 0)
		return -1;
	terminal = stdout;
	stdout = output.out;
	return atexit(output_abandon) == 0 ? 0 : muster_fail(err, MUSTER_EIO, "--output: no memory");
}

/* muster_file_commit() flushes and checks the stream of both kinds: without --output it is given stdout itself, so that
 * a full disk behind stdout is an error of the command too. */
int muster_cli_printed(int code)
{
	struct muster_error err;
	if (!output.out)
		output.out = stdout;
	else
		stdout = terminal;
	if (muster_file_commit(&output, &err) == 0)
		return code;
	return muster_cli_unwritten(&err);
}

struct muster_layout muster_cli_layout(FILE *out, const char *path)
{
	struct muster_screen screen;
	bool is_terminal = isatty(fileno(out));
	muster_screen_of(out, &screen);
	return (struct muster_layout){
		.colour = is_terminal && !getenv("NO_COLOR"),
		.columns = screen.columns,
		.lines = is_terminal ? screen.lines : 0,
		.path = path && strcmp(path, "-") != 0 ? path : NULL,
	};
}

struct muster_layout muster_cli_list_layout(void)
{
	struct muster_layout layout = muster_cli_layout(stdout, NULL);
	if (!isatty(fileno(stdout)))
		layout.columns = SIZE_MAX;
	return layout;
}

/* The report is derived, evaluated and published in this process, as rank 0 does it at the end of a run. When the JSON
 * goes to stdout, the summary goes to stderr: a program that reads stdout gets JSON alone. */
int muster_cli_judge(struct muster_selection *choice, struct muster_run *run, enum muster_strictness strict,
	const char *path, const char *otherwise)
{
	bool to_stdout = path && strcmp(path, "-") == 0;
	struct muster_report report;
	muster_run_derive(run);
	muster_selection_evaluate(choice, run, strict, &report);
	int code =
		muster_report_publish(&report, &(struct muster_publishing){
						       .path = path,
						       .named = path ? path : otherwise,
						       .layout = muster_cli_layout(to_stdout ? stderr : stdout, NULL),
					       });
	muster_report_done(&report);
	return muster_cli_printed(code);
}

/* *ret has room for all files of the folder, and *ret_count of them are filled in: a file that only others extend is no
 * machine type and is released here. A mistake in a parent file makes each child fail with the same sentence, and the
 * files come in one order, so a sentence that equals the one before it is not printed again. */
int muster_cli_types(const char *configs, struct muster_arena *arena, struct muster_expect **ret, size_t *ret_count)
{
	struct muster_error err, said = { 0 };
	const char **names;
	size_t count = 0;
	int code = MUSTER_EXIT_PASS;
	*ret_count = 0;
	if (muster_expect_names(configs, arena, &names, &count, &err) < 0)
		return muster_cli_usage(&err);
	*ret = muster_arena_alloc(arena, (count + 1) * sizeof **ret);
	for (size_t i = 0; i < count; i++) {
		struct muster_expect *type = &(*ret)[*ret_count];
		if (muster_expect_load(configs, names[i], NULL, type, &err) < 0) {
			if (code == MUSTER_EXIT_PASS || strcmp(err.text, said.text) != 0) /* of a parent: once */
				code = muster_cli_usage(&err);
			said = err;
			continue;
		}
		if (muster_is_machine_type(type))
			++*ret_count;
		else
			muster_expect_done(type);
	}
	return code;
}

const struct muster_metric *muster_cli_metric(const char *name, const char *what, struct muster_error *err)
{
	const struct muster_metric *metric = muster_metric_find(name);
	char near[MUSTER_SUGGEST_MAX];
	if (metric)
		return metric;
	const char **all = muster_calloc(muster_metric_count(), sizeof *all);
	for (size_t i = 0; i < muster_metric_count(); i++)
		all[i] = muster_metric_at(i)->name;
	muster_fail(err, MUSTER_EUSAGE, "%s: no such metric: \"%.100s\"%s (muster metrics lists all)", what, name,
		muster_suggest(name, all, muster_metric_count(), sizeof *all, near));
	free(all);
	return NULL;
}

/* ---- options ---- */

const struct muster_option *muster_cli_option_at(const struct muster_cli *cli, size_t i)
{
	static const struct muster_option common[] = {
		{ "--output", "FILE",
			"write to FILE, completely or not at all (exit code 3); - is standard output (default)",
			.text = &output_path, .group = MUSTER_GROUP_OUTPUT },
		{ "--help", NULL, "print this help", .group = MUSTER_GROUP_OUTPUT },
	};
	size_t place = i < cli->option_count ? 0 : i - cli->option_count + !cli->prints;
	return i < cli->option_count ? &cli->options[i] : place < 2 ? &common[place] : NULL;
}

/* The option of this name, which has `length` bytes. */
static const struct muster_option *option_find(const struct muster_cli *cli, const char *word, size_t length)
{
	const struct muster_option *option;
	for (size_t i = 0; (option = muster_cli_option_at(cli, i)); i++)
		if (strlen(option->name) == length && strncmp(option->name, word, length) == 0)
			return option;
	return NULL;
}

const struct muster_option *muster_cli_option(const struct muster_cli *cli, const char *word)
{
	return option_find(cli, word, strcspn(word, "="));
}

/* Put the lines that muster prints for these words into ret; the caller releases it where this is true. */
static bool asked(
	const char *program, const char *first, const char *second, const char *third, struct muster_child_output *ret)
{
	enum { DEADLINE_MS = 2000 };
	const char *const argv[] = { program, first, second, third, NULL };
	struct muster_error ignored;
	return muster_child_run(argv, DEADLINE_MS, ret, &ignored) == 0;
}

/* " is an option of muster run, muster node", for an option that this command does not have; "" when no command has it.
 * The commands are in main.c, which this folder must not call, so the program is run as a shell runs it for its
 * completion: first for the list of commands, then each command for its options. What
 * has no room in out is cut. */
static const char *owners_find(const char *option, char out[MUSTER_SUGGEST_MAX])
{
	struct muster_child_output commands, options;
	struct muster_paths paths;
	struct muster_error ignored;
	size_t used = 0, length = strlen(option);
	out[0] = '\0';
	/* a test that has this code is not muster; of a job's ranks only the first speaks */
	if (muster_paths_find(&paths, &ignored) < 0 || strcmp(strrchr(paths.program, '/'), "/muster") != 0 ||
		muster_launch_rank() != 0 || !asked(paths.program, MUSTER_COMPLETE, "", NULL, &commands))
		return out;
	char *next = commands.out;
	for (char *line; (line = strsep(&next, "\n")) && used < MUSTER_SUGGEST_MAX;) {
		line[strcspn(line, "\t")] = '\0';
		if (*line < 'a' || !asked(paths.program, line, MUSTER_COMPLETE, option, &options))
			continue;
		if (strncmp(options.out, option, length) == 0 && options.out[length] == '\t')
			used += (size_t)snprintf(out + used, MUSTER_SUGGEST_MAX - used, "%s muster %s",
				used ? "," : " is an option of", line);
		muster_child_output_done(&options);
	}
	muster_child_output_done(&commands);
	return out;
}

/* -1 with err: another command that has the option, or else the option of this command with the most similar name. A
 * name with one hyphen ("-report") is looked up with two. Old spellings are not suggested. */
static int option_unknown(const struct muster_cli *cli, const char *word, const char *command, struct muster_error *err)
{
	const char *names[MUSTER_OPTIONS_MAX];
	const struct muster_option *option;
	char near[MUSTER_SUGGEST_MAX], name[64];
	size_t count = 0;
	snprintf(name, sizeof name, "%s%.*s", word[1] == '-' ? "" : "-", (int)strcspn(word, "="), word);
	for (size_t i = 0; (option = muster_cli_option_at(cli, i)) && count < MUSTER_OPTIONS_MAX; i++)
		if (!option->instead)
			names[count++] = option->name;
	if (*owners_find(name, near))
		return muster_fail(err, MUSTER_EUSAGE, "%s%s (muster %s --help lists the options of this command)",
			name, near, command);
	return muster_fail(err, MUSTER_EUSAGE, "unknown option %.*s%s (muster %s --help lists all options)",
		(int)strcspn(word, "="), word, muster_suggest(name, names, count, sizeof *names, near), command);
}

/* Store the argument of one occurrence, or NULL for an option that was given without one, in each place that the table
 * names. An option with a flag and a text (--storage [DIR]) sets both: the flag says that the option was given, and the
 * text is NULL without an argument. -1 with err, which names the option. */
static int argument_put(const struct muster_option *option, const char *text, struct muster_error *err)
{
	if (option->flag)
		*option->flag = true;
	if (option->text)
		*option->text = text;
	if (option->number) {
		long number;
		if ((option->is_time ? muster_parse_seconds : muster_parse_int)(
			    text, option->low, option->high, &number, option->name, err) < 0)
			return -1;
		*option->number = (int)number;
	}
	if (option->bytes && muster_parse_bytes(text, option->bytes, option->name, err) < 0)
		return -1;
	if (option->choice) {
		int place = text ? muster_parse_name(text, option->names, option->name_count, option->name, err)
				 : option->bare;
		if (place < 0)
			return -1;
		*(int *)option->choice = place;
	}
	return option->each ? option->each(option->arg, text, err) : 0;
}

/* Take the option at argv[*at] and its argument. *at moves to the next word when that word is the argument; the caller
 * goes on behind *at.
 *
 *    --name=value                    the argument is what follows "="; it must not be empty
 *    --name, a flag                  no argument; "--name=x" is an error
 *    --name, with `bare`             no argument: the choice `bare` counts, and the next word is not looked at
 *    --name, is_path_optional        the next word is the argument only when it begins with "/"
 *    --name, all others              the next word is the argument; it is missing when it begins with "--" or is empty
 *
 * The old spelling of an option prints the new one on stderr and is then read as the new one. Where the new spelling
 * has a value of its own ("--format json"), the old one needs no argument. */
static int option_take(const struct muster_cli *cli, int argc, char **argv, int *at, struct muster_error *err)
{
	const char *word = argv[*at], *equals = strchr(word, '='), *text = NULL;
	const struct muster_option *option = muster_cli_option(cli, word);
	if (!option)
		return option_unknown(cli, word, argv[0], err);
	if (option->instead) {
		fprintf(stderr, "muster: %s is now %s\n", option->name, option->instead);
		text = strchr(option->instead, ' ');
		option = option_find(cli, option->instead, strcspn(option->instead, " "));
		if (text && !equals)
			return argument_put(option, text + 1, err);
	}
	if (!option->argument && equals)
		return muster_fail(err, MUSTER_EUSAGE, "%s takes no value", option->name);
	if (equals)
		text = equals + 1;
	else if (option->bare || (option->is_path_optional && (*at + 1 >= argc || argv[*at + 1][0] != '/')))
		return argument_put(option, NULL, err);
	else if (option->argument && *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0)
		text = argv[++*at];
	if (option->argument && (!text || !*text))
		return muster_fail(err, MUSTER_EUSAGE, "%s needs a value: %s", option->name, option->argument);
	return argument_put(option, text, err);
}

/* Read argv[1] and the words after it. 0 when all were read; 1 for --help, which is printed; -1 with err. cli->rest is
 * then the index of the first word behind "--" for a command that takes_rest, else argc. */
static int words_take(struct muster_cli *cli, int argc, char **argv, struct muster_error *err)
{
	bool ended = false; /* all that follows "--" is operands */
	for (cli->rest = 1; cli->rest < argc; cli->rest++) {
		const char *word = argv[cli->rest];
		bool is_option = !ended && word[0] == '-' && word[1];
		if (is_option && strcmp(word, "--") == 0) {
			ended = true;
			if (!cli->takes_rest)
				continue;
			cli->rest++;
			break;
		}
		if (is_option && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
			if (!cli->silent)
				muster_help_print(cli);
			return 1;
		}
		if (is_option) {
			if (option_take(cli, argc, argv, &cli->rest, err) < 0)
				return -1;
			continue;
		}
		if (cli->operand_count == cli->operands_most)
			return muster_fail(
				err, MUSTER_EUSAGE, "unexpected argument '%s' (usage: %s)", word, cli->usage);
		cli->operands[cli->operand_count++] = word;
	}
	return 0;
}

/* --complete is looked for in the first place only: a shell always puts it there, and an operand or argument of that
 * name is none of its calls. Too few operands are an error of the command, whose name is argv[0]. */
int muster_cli_parse(struct muster_cli *cli, int argc, char **argv, struct muster_error *err)
{
	if (argc > 1 && strcmp(argv[1], MUSTER_COMPLETE) == 0) {
		muster_complete(cli, argc - 1, argv + 1);
		return 1;
	}
	cli->operand_count = 0;
	int result = words_take(cli, argc, argv, err);

	if (result != 0)
		return result;
	if (cli->operand_count < cli->operands_least)
		return muster_fail(err, MUSTER_EUSAGE, "%s: %s", argv[0], cli->needed);
	return 0;
}

bool muster_cli_begin(struct muster_cli *cli, int argc, char **argv, struct muster_paths *paths, int *ret_code)
{
	struct muster_error err;
	int parsed = muster_cli_parse(cli, argc, argv, &err);
	if (parsed == 0 && paths)
		parsed = muster_paths_find(paths, &err);
	if (parsed == 0)
		parsed = output_begin(cli, &err);
	if (parsed < 0)
		*ret_code = muster_cli_usage(&err);
	else
		*ret_code = MUSTER_EXIT_PASS;
	return parsed == 0;
}
