/* SPDX-License-Identifier: Apache-2.0 */
/* skus.c - `muster skus`: the machine types that are known, and what each must show, from which file, by whose word
 *
 * Two lists, each as text or as JSON: without NAME all machine types, one line each (list_all); with NAME the checks of
 * that type (show), all of them or the checks that the user names. The files are loaded as a run loads them, parents
 * and overlay merged, so what is printed is what a run checks.
 *
 * Each check has the file that it comes from, and the files that changed it. A check may have several origins, since a
 * parent, the machine type's own file and an overlay can each change other keys of it.
 */
#include "cli/cli.h"
#include "json/writer.h"
#include "expect/describe.h"
#include "muster/expect.h"
#include "report/text_grid.h"
#include "util/text.h"

#include <stdio.h>
#include <string.h>

/* The name of a file without its folder. */
static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* ---- all machine types, one line each ---- */

/* Print the table in two passes over the rows: the first one measures the columns, the second one prints. gpus is "-"
 * where a file does not say how many GPUs a machine has. */
static void list_text(const struct muster_expect *all, size_t count)
{
	static const char *const headings[] = { "NAME", "GPUS", "CHECKS", "TITLE" };
	const struct muster_text_page page = { .out = stdout, .layout = muster_cli_list_layout() };
	struct muster_text_grid grid = { .columns = 4, .right = { [1] = true, [2] = true } };
	muster_grid_measure(&grid, headings);
	for (bool measured = false;; measured = true) {
		for (size_t i = 0; i < count; i++) {
			char gpus[16] = "-", checks[32];
			if (all[i].gpu_count)
				snprintf(gpus, sizeof gpus, "%d", all[i].gpu_count);
			snprintf(checks, sizeof checks, "%zu", all[i].check_count);
			const char *const cells[] = { all[i].name, gpus, checks, all[i].title ? all[i].title : "" };
			if (measured)
				muster_grid_print(&grid, &page, cells, NULL);
			else
				muster_grid_measure(&grid, cells);
		}
		if (measured)
			return;
		muster_grid_fit(&grid, muster_text_width(&page));
		muster_grid_print(&grid, &page, headings, NULL);
	}
}

static void put_texts(struct muster_json_writer *w, const char *key, const char *const *texts, size_t count)
{
	muster_json_writer_array_of(w, key);
	for (size_t i = 0; i < count; i++)
		muster_json_writer_string(w, texts[i]);
	muster_json_writer_array_end(w);
}

/* The members that describe a machine type, in the list and alone. */
static void put_head(struct muster_json_writer *w, const struct muster_expect *expect)
{
	muster_json_writer_pair(w, "name", muster_string(expect->name));
	muster_json_writer_pair(w, "title", expect->title ? muster_string(expect->title) : muster_null());
	muster_json_writer_pair(w, "observe", muster_boolean(expect->observe));
	put_texts(w, "vm_size", expect->vm_sizes, expect->vm_size_count);
	put_texts(w, "gpu_name", expect->gpu_names, expect->gpu_name_count);
	muster_json_writer_pair(w, "gpu_count", expect->gpu_count ? muster_number(expect->gpu_count) : muster_null());
	put_texts(w, "files", expect->files, expect->file_count);
}

static void list_json(const struct muster_expect *all, size_t count)
{
	struct muster_json_writer w;
	muster_json_writer_init(&w, stdout, 1);
	muster_json_writer_array(&w);
	for (size_t i = 0; i < count; i++) {
		muster_json_writer_object(&w);
		put_head(&w, &all[i]);
		muster_json_writer_pair(&w, "check_count", muster_number((double)all[i].check_count));
		muster_json_writer_object_end(&w);
	}
	muster_json_writer_array_end(&w);
}

/* Print all machine types. A file that cannot be read is named on stderr, and the others are listed all the same; the
 * exit code is then 2. Nothing is printed when there is no type because of such an error. */
static int list_all(const char *configs, bool json)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_expect *all;
	size_t count;
	int code = muster_cli_types(configs, arena, &all, &count);
	if (count > 0 || code == MUSTER_EXIT_PASS)
		(json ? list_json : list_text)(all, count);
	for (size_t i = 0; i < count; i++)
		muster_expect_done(&all[i]);
	muster_arena_free(arena);
	return code;
}

/* ---- one machine type ---- */

/* "node.json, changed by b.json: min, source; by site.json: warn_below (removed)", in the arena: the file of the check,
 * and each key that later files changed. Changes by one file follow each other. */
