/* anonymous.c - a report without names of nodes, users, files, addresses and virtual machines
 *
 * Run and report are changed in place, each name to the same replacement everywhere, so that the report is evaluated
 * as before. The row of each metric says what its texts identify.
 */
#include "report/anonymous.h"

#include "muster/probe.h"
#include "report/anonymous_names.h"

#include <string.h>

/* What is replaced as a whole name, and what else is replaced in texts about values of such a metric. */
static const enum muster_name_kind kinds[MUSTER_IDENTIFIES_COUNT] = {
	[MUSTER_IDENTIFIES_VM] = MUSTER_NAME_VM,
	[MUSTER_IDENTIFIES_GROUP] = MUSTER_NAME_GROUP,
	[MUSTER_IDENTIFIES_REGION] = MUSTER_NAME_REGION,
	[MUSTER_IDENTIFIES_SERIAL] = MUSTER_NAME_SERIAL,
	[MUSTER_IDENTIFIES_FOLDER] = MUSTER_NAME_FOLDER,
	[MUSTER_IDENTIFIES_ADDRESS] = MUSTER_NAME_ADDRESS,
	[MUSTER_IDENTIFIES_PARTITIONS] = MUSTER_NAME_PARTITION,
	[MUSTER_IDENTIFIES_SWITCHES] = MUSTER_NAME_SWITCH,
	[MUSTER_IDENTIFIES_PROCESSES] = MUSTER_NAME_PROCESS,
};

/* Settings whose value may be anything; the others hold numbers, words of NCCL, paths, devices or addresses. */
static const char *const free_settings[] = { "NCCL_HOSTID", "NCCL_COMM_ID" };

struct walk {
	struct muster_anonymous_names *names;
	double lids[4096]; /* of port.lid; a run with more ports has the further ones as 0 */
	size_t lid_count;
};

static void change(struct walk *w, const char **text)
{
	*text = muster_anonymous_text(w->names, MUSTER_NAME_NODE, *text);
}

static void change_node_name(struct walk *w, const char **name)
{
	if (*name && strcmp(*name, "?") != 0)
		*name = muster_anonymous_name(w->names, MUSTER_NAME_NODE, *name);
}

/* Of the kernel's log, or of a library. */
static void change_line(struct walk *w, const char **line)
{
	*line = muster_anonymous_line(w->names, *line);
}

static double replace_lid(struct walk *w, double lid)
{
	size_t i = 0;
	while (i < w->lid_count && w->lids[i] != lid)
		i++;
	if (i == w->lid_count && i < sizeof w->lids / sizeof *w->lids)
		w->lids[w->lid_count++] = lid;
	return i < w->lid_count ? (double)(i + 1) : 0;
}

static bool is_free_setting(const struct muster_label *labels, size_t count)
{
	for (size_t l = 0; l < count; l++)
		for (size_t i = 0; i < sizeof free_settings / sizeof *free_settings; i++)
			if (labels[l].value.type == MUSTER_STRING &&
				strcmp(labels[l].value.string, free_settings[i]) == 0)
				return true;
	return false;
}

/* A value of the metric; NULL: of none. */
static struct muster_value replace_value(struct walk *w, const struct muster_metric *metric, struct muster_value value,
	const struct muster_label *labels, size_t label_count)
{
	enum muster_identifies what = metric ? metric->identifies : MUSTER_IDENTIFIES_NOTHING;
	if (what == MUSTER_IDENTIFIES_LID && value.type == MUSTER_NUMBER)
		value.number = replace_lid(w, value.number);
	if (value.type != MUSTER_STRING)
		return value;
	switch (what) {
	case MUSTER_IDENTIFIES_TEXT:
		if (is_free_setting(labels, label_count) && strcmp(value.string, "not set") != 0)
			value.string = muster_anonymous_name(w->names, MUSTER_NAME_VALUE, value.string);
		else
			change(w, &value.string);
		break;
	case MUSTER_IDENTIFIES_JOBS:
		if (strcmp(value.string, "none") != 0)
			value.string = muster_anonymous_name(w->names, MUSTER_NAME_VALUE, value.string);
		break;
	case MUSTER_IDENTIFIES_PARTITIONS: value.string = muster_anonymous_pkeys(w->names, value.string); break;
	case MUSTER_IDENTIFIES_SWITCHES: value.string = muster_anonymous_switches(w->names, value.string); break;
	case MUSTER_IDENTIFIES_LINE: change_line(w, &value.string); break;
	case MUSTER_IDENTIFIES_PROCESSES: value.string = muster_anonymous_processes(w->names, value.string); break;
	default:
		if (kinds[what] != MUSTER_NAME_NODE)
			value.string = muster_anonymous_name(w->names, kinds[what], value.string);
		break;
	}
	return value;
}

