/* SPDX-License-Identifier: Apache-2.0 */
/* text_figures.c - the tables of speeds: what was measured, what is required, and how much of the limit that is
 *
 * A table for each unit, in it a row for each metric, and for each message size of a collective. A machine type
 * without thresholds has no check of a bandwidth: then only what was measured is shown.
 *
 *   bandwidth, GB/s           lowest   highest   required   warning   share of the limit           result
 *   H2D, one GPU at a time      11.2      26.1         21        24   43 to 98 % of PCIe 4.0 x16   FAIL: 1 of 16 GPUs
 *   all-reduce busbw, 8 GiB      231       231        228         -   77 % of NVLink               pass
 *
 * 1. take_figures(): what was measured. One walk over the run collects the values of all figures of the catalogue
 *    (MUSTER_SHOWN_SPEEDS), in their order, and of each figure by size.
 * 2. fill_row(): the tallies of all checks about the row become its limits and its result (results_of, result_text).
 * 3. print_table(): texts that are too wide get short headings, then narrower columns.
 *
 * A large run has tens of thousands of values of a figure, so a row keeps only their extremes.
 */
#include "report/text_grid.h"

#include "model/share.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "report/figures.h"
#include "report/verdict.h"
#include "util/array.h"
#include "util/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_MAX = MUSTER_SHARE_TEXT_MAX };

enum column { TITLE, LOWEST, HIGHEST, REQUIRED, WARNING, SHARE, RESULT, COLUMN_COUNT };
static const char *const headings[2][COLUMN_COUNT] = {
	{ [TITLE] = "",
		/* by the unit */[LOWEST] = "lowest",
		[HIGHEST] = "highest",
		[REQUIRED] = "required",
		[WARNING] = "warning",
		[SHARE] = "share of the limit",
		[RESULT] = "result" },
	/* of a narrow page */
	{ [TITLE] = "",
		[LOWEST] = "low",
		[HIGHEST] = "high",
		[REQUIRED] = "min",
		[WARNING] = "warn",
		[SHARE] = "share",
		[RESULT] = "result" },
};

/* A figure, of one message size where it has several. */
struct row {
	const struct muster_shown *figure;
	const struct muster_metric *metric;
	double bytes; /* 0: the metric has no message sizes */
	double lowest, highest;
	size_t count;              /* of values */
	struct muster_share share; /* of the limit, over all values */
	char cells[RESULT][CELL_MAX];
	char *result; /* the last cell, malloc'd */
};

struct table {
	struct row *rows;
	size_t count, room;
	bool is_narrow; /* short headings, and shares without their limit */
};

/* ---- what was measured ---- */

/* The row of a figure and a size, behind those of smaller sizes. Sizes are whole numbers. */
static struct row *row_of(struct table *table, const struct muster_shown_metric *figure, double bytes)
{
	size_t at = 0;
	while (at < table->count && table->rows[at].bytes < bytes)
		at++;
	if (at < table->count && !(table->rows[at].bytes > bytes))
		return &table->rows[at];
	struct row row = { .figure = figure->as, .metric = figure->metric, .bytes = bytes };
	MUSTER_ARRAY_PUSH(table->rows, table->count, table->room, row);
	memmove(&table->rows[at + 1], &table->rows[at], (table->count - 1 - at) * sizeof row);
	table->rows[at] = row;
	return &table->rows[at];
}

/* Count the values of one place in the rows of a figure. The limit of a value is among the samples of its place. */
static void take_samples(
	struct table *table, const struct muster_samples *samples, const struct muster_shown_metric *figure)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		if (sample->metric != figure->metric || sample->value.type != MUSTER_NUMBER ||
			!muster_figure_is_about(figure->as, sample->labels, sample->label_count))
			continue;
		struct row *row =
			row_of(table, figure, muster_label_number(sample->labels, sample->label_count, "bytes"));
		double number = sample->value.number;
		row->lowest = row->count == 0 || number < row->lowest ? number : row->lowest;
		row->highest = row->count == 0 || number > row->highest ? number : row->highest;
		row->count++;
		muster_share_add(&row->share, number, muster_figure_limit(figure->as, samples, sample));
	}
}

