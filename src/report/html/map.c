/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - the cluster at one sight: NVLink domains or switches, their nodes, the GPUs and ports of each
 *
 * Tiles have one size, so that nodes of one place in a rack are below each other. A square is a GPU, a circle is a
 * port. Colour and sign say the result; a thing that was not measured has a dashed outline. Each is a link to its
 * values, where the page has them. Of a large run the tiles have no drawings, and that of a node without findings is
 * one element.
 *
 *   +-- NVLink domain 1 ---- 1 fail, 7 pass --+     a group (put_group), in the order of make_groups()
 *   | [x sim-1      ] [sim-2        ] ...     |     a tile (put_node): the sign of a bad result, the name
 *   | [# # # X # # #] [# # # # # # #]         |     GPUs (put_drawing), in rows of at most ROW_MAX
 *   | [o o o o      ] [o o o o      ]         |     ports, in rows below them
 *   +-----------------------------------------+
 *
 * A group is an NVLink domain where the GPUs of any node tell one, else a switch or block that Slurm knows, else the
 * whole run is one group without a heading.
 */
#include "report/html/html.h"
#include "report/html/places.h"

#include "eval/nvlink_domains.h"
#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

enum {
	CELL = 16,    /* of the drawing's own units; 14 of it are drawn */
	PIXELS = 20,  /* of a cell on the page */
	ROW_MAX = 12, /* things in one row; more of them are in rows of 8 */
	ROW = 8,
	LARGE = 64,    /* nodes; tiles of more of them have no drawings */
	STACKED = 20,  /* such tiles of a group below each other */
	NARROWEST = 6, /* of such a tile, in characters of the node's name */
	WIDEST = 28,
	NARROW_TILE = 6, /* columns of a drawing; more of them need a wide tile */
};

/* ---- groups ---- */

/* Which group a node is in. */
struct group_key {
	const char *name;   /* of the group; NULL: not known */
	size_t node, first; /* index of the node; the lowest index of the group's nodes, where groups are numbered */
	size_t number;      /* of the group, from 1 */
};

/* All nodes, those of a group next to each other, and the group without a name last. */
struct grouping {
	const char *noun;          /* "NVLink domain"; NULL: there are no groups */
	bool numbered;             /* the names say nothing to people (a fabric's UUID): headings have numbers */
	struct group_key *keys;    /* one for each node; malloc'd */
	size_t count, group_count; /* nodes; groups */
};

/* By the name of the group, numbers in it by their value; nodes of a group in the order of the run. */
static int by_group(const void *a, const void *b)
{
	const struct group_key *x = a, *y = b;
	if (!x->name || !y->name) {
		if (x->name || y->name)
			return !x->name - !y->name;
	} else {
		int order = strverscmp(x->name, y->name);
		if (order)
			return order;
	}
	return (x->node > y->node) - (x->node < y->node);
}

static int by_first(const void *a, const void *b)
{
	const struct group_key *x = a, *y = b;
	if ((x->name == NULL) != (y->name == NULL))
		return x->name ? -1 : 1;
	if (x->first != y->first)
		return x->first > y->first ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Names that say nothing are in the order of their first nodes. */
static void sort_by_first(struct grouping *groups)
{
	for (size_t i = 0; i < groups->count; i++)
		groups->keys[i].first = i > 0 && muster_text_order(groups->keys[i - 1].name, groups->keys[i].name) == 0
						? groups->keys[i - 1].first
						: groups->keys[i].node;
	qsort(groups->keys, groups->count, sizeof *groups->keys, by_first);
}

/* The NVLink domain that the first rank to know one is in; NULL when none of the node's ranks does. */
static const char *fabric_of(const struct muster_node *node, struct muster_arena *arena)
{
	const struct muster_metric *clique = muster_metric_find("gpu.fabric_clique");
	for (size_t i = 0; i < node->rank_count; i++) {
		const char *fabric = muster_nvlink_fabric(&node->ranks[i], clique, arena);
		if (*fabric)
			return fabric;
	}
	return NULL;
}

/* NVLink domains where the GPUs show some, the switches or blocks that Slurm knows else. */
static struct grouping make_groups(const struct muster_html *page, struct muster_arena *arena)
{
	const struct muster_run *run = page->report->run;
	struct grouping ret = { .keys = muster_calloc(run->node_count + 1, sizeof *ret.keys),
		.count = run->node_count };
	for (size_t i = 0; i < ret.count; i++) {
		ret.keys[i] = (struct group_key){ .name = fabric_of(&run->nodes[i], arena), .node = i };
		if (ret.keys[i].name)
			ret.noun = "NVLink domain";
	}
	ret.numbered = ret.noun != NULL;
	for (size_t i = 0; i < ret.count && !ret.numbered; i++) {
		ret.keys[i].name = muster_sample_text(&run->nodes[i].samples, "node.slurm_topology", NULL);
		if (ret.keys[i].name)
			ret.noun = "switch";
	}
	qsort(ret.keys, ret.count, sizeof *ret.keys, by_group);
	if (ret.numbered)
		sort_by_first(&ret);
	for (size_t i = 0; i < ret.count; i++) {
		ret.group_count += i == 0 || muster_text_order(ret.keys[i - 1].name, ret.keys[i].name) != 0;
		ret.keys[i].number = ret.group_count;
	}
	return ret;
}

/* ---- a node ---- */

/* The node that is drawn. */
struct drawing {
	const struct muster_html *page;
	const struct muster_html_node *node;
	size_t index; /* of the node in the run */
};

/* The upper left corner of a shape, in units of the drawing. */
struct spot {
	size_t x, y;
};

static size_t columns_of(const struct muster_html_parts *parts)
{
	return parts->count > ROW_MAX ? ROW : parts->count;
}

/* Where the shape of a part is. The rows of its kind begin at first_row. A shape leaves one unit free on each side of
 * its cell. */
static struct spot spot_of(const struct muster_html_parts *parts, size_t index, size_t first_row)
{
	size_t columns = columns_of(parts);
	return (struct spot){ index % columns * CELL + 1, (first_row + index / columns) * CELL + 1 };
}

static void put_shape(FILE *out, char kind, struct spot at)
{
	if (kind == 'g')
		fprintf(out, "<rect x='%zu' y='%zu' width='14' height='14'/>", at.x, at.y);
	else
		fprintf(out, "<circle cx='%zu' cy='%zu' r='6'/>", at.x + 7, at.y + 7);
}

/* Parts with a finding can be reached by keyboard, each with its name; for all others there is the link of the node. A
 * part of a node without details leads nowhere. */
static void put_part(const struct drawing *d, const struct muster_html_part *part, char kind, size_t i, struct spot at)
{
	const struct muster_html *page = d->page;
	const char *class = muster_status_name(part->status),
		   *result = part->status == MUSTER_SKIP ? "not measured" : muster_status_name(part->status);
	bool bad = muster_status_weight(part->status) > 0;
	char *name = muster_html_part_text(part, kind != 'g', true);
	fputs("<a", page->out);
	if (d->node->detailed)
		fprintf(page->out, " href='#n%zu-%c%zu'", d->index, kind, i);
	fprintf(page->out, " class='%s'", class);
	if (bad) {
		fputs(" aria-label='", page->out);
		muster_html_print(page, "%s of %s: %s", name, d->node->node->name, result);
		fputs("'><title>", page->out);
	} else {
		fputs(" tabindex='-1'><title>", page->out);
	}
	muster_html_print(page, "%s: %s", name, result);
	free(name);
	fputs("</title>", page->out);
	put_shape(page->out, kind, at);
	if (bad)
		fprintf(page->out, "<use href='#s-%s' transform='translate(%zu %zu) scale(.75)'/>", class, at.x + 1,
			at.y + 1);
	fputs("</a>", page->out);
}

/* The parts of one kind ('g' a GPU, 'p' a port) from the given row on: those with a finding, or, with bad false, those
 * without. The latter stand in a group that screen readers skip. */
static void put_parts(const struct drawing *d, const struct muster_html_parts *parts, char kind, size_t row, bool bad)
{
	for (size_t i = 0; i < parts->count; i++)
		if ((muster_status_weight(parts->items[i].status) > 0) == bad)
			put_part(d, &parts->items[i], kind, i, spot_of(parts, i, row));
}

static bool any_bad(const struct muster_html_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		if (muster_status_weight(parts->items[i].status) > 0)
			return true;
	return false;
}

static size_t rows_of(const struct muster_html_parts *parts)
{
	return parts->count ? (parts->count + columns_of(parts) - 1) / columns_of(parts) : 0;
}

/* The GPUs, and the ports in rows below. Parts with a finding come last in the SVG, outside of the group that screen
 * readers skip. */
static void put_drawing(const struct drawing *d)
{
	const struct muster_html_node *node = d->node;
	FILE *out = d->page->out;
	size_t gpus = columns_of(&node->gpus), ports = columns_of(&node->ports), columns = gpus > ports ? gpus : ports;
	size_t row = rows_of(&node->gpus), rows = row + rows_of(&node->ports);
	bool bad = any_bad(&node->gpus) || any_bad(&node->ports);
	if (rows == 0)
		return;
	fprintf(out, "<svg viewBox='0 0 %zu %zu' width='%zu' height='%zu'%s><g aria-hidden='true'>", columns * CELL,
		rows * CELL, columns * PIXELS, rows * PIXELS, bad ? "" : " aria-hidden='true'");
	put_parts(d, &node->gpus, 'g', 0, false);
	put_parts(d, &node->ports, 'p', row, false);
	fputs("</g>", out);
	put_parts(d, &node->gpus, 'g', 0, true);
	put_parts(d, &node->ports, 'p', row, true);
	fputs("</svg>", out);
}

static bool is_large(const struct muster_html *page)
{
	return page->places->count > LARGE;
}

/* The tile of a node. Its name is a link to the details; a tile without details is itself the anchor of the node. The
 * result is there in words, too, for screen readers. In a large run a tile without findings is as short as can be. */
static void put_node(const struct muster_html *page, size_t index)
{
	const struct muster_html_node *node = &page->places->nodes[index];
	const struct drawing drawing = { page, node, index };
	const char *class = muster_status_name(node->status), *end = node->detailed ? "</a>" : "</span>";
	FILE *out = page->out;
	if (node->status == MUSTER_PASS && is_large(page)) {
		fprintf(out, "<li id='n%zu'>", index);
		muster_html_within(page, "", node->node->name, "</li>\n");
		return;
	}
	if (node->detailed)
		fprintf(out, "<li class='%s'><a class='name' href='#n%zu'>", class, index);
	else
		fprintf(out, "<li class='%s' id='n%zu'><span class='name'>", class, index);
	if (muster_status_weight(node->status) > 0)
		fprintf(out, "<svg aria-hidden='true' viewBox='0 0 16 16'><use href='#s-%s'/></svg>", class);
	muster_html_put(page, node->node->name);
	fprintf(out, "<span class='hidden'>: %s</span>%s", node->status == MUSTER_SKIP ? "not measured" : class, end);
	if (!is_large(page))
		put_drawing(&drawing);
	fputs("</li>\n", out);
}

/* ---- the map ---- */

/* "7 pass, 1 fail" */
static void put_sums(const struct muster_html *page, const struct group_key *keys, size_t count)
{
	static const enum muster_status order[] = { MUSTER_FAIL, MUSTER_INCONCLUSIVE, MUSTER_WARN, MUSTER_BLOCKED,
		MUSTER_PASS, MUSTER_SKIP };
	size_t sums[MUSTER_STATUS_COUNT] = { 0 };
	const char *before = "";
	for (size_t i = 0; i < count; i++)
		sums[page->places->nodes[keys[i].node].status]++;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		if (sums[order[i]] == 0)
			continue;
		fprintf(page->out, "%s%zu %s", before, sums[order[i]],
			order[i] == MUSTER_SKIP ? "not measured" : muster_status_name(order[i]));
		before = ", ";
	}
}

/* Open the list of groups, with the size of all tiles: as wide as the widest drawing, or, in a large run, the longest
 * name within limits, and STACKED tiles below each other. */
static void put_racks_begin(const struct muster_html *page, const struct grouping *groups)
{
	size_t widest = 0, most = 0;
	for (size_t i = 0; i < page->places->count; i++) {
		const struct muster_html_node *node = &page->places->nodes[i];
		size_t gpus = columns_of(&node->gpus), ports = columns_of(&node->ports);
		size_t width = is_large(page) ? strlen(node->node->name) : gpus > ports ? gpus : ports;
		widest = width > widest ? width : widest;
	}
	for (size_t i = 0, count = 0; i < groups->count; i++) {
		count = i > 0 && groups->keys[i].number == groups->keys[i - 1].number ? count + 1 : 1;
		most = count > most ? count : most;
	}
	if (is_large(page))
		fprintf(page->out, "<div class='racks small%s' style='--tile: %zuch; --columns: %zu'>\n",
			groups->noun ? " stacked" : "",
			widest < NARROWEST ? (size_t)NARROWEST
			: widest > WIDEST  ? (size_t)WIDEST
					   : widest,
			(most + STACKED - 1) / STACKED);
	else
		fprintf(page->out, "<div class='racks %s'>\n", widest > NARROW_TILE ? "broad" : "narrow");
}

/* "NVLink domain 3", or the name of a switch. */
static void put_group_heading(const struct muster_html *page, const struct grouping *groups, size_t first, size_t end)
{
	const char *name = groups->keys[first].name;
	if (name && groups->numbered) {
		muster_html_within(page, "<h3 title='", name, "'>");
		fprintf(page->out, "%s %zu", groups->noun, groups->keys[first].number);
	} else {
		fprintf(page->out, "<h3>%s%s", name ? "" : "no known ", groups->noun);
		muster_html_within(page, " ", name ? name : "", "");
	}
	fputs("</h3> <span class='note'>", page->out);
	put_sums(page, &groups->keys[first], end - first);
	fputs("</span>\n", page->out);
}

static void put_group(const struct muster_html *page, const struct grouping *groups, size_t first, size_t end)
{
	if (groups->noun) {
		fputs("<div class='rack'>", page->out);
		put_group_heading(page, groups, first, end);
		if (groups->group_count > 1)
			fputs("<label class='only'><input type='radio' name='rack'>only this one</label>\n", page->out);
	}
	fputs("<ul class='tiles filtered'>\n", page->out);
	for (size_t i = first; i < end; i++)
		put_node(page, groups->keys[i].node);
	fputs(groups->noun ? "</ul></div>\n" : "</ul>\n", page->out);
}

/* What the shapes are; of a large run, whose tiles have none, what the tiles say. */
static void put_legend(const struct muster_html *page)
{
	static const enum muster_status order[] = { MUSTER_FAIL, MUSTER_INCONCLUSIVE, MUSTER_WARN };
	FILE *out = page->out;
	fputs("<ul class='legend'>\n<li class='pass'><svg aria-hidden='true' viewBox='0 0 16 16'><rect x='1' y='1' "
	      "width='14' height='14'/></svg>",
		out);
	if (is_large(page))
		fputs("node without findings</li>\n", out);
	else
		fputs("GPU</li>\n<li class='pass'><svg aria-hidden='true' viewBox='0 0 16 16'><circle cx='8' cy='8' "
		      "r='6'/></svg>network port</li>\n",
			out);
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		fprintf(out,
			"<li class='%s'><svg aria-hidden='true' viewBox='0 0 16 16'><rect x='1' y='1' width='14' "
			"height='14'/><use href='#s-%s' transform='translate(2 2) scale(.75)'/></svg>%s</li>\n",
			muster_status_name(order[i]), muster_status_name(order[i]), muster_status_name(order[i]));
	fputs("<li class='skip'><svg aria-hidden='true' viewBox='0 0 16 16'><rect x='1' y='1' width='14' height='14'/>"
	      "</svg>not measured</li>\n</ul>\n",
		out);
}

/* Which groups and nodes are shown. */
static void put_filters(const struct muster_html *page, const struct grouping *groups)
{
	size_t sums[MUSTER_STATUS_COUNT] = { 0 };
	char text[32];
	for (size_t i = 0; i < page->places->count; i++)
		sums[page->places->nodes[i].status]++;
	muster_html_filter(page, "map", sums);
	if (groups->group_count > 1)
		fprintf(page->out,
			"<fieldset class='filter'><legend>%s</legend><label><input type='radio' name='rack' checked>"
			"all <span class='note'>%s</span></label>\n<span class='note'>or \"only this one\" beside the "
			"name of one</span></fieldset>\n",
			groups->noun, muster_html_count(groups->group_count, text));
}

void muster_html_map(const struct muster_html *page)
{
	struct muster_arena *arena = muster_arena_new();
	struct grouping groups = make_groups(page, arena);
	if (groups.count == 0)
		goto out;
	put_legend(page);
	put_filters(page, &groups);
	put_racks_begin(page, &groups);
	for (size_t first = 0, end; first < groups.count; first = end) {
		for (end = first; end < groups.count && groups.keys[end].number == groups.keys[first].number; end++)
			;
		put_group(page, &groups, first, end);
	}
	fputs("</div>\n", page->out);
out:
	free(groups.keys);
	muster_arena_free(arena);
}
