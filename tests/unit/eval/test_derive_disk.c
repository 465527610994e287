/* SPDX-License-Identifier: Apache-2.0 */
/* test_derive_disk.c - what the disks of a node bring to its GPUs */
#include "check_main.h"
#include "run_text.h"

#include "eval/derive.h"
#include "muster/run_data.h"

#define DISK(place, value) place " gpu.stream_gbps gpu=g source=disk load=alone " value "\n"
#define OTHERS(place)                                                                                                  \
	place " gpu.stream_gbps gpu=g source=host load=alone 50\n" place                                               \
	      " gpu.stream_gbps gpu=g source=disk load=products 40\n"

static const struct {
	const char *run, *nodes;
} cases[] = {
	{ DISK("a/0", "2") OTHERS("a/0"), "a unknown 2\n" },
	{ DISK("a/0", "2") DISK("a/1", "3") DISK("b/2", "4"), "a unknown 5\nb unknown 4\n" },
	{ OTHERS("a/0"), "" },
	/* windows of 1 and 3, and of 2 and 2: the best ones, 3 and 2, are not at one time */
	{ DISK("a/0", "1,3") DISK("a/1", "2,2"), "a unknown 3.5\n" },
	{ "a/0 gpu.h2d_gbps gpu=g 50\n", "" },
	/* disks of another layout are not compared: it is that of the scratch */
	{ DISK("a/0", "2") "a node.scratch_read_gbps layout=raid0 3\n" DISK("b/1", "4"), "a raid0 2\nb unknown 4\n" },
	{ DISK("a/0", "2") "a node.scratch_read_gbps layout=none -\n", "a none 2\n" },
	/* a rank without a value: no sum of the others, which would be too small */
	{ DISK("a/0", "2") DISK("a/1", "-") DISK("b/2", "4"), "a unknown no value: not supported here\nb unknown 4\n" },
	{ DISK("a/0", "-"), "a unknown no value: not supported here\n" },
	/* a rank that did not measure at all */
	{ DISK("a/0", "2") "a/1 gpu.h2d_gbps gpu=g 50\n", "a unknown 2\n" },
	/* a run that has it keeps it */
	{ DISK("a/0", "2") "a node.disk_to_gpu_gbps layout=x 7\n", "a x 7\n" },
};

TEST_EACH(ranks_of_a_node_are_added_up, cases)
{
	char text[256] = "";
	size_t used = 0;
	struct muster_run *run = run_text_new(cases[_i].run);
	muster_run_derive_disk(run);
	for (size_t i = 0; i < run->node_count; i++)
		for (size_t k = 0; k < run->nodes[i].samples.count; k++) {
			const struct muster_sample *sample = &run->nodes[i].samples.items[k];
			char value[64];
			if (strcmp(sample->metric->name, "node.disk_to_gpu_gbps") != 0)
				continue;
			used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %s%s%s\n", run->nodes[i].name,
				muster_label_string(sample->labels, sample->label_count, "layout"),
				muster_value_text(sample->value, value, sizeof value), sample->reason ? ": " : "",
				sample->reason ? sample->reason : "");
		}
	ck_assert_str_eq(text, cases[_i].nodes);
}

TEST_MAIN(.teardown = fixture_done)
