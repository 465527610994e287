/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c - texts become trees and are laid over each other, in several threads at once */
#include "json/json.h"

#include "check_main.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, ROUNDS = 2000 };

static const char base[] = "{\"a\": {\"b\": [1, 2, 3], \"c\": \"text\"}, \"d\": null}";
static const char patch[] = "{\"a\": {\"b\": {\"e\": [\"x\"]}, \"c\": null}, \"f\": 1}";

static struct muster_json *parse(const char *text)
{
	struct muster_json *json = NULL;
	struct muster_error err;
	return muster_json_parse(text, strlen(text), &json, &err) == 0 ? json : NULL;
}

/* The patched tree: {"a": {"b": {"e": ["x"]}}, "d": null, "f": 1} */
static bool is_patched(const struct muster_json *json)
{
	const struct muster_json *a = muster_json_member(json, "a"), *f = muster_json_member(json, "f");
	const struct muster_json *b = a ? muster_json_member(a, "b") : NULL;
	const struct muster_json *e = b ? muster_json_member(b, "e") : NULL;
	return muster_json_size(json) == 3 && muster_json_size(a) == 1 && e && muster_json_size(e) == 1 &&
	       strcmp(muster_json_string(muster_json_first(e)), "x") == 0 && f && muster_json_number(f) > 0 &&
	       muster_json_type(muster_json_member(json, "d")) == MUSTER_JSON_NULL;
}

TEST(a_patch_adds_replaces_and_removes)
{
	struct muster_json *target = parse(base), *change = parse(patch);
	target = muster_json_merge(target, change);
	muster_json_free(change);
	ck_assert(is_patched(target));
	change = parse("[1]");
	target = muster_json_merge(target, change);
	muster_json_free(change);
	ck_assert_int_eq(muster_json_type(target), MUSTER_JSON_ARRAY);
	ck_assert_uint_eq(muster_json_size(target), 1);
	muster_json_free(target);
}

/* Each thread keeps a tree that it made while the others parse, merge, fail and free. */
static void *work(void *bad)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct muster_json *target = parse(base), *change = parse(patch);
		target = target && change ? muster_json_merge(target, change) : target;
		*(int *)bad += !target || !change || parse("{\"a\": [1, 2, {\"b\": tru}]}") || !is_patched(target);
		muster_json_free(change);
		muster_json_free(target);
	}
	return NULL;
}

TEST(threads_parse_at_the_same_time)
{
	pthread_t threads[THREADS];
	int bad[THREADS] = { 0 };
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &bad[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_eq(bad[i], 0);
	}
}

TEST_MAIN(.setup = NULL)
