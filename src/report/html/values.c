/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - each metric as a strip: one dot for each GPU, port or rank, the median, thresholds and limit, outliers
 *
 * Positions are shares of the width, so that a strip fits every page and its texts keep their size.
 *
 *        120              the number of values in the highest stack, where it is a bar
 *        | |    a         letters of outliers, which a list below the drawing names
 *    |   | |    x |       lines of thresholds, limit and median; the sign of an outlier with a finding
 *   -|---|-|------|---    the axis, at `base` pixels from the top
 *
 * The width has BINS bins. Values that fall into one bin are a stack of dots, or a bar where a stack would be too high.
 * Outliers are drawn by themselves. A strip whose values are all the same is a line of text (put_constants).
 */
#include "report/html/strips.h"

#include "model/gpu.h"
#include "muster/run_data.h"
#include "report/html/places.h"
#include "report/text_summary.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EQUAL 1e-4 /* values that differ by less than this share are equal: they are printed with four digits */
#define NEAR 3.0   /* % of the width that a letter takes */

enum {
	BINS = 160,       /* dots of nearly equal values are stacked */
	BASE = 62,        /* of the drawing, from its top, in pixels */
	LOW_BASE = 30,    /* where there is one value */
	STACK = 44,       /* the highest stack */
	DOTS_MAX = 14,    /* of one stack; higher ones are a bar */
	LABELLED_MAX = 8, /* outliers with a letter */
};

/* The scale of a strip: what is at 0 % and 100 % of the width, and where its base is. */
struct scale {
	double low, high;
	int base;
};

/* The position of a value in per cent of the width. */
static double at(const struct scale *scale, double value)
{
	return (value - scale->low) / (scale->high - scale->low) * 100;
}

/* From the lowest to the highest of values, thresholds and limits, with a margin of 4 %. Where all are equal, the
 * margin is 10 % of the value and at least 1, so that the width is never 0. */
static struct scale scale_of(const struct muster_strip *strip)
{
	struct scale scale = { strip->values[0].value, strip->values[strip->count - 1].value, BASE };
	for (size_t i = 0; i < MUSTER_STRIP_BOUNDS; i++) {
		scale.low = fmin(scale.low, strip->bounds[i]); /* of NAN and a number, the number */
		scale.high = fmax(scale.high, strip->bounds[i]);
	}
	scale.high = fmax(scale.high, strip->highest_limit);
	double width = scale.high - scale.low;
	bool differ = width > EQUAL * fabs(scale.high);
	double margin = differ ? width * 0.04 : fmax(fabs(scale.high) * 0.1, 1);
	return (struct scale){ scale.low - margin, scale.high + margin, strip->count > 1 ? BASE : LOW_BASE };
}

/* ---- the drawing ---- */

static void put_line(FILE *out, const struct scale *scale, double value, const char *class)
{
	if (isnan(value))
		return;
	double x = at(scale, value);
	fprintf(out, "<line class='%s' x1='%.2f%%' x2='%.2f%%' y1='%d' y2='%d'/>", class, x, x, scale->base / 4,
		scale->base + 4);
}

/* The values of one bin. most: of the highest stack of the strip; stacks of fewer than 7 dots keep the distance of 7,
 * so that a few dots stand at the axis. */
static void put_stack(FILE *out, const struct scale *scale, size_t bin, size_t count, size_t most)
{
	double left = (double)bin * 100 / BINS, step = (double)STACK / (double)(most < 7 ? 7 : most);
	if (count == 0)
		return;
	if (most > DOTS_MAX) {
		double height = fmax((double)count * step, 1.5);
		fprintf(out, "<rect x='%.2f%%' y='%.1f' width='%.2f%%' height='%.1f'/>", left, scale->base - height,
			100.0 / BINS, height);
		return;
	}
	for (size_t i = 0; i < count; i++)
		fprintf(out, "<circle cx='%.2f%%' cy='%.1f' r='3'/>", left + 50.0 / BINS,
			scale->base - 4 - (double)i * step);
}

