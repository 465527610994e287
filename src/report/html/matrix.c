/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.c - the all-reduce, and the exchanges that it is made of: GPUs within each node, and nodes with each other
 *
 * A row is a node, a column is a pair of its GPUs or a rail (the same GPU of the next node). The shade of a cell says
 * how its share of the limit compares with the median of the table; where it is low, the cell says so in words too.
 *
 *   node              GPU 0 - 1    GPU 1 - 2    GPU 2 - 3
 *   limit             300          300          300
 *   sim-2             231          60 26 % X    229          26 % of the median; X: the sign of a finding
 *   29 other nodes    230          229          231          the lowest of each column, in a run of many nodes
 *
 * That is the table within nodes. In the table of rails a column is a GPU, "GPU 0".
 *
 * Each rank reports its exchanges, so a pair of GPUs has two samples, one of each rank: the cell has the slower one.
 * print_matrix() makes one of the two tables: make() finds the columns, then the cells, then compares the cells with
 * their median, then marks those that findings are about, then sums up each row.
 */
#include "report/html/html.h"
#include "report/html/places.h"

#include "model/gpu.h"
#include "model/share.h"
#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	ALL_ROWS_MAX = 24, /* up to so many nodes, each has its row */
	LOW_ROWS_MAX = 64, /* rows in any case */
	COLUMNS_MAX = 136, /* pairs of 16 GPUs, and rails */
};
#define LOW 0.9 /* of the median */
#define FINE 0.97
#define VERY_LOW 0.7

/* ---- the cells ---- */

struct cell {
	const struct muster_sample *sample; /* the slowest one; NULL: not measured */
	const struct muster_rank *rank;     /* that measured it */
	double share;                       /* of the limit; where none is known, the value itself in GB/s */
	double relative;                    /* to the median of the table */
	enum muster_status status;          /* of a finding about it; else PASS */
};

/* GPUs by their places in a node; of a rail both are the same. */
struct column {
	size_t first, second;
};

struct row {
	size_t node;
	double lowest; /* relative */
	bool bad;      /* there is a finding */
};

struct matrix {
	const struct muster_html *page;
	const struct muster_run *run;
	bool rails; /* between nodes; else within a node */
	struct column columns[COLUMNS_MAX];
	size_t column_count;
	struct cell *cells; /* nodes x COLUMNS_MAX: the cells of node n begin at cells[n * COLUMNS_MAX] */
	struct row *rows;   /* nodes that have a cell */
	size_t row_count;
};

/* The value of a sample, if it is above 0; else 0. */
static double number_of(const struct muster_sample *sample)
{
	return sample->value.type == MUSTER_NUMBER && sample->value.number > 0 ? sample->value.number : 0;
}

/* The limit of an exchange; NULL when none is known. */
static const struct muster_sample *limit_of(const struct muster_rank *rank, const struct muster_sample *exchange)
{
	const struct muster_sample *limit = muster_limit_named(&rank->samples, "pair.exchange_limit_gbps", exchange);
	return limit && number_of(limit) > 0 ? limit : NULL;
}

/* The place of the rank with this GPU; SIZE_MAX when there is none. */
static size_t place_of(const struct muster_node *node, const char *gpu)
{
	for (size_t i = 0; i < node->rank_count; i++)
		if (node->ranks[i].gpu && strcmp(node->ranks[i].gpu, gpu) == 0)
			return i;
	return SIZE_MAX;
}

/* The column of an exchange that the rank at this place of the node measured; it is added when it is new. A pair is the
 * same column from both of its GPUs. SIZE_MAX: the exchange is of the other table, its partner is not known, or there
 * are too many columns. */
static size_t column_of(
	struct matrix *m, const struct muster_node *node, size_t place, const struct muster_sample *exchange)
{
	bool rail = strcmp(muster_sample_label_text(exchange, "kind"), "rail") == 0;
	size_t other = rail ? place : place_of(node, muster_sample_label_text(exchange, "peer_gpu"));
	struct column wanted = { place < other ? place : other, place < other ? other : place };
	if (rail != m->rails || other == SIZE_MAX)
		return SIZE_MAX;
	for (size_t i = 0; i < m->column_count; i++)
		if (m->columns[i].first == wanted.first && m->columns[i].second == wanted.second)
			return i;
	if (m->column_count == COLUMNS_MAX)
		return SIZE_MAX;
	m->columns[m->column_count] = wanted;
	return m->column_count++;
}

