/* run_json.h - the one JSON form of a run: what its readers and writers share */
#ifndef MUSTER_MODEL_RUN_JSON_H
#define MUSTER_MODEL_RUN_JSON_H

#include "json/parts.h"
#include "model/sample_json.h"

struct muster_run_reader {
	struct muster_sample_reader
		samples; /* first, and its struct muster_json_reader first in it: that is handed around */
	struct muster_run *run;
	unsigned char *seen; /* a bit for each rank of the job; NULL: look through the run instead */
};

/* How the structs of a run stand in JSON, their samples, outcomes and ranks aside. */
extern const struct muster_object_type muster_job_type, muster_rank_type, muster_outcome_type, muster_trial_type;
muster_field_write_fn muster_time_write;

/* What is read is added to the run of the struct muster_run_reader. */
muster_field_read_fn muster_node_read, muster_trial_read;
int muster_run_read(struct muster_run_reader *reader, struct muster_json_part part);

/* As "run" stands in a report. */
void muster_run_write(struct muster_json_writer *w, const struct muster_run *run);

#endif
