/* SPDX-License-Identifier: Apache-2.0 */
/* test_gres.c - GPUs in Slurm's lists of generic resources, and in the record of a job */
#include "check_main.h"
#include "system/gres.h"

#include <string.h>

static const struct {
	const char *list;
	long gpus, alone; /* -1: refused */
} lists[] = {
	{ "gpu:8", 8, 8 },
	{ "gpu:8(IDX:0-7)", 8, 8 },
	{ "gpu:a100-sxm4-80gb:8(IDX:0-7)", 8, 8 },
	{ "gpu:1g.10gb:8(IDX:0-7)", 8, 8 },
	{ "gpu:nvidia_h100_80gb_hbm3:8(IDX:0-3,5-8)", 8, 8 },
	{ "gpu:(null):2(IDX:0-1)", 2, 2 },
	{ "gpu:a100:no_consume:4", 4, 4 },
	{ "gpu:a100:4(IDX:0-3),gpu:3g.40gb:2(IDX:4,5)", 6, 6 },
	{ "nic:4,gpu:2(IDX:0-1),shard:tesla:2(2/4,0/4)", 2, 8 },
	{ "nic(CNT:4),gpu:1g.10gb(CNT:8),disk(CNT:2K)", 8, 2060 },
	{ "gpu(CNT:8)", 8, 8 },
	{ "gpu(CNT:x)", -1, -1 },
	{ "tmpdisk:100G,gres/gpu:1g.10gb=8", 8, -1 },
	{ "gres:gpu:8", 8, 8 },
	{ "gpu:2K", 2048, 2048 },
	{ "gpu:1m", 1048576, 1048576 },
	{ "gpu", 1, -1 },
	{ "gpu:1g.10gb", 1, -1 },
	{ "gpu:a100", 1, -1 },
	{ "gpux:8,mygpu:4", 0, 12 },
	{ "(null)", 0, 0 },
	{ "nic:(null)", 0, -1 },
	{ "8", 0, 8 },
	{ "a100-sxm4-80gb:4,1g.10gb:2", 0, 6 },
	{ "", -1, -1 },
	{ ",", -1, -1 },
	{ "gpu:8,", -1, -1 },
	{ "gpu:", -1, -1 },
	{ "gpu:a100:x", -1, -1 },
	{ "gpu:a100:4g5", -1, -1 },
	{ "gpu:-1:", -1, -1 },
	{ "gpu:99999999999", 1, -1 }, /* a type, if anything */
	{ "gpu:2147483647,gpu:1", -1, -1 },
	{ ":8", -1, 8 },
};

TEST_EACH(the_number_of_a_list, lists)
{
	struct muster_error err;
	long gpus = -1, alone = -1;
	int rc = muster_gres_gpus(lists[_i].list, strlen(lists[_i].list), &gpus, &err);
	ck_assert_msg(gpus == lists[_i].gpus, "%s: %ld", lists[_i].list, gpus);
	ck_assert_int_eq(rc, gpus < 0 ? -1 : 0);
	rc = muster_gres_gpus_alone(lists[_i].list, &alone, &err);
	ck_assert_msg(alone == lists[_i].alone, "%s: %ld alone", lists[_i].list, alone);
	ck_assert_int_eq(rc, alone < 0 ? -1 : 0);
}

#define RECORD(rest) "JobId=5 NodeList=gpu-[1-2] JOB_GRES=gpu:a:16 " rest " MinCPUsNode=1 TresPerNode=gres:gpu:9\n"

static const struct {
	const char *record, *why; /* NULL: 8 GPUs */
} records[] = {
	{ RECORD("  Nodes=gpu-[1-2] CPU_IDs=0-95 Mem=0 GRES=gpu:a100-sxm4-80gb:8(IDX:0-7)"), NULL },
	{ RECORD("\n     Nodes=gpu-1 CPU_IDs=0 Mem=0 GRES=gpu:8\n     Nodes=gpu-2 CPU_IDs=1 Mem=0 GRES=nic:1,gpu:a:8"),
		NULL },
	{ RECORD("Nodes=gpu-1 GRES=gpu:8 Nodes=gpu-2 GRES=gpu:a:4"),
		"8 GPUs on gpu-1 and 4 on gpu-2, and needs as many on each" },
	{ RECORD("Nodes=gpu-1 GRES=gpu:8 Nodes=gpu-2 GRES="), "8 GPUs on gpu-1 and 0 on gpu-2" },
	{ RECORD("Nodes=gpu-[1-2] GRES="), "this job has no GPUs" },
	{ RECORD("Nodes=gpu-[1-2] GRES=nic:2"), "this job has no GPUs" },
	{ RECORD(""), "this job has no GPUs" },
	{ RECORD("Nodes=gpu-1 GRES=gpu:a:b"), "GRES of nodes gpu-1: not a number of GPUs: \"gpu:a:b\"" },
};

TEST_EACH(the_number_of_a_job, records)
{
	struct muster_error err;
	long gpus = 0;
	int rc = muster_gres_of_job(records[_i].record, &gpus, &err);
	if (records[_i].why)
		ck_assert_msg(rc < 0 && strstr(err.text, records[_i].why), "%s: %s", records[_i].record,
			rc < 0 ? err.text : "read");
	else
		ck_assert_msg(rc == 0 && gpus == 8, "%s", records[_i].record);
}

TEST_MAIN(.setup = NULL)