static void take_column(struct matrix *m, size_t n, size_t place, const struct muster_sample *exchange)
{
	(void)column_of(m, &m->run->nodes[n], place, exchange);
}

/* Keep the exchange in its cell if it is the slowest one there. */
static void take_cell(struct matrix *m, size_t n, size_t place, const struct muster_sample *exchange)
{
	const struct muster_rank *rank = &m->run->nodes[n].ranks[place];
	double value = number_of(exchange);
	size_t column = column_of(m, &m->run->nodes[n], place, exchange);
	if (column == SIZE_MAX)
		return;
	struct cell *cell = &m->cells[n * COLUMNS_MAX + column];
	const struct muster_sample *limit = limit_of(rank, exchange);
	double share = limit ? value / number_of(limit) : value;
	if (!cell->sample || share < cell->share)
		*cell = (struct cell){ .sample = exchange, .rank = rank, .share = share };
}

/* ---- what the cells say ---- */

/* Set `relative` of all cells: their shares as shares of the median of all cells of the table. */
static void compare(struct matrix *m)
{
	size_t room = m->run->node_count * COLUMNS_MAX, count = 0;
	double *shares = muster_calloc(room + 1, sizeof *shares);
	for (size_t i = 0; i < room; i++)
		if (m->cells[i].sample)
			shares[count++] = m->cells[i].share;
	double median = count ? muster_median_of(shares, count) : 0;
	for (size_t i = 0; i < room; i++)
		if (m->cells[i].sample)
			m->cells[i].relative = m->cells[i].share / median;
	free(shares);
}

/* Whether a check is about exchanges of this table. */
static bool is_about(const struct matrix *m, const struct muster_finding *finding)
{
	const struct muster_tally *tally = muster_report_tally(m->page->report, finding->check);
	const char *kind = tally && tally->where ? muster_label_string(tally->where, tally->where_count, "kind") : NULL;
	return finding->metric && strcmp(finding->metric, "pair.exchange_gbps") == 0 && finding->rank >= 0 &&
	       (!kind || (strcmp(kind, "rail") == 0) == m->rails);
}

/* Give the finding's status to the cells that it is about. A finding names a rank and not a column: those of the rank's
 * exchanges are meant that are LOW. */
static void mark(struct matrix *m, const struct muster_finding *finding)
{
	for (size_t n = 0; n < m->run->node_count; n++) {
		const struct muster_node *node = &m->run->nodes[n];
		if (!finding->node || strcmp(finding->node, node->name) != 0)
			continue;
		for (size_t c = 0; c < m->column_count; c++) {
			struct cell *cell = &m->cells[n * COLUMNS_MAX + c];
			const size_t places[] = { m->columns[c].first, m->columns[c].second };
			for (size_t i = 0; i < 2 && cell->sample && cell->relative < LOW; i++)
				if (places[i] < node->rank_count && node->ranks[places[i]].rank == finding->rank &&
					muster_status_weight(finding->status) > muster_status_weight(cell->status))
					cell->status = finding->status;
		}
	}
}

static int by_columns(const void *a, const void *b)
{
	const struct column *x = a, *y = b;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->second > y->second) - (x->second < y->second);
}

static void each_exchange(
	struct matrix *m, void (*take)(struct matrix *, size_t n, size_t place, const struct muster_sample *exchange))
{
	const struct muster_metric *metric = muster_metric_find("pair.exchange_gbps");
	for (size_t n = 0; n < m->run->node_count; n++)
		for (size_t r = 0; r < m->run->nodes[n].rank_count; r++) {
			const struct muster_samples *samples = &m->run->nodes[n].ranks[r].samples;
			for (size_t i = 0; i < samples->count; i++)
				if (samples->items[i].metric == metric && number_of(&samples->items[i]) > 0)
					take(m, n, r, &samples->items[i]);
		}
}

/* Fill the matrix: two walks over all exchanges, since cells are stored by the index of their column, and columns are
 * sorted before. */
