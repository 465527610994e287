/* SPDX-License-Identifier: Apache-2.0 */
/* text_slowest.c - the slowest ranks in the summary, where ranks differ
 *
 *   slowest ranks
 *     products of a step, alone, ms: 16 rank 1 (gpu-1 GPU 1), 15 rank 6 (gpu-1 GPU 6), fastest 10
 *
 * A figure in which no rank is slow has no line. Where none has one, one line says what was compared.
 */
#include "report/slowest.h"
#include "report/text_summary.h"

#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

static void print_figure(const struct muster_text_page *page, const struct muster_slowest *slowest)
{
	char *ranks = muster_slowest_text(slowest);
	char *line = muster_asprintf("%s, %s: %s", slowest->as->title, muster_metric_unit(slowest->metric), ranks);
	fputs("  ", page->out);
	muster_text_lines(page, line, 2, 4);
	free(line);
	free(ranks);
}

/* "ranks: exchanges, products and steps of 16 ranks are within 2 % of each other", with the groups that were measured.
 * A figure belongs to a group by the first word of its title. Where the groups have different numbers of ranks, each
 * has its own: "exchanges of 14 ranks and steps of 16 ranks". */
static void print_close(const struct muster_text_page *page, const struct muster_slowest *slowest, size_t count)
{
	static const char *const groups[] = { "exchange", "products", "step" };
	size_t ranks[3] = { 0 }, last = 3;
	bool same = true;
	for (size_t g = 0; g < 3; g++) {
		for (size_t i = 0; i < count; i++)
			if (strncmp(slowest[i].as->title, groups[g], strlen(groups[g])) == 0 &&
				slowest[i].all > ranks[g])
				ranks[g] = slowest[i].all;
		same = same && (!ranks[g] || last == 3 || ranks[g] == ranks[last]);
		last = ranks[g] ? g : last;
	}
	if (last == 3)
		return;
	fputs("\nranks: ", page->out);
	for (size_t g = 0, before = 0; g < 3; g++) {
		if (!ranks[g])
			continue;
		fprintf(page->out, "%s%s%s", !before++ ? "" : g == last ? " and " : ", ", groups[g], g == 1 ? "" : "s");
		if (!same || g == last)
			fprintf(page->out, " of %zu ranks", ranks[g]);
	}
	fputs(" are within 2 % of each other\n", page->out);
}

void muster_text_slowest(const struct muster_text_page *page)
{
	struct muster_slowest slowest[MUSTER_SLOWEST_FIGURES];
	size_t count = muster_slowest_find(page->report->run, slowest), shown = 0;
	for (size_t i = 0; i < count; i++) {
		if (slowest[i].slow == 0)
			continue;
		if (shown++ == 0)
			fputs("\nslowest ranks\n", page->out);
		print_figure(page, &slowest[i]);
	}
	if (count > 0 && shown == 0)
		print_close(page, slowest, count);
}
