/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - writing JSON
 *
 * A stream: nothing is built in memory, so a report of 100,000 ranks costs no more than its text.
 */
#ifndef MUSTER_JSON_WRITER_H
#define MUSTER_JSON_WRITER_H

#include "muster/value.h"

#include <stdbool.h>
#include <stdio.h>

enum { MUSTER_WRITER_DEPTH_MAX = 64 };

/* Keys and strings are escaped, and so is every character that could drive a terminal; bytes that are
 * not UTF-8 become U+FFFD. Numbers are written so that they read back exactly; NaN and infinity become null. */
struct muster_json_writer {
	FILE *out;
	int depth;
	int indent_depth; /* levels that are broken into lines; deeper ones stay on their line. 0: all on one line */
	bool first[MUSTER_WRITER_DEPTH_MAX];
	bool after_key;
	struct muster_sample_texts *sample_texts; /* NULL: none are kept (model/sample_json.h) */
	const char *incomplete; /* the key of the first text that had to be there and was NULL (object.h) */
};

void muster_json_writer_init(struct muster_json_writer *w, FILE *out, int indent_depth);

/* JSON in memory, on one line: what is written to w.out until the end becomes a malloc'd text. Running out of memory
 * ends the process. */
struct muster_json_writer_text {
	struct muster_json_writer w;
	char *text;
	size_t length;
};
void muster_json_writer_text_begin(struct muster_json_writer_text *text);
char *muster_json_writer_text_end(
	struct muster_json_writer_text *text); /* text->text, of text->length bytes: the caller's */

void muster_json_writer_object(struct muster_json_writer *w);
void muster_json_writer_object_end(struct muster_json_writer *w);
void muster_json_writer_array(struct muster_json_writer *w);
void muster_json_writer_array_end(struct muster_json_writer *w);
void muster_json_writer_key(struct muster_json_writer *w, const char *key);
void muster_json_writer_string(struct muster_json_writer *w, const char *string); /* NULL writes null */
void muster_json_writer_number(struct muster_json_writer *w, double number);
void muster_json_writer_boolean(struct muster_json_writer *w, bool boolean);
/* A value, or the begin of one, that is JSON already, on one line. */
void muster_json_writer_ready(struct muster_json_writer *w, const char *text, size_t length);
void muster_json_writer_value(struct muster_json_writer *w, struct muster_value value);
/* key and value, or the begin of one, in one */
void muster_json_writer_pair(struct muster_json_writer *w, const char *key, struct muster_value value);
void muster_json_writer_object_of(struct muster_json_writer *w, const char *key);
void muster_json_writer_array_of(struct muster_json_writer *w, const char *key);
/* The labels as an object. */
void muster_json_writer_labels(struct muster_json_writer *w, const struct muster_label *labels, size_t count);
/* The pair, or nothing when text is NULL. */
void muster_json_writer_text(struct muster_json_writer *w, const char *key, const char *text);

/* Everything that is opened until the matching line_end, which takes what line_begin returned, stays on one line: for
 * objects that are rows of a table to the eye, in a file that is else broken into lines. */
int muster_json_writer_line_begin(struct muster_json_writer *w);
void muster_json_writer_line_end(struct muster_json_writer *w, int saved);

#endif
