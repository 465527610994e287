/* events.h - events of the kernel's log: the tables of a file, and the operator that looks an event up in one */
#ifndef MUSTER_EXPECT_EVENTS_H
#define MUSTER_EXPECT_EVENTS_H

#include "expect/operators.h"
#include "json/object.h"

/* The tables without events; the arena's. */
struct muster_event_table *muster_event_tables_new(struct muster_arena *arena);
/* The file's "events", into these tables. */
muster_field_read_fn muster_event_tables_read;

/* The event of this code; NULL when the table has none. */
const struct muster_event *muster_event_find(const struct muster_event_table *table, const char *code);
/* The code that the sample's label has, "" without one. */
const char *muster_event_code(const struct muster_operand *operand, const struct muster_sample *sample);

/* An event is several samples of one node with the same labels: node.xid_age_hours, node.xid_count, node.xid_line. */
#define MUSTER_EVENT_AGE "_age_hours"
/* Whether the metric is the age of events. */
bool muster_event_is_age(const struct muster_metric *metric);
/* The sample of the same event, of this type, whose metric's name has this end in place of that of the age ("_line");
 * NULL for none. */
const struct muster_sample *muster_event_beside(
	const struct muster_samples *samples, const struct muster_sample *age, const char *end, enum muster_type type);

/* no_event */
muster_field_read_fn muster_no_event_parse;
enum muster_operator_answer muster_no_event_judge(const struct muster_question *q);
/* "no Xid within 24 h, notes apart"; of a sample "no Xid 79 within 24 h" */
const char *muster_no_event_describe(const struct muster_question *q);

#endif