static void make(struct matrix *m)
{
	each_exchange(m, take_column);
	qsort(m->columns, m->column_count, sizeof *m->columns, by_columns);
	m->cells = muster_calloc(m->run->node_count * COLUMNS_MAX + 1, sizeof *m->cells);
	m->rows = muster_calloc(m->run->node_count + 1, sizeof *m->rows);
	each_exchange(m, take_cell);
	compare(m);
	for (size_t i = 0; i < m->page->report->finding_count; i++)
		if (is_about(m, &m->page->report->findings[i]))
			mark(m, &m->page->report->findings[i]);
	for (size_t n = 0; n < m->run->node_count; n++) {
		struct row row = { .node = n, .lowest = INFINITY };
		for (size_t c = 0; c < m->column_count; c++) {
			const struct cell *cell = &m->cells[n * COLUMNS_MAX + c];
			row.lowest = cell->sample && cell->relative < row.lowest ? cell->relative : row.lowest;
			row.bad = row.bad || cell->status != MUSTER_PASS;
		}
		if (isfinite(row.lowest))
			m->rows[m->row_count++] = row;
	}
}

/* ---- printing ---- */

/* "rank 9 with GPU 2 (0003:00:00.0) of sim-2: 60 GB/s, 20 % of NVLink (12 x 25.0) (300 GB/s), 36 % of the median" */
static void put_title(const struct matrix *m, const struct cell *cell)
{
	const struct muster_sample *limit = limit_of(cell->rank, cell->sample);
	struct muster_share share = { 0 };
	char value[32], text[MUSTER_SHARE_TEXT_MAX];
	muster_share_add(&share, number_of(cell->sample), limit);
	muster_share_text(&share, "GB/s", true, text);
	const char *peer = muster_sample_label_text(cell->sample, "peer_node");
	char *gpu = muster_html_gpu_text(m->page, peer, muster_sample_label_text(cell->sample, "peer_gpu"));
	muster_html_print(m->page, "rank %d with %s of %s: %s GB/s%s%s, %.0f %% of the median", cell->rank->rank, gpu,
		peer, muster_html_gbps(number_of(cell->sample), value), *text ? ", " : "", text, 100 * cell->relative);
	free(gpu);
}

static const char *shade_of(const struct cell *cell)
{
	return cell->relative >= FINE       ? "shade0"
	       : cell->relative >= LOW      ? "shade1"
	       : cell->relative >= VERY_LOW ? "shade2"
					    : "shade3";
}

static void print_cell(const struct matrix *m, const struct cell *cell)
{
	FILE *out = m->page->out;
	char value[32];
	if (!cell->sample) {
		fputs("<td class='none'>not measured</td>", out);
		return;
	}
	bool bad = cell->status != MUSTER_PASS;
	fprintf(out, "<td class='%s' title='", bad ? muster_status_name(cell->status) : shade_of(cell));
	put_title(m, cell);
	fprintf(out, "'>%s", muster_html_gbps(number_of(cell->sample), value));
	if (cell->relative < LOW)
		fprintf(out, " <small>%.0f&nbsp;%%</small>", 100 * cell->relative);
	if (bad)
		fprintf(out,
			" <svg class='sign' role='img' aria-label='%s' viewBox='0 0 16 16'><use href='#s-%s'/></svg>",
			muster_status_name(cell->status), muster_status_name(cell->status));
	fputs("</td>", out);
}

/* Nodes whose exchanges are all as fast as those of the others: of each column the slowest. */
static void print_folded(const struct matrix *m, const struct row *rows, size_t count)
{
	if (count == 0)
		return;
	fprintf(m->page->out, "<tr><th scope='row'>%zu %snode%s, lowest of each column</th>", count,
		count < m->row_count ? "other " : "", count == 1 ? "" : "s");
	for (size_t c = 0; c < m->column_count; c++) {
		const struct cell *lowest = &m->cells[rows[0].node * COLUMNS_MAX + c];
		for (size_t i = 1; i < count; i++) {
			const struct cell *cell = &m->cells[rows[i].node * COLUMNS_MAX + c];
			if (cell->sample && (!lowest->sample || cell->relative < lowest->relative))
				lowest = cell;
		}
		print_cell(m, lowest);
	}
	fputs("</tr>\n", m->page->out);
}

/* Whether the row needs no row of its own where there are many. */
static bool is_folded(const struct row *row)
{
	return !row->bad && row->lowest >= LOW;
}