/* The rows of all figures, in one walk over the samples of the job and of all ranks: the figures of the catalogue are
 * of the job, a rank or a GPU. Each figure has a table of its own until then, because its rows must stand together. */
static void take_figures(struct table *table, const struct muster_run *run)
{
	size_t count;
	const struct muster_shown_metric *figures = muster_metrics_shown(MUSTER_SHOWN_SPEEDS, &count);
	struct table *of_figure = muster_calloc(count, sizeof *of_figure);
	for (struct muster_run_walk at = { 0 }; muster_run_next(run, &at);)
		for (size_t i = 0; (at.rank || !at.node) && i < count; i++)
			take_samples(&of_figure[i], at.samples, &figures[i]);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < of_figure[i].count; j++)
			MUSTER_ARRAY_PUSH(table->rows, table->count, table->room, of_figure[i].rows[j]);
		free(of_figure[i].rows);
	}
	free(of_figure);
}

/* ---- what is required, and the result ---- */

/* What the checks of a row want and what came out, all of them together. */
struct results {
	double least, least_share, warn_below, warn_share; /* the highest of each; NAN: none */
	size_t count[MUSTER_STATUS_COUNT];                 /* the most of one check: two may be about the same values */
	bool any, threshold; /* there is a check; there is one with a threshold that applies */
	const char *blocked_by;
};

static void take_limit(double *limit, double other)
{
	*limit = isnan(*limit) || other > *limit ? other : *limit;
}

/* Whether the check evaluated anything here, or had nothing to skip. A check whose results are all skips does not
 * apply: of the checks of an all-reduce, those of another path than the one that NCCL took. */
static bool applies(const struct muster_tally *tally)
{
	for (size_t i = 0; i < MUSTER_STATUS_COUNT; i++)
		if (i != MUSTER_SKIP && tally->count[i] > 0)
			return true;
	return tally->count[MUSTER_SKIP] == 0;
}

/* What all checks about the row's metric, size and figure say together:
 *
 * - A check for other runs, or one that applies nowhere, says nothing.
 * - Of limits, the highest counts: it is the first that a value falls below. Limits that are shares are kept apart.
 * - Of counts of one status, the highest of any check counts, and not the sum: two checks may be about the same values.
 * - A check without a threshold (uncalibrated) counts only while no check with a threshold came, or where it found
 *   something bad. Its passes and blocks are dropped when the first check with a threshold comes. */
static struct results results_of(const struct muster_report *report, const struct row *row)
{
	struct results all = { .least = NAN, .least_share = NAN, .warn_below = NAN, .warn_share = NAN };
	for (size_t i = 0; i < report->tally_count; i++) {
		const struct muster_tally *tally = &report->tallies[i];
		double bytes = muster_label_number(tally->where, tally->where_count, "bytes");
		if (!tally->metric || strcmp(tally->metric, row->metric->name) != 0 || tally->skipped ||
			(bytes > 0 && (bytes < row->bytes || bytes > row->bytes)) ||
			!muster_figure_is_about(row->figure, tally->where, tally->where_count))
			continue;
		all.any = true;
		bool bad =
			tally->count[MUSTER_FAIL] + tally->count[MUSTER_INCONCLUSIVE] + tally->count[MUSTER_WARN] > 0;
		if (!applies(tally) || (tally->uncalibrated && all.threshold && !bad))
			continue;
		if (!tally->uncalibrated && !all.threshold) /* says more than what was only recorded */
			all.count[MUSTER_PASS] = all.count[MUSTER_BLOCKED] = 0;
		all.threshold |= !tally->uncalibrated;
		if (tally->has_least)
			take_limit(tally->share_of ? &all.least_share : &all.least, tally->least);
		if (tally->has_warn_below)
			take_limit(tally->share_of ? &all.warn_share : &all.warn_below, tally->warn_below);
		for (size_t j = 0; j < MUSTER_STATUS_COUNT; j++)
			all.count[j] = tally->count[j] > all.count[j] ? tally->count[j] : all.count[j];
		all.blocked_by = all.blocked_by ? all.blocked_by : tally->blocked_by;
	}
	return all;
}

