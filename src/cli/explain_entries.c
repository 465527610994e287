/* SPDX-License-Identifier: Apache-2.0 */
/* explain_entries.c - the book of `muster explain`: which ids there are, and what is known of each
 *
 * muster_book_open() makes the entries, kind after kind: checks of all machine types, metrics and probes with the
 * finding "probe.NAME" of each, events, the rows of explain.def, and the machine types. muster_explain_kinds, at the
 * end, has the function that explains an entry of each kind; what entry->about points to depends on the kind:
 *
 *    kind                  entry->about                       explained by
 *    check                 struct muster_check                muster_book_explain_check (explain_check.c)
 *    metric                struct muster_metric               explain_metric
 *    probe                 struct muster_probe                explain_probe
 *    xid, sxid, event      struct muster_event                explain_event
 *    group                 struct fixed                       explain_group
 *    sku                   NULL                               explain_sku
 *    all others            struct fixed                       explain_fixed
 *
 * A function only adds lines to the book, with labels; explain.c prints them. A label with nothing to say has no line.
 */
#include "cli/explain.h"

#include "expect/operators.h"
#include "muster/probe.h"
#include "muster/report.h"
#include "util/array.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

/* A row of explain.def. */
struct fixed {
	enum muster_explain_kind kind;
	const char *id, *means, *why, *action;
};

static const struct fixed rows[] = {
#define ROW(kind, id, means, why, do) { MUSTER_EXPLAIN_##kind, id, means, why, do },
#include "cli/explain.def"
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* ---- the entries ---- */

/* Add an entry. The name of an id that is a number begins with its kind ("xid-79"), as several kinds have such ids. */
static void add(
	struct muster_book *book, enum muster_explain_kind kind, const char *id, const char *means, const void *about)
{
	const char *name = muster_explain_kinds[kind].numbered
				   ? muster_arena_printf(book->arena, "%s-%s", muster_explain_kinds[kind].name, id)
				   : id;
	MUSTER_ARRAY_PUSH(book->entries, book->count, book->room,
		((struct muster_explain_entry){ name, id, means, kind, about }));
}

/* Add each check once, though many machine types have it. The entry is about the check of one of the types. Its meaning
 * is the title, if all types give the check the same one, and else what its metric means. */
static void add_checks(struct muster_book *book)
{
	size_t first = book->count, kept = first;
	for (size_t t = 0; t < book->type_count; t++)
		for (size_t i = 0; i < book->types[t].check_count; i++) {
			const struct muster_check *check = &book->types[t].checks[i];
			add(book, MUSTER_EXPLAIN_CHECK, check->id, check->title ? check->title : check->metric->meaning,
				check);
		}
	if (book->count > first)
		qsort(book->entries + first, book->count - first, sizeof *book->entries, muster_by_text);
	for (size_t i = first; i < book->count; i++) {
		struct muster_explain_entry *last = kept > first ? &book->entries[kept - 1] : NULL;
		if (!last || strcmp(last->id, book->entries[i].id) != 0)
			book->entries[kept++] = book->entries[i];
		else if (strcmp(last->means, book->entries[i].means) != 0)
			last->means = ((const struct muster_check *)last->about)->metric->meaning;
	}
	book->count = kept;
}

static const char probe_action[] =
	"a missing library: install it, or set LD_LIBRARY_PATH. A crash or a hang: read the evidence of the finding, "
	"dmesg and Xids of the node, exclude the node, and run muster node there; a reset or a reboot often helps";

/* Add all metrics, all probes, and for each probe the finding that it did not finish. What to do then is the probe's
 * own hang_advice, where it has one. */
static void add_probes(struct muster_book *book)
{
	for (size_t i = 0; i < muster_metric_count(); i++)
		add(book, MUSTER_EXPLAIN_METRIC, muster_metric_at(i)->name, muster_metric_at(i)->meaning,
			muster_metric_at(i));
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		struct fixed *row = muster_arena_alloc(book->arena, sizeof *row);
		row->why =
			"a probe whose values the checks need must finish; the finding is inconclusive where the cause "
			"may be outside the node";
		row->action = probe->hang_advice ? probe->hang_advice : probe_action;
		add(book, MUSTER_EXPLAIN_PROBE, probe->name, probe->summary, probe);
		add(book, MUSTER_EXPLAIN_FINDING, muster_arena_printf(book->arena, "probe.%s", probe->name),
			muster_arena_printf(book->arena, "the probe %s did not finish", probe->name), row);
	}
}

