/* test_floors.c - what a metric of the whole job must reach, as plain numbers */
#include "check_main.h"
#include "run_text.h"

#include "eval/floors.h"

#define SHARE "'share_of':'nccl.allreduce_limit_gbps'"
#define RING(id, more) "'" id "':{'metric':'nccl.allreduce_busbw_gbps','source':'s'," more "}"

static void put(const char *name, const char *start, const char *checks)
{
	char text[2048];
	snprintf(text, sizeof text, "{'schema_version':1,%s,'checks':{%s}}", start, checks);
	for (char *at = text; *at; at++)
		if (*at == '\'')
			*at = '"';
	fixture_write(name, text);
}

/* What the machine type says about runs of two nodes with two ranks and one, profile standard: "BYTES:LEAST ", then
 * what it says about one of the nodes. */
static const struct {
	const char *checks, *floors;
} cases[] = {
	{ RING("a", "'min':100,'where':{'bytes':64},'when':{'nodes':2}"), "64:100 " },
	{ RING("a", "'min':100"), "0:100 | 0:100 " },
	{ RING("a", "'min':100,'where':{'bytes':64}") "," RING("b", "'min':5,'max':300,'where':{'bytes':8}"),
		"64:100 8:5 | 64:100 8:5 " },
	/* a warning is slow enough to look for the cause, and proves nothing about a node */
	{ RING("a", "'min':100,'severity':'warn'"), "0:100 " },
	{ RING("a", "'warn_below':100,'max':300"), "0:100 " },
	{ RING("a", "'min':80,'warn_below':100"), "0:100 | 0:80 " },
	{ RING("a", "'max':100"), "" },
	{ RING("a", "'min':100,'when':{'nodes':2,'profile':'standard'}"), "0:100 " },
	{ RING("a", "'min':100,'when':{'nodes':3}"), "" },
	{ RING("a", "'min':100,'when':{'nodes':1},'where':{'bytes':64,'nodes':1}"), "| 64:100 " },
	{ RING("a", "'min':100,'when':{'nodes':1,'profile':'full'}"), "" },
	{ RING("a", "'min':100,'when':{'ranks':2}"), "| 0:100 " },
	{ RING("a", "'min':100,'when':{'ranks':4}"), "" },
	{ RING("a", "'min':100,'when':{'ranks':3}"), "0:100 " },
	{ RING("a", "'min':100,'where':{'nodes':2}"), "0:100 " },
	{ RING("a", "'min':100,'where':{'ranks':4}"), "0:100 " },
	{ RING("a", "'min':100,'when':{'profile':'full'}"), "" },
	{ RING("a", "'min':100,'when':{'domains':2}"), "0:100 " },
	{ RING("a", "'min':100,'when':{'domains':1}"), "| 0:100 " },
	{ "'a':{'metric':'nccl.allreduce_us','min':100,'source':'s'}", "" },
	/* shares: of the limit of two nodes, and of that of one */
	{ RING("a", SHARE ",'min':0.25,'warn_below':0.5"), "0:100 | 0:75 " },
	{ RING("a", SHARE ",'min':0.25,'where':{'bytes':64},'limit_where':{'path':'network'}"), "64:50 " },
	{ RING("a", SHARE ",'min':0.25,'where':{'bytes':64},'limit_where':{'path':'NVLink'}"), "| 64:75 " },
	{ RING("a", SHARE ",'min':0.25,'limit_where':{'path':'PCIe'}"), "" },
};

static void add_floors(char *text, size_t size, const struct muster_floors *floors)
{
	for (size_t i = 0, used = strlen(text); i < floors->count; i++)
		used += (size_t)snprintf(text + used, size - used, "%llu:%g ",
			(unsigned long long)floors->items[i].bytes, floors->items[i].least);
}

static void check_floors(const char *sku, const char *overlay, const char *expected)
{
	struct muster_selection choice;
	struct muster_error err = { 0 };
	struct muster_run run;
	char text[256] = "";
	run_text(&run, "a node.vm_size VM\nb node.vm_size VM\na/0 = - -\na/1 = - -\nb/2 = - -\n"
		       "job nccl.allreduce_limit_gbps nodes=3 ranks=4 path=network link=x 500\n"
		       "job nccl.allreduce_limit_gbps nodes=2 ranks=3 path=network link=x 200\n"
		       "job nccl.allreduce_limit_gbps nodes=1 ranks=2 path=NVLink link=y 300");
	ck_assert_msg(muster_selection_load(fixture_dir, sku, overlay, &choice, &err) == 0, "%s", err.text);
	struct muster_ring_floors floors = muster_selection_floors(&choice, &run, 2, "nccl.allreduce_busbw_gbps");
	add_floors(text, sizeof text, &floors.ring);
	if (floors.node.count > 0)
		snprintf(text + strlen(text), sizeof text - strlen(text), "| ");
	add_floors(text, sizeof text, &floors.node);
	ck_assert_str_eq(text, expected);
	muster_ring_floors_done(&floors);
	muster_selection_done(&choice);
	muster_run_done(&run);
}

TEST_EACH(floors_are_those_that_this_run_can_fail, cases)
{
	fixture_open();
	put("vm.json", "'name':'vm','identify':{'vm_size':['VM']}", cases[_i].checks);
	check_floors("vm", NULL, cases[_i].floors);
	check_floors("auto", NULL, cases[_i].floors);
	fixture_close();
}

/* The machine that was named, the one that is recognised, what holds anywhere, or nothing. */
TEST(floors_are_those_of_the_machine)
{
	fixture_open();
	put("vm.json", "'name':'vm','identify':{'vm_size':['VM']}", RING("a", "'min':1"));
	put("other.json", "'name':'other','identify':{'vm_size':['OTHER']}", RING("b", "'min':2"));
	check_floors("vm", NULL, "0:1 | 0:1 ");
	check_floors("other", NULL, "0:2 | 0:2 ");
	check_floors("auto", NULL, "0:1 | 0:1 ");
	put("common.json", "'name':'common'", RING("c", "'min':3"));
	check_floors("auto", NULL, "0:1 | 0:1 ");
	/* an overlay that fits another machine alone leaves this one unknown */
	fixture_write("site.json", "{\"checks\":{\"b\":{\"min\":4}}}");
	check_floors("auto", fixture_path("site.json"), "0:3 | 0:3 ");
	check_floors("other", fixture_path("site.json"), "0:4 | 0:4 ");
	fixture_close();
}

TEST_MAIN(.setup = NULL)
