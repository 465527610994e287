/* SPDX-License-Identifier: Apache-2.0 */
/* run_json.h - the one JSON form of a run: what its readers and writers share
 *
 * One sample, one probe's outcome and one trial on a line, so that two reports can be compared line by line. What is
 * absent is left out; only a sample's value may be null.
 *
 * A table of fields (json/object.h) is both the reader and the writer of its struct: a key that one knows, the other
 * knows too. A report is read as a stream, since that of 131,072 ranks has 1.6 GB: arrays that grow with the job have
 * `.parts`, a function that reads their elements one by one into the run; all else is parsed as a tree, at most
 * MUSTER_RUN_PART_BYTES_MAX at once. Functions of tables get only the innermost reader and cast it to the reader that
 * they belong to: json ⊂ sample reader ⊂ run reader, each the first member of the next.
 */
#ifndef MUSTER_MODEL_RUN_JSON_H
#define MUSTER_MODEL_RUN_JSON_H

#include "json/stream.h"
#include "model/sample_json.h"

struct muster_run_reader {
	struct muster_sample_reader
		samples;          /* first, and its struct muster_json_reader first in it: that is handed around */
	struct muster_run *run;   /* what is read is added to it */
	struct muster_node *node; /* of the run, while it is read */
	struct muster_json_known outcomes; /* muster_outcomes_known at first */
	unsigned char *seen;               /* a bit for each rank of the job; muster_run_read's, the caller frees it */
};

extern const struct muster_json_known muster_outcomes_known;
extern const struct muster_object_type muster_outcome_type, muster_trial_type;
muster_field_write_fn muster_node_write, muster_time_write;
muster_field_read_fn muster_trial_read;   /* added to the run of the struct muster_run_reader */
muster_field_read_fn muster_outcome_read; /* into a struct muster_outcome */
muster_field_read_fn muster_profile_read; /* into a const char *: one of muster_profile_names */
/* an array of muster_measure_names, and an int with their bits */
muster_field_read_fn muster_measures_read;
muster_field_write_fn muster_measures_write;
muster_field_read_fn muster_strictness_read; /* int: an enum muster_strictness */
muster_field_write_fn muster_strictness_write;

/* "run" of a report. reader->run has only its arena. -1 with err; the caller frees the run in any case. */
int muster_run_read(struct muster_run_reader *reader, struct muster_json_stream *s);
/* "nodes" of a run. */
muster_field_parts_fn muster_nodes_parts;
void muster_run_write(struct muster_json_writer *w, const struct muster_run *run);

#endif
