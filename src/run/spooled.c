/* spooled.c - a run from what its ranks have left on disk
 *
 * The files are read twice: first their processes' first lines, which tell the runs apart, then the lines of one run.
 */
#include "run/spooled.h"

#include "core/trend.h"
#include "core/json.h"
#include "muster/probe.h"
#include "muster/report.h"
#include "report/layout.h"
#include "run/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FILES_MAX = 1 << 20,
	READ_BYTES = 1 << 16,
	SHOWN = 200, /* bytes of a name or a step in a sentence */
};
#define LAST_DEATHS_S 1.0 /* before the last line of all: a death that may be part of everybody's end */

/* What one process left. */
struct muster_left {
	const char *by, *run, *job, *started, *version, *nodelist, *sku, *overlay, *profile;
	const char *node;
	bool strict;
	int repeats;
	int rank, ranks;
	size_t order; /* of the processes, as their first lines were found */
	size_t path;  /* the file that it was in: copies of it elsewhere count for nothing */
	double last_s, died_s;
	const char *died; /* the probe at which its worker died last, at died_s; NULL */
	const char *step; /* the last one */
	double step_s;
	const char *end;           /* NULL: it did not write one */
	struct muster_node record; /* one rank, whose samples are the job's too; no rank when nothing came */
	bool has_record;
};

struct lines { /* a file, line by line */
	int fd;
	char *text;
	size_t room, length, at; /* of text: what was read, where the next line begins */
	bool ended, skipping;    /* skipping: the line at hand is longer than any may be */
	size_t too_long;
};

struct reading {
	struct muster_spooled *spooled;
	struct muster_left *all;
	size_t count, room;
	char **paths;
	size_t path_count, path; /* path: the one at hand */
};

/* ---- lines of a file ---- */

static int lines_open(struct lines *lines, const char *path, struct muster_error *err)
{
	struct stat status;
	*lines = (struct lines){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) };
	if (lines->fd < 0)
		return muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
	if (fstat(lines->fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		close(lines->fd);
		return muster_fail(err, MUSTER_EIO, "%s: no plain file", path);
	}
	return 0;
}

static void lines_done(struct lines *lines)
{
	close(lines->fd);
	free(lines->text);
}

static int lines_fill(struct lines *lines)
{
	if (lines->at > 0) {
		memmove(lines->text, lines->text + lines->at, lines->length - lines->at);
		lines->length -= lines->at;
		lines->at = 0;
	}
	if (lines->length > MUSTER_SPOOL_LINE_MAX) {
		lines->too_long += !lines->skipping;
		lines->skipping = true;
		lines->length = 0;
	}
	if (lines->room - lines->length < READ_BYTES) {
		lines->room = lines->room * 2 + READ_BYTES;
		lines->text = muster_realloc(lines->text, lines->room, 1);
	}
	ssize_t got;
	do
		got = read(lines->fd, lines->text + lines->length, READ_BYTES);
	while (got < 0 && errno == EINTR);
	lines->ended = got == 0;
	lines->length += got > 0 ? (size_t)got : 0;
	return got < 0 ? -1 : 0;
}

/* 1 with the next line that is not empty, which may lack its newline at the end of the file; 0 at the end; -1 when the
 * file cannot be read. */
static int lines_next(struct lines *lines, const char **ret, size_t *ret_length)
{
	for (size_t scanned = 0;;) {
		size_t left = lines->length - lines->at;
		const char *start = lines->text ? lines->text + lines->at : "";
		const char *end = left > scanned ? memchr(start + scanned, '\n', left - scanned) : NULL;
		size_t length = end ? (size_t)(end - start) : left;
		if (!end && !lines->ended) {
			scanned = left;
			if (lines_fill(lines) < 0)
				return -1;
			scanned = lines->length < scanned ? 0 : scanned;
			continue;
		}
		if (!end && left == 0)
			return 0;
		bool skipped = lines->skipping;
		lines->skipping = false;
		lines->at += length + (end != NULL);
		scanned = 0;
		if (length == 0 || skipped)
			continue;
		*ret = start;
		*ret_length = length;
		return 1;
	}
}

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
	KEPT,
	STEP,
	TRIAL,
	END,
	KEY_COUNT
};

static const char *const keys[] = { "by", "spool", "muster", "run", "job", "started", "rank", "ranks", "node",
	"nodelist", "sku", "overlay", "profile", "strict", "repeats", "t", "kept", "step", "trial", "end" };
