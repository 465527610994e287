/* SPDX-License-Identifier: Apache-2.0 */
/* ticket.c - what a cloud's support desk asks for about one node that failed
 *
 * Only from a report; nothing is evaluated again, and nothing is sent. `muster ticket` calls
 * muster_report_print_ticket(). The steps:
 *
 * 1. find_findings(): failed checks of the machine that the support desk can do something about. None is an error, so
 *    that a script sends nothing.
 * 2. As text: the node's names, then each finding in full with the category that Azure has for such faults.
 * 3. For Azure: one request body for each category, in the order of the worst finding; a body describes all findings
 *    of its category in one sentence (docs/reference/ticket.md).
 *
 * Which metrics identify the node, the GPU and the port is in the catalogue: MUSTER_SHOWN_TICKET and
 * MUSTER_SHOWN_AZURE.
 */
#include "json/writer.h"
#include "model/share.h"
#include "muster/probe.h"
#include "muster/report.h"
#include "muster/run_data.h"
#include "report/print_escaped.h"
#include "report/text_summary.h"
#include "slurm/node_selection.h"
#include "util/array.h"
#include "util/text.h"
#include "util/version.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *category, *names, *label, *values;
} rows[] = {
#define ROW(category, names, label, values) { "Resource.Hpc.Unhealthy." category, names, label, values },
#include "report/ticket.def"
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* The index of the finding's category: of the first row that has the same category as the row that fits. So findings of
 * one category have one index, whichever row they fit. The last row fits all. */
static size_t category_of(const struct muster_finding *finding)
{
	size_t i = 0, first = 0;
	for (; i < ROW_COUNT - 1; i++) {
		const char *value = muster_label_string(finding->labels, finding->label_count, rows[i].label);
		if ((muster_text_has_word(rows[i].names, finding->metric ? finding->metric : finding->check) ||
			    (finding->action_code && muster_text_has_word(rows[i].names, finding->action_code))) &&
			(!*rows[i].label || (value && muster_text_has_word(rows[i].values, value))))
			break;
	}
	while (strcmp(rows[first].category, rows[i].category) != 0)
		first++;
	return first;
}

/* What the support desk can do nothing about. */
#define NOT_THE_MACHINE "none retry fix-launch fix-settings restart-service"

/* What is to be told of one node. */
struct ticket {
	const struct muster_report *report;
	const struct muster_node *node;
	const struct muster_finding **findings; /* failed there, and the machine's, in the report's order */
	size_t count;
};

/* The findings for which muster drain may drain the node, without those that no support desk mends. */
static void find_findings(struct ticket *t)
{
	struct muster_node_selection nodes;
	size_t at = 0;
	muster_node_selection_make(t->report, NULL, 0, &nodes);
	while (at < nodes.count && strcmp(nodes.entries[at].name, t->node->name) != 0)
		at++;
	t->findings = muster_calloc(t->report->finding_count + 1, sizeof(*t->findings));
	for (size_t i = 0; at < nodes.count && i < nodes.entries[at].faults; i++) {
		const struct muster_finding *finding = nodes.entries[at].failures[i];
		if (finding->status == MUSTER_FAIL &&
			!(finding->action_code && muster_text_has_word(NOT_THE_MACHINE, finding->action_code)))
			t->findings[t->count++] = finding;
	}
	muster_node_selection_done(&nodes);
}

/* The text of the metric: of the GPU or the port of this name where the metric is about one, else of the node. The
 * node's own samples and those of all its ranks are searched, since GPUs belong to ranks. NULL when it is not known. */
static const char *text_of(
	const struct muster_node *node, const struct muster_metric *metric, const char *gpu, const char *port)
{
	const char *name = metric->scope == MUSTER_SCOPE_GPU ? gpu : metric->scope == MUSTER_SCOPE_PORT ? port : "";
	for (size_t r = 0; name && r <= node->rank_count; r++) {
		const struct muster_samples *samples = r ? &node->ranks[r - 1].samples : &node->samples;
		for (const struct muster_sample *s = samples->items; s < samples->items + samples->count; s++)
			if (s->metric == metric && s->value.type == MUSTER_STRING &&
				strcmp(muster_sample_label_text(s, muster_scope_name(metric->scope)), name) == 0)
				return s->value.string;
	}
	return NULL;
}

/* Name and text, escaped; nothing when the text is NULL or empty. */
static void put(FILE *out, const char *between, const char *name, const char *text)
{
	if (text && *text) {
		fputs(between, out);
		muster_print_text(out, "%s: %s", name, text);
	}
}

/* The place, then "name: text" for all that is known, after `between`: a new line in the text, "; " for Azure. */
static void put_finding(FILE *out, const struct ticket *t, const struct muster_finding *finding, const char *between)
{
	size_t count;
	const struct muster_shown_metric *shown = muster_metrics_shown(MUSTER_SHOWN_TICKET, &count);
	const struct muster_tally *tally = muster_report_tally(t->report, finding->check);
	char *where = muster_text_where(finding), *observed = muster_finding_observed(finding);
	fputs(where, out);
	put(out, between, "failed", finding->check);
	put(out, between, "check", tally ? tally->title : NULL);
	put(out, between, "observed", observed);
	put(out, between, "expected", finding->expected);
	put(out, between, "evidence", finding->evidence);
	for (size_t i = 0; i < count; i++)
		if (shown[i].metric->scope != MUSTER_SCOPE_NODE)
			put(out, between, shown[i].as->title,
				text_of(t->node, shown[i].metric, finding->gpu, finding->port));
	put(out, between, "action", finding->advice);
	put(out, between, "action code", finding->action_code);
	put(out, between, "proof", finding->action_code ? muster_proof_names[finding->proof] : NULL);
	free(where);
	free(observed);
}

static void print_text(const struct ticket *t, FILE *out)
{
	size_t count;
	const struct muster_shown_metric *shown = muster_metrics_shown(MUSTER_SHOWN_TICKET, &count);
	if (t->report->run->job.simulated)
		fputs("SIMULATED: results come from simulated hardware, not from a real machine\n", out);
	put(out, "", "node", t->node->name);
	put(out, "\n", "time (UTC)", t->report->run->job.started);
	for (size_t i = 0; i < count; i++) {
		const char *text = text_of(t->node, shown[i].metric, NULL, NULL);
		if (shown[i].metric->scope == MUSTER_SCOPE_NODE)
			put(out, "\n", shown[i].as->title, text ? text : "unknown");
	}
	for (size_t i = 0; i < t->count; i++) {
		fprintf(out, "\n\n%zu. ", i + 1);
		put_finding(out, t, t->findings[i], "\n   ");
		put(out, "\n   ", "Azure category", rows[category_of(t->findings[i])].category);
	}
	fputc('\n', out);
}

/* The body of a request: docs/ticket.schema.json. The first metric of MUSTER_SHOWN_AZURE is a property itself, the
 * others are additional properties. Azure requires those that are not optional: an unknown one is null, for the sender
 * to fill in. */
static void write_impact(struct muster_json_writer *w, const struct ticket *t, size_t category)
{
	size_t length, count;
	const struct muster_shown_metric *shown = muster_metrics_shown(MUSTER_SHOWN_AZURE, &count);
	const char *gpu = NULL; /* Azure takes one: of the worst finding that names one */
	char *description;
	FILE *out = muster_memory_open(&description, &length);
	for (size_t i = 0; i < t->count; i++)
		if (category_of(t->findings[i]) == category) {
			fputs(ftell(out) > 0 ? " | " : "", out);
			put_finding(out, t, t->findings[i], "; ");
			gpu = gpu ? gpu : t->findings[i]->gpu;
		}
	muster_memory_close(out);
	muster_json_writer_object(w);
	muster_json_writer_object_of(w, "properties");
	muster_json_writer_pair(w, "startDateTime", muster_string(t->report->run->job.started));
	muster_json_writer_pair(w, "impactCategory", muster_string(rows[category].category));
	muster_json_writer_pair(w, "impactDescription", muster_string(description));
	for (size_t i = 0; i < count; i++) {
		const char *text = text_of(t->node, shown[i].metric, gpu, NULL);
		if (i == 1)
			muster_json_writer_object_of(w, "additionalProperties");
		if (text || !shown[i].as->optional)
			muster_json_writer_pair(w, shown[i].as->title, muster_string(text));
	}
	muster_json_writer_text(w, "Manufacturer", gpu ? "NVIDIA" : NULL);
	muster_json_writer_text(w, "Location", gpu);
	for (int depth = 0; depth < 3; depth++)
		muster_json_writer_object_end(w);
	free(description);
}

static void print_azure(const struct ticket *t, FILE *out)
{
	bool written[ROW_COUNT] = { false };
	struct muster_json_writer w;
	muster_json_writer_init(&w, out, MUSTER_WRITER_DEPTH_MAX);
	muster_json_writer_object(&w);
	muster_json_writer_pair(&w, "schema_version", muster_number(1));
	muster_json_writer_pair(&w, "muster", muster_string(muster_version));
	muster_json_writer_pair(&w, "node", muster_string(t->node->name));
	muster_json_writer_pair(&w, "simulated", muster_boolean(t->report->run->job.simulated));
	muster_json_writer_array_of(&w, "impacts");
	for (size_t i = 0; i < t->count; i++) {
		size_t category = category_of(t->findings[i]);
		if (!written[category])
			write_impact(&w, t, category);
		written[category] = true;
	}
	muster_json_writer_array_end(&w);
	muster_json_writer_object_end(&w);
}

int muster_report_print_ticket(
	const struct muster_report *report, const char *node, bool azure, FILE *out, struct muster_error *err)
{
	struct ticket ticket = { .report = report };
	size_t i = 0;
	while (i < report->run->node_count && strcmp(report->run->nodes[i].name, node) != 0)
		i++;
	if (i == report->run->node_count)
		return muster_fail(err, MUSTER_EUSAGE, "ticket: the report has no node \"%.100s\"", node);
	ticket.node = &report->run->nodes[i];
	find_findings(&ticket);
	int rc = ticket.count > 0
			 ? 0
			 : muster_fail(err, MUSTER_EUSAGE,
				   "ticket: no check of the machine failed on %.100s: nothing to report", node);
	if (rc == 0)
		(azure ? print_azure : print_text)(&ticket, out);
	free(ticket.findings);
	return rc;
}
