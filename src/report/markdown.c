/* SPDX-License-Identifier: Apache-2.0 */
/* markdown.c - a short summary of a report, for a pull request or a ticket
 *
 * Texts that a machine gave are made printable, and what Markdown or HTML would take for more than text is escaped.
 *
 * A heading with the verdict, then tables, each only where it has rows: kinds of faults, the nodes to exclude, findings
 * with the worst status first, blocked checks by their cause, the placement by Slurm, speeds, slowest ranks. Kinds,
 * findings and places beyond ROWS_MAX are only counted.
 */
#include "muster/report.h"
#include "model/share.h"
#include "muster/probe.h"

#include "muster/run_data.h"
#include "report/inventory.h"
#include "report/kinds.h"
#include "report/slowest.h"
#include "report/text_summary.h"
#include "slurm/placement.h"
#include "report/print_escaped.h"
#include "report/verdict.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 50 };

/* One line of text, for a table's cell too: printable, and nothing in it is Markdown or HTML. NULL writes nothing. */
static void put_text(FILE *out, const char *text)
{
	char *safe = muster_escaped(text ? text : "");
	for (const char *at = safe; *at; at++) {
		switch (*at) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '@': fputs("&#64;", out); break; /* a host name must not notify a user (@name) */
		default:
			if (strchr("\\`*_{}[]()#!|~", *at))
				fputc('\\', out);
			fputc(*at, out);
		}
	}
	free(safe);
}

static void put_row(FILE *out, const char *const *cells, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fputs(i ? " | " : "| ", out);
		put_text(out, cells[i]);
	}
	fputs(" |\n", out);
}

static void put_finding(FILE *out, const struct muster_finding *finding)
{
	char *where = muster_text_where(finding);
	char *observed = muster_finding_observed(finding), *action = muster_finding_action(finding);
	const char *const cells[] = { muster_status_name(finding->status), finding->check, where, finding->expected,
		observed, action };
	put_row(out, cells, sizeof cells / sizeof *cells);
	free(where);
	free(observed);
	free(action);
}

static void put_findings(FILE *out, const struct muster_report *report)
{
	static const enum muster_status order[] = { MUSTER_FAIL, MUSTER_INCONCLUSIVE, MUSTER_WARN };
	size_t all = 0;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		for (size_t j = 0; j < report->finding_count; j++) {
			if (report->findings[j].status != order[i] || ++all > ROWS_MAX)
				continue;
			if (all == 1)
				fputs("\n| status | check | where | expected | observed | action |\n"
				      "|---|---|---|---|---|---|\n",
					out);
			put_finding(out, &report->findings[j]);
		}
	}
	if (all > ROWS_MAX)
		fprintf(out, "\nand %zu more, all of them in the JSON report.\n", all - ROWS_MAX);
}

/* Where several nodes have findings: which, and what to do. */
static void put_kinds(FILE *out, const struct muster_report *report)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_kinds kinds;
	muster_kinds_find(report, arena, &kinds);
	size_t count = muster_kinds_are_listed(&kinds, report) ? kinds.count : 0;
	if (count > 0)
		fputs("\n| kind of fault | what | nodes | which | action |\n|---|---|---|---|---|\n", out);
	for (size_t i = 0; i < count && i < ROWS_MAX; i++) {
		const struct muster_kind *kind = &kinds.items[i];
		const char *const cells[] = {
			muster_arena_printf(arena, "%s %s", muster_status_name(kind->status), kind->check),
			kind->what,
			muster_arena_printf(arena, "%zu", kind->node_count),
			kind->node_count == 0 ? "whole job" : kind->node_list,
			muster_arena_printf(arena, "%s%s%s", kind->action_code ? kind->action_code : "",
				kind->action_code && kind->action ? ": " : "", kind->action ? kind->action : ""),
		};
		put_row(out, cells, sizeof cells / sizeof *cells);
	}
	if (count > ROWS_MAX)
		fprintf(out, "\nand %zu more, all of them in the JSON report.\n", count - ROWS_MAX);
	muster_arena_free(arena);
}

/* The option that excludes the nodes that failed. */
static void put_excluded(FILE *out, const struct muster_report *report)
{
	struct muster_failed failed;
	if (muster_failed_find(report, &failed) && failed.list)
		fprintf(out, "\nExclude the failed nodes: `--exclude=%s`\n", failed.list);
	muster_failed_done(&failed);
}

