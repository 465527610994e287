/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - a text of any length, of which one part at a time is in memory and becomes a tree
 *
 * Memory is that of the largest part. A syntax error between parts has its line and column in the whole text; those of
 * an error inside a part count from the start of the part, and the message says so.
 */
#ifndef MUSTER_JSON_STREAM_H
#define MUSTER_JSON_STREAM_H

#include "json/object.h"

#include <sys/types.h>

/* The next bytes of the text, at most `room` of them. 0: there are no more. -1 with err. */
typedef ssize_t muster_json_more_fn(void *from, char *into, size_t room, struct muster_error *err);

struct muster_json_stream {
	const char *text; /* what is in memory */
	size_t length;
	size_t start;              /* of the part at hand: bytes before it may go */
	size_t at;                 /* the next byte to read */
	size_t line, column;       /* of text[0], from 0 */
	muster_json_more_fn *more; /* NULL: all of it is in memory */
	void *from;
	char *buffer; /* holds the text; NULL: others do */
	size_t room;
};

/* A text that `more` hands out. The caller releases the stream with muster_json_stream_done. */
void muster_json_stream_init(struct muster_json_stream *s, muster_json_more_fn *more, void *from);
void muster_json_stream_done(struct muster_json_stream *s);

/* Read the object that comes next into the struct at `base`, member by member: by the field's `parts`; without it, the
 * value, or of many each element, becomes a tree of its own and is read by the field. Errors are those of
 * muster_object_read. A value that comes before the one that its field needs is kept as text until then. The type has
 * no base. */
int muster_json_stream_object(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_object_type *type, void *base);
/* Nothing but blanks may be left. */
int muster_json_stream_end(struct muster_json_reader *r, struct muster_json_stream *s);

/* ---- for the `parts` of a field ---- */

/* Read the value at hand as its field says, without its `parts`. */
int muster_json_stream_field(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_field *field, void *base);

/* Call element() for each element of the array that comes next, `most` at most: it reads or takes the element. */
typedef int muster_json_element_fn(struct muster_json_reader *r, void *into, struct muster_json_stream *s);
int muster_json_stream_array(struct muster_json_reader *r, struct muster_json_stream *s, size_t most,
	muster_json_element_fn *element, void *into);

/* The text of the value that comes next, found by its brackets and quotes alone. It is there until the stream is read
 * again. */
struct muster_json_part {
	const char *text;
	size_t length;
};
int muster_json_stream_take(struct muster_json_reader *r, struct muster_json_stream *s, struct muster_json_part *ret);

/* Pass the value that comes next when it is this one, byte for byte; a whole object or array. False: nothing is passed.
 */
bool muster_json_stream_pass(struct muster_json_stream *s, struct muster_json_part value);
/* The same of any text that stands between values, and of any number. */
bool muster_json_stream_pass_text(struct muster_json_stream *s, const char *text);
bool muster_json_stream_pass_number(struct muster_json_stream *s, double *ret);

/* Read a part as one value, by a tree. */
int muster_json_part_read(
	struct muster_json_reader *r, struct muster_json_part part, muster_field_read_fn *read, void *into);

#endif
