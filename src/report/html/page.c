/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - the HTML page: its head, the list of its sections, and their frame
 *
 * One file that works from a disk, a mail or a ticket: no script, no request, and a policy that forbids both.
 *
 * print_page(): places.c finds what the findings say of each node, GPU and port; each section writes its body to
 * memory; then the head, the list of sections and the bodies are printed. Only sections that wrote something are in the
 * list and on the page, and the list comes before them: so no body can be printed at once.
 */
#include "report/html/html.h"
#include "report/html/places.h"

#include "muster/run_data.h"
#include "report_css.h"   /* made by CMake from style.css */
#include "report_signs.h" /* and from signs.svg: a shape for each status, used by reference */
#include "util/file.h"
#include "util/text.h"
#include "util/version.h"

#include <ctype.h>
#include <stdlib.h>

/* The sections in the order of the page. */
static const struct section {
	const char *id, *title; /* id: the anchor */
	const char *called;     /* in the list of sections; NULL: its title */
	void (*print)(const struct muster_html *page);
	bool of_inventory; /* a page with the inventory alone has the section too */
} sections[] = {
	{ "verdict", "Verdict", NULL, muster_html_verdict, true }, /* the head of the page */
	{ "findings", "Kinds of faults", NULL, muster_html_findings, false },
	{ "map", "Map of the cluster", NULL, muster_html_map, false },
	{ "machines", "Pictures of nodes", NULL, muster_html_machines, true },
	{ "values", "Measured values", NULL, muster_html_values, false },
	{ "matrix", "All-reduce and exchanges", "Exchanges", muster_html_matrix, false },
	{ "notes", "Also seen", NULL, muster_html_notes, false },
	{ "unevaluated", "Not evaluated", NULL, muster_html_unevaluated, false },
	{ "inventory", "Inventory", NULL, muster_html_inventory, true },
	{ "nodes", "Nodes", NULL, muster_html_nodes, true },
	{ "explain", "What the checks mean", "Checks", muster_html_explain, false },
};
enum { DATE_LENGTH = 10, SECTION_COUNT = sizeof sections / sizeof *sections };

/* "FAIL: Standard_ND96asr_v4, 2 nodes, job 4711, 2026-11-23"; malloc'd, to be escaped. */
static char *title_of(const struct muster_report *report)
{
	char *title, nodes[64];
	size_t length;
	FILE *out = muster_memory_open(&title, &length);
	for (const char *at = muster_status_name(report->verdict); *at; at++)
		fputc(toupper((unsigned char)*at), out);
	fprintf(out, ": %s, %s", muster_html_sku(report),
		muster_html_plural(nodes, muster_run_known_nodes(report->run), "node"));
	if (report->run->job.id)
		fprintf(out, ", job %s", report->run->job.id);
	if (report->run->job.started)
		fprintf(out, ", %.*s", DATE_LENGTH, report->run->job.started);
	muster_memory_close(out);
	return title;
}

void muster_html_head(const struct muster_html *page, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
	      "<meta http-equiv='Content-Security-Policy' "
	      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
	      "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
	      "<meta name='color-scheme' content='light dark'>\n"
	      "<meta name='referrer' content='no-referrer'>\n<title>",
		page->out);
	muster_html_put(page, title);
	fprintf(page->out, "</title>\n<style>\n%s</style>\n</head>\n", muster_report_css);
}

static void print_navigation(FILE *out, char *const bodies[SECTION_COUNT])
{
	fputs("<nav aria-label='Sections'><ul>\n", out);
	for (size_t i = 0; i < SECTION_COUNT; i++)
		if (*bodies[i])
			fprintf(out, "<li><a href='#%s'>%s</a></li>\n", sections[i].id,
				sections[i].called ? sections[i].called : sections[i].title);
	fputs("</ul></nav>\n", out);
}

/* The whole page. The first section is the header above the list of sections, all others are in <main>. */
static void print_page(const struct muster_report *report, FILE *out, bool inventory)
{
	struct muster_html_places places;
	struct muster_html page = { .report = report, .places = &places, .out = out, .inventory = inventory };
	char *bodies[SECTION_COUNT];
	muster_html_places_make(report, &places);
	char *title = title_of(report);
	muster_html_head(&page, title);
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		size_t length;
		page.out = muster_memory_open(&bodies[i], &length);
		if (!inventory || sections[i].of_inventory)
			sections[i].print(&page);
		muster_memory_close(page.out);
	}
	page.out = out;
	fputs("<body>\n<a class='skip-link' href='#content'>Skip to the content</a>\n", out);
	fputs(muster_report_signs, out);
	fprintf(out, "<header id='%s'>\n%s</header>\n", sections[0].id, bodies[0]);
	free(title);
	print_navigation(out, bodies);
	fputs("<main id='content'>\n", out);
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		if (i > 0 && *bodies[i])
			fprintf(out,
				"<section id='%s' aria-labelledby='%s-title'>\n<h2 id='%s-title'>%s</h2>\n"
				"%s</section>\n",
				sections[i].id, sections[i].id, sections[i].id, sections[i].title, bodies[i]);
		free(bodies[i]);
	}
	fprintf(out,
		"</main>\n<footer><p>Written by muster %s. The JSON report has every value.</p></footer>\n"
		"</body>\n</html>\n",
		muster_version);
	muster_html_places_done(&places);
}

void muster_report_print_html(const struct muster_report *report, FILE *out)
{
	print_page(report, out, false);
}

void muster_report_print_inventory_html(const struct muster_report *report, FILE *out)
{
	print_page(report, out, true);
}

int muster_report_write_html(const struct muster_report *report, const char *path, struct muster_error *err)
{
	struct muster_file file;
	if (muster_file_open(&file, path, err) < 0)
		return -1;
	muster_report_print_html(report, file.out);
	return muster_file_commit(&file, err);
}
