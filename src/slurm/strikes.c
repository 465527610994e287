/* SPDX-License-Identifier: Apache-2.0 */
/* strikes.c - soft findings of nodes and when they were first seen
 *
 * The file is read at the start of `muster drain` or `muster resume`, changed in memory, and written at the end with
 * --apply. `muster nodes --waiting` only reads it. With --history the history takes the place of the file.
 *
 * The file has two lists of one form:
 *
 *    { "strikes": [ { "node": "gpu-2", "check": "copy.h2d", "part": "000b:00:00.0",
 *                     "first": "2026-11-29T12:00:00Z", "by": "prolog" } ],
 *      "passes": [] }
 *
 * A strike is a soft finding that a run saw at `first`. The same finding in a run a minute later drains the node
 * (muster_strikes_take). The strike is removed when the check passes at that place in a later run
 * (muster_strikes_forgive).
 *
 * A pass says that the fault of a drained node was gone in the run at `first`. Gone again ten minutes later brings the
 * node back, and the pass is removed (muster_strikes_passed). A soft finding of the check anywhere on the node removes
 * it, too (muster_strikes_take).
 *
 * Times are those of the runs, not of the clock: reports may be applied late, or twice. The same run applied twice is
 * no second run, because nothing lies between. An entry that is older than MUSTER_STRIKE_KEPT_S, or later than the run,
 * does not count, and the run takes its place: the clock may have been wrong once.
 */
#include "slurm/strikes.h"

#include "json/object.h"
#include "muster/arena.h"
#include "util/array.h"
#include "util/file.h"
#include "util/input.h"
#include "util/text.h"
#include "util/utc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 16 << 20, STRIKES_MAX = 100000, TEXT_MAX = 4096 }; /* of a file that is read: outside input */

/* A field that must be a time: read as text, and checked. A time that cannot be read would make each age wrong. */
static int read_time(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	int64_t time;
	if (muster_json_text_read(r, into, json) < 0)
		return -1;
	return muster_utc_read(*(const char **)into, &time) == 0
		       ? 0
		       : muster_json_reader_fail(r, "a time like 2026-11-29T02:40:10Z is needed");
}

static const struct muster_field strike_fields[] = {
	{ MUSTER_FIELD(muster_strike, node, TEXT), .least = 1 },
	{ MUSTER_FIELD(muster_strike, check, TEXT), .least = 1 },
	{ MUSTER_FIELD(muster_strike, part, TEXT) },
	{ MUSTER_FIELD(muster_strike, first, TEXT), .read = read_time },
	{ MUSTER_FIELD(muster_strike, by, NAME), .names = muster_drained_by_names,
		.name_count = MUSTER_DRAINED_BY_COUNT },
};
static const struct muster_object_type strike_type = MUSTER_OBJECT_TYPE(muster_strike, strike_fields);

static const struct muster_field file_fields[] = {
	{ MUSTER_FIELD(muster_strikes, strikes, OBJECT), MUSTER_FIELD_MANY(muster_strikes, strike_count),
		.object = &strike_type, .most = STRIKES_MAX },
	{ MUSTER_FIELD(muster_strikes, passes, OBJECT), MUSTER_FIELD_MANY(muster_strikes, pass_count),
		.object = &strike_type, .most = STRIKES_MAX },
};
static const struct muster_object_type file_type = MUSTER_OBJECT_TYPE(muster_strikes, file_fields);

/* The file beside the report, malloc'd: "muster-strikes.json" in its folder. */
static char *path_of(const char *report)
{
	const char *slash = strrchr(report, '/');
	return muster_asprintf("%.*smuster-strikes.json", slash ? (int)(slash + 1 - report) : 0, report);
}

/* A copy of the entries, malloc'd, with room for count of them. The arrays of the reader are the arena's, and an array
 * that grows must be malloc'd. The texts stay in the arena. */
static struct muster_strike *copy_of(const struct muster_strike *strikes, size_t count)
{
	struct muster_strike *copy = muster_calloc(count + 1, sizeof *copy);
	if (count > 0)
		memcpy(copy, strikes, count * sizeof *copy);
	return copy;
}

