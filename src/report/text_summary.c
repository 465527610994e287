/* text_summary.c - the summary for people
 *
 * Read from the top: the verdict and which nodes to exclude, what was looked at, what is wrong with it and what to do,
 * where, and how fast it was. Everything that a machine gave goes through muster_print_escaped.
 */
#include "muster/report.h"

#include "util/text.h"
#include "model/limits.h"
#include "report/text_lines.h"
#include "report/text_summary.h"
#include "slurm/hostlist.h"
#include "slurm/node_selection.h"
#include "slurm/placement.h"
#include "slurm/scontrol.h"
#include "report/print_escaped.h"

#include <math.h>
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

/* ---- the verdict ---- */

/* The nodes that failed, and what can be done without them. */
struct failed {
	const char **names;     /* nodes that a job should exclude */
	size_t count, launched; /* launched: nodes where only the launch of the job is wrong */
	char *list;             /* as Slurm writes it; NULL where a name cannot be in such a list */
};

static struct failed find_failed(const struct muster_report *report)
{
	struct muster_node_selection all;
	struct failed failed = { 0 };
	bool plain = true;
	muster_node_selection_make(report, NULL, 0, &all);
	failed.names = muster_calloc(all.count + 1, sizeof *failed.names);
	for (size_t i = 0; i < all.count; i++) {
		const struct muster_node_selection_entry *entry = &all.entries[i];
		if (entry->standing == MUSTER_STANDING_BAD && !entry->fault) {
			failed.launched++;
		} else if (entry->standing == MUSTER_STANDING_BAD || entry->standing == MUSTER_STANDING_MISSING) {
			failed.names[failed.count++] = entry->name;
			plain = plain && muster_slurm_name_is_plain(entry->name);
		}
	}
	if (plain)
		failed.list = muster_hostlist_compress(failed.names, failed.count);
	muster_node_selection_done(&all);
	return failed;
}

static void failed_done(struct failed *failed)
{
	free(failed->names);
	free(failed->list);
}

/* "1 of 16 nodes failed. Exclude: --exclude=sim-1" */
static void print_failed(const struct muster_text_page *page)
{
	struct failed failed = find_failed(page->report);
	size_t nodes = muster_run_known_nodes(page->report->run);
	char of[64], text[128];
	muster_text_plural(of, nodes, "node");
	if (failed.count > 0)
		snprintf(text, sizeof text, "%zu of %s failed.", failed.count, of);
	else if (failed.launched > 0)
		snprintf(text, sizeof text, "the launch of the job is wrong on %zu of %s.", failed.launched, of);
	else
		snprintf(text, sizeof text, "the job failed, and no single node is known to be the cause.");
	fputs(text, page->out);
	if (failed.count > 0 && nodes > 1) {
		bool fits = failed.list && strlen("FAIL:  Exclude: --exclude=") + strlen(text) + strlen(failed.list) <=
						   MUSTER_TEXT_WIDTH;
		muster_print_text(page->out, " Exclude: %s%s", fits ? "--exclude=" : "",
			fits ? failed.list : "`muster nodes REPORT --bad` lists them");
	}
	failed_done(&failed);
}

static void print_verdict(const struct muster_text_page *page)
{
	const struct muster_report *report = page->report;
	size_t warned = report->count[MUSTER_WARN], doubtful = report->count[MUSTER_INCONCLUSIVE];
	char text[64];
	switch (report->verdict) {
	case MUSTER_PASS:
		muster_text_paint_status(page, MUSTER_PASS, "PASS");
		if (warned > 0)
			fprintf(page->out, ", with %s", muster_text_plural(text, warned, "warning"));
		break;
	case MUSTER_FAIL:
		muster_text_paint_status(page, MUSTER_FAIL, "FAIL");
		fputs(": ", page->out);
		if (report->count[MUSTER_FAIL] > 0)
			print_failed(page);
		else
			fprintf(page->out, "%s, and with --strict a warning fails the run",
				muster_text_plural(text, warned, "warning"));
		break;
	default:
		muster_text_paint_status(page, MUSTER_INCONCLUSIVE, "INCONCLUSIVE");
		fprintf(page->out, ": no check failed, but %s could not be evaluated",
			doubtful > 0 ? muster_text_plural(text, doubtful, "result") : "the machine");
		break;
	}
	fputc('\n', page->out);
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
	if (job->simulated) {
		muster_text_paint(page, MUSTER_PAINT_WARN,
			"SIMULATED: results come from simulated hardware, not from a real machine");
		fputc('\n', page->out);
	}
	if (report->unwritten) {
		muster_text_paint(page, MUSTER_PAINT_FAIL, "The JSON report could not be written: ");
		muster_text_lines(page->out, report->unwritten, strlen("The JSON report could not be written: "), 2);
	}
	if (job->beside_jobs)
		fputs("Other jobs used CPUs of the node meanwhile: a slow copy or all-reduce is inconclusive\n",
			page->out);
	if (job->assembled)
		fputs("Built by muster assemble from files on disk: rank 0 did not write this report\n", page->out);
	if (!report->sku_origin)
		fputs("No expectation file for this machine type: nothing was checked\n", page->out);
	if (report->observe)
		fputs("No thresholds of this machine type: speeds are compared with the limits of links and GPUs\n",
			page->out);
}

/* ---- how many results there are of each kind ---- */

/* Number of passes of checks without a threshold. */
static size_t observed_count(const struct muster_report *report)
{
	size_t count = 0;
	for (size_t i = 0; i < report->tally_count; i++)
		if (report->tallies[i].uncalibrated)
			count += report->tallies[i].count[MUSTER_PASS];
	return count;
}

/* "790 results: 735 passed, 32 recorded only, 2 failed, 9 blocked, 12 not applicable" */
static void print_counts(const struct muster_text_page *page)
{
	const struct muster_report *report = page->report;
	size_t recorded = observed_count(report), all = 0, passed = report->count[MUSTER_PASS];
	recorded = recorded < passed ? recorded : passed;
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
		const struct muster_block *place = &placement.places[i];
		char *line = muster_asprintf("%s: %s", place->name ? place->name : "unknown", place->nodes);
		fputs("  ", page->out);
		muster_text_lines(page->out, line, 2, 4);
		free(line);
	}
	if (placement.count > PLACES_MAX)
		fprintf(page->out, "  and %zu more, all of them in the JSON report\n", placement.count - PLACES_MAX);
	muster_placement_done(&placement);
}

void muster_report_print_text(const struct muster_report *report, FILE *out, bool colour)
{
	const struct muster_text_page page = { .report = report, .out = out, .colour = colour };
	print_verdict(&page);
	print_header(&page);
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
