/* SPDX-License-Identifier: Apache-2.0 */
/* add.c - one report becomes rows, all of them or none
 *
 * Two hashes tell what to do. The identity is of the run: a report with another one is new. The evaluation is of
 * verdicts and findings: a run that is there with another evaluation was judged again, by a newer muster or other
 * expectations, so its verdicts and findings are written anew. Values are what was measured, and stay.
 *
 *    in the history                          written                        *ret
 *    no report with this start and identity  all                            ADDED
 *    with another evaluation                 report, verdicts, findings     UPDATED
 *    with this evaluation                    nothing                        UNCHANGED
 *
 * Values of one key on one node are one row, in the order of the report, with a list of their parts that most reports
 * of the node share (names.c). So the order of a report's parts must not depend on chance. An example: eight GPUs of
 * one node with a bandwidth each become one row of samples, with the id of the list of their eight bus ids, and 33
 * bytes (pack.h).
 */
#include "history/sqlite/history.h"

#include "history/node_status.h"
#include "history/pack.h"
#include "json/writer.h"
#include "muster/arena.h"
#include "muster/run_data.h"
#include "slurm/node_selection.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

/* The statements, each prepared once for a report. Numbers are bound to ?1, ?2 ... by muster_history_put(). */
enum {
	REPORT_FIND,
	REPORT_ADD,
	REPORT_UPDATE,
	VERDICT_FORGET,
	FINDINGS_FORGET,
	VERDICT_ADD,
	FINDING_ADD,
	SAMPLE_ADD,
	STATEMENTS
};

static const char *const sql[STATEMENTS] = {
	[REPORT_FIND] = "SELECT id, evaluation FROM reports WHERE started = ?1 AND identity = ?2",
	/* in the order of the columns */
	[REPORT_ADD] = "INSERT INTO reports VALUES (NULL, ?1, ?2, ?3, ?10, ?4, ?6, ?7, ?8, ?9, ?5)",
	[REPORT_UPDATE] = "UPDATE reports SET evaluation = ?1, type = ?2, verdict = ?3 WHERE id = ?4",
	[VERDICT_FORGET] = "DELETE FROM verdicts WHERE node = ?1 AND report = ?2",
	[FINDINGS_FORGET] = "DELETE FROM findings WHERE node = ?1 AND report = ?2",
	[VERDICT_ADD] = "INSERT INTO verdicts(node, report, status) VALUES (?1, ?2, ?3)",
	/* of several findings of one check at one part the worst one, which comes first */
	[FINDING_ADD] = "INSERT OR IGNORE INTO findings VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	[SAMPLE_ADD] = "INSERT INTO samples(key, report, node, parts, packed) VALUES (?1, ?2, ?3, ?4, ?5)",
};

struct sample {
	const char *key, *node, *part; /* the arena's: equal texts are one pointer */
	double value;
	size_t order; /* in the report */
};

/* What is known while one report is added. */
struct addition {
	struct muster_history *h;
	const struct muster_report *report;
	struct muster_error *err;
	struct muster_arena *arena;
	sqlite3_stmt *statements[STATEMENTS];
	struct muster_history_report described;
	struct muster_node_status *nodes;
	size_t node_count;
	struct muster_node_selection selection;
	struct sample *samples;
	size_t sample_count, sample_room;
	int64_t id; /* of the report; 0: not known yet */
};

/* ---- what is the same run, and the same evaluation of it ---- */

/* The hash so_far with one text more. The text counts with its NUL, so that "ab", "c" is another evaluation than "a",
 * "bc". NULL counts as a byte that no text has. */
static uint64_t hash_text(uint64_t so_far, const char *text)
{
	return text ? muster_hash_more(so_far, text, strlen(text) + 1) : muster_hash_more(so_far, "\xff", 1);
}

/* The hash of what makes a run the one that it is, beside its start: job, duration, profile, number of ranks and names
 * of nodes. A report assembled from files is as long as the files say, which changes while ranks still write: its
 * duration does not count. Numbers are hashed with their lowest byte first, so that all machines agree. */
static int64_t identity_of(const struct addition *a)
{
	const struct muster_job *job = &a->report->run->job;
	uint64_t so_far = hash_text(MUSTER_HASH_START, job->id);
	double elapsed = job->assembled ? -1 : job->elapsed_s;
	uint64_t bits;
	memcpy(&bits, &elapsed, sizeof bits);
	for (int i = 0; i < 64; i += 8)
		so_far = muster_hash_more(so_far, &(unsigned char){ (unsigned char)(bits >> i) }, 1);
	so_far = hash_text(so_far, job->profile);
	for (int i = 0; i < 32; i += 8)
		so_far =
			muster_hash_more(so_far, &(unsigned char){ (unsigned char)((unsigned int)job->ranks >> i) }, 1);
	for (size_t i = 0; i < a->node_count; i++)
		so_far = hash_text(so_far, a->nodes[i].name);
	return (int64_t)so_far;
}