/* "21"; "60 %" where only the share is limited; "-" */
static void put_limit(char cell[CELL_MAX], double value, double share)
{
	char text[64];
	if (!isnan(value))
		snprintf(cell, CELL_MAX, "%s", muster_value_text(muster_number(value), text, sizeof text));
	else if (!isnan(share))
		snprintf(cell, CELL_MAX, "%.0f %%", share * 100);
	else
		snprintf(cell, CELL_MAX, "-");
}

/* "FAIL: 1 of 16 GPUs", "pass", "blocked by ib.state on gpu-2" */
static char *result_text(const struct muster_report *report, const struct row *row, const struct results *all)
{
	static const enum muster_status worst_first[] = { MUSTER_FAIL, MUSTER_INCONCLUSIVE, MUSTER_WARN };
	char things[64];
	if (!all->any)
		return muster_asprintf("no check");
	for (size_t i = 0; i < sizeof worst_first / sizeof *worst_first; i++) {
		size_t count = all->count[worst_first[i]];
		const char *mark = muster_text_mark(worst_first[i]);
		if (count == 0)
			continue;
		if (row->metric->scope == MUSTER_SCOPE_JOB)
			return muster_asprintf("%s", mark);
		return muster_asprintf("%s: %zu of %s", mark, count,
			muster_text_plural(things, row->count, row->metric->is_exchange ? "exchange" : "GPU"));
	}
	if (all->count[MUSTER_PASS] == 0 && all->count[MUSTER_BLOCKED] > 0)
		return muster_asprintf("blocked by %s", all->blocked_by ? all->blocked_by : "a failed check");
	if (!all->threshold)
		return muster_asprintf(muster_report_is_shared(report) ? "not evaluated" : "no threshold");
	if (all->count[MUSTER_PASS] == 0)
		return muster_asprintf("not evaluated");
	if (all->count[MUSTER_BLOCKED] > 0)
		return muster_asprintf("%s, %zu blocked", muster_text_mark(MUSTER_PASS), all->count[MUSTER_BLOCKED]);
	return muster_asprintf("%s", muster_text_mark(MUSTER_PASS));
}

/* The texts of the row's cells, and its result. */
static void fill_row(const struct muster_report *report, struct row *row)
{
	struct results all = results_of(report, row);
	char size[64], text[64];
	if (row->bytes > 0 && row->bytes < 0x1p63)
		snprintf(row->cells[TITLE], CELL_MAX, "%s, %s", row->figure->title,
			muster_bytes_text((uint64_t)row->bytes, size, sizeof size));
	else
		snprintf(row->cells[TITLE], CELL_MAX, "%s", row->figure->title);
	snprintf(row->cells[LOWEST], CELL_MAX, "%s", muster_value_text(muster_number(row->lowest), text, sizeof text));
	snprintf(
		row->cells[HIGHEST], CELL_MAX, "%s", muster_value_text(muster_number(row->highest), text, sizeof text));
	put_limit(row->cells[REQUIRED], all.least, all.least_share);
	put_limit(row->cells[WARNING], all.warn_below, all.warn_share);
	muster_share_text(&row->share, "", false, row->cells[SHARE]);
	if (!*row->cells[SHARE])
		snprintf(row->cells[SHARE], CELL_MAX, "-");
	row->result = result_text(report, row, &all);
}

/* ---- the table ---- */

