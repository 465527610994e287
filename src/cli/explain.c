/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - `muster explain`: what an id of a report means, why, and what to do
 *
 * explain.h has the book of all ids and its life. This file finds entries in it and prints them, as text or JSON.
 *
 * An id can be written in several ways, and upper and lower case are the same. All of these are the Xid 79:
 *
 *    79   xid79   xid-79   "xid 79"   xid 79
 *
 * A word can be the id of several kinds: then each of them is explained, as the probe and the group of checks of
 * "step". A kind alone ("xid") is no id; --list takes kinds.
 *
 * A check has one text for each field and machine type, and most texts are equal. As text, a field is printed by these
 * rules (print_field), so that an explanation stays short:
 *
 *    one text for all types           the text
 *    at most TEXTS_MOST texts         each text with its machine types, the most common one last; where that text
 *                                     has more than NAMES_MOST types, they are "other types"
 *    more                             only the most common text, with the number of its types
 *    the field of expected values     all texts, whatever their number
 */
#include "cli/explain.h"

#include "json/writer.h"
#include "muster/report.h"
#include "report/text_summary.h"
#include "util/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { WORDS_MAX = 1000, TEXT_COLUMN = 17, TEXTS_MOST = 3, NAMES_MOST = 4 }; /* NAMES_MOST: types that are named */

/* ---- find ---- */

/* The kind that a word names; MUSTER_EXPLAIN_KINDS for none. */
static enum muster_explain_kind kind_of(const char *word)
{
	enum muster_explain_kind kind = 0;
	while (kind < MUSTER_EXPLAIN_KINDS && strcasecmp(muster_explain_kinds[kind].name, word) != 0)
		kind++;
	return kind;
}

/* Whether the entry has this id: "copy.h2d" or "check-copy.h2d"; "79", "xid-79" or "xid79". */
static bool fits(const struct muster_explain_entry *entry, const char *id)
{
	const char *kind = muster_explain_kinds[entry->kind].name;
	bool whole = strncasecmp(id, kind, strlen(kind)) == 0;
	const char *rest = whole ? id + strlen(kind) : id;
	return strcasecmp(entry->name, id) == 0 || strcasecmp(entry->id, id) == 0 ||
	       (whole && strcasecmp(entry->id, rest + (*rest == '-')) == 0);
}

/* Which entries the user asks for: places in the book. */
struct wanted {
	size_t *places;
	size_t count;
};

/* Add all entries with this id to wanted, which has room for as many as the book has, for each word. False when there
 * is none. */
static bool want(const struct muster_book *book, const char *id, struct wanted *wanted)
{
	size_t before = wanted->count;
	for (size_t i = 0; i < book->count; i++)
		if (fits(&book->entries[i], id))
			wanted->places[wanted->count++] = i;
	return wanted->count > before;
}

/* "xid-149-fatal", and not "xid" alone. */
static bool is_event(const char *id)
{
	return (strncasecmp(id, "xid", strlen("xid")) == 0 || strncasecmp(id, "sxid", strlen("sxid")) == 0) &&
	       strpbrk(id, "0123456789");
}

/* The same for an event with a case that no table has: "xid 149-fatal" is explained as Xid 149. False for what is no
 * event. */
static bool want_case(const struct muster_book *book, const char *id, struct wanted *wanted)
{
	size_t before = strcspn(id, "0123456789"), length = before + strspn(id + before, "0123456789");
	return is_event(id) && want(book, muster_arena_string_n(book->arena, id, length), wanted);
}

/* -1 with err: nothing has this id. For an event no similar name is suggested.
 */
static int unknown(const struct muster_book *book, const char *id, struct muster_error *err)
{
	char near[MUSTER_SUGGEST_MAX];
	if (is_event(id))
		return muster_fail(err, MUSTER_EUSAGE,
			"explain: no table has the event \"%.60s\": it warns, or is what the driver's own word for its "
			"severity makes it (muster explain xid other-fatal)",
			id);
	return muster_fail(err, MUSTER_EUSAGE,
		"explain: %s%snothing is called \"%.60s\"%s (muster explain --list: all ids; muster sim --list-faults: "
		"simulated faults)",
		book->one_type ? book->types->name : "", book->one_type ? ": " : "", id,
		muster_suggest(id, book->entries, book->count, sizeof *book->entries, near));
}

