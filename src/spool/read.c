/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - a run from the spools of its ranks
 *
 * The files are read twice: first the first lines of their processes, which tell the runs apart, then the lines of one
 * run. A folder may hold several runs, restarts of a rank, and copies of files. The steps:
 *
 *   1  read_files(first)    every first line becomes a struct muster_spool_process in `all`, in the order of the files
 *   2  mark_older           in that order: after which processes did their node begin another run?
 *   3  choose_run           the run that was asked for, or the last one; each process once; `all` is sorted by id
 *   4  read_files(second)   each line goes to its process, which is found by its id
 *   5  finish_set           `all` is sorted by rank; of several processes of a rank the last start counts
 */
#include "spool/read.h"

#include "spool/write.h"
#include "json/json.h"
#include "model/limits.h"
#include "model/run_json.h"
#include "muster/probe.h"
#include "util/array.h"
#include "util/file.h"
#include "util/line_reader.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	struct muster_spool_set *set;
	struct muster_record_reader *records;
	struct muster_run_reader lines; /* of all other lines; trials go to its run */
	struct muster_spool_process *all;
	size_t count, room;
	const char *path; /* of the file at hand, and its number */
	size_t file;
	struct muster_error err; /* of the line or the file at hand */
};

/* Count a bad line or file. The set keeps place and reason of the first one, whichever it is. */
static void note_bad(struct reading *r, size_t *count, const char *why)
{
	struct muster_spool_set *set = r->set;
	(*count)++;
	if (set->bad_why)
		return;
	set->bad_file = muster_arena_string(set->arena, r->path);
	set->bad_why = muster_arena_printf(set->arena, "%.*s", MUSTER_SPOOL_SHOWN, why);
}

/* ---- the first lines ---- */

static const struct muster_field process_fields[] = {
	{ MUSTER_FIELD(muster_spool_process, by, TEXT), .least = 1, .most = 32 },
};
/* Keys without a field are those of a later version. */
static const struct muster_object_type process_type = {
	.fields = process_fields,
	.count = 1,
	.size = sizeof(struct muster_spool_process),
	.base = &muster_spool_header_type,
	.open = true,
};

/* A first line: one more process. -1 when it is of another version, malformed, or has a rank that its job cannot have.
 * A rank above 0 in a job of one rank is a stray. */
static int take_first(struct reading *r, const struct muster_json *line, const struct muster_json *format)
{
	struct muster_spool_process process = { .file = r->file, .line = r->count };
	const struct muster_spool_header *header = &process.header;
	struct muster_json_reader *json = &r->lines.samples.json;
	double number = muster_json_type(format) == MUSTER_JSON_NUMBER ? muster_json_number(format) : -1;
	if (number < MUSTER_SPOOL_VERSION || number > MUSTER_SPOOL_VERSION)
		return muster_fail(&r->err, MUSTER_EUSAGE,
			"a first line of another version of muster (format %g, and this one reads format %d)", number,
			MUSTER_SPOOL_VERSION);
	if (muster_object_read(json, line, &process_type, &process) < 0)
		return muster_wrap(&r->err, "a malformed first line");
	process.stray = header->rank > 0 && header->ranks == 1;
	if (header->rank >= header->ranks && !process.stray)
		return muster_fail(&r->err, MUSTER_EUSAGE, "a malformed first line: rank %d of %d ranks", header->rank,
			header->ranks);
	MUSTER_ARRAY_PUSH(r->all, r->count, r->room, process);
	return 0;
}

/* ---- the other lines ---- */

struct line {
	const char *step, *end;
	double time_s;
	int rank, ranks; /* 0 ranks: absent */
	const struct muster_json *trial;
};

static const struct muster_field line_fields[] = {
	{ MUSTER_FIELD_AS(line, "t", time_s, NUMBER), .optional = true },
	{ MUSTER_FIELD(line, step, TEXT), .optional = true },
	{ MUSTER_FIELD(line, end, TEXT), .optional = true },
	{ MUSTER_FIELD(line, rank, INT), .low = 0, .high = MUSTER_RUN_RANKS_MAX - 1, .optional = true },
	{ MUSTER_FIELD(line, ranks, INT), .low = 1, .high = MUSTER_RUN_RANKS_MAX, .optional = true },
	{ MUSTER_FIELD(line, trial, JSON), .types = MUSTER_JSON_BIT(MUSTER_JSON_OBJECT), .optional = true },
};
static const struct muster_object_type line_type = MUSTER_OBJECT_TYPE_OPEN(line, line_fields);

static int by_id(const void *a, const void *b)
{
	const struct muster_spool_process *x = a, *y = b;
	return strcmp(x->by, y->by);
}

/* 1: the line is none of a record. */
static int take_record(struct reading *r, struct muster_spool_process *process, const struct muster_json *line)
{
	if (!process->has_record)
		muster_record_parts_init(&process->record, process->header.rank);
	process->record.died = NULL;
	int rc = muster_record_line(r->records, &process->record, line, &r->err);
	process->has_record |= rc <= 0;
	if (process->record.died) {
		process->died = process->record.died;
		process->died_s = process->last_s;
	}
	return rc;
}

