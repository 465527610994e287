/* text_slowest.c - the slowest ranks in the summary, where ranks differ
 */
#include "report/slowest.h"
#include "report/text_lines.h"
#include "report/text_summary.h"

#include "muster/arena.h"

#include <stdlib.h>

#define SPREAD_SHOWN 0.02 /* ranks that differ by less are equally fast */

static void print_figure(const struct muster_text_page *page, const struct muster_slowest *slowest)
{
	char value[64];
	char *line = muster_asprintf("%s, %s:", slowest->title, slowest->unit);
	for (size_t i = 0; i < slowest->count; i++) {
		const struct muster_slow_rank *slow = &slowest->ranks[i];
		char *longer = muster_asprintf("%s%s %s rank %d (%s)", line, i ? "," : "",
			muster_value_text(muster_number(slow->value), value, sizeof value), slow->rank->rank,
			slow->node->name);
		free(line);
		line = longer;
	}
	fputs("  ", page->out);
	muster_text_lines(page->out, line, 2, 4);
	free(line);
}

void muster_text_slowest(const struct muster_text_page *page)
{
	struct muster_slowest slowest[MUSTER_SLOWEST_FIGURES];
	size_t count = muster_slowest_find(page->report->run, slowest), shown = 0, all = 0;
	for (size_t i = 0; i < count; i++) {
		all = slowest[i].all > all ? slowest[i].all : all;
		if (slowest[i].spread <= SPREAD_SHOWN)
			continue;
		if (shown++ == 0)
			fputs("\nslowest ranks\n", page->out);
		print_figure(page, &slowest[i]);
	}
	if (count > 0 && shown == 0)
		fprintf(page->out,
			"\nranks: exchanges, products and steps of %zu ranks are within 2 %% of each other\n", all);
}
