/* read_findings.h - how a saved run was judged: the part of a report that stands beside the run */
#ifndef MUSTER_REPORT_READ_FINDINGS_H
#define MUSTER_REPORT_READ_FINDINGS_H

#include "muster/report.h"
#include "json/fields.h"

/* A report whose findings and checks are still growing. */
struct muster_findings_reader {
	struct muster_report report;
	size_t finding_room, tally_room;
};

void muster_findings_reader_init(struct muster_findings_reader *judged);

/* Take one element of "findings" or of "checks", or the whole of another member of a report. Texts are copied. */
int muster_findings_reader_finding(struct muster_findings_reader *judged, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err);
int muster_findings_reader_check(struct muster_findings_reader *judged, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err);
int muster_findings_reader_member(struct muster_findings_reader *judged, const char *key,
	const struct muster_json *json, const struct muster_json_path *at, struct muster_error *err);

/* Hand over a report on the run. */
void muster_findings_reader_finish(
	struct muster_findings_reader *judged, const struct muster_run *run, struct muster_report *ret);
void muster_findings_reader_done(struct muster_findings_reader *judged); /* of one that was not handed over */

#endif
