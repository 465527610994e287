/* SPDX-License-Identifier: Apache-2.0 */
/* text_table.c - nodes x probes: where it went well and where not
 *
 * A finding belongs to the column of the probe that yields its metric, and so does each check that it blocks. With many
 * nodes only those with something to say have a row.
 *
 * A row is a node, or several nodes whose cells are equal, or, the last one, the job. A cell is what one probe and the
 * checks of its metrics came to there. A part is as many columns as fit a line; the rows are printed once for each
 * part.
 *
 * table_init() fills the cells in this order: which probes ended well on which nodes, which columns have a check at all
 * (by the tallies), findings, blocked checks. A pass is in none of these: it is what is left in a cell whose probe
 * ended well, whose column has a check, and in which nothing bad was counted (cell_status).
 *
 *   node           gpu_copy    ib_link    nccl_ring
 *   sim-1          FAIL 3      pass       not run      three failed checks; the ring did not end well there
 *   sim-[2-5]      pass        warn 1     pass         four nodes with equal cells
 *   job            n/a         n/a        FAIL 1       a finding about the whole run
 *   11 other nodes  pass
 *   (9 more columns: all pass or n/a)
 */
#include "report/text_summary.h"

#include "muster/probe.h"
#include "muster/run_data.h"
#include "report/print_escaped.h"
#include "slurm/hostlist.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

enum {
	ALL_ROWS_MAX = 4,    /* up to as many nodes, each has its row */
	BAD_ROWS_MAX = 40,   /* rows in any case */
	NAME_MAX_SHOWN = 40, /* bytes of a node's name */
	GAP = 2,             /* blanks between columns */
};

/* What a cell shows: the worst status and how often, "pass" if there is none but the probe ran, else "not run" or
 * "n/a". */
struct cell {
	unsigned int count[MUSTER_STATUS_COUNT];
	bool ran; /* the probe ended well on a rank of this node */
};

struct row {
	const char *name;
	struct cell *cells; /* one for each probe */
	char *list;  /* several nodes share the row: their list, malloc'd, which is then the name, too; else NULL */
	bool merged; /* the node is in the list of a row before */
};

struct table {
	size_t columns;
	bool *judged;     /* columns with a check that applies to this run, or a finding that is no skip */
	bool *shown;      /* columns in which not everything is pass or not applicable */
	struct row *rows; /* the nodes in their order, then the job */
	size_t row_count;
	struct row **by_name;       /* the rows of the nodes, for find_row() */
	size_t name_width, *widths; /* of the first column; of each further column */
};

static int row_compare(const void *a, const void *b)
{
	return strcmp((*(struct row *const *)a)->name, (*(struct row *const *)b)->name);
}

static size_t column_of(const struct table *table, const char *probe)
{
	for (size_t i = 0; i < table->columns; i++)
		if (strcmp(muster_probe_at(i)->name, probe) == 0)
			return i;
	return 0; /* findings without a metric, such as missing ranks: the first column, launch */
}

/* The column of the probe that yields the finding's metric, or that the finding is about. */
static size_t finding_column(const struct table *table, const struct muster_finding *finding)
{
	const struct muster_metric *metric = finding->metric ? muster_metric_find(finding->metric) : NULL;
	if (metric)
		return column_of(table, muster_metric_probe(metric));
	return column_of(table, strncmp(finding->check, "probe.", 6) == 0 ? finding->check + 6 : "");
}

static struct row *find_row(const struct table *table, const char *node)
{
	struct row wanted = { .name = node };
	struct row *key = &wanted;
	size_t nodes = table->row_count - 1;
	struct row **found = node ? bsearch(&key, table->by_name, nodes, sizeof(*table->by_name), row_compare) : NULL;
	return found ? *found : &table->rows[nodes]; /* what is no known node's is the job's */
}

static void fill_ran(const struct table *table, const struct muster_run *run)
{
	for (size_t i = 0; i < run->node_count; i++) {
		const struct muster_node *node = &run->nodes[i];
		for (size_t j = 0; j < node->rank_count; j++) {
			const struct muster_outcomes *outcomes = &node->ranks[j].outcomes;
			for (size_t k = 0; k < outcomes->count; k++)
				if (outcomes->items[k].status == MUSTER_OUTCOME_OK)
					table->rows[i].cells[column_of(table, outcomes->items[k].probe)].ran = true;
		}
	}
}

