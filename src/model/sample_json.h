/* sample_json.h - samples from their JSON, as they stand in a report and as a worker says them
 *
 * Input from outside: nothing is taken that does not fit the catalogue and the limits in struct_json.h.
 */
#ifndef MUSTER_MODEL_SAMPLE_JSON_H
#define MUSTER_MODEL_SAMPLE_JSON_H

#include "muster/run.h"
#include "json/fields.h"

struct muster_sample_reader {
	struct muster_arena *arena; /* where what is read will be */
	bool lenient;               /* a text that is too long becomes null; a null without a reason gets one */
	struct label_set *sets;     /* open addressing; a power of two, at most half full */
	size_t set_room, set_count;
};

void muster_sample_reader_done(struct muster_sample_reader *reader);

/* One sample, with each label that the catalogue lists for its metric, and no other. */
int muster_sample_read(struct muster_sample_reader *reader, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_sample *ret, struct muster_error *err);

/* Who may hold samples of which scope: a rank may bring its node's and its job's facts along, never the other way. */
enum muster_sample_holder { MUSTER_HOLDER_JOB, MUSTER_HOLDER_NODE, MUSTER_HOLDER_RANK };

/* Read the array of what `up` holds into the lists that the samples' scopes name. lists[] ends with the holder's. */
int muster_samples_read(struct muster_sample_reader *reader, const struct muster_json *json,
	const struct muster_json_path *up, enum muster_sample_holder holder, struct muster_samples *const lists[],
	struct muster_error *err);

#endif
