/* SPDX-License-Identifier: Apache-2.0 */
/* text_explain.c - the command that explains the checks of this report
 *
 *   what it means:
 *     muster explain copy.h2d xid-79 --sku Standard_ND96asr_v4
 *
 * The ids of the first findings, which are the worst, each once, at most IDS_MAX.
 */
#include "report/text_summary.h"

#include "muster/arena.h"
#include "muster/probe.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

enum { IDS_MAX = 8 };

/* The check; of an event of the kernel's log the event itself, "xid-79", whose action is the finding's. */
static char *id_of(const struct muster_finding *finding)
{
	static const char *const events[] = {
		[MUSTER_EVENT_XID] = "xid-", [MUSTER_EVENT_SXID] = "sxid-", [MUSTER_EVENT_KERNEL] = ""
	};
	const struct muster_metric *metric = muster_metric_find(finding->metric);
	const char *code = muster_label_string(finding->labels, finding->label_count, "code");
	if (!code)
		code = muster_label_string(finding->labels, finding->label_count, "kind");
	return metric && metric->event_part == MUSTER_EVENT_AGE && code
		       ? muster_asprintf("%s%s", events[metric->event], code)
		       : muster_strdup(finding->check);
}

/* "muster explain copy.h2d xid-79 --sku Standard_ND96asr_v4": nothing where nothing is wrong. */
void muster_text_explain(const struct muster_text_page *page)
{
	const struct muster_report *report = page->report;
	char *line = muster_strdup("muster explain"), *ids[IDS_MAX];
	size_t count = 0;
	for (size_t i = 0; i < report->finding_count && count < IDS_MAX; i++) {
		if (report->findings[i].status == MUSTER_SKIP)
			continue;
		ids[count] = id_of(&report->findings[i]);
		if (muster_text_is_plain(ids[count]) && !muster_text_among(ids[count], (const char *const *)ids, count))
			muster_list_add(&line, " ", "%s", ids[count++]);
		else
			free(ids[count]);
	}
	if (report->sku && muster_text_is_plain(report->sku) && strcmp(report->sku, "unknown") != 0)
		muster_list_add(&line, " ", "--sku %s", report->sku);
	if (count > 0) /* the command stands whole on one line, to be copied; all of it is plain text */
		fprintf(page->out, "\nwhat it means:\n  %s\n", line);
	while (count > 0)
		free(ids[--count]);
	free(line);
}