/* Whether a finding is worth a row: it failed, warned or was inconclusive. */
static bool is_kept(const struct muster_finding *finding)
{
	return finding->status == MUSTER_FAIL || finding->status == MUSTER_WARN ||
	       finding->status == MUSTER_INCONCLUSIVE;
}

/* The node that a finding belongs to: in a run of one node, that node. NULL for a finding of a larger job. */
static const char *node_of(const struct addition *a, const struct muster_finding *finding)
{
	return finding->node ? finding->node : a->node_count == 1 ? a->nodes[0].name : NULL;
}

static const char *part_of(const struct muster_finding *finding)
{
	return finding->gpu ? finding->gpu : finding->port;
}

/* What the finding says about the machine: it is among the faults of a node in the selection, or says nothing. */
static enum muster_history_fault fault_of(const struct addition *a, const struct muster_finding *finding)
{
	for (size_t i = 0; i < a->selection.count; i++)
		for (size_t j = 0; j < a->selection.entries[i].faults; j++)
			if (a->selection.entries[i].failures[j] == finding)
				return finding->proof == MUSTER_PROOF_HARD ? MUSTER_FAULT_HARD : MUSTER_FAULT_SOFT;
	return MUSTER_FAULT_NONE;
}

/* The hash of all that an evaluation of the report makes: machine type, verdicts, and the findings that are kept. The
 * fault of a finding counts only where it is not the one that the upgrade to schema version 2 (schema.c) gave to rows
 * of an older muster: such a report, added again, is then unchanged. */
static int64_t evaluation_of(const struct addition *a)
{
	uint64_t so_far = hash_text(MUSTER_HASH_START, a->described.machine_type);
	so_far = hash_text(so_far, muster_status_name(a->described.verdict));
	for (size_t i = 0; i < a->node_count; i++)
		so_far = hash_text(so_far, muster_status_name(a->nodes[i].status));
	for (size_t i = 0; i < a->report->finding_count; i++) {
		const struct muster_finding *finding = &a->report->findings[i];
		if (!is_kept(finding))
			continue;
		so_far = hash_text(hash_text(so_far, node_of(a, finding)), finding->check);
		so_far = hash_text(hash_text(so_far, part_of(finding)), muster_status_name(finding->status));
		/* what an older muster has stored of the others holds */
		enum muster_history_fault fault = fault_of(a, finding);
		if (fault != (finding->status == MUSTER_FAIL ? MUSTER_FAULT_SOFT : MUSTER_FAULT_NONE))
			so_far = muster_hash_more(so_far, &(unsigned char){ (unsigned char)fault }, 1);
	}
	return (int64_t)so_far;
}

/* ---- rows ---- */

/* The id of a text, which gets one if it has none. NULL is 0. */
static int name_id(struct addition *a, const char *text, int64_t *ret)
{
	return muster_history_name_id(a->h, text, true, ret, a->err);
}

/* Run a statement that gives no row, with these numbers. */
static int put(struct addition *a, int statement, const int64_t *numbers, size_t count)
{
	return muster_history_put(a->h, a->statements[statement], numbers, count, a->err);
}

/* Add the row of the report, and set a->id; or, where a->id is known, give the row the new evaluation. */
static int add_report(struct addition *a, int64_t identity, int64_t evaluation)
{
	const struct muster_history_report *r = &a->described;
	int64_t type, profile, version;
	if (name_id(a, r->machine_type, &type) < 0 || name_id(a, r->profile, &profile) < 0 ||
		name_id(a, r->version, &version) < 0)
		return -1;
	if (a->id != 0)
		return put(a, REPORT_UPDATE, (const int64_t[]){ evaluation, type, (int64_t)r->verdict, a->id }, 4);
	if (r->job)
		a->h->sql->bind_text(a->statements[REPORT_ADD], 10, r->job, -1, SQLITE_STATIC);
	const int64_t row[] = { r->started, identity, evaluation, type, (int64_t)r->verdict, profile, version,
		(r->simulated ? MUSTER_HISTORY_SIMULATED : 0) | (r->beside_jobs ? MUSTER_HISTORY_BESIDE_JOBS : 0),
		(int64_t)r->nodes };
	if (put(a, REPORT_ADD, row, sizeof row / sizeof *row) < 0)
		return -1;
	a->id = a->h->sql->last_insert_rowid(a->h->db);
	return 0;
}

