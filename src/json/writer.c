/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - JSON as a stream
 *
 * Each function writes at once; the writer only remembers how deep it is, and for each open object or array whether it
 * has a member yet (`first`). Objects down to level indent_depth have a line for each member, deeper ones stay on one
 * line. With indent_depth 2:
 *
 *    {
 *      "run": {
 *        "job": { ... },        level 3: on one line
 *        "nodes": [ ... ]
 *      }
 *    }
 *
 * With indent_depth 0 all is on one line, as for lines of a protocol. muster_json_writer_line_begin lowers indent_depth
 * for a while: an array of samples has one sample on each line. The *_unlocked functions of stdio take no lock for each
 * character: a report has gigabytes, and only one thread writes to its stream.
 */
#include "json/writer.h"

#include "json/number.h"
#include "util/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void muster_json_writer_init(struct muster_json_writer *w, FILE *out, int indent_depth)
{
	*w = (struct muster_json_writer){ .out = out, .indent_depth = indent_depth, .first = { true } };
}

void muster_json_writer_text_begin(struct muster_json_writer_text *text)
{
	muster_json_writer_init(&text->w, muster_memory_open(&text->text, &text->length), 0);
}

char *muster_json_writer_text_end(struct muster_json_writer_text *text)
{
	muster_memory_close(text->w.out);
	return text->text;
}

/* A line break and two blanks for each open level: one call of fwrite for the usual depth. */
static void new_line(struct muster_json_writer *w)
{
	enum { USUAL = 8 };
	static const char line[1 + 2 * USUAL + 1] = "\n                ";
	int depth = w->depth < USUAL ? w->depth : USUAL;
	fwrite_unlocked(line, 1, 1 + 2 * (size_t)depth, w->out);
	for (; depth < w->depth; depth++)
		fputs_unlocked("  ", w->out);
}

/* What stands before a value or a key: a comma, and a line break or a blank. Nothing stands between a key and its
 * value. */
static void lead(struct muster_json_writer *w)
{
	if (w->after_key) {
		w->after_key = false;
		return;
	}
	if (w->depth == 0)
		return;
	if (!w->first[w->depth])
		putc_unlocked(',', w->out);
	if (w->depth <= w->indent_depth)
		new_line(w);
	else if (!w->first[w->depth])
		putc_unlocked(' ', w->out);
	w->first[w->depth] = false;
}

/* Open an object or an array. No writer of muster nests as deep as MUSTER_WRITER_DEPTH_MAX. */
static void begin(struct muster_json_writer *w, char bracket)
{
	lead(w);
	putc_unlocked(bracket, w->out);
	if (++w->depth >= MUSTER_WRITER_DEPTH_MAX)
		abort(); /* our own writers never nest that deep */
	w->first[w->depth] = true;
}

/* Close it. An empty object stays "{}" on its line. The end of the outermost one is the end of the text, which has a
 * newline if it has several lines. */
static void end(struct muster_json_writer *w, char bracket)
{
	bool empty = w->first[w->depth], broken = w->depth <= w->indent_depth;
	w->depth--;
	if (!empty && broken)
		new_line(w);
	putc_unlocked(bracket, w->out);
	if (w->depth == 0 && w->indent_depth > 0)
		putc_unlocked('\n', w->out);
}

void muster_json_writer_object(struct muster_json_writer *w)
{
	begin(w, '{');
}

void muster_json_writer_object_end(struct muster_json_writer *w)
{
	end(w, '}');
}

void muster_json_writer_array(struct muster_json_writer *w)
{
	begin(w, '[');
}

void muster_json_writer_array_end(struct muster_json_writer *w)
{
	end(w, ']');
}

void muster_json_writer_key(struct muster_json_writer *w, const char *key)
{
	lead(w);
	muster_utf8_quote(w->out, key);
	putc_unlocked(':', w->out);
	putc_unlocked(' ', w->out);
	w->after_key = true;
}

void muster_json_writer_string(struct muster_json_writer *w, const char *string)
{
	lead(w);
	if (string)
		muster_utf8_quote(w->out, string);
	else
		fputs_unlocked("null", w->out);
}

void muster_json_writer_number(struct muster_json_writer *w, double number)
{
	lead(w);
	char text[MUSTER_JSON_NUMBER_MAX];
	if (isfinite(number))
		fwrite_unlocked(text, 1, muster_json_number_text(number, text), w->out);
	else
		fputs_unlocked("null", w->out);
}

void muster_json_writer_boolean(struct muster_json_writer *w, bool boolean)
{
	lead(w);
	fputs_unlocked(boolean ? "true" : "false", w->out);
}

void muster_json_writer_ready(struct muster_json_writer *w, const char *text, size_t length)
{
	lead(w);
	fwrite_unlocked(text, 1, length, w->out);
}

void muster_json_writer_value(struct muster_json_writer *w, struct muster_value value)
{
	switch (value.type) {
	case MUSTER_NUMBER: muster_json_writer_number(w, value.number); break;
	case MUSTER_STRING: muster_json_writer_string(w, value.string); break;
	case MUSTER_BOOLEAN: muster_json_writer_boolean(w, value.boolean); break;
	default: muster_json_writer_string(w, NULL); break;
	}
}

void muster_json_writer_pair(struct muster_json_writer *w, const char *key, struct muster_value value)
{
	muster_json_writer_key(w, key);
	muster_json_writer_value(w, value);
}

void muster_json_writer_object_of(struct muster_json_writer *w, const char *key)
{
	muster_json_writer_key(w, key);
	muster_json_writer_object(w);
}

void muster_json_writer_array_of(struct muster_json_writer *w, const char *key)
{
	muster_json_writer_key(w, key);
	muster_json_writer_array(w);
}

void muster_json_writer_labels(struct muster_json_writer *w, const struct muster_label *labels, size_t count)
{
	muster_json_writer_object(w);
	for (size_t i = 0; i < count; i++)
		muster_json_writer_pair(w, labels[i].key, labels[i].value);
	muster_json_writer_object_end(w);
}

void muster_json_writer_text(struct muster_json_writer *w, const char *key, const char *text)
{
	if (text)
		muster_json_writer_pair(w, key, muster_string(text));
}

int muster_json_writer_line_begin(struct muster_json_writer *w)
{
	int saved = w->indent_depth;
	if (w->indent_depth > w->depth)
		w->indent_depth = w->depth;
	return saved;
}

void muster_json_writer_line_end(struct muster_json_writer *w, int saved)
{
	w->indent_depth = saved;
}