static const char *heading_of(const struct muster_metric *metric)
{
	return metric->unit == MUSTER_UNIT_GB_PER_S ? "bandwidth, GB/s" : "matrix products, TFLOP/s";
}

/* The headings of a row that has another unit than the row before. */
static bool has_heading(const struct table *table, size_t row, const char *cells[COLUMN_COUNT])
{
	const struct muster_metric *metric = table->rows[row].metric;
	if (row > 0 && table->rows[row - 1].metric->unit == metric->unit)
		return false;
	memcpy(cells, headings[table->is_narrow], sizeof headings[0]);
	cells[TITLE] = heading_of(metric);
	return true;
}

static void cells_of(const struct row *row, const char *cells[COLUMN_COUNT])
{
	for (size_t i = 0; i < RESULT; i++)
		cells[i] = row->cells[i];
	cells[RESULT] = row->result;
}

static void measure(const struct table *table, struct muster_text_grid *grid)
{
	const char *cells[COLUMN_COUNT];
	*grid = (struct muster_text_grid){ .columns = COLUMN_COUNT };
	for (size_t i = LOWEST; i < SHARE; i++)
		grid->right[i] = true;
	for (size_t j = 0; j < table->count; j++) {
		if (has_heading(table, j, cells))
			muster_grid_measure(grid, cells);
		cells_of(&table->rows[j], cells);
		muster_grid_measure(grid, cells);
	}
	grid->words[TITLE] = grid->widths[TITLE]; /* a row is looked up by its title: that stays on one line */
}

/* "36 to 83 % of PCIe 4.0 x16" becomes "36-83 %". */
static void make_narrow(struct table *table)
{
	table->is_narrow = true;
	for (size_t j = 0; j < table->count; j++) {
		char *of = strstr(table->rows[j].cells[SHARE], " of ");
		if (of)
			*of = '\0';
		char *to = strstr(table->rows[j].cells[SHARE], " to ");
		if (to) {
			*to = '-';
			memmove(to + 1, to + 4, strlen(to + 4) + 1);
		}
	}
}

/* All units in one grid, so that their columns stand below each other. Where it is too wide: the short headings and
 * shares first, and only then columns that wrap their texts. */
static void print_table(const struct muster_text_page *page, struct table *table)
{
	const char *cells[COLUMN_COUNT];
	struct muster_text_grid grid;
	measure(table, &grid);
	if (muster_grid_width(&grid) > muster_text_width(page)) {
		make_narrow(table);
		measure(table, &grid);
	}
	muster_grid_fit(&grid, muster_text_width(page));
	for (size_t j = 0; j < table->count; j++) {
		if (has_heading(table, j, cells)) {
			fputc('\n', page->out);
			muster_grid_print(&grid, page, cells, NULL);
		}
		cells_of(&table->rows[j], cells);
		muster_grid_print(&grid, page, cells, NULL);
	}
}

/* An all-reduce that not all ranks were in says so. */
static void print_ring(const struct muster_text_page *page)
{
	const struct muster_run *run = page->report->run;
	for (size_t i = 0; i < run->job.samples.count; i++) {
		const struct muster_sample *sample = &run->job.samples.items[i];
		if (strcmp(sample->metric->name, "nccl.ring_ranks") == 0 && sample->value.type == MUSTER_NUMBER &&
			sample->value.number < run->job.ranks)
			fprintf(page->out, "(all-reduce of %.0f of %d ranks)\n", sample->value.number, run->job.ranks);
	}
}

void muster_text_figures(const struct muster_text_page *page)
{
	struct table table = { 0 };
	take_figures(&table, page->report->run);
	for (size_t i = 0; i < table.count; i++)
		fill_row(page->report, &table.rows[i]);
	if (table.count > 0) {
		print_table(page, &table);
		print_ring(page);
	}
	for (size_t i = 0; i < table.count; i++)
		free(table.rows[i].result);
	free(table.rows);
}
