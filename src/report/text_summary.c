/* SPDX-License-Identifier: Apache-2.0 */
/* text_summary.c - the summary for people
 *
 * Read from the top: the verdict and which nodes to exclude, what was looked at, what is wrong with it and what to do,
 * where, and how fast it was. Everything that a machine gave goes through muster_print_escaped.
 *
 *   FAIL: 1 of 16 nodes failed.                                          print_verdict
 *   2 kinds of faults ...                                                text_kinds.c
 *   To exclude the failed node, use this option: ...                     print_excluded
 *   Standard_ND96asr_v4, 16 nodes, 128 ranks, profile quick, ...         print_header
 *   FAIL gpu-2, GPU 3 (000b:00:00.0), rank 11: ...                       text_findings.c
 *   what it means: ...                                                   text_explain.c
 *   node    launch    gpu    gpu_copy ...                                text_table.c
 *   placed by Slurm ...                                                  print_placement
 *   also in the kernel's log ...                                         text_notes.c
 *   also on the nodes ...                                                text_others.c
 *   bandwidth, GB/s    lowest    highest ...                             text_figures.c
 *   training steps: ...                                                  text_steps.c
 *   slowest ranks ...                                                    text_slowest.c
 *   790 results: 735 passed, ...                                         print_counts
 *
 * The end of this file breaks a text into lines of the page. All of the summary goes to memory first, because its
 * number of lines decides whether the verdict is printed once more at the end.
 */
#include "muster/run_data.h"
#include "report/text_summary.h"
#include "muster/report.h"
#include "report/print_escaped.h"
#include "report/verdict.h"
#include "slurm/placement.h"
#include "util/screen.h"
#include "util/text.h"
#include "util/version.h"

#include <stdbool.h>
#include <stdint.h>
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
	if (page->layout.colour && paint != MUSTER_PAINT_PLAIN)
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

/* A path as one word of a shell: between apostrophes if it has other characters than `plain`. What could drive a
 * terminal is escaped, so the word of such a path is not the path: it only cannot do harm. */
static void print_word(FILE *out, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:@,=-";
	bool is_plain = path[strspn(path, plain)] == '\0';
	char *escaped = muster_escaped(path);
	fputs(is_plain ? "" : "'", out);
	for (const char *at = escaped; *at; at++)
		fprintf(out, *at == '\'' ? "'\\''" : "%c", *at);
	fputs(is_plain ? "" : "'", out);
	free(escaped);
}

/* The list stands whole on one line, and the command as a shell takes it: both are there to be copied. */
static void print_excluded(const struct muster_text_page *page, const struct muster_failed *failed)
{
	const char *nodes = failed->count == 1 ? "node" : "nodes", *path = page->layout.path;
	if (!failed->list) {
		char *text = muster_asprintf("Exclude the failed %s by hand: a name cannot be in a host list (the JSON "
					     "report has all names)",
			nodes);
		muster_text_lines(page, text, 0, 2);
		free(text);
		return;
	}
	fprintf(page->out, "To exclude the failed %s, use this option%s:\n  --exclude=%s\n", nodes,
		path ? "; the command prints it again" : "", failed->list);
	if (!path)
		return;
	fputs("  muster nodes ", page->out);
	print_word(page->out, path);
	fputs(" --bad --format exclude\n", page->out);
}

/* "FAIL: 1 of 16 nodes failed.", "PASS, with 2 warnings" */
static void print_verdict(const struct muster_text_page *page)
{
	char *text = muster_verdict_text(page->report);
	enum muster_status verdict = page->report->verdict;
	const char *name = verdict == MUSTER_PASS ? "PASS" : verdict == MUSTER_FAIL ? "FAIL" : "INCONCLUSIVE";
	muster_text_paint_status(page, verdict, name);
	if (*text)
		fprintf(page->out, "%s%s", verdict == MUSTER_PASS ? ", with " : ": ", text);
	fputc('\n', page->out);
	free(text);
}

