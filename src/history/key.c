/* SPDX-License-Identifier: Apache-2.0 */
/* key.c - what was measured, as a text: a metric and its labels
 *
 *   key    = metric [ "{" label { "," label } "}" ]
 *   label  = name "=" value
 *   value  = number | word | a string as in JSON
 *
 * Labels are in the order of the metric's row, so that one measurement has one key. A word has no character that ends a
 * value, and is no number: "nan" and "1e3" are written as strings, or they would come back as numbers.
 */
#include "history/values.h"

#include "json/json.h"
#include "muster/arena.h"
#include "muster/probe.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

/* Labels that say where, with whom, or what a limit was computed from, are in no key. */
static bool is_in_key(const char *label)
{
	enum muster_role role = muster_label_role(label);
	return role == MUSTER_ROLE_KEY || role == MUSTER_ROLE_OF_PLACE || role == MUSTER_ROLE_ROUTE;
}

/* Whether a text can stand in a key without quotes: it has only characters of a word, and strtod(3) does not read all
 * of it as a number. */
static bool is_bare(const char *text)
{
	char *end;
	(void)strtod(text, &end);
	return *text && *end &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:+-")] == '\0';
}

/* 17 digits bring each double back as it was. A metric without labels of the key is its name alone. */
const char *muster_history_key(struct muster_arena *arena, const struct muster_metric *metric,
	const struct muster_label *labels, size_t label_count)
{
	char *text;
	size_t length;
	const char *before = "{";
	FILE *out = NULL;
	for (size_t i = 0; i < label_count; i++) {
		if (!is_in_key(labels[i].key))
			continue;
		if (!out) {
			out = muster_memory_open(&text, &length);
			fputs(metric->name, out);
		}
		fprintf(out, "%s%s=", before, labels[i].key);
		if (labels[i].value.type == MUSTER_NUMBER)
			fprintf(out, "%.17g", labels[i].value.number);
		else if (is_bare(labels[i].value.string))
			fputs(labels[i].value.string, out);
		else
			muster_utf8_quote(out, labels[i].value.string);
		before = ",";
	}
	if (!out)
		return muster_arena_string(arena, metric->name);
	fputc('}', out);
	muster_memory_close(out);
	return muster_arena_take(arena, text);
}

/* ---- the way back ---- */

/* Read the value that begins at text, up to "," or "}" or the end of a string. Returns its length, or 0 when there is
 * no value. Texts go to the arena. */
static size_t read_value(struct muster_arena *arena, const char *text, struct muster_value *ret)
{
	size_t length = 1;
	if (*text == '"') {
		struct muster_json *json;
		while (text[length] && text[length] != '"')
			length += text[length] == '\\' && text[length + 1] ? 2 : 1;
		if (!text[length++] || muster_json_parse(text, length, &json, NULL) < 0)
			return 0;
		*ret = muster_string(muster_arena_string(arena, muster_json_string(json)));
		muster_json_free(json);
		return length;
	}
	char *end;
	length = strcspn(text, ",}");
	const char *word = muster_arena_string_n(arena, text, length);
	double number = strtod(word, &end);
	*ret = *end == '\0' ? muster_number(number) : muster_string(word);
	return length;
}

/* Read "{label=value,...}" at `at`, with nothing behind it. *ret_count is set only when all of it was read; -1 when it
 * is no such list, or has more labels than a metric can have. */
static int read_labels(struct muster_arena *arena, const char *at, struct muster_label *ret, size_t *ret_count)
{
	size_t count = 0;
	do {
		size_t length = strspn(++at, "abcdefghijklmnopqrstuvwxyz_");
		if (count == MUSTER_LABELS_MAX || length == 0 || at[length] != '=')
			return -1;
		ret[count].key = muster_arena_string_n(arena, at, length);
		at += length + 1;
		length = read_value(arena, at, &ret[count].value);
		if (length == 0)
			return -1;
		at += length;
		count++;
	} while (*at == ',');
	*ret_count = count;
	return strcmp(at, "}") == 0 ? 0 : -1;
}

int muster_history_key_read(struct muster_arena *arena, const char *key, const struct muster_metric **ret_metric,
	struct muster_label *ret_labels, size_t *ret_label_count, struct muster_error *err)
{
	size_t length = strcspn(key, "{");
	const struct muster_metric *metric = muster_metric_find(muster_arena_string_n(arena, key, length));
	if (!metric)
		return muster_fail(err, MUSTER_EUSAGE, "\"%.*s\" is no metric of this muster", (int)length, key);
	*ret_label_count = 0;
	if (key[length] && read_labels(arena, key + length, ret_labels, ret_label_count) < 0)
		return muster_fail(err, MUSTER_EUSAGE,
			"\"%s\": after the metric, labels as in \"{bytes=8388608,nodes=2}\" are needed", key);
	*ret_metric = metric;
	return 0;
}
