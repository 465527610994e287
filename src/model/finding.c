/* SPDX-License-Identifier: Apache-2.0 */
/* finding.c - names of statuses, and how bad each is
 *
 * The tables here are in an order that has a meaning: muster_certainties from the surest to the least sure,
 * muster_action_codes from the weakest to the strongest. Their places are used as numbers.
 */
#include "muster/finding.h"

#include <string.h>

const char *const muster_status_names[MUSTER_STATUS_COUNT] = {
	[MUSTER_PASS] = "pass",
	[MUSTER_WARN] = "warn",
	[MUSTER_FAIL] = "fail",
	[MUSTER_SKIP] = "skip",
	[MUSTER_INCONCLUSIVE] = "inconclusive",
	[MUSTER_BLOCKED] = "blocked",
};

const char *const muster_certainties[MUSTER_CERTAINTY_COUNT] = { "measured", "threshold", "specified", "inferred" };

bool muster_certainty_is_inferred(const char *certainty)
{
	return certainty && strcmp(certainty, muster_certainties[MUSTER_CERTAINTY_COUNT - 1]) == 0;
}

const char *const muster_proof_names[MUSTER_PROOF_COUNT] = { "soft", "hard" };

const char *const muster_action_codes[MUSTER_ACTION_CODE_COUNT] = { "none", "retry", "investigate", "fix-launch",
	"fix-settings", "restart-service", "fix-storage", "fix-fabric", "reset-gpu", "reboot", "replace-node" };

size_t muster_action_strength(const char *code)
{
	size_t at = MUSTER_ACTION_CODE_COUNT - 1;
	while (at > 0 && (!code || strcmp(code, muster_action_codes[at]) != 0))
		at--;
	return at;
}

const char *muster_status_name(enum muster_status status)
{
	return (unsigned int)status < MUSTER_STATUS_COUNT ? muster_status_names[status] : "unknown";
}

const char *const muster_strictness_names[MUSTER_STRICTNESS_COUNT] = { "no", "yes", "all" };

/* What fails a run, by how strictly it is evaluated:
 *
 *    finding                   MUSTER_LENIENT   MUSTER_STRICT   MUSTER_STRICT_ALL
 *    fail                      yes              yes             yes
 *    inconclusive              no               yes             yes
 *    warn                      no               yes             yes
 *    warn, inferred value      no               no              yes
 */
bool muster_finding_fails(const struct muster_finding *finding, enum muster_strictness strict)
{
	if (finding->status == MUSTER_FAIL || strict == MUSTER_LENIENT)
		return finding->status == MUSTER_FAIL;
	return finding->status == MUSTER_INCONCLUSIVE ||
	       (finding->status == MUSTER_WARN &&
		       (strict == MUSTER_STRICT_ALL || !muster_certainty_is_inferred(finding->certainty)));
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
