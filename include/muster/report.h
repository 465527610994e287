/* report.h - run + findings + verdict, and the writers for them
 *
 * Evaluate makes a report from a run and expectations; it is a pure function. Writers only write.
 */
#ifndef MUSTER_REPORT_H
#define MUSTER_REPORT_H

#include "muster/error.h"
#include "muster/expect.h"
#include "muster/run.h"

#include <stdio.h>

enum muster_status {
	MUSTER_PASS = 0,
	MUSTER_WARN,
	MUSTER_FAIL,
	MUSTER_SKIP,         /* does not apply here, with the reason in `observed` */
	MUSTER_INCONCLUSIVE, /* could not be measured, and the machine is not proved bad */
	MUSTER_STATUS_COUNT
};

enum muster_exit { MUSTER_EXIT_PASS = 0, MUSTER_EXIT_FAIL = 1, MUSTER_EXIT_USAGE = 2, MUSTER_EXIT_INCONCLUSIVE = 3 };

/* One expectation judged on one thing, when it did not simply pass (passes are counted in the check's tally). */
struct muster_finding {
	const char *check; /* the check's id, or "probe.<name>" for a probe that did not end well, "rank.missing" ... */
	enum muster_status status;
	const char *node;                  /* NULL: the whole job */
	int rank;                          /* -1: not one rank */
	const char *gpu;                   /* PCI bus id, or NULL */
	const char *port;                  /* "mlx5_ib3/1", or NULL */
	const char *metric;                /* NULL for findings about probes and ranks */
	const struct muster_label *labels; /* the judged sample's labels (may be NULL) */
	size_t label_count;
	const char *expected;      /* for people: "at least 21", "one of A, B" */
	const char *observed;      /* for people: "11.2", "null: not supported by this GPU" */
	const char *evidence;      /* what a library or a process said, of the first rank that it has; or NULL */
	struct muster_value value; /* the judged value; null when there was none */
	const char *unit;          /* "" for none */
	const char *advice;        /* NULL when there is none; placeholders filled in */
	const char *source;        /* NULL when there is none */
	const char *certainty;     /* NULL when there is none */
	bool uncalibrated;         /* of a check without a floor, see muster_tally */
	const char **unjudged;     /* ids of the checks that this finding leaves without a measurement */
	size_t unjudged_count;
};

/* How one check went over the whole run. */
struct muster_tally {
	const char *check, *metric, *probe, *unit;
	const char *expected, *source, *certainty; /* as in a finding */
	bool uncalibrated; /* held against no figure: a pass says that there is a value, or that it is like the others
			    */
	size_t count[MUSTER_STATUS_COUNT];
	/* observed values: for numbers min and max; for others one value if all were equal, else NULL */
	bool has_numbers;
	double lowest, highest;
	const char *value;
	const struct muster_label *where; /* the labels that choose its samples; NULL when it takes them all */
	size_t where_count;
	const char *skipped; /* why it does not apply to this run at all; NULL when it does */
};

struct muster_report {
	struct muster_arena *arena;
	const struct muster_run *run; /* borrowed */
	const char *sku, *sku_origin;
	size_t domains; /* NVLink domains that the run's GPUs span */
	bool strict, observe;
	const char *unwritten;           /* NULL, or why the JSON report that was asked for could not be written */
	enum muster_status verdict;      /* PASS, FAIL or INCONCLUSIVE */
	struct muster_finding *findings; /* worst first, then by node, rank, check */
	size_t finding_count;
	struct muster_tally *tallies; /* one for each check, in the expectations' order */
	size_t tally_count;
	size_t count[MUSTER_STATUS_COUNT]; /* of all judgements, passes included */
};

/* Judge the run. No I/O, no clock. The report borrows run; expect may be freed afterwards. With expect NULL nothing is
 * known of this machine type: the verdict is inconclusive, and only probes and ranks are judged. */
void muster_evaluate(
	const struct muster_run *run, const struct muster_expect *expect, bool strict, struct muster_report *ret);
void muster_report_done(struct muster_report *report);

extern const char *const muster_status_names[MUSTER_STATUS_COUNT]; /* "pass", "warn", "fail", "skip", "inconclusive" */
const char *muster_status_name(enum muster_status status);         /* the same; "unknown" for what has no name */
enum muster_exit muster_report_exit(const struct muster_report *report);

/* Write the JSON report whole: temporary file beside path, fsync, rename. "-" writes to stdout. */
int muster_report_write_json(const struct muster_report *report, const char *path, struct muster_error *err);
/* The same to a stream, for tests; -1 when the stream has an error. */
int muster_report_print_json(const struct muster_report *report, FILE *out, struct muster_error *err);

/* Read the run back from a saved report (its findings are not read: they can be judged again), and what machine type it
 * was judged as. Input from outside:
 * every malformed report is MUSTER_EUSAGE with the file and the JSON path. */
int muster_report_read(const char *path, struct muster_run *ret, struct muster_error *err);

/* The same, and how it was judged: verdict, findings and checks as they stand in the file. ret borrows *ret_run. */
int muster_report_load(
	const char *path, struct muster_run *ret_run, struct muster_report *ret, struct muster_error *err);

/* The summary for people, failures first. colour: use ANSI colours. */
void muster_report_print_text(const struct muster_report *report, FILE *out, bool colour);

/* JUnit XML for CI servers: a test suite for each node and one for the job, a test case for each probe and check. A
 * failed finding is a failure, an inconclusive one an error, what does not apply is skipped. */
void muster_report_print_junit(const struct muster_report *report, FILE *out);

/* A short summary for a pull request or a ticket. */
void muster_report_print_markdown(const struct muster_report *report, FILE *out);

/* The stable last line, with its newline. report_path is what the user gave. */
void muster_report_print_line(const struct muster_report *report, const char *report_path, FILE *out);

/* All of the above: the JSON report to path (NULL: none is wanted), the summary and the last line, which names `named`,
 * to stdout, or to stderr when path is "-". Returns the exit code. A report that was asked for and cannot be written
 * leaves no pass: the last line then says report=none. */
int muster_report_publish(struct muster_report *report, const char *path, const char *named, bool colour);

/* One node's part of a run, as leaders send it and as it stands in a report: JSON text to and from a run.
 * write: a malloc'd text. read: appends a node to run; what is malformed is MUSTER_EPROTOCOL with the JSON path. */
char *muster_node_to_json(const struct muster_node *node, size_t *ret_length);
int muster_node_from_json(struct muster_run *run, const char *text, size_t length, struct muster_error *err);

/* The same for a trial. */
char *muster_trial_to_json(const struct muster_trial *trial);
int muster_trial_from_json(struct muster_run *run, const char *text, size_t length, struct muster_error *err);

#endif