static void change_label(struct walk *w, struct muster_label *label)
{
	const struct muster_label_row *row = muster_label_find(label->key);
	if (label->value.type != MUSTER_STRING)
		return;
	if (row && row->identifies == MUSTER_IDENTIFIES_NODE)
		change_node_name(w, &label->value.string);
	else if ((row && row->identifies == MUSTER_IDENTIFIES_TEXT) || label->value.string[0] == '/')
		change(w, &label->value.string);
}

/* Labels are of a few kinds; the fabric's UUID and nodes name a machine. The array may be shared: a copy is changed. */
static const struct muster_label *replace_labels(
	struct walk *w, const struct muster_label *labels, size_t count, struct muster_arena *arena)
{
	struct muster_label *copy = count ? muster_arena_alloc(arena, count * sizeof *copy) : NULL;
	for (size_t i = 0; i < count; i++) {
		copy[i] = labels[i];
		change_label(w, &copy[i]);
	}
	return copy;
}

static void change_samples(struct walk *w, struct muster_samples *samples, struct muster_arena *arena)
{
	for (size_t i = 0; i < samples->count; i++) {
		struct muster_sample *sample = &samples->items[i];
		sample->value = replace_value(w, sample->metric, sample->value, sample->labels, sample->label_count);
		sample->labels = replace_labels(w, sample->labels, sample->label_count, arena);
		change(w, &sample->reason);
	}
}

static void change_rank(struct walk *w, struct muster_rank *rank, struct muster_arena *arena)
{
	change(w, &rank->gpu_uuid);
	change(w, &rank->missing);
	change(w, &rank->unfinished);
	change_samples(w, &rank->samples, arena);
	for (size_t i = 0; i < rank->outcomes.count; i++) {
		change(w, &rank->outcomes.items[i].detail);
		change(w, &rank->outcomes.items[i].step);
		change_line(w, &rank->outcomes.items[i].evidence);
	}
}

/* Nodes first: their names may be in every text. */
static void change_run(struct walk *w, struct muster_run *run)
{
	for (size_t n = 0; n < run->node_count; n++)
		change_node_name(w, &run->nodes[n].name);
	if (run->job.id)
		run->job.id = "1";
	change(w, &run->job.interrupted);
	change_samples(w, &run->job.samples, run->arena);
	for (size_t n = 0; n < run->node_count; n++) {
		change_samples(w, &run->nodes[n].samples, run->arena);
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			change_rank(w, &run->nodes[n].ranks[r], run->arena);
	}
	for (size_t t = 0; t < run->trial_count; t++) {
		struct muster_trial *trial = &run->trials[t];
		const char **nodes = muster_arena_alloc(run->arena, (trial->node_count + 1) * sizeof *nodes);
		for (size_t i = 0; i < trial->node_count; i++) {
			nodes[i] = trial->nodes[i];
			change_node_name(w, &nodes[i]);
		}
		trial->nodes = nodes;
		change(w, &trial->why);
	}
}

/* A text about values of the metric: they are replaced as the values are. */
static void change_about(struct walk *w, const struct muster_metric *metric, const char **text)
{
	*text = muster_anonymous_text(w->names, metric ? kinds[metric->identifies] : MUSTER_NAME_NODE, *text);
}

static void change_report(struct walk *w, struct muster_report *report)
{
	change(w, &report->sku_origin);
	for (size_t i = 0; i < report->finding_count; i++) {
		struct muster_finding *finding = &report->findings[i];
		const struct muster_metric *metric = muster_metric_find(finding->metric);
		change_node_name(w, &finding->node);
		finding->value = replace_value(w, metric, finding->value, finding->labels, finding->label_count);
		finding->labels = replace_labels(w, finding->labels, finding->label_count, report->arena);
		change_about(w, metric, &finding->expected);
		change_about(w, metric, &finding->observed);
		change_about(w, metric, &finding->advice);
		change_line(w, &finding->evidence);
		change(w, &finding->source);
	}
	for (size_t i = 0; i < report->tally_count; i++) {
		struct muster_tally *tally = &report->tallies[i];
		const struct muster_metric *metric = muster_metric_find(tally->metric);
		change_about(w, metric, &tally->expected);
		change_about(w, metric, &tally->value);
		change(w, &tally->source);
		change(w, &tally->skipped);
		change(w, &tally->blocked_by);
	}
}

void muster_report_anonymise(struct muster_run *run, struct muster_report *report)
{
	struct walk *w = muster_arena_alloc(run->arena, sizeof *w);
	w->names = muster_anonymous_names_new(run->arena);
	change_run(w, run);
	change_report(w, report);
}