static const char *origin_text(const struct muster_check *check, struct muster_arena *arena)
{
	const char *text = file_name(check->file), *last = NULL;
	for (size_t i = 0; i < check->change_count; i++) {
		const struct muster_origin *change = &check->changes[i];
		if (change->file != last)
			text = muster_arena_printf(
				arena, "%s%s by %s: ", text, last ? ";" : ", changed", file_name(change->file));
		text = muster_arena_printf(arena, "%s%s%s%s", text, change->file == last ? ", " : "", change->key,
			change->removed ? " (removed)" : "");
		last = change->file;
	}
	return text;
}

/* "    source     ...", with further lines below. */
static void put_field(const struct muster_text_page *page, const char *name, const char *text)
{
	fprintf(page->out, "    %-11s", name);
	muster_text_lines(page, text, 15, 15);
}

/* Print "NAME: TITLE", or the name alone; further lines are indented. */
static void titled_text(
	const struct muster_text_page *page, const char *name, const char *title, struct muster_arena *arena)
{
	muster_text_lines(page, title ? muster_arena_printf(arena, "%s: %s", name, title) : name, 0, 4);
}

/* Print the codes of the events by class, the worst class first. The table has what the `events` of all files come to
 * together. */
static void events_text(
	const struct muster_text_page *page, const struct muster_event_table *table, struct muster_arena *arena)
{
	static const char *const titles[MUSTER_EVENT_CLASS_COUNT] = {
		[MUSTER_EVENT_NOTE] = "notes",
		[MUSTER_EVENT_WARN] = "warns on",
		[MUSTER_EVENT_FAIL] = "fails on",
	};
	for (int class = MUSTER_EVENT_CLASS_COUNT - 1; class >= 0; class --) {
		const char *codes = "";
		for (size_t i = 0; i < table->count; i++)
			if ((int)table->items[i].class == class)
				codes = muster_arena_printf(
					arena, "%s%s%s", codes, *codes ? " " : "", table->items[i].code);
		if (*codes)
			put_field(page, titles[class], codes);
	}
}

/* Print one check as a paragraph: its id and title, and a row for each thing that is known of it. */
static void check_text(
	const struct muster_text_page *page, const struct muster_expect *expect, const struct muster_check *check)
{
	struct muster_arena *arena = expect->arena;
	const char *runs = muster_describe_runs(check, arena);
	fprintf(page->out, "\n");
	titled_text(page, check->id, check->title, arena);
	put_field(page, "expected",
		muster_arena_printf(arena, "%s%s: %s", check->metric->name, muster_describe_where(check, arena),
			muster_describe_expected(check, NULL, arena)));
	const struct muster_operand *event = muster_check_operand(check, MUSTER_OF_EVENT);
	if (event)
		events_text(page, event->events, arena);
	if (*runs)
		put_field(page, "only for", runs);
	if (check->after >= 0)
		put_field(page, "after",
			muster_arena_printf(arena, "%s%s", expect->checks[check->after].id,
				check->anywhere ? ", wherever that fails" : ""));
	if (check->also_after >= 0)
		put_field(page, "after", expect->checks[check->also_after].id);
	put_field(page, "otherwise", muster_describe_otherwise(check, arena));
	put_field(page, "source", check->source);
	if (check->measured_on)
		put_field(page, "seen on", muster_describe_measured_on(check, arena));
	put_field(page, "certainty", check->certainty ? check->certainty : "not given");
	put_field(page, "from", origin_text(check, arena));
}

static void texts_text(const char *what, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%-9s  %s\n", i ? "" : what, texts[i]);
}

/* The checks that were asked for: those with these ids, or all when no id is given; uncertain: of these only the checks
 * that cannot fail yet. */
struct wanted {
	const char *const *checks;
	size_t count;
	bool uncertain;
};

/* The place of the check's certainty in muster_certainties; MUSTER_CERTAINTY_COUNT when the check has none. */
static size_t certainty_of(const struct muster_check *check)
{
	size_t i = 0;
	while (i < MUSTER_CERTAINTY_COUNT &&
		(!check->certainty || strcmp(check->certainty, muster_certainties[i]) != 0))
		i++;
	return i;
}

/* Whether the check says something about this machine type. The checks of the first file, the parent that all types
 * extend, hold on every machine; one of these counts only when a later file changes more of it than its place
 * (`after`). */
