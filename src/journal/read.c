/* read.c - a run from what its ranks have left on disk
 *
 * The files are read twice: first their processes' first lines, which tell the runs apart, then the lines of one run.
 */
#include "journal/read.h"

#include "json/json.h"
#include "model/trend.h"
#include "muster/probe.h"
#include "muster/report.h"
#include "model/limits.h"
#include "journal/left.h"
#include "util/line_reader.h"
#include "journal/write.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 1 << 20 };

struct reading {
	struct muster_journal_set *spooled;
	struct muster_journal_process *all;
	size_t count, room;
	struct muster_record_reader *records;
	char **paths;
	size_t path_count, path; /* path: the one at hand */
};

/* ---- members of a line ---- */

enum key {
	BY,
	SPOOL,
	MUSTER,
	RUN,
	JOB,
	STARTED,
	RANK,
	RANKS,
	NODE_NAME,
	NODELIST,
	SKU,
	OVERLAY,
	PROFILE,
	STRICT,
	REPEATS,
	TIME,
	SAMPLE,
	OUTCOME,
	ABOUT_RANK,
	KEPT,
	STEP,
	TRIAL,
	END,
	KEY_COUNT
};

static const char *const keys[] = { "by", "spool", "muster", "run", "job", "started", "rank", "ranks", "node",
	"nodelist", "sku", "overlay", "profile", "strict", "repeats", "t", "sample", "outcome", "about_rank", "kept",
	"step", "trial", "end" };
_Static_assert(sizeof keys / sizeof *keys == KEY_COUNT, "every key has its name");

struct members {
	const char *text[KEY_COUNT]; /* the raw values */
	size_t length[KEY_COUNT];
};

/* Keys that are not known are of a later version, and mean nothing here. */
static int take_member(
	void *arg, const char *key, size_t index, const char *value, size_t length, struct muster_error *err)
{
	struct members *members = arg;
	(void)index;
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (strcmp(keys[i], key) != 0)
			continue;
		if (members->text[i])
			return muster_fail(err, MUSTER_EUSAGE, "the key \"%s\" occurs twice", key);
		members->text[i] = value;
		members->length[i] = length;
	}
	return 0;
}

static struct muster_json *parse(const struct members *members, enum key key, enum muster_json_type type)
{
	struct muster_json *json = NULL;
	if (!members->text[key] || muster_json_parse(members->text[key], members->length[key], &json, NULL) < 0)
		return NULL;
	if (muster_json_type(json) == type)
		return json;
	muster_json_free(json);
	return NULL;
}

static const char *text_of(struct muster_arena *arena, const struct members *members, enum key key)
{
	struct muster_json *json = parse(members, key, MUSTER_JSON_STRING);
	const char *text = json ? muster_json_string(json) : NULL;
	const char *ret = text && strlen(text) <= MUSTER_RUN_STRING_MAX ? muster_arena_string(arena, text) : NULL;
	muster_json_free(json);
	return ret;
}

static double number_of(const struct members *members, enum key key, double otherwise)
{
	struct muster_json *json = parse(members, key, MUSTER_JSON_NUMBER);
	double ret = json ? muster_json_number(json) : otherwise;
	muster_json_free(json);
	return ret;
}

/* A whole number in [0, high], or -1. */
static int count_of(const struct members *members, enum key key, int high)
{
	double number = number_of(members, key, -1);
	return number >= 0 && number <= high && number <= trunc(number) ? (int)number : -1;
}

static bool true_of(const struct members *members, enum key key)
{
	struct muster_json *json = parse(members, key, MUSTER_JSON_BOOLEAN);
	bool ret = json && muster_json_boolean(json);
	muster_json_free(json);
	return ret;
}

/* ---- the first lines ---- */

static void bad_line(struct reading *r, const char *path, const char *why)
{
	struct muster_journal_set *s = r->spooled;
	s->bad_lines++;
	if (!s->bad_why) {
		s->bad_file = muster_arena_string(s->arena, path);
		s->bad_why = muster_arena_printf(s->arena, "%.*s", MUSTER_JOURNAL_SHOWN, why);
	}
}

static bool is_plain_id(const char *text)
{
	return text && *text && strlen(text) <= 32 && strspn(text, "0123456789abcdef") == strlen(text);
}

