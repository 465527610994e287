/* SPDX-License-Identifier: Apache-2.0 */
/* text_findings.c - findings for people, those of a place together, the worst place first
 *
 *   FAIL gpu-2, GPU 3 (000b:00:00.0), rank 11: host to device [copy.h2d]
 *     observed  11.2 GB/s, 43 % of PCIe 4.0 x16           expected  at least 21 GB/s
 *     evidence  what a library or a process said
 *     action    replace-node: ...
 *     source    where the limit comes from (measured)
 *     blocked   8 checks not evaluated because of this: ...
 *
 * The findings come in the order of muster_findings_by_place(). Of one kind (report/kinds.h) only the first few are
 * printed in full, of all kinds BLOCKS_MAX; the others are counted by kind, with their nodes, at the end. Where the
 * kinds are listed above already, with all nodes and the action, fewer are printed in full, and only the first of each
 * kind has its source.
 */
#include "report/text_summary.h"

#include "model/gpu.h"
#include "model/share.h"
#include "muster/probe.h"
#include "report/print_escaped.h"
#include "report/verdict.h"
#include "slurm/hostlist.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS_MAX = 40,         /* findings shown in full */
	BLOCKS_OF_ONE_CHECK = 8, /* of these, findings of one kind: a frequent fault leaves room for other faults */
	BLOCKS_OF_A_KIND = 2,    /* the same where the kinds stand above, with all their nodes */
	REST_LINES_MAX = 2,      /* of the findings that are only counted, for each kind */
	INDENT = 6,
	BLOCKED_MAX = 12, /* ids of checks in one line */
	TEXT_COLUMN = 12, /* where the text of "  observed  ..." begins */
	SIDE_COLUMN = 54, /* where "expected" begins beside a short "observed" */
};

/* ---- where ---- */

/* Of an event of the kernel's log, what was observed names it and its place. */
static bool is_event(const struct muster_finding *finding)
{
	const struct muster_metric *metric = muster_metric_find(finding->metric);
	return metric && metric->event_part == MUSTER_EVENT_AGE;
}

char *muster_text_where(const struct muster_finding *finding)
{
	char *text;
	size_t length;
	FILE *out = muster_memory_open(&text, &length);
	muster_print_escaped(out, finding->node ? finding->node : "whole job");
	if (finding->gpu) {
		char *gpu = muster_gpu_text(finding->gpu, finding->gpu_index);
		muster_print_text(out, ", %s", gpu);
		free(gpu);
	}
	if (finding->port)
		muster_print_text(out, ", port %s", finding->port);
	if (finding->rank >= 0)
		fprintf(out, ", rank %d", finding->rank);
	for (size_t i = 0; i < finding->label_count && !is_event(finding); i++) {
		if (muster_label_is_of_place(finding->labels[i].key))
			continue;
		fprintf(out, ", %s ", finding->labels[i].key);
		muster_text_label(out, &finding->labels[i]);
	}
	muster_memory_close(out);
	return text;
}

/* ---- one finding ---- */

/* "  source    ..." */
static void print_line(const struct muster_text_page *page, const char *name, const char *text, const char *remark)
{
	if (!text || !*text)
		return;
	char *line = remark && *remark ? muster_asprintf("%s (%s)", text, remark) : muster_asprintf("%s", text);
	fprintf(page->out, "  %-*s", TEXT_COLUMN - 2, name);
	muster_text_lines(page, line, TEXT_COLUMN, TEXT_COLUMN);
	free(line);
}

/* "  observed  11.2 GB/s     expected  at least 21 GB/s": beside each other where both are short. */
static void print_values(const struct muster_text_page *page, const struct muster_finding *finding)
{
	const char *wanted = finding->expected ? finding->expected : "";
	char *observed = muster_finding_observed(finding);
	size_t left = muster_print_escaped(NULL, observed), right = muster_print_escaped(NULL, wanted);
	if (left > 0 && right > 0 && TEXT_COLUMN + left + 2 <= SIDE_COLUMN &&
		SIDE_COLUMN + strlen("expected  ") + right <= muster_text_width(page)) {
		muster_print_text(page->out, "  %-*s%s", TEXT_COLUMN - 2, "observed", observed);
		fprintf(page->out, "%*s", (int)(SIDE_COLUMN - TEXT_COLUMN - left), "");
		muster_print_text(page->out, "expected  %s", wanted);
		fputc('\n', page->out);
	} else {
		print_line(page, "observed", observed, NULL);
		print_line(page, "expected", wanted, NULL);
	}
	free(observed);
}

/* "8 checks not evaluated because of this: ib.rate, ..." */
static void print_blocked(const struct muster_text_page *page, const struct muster_finding *finding)
{
	char *text, count[64];
	size_t length;
	if (finding->blocked_count == 0)
		return;
	FILE *out = muster_memory_open(&text, &length);
	fprintf(out, "%s not evaluated because of this: ", muster_text_plural(count, finding->blocked_count, "check"));
	for (size_t i = 0; i < finding->blocked_count && i < BLOCKED_MAX; i++)
		fprintf(out, "%s%s", i ? ", " : "", finding->blocked[i]);
	if (finding->blocked_count > BLOCKED_MAX)
		fprintf(out, " and %zu more", finding->blocked_count - BLOCKED_MAX);
	muster_memory_close(out);
	print_line(page, "blocked", text, NULL);
	free(text);
}

