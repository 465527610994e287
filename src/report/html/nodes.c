/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c - each node that did not pass, the worst first: its findings, and the values of its GPUs and ports
 *
 * The anchor of a node is within its details: a browser that follows a link to it opens them. The first nodes with
 * findings are open from the start. Of a small run, the nodes that passed are there too.
 *
 * Which nodes have details is in places.c (`detailed`). Their tables have a row for each GPU or port, with the anchor
 * of places.h, and a column for each metric of the catalogue's tables PAGE_GPUS and PAGE_PORTS that the run has any
 * value of.
 */
#include "report/html/html.h"
#include "report/html/places.h"

#include "model/share.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "report/inventory_build.h"
#include "report/text_summary.h"

#include <stdlib.h>
#include <string.h>

enum {
	OPEN_MAX = 3,     /* nodes that are open from the start */
	FINDINGS_MAX = 8, /* findings of a node that are listed */
	COLUMNS_MAX = 16,
};

/* The columns of a table: metrics of which the run has a value. A cell shows the first sample of its part. */
struct columns {
	struct muster_shown_metric items[COLUMNS_MAX];
	size_t count;
};

struct tables {
	const struct muster_html *page;
	struct columns gpus, ports;
};

static bool is_known(const struct muster_run *run, const struct muster_metric *metric)
{
	for (struct muster_run_walk at = { 0 }; muster_run_next(run, &at);) {
		const struct muster_sample *sample = muster_samples_find(at.samples, metric);
		if (sample && sample->value.type != MUSTER_NULL)
			return true;
	}
	return false;
}

static struct columns columns_of(const struct muster_run *run, enum muster_shown_table table)
{
	struct columns columns = { 0 };
	size_t count;
	const struct muster_shown_metric *shown = muster_metrics_shown(table, &count);
	for (size_t i = 0; i < count && columns.count < COLUMNS_MAX; i++)
		if (is_known(run, shown[i].metric))
			columns.items[columns.count++] = shown[i];
	return columns;
}

/* ---- cells ---- */

/* The worst status of the findings about this metric on this part of the node; PASS when there is none. */
static enum muster_status status_at(const struct tables *tables, const struct muster_html_node *node,
	const struct muster_html_part *part, const char *metric)
{
	enum muster_status worst = MUSTER_PASS;
	for (size_t i = 0; i < node->finding_count; i++) {
		const struct muster_finding *finding = &tables->page->report->findings[node->findings[i]];
		if (finding->metric && strcmp(finding->metric, metric) == 0 &&
			muster_html_part_of(node, finding) == part &&
			muster_status_weight(finding->status) > muster_status_weight(worst))
			worst = finding->status;
	}
	return worst;
}

static void put_sign(FILE *out, enum muster_status status)
{
	fprintf(out, "<svg class='sign %s' role='img' aria-label='%s' viewBox='0 0 16 16'><use href='#s-%s'/></svg>",
		muster_status_name(status), muster_status_name(status), muster_status_name(status));
}

static void put_cell(const struct tables *tables, const struct muster_sample *sample, enum muster_status status)
{
	FILE *out = tables->page->out;
	char text[256];
	bool bad = muster_status_weight(status) > 0;
	fprintf(out, bad ? "<td class='%s'>" : "<td>", muster_status_name(status));
	if (bad)
		put_sign(out, status);
	if (sample && sample->value.type != MUSTER_NULL)
		muster_html_put(tables->page, muster_value_text(sample->value, text, sizeof text));
	else
		fputc('-', out);
	fputs("</td>", out);
}

/* The values of one GPU or port. A GPU that no rank took has none: its samples would be those of its rank. */
static void put_cells(const struct tables *tables, const struct columns *columns, const struct muster_html_node *node,
	const struct muster_html_part *part, bool is_port)
{
	const struct muster_inventory_place place = {
		.node = node->node, .rank = part->rank, .port = is_port ? part->name : NULL
	};
	for (size_t i = 0; i < columns->count; i++) {
		const struct muster_metric *metric = columns->items[i].metric;
		put_cell(tables, part->rank || is_port ? muster_inventory_find(&place, metric) : NULL,
			node->finding_count ? status_at(tables, node, part, metric->name) : MUSTER_PASS);
	}
}

static void put_headings(FILE *out, const struct columns *columns)
{
	for (size_t i = 0; i < columns->count; i++)
		fprintf(out, "<th scope='col'>%s</th>", columns->items[i].as->title);
	fputs("</tr></thead>\n<tbody>\n", out);
}

/* ---- tables ---- */

/* A pass is plain text: large reports have many. */
static void put_result(const struct muster_html *page, enum muster_status status)
{
	if (muster_status_weight(status) > 0)
		muster_html_badge(page, status);
	else
		fputs(status == MUSTER_SKIP ? "not measured" : "pass", page->out);
}

