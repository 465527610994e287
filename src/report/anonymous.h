/* anonymous.h - a report without names, as it may be sent to others */
#ifndef MUSTER_REPORT_ANONYMOUS_H
#define MUSTER_REPORT_ANONYMOUS_H

#include "muster/report.h"

/* Replace, in the run and in the report of it, host names, the job id, paths that a user chose, UUIDs, addresses,
 * P_Keys, names of virtual machines, regions, placement groups and switches. The strings are then the run's. */
void muster_report_anonymise(struct muster_run *run, struct muster_report *report);

#endif