/* A file that is there and cannot be read is an error, never an empty list: the caller says that no earlier run
 * counts. */
int muster_strikes_read(const char *report, struct muster_strikes *ret, struct muster_error *err)
{
	struct muster_strikes read = { 0 };
	struct muster_arena *arena = muster_arena_new();
	struct muster_json_reader reader = { .arena = arena, .err = err, .text_max = TEXT_MAX };
	struct muster_json *json = NULL;
	struct stat file = { 0 };
	char *path = path_of(report), *text = NULL;
	size_t length;
	int fd = muster_file_open_read(path, err), rc = fd < 0 && err->code != MUSTER_EABSENT ? -1 : 0;
	if (fd >= 0) {
		rc = fstat(fd, &file) < 0 ? muster_fail(err, MUSTER_EIO, "%s: its owner is not known", path)
					  : muster_input_read_open(fd, path, FILE_BYTES_MAX, &text, &length, err);
		if (rc == 0 && (muster_json_parse(text, length, &json, err) < 0 ||
				       muster_object_read(&reader, json, &file_type, &read) < 0))
			rc = muster_wrap(err, "%s", path);
		close(fd);
	}
	muster_json_free(json);
	free(text);
	free(path);
	*ret = (struct muster_strikes){
		.arena = arena,
		.strikes = copy_of(read.strikes, read.strike_count),
		.passes = copy_of(read.passes, read.pass_count),
		.strike_count = read.strike_count,
		.pass_count = read.pass_count,
		.file = file,
	};
	if (rc < 0)
		muster_strikes_done(ret);
	return rc;
}

/* The new file replaces the old one in one step (muster_file_commit), so a reader never sees half of it. */
int muster_strikes_write(const char *report, const struct muster_strikes *strikes, struct muster_error *err)
{
	struct muster_json_writer writer;
	struct muster_file file;
	char *path = path_of(report);
	int rc = 0;
	if (strikes->changed && strikes->strike_count + strikes->pass_count == 0) {
		if (unlink(path) < 0 && errno != ENOENT)
			rc = muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
	} else if (strikes->changed && (rc = muster_file_open(&file, path, err)) == 0) {
		muster_json_writer_init(&writer, file.out, MUSTER_WRITER_DEPTH_MAX);
		muster_object_write(&writer, &file_type, strikes);
		rc = muster_file_commit(&file, err);
	}
	free(path);
	return rc < 0 ? muster_wrap(err, "first strikes and passes are not kept") : 0;
}

void muster_strikes_done(struct muster_strikes *strikes)
{
	free(strikes->strikes);
	free(strikes->passes);
	muster_arena_free(strikes->arena);
	*strikes = (struct muster_strikes){ 0 };
}

static const char *part_of(const struct muster_finding *finding)
{
	return finding->gpu ? finding->gpu : finding->port ? finding->port : "";
}

/* The entry of this node, check and part; part NULL: of any part. NULL when there is none. */
static struct muster_strike *find(
	struct muster_strike *list, size_t count, const char *node, const char *check, const char *part)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].node, node) == 0 && strcmp(list[i].check, check) == 0 &&
			(!part || strcmp(list[i].part, part) == 0))
			return &list[i];
	return NULL;
}

/* Remove one entry of list; the last one takes its place. */
static void drop(struct muster_strikes *strikes, struct muster_strike *list, size_t *count, struct muster_strike *one)
{
	*one = list[--*count];
	strikes->changed = true;
}

/* Append a copy of one to *list, with `at` as its `first`. All texts of the new entry go to the arena, which is made
 * here for strikes that were {0}. */
static void add(struct muster_strikes *strikes, struct muster_strike **list, size_t *count, struct muster_strike one,
	int64_t at)
{
	char first[MUSTER_UTC_SIZE];
	strikes->arena = strikes->arena ? strikes->arena : muster_arena_new();
	*list = muster_realloc(*list, *count + 1, sizeof **list);
	(*list)[(*count)++] = (struct muster_strike){
		.node = muster_arena_string(strikes->arena, one.node),
		.check = muster_arena_string(strikes->arena, one.check),
		.part = muster_arena_string(strikes->arena, one.part),
		.first = muster_arena_string(strikes->arena, muster_utc_text(at, first)),
		.by = one.by,
	};
	strikes->changed = true;
}