/* Checks of speeds: measured and expected values. */
static void put_figures(FILE *out, const struct muster_report *report)
{
	bool first = true;
	for (size_t i = 0; i < report->tally_count; i++) {
		const struct muster_tally *tally = &report->tallies[i];
		const struct muster_metric *metric = muster_metric_find(tally->metric);
		char lowest[64], highest[64], share[MUSTER_SHARE_TEXT_MAX];
		if (!metric || !tally->has_numbers || !muster_units[metric->unit].speed)
			continue;
		if (first)
			fputs("\n| check | lowest | highest | unit | share | expected |\n|---|---|---|---|---|---|\n",
				out);
		first = false;
		const char *const cells[] = { tally->check,
			muster_value_text(muster_number(tally->lowest), lowest, sizeof lowest),
			muster_value_text(muster_number(tally->highest), highest, sizeof highest),
			muster_metric_unit(metric),
			muster_share_text(&tally->share, muster_metric_unit(metric), false, share), tally->expected };
		put_row(out, cells, sizeof cells / sizeof *cells);
	}
}

/* Where ranks differ. */
static void put_slowest(FILE *out, const struct muster_report *report)
{
	struct muster_slowest slowest[MUSTER_SLOWEST_FIGURES];
	size_t count = muster_slowest_find(report->run, slowest);
	bool first = true;
	for (size_t i = 0; i < count; i++) {
		if (slowest[i].slow == 0)
			continue;
		if (first)
			fputs("\n| slowest ranks by | unit | slowest first |\n|---|---|---|\n", out);
		first = false;
		char *ranks = muster_slowest_text(&slowest[i]);
		const char *const cells[] = { slowest[i].as->title, muster_metric_unit(slowest[i].metric), ranks };
		put_row(out, cells, sizeof cells / sizeof *cells);
		free(ranks);
	}
}

/* A row for each finding that blocks checks: the finding, "ib.state on sim-2", and all checks whose first cause it is.
 * The row stands where the first of these checks stands. */
static void put_blocked(FILE *out, const struct muster_report *report)
{
	const struct muster_tally *tallies = report->tallies;
	bool first = true;
	for (size_t i = 0; i < report->tally_count; i++) {
		bool done = !tallies[i].blocked_by;
		for (size_t j = 0; j < i && !done; j++)
			done = tallies[j].blocked_by && strcmp(tallies[j].blocked_by, tallies[i].blocked_by) == 0;
		if (done)
			continue;
		fputs(first ? "\n| blocked by | checks |\n|---|---|\n" : "", out);
		first = false;
		fputs("| ", out);
		put_text(out, tallies[i].blocked_by);
		for (size_t j = i; j < report->tally_count; j++) {
			if (!tallies[j].blocked_by || strcmp(tallies[j].blocked_by, tallies[i].blocked_by) != 0)
				continue;
			fputs(j == i ? " | " : ", ", out);
			put_text(out, tallies[j].check);
		}
		fputs(" |\n", out);
	}
}

/* The nodes below each switch or in each block that Slurm knows, to be compared with the nodes of a finding. */
static void put_placement(FILE *out, const struct muster_report *report)
{
	struct muster_placement placement;
	muster_placement_make(report->run, &placement);
	if (placement.count > 0)
		fputs("\n| placed by Slurm | nodes |\n|---|---|\n", out);
	for (size_t i = 0; i < placement.count && i < ROWS_MAX; i++) {
		const struct muster_node_block *place = &placement.places[i];
		const char *const cells[] = { place->name ? place->name : "unknown", place->nodes };
		put_row(out, cells, sizeof cells / sizeof *cells);
	}
	if (placement.count > ROWS_MAX)
		fprintf(out, "\nand %zu more, all of them in the JSON report.\n", placement.count - ROWS_MAX);
	muster_placement_done(&placement);
}

