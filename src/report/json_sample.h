/* json_sample.h - samples from their JSON, as they stand in a report and as a worker says them
 *
 * Input from outside: nothing is taken that does not fit the catalogue and the limits in layout.h.
 */
#ifndef MUSTER_REPORT_JSON_SAMPLE_H
#define MUSTER_REPORT_JSON_SAMPLE_H

#include "muster/run.h"
#include "json/fields.h"

struct sample_reader {
	struct muster_arena *arena; /* where what is read will be */
	bool lenient;               /* a text that is too long becomes null; a null without a reason gets one */
	struct label_set *sets;     /* open addressing; a power of two, at most half full */
	size_t set_room, set_count;
};

void sample_reader_done(struct sample_reader *reader);

/* One sample, with each label that the catalogue lists for its metric, and no other. */
int sample_read(struct sample_reader *reader, const struct muster_json *json, const struct muster_json_path *at,
	struct muster_sample *ret, struct muster_error *err);

/* Who may hold samples of which scope: a rank may bring its node's and its job's facts along, never the other way. */
enum sample_holder { HOLDER_JOB, HOLDER_NODE, HOLDER_RANK };

/* Read the array of what `up` holds into the lists that the samples' scopes name. lists[] ends with the holder's. */
int samples_read(struct sample_reader *reader, const struct muster_json *json, const struct muster_json_path *up,
	enum sample_holder holder, struct muster_samples *const lists[], struct muster_error *err);

#endif