/* What was looked at, and what is to be known about it: remarks, what was not measured, a report that could not be
 * written. That the run was simulated is the first remark, in colour. */
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
	fprintf(out, ", muster %s", muster_version);
	if (job->version && strcmp(job->version, muster_version) != 0)
		fprintf(out, " (measured by muster %s)", job->version);
	muster_memory_close(out);
	muster_text_lines(page, text, 0, 2);
	free(text);
	const char *remarks[MUSTER_REMARKS_MOST];
	size_t count = muster_report_remarks(report, remarks);
	for (size_t i = 0; i < count; i++) {
		if (i > 0 || !job->simulated) {
			muster_text_lines(page, remarks[i], 0, 2);
			continue;
		}
		muster_text_paint(page, MUSTER_PAINT_WARN, remarks[i]); /* shorter than a line */
		fputc('\n', page->out);
	}
	char *unmeasured[MUSTER_UNMEASURED_MOST];
	count = muster_report_unmeasured(report, unmeasured);
	for (size_t i = 0; i < count; i++) {
		muster_text_paint(page, MUSTER_PAINT_DOUBT, "not measured: ");
		muster_text_lines(page, unmeasured[i], strlen("not measured: "), 2);
		free(unmeasured[i]);
	}
	if (report->unwritten) {
		muster_text_paint(page, MUSTER_PAINT_FAIL, "The JSON report could not be written: ");
		muster_text_lines(page, report->unwritten, strlen("The JSON report could not be written: "), 2);
	}
}

/* ---- how many results there are of each kind ---- */

/* "790 results: 735 passed, 32 recorded only, 2 failed, 9 blocked, 12 not applicable" */
static void print_counts(const struct muster_text_page *page)
{
	const struct muster_report *report = page->report;
	size_t recorded = muster_report_recorded(report), all = 0, passed = report->count[MUSTER_PASS], length;
	char *text;
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
	FILE *out = muster_memory_open(&text, &length);
	fprintf(out, "%zu result%s", all, all == 1 ? "" : "s");
	const char *before = ": ";
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (parts[i].count == 0)
			continue;
		fprintf(out, "%s%zu %s", before, parts[i].count, parts[i].text);
		before = ", ";
	}
	muster_memory_close(out);
	fputc('\n', page->out);
	muster_text_lines(page, text, 0, 2);
	free(text);
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
		muster_text_lines(page, line, 2, 4);
		free(line);
	}
	if (placement.count > PLACES_MAX)
		fprintf(page->out, "  and %zu more, all of them in the JSON report\n", placement.count - PLACES_MAX);
	muster_placement_done(&placement);
}

/* Where the kinds of faults are listed, blank lines set them apart from what follows. */
void muster_text_head(const struct muster_text_page *page)
{
	struct muster_failed failed;
	print_verdict(page);
	muster_text_kinds(page);
	const char *blank = muster_text_has_kinds(page) ? "\n" : "";
	fputs(blank, page->out);
	if (muster_failed_find(page->report, &failed)) {
		print_excluded(page, &failed);
		fputs(blank, page->out);
	}
	print_header(page);
	muster_failed_done(&failed);
}

/* The verdict once more where the first line has left the screen. */
static void print_again(const struct muster_text_page *page, const char *text)
{
	size_t lines = 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	if (page->layout.lines > 0 && lines >= page->layout.lines)
		print_verdict(page);
}

void muster_report_print_text(const struct muster_report *report, const struct muster_layout *layout, FILE *out)
{
	char *text;
	size_t length;
	struct muster_arena *arena = muster_arena_new();
	struct muster_kinds kinds;
	struct muster_text_page page = { .report = report, .layout = *layout, .kinds = &kinds };
	page.out = muster_memory_open(&text, &length);
	muster_kinds_find(report, arena, &kinds);
	muster_text_head(&page);
	muster_text_findings(&page);
	muster_text_explain(&page);
	muster_text_table(&page);
	print_placement(&page);
	muster_text_notes(&page);
	muster_text_others(&page);
	muster_text_figures(&page);
	muster_text_steps(&page);
	muster_text_slowest(&page);
	print_counts(&page);
	fputc('\n', page.out);
	muster_memory_close(page.out);
	page.out = out;
	fwrite(text, 1, length, out);
	print_again(&page, text);
	free(text);
	muster_arena_free(arena);
}

/* ---- lines that fit a terminal ----
 *
 * A text is escaped, cut into words at blanks, and the words are put on lines one by one. Columns are counted from 0;
 * each character takes one. A line ends before the word that would pass the width. A word that is longer than a whole
 * line is broken after its commas, as a list of hosts, and where it has none, at the end of the line.
 *
 *   used = 10, indent = 4, a page of 24 columns, text = "exclude gpu-1 and open a ticket":
 *
 *   "  action  exclude gpu-1"       the first 10 columns are the caller's
 *   "    and open a ticket"         every further line begins with `indent` blanks
 *
 * With a limit of lines, room for " ..." is kept on the last one, unless all of the rest fits there.
 */

