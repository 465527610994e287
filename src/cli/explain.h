/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - what `muster explain` can explain: a book of entries, and the texts of one of them
 *
 * Everything comes from the tables that muster itself works by: expectation files, events, probes and their metrics.
 * Ids that no such table describes are in explain.def.
 *
 * The life of a book: muster_book_open() loads the machine types and makes one entry for each id of each kind
 * (explain_entries.c); explain.c finds the entries that the user asks for; for each of them the `explain` function of
 * its kind fills in the lines, and for a check the variants; explain.c prints them, and empties both before the next
 * entry. All texts are of the book's arena or of the tables, and live until muster_book_close().
 */
#ifndef MUSTER_CLI_EXPLAIN_H
#define MUSTER_CLI_EXPLAIN_H

#include "cli/cli.h"
#include "muster/arena.h"
#include "muster/expect.h"

/* The kinds of ids, in the order of the table muster_explain_kinds. XID, SXID and EVENT are in the order of enum
 * muster_event_source. */
enum muster_explain_kind {
	MUSTER_EXPLAIN_CHECK = 0,
	MUSTER_EXPLAIN_GROUP,
	MUSTER_EXPLAIN_FINDING,
	MUSTER_EXPLAIN_METRIC,
	MUSTER_EXPLAIN_PROBE,
	MUSTER_EXPLAIN_XID,
	MUSTER_EXPLAIN_SXID,
	MUSTER_EXPLAIN_EVENT,
	MUSTER_EXPLAIN_EXIT,
	MUSTER_EXPLAIN_STATUS,
	MUSTER_EXPLAIN_PROFILE,
	MUSTER_EXPLAIN_ACTION,
	MUSTER_EXPLAIN_CERTAINTY,
	MUSTER_EXPLAIN_PROOF,
	MUSTER_EXPLAIN_OPERATOR,
	MUSTER_EXPLAIN_SKU,
	MUSTER_EXPLAIN_KINDS
};

struct muster_explain_entry {
	const char *name; /* unique within a kind: "ib.state", "xid-79"; first, for muster_suggest */
	const char *id;   /* the same, but "79" */
	const char *means;
	enum muster_explain_kind kind;
	const void *about; /* what it is about: see the explain function of its kind; NULL for a machine type */
};

/* A line of an explanation. Of several with one label only the first one has it. */
struct muster_explain_line {
	const char *label, *text;
};

enum { MUSTER_EXPLAIN_EXPECTED = 4, MUSTER_EXPLAIN_FIELDS = 10 };      /* fields of a check: "expected"; all of them */
extern const char *const muster_explain_fields[MUSTER_EXPLAIN_FIELDS]; /* "expected", "otherwise" ... */

/* Machine types for which a check has the same texts in all fields. */
struct muster_explain_variant {
	const char **skus;
	size_t sku_count;
	const char *texts[MUSTER_EXPLAIN_FIELDS]; /* "" for none */
};

struct muster_book {
	struct muster_arena *arena;
	struct muster_expect *types; /* the machine types, or the one that was asked for */
	size_t type_count;
	bool one_type;
	struct muster_explain_entry *entries;
	size_t count, room;

	/* Of the entry that was explained last. */
	struct muster_explain_line *lines;
	size_t line_count, line_room;
	struct muster_explain_variant *variants; /* of a check; else none */
	size_t variant_count;
};

/* sku, overlay: NULL for all machine types. -1 with err; ret is to be ended in any case. */
int muster_book_open(struct muster_book *ret, const struct muster_paths *paths, const char *sku, const char *overlay,
	struct muster_error *err);
void muster_book_close(struct muster_book *book);

/* A kind of ids. */
struct muster_explain_kind_row {
	const char *name, *title; /* in a command ("exit"), and before an id ("exit code") */
	/* Fill in the book's lines, and its variants, for the entry. */
	void (*explain)(struct muster_book *book, const struct muster_explain_entry *entry);
	const char *why, *action; /* labels of the texts of explain.def; NULL: "why", "do" */
	bool numbered;            /* ids are numbers: the kind's name belongs to them */
};
extern const struct muster_explain_kind_row muster_explain_kinds[MUSTER_EXPLAIN_KINDS];

/* The function of checks, in explain_check.c. */
void muster_book_explain_check(struct muster_book *book, const struct muster_explain_entry *entry);

/* A line more; nothing when text is NULL or "". */
void muster_book_line(struct muster_book *book, const char *label, const char *text);
/* What usually fails checks of the group; "". */
const char *muster_book_causes(const char *check);
/* Who acts on an action code, and whether the node must be empty for that. */
const char *muster_book_who(struct muster_book *book, const char *code);
/* An action as a file has it: "<node>" for "${node}". */
const char *muster_book_plain(struct muster_book *book, const char *text);

/* In which runs something is measured: 1 << enum muster_profile, 1 << enum muster_measure. */
struct muster_book_runs {
	unsigned int profiles;
	int measures;
};
/* "standard or full", "every profile"; the options that a run needs. */
const char *muster_book_runs_text(struct muster_book *book, struct muster_book_runs runs);

#endif
