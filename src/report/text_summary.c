/* text_summary.c - the summary for people
 *
 * Read from the top: what was looked at, what is wrong with it and what to do, where, and how fast it was. Everything
 * that a machine gave goes through muster_print_escaped.
 */
#include "muster/report.h"

#include "util/text.h"
#include "model/limits.h"
#include "report/text_summary.h"
#include "slurm/placement.h"
#include "report/print_escaped.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS_MAX = 40,         /* findings shown in full */
	BLOCKS_OF_ONE_CHECK = 8, /* and of one check, so that one common fault cannot hide the others */
	BLOCKED_MAX = 12,        /* ids of checks in one line */
	SKIPPED_MAX = 4,
	PLACES_MAX = 40,
};

void muster_text_paint(const struct muster_text_page *page, enum muster_paint paint, const char *text)
{
	static const char *const codes[] = {
		[MUSTER_PAINT_OK] = "32",
		[MUSTER_PAINT_WARN] = "33",
		[MUSTER_PAINT_FAIL] = "1;31",
		[MUSTER_PAINT_DOUBT] = "35",
		[MUSTER_PAINT_DIM] = "2",
		[MUSTER_PAINT_STRONG] = "1",
	};
	if (page->colour)
		fprintf(page->out, "\033[%sm%s\033[0m", codes[paint], text);
	else
		fputs(text, page->out);
}

static const struct look {
	const char *mark;
	enum muster_paint paint;
} looks[] = {
	[MUSTER_PASS] = { "pass", MUSTER_PAINT_OK },
	[MUSTER_WARN] = { "warn", MUSTER_PAINT_WARN },
	[MUSTER_FAIL] = { "FAIL", MUSTER_PAINT_FAIL },
	[MUSTER_SKIP] = { "n/a", MUSTER_PAINT_DIM },
	[MUSTER_INCONCLUSIVE] = { "inconclusive", MUSTER_PAINT_DOUBT },
	[MUSTER_BLOCKED] = { "blocked", MUSTER_PAINT_DOUBT },
};
_Static_assert(sizeof looks / sizeof *looks == MUSTER_STATUS_COUNT, "every status has its look");

static const struct look *look_of(enum muster_status status)
{
	return &looks[(unsigned int)status < MUSTER_STATUS_COUNT ? status : MUSTER_INCONCLUSIVE];
}

const char *muster_text_mark(enum muster_status status)
{
	return look_of(status)->mark;
}

void muster_text_paint_status(const struct muster_text_page *page, enum muster_status status, const char *text)
{
	muster_text_paint(page, look_of(status)->paint, text ? text : look_of(status)->mark);
}

const char *muster_text_plural(char out[64], size_t count, const char *noun)
{
	snprintf(out, 64, "%zu %s%s", count, noun, count == 1 ? "" : "s");
	return out;
}

static void print_header(const struct muster_text_page *page)
{
	const struct muster_report *report = page->report;
	const struct muster_job *job = &report->run->job;
	char nodes[64], ranks[64];
	muster_text_paint(page, MUSTER_PAINT_STRONG, "muster " MUSTER_VERSION);
	muster_print_text(page->out, ": %s, %s, %s, profile %s, %.1f s", report->sku ? report->sku : "unknown",
		muster_text_plural(nodes, muster_run_known_nodes(report->run), "node"),
		muster_text_plural(ranks, (size_t)job->ranks, "rank"), job->profile ? job->profile : "-",
		job->elapsed_s);
	if (job->id)
		muster_print_text(page->out, ", job %s", job->id);
	if (job->version && strcmp(job->version, MUSTER_VERSION) != 0)
		muster_print_text(page->out, " (measured by muster %s)", job->version);
	fputc('\n', page->out);
	if (job->simulated) {
		muster_text_paint(page, MUSTER_PAINT_WARN,
			"SIMULATED: results come from simulated hardware, not from a real machine");
		fputc('\n', page->out);
	}
	if (report->unwritten) {
		muster_text_paint(page, MUSTER_PAINT_FAIL, "The JSON report could not be written: ");
		muster_print_escaped(page->out, report->unwritten);
		fputc('\n', page->out);
	}
	if (job->beside_jobs)
		fputs("Other jobs used CPUs of the node meanwhile: a slow copy or all-reduce is inconclusive\n",
			page->out);
	if (job->assembled)
		fputs("Built by muster assemble from files on disk: rank 0 did not write this report\n", page->out);
	if (!report->sku_origin)
		fputs("No expectation file for this machine type: nothing was checked\n", page->out);
	if (report->observe)
		fputs("No absolute thresholds: only launch and consistency were checked\n", page->out);
}

/* Number of passes of checks without a threshold. */
static size_t observed_count(const struct muster_report *report)
{
	size_t count = 0;
	for (size_t i = 0; i < report->tally_count; i++)
		if (report->tallies[i].uncalibrated)
			count += report->tallies[i].count[MUSTER_PASS];
	return count;
}

