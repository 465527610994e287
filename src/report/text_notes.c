/* SPDX-License-Identifier: Apache-2.0 */
/* text_notes.c - events of the kernel's log that no finding is about: notes, and old ones
 *
 * An event of a node is several samples with equal labels (muster/metric.h). The sample of its age stands for it; the
 * sample beside it says how often it was logged. Events of one code are one line over all nodes.
 */
#include "report/text_summary.h"

#include "expect/operators.h"
#include "muster/run_data.h"
#include "report/print_escaped.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 8 };

/* Events of one code, of all nodes. */
struct note {
	const struct muster_metric *metric; /* of the age: Xid, SXid or another event */
	const char *code, *node;            /* node: the first one */
	double count;                       /* how often it was logged, on all nodes */
	size_t nodes;
	const struct muster_node *last; /* the last one that was counted */
};

/* "79" of an Xid or an SXid; of another event its kind, "gpu-lost"; NULL when the sample has neither label. */
static const char *code_of(const struct muster_sample *age)
{
	const char *code = muster_label_string(age->labels, age->label_count, "code");
	return code ? code : muster_label_string(age->labels, age->label_count, "kind");
}

/* Whether a finding is about this event: the same metric on the same node with equal labels. */
static bool has_finding(const struct muster_report *report, const char *node, const struct muster_sample *age)
{
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		if (finding->metric && strcmp(finding->metric, age->metric->name) == 0 && finding->node &&
			strcmp(finding->node, node) == 0 &&
			muster_labels_equal(finding->labels, finding->label_count, age->labels, age->label_count, NULL))
			return true;
	}
	return false;
}

struct notes {
	struct note *items;
	size_t count, room;
};

/* Count the event in the note of its code. Nodes come one after the other, so the last one is enough to count them. */
static void take(struct notes *notes, const struct muster_node *node, const struct muster_sample *age)
{
	const struct muster_sample *count = muster_event_beside(&node->samples, age, MUSTER_EVENT_COUNT);
	const char *code = code_of(age);
	size_t at = 0;
	if (!code)
		return;
	while (at < notes->count &&
		(notes->items[at].metric != age->metric || strcmp(notes->items[at].code, code) != 0))
		at++;
	if (at == notes->count)
		MUSTER_ARRAY_PUSH(notes->items, notes->count, notes->room,
			((struct note){ .metric = age->metric, .code = code, .node = node->name }));
	struct note *note = &notes->items[at];
	note->count += count ? count->value.number : 1;
	note->nodes += note->last != node;
	note->last = node;
}

/* "  Xid 31: 7 times on 2 nodes" */
static void print_note(FILE *out, const struct note *note)
{
	static const char *const titles[] = {
		[MUSTER_EVENT_XID] = "Xid ", [MUSTER_EVENT_SXID] = "SXid ", [MUSTER_EVENT_KERNEL] = ""
	};
	muster_print_text(out, "  %s%s: ", titles[note->metric->event], note->code);
	if (note->count > 1)
		fprintf(out, "%.0f times", note->count);
	else
		fputs("once", out);
	if (note->nodes > 1)
		fprintf(out, " on %zu nodes", note->nodes);
	else
		muster_print_text(out, " on %s", note->node);
	fputc('\n', out);
}

void muster_text_notes(const struct muster_text_page *page)
{
	const struct muster_run *run = page->report->run;
	struct notes notes = { 0 };
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t i = 0; i < run->nodes[n].samples.count; i++) {
			const struct muster_sample *sample = &run->nodes[n].samples.items[i];
			if (sample->metric->event_part == MUSTER_EVENT_AGE &&
				!has_finding(page->report, run->nodes[n].name, sample))
				take(&notes, &run->nodes[n], sample);
		}
	if (notes.count > 0)
		fputs("\nalso in the kernel's log\n", page->out);
	for (size_t i = 0; i < notes.count && i < LINES_MAX; i++)
		print_note(page->out, &notes.items[i]);
	if (notes.count > LINES_MAX)
		fprintf(page->out, "  and %zu more, all of them in the JSON report\n", notes.count - LINES_MAX);
	free(notes.items);
}
