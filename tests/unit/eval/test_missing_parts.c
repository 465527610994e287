/* SPDX-License-Identifier: Apache-2.0 */
/* test_missing_parts.c - which GPUs and ports a node lacks, and what that explains on its ranks */
#include "check_main.h"
#include "muster/run_data.h"
#include "run_text.h"

#define COUNT(number) "'gpus':{'metric':'node.gpu_count','equals':" number ",'source':'s'}"
#define LISTED                                                                                                         \
	",'numa':{'metric':'gpu.numa_node','source':'s','optional':true,'after':'gpus',"                               \
	"'equals_by':{'label':'gpu','values':{'g0':0,'g1':0,'g2':1}}}"
#define OF_RANKS                                                                                                       \
	",'choice':{'metric':'rank.gpu_choice','equals':'local-rank','source':'s','after':'gpus'},"                    \
	"'sharers':{'metric':'rank.gpu_sharers','equals':1,'source':'s','after':'choice'},"                            \
	"'cpus':{'metric':'rank.cpu_locality','equals':'inside','source':'s','after':'sharers'}"
#define TWO_OF_THREE "a node.gpu_count 2\na node.gpu_bus_ids g0+g2\n"
#define PORT(node, port) node " port.state port=" port " link_layer=InfiniBand ACTIVE\n"
#define RANK(rank, local, gpu, sharers, cpus)                                                                          \
	"a/" rank " rank.gpu_choice local-rank\na/" rank " rank.local_rank " local "\n"                                \
	"a/" rank " rank.gpu_sharers gpu=" gpu " " sharers "\na/" rank " rank.cpu_locality " cpus "\n"

static const struct {
	const char *run, *checks, *found;
} cases[] = {
	/* by the names that the expectations list; with too many or too few names, or another one, none is named */
	{ TWO_OF_THREE "a/0 = - -", COUNT("3") LISTED, "fail gpus a: 3 | 2, without g1\n" },
	{ TWO_OF_THREE "a/0 = - -", COUNT("4") LISTED, "fail gpus a: 4 | 2\n" },
	{ "a node.gpu_count 2\na node.gpu_bus_ids g0+g9\na/0 = - -", COUNT("3") LISTED, "fail gpus a: 3 | 2\n" },
	{ TWO_OF_THREE "a/0 = - -", COUNT("3"), "fail gpus a: 3 | 2\n" },
	{ "a node.gpu_count 4\na node.gpu_bus_ids g0+g1+g2+g3\na/0 = - -", COUNT("3") LISTED, "fail gpus a: 3 | 4\n" },
	/* by another node that is complete */
	{ TWO_OF_THREE "b node.gpu_count 2\nb node.gpu_bus_ids g0+g1\nc node.gpu_count 3\n"
		       "c node.gpu_bus_ids g0+g1+g2\na/0 = - -\nb/1 = - -\nc/2 = - -",
		COUNT("3"), "fail gpus a: 3 | 2, without g1\nfail gpus b: 3 | 2, without g2\n" },
	/* ports, of which those of Ethernet do not count */
	{ "a node.ib_ports 1\nb node.ib_ports 3\n" PORT("a", "p1/1") PORT("b", "p0/1") PORT("b", "p1/1")
			PORT("b", "p2/1") "b port.state port=eth/1 link_layer=Ethernet ACTIVE\na/0 = - -\nb/1 = - -",
		"'ports':{'metric':'node.ib_ports','equals':3,'source':'s'}",
		"fail ports a: 3 | 1, without p0/1, p2/1\n" },
	/* a share in words */
	{ "a node.ranks_per_gpu 0.5\na node.ranks 1\na node.gpu_count 2\na/0 = - -",
		"'per':{'metric':'node.ranks_per_gpu','equals':1,'source':'s'}",
		"fail per a: 1 | 1 rank for 2 GPUs\n" },
	{ "a node.ranks_per_gpu 0.5\na node.ranks 1\na/0 = - -",
		"'per':{'metric':'node.ranks_per_gpu','equals':1,'source':'s'}", "fail per a: 1 | 0.5\n" },
	/* local rank 1 has the GPU of local rank 2: its CPUs are blocked; those of local rank 0 are its own */
	{ TWO_OF_THREE RANK("0", "0", "g0", "1", "outside") RANK("1", "1", "g2", "1", "outside"),
		COUNT("3") LISTED OF_RANKS, "fail gpus a: 3 | 2, without g1\nfail cpus a rank=0: inside | outside\n" },
	/* nobody knows which GPU is missing */
	{ TWO_OF_THREE RANK("0", "0", "g0", "1", "inside") RANK("1", "1", "g2", "1", "outside"), COUNT("3") OF_RANKS,
		"fail gpus a: 3 | 2\nfail cpus a rank=1: inside | outside\n" },
	/* three ranks on two GPUs must share; two ranks need not */
	{ TWO_OF_THREE RANK("0", "0", "g0", "2", "inside") RANK("1", "1", "g0", "2", "outside")
			RANK("2", "2", "g2", "1", "inside"),
		COUNT("3") OF_RANKS, "fail gpus a: 3 | 2\n" },
	{ TWO_OF_THREE RANK("0", "0", "g0", "2", "inside") RANK("1", "1", "g0", "2", "inside"), COUNT("3") OF_RANKS,
		"fail gpus a: 3 | 2\nfail sharers a gpu=g0: 1 | ranks 0-1: 2\n" },
};

TEST_EACH(a_missing_part_is_named_and_explains_its_ranks, cases)
{
	struct muster_run *run = run_text_new(cases[_i].run);
	for (size_t n = 0; n < run->node_count; n++) /* a value of run_text has no blanks */
		for (size_t i = 0; i < run->nodes[n].samples.count; i++) {
			struct muster_value *value = &run->nodes[n].samples.items[i].value;
			char *text = value->type == MUSTER_STRING ? muster_strdup(value->string) : NULL;
			for (char *at = text; at && (at = strchr(at, '+'));)
				*at = ' ';
			if (text)
				value->string = muster_arena_string(run->arena, text);
			free(text);
		}
	ck_assert_str_eq(fixture_found(run, cases[_i].checks), cases[_i].found);
}

TEST_MAIN(.teardown = fixture_done)