/* Add the events of all tables, as the first machine type has them. */
static void add_events(struct muster_book *book)
{
	for (size_t t = 0; book->type_count > 0 && t < MUSTER_EVENT_TABLE_COUNT; t++)
		for (size_t i = 0; i < book->types->events[t].count; i++) {
			const struct muster_event *event = &book->types->events[t].items[i];
			add(book, MUSTER_EXPLAIN_XID + (enum muster_explain_kind)t, event->code, event->name, event);
		}
}

int muster_book_open(struct muster_book *ret, const struct muster_paths *paths, const char *sku, const char *overlay,
	struct muster_error *err)
{
	*ret = (struct muster_book){ .arena = muster_arena_new(), .one_type = sku != NULL };
	if (sku) {
		ret->types = muster_arena_alloc(ret->arena, sizeof *ret->types);
		if (muster_expect_load(paths->configs, sku, overlay, ret->types, err) < 0)
			return -1;
		ret->type_count = 1;
	} else {
		muster_cli_types(paths->configs, ret->arena, &ret->types, &ret->type_count);
	}
	add_checks(ret);
	add_probes(ret);
	add_events(ret);
	for (size_t i = 0; i < ROW_COUNT; i++)
		add(ret, rows[i].kind, rows[i].id, rows[i].means, &rows[i]);
	for (size_t i = 0; i < ret->type_count; i++)
		add(ret, MUSTER_EXPLAIN_SKU, ret->types[i].name, ret->types[i].title ? ret->types[i].title : "", NULL);
	return 0;
}

void muster_book_close(struct muster_book *book)
{
	for (size_t i = 0; i < book->type_count; i++)
		muster_expect_done(&book->types[i]);
	free(book->entries);
	free(book->lines);
	muster_arena_free(book->arena);
}

/* ---- texts ---- */

/* The row of the group of the check, whose id is what stands before the first point: "ib" of "ib.state". NULL without
 * one. */
static const struct fixed *group_of(const char *check)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		size_t length = strlen(rows[i].id);
		if (rows[i].kind == MUSTER_EXPLAIN_GROUP && strncmp(check, rows[i].id, length) == 0 &&
			check[length] == '.')
			return &rows[i];
	}
	return NULL;
}

const char *muster_book_causes(const char *check)
{
	const struct fixed *group = group_of(check);
	return group ? group->action : "";
}

void muster_book_line(struct muster_book *book, const char *label, const char *text)
{
	if (text && *text)
		MUSTER_ARRAY_PUSH(
			book->lines, book->line_count, book->line_room, ((struct muster_explain_line){ label, text }));
}

/* Append text to the list, with ", " between. */
static void more(struct muster_book *book, const char **list, const char *text)
{
	*list = muster_arena_printf(book->arena, "%s%s%s", *list, **list ? ", " : "", text);
}

const char *muster_book_who(struct muster_book *book, const char *code)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (rows[i].kind == MUSTER_EXPLAIN_ACTION && strcmp(rows[i].id, code) == 0)
			return muster_arena_printf(
				book->arena, "%s; the node must be empty: %s", rows[i].action, rows[i].why);
	return "";
}

/* "<node>" for "${node}": the name is what a finding would fill in. A "${" without a "}" stays. */
const char *muster_book_plain(struct muster_book *book, const char *text)
{
	const char *plain = "", *open, *close;
	while ((open = strstr(text, "${")) && (close = strchr(open, '}'))) {
		plain = muster_arena_printf(book->arena, "%s%.*s<%.*s>", plain, (int)(open - text), text,
			(int)(close - open) - 2, open + 2);
		text = close + 1;
	}
	return muster_arena_printf(book->arena, "%s%s", plain, text);
}

