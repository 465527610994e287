/* SPDX-License-Identifier: Apache-2.0 */
/* cli.c - options of a subcommand, read by a table
 *
 * Prints only for --help. What is wrong with the user's input goes to the caller as one sentence, because only the
 * caller knows whether this process is the one that should say it.
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

/* ---- --output ---- */

static struct muster_file output; /* what stdout is until muster_cli_printed */
static FILE *terminal;            /* what stdout was before */
static const char *output_path;

static void output_abandon(void)
{
	if (terminal)
		stdout = terminal;
	muster_file_abandon(&output);
}

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
	if (!isatty(STDOUT_FILENO))
		layout.columns = SIZE_MAX;
	return layout;
}

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

const struct muster_option *muster_cli_option(const struct muster_cli *cli, const char *word)
{
	size_t length = strcspn(word, "= ");
	const struct muster_option *option;
	for (size_t i = 0; (option = muster_cli_option_at(cli, i)); i++)
		if (strlen(option->name) == length && strncmp(option->name, word, length) == 0)
			return option;
	return NULL;
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

/* " is an option of muster run and muster node": each command is asked as a shell asks it. "" when no command has it.
 */
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

/* Put the argument, NULL for a flag, where the table says. */
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

/* Take the option at argv[*at], and its argument, which may be the next word. */
static int option_take(const struct muster_cli *cli, int argc, char **argv, int *at, struct muster_error *err)
{
	const char *word = argv[*at], *equals = strchr(word, '='), *text = NULL;
	const struct muster_option *option = muster_cli_option(cli, word);
	if (!option)
		return option_unknown(cli, word, argv[0], err);
	if (option->instead) {
		fprintf(stderr, "muster: %s is now %s\n", option->name, option->instead);
		text = strchr(option->instead, ' ');
		option = muster_cli_option(cli, option->instead);
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

/* 1 for --help. */
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