/* A tally by the name of its check. */
struct named_tally {
	const char *check;
	const struct muster_tally *tally;
	bool of_job; /* it is of the whole job, and is counted there already */
};

/* What a finding blocks on its node; a check of the whole job is blocked there, by however many findings. */
static void fill_blocked(const struct table *table, const struct muster_report *report)
{
	struct named_tally *tallies = muster_calloc(report->tally_count + 1, sizeof *tallies);
	for (size_t i = 0; i < report->tally_count; i++)
		tallies[i] = (struct named_tally){ .check = report->tallies[i].check, .tally = &report->tallies[i] };
	qsort(tallies, report->tally_count, sizeof *tallies, muster_by_text);
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		for (size_t j = 0; finding->status != MUSTER_SKIP && j < finding->blocked_count; j++) {
			const struct named_tally key = { .check = finding->blocked[j] };
			struct named_tally *found =
				bsearch(&key, tallies, report->tally_count, sizeof *tallies, muster_by_text);
			if (!found || !found->tally->probe || found->of_job)
				continue;
			const struct muster_metric *metric = muster_metric_find(found->tally->metric);
			found->of_job = metric && metric->scope == MUSTER_SCOPE_JOB;
			find_row(table, found->of_job ? NULL : finding->node)
				->cells[column_of(table, found->tally->probe)]
				.count[MUSTER_BLOCKED]++;
		}
	}
	free(tallies);
}

/* Make the rows of all nodes and of the job and fill their cells; table_done() releases the table. All cells are one
 * array, which begins at those of the first row. */
static void table_init(struct table *table, const struct muster_report *report)
{
	const struct muster_run *run = report->run;
	*table = (struct table){ .columns = muster_probe_count(), .row_count = run->node_count + 1 };
	table->judged = muster_calloc(table->columns, sizeof *table->judged);
	table->shown = muster_calloc(table->columns, sizeof *table->shown);
	table->widths = muster_calloc(table->columns, sizeof *table->widths);
	table->rows = muster_calloc(table->row_count, sizeof *table->rows);
	table->by_name = muster_calloc(table->row_count, sizeof(*table->by_name));
	struct cell *cells = muster_calloc(table->row_count * table->columns, sizeof *cells);
	for (size_t i = 0; i < table->row_count; i++) {
		table->rows[i].name = i < run->node_count ? run->nodes[i].name : "job";
		table->rows[i].cells = cells + i * table->columns;
		table->by_name[i] = &table->rows[i];
	}
	qsort(table->by_name, run->node_count, sizeof(*table->by_name), row_compare);
	fill_ran(table, run);
	for (size_t i = 0; i < report->tally_count; i++) {
		const struct muster_tally *tally = &report->tallies[i];
		if (!tally->skipped && tally->probe)
			table->judged[column_of(table, tally->probe)] = true;
	}
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		size_t column = finding_column(table, finding);
		find_row(table, finding->node)->cells[column].count[finding->status]++;
		table->judged[column] |= finding->status != MUSTER_SKIP;
	}
	fill_blocked(table, report);
}

static void table_done(struct table *table)
{
	free(table->rows[0].cells);
	for (size_t i = 0; i < table->row_count; i++)
		free(table->rows[i].list);
	free(table->rows);
	free(table->by_name);
	free(table->judged);
	free(table->shown);
	free(table->widths);
}

/* The worst status that was counted in the cell. Without any: a pass where the probe ended well and the column has a
 * check, else a skip: there is nothing to evaluate, or the probe did not run (cell_not_run). */
static enum muster_status cell_status(const struct table *table, const struct row *row, size_t column)
{
	static const enum muster_status worst_first[] = { MUSTER_FAIL, MUSTER_INCONCLUSIVE, MUSTER_WARN,
		MUSTER_BLOCKED };
	const struct cell *cell = &row->cells[column];
	for (size_t i = 0; i < sizeof worst_first / sizeof *worst_first; i++)
		if (cell->count[worst_first[i]] > 0)
			return worst_first[i];
	return cell->ran && table->judged[column] ? MUSTER_PASS : MUSTER_SKIP;
}

