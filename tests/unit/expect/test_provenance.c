/* SPDX-License-Identifier: Apache-2.0 */
/* test_provenance.c - which file a check, its keys and a bad value come from */
#include "check_main.h"
#include "unit/expect/loaded.h"

#define CHECK "{'metric':'gpu.h2d_gbps','min':8,'source':'s','action_code':'none'}"

/* A parent, a file that extends it and an overlay, each without its braces. */
static void put_all(const char *parent, const char *child, const char *overlay)
{
	char text[1024];
	snprintf(text, sizeof text, "{'schema_version':1,'name':'p',%s}", parent);
	put("parent.json", text);
	snprintf(text, sizeof text, "{'schema_version':1,'name':'c','extends':'parent.json'%s}", child);
	put("child.json", text);
	snprintf(text, sizeof text, "{%s}", overlay);
	put("overlay.json", text);
}

static const char *name_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* origin: the check's file, then each key that another file changed, with '-' where it was removed. */
static const struct {
	const char *parent, *child, *overlay, *origin;
} traces[] = {
	{ "'checks':{'a':" CHECK "}", "", "", "parent.json" },
	{ "'checks':{'b':" CHECK "}", ",'checks':{'a':" CHECK "}", "", "child.json" },
	{ "'checks':{'b':" CHECK "}", "", "'checks':{'a':" CHECK "}", "overlay.json" },
	{ "'checks':{'a':" CHECK "}", ",'checks':{'a':{'min':9}}", "", "parent.json min=child.json" },
	{ "'checks':{'a':" CHECK "}", ",'checks':{'b':" CHECK "}", "'checks':{'a':{'max':9}}",
		"parent.json max=overlay.json" },
	{ "'checks':{'a':" CHECK "}", ",'checks':{'a':{'min':9,'title':'t'}}", "'checks':{'a':{'min':7}}",
		"parent.json min=overlay.json title=child.json" },
	{ "'checks':{'a':" CHECK "}", ",'checks':{'a':{'max':9}}", "'checks':{'a':{'max':null}}",
		"parent.json max=overlay.json-" },
	{ "'checks':{'a':" CHECK "}", ",'checks':{'a':{'min':null,'max':9}}", "'checks':{'a':{'min':7}}",
		"parent.json min=overlay.json max=child.json" },
	/* removed, and there again: the check is that of the file that brought it back */
	{ "'checks':{'a':" CHECK "}", ",'checks':{'a':null}", "'checks':{'a':" CHECK "}", "overlay.json" },
	{ "'checks':{'a':" CHECK "}", ",'checks':null", "'checks':{'a':" CHECK "}", "overlay.json" },
	{ "'checks':{'a':" CHECK "}", "", "'name':'o'", "parent.json" },
};

TEST_EACH(a_check_knows_its_file_and_who_changed_it, traces)
{
	char origin[512];
	put_all(traces[_i].parent, traces[_i].child, traces[_i].overlay);
	load("child.json", "overlay.json");
	const struct muster_check *check = expect.checks;
	while (strcmp(check->id, "a") != 0)
		check++;
	int used = snprintf(origin, sizeof origin, "%s", name_of(check->file));
	for (size_t i = 0; i < check->change_count; i++)
		used += snprintf(origin + used, sizeof origin - (size_t)used, " %s=%s%s", check->changes[i].key,
			name_of(check->changes[i].file), check->changes[i].removed ? "-" : "");
	ck_assert_str_eq(origin, traces[_i].origin);
}

/* Changes of a check that was removed do not belong to the one that came after it. */
TEST(a_check_that_is_there_again_has_no_old_changes)
{
	put_all("'extends':'base.json','checks':{'a':{'min':9}}", ",'checks':{'a':null}", "'checks':{'a':" CHECK "}");
	put("base.json", "{'schema_version':1,'name':'b','checks':{'a':" CHECK "}}");
	load("child.json", "overlay.json");
	ck_assert_str_eq(name_of(expect.checks->file), "overlay.json");
	ck_assert_uint_eq(expect.checks->change_count, 0);
}