/* Write the verdict of each node and the findings at nodes anew. A finding of the job, or of the node "?", has no row.
 */
static int add_verdicts(struct addition *a)
{
	for (size_t i = 0; i < a->node_count; i++) {
		int64_t node;
		if (name_id(a, a->nodes[i].name, &node) < 0 ||
			put(a, VERDICT_FORGET, (const int64_t[]){ node, a->id }, 2) < 0 ||
			put(a, FINDINGS_FORGET, (const int64_t[]){ node, a->id }, 2) < 0 ||
			put(a, VERDICT_ADD, (const int64_t[]){ node, a->id, (int64_t)a->nodes[i].status }, 3) < 0)
			return -1;
	}
	for (size_t i = 0; i < a->report->finding_count; i++) {
		const struct muster_finding *finding = &a->report->findings[i];
		const char *name = node_of(a, finding);
		int64_t node, check, part;
		if (!is_kept(finding) || !name || strcmp(name, "?") == 0)
			continue;
		if (name_id(a, name, &node) < 0 || name_id(a, finding->check, &check) < 0 ||
			name_id(a, part_of(finding), &part) < 0 ||
			put(a, FINDING_ADD,
				(const int64_t[]){ node, a->id, check, part, (int64_t)finding->status,
					(int64_t)fault_of(a, finding) },
				6) < 0)
			return -1;
	}
	return 0;
}

/* ---- values ---- */

/* For muster_history_values(): keep a value, with texts of its own. */
static int take_value(void *arg, const struct muster_history_value *value, struct muster_error *err)
{
	struct addition *a = arg;
	const struct sample sample = {
		.key = muster_arena_string(a->arena, value->key),
		.node = muster_arena_string(a->arena, value->node),
		.part = muster_arena_string(a->arena, value->part),
		.value = value->value,
		.order = a->sample_count,
	};
	(void)err;
	MUSTER_ARRAY_PUSH(a->samples, a->sample_count, a->sample_room, sample);
	return 0;
}

static int by_key_and_node(const void *x, const void *y)
{
	const struct sample *a = x, *b = y;
	if (a->key != b->key)
		return strcmp(a->key, b->key);
	if (a->node != b->node)
		return muster_text_order(a->node, b->node);
	return a->order < b->order ? -1 : a->order > b->order;
}

/* The id of the list of the parts of these samples, such as ["0001:00:00.0","0002:00:00.0"]; 0 for one number of the
 * whole node. */
static int parts_id(struct addition *a, const struct sample *samples, size_t count, int64_t *ret)
{
	*ret = 0;
	if (count == 1 && !samples[0].part)
		return 0;
	struct muster_json_writer_text text;
	muster_json_writer_text_begin(&text);
	muster_json_writer_array(&text.w);
	for (size_t i = 0; i < count; i++)
		muster_json_writer_string(&text.w, samples[i].part);
	muster_json_writer_array_end(&text.w);
	char *list = muster_json_writer_text_end(&text);
	int rc = name_id(a, list, ret);
	free(list);
	return rc;
}

/* Add one row of samples: count values of one key on one node. Equal values are stored as one number, and a whole
 * number as an integer, which SQLite keeps in as few bytes as it needs; a double holds whole numbers up to 2^53
 * exactly. Different values become the bytes of muster_pack(). */
static int add_row(struct addition *a, int64_t key, const struct sample *samples, size_t count)
{
	sqlite3_stmt *statement = a->statements[SAMPLE_ADD];
	int64_t node, parts;
	double *values = muster_calloc(count, sizeof *values);
	unsigned char *packed = muster_calloc(MUSTER_PACK_SIZE(count), 1);
	for (size_t i = 0; i < count; i++)
		values[i] = samples[i].value;
	int rc = name_id(a, samples[0].node, &node) < 0 ? -1 : parts_id(a, samples, count, &parts);
	if (rc == 0) {
		if (!muster_pack_is_one(values, count))
			a->h->sql->bind_blob(
				statement, 5, packed, (int)muster_pack(values, count, packed), SQLITE_STATIC);
		else if (values[0] >= -9007199254740992.0 && values[0] <= 9007199254740992.0 &&
			 !((double)(int64_t)values[0] < values[0]) && !((double)(int64_t)values[0] > values[0]))
			a->h->sql->bind_int64(statement, 5, (int64_t)values[0]);
		else
			a->h->sql->bind_double(statement, 5, values[0]);
		rc = put(a, SAMPLE_ADD, (const int64_t[]){ key, a->id, node, parts }, 4);
		a->h->sql->bind_null(statement, 5); /* the bytes are gone */
	}
	free(packed);
	free(values);
	return rc;
}

