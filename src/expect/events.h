/* events.h - events of the kernel's log: the tables of a file, and the operator that looks an event up in one */
#ifndef MUSTER_EXPECT_EVENTS_H
#define MUSTER_EXPECT_EVENTS_H

#include "expect/operators.h"
#include "json/object.h"

/* The tables without events; the arena's. */
struct muster_event_table *muster_event_tables_new(struct muster_arena *arena);
/* The file's "events", into these tables. */
muster_field_read_fn muster_event_tables_read;

/* An entry of the file's "causes". */
muster_field_read_fn muster_cause_read;

/* The event of this code, of "149-fatal" else that of 149, else that of "other-fatal"; NULL when the table has none. */
const struct muster_event *muster_event_find(const struct muster_event_table *table, const char *code);

/* The sample of this part of the same event; NULL for none, or a null. */
const struct muster_sample *muster_event_beside(
	const struct muster_samples *samples, const struct muster_sample *age, enum muster_event_part part);

/* no_event */
muster_field_read_fn muster_no_event_parse;
muster_judge_fn muster_no_event_judge;
muster_words_fn muster_no_event_describe; /* "no Xid within 24 h, notes apart"; of a sample "no Xid 79 within 24 h" */

#endif