/* Any other line: part of a record, a trial, MPI's rank and ranks, a step, or the end; a later line of one kind takes
 * the place of an earlier one, but for parts of the record and trials. MPI's numbers take the place of the launcher's,
 * unless the record has begun. Lines of other runs, and of a process whose first line stands in another file, are
 * ignored. */
static int take_line(struct reading *r, const struct muster_json *json)
{
	struct muster_json_reader *reader = &r->lines.samples.json;
	struct line line = { .time_s = -1 };
	const struct muster_json *by = muster_json_member(json, "by");
	if (!by || muster_json_type(by) != MUSTER_JSON_STRING)
		return muster_fail(&r->err, MUSTER_EUSAGE, "a line without \"by\", the process that wrote it");
	const struct muster_spool_process key = { .by = muster_json_string(by) };
	struct muster_spool_process *process = bsearch(&key, r->all, r->count, sizeof *r->all, by_id);
	if (!process || process->file != r->file)
		return 0;
	if (muster_object_read(reader, json, &line_type, &line) < 0)
		return -1;
	if (line.time_s >= 0)
		process->last_s = line.time_s;
	int rc = take_record(r, process, json);
	if (rc <= 0)
		return rc;
	if (line.trial)
		return muster_json_member_read(reader, "trial", 0, muster_trial_read, NULL, line.trial);
	if (line.ranks > line.rank && !process->has_record) {
		process->stray = process->stray || (process->header.rank > 0 && line.ranks == 1);
		process->header.rank = line.rank;
		process->header.ranks = line.ranks;
	}
	if (line.step) {
		process->step = line.step;
		process->step_s = process->last_s;
	}
	if (line.end)
		process->end = line.end;
	return 0;
}

/* ---- files ---- */

/* A text that is not JSON is counted with the other lines, not with the first ones. */
static int read_line(struct reading *r, bool first, const char *text, size_t length)
{
	static const char key[] = "spool";
	struct muster_json *line = NULL;
	if (first && !memmem(text, length, key, strlen(key)))
		return 0;
	if (muster_json_parse(text, length, &line, &r->err) < 0)
		return first ? 0 : -1;
	const struct muster_json *format = muster_json_member(line, key);
	int rc = 0;
	if (first && format)
		rc = take_first(r, line, format);
	else if (!first && !format)
		rc = take_line(r, line);
	muster_json_free(line);
	return rc;
}

static void read_file(struct reading *r, bool first)
{
	struct muster_line_reader lines;
	const char *text;
	size_t length;
	int got;
	if (muster_line_reader_open(&lines, r->path, MUSTER_SPOOL_LINE_MAX, &r->err) < 0) {
		if (first)
			note_bad(r, &r->set->bad_files, r->err.text);
		return;
	}
	while ((got = muster_line_reader_next(&lines, &text, &length)) > 0)
		if (read_line(r, first, text, length) < 0)
			note_bad(r, &r->set->bad_lines, r->err.text);
	if (got < 0 && first)
		note_bad(r, &r->set->bad_files, strerror(errno));
	if (lines.too_long && !first)
		note_bad(r, &r->set->bad_lines, "a line longer than muster's maximum");
	muster_line_reader_done(&lines);
}

static void read_files(struct reading *r, bool first, const char *directory, const struct muster_names *names)
{
	for (r->file = 0; r->file < names->count; r->file++) {
		char *path = muster_asprintf("%s/%s", directory, names->items[r->file]);
		r->path = path;
		read_file(r, first);
		free(path);
	}
}

/* ---- one run of them ---- */

static void process_done(struct muster_spool_process *process)
{
	if (process->has_record)
		muster_record_parts_done(&process->record);
	process->has_record = false;
}

