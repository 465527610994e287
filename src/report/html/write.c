/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - escaping, statuses and tables of the HTML page
 *
 * A text from outside goes through two steps: muster_escaped() spells out what could do harm or is not UTF-8, then
 * put_plain() replaces what HTML takes for markup. An apostrophe is replaced, too, since attributes stand between
 * apostrophes. Most texts are plain ASCII and skip the first step.
 */
#include "report/html/html.h"
#include "report/html/places.h"

#include "muster/arena.h"
#include "report/print_escaped.h"
#include "report/text_summary.h"
#include "util/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What stands for a character of ASCII that is markup, or NULL. */
static const char *entity_of(char c)
{
	switch (c) {
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '&': return "&amp;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	default: return NULL;
	}
}

/* Code points that HTML calls noncharacters: a parser reports an error for each. */
static bool is_noncharacter(unsigned long point)
{
	return (point >= 0xfdd0 && point <= 0xfdef) || (point & 0xfffe) == 0xfffe;
}

/* The first `length` bytes of a text that muster_print_escaped wrote or would leave as it is: well-formed UTF-8. */
static void put_plain(FILE *out, const char *text, size_t length)
{
	for (size_t at = 0, step; at < length; at += step) {
		unsigned long point = 0;
		const char *entity = entity_of(text[at]);
		step = muster_utf8_next(text + at, length - at, &point);
		if (step == 0) {
			step = 1;
			continue;
		}
		if (entity)
			fputs(entity, out);
		else if (is_noncharacter(point))
			fprintf(out, "\\u%04lx", point);
		else
			fwrite_unlocked(text + at, 1, step, out);
	}
}

/* Whether a text has only printable ASCII: most have, and need no copy. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			return false;
	return true;
}

void muster_html_put(const struct muster_html *page, const char *text)
{
	if (!text)
		text = "-";
	if (is_plain(text)) {
		put_plain(page->out, text, strlen(text));
		return;
	}
	char *escaped = muster_escaped(text);
	put_plain(page->out, escaped, strlen(escaped));
	free(escaped);
}

void muster_html_within(const struct muster_html *page, const char *before, const char *text, const char *after)
{
	fputs(before, page->out);
	muster_html_put(page, text);
	fputs(after, page->out);
}

void muster_html_print(const struct muster_html *page, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = muster_vasprintf(format, args);
	va_end(args);
	muster_html_put(page, text);
	free(text);
}

/* ---- statuses ---- */

void muster_html_badge(const struct muster_html *page, enum muster_status status)
{
	const char *class = muster_status_name(status);
	fprintf(page->out,
		"<span class='badge %s'><svg aria-hidden='true' viewBox='0 0 16 16'><use href='#s-%s'/></svg>%s"
		"</span>",
		class, class, muster_text_mark(status));
}

/* Buttons without a script: style.css hides the items of .filtered that have another class than the checked button. */
void muster_html_filter(const struct muster_html *page, const char *name, const size_t sums[MUSTER_STATUS_COUNT])
{
	static const enum muster_status order[] = { MUSTER_FAIL, MUSTER_INCONCLUSIVE, MUSTER_WARN };
	static const char *const names[] = { "failed", "inconclusive", "warned" };
	char text[32];
	size_t all = 0, most = 0;
	for (size_t i = 0; i < MUSTER_STATUS_COUNT; i++) {
		all += sums[i];
		most = sums[i] > most ? sums[i] : most;
	}
	if (most == all)
		return;
	fprintf(page->out,
		"<fieldset class='filter'><legend>Nodes</legend><label><input type='radio' name='%s' checked>all "
		"<span class='note'>%s</span></label>\n",
		name, muster_html_count(all, text));
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (sums[order[i]] > 0)
			fprintf(page->out,
				"<label><input type='radio' name='%s' class='only-%s'>only %s <span "
				"class='note'>%s</span></label>\n",
				name, muster_status_name(order[i]), names[i], muster_html_count(sums[order[i]], text));
	fputs("</fieldset>\n", page->out);
}

