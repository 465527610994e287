/* judged.h - how a saved run was judged: the part of a report that stands beside the run */
#ifndef MUSTER_REPORT_JUDGED_H
#define MUSTER_REPORT_JUDGED_H

#include "muster/report.h"
#include "json/fields.h"

/* A report whose findings and checks are still growing. */
struct judged {
	struct muster_report report;
	size_t finding_room, tally_room;
};

void judged_init(struct judged *judged);

/* Take one element of "findings" or of "checks", or the whole of another member of a report. Texts are copied. */
int judged_finding(struct judged *judged, const struct muster_json *json, const struct muster_json_path *at,
	struct muster_error *err);
int judged_check(struct judged *judged, const struct muster_json *json, const struct muster_json_path *at,
	struct muster_error *err);
int judged_member(struct judged *judged, const char *key, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err);

/* Hand over a report on the run. */
void judged_finish(struct judged *judged, const struct muster_run *run, struct muster_report *ret);
void judged_done(struct judged *judged); /* of one that was not handed over */

#endif
