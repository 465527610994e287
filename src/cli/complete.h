/* SPDX-License-Identifier: Apache-2.0 */
/* complete.h - what can be typed next, for the completion of a shell
 *
 * The shell calls `muster COMMAND --complete WORDS...`; the last word is being typed and may be empty. Each line of the
 * answer is a word that begins with it, and after a tab what the word means; or ":files" or ":directories", where the
 * shell knows the names. All of it comes from the tables of options that --help prints.
 */
#ifndef MUSTER_CLI_COMPLETE_H
#define MUSTER_CLI_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#define MUSTER_COMPLETE "--complete"

struct muster_cli;

/* The place that is completed. */
struct muster_typed {
	const char *before; /* of the same word, and kept: "--sku="; or "" */
	const char *word;   /* what has been typed of the name or value */
	char *const *words; /* all words before this one */
	int word_count;
	size_t operand;    /* the number of operands among them */
	const char *first; /* the first operand; NULL when there is none */
};

/* Offers all that can stand at a place. */
typedef void muster_words(const struct muster_typed *typed);

/* Offer the word, and what it means (NULL: nothing is said), if it begins with what has been typed. A word that ends
 * with @, / or = is to be continued. */
void muster_offer(const struct muster_typed *typed, const char *word, const char *meaning);

/* The value that an earlier word gave to the option; NULL when there is none. */
const char *muster_typed_value(const struct muster_typed *typed, const char *option);

muster_words muster_words_files, muster_words_directories;
muster_words muster_words_skus;      /* machine types with an expectation file */
muster_words muster_words_skus_auto; /* the same, and auto */
muster_words muster_words_simulated; /* machine types with a hardware description */
muster_words muster_words_sku_check; /* a machine type, then its checks */
muster_words muster_words_metrics;

/* Whether a machine can be of this type: files that only others extend say nothing of how one is recognised. */
struct muster_expect;
bool muster_is_machine_type(const struct muster_expect *expect);

/* Print what can follow. argv[0] is not looked at; the last word is the one that is typed. */
void muster_complete(const struct muster_cli *cli, int argc, char **argv);

#endif
