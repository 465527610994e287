/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c - what the answers to several questions have in common */
#include "history/questions.h"
#include "muster/arena.h"
#include "util/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A time before now has the unit h, d or w, and is at least an hour. All else must be a date. */
int muster_history_since(const char *text, int64_t now, const char *what, int64_t *ret, struct muster_error *err)
{
	const long most = 100000L * 604800;
	char day[32];
	long seconds;
	size_t length = strlen(text);
	if (length > 1 && strchr("hdw", text[length - 1]) &&
		muster_parse_seconds(text, 3600, most, &seconds, what, NULL) == 0) {
		*ret = now - seconds;
		return 0;
	}
	snprintf(day, sizeof day, "%.20s%s", text, length == 10 ? "T00:00:00Z" : "");
	if (length > 20 || muster_utc_read(day, ret) < 0)
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: a date as 2026-11-20 or 2026-11-20T12:00:00Z, or a time before now as 36h, 7d or 4w is "
			"needed, found \"%.40s\"",
			what, text);
	return 0;
}

struct muster_value muster_cell_text(const char *text)
{
	return text ? muster_string(text) : muster_null();
}

struct muster_value muster_cell_day(struct muster_arena *arena, int64_t time)
{
	char text[MUSTER_UTC_SIZE];
	muster_utc_text(time, text);
	return muster_string(muster_arena_string_n(arena, text, strcspn(text, "T")));
}

/* From 1,000 on whole numbers: four digits would drop digits before the point. */
struct muster_value muster_cell_rounded(double value)
{
	char text[32];
	snprintf(text, sizeof text, "%.4g", value);
	return muster_number(fabs(value) < 1000 ? strtod(text, NULL) : round(value));
}

void muster_cell_note_use(struct muster_table *table, const struct muster_history_use *use)
{
	if (use->reports < use->of)
		muster_table_note(table,
			"of %zu reports %zu were read, in blocks spread over the time (--reports 0 reads all)", use->of,
			use->reports);
}
