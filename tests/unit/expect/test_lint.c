/* SPDX-License-Identifier: Apache-2.0 */
/* test_lint.c - all problems of an expectation file, not only the first */
#include "check_main.h"
#include "unit/expect/loaded.h"

struct heard {
	char text[8192];
	size_t used;
};

/* Keep the problem without the path of its file, which is "<directory>/<name>: ". */
static void hear(void *arg, const char *problem)
{
	struct heard *heard = arg;
	ck_assert_msg(strncmp(problem, fixture_dir, strlen(fixture_dir)) == 0, "said: %s", problem);
	heard->used += (size_t)snprintf(
		heard->text + heard->used, sizeof heard->text - heard->used, "%s\n", problem + strlen(fixture_dir) + 1);
}

#define FILE_OF(checks) "{'schema_version':1,'name':'t','checks':{" checks "}}"
#define CODE "'action_code':'none',"
#define COUNT_IS CODE "'metric':'node.gpu_count','source':'s',"
#define SPEED_IS CODE "'metric':'gpu.h2d_gbps','source':'s',"
#define NEEDED                                                                                                         \
	": no action_code: one of none, retry, investigate, fix-launch, fix-settings, restart-service, "               \
	"fix-storage, fix-fabric, reset-gpu, reboot, replace-node is needed\n"

