/* path.h - where a value stands in its text: "$.run.nodes[3].ranks[0]"
 *
 * A path is a chain of steps on the stack of what walks a tree, and is spelled out only for a message.
 */
#ifndef MUSTER_JSON_PATH_H
#define MUSTER_JSON_PATH_H

#include <stddef.h>

struct muster_json_path {
	const struct muster_json_path *up; /* NULL: directly in the root */
	const char *key;                   /* of an object's member; NULL: an element of an array */
	size_t index;                      /* of an element */
};

enum { MUSTER_JSON_PATH_MAX = 256 };

/* "$.run.nodes[3].ranks[0]", "$.checks[\"gpu.count\"]"; NULL is the root. A longer path is cut. Returns out. */
const char *muster_json_path_text(const struct muster_json_path *at, char out[MUSTER_JSON_PATH_MAX]);

#endif
