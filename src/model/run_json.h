/* run_json.h - the parts of the reader of reports */
#ifndef MUSTER_MODEL_RUN_JSON_H
#define MUSTER_MODEL_RUN_JSON_H

#include "report/read_findings.h"
#include "model/sample_json.h"

struct muster_run_reader {
	struct muster_run *run;
	struct muster_findings_reader *judged; /* NULL: only the run is wanted */
	struct muster_sample_reader samples;
	unsigned char *seen; /* a bit for each rank of the job; NULL: look through the run instead */
};

/* A part of the text, not parsed yet; without a text: absent. */
struct muster_json_part {
	const char *text;
	size_t length;
};

typedef int muster_json_element_read(struct muster_run_reader *reader, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err);

/* To a tree, which the caller frees; the members of an object by a table of fields; each element of an array. */
int muster_json_part_parse(struct muster_json_part part, const struct muster_json_path *at, struct muster_json **ret,
	struct muster_error *err);
int muster_json_part_fields(struct muster_json_part part, const struct muster_json_path *at,
	const struct muster_json_field *fields, size_t count, struct muster_json_part *ret, struct muster_error *err);
int muster_json_part_elements(struct muster_json_part part, const struct muster_json_path *at,
	muster_json_element_read *read, struct muster_run_reader *reader, struct muster_error *err);

/* What is read is added to the run. */
muster_json_element_read muster_node_read, muster_trial_read;
int muster_run_read(struct muster_run_reader *reader, struct muster_json_part part, const struct muster_json_path *at,
	struct muster_error *err);

#endif