static void print_verdict(const struct muster_text_page *page)
{
	static const struct {
		enum muster_status status;
		const char *text;
	} parts[] = {
		{ MUSTER_FAIL, "failed" },
		{ MUSTER_INCONCLUSIVE, "inconclusive" },
		{ MUSTER_WARN, "warned" },
		{ MUSTER_PASS, "passed" },
		{ MUSTER_BLOCKED, "blocked" },
		{ MUSTER_SKIP, "not applicable" },
	};
	_Static_assert(sizeof parts / sizeof *parts == MUSTER_STATUS_COUNT, "every status is counted");
	static const char *const verdicts[] = {
		[MUSTER_PASS] = "PASS",
		[MUSTER_FAIL] = "FAIL",
		[MUSTER_INCONCLUSIVE] = "INCONCLUSIVE",
	};
	enum muster_status verdict = page->report->verdict;
	bool known = verdict == MUSTER_PASS || verdict == MUSTER_FAIL;
	muster_text_paint_status(page, verdict, verdicts[known ? verdict : MUSTER_INCONCLUSIVE]);
	fputs(": ", page->out);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		char text[64];
		size_t count = page->report->count[parts[i].status];
		if (count == 0 && parts[i].status == MUSTER_BLOCKED)
			continue;
		snprintf(text, sizeof text, "%zu %s", count, parts[i].text);
		fputs(i == 0 ? "" : ", ", page->out);
		if (count > 0)
			muster_text_paint_status(page, parts[i].status, text);
		else
			fputs(text, page->out);
		count = parts[i].status == MUSTER_PASS ? observed_count(page->report) : 0;
		if (count > 0)
			fprintf(page->out, " (%zu of them recorded only, no threshold)", count);
	}
	if (page->report->strict)
		fputs("; strict: warnings fail", page->out);
	fputc('\n', page->out);
}

void muster_text_label(FILE *out, const struct muster_label *label)
{
	char text[128];
	if (label->value.type == MUSTER_STRING)
		muster_print_escaped(out, label->value.string);
	else if (strcmp(label->key, "bytes") == 0 && label->value.number >= 0 && label->value.number < 0x1p63)
		fputs(muster_bytes_text((uint64_t)label->value.number, text, sizeof text), out);
	else
		fputs(muster_value_text(label->value, text, sizeof text), out);
}

/* Labels that a place has besides. */
static bool is_place(const char *key)
{
	return strcmp(key, "gpu") == 0 || strcmp(key, "port") == 0 || strcmp(key, "link_layer") == 0;
}

char *muster_text_where(const struct muster_finding *finding)
{
	char *text;
	size_t length;
	FILE *out = muster_memory_open(&text, &length);
	if (finding->node)
		muster_print_text(out, "node %s", finding->node);
	else
		fputs("whole job", out);
	if (finding->rank >= 0)
		fprintf(out, ", rank %d", finding->rank);
	if (finding->gpu)
		muster_print_text(out, ", GPU %s", finding->gpu);
	if (finding->port)
		muster_print_text(out, ", port %s", finding->port);
	for (size_t i = 0; i < finding->label_count; i++) {
		if (is_place(finding->labels[i].key))
			continue;
		fprintf(out, ", %s ", finding->labels[i].key);
		muster_text_label(out, &finding->labels[i]);
	}
	muster_memory_close(out);
	return text;
}

/* "  expected  at least 21 GB/s (measured)" */
static void print_line(
	const struct muster_text_page *page, const char *name, const char *text, const char *unit, const char *remark)
{
	if (!text || !*text)
		return;
	muster_print_text(page->out, "  %-9s %s", name, text);
	if (unit && *unit)
		muster_print_text(page->out, " %s", unit);
	if (remark && *remark)
		muster_print_text(page->out, " (%s)", remark);
	fputc('\n', page->out);
}

static void print_ids(const struct muster_text_page *page, const char *const *ids, size_t count, size_t most)
{
	for (size_t i = 0; i < count && i < most; i++)
		muster_print_text(page->out, "%s%s", i ? ", " : "", ids[i]);
	if (count > most)
		fprintf(page->out, " and %zu more", count - most);
	fputc('\n', page->out);
}

static void print_block(const struct muster_text_page *page, const struct muster_finding *finding)
{
	char *where = muster_text_where(finding);
	fputc('\n', page->out);
	muster_text_paint_status(page, finding->status, NULL);
	muster_print_text(page->out, " %s: %s", finding->check, where);
	fputc('\n', page->out);
	free(where);
	print_line(page, "expected", finding->expected, NULL, NULL);
	print_line(
		page, "observed", finding->observed, finding->value.type == MUSTER_NUMBER ? finding->unit : NULL, NULL);
	print_line(page, "evidence", finding->evidence, NULL, NULL);
	print_line(page, "source", finding->source, NULL, finding->certainty);
	print_line(page, "advice", finding->advice, NULL, NULL);
	if (finding->blocked_count > 0) {
		char checks[64];
		fprintf(page->out, "  %-9s %s not evaluated because of this: ", "blocked",
			muster_text_plural(checks, finding->blocked_count, "check"));
		print_ids(page, finding->blocked, finding->blocked_count, BLOCKED_MAX);
	}
}

