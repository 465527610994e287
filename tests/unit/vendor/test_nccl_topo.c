/* SPDX-License-Identifier: Apache-2.0 */
/* test_nccl_topo.c - NCCL topology files: right ones, wrong ones, and what is no XML at all */
#include "check_main.h"
#include "vendor/nccl_topo.h"
#include "muster/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPU(id) "<pci busid=\"" id "\" class=\"0x030200\" link_width=\"16\"/>"
#define WHOLE                                                                                                          \
	"<?xml version=\"1.0\"?>\n<!-- an image's -->\n<system version=\"1\">\n"                                       \
	"<cpu numaid=\"0\" affinity=\"00000000,00000000,00ffffff\" arch=\"x86_64\">\n"                                 \
	"<pci busid=\"ffff:ff:01.0\" class=\"0x060400\">" GPU("0003:00:00.0")                                          \
		GPU("000B:00:00.0") "<pci busid=\"0103:00:00.0\" class=\"0x020700\"/></pci></cpu>\n"                   \
				    "<cpu numaid=\"1\" affinity=\"00000000,0000ffff,ff000000\">" GPU(                  \
					    "0001:00:00.0") "</cpu>\n" GPU("0009:00:00.0") "</system>\n"

static struct muster_nccl_topo topo;

/* The text is handed over in memory of just its size, for the sanitizer to watch. */
static int parse(const char *text, size_t length, struct muster_error *err)
{
	char *copy = muster_realloc(NULL, length + 1, 1);
	memcpy(copy + 1, text, length);
	int result = muster_nccl_topo_parse(copy + 1, length, &topo, err);
	free(copy);
	return result;
}

TEST(a_file_places_gpus_and_cpus)
{
	static const struct {
		const char *bus_id;
		int numa_node;
	} gpus[] = { { "0003:00:00.0", 0 }, { "000b:00:00.0", 0 }, { "0001:00:00.0", 1 }, { "0009:00:00.0", -1 } };
	struct muster_error err;
	ck_assert_msg(parse(WHOLE, strlen(WHOLE), &err) == 0, "%s", err.text);
	ck_assert_uint_eq(topo.node_count, 2);
	ck_assert_int_eq(topo.nodes[1].numa_node, 1);
	char *list = muster_cpuset_list(topo.nodes[1].cpus);
	ck_assert_str_eq(list, "24-47");
	free(list);
	ck_assert_uint_eq(topo.gpu_count, sizeof gpus / sizeof *gpus);
	for (size_t i = 0; i < topo.gpu_count; i++) {
		ck_assert_str_eq(topo.gpus[i].bus_id, gpus[i].bus_id);
		ck_assert_int_eq(topo.gpus[i].numa_node, gpus[i].numa_node);
	}
}

static const struct {
	const char *text;
	int cpu_node; /* -2: an error */
	size_t gpus;
	int gpu_node;
} places[] = {
	{ "<system><cpu numaid=\"-1\">" GPU("0001:00:00.0") "</cpu></system>", -1, 1, -1 },
	{ "<system><cpu numaid=\"65535\">" GPU("0001:00:00.0") "</cpu></system>", 65535, 1, 65535 },
	{ "<system><cpu numaid=\"65536\"/></system>", -2, 0, 0 },
	{ "<system><cpu numaid=\"-2\"/></system>", -2, 0, 0 },
	{ "<system><cpu numaid=\"3\"><pci busid=\"1:00:00.0\" class=\"0x030000\"/></cpu></system>", 3, 1, 3 },
	{ "<system><cpu numaid=\"3\"><pci busid=\"no\" class=\"0x020000\"/><pci busid=\"no\"/></cpu></system>", 3, 0,
		0 },
	{ "<system><cpu numaid=\"3\"><pci busid=\"0001:00:00.0\"><gpu dev=\"0\"/></pci></cpu></system>", 3, 1, 3 },
	{ "<system><cpu numaid=\"3\"/>" GPU("0001:00:00.0") "</system>", 3, 1, -1 },
};

TEST_EACH(a_gpu_has_the_node_of_the_cpu_around_it, places)
{
	struct muster_error err = { 0 };
	int result = parse(places[_i].text, strlen(places[_i].text), &err);
	ck_assert_msg(result == (places[_i].cpu_node == -2 ? -1 : 0), "%s", err.text);
	if (result < 0)
		return;
	ck_assert_uint_eq(topo.node_count, 1);
	ck_assert_int_eq(topo.nodes[0].numa_node, places[_i].cpu_node);
	ck_assert_ptr_null(topo.nodes[0].cpus); /* the file does not say */
	ck_assert_uint_eq(topo.gpu_count, places[_i].gpus);
	if (topo.gpu_count > 0) {
		ck_assert_str_eq(topo.gpus[0].bus_id, "0001:00:00.0");
		ck_assert_int_eq(topo.gpus[0].numa_node, places[_i].gpu_node);
	}
}

