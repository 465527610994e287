/* cli.c - options of a subcommand, read by a table
 *
 * Prints only for --help. What is wrong with the user's input goes to the caller as one sentence, because only the
 * caller knows whether this process is the one that should say it.
 */
#include "cli/cli.h"
#include "eval/derive.h"
#include "eval/select.h"
#include "muster/report.h"
#include "util/log.h"
#include "util/screen.h"
#include "util/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int muster_cli_usage(const struct muster_error *err)
{
	muster_log(MUSTER_LOG_ERROR, NULL, "%s", err->text);
	return MUSTER_EXIT_USAGE;
}

int muster_cli_printed(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	muster_log(MUSTER_LOG_ERROR, NULL, "stdout: %s", strerror(errno));
	return MUSTER_EXIT_INCONCLUSIVE;
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
	return code;
}

static void help_print(const struct muster_cli *cli)
{
	const struct muster_option *options = cli->options;
	size_t width = strlen("--help");
	for (size_t i = 0; i < cli->option_count; i++) {
		size_t length = strlen(options[i].name) + (options[i].argument ? strlen(options[i].argument) + 1 : 0);
		width = length > width ? length : width;
	}
	printf("usage: %s\n\n", cli->usage);
	for (size_t i = 0; i < cli->option_count; i++) {
		int used = printf("  %s%s%s", options[i].name, options[i].argument && !options[i].bare ? " " : "",
			options[i].argument ? options[i].argument : "");
		printf("%*s%s\n", (int)width + 4 - used, "", options[i].help);
	}
	printf("  %-*s%s\n", (int)width + 2, "--help", "print this help");
	if (cli->epilogue)
		printf("\n%s%s", cli->epilogue, cli->epilogue[strlen(cli->epilogue) - 1] == '\n' ? "" : "\n");
}

const struct muster_option *muster_cli_option(const struct muster_cli *cli, const char *word)
{
	size_t length = strcspn(word, "=");
	for (size_t i = 0; i < cli->option_count; i++)
		if (strlen(cli->options[i].name) == length && strncmp(cli->options[i].name, word, length) == 0)
			return &cli->options[i];
	return NULL;
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
		if (muster_parse_int(text, option->low, option->high, &number, option->name, err) < 0)
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
		return muster_fail(err, MUSTER_EUSAGE, "unknown option %.*s (muster %s --help lists all options)",
			(int)strcspn(word, "="), word, argv[0]);
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

/* Options and operands, up to "--". 1 for --help. */
static int words_take(struct muster_cli *cli, int argc, char **argv, struct muster_error *err)
{
	for (cli->rest = 1; cli->rest < argc; cli->rest++) {
		const char *word = argv[cli->rest];
		if (strcmp(word, "--") == 0) {
			cli->rest++;
			break;
		}
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			help_print(cli);
			return 1;
		}
		if (word[0] == '-' && word[1]) {
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
	if (cli->rest < argc && !cli->takes_rest)
		return muster_fail(
			err, MUSTER_EUSAGE, "%s: unexpected argument \"%.60s\" after --", argv[0], argv[cli->rest]);
	if (cli->operand_count < cli->operands_least)
		return muster_fail(err, MUSTER_EUSAGE, "%s: %s%s", argv[0],
			cli->needed ? "" : "usage: ", cli->needed ? cli->needed : cli->usage);
	return 0;
}

bool muster_cli_begin(struct muster_cli *cli, int argc, char **argv, struct muster_paths *paths, int *ret_code)
{
	struct muster_error err;
	int parsed = muster_cli_parse(cli, argc, argv, &err);
	if (parsed == 0 && paths)
		parsed = muster_paths_find(paths, &err);
	if (parsed < 0)
		*ret_code = muster_cli_usage(&err);
	else
		*ret_code = MUSTER_EXIT_PASS;
	return parsed == 0;
}