enum { EVERY_PROFILE = (1 << MUSTER_PROFILE_COUNT) - 1 };

const char *muster_book_runs_text(struct muster_book *book, struct muster_book_runs runs)
{
	static const char *const options[MUSTER_MEASURE_COUNT] = {
		[MUSTER_MEASURE_STORAGE] = "with --storage, which the profile full has too",
		[MUSTER_MEASURE_CHECKPOINT] = "with --checkpoint DIR, profile standard or full",
		[MUSTER_MEASURE_BROADCAST] = "of several nodes with --storage, profile standard or full",
		[MUSTER_MEASURE_PATHS] = "with --expect-path, or paths of the expectation file",
	};
	const char *text = "";
	for (size_t i = MUSTER_MEASURE_COUNT; i-- > 0;)
		if (runs.measures & 1 << i)
			return options[i];
	if (runs.profiles == 0 || runs.profiles == EVERY_PROFILE)
		return "every profile";
	for (size_t i = 0; i < MUSTER_PROFILE_COUNT; i++)
		if (runs.profiles & 1u << i)
			text = muster_arena_printf(
				book->arena, "%s%s%s", text, *text ? " or " : "profile ", muster_profile_names[i]);
	return text;
}

/* In which runs a probe measures, for a metric that no check is about. In the profile quick it does when it has work
 * alone, together or in a ring, and no soak; or traffic, which in quick is only between nodes, hence the 2 nodes. */
static struct muster_book_runs runs_of_probe(const struct muster_probe *probe)
{
	bool quick = !probe || (!probe->soaks && (probe->run || probe->together || probe->ring ||
							 muster_probe_has_traffic(probe, MUSTER_QUICK, 2)));
	return (struct muster_book_runs){
		.profiles = quick ? EVERY_PROFILE : EVERY_PROFILE & ~(1u << MUSTER_QUICK),
		.measures = probe && probe->of_storage ? 1 << MUSTER_MEASURE_STORAGE : 0,
	};
}

/* Add the line "measured in" for a metric or a probe. */
static void measured_line(struct muster_book *book, const struct muster_probe *probe, struct muster_book_runs runs)
{
	bool between = probe && probe->quick_between_nodes && runs.profiles & 1u << MUSTER_QUICK;
	const char *text = muster_book_runs_text(book, runs);
	muster_book_line(book, "measured in",
		between ? muster_arena_printf(book->arena, "%s; in quick only between nodes", text) : text);
}

/* In which runs a metric is measured: the profiles of all its checks together, and those options that all of its checks
 * need. A metric without a check has the runs of its probe. */
static struct muster_book_runs runs_of_metric(const struct muster_book *book, const struct muster_metric *metric)
{
	struct muster_book_runs runs = { 0, ~0 };
	for (size_t t = 0; t < book->type_count; t++)
		for (size_t i = 0; i < book->types[t].check_count; i++) {
			const struct muster_check *check = &book->types[t].checks[i];
			if (check->metric != metric)
				continue;
			runs.profiles |= check->when_profiles ? check->when_profiles : EVERY_PROFILE;
			runs.measures &= check->when_measures;
		}
	return runs.profiles ? runs : runs_of_probe(muster_probe_find(muster_metric_probe(metric)));
}

/* ---- one function for each kind ---- */

/* A row of explain.def. The labels of its two texts are "do" and "why", unless its kind has others. */
static void explain_fixed(struct muster_book *book, const struct muster_explain_entry *entry)
{
	const struct fixed *row = entry->about;
	const struct muster_explain_kind_row *kind = &muster_explain_kinds[entry->kind];
	muster_book_line(book, kind->action ? kind->action : "do", row->action);
	muster_book_line(book, kind->why ? kind->why : "why", row->why);
	if (entry->kind == MUSTER_EXPLAIN_OPERATOR)
		muster_book_line(book, "more", "docs/reference/expectations.md");
}

