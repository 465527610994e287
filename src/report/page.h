/* page.h - the parts of the summary for people */
#ifndef MUSTER_REPORT_PAGE_H
#define MUSTER_REPORT_PAGE_H

#include "muster/report.h"

struct page {
	const struct muster_report *report;
	FILE *out;
	bool colour;
};

enum paint { PAINT_OK, PAINT_WARN, PAINT_FAIL, PAINT_DOUBT, PAINT_DIM, PAINT_STRONG };

/* Print text in a colour when the page has colours. text is our own, never a machine's. */
void page_paint(const struct page *page, enum paint paint, const char *text);

/* What stands for a status: "FAIL", "?", "warn", and in which colour. */
const char *page_mark(enum muster_status status);
enum paint page_status_paint(enum muster_status status);

/* "1 rank", "16 ranks" */
const char *page_plural(char out[64], size_t count, const char *noun);

/* "node gpu-1, rank 4, GPU 000b:00:00.0, bytes 8 GiB" or "whole job" */
void page_where(const struct page *page, const struct muster_finding *finding);

void page_table(const struct page *page);    /* nodes x probes */
void page_figures(const struct page *page);  /* the bandwidths that were measured */
void page_observed(const struct page *page); /* what else was measured and held against no figure */

#endif