const char *muster_html_sku(const struct muster_report *report)
{
	return report->sku && strcmp(report->sku, "unknown") != 0 ? report->sku : "unknown machine type";
}

const char *muster_html_count(size_t count, char out[32])
{
	char digits[32];
	size_t length = (size_t)snprintf(digits, sizeof digits, "%zu", count), to = 0;
	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			out[to++] = ',';
		out[to++] = digits[i];
	}
	out[to] = '\0';
	return out;
}

const char *muster_html_plural(char out[64], size_t count, const char *noun)
{
	char number[32];
	snprintf(out, 64, "%s %s%s", muster_html_count(count, number), noun, count == 1 ? "" : "s");
	return out;
}

/* ---- links ---- */

/* A node without details has no anchors of its GPUs and ports: the link then goes to its tile on the map. */
bool muster_html_anchor(const struct muster_html *page, const struct muster_finding *finding, char out[64])
{
	size_t index = muster_html_place_of(page->places, finding->node);
	bool is_port = finding->port != NULL;
	if (index == SIZE_MAX)
		return false;
	const struct muster_html_node *node = &page->places->nodes[index];
	const struct muster_html_part *part = node->detailed ? muster_html_part_of(node, finding) : NULL;
	if (part)
		snprintf(out, 64, "n%zu-%c%zu", index, is_port ? 'p' : 'g',
			(size_t)(part - (is_port ? node->ports.items : node->gpus.items)));
	else
		snprintf(out, 64, "n%zu", index);
	return true;
}

void muster_html_where(const struct muster_html *page, const struct muster_finding *finding)
{
	char anchor[64], *where = muster_text_where(finding);
	bool linked = muster_html_anchor(page, finding, anchor);
	if (linked)
		fprintf(page->out, "<a href='#%s'>", anchor);
	muster_html_put(page, where);
	fputs(linked ? "</a>" : "", page->out);
	free(where);
}

/* Each part up to a comma is a <span> that does not break, with a <wbr> between two of them. */
void muster_html_hosts(const struct muster_html *page, const char *before, const char *list)
{
	fprintf(page->out, "<span class='whole'>%s", before);
	for (const char *at = list; *at;) {
		size_t length = strcspn(at, ",");
		length += at[length] == ',';
		muster_html_print(page, "%.*s", (int)length, at);
		at += length;
		fputs(*at ? "</span><wbr><span class='whole'>" : "", page->out);
	}
	fputs("</span>", page->out);
}

void muster_html_node(const struct muster_html *page, const char *name)
{
	size_t index = muster_html_place_of(page->places, name);
	bool linked = index != SIZE_MAX && (page->places->nodes[index].detailed || !page->inventory); /* or a tile */
	if (linked)
		fprintf(page->out, "<a href='#n%zu'>", index);
	muster_html_put(page, name);
	fputs(linked ? "</a>" : "", page->out);
}

/* ---- tables ---- */

/* The element around the table scrolls. It can have the focus of the keyboard (tabindex), so it has a name. */
void muster_html_table_begin(const struct muster_html *page, const char *caption)
{
	fprintf(page->out, "<div class='wide' role='group' aria-label='%s' tabindex='0'><table><caption>%s</caption>\n",
		caption, caption);
}

void muster_html_table_end(const struct muster_html *page)
{
	fputs("</table></div>\n", page->out);
}

void muster_html_headings(const struct muster_html *page, const char *const *texts, size_t count)
{
	fputs("<thead><tr>", page->out);
	for (size_t i = 0; i < count; i++)
		fprintf(page->out, "<th scope='col'>%s</th>", texts[i]);
	fputs("</tr></thead>\n", page->out);
}

void muster_html_rows_begin(
	const struct muster_html *page, const char *caption, const char *const *headings, size_t count)
{
	muster_html_table_begin(page, caption);
	muster_html_headings(page, headings, count);
	fputs("<tbody>\n", page->out);
}

void muster_html_rows_end(const struct muster_html *page)
{
	fputs("</tbody>", page->out);
	muster_html_table_end(page);
}