static void explain_group(struct muster_book *book, const struct muster_explain_entry *entry)
{
	const char *list = "";
	for (size_t i = 0; i < book->count; i++)
		if ((book->entries[i].kind == MUSTER_EXPLAIN_CHECK ||
			    book->entries[i].kind == MUSTER_EXPLAIN_FINDING) &&
			group_of(book->entries[i].id) == entry->about)
			more(book, &list, book->entries[i].id);
	muster_book_line(book, "usual causes", ((const struct fixed *)entry->about)->action);
	muster_book_line(book, "checks", list);
}

static void explain_metric(struct muster_book *book, const struct muster_explain_entry *entry)
{
	const struct muster_metric *metric = entry->about;
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(metric));
	const char *checks = "";
	for (size_t i = 0; i < book->count; i++)
		if (book->entries[i].kind == MUSTER_EXPLAIN_CHECK &&
			((const struct muster_check *)book->entries[i].about)->metric == metric)
			more(book, &checks, book->entries[i].id);
	muster_book_line(book, "value",
		muster_arena_printf(book->arena, "%s%s%s of each %s%s", muster_type_name(metric->type),
			*muster_metric_unit(metric) ? ", " : "", muster_metric_unit(metric),
			muster_scope_name(metric->scope),
			metric->better == MUSTER_BETTER_MORE   ? "; more is better"
			: metric->better == MUSTER_BETTER_LESS ? "; less is better"
							       : ""));
	muster_book_line(book, "probe",
		muster_arena_printf(book->arena, "%s: %s", muster_metric_probe(metric), probe ? probe->summary : ""));
	measured_line(book, probe, runs_of_metric(book, metric));
	muster_book_line(book, "if missing", metric->if_null);
	muster_book_line(book, "checks", *checks ? checks : "none: the value is recorded only");
}

static void explain_probe(struct muster_book *book, const struct muster_explain_entry *entry)
{
	const struct muster_probe *probe = entry->about;
	struct muster_book_runs runs = { 0, ~0 };
	const char *metrics = "";
	for (size_t i = 0; i < probe->metric_count; i++) {
		struct muster_book_runs of = runs_of_metric(book, &probe->metrics[i]);
		runs.profiles |= of.profiles;
		runs.measures &= of.measures;
		more(book, &metrics, probe->metrics[i].name);
	}
	muster_book_line(book, "runs on", probe->scope == MUSTER_SCOPE_NODE ? "one rank of each node" : "each rank");
	measured_line(book, probe, runs);
	muster_book_line(book, "if it fails", muster_arena_printf(book->arena, "muster explain probe.%s", probe->name));
	muster_book_line(book, "metrics", metrics);
}

/* The check of the first machine type that looks its events up in this table; NULL when there is none. */
static const struct muster_check *check_of_events(
	const struct muster_book *book, const struct muster_event_table *table)
{
	for (size_t i = 0; i < book->types->check_count; i++) {
		const struct muster_operand *operand = muster_check_operand(&book->types->checks[i], MUSTER_OF_EVENT);
		if (operand && operand->events == table)
			return &book->types->checks[i];
	}
	return NULL;
}

/* The names of other entries of the same kind with the same number: of "149" those of "149-fatal" and the like. "" for
 * an event without a number. */
static const char *other_cases(struct muster_book *book, const struct muster_explain_entry *entry)
{
	const char *list = "";
	size_t digits = strspn(entry->id, "0123456789");
	for (size_t i = 0; digits && i < book->count; i++)
		if (book->entries[i].kind == entry->kind && &book->entries[i] != entry &&
			strspn(book->entries[i].id, "0123456789") == digits &&
			strncmp(book->entries[i].id, entry->id, digits) == 0)
			more(book, &list, book->entries[i].name);
	return list;
}

/* An event of the kernel's log. It counts for its own `hours`; without these for those of the check of its table, and
 * without a check for 24 h. */
