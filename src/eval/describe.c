/* describe.c - what people read of a run: advice, short lists of ranks and nodes
 */
#include "eval/eval.h"
#include "muster/probe.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- advice ---- */

/* False when both samples carry a label and differ in it: the candidate is about another GPU, port or size. */
static bool about_the_same(const struct muster_sample *candidate, const struct muster_finding *finding)
{
	for (size_t i = 0; i < candidate->label_count; i++) {
		const struct muster_label *label = &candidate->labels[i];

		for (size_t j = 0; j < finding->label_count; j++)
			if (strcmp(label->key, finding->labels[j].key) == 0 &&
				!muster_value_equal(label->value, finding->labels[j].value))
				return false;
	}
	return true;
}

static const struct muster_sample *sample_find(
	const struct muster_samples *samples, const struct muster_metric *metric, const struct muster_finding *finding)
{
	for (size_t i = 0; i < samples->count; i++)
		if (samples->items[i].metric == metric && about_the_same(&samples->items[i], finding))
			return &samples->items[i];
	return NULL;
}

/* The metric's value for what the finding is about: on the same rank, else the same node, else the whole job. */
static const char *placeholder_metric(const struct muster_eval *eval, const char *name,
	const struct muster_finding *finding, uint32_t node, uint32_t rank)
{
	const struct muster_run *run = eval->run;
	const struct muster_metric *metric = muster_metric_find(name);
	const struct muster_sample *sample = NULL;

	if (!metric)
		return "?";
	if (node != MUSTER_NOWHERE && rank != MUSTER_NOWHERE)
		sample = sample_find(&run->nodes[node].ranks[rank].samples, metric, finding);
	if (!sample && node != MUSTER_NOWHERE)
		sample = sample_find(&run->nodes[node].samples, metric, finding);
	if (!sample)
		sample = sample_find(&run->job.samples, metric, finding);
	if (!sample || sample->value.type == MUSTER_NULL)
		return "?";
	return muster_describe_value(sample->value, eval->report->arena);
}

static const char *placeholder(const struct muster_eval *eval, const char *name, const struct muster_finding *finding,
	uint32_t node, uint32_t rank)
{
	const char *value = NULL;

	if (strcmp(name, "node") == 0)
		value = finding->node;
	else if (strcmp(name, "gpu") == 0)
		value = finding->gpu;
	else if (strcmp(name, "port") == 0)
		value = finding->port;
	else if (strcmp(name, "rank") == 0)
		value = finding->rank < 0 ? NULL
					  : muster_describe_value(muster_number(finding->rank), eval->report->arena);
	else
		value = placeholder_metric(eval, name, finding, node, rank);
	return value ? value : "?";
}

const char *muster_describe_advice(const struct muster_eval *eval, const char *advice,
	const struct muster_finding *finding, uint32_t node, uint32_t rank)
{
	struct muster_arena *arena = eval->report->arena;
	const char *text = "", *open, *close;

	while ((open = strstr(advice, "${")) && (close = strchr(open, '}'))) {
		const char *name = muster_arena_string_n(arena, open + 2, (size_t)(close - open) - 2);

		text = muster_arena_printf(arena, "%s%.*s%s", text, (int)(open - advice), advice,
			placeholder(eval, name, finding, node, rank));
		advice = close + 1;
	}
	return muster_arena_printf(arena, "%s%s", text, advice);
}

/* ---- short lists ---- */

const char *muster_describe_ranks(const int *ranks, size_t count, struct muster_arena *arena)
{
	const char *text = "";
	size_t parts = 0;

	for (size_t i = 0, last; i < count; i = last + 1) {
		for (last = i; last + 1 < count && ranks[last + 1] == ranks[last] + 1;)
			last++;
		if (++parts > MUSTER_LIST_MOST)
			return muster_arena_printf(arena, "%s and %zu more", text, count - i);
		text = muster_arena_printf(arena, "%s%s%d", text, i ? "," : "", ranks[i]);
		if (last > i)
			text = muster_arena_printf(arena, "%s-%d", text, ranks[last]);
	}
	return text;
}

/* A node's name as its stem and the number at its end; digits is 0 when there is none, or when it is too long. */
struct name_parts {
	size_t stem, digits;
	unsigned long number;
};

static struct name_parts name_split(const char *name)
{
	struct name_parts parts = { .stem = strlen(name) };

	while (parts.stem > 0 && isdigit((unsigned char)name[parts.stem - 1]))
		parts.stem--;
	parts.digits = strlen(name + parts.stem);
	if (parts.digits > 9) {
		parts.stem += parts.digits;
		parts.digits = 0;
	}
	if (parts.digits)
		parts.number = strtoul(name + parts.stem, NULL, 10);
	return parts;
}

/* Node b follows node a: the same stem, the number one higher, padded in the same way. */
static bool follows(const char *a, const char *b)
{
	struct name_parts x = name_split(a), y = name_split(b);
	bool padded = (x.digits > 1 && a[x.stem] == '0') || (y.digits > 1 && b[y.stem] == '0');

	return x.digits && y.digits && x.stem == y.stem && strncmp(a, b, x.stem) == 0 && y.number == x.number + 1 &&
	       (x.digits == y.digits || !padded);
}

const char *muster_describe_nodes(const char *const *names, size_t count, struct muster_arena *arena)
{
	const char *text = "";
	size_t parts = 0;

	for (size_t i = 0, last; i < count; i = last + 1) {
		for (last = i; last + 1 < count && follows(names[last], names[last + 1]);)
			last++;
		if (++parts > MUSTER_LIST_MOST)
			return muster_arena_printf(arena, "%s and %zu more", text, count - i);
		if (last - i < 2) { /* two names side by side read better than a range */
			text = muster_arena_printf(arena, "%s%s%s", text, i ? ", " : "", names[i]);
			last = i;
		} else {
			size_t stem = name_split(names[i]).stem;

			text = muster_arena_printf(arena, "%s%s%.*s[%s-%s]", text, i ? ", " : "", (int)stem, names[i],
				names[i] + stem, names[last] + name_split(names[last]).stem);
		}
	}
	return text;
}
