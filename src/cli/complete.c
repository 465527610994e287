/* SPDX-License-Identifier: Apache-2.0 */
/* complete.c - what can be typed next: options, their values, operands
 *
 * muster_complete() finds out what the last word is, and prints what can stand there. Of "muster run --sku=Sta" and
 * "muster skus Standard_ND96asr_v4 cop", where the shell gives all words after the command:
 *
 *    words before     last word     what is completed                            offered
 *    (none)           --sku=Sta     the argument of --sku; "--sku=" is kept      machine types
 *    --sku            Sta           the argument of --sku                        machine types
 *    Standard_...     cop           operand 1                                    checks of that machine type
 *    (none)           --pro         the name of an option                        --profile, --progress ...
 *
 * No mistake of the words before is an error here: an unknown option is passed over, and the answer is empty where
 * nothing can follow.
 */
#include "cli/complete.h"
#include "cli/cli.h"
#include "muster/arena.h"
#include "muster/expect.h"
#include "muster/probe.h"
#include "system/hardware.h"

#include <stdio.h>
#include <string.h>

void muster_offer(const struct muster_typed *typed, const char *word, const char *meaning)
{
	if (strncmp(word, typed->word, strlen(typed->word)) == 0)
		printf("%s%s%s%s\n", typed->before, word, meaning ? "\t" : "", meaning ? meaning : "");
}

const char *muster_typed_value(const struct muster_typed *typed, const char *option)
{
	const char *found = NULL;
	size_t length = strlen(option);
	for (int i = 0; i < typed->word_count; i++) {
		const char *word = typed->words[i];
		if (strcmp(word, option) == 0 && i + 1 < typed->word_count)
			found = typed->words[i + 1];
		else if (strncmp(word, option, length) == 0 && word[length] == '=')
			found = word + length + 1;
	}
	return found;
}

bool muster_is_machine_type(const struct muster_expect *expect)
{
	return expect->observe || expect->vm_size_count || expect->gpu_name_count;
}

/* ---- kinds of words ---- */

void muster_words_files(const struct muster_typed *typed)
{
	(void)typed;
	puts(":files");
}

void muster_words_directories(const struct muster_typed *typed)
{
	(void)typed;
	puts(":directories");
}

/* Only files whose names begin with the typed text are loaded, and of these only machine types are offered. Where no
 * name fits, the shell offers files: an expectation file may stand in place of a name. */
void muster_words_skus(const struct muster_typed *typed)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_paths paths;
	struct muster_expect expect;
	struct muster_error err;
	const char **names;
	size_t count;
	if (muster_paths_find(&paths, &err) < 0 || muster_expect_names(paths.configs, arena, &names, &count, &err) < 0)
		count = 0;
	for (size_t i = 0; i < count; i++) {
		if (strncmp(names[i], typed->word, strlen(typed->word)) != 0 ||
			muster_expect_load(paths.configs, names[i], NULL, &expect, &err) < 0)
			continue;
		if (muster_is_machine_type(&expect))
			muster_offer(typed, names[i], expect.title);
		muster_expect_done(&expect);
	}
	muster_arena_free(arena);
	muster_words_files(typed);
}

void muster_words_skus_auto(const struct muster_typed *typed)
{
	muster_offer(typed, "auto", "detect the machine type");
	muster_words_skus(typed);
}

void muster_words_simulated(const struct muster_typed *typed)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_paths paths;
	struct muster_error err;
	const char *list = muster_paths_find(&paths, &err) == 0 ? muster_hardware_list(paths.hardware, arena) : "";
	for (const char *end; (end = strchr(list, '\n')); list = end + 1)
		muster_offer(typed, muster_arena_printf(arena, "%.*s", (int)(end - list), list), NULL);
	muster_arena_free(arena);
}

/* Operand 0 is a machine type, all others are checks of the one that operand 0 names, with the overlay that was typed
 * before. */
