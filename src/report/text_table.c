/* text_table.c - nodes x probes: where it went well and where not
 *
 * A finding belongs to the column of the probe that yields its metric, and so does each check that it blocks. With many
 * nodes only those with something to say have a row.
 */
#include "report/text_summary.h"

#include "muster/probe.h"
#include "report/print_escaped.h"
#include "util/sort.h"

#include <stdlib.h>
#include <string.h>

enum {
	ALL_ROWS_MAX = 16, /* up to as many nodes, each has its row */
	BAD_ROWS_MAX = 40, /* rows in any case */
	GAP = 2,           /* blanks between columns */
};

struct cell {
	unsigned int count[MUSTER_STATUS_COUNT];
	bool ran; /* the probe ended well on a rank of this node */
};

struct row {
	const char *name;
	struct cell *cells; /* one for each probe */
};

struct table {
	size_t columns;
	bool *judged;     /* columns with at least one evaluated check */
	struct row *rows; /* the nodes in their order, then the job */
	size_t row_count;
	struct row **by_name;
	size_t name_width, *widths;
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

static void table_init(struct table *table, const struct muster_report *report)
{
	const struct muster_run *run = report->run;
	*table = (struct table){ .columns = muster_probe_count(), .row_count = run->node_count + 1 };
	table->judged = muster_calloc(table->columns, sizeof *table->judged);
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
	free(table->rows);
	free(table->by_name);
	free(table->judged);
	free(table->widths);
}

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

static bool row_clean(const struct table *table, const struct row *row)
{
	for (size_t i = 0; i < table->columns; i++) {
		enum muster_status status = cell_status(table, row, i);
		if (status != MUSTER_PASS && status != MUSTER_SKIP)
			return false;
	}
	return true;
}

static bool row_shown(const struct table *table, size_t row)
{
	if (row + 1 == table->row_count)
		return !row_clean(table, &table->rows[row]);
	return table->row_count - 1 <= ALL_ROWS_MAX || !row_clean(table, &table->rows[row]);
}

/* "FAIL 3"; the length of the text. */
static size_t cell_text(const struct table *table, const struct row *row, size_t column, char out[32])
{
	enum muster_status status = cell_status(table, row, column);
	bool of_job = row == &table->rows[table->row_count - 1];
	if (status == MUSTER_SKIP && table->judged[column] && !of_job)
		return (size_t)snprintf(out, 32, "not run");
	if (status == MUSTER_PASS || status == MUSTER_SKIP)
		return (size_t)snprintf(out, 32, "%s", muster_text_mark(status));
	return (size_t)snprintf(out, 32, "%s %u", muster_text_mark(status), row->cells[column].count[status]);
}

static void pad(FILE *out, size_t printed, size_t width)
{
	for (; printed < width + GAP; printed++)
		fputc(' ', out);
}

/* row NULL: the heading. */
static void print_row(const struct muster_text_page *page, const struct table *table, const struct row *row)
{
	size_t printed = muster_print_escaped(page->out, row ? row->name : "node");
	for (size_t i = 0; i < table->columns; i++) {
		char text[32];
		pad(page->out, printed, i == 0 ? table->name_width : table->widths[i - 1]);
		if (row) {
			printed = cell_text(table, row, i, text);
			muster_text_paint_status(page, cell_status(table, row, i), text);
		} else {
			printed = (size_t)fprintf(page->out, "%s", muster_probe_at(i)->name);
		}
	}
	fputc('\n', page->out);
}

static void measure(struct table *table)
{
	table->name_width = strlen("node");
	for (size_t i = 0; i < table->columns; i++)
		table->widths[i] = strlen(muster_probe_at(i)->name);
	for (size_t i = 0; i < table->row_count; i++) {
		const struct row *row = &table->rows[i];
		if (!row_shown(table, i))
			continue;
		size_t width = muster_print_escaped(NULL, row->name);
		table->name_width = width > table->name_width ? width : table->name_width;
		for (size_t j = 0; j < table->columns; j++) {
			char text[32];
			width = cell_text(table, row, j, text);
			table->widths[j] = width > table->widths[j] ? width : table->widths[j];
		}
	}
}

void muster_text_table(const struct muster_text_page *page)
{
	struct table table;
	char nodes[64];
	size_t shown = 0, clean = 0, cut = 0;
	table_init(&table, page->report);
	measure(&table);
	fputc('\n', page->out);
	print_row(page, &table, NULL);
	for (size_t i = 0; i + 1 < table.row_count; i++) {
		if (!row_shown(&table, i)) {
			clean++;
		} else if (shown == BAD_ROWS_MAX) {
			cut++;
		} else {
			print_row(page, &table, &table.rows[i]);
			shown++;
		}
	}
	if (row_shown(&table, table.row_count - 1))
		print_row(page, &table, &table.rows[table.row_count - 1]);
	if (cut > 0)
		fprintf(page->out, "and %s with findings\n", muster_text_plural(nodes, cut, "more node"));
	if (clean > 0) {
		fprintf(page->out, "%s  ", muster_text_plural(nodes, clean, shown ? "other node" : "node"));
		muster_text_paint_status(page, MUSTER_PASS, NULL);
		fputc('\n', page->out);
	}
	table_done(&table);
}
