/* run_json_parts.c - a node or a trial alone, from its JSON: as it stands in a journal */
#include "model/run_json.h"

#include <stdlib.h>

/* Take back what a node that proved malformed has left in the run. */
static void drop_nodes(struct muster_run *run, size_t node_count, size_t job_samples)
{
	while (run->node_count > node_count) {
		struct muster_node *node = &run->nodes[--run->node_count];
		for (size_t i = 0; i < node->rank_count; i++) {
			muster_samples_done(&node->ranks[i].samples);
			free(node->ranks[i].outcomes.items);
		}
		free(node->ranks);
		muster_samples_done(&node->samples);
	}
	run->job.samples.count = job_samples;
}

/* A node or a trial, as leaders send them. */
static int read_alone(struct muster_run *run, muster_metric_find_fn *find, const char *text, size_t length,
	muster_field_read_fn *read, struct muster_error *err)
{
	struct muster_run_reader reader = { .run = run };
	struct muster_json_reader *r = &reader.samples.json;
	struct muster_json *json = NULL;
	muster_sample_reader_init(&reader.samples, run->arena, find);
	r->err = err;
	int rc = muster_json_part_parse(r, (struct muster_json_part){ text, length }, &json);
	if (rc == 0)
		rc = read(r, NULL, json);
	if (rc < 0 && err)
		err->code = MUSTER_EPROTOCOL;
	muster_json_free(json);
	muster_sample_reader_done(&reader.samples);
	return rc;
}

int muster_node_from_json(
	struct muster_run *run, muster_metric_find_fn *find, const char *text, size_t length, struct muster_error *err)
{
	size_t nodes = run->node_count, job_samples = run->job.samples.count;
	int rc = read_alone(run, find, text, length, muster_node_read, err);
	if (rc < 0)
		drop_nodes(run, nodes, job_samples);
	return rc;
}

int muster_trial_from_json(
	struct muster_run *run, muster_metric_find_fn *find, const char *text, size_t length, struct muster_error *err)
{
	return read_alone(run, find, text, length, muster_trial_read, err);
}
