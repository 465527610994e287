/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - structs and JSON objects: one table of fields reads a struct from an object, and writes it as one
 *
 * Whatever is wrong is said with its JSON path ("$.checks.a.min: a number is needed, found \"7\"") and the code
 * MUSTER_EUSAGE. A path is spelled out only then: reading a million samples prints no path.
 *
 *	struct limits { const char *name; int most; bool strict; };
 *	static const struct muster_field fields[] = {
 *		{ MUSTER_FIELD(limits, name, TEXT), .least = 1 },
 *		{ MUSTER_FIELD_AS(limits, "max", most, INT), .low = 1, .high = 64 },
 *		{ MUSTER_FIELD(limits, strict, BOOLEAN), .optional = true },
 *	};
 *	static const struct muster_object_type type = MUSTER_OBJECT_TYPE(limits, fields);
 *
 * reads {"name": "a", "max": 8} by muster_object_read, refuses {"name": "a", "maximum": 8} with the nearest key, and is
 * written again by muster_object_write, without "strict", which is false. What is in no field's type has a function of
 * its own (`read`, `write`). One table may serve several forms of an object: `part` says in which of them a field is.
 */
#ifndef MUSTER_JSON_OBJECT_H
#define MUSTER_JSON_OBJECT_H

#include "json/json.h"
#include "json/writer.h"
#include "muster/arena.h"
#include "muster/value.h"

#include <stddef.h>

/* ---- the table ---- */

enum muster_field_type {
	MUSTER_FIELD_BOOLEAN, /* bool */
	MUSTER_FIELD_INT,     /* int: a whole number from low to high; both 0: any that fits; high 0: no upper limit */
	MUSTER_FIELD_SIZE,    /* size_t: the same, from 0 */
	MUSTER_FIELD_WORD,    /* uint64_t or unsigned long long: from 0 to 2^53 */
	MUSTER_FIELD_NUMBER,  /* double */
	MUSTER_FIELD_TEXT,    /* const char *, the arena's: least to most bytes; most 0: the reader's text_max */
	MUSTER_FIELD_NAME,    /* an enum: the place of the string in names */
	MUSTER_FIELD_VALUE,   /* struct muster_value: null, a string of at most text_max bytes, a number, a boolean */
	MUSTER_FIELD_LABELS, /* const struct muster_label *, MUSTER_LABELS_MAX at most: an object of numbers and strings
			      */
	MUSTER_FIELD_JSON, /* const struct muster_json *, borrowed from the tree: any value of the given types. A string
			    * has at most `most` bytes, or text_max */
	MUSTER_FIELD_OBJECT, /* a struct of the given object type */
};

struct muster_json_reader;

/* Read the value at hand into the field at `into`. -1 with muster_json_reader_fail(). */
typedef int muster_field_read_fn(struct muster_json_reader *r, void *into, const struct muster_json *json);

typedef void muster_field_write_fn(struct muster_json_writer *w, const void *from);

/* Read the value that comes next in a stream (stream.h) into the field of the struct at `base`. -1 with
 * muster_json_reader_fail(). */
struct muster_field;
struct muster_json_stream;
typedef int muster_field_parts_fn(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_field *field, void *base);

struct muster_field {
	const char *key;
	enum muster_field_type type;
	size_t offset; /* in the struct */
	/* Reading: an absent member leaves the field as it was. Writing: NULL, false, an empty array, a number that is
	 * 0 or not finite, and an INT that is not above `absent` are left out. */
	bool optional;
	int absent;
	size_t present;      /* of an optional field: the offset of a bool that says whether it is there; 0: none */
	bool or_null;        /* a TEXT may be null: then NULL */
	bool many;           /* an array of these; the field points to the first, in the arena, and is not const */
	bool one_line;       /* an OBJECT is written on one line */
	bool members;        /* with many: an object, whose members these are */
	size_t count_offset; /* of many and of LABELS: a size_t, how many there are */
	size_t least, most;  /* elements of many, or bytes of a TEXT; most 0: any number */
	int low, high;       /* of an INT or a SIZE */
	unsigned int types;  /* of a JSON: MUSTER_JSON_BIT()s */
	const char *const *names; /* of a NAME */
	size_t name_count;
	const struct muster_object_type *object; /* of an OBJECT */
	unsigned int object_part;                /* only its fields in these parts; 0: all */
	unsigned int part;                       /* bits: the parts that this field is in */
	muster_field_read_fn *read;              /* NULL: as the type says. With many: reads one element */
	size_t size;                             /* of an element, where `read` or `parts` reads many */
	muster_field_write_fn *write;            /* NULL: as the type says */
	muster_field_parts_fn *parts;            /* how a stream is read into the field; NULL: by a tree */
	const char *needs; /* in a stream: the key of the member that must be read before; NULL: none */
};

/* The start of a row: the field `member` of `struct tag`, under its own name or another key. */
#define MUSTER_FIELD_AS(tag, name, member, kind)                                                                       \
	.key = (name), .type = MUSTER_FIELD_##kind, .offset = offsetof(struct tag, member)
#define MUSTER_FIELD(tag, member, kind) MUSTER_FIELD_AS(tag, #member, member, kind)
/* An array of which `count` says how many; an object, each member of which `function` reads into a `struct item`. */
#define MUSTER_FIELD_MANY(tag, count) .many = true, .count_offset = offsetof(struct tag, count)
#define MUSTER_FIELD_MEMBERS(function, item) .members = true, .read = (function), .size = sizeof(struct item)

#define MUSTER_FIELD_NAMES(array) .names = (array), .name_count = sizeof(array) / sizeof *(array)

