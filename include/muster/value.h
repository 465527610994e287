/* SPDX-License-Identifier: Apache-2.0 */
/* value.h - a number, a string, a boolean or nothing; implemented by src/util/value.c */
#ifndef MUSTER_VALUE_H
#define MUSTER_VALUE_H

#include <stdbool.h>
#include <stddef.h>

enum muster_type { MUSTER_NULL = 0, MUSTER_NUMBER, MUSTER_STRING, MUSTER_BOOLEAN, MUSTER_TYPE_COUNT };

struct muster_value {
	enum muster_type type;
	union {
		double number;
		const char *string; /* owned by the holder of the value, usually an arena */
		bool boolean;
	};
};

#define MUSTER_LABELS_MAX 8

struct muster_label {
	const char *key;
	struct muster_value value; /* a string or a number */
};

struct muster_value muster_number(double number);
struct muster_value muster_string(const char *string);
struct muster_value muster_boolean(bool boolean);
struct muster_value muster_null(void);

/* Same type and same value; numbers compare exactly, null equals null. */
bool muster_value_equal(struct muster_value a, struct muster_value b);

/* What people read in place of a null, which only JSON has. */
#define MUSTER_NO_VALUE "no value"

/* The value as people read it: "26.1", "ACTIVE", "true", "no value". Writes at most size bytes with the NUL; returns
 * out.
 */
const char *muster_value_text(struct muster_value value, char *out, size_t size);

const char *muster_type_name(enum muster_type type); /* "number", ... */

#endif
