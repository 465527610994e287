/* path.c - where a value stands in its text, as a message shows it */
#include "json/path.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_plain_key(const char *key)
{
	if (!isalpha((unsigned char)*key) && *key != '_')
		return false;
	while (isalnum((unsigned char)*key) || *key == '_')
		key++;
	return *key == '\0';
}

const char *muster_json_path_text(const struct muster_json_path *at, char out[MUSTER_JSON_PATH_MAX])
{
	if (!at) {
		snprintf(out, MUSTER_JSON_PATH_MAX, "$");
		return out;
	}
	size_t used = strlen(muster_json_path_text(at->up, out));
	if (!at->key)
		snprintf(out + used, MUSTER_JSON_PATH_MAX - used, "[%zu]", at->index);
	else if (is_plain_key(at->key))
		snprintf(out + used, MUSTER_JSON_PATH_MAX - used, ".%.100s", at->key);
	else
		snprintf(out + used, MUSTER_JSON_PATH_MAX - used, "[\"%.100s\"]", at->key);
	return out;
}