TEST(a_file_cut_off_anywhere_is_an_error)
{
	struct muster_error err;
	size_t end = strlen(WHOLE) - 1; /* the last newline may be missing */
	topo.gpu_count = 4711;
	for (size_t length = 0; length < end; length++)
		ck_assert_msg(parse(WHOLE, length, &err) == -1, "%zu bytes are enough", length);
	ck_assert_uint_eq(topo.gpu_count, 4711);
}

static const struct {
	const char *text, *why; /* why: a part of the error */
} wrong[] = {
	{ "", "line 1: no element found" },
	{ "NCCL_TOPO_FILE", "line 1: syntax error" },
	{ "<system>\n<pci>\n</system>", "line 3: mismatched tag" },
	{ "<system/><system/>", "junk after document element" },
	{ "<topology version=\"2.0\"/>", "line 1: it is no NCCL topology: the first element is \"topology\"" },
	{ "<system>\n<cpu affinity=\"1\"/></system>", "line 2: a cpu without numaid" },
	{ "<system><cpu numaid=\"one\"/></system>", "numaid: a whole number from -1" },
	{ "<system><cpu numaid=\"0\" affinity=\"0-23\"/></system>", "affinity: a CPU mask of up to" },
	{ "<system><cpu numaid=\"0\"><pci class=\"0x030200\"/></cpu></system>", "a pci without busid" },
	{ "<system><pci class=\"0x030200\" busid=\"1:2\"/></system>", "busid \"1:2\" is no PCI address" },
	{ "<!DOCTYPE a [<!ENTITY b \"c\">]>\n<system>&b;</system>", "line 1: it has a DOCTYPE" },
	{ "<!DOCTYPE a SYSTEM \"/etc/passwd\"><system/>", "line 1: it has a DOCTYPE" },
	{ "<system>&b;</system>", "undefined entity" },
	{ "<system \xff=\"1\"/>", "line 1: not well-formed" },
};

TEST_EACH(what_is_no_topology_is_said_with_its_line, wrong)
{
	struct muster_error err;
	ck_assert_int_eq(parse(wrong[_i].text, strlen(wrong[_i].text), &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, wrong[_i].why) != NULL, "%s", err.text);
	ck_assert_int_eq(muster_nccl_topo_parse(wrong[_i].text, strlen(wrong[_i].text), &topo, NULL), -1);
}

/* <system>, so many times `more`, and an end tag for each. */
static int parse_many(int count, const char *more, const char *end, struct muster_error *err)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	fputs("<system>", out);
	for (int i = 0; i < count; i++)
		fputs(more, out);
	for (int i = 0; i < count; i++)
		fputs(end, out);
	fputs("</system>", out);
	ck_assert_int_eq(fclose(out), 0);
	int result = parse(text, length, err);
	free(text);
	return result;
}

static const struct {
	const char *more, *end;
	int most;
	const char *why;
} limits[] = {
	{ "<pci>", "</pci>", MUSTER_NCCL_TOPO_DEPTH_MAX - 1, "elements are nested more than 32 deep" },
	{ "<cpu numaid=\"1\"/>", "", MUSTER_NCCL_TOPO_NODES_MAX, "more than 64 elements cpu" },
	{ GPU("0001:00:00.0"), "", MUSTER_NCCL_TOPO_GPUS_MAX, "more than 128 GPUs" },
	{ "<a/>", "", (MUSTER_NCCL_TOPO_BYTES_MAX - (int)sizeof "<system></system>" + 1) / 4, "bytes, at most" },
};

TEST_EACH(everything_has_a_limit, limits)
{
	struct muster_error err;
	ck_assert_msg(parse_many(limits[_i].most, limits[_i].more, limits[_i].end, &err) == 0, "%s", err.text);
	ck_assert_int_eq(parse_many(limits[_i].most + 1, limits[_i].more, limits[_i].end, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, limits[_i].why) != NULL, "%s", err.text);
}

static void begin(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (!WITH_EXPAT)
		exit(77); /* ctest: skipped */
}

TEST_MAIN(.begin = begin)