/* Find the entries of all words. "xid 79" may be one word with a blank, or two words: the name of a kind is joined with
 * the word that follows it. -1 with err about the first unknown word; the entries of the others are wanted all the
 * same, and are printed. */
static int find_all(const struct muster_book *book, const char *const *words, size_t count, struct wanted *wanted,
	struct muster_error *err)
{
	int result = 0;
	for (size_t i = 0; i < count; i++) {
		const char *id = words[i], *blank = strchr(id, ' ');
		if (blank)
			id = muster_arena_printf(book->arena, "%.*s-%s", (int)(blank - id), id, blank + 1);
		else if (i + 1 < count && kind_of(id) < MUSTER_EXPLAIN_KINDS)
			id = muster_arena_printf(book->arena, "%s-%s", id, words[++i]);
		if (!want(book, id, wanted) && !want_case(book, id, wanted) && result == 0)
			result = unknown(book, id, err);
	}
	return result;
}

/* ---- text ---- */

/* Print the text, wrapped; used: columns of the line that are printed already; indent: of all further lines. */
static void put_lines(const char *text, size_t used, size_t indent)
{
	const struct muster_text_page page = { .out = stdout, .layout = muster_cli_layout(stdout, NULL) };
	muster_text_lines(&page, text, used, indent);
}

static void print_line(const char *label, const char *text)
{
	put_lines(text, (size_t)printf("  %-*s", TEXT_COLUMN - 2, label), TEXT_COLUMN);
}

/* One text of a field, and the machine types that have it: names without what all of Azure's begin with. */
struct value {
	const char *text, *names;
	size_t types;
};

