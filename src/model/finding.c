/* finding.c - names of statuses */
#include "muster/finding.h"

const char *const muster_status_names[MUSTER_STATUS_COUNT] = {
	[MUSTER_PASS] = "pass",
	[MUSTER_WARN] = "warn",
	[MUSTER_FAIL] = "fail",
	[MUSTER_SKIP] = "skip",
	[MUSTER_INCONCLUSIVE] = "inconclusive",
	[MUSTER_BLOCKED] = "blocked",
};

const char *muster_status_name(enum muster_status status)
{
	return (unsigned int)status < MUSTER_STATUS_COUNT ? muster_status_names[status] : "unknown";
}
