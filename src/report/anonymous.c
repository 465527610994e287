/* anonymous.c - a report without names of nodes, users, files, addresses and virtual machines
 *
 * Run and report are changed in place, each name to the same replacement everywhere, so that the report is evaluated
 * as before. What each metric of the catalogue holds is in one table; a test demands an entry for each text.
 */
#include "report/anonymous.h"

#include "report/anonymous_names.h"

#include <string.h>

/* What the texts of a metric are. Texts of other metrics name no one: a model, a version, a state. */
enum holds {
	HOLDS_NOTHING = 0,
	HOLDS_TEXT,
	HOLDS_NAME,
	HOLDS_PKEYS,
	HOLDS_SWITCHES,
	HOLDS_PROCESSES,
	HOLDS_JOBS,
	HOLDS_LINE,
	HOLDS_NUMBER
};

static const struct {
	const char *metric;
	enum holds holds;
	enum muster_name_kind kind;
} metrics[] = {
	{ "gpu.uuid", HOLDS_TEXT, MUSTER_NAME_NODE },
	{ "gpu.serial", HOLDS_NAME, MUSTER_NAME_SERIAL },
	{ "gpu.fabric_cluster", HOLDS_TEXT, MUSTER_NAME_NODE },
	{ "gpu.foreign_process", HOLDS_PROCESSES, MUSTER_NAME_PROCESS },
	{ "gpu.foreign_processes", HOLDS_PROCESSES, MUSTER_NAME_PROCESS },
	{ "job.checkpoint_slowest", HOLDS_TEXT, MUSTER_NAME_NODE },
	{ "job.rack_order", HOLDS_TEXT, MUSTER_NAME_NODE },
	{ "node.kernel_event_line", HOLDS_LINE, MUSTER_NAME_NODE },
	{ "node.library_path", HOLDS_TEXT, MUSTER_NAME_NODE },
	{ "node.location", HOLDS_NAME, MUSTER_NAME_REGION },
	{ "node.other_jobs", HOLDS_JOBS, MUSTER_NAME_VALUE },
	{ "node.placement_group", HOLDS_NAME, MUSTER_NAME_GROUP },
	{ "node.scratch_path", HOLDS_NAME, MUSTER_NAME_FOLDER },
	{ "node.slurm_topology", HOLDS_SWITCHES, MUSTER_NAME_SWITCH },
	{ "node.sxid_line", HOLDS_LINE, MUSTER_NAME_NODE },
	{ "node.topo_file", HOLDS_TEXT, MUSTER_NAME_NODE },
	{ "node.topo_file_differs", HOLDS_TEXT, MUSTER_NAME_NODE },
	{ "node.vm_id", HOLDS_NAME, MUSTER_NAME_VM },
	{ "node.xid_line", HOLDS_LINE, MUSTER_NAME_NODE },
	{ "port.gid", HOLDS_NAME, MUSTER_NAME_ADDRESS },
	{ "port.guid", HOLDS_NAME, MUSTER_NAME_ADDRESS },
	{ "port.lid", HOLDS_NUMBER, MUSTER_NAME_ADDRESS },
	{ "port.partitions", HOLDS_PKEYS, MUSTER_NAME_PARTITION },
	{ "port.pkeys", HOLDS_PKEYS, MUSTER_NAME_PARTITION },
	{ "rank.cuda_visible_devices", HOLDS_TEXT, MUSTER_NAME_NODE },
	{ "rank.nccl_plugin", HOLDS_TEXT, MUSTER_NAME_NODE },
	{ "rank.setting", HOLDS_TEXT, MUSTER_NAME_NODE },
	{ "rank.setting_from", HOLDS_TEXT, MUSTER_NAME_NODE },
};
enum { METRICS = sizeof metrics / sizeof *metrics };

/* Settings whose value may be anything; the others hold numbers, words of NCCL, paths, devices or addresses. */
static const char *const free_settings[] = { "NCCL_HOSTID", "NCCL_COMM_ID" };