/* The overlay comes first, then the file, then its parents. */
TEST(the_files_are_named_in_the_order_of_their_say)
{
	char origin[512];
	put_all("'checks':{'a':" CHECK "}", "", "'name':'o'");
	load("child.json", "overlay.json");
	snprintf(origin, sizeof origin, "%s < %s < %s", fixture_path("overlay.json"), fixture_path("child.json"),
		fixture_path("parent.json"));
	ck_assert_str_eq(expect.origin, origin);
	ck_assert_uint_eq(expect.file_count, 3);
	ck_assert_str_eq(name_of(expect.files[0]), "overlay.json");
	ck_assert_str_eq(name_of(expect.files[1]), "child.json");
	ck_assert_str_eq(name_of(expect.files[2]), "parent.json");
	load("parent.json", NULL);
	ck_assert_uint_eq(expect.file_count, 1);
	ck_assert_str_eq(expect.origin, fixture_path("parent.json"));
}

/* The file that said a bad value last, or came nearest to it. */
static const struct {
	const char *parent, *child, *overlay, *blamed, *said;
} bad[] = {
	{ "'identify':{'vm_size':['a',2]},'checks':{'a':" CHECK "}", ",'identify':{'gpu_count':1}", "", "parent.json",
		"$.identify.vm_size[1]: a string is needed, found 2" },
	{ "'identify':{'vm_size':['a','b','c']},'checks':{'a':" CHECK "}", ",'identify':{'vm_size':['a',2]}", "",
		"child.json", "$.identify.vm_size[1]: a string is needed, found 2" },
	{ "'identify':{'vm_size':'a'},'checks':{'a':" CHECK "}", ",'identify':{'vm_size':[2]}", "", "child.json",
		"$.identify.vm_size[0]: a string is needed, found 2" },
	{ "'identify':{'vm_size':['a']},'checks':{'a':" CHECK "}", ",'identify':{'vm_size':{'0':'a'}}", "",
		"child.json", "$.identify.vm_size: an array is needed, found an object" },
	{ "'identify':7,'checks':{'a':" CHECK "}", "", "", "parent.json", "$.identify: an object is needed, found 7" },
	{ "'checks':{'a':" CHECK "}", ",'checks':{'a':{'max':'x'}}", "'checks':{'a':{'title':'t'}}", "child.json",
		"$.checks.a.max: a number is needed, found \"x\"" },
	{ "'checks':{'a':" CHECK "}", ",'checks':{'a':{'max':'x'}}", "'checks':{'a':{'max':'y'}}", "overlay.json",
		"$.checks.a.max: a number is needed, found \"y\"" },
	{ "'checks':{'a':" CHECK "}", ",'checks':{'a':{'when':{'nodes':0}}}", "'checks':{'a':{'when':{'ranks':1}}}",
		"child.json", "$.checks.a.when.nodes: a whole number from 1 is needed, found 0" },
};

TEST_EACH(a_bad_value_is_told_with_its_file, bad)
{
	char said[512];
	put_all(bad[_i].parent, bad[_i].child, bad[_i].overlay);
	ck_assert_int_eq(load_from("/none", fixture_path("child.json"), "overlay.json"), -1);
	snprintf(said, sizeof said, "%s: %s", fixture_path(bad[_i].blamed), bad[_i].said);
	ck_assert_str_eq(err.text, said);
}

static void append(void *arg, const char *problem)
{
	char *text = arg;
	size_t used = strlen(text);
	snprintf(text + used, 2048 - used, "%s\n", problem + strlen(fixture_dir) + 1);
}

/* Each operator that a file changed without a source is a problem of that file; to load it, none is. */
TEST(each_change_without_a_source_is_told)
{
	char told[2048] = "";
	put_all("'checks':{'a':" CHECK "}", ",'checks':{'a':{'min':7,'max':70,'title':'t'}}",
		"'checks':{'a':{'warn_below':8}}");
	const char *child = fixture_path("child.json"), *overlay = fixture_path("overlay.json");
	ck_assert_uint_eq(muster_expect_lint("/none", child, overlay, append, told), 3);
	static const char *const parts[] = {
		"child.json: $.checks.a.min: changed without a source: the inherited source",
		"child.json: $.checks.a.max: changed", "overlay.json: $.checks.a.warn_below: changed", "parent.json\n"
	};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		ck_assert_msg(strstr(told, parts[i]) != NULL, "%s", told);
	load("child.json", "overlay.json");
	/* what is removed needs no source */
	put_all("'checks':{'a':{'metric':'gpu.h2d_gbps','min':8,'max':9,'source':'s','action_code':'none'}}",
		",'checks':{'a':{'max':null}}", "");
	ck_assert_uint_eq(muster_expect_lint("/none", fixture_path("child.json"), NULL, append, told), 0);
}

TEST_MAIN(.setup = fixture_open, .teardown = loaded_done)