/* Add all values of the report, sorted by key and node: one row for each pair of these. */
static int add_samples(struct addition *a)
{
	int64_t key = 0;
	if (muster_history_values(a->report, take_value, a, a->err) < 0)
		return -1;
	if (a->sample_count)
		qsort(a->samples, a->sample_count, sizeof *a->samples, by_key_and_node);
	for (size_t i = 0, end; i < a->sample_count; i = end) {
		const struct sample *first = &a->samples[i];
		for (end = i; end < a->sample_count && a->samples[end].key == first->key &&
			      a->samples[end].node == first->node;)
			end++;
		if ((i == 0 || first[-1].key != first->key) && name_id(a, first->key, &key) < 0)
			return -1;
		if (add_row(a, key, first, end - i) < 0)
			return -1;
	}
	return 0;
}

/* ---- all of it ---- */

/* Look the report up, and write what is not there. *ret says which of the three cases it is. */
static int add_in_transaction(struct addition *a, enum muster_history_added *ret)
{
	sqlite3_stmt *find = a->statements[REPORT_FIND];
	int64_t identity = identity_of(a), evaluation = evaluation_of(a);
	a->h->sql->bind_int64(find, 1, a->described.started);
	a->h->sql->bind_int64(find, 2, identity);
	int rc = muster_history_step(a->h, find, a->err);
	a->id = rc > 0 ? a->h->sql->column_int64(find, 0) : 0;
	bool same = rc > 0 && a->h->sql->column_int64(find, 1) == evaluation;
	a->h->sql->reset(find);
	*ret = rc == 0 ? MUSTER_HISTORY_ADDED : same ? MUSTER_HISTORY_UNCHANGED : MUSTER_HISTORY_UPDATED;
	if (rc < 0 || same)
		return rc < 0 ? -1 : 0;
	if (add_report(a, identity, evaluation) < 0 || add_verdicts(a) < 0)
		return -1;
	return *ret == MUSTER_HISTORY_ADDED ? add_samples(a) : 0;
}

/* Add the report in a transaction of its own, or within one of the caller, of which a failure undoes only this report.
 */
static int add_prepared(struct addition *a, enum muster_history_added *ret)
{
	struct muster_error ignored;
	const char *const *words =
		!a->h->sql->get_autocommit(a->h->db) /* several reports in a transaction of the caller */
			? (const char *const[]){ "SAVEPOINT one", "RELEASE one", "ROLLBACK TO one; RELEASE one" }
			: (const char *const[]){ "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK" };
	if (muster_history_exec(a->h, words[0], a->err) < 0)
		return -1;
	int rc = add_in_transaction(a, ret);
	if (rc == 0)
		rc = muster_history_exec(a->h, words[1], a->err);
	if (rc < 0)
		(void)muster_history_exec(a->h, words[2], &ignored);
	return rc;
}

int muster_history_add(struct muster_history *h, const struct muster_report *report, enum muster_history_added *ret,
	struct muster_error *err)
{
	struct addition a = { .h = h, .report = report, .err = err };
	enum muster_history_added added = MUSTER_HISTORY_ADDED;
	int rc = 0;
	muster_history_describe(report, &a.described);
	if (a.described.started == MUSTER_HISTORY_NEVER)
		return muster_fail(err, MUSTER_EUSAGE,
			"$.run.job.started: a time as \"2026-11-23T12:24:01Z\" is needed, so that a history can keep "
			"the report");
	a.arena = muster_arena_new();
	a.nodes = muster_node_statuses(report, &a.node_count);
	muster_node_selection_make(report, NULL, 0, &a.selection);
	for (size_t i = 0; i < STATEMENTS && rc == 0; i++) {
		a.statements[i] = muster_history_statement(h, sql[i], err);
		rc = a.statements[i] ? 0 : -1;
	}
	if (rc == 0)
		rc = add_prepared(&a, &added);
	for (size_t i = 0; i < STATEMENTS; i++)
		h->sql->finalize(a.statements[i]);
	muster_node_selection_done(&a.selection);
	free(a.samples);
	free(a.nodes);
	muster_arena_free(a.arena);
	if (rc == 0)
		*ret = added;
	return rc;
}
