/* parts.h - a large text, of which one part at a time becomes a tree
 *
 * Memory is that of the text and of the largest part. Errors of syntax have a line and a column; they count from the
 * start of the part, and the message says so.
 */
#ifndef MUSTER_JSON_PARTS_H
#define MUSTER_JSON_PARTS_H

#include "json/object.h"

/* A part of a text, not parsed yet; without a text: absent. */
struct muster_json_part {
	const char *text;
	size_t length;
};

/* The members of the object at hand: ret[i] for the type's fields[i]. -1 for a key that the type does not have, and for
 * a member that is missing and not optional. The type has no base. */
int muster_json_part_split(struct muster_json_reader *r, struct muster_json_part part,
	const struct muster_object_type *type, struct muster_json_part *ret);

/* Read a member as its field says. Of many, each element becomes a tree of its own, and is read into the struct at
 * `base` by the field's `read`; there may be `most` of them. */
int muster_json_part_read(
	struct muster_json_reader *r, struct muster_json_part part, const struct muster_field *field, void *base);

#endif
