/* text_summary.c - the summary for people
 *
 * Read from the top: the verdict and which nodes to exclude, what was looked at, what is wrong with it and what to do,
 * where, and how fast it was. Everything that a machine gave goes through muster_print_escaped.
 */
#include "muster/run_data.h"
#include "report/text_summary.h"
#include "muster/report.h"
#include "report/print_escaped.h"
#include "report/verdict.h"
#include "slurm/placement.h"
#include "util/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 40 };

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
	if (page->colour && paint != MUSTER_PAINT_PLAIN)
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

const char *muster_text_mark(enum muster_status status)
{
	return looks[status].mark;
}

void muster_text_paint_status(const struct muster_text_page *page, enum muster_status status, const char *text)
{
	muster_text_paint(page, looks[status].paint, text ? text : looks[status].mark);
}

const char *muster_text_plural(char out[64], size_t count, const char *noun)
{
	snprintf(out, 64, "%zu %s%s", count, noun, count == 1 ? "" : "s");
	return out;
}

/* ---- the verdict ---- */

/* " Exclude: --exclude=sim-1" after a line of `used` columns */
static void print_excluded(const struct muster_text_page *page, const struct muster_failed *failed, size_t used)
{
	bool fits = failed->list && used + strlen(" Exclude: --exclude=") + strlen(failed->list) <= MUSTER_TEXT_WIDTH;
	muster_print_text(page->out, " Exclude: %s%s", fits ? "--exclude=" : "",
		fits ? failed->list : "`muster nodes REPORT --bad` lists them");
}

/* "FAIL: 1 of 16 nodes failed. Exclude: --exclude=sim-1", "PASS, with 2 warnings" */
static void print_verdict(const struct muster_text_page *page)
{
	const struct muster_report *report = page->report;
	struct muster_failed failed;
	muster_failed_find(report, &failed);
	char *text = muster_verdict_text(report, &failed);
	enum muster_status verdict = report->verdict;
	const char *name = verdict == MUSTER_PASS ? "PASS" : verdict == MUSTER_FAIL ? "FAIL" : "INCONCLUSIVE";
	muster_text_paint_status(page, verdict, name);
	if (*text)
		fprintf(page->out, "%s%s", verdict == MUSTER_PASS ? ", with " : ": ", text);
	if (verdict == MUSTER_FAIL && report->count[MUSTER_FAIL] > 0 && failed.count > 0 &&
		muster_run_known_nodes(report->run) > 1)
		print_excluded(page, &failed, strlen("FAIL: ") + strlen(text));
	fputc('\n', page->out);
	free(text);
	muster_failed_done(&failed);
}

/* What was looked at, and what is to be known about it. */
static void print_header(const struct muster_text_page *page)
{
	const struct muster_report *report = page->report;
	const struct muster_job *job = &report->run->job;
	char nodes[64], ranks[64], *text;
	size_t length;
	FILE *out = muster_memory_open(&text, &length);
	fprintf(out, "%s, %s, %s, profile %s, %.1f s", report->sku ? report->sku : "unknown",
		muster_text_plural(nodes, muster_run_known_nodes(report->run), "node"),
		muster_text_plural(ranks, (size_t)job->ranks, "rank"), job->profile ? job->profile : "-",
		job->elapsed_s);
	if (job->id)
		fprintf(out, ", job %s", job->id);
	fputs(", muster " MUSTER_VERSION, out);
	if (job->version && strcmp(job->version, MUSTER_VERSION) != 0)
		fprintf(out, " (measured by muster %s)", job->version);
	muster_memory_close(out);
	muster_text_lines(page->out, text, 0, 2);
	free(text);
	const char *remarks[MUSTER_REMARKS_MOST];
	size_t count = muster_report_remarks(report, remarks);
	for (size_t i = 0; i < count; i++) {
		muster_text_paint(page, i == 0 && job->simulated ? MUSTER_PAINT_WARN : MUSTER_PAINT_PLAIN, remarks[i]);
		fputc('\n', page->out);
	}
	char *unmeasured[MUSTER_UNMEASURED_MOST];
	count = muster_report_unmeasured(report, unmeasured);
	for (size_t i = 0; i < count; i++) {
		muster_text_paint(page, MUSTER_PAINT_DOUBT, "not measured: ");
		muster_text_lines(page->out, unmeasured[i], strlen("not measured: "), 2);
		free(unmeasured[i]);
	}
	if (report->unwritten) {
		muster_text_paint(page, MUSTER_PAINT_FAIL, "The JSON report could not be written: ");
		muster_text_lines(page->out, report->unwritten, strlen("The JSON report could not be written: "), 2);
	}
}