/* All values but the outliers; where stacks are bars, the first of the highest ones has its number. */
static void put_dots(FILE *out, const struct muster_strip *strip, const struct scale *scale)
{
	size_t bins[BINS] = { 0 }, most = 0;
	for (size_t i = 0; i < strip->count; i++) {
		size_t bin = (size_t)(at(scale, strip->values[i].value) * BINS / 100);
		if (strip->values[i].outlier)
			continue;
		bins[bin < BINS ? bin : BINS - 1]++;
	}
	for (size_t i = 0; i < BINS; i++)
		most = bins[i] > most ? bins[i] : most;
	fputs("<g class='dots'>", out);
	for (size_t i = 0; i < BINS; i++)
		put_stack(out, scale, i, bins[i], most);
	fputs("</g>", out);
	for (size_t i = 0; i < BINS && most > DOTS_MAX; i++)
		if (bins[i] == most) {
			fprintf(out, "<text class='letter' x='%.2f%%' y='%d'>%zu</text>",
				((double)i + 0.5) * 100 / BINS, scale->base - STACK - 4, most);
			break;
		}
}

/* An outlier: the sign of its result, or an open circle. */
static void put_outlier(FILE *out, const struct scale *scale, const struct muster_strip_value *value)
{
	bool bad = muster_status_weight(value->status) > 0;
	const char *class = bad ? muster_status_name(value->status) : "far";
	fprintf(out, "<svg x='%.2f%%' y='%d' class='outlier %s'>", at(scale, value->value), scale->base - 12, class);
	if (bad)
		fprintf(out, "<use href='#s-%s' transform='translate(-6) scale(.75)'/>", class);
	else
		fputs("<circle cy='8' r='4'/>", out);
	fputs("</svg>", out);
}

/* The letters of outliers, "a" or "a-d" where several are at nearly the same place. */
static void put_letters(
	FILE *out, const struct muster_strip_value *const *labelled, size_t count, const struct scale *scale)
{
	for (size_t first = 0, end; first < count; first = end) {
		double x = at(scale, labelled[first]->value);
		for (end = first + 1; end < count && fabs(at(scale, labelled[end]->value) - x) < NEAR; end++)
			;
		fprintf(out, "<text class='letter' x='%.2f%%' y='%d'>%c", x, scale->base - 16, (char)('a' + first));
		if (end - first > 1)
			fprintf(out, "%s%c", end - first > 2 ? "-" : " ", (char)('a' + end - 1));
		fputs("</text>", out);
	}
}

/* ---- outliers in words ---- */

/* Where the value was measured, as a link, in the same words as the place of a finding; and the peer of an exchange. */
static void put_value_link(const struct muster_html *page, const struct muster_strip_value *value)
{
	const struct muster_sample *sample = value->sample;
	const struct muster_node *node = &page->report->run->nodes[value->node];
	const struct muster_finding where = {
		.node = node->name,
		.rank = value->rank ? value->rank->rank : -1,
		.gpu = value->rank ? value->rank->gpu : NULL,
		.gpu_index = value->rank ? muster_node_gpu_index(node, value->rank->gpu) : -1,
		.port = muster_label_string(sample->labels, sample->label_count, "port"),
	};
	muster_html_where(page, &where);
	const char *peer = muster_label_string(sample->labels, sample->label_count, "peer_node"),
		   *peer_gpu = muster_label_string(sample->labels, sample->label_count, "peer_gpu");
	if (peer && peer_gpu) {
		char *gpu = muster_html_gpu_text(page, peer, peer_gpu);
		muster_html_print(page, " with %s %s", peer, gpu);
		free(gpu);
	}
}

static int by_value(const void *a, const void *b)
{
	const struct muster_strip_value *const *x = a, *const *y = b;
	return ((*x)->value > (*y)->value) - ((*x)->value < (*y)->value);
}

/* The outliers to be labelled, by value: points with a finding, then points that are only far from the others. */
static size_t find_labelled(const struct muster_strip *strip, const struct muster_strip_value *ret[LABELLED_MAX])
{
	size_t count = 0;
	for (int weight = 4; weight >= 0; weight--)
		for (size_t i = 0; i < strip->count && count < LABELLED_MAX; i++)
			if (strip->values[i].outlier && strip->values[i].node != SIZE_MAX &&
				muster_status_weight(strip->values[i].status) == weight)
				ret[count++] = &strip->values[i];
	if (count > 0)
		qsort(ret, count, sizeof(*ret), by_value);
	return count;
}