/* The place of the metric in the table; METRICS when it is not there, or NULL. */
static size_t place_of(const char *metric)
{
	size_t i = 0;
	while (i < METRICS && (!metric || strcmp(metrics[i].metric, metric) != 0))
		i++;
	return i;
}

bool muster_anonymous_changes(const char *metric)
{
	return place_of(metric) < METRICS;
}

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

/* A value of the metric. */
static struct muster_value replace_value(struct walk *w, const char *metric, struct muster_value value,
	const struct muster_label *labels, size_t label_count)
{
	size_t i = place_of(metric);
	enum holds holds = i < METRICS ? metrics[i].holds : HOLDS_NOTHING;
	if (holds == HOLDS_NUMBER && value.type == MUSTER_NUMBER)
		value.number = replace_lid(w, value.number);
	if (value.type != MUSTER_STRING)
		return value;
	switch (holds) {
	case HOLDS_TEXT:
		if (is_free_setting(labels, label_count) && strcmp(value.string, "not set") != 0)
			value.string = muster_anonymous_name(w->names, MUSTER_NAME_VALUE, value.string);
		else
			change(w, &value.string);
		break;
	case HOLDS_JOBS:
		if (strcmp(value.string, "none") == 0)
			break;
		/* fall through */
	case HOLDS_NAME: value.string = muster_anonymous_name(w->names, metrics[i].kind, value.string); break;
	case HOLDS_PKEYS: value.string = muster_anonymous_pkeys(w->names, value.string); break;
	case HOLDS_SWITCHES: value.string = muster_anonymous_switches(w->names, value.string); break;
	case HOLDS_LINE: value.string = muster_anonymous_line(w->names, value.string); break;
	case HOLDS_PROCESSES: value.string = muster_anonymous_processes(w->names, value.string); break;
	case HOLDS_NUMBER:
	case HOLDS_NOTHING: break;
	}
	return value;
}

static void change_label(struct walk *w, struct muster_label *label)
{
	if (label->value.type != MUSTER_STRING)
		return;
	if (strcmp(label->key, "cluster") == 0 || strcmp(label->key, "among") == 0 || label->value.string[0] == '/')
		change(w, &label->value.string);
	else if (strcmp(label->key, "peer_node") == 0)
		change_node_name(w, &label->value.string);
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
		sample->value =
			replace_value(w, sample->metric->name, sample->value, sample->labels, sample->label_count);
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
static void change_about(struct walk *w, const char *metric, const char **text)
{
	size_t i = place_of(metric);
	bool named = i < METRICS && (metrics[i].holds == HOLDS_NAME || metrics[i].holds == HOLDS_PKEYS ||
					    metrics[i].holds == HOLDS_SWITCHES || metrics[i].holds == HOLDS_PROCESSES);
	*text = muster_anonymous_text(w->names, named ? metrics[i].kind : MUSTER_NAME_NODE, *text);
}

static void change_report(struct walk *w, struct muster_report *report)
{
	change(w, &report->sku_origin);
	for (size_t i = 0; i < report->finding_count; i++) {
		struct muster_finding *finding = &report->findings[i];
		change_node_name(w, &finding->node);
		finding->value =
			replace_value(w, finding->metric, finding->value, finding->labels, finding->label_count);
		finding->labels = replace_labels(w, finding->labels, finding->label_count, report->arena);
		change_about(w, finding->metric, &finding->expected);
		change_about(w, finding->metric, &finding->observed);
		change_about(w, finding->metric, &finding->advice);
		change_line(w, &finding->evidence);
		change(w, &finding->source);
	}
	for (size_t i = 0; i < report->tally_count; i++) {
		struct muster_tally *tally = &report->tallies[i];
		change_about(w, tally->metric, &tally->expected);
		change_about(w, tally->metric, &tally->value);
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
