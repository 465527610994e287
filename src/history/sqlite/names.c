/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the table of texts, and lists of parts, which are such texts: JSON arrays of strings and null
 *
 * A row of the table names is an id and a text, each text once. Nodes, keys, checks, machine types, profiles and
 * versions are such texts, and so is a list of parts: a JSON array as ["0001:00:00.0","0002:00:00.0",null], where null
 * is the whole node. Names are never removed, so what was read once is kept until the history is closed (h->names, by
 * id).
 */
#include "history/sqlite/history.h"

#include "json/json.h"
#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

/* The entry of an id in h->names, which grows to hold it; NULL with err for an id that no history has. Without the
 * limit a damaged id could take all memory. The pointer is good until the next call. */
static struct muster_history_name *entry_of(struct muster_history *h, int64_t id, struct muster_error *err)
{
	size_t index = (size_t)id;
	if (id <= 0 || id > MUSTER_HISTORY_NAMES_MAX) {
		(void)muster_history_damaged(h, "a row refers to a name that cannot be", err);
		return NULL;
	}
	if (index >= h->name_count) {
		size_t count = index + index / 2 + 64;
		h->names = muster_realloc(h->names, count, sizeof *h->names);
		memset(h->names + h->name_count, 0, (count - h->name_count) * sizeof *h->names);
		h->name_count = count;
	}
	return &h->names[index];
}

const char *muster_history_name(struct muster_history *h, int64_t id, struct muster_error *err)
{
	struct muster_history_name *entry = entry_of(h, id, err);
	if (!entry || entry->text)
		return entry ? entry->text : NULL;
	if (!h->find_text)
		h->find_text = muster_history_statement(h, "SELECT text FROM names WHERE id = ?1", err);
	if (!h->find_text)
		return NULL;
	h->sql->bind_int64(h->find_text, 1, id);
	int rc = muster_history_step(h, h->find_text, err);
	if (rc > 0 && h->sql->column_type(h->find_text, 0) == SQLITE_TEXT)
		entry->text = muster_arena_string(h->arena, (const char *)h->sql->column_text(h->find_text, 0));
	else if (rc >= 0)
		(void)muster_history_damaged(h, "a row refers to a name that is not there", err);
	h->sql->reset(h->find_text);
	return entry->text;
}

/* Read the list of parts of a name that was read: an array of texts and null with at least one element. -1 with err. */
static int read_parts(struct muster_history *h, struct muster_history_name *entry, struct muster_error *err)
{
	struct muster_json *json;
	size_t count = 0;
	if (muster_json_parse(entry->text, strlen(entry->text), &json, NULL) < 0)
		return muster_history_damaged(h, "a list of parts cannot be read", err);
	const char **parts = muster_arena_alloc(h->arena, (muster_json_size(json) + 1) * sizeof(*parts));
	bool good = muster_json_type(json) == MUSTER_JSON_ARRAY && muster_json_size(json) > 0;
	for (const struct muster_json *at = muster_json_first(json); at && good; at = muster_json_next(at)) {
		enum muster_json_type type = muster_json_type(at);
		good = type == MUSTER_JSON_STRING || type == MUSTER_JSON_NULL;
		if (type == MUSTER_JSON_STRING)
			parts[count] = muster_arena_string(h->arena, muster_json_string(at));
		count++;
	}
	muster_json_free(json);
	if (!good)
		return muster_history_damaged(h, "a list of parts is none", err);
	entry->parts = parts;
	entry->part_count = count;
	return 0;
}

int muster_history_parts(
	struct muster_history *h, int64_t id, const char *const **ret, size_t *ret_count, struct muster_error *err)
{
	static const char *const whole[] = { NULL };
	if (id == 0) {
		*ret = whole;
		*ret_count = 1;
		return 0;
	}
	if (!muster_history_name(h, id, err))
		return -1;
	struct muster_history_name *entry = &h->names[id];
	if (!entry->parts && read_parts(h, entry, err) < 0)
		return -1;
	*ret = entry->parts;
	*ret_count = entry->part_count;
	return 0;
}

/* 1 with the id of the text in *ret; 0, and *ret is 0, when no row has the text; -1 with err. */
static int look_up(struct muster_history *h, const char *text, int64_t *ret, struct muster_error *err)
{
	if (!h->find_id)
		h->find_id = muster_history_statement(h, "SELECT id FROM names WHERE text = ?1", err);
	if (!h->find_id)
		return -1;
	h->sql->bind_text(h->find_id, 1, text, -1, SQLITE_STATIC);
	int rc = muster_history_step(h, h->find_id, err);
	*ret = rc > 0 ? h->sql->column_int64(h->find_id, 0) : 0;
	h->sql->reset(h->find_id);
	return rc;
}

/* A new name is part of the transaction of the caller, and is gone if that is rolled back. */
int muster_history_name_id(struct muster_history *h, const char *text, bool add, int64_t *ret, struct muster_error *err)
{
	*ret = 0;
	if (!text)
		return 0;
	int rc = look_up(h, text, ret, err);
	if (rc != 0 || !add)
		return rc < 0 ? -1 : 0;
	sqlite3_stmt *statement = muster_history_statement(h, "INSERT INTO names(text) VALUES (?1)", err);
	if (!statement)
		return -1;
	h->sql->bind_text(statement, 1, text, -1, SQLITE_STATIC);
	rc = muster_history_step(h, statement, err);
	h->sql->finalize(statement);
	if (rc < 0)
		return -1;
	*ret = h->sql->last_insert_rowid(h->db);
	if (*ret <= MUSTER_HISTORY_NAMES_MAX)
		return 0;
	return muster_fail(
		err, MUSTER_EUSAGE, "%s: no more than %d different names", h->path, MUSTER_HISTORY_NAMES_MAX);
}

void muster_history_names_done(struct muster_history *h)
{
	h->sql->finalize(h->find_text);
	h->sql->finalize(h->find_id);
	free(h->names);
	muster_arena_free(h->arena);
}