void muster_words_sku_check(const struct muster_typed *typed)
{
	struct muster_paths paths;
	struct muster_expect expect;
	struct muster_error err;
	if (typed->operand == 0) {
		muster_words_skus(typed);
	} else if (muster_paths_find(&paths, &err) == 0 &&
		   muster_expect_load(
			   paths.configs, typed->first, muster_typed_value(typed, "--overlay"), &expect, &err) == 0) {
		for (size_t i = 0; i < expect.check_count; i++)
			muster_offer(typed, expect.checks[i].id, expect.checks[i].title);
		muster_expect_done(&expect);
	}
}

void muster_words_metrics(const struct muster_typed *typed)
{
	for (size_t i = 0; i < muster_metric_count(); i++)
		muster_offer(typed, muster_metric_at(i)->name, muster_metric_at(i)->meaning);
}

/* ---- the place ---- */

/* Offer the names of the options. An old spelling is not offered. */
static void options_offer(const struct muster_cli *cli, const struct muster_typed *typed)
{
	const struct muster_option *option;
	for (size_t i = 0; (option = muster_cli_option_at(cli, i)); i++)
		if (!option->instead)
			muster_offer(typed, option->name, option->help);
}

/* Offer what can be the argument of the option: what its own function offers, or its names, or files or folders where
 * its word in the help is FILE, DIR or [DIR]. */
static void values_offer(const struct muster_option *option, const struct muster_typed *typed)
{
	if (option->words)
		option->words(typed);
	else if (option->names)
		for (size_t i = 0; i < option->name_count; i++)
			muster_offer(typed, option->names[i], NULL);
	else if (strcmp(option->argument, "FILE") == 0)
		muster_words_files(typed);
	else if (strncmp(option->argument + strspn(option->argument, "["), "DIR", strlen("DIR")) == 0)
		muster_words_directories(typed);
}

/* Read the words before the one that is typed, as the parser would (option_take in cli.c). Returns the option whose
 * argument is typed, or NULL. typed->operand and typed->first are set; *ret_rest is the index of the first "--" in argv
 * of muster_complete(), or 0. */
static const struct muster_option *words_read(const struct muster_cli *cli, struct muster_typed *typed, int *ret_rest)
{
	for (int i = 0; i < typed->word_count; i++) {
		const char *word = typed->words[i];
		if (strcmp(word, "--") == 0 && !*ret_rest) {
			*ret_rest = i + 1;
		} else if (word[0] == '-' && word[1] && !*ret_rest) {
			const struct muster_option *option = muster_cli_option(cli, word);
			const char *next = i + 1 < typed->word_count ? typed->words[i + 1] : typed->word;
			if (option && option->is_path_optional && *next && *next != '/')
				continue;
			if (!option || !option->argument || option->bare || strchr(word, '='))
				continue;
			if (++i == typed->word_count)
				return option;
		} else if (typed->operand++ == 0) {
			typed->first = word;
		}
	}
	return NULL;
}

/* Where the words behind "--" are of another command, that command completes them: it is given them as if they were its
 * own command line, with --complete in the place of the "--". */
void muster_complete(const struct muster_cli *cli, int argc, char **argv)
{
	static char empty[] = "", complete[] = MUSTER_COMPLETE;
	struct muster_typed typed = {
		.before = empty,
		.word = argc > 1 ? argv[argc - 1] : empty,
		.words = argv + 1,
		.word_count = argc > 1 ? argc - 2 : 0,
	};
	char before[64];
	int rest = 0; /* index of the "--" in argv; 0: none */
	const struct muster_option *option = words_read(cli, &typed, &rest);
	const char *equals = strchr(typed.word, '=');
	if (rest && cli->rest_command) {
		argv[rest] = complete;
		cli->rest_command(argc - rest + 1, argv + rest - 1);
		return;
	}
	if (!option && !rest && typed.word[0] == '-' && equals) {
		option = muster_cli_option(cli, typed.word);
		snprintf(before, sizeof before, "%.*s", (int)(equals - typed.word) + 1, typed.word);
		typed.before = before;
		typed.word = equals + 1;
	}
	if (option && option->argument)
		values_offer(option, &typed);
	else if (cli->words && typed.operand < cli->operands_most && (rest || typed.word[0] != '-'))
		cli->words(&typed);
	else if (!option && !rest)
		options_offer(cli, &typed);
}