/* The GPUs of a node, or its ports. */
static void put_parts(const struct tables *tables, const struct muster_html_node *node, size_t index, bool ports)
{
	const struct muster_html *page = tables->page;
	const struct muster_html_parts *parts = ports ? &node->ports : &node->gpus;
	const struct columns *columns = ports ? &tables->ports : &tables->gpus;
	if (parts->count == 0)
		return;
	muster_html_table_begin(page, ports ? "Network ports" : "GPUs");
	fprintf(page->out, "<thead><tr><th scope='col'>%s</th><th scope='col'>result</th>",
		ports ? "port" : "GPU</th><th scope='col'>rank");
	put_headings(page->out, columns);
	for (size_t i = 0; i < parts->count; i++) {
		const struct muster_html_part *part = &parts->items[i];
		fprintf(page->out, "<tr id='n%zu-%c%zu'>", index, ports ? 'p' : 'g', i);
		char *name = muster_html_part_text(part, ports, false);
		muster_html_within(page, "<th scope='row'>", name, "</th><td>");
		free(name);
		if (part->rank)
			fprintf(page->out, "%d</td><td>", part->rank->rank);
		else
			fputs(ports ? "" : "-</td><td>", page->out);
		put_result(page, part->status);
		fputs("</td>", page->out);
		put_cells(tables, columns, node, part, ports);
		fputs("</tr>\n", page->out);
	}
	muster_html_rows_end(page);
}

static void put_findings(const struct tables *tables, const struct muster_html_node *node)
{
	const struct muster_html *page = tables->page;
	if (node->finding_count == 0)
		return;
	fputs("<ul class='list'>\n", page->out);
	for (size_t i = 0; i < node->finding_count && i < FINDINGS_MAX; i++) {
		const struct muster_finding *finding = &page->report->findings[node->findings[i]];
		char *observed = muster_finding_observed(finding), *where = muster_text_where(finding);
		fputs("<li>", page->out);
		muster_html_badge(page, finding->status);
		muster_html_print(page, " %s: ", where);
		muster_html_check(page, finding->check);
		muster_html_within(page, " ", observed, "");
		if (finding->expected)
			muster_html_print(page, "; expected %s", finding->expected);
		fputs("</li>\n", page->out);
		free(observed);
		free(where);
	}
	if (node->finding_count > FINDINGS_MAX)
		fprintf(page->out, "<li>and %zu more</li>\n", node->finding_count - FINDINGS_MAX);
	fputs("</ul>\n", page->out);
}

static void put_missing(const struct tables *tables, const struct muster_node *node)
{
	for (size_t i = 0; i < node->rank_count; i++) {
		const struct muster_rank *rank = &node->ranks[i];
		const char *why = rank->missing ? rank->missing : rank->unfinished;
		if (!why)
			continue;
		fprintf(tables->page->out, "<p>Rank %d", rank->rank);
		muster_html_within(tables->page, ": ", why, "</p>\n");
	}
}

static void put_node(const struct tables *tables, size_t index, bool open)
{
	const struct muster_html *page = tables->page;
	const struct muster_html_node *node = &page->places->nodes[index];
	char count[64];
	fprintf(page->out, "<details class='%s'%s><summary>", muster_status_name(node->status), open ? " open" : "");
	if (node->status == MUSTER_SKIP)
		fputs("not measured", page->out);
	else
		muster_html_badge(page, node->status);
	muster_html_within(page, " <b>", node->node->name, "</b>");
	if (node->finding_count > 0)
		fprintf(page->out, " <span class='note'>%s</span>",
			muster_html_plural(count, node->finding_count, "finding"));
	fprintf(page->out, "</summary>\n<div class='node' id='n%zu'>\n", index);
	if (node->drawn)
		fprintf(page->out, "<p><a href='#m%zu'>Picture of this node</a></p>\n", index);
	put_findings(tables, node);
	put_missing(tables, node->node);
	put_parts(tables, node, index, false);
	put_parts(tables, node, index, true);
	fputs("</div></details>\n", page->out);
}

/* ---- all nodes ---- */

/* How many nodes have no details, and where their results are. */
static void put_rest(const struct muster_html *page, size_t passed)
{
	const struct muster_html_places *places = page->places;
	char text[64];
	if (places->worst_count > MUSTER_HTML_DETAILED_MAX)
		fprintf(page->out,
			"<p>Not shown here: %s with findings or without results. <code>muster nodes REPORT --bad "
			"--format lines</code> lists all nodes that failed; the JSON report has all values.</p>\n",
			muster_html_plural(text, places->worst_count - MUSTER_HTML_DETAILED_MAX, "more node"));
	if (passed > 0 && places->count > MUSTER_HTML_ALL_MAX)
		fprintf(page->out, "<p>%s without findings: %s.</p>\n", muster_html_plural(text, passed, "node"),
			page->inventory ? "not shown here" : "only a tile on the map");
}

void muster_html_nodes(const struct muster_html *page)
{
	const struct muster_html_places *places = page->places;
	const struct muster_run *run = page->report->run;
	const struct tables tables = { page, columns_of(run, MUSTER_SHOWN_PAGE_GPUS),
		columns_of(run, MUSTER_SHOWN_PAGE_PORTS) };
	size_t sums[MUSTER_STATUS_COUNT] = { 0 }, passed = places->count - places->worst_count;
	for (size_t i = 0; i < places->count; i++)
		sums[places->nodes[i].status] += places->nodes[i].detailed;
	muster_html_filter(page, "list", sums);
	fputs("<div class='filtered'>\n", page->out);
	for (size_t i = 0; i < places->worst_count && i < MUSTER_HTML_DETAILED_MAX; i++)
		put_node(&tables, places->worst[i], i < OPEN_MAX);
	for (size_t i = 0; i < places->count; i++)
		if (places->nodes[i].status == MUSTER_PASS && places->nodes[i].detailed)
			put_node(&tables, i, places->count == 1);
	fputs("</div>\n", page->out);
	put_rest(page, passed);
}
