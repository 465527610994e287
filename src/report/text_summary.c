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
	UNJUDGED_MAX = 12,       /* ids of checks in one line */
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

const char *muster_text_mark(enum muster_status status)
{
	static const char *const marks[] = {
		[MUSTER_PASS] = "pass",
		[MUSTER_WARN] = "warn",
		[MUSTER_FAIL] = "FAIL",
		[MUSTER_SKIP] = "n/a",
		[MUSTER_INCONCLUSIVE] = "inconclusive",
	};
	_Static_assert(sizeof marks / sizeof *marks == MUSTER_STATUS_COUNT, "every status has a mark");
	return (unsigned int)status < MUSTER_STATUS_COUNT ? marks[status] : marks[MUSTER_INCONCLUSIVE];
}

enum muster_paint muster_text_status_paint(enum muster_status status)
{
	static const enum muster_paint paints[] = {
		[MUSTER_PASS] = MUSTER_PAINT_OK,
		[MUSTER_WARN] = MUSTER_PAINT_WARN,
		[MUSTER_FAIL] = MUSTER_PAINT_FAIL,
		[MUSTER_SKIP] = MUSTER_PAINT_DIM,
		[MUSTER_INCONCLUSIVE] = MUSTER_PAINT_DOUBT,
	};
	_Static_assert(sizeof paints / sizeof *paints == MUSTER_STATUS_COUNT, "every status has a colour");
	return (unsigned int)status < MUSTER_STATUS_COUNT ? paints[status] : MUSTER_PAINT_DOUBT;
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
	fputs(": ", page->out);
	muster_print_escaped(page->out, report->sku ? report->sku : "unknown");
	fprintf(page->out, ", %s, %s, profile ", muster_text_plural(nodes, muster_run_known_nodes(report->run), "node"),
		muster_text_plural(ranks, (size_t)job->ranks, "rank"));
	muster_print_escaped(page->out, job->profile);
	fprintf(page->out, ", %.1f s", job->elapsed_s);
	if (job->id) {
		fputs(", job ", page->out);
		muster_print_escaped(page->out, job->id);
	}
	if (job->version && strcmp(job->version, MUSTER_VERSION) != 0) {
		fputs(" (measured by muster ", page->out);
		muster_print_escaped(page->out, job->version);
		fputc(')', page->out);
	}
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
	muster_text_paint(page, muster_text_status_paint(verdict), verdicts[known ? verdict : MUSTER_INCONCLUSIVE]);
	fputs(": ", page->out);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		char text[64];
		size_t count = page->report->count[parts[i].status];
		snprintf(text, sizeof text, "%zu %s", count, parts[i].text);
		fputs(i == 0 ? "" : ", ", page->out);
		if (count > 0)
			muster_text_paint(page, muster_text_status_paint(parts[i].status), text);
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

/* A label that the place does not name already: "bytes 8 GiB". */
static void print_label(const struct muster_text_page *page, const struct muster_label *label)
{
	char text[64];
	if (strcmp(label->key, "gpu") == 0 || strcmp(label->key, "port") == 0 || strcmp(label->key, "link_layer") == 0)
		return;
	fprintf(page->out, ", %s ", label->key);
	if (label->value.type == MUSTER_STRING)
		muster_print_escaped(page->out, label->value.string);
	else if (strcmp(label->key, "bytes") == 0 && label->value.number >= 0 && label->value.number < 0x1p63)
		fputs(muster_bytes_text((uint64_t)label->value.number, text, sizeof text), page->out);
	else
		fputs(muster_value_text(label->value, text, sizeof text), page->out);
}

void muster_text_where(const struct muster_text_page *page, const struct muster_finding *finding)
{
	FILE *out = page->out;
	if (finding->node) {
		fputs("node ", out);
		muster_print_escaped(out, finding->node);
	} else {
		fputs("whole job", out);
	}
	if (finding->rank >= 0)
		fprintf(out, ", rank %d", finding->rank);
	if (finding->gpu) {
		fputs(", GPU ", out);
		muster_print_escaped(out, finding->gpu);
	}
	if (finding->port) {
		fputs(", port ", out);
		muster_print_escaped(out, finding->port);
	}
	for (size_t i = 0; i < finding->label_count; i++)
		print_label(page, &finding->labels[i]);
}

/* "  expected  at least 21 GB/s (measured)" */
static void print_line(
	const struct muster_text_page *page, const char *name, const char *text, const char *unit, const char *remark)
{
	if (!text || !*text)
		return;
	fprintf(page->out, "  %-9s ", name);
	muster_print_escaped(page->out, text);
	if (unit && *unit) {
		fputc(' ', page->out);
		muster_print_escaped(page->out, unit);
	}
	if (remark && *remark) {
		fputs(" (", page->out);
		muster_print_escaped(page->out, remark);
		fputc(')', page->out);
	}
	fputc('\n', page->out);
}

static void print_ids(const struct muster_text_page *page, const char *const *ids, size_t count, size_t most)
{
	for (size_t i = 0; i < count && i < most; i++) {
		fputs(i ? ", " : "", page->out);
		muster_print_escaped(page->out, ids[i]);
	}
	if (count > most)
		fprintf(page->out, " and %zu more", count - most);
	fputc('\n', page->out);
}

static void print_block(const struct muster_text_page *page, const struct muster_finding *finding)
{
	fputc('\n', page->out);
	muster_text_paint(page, muster_text_status_paint(finding->status), muster_text_mark(finding->status));
	fputc(' ', page->out);
	muster_print_escaped(page->out, finding->check);
	fputs(": ", page->out);
	muster_text_where(page, finding);
	fputc('\n', page->out);
	print_line(page, "expected", finding->expected, NULL, NULL);
	print_line(
		page, "observed", finding->observed, finding->value.type == MUSTER_NUMBER ? finding->unit : NULL, NULL);
	print_line(page, "evidence", finding->evidence, NULL, NULL);
	print_line(page, "source", finding->source, NULL, finding->certainty);
	print_line(page, "advice", finding->advice, NULL, NULL);
	if (finding->unjudged_count > 0) {
		char checks[64];
		fprintf(page->out, "  %-9s %s not evaluated because of this: ", "blocked",
			muster_text_plural(checks, finding->unjudged_count, "check"));
		print_ids(page, finding->unjudged, finding->unjudged_count, UNJUDGED_MAX);
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
		muster_text_paint(page, muster_text_status_paint(group->status), muster_text_mark(group->status));
		fputc(' ', page->out);
		muster_print_escaped(page->out, group->check);
		fprintf(page->out, ": %zu", group->hidden);
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
		fputs("  ", page->out);
		muster_print_escaped(page->out, place->name ? place->name : "unknown");
		fputs(": ", page->out);
		muster_print_escaped(page->out, place->nodes);
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
		fputs(first ? "\nNot applicable, " : "Not applicable, ", page->out);
		first = false;
		muster_print_escaped(page->out, tallies[i].skipped);
		fputs(": ", page->out);
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
