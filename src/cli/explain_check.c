/* SPDX-License-Identifier: Apache-2.0 */
/* explain_check.c - what a check asks of each machine type, and what is known of its metric
 *
 * A check with one id is in several machine types, perhaps with other values in each. texts_fill() says everything
 * about the check of one type in ten texts, and variant_add() puts types with the same ten texts together. So the book
 * has a few variants in place of one explanation for each type; explain.c prints them.
 */
#include "cli/explain.h"

#include "expect/describe.h"
#include "muster/probe.h"

#include <string.h>

/* The fields of a check, in the order in which they are printed. */
enum { DO = 0, ACTION, WHO, CAUSES, EXPECTED = MUSTER_EXPLAIN_EXPECTED, OTHERWISE, DOUBT, WHY, SEEN, RUNS };

const char *const muster_explain_fields[MUSTER_EXPLAIN_FIELDS] = {
	[DO] = "do",
	[ACTION] = "action code",
	[WHO] = "who",
	[CAUSES] = "usual causes",
	[EXPECTED] = "expected",
	[OTHERWISE] = "otherwise",
	[DOUBT] = "inconclusive",
	[WHY] = "why",
	[SEEN] = "seen on",
	[RUNS] = "measured in",
};

/* In which runs the check is evaluated: "every profile", "runs of ...", or "runs with --checkpoint DIR, ..." where only
 * an option makes them measure it. */
static const char *runs_text(struct muster_book *book, const struct muster_check *check)
{
	const struct muster_book_runs runs = { check->when_profiles, check->when_measures };
	const char *text = muster_describe_runs(check, book->arena);
	if (check->when_measures)
		return muster_arena_printf(book->arena, "runs %s", muster_book_runs_text(book, runs));
	if (check->when_profiles)
		return muster_arena_printf(book->arena, "runs of %s", text);
	return muster_arena_printf(
		book->arena, "%s%s%s", *text ? "runs of " : "", text, *text ? ", every profile" : "every profile");
}

/* Values of the metric with which the check is inconclusive, each with the reason: "value: why; value: why"; "" without
 * any. */
static const char *excuses_text(struct muster_book *book, const struct muster_check *check)
{
	const char *text = "";
	for (size_t i = 0; i < check->inconclusive_on_count; i++)
		text = muster_arena_printf(book->arena, "%s%s%s: %s", text, i ? "; " : "",
			check->inconclusive_on[i].value, check->inconclusive_on[i].why);
	return text;
}

/* Fill in the texts of one check in one machine type; "" for a field that has nothing to say. Of a check of events the
 * event decides what to do, so the text refers to it. Of a check of exchanges the action code depends on the part that
 * the exchanges name, so the text lists the cases. */
static void texts_fill(
	struct muster_book *book, const struct muster_check *check, const char *texts[MUSTER_EXPLAIN_FIELDS])
{
	struct muster_arena *arena = book->arena;
	const char *advice = check->advice, *seen = muster_describe_measured_on(check, arena);
	bool of_event = !advice && muster_check_operand(check, MUSTER_OF_EVENT);
	if (of_event)
		advice =
			"what the event of the finding asks for, which also has the action code: muster explain xid N, "
			"sxid N, or the kind of event";
	if (advice && check->metric && check->metric->is_exchange)
		advice = muster_arena_printf(arena,
			"%s. Where the exchanges name one part, the finding has the action code of that part: "
			"replace-node of a GPU, fix-fabric of an adapter or a link, investigate of a node",
			advice);
	texts[CAUSES] = muster_book_causes(check->id);
	texts[EXPECTED] = muster_describe_expected(check, NULL, arena);
	texts[OTHERWISE] = muster_describe_otherwise(check, arena);
	texts[DO] = muster_book_plain(book, advice ? advice : "see what the check means");
	texts[ACTION] = of_event ? "that of the event" : muster_check_action(check);
	texts[WHO] = of_event ? "as the event says" : muster_book_who(book, texts[ACTION]);
	texts[RUNS] = runs_text(book, check);
	texts[WHY] = muster_arena_printf(arena, "%s%s%s%s", check->source, check->certainty ? " (" : "",
		check->certainty ? check->certainty : "", check->certainty ? ")" : "");
	texts[SEEN] = seen ? seen : "";
	texts[DOUBT] = excuses_text(book, check);
}

/* Add the machine type to the variant with exactly these texts; the first one with them makes it. The book has room for
 * one variant of each type. */
static void variant_add(struct muster_book *book, const char *sku, const char *const texts[MUSTER_EXPLAIN_FIELDS])
{
	size_t v = 0;
	for (; v < book->variant_count; v++) {
		size_t same = 0;
		while (same < MUSTER_EXPLAIN_FIELDS && strcmp(book->variants[v].texts[same], texts[same]) == 0)
			same++;
		if (same == MUSTER_EXPLAIN_FIELDS)
			break;
	}
	struct muster_explain_variant *variant = &book->variants[v];
	if (v == book->variant_count) {
		book->variant_count++;
		variant->sku_count = 0;
		variant->skus = muster_arena_alloc(book->arena, book->type_count * sizeof *variant->skus);
		memcpy(variant->texts, texts, sizeof variant->texts);
	}
	variant->skus[variant->sku_count++] = sku;
}

/* "all 23", "3 of 23: A, B, C", or "22 of 23": names only where fewer than half of the types have the check. has: for
 * each type. */
static const char *types_text(struct muster_book *book, const bool *has)
{
	size_t count = 0;
	const char *names = "";
	for (size_t i = 0; i < book->type_count; i++)
		if (has[i])
			names = muster_arena_printf(
				book->arena, "%s%s %s", names, count++ ? "," : ":", book->types[i].name);
	if (count == book->type_count)
		return muster_arena_printf(book->arena, "all %zu", count);
	return muster_arena_printf(
		book->arena, "%zu of %zu%s", count, book->type_count, count * 2 < book->type_count ? names : "");
}

/* Fill in the variants from all machine types, and lines for what is the same in each: the metric, the probe, and which
 * types have the check. entry->about is the check of one of the types. */
void muster_book_explain_check(struct muster_book *book, const struct muster_explain_entry *entry)
{
	bool *has = muster_arena_alloc(book->arena, book->type_count * sizeof *has);
	const struct muster_check *any = entry->about;
	book->variants = muster_arena_alloc(book->arena, book->type_count * sizeof *book->variants);
	for (size_t t = 0; t < book->type_count; t++)
		for (size_t i = 0; i < book->types[t].check_count; i++) {
			const struct muster_check *check = &book->types[t].checks[i];
			const char *texts[MUSTER_EXPLAIN_FIELDS];
			if (strcmp(check->id, entry->id) != 0)
				continue;
			texts_fill(book, check, texts);
			variant_add(book, book->types[t].name, texts);
			has[t] = true;
		}
	const struct muster_metric *metric = any->metric;
	const char *probe = muster_metric_probe(metric);
	muster_book_line(book, "metric",
		muster_arena_printf(book->arena, "%s%s: %s", metric->name, muster_describe_where(any, book->arena),
			metric->meaning));
	muster_book_line(book, "probe",
		muster_arena_printf(book->arena, "%s: %s", probe,
			muster_probe_find(probe) ? muster_probe_find(probe)->summary : "derived from other values"));
	if (!book->one_type)
		muster_book_line(book, "machine types", types_text(book, has));
}
