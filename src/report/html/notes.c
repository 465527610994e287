/* SPDX-License-Identifier: Apache-2.0 */
/* notes.c - what the summary lists besides: events of the kernel's log, who else used the nodes, steps, slowest ranks
 *
 * These parts of the text summary are printed into memory, and their lines become a list (put_lines), so that text and
 * page say the same. The parts have no colours here, and lines of the usual width.
 *
 *   "\nalso on the nodes\n  sim-1: other Slurm jobs 4711\n  sim-2: 60 processes ran on its\n    96 CPUs ...\n"
 *   becomes two entries, "sim-1: other Slurm jobs 4711" and "sim-2: 60 processes ran on its 96 CPUs ..."
 */
#include "report/html/html.h"

#include "report/text_summary.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

static const struct part {
	const char *title;
	void (*print)(const struct muster_text_page *page);
} parts[] = {
	{ "Events in the kernel's log without a finding", muster_text_notes },
	{ "Other users of the nodes", muster_text_others },
	{ "Training steps", muster_text_steps },
	{ "Slowest ranks", muster_text_slowest },
};

/* Lines of the summary as a list: a line with two blanks in front begins an entry, one with more goes on with it; the
 * first line is a heading of its own, unless the only one. */
static void put_lines(const struct muster_html *page, char *lines)
{
	char *rest = strchr(lines, '\n'), *line;
	if (!rest || !rest[1]) {
		lines[strcspn(lines, "\n")] = '\0';
		muster_html_within(page, "<p>", lines, "</p>\n");
		return;
	}
	const char *before = "<ul class='list'>\n<li>";
	rest++;
	while ((line = strsep(&rest, "\n"))) {
		size_t indent = strspn(line, " ");
		if (!line[indent])
			continue;
		fputs(indent > 2 ? " " : before, page->out);
		before = "</li>\n<li>";
		muster_html_put(page, line + indent);
	}
	fputs("</li>\n</ul>\n", page->out);
}

void muster_html_notes(const struct muster_html *page)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		char *text;
		size_t length;
		FILE *out = muster_memory_open(&text, &length);
		const struct muster_text_page summary = { .report = page->report, .out = out };
		parts[i].print(&summary);
		muster_memory_close(out);
		char *lines = text + strspn(text, "\n");
		if (*lines) {
			fprintf(page->out, "<h3>%s</h3>\n", parts[i].title);
			put_lines(page, lines);
		}
		free(text);
	}
}