/* Nothing is wrong there. */
static bool cell_clean(const struct table *table, const struct row *row, size_t column)
{
	enum muster_status status = cell_status(table, row, column);
	return status == MUSTER_PASS || status == MUSTER_SKIP;
}

static bool is_job(const struct table *table, const struct row *row)
{
	return row == &table->rows[table->row_count - 1];
}

/* Checks of this run are about the probe, and it did not end well there. */
static bool cell_not_run(const struct table *table, const struct row *row, size_t column)
{
	return cell_status(table, row, column) == MUSTER_SKIP && table->judged[column] && !is_job(table, row);
}

static bool row_clean(const struct table *table, const struct row *row)
{
	for (size_t i = 0; i < table->columns; i++)
		if (!cell_clean(table, row, i))
			return false;
	return true;
}

/* The job has a row when something is wrong with it. A node has one when something is wrong with the node or there are
 * few nodes, unless the node is in another row. */
static bool row_shown(const struct table *table, size_t row)
{
	if (row + 1 == table->row_count)
		return !row_clean(table, &table->rows[row]);
	return !table->rows[row].merged &&
	       (table->row_count - 1 <= ALL_ROWS_MAX || !row_clean(table, &table->rows[row]));
}

/* "FAIL 3"; the length of the text. */
static size_t cell_text(const struct table *table, const struct row *row, size_t column, char out[32])
{
	enum muster_status status = cell_status(table, row, column);
	if (cell_not_run(table, row, column))
		return (size_t)snprintf(out, 32, "not run");
	if (status == MUSTER_PASS || status == MUSTER_SKIP)
		return (size_t)snprintf(out, 32, "%s", muster_text_mark(status));
	return (size_t)snprintf(out, 32, "%s %u", muster_text_mark(status), row->cells[column].count[status]);
}

/* The name of a row, escaped. A longer one is cut and ends with dots; only its ASCII characters are kept, so that the
 * cut is at no byte within a character. Returns the columns. */
static size_t name_text(const char *name, char out[NAME_MAX_SHOWN + 1])
{
	char *escaped = muster_escaped(name);
	size_t columns = muster_print_escaped(NULL, escaped), kept = 0;
	bool fits = strlen(escaped) <= NAME_MAX_SHOWN;
	if (!fits) {
		for (const char *at = escaped; *at && kept < NAME_MAX_SHOWN - 3; at++)
			if (!((unsigned char)*at & 0x80))
				escaped[kept++] = *at;
		columns = kept + 3;
		escaped[kept] = '\0';
	}
	snprintf(out, NAME_MAX_SHOWN + 1, "%s%s", escaped, fits ? "" : "...");
	free(escaped);
	return columns;
}

static void pad(FILE *out, size_t printed, size_t width)
{
	for (; printed < width + GAP; printed++)
		fputc(' ', out);
}

/* The columns of one part of the table that are shown: from first until end, which is not in it. */
struct part {
	size_t first, end;
};

/* row NULL: the heading. */
static void print_row(
	const struct muster_text_page *page, const struct table *table, struct part part, const struct row *row)
{
	char name[NAME_MAX_SHOWN + 1];
	size_t width = table->name_width, printed = name_text(row ? row->name : "node", name);
	fputs(name, page->out);
	for (size_t i = part.first; i < part.end; i++) {
		char text[32];
		if (!table->shown[i])
			continue;
		pad(page->out, printed, width);
		width = table->widths[i];
		if (row) {
			printed = cell_text(table, row, i, text);
			muster_text_paint_status(page, cell_status(table, row, i), text);
		} else {
			printed = (size_t)fprintf(page->out, "%s", muster_probe_at(i)->name);
		}
	}
	fputc('\n', page->out);
}

/* ---- nodes whose cells are equal share a row ---- */

static bool same_cells(const struct table *table, const struct row *a, const struct row *b)
{
	char x[32], y[32];
	for (size_t i = 0; i < table->columns; i++) {
		cell_text(table, a, i, x);
		cell_text(table, b, i, y);
		if (strcmp(x, y) != 0)
			return false;
	}
	return true;
}