static const struct {
	const char *text;
	const char *said;
} cases[] = {
	{ FILE_OF("'a':{" COUNT_IS "'equals':8}"), "" },
	{ "{'schema_version':1,'name':'a/b','checks':{'a':{" COUNT_IS "'equals':8}}}",
		"x.json: $.name: must not contain '/': --sku would take it for a path\n" },
	{ FILE_OF("'a':{" COUNT_IS "'equals':8,'inconclusive_on':{'7':'x','8':'y'}},"
		  "'b':{" CODE "'metric':'port.state','source':'s','equals':'ACTIVE','inconclusive_on':{'INIT':'x'}}"),
		"x.json: $.checks.a.inconclusive_on: \"8\" is the value that equals asks for: this check could never "
		"pass\n" },
	{ FILE_OF("'a':{" COUNT_IS "'equals':8,'advice':'${nodes}'}"),
		"x.json: $.checks.a.advice: the placeholder ${nodes} must be node, rank, gpu, port or a metric; did "
		"you mean "
		"\"node\", *\n" },
	{ "{", "x.json: line 1, column 2: the text ends too early: *\n" },
	{ "{'checks':{'a':{}}}", "x.json: $.schema_version: missing, this muster reads version 1\n"
				 "x.json: $.name: missing, each file needs its own name\n"
				 "x.json: $.checks.a: no metric is given\n" },
	{ "{'schema_version':2,'checks':{'a':{}}}", "x.json: $.schema_version: this muster reads version 1 only\n" },
	{ FILE_OF("'a':{'metric':'nccl.allreduce_us','source':'s','one_of':['x',8,true],'where':{'bytes':'8','colour':"
		  "1},"
		  "'when':{'nodes':0,'ranks':2,'profile':'slow','day':1},'inconclusive_on':{'1':'','2':3},"
		  "'advice':'${no.metric1} ${node} ${no.metric2}'}"),
		"x.json: $.checks.a.one_of[0]: a number is needed *\n"
		"x.json: $.checks.a.one_of[2]: a number is needed *\n"
		"x.json: $.checks.a.where.bytes: a number is needed, found \"8\"\n"
		"x.json: $.checks.a.where.colour: nccl.allreduce_us has no label *\n"
		"x.json: $.checks.a.when.nodes: a whole number from 1 is needed, found 0\n"
		"x.json: $.checks.a.when.profile: one of quick, standard, full is needed, found \"slow\"\n"
		"x.json: $.checks.a.when.day: unknown key, *\n"
		"x.json: $.checks.a.inconclusive_on[\"1\"]: must not be empty\n"
		"x.json: $.checks.a.inconclusive_on[\"2\"]: a string is needed, found 3\n"
		"x.json: $.checks.a.advice: the placeholder ${no.metric1} *\n"
		"x.json: $.checks.a.advice: the placeholder ${no.metric2} *\n" },
	{ "{'schema_version':1,'name':'t','identify':{'vm_size':['',1],'gpu_count':'8'},'checks':{'a':{" COUNT_IS
	  "'equals':8}}}",
		"x.json: $.identify.vm_size[0]: must not be empty\n"
		"x.json: $.identify.vm_size[1]: a string is needed, found 1\n"
		"x.json: $.identify.gpu_count: a number is needed, found \"8\"\n" },
	{ FILE_OF("'a':{'metric':'node.gpus','min':'x'},'b':{" COUNT_IS "'equals':true,'min':'7','severity':'bad'},"
		  "'c':3,'d':{'metric':'node.os','equals':'x','min':1,'colour':1,'shape':2}"),
		"x.json: $.checks.a.metric: no such metric: \"node.gpus\"; did you mean \"node.gpus_hidden\", "
		"\"node.gpus_on_pci\" or \"node.gpus_missing\"?\n"
		"x.json: $.checks.b.equals: a number is needed for node.gpu_count, found true\n"
		"x.json: $.checks.b.min: a number is needed, found \"7\"\n"
		"x.json: $.checks.b.severity: one of fail, warn is needed, found \"bad\"\n"
		"x.json: $.checks.c: an object is needed, found 3\n"
		"x.json: $.checks.d.min: does not fit: node.os is a string, *\n"
		"x.json: $.checks.d.colour: unknown key, *\n"
		"x.json: $.checks.d.shape: unknown key, *\n"
		"x.json: $.checks.d: no source: give the source of the expected value\n" },
	{ "{'schema_version':1,'name':'','observe':1,'identify':{'gpu_count':0,'gpus':8},'checks':{'a':{" COUNT_IS
	  "'equals':8,'after':'b'}},'more':1}",
		"x.json: $.name: must not be empty\n"
		"x.json: $.observe: true or false is needed, found 1\n"
		"x.json: $.identify.gpu_count: a whole number from 1 is needed, found 0\n"
		"x.json: $.identify.gpus: unknown key, *\n"
		"x.json: $.checks.a.after: there is no check \"b\"; did you mean \"a\"?\n"
		"x.json: $.more: unknown key, *\n" },
	/* a circle is one problem, and what follows it is read */
	{ "{'schema_version':1,'name':'t','checks':{'a':{" COUNT_IS "'equals':8,'after':'b'},'b':{" COUNT_IS
	  "'equals':8,'after':'c'},'c':{" COUNT_IS "'equals':8,'after':'b'},'d':{" COUNT_IS
	  "'equals':8,'after':'c'}},'more':1}",
		"x.json: $.checks.b.after: the \"after\" of these checks form a circle\n"
		"x.json: $.more: unknown key, *\n" },
	{ FILE_OF("'a':{" COUNT_IS "'equals':8,'also_after':'b'},'b':{" COUNT_IS "'equals':8,'after':'a'}"),
		"x.json: $.checks.a.also_after: the \"after\" of these checks form a circle\n" },
	{ FILE_OF("'a':{" SPEED_IS "'min':9,'max':8},'b':{" SPEED_IS "'min':9,'warn_below':8},'c':{" SPEED_IS
		  "'max':9,'warn_above':10},'d':{" SPEED_IS "'warn_below':9,'warn_above':8},'e':{" SPEED_IS
		  "'max':9,'warn_below':10},'f':{" SPEED_IS "'min':9,'warn_above':8},'g':{" SPEED_IS
		  "'min':9,'equals':8},'h':{" SPEED_IS "'max':9,'one_of':[8,10,11]}"),
		"x.json: $.checks.a.min: 9 is above max, 8\n"
		"x.json: $.checks.b.warn_below: 8 has no effect: min is 9\n"
		"x.json: $.checks.c.warn_above: 10 has no effect: max is 9\n"
		"x.json: $.checks.d.warn_below: 9 is above warn_above, 8: every value warns\n"
		"x.json: $.checks.e.warn_below: 10 always warns: max is 9\n"
		"x.json: $.checks.f.warn_above: 8 always warns: min is 9\n"
		"x.json: $.checks.g.equals: 8 is outside min and max\n"
		"x.json: $.checks.h.one_of[1]: 10 is outside min and max\n"
		"x.json: $.checks.h.one_of[2]: 11 is outside min and max\n" },
	/* all that can fail or warn, and a cause, says what to do; a code that is none is one problem */
	{ "{'schema_version':1,'name':'t','events':{'xid':{'1':{'name':'n','class':'note','action':'a'},'2':{'name':"
	  "'n','class':'warn','action':'a'},'3':{'name':'n','class':'fail','action':'a','action_code':'x'}}},"
	  "'causes':{'c':{'explains':['a'],'facts':{'node.os':'x'},'action':'a'}},"
	  "'checks':{'a':{'metric':'node.gpu_count','source':'s','equals':8}}}",
		"x.json: $.events.xid[\"2\"]" NEEDED "x.json: $.events.xid[\"3\"].action_code: one of none, *\n"
		"x.json: $.causes.c" NEEDED "x.json: $.checks.a" NEEDED },
	/* a value that could not be read is no operator that is not there */
	{ FILE_OF("'a':{" SPEED_IS "'min':'x'}"), "x.json: $.checks.a.min: a number is needed, found \"x\"\n" },
	/* at the bounds */
	{ FILE_OF("'a':{" SPEED_IS "'min':9,'warn_below':9},'b':{" SPEED_IS "'max':9,'warn_above':9},'c':{" SPEED_IS
		  "'min':5,'equals':4},'d':{" SPEED_IS "'max':5,'equals':6},'e':{" SPEED_IS
		  "'min':5,'max':6,'one_of':[5,6,4.9,6.1]}"),
		"x.json: $.checks.a.warn_below: 9 has no effect: min is 9\n"
		"x.json: $.checks.b.warn_above: 9 has no effect: max is 9\n"
		"x.json: $.checks.c.equals: 4 is outside min and max\n"
		"x.json: $.checks.d.equals: 6 is outside min and max\n"
		"x.json: $.checks.e.one_of[2]: 4.9 is outside min and max\n"
		"x.json: $.checks.e.one_of[3]: 6.1 is outside min and max\n" },
	{ FILE_OF("'a':{" SPEED_IS "'max':9,'warn_below':9},'b':{" SPEED_IS "'min':9,'warn_above':9},'c':{" SPEED_IS
		  "'warn_below':9,'warn_above':9},'d':{" SPEED_IS "'min':5,'equals':5},'e':{" SPEED_IS
		  "'max':5,'equals':5}"),
		"" },
	/* one value, and more than one contradiction */
	{ FILE_OF("'a':{" SPEED_IS "'min':20,'max':30,'warn_below':50,'warn_above':10},'b':{" SPEED_IS
		  "'min':20,'warn_below':10,'warn_above':5}"),
		"x.json: $.checks.a.warn_below: 50 always warns: max is 30\n"
		"x.json: $.checks.a.warn_below: 50 is above warn_above, 10: every value warns\n"
		"x.json: $.checks.a.warn_above: 10 always warns: min is 20\n"
		"x.json: $.checks.b.warn_below: 10 has no effect: min is 20\n"
		"x.json: $.checks.b.warn_below: 10 is above warn_above, 5: every value warns\n"
		"x.json: $.checks.b.warn_above: 5 always warns: min is 20\n" },
	/* a metric that is not known hides no problem but those of its values */
	{ FILE_OF("'a':{'metric':'x','min':'7','within':7,'where':{'bytes':'x','gpu':'a'},'severity':'bad','title':''"
		  "}"),
		"x.json: $.checks.a.metric: no such metric: \"x\" *\n"
		"x.json: $.checks.a.within: a string is needed, found 7\n"
		"x.json: $.checks.a.where.bytes: a number is needed, found \"x\"\n"
		"x.json: $.checks.a.severity: one of fail, warn is needed, found \"bad\"\n"
		"x.json: $.checks.a.title: must not be empty\n" },
	/* only what stands before it is what a check without a metric may have meant */
	{ FILE_OF("'gpu.on':{'min':1},'gpu.one':{" SPEED_IS "'min':1},'gpu.onn':{'min':1}"),
		"x.json: $.checks[\"gpu.on\"]: no metric is given\n"
		"x.json: $.checks[\"gpu.onn\"]: no metric is given, and no check of this name is inherited; did you "
		"mean *\n" },
	{ FILE_OF("'a':{" SPEED_IS "'min':8,'warn_below':9,'warn_above':10,'max':11},'b':{" SPEED_IS
		  "'min':8,'max':8,'equals':8}"),
		"" },
};

