/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - the help of a command, from its table of options: in groups, 80 columns wide
 *
 * muster_help_print() prints the usage, the options and the epilogue of one command. Each option is a row: its name and
 * argument, and from a common column on its text, wrapped. The column fits the longest name of at most COLUMN_MOST
 * columns; of a longer name the text begins in the next line. Options are in groups with titles when any of them is in
 * another group than the first; the common options --output and --help do not count.
 */
#include "cli/cli.h"
#include "muster/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80, COLUMN_MOST = 28, NUMBER_ENDLESS = 1000000 }; /* from this number on no range is printed */

static const char *const titles[MUSTER_GROUP_COUNT] = {
	[MUSTER_GROUP_WHAT] = "What is measured or read",
	[MUSTER_GROUP_THRESHOLDS] = "Thresholds and verdict",
	[MUSTER_GROUP_OUTPUT] = "Output",
	[MUSTER_GROUP_STORAGE] = "Storage",
	[MUSTER_GROUP_EXPERT] = "For experts",
};

/* Words are separated by blanks and line feeds. A line feed in the text is a line feed in the output, after which the
 * text goes on at column 0; blanks are kept, so that a second usage line can be indented. A line that is too long is
 * broken before the word that does not fit, and goes on at the indent. */
void muster_help_text(FILE *out, const char *text, int at, int indent)
{
	for (const char *word = text; *word;) {
		int blanks = (int)strspn(word, " "), length = (int)strcspn(word + blanks, " \n");
		if (at > indent && at + blanks + length > WIDTH) {
			fprintf(out, "\n%*s", indent, "");
			at = indent;
			blanks = 0;
			word += strspn(word, " ");
		}
		fprintf(out, "%.*s", blanks + length, word);
		at += blanks + length;
		word += blanks + length;
		for (; *word == '\n'; word++, at = 0)
			fputc('\n', out);
	}
	if (at > 0)
		fputc('\n', out);
}

/* A name that leaves fewer than two blanks before the column has a line of its own. */
void muster_help_row(FILE *out, const char *name, const char *text, int column)
{
	int at = fprintf(out, "  %s", name);
	if (at + 2 > column)
		at = fprintf(out, "\n") - 1;
	fprintf(out, "%*s", column - at, "");
	muster_help_text(out, text, column, column);
}

/* Columns of an option and its argument: "--sku NAME" has a blank between the two, "--strict[=all]" has none. */
static int names_width(const struct muster_option *option)
{
	return (int)strlen(option->name) + (option->argument ? (int)strlen(option->argument) + !option->bare : 0);
}

/* The text of an option, malloc'd, with the range of its number where that has an end. */
static char *text_of(const struct muster_option *option)
{
	const char *unit = option->is_time ? " s, or as 90s, 5m, 2h" : "";
	if (option->number && option->high < NUMBER_ENDLESS)
		return muster_asprintf("%s; %ld to %ld%s", option->help, option->low, option->high, unit);
	return muster_strdup(option->help);
}

static void option_print(const struct muster_option *option, int column)
{
	char *text = text_of(option);
	char *name = muster_asprintf("%s%s%s", option->name, option->argument && !option->bare ? " " : "",
		option->argument ? option->argument : "");
	muster_help_row(stdout, name, text, column);
	free(name);
	free(text);
}

/* Whether the help leaves the option out: an old spelling, or an option that another command explains. */
static bool is_hidden(const struct muster_option *option)
{
	return option->instead || option->group == MUSTER_GROUP_PASSED_ON;
}

void muster_help_print(const struct muster_cli *cli)
{
	int column = 0;
	bool grouped = false, begun = false;
	const struct muster_option *option;
	for (size_t i = 0; (option = muster_cli_option_at(cli, i)); i++) {
		int width = names_width(option) + 4;
		if (is_hidden(option))
			continue;
		column = width > column && width <= COLUMN_MOST ? width : column;
		grouped = grouped || (i < cli->option_count && option->group != MUSTER_GROUP_WHAT);
	}
	printf("usage: ");
	muster_help_text(stdout, cli->usage, 7, 7);
	putchar('\n');
	for (int group = 0; group < (grouped ? MUSTER_GROUP_COUNT : 1); group++) {
		bool titled = false;
		for (size_t i = 0; (option = muster_cli_option_at(cli, i)); i++) {
			if (is_hidden(option) || (grouped && (int)option->group != group))
				continue;
			if (grouped && !titled)
				printf("%s%s:\n", begun ? "\n" : "", titles[group]);
			titled = begun = true;
			option_print(option, column);
		}
	}
	if (!cli->epilogue)
		return;
	putchar('\n');
	muster_help_text(stdout, cli->epilogue, 0, 0);
}
