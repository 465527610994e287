/* without.c - the history of a build without SQLite: there is none */
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

#define NEVER_OPEN(...)                                                                                                \
	{                                                                                                              \
		__VA_ARGS__;                                                                                           \
		return muster_history_open(NULL, false, NULL, err);                                                    \
	}

int muster_history_add(struct muster_history *history, const struct muster_report *report,
	enum muster_history_added *ret, struct muster_error *err) NEVER_OPEN((void)history, (void)report,
	(void)ret) int muster_history_begin(struct muster_history *history, struct muster_error *err)
	NEVER_OPEN((void)history) int muster_history_commit(struct muster_history *history, struct muster_error *err)
		NEVER_OPEN((void)history) int muster_history_each_value(struct muster_history *history,
			const struct muster_history_filter *filter, muster_history_visit_fn *visit, void *arg,
			struct muster_error *err) NEVER_OPEN((void)history, (void)filter, (void)visit,
			(void)arg) int muster_history_each_verdict(struct muster_history *history,
			const struct muster_history_filter *filter, muster_history_verdict_fn *visit, void *arg,
			struct muster_error *err) NEVER_OPEN((void)history, (void)filter, (void)visit,
			(void)arg) int muster_history_each_finding(struct muster_history *history,
			const struct muster_history_filter *filter, muster_history_finding_fn *visit, void *arg,
			struct muster_error *err) NEVER_OPEN((void)history, (void)filter, (void)visit,
			(void)arg) int muster_history_measure(struct muster_history *history,
			struct muster_history_size *ret, struct muster_error *err) NEVER_OPEN((void)history, (void)ret)

#endif