/* A line of `said` matches when it is the same, or the same as far as its '*'; a text without a newline is the start.
 */
static bool same(const char *heard, const char *said)
{
	while (*said) {
		if (*said == '*') {
			heard = strchr(heard, '\n');
			said++;
			if (!heard)
				return false;
		} else if (*heard++ != *said++) {
			return false;
		}
	}
	return !*heard || said[-1] != '\n';
}

TEST_EACH(every_problem_of_a_file_is_told_in_its_order, cases)
{
	struct heard heard = { .used = 0 };
	size_t count = muster_expect_lint("/none", put("x.json", cases[_i].text), NULL, hear, &heard);
	ck_assert_msg(*cases[_i].said ? same(heard.text, cases[_i].said) : !*heard.text, "said: %s", heard.text);
	size_t lines = 0;
	for (const char *at = heard.text; (at = strchr(at, '\n')); at++)
		lines++;
	ck_assert_uint_eq(count, lines);
}

TEST(what_lint_alone_complains_of_can_still_be_judged)
{
	load_check(SPEED_IS "'min':9,'warn_below':8");
	ck_assert_str_eq(muster_check_action(expect.checks), "none");
	load_check("'metric':'gpu.h2d_gbps','source':'s','min':9");
	ck_assert_str_eq(muster_check_action(expect.checks), "investigate");
}