/* ---- how many results there are of each kind ---- */

/* "790 results: 735 passed, 32 recorded only, 2 failed, 9 blocked, 12 not applicable" */
static void print_counts(const struct muster_text_page *page)
{
	const struct muster_report *report = page->report;
	size_t recorded = muster_report_recorded(report), all = 0, passed = report->count[MUSTER_PASS];
	const struct {
		size_t count;
		const char *text;
	} parts[] = {
		{ passed - recorded, "passed" },
		{ recorded, "recorded only (no threshold)" },
		{ report->count[MUSTER_WARN], "warned" },
		{ report->count[MUSTER_FAIL], "failed" },
		{ report->count[MUSTER_INCONCLUSIVE], "inconclusive" },
		{ report->count[MUSTER_BLOCKED], "blocked" },
		{ report->count[MUSTER_SKIP], "not applicable" },
	};
	_Static_assert(sizeof parts / sizeof *parts == MUSTER_STATUS_COUNT + 1, "every status is counted");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		all += parts[i].count;
	fprintf(page->out, "\n%zu result%s", all, all == 1 ? "" : "s");
	const char *before = ": ";
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (parts[i].count == 0)
			continue;
		fprintf(page->out, "%s%zu %s", before, parts[i].count, parts[i].text);
		before = ", ";
	}
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

/* "  s0.s1: gpu-[1-8]", to be compared with the nodes of a finding */
static void print_placement(const struct muster_text_page *page)
{
	struct muster_placement placement;
	if (page->report->verdict == MUSTER_PASS)
		return; /* there is no node to look up */
	muster_placement_make(page->report->run, &placement);
	if (placement.count > 0)
		fputs("\nplaced by Slurm\n", page->out);
	for (size_t i = 0; i < placement.count && i < PLACES_MAX; i++) {
		const struct muster_node_block *place = &placement.places[i];
		char *line = muster_asprintf("%s: %s", place->name ? place->name : "unknown", place->nodes);
		fputs("  ", page->out);
		muster_text_lines(page->out, line, 2, 4);
		free(line);
	}
	if (placement.count > PLACES_MAX)
		fprintf(page->out, "  and %zu more, all of them in the JSON report\n", placement.count - PLACES_MAX);
	muster_placement_done(&placement);
}

void muster_text_head(const struct muster_text_page *page)
{
	print_verdict(page);
	print_header(page);
}

void muster_report_print_text(const struct muster_report *report, FILE *out, bool colour)
{
	const struct muster_text_page page = { .report = report, .out = out, .colour = colour };
	muster_text_head(&page);
	muster_text_findings(&page);
	muster_text_table(&page);
	print_placement(&page);
	muster_text_notes(&page);
	muster_text_others(&page);
	muster_text_figures(&page);
	muster_text_steps(&page);
	muster_text_slowest(&page);
	print_counts(&page);
	fputc('\n', out);
}

/* ---- lines that fit a terminal ---- */

/* The bytes of the character at text, which is UTF-8. */
static size_t character(const char *text)
{
	size_t bytes = 1;
	while (((unsigned char)text[bytes] & 0xc0) == 0x80)
		bytes++;
	return bytes;
}

/* The columns of the word at text, and its bytes. */
static size_t word_columns(const char *text, size_t *ret_bytes)
{
	size_t columns = 0, bytes = 0;
	for (; text[bytes] && text[bytes] != ' '; bytes += character(text + bytes))
		columns++;
	*ret_bytes = bytes;
	return columns;
}

static void begin_line(FILE *out, size_t indent)
{
	fprintf(out, "\n%*s", (int)indent, "");
}

void muster_text_lines(FILE *out, const char *text, size_t used, size_t indent)
{
	char *escaped = muster_escaped(text);
	size_t column = used, bytes;
	bool first = true; /* on its line */
	for (const char *at = escaped; *at;) {
		if (*at == ' ') {
			at++;
			continue;
		}
		size_t columns = word_columns(at, &bytes);
		if (!first && column + 1 + columns > MUSTER_TEXT_WIDTH) {
			begin_line(out, indent);
			column = indent;
			first = true;
		}
		if (!first) {
			fputc(' ', out);
			column++;
		}
		for (const char *end = at + bytes; at < end; column++) {
			size_t step = character(at);
			if (column == MUSTER_TEXT_WIDTH) {
				begin_line(out, indent);
				column = indent;
			}
			fwrite(at, 1, step, out);
			at += step;
		}
		first = false;
	}
	fputc('\n', out);
	free(escaped);
}