/* Rows that are folded come last, the other rows by their worst exchange. */
static int by_worst(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (is_folded(x) != is_folded(y))
		return is_folded(x) ? 1 : -1;
	if (!is_folded(x) && x->lowest != y->lowest)
		return x->lowest < y->lowest ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* What an exchange of each column can carry: "25", "12.5 to 25". */
static void print_limits(const struct matrix *m)
{
	char low[32], high[32];
	fputs("<tr><th scope='row'>limit</th>", m->page->out);
	for (size_t c = 0; c < m->column_count; c++) {
		double lowest = INFINITY, highest = 0;
		for (size_t i = 0; i < m->row_count; i++) {
			const struct cell *cell = &m->cells[m->rows[i].node * COLUMNS_MAX + c];
			const struct muster_sample *limit = cell->sample ? limit_of(cell->rank, cell->sample) : NULL;
			lowest = limit && number_of(limit) < lowest ? number_of(limit) : lowest;
			highest = limit && number_of(limit) > highest ? number_of(limit) : highest;
		}
		if (highest == 0)
			fputs("<td class='none'>unknown</td>", m->page->out);
		else
			fprintf(m->page->out, "<td class='none'>%s%s%s</td>", muster_html_gbps(lowest, low),
				lowest < highest ? " to " : "",
				lowest < highest ? muster_html_gbps(highest, high) : "");
	}
	fputs("</tr>\n", m->page->out);
}

/* The limits, then a row for each node; of a run with more than ALL_ROWS_MAX nodes only those with a low exchange or a
 * finding, the worst LOW_ROWS_MAX, and one row for all nodes that are fine. */
static void print_rows(struct matrix *m)
{
	size_t shown = m->row_count;
	if (m->row_count > ALL_ROWS_MAX) {
		qsort(m->rows, m->row_count, sizeof *m->rows, by_worst);
		for (shown = 0; shown < m->row_count && !is_folded(&m->rows[shown]);)
			shown++;
	}
	size_t low = shown;
	shown = shown < LOW_ROWS_MAX ? shown : LOW_ROWS_MAX;
	fputs("<tbody>\n", m->page->out);
	print_limits(m);
	for (size_t i = 0; i < shown; i++) {
		fputs("<tr><th scope='row'>", m->page->out);
		muster_html_node(m->page, m->run->nodes[m->rows[i].node].name);
		fputs("</th>", m->page->out);
		for (size_t c = 0; c < m->column_count; c++)
			print_cell(m, &m->cells[m->rows[i].node * COLUMNS_MAX + c]);
		fputs("</tr>\n", m->page->out);
	}
	print_folded(m, m->rows + low, m->row_count - low);
	fputs("</tbody>\n", m->page->out);
	if (low > shown)
		fprintf(m->page->out,
			"<tfoot><tr><td colspan='%zu'>%zu more nodes with slow exchanges are in the JSON "
			"report.</td></tr></tfoot>\n",
			m->column_count + 1, low - shown);
}

/* Of the first node: the index of the GPU at this place, or else the place. */
static int number_at(const struct matrix *m, size_t place)
{
	const struct muster_node *node = &m->run->nodes[0];
	int index = place < node->rank_count ? muster_node_gpu_index(node, node->ranks[place].gpu) : -1;
	return index < 0 ? (int)place : index;
}

/* The number of its columns. */
static size_t print_matrix(const struct muster_html *page, bool rails)
{
	struct matrix m = { .page = page, .run = page->report->run, .rails = rails };
	make(&m);
	if (m.column_count > 0) {
		fputs("<div class='matrix'>\n", page->out);
		muster_html_table_begin(page, rails ? "Between nodes, GB/s: each GPU with the same GPU of the next node"
						    : "Within nodes, GB/s: two GPUs with each other");
		fputs("<thead><tr><th scope='col'>node</th>", page->out);
		for (size_t c = 0; c < m.column_count; c++) {
			fprintf(page->out, "<th scope='col'>GPU %d", number_at(&m, m.columns[c].first));
			if (!rails)
				fprintf(page->out, " - %d", number_at(&m, m.columns[c].second));
			fputs("</th>", page->out);
		}
		fputs("</tr></thead>\n", page->out);
		print_rows(&m);
		muster_html_table_end(page);
		fputs("</div>\n", page->out);
	}
	free(m.cells);
	free(m.rows);
	return m.column_count;
}

void muster_html_matrix(const struct muster_html *page)
{
	muster_html_rings(page);
	if (print_matrix(page, false) + print_matrix(page, true) > 0)
		fputs("<p class='shades'>The darker a cell, the lower is its share of the limit, compared with the "
		      "median of its table: <span class='shade1'>below 97&nbsp;%</span> <span class='shade2'>below "
		      "90&nbsp;%</span> <span class='shade3'>below 70&nbsp;%</span>. A percentage in a cell is its "
		      "share of the median. A cell has the slower of the two directions.</p>\n",
			page->out);
}