static int by_run_and_id(const void *a, const void *b)
{
	const struct muster_spool_process *x = a, *y = b;
	int order = strcmp(x->header.run, y->header.run);
	order = order ? order : by_id(a, b);
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* By the times of their starts, which are texts that sort as times do. Of two starts in one second the one that comes
 * first in the files. */
static bool is_later(const struct muster_spool_process *one, const struct muster_spool_process *other)
{
	int order = strcmp(one->header.started, other->header.started);
	return order > 0 || (order == 0 && one->line < other->line);
}

/* Mark the processes after which their node began another run, by the order in its file and by its own clock. */
static void mark_older(struct reading *r)
{
	const struct muster_spool_process **latest =
		muster_calloc(r->set->files + 1, sizeof *latest); /* of each file */
	for (size_t i = r->count; i-- > 0;) {
		struct muster_spool_process *process = &r->all[i];
		const struct muster_spool_process *after = latest[process->file];
		process->older = after && strcmp(after->header.started, process->header.started) > 0 &&
				 strcmp(after->header.run, process->header.run) != 0;
		if (!after || is_later(process, after))
			latest[process->file] = process;
	}
	free(latest);
}

/* The run that was started last, of processes that are sorted by run and marked. The clocks of nodes may differ by
 * hours: a run after which one of its nodes began another run is not the last. */
static const char *find_last_run(const struct reading *r)
{
	const struct muster_spool_process *found[2] = { NULL, NULL }; /* [1]: of runs without older processes */
	for (size_t i = 0, end; i < r->count; i = end) {
		const struct muster_spool_process *latest = &r->all[i];
		bool older = false;
		for (end = i; end < r->count && strcmp(r->all[end].header.run, r->all[i].header.run) == 0; end++) {
			older = older || r->all[end].older;
			if (is_later(&r->all[end], latest))
				latest = &r->all[end];
		}
		for (int which = 0; which < (older ? 1 : 2); which++)
			if (!found[which] || is_later(latest, found[which]))
				found[which] = latest;
	}
	return found[found[1] ? 1 : 0]->header.run;
}

/* Keep the processes of this run (NULL: of the one that was started last), each once, by their ids. */
static void choose_run(struct reading *r, const char *run)
{
	struct muster_spool_set *set = r->set;
	size_t kept = 0;
	if (r->count == 0)
		return;
	mark_older(r); /* in the order of the files */
	qsort(r->all, r->count, sizeof *r->all, by_run_and_id);
	run = run ? run : find_last_run(r);
	for (size_t i = 0; i < r->count; i++) {
		const struct muster_spool_process *process = &r->all[i];
		bool same_run = i > 0 && strcmp(process[-1].header.run, process->header.run) == 0;
		if (strcmp(process->header.run, run) != 0)
			set->other_runs += !same_run;
		else if (same_run && by_id(process - 1, process) == 0)
			continue;
		else
			r->all[kept++] = *process;
	}
	r->count = kept;
}

/* A rank that was started again: the later process comes first. */
static int by_rank(const void *a, const void *b)
{
	const struct muster_spool_process *x = a, *y = b;
	int order = (x->header.rank > y->header.rank) - (x->header.rank < y->header.rank);
	order = order ? order : strcmp(y->header.started, x->header.started);
	return order ? order : (x->line < y->line) - (x->line > y->line);
}

/* The processes become the ranks of the set, each rank once. Of strays, each of which would be rank 0 of 1, only the
 * nodes are kept. */
static void finish_set(struct reading *r)
{
	struct muster_spool_set *set = r->set;
	size_t kept = 0;
	set->strays = muster_arena_alloc(set->arena, r->count * sizeof *set->strays);
	qsort(r->all, r->count, sizeof *r->all, by_rank);
	for (size_t i = 0; i < r->count; i++) {
		struct muster_spool_process *process = &r->all[i];
		if (process->stray)
			set->strays[set->stray_count++] = process->header.node;
		if (process->stray || (kept > 0 && r->all[kept - 1].header.rank == process->header.rank)) {
			process_done(process);
			continue;
		}
		set->job_ranks = process->header.ranks > set->job_ranks ? process->header.ranks : set->job_ranks;
		set->elapsed_s = process->last_s > set->elapsed_s ? process->last_s : set->elapsed_s;
		r->all[kept++] = *process;
	}
	set->ranks = r->all;
	set->rank_count = kept;
	set->header = &set->ranks[0].header;
}

/* *ret is set only when a process was found. Lines and files that are bad do not fail; the first one is part of the
 * error when nothing was found. */
int muster_spool_set_read(const char *directory, const char *run, struct muster_arena *arena,
	struct muster_spool_set *ret, struct muster_error *err)
{
	struct muster_spool_set set = { .arena = arena, .told.arena = arena };
	struct reading r = { .set = &set, .lines.run = &set.told };
	struct muster_names names;
	int rc = 0;
	if (muster_file_names(directory, ".jsonl", alphasort, &names, err) < 0)
		return -1;
	r.records = muster_record_reader_new(arena, muster_metric_find);
	muster_sample_reader_init(&r.lines.samples, arena, muster_metric_find);
	r.lines.samples.json.err = &r.err;
	set.files = names.count;
	read_files(&r, true, directory, &names);
	choose_run(&r, run);
	if (r.count > 0) {
		read_files(&r, false, directory, &names);
		finish_set(&r);
	}
	if (set.rank_count > 0) {
		*ret = set;
	} else {
		free(r.all);
		free(set.told.trials);
		rc = muster_fail(err, MUSTER_EUSAGE, "%s: none of its %zu .jsonl files contains %s", directory,
			names.count, run ? "this run" : "results of a run with --spool");
		if (set.bad_why)
			rc = muster_fail(err, MUSTER_EUSAGE, "%s; the first problem: %s: %s",
				muster_arena_string(arena, err->text), set.bad_file, set.bad_why);
	}
	muster_names_done(&names);
	muster_sample_reader_done(&r.lines.samples);
	muster_record_reader_free(r.records);
	return rc;
}

void muster_spool_set_done(struct muster_spool_set *set)
{
	for (size_t i = 0; i < set->rank_count; i++)
		process_done(&set->ranks[i]);
	free(set->ranks);
	free(set->told.trials);
	*set = (struct muster_spool_set){ 0 };
}