static bool is_of_type(const struct muster_expect *expect, const struct muster_check *check)
{
	if (strcmp(check->file, expect->checks[0].file) != 0)
		return true;
	for (size_t i = 0; i < check->change_count; i++)
		if (strcmp(check->changes[i].key, "after") != 0)
			return true;
	return false;
}

/* Whether the user asked for the check. */
static bool is_wanted(const struct muster_check *check, const struct wanted *wanted)
{
	if (wanted->uncertain && !muster_check_only_warns(check))
		return false;
	return wanted->count == 0 || muster_text_among(check->id, wanted->checks, wanted->count);
}

/* "14 measured, 30 threshold, 9 specified, 21 inferred", of the checks that are about the machine type */
static void print_certainties(const struct muster_expect *expect)
{
	size_t count[MUSTER_CERTAINTY_COUNT + 1] = { 0 };
	for (size_t i = 0; i < expect->check_count; i++)
		if (is_of_type(expect, &expect->checks[i]))
			count[certainty_of(&expect->checks[i])]++;
	printf("certainty ");
	for (size_t i = 0; i < MUSTER_CERTAINTY_COUNT; i++)
		printf("%s %zu %s", i ? "," : "", count[i], muster_certainties[i]);
	if (count[MUSTER_CERTAINTY_COUNT])
		printf(", %zu not given", count[MUSTER_CERTAINTY_COUNT]);
	printf("\n");
}

/* -1 with err for an id that the machine type does not have, with a suggestion. */
static int checks_known(
	const struct muster_expect *expect, const char *const *checks, size_t count, struct muster_error *err)
{
	for (size_t i = 0; i < count; i++) {
		size_t c = 0;
		while (c < expect->check_count && strcmp(expect->checks[c].id, checks[i]) != 0)
			c++;
		if (c == expect->check_count) {
			char near[MUSTER_SUGGEST_MAX];
			return muster_fail(err, MUSTER_EUSAGE, "skus: %s has no check \"%.100s\"%s", expect->name,
				checks[i],
				muster_suggest(
					checks[i], expect->checks, expect->check_count, sizeof *expect->checks, near));
		}
	}
	return 0;
}

static void show_text(const struct muster_expect *expect, const struct wanted *wanted)
{
	const struct muster_text_page page = { .out = stdout, .layout = muster_cli_list_layout() };
	titled_text(&page, expect->name, expect->title, expect->arena);
	printf("\n");
	texts_text("files", expect->files, expect->file_count);
	texts_text("VM size", expect->vm_sizes, expect->vm_size_count);
	texts_text("GPU", expect->gpu_names, expect->gpu_name_count);
	if (expect->gpu_count)
		printf("GPUs       %d\n", expect->gpu_count);
	printf("checks     %zu\n", expect->check_count);
	print_certainties(expect);
	for (size_t i = 0; i < expect->check_count; i++)
		if (is_wanted(&expect->checks[i], wanted))
			check_text(&page, expect, &expect->checks[i]);
}

static struct muster_value text_or_null(const char *text)
{
	return text && *text ? muster_string(text) : muster_null();
}

