/* parse_when.c - the runs that a check is for
 */
#include "expect/parse.h"
#include "muster/run.h"

#include <stddef.h>

/* One profile, or a list of them, as bits. */
static int read_profiles(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	bool list = muster_json_type(json) == MUSTER_JSON_ARRAY;
	unsigned int *ret = into;
	size_t at = 0;
	for (const struct muster_json *e = list ? muster_json_first(json) : json; e;
		e = list ? muster_json_next(e) : NULL, at++) {
		int profile;

		if (list)
			muster_expect_parse_enter_element(p, at);
		profile = muster_expect_parse_one_of(p, e, muster_profile_names, MUSTER_PROFILE_COUNT);
		if (profile < 0)
			return -1;
		*ret |= 1u << profile;
		if (list)
			muster_expect_parse_leave(p);
	}
	return *ret ? 0 : muster_expect_parse_complain(p, "at least one profile is needed");
}

int muster_expect_parse_when(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	static const struct muster_expect_parse_key keys[] = {
		{ "nodes", muster_expect_parse_span, offsetof(struct muster_check, when_nodes) },
		{ "ranks", muster_expect_parse_span, offsetof(struct muster_check, when_ranks) },
		{ "profile", read_profiles, offsetof(struct muster_check, when_profiles) },
		{ "domains", muster_expect_parse_span, offsetof(struct muster_check, when_domains) },
	};
	return muster_expect_parse_object(p, json, keys, PARSE_COUNT(keys), into);
}
