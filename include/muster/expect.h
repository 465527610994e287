/* SPDX-License-Identifier: Apache-2.0 */
/* expect.h - what a machine of this type must show; implemented by src/expect/load.c
 *
 * Read from a JSON file, its parents (`extends`) and an overlay, merged by RFC 7386. JSON form:
 * docs/expectations.schema.json.
 */
#ifndef MUSTER_EXPECT_H
#define MUSTER_EXPECT_H

#include "muster/error.h"
#include "muster/arena.h"
#include "muster/finding.h"
#include "muster/sample.h"

#include <regex.h>

enum muster_severity { MUSTER_SEVERITY_FAIL = 0, MUSTER_SEVERITY_WARN };

struct muster_excuse {     /* one entry of inconclusive_on */
	const char *value; /* as muster_value_text writes it */
	const char *why;
};

/* One of several values that an operator names. */
struct muster_listed {
	const char *label_value; /* equals_by: for samples whose label has this value; else NULL */
	struct muster_value value;
};

/* What a machine that logged an event is: a NOTE passes. */
enum muster_event_class { MUSTER_EVENT_NOTE = 0, MUSTER_EVENT_WARN, MUSTER_EVENT_FAIL, MUSTER_EVENT_CLASS_COUNT };

/* An event of the kernel's log, and what to do about it. */
struct muster_event {
	const char *code; /* "79"; in the table "kernel" the kind of event, "link-flap" */
	const char *name, *action;
	enum muster_event_class class;
	double hours;                          /* for which it counts; 0: as long as the check says */
	const char *measured_on, *action_code; /* as of a check */
	const char **explains;                 /* kinds of the table "kernel" that tell of the same incident */
	size_t explain_count;
};

struct muster_event_table {
	const char *key, *title; /* in the file; before a code, "Xid" */
	struct muster_event *items;
	size_t count;
};

/* What is known of findings that have one usual cause: an entry of "causes". */
struct muster_cause_fact {
	const char *pattern; /* POSIX ERE for the text of a value of the metric; not compiled */
	const struct muster_metric *metric;
};
struct muster_cause {
	const char *id;
	const char **explains; /* findings, by their checks; "probe.gpu*" stands for all that begin so */
	size_t explain_count;
	struct muster_cause_fact *facts; /* of the rank or its node, all of which must be there */
	size_t fact_count;
	const char *name, *action; /* with ${metric}: what the observation lacks, or NULL, and what to do */
	const char *reported_as;   /* a check, which a finding about a probe becomes one of; or NULL */
	const char *action_code;
};

/* One operator of a check and what it is given; which members it uses is its own affair. */
struct muster_operand {
	const struct muster_operator *operator; /* its row, see expect/operators.h */
	struct muster_value value;              /* the value, limit, share or text */
	struct muster_listed *list;
	size_t list_count;
	/* slower_than_peers: a share; a multiple of the median distance from the median. outlier: warn, a share */
	double warn, mad;
	const char *label; /* equals_by: the label that list goes by; no_event: the one that has the code */
	const struct muster_event_table *events; /* no_event */
	enum muster_scope peers;                 /* same_across: NODE or RANK */
	regex_t *regex;                          /* matches: the compiled value; freed by muster_expect_done */
};

/* What earlier runs on machines of this type measured: the median of so many values of the metric, and the median
 * distance of these from it (MAD). count 0: nothing was learned. */
struct muster_baseline {
	double median, mad;
	size_t count;
};

/* limit_per, what a limit is divided by, and how much of it each may have; inconclusive_while. metric NULL: none. */
struct muster_metric_max {
	const struct muster_metric *metric;
	double max;
};

struct muster_span { /* of a count; 0: no limit on that side */
	int min, max;
};

struct muster_origin { /* a key of a check, and the file that said it last; removed: by null */
	const char *key, *file;
	bool removed;
};

