/* parse_when.c - the runs that a check is for
 */
#include "eval/parse.h"

#include <stddef.h>

/* One profile, or a list of them, as bits. */
static int read_profiles(struct parse *p, void *into, const struct muster_json *json)
{
	bool list = muster_json_type(json) == MUSTER_JSON_ARRAY;
	unsigned int *ret = into;
	size_t at = 0;

	for (const struct muster_json *e = list ? muster_json_first(json) : json; e;
		e = list ? muster_json_next(e) : NULL, at++) {
		int profile;

		if (list)
			parse_enter_element(p, at);
		profile = parse_one_of(p, e, muster_profile_names, MUSTER_PROFILE_COUNT);
		if (profile < 0)
			return -1;
		*ret |= 1u << profile;
		if (list)
			parse_leave(p);
	}
	return *ret ? 0 : parse_complain(p, "at least one profile is needed");
}

int parse_when(struct parse *p, void *into, const struct muster_json *json)
{
	static const struct parse_key keys[] = {
		{ "nodes", parse_span, offsetof(struct muster_check, when_nodes), 0, 0 },
		{ "ranks", parse_span, offsetof(struct muster_check, when_ranks), 0, 0 },
		{ "profile", read_profiles, offsetof(struct muster_check, when_profiles), 0, 0 },
		{ "domains", parse_span, offsetof(struct muster_check, when_domains), 0, 0 },
	};

	return parse_object(p, json, keys, PARSE_COUNT(keys), into);
}