/* Write the check as one object. A text that is not there is null. */
static void put_check(
	struct muster_json_writer *w, const struct muster_expect *expect, const struct muster_check *check)
{
	struct muster_arena *arena = expect->arena;
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "check", muster_string(check->id));
	muster_json_writer_pair(w, "title", text_or_null(check->title));
	muster_json_writer_pair(w, "metric", muster_string(check->metric->name));
	muster_json_writer_key(w, "where");
	muster_json_writer_labels(w, check->where, check->where_count);
	muster_json_writer_key(w, "limit_where");
	muster_json_writer_labels(w, check->limit_where, check->limit_where_count);
	muster_json_writer_pair(
		w, "limit_per", text_or_null(check->limit_per.metric ? check->limit_per.metric->name : NULL));
	muster_json_writer_pair(w, "expected", muster_string(muster_describe_expected(check, NULL, arena)));
	muster_json_writer_pair(w, "calibrated", muster_boolean(muster_check_calibrated(check)));
	muster_json_writer_pair(w, "only_for", text_or_null(muster_describe_runs(check, arena)));
	muster_json_writer_pair(
		w, "after", check->after < 0 ? muster_null() : muster_string(expect->checks[check->after].id));
	muster_json_writer_pair(w, "anywhere", muster_boolean(check->anywhere));
	muster_json_writer_pair(w, "slows", muster_boolean(check->slows));
	muster_json_writer_pair(
		w, "severity", muster_string(check->severity == MUSTER_SEVERITY_WARN ? "warn" : "fail"));
	muster_json_writer_pair(w, "optional", muster_boolean(check->optional));
	muster_json_writer_pair(w, "source", muster_string(check->source));
	muster_json_writer_pair(w, "certainty", text_or_null(check->certainty));
	muster_json_writer_pair(w, "only_warns", muster_boolean(muster_check_only_warns(check)));
	muster_json_writer_pair(w, "measured_on", text_or_null(muster_describe_measured_on(check, arena)));
	muster_json_writer_pair(w, "advice", text_or_null(check->advice));
	muster_json_writer_pair(w, "action_code", muster_string(muster_check_action(check)));
	muster_json_writer_pair(w, "file", muster_string(check->file));
	muster_json_writer_array_of(w, "changes");
	for (size_t i = 0; i < check->change_count; i++) {
		muster_json_writer_object(w);
		muster_json_writer_pair(w, "key", muster_string(check->changes[i].key));
		muster_json_writer_pair(w, "file", muster_string(check->changes[i].file));
		muster_json_writer_pair(w, "removed", muster_boolean(check->changes[i].removed));
		muster_json_writer_object_end(w);
	}
	muster_json_writer_array_end(w);
	muster_json_writer_object_end(w);
}

static void show_json(const struct muster_expect *expect, const struct wanted *wanted)
{
	struct muster_json_writer w;
	muster_json_writer_init(&w, stdout, 2);
	muster_json_writer_object(&w);
	put_head(&w, expect);
	muster_json_writer_array_of(&w, "checks");
	for (size_t i = 0; i < expect->check_count; i++)
		if (is_wanted(&expect->checks[i], wanted))
			put_check(&w, expect, &expect->checks[i]);
	muster_json_writer_array_end(&w);
	muster_json_writer_object_end(&w);
}

static int show(const char *configs, const char *name, const struct wanted *wanted, const char *overlay, bool json)
{
	struct muster_expect expect;
	struct muster_error err;
	int code = MUSTER_EXIT_PASS;
	if (muster_expect_load(configs, name, overlay, &expect, &err) < 0)
		return muster_cli_usage(&err);
	if (checks_known(&expect, wanted->checks, wanted->count, &err) < 0)
		code = muster_cli_usage(&err);
	else if (json)
		show_json(&expect, wanted);
	else
		show_text(&expect, wanted);
	if (code == MUSTER_EXIT_PASS)
		code = muster_cli_printed(code);
	muster_expect_done(&expect);
	return code;
}

int muster_cmd_skus(int argc, char **argv)
{
	enum { NAMES_MAX = 100 };
	const char *overlay = NULL, *names[NAMES_MAX];
	enum muster_form form = MUSTER_FORM_TEXT;
	bool uncertain = false;
	const struct muster_option options[] = {
		{ "--overlay", "FILE", "overlay with the thresholds of your site (a JSON merge patch)",
			.text = &overlay },
		{ "--uncertain", NULL,
			"only the speeds and times that warn and cannot fail yet: no measurement on such a machine is "
			"known",
			.flag = &uncertain },
		MUSTER_CLI_FORMAT(&form),
		MUSTER_CLI_JSON,
	};
	struct muster_cli cli = {
		.usage = "muster skus [NAME [CHECK...]] [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Without NAME, lists the machine types. With NAME, lists each check: the expected value, "
			    "its source and certainty, and the file that contains it; with CHECK, only these checks.\n",
		.prints = true,
		.operands = names,
		.operands_most = NAMES_MAX,
		.words = muster_words_sku_check,
	};
	struct muster_paths paths;
	struct muster_error err;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, &paths, &code))
		return code;
	if ((overlay || uncertain) && cli.operand_count == 0) {
		muster_fail(&err, MUSTER_EUSAGE, "skus: %s needs NAME, the machine type",
			overlay ? "--overlay" : "--uncertain");
		return muster_cli_usage(&err);
	}
	if (cli.operand_count == 0)
		return muster_cli_printed(list_all(paths.configs, form == MUSTER_FORM_JSON));
	const struct wanted wanted = { names + 1, cli.operand_count - 1, uncertain };
	return show(paths.configs, names[0], &wanted, overlay, form == MUSTER_FORM_JSON);
}
