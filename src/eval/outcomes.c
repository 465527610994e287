/* SPDX-License-Identifier: Apache-2.0 */
/* outcomes.c - what the end of a probe on one rank says of the rank and its node
 *
 *   crashed or hung        fails, unless no check wants the probe; inconclusive where it waited for a server
 *   error of the machine   fails where a check requires a value; else it is skipped, unless traffic broke that an
 *                          optional check wants
 *   any other error        inconclusive in the same cases, else skipped
 *
 * What one rank says is not yet blame: of a ring, causes.c compares what all ranks say.
 */
#include "eval/answers.h"

#include <string.h>

bool muster_outcome_ended_badly(const struct muster_outcome *outcome)
{
	return outcome->status == MUSTER_OUTCOME_CRASHED || outcome->status == MUSTER_OUTCOME_HUNG;
}

bool muster_outcome_has_code(const struct muster_outcome *outcome, enum muster_code code)
{
	return outcome->code && strcmp(outcome->code, muster_code_name(code)) == 0;
}

/* What an error's code says of the rank that reports it. A code without a row is as the last one, `other`: it could not
 * be measured, and no other rank can be the cause. */
struct code_meaning {
	enum muster_code code;
	bool broken; /* the node, or what it is connected to, is at fault; else it could not be measured */
	int weight;  /* as muster_outcome_weight() */
	const char *action_code, *advice;
};

static const struct code_meaning *meaning_of(const struct muster_outcome *outcome)
{
	static const struct code_meaning meanings[] = {
		{ MUSTER_ELIB, true, 3, "fix-settings",
			"install or repair the library on this node (ldconfig -p lists the libraries that the loader "
			"finds), then run muster on this node again" },
		{ MUSTER_EVENDOR, true, 3, "investigate",
			"run muster on this node only; if the same call fails again, check dmesg for Xid lines and "
			"open a ticket for the driver of the node" },
		{ MUSTER_ERESOURCE, true, 3, "investigate",
			"look for what fills the memory or /dev/shm (nvidia-smi, free, df /dev/shm), and for a low "
			"limit of open files (ulimit -n), then run muster on this node again" },
		{ MUSTER_EREMOTE, true, 2, "fix-fabric",
			"run again with --localise always to find the faulty node or link; check the InfiniBand links, "
			"and dmesg for mlx5 lines" },
		{ MUSTER_ENOPERMISSION, false, 3, "fix-settings",
			"run as a user who may open these files, or ask the administrator for access to the devices" },
		{ MUSTER_ETIME, false, MUSTER_WAITED, "retry",
			"run again with a longer --deadline; if the time runs out at the same step, suspect the node" },
		{ MUSTER_ESTALLED, false, MUSTER_WAITED, "investigate",
			"check dmesg for Xid lines; of several nodes, run muster on each alone, and on one node "
			"on half of its GPUs, to find the one that hangs" },
		{ MUSTER_ECALLEDOFF, false, 0, "none", NULL },
	};
	static const struct code_meaning other = { .weight = 3, .action_code = "investigate" };
	for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
		if (muster_outcome_has_code(outcome, meanings[i].code))
			return &meanings[i];
	return &other;
}

/* An all-reduce that does not end is a failure of the node when there is only one: no other could be the cause. */
static bool is_node_failure(const struct muster_run *run, const struct muster_outcome *outcome)
{
	return meaning_of(outcome)->broken ||
	       (muster_outcome_has_code(outcome, MUSTER_ESTALLED) && run->node_count == 1);
}

/* Traffic that failed on a communicator that had worked until then: a finding even where a check needs no value, since
 * a job would fail in the same way. */
static bool is_traffic_failure(const struct muster_outcome *outcome)
{
	const struct muster_probe *probe = muster_probe_find(outcome->probe);
	return probe && probe->traffic && !probe->ring && outcome->status == MUSTER_OUTCOME_ERROR &&
	       !muster_outcome_has_code(outcome, MUSTER_ENOTSUPPORTED);
}

/* The step reads files that may be on a server, or asks a service: when these do not answer, the node has no fault by
 * that. Files of the kernel are the node's own. */