static bool known_profile(const char *name)
{
	for (size_t i = 0; name && i < MUSTER_PROFILE_COUNT; i++)
		if (strcmp(name, muster_profile_names[i]) == 0)
			return true;
	return false;
}

static void take_first(struct reading *r, const struct members *members, const char *path)
{
	struct muster_arena *arena = r->spooled->arena;
	struct muster_journal_process left = {
		.by = text_of(arena, members, BY),
		.run = text_of(arena, members, RUN),
		.job = text_of(arena, members, JOB),
		.started = text_of(arena, members, STARTED),
		.version = text_of(arena, members, MUSTER),
		.nodelist = text_of(arena, members, NODELIST),
		.sku = text_of(arena, members, SKU),
		.overlay = text_of(arena, members, OVERLAY),
		.profile = text_of(arena, members, PROFILE),
		.node = text_of(arena, members, NODE_NAME),
		.strict = true_of(members, STRICT),
		.repeats = count_of(members, REPEATS, MUSTER_REPEATS_MAX),
		.rank = count_of(members, RANK, MUSTER_RUN_RANKS_MAX - 1),
		.ranks = count_of(members, RANKS, MUSTER_RUN_RANKS_MAX),
		.stray = count_of(members, RANK, MUSTER_RUN_RANKS_MAX - 1) > 0 &&
			 count_of(members, RANKS, MUSTER_RUN_RANKS_MAX) == 1,
		.order = r->count,
		.path = r->path,
	};
	int version = count_of(members, SPOOL, 1 << 20);
	if (version != MUSTER_SPOOL_VERSION) {
		bad_line(r, path,
			muster_arena_printf(arena,
				"a first line of another version of muster (format %d, and this one reads format %d)",
				version, MUSTER_SPOOL_VERSION));
		return;
	}
	if (!is_plain_id(left.by) || !left.run || !left.started || !left.node || left.rank < 0 || left.ranks < 1 ||
		(left.rank >= left.ranks && !left.stray) || !left.sku || !known_profile(left.profile)) {
		bad_line(r, path, "a malformed first line");
		return;
	}
	if (r->count == r->room) {
		r->room = r->room ? 2 * r->room : 64;
		r->all = muster_realloc(r->all, r->room, sizeof *r->all);
	}
	r->all[r->count++] = left;
}

/* ---- the other lines ---- */

static int by_id(const void *a, const void *b)
{
	const struct muster_journal_process *x = a, *y = b;
	return strcmp(x->by, y->by);
}