/* Seconds from the run of the entry to the run that began at `at`; negative for a report that is older than the entry.
 */
static int64_t age_of(const struct muster_strike *one, int64_t at)
{
	int64_t first = 0;
	(void)muster_utc_read(one->first, &first);
	return at - first;
}

bool muster_strike_counts(const struct muster_strike *one, int64_t at)
{
	int64_t age = age_of(one, at);
	return age >= 0 && age <= MUSTER_STRIKE_KEPT_S;
}

/* A soft finding also ends the way back of the node: passes of its check are removed for all parts, because a reason
 * names only one of several parts that failed. */
bool muster_strikes_take(struct muster_strikes *strikes, const struct muster_finding *finding, const char *node,
	int64_t at, enum muster_drained_by by, const char **ret_first)
{
	const struct muster_strike one = { .node = node, .check = finding->check, .part = part_of(finding), .by = by };
	struct muster_strike *pass, *known;
	*ret_first = NULL;
	if (finding->proof == MUSTER_PROOF_HARD)
		return true;
	while ((pass = find(strikes->passes, strikes->pass_count, node, one.check, NULL)))
		drop(strikes, strikes->passes, &strikes->pass_count, pass);
	known = find(strikes->strikes, strikes->strike_count, node, one.check, one.part);
	if (known && !muster_strike_counts(known, at)) {
		drop(strikes, strikes->strikes, &strikes->strike_count, known);
		known = NULL;
	}
	*ret_first = known ? known->first : NULL;
	if (!known)
		add(strikes, &strikes->strikes, &strikes->strike_count, one, at);
	return known && age_of(known, at) >= MUSTER_STRIKE_GAP_S;
}

/* The strike is looked at as if it were the reason of a drain, by the same rule. */
bool muster_strike_is_gone(const void *report, const struct muster_strike *one)
{
	struct muster_error err;
	struct muster_drain_reason reason = { .by = one->by };
	snprintf(reason.check, sizeof reason.check, "%s", one->check);
	snprintf(reason.part, sizeof reason.part, "%s", one->part);
	return muster_fault_is_gone(report, one->node, &reason, &err);
}

/* From the last entry to the first, since drop() moves the last one. Only entries of earlier runs are forgotten: a run
 * says nothing about what a later one has found. */
void muster_strikes_forgive(struct muster_strikes *strikes, muster_strike_gone_fn *is_gone, const void *run, int64_t at)
{
	for (size_t i = strikes->strike_count; i-- > 0;) {
		const struct muster_strike *one = &strikes->strikes[i];
		if (age_of(one, at) > 0 && is_gone(run, one))
			drop(strikes, strikes->strikes, &strikes->strike_count, &strikes->strikes[i]);
	}
}

/* Three cases, by the age of the first pass of this node, check and part:
 *
 *    none that counts (muster_strike_counts)    this is the first pass; false
 *    less than MUSTER_RETURN_GAP_S              the first pass stays as it is; false
 *    between the two                            the first pass is removed; true
 */
bool muster_strikes_passed(
	struct muster_strikes *strikes, const char *node, const struct muster_drain_reason *reason, int64_t at)
{
	struct muster_strike *pass = find(strikes->passes, strikes->pass_count, node, reason->check, reason->part);
	if (pass && age_of(pass, at) >= MUSTER_RETURN_GAP_S && muster_strike_counts(pass, at)) {
		drop(strikes, strikes->passes, &strikes->pass_count, pass);
		return true;
	}
	if (pass && !muster_strike_counts(pass, at)) {
		drop(strikes, strikes->passes, &strikes->pass_count, pass);
		pass = NULL;
	}
	if (!pass)
		add(strikes, &strikes->passes, &strikes->pass_count,
			(struct muster_strike){ node, reason->check, reason->part, NULL, reason->by }, at);
	return false;
}