/* Add the machine types of the variant to the value, without the prefix that all names of Azure have. */
static void value_add(struct muster_book *book, struct value *value, const struct muster_explain_variant *variant)
{
	static const char prefix[] = "Standard_";
	for (size_t i = 0; i < variant->sku_count; i++) {
		const char *name = variant->skus[i];
		name += strncmp(name, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
		value->names =
			muster_arena_printf(book->arena, "%s%s%s", value->names, *value->names ? ", " : "", name);
	}
	value->types += variant->sku_count;
}

/* Collect the different texts of a field in values, which has room for one of each variant, the most common one last,
 * whose types may be called "other types". Returns how many there are, at least one. */
static size_t values_of(struct muster_book *book, size_t field, struct value *values)
{
	size_t count = 0, most = 0;
	for (size_t v = 0; v < book->variant_count; v++) {
		size_t at = 0;
		while (at < count && strcmp(values[at].text, book->variants[v].texts[field]) != 0)
			at++;
		if (at == count)
			values[count++] = (struct value){ book->variants[v].texts[field], "", 0 };
		value_add(book, &values[at], &book->variants[v]);
	}
	for (size_t i = 0; i < count; i++)
		most = values[i].types > values[most].types ? i : most;
	struct value last = values[most];
	values[most] = values[count - 1];
	values[count - 1] = last;
	return count;
}

/* Print one field of a check, by the rules at the top of this file. whole: print all texts. A text that is "" has no
 * line, and counts all the same. Returns how many texts there are. */
static size_t print_field(struct muster_book *book, size_t field, bool whole)
{
	const char *label = muster_explain_fields[field];
	struct value *values = muster_arena_alloc(book->arena, book->variant_count * sizeof *values);
	size_t count = values_of(book, field, values);
	for (size_t i = whole || count <= TEXTS_MOST ? 0 : count - 1; i < count; i++) {
		const struct value *value = &values[i];
		bool other = i > 0 && i == count - 1 && value->types > NAMES_MOST && (whole || count <= TEXTS_MOST);
		const char *names = other ? "other types"
				    : value->types > NAMES_MOST && !whole
					    ? muster_arena_printf(book->arena, "%zu types", value->types)
					    : value->names;
		if (!*value->text)
			continue;
		print_line(label,
			count == 1 ? value->text : muster_arena_printf(book->arena, "%s: %s", names, value->text));
		label = "";
	}
	return count;
}

/* Print one explanation: the title, for a check the fields, and then the lines. Where machine types differ in any
 * field, the last line says how to see one of them alone. */
static void print_entry(struct muster_book *book, const struct muster_explain_entry *entry)
{
	const char *head = muster_arena_printf(
		book->arena, "%s %s: %s", muster_explain_kinds[entry->kind].title, entry->id, entry->means);
	size_t most = 0;
	put_lines(head, 0, 2);
	for (size_t f = 0; book->variant_count > 0 && f < MUSTER_EXPLAIN_FIELDS; f++) {
		size_t count = print_field(book, f, f == MUSTER_EXPLAIN_EXPECTED);
		most = count > most ? count : most;
	}
	for (size_t i = 0; i < book->line_count; i++)
		print_line(book->lines[i].label, book->lines[i].text);
	if (most > 1)
		print_line("more", muster_arena_printf(book->arena, "of one machine type: muster explain %s --sku NAME",
					   entry->id));
}

/* ---- JSON ---- */

/* "action code" as "action_code" */
static void put(struct muster_json_writer *w, const char *label, const char *text)
{
	char key[32];
	size_t i = 0;
	for (; label[i] && i < sizeof key - 1; i++)
		key[i] = label[i] == ' ' ? '_' : label[i];
	key[i] = '\0';
	muster_json_writer_pair(w, key, muster_string(text));
}

/* Write the machine types with their texts: one object for each variant, in which all fields are present. */
static void put_variants(struct muster_json_writer *w, const struct muster_book *book)
{
	muster_json_writer_array_of(w, "types");
	for (size_t v = 0; v < book->variant_count; v++) {
		const struct muster_explain_variant *variant = &book->variants[v];
		muster_json_writer_object(w);
		muster_json_writer_array_of(w, "skus");
		for (size_t i = 0; i < variant->sku_count; i++)
			muster_json_writer_string(w, variant->skus[i]);
		muster_json_writer_array_end(w);
		for (size_t f = 0; f < MUSTER_EXPLAIN_FIELDS; f++)
			put(w, muster_explain_fields[f], variant->texts[f]);
		muster_json_writer_object_end(w);
	}
	muster_json_writer_array_end(w);
}

static void put_entry(struct muster_json_writer *w, const struct muster_book *book,
	const struct muster_explain_entry *entry, bool whole)
{
	muster_json_writer_object(w);
	put(w, "kind", muster_explain_kinds[entry->kind].name);
	put(w, "id", entry->id);
	put(w, "means", entry->means);
	for (size_t i = 0; whole && i < book->line_count; i++)
		put(w, book->lines[i].label, book->lines[i].text);
	if (whole && entry->kind == MUSTER_EXPLAIN_CHECK)
		put_variants(w, book);
	muster_json_writer_object_end(w);
}

/* ---- the command ---- */

/* All entries that were found: explained, or with `whole` false one line each. */
static void print_all(struct muster_book *book, const struct wanted *wanted, bool whole, bool json)
{
	struct muster_json_writer w;
	muster_json_writer_init(&w, stdout, whole ? 4 : 1);
	if (json)
		muster_json_writer_array(&w);
	for (size_t i = 0; i < wanted->count; i++) {
		const struct muster_explain_entry *entry = &book->entries[wanted->places[i]];
		book->line_count = book->variant_count = 0;
		if (whole)
			muster_explain_kinds[entry->kind].explain(book, entry);
		if (json) {
			put_entry(&w, book, entry, whole);
		} else if (whole) {
			fputs(i ? "\n" : "", stdout);
			print_entry(book, entry);
		} else {
			printf("%-9s  %-30s  %s\n", muster_explain_kinds[entry->kind].name, entry->name, entry->means);
		}
	}
	if (json)
		muster_json_writer_array_end(&w);
}

/* For --list: all entries of the kinds that the words name; of all kinds without words. -1 with err for a word that is
 * no kind. */
static int want_kinds(const struct muster_book *book, const char *const *words, size_t count, struct wanted *wanted,
	struct muster_error *err)
{
	const char *list = "";
	for (enum muster_explain_kind kind = 0; kind < MUSTER_EXPLAIN_KINDS; kind++)
		list = muster_arena_printf(
			book->arena, "%s%s%s", list, kind ? ", " : "", muster_explain_kinds[kind].name);
	for (size_t w = 0; w < count; w++)
		if (kind_of(words[w]) == MUSTER_EXPLAIN_KINDS)
			return muster_fail(err, MUSTER_EUSAGE,
				"explain: --list: \"%.60s\" is no kind of ids: give one of %s", words[w], list);
	for (size_t i = 0; i < book->count; i++) {
		bool listed = count == 0;
		for (size_t w = 0; w < count; w++)
			listed = listed || kind_of(words[w]) == book->entries[i].kind;
		if (listed)
			wanted->places[wanted->count++] = i;
	}
	return 0;
}

/* After --list the kinds, else all ids. */
static void words_offer(const struct muster_typed *typed)
{
	struct muster_paths paths;
	struct muster_book book = { 0 };
	struct muster_error err;
	if (muster_text_among("--list", (const char *const *)typed->words, (size_t)typed->word_count))
		for (size_t kind = 0; kind < MUSTER_EXPLAIN_KINDS; kind++)
			muster_offer(typed, muster_explain_kinds[kind].name, muster_explain_kinds[kind].title);
	else if (muster_paths_find(&paths, &err) == 0 && muster_book_open(&book, &paths, NULL, NULL, &err) == 0)
		for (size_t i = 0; i < book.count; i++)
			muster_offer(typed, book.entries[i].name, book.entries[i].means);
	muster_book_close(&book);
}

int muster_cmd_explain(int argc, char **argv)
{
	const char *sku = NULL, *overlay = NULL, *words[WORDS_MAX];
	enum muster_form form = MUSTER_FORM_TEXT;
	bool list = false;
	const struct muster_option options[] = {
		{ "--sku", "NAME", "the expected values of this machine type alone (default: of all machine types)",
			.text = &sku, .words = muster_words_skus, .group = MUSTER_GROUP_OUTPUT },
		{ "--overlay", "FILE", "with --sku: and of this overlay", .text = &overlay,
			.group = MUSTER_GROUP_OUTPUT },
		{ "--list", NULL, "list all ids, or those of the given kinds: muster explain --list xid event",
			.flag = &list, .group = MUSTER_GROUP_OUTPUT },
		MUSTER_CLI_FORMAT(&form),
	};
	struct muster_cli cli = {
		.usage = "muster explain ID... [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue =
			"Prints what an id means, what to do, and why: a check or another finding of a report "
			"(copy.h2d, rank.missing), an event of the kernel's log (xid 79, sxid 12028, link-flap), a "
			"metric, a probe, an action code (reset-gpu), a status (inconclusive), an exit code (exit 3), "
			"a profile.\n",
		.prints = true,
		.operands = words,
		.operands_most = WORDS_MAX,
		.words = words_offer,
	};
	struct muster_paths paths;
	struct muster_error err = { 0 };
	struct muster_book book = { 0 };
	int code, found;
	if (!muster_cli_begin(&cli, argc, argv, &paths, &code))
		return code;
	if (cli.operand_count == 0 && !list)
		found = muster_fail(&err, MUSTER_EUSAGE,
			"explain: an id is needed: muster explain ib.state; muster explain --list prints all ids");
	else if (overlay && !sku)
		found = muster_fail(
			&err, MUSTER_EUSAGE, "explain: --overlay needs --sku: an overlay is for one machine type");
	else
		found = muster_book_open(&book, &paths, sku, overlay, &err);
	struct wanted wanted = { 0 };
	if (found == 0) {
		size_t most = book.count * (cli.operand_count + 1);
		wanted.places = muster_arena_alloc(book.arena, most * sizeof *wanted.places);
		found = (list ? want_kinds : find_all)(&book, words, cli.operand_count, &wanted, &err);
	}
	if (wanted.count > 0)
		print_all(&book, &wanted, !list, form == MUSTER_FORM_JSON);
	muster_book_close(&book);
	return found < 0 ? muster_cli_usage(&err) : muster_cli_printed(MUSTER_EXIT_PASS);
}
