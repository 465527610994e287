/* finding.c - names of statuses, and how bad each is */
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

int muster_status_weight(enum muster_status status)
{
	static const int weights[MUSTER_STATUS_COUNT] = {
		[MUSTER_BLOCKED] = 1,
		[MUSTER_WARN] = 2,
		[MUSTER_INCONCLUSIVE] = 3,
		[MUSTER_FAIL] = 4,
	};
	return weights[status];
}
