/* text_slowest.c - the slowest ranks in the summary, where ranks differ
 */
#include "report/slowest.h"
#include "report/text_summary.h"

#include "muster/arena.h"

#include <stdlib.h>

static void print_figure(const struct muster_text_page *page, const struct muster_slowest *slowest)
{
	char *ranks = muster_slowest_text(slowest);
	char *line = muster_asprintf("%s, %s: %s", slowest->as->title, muster_metric_unit(slowest->metric), ranks);
	fputs("  ", page->out);
	muster_text_lines(page->out, line, 2, 4);
	free(line);
	free(ranks);
}

void muster_text_slowest(const struct muster_text_page *page)
{
	struct muster_slowest slowest[MUSTER_SLOWEST_FIGURES];
	size_t count = muster_slowest_find(page->report->run, slowest), shown = 0, all = 0;
	for (size_t i = 0; i < count; i++) {
		all = slowest[i].all > all ? slowest[i].all : all;
		if (slowest[i].slow == 0)
			continue;
		if (shown++ == 0)
			fputs("\nslowest ranks\n", page->out);
		print_figure(page, &slowest[i]);
	}
	if (count > 0 && shown == 0)
		fprintf(page->out,
			"\nranks: exchanges, products and steps of %zu ranks are within 2 %% of each other\n", all);
}
