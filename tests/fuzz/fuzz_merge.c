/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_merge.c - a file and an overlay, split by a line "---": merged as RFC 7386 has it, and loaded together */
#include "fuzz.h"

#include "muster/expect.h"

#include <string.h>

static bool is_object(const struct muster_json *json)
{
	return json && muster_json_type(json) == MUSTER_JSON_OBJECT;
}

/* What the RFC says of the result, member by member. target may be NULL. */
static bool is_merged(
	const struct muster_json *result, const struct muster_json *target, const struct muster_json *patch)
{
	if (!is_object(patch))
		return fuzz_same(result, patch);
	if (!is_object(result))
		return false;
	for (const struct muster_json *m = muster_json_first(patch); m; m = muster_json_next(m)) {
		const char *key = muster_json_key(m);
		const struct muster_json *now = muster_json_member(result, key);
		const struct muster_json *old = is_object(target) ? muster_json_member(target, key) : NULL;
		bool right = muster_json_type(m) == MUSTER_JSON_NULL ? !now : now && is_merged(now, old, m);
		if (!right)
			return false;
	}
	for (const struct muster_json *m = is_object(target) ? muster_json_first(target) : NULL; m;
		m = muster_json_next(m)) {
		const struct muster_json *now = muster_json_member(result, muster_json_key(m));
		if (!muster_json_member(patch, muster_json_key(m)) && !(now && fuzz_same(now, m)))
			return false;
	}
	for (const struct muster_json *m = muster_json_first(result); m; m = muster_json_next(m)) {
		const char *key = muster_json_key(m);
		if (!muster_json_member(patch, key) && !(is_object(target) && muster_json_member(target, key)))
			return false;
	}
	return true;
}

static void check_merge(const char *first, size_t first_size, const char *second, size_t second_size)
{
	struct muster_json *target = NULL, *patch = NULL, *merged = NULL, *again = NULL;
	struct muster_error err;
	if (muster_json_parse(first, first_size, &target, &err) < 0)
		fuzz_check_error(&err);
	if (muster_json_parse(second, second_size, &patch, &err) < 0)
		fuzz_check_error(&err);
	if (target && patch) {
		FUZZ_CHECK(muster_json_parse(first, first_size, &merged, &err) == 0, "%s", err.text);
		merged = muster_json_merge(merged, patch);
		FUZZ_CHECK(is_merged(merged, target, patch), "not what RFC 7386 asks for");
		FUZZ_CHECK(muster_json_parse(first, first_size, &again, &err) == 0, "%s", err.text);
		again = muster_json_merge(muster_json_merge(again, patch), patch);
		FUZZ_CHECK(fuzz_same(merged, again), "the second time it changes something");
	}
	muster_json_free(again);
	muster_json_free(merged);
	muster_json_free(patch);
	muster_json_free(target);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	size_t second, first_size = fuzz_split(bytes, size, &second);
	check_merge((const char *)bytes, first_size, (const char *)bytes + second, size - second);

	struct muster_expect expect;
	struct muster_error err;
	const char *path = fuzz_file(0, bytes, first_size), *overlay = fuzz_file(1, bytes + second, size - second);
	if (muster_expect_load("", path, overlay, &expect, &err) < 0)
		fuzz_check_error(&err);
	else
		muster_expect_done(&expect);
	return 0;
}
