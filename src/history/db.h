/* SPDX-License-Identifier: Apache-2.0 */
/* db.h - a history: the verdicts and values of many reports in one SQLite database file
 *
 * Implemented by sqlite/, or by without.c in a build without SQLite. libsqlite3 is opened at run time, so that no other
 * command loads it. Many processes may write at once: each report is one transaction, and a process waits for the
 * others at most MUSTER_HISTORY_BUSY_MS. A database is outside input: what does not fit is MUSTER_EUSAGE, and the file
 * stays as it is. What the system refuses (permission, full disk, still locked) is MUSTER_EIO.
 *
 * A history knows of each report: when, of which machine type and profile, how each node came out, findings that
 * failed, warned or were inconclusive, and the numbers that are worth comparing (values.h). It does not keep the
 * report: what is asked of a history must be answered by these.
 *
 * Walks visit values by key, or verdicts by node, in one read transaction: what other processes add meanwhile is not
 * seen. Texts handed to a visitor live until the history is closed, and equal texts are one pointer, so that a visitor
 * may compare and keep pointers. The report of a value or verdict lives only until the walk ends.
 */
#ifndef MUSTER_HISTORY_DB_H
#define MUSTER_HISTORY_DB_H

#include "history/values.h"

enum { MUSTER_HISTORY_BUSY_MS = 30000 };

struct muster_history;

/* Open a history to write to it (made when there is none, an older schema is brought up to date), or to read it. As
 * root, a file is written only in a folder that only root can write to, and never through a symbolic link.
 * 0 with *ret, which the caller closes; -1 with err, which names the path. */
int muster_history_open(const char *path, bool write, struct muster_history **ret, struct muster_error *err);
void muster_history_close(struct muster_history *history); /* NULL is fine */

/* $XDG_STATE_HOME/muster/history.db or ~/.local/state/muster/history.db; of root /var/lib/muster/history.db. Its folder
 * is made when `make` is set. The path is malloc'd; NULL with err. */
char *muster_history_default_path(bool make, struct muster_error *err);

enum muster_history_added {
	MUSTER_HISTORY_ADDED = 0,
	MUSTER_HISTORY_UPDATED,   /* the run was there with other verdicts: now it has these */
	MUSTER_HISTORY_UNCHANGED, /* it was there */
	MUSTER_HISTORY_ADDED_COUNT
};

/* Add an evaluated report, in one transaction. A run is the same run when job, start, duration and nodes are the same,
 * whatever the file is called and however often it was evaluated. -1 leaves the history as it was; MUSTER_EUSAGE when
 * the report has no time. */
int muster_history_add(struct muster_history *history, const struct muster_report *report,
	enum muster_history_added *ret, struct muster_error *err);

/* How many reports the question is about (of), and how many of these were read. */
struct muster_history_use {
	size_t reports, of;
};

/* What to visit; a zeroed filter visits all but simulated runs. */
struct muster_history_filter {
	const char *const *nodes; /* only of these nodes; NULL: of all, and of jobs */
	size_t node_count;
	const char *metric;       /* a metric's name, with or without labels as in a key; NULL: all */
	const char *machine_type; /* only of this one; NULL: all */
	const char *profile;      /* only of this one; NULL: all */
	int64_t since, until;     /* started at or after since, and before until; 0: no limit */
	bool simulated;           /* simulated runs, and only those */
	/* Only metrics for which this says yes; NULL: all. */
	bool (*wanted)(const struct muster_metric *metric);
	/* Values of at most so many reports, 0: of all. Where there are more, blocks of reports that were added one
	 * after the other are read, spread evenly over the reports before `split` and over those since then. */
	size_t reports_most;
	int64_t split;                  /* 0: none */
	struct muster_history_use *use; /* filled in by a walk over values, unless it is NULL */
};

/* Call visit for each value, by key and then in the order in which reports were added. Metrics that this muster does
 * not know have no values. Labels other than those of the key are not kept. 0, or -1 with err. */
int muster_history_each_value(struct muster_history *history, const struct muster_history_filter *filter,
	muster_history_visit_fn *visit, void *arg, struct muster_error *err);

/* What a finding says about the machine, and so when it drains the node. */
enum muster_history_fault {
	MUSTER_FAULT_NONE = 0, /* nothing: it did not fail the run, or is about how the job was launched */
	MUSTER_FAULT_SOFT,     /* a second run must find it again */
	MUSTER_FAULT_HARD,     /* at once */
	MUSTER_FAULT_COUNT
};

/* How a node came out of a report, or how a check came out there that failed, warned or was inconclusive. */
struct muster_history_verdict {
	const struct muster_history_report *report;
	int64_t report_id; /* in the order in which reports were added */
	const char *node;
	enum muster_status status;       /* PASS, WARN, INCONCLUSIVE or FAIL: see node_status.h */
	const char *check;               /* NULL: it is the node's verdict */
	const char *part;                /* of a check, as of a value */
	enum muster_history_fault fault; /* of a check */
};
typedef int muster_history_verdict_fn(
	void *arg, const struct muster_history_verdict *verdict, struct muster_error *err);

/* The verdicts of nodes, or the findings about their checks: by node, and in the order in which reports were added.
 * Uses all of the filter but metric and wanted. */
int muster_history_each_verdict(struct muster_history *history, const struct muster_history_filter *filter,
	bool findings, muster_history_verdict_fn *visit, void *arg, struct muster_error *err);

/* How many reports of simulated runs there are. */
int muster_history_simulated(struct muster_history *history, int64_t *ret, struct muster_error *err);

#endif
