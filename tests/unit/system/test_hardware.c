/* SPDX-License-Identifier: Apache-2.0 */
/* test_hardware.c - the part of a hardware description that places GPUs */
#include "system/hardware.h"

#include "check_main.h"
#include "unit/system/tree.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct muster_arena *arena;

static void setup(void)
{
	arena = muster_arena_new();
	tree_make();
	put("b.json", "{ \"name\": \"b\", \"host\": { \"threads_per_core\": 2, \"sockets\": 1 },"
		      "  \"numa_nodes\": [ { \"os_index\": 0, \"cpu_list\": \"0-3\", \"socket\": 0 },"
		      "                  { \"os_index\": 2, \"cpu_list\": \"4-7\", \"socket\": 0 } ],"
		      "  \"gpu\": { \"name\": \"x\", \"devices\": [ { \"bus_id\": \"0001:00:00.0\", \"numa_node\": 2 } "
		      "] } }");
	put("a.json", "{ \"extends\": \"b\", \"host\": { \"threads_per_core\": 4 } }");
	put("chain.json", "{ \"extends\": \"a\" }");
	put("orphan.json", "{ \"extends\": \"none\" }");
	put("threads.json", "{ \"extends\": \"b\", \"host\": { \"threads_per_core\": 0 } }");
	put("gpu.json", "{ \"extends\": \"b\", \"gpu\": { \"devices\": [ { \"numa_node\": 2 } ] } }");
	put("cut.json", "{ \"extends\": ");
}

static void teardown(void)
{
	tree_remove();
	muster_arena_free(arena);
}

TEST(a_description_is_read_with_the_one_that_it_extends)
{
	struct muster_hardware hardware;
	struct muster_error err;
	ck_assert_msg(muster_hardware_read(root, "a", arena, &hardware, &err) == 0, "%s", err.text);
	ck_assert_int_eq(hardware.sockets, 1);
	ck_assert_int_eq(hardware.threads_per_core, 4);
	ck_assert_uint_eq(hardware.numa_count, 2);
	ck_assert_int_eq(hardware.numas[1].os_index, 2);
	ck_assert_str_eq(hardware.numas[1].cpu_list, "4-7");
	ck_assert_uint_eq(hardware.gpu_count, 1);
	ck_assert_str_eq(hardware.gpus[0].bus_id, "0001:00:00.0");
	ck_assert_int_eq(hardware.gpus[0].numa_node, 2);
}

static const struct {
	const char *sku, *said;
} bad[] = {
	{ "none", "no hardware description of the machine type \"none\" in " },
	{ "", "no hardware description of the machine type \"\" in " },
	{ "../a", "no hardware description of the machine type \"../a\" in " },
	{ "chain", "/chain.json: $.extends: \"a\" extends another itself" },
	{ "orphan", "/orphan.json: $.extends: no hardware description of the machine type \"none\"" },
	{ "threads", "/threads.json: $.host.threads_per_core: a whole number from 1 is needed, found 0" },
	{ "gpu", "/gpu.json: $.gpu.devices[0]: the key \"bus_id\" is missing" },
	{ "cut", "/cut.json: line 1" },
};

TEST_EACH(a_bad_description_is_named_with_the_place, bad)
{
	struct muster_hardware hardware;
	struct muster_error err;
	ck_assert_int_eq(muster_hardware_read(root, bad[_i].sku, arena, &hardware, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, bad[_i].said), "%s", err.text);
}

TEST(the_list_has_every_name_once)
{
	ck_assert_str_eq(muster_hardware_list(root, arena), "a\nb\nchain\ncut\ngpu\norphan\nthreads\n");
	ck_assert_str_eq(muster_hardware_list("/nowhere", arena), "");
}

TEST_MAIN(.setup = setup, .teardown = teardown)
