/* SPDX-License-Identifier: Apache-2.0 */
/* finding.h - one expectation judged on one thing, and how a check went over a whole run; implemented by
 * src/model/finding.c
 */
#ifndef MUSTER_FINDING_H
#define MUSTER_FINDING_H

#include "muster/sample.h"

enum muster_status {
	MUSTER_PASS = 0,
	MUSTER_WARN,
	MUSTER_FAIL,
	MUSTER_SKIP,         /* does not apply here, or is `unread`; with the reason in `observed` */
	MUSTER_INCONCLUSIVE, /* could not be measured, and the machine is not proved bad */
	MUSTER_BLOCKED, /* not evaluated, since something that has a finding of its own failed there: only counted */
	MUSTER_STATUS_COUNT
};

/* What fails a run besides a failed check: nothing; warnings and what is inconclusive, but no warning of an inferred
 * value, which proves nothing (a gate would never pass); that too. In a file: false, true, "all". */
enum muster_strictness { MUSTER_LENIENT = 0, MUSTER_STRICT, MUSTER_STRICT_ALL, MUSTER_STRICTNESS_COUNT };
extern const char *const muster_strictness_names[MUSTER_STRICTNESS_COUNT]; /* "no", "yes", "all" */

/* What a finding proves by itself. SOFT: a speed, a time, an increase of a counter, a deadline: it may be chance, and
 * only a second run that finds it again proves it. HARD: a part is missing, data are wrong, a link is down, the kernel
 * logged an event. */
enum muster_proof { MUSTER_PROOF_SOFT = 0, MUSTER_PROOF_HARD, MUSTER_PROOF_COUNT };
extern const char *const muster_proof_names[MUSTER_PROOF_COUNT]; /* "soft", "hard" */

/* What to do about a finding, for programs: docs/reference/action-codes.md. The stronger code comes later: a node has
 * the strongest one of its findings. */
#define MUSTER_ACTION_CODE_COUNT 11
extern const char *const muster_action_codes[MUSTER_ACTION_CODE_COUNT]; /* "none", "retry", ..., "replace-node" */
size_t muster_action_strength(const char *code);                        /* its place there; of NULL, and of others, 0 */

/* How much of its limit a speed reached: see model/share.h. Of one value lowest is highest. */
struct muster_share {
	bool known;
	double lowest, highest; /* 0.43; above 1 where the network reduces */
	double limit;           /* in the unit of the speed; the lowest of several */
	const char *of;         /* the limit in words: "PCIe 5.0 x16" */
};

/* The result of one check at one place that is not a plain pass (passes are counted in the check's tally). */
struct muster_finding {
	const char *check; /* the check's id, or "probe.<name>" for a probe that did not end well, "rank.missing" ... */
	enum muster_status status;
	const char *node;                  /* NULL: the whole job */
	int rank;                          /* -1: not one rank */
	const char *gpu;                   /* PCI bus id, or NULL */
	int gpu_index;                     /* of gpu, as nvidia-smi counts on the node; -1: not known */
	const char *port;                  /* "mlx5_ib3/1", or NULL */
	const char *metric;                /* NULL for findings about probes and ranks */
	const struct muster_label *labels; /* labels of the sample (may be NULL) */
	size_t label_count;
	const char *expected;      /* for people: "at least 21", "one of A, B" */
	const char *observed;      /* for people: "11.2", "null: not supported by this GPU" */
	const char *tries;         /* of a speed that was measured once more: "2 of 2: 28.6, 28.9"; or NULL */
	const char *evidence;      /* what a library or a process said, of the first rank that it has; or NULL */
	struct muster_value value; /* the observed value; null when there was none */
	const char *unit;          /* "" for none */
	struct muster_share share; /* of the observed value */
	const char *advice;        /* NULL when there is none; placeholders filled in */
	enum muster_proof proof;
	const char *action_code; /* one of muster_action_codes; of a report of an older muster NULL */
	const char *source;      /* NULL when there is none */
	const char *certainty;   /* NULL when there is none */
	bool uncalibrated;       /* of a check without a threshold, see muster_tally */
	bool unread;             /* the source of the value could not be read: not measured, which is no pass */
	const char **blocked;    /* ids of the checks that are not evaluated somewhere because of this finding */
	size_t blocked_count;
};

/* How sure an expected value is, the surest first: measured on this machine type, a threshold of a public test,
 * specified by the manufacturer, inferred. */
enum { MUSTER_CERTAINTY_COUNT = 4 };
extern const char *const muster_certainties[MUSTER_CERTAINTY_COUNT];
/* The one that makes no speed fail (expect/certainty.c). NULL is none. */
bool muster_certainty_is_inferred(const char *certainty);

/* Whether the finding fails a run that is judged so strictly. */
bool muster_finding_fails(const struct muster_finding *finding, enum muster_strictness strict);

/* How one check went over the whole run. */
struct muster_tally {
	const char *check, *metric, *probe, *unit;
	const char *title;                         /* a short description, or NULL */
	const char *expected, *source, *certainty; /* as in a finding */
	enum muster_proof proof;                   /* what its findings prove */
	bool uncalibrated;   /* no absolute threshold: a pass means that there is a value, or that it is close to the
				others */
	bool compares_nodes; /* one node alone proves nothing: its values must be the same on all nodes */
	size_t count[MUSTER_STATUS_COUNT];
	/* observed values: for numbers min and max; for others one value if all were equal, else NULL */
	bool has_numbers;
	double lowest, highest;
	struct muster_share share;
	/* limits of numbers, as the check has them; shares of share_of, unless that is NULL */
	bool has_least, has_warn_below, has_most, has_warn_above;
	double least, warn_below, most, warn_above;
	const char *share_of;
	const char *value;
	const struct muster_label *where; /* the labels that choose its samples; NULL when it takes them all */
	size_t where_count;
	const char *skipped;    /* why it does not apply to this run at all; NULL when it does */
	const char *blocked_by; /* the first finding that blocks it, "ib.state on sim-2"; NULL when none does */
};

extern const char *const muster_status_names[MUSTER_STATUS_COUNT]; /* "pass", "warn", "fail", "skip" ... */
const char *muster_status_name(enum muster_status status);         /* the same; "unknown" for what has no name */
/* How bad a status is: 0 is pass or skip, then blocked, warn, inconclusive, fail. */
int muster_status_weight(enum muster_status status);

#endif