/* Findings of one check and status: how many are shown and hidden. */
struct group {
	const char *check;
	enum muster_status status;
	size_t shown, hidden, nodes;
	const char *last_node;
};

struct groups {
	struct group *items;
	size_t count;
};

static struct group *group_of(struct groups *groups, const struct muster_finding *finding)
{
	for (size_t i = groups->count; i-- > 0;) {
		struct group *group = &groups->items[i];
		if (group->status == finding->status && strcmp(group->check, finding->check) == 0)
			return group;
	}
	groups->items = muster_realloc(groups->items, groups->count + 1, sizeof *groups->items);
	groups->items[groups->count] = (struct group){ .check = finding->check, .status = finding->status };
	return &groups->items[groups->count++];
}

/* Findings stand by node within a status, so a change of name is another node. */
static void hide(struct group *group, const struct muster_finding *finding)
{
	group->hidden++;
	if (!finding->node || (group->last_node && strcmp(group->last_node, finding->node) == 0))
		return;
	group->last_node = finding->node;
	group->nodes++;
}

static void print_hidden(const struct muster_text_page *page, const struct groups *groups, size_t hidden)
{
	fprintf(page->out, "\nand %zu more, all of them in the JSON report:\n", hidden);
	for (size_t i = 0; i < groups->count; i++) {
		const struct group *group = &groups->items[i];
		char nodes[64];
		if (group->hidden == 0)
			continue;
		fputs("  ", page->out);
		muster_text_paint_status(page, group->status, NULL);
		muster_print_text(page->out, " %s: %zu", group->check, group->hidden);
		if (group->nodes > 0)
			fprintf(page->out, " on %s", muster_text_plural(nodes, group->nodes, "node"));
		fputc('\n', page->out);
	}
}

static void print_findings(const struct muster_text_page *page)
{
	static const enum muster_status order[] = { MUSTER_FAIL, MUSTER_INCONCLUSIVE, MUSTER_WARN };
	struct groups groups = { 0 };
	size_t shown = 0, hidden = 0;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		for (size_t j = 0; j < page->report->finding_count; j++) {
			const struct muster_finding *finding = &page->report->findings[j];
			if (finding->status != order[i])
				continue;
			struct group *group = group_of(&groups, finding);
			if (shown < BLOCKS_MAX && group->shown < BLOCKS_OF_ONE_CHECK) {
				print_block(page, finding);
				group->shown++;
				shown++;
			} else {
				hide(group, finding);
				hidden++;
			}
		}
	}
	if (hidden > 0)
		print_hidden(page, &groups, hidden);
	free(groups.items);
}

/* "  s0.s1: gpu-[1-8]", to be compared with the nodes of a finding */
static void print_placement(const struct muster_text_page *page)
{
	struct muster_placement placement;
	muster_placement_make(page->report->run, &placement);
	if (placement.count > 0)
		fputs("\nplaced by Slurm\n", page->out);
	for (size_t i = 0; i < placement.count && i < PLACES_MAX; i++) {
		const struct muster_block *place = &placement.places[i];
		muster_print_text(page->out, "  %s: %s", place->name ? place->name : "unknown", place->nodes);
		fputc('\n', page->out);
	}
	if (placement.count > PLACES_MAX)
		fprintf(page->out, "  and %zu more, all of them in the JSON report\n", placement.count - PLACES_MAX);
	muster_placement_done(&placement);
}

/* Checks that do not apply to this run at all, those with the same reason in one line. */
static void print_skipped(const struct muster_text_page *page)
{
	const struct muster_tally *tallies = page->report->tallies;
	size_t count = page->report->tally_count;
	const char **ids = muster_calloc(count, sizeof *ids);
	bool first = true;
	for (size_t i = 0; i < count; i++) {
		size_t found = 0;
		bool told = !tallies[i].skipped;
		for (size_t j = 0; j < i && !told; j++)
			told = tallies[j].skipped && strcmp(tallies[j].skipped, tallies[i].skipped) == 0;
		for (size_t j = i; j < count && !told; j++)
			if (tallies[j].skipped && strcmp(tallies[j].skipped, tallies[i].skipped) == 0)
				ids[found++] = tallies[j].check;
		if (told)
			continue;
		fputs(first ? "\n" : "", page->out);
		first = false;
		muster_print_text(page->out, "Not applicable, %s: ", tallies[i].skipped);
		print_ids(page, ids, found, SKIPPED_MAX);
	}
	free(ids);
}

void muster_report_print_text(const struct muster_report *report, FILE *out, bool colour)
{
	const struct muster_text_page page = { .report = report, .out = out, .colour = colour };
	print_header(&page);
	print_verdict(&page);
	print_findings(&page);
	muster_text_table(&page);
	print_placement(&page);
	muster_text_figures(&page);
	muster_text_observed(&page);
	print_skipped(&page);
	fputc('\n', out);
}