#define MUSTER_JSON_BIT(type) (1u << (type))
#define MUSTER_JSON_SCALAR                                                                                             \
	(MUSTER_JSON_BIT(MUSTER_JSON_NULL) | MUSTER_JSON_BIT(MUSTER_JSON_BOOLEAN) |                                    \
		MUSTER_JSON_BIT(MUSTER_JSON_NUMBER) | MUSTER_JSON_BIT(MUSTER_JSON_STRING))

enum { MUSTER_FIELDS_MAX = 128 }; /* of one object type with its base */

struct muster_object_type {
	const struct muster_field *fields;
	size_t count;
	size_t size; /* of the struct */
	/* The fields of `base` stand in the same object; its struct is the first member of this one. NULL: none */
	const struct muster_object_type *base;
	unsigned int base_part; /* only the fields of base in these parts; 0: all */
	const void *initial;    /* of an element of an array, before it is read; NULL: zeros */
	bool open;              /* keys that no field has are ignored; else they are an error */
};

/* Bytes of the field's value in the struct; with many: of one element. */
size_t muster_field_size(const struct muster_field *field);

/* The type of `struct tag` with the given table of fields. */
#define MUSTER_OBJECT_TYPE(tag, table)                                                                                 \
	{                                                                                                              \
		.fields = (table), .count = sizeof(table) / sizeof *(table), .size = sizeof(struct tag)                \
	}
/* The same, which ignores keys that no field has. */
#define MUSTER_OBJECT_TYPE_OPEN(tag, table)                                                                            \
	{                                                                                                              \
		.fields = (table), .count = sizeof(table) / sizeof *(table), .size = sizeof(struct tag), .open = true  \
	}

/* ---- reading ---- */

struct muster_json_reader {
	struct muster_arena *arena; /* where texts and arrays go */
	struct muster_error *err;
	const struct muster_json_path *at; /* the value at hand; NULL: the root. Only the functions below move it */
	size_t text_max;                   /* bytes of a string; 0: no limit */
	size_t part_max;                   /* bytes of a text that becomes one tree (stream.h); 0: no limit */
	const char *note;                  /* a key for people, which may stand in every object; NULL: none */
	/* The file that said the value at hand, to be put before its path. NULL: the caller names the file. */
	const char *(*file)(const struct muster_json_reader *r);
	/* What to do with the error in err: 0 to go on behind the value at hand, -1 to end. NULL: the first one ends.
	 */
	int (*go_on)(struct muster_json_reader *r);
};

/* -1 with "<path of the value at hand>: <text>"; the second one of the value's member with that key. Macros, so that
 * the compiler and its analyser see the -1. */
#define muster_json_reader_fail(...) (muster_json_reader_say(__VA_ARGS__), -1)
#define muster_json_reader_fail_member(...) (muster_json_reader_say_member(__VA_ARGS__), -1)
void muster_json_reader_say(struct muster_json_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void muster_json_reader_say_member(struct muster_json_reader *r, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* After something was said: 0 to go on behind the value at hand, -1 to end. */
int muster_json_reader_go_on(struct muster_json_reader *r);

/* -1 with the key that is in no field of these parts, the nearest key, and all keys that are allowed. */
int muster_json_unknown_fail(
	struct muster_json_reader *r, const struct muster_object_type *type, unsigned int part, const char *key);

/* Read the object at hand into the struct at `into`. -1 when it is no object, has a key that is not in the table, lacks
 * one that is not optional, or a member does not fit its field; `into` may be half filled then. */
int muster_object_read(struct muster_json_reader *r, const struct muster_json *json,
	const struct muster_object_type *type, void *into);

/* Read the value at hand as one value of the field (of many: as one element). */
int muster_field_read(
	struct muster_json_reader *r, const struct muster_field *field, void *into, const struct muster_json *json);

/* Read member `key` or element `index` of the value at hand with `read`, whose errors then have its path. */
int muster_json_member_read(struct muster_json_reader *r, const char *key, size_t index, muster_field_read_fn *read,
	void *into, const struct muster_json *json);

/* Read each element of an array, or member of an object, into an item of its own. */
int muster_json_each_read(struct muster_json_reader *r, const struct muster_json *json, muster_field_read_fn *read,
	void *items, size_t size);

/* The value at hand: 0 when its type is among the MUSTER_JSON_BIT()s and a string is within text_max, else -1. */
int muster_json_need(struct muster_json_reader *r, const struct muster_json *json, unsigned int types);
/* Values of one type, for `read` functions. */
int muster_json_boolean_read(struct muster_json_reader *r, void *into, const struct muster_json *json); /* bool */
int muster_json_number_read(struct muster_json_reader *r, void *into, const struct muster_json *json);  /* double */
int muster_json_text_read(
	struct muster_json_reader *r, void *into, const struct muster_json *json); /* const char *, not "" */
int muster_json_value_read(
	struct muster_json_reader *r, void *into, const struct muster_json *json); /* struct muster_value */
int muster_json_int_read(struct muster_json_reader *r, const struct muster_json *json, int low, int high, int *ret);
/* The place of a string in a list, or -1. */
int muster_json_name_read(
	struct muster_json_reader *r, const struct muster_json *json, const char *const *names, size_t count);

/* A value as messages show it: "\"abc\"", "7", "true", "an array". Returns out. */
const char *muster_json_shown(const struct muster_json *json, char *out, size_t size);

/* ---- writing ---- */

/* Write the struct at `from` as an object, the fields in the table's order; JSON fields are not written. A text that
 * must be there and is NULL becomes null, and w->incomplete its key. */
void muster_object_write(struct muster_json_writer *w, const struct muster_object_type *type, const void *from);

/* The same without the braces, for an object with more in it. */
void muster_members_write(struct muster_json_writer *w, const struct muster_object_type *type, const void *from);

#endif