struct muster_check {
	const char *id;                /* first, for muster_suggest */
	const char *file;              /* the first in the chain that has this check */
	struct muster_origin *changes; /* keys that later files changed */
	size_t change_count;
	const struct muster_metric *metric;
	struct muster_operand *operands; /* in the order of the operators' table; at least one */
	size_t operand_count;
	bool ignore_case;     /* texts are compared in upper or lower case */
	const char *in_words; /* what a pattern asks for, "a whole RTX PRO 6000"; NULL: the pattern itself is shown */
	const char *within;   /* same_across: only values with the same value of this label are compared; or NULL */
	bool uniform;         /* same_across nodes: the values on one node are compared with each other too */
	/* the limit metric of which min, max, warn_below and warn_above are shares; NULL: they are values */
	const struct muster_metric *share_of;
	struct muster_label *limit_where; /* only where the limit has all these labels */
	size_t limit_where_count;
	struct muster_metric_max limit_per; /* only where there are enough of what the metric counts for the limit */
	struct muster_baseline baseline;    /* min_of_baseline, warn_of_baseline, max_mad: what was learned */
	struct muster_metric_max
		inconclusive_while;            /* what fails proves nothing while the node's metric is at most max */
	struct muster_excuse *inconclusive_on; /* values that prove nothing yet, and why ("INIT") */
	size_t inconclusive_on_count;
	const char *after_id; /* the check named by `after`, which may have been removed; or NULL */
	/* Index of that check; -1: none. A place where `after` failed blocks every result of this check but a pass, a
	 * place where `after` warned blocks only a warning. */
	int after;
	const char *also_after_id; /* a second such check */
	int also_after;
	/* `after` blocks this check at every place of the job as soon as `after` fails at one of them: for a value that
	 * depends on all nodes */
	bool anywhere;
	bool slows; /* what it finds is another program on a GPU, which explains speeds that are bad (eval/shared.c) */
	struct muster_label *where; /* only samples with all these labels */
	size_t where_count;
	/* when: the check applies only to runs of this many nodes, ranks and NVLink domains, and these profiles */
	struct muster_span when_nodes, when_ranks, when_domains;
	unsigned int when_profiles; /* 1 << enum muster_profile; 0: any */
	int when_measures;          /* 1 << enum muster_measure, all of which the run must have; 0: any run */
	bool optional;              /* a null value skips the check instead of leaving it inconclusive, and a probe
				     * that only optional checks want may be missing */
	enum muster_severity severity;
	const char *source, *certainty, *advice, *title; /* NULL when absent; advice may hold ${metric} */
	const char *measured_on;                         /* where the value was seen, for people; NULL when absent */
	const struct muster_measurement *measured;       /* of the file, when measured_on is its id; or NULL */
	enum muster_proof proof; /* as the file says, else as its operators and its metric have it */
	const char *action_code; /* what to do, for programs: one of muster_action_codes; NULL when absent */
};

/* The check's action code; "investigate" when absent: what no file says is for a person to decide. An event or a cause
 * without a code of its own leaves that of the check. */
const char *muster_check_action(const struct muster_check *check);

/* Where values were seen: by a run of muster, or by others who published it. */
struct muster_measurement {
	const char *id;                          /* first, for muster_suggest */
	const char *machine, *software, *source; /* software: NULL when unknown */
	struct muster_span nodes, gpus;          /* nodes 0 to 0: the value does not depend on them */
};

/* Whether a speed or a time can only warn, because its value is inferred: no run of this type makes it fail. */
bool muster_check_only_warns(const struct muster_check *check);

struct muster_expect {
	struct muster_arena *arena;
	const char *name;   /* the SKU */
	const char *title;  /* what it is, for people; NULL when absent */
	const char *origin; /* the files it came from, "configs/a.json < configs/b.json" */
	const char **files; /* the same one by one: the overlay, the file, its parents */
	size_t file_count;
	bool observe; /* only launch and consistency checks: no absolute thresholds for this machine type */
	struct muster_check *checks; /* in the file's order, parents first */
	size_t check_count;
	struct muster_event_table *events; /* by enum muster_event_source */
	struct muster_measurement *measurements;
	size_t measurement_count;
	struct muster_cause *causes; /* in the file's order: the first one that fits a finding counts */
	size_t cause_count;
	/* identify: how the machine is recognised; arrays may be empty */
	const char **vm_sizes, **gpu_names;
	size_t vm_size_count, gpu_name_count;
	int gpu_count; /* 0: not said */
	/* files and folders that must be there; "content:" before a folder whose files' bytes count too */
	const char **paths;
	size_t path_count;
};

/* Load an expectation file: `name` is a path (it has a '/' or ends in ".json"), the name of a file under config_dir
 * without ".json", or a vm_size that such a file identifies its machine by; in upper or lower case. overlay is a path
 * or NULL. On failure returns -1: code MUSTER_ENOTSUPPORTED when no file of config_dir has that name, else
 * MUSTER_EUSAGE with the file and the line or JSON path in err. */
int muster_expect_load(const char *config_dir, const char *name, const char *overlay, struct muster_expect *ret,
	struct muster_error *err);
void muster_expect_done(struct muster_expect *expect);

/* Load the same, and report every problem to tell() instead of stopping at the first. Also reports values that are
 * allowed but probably a mistake: limits that contradict each other, and a value changed without a source of its
 * own. Returns the number of problems. */
typedef void muster_problem_fn(void *arg, const char *problem);
size_t muster_expect_lint(
	const char *config_dir, const char *name, const char *overlay, muster_problem_fn *tell, void *arg);

/* The names of all files in config_dir, sorted, without ".json". */
int muster_expect_names(const char *config_dir, struct muster_arena *arena, const char ***ret, size_t *ret_count,
	struct muster_error *err);

#endif