/* The list of outliers below the drawing: letter, result, place and value. outliers: how many the strip has, drawn or
 * not; those without a letter are counted. */
static void put_labelled(
	const struct muster_html *page, const struct muster_strip_value *const *labelled, size_t count, size_t outliers)
{
	char text[64];
	if (count == 0)
		return;
	fputs("<ol class='outliers'>\n", page->out);
	for (size_t i = 0; i < count; i++) {
		const struct muster_strip_value *value = labelled[i];
		fprintf(page->out, "<li><b>%c</b> ", (char)('a' + i));
		if (muster_status_weight(value->status) > 0)
			muster_html_badge(page, value->status);
		else
			fputs("<span class='note'>far from the others</span>", page->out);
		fputc(' ', page->out);
		put_value_link(page, value);
		muster_html_print(page, ": %s", muster_value_text(muster_number(value->value), text, sizeof text));
		fputs("</li>\n", page->out);
	}
	if (outliers > count)
		fprintf(page->out, "<li>and %zu more</li>\n", outliers - count);
	fputs("</ol>\n", page->out);
}

/* ---- a strip ---- */

static const char *number(double value, char out[64])
{
	return muster_value_text(muster_number(value), out, 64);
}

static void put_key(FILE *out, const char *class, const char *name, double value)
{
	char text[64];
	if (!isnan(value))
		fprintf(out, "<li class='%s'>%s %s</li>\n", class, name, number(value, text));
}

/* How thresholds are drawn (classes of style.css) and called. */
static const struct {
	const char *class, *name;
} bounds[MUSTER_STRIP_BOUNDS] = {
	[MUSTER_STRIP_FAIL_BELOW] = { "k-fail", "fails below" },
	[MUSTER_STRIP_WARN_BELOW] = { "k-warn", "warning below" },
	[MUSTER_STRIP_WARN_ABOVE] = { "k-warn", "warning above" },
	[MUSTER_STRIP_FAIL_ABOVE] = { "k-fail", "fails above" },
};