/* The heading with the verdict, and what was looked at. */
static void print_head(const struct muster_report *report, FILE *out)
{
	const struct muster_job *job = &report->run->job;
	char nodes[64], ranks[64];
	fputs("### muster: ", out);
	for (const char *at = muster_status_name(report->verdict); *at; at++)
		fputc(toupper((unsigned char)*at), out);
	fputs("\n\n", out);
	put_text(out, report->sku ? report->sku : "unknown");
	fprintf(out, ", %s, %s, profile %s, %.1f s",
		muster_text_plural(nodes, muster_run_known_nodes(report->run), "node"),
		muster_text_plural(ranks, (size_t)job->ranks, "rank"), job->profile, job->elapsed_s);
	if (job->started) {
		fputs(", ", out);
		put_text(out, job->started);
	}
	if (job->id) {
		fputs(", job ", out);
		put_text(out, job->id);
	}
	size_t recorded = muster_report_recorded(report);
	fprintf(out, ": %zu failed, %zu inconclusive, %zu warned, %zu passed, ", report->count[MUSTER_FAIL],
		report->count[MUSTER_INCONCLUSIVE], report->count[MUSTER_WARN], report->count[MUSTER_PASS] - recorded);
	if (recorded)
		fprintf(out, "%zu recorded only, ", recorded);
	if (report->count[MUSTER_BLOCKED])
		fprintf(out, "%zu blocked, ", report->count[MUSTER_BLOCKED]);
	fprintf(out, "%zu not applicable.\n", report->count[MUSTER_SKIP]);
	const char *remarks[MUSTER_REMARKS_MOST];
	size_t count = muster_report_remarks(report, remarks);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "\n**%s.**\n", remarks[i]);
	char *unmeasured[MUSTER_UNMEASURED_MOST];
	count = muster_report_unmeasured(report, unmeasured);
	for (size_t i = 0; i < count; i++) {
		fputs("\nNot measured: ", out);
		put_text(out, unmeasured[i]);
		fputc('\n', out);
		free(unmeasured[i]);
	}
}

void muster_report_print_markdown(const struct muster_report *report, FILE *out)
{
	print_head(report, out);
	put_kinds(out, report);
	put_excluded(out, report);
	put_findings(out, report);
	put_blocked(out, report);
	put_placement(out, report);
	put_figures(out, report);
	put_slowest(out, report);
}

/* ---- the inventory ---- */

/* "580.105.08, **differs**", "unknown: why" */
static void put_cell(FILE *out, const struct muster_inventory_cell *cell)
{
	put_text(out, cell->text);
	if (cell->why) {
		fputs(": ", out);
		put_text(out, cell->why);
	}
	if (cell->usual)
		fputs(", **differs**", out);
}

static void put_heading(FILE *out, const struct muster_inventory_table *table)
{
	for (size_t i = 0; i < table->shown; i++)
		fprintf(out, "%s%s", i ? " | " : "| ", table->columns[i]);
	fputs(" |\n|", out);
	for (size_t i = 0; i < table->shown; i++)
		fputs("---|", out);
	fputc('\n', out);
}

/* A block of the inventory as a table of its own: Markdown has no rows of headings within a table. */
static void put_block(FILE *out, const struct muster_inventory_table *table, const struct muster_inventory_block *block)
{
	fputs("\n**", out);
	put_text(out, block->title);
	fputs("**\n\n", out);
	if (block->row_count == 0) {
		put_text(out, block->empty ? block->empty : "nothing");
		fputc('\n', out);
		return;
	}
	put_heading(out, table);
	for (size_t row = 0; row < block->row_count; row++) {
		for (size_t i = 0; i < table->shown; i++) {
			fputs(i ? " | " : "| ", out);
			put_cell(out, &block->cells[row * table->column_count + i]);
		}
		fputs(" |\n", out);
	}
}

void muster_report_print_inventory_markdown(const struct muster_report *report, FILE *out)
{
	struct muster_inventory inventory;
	muster_inventory_make(report->run, &inventory);
	print_head(report, out);
	for (size_t i = 0; i < MUSTER_INVENTORY_COUNT; i++) {
		const struct muster_inventory_table *table = &inventory.tables[i];
		fprintf(out, "\n#### %s\n", table->title);
		for (size_t b = 0; b < table->block_count; b++)
			put_block(out, table, &table->blocks[b]);
		if (table->cut > 0)
			fprintf(out, "\nand %zu more nodes that differ, all of them in the JSON report.\n", table->cut);
	}
	muster_inventory_done(&inventory);
}
