/* SPDX-License-Identifier: Apache-2.0 */
/* loaded.h - expectation files in a folder, and what was loaded of them last; a fixture owns both
 *
 * TEST_MAIN(.setup = fixture_open, .teardown = loaded_done). In texts ' stands for ".
 */
#ifndef MUSTER_TESTS_LOADED_H
#define MUSTER_TESTS_LOADED_H

#include "eval_fixture.h"

static struct muster_expect expect;
static struct muster_error err;

static inline void loaded_done(void)
{
	muster_expect_done(&expect);
	fixture_close();
}

static inline const char *with_quotes(const char *text)
{
	static char copy[8192];
	snprintf(copy, sizeof copy, "%s", text);
	for (char *at = copy; *at; at++)
		if (*at == '\'')
			*at = '"';
	return copy;
}

static inline const char *put(const char *name, const char *text)
{
	return fixture_write(name, with_quotes(text));
}

static inline int load_from(const char *folder, const char *name, const char *overlay)
{
	muster_expect_done(&expect);
	err = (struct muster_error){ 0 };
	return muster_expect_load(folder, name, overlay ? fixture_path(overlay) : NULL, &expect, &err);
}

/* A file of the folder by its path. */
static inline void load(const char *name, const char *overlay)
{
	ck_assert_msg(load_from("/none", fixture_path(name), overlay) == 0, "%s", err.text);
}

static inline void load_shipped(const char *name)
{
	ck_assert_msg(load_from(MUSTER_SOURCE_DIR "/configs", name, NULL) == 0, "%s", err.text);
}

/* Checks as they stand inside "checks": { }. */
static inline void load_checks(const char *checks)
{
	char text[8192];
	snprintf(text, sizeof text, "{'schema_version':1,'name':'test','checks':{%s}}", checks);
	put("test.json", text);
	load("test.json", NULL);
}

/* One check, of these members. */
static inline const struct muster_check *load_check(const char *members)
{
	char text[4096];
	snprintf(text, sizeof text, "'c':{%s}", members);
	load_checks(text);
	return expect.checks;
}

#endif
