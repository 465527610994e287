/* SPDX-License-Identifier: Apache-2.0 */
/* known.h - objects whose text was read before: thousands of nodes say the same of themselves, and in one order
 *
 * A text that was read before is not read again, nor is one that differs from it only in the numbers at its end.
 */
#ifndef MUSTER_JSON_KNOWN_H
#define MUSTER_JSON_KNOWN_H

#include "json/stream.h"

/* Pass the number that comes next, and all behind it to the end of the object, into the struct at `into`. False: this
 * is not how the object ends; what was passed does not matter. */
typedef bool muster_json_numbers_fn(struct muster_json_reader *r, void *into, struct muster_json_stream *s);

struct muster_json_known {
	size_t size;                /* of the struct of an object */
	muster_field_read_fn *read; /* an object that is not known */
	const char *before_numbers; /* the key of the first number at the end, as writer.h writes it: "\"value\": " */
	muster_json_numbers_fn *numbers;
	struct muster_json_known_texts *texts; /* NULL at first */
};

/* Read the object that comes next. */
int muster_json_known_read(
	struct muster_json_reader *r, struct muster_json_stream *s, struct muster_json_known *known, void *into);
void muster_json_known_done(struct muster_json_known *known);

#endif