/* "FAIL sim-1, GPU 3 (000b:00:00.0), rank 4: copies to the GPU [copy.h2d]", and what is known of it */
static void print_block(const struct muster_text_page *page, const struct muster_finding *finding, bool with_source)
{
	const struct muster_tally *tally = muster_report_tally(page->report, finding->check);
	const char *title = tally ? tally->title : NULL;
	char *where = muster_text_where(finding);
	char *line = muster_asprintf("%s%s%s [%s]", where, title ? ": " : "", title ? title : "", finding->check);
	fputc('\n', page->out);
	muster_text_paint_status(page, finding->status, NULL);
	fputc(' ', page->out);
	muster_text_lines(page, line, strlen(muster_text_mark(finding->status)) + 1, TEXT_COLUMN);
	free(where);
	free(line);
	print_values(page, finding);
	print_line(page, "evidence", finding->evidence, NULL);
	char *action = muster_finding_action(finding);
	print_line(page, "action", action, NULL);
	free(action);
	if (with_source)
		print_line(page, "source", finding->source, finding->certainty);
	print_blocked(page, finding);
}

/* ---- findings that are counted instead of shown ---- */

/* How many findings of a kind are shown, and the nodes of the others. */
struct rest {
	size_t shown, hidden, node_count;
	const char **nodes;
};

/* The index of the finding's kind. */
static size_t kind_of(const struct muster_kinds *kinds, const struct muster_finding *finding)
{
	size_t at = 0;
	while (at < kinds->count && !muster_kind_has(&kinds->items[at], finding))
		at++;
	return at;
}

/* Count the finding instead of printing it. `nodes` gets room for all findings of the kind with the first one. */
static void hide(struct rest *rest, const struct muster_kind *kind, const struct muster_finding *finding)
{
	if (!rest->nodes)
		rest->nodes = muster_calloc(kind->count, sizeof *rest->nodes);
	rest->hidden++;
	if (finding->node)
		rest->nodes[rest->node_count++] = finding->node;
}

/* A line for each kind with findings that were not printed: "  FAIL copy.h2d on 5 nodes: sim-[4-8]", or, where a node
 * has several of them, "  FAIL copy.h2d: 12 findings on 5 nodes: sim-[4-8]". rests: of each kind. */
static void print_hidden(const struct muster_text_page *page, const struct rest *rests, size_t hidden)
{
	fprintf(page->out, "\nand %zu more, all of them in the JSON report:\n", hidden);
	for (size_t i = 0; i < page->kinds->count; i++) {
		const struct muster_kind *kind = &page->kinds->items[i];
		char nodes[64];
		if (rests[i].hidden == 0)
			continue;
		size_t count = muster_hostlist_sort(rests[i].nodes, rests[i].node_count);
		char *list = muster_hostlist_compress(rests[i].nodes, count);
		bool each = count == rests[i].hidden; /* one on each node */
		char *findings = each ? NULL : muster_asprintf(": %zu findings", rests[i].hidden);
		char *line = muster_asprintf("%s%s%s%s%s%s", kind->check, each ? "" : findings, count ? " on " : "",
			count > 1 ? muster_text_plural(nodes, count, "node") : "", count > 1 ? ": " : "", list);
		free(findings);
		fputs("  ", page->out);
		muster_text_paint_status(page, kind->status, NULL);
		fputc(' ', page->out);
		muster_text_few_lines(
			page, line, 2 + strlen(muster_text_mark(kind->status)) + 1, INDENT, REST_LINES_MAX);
		free(line);
		free(list);
	}
}

void muster_text_findings(const struct muster_text_page *page)
{
	struct rest *rests = muster_calloc(page->kinds->count + 1, sizeof *rests);
	size_t count, shown = 0, hidden = 0;
	const struct muster_finding **findings = muster_findings_by_place(page->report, &count);
	bool has_kinds = muster_text_has_kinds(page);
	size_t most = has_kinds ? BLOCKS_OF_A_KIND : BLOCKS_OF_ONE_CHECK;
	for (size_t i = 0; i < count; i++) {
		size_t kind = kind_of(page->kinds, findings[i]);
		if (shown < BLOCKS_MAX && rests[kind].shown < most) {
			print_block(page, findings[i], !has_kinds || rests[kind].shown == 0);
			rests[kind].shown++;
			shown++;
		} else {
			hide(&rests[kind], &page->kinds->items[kind], findings[i]);
			hidden++;
		}
	}
	if (hidden > 0)
		print_hidden(page, rests, hidden);
	for (size_t i = 0; i < page->kinds->count; i++)
		free(rests[i].nodes);
	free(rests);
	free(findings);
}
