/* SPDX-License-Identifier: Apache-2.0 */
/* text_kinds.c - kinds of faults in the summary, where several nodes have findings: how many nodes, which, what to do
 *
 *   2 kinds of faults
 *     FAIL          8 nodes              ib.state: InfiniBand ports are ACTIVE; seen: DOWN
 *         gpu-[1-8]
 *         fix-fabric: ...
 *     inconclusive  gpu-12 (3 findings)  copy.h2d: ...
 *         retry
 *
 * The first screen of the summary is to have the verdict and all kinds, so a kind has few lines: the fewer, the more
 * kinds there are.
 */
#include "report/text_summary.h"

#include "report/print_escaped.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	KINDS_MAX = 12,
	FULL_MAX = 4,        /* of so many kinds, each has its lines; with more kinds a screen takes fewer of each */
	LINES_MAX = 2,       /* of a host list, and of an action */
	NAME_MAX_SHOWN = 24, /* columns of the name of the only node */
	INDENT = 6,
};

bool muster_text_has_kinds(const struct muster_text_page *page)
{
	return page->kinds && muster_kinds_are_listed(page->kinds, page->report);
}

/* The name of the only node stands in place of its number. */
static bool is_named(const struct muster_kind *kind)
{
	return kind->node_count == 1 && kind->node_list && strlen(kind->node_list) <= NAME_MAX_SHOWN;
}

/* "8 nodes", "sim-3", "whole job"; with more findings than nodes their number too */
static const char *count_text(const struct muster_kind *kind, char out[96])
{
	char nodes[64];
	if (kind->node_count == 0)
		snprintf(out, 96, "whole job");
	else if (is_named(kind) && kind->count == 1)
		snprintf(out, 96, "%s", kind->node_list);
	else if (is_named(kind))
		snprintf(out, 96, "%s (%zu findings)", kind->node_list, kind->count);
	else if (kind->count == kind->node_count)
		snprintf(out, 96, "%s", muster_text_plural(nodes, kind->node_count, "node"));
	else
		snprintf(
			out, 96, "%s (%zu findings)", muster_text_plural(nodes, kind->node_count, "node"), kind->count);
	return out;
}

/* The columns of what stands before the check, for all rows. */
struct widths {
	size_t mark, count;
};

/* The row of a kind, then its nodes and its action, each on at most `lines` lines. */
static void print_kind(
	const struct muster_text_page *page, const struct muster_kind *kind, struct widths widths, size_t lines)
{
	char count[96];
	size_t mark = strlen(muster_text_mark(kind->status));
	char *what = muster_asprintf("%s: %s", kind->check, kind->what);
	char *action = muster_asprintf("%s%s%s", kind->action_code ? kind->action_code : "",
		kind->action_code && kind->action ? ": " : "", kind->action ? kind->action : "");
	fputs("  ", page->out);
	muster_text_paint_status(page, kind->status, NULL);
	fprintf(page->out, "%*s%-*s  ", (int)(widths.mark - mark + 2), "", (int)widths.count, count_text(kind, count));
	size_t used = 2 + widths.mark + 2 + widths.count + 2;
	muster_text_few_lines(page, what, used, INDENT, LINES_MAX);
	/* a row that takes a second line takes it from the nodes and the action: all kinds are to fit a screen */
	if (lines > 1 && used + strlen(what) > muster_text_width(page))
		lines--;
	const char *const more[] = { is_named(kind) ? NULL : kind->node_list, action };
	for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
		if (!more[i] || !*more[i])
			continue;
		fprintf(page->out, "%*s", INDENT, "");
		muster_text_few_lines(page, more[i], INDENT, INDENT, lines);
	}
	free(what);
	free(action);
}

void muster_text_kinds(const struct muster_text_page *page)
{
	struct widths widths = { 0 };
	char count[96];
	if (!muster_text_has_kinds(page))
		return;
	const struct muster_kind *kinds = page->kinds->items;
	size_t shown = page->kinds->count < KINDS_MAX ? page->kinds->count : KINDS_MAX;
	for (size_t i = 0; i < shown; i++) {
		size_t mark = strlen(muster_text_mark(kinds[i].status)), length = strlen(count_text(&kinds[i], count));
		widths.mark = mark > widths.mark ? mark : widths.mark;
		widths.count = length > widths.count ? length : widths.count;
	}
	fprintf(page->out, "\n%zu kind%s of faults\n", page->kinds->count, page->kinds->count == 1 ? "" : "s");
	for (size_t i = 0; i < shown; i++)
		print_kind(page, &kinds[i], widths, page->kinds->count <= FULL_MAX ? LINES_MAX : 1);
	if (shown < page->kinds->count)
		fprintf(page->out, "  and %zu more, all of them in the JSON report\n", page->kinds->count - shown);
}