/* What the lines are, with their values. */
static void put_keys(const struct muster_html *page, const struct muster_strip *strip)
{
	FILE *out = page->out;
	char text[64], other[64];
	double lowest = strip->values[0].value, highest = strip->values[strip->count - 1].value;
	fputs("<ul class='keys'>\n", out);
	if (strcmp(number(lowest, text), number(highest, other)) != 0) {
		put_key(out, "k-none", "lowest", lowest);
		put_key(out, "k-median", "median", strip->median);
		put_key(out, "k-none", "highest", highest);
	} else {
		put_key(out, "k-median", strip->count > 1 ? "all" : "value", lowest);
	}
	for (size_t i = 0; i < MUSTER_STRIP_BOUNDS; i++)
		put_key(out, bounds[i].class, bounds[i].name, strip->bounds[i]);
	if (!isnan(strip->lowest_limit)) {
		fprintf(out, "<li class='k-limit'>limit %s", number(strip->lowest_limit, text));
		if (strip->lowest_limit < strip->highest_limit)
			fprintf(out, " to %s", number(strip->highest_limit, text));
		if (strip->limit_of)
			muster_html_print(page, " (%s)", strip->limit_of);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n", out);
}

static const char *noun_of(const struct muster_strip *strip)
{
	switch (strip->metric->scope) {
	case MUSTER_SCOPE_PORT: return "port";
	case MUSTER_SCOPE_GPU: return "GPU";
	case MUSTER_SCOPE_RANK: return muster_metric_has_peer(strip->metric) ? "exchange" : "rank";
	default: return "value";
	}
}

/* A strip: title and unit, the drawing, what its lines are, its outliers in words. The drawing is hidden from screen
 * readers: the lists below it say in words what matters. */
static void put_strip(const struct muster_html *page, const struct muster_strip *strip)
{
	FILE *out = page->out;
	const struct scale scale = scale_of(strip);
	const struct muster_strip_value *labelled[LABELLED_MAX];
	size_t count = find_labelled(strip, labelled), outliers = 0;
	char text[64];
	fputs("<figure class='strip'>\n<figcaption><b>", out);
	muster_html_put(page, strip->title);
	if (*strip->variant)
		muster_html_print(page, ", %s", strip->variant);
	fprintf(out, "</b> <code class='note'>%s</code> <span class='note'>%s%s%s</span></figcaption>\n",
		strip->metric->name, muster_metric_unit(strip->metric), *muster_metric_unit(strip->metric) ? ", " : "",
		muster_html_plural(text, strip->count, noun_of(strip)));
	fprintf(out, "<svg class='plot' width='100%%' height='%d' aria-hidden='true'>", scale.base + 8);
	fprintf(out, "<line class='axis' x1='0' x2='100%%' y1='%d' y2='%d'/>", scale.base, scale.base);
	for (size_t i = 0; i < MUSTER_STRIP_BOUNDS; i++)
		put_line(out, &scale, strip->bounds[i], bounds[i].class);
	put_line(out, &scale, strip->lowest_limit, "k-limit");
	if (strip->highest_limit > strip->lowest_limit)
		put_line(out, &scale, strip->highest_limit, "k-limit");
	put_line(out, &scale, strip->median, "k-median");
	put_dots(out, strip, &scale);
	for (size_t i = 0; i < strip->count; i++)
		if (strip->values[i].outlier && outliers++ < BINS)
			put_outlier(out, &scale, &strip->values[i]);
	put_letters(out, labelled, count, &scale);
	fputs("</svg>\n", out);
	put_keys(page, strip);
	put_labelled(page, labelled, count, outliers);
	fputs("</figure>\n", out);
}

/* Whether all values are the same for a reader, and none has a finding: a drawing would say no more than the value. */
static bool is_constant(const struct muster_strip *strip)
{
	char lowest[64], highest[64];
	for (size_t i = 0; i < strip->count; i++)
		if (muster_status_weight(strip->values[i].status) > 0)
			return false;
	return strcmp(number(strip->values[0].value, lowest), number(strip->values[strip->count - 1].value, highest)) ==
	       0;
}

/* "highest speed of one C2C link 44.71 GB/s, 64 GPUs": a line for each constant. */
static void put_constants(const struct muster_html *page, const struct muster_strips *strips)
{
	const char *before = "<h3>Values that are the same everywhere</h3>\n<ul class='constants'>\n";
	for (size_t i = 0; i < strips->count; i++) {
		const struct muster_strip *strip = &strips->items[i];
		char value[64], count[64];
		if (!is_constant(strip))
			continue;
		fputs(before, page->out);
		before = "";
		fputs("<li>", page->out);
		muster_html_print(page, "%s%s%s ", strip->title, *strip->variant ? ", " : "", strip->variant);
		muster_html_within(page, "<b>", number(strip->values[0].value, value), "");
		fprintf(page->out, " %s</b>", muster_metric_unit(strip->metric));
		if (strip->count > 1)
			fprintf(page->out, ", %s", muster_html_plural(count, strip->count, noun_of(strip)));
		for (size_t at = 0; at < MUSTER_STRIP_BOUNDS; at++)
			if (!isnan(strip->bounds[at]))
				fprintf(page->out, ", %s %s", bounds[at].name, number(strip->bounds[at], value));
		fputs("</li>\n", page->out);
	}
	fputs(*before ? "" : "</ul>\n", page->out);
}

void muster_html_values(const struct muster_html *page)
{
	struct muster_strips strips;
	const char *before = "<div class='strips'>\n";
	muster_strips_make(page, &strips);
	for (size_t i = 0; i < strips.count; i++) {
		if (is_constant(&strips.items[i]))
			continue;
		fputs(before, page->out);
		before = "";
		put_strip(page, &strips.items[i]);
	}
	fputs(*before ? "" : "</div>\n", page->out);
	put_constants(page, &strips);
	muster_strips_done(&strips);
}