/* Rename the first row of equal ones to the list of their nodes, and hide the others. */
static void merge_rows(struct table *table)
{
	const char **names = muster_calloc(table->row_count, sizeof *names);
	for (size_t i = 0; i + 1 < table->row_count; i++) {
		size_t count = 0;
		for (size_t j = i; row_shown(table, i) && j + 1 < table->row_count; j++) {
			struct row *row = &table->rows[j];
			if (!row_shown(table, j) || !same_cells(table, &table->rows[i], row))
				continue;
			names[count++] = row->name;
			row->merged = j > i;
		}
		if (count > 1)
			table->rows[i].name = table->rows[i].list = muster_hostlist_compress(names, count);
	}
	free(names);
}

/* Which columns are shown, and the widths of all columns over the rows that are shown. passed: the whole run did; then
 * a probe that did not run was not needed, and "not run" alone does not make its column shown. */
static void measure(struct table *table, bool passed)
{
	table->name_width = strlen("node");
	for (size_t i = 0; i < table->columns; i++)
		table->widths[i] = strlen(muster_probe_at(i)->name);
	for (size_t i = 0; i < table->row_count; i++) {
		const struct row *row = &table->rows[i];
		if (!row_shown(table, i))
			continue;
		char name[NAME_MAX_SHOWN + 1];
		size_t width = name_text(row->name, name);
		table->name_width = width > table->name_width ? width : table->name_width;
		for (size_t j = 0; j < table->columns; j++) {
			char text[32];
			width = cell_text(table, row, j, text);
			table->widths[j] = width > table->widths[j] ? width : table->widths[j];
			table->shown[j] |= !cell_clean(table, row, j) || (!passed && cell_not_run(table, row, j));
		}
	}
}

/* As many columns as fit a line, from `first`; at least one, however narrow the page is. */
static struct part next_part(const struct table *table, size_t first, size_t columns_most)
{
	struct part part = { first, first };
	size_t width = table->name_width;
	for (; part.end < table->columns; part.end++) {
		if (!table->shown[part.end])
			continue;
		width += GAP + table->widths[part.end];
		if (width > columns_most && part.end > part.first)
			break;
	}
	return part;
}

/* One part with all its rows; nodes without a row of their own are counted below them. */
static void print_part(const struct muster_text_page *page, const struct table *table, struct part part)
{
	char nodes[64];
	size_t shown = 0, clean = 0, cut = 0;
	const struct row *job = &table->rows[table->row_count - 1];
	fputc('\n', page->out);
	print_row(page, table, part, NULL);
	for (size_t i = 0; i + 1 < table->row_count; i++) {
		if (table->rows[i].merged) {
			continue;
		} else if (!row_shown(table, i)) {
			clean++;
		} else if (shown == BAD_ROWS_MAX) {
			cut++;
		} else {
			print_row(page, table, part, &table->rows[i]);
			shown++;
		}
	}
	if (!row_clean(table, job))
		print_row(page, table, part, job);
	if (cut > 0)
		fprintf(page->out, "and %s with findings\n", muster_text_plural(nodes, cut, "more node"));
	if (clean > 0) {
		fprintf(page->out, "%s  ", muster_text_plural(nodes, clean, shown ? "other node" : "node"));
		muster_text_paint_status(page, MUSTER_PASS, NULL);
		fputc('\n', page->out);
	}
}

void muster_text_table(const struct muster_text_page *page)
{
	struct table table;
	char columns[64];
	size_t shown = 0, width = muster_text_width(page);
	table_init(&table, page->report);
	if (table.row_count - 1 > ALL_ROWS_MAX)
		merge_rows(&table);
	measure(&table, page->report->verdict == MUSTER_PASS);
	for (size_t i = 0; i < table.columns; i++)
		shown += table.shown[i];
	for (struct part part = next_part(&table, 0, width); shown > 0 && part.first < table.columns;
		part = next_part(&table, part.end, width))
		print_part(page, &table, part);
	if (shown > 0 && shown < table.columns)
		fprintf(page->out, "(%s: all pass or n/a)\n",
			muster_text_plural(columns, table.columns - shown, "more column"));
	table_done(&table);
}
