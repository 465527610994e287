/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - what one rank measured, as bytes that grow: JSON lines in the order in which they came
 *
 *   {"sample":{metric, labels, value, reason}}    as the rank's worker wrote it
 *   {"outcome":{probe, status, ...}}              of one probe; the last one of a probe counts
 *   {"about_rank":{rank, local_rank, node, gpu, gpu_uuid, simulated}}   the last one counts
 *   {"kept":N,"until":M,"job":BOOLEAN}            of the samples so far, counted as they came, only the first N still
 *                                                 count, those from the Mth on (counted from 0; without "until":
 *                                                 none), and with "job" those of the scope job
 *
 * A sample counts once an outcome or a kept line follows: until then its command is under way, and its outcome may be
 * that the sample does not count (a localisation all-reduce).
 * Between the worker and rank 0 no process builds samples from these lines: a supervisor keeps them, leaders send them
 * on, and rank 0 reads them once. A spool holds the same lines.
 *
 * struct muster_record has the lines, in the supervisor of the rank. The record only grows and nothing in it is
 * changed, so that what is withdrawn is said by a later line. struct muster_record_parts is what was read of them so
 * far: in rank 0 for the time of one message, in a reader of spools until the file ends. struct muster_rank of the run
 * has the parts without what does not count, folded; then the lines are gone.
 */
#ifndef MUSTER_MODEL_RECORD_H
#define MUSTER_MODEL_RECORD_H

#include "json/json.h"
#include "muster/error.h"
#include "muster/run_data.h"

struct muster_record {
	char *bytes; /* malloc'd */
	size_t length, room;
	size_t samples; /* lines with one */
};

void muster_record_done(struct muster_record *record);

/* A line without its newline, which must be one of the above. */
void muster_record_add(struct muster_record *record, const char *line, size_t length);
void muster_record_add_sample(struct muster_record *record, const char *line, size_t length);
/* Free the memory that was kept for further lines. */
void muster_record_fit(struct muster_record *record);

/* These lines, malloc'd, for a record and for each holder of a copy. */
char *muster_record_outcome_line(const struct muster_outcome *outcome);
char *muster_record_rank_line(const struct muster_rank *rank, const char *node, bool simulated);
/* until: SIZE_MAX where no later sample counts. */
char *muster_record_kept_line(size_t samples, size_t until, bool job);

/* Reads records into runs: one reader for many records, since ranks share their labels. find has the catalogue. */
struct muster_record_reader;
struct muster_record_reader *muster_record_reader_new(struct muster_arena *arena, muster_metric_find_fn *find);
void muster_record_reader_free(struct muster_record_reader *reader);

/* What was read of one rank so far; strings are in the reader's arena. */
struct muster_record_parts {
	struct muster_rank rank;       /* rank, local_rank, gpu, gpu_uuid and outcomes; its samples are ... */
	struct muster_samples samples; /* ... here, of all scopes, in their order */
	size_t *numbers, number_room;  /* of each: how many came before it */
	size_t came;                   /* samples, whether or not they still count */
	size_t decided;                /* of samples: those before the last outcome or kept line */
	const char *node;              /* its name, as its supervisor knew it; NULL */
	bool simulated, keeps_job;     /* keeps_job: the line at hand says so ... */
	size_t kept_until;             /* ... and so does this */
	const char *malformed;         /* why the first line that could not be read could not; NULL */
	const char *spoiled;           /* the probe that this line belongs to, whose outcome was noted next; NULL */
	const char *died;              /* the probe at which its worker crashed last; NULL */
};

void muster_record_parts_init(struct muster_record_parts *parts, int rank);
void muster_record_parts_done(struct muster_record_parts *parts);

/* One parsed line. 1 when it is none of the above; -1 with err when it is malformed. Nothing is changed then. */
int muster_record_line(struct muster_record_reader *reader, struct muster_record_parts *parts,
	const struct muster_json *line, struct muster_error *err);
/* All lines of a record. A malformed line is left out, and parts->malformed says so. */
void muster_record_read(
	struct muster_record_reader *reader, const char *bytes, size_t length, struct muster_record_parts *parts);

/* The parts become a rank of this node of the run, which is returned; what they hold is moved. Samples without a
 * decision are dropped, and those of the rank are folded (windows.h): run->job.repeats must be set. A probe that is
 * spoiled by a malformed line has not gone well: its outcome becomes an error. */
struct muster_rank *muster_record_merge(struct muster_run *run, size_t node, struct muster_record_parts *parts);

/* The same of a rank that is there: what was measured once more at the end of the run. */
void muster_record_merge_again(struct muster_run *run, size_t node, struct muster_record_parts *parts);

#endif