static bool waits_for_others(const struct muster_outcome *outcome)
{
	static const char *const waits[] = { "open lib", "loading ", "getpwuid", "read /", "GET " };
	static const char *const own[] = { "read /sys", "read /proc", "read /dev", "loading the topology" };
	const char *step = outcome->step ? outcome->step : "";
	bool found = false;
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
		found = found || strncmp(step, waits[i], strlen(waits[i])) == 0;
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		found = found && strncmp(step, own[i], strlen(own[i])) != 0;
	return found && outcome->status == MUSTER_OUTCOME_HUNG;
}

/* want: UNWANTED where no check of this run uses the probe, OPTIONAL where only optional checks do. */
static enum muster_status judge(
	const struct muster_run *run, const struct muster_outcome *outcome, enum muster_want want)
{
	if (muster_outcome_ended_badly(outcome))
		return want == MUSTER_UNWANTED     ? MUSTER_SKIP
		       : waits_for_others(outcome) ? MUSTER_INCONCLUSIVE
						   : MUSTER_FAIL;
	if (want != MUSTER_WANTED && !(want == MUSTER_OPTIONAL && is_traffic_failure(outcome)))
		return MUSTER_SKIP;
	return outcome->status == MUSTER_OUTCOME_ERROR && is_node_failure(run, outcome) ? MUSTER_FAIL
											: MUSTER_INCONCLUSIVE;
}

static const char *action_of(const struct muster_outcome *outcome)
{
	if (waits_for_others(outcome))
		return "fix-storage";
	return muster_outcome_ended_badly(outcome) ? "investigate" : meaning_of(outcome)->action_code;
}

/* A missing library and a call that failed are facts. A crash, a hang and a passed deadline may be chance, and what a
 * call lacked another process may have held. */
enum muster_proof muster_outcome_proof(const struct muster_outcome *outcome)
{
	bool fact = muster_outcome_has_code(outcome, MUSTER_ELIB) || muster_outcome_has_code(outcome, MUSTER_EVENDOR);
	return fact && !muster_outcome_ended_badly(outcome) ? MUSTER_PROOF_HARD : MUSTER_PROOF_SOFT;
}

static const char *advice_of(const struct muster_outcome *outcome)
{
	const struct muster_probe *probe = muster_probe_find(outcome->probe);
	if (outcome->status == MUSTER_OUTCOME_HUNG && probe && probe->hang_advice)
		return probe->hang_advice;
	if (waits_for_others(outcome))
		return "look at the file system or the service that this step waits for (mount, dmesg, sssd); "
		       "other nodes may wait for the same server";
	return muster_outcome_ended_badly(outcome)
		       ? "run muster on this node only; if the probe fails at the same step, check dmesg "
			 "for Xid and mlx5 lines and exclude the node"
		       : meaning_of(outcome)->advice;
}

static const char *text_of(const struct muster_outcome *outcome, enum muster_want want, struct muster_arena *arena)
{
	const char *text = outcome->detail ? outcome->detail : muster_outcome_name(outcome->status);
	if (outcome->step)
		text = muster_arena_printf(arena, "%s; last step: %s", text, outcome->step);
	if (want == MUSTER_UNWANTED)
		text = muster_arena_printf(arena, "%s (no check of this run needs it)", text);
	return muster_arena_string(arena, text);
}

struct muster_check_answer muster_outcome_answer(const struct muster_run *run, const struct muster_outcome *outcome,
	enum muster_want want, struct muster_arena *arena)
{
	return (struct muster_check_answer){ .status = judge(run, outcome, want),
		.observed = text_of(outcome, want, arena),
		.evidence = outcome->evidence,
		.advice = advice_of(outcome),
		.action_code = action_of(outcome) };
}

int muster_outcome_weight(const struct muster_outcome *outcome)
{
	switch (outcome->status) {
	case MUSTER_OUTCOME_CRASHED: return 5;
	case MUSTER_OUTCOME_HUNG: return 4;
	case MUSTER_OUTCOME_NOT_RUN: return 0;
	default: return meaning_of(outcome)->weight;
	}
}
