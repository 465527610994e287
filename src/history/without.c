/* SPDX-License-Identifier: Apache-2.0 */
/* without.c - the history of a build without SQLite: none can be opened */
#include "history/db.h"

#ifndef MUSTER_HAVE_SQLITE

int muster_history_open(const char *path, bool write, struct muster_history **ret, struct muster_error *err)
{
	(void)path, (void)write, (void)ret;
	return muster_fail(err, MUSTER_EUSAGE, "this muster was built without SQLite: it keeps no history");
}

void muster_history_close(struct muster_history *history)
{
	(void)history;
}

/* The other functions need an open history, which no caller of this build has: they fail with the same sentence. */

int muster_history_add(struct muster_history *history, const struct muster_report *report,
	enum muster_history_added *ret, struct muster_error *err)
{
	(void)history, (void)report, (void)ret;
	return muster_history_open(NULL, true, NULL, err);
}

int muster_history_each_value(struct muster_history *history, const struct muster_history_filter *filter,
	muster_history_visit_fn *visit, void *arg, struct muster_error *err)
{
	(void)history, (void)filter, (void)visit, (void)arg;
	return muster_history_open(NULL, false, NULL, err);
}

int muster_history_each_verdict(struct muster_history *history, const struct muster_history_filter *filter,
	bool findings, muster_history_verdict_fn *visit, void *arg, struct muster_error *err)
{
	(void)history, (void)filter, (void)findings, (void)visit, (void)arg;
	return muster_history_open(NULL, false, NULL, err);
}

int muster_history_simulated(struct muster_history *history, int64_t *ret, struct muster_error *err)
{
	(void)history, (void)ret;
	return muster_history_open(NULL, false, NULL, err);
}

#endif