static int by_id_and_order(const void *a, const void *b)
{
	const struct muster_journal_process *x = a, *y = b;
	int order = by_id(a, b);
	return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* In the order of their names, each once. */
static void sort_by_id(struct reading *r)
{
	size_t kept = 0;
	qsort(r->all, r->count, sizeof *r->all, by_id_and_order);
	for (size_t i = 0; i < r->count; i++)
		if (kept == 0 || by_id(&r->all[kept - 1], &r->all[i]) != 0)
			r->all[kept++] = r->all[i];
	r->count = kept;
}

static struct muster_journal_process *left_find(struct reading *r, const char *by)
{
	const struct muster_journal_process key = { .by = by };
	return r->count ? bsearch(&key, r->all, r->count, sizeof *r->all, by_id) : NULL;
}

static bool is_of_record(const struct members *members)
{
	return members->text[SAMPLE] || members->text[OUTCOME] || members->text[ABOUT_RANK] || members->text[KEPT];
}

static int take_record(struct reading *r, struct muster_journal_process *left, const char *text, size_t length,
	struct muster_error *err)
{
	if (!left->has_record)
		muster_record_parts_init(&left->record, left->rank);
	left->has_record = true;
	left->record.died = NULL;
	if (muster_record_line(r->records, &left->record, text, length, err) < 0)
		return -1;
	if (left->record.died) {
		left->died = left->record.died;
		left->died_s = left->last_s;
	}
	return 0;
}

static void take_place(struct muster_journal_process *left, const struct members *members)
{
	int rank = count_of(members, RANK, MUSTER_RUN_RANKS_MAX - 1);
	int ranks = count_of(members, RANKS, MUSTER_RUN_RANKS_MAX);
	if (rank < 0 || ranks <= rank || left->has_record)
		return;
	left->rank = rank;
	left->ranks = ranks;
}

static int take_line(
	struct reading *r, const struct members *members, const char *text, size_t length, struct muster_error *err)
{
	struct muster_arena *arena = r->spooled->arena;
	const char *by = text_of(arena, members, BY);
	struct muster_journal_process *left = by ? left_find(r, by) : NULL;
	if (!left || left->path != r->path || members->text[SPOOL])
		return by ? 0 : muster_fail(err, MUSTER_EUSAGE, "a line without \"by\", the process that wrote it");
	left->last_s = number_of(members, TIME, left->last_s);
	if (is_of_record(members))
		return take_record(r, left, text, length, err);
	if (members->text[TRIAL])
		return muster_trial_from_json(
			&r->spooled->told, muster_metric_find, members->text[TRIAL], members->length[TRIAL], err);
	if (members->text[RANKS])
		take_place(left, members);
	if (members->text[STEP]) {
		left->step = text_of(arena, members, STEP);
		left->step_s = left->last_s;
	}
	if (members->text[END])
		left->end = text_of(arena, members, END);
	return 0;
}

/* ---- files ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_files(struct reading *r, const char *directory, struct muster_error *err)
{
	DIR *folder = opendir(directory);
	if (!folder)
		return muster_fail(err, MUSTER_EUSAGE, "%s: %s", directory, strerror(errno));
	for (struct dirent *entry; (entry = readdir(folder)) && r->path_count < FILES_MAX;) {
		size_t length = strlen(entry->d_name);
		if (length <= strlen(".jsonl") || strcmp(entry->d_name + length - strlen(".jsonl"), ".jsonl") != 0)
			continue;
		if ((r->path_count & (r->path_count - 1)) == 0)
			r->paths = muster_realloc(r->paths, r->path_count ? 2 * r->path_count : 1, sizeof *r->paths);
		r->paths[r->path_count++] = muster_asprintf("%s/%s", directory, entry->d_name);
	}
	closedir(folder);
	if (r->path_count)
		qsort(r->paths, r->path_count, sizeof *r->paths, by_text);
	return 0;
}

static bool is_first(const struct members *members)
{
	return members->text[SPOOL] != NULL;
}

static void read_file(struct reading *r, size_t index, bool first)
{
	const char *path = r->paths[index];
	struct muster_line_reader lines;
	struct muster_error err;
	const char *text;
	size_t length;
	int got;
	r->path = index;
	if (muster_line_reader_open(&lines, path, MUSTER_SPOOL_LINE_MAX, &err) < 0) {
		r->spooled->bad_files += first;
		if (first && !r->spooled->bad_why) {
			r->spooled->bad_file = muster_arena_string(r->spooled->arena, path);
			r->spooled->bad_why = muster_arena_string(r->spooled->arena, err.text);
		}
		return;
	}
	while ((got = muster_line_reader_next(&lines, &text, &length)) > 0) {
		struct members members = { 0 };
		if (first && !memmem(text, length, "\"spool\"", strlen("\"spool\"")))
			continue;
		if (muster_json_split_object(text, length, take_member, &members, &err) < 0) {
			if (!first)
				bad_line(r, path, err.text);
		} else if (first && is_first(&members)) {
			take_first(r, &members, path);
		} else if (!first && take_line(r, &members, text, length, &err) < 0) {
			bad_line(r, path, err.text);
		}
	}
	if (!first && lines.too_long)
		bad_line(r, path, "a line longer than muster's maximum");
	if (got < 0 && first)
		r->spooled->bad_files++;
	muster_line_reader_done(&lines);
}

/* ---- one run of them ---- */

static void left_done(struct muster_journal_process *left)
{
	if (!left->has_record)
		return;
	muster_record_parts_done(&left->record);
	left->has_record = false;
}

/* Of this run, or of the one that was started last. */
static void choose_run(struct reading *r, const char *run)
{
	const struct muster_journal_process *last = NULL;
	size_t kept = 0;
	for (size_t i = 0; i < r->count && !run; i++)
		if (!last || strcmp(r->all[i].started, last->started) > 0)
			last = &r->all[i];
	run = last ? last->run : run;
	for (size_t i = 0; i < r->count; i++) {
		bool other = true;
		if (strcmp(r->all[i].run, run) == 0)
			r->all[kept++] = r->all[i];
		else
			for (size_t j = i; j-- > kept && other;) /* neighbours are mostly of one run */
				other = strcmp(r->all[j].run, r->all[i].run) != 0;
		r->spooled->other_runs += strcmp(r->all[i].run, run) != 0 && other;
	}
	r->count = kept;
}

/* All of them would call themselves rank 0 of 1. */
static void part_strays(struct reading *r)
{
	struct muster_journal_set *s = r->spooled;
	size_t kept = 0;
	s->strays = muster_arena_alloc(s->arena, (r->count + 1) * sizeof *s->strays);
	for (size_t i = 0; i < r->count; i++) {
		if (r->all[i].stray)
			s->strays[s->stray_count++] = r->all[i].node;
		else
			r->all[kept++] = r->all[i];
	}
	r->count = kept;
}

static int by_rank(const void *a, const void *b)
{
	const struct muster_journal_process *x = a, *y = b;
	int order = (x->rank > y->rank) - (x->rank < y->rank);
	if (!order) /* a rank that was started again: the later one counts */
		order = strcmp(y->started, x->started);
	return order ? order : (x->order < y->order) - (x->order > y->order);
}

static void settle(struct reading *r)
{
	struct muster_journal_set *s = r->spooled;
	size_t kept = 0;
	if (r->count)
		qsort(r->all, r->count, sizeof *r->all, by_rank);
	for (size_t i = 0; i < r->count; i++) {
		struct muster_journal_process *left = &r->all[i];
		if (kept > 0 && r->all[kept - 1].rank == left->rank) {
			left_done(left);
			continue;
		}
		s->job_ranks = left->ranks > s->job_ranks ? left->ranks : s->job_ranks;
		s->elapsed_s = left->last_s > s->elapsed_s ? left->last_s : s->elapsed_s;
		r->all[kept++] = *left;
	}
	s->ranks = r->all;
	s->rank_count = kept;
	const struct muster_journal_process *first = &s->ranks[0];
	s->run = first->run;
	s->job = first->job;
	s->started = first->started;
	s->version = first->version;
	s->nodelist = first->nodelist;
	s->sku = first->sku;
	s->overlay = first->overlay;
	s->profile = first->profile;
	s->strict = first->strict;
	s->repeats = first->repeats;
}

int muster_journal_set_read(const char *directory, const char *run, struct muster_arena *arena,
	struct muster_journal_set *ret, struct muster_error *err)
{
	struct muster_journal_set spooled = { .arena = arena, .told.arena = arena };
	struct reading r = { .spooled = &spooled, .records = muster_record_reader_new(arena, muster_metric_find) };
	int rc = list_files(&r, directory, err);
	for (size_t i = 0; i < r.path_count && rc == 0; i++)
		read_file(&r, i, true);
	spooled.files = r.path_count;
	if (rc == 0) {
		choose_run(&r, run);
		part_strays(&r);
	}
	if (rc == 0 && (!r.all || r.count == 0)) {
		rc = muster_fail(err, MUSTER_EUSAGE, "%s: none of its %zu .jsonl files contains %s%s%s", directory,
			r.path_count, run ? "this run" : "results of a run with --spool",
			spooled.bad_why ? "; the first problem: " : "", spooled.bad_why ? spooled.bad_why : "");
	} else if (rc == 0) {
		sort_by_id(&r);
		for (size_t i = 0; i < r.path_count; i++)
			read_file(&r, i, false);
		settle(&r);
		*ret = spooled;
	}
	if (rc < 0) {
		free(r.all);
		free(spooled.told.trials);
	}
	for (size_t i = 0; i < r.path_count; i++)
		free(r.paths[i]);
	free(r.paths);
	muster_record_reader_free(r.records);
	return rc;
}

void muster_journal_set_done(struct muster_journal_set *spooled)
{
	for (size_t i = 0; i < spooled->rank_count; i++)
		left_done(&spooled->ranks[i]);
	free(spooled->ranks);
	free(spooled->told.trials);
	*spooled = (struct muster_journal_set){ 0 };
}
