/* fault_gone.c - whether a report proves that the fault for which a node was drained is gone */
#include "slurm/fault_gone.h"

#include "expect/events.h"
#include "muster/probe.h"

#include <string.h>

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static const struct muster_node *find_node(const struct muster_run *run, const char *name)
{
	for (size_t i = 0; i < run->node_count; i++)
		if (same(run->nodes[i].name, name))
			return &run->nodes[i];
	return NULL;
}

/* Nodes are compared with each other, or all nodes take part in one all-reduce. */
static bool needs_several_nodes(const struct muster_tally *tally)
{
	const struct muster_probe *probe = tally->probe ? muster_probe_find(tally->probe) : NULL;
	return tally->compares_nodes || (probe && (probe->ring || probe->traffic));
}

/* A finding about the node, or about the whole job, that is of the check or says that the check could not be evaluated.
 */
static bool has_finding(const struct muster_report *report, const char *node, const char *check)
{
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		if (finding->node && strcmp(finding->node, node) != 0)
			continue;
		if (same(finding->check, check))
			return true;
		for (size_t j = 0; j < finding->blocked_count; j++)
			if (same(finding->blocked[j], check))
				return true;
	}
	return false;
}

/* Whether there is a value of the metric for this GPU or port. */
static bool has_value(const struct muster_samples *samples, const char *metric, const char *part)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		if (!same(sample->metric->name, metric) || sample->value.type == MUSTER_NULL)
			continue;
		for (size_t j = 0; j < sample->label_count; j++)
			if (sample->labels[j].value.type == MUSTER_STRING && same(sample->labels[j].value.string, part))
				return true;
	}
	return false;
}

static bool has_value_on_node(const struct muster_node *node, const char *metric, const char *part)
{
	bool found = has_value(&node->samples, metric, part);
	for (size_t i = 0; i < node->rank_count && !found; i++)
		found = has_value(&node->ranks[i].samples, metric, part);
	return found;
}

/* The probe ended well wherever it ran on the node; with_others: and at least once in an all-reduce with other nodes.
 */
static bool probe_ended_well(const struct muster_node *node, const char *probe, bool with_others)
{
	bool seen = false;
	for (size_t i = 0; i < node->rank_count; i++) {
		const struct muster_outcomes *outcomes = &node->ranks[i].outcomes;
		for (size_t j = 0; j < outcomes->count; j++) {
			const struct muster_outcome *outcome = &outcomes->items[j];
			if (with_others ? outcome->ring <= (int)node->rank_count : !same(outcome->probe, probe))
				continue;
			if (outcome->status != MUSTER_OUTCOME_OK)
				return false;
			seen = true;
		}
	}
	return seen;
}

/* Whether the text, up to its first comma, has this word. */
static bool names(const char *text, const char *word)
{
	size_t length = strlen(word);
	const char *end = text + strcspn(text, ",");
	for (const char *at = text; length > 0 && (at = strstr(at, word)) && at < end; at++)
		if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == ',' || at[length] == '\0'))
			return true;
	return false;
}

/* Whether the event of the reason ("Xid 79, GPU has fallen off the bus") is still in the log that this sample is of.
 * Its check passes after some hours; but that the event is old does not say that the fault is gone. */
static bool is_event_of(const struct muster_sample *age, const struct muster_drain_reason *reason)
{
	const char *gpu = muster_label_string(age->labels, age->label_count, "gpu");
	const char *device = muster_label_string(age->labels, age->label_count, "device");
	const char *code = muster_label_string(age->labels, age->label_count, "code");
	code = code ? code : muster_label_string(age->labels, age->label_count, "kind");
	if (!code || !names(reason->observed, code) || (*reason->part && !same(gpu, reason->part)))
		return false;
	return !device || strcmp(device, "none") == 0 || names(reason->observed, device);
}

static int event_logged(const struct muster_node *node, const char *metric, const struct muster_drain_reason *reason,
	struct muster_error *err)
{
	for (size_t i = 0; i < node->samples.count; i++) {
		const struct muster_sample *sample = &node->samples.items[i];
		if (sample->metric->event_part == MUSTER_EVENT_AGE && same(sample->metric->name, metric) &&
			is_event_of(sample, reason))
			return muster_fail(err, MUSTER_EUSAGE,
				"the event is still in the kernel's log, %.1f h old: reset the GPU or reboot the node",
				sample->value.type == MUSTER_NUMBER ? sample->value.number : 0);
	}
	return 0;
}

static int not_evaluated(struct muster_error *err, const char *check)
{
	return muster_fail(
		err, MUSTER_EUSAGE, "the report does not show that %s passes on this node", *check ? check : "it");
}

static int check_passed(const struct muster_report *report, const struct muster_node *node,
	const struct muster_drain_reason *reason, struct muster_error *err)
{
	const struct muster_tally *tally = muster_report_tally(report, reason->check);
	if (!tally || tally->skipped || tally->count[MUSTER_PASS] == 0 ||
		has_finding(report, node->name, reason->check))
		return not_evaluated(err, reason->check);
	if (reason->by == MUSTER_DRAINED_BY_PERSON && muster_run_known_nodes(report->run) < 2 &&
		needs_several_nodes(tally))
		return muster_fail(
			err, MUSTER_EUSAGE, "%s needs several nodes, and the report has only this one", reason->check);
	/* skipped in one place, passed in another: which of the two is the place of the fault? A finding that blocks
	 * the check would say on which node. */
	if (tally->count[MUSTER_SKIP] > 0 &&
		!(*reason->part && tally->metric && has_value_on_node(node, tally->metric, reason->part)))
		return not_evaluated(err, reason->check);
	return event_logged(node, tally->metric, reason, err);
}

bool muster_fault_is_gone(const struct muster_report *report, const char *name,
	const struct muster_drain_reason *reason, struct muster_error *err)
{
	const struct muster_node *node = find_node(report->run, name);
	const char *check = reason->check;
	bool gone;
	if (!node)
		return not_evaluated(err, check) == 0;
	if (muster_report_tally(report, check))
		return check_passed(report, node, reason, err) == 0;
	if (has_finding(report, name, check))
		gone = false;
	else if (strncmp(check, "probe.", 6) == 0)
		gone = probe_ended_well(node, check + 6, false);
	else if (strncmp(check, "ring.", 5) == 0) /* a faulty node or link, found by trial */
		gone = probe_ended_well(node, NULL, true);
	else
		gone = strcmp(check, "rank.missing") == 0 || strcmp(check, "node.missing") == 0;
	return gone || not_evaluated(err, check) == 0;
}
