/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu.c - which GPU of its node a bus id is, and its text
 */
#include "check_main.h"
#include "run_text.h"

#include "model/gpu.h"

#include <stdlib.h>

/* The text of a GPU of node a. */
static const struct {
	const char *run, *bus_id, *text;
} gpus[] = {
	{ "a node.gpu_order '1:0~2:0~b:0", "b:0", "GPU 2 (b:0)" },
	{ "a node.gpu_order '1:0~2:0~b:0", "1:0", "GPU 0 (1:0)" },
	/* the job sees one GPU of three, which NVML counts as the first one */
	{ "a node.gpu_order '1:0~2:0~b:0\na/0 gpu.nvml_index gpu=b:0 0", "b:0", "GPU 2 (b:0)" },
	/* one that NVML counts and cannot reach */
	{ "a node.gpu_order '1:0~?~b:0", "b:0", "GPU 2 (b:0)" },
	/* only whole words are bus ids */
	{ "a node.gpu_order '11:0~1:0", "1:0", "GPU 1 (1:0)" },
	{ "a node.gpu_order '1:00~1:0", "1:0", "GPU 1 (1:0)" },
	/* a part of a GPU has the bus id of the GPU */
	{ "a node.gpu_order '1:0~2:0\na/0 = 2:0 MIG-1\na/1 = 2:0 MIG-2", "2:0", "GPU 1 (2:0)" },
	/* not known: a GPU that left the bus, another node's */
	{ "a node.gpu_order '1:0~2:0", "3:0", "GPU 3:0" },
	{ "b node.gpu_order '1:0~2:0\na node", "2:0", "GPU 2:0" },
	{ "a node.gpu_order -", "2:0", "GPU 2:0" },
	{ "a node", NULL, "GPU ?" },
	/* reports of an older muster */
	{ "a/0 gpu.nvml_index gpu=1:0 0\na/1 gpu.nvml_index gpu=2:0 1", "2:0", "GPU 1 (2:0)" },
	{ "a/0 gpu.nvml_index gpu=1:0 0\na/1 gpu.nvml_index gpu=2:0 -", "2:0", "GPU 2:0" },
	{ "a/1 gpu.nvml_index gpu=2:0 -5", "2:0", "GPU 2:0" },
	{ "a/1 gpu.nvml_index gpu=2:0 1e30", "2:0", "GPU 2:0" },
};

TEST_EACH(a_gpu_has_its_index_and_its_bus_id, gpus)
{
	struct muster_run *run = run_text_new(gpus[_i].run);
	ck_assert_str_eq(muster_node_gpu_text(run->arena, run_text_node(run, "a"), gpus[_i].bus_id), gpus[_i].text);
}

TEST(without_a_node_nothing_is_known)
{
	ck_assert_int_eq(muster_node_gpu_index(NULL, "1:0"), -1);
	char *text = muster_gpu_text("1:0", -1);
	ck_assert_str_eq(text, "GPU 1:0");
	free(text);
}

TEST_MAIN(.setup = NULL)