static void count(void *arg, const char *problem)
{
	size_t *lines = arg;
	*lines += 1;
	ck_assert_int_eq(strstr(problem, "there may be more problems") != NULL, *lines == 101);
}

TEST(after_a_hundred_problems_the_reading_ends)
{
	char text[8192];
	size_t used = (size_t)snprintf(text, sizeof text, "{'schema_version':1,'name':'t'"), lines = 0;
	for (int i = 0; i < 150; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, ",'unknown%d':1", i);
	snprintf(text + used, sizeof text - used, "}");
	ck_assert_uint_eq(muster_expect_lint("/none", put("x.json", text), NULL, count, &lines), 100);
	ck_assert_uint_eq(lines, 101);
}

/* The overlay's own problems come with its name; a number changed needs a source, unless the source changed later. */
static const struct {
	const char *child, *overlay, *said;
} changes[] = {
	{ "'a':{'min':7}", "{}", "child.json: $.checks.a.min: changed without a source: the inherited source is" },
	{ "'a':{'min':7,'source':'t'}", "{}", "" },
	{ "'a':{'min':7}", "{'checks':{'a':{'source':'t'}}}", "" },
	{ "'a':{'min':7,'source':'t'}", "{'checks':{'a':{'max':70}}}", "over.json: $.checks.a.max: changed" },
	{ "'a':{'min':null,'max':7,'source':'t'}", "{'checks':{'a':{'title':'new','severity':'warn'}}}", "" },
	{ "'a':null", "{'checks':{'a':{" SPEED_IS "'min':3}}}", "" },
	{ "'a':{'action_code':null}", "{}", "child.json: $.checks.a" NEEDED },
	/* the file that moved a limit past an inherited one, whichever of the two has no effect now */
	{ "'a':{'warn_below':9,'source':'t'}", "{'checks':{'a':{'min':9.5,'source':'u'}}}",
		"over.json: $.checks.a.min: the inherited warn_below, 9, has no effect: min is 9.5\n" },
	{ "'a':{'warn_below':7,'source':'t'}", "{}", "child.json: $.checks.a.warn_below: 7 has no effect: min is 8\n" },
};

TEST_EACH(a_change_needs_a_source_of_its_own, changes)
{
	struct heard heard = { .used = 0 };
	char child[512];
	put("parent.json", FILE_OF("'a':{" SPEED_IS "'min':8},'b':{" SPEED_IS "'min':8}"));
	snprintf(child, sizeof child, "{'schema_version':1,'name':'c','extends':'parent.json','checks':{%s}}",
		changes[_i].child);
	const char *path = put("child.json", child);
	muster_expect_lint("/none", path, put("over.json", changes[_i].overlay), hear, &heard);
	ck_assert_msg(strncmp(heard.text, changes[_i].said, strlen(changes[_i].said)) == 0 &&
			      !*heard.text == !*changes[_i].said,
		"said: %s", heard.text);
}

TEST_MAIN(.setup = fixture_open, .teardown = loaded_done)