_Static_assert(sizeof keys / sizeof *keys == KEY_COUNT, "every key has its name");

struct members {
	const char *text[KEY_COUNT]; /* the raw values */
	size_t length[KEY_COUNT];
};

/* Keys that are not known are of a later version, and mean nothing here. */
static int take_member(void *arg, const char *key, const char *value, size_t length, struct muster_error *err)
{
	struct members *members = arg;
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (strcmp(keys[i], key) != 0)
			continue;
		if (members->text[i])
			return muster_fail(err, MUSTER_EUSAGE, "the key \"%s\" stands twice", key);
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

static const char *text_of(struct muster_pool *pool, const struct members *members, enum key key)
{
	struct muster_json *json = parse(members, key, MUSTER_JSON_STRING);
	const char *text = json ? muster_json_string(json) : NULL;
	const char *ret = text && strlen(text) <= MUSTER_REPORT_STRING_MAX ? muster_pool_string(pool, text) : NULL;
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
	struct muster_spooled *s = r->spooled;
	s->bad_lines++;
	if (!s->bad_why) {
		s->bad_file = muster_pool_string(s->pool, path);
		s->bad_why = muster_pool_printf(s->pool, "%.*s", SHOWN, why);
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
	struct muster_pool *pool = r->spooled->pool;
	struct muster_left left = {
		.by = text_of(pool, members, BY),
		.run = text_of(pool, members, RUN),
		.job = text_of(pool, members, JOB),
		.started = text_of(pool, members, STARTED),
		.version = text_of(pool, members, MUSTER),
		.nodelist = text_of(pool, members, NODELIST),
		.sku = text_of(pool, members, SKU),
		.overlay = text_of(pool, members, OVERLAY),
		.profile = text_of(pool, members, PROFILE),
		.node = text_of(pool, members, NODE_NAME),
		.strict = true_of(members, STRICT),
		.repeats = count_of(members, REPEATS, MUSTER_REPEATS_MAX),
		.rank = count_of(members, RANK, MUSTER_REPORT_RANKS_MAX - 1),
		.ranks = count_of(members, RANKS, MUSTER_REPORT_RANKS_MAX),
		.order = r->count,
		.path = r->path,
	};
	if (count_of(members, SPOOL, 1 << 20) != MUSTER_SPOOL_VERSION) {
		bad_line(r, path, "a first line of another version of muster");
		return;
	}
	if (!is_plain_id(left.by) || !left.run || !left.started || !left.node || left.rank < 0 || left.ranks < 1 ||
		left.rank >= left.ranks || !left.sku || !known_profile(left.profile)) {
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
	const struct muster_left *x = a, *y = b;
	return strcmp(x->by, y->by);
}

static int by_id_and_order(const void *a, const void *b)
{
	const struct muster_left *x = a, *y = b;
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

static struct muster_left *left_find(struct reading *r, const char *by)
{
	const struct muster_left key = { .by = by };
	return r->count ? bsearch(&key, r->all, r->count, sizeof *r->all, by_id) : NULL;
}

static void outcome_put(struct muster_outcomes *outcomes, struct muster_outcome outcome)
{
	for (size_t i = 0; i < outcomes->count; i++) {
		if (strcmp(outcomes->items[i].probe, outcome.probe) == 0) {
			outcomes->items[i] = outcome;
			return;
		}
	}
	muster_outcomes_add(outcomes, outcome);
}

static int take_record(
	struct reading *r, struct muster_left *left, const struct members *members, struct muster_error *err)
{
	struct muster_run scratch = { .pool = r->spooled->pool, .job.ranks = left->ranks };
	int kept = count_of(members, KEPT, MUSTER_REPORT_SAMPLES_MAX);
	int rc = kept < 0 ? muster_fail(err, MUSTER_EUSAGE, "no number of samples that are kept")
			  : muster_node_from_json(&scratch, members->text[NODE_NAME], members->length[NODE_NAME], err);
	if (rc == 0 && (scratch.nodes[0].rank_count != 1 || scratch.nodes[0].ranks[0].rank != left->rank))
		rc = muster_fail(err, MUSTER_EUSAGE, "a record that is not of its own rank alone");
	if (rc == 0 && left->has_record && (size_t)kept > left->record.ranks[0].samples.count)
		rc = muster_fail(err, MUSTER_EUSAGE, "samples of an earlier line are not there");
	if (rc == 0 && !left->has_record) {
		left->record = (struct muster_node){ .name = scratch.nodes[0].name };
		muster_node_add_rank(&left->record, left->rank);
		left->has_record = true;
	}
	if (rc == 0) {
		struct muster_node *to = &left->record, *from = &scratch.nodes[0];
		struct muster_rank *rank = &to->ranks[0], *news = &from->ranks[0];
		to->name = from->name;
		to->simulated |= from->simulated;
		rank->local_rank = news->local_rank;
		rank->gpu = news->gpu;
		rank->gpu_uuid = news->gpu_uuid;
		if ((size_t)kept < rank->samples.count)
			rank->samples.count = (size_t)kept;
		for (size_t i = 0; i < from->samples.count; i++)
			muster_samples_add(&to->samples, from->samples.items[i]);
		for (size_t i = 0; i < news->samples.count; i++)
			muster_samples_add(&rank->samples, news->samples.items[i]);
		for (size_t i = 0; i < scratch.job.samples.count; i++)
			muster_samples_add(&rank->samples, scratch.job.samples.items[i]);
		for (size_t i = 0; i < news->outcomes.count; i++) {
			outcome_put(&rank->outcomes, news->outcomes.items[i]);
			if (news->outcomes.items[i].status != MUSTER_OUTCOME_CRASHED)
				continue;
			left->died = news->outcomes.items[i].probe;
			left->died_s = left->last_s;
		}
	}
	scratch.pool = NULL;
	muster_run_done(&scratch);
	return rc;
}

static void take_place(struct muster_left *left, const struct members *members)
{
	int rank = count_of(members, RANK, MUSTER_REPORT_RANKS_MAX - 1);
	int ranks = count_of(members, RANKS, MUSTER_REPORT_RANKS_MAX);
	if (rank < 0 || ranks <= rank || left->has_record)
		return;
	left->rank = rank;
	left->ranks = ranks;
}

static int take_line(struct reading *r, const struct members *members, struct muster_error *err)
{
	struct muster_pool *pool = r->spooled->pool;
	const char *by = text_of(pool, members, BY);
	struct muster_left *left = by ? left_find(r, by) : NULL;
	if (!left || left->path != r->path || members->text[SPOOL])
		return by ? 0 : muster_fail(err, MUSTER_EUSAGE, "a line that does not say whose it is");
	left->last_s = number_of(members, TIME, left->last_s);
	if (members->text[NODE_NAME])
		return take_record(r, left, members, err);
	if (members->text[TRIAL])
		return muster_trial_from_json(&r->spooled->told, members->text[TRIAL], members->length[TRIAL], err);
	if (members->text[RANKS])
		take_place(left, members);
	if (members->text[STEP]) {
		left->step = text_of(pool, members, STEP);
		left->step_s = left->last_s;
	}
	if (members->text[END])
		left->end = text_of(pool, members, END);
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
	struct lines lines;
	struct muster_error err;
	const char *text;
	size_t length;
	int got;
	r->path = index;
	if (lines_open(&lines, path, &err) < 0) {
		r->spooled->bad_files += first;
		if (first && !r->spooled->bad_why) {
			r->spooled->bad_file = muster_pool_string(r->spooled->pool, path);
			r->spooled->bad_why = muster_pool_string(r->spooled->pool, err.text);
		}
		return;
	}
	while ((got = lines_next(&lines, &text, &length)) > 0) {
		struct members members = { 0 };
		if (first && !memmem(text, length, "\"spool\"", strlen("\"spool\"")))
			continue;
		if (muster_json_split_object(text, length, take_member, &members, &err) < 0) {
			if (!first)
				bad_line(r, path, err.text);
		} else if (first && is_first(&members)) {
			take_first(r, &members, path);
		} else if (!first && take_line(r, &members, &err) < 0) {
			bad_line(r, path, err.text);
		}
	}
	if (!first && lines.too_long)
		bad_line(r, path, "a line that is longer than any of muster's");
	if (got < 0 && first)
		r->spooled->bad_files++;
	lines_done(&lines);
}

/* ---- one run of them ---- */

static void left_done(struct muster_left *left)
{
	if (!left->has_record)
		return;
	muster_samples_done(&left->record.samples);
	muster_samples_done(&left->record.ranks[0].samples);
	free(left->record.ranks[0].outcomes.items);
	free(left->record.ranks);
	left->has_record = false;
}

/* Of this run, or of the one that was started last. */
static void choose_run(struct reading *r, const char *run)
{
	const struct muster_left *last = NULL;
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

static int by_rank(const void *a, const void *b)
{
	const struct muster_left *x = a, *y = b;
	int order = (x->rank > y->rank) - (x->rank < y->rank);
	if (!order) /* a rank that was started again: the later one counts */
		order = strcmp(y->started, x->started);
	return order ? order : (x->order < y->order) - (x->order > y->order);
}

static void settle(struct reading *r)
{
	struct muster_spooled *s = r->spooled;
	size_t kept = 0;
	if (r->count)
		qsort(r->all, r->count, sizeof *r->all, by_rank);
	for (size_t i = 0; i < r->count; i++) {
		struct muster_left *left = &r->all[i];
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
	const struct muster_left *first = &s->ranks[0];
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

int muster_spooled_read(const char *directory, const char *run, struct muster_pool *pool, struct muster_spooled *ret,
	struct muster_error *err)
{
	struct muster_spooled spooled = { .pool = pool, .told.pool = pool };
	struct reading r = { .spooled = &spooled };
	int rc = list_files(&r, directory, err);
	for (size_t i = 0; i < r.path_count && rc == 0; i++)
		read_file(&r, i, true);
	spooled.files = r.path_count;
	if (rc == 0)
		choose_run(&r, run);
	if (rc == 0 && (!r.all || r.count == 0)) {
		rc = muster_fail(err, MUSTER_EUSAGE,
			"%s: none of its %zu files with names that end in .jsonl holds %s%s%s", directory, r.path_count,
			run ? "this run" : "what a run with --spool has left",
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
	return rc;
}

void muster_spooled_done(struct muster_spooled *spooled)
{
	for (size_t i = 0; i < spooled->rank_count; i++)
		left_done(&spooled->ranks[i]);
	free(spooled->ranks);
	free(spooled->told.trials);
	*spooled = (struct muster_spooled){ 0 };
}

size_t muster_spooled_ended(const struct muster_spooled *spooled)
{
	size_t count = 0;
	for (size_t i = 0; i < spooled->rank_count; i++)
		count += spooled->ranks[i].end && !*spooled->ranks[i].end;
	return count;
}

const char *muster_spooled_interrupted(const struct muster_spooled *spooled)
{
	for (size_t i = 0; i < spooled->rank_count; i++)
		if (spooled->ranks[i].end && *spooled->ranks[i].end)
			return spooled->ranks[i].end;
	return NULL;
}

/* ---- into the run ---- */

static struct muster_node *node_of(struct muster_run *run, const char *name)
{
	for (size_t i = run->node_count; i-- > 0;)
		if (strcmp(run->nodes[i].name, name) == 0)
			return &run->nodes[i];
	return muster_run_add_node(run, name);
}

/* Take a missing rank out of the run; why it was said to be missing. */
static const char *take_out(struct muster_run *run, int number)
{
	for (size_t n = 0; n < run->node_count; n++) {
		struct muster_node *node = &run->nodes[n];
		for (size_t i = 0; i < node->rank_count; i++) {
			struct muster_rank *rank = &node->ranks[i];
			if (rank->rank != number || !rank->missing)
				continue;
			const char *why = rank->missing;
			memmove(rank, rank + 1, (node->rank_count - i - 1) * sizeof *rank);
			node->rank_count--;
			return why;
		}
	}
	return NULL;
}

static const char *last_sign(const struct muster_left *left, struct muster_pool *pool)
{
	if (left->step)
		return muster_pool_printf(
			pool, "its last sign, %.0f s after its start, was: %.*s", left->step_s, SHOWN, left->step);
	return muster_pool_printf(pool, "its last sign came %.0f s after its start, before any step", left->last_s);
}

static void put(const struct muster_left *left, struct muster_run *run, const char *why)
{
	struct muster_node *node = node_of(run, left->has_record ? left->record.name : left->node);
	struct muster_rank *rank = muster_node_add_rank(node, left->rank);
	if (left->has_record) {
		const struct muster_rank *from = &left->record.ranks[0];
		node->simulated |= left->record.simulated;
		run->job.simulated |= left->record.simulated;
		rank->local_rank = from->local_rank;
		rank->gpu = from->gpu;
		rank->gpu_uuid = from->gpu_uuid;
		for (size_t i = 0; i < left->record.samples.count; i++)
			muster_samples_add(&node->samples, left->record.samples.items[i]);
		for (size_t i = 0; i < from->outcomes.count; i++)
			muster_outcomes_add(&rank->outcomes, from->outcomes.items[i]);
		for (size_t i = 0; i < from->samples.count; i++) {
			const struct muster_sample *sample = &from->samples.items[i];
			bool of_job = sample->metric->scope == MUSTER_SCOPE_JOB;
			muster_samples_add(of_job ? &run->job.samples : &rank->samples, *sample);
		}
	}
	if (!left->end || !left->has_record)
		rank->unfinished = muster_pool_printf(
			run->pool, "%s; %s", left->end && *left->end ? left->end : why, last_sign(left, run->pool));
}

size_t muster_spooled_add(const struct muster_spooled *spooled, struct muster_run *run, const char *why)
{
	enum { ABSENT, MISSING, HERE };
	char *known = muster_calloc((size_t)spooled->job_ranks, sizeof *known);
	size_t count = 0;
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t i = 0; i < run->nodes[n].rank_count; i++)
			if (run->nodes[n].ranks[i].rank < spooled->job_ranks)
				known[run->nodes[n].ranks[i].rank] = run->nodes[n].ranks[i].missing ? MISSING : HERE;
	for (size_t i = 0; i < spooled->rank_count; i++) {
		const struct muster_left *left = &spooled->ranks[i];
		if (known[left->rank] == HERE)
			continue;
		const char *reason = known[left->rank] == MISSING ? take_out(run, left->rank) : NULL;
		put(left, run, reason ? reason : why);
		count++;
	}
	free(known);
	for (size_t i = run->trial_count; i < spooled->told.trial_count; i++) /* rank 0 has told them all, or none */
		muster_run_add_trial(run, spooled->told.trials[i]);
	muster_run_sort(run);
	return count;
}

/* When everything is ended from outside, some supervisors live long enough to note that their workers went first. */
static void excuse_last_deaths(const struct muster_spooled *spooled)
{
	for (size_t i = 0; i < spooled->rank_count; i++) {
		const struct muster_left *left = &spooled->ranks[i];
		if (left->end || !left->died || spooled->elapsed_s - left->died_s > LAST_DEATHS_S)
			continue;
		struct muster_outcomes *outcomes = &left->record.ranks[0].outcomes;
		for (size_t o = 0; o < outcomes->count; o++) {
			if (strcmp(outcomes->items[o].probe, left->died) != 0)
				continue;
			outcomes->items[o].status = MUSTER_OUTCOME_ERROR;
			outcomes->items[o].code = muster_code_name(MUSTER_EINTERRUPTED);
		}
	}
}

static void add_missing(struct muster_run *run)
{
	bool *here = muster_calloc((size_t)run->job.ranks, sizeof *here);
	struct muster_node *nowhere = NULL;

	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			here[run->nodes[n].ranks[r].rank] = true;
	for (int rank = 0; rank < run->job.ranks; rank++) {
		if (here[rank])
			continue;
		if (!nowhere)
			nowhere = muster_run_add_node(run, "?");
		muster_node_add_rank(nowhere, rank)->missing = "it left nothing on disk";
	}
	free(here);
	muster_run_sort(run);
}

/* Does some rank prove that the run went on to its end? Otherwise it was ended as a whole, and that so many ranks did
 * not come to theirs says nothing about them. */
static const char *interruption(const struct muster_spooled *spooled)
{
	const char *why = muster_spooled_interrupted(spooled);

	return why                                 ? why
	       : muster_spooled_ended(spooled) > 0 ? NULL
						   : "no rank came to its end: all were ended from outside";
}

void muster_spooled_make(const struct muster_spooled *spooled, struct muster_run *run)
{
	run->job = (struct muster_job){
		.id = spooled->job,
		.started = spooled->started,
		.elapsed_s = spooled->elapsed_s,
		.profile = spooled->profile,
		.ranks = spooled->job_ranks,
		.version = spooled->version,
		.interrupted = interruption(spooled),
		.assembled = true,
		.repeats = spooled->repeats,
	};
	if (muster_spooled_ended(spooled) == 0)
		excuse_last_deaths(spooled);
	muster_spooled_add(spooled, run, "it did not come to its end");
	if (run->job.repeats > 1)
		muster_run_fold_repeats(run);
	add_missing(run);
}