size_t muster_text_width(const struct muster_text_page *page)
{
	return page->layout.columns ? page->layout.columns : MUSTER_COLUMNS_USUAL;
}

/* The bytes of the character at text, which is UTF-8. */
static size_t character(const char *text)
{
	size_t bytes = 1;
	while (((unsigned char)text[bytes] & 0xc0) == 0x80)
		bytes++;
	return bytes;
}

/* The columns of the word at text, or, if not `whole`, of its part up to and with the first comma; and its bytes. */
static size_t word_columns(const char *text, bool whole, size_t *ret_bytes)
{
	size_t columns = 0, bytes = 0;
	while (text[bytes] && text[bytes] != ' ' && (whole || bytes == 0 || text[bytes - 1] != ',')) {
		bytes += character(text + bytes);
		columns++;
	}
	*ret_bytes = bytes;
	return columns;
}

#define DOTS " ..."

/* Lines that are being printed. */
struct lines {
	FILE *out;
	size_t width, indent, column;
	bool first;  /* nothing of the text is on this line */
	size_t left; /* lines that may begin */
};

/* Begin a further line. False, and nothing is printed, when no line is left. */
static bool begin_line(struct lines *lines)
{
	if (lines->left == 0)
		return false;
	lines->left--;
	fprintf(lines->out, "\n%*s", (int)lines->indent, "");
	lines->column = lines->indent;
	lines->first = true;
	return true;
}

/* The column at which the line ends: on the last line that may begin, room is left for the dots, unless the rest of the
 * text fits. */
static size_t end_of(const struct lines *lines, const char *rest)
{
	size_t columns = 0;
	for (; lines->left == 0 && *rest; rest += character(rest))
		columns++;
	return lines->width - (lines->left == 0 && lines->column + columns > lines->width ? strlen(DOTS) : 0);
}

/* Print the word from `word` to before `end`. It is broken after a comma where the next part of the word does not fit
 * the line, and within a part that is longer than a line at the end of the line. A word that fits is never broken.
 * False when no line is left for the rest. */
static bool put_word(struct lines *lines, const char *word, const char *end)
{
	while (word < end) {
		size_t bytes, columns = word_columns(word, false, &bytes);
		if (!lines->first && lines->column + columns > end_of(lines, word) && !begin_line(lines))
			return false;
		for (const char *stop = word + bytes; word < stop; lines->column++) {
			size_t step = character(word);
			if (lines->column >= end_of(lines, word) && lines->column <= lines->width && !begin_line(lines))
				return false;
			fwrite(word, 1, step, lines->out);
			word += step;
			lines->first = false;
		}
	}
	return true;
}

/* For each word: a further line begins where the word does not fit this one, or, of a word that is longer than any
 * line, where its first part does not. On the last line, a word that does not fit in front of the dots ends the text.
 * Then come the blank between two words, and the word. */
void muster_text_few_lines(
	const struct muster_text_page *page, const char *text, size_t used, size_t indent, size_t count)
{
	struct lines lines = { page->out, muster_text_width(page), indent, used, true, count - 1 };
	char *escaped = muster_escaped(text);
	bool fits = true;
	for (const char *at = escaped; *at && fits;) {
		if (*at == ' ') {
			at++;
			continue;
		}
		size_t bytes, columns = word_columns(at, true, &bytes);
		bool is_long = columns > lines.width - indent;
		size_t needed = is_long ? word_columns(at, false, &(size_t){ 0 }) : columns;
		size_t blank = lines.first ? 0 : 1;
		if (lines.column + blank + needed > end_of(&lines, at - blank) &&
			(blank || (!is_long && lines.column > indent))) {
			fits = begin_line(&lines);
			blank = 0;
		}
		if (lines.left == 0 && !is_long && lines.column + blank + columns > end_of(&lines, at - blank))
			fits = false;
		if (fits && blank) {
			fputc(' ', lines.out);
			lines.column++;
		}
		fits = fits && put_word(&lines, at, at + bytes);
		at += bytes;
	}
	fputs(fits ? "\n" : lines.first ? "...\n" : DOTS "\n", page->out);
	free(escaped);
}

void muster_text_lines(const struct muster_text_page *page, const char *text, size_t used, size_t indent)
{
	muster_text_few_lines(page, text, used, indent, SIZE_MAX);
}
