/* SPDX-License-Identifier: Apache-2.0 */
/* read_findings.h - verdict, findings and checks of a saved report
 *
 * read_json.c reads a report as a stream of members. Of one that belongs here (muster_findings_reader_field), it reads
 * the value into the reader. The reader starts with muster_findings_reader_init(), and ends either with
 * muster_findings_reader_finish(), which gives its arena to the report, or with muster_findings_reader_done().
 */
#ifndef MUSTER_REPORT_READ_FINDINGS_H
#define MUSTER_REPORT_READ_FINDINGS_H

#include "json/object.h"
#include "muster/report.h"

/* A report whose findings and checks are still growing. */
struct muster_findings_reader {
	struct muster_report report; /* its arrays are malloc'd until they are handed over */
	size_t finding_room, tally_room;
	const struct muster_json *unread; /* what is looked at for its type alone */
};

/* How findings, tallies and counts of statuses stand in a report. */
extern const struct muster_object_type muster_finding_type, muster_tally_type, muster_counts_type;

void muster_findings_reader_init(struct muster_findings_reader *judged);

/* How a member of a report is read into a struct muster_findings_reader; NULL for one that says nothing of how the run
 * was judged. The reader's arena must be that of the report. */
const struct muster_field *muster_findings_reader_field(const char *key);

/* Hand over a report on the run, which the report borrows. Texts and values that older versions wrote in another way
 * are brought into the present form. The reader is empty afterwards. */
void muster_findings_reader_finish(
	struct muster_findings_reader *judged, const struct muster_run *run, struct muster_report *ret);
void muster_findings_reader_done(struct muster_findings_reader *judged); /* of one that was not handed over */

#endif
