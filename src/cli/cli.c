/* cli.c - options of a subcommand, read by a table
 *
 * Prints only for --help. What is wrong with the user's input goes to the caller as one sentence, because only the
 * caller knows whether this process is the one that should say it.
 */
#include "cli/cli.h"
#include "muster/report.h"
#include "util/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

static void help_print(const char *usage, const struct muster_option *options, size_t count, const char *epilogue)
{
	size_t width = strlen("--help");

	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(options[i].name) + (options[i].argument ? strlen(options[i].argument) + 1 : 0);

		width = length > width ? length : width;
	}
	printf("usage: %s\n\n", usage);
	for (size_t i = 0; i < count; i++) {
		int used = printf("  %s%s%s", options[i].name, options[i].argument ? " " : "",
			options[i].argument ? options[i].argument : "");

		printf("%*s%s\n", (int)width + 4 - used, "", options[i].help);
	}
	printf("  %-*s%s\n", (int)width + 2, "--help", "show this text");
	if (epilogue)
		printf("\n%s%s", epilogue, *epilogue && epilogue[strlen(epilogue) - 1] == '\n' ? "" : "\n");
}

/* The option called by the first `length` characters of `name`; NULL when there is none. */
static const struct muster_option *option_find(
	const struct muster_option *options, size_t count, const char *name, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(options[i].name) == length && strncmp(options[i].name, name, length) == 0)
			return &options[i];
	return NULL;
}

/* Take the option at argv[*at], and its argument, which may be the next word. */
static int option_take(
	int argc, char **argv, int *at, const struct muster_option *options, size_t count, struct muster_error *err)
{
	const char *word = argv[*at], *equals = strchr(word, '='), *text = NULL;
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	const struct muster_option *option = option_find(options, count, word, length);

	if (!option)
		return muster_fail(err, MUSTER_EUSAGE, "unknown option %.*s (muster %s --help lists them)", (int)length,
			word, argv[0]);
	if (!option->argument) {
		if (equals)
			return muster_fail(err, MUSTER_EUSAGE, "%s takes no value", option->name);
		if (option->flag)
			*option->flag = true;
		return option->each ? option->each(option->arg, NULL, err) : 0;
	}
	if (equals)
		text = equals + 1;
	else if (*at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0)
		text = argv[++*at];
	if (!text || !*text)
		return muster_fail(err, MUSTER_EUSAGE, "%s needs a value: %s", option->name, option->argument);
	if (option->text)
		*option->text = text;
	return option->each ? option->each(option->arg, text, err) : 0;
}

int muster_cli_parse(int argc, char **argv, const char *usage, const struct muster_option *options, size_t count,
	const char *epilogue, const char **operands, size_t max, size_t *ret_operands, int *ret_rest,
	struct muster_error *err)
{
	size_t found = 0;
	int at = 1;

	for (; at < argc; at++) {
		const char *word = argv[at];

		if (strcmp(word, "--") == 0) {
			at++;
			break;
		}
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			help_print(usage, options, count, epilogue);
			return 1;
		}
		if (word[0] == '-' && word[1]) {
			if (option_take(argc, argv, &at, options, count, err) < 0)
				return -1;
			continue;
		}
		if (found == max)
			return muster_fail(err, MUSTER_EUSAGE, "unexpected argument '%s' (usage: %s)", word, usage);
		operands[found++] = word;
	}
	if (ret_operands)
		*ret_operands = found;
	if (ret_rest)
		*ret_rest = at;
	return 0;
}
