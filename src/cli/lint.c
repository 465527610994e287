/* SPDX-License-Identifier: Apache-2.0 */
/* lint.c - `muster lint`: what is wrong with an expectation file, all of it
 *
 * The loader finds the problems; this prints each once, though several files may inherit it from one parent.
 */
#include "cli/cli.h"
#include "muster/expect.h"
#include "muster/report.h"

#include <stdio.h>
#include <stdlib.h>

/* What has been printed. Several files can inherit one mistake from a parent, whose name and line are then the same
 * text. */
struct said {
	struct muster_arena *arena;
	const char **problems; /* the arena's, so that equal texts are equal pointers */
	size_t count;
};

/* For muster_expect_lint: print the problem, unless the same text has been printed. */
static void say(void *arg, const char *problem)
{
	struct said *said = arg;
	const char *text = muster_arena_string(said->arena, problem);
	for (size_t i = 0; i < said->count; i++)
		if (said->problems[i] == text)
			return;
	said->problems = muster_realloc(said->problems, said->count + 1, sizeof *said->problems);
	said->problems[said->count++] = text;
	puts(text);
}

/* Each operand as an expectation file, or as an overlay on the machine type called sku. */
static int lint(const char *configs, const char *sku, const char *const *files, size_t count)
{
	struct said said = { .arena = muster_arena_new() };
	size_t problems;
	for (size_t i = 0; i < count; i++)
		muster_expect_lint(configs, sku ? sku : files[i], sku ? files[i] : NULL, say, &said);
	problems = said.count;
	free(said.problems);
	muster_arena_free(said.arena);
	if (problems)
		return MUSTER_EXIT_USAGE;
	printf("%zu file%s, no problem\n", count, count == 1 ? "" : "s");
	return MUSTER_EXIT_PASS;
}

int muster_cmd_lint(int argc, char **argv)
{
	const char *sku = NULL;
	const struct muster_option options[] = {
		{ "--sku", "NAME", "the files are overlays for this machine type", .text = &sku,
			.words = muster_words_skus },
	};
	struct muster_paths paths;
	const char **files = muster_calloc((size_t)argc, sizeof *files);
	struct muster_cli cli = {
		.usage = "muster lint FILE... [--sku NAME]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Prints one line per problem: file, place, the problem and what is allowed.\nExit codes: 0 "
			    "no problem, 2 at least one problem.\n",
		.operands = files,
		.operands_most = (size_t)argc,
		.words = muster_words_files,
		.prints = true,
		.needed = "no file given: muster lint FILE...",
		.operands_least = 1,
	};
	int code;
	if (muster_cli_begin(&cli, argc, argv, &paths, &code))
		code = muster_cli_printed(lint(paths.configs, sku, files, cli.operand_count));
	free(files);
	return code;
}