static void explain_event(struct muster_book *book, const struct muster_explain_entry *entry)
{
	static const char *const classes[MUSTER_EVENT_CLASS_COUNT] = {
		[MUSTER_EVENT_NOTE] = "note: passes, and is shown in the report",
		[MUSTER_EVENT_WARN] = "warns",
		[MUSTER_EVENT_FAIL] = "fails the node; the drain reason names the event",
	};
	static const char *const ends[MUSTER_EVENT_TABLE_COUNT] = {
		[MUSTER_EVENT_XID] = ("the driver is loaded again, the node is booted, or (most Xids) the driver logs "
				      "the reset that it had asked for"),
		[MUSTER_EVENT_SXID] = "the driver is loaded again, the NVSwitch is probed again, or the node is booted",
		[MUSTER_EVENT_KERNEL] =
			"the node is booted; of an event of the NVIDIA driver also when the driver is loaded again",
	};
	const struct muster_event *event = entry->about;
	size_t source = (size_t)(entry->kind - MUSTER_EXPLAIN_XID);
	const struct muster_check *check = check_of_events(book, &book->types->events[source]);
	const char *explained = "";
	for (size_t i = 0; i < event->explain_count; i++)
		more(book, &explained, event->explains[i]);
	muster_book_line(book, "class", classes[event->class]);
	muster_book_line(book, "do", muster_book_plain(book, event->action));
	muster_book_line(book, "action code", event->action_code);
	muster_book_line(book, "who", event->action_code ? muster_book_who(book, event->action_code) : NULL);
	muster_book_line(book, "counts until",
		muster_arena_printf(book->arena, "%s; at most %g h", ends[source],
			event->hours > 0 ? event->hours
			: check          ? muster_check_operand(check, MUSTER_OF_EVENT)->value.number
					 : 24));
	muster_book_line(book, "comes with", explained);
	muster_book_line(book, "other cases", other_cases(book, entry));
	muster_book_line(book, "seen on", event->measured_on);
	muster_book_line(book, "why", check ? check->source : NULL);
	muster_book_line(book, "check", check ? check->id : NULL);
	muster_book_line(book, "probe", check ? muster_metric_probe(check->metric) : NULL);
}

static void explain_sku(struct muster_book *book, const struct muster_explain_entry *entry)
{
	muster_book_line(book, "checks", muster_arena_printf(book->arena, "muster skus %s prints each", entry->id));
}

const struct muster_explain_kind_row muster_explain_kinds[MUSTER_EXPLAIN_KINDS] = {
	[MUSTER_EXPLAIN_CHECK] = { .name = "check", .title = "check", .explain = muster_book_explain_check },
	[MUSTER_EXPLAIN_GROUP] = { .name = "group", .title = "group of checks", .explain = explain_group },
	[MUSTER_EXPLAIN_FINDING] = { .name = "finding", .title = "finding", .explain = explain_fixed },
	[MUSTER_EXPLAIN_METRIC] = { .name = "metric", .title = "metric", .explain = explain_metric },
	[MUSTER_EXPLAIN_PROBE] = { .name = "probe", .title = "probe", .explain = explain_probe },
	[MUSTER_EXPLAIN_XID] = { .name = "xid", .title = "Xid", .explain = explain_event, .numbered = true },
	[MUSTER_EXPLAIN_SXID] = { .name = "sxid", .title = "SXid", .explain = explain_event, .numbered = true },
	[MUSTER_EXPLAIN_EVENT] = { .name = "event", .title = "kernel event", .explain = explain_event },
	[MUSTER_EXPLAIN_EXIT] = { .name = "exit", .title = "exit code", .explain = explain_fixed, .numbered = true },
	[MUSTER_EXPLAIN_STATUS] = { .name = "status", .title = "status", .explain = explain_fixed },
	[MUSTER_EXPLAIN_PROFILE] = { .name = "profile", .title = "profile", .explain = explain_fixed },
	[MUSTER_EXPLAIN_ACTION] = { .name = "action",
		.title = "action code",
		.explain = explain_fixed,
		.why = "node empty",
		.action = "who" },
	[MUSTER_EXPLAIN_CERTAINTY] = { .name = "certainty", .title = "certainty", .explain = explain_fixed },
	[MUSTER_EXPLAIN_PROOF] = { .name = "proof", .title = "proof", .explain = explain_fixed },
	[MUSTER_EXPLAIN_OPERATOR] = { .name = "operator", .title = "operator of a check", .explain = explain_fixed },
	[MUSTER_EXPLAIN_SKU] = { .name = "sku", .title = "machine type", .explain = explain_sku },
};
