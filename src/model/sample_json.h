/* SPDX-License-Identifier: Apache-2.0 */
/* sample_json.h - samples from their JSON, as they stand in a report and as a worker says them
 *
 * Input from outside: nothing is taken that does not fit the catalogue and the limits in limits.h.
 *
 * A large run has millions of samples and few different texts. So the texts are kept once each, on three levels:
 * strings by the arena; equal sets of labels by `sets`; and whole samples by `known`, which recognises a sample that
 * differs from an earlier one in its numbers alone, and reads only these. The writer does the same the other way round
 * (muster_sample_texts): there the addresses of metric, labels and reason tell equal texts, since each is stored once.
 */
#ifndef MUSTER_MODEL_SAMPLE_JSON_H
#define MUSTER_MODEL_SAMPLE_JSON_H

#include "json/known.h"
#include "muster/run.h"

struct muster_sample_reader {
	struct muster_json_reader json; /* first: functions that read a value are handed this */
	muster_metric_find_fn *find;
	bool lenient;           /* a text that is too long becomes null; a null without a reason gets one */
	struct label_set *sets; /* open addressing; a power of two, at most half full */
	size_t set_room, set_count;
	struct muster_json_known known; /* samples by their texts */
	struct muster_samples list;     /* the one at hand */
};

/* What is read goes to the arena; find has the catalogue. `json.err` is the caller's to set. */
void muster_sample_reader_init(
	struct muster_sample_reader *reader, struct muster_arena *arena, muster_metric_find_fn *find);
void muster_sample_reader_done(struct muster_sample_reader *reader);

/* One sample, into a struct muster_sample, with each label that the catalogue lists for its metric, and no other. The
 * reader is that of a struct muster_sample_reader. */
muster_field_read_fn muster_sample_read;

/* Who may hold samples of which scope: a rank may bring its node's and its job's facts along, never the other way. */
enum muster_sample_holder { MUSTER_HOLDER_JOB, MUSTER_HOLDER_NODE, MUSTER_HOLDER_RANK, MUSTER_HOLDER_COUNT };

/* Where a sample of this scope belongs. */
enum muster_sample_holder muster_scope_holder(enum muster_scope scope);

/* Lists of samples, by the scopes that they hold. */
struct muster_sample_lists {
	enum muster_sample_holder holder;
	struct muster_samples *of[MUSTER_HOLDER_COUNT]; /* from the job's to the holder's */
};
/* Read the array of samples that comes next into the lists that their scopes name. The reader is that of a struct
 * muster_sample_reader. */
int muster_samples_read(struct muster_json_reader *r, struct muster_json_stream *s, struct muster_sample_lists lists);

/* What a writer remembers of samples; `sample_texts` of the writer. It knows texts by their addresses, so samples and
 * what they point to must stay as long. */
struct muster_sample_texts *muster_sample_texts_new(void);
void muster_sample_texts_free(struct muster_sample_texts *texts);

/* JSON has neither NaN nor infinity: such a value becomes null with a reason. */
void muster_sample_write(struct muster_json_writer *w, const struct muster_sample *sample);
muster_field_write_fn muster_samples_write; /* a struct muster_samples, one on a line */

#endif
