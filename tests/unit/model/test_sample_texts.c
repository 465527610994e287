/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample_texts.c - samples whose text was read or written before are what they are without that
 *
 * Samples are written with ' in place of ".
 */
#include "model/sample_json.h"

#include "check_main.h"
#include "muster/arena.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

static const struct muster_metric metrics[] = {
	{ .name = "a.gbps", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_GPU, .labels = { "gpu", "bytes" } },
	{ .name = "a.count", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK },
	{ .name = "a.text", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK },
	{ .name = "a.truth", .type = MUSTER_BOOLEAN, .scope = MUSTER_SCOPE_RANK },
};

static const struct muster_metric *find(const char *name)
{
	for (size_t i = 0; i < LENGTH(metrics); i++)
		if (strcmp(metrics[i].name, name) == 0)
			return &metrics[i];
	return NULL;
}

/* Read an array of samples, as it stands in a report, and write it again. NULL with err. */
static char *again(const char *text, struct muster_error *err)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_sample_reader reader;
	struct muster_samples job = { 0 }, node = { 0 }, rank = { 0 };
	struct muster_json_stream s = { .text = text, .length = strlen(text) };
	muster_sample_reader_init(&reader, arena, find);
	reader.json.err = err;
	struct muster_json_writer_text written = { .text = NULL };
	if (muster_samples_read(&reader.json, &s,
		    (struct muster_sample_lists){ MUSTER_HOLDER_RANK, { &job, &node, &rank } }) == 0) {
		muster_json_writer_text_begin(&written);
		written.w.sample_texts = muster_sample_texts_new();
		muster_samples_write(&written.w, &rank);
		muster_sample_texts_free(written.w.sample_texts);
		muster_json_writer_text_end(&written);
	}
	muster_sample_reader_done(&reader);
	muster_samples_done(&rank);
	muster_arena_free(arena);
	return written.text;
}

/* `sample` many times, between others, with each of the ends behind its last comma and blank. */
static char *many(const char *sample, const char *const *ends, size_t count)
{
	static const char *const others[] = { "{'metric': 'a.count', 'value': -3}",
		"{'metric': 'a.truth', 'value': true}" };
	char *list = NULL;
	for (size_t i = 0; i < 4 * count; i++) {
		muster_list_add(&list, ", ", "%s%s", sample, ends[i % count]);
		muster_list_add(&list, ", ", "%s", others[i % 3 % 2]);
	}
	char *text = muster_asprintf("[%s]", list);
	free(list);
	for (char *at = text; (at = strchr(at, '\''));)
		*at = '"';
	return text;
}

static const struct {
	const char *sample;
	const char *ends[6];
} same[] = {
	{ "{'metric': 'a.count', 'value': ", { "1}", "2.5}", "-0.001}", "9e+99}", "2.5}", "0.30000000000000004}" } },
	{ "{'metric': 'a.gbps', 'labels': {'gpu': 'x', 'bytes': 8}, 'value': ",
		{ "1}", "2, 'values': [2, 3.5]}", "3, 'tries': [2, 3]}", "4, 'values': [2, 3, 4], 'tries': [1, 4]}",
			"5}", "null, 'reason': 'lost', 'unread': 'absent'}" } },
	{ "{'metric': 'a.gbps', 'labels': {'gpu': 'x', 'bytes': ",
		{ "1}, 'value': 1}", "2}, 'value': 1}", "1}, 'value': 2}", "3}, 'value': 1}", "2}, 'value': 0.1}",
			"1}, 'value': null, 'reason': 'x'}" } },
	{ "{'metric': 'a.text', 'value': ",
		{ "'a'}", "'b'}", "'\\'value\\': 1'}", "null, 'reason': 'a'}", "null, 'reason': 'b'}",
			"null, 'reason': 'b', 'unread': 'absent'}" } },
	{ "{'metric': 'a.truth', 'value': ",
		{ "true}", "false}", "true}", "true}", "null, 'reason': 'true'}", "false}" } },
};

TEST_EACH(samples_are_written_as_they_were_read, same)
{
	struct muster_error err;
	char *text = many(same[_i].sample, same[_i].ends, LENGTH(same[_i].ends)), *written = again(text, &err);
	ck_assert_ptr_nonnull(written);
	ck_assert_str_eq(written, text);
	free(written);
	free(text);
}

static const struct {
	const char *end, *error; /* behind "'value': " */
} wrong[] = {
	{ "01}", "malformed number" },
	{ "1e999}", "a number is too large for a double" },
	{ "1, 'value': 2}", "the key \"value\" occurs twice" },
	{ "1, 'unit': 2}", "unit: unknown key" },
	{ "1, 'reason': 'x'}", "\"reason\" is only allowed with a value that is null" },
	{ "1, 'values': [1]}", "at least 2 elements are needed" },
	{ "1, 'tries': [1, 2, 3]}", "at most 2 elements are allowed" },
	{ "1, 'labels': {'gpu': 'x'}}", "a.count has no label \"gpu\"" },
	{ "true}", "a.count is a number, found true or false" },
	{ "null}", "the key \"reason\" is needed" },
	{ "1]", "'}' is needed here" },
};

TEST_EACH(a_text_that_begins_as_a_known_one_is_checked_as_any_other, wrong)
{
	struct muster_error err = { 0 };
	const char *ends[] = { "1}", "2}", "3, 'values': [1, 3]}", "3}", wrong[_i].end };
	char *text = many("{'metric': 'a.count', 'value': ", ends, LENGTH(ends)), *written = again(text, &err);
	ck_assert_ptr_null(written);
	ck_assert_ptr_nonnull(strstr(err.text, "[8]")); /* the ninth sample of the list */
	ck_assert_msg(strstr(err.text, wrong[_i].error) != NULL, "%s", err.text);
	free(text);
}

TEST_MAIN(.setup = NULL)
