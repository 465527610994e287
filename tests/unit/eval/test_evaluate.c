/* SPDX-License-Identifier: Apache-2.0 */
/* test_evaluate.c - what becomes a finding, in words that send the reader to the right place */
#include "check_main.h"
#include "run_text.h"

#include "eval/select.h"
#include "muster/run_data.h"

#define RING(rank, status, more) rank " probe nccl_allreduce " status " " more "\n"
#define PAIR(rank, status, more) rank " probe nccl_pairs " status " " more "\n"
#define STEP(rank, more) rank " probe step not_run - " more "\n"
#define STEP_ENDED(rank, more) rank " probe step error " more "\n"
#define EXCHANGE "'pairs':{'metric':'pair.exchange_us','max':9,'source':'s'}"
#define STEPS "'compute':{'metric':'rank.compute_ms','max':9,'source':'s'}"
#define STEPS_IF_MEASURED "'compute':{'metric':'rank.compute_ms','max':9,'optional':true,'source':'s'}"
#define BUSBW "'busbw':{'metric':'nccl.allreduce_busbw_gbps','min':1,'source':'s'}"

static const struct {
	const char *run, *checks, *found;
	enum muster_status verdict;
} cases[] = {
	/* a hung rank says more about a ring than one whose library complains, and that one more than one out of time
	 */
	{ RING("a/0", "error", "vendor ncclSystemError ring=3") RING("a/1", "hung", "- silent ring=3")
			RING("b/2", "error", "time late ring=3"),
		BUSBW,
		"fail probe.nccl_allreduce a rank=1: probe nccl_allreduce finishes | silent\n"
		"skip probe.nccl_allreduce: probe nccl_allreduce finishes | ended by the failure of rank 1 (2 ranks)\n",
		MUSTER_FAIL },
	{ RING("a/0", "error", "vendor ncclSystemError ring=2") RING("b/1", "error", "remote ncclRemoteError ring=2"),
		BUSBW,
		"fail probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | ncclSystemError\n"
		"skip probe.nccl_allreduce b rank=1: probe nccl_allreduce finishes | ended by the failure of rank 0\n",
		MUSTER_FAIL },
	/* a crash says more than a hang, wherever it stands */
	{ RING("a/0", "hung", "- silent ring=3") RING("b/1", "crashed", "- segfault ring=3")
			RING("b/2", "error", "time late ring=3"),
		BUSBW,
		"fail probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | silent\n"
		"fail probe.nccl_allreduce b rank=1: probe nccl_allreduce finishes | segfault\n"
		"skip probe.nccl_allreduce b rank=2: probe nccl_allreduce finishes | ended by the failure of rank 1\n",
		MUSTER_FAIL },
	/* of another ring, of another size: its own affair */
	{ RING("a/0", "hung", "- silent ring=2") RING("b/1", "error", "time late ring=4"), BUSBW,
		"fail probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | silent\n"
		"inconclusive probe.nccl_allreduce b rank=1: probe nccl_allreduce finishes | late\n",
		MUSTER_FAIL },
	/* a rank of no ring ended by itself */
	{ RING("a/0", "hung", "- silent ring=2") RING("b/1", "error", "time late"), BUSBW,
		"fail probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | silent\n"
		"inconclusive probe.nccl_allreduce b rank=1: probe nccl_allreduce finishes | late\n",
		MUSTER_FAIL },
	/* all ranks of several nodes hung: the ring is to blame, and no node; on one node it is that node */
	{ RING("a/0", "hung", "- silent ring=2") RING("b/1", "hung", "- silent ring=2"), BUSBW,
		"inconclusive probe.nccl_allreduce: probe nccl_allreduce finishes | all 2 ranks: silent\n"
		"skip probe.nccl_allreduce: probe nccl_allreduce finishes | silent (2 ranks)\n",
		MUSTER_INCONCLUSIVE },
	{ RING("a/0", "hung", "- silent ring=2") RING("a/1", "hung", "- silent ring=2"), BUSBW,
		"fail probe.nccl_allreduce a: probe nccl_allreduce finishes | ranks 0-1: silent\n", MUSTER_FAIL },
	/* a missing rank ends the ring for those who were only cancelled, and nothing else */
	{ RING("a/0", "not_run", "- cancelled ring=3") RING("a/1", "error", "vendor broken ring=3") "b/2 missing",
		BUSBW,
		"fail probe.nccl_allreduce a rank=1: probe nccl_allreduce finishes | broken\n"
		"fail rank.missing b rank=2: a result from every rank | no message\n"
		"skip probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | cancelled\n",
		MUSTER_FAIL },
	{ RING("a/0", "not_run", "- cancelled ring=2") "b/1 missing", BUSBW,
		"fail rank.missing b rank=1: a result from every rank | no message\n"
		"skip probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | cancelled\n",
		MUSTER_FAIL },
	{ RING("a/0", "error", "vendor broken ring=2") "b/1 missing", BUSBW,
		"fail probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | broken\n"
		"fail rank.missing b rank=1: a result from every rank | no message\n",
		MUSTER_FAIL },
	{ RING("a/0", "not_run", "- unable") "b/1 missing", BUSBW,
		"fail rank.missing b rank=1: a result from every rank | no message\n"
		"inconclusive probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | unable\n",
		MUSTER_FAIL },
	/* in a round of two only the partner can have ended it */
	{ PAIR("a/0", "error", "remote broken ring=2 with=1") PAIR("b/1", "crashed", "- segfault ring=2 with=0"),
		EXCHANGE,
		"fail probe.nccl_pairs b rank=1: probe nccl_pairs finishes | segfault\n"
		"skip probe.nccl_pairs a rank=0: probe nccl_pairs finishes | ended by the failure of rank 1\n",
		MUSTER_FAIL },
	{ PAIR("a/0", "error", "vendor broken ring=2 with=1") PAIR("b/1", "error", "called_off cancelled ring=2 with=0")
			PAIR("c/2", "crashed", "- segfault ring=2 with=3")
				PAIR("d/3", "error", "called_off ended ring=2 with=2"),
		EXCHANGE,
		"fail probe.nccl_pairs a rank=0: probe nccl_pairs finishes | broken\n"
		"fail probe.nccl_pairs c rank=2: probe nccl_pairs finishes | segfault\n"
		"skip probe.nccl_pairs b rank=1: probe nccl_pairs finishes | cancelled\n"
		"skip probe.nccl_pairs d rank=3: probe nccl_pairs finishes | ended\n",
		MUSTER_FAIL },
	{ PAIR("a/0", "error", "called_off cancelled ring=2 with=1") "b/1 missing", EXCHANGE,
		"fail rank.missing b rank=1: a result from every rank | no message\n"
		"skip probe.nccl_pairs a rank=0: probe nccl_pairs finishes | cancelled\n",
		MUSTER_FAIL },
	/* it waited until its time was over, and from the partner nothing more came */
	{ PAIR("a/0", "error", "time waited ring=2 with=1") "b/1 unfinished\n", EXCHANGE,
		"fail rank.missing b rank=1: a result from every rank | the rank did not finish\n"
		"skip probe.nccl_pairs a rank=0: probe nccl_pairs finishes | ended by the failure of rank 1\n",
		MUSTER_FAIL },
	/* cancelled, and the partner did well: nothing is known to excuse it */
	{ PAIR("a/0", "error", "called_off cancelled ring=2 with=1") PAIR("b/1", "ok", "- - ring=2 with=0"), EXCHANGE,
		"inconclusive probe.nccl_pairs a rank=0: probe nccl_pairs finishes | cancelled\n"
		"skip pairs b rank=1: at most 9 us | the rank was in no such exchange\n",
		MUSTER_INCONCLUSIVE },
	/* traffic that was not run for a failure before it, here or elsewhere, is no finding of its own */
	{ RING("a/0", "ok", "- - ring=2") RING("b/1", "crashed", "- segfault ring=2") STEP("a/0", "needed ring=1")
			STEP("b/1", "segfault"),
		BUSBW "," STEPS, "fail probe.nccl_allreduce b rank=1: probe nccl_allreduce finishes | segfault\n",
		MUSTER_FAIL },
	{ RING("a/0", "ok", "- - ring=2") PAIR("b/1", "hung", "- silent ring=2 with=0") STEP("a/0", "needed ring=2")
			STEP("b/1", "needed ring=2"),
		EXCHANGE "," STEPS,
		"fail probe.nccl_pairs b rank=1: probe nccl_pairs finishes | silent\n"
		"skip pairs a rank=0: at most 9 us | the rank was in no such exchange\n",
		MUSTER_FAIL },
	{ "a/0 = - -\n" STEP("a/0", "needed ring=2") "b/1 missing", STEPS,
		"fail rank.missing b rank=1: a result from every rank | no message\n", MUSTER_FAIL },
	{ STEP("a/0", "late ring=2") STEP("b/1", "late ring=2"), STEPS,
		"inconclusive probe.step a rank=0: probe step finishes | late\n"
		"inconclusive probe.step b rank=1: probe step finishes | late\n",
		MUSTER_INCONCLUSIVE },
	/* traffic that failed is a finding even if its checks need no value; what cannot be done is none */
	{ STEP_ENDED("a/0", "time late ring=2") STEP_ENDED("b/1", "time late ring=2"), STEPS_IF_MEASURED,
		"inconclusive probe.step: probe step finishes | all 2 ranks: late\n"
		"skip probe.step: probe step finishes | late (2 ranks)\n",
		MUSTER_INCONCLUSIVE },
	/* not all of them, and in rounds of two each pair by itself */
	{ STEP_ENDED("a/0", "time late ring=3") STEP_ENDED("b/1", "time late ring=3") "b/2 rank.compute_ms 5\n",
		STEPS_IF_MEASURED,
		"inconclusive probe.step a rank=0: probe step finishes | late\n"
		"inconclusive probe.step b rank=1: probe step finishes | late\n",
		MUSTER_INCONCLUSIVE },
	{ PAIR("a/0", "hung", "- silent ring=2 with=1") PAIR("a/1", "error", "time late ring=2 with=0")
			PAIR("b/2", "hung", "- silent ring=2 with=3") PAIR("b/3", "error", "time late ring=2 with=2"),
		EXCHANGE,
		"fail probe.nccl_pairs a rank=0: probe nccl_pairs finishes | silent\n"
		"fail probe.nccl_pairs b rank=2: probe nccl_pairs finishes | silent\n"
		"skip probe.nccl_pairs a rank=1: probe nccl_pairs finishes | ended by the failure of rank 0\n"
		"skip probe.nccl_pairs b rank=3: probe nccl_pairs finishes | ended by the failure of rank 2\n",
		MUSTER_FAIL },
	{ STEP_ENDED("a/0", "vendor broken ring=2") STEP_ENDED("b/1", "time late ring=2"), STEPS_IF_MEASURED,
		"fail probe.step a rank=0: probe step finishes | broken\n"
		"skip probe.step b rank=1: probe step finishes | ended by the failure of rank 0\n",
		MUSTER_FAIL },
	{ STEP_ENDED("a/0", "notsupported none ring=1") "a/0 rank.compute_ms 5\n", STEPS_IF_MEASURED,
		"skip probe.step a rank=0: probe step finishes | none\n", MUSTER_PASS },
	{ STEP("a/0", "needed ring=2") "a/0 rank.compute_ms 5\n", STEPS_IF_MEASURED,
		"skip probe.step a rank=0: probe step finishes | needed\n", MUSTER_PASS },
	/* a failure that no check needs explains nothing */
	{ PAIR("a/0", "error", "vendor broken ring=2") STEP("a/0", "needed ring=2"), STEPS,
		"inconclusive probe.step a rank=0: probe step finishes | needed\n"
		"skip probe.nccl_pairs a rank=0: probe nccl_pairs finishes | broken (no check of this run needs it)\n",
		MUSTER_INCONCLUSIVE },
	/* the first rank of all is as missing as any other */
	{ "a/1 rank.local_rank 1\na/2 rank.local_rank 2", "'c':{'metric':'rank.local_rank','min':0,'source':'s'}",
		"fail rank.missing: a result from each of 2 ranks | the run does not contain ranks 0\n", MUSTER_FAIL },
	/* a leader that lives had the node's facts to tell: a rank that is missing beside it did not take them along */
	{ "a/0 probe system ok\na/0 rank.local_rank 0\na/1 missing\nb node.gpu_count 2\nb/2 rank.local_rank 0",
		"'c':{'metric':'node.gpu_count','equals':2,'source':'s'}",
		"fail rank.missing a rank=1: a result from every rank | no message\n"
		"inconclusive c a: 2 | not measured\n",
		MUSTER_FAIL },
	{ "a/0 probe environment ok\na/0 rank.local_rank 0\na/1 missing\nb node.topo_file_agrees true\n"
	  "b/2 rank.local_rank 0",
		"'c':{'metric':'node.topo_file_agrees','equals':true,'source':'s'}",
		"fail rank.missing a rank=1: a result from every rank | no message\n"
		"inconclusive c a: true | not measured\n",
		MUSTER_FAIL },
	/* a median of 0 is one like any other */
	{ "a/0 rank.local_rank 0\na/1 rank.local_rank 0\na/2 rank.local_rank 0\na/3 rank.local_rank 5",
		"'c':{'metric':'rank.local_rank','max_of_median':2,'source':'s'}",
		"fail c a rank=3: at most 0 (200 % of the median of this run, 0) | 5\n", MUSTER_FAIL },
	/* a port that is listed and not there is named as a port, and as nothing else */
	{ "a/0 rank.local_rank 0\na port.rate_gbps port=p0/1 link_layer=InfiniBand 200",
		"'c':{'metric':'port.rate_gbps','equals_by':{'label':'port','values':{'p0/1':200,'p1/"
		"1':200}},'source':'s'}",
		"fail c a port=p1/1: 200 Gb/s | not found\n", MUSTER_FAIL },
	/* a value of another type, as a report from elsewhere may hold it */
	{ "a node.kernel 5\na/0 rank.local_rank 0", "'c':{'metric':'node.kernel','equals':'5','source':'s'}",
		"inconclusive c a: 5 | a number instead of a string\n", MUSTER_INCONCLUSIVE },
	/* names of digits alone make ranges too */
	{ "7 node.driver_version x\n8 node.driver_version x\n9 node.driver_version x\n10 node.driver_version x\n"
	  "a node.driver_version y\nb node.driver_version y\nc node.driver_version y\nd node.driver_version y\n"
	  "7/0 = - -\n8/1 = - -\n9/2 = - -\n10/3 = - -\na/4 = - -\nb/5 = - -\nc/6 = - -\nd/7 = - -",
		"'c':{'metric':'node.driver_version','same_across':'nodes','source':'s'}",
		"fail c: the same on all nodes | x on [7-10]; y on a, b, c, d\n", MUSTER_FAIL },
	/* what a probe did on one node explains nothing on the nodes beside it */
	{ "a/0 gpu.numa_node gpu=g0 1\nb/1 probe gpu error vendor broken",
		"'c':{'metric':'gpu.numa_node','source':'s','equals_by':{'label':'gpu','values':{'g0':1,'g1':1}}}",
		"fail c a gpu=g1: 1 | not found\n"
		"fail probe.gpu b rank=1: probe gpu finishes | broken\n",
		MUSTER_FAIL },
	{ "a/0 probe gpu error vendor broken\nb/1 gpu.numa_node gpu=g0 1",
		"'c':{'metric':'gpu.numa_node','source':'s','equals_by':{'label':'gpu','values':{'g0':1,'g1':1}}}",
		"fail probe.gpu a rank=0: probe gpu finishes | broken\n"
		"fail c b gpu=g1: 1 | not found\n",
		MUSTER_FAIL },
	{ "a/0 rank.local_rank 0\na/0 probe gpu ok\na/1 probe gpu error vendor broken",
		"'c':{'metric':'gpu.numa_node','min':1,'source':'s'}",
		"fail probe.gpu a rank=1: probe gpu finishes | broken\n"
		"inconclusive c a rank=0: at least 1 | not measured\n",
		MUSTER_FAIL },
	/* what the job has not comes from any rank, the last one too */
	{ "a/0 rank.local_rank 0\nb/1 "
	  "probe nccl_allreduce error vendor broken",
		BUSBW, "fail probe.nccl_allreduce b rank=1: probe nccl_allreduce finishes | broken\n", MUSTER_FAIL },
	/* one port with two kinds of links is one finding, and two nodes are two */
	{ "a port.state port=p0/1 link_layer=InfiniBand DOWN\na port.state port=p0/1 link_layer=Ethernet DOWN\n"
	  "b port.state port=p0/1 link_layer=InfiniBand DOWN\nc port.state port=p0/1 link_layer=Ethernet DOWN\n"
	  "a/0 = - -\nb/1 = - -\nc/2 = - -",
		"'c':{'metric':'port.state','equals':'ACTIVE','source':'s'}",
		"fail c a port=p0/1: ACTIVE | DOWN with link_layer InfiniBand; DOWN with link_layer Ethernet\n"
		"fail c b port=p0/1: ACTIVE | DOWN\n"
		"fail c c port=p0/1: ACTIVE | DOWN\n",
		MUSTER_FAIL },
	/* ranks that differ in more than their number are findings of their own */
	{ "a/0 rank.local_rank 8\na/1 rank.local_rank 4\na/2 rank.local_rank 4\nb/3 rank.local_rank 4",
		"'c':{'metric':'rank.local_rank','min':5,'warn_below':9,'source':'s'}",
		"fail c a: at least 5 (warning below 9) | ranks 1-2: 4\n"
		"fail c b rank=3: at least 5 (warning below 9) | 4\n"
		"warn c a rank=0: at least 5 (warning below 9) | 8\n",
		MUSTER_FAIL },
	/* a rank beyond the job's does not stand for one of the job's */
	{ "a/0 rank.local_rank 0\na/5 rank.local_rank 0", "'c':{'metric':'rank.local_rank','equals':0,'source':'s'}",
		"fail rank.missing: a result from each of 2 ranks | the run does not contain ranks 1\n", MUSTER_FAIL },
	{ "a/1 rank.local_rank 0", "'c':{'metric':'rank.local_rank','equals':0,'source':'s'}",
		"fail rank.missing: a result from each of 1 ranks | the run contains no rank\n", MUSTER_FAIL },
	/* a check comes after another one on the same GPU of the same rank of the same node, and nowhere else */
	{ "a/0 gpu.h2d_gbps gpu=g0 1\na/0 gpu.numa_node gpu=g0 7\na/0 gpu.numa_node gpu=g1 7\n"
	  "a/1 gpu.h2d_gbps gpu=g2 30\na/1 gpu.numa_node gpu=g2 7\nb/2 gpu.h2d_gbps gpu=g0 30\n"
	  "b/2 gpu.numa_node gpu=g0 7\nc/3 gpu.h2d_gbps gpu=g0 1\nc/3 gpu.numa_node gpu=g0 7",
		"'first':{'metric':'gpu.h2d_gbps','min':2,'source':'s'},"
		"'second':{'metric':'gpu.numa_node','equals':1,'source':'s','after':'first'},"
		"'third':{'metric':'gpu.numa_node','equals':2,'source':'s','after':'second'}",
		"fail first a rank=0 gpu=g0: at least 2 GB/s | 1\n"
		"fail second a rank=0 gpu=g1: 1 | 7\n"
		"fail second a rank=1 gpu=g2: 1 | 7\n"
		"fail second b rank=2 gpu=g0: 1 | 7\n"
		"fail first c rank=3 gpu=g0: at least 2 GB/s | 1\n",
		MUSTER_FAIL },
	/* what failed on a node holds for its ranks, and what failed for the job holds everywhere */
	{ "a node.cpus 1\nb node.cpus 8\na/0 rank.local_rank 3\nb/1 rank.local_rank 3",
		"'first':{'metric':'node.cpus','min':2,'source':'s'},"
		"'second':{'metric':'rank.local_rank','equals':0,'source':'s','after':'first'}",
		"fail first a: at least 2 | 1\n"
		"fail second b rank=1: 0 | 3\n",
		MUSTER_FAIL },
	{ "job nccl.ring_ranks 1\na node.cpus 1\nb node.cpus 1\na/0 = - -\nb/1 = - -",
		"'first':{'metric':'nccl.ring_ranks','equals':2,'source':'s'},"
		"'second':{'metric':'node.cpus','min':2,'source':'s','after':'first'}",
		"fail first: 2 | 1\n", MUSTER_FAIL },
	{ "job nccl.ring_ranks 1\na node.cpus 8\nb node.cpus 1\na/0 = - -\nb/1 = - -",
		"'first':{'metric':'node.cpus','min':2,'source':'s'},"
		"'second':{'metric':'nccl.ring_ranks','equals':2,'source':'s','after':'first'}",
		"fail first b: at least 2 | 1\n", MUSTER_FAIL },
	/* what an earlier check failed on is not judged again, measured there or not */
	{ "a node.gpu_count 1\na/0 rank.local_rank 0\nb node.gpu_count 2\nb/1 rank.local_rank 0",
		"'first':{'metric':'node.gpu_count','min':2,'source':'s'},"
		"'second':{'metric':'node.cpus','min':1,'source':'s','after':'first'}",
		"fail first a: at least 2 | 1\n"
		"inconclusive second b: at least 1 | not measured\n",
		MUSTER_FAIL },
	/* of the listed ports the first and the last are missing */
	{ "a/0 rank.local_rank 0\na port.rate_gbps port=p1/1 link_layer=InfiniBand 200",
		"'c':{'metric':'port.rate_gbps','equals_by':{'label':'port','values':{'p0/1':200,'p1/1':200,'p2/"
		"1':100}},'source':'s'}",
		"fail c a port=p0/1: 200 Gb/s | not found\nfail c a port=p2/1: 100 Gb/s | not found\n", MUSTER_FAIL },
	/* the same fault of two ports, or of two GPUs of one rank, is two findings, in the order of the names */
	{ "a port.state port=p1/1 link_layer=InfiniBand DOWN\na port.state port=p0/1 link_layer=InfiniBand DOWN\n"
	  "a/0 = - -",
		"'c':{'metric':'port.state','equals':'ACTIVE','source':'s','advice':'${port}'}",
		"fail c a port=p0/1: ACTIVE | DOWN\nfail c a port=p1/1: ACTIVE | DOWN\n", MUSTER_FAIL },
	{ "a/0 gpu.numa_node gpu=g1 7\na/0 gpu.numa_node gpu=g0 7",
		"'c':{'metric':'gpu.numa_node','equals':0,'source':'s'}",
		"fail c a rank=0 gpu=g0: 0 | 7\nfail c a rank=0 gpu=g1: 0 | 7\n", MUSTER_FAIL },
	/* probes of one rank by their names */
	{ "a/0 probe gpu_copy error vendor broken\na/0 probe gpu error vendor damaged",
		"'c':{'metric':'gpu.h2d_gbps','min':1,'source':'s'},'d':{'metric':'gpu.numa_node','min':0,'source':'s'"
		"}",
		"fail probe.gpu a rank=0: probe gpu finishes | damaged\n"
		"fail probe.gpu_copy a rank=0: probe gpu_copy finishes | broken\n",
		MUSTER_FAIL },
	/* one cause of two probes is one finding, of the one that is wanted; not where one of them ended otherwise */
	{ "a/0 probe gpu error vendor broken\na/0 probe gpu_copy error vendor broken",
		"'c':{'metric':'gpu.h2d_gbps','min':1,'source':'s'},'d':{'metric':'gpu.numa_node','min':0,'source':'s'"
		"}",
		"fail probe.gpu a rank=0: probe gpu finishes | broken\n", MUSTER_FAIL },
	{ "a/0 probe gpu error vendor broken\na/0 probe gpu_copy error vendor broken",
		"'c':{'metric':'gpu.h2d_gbps','min':1,'source':'s','optional':true},"
		"'d':{'metric':'gpu.numa_node','min':0,'source':'s'}",
		"fail probe.gpu a rank=0: probe gpu finishes | broken\n", MUSTER_FAIL },
	{ "a/0 probe gpu error vendor broken\na/0 probe gpu_copy error vendor broken",
		"'c':{'metric':'gpu.h2d_gbps','min':1,'source':'s'},"
		"'d':{'metric':'gpu.numa_node','min':0,'source':'s','optional':true}",
		"fail probe.gpu_copy a rank=0: probe gpu_copy finishes | broken\n", MUSTER_FAIL },
	{ "a/0 probe gpu hung - broken\na/0 probe gpu_copy error vendor broken",
		"'c':{'metric':'gpu.h2d_gbps','min':1,'source':'s'},'d':{'metric':'gpu.numa_node','min':0,'source':'s'"
		"}",
		"fail probe.gpu a rank=0: probe gpu finishes | broken\n"
		"fail probe.gpu_copy a rank=0: probe gpu_copy finishes | broken\n",
		MUSTER_FAIL },
	/* what cannot be measured is told once, with how many of what there are */
	{ "a port.rate_gbps port=p0/1 link_layer=InfiniBand -\na port.rate_gbps port=p1/1 link_layer=InfiniBand -\n"
	  "a/0 = - -",
		"'c':{'metric':'port.rate_gbps','min':1,'source':'s','optional':true}",
		"skip c a: at least 1 Gb/s | no value: not supported here (2 ports)\n", MUSTER_PASS },
	{ "a node.cpus -\nb node.cpus -\na/0 = - -\nb/1 = - -",
		"'c':{'metric':'node.cpus','min':1,'source':'s','optional':true}",
		"skip c: at least 1 | no value: not supported here (2 nodes)\n", MUSTER_PASS },
	{ "a/0 rank.local_rank -\na/1 rank.local_rank -",
		"'c':{'metric':'rank.local_rank','min':1,'source':'s','optional':true}",
		"skip c a: at least 1 | no value: not supported here (2 ranks)\n", MUSTER_PASS },
	{ "job nccl.allreduce_busbw_gbps bytes=64 nodes=1 ranks=1 -\n"
	  "job nccl.allreduce_busbw_gbps bytes=128 nodes=1 ranks=1 -\na/0 = - -",
		"'c':{'metric':'nccl.allreduce_busbw_gbps','min':1,'source':'s','optional':true}",
		"skip c: at least 1 GB/s | no value: not supported here (2 times)\n", MUSTER_PASS },
	/* a report of an older muster has no such metric, or not even the probe */
	{ "a/0 probe system ok\na/0 rank.local_rank 0",
		"'c':{'metric':'node.cpus','min':1,'source':'s','optional':true}",
		"skip c a: at least 1 | not measured: this run did not have the metric\n", MUSTER_PASS },
	{ "a/0 probe gpu ok\na/0 rank.local_rank 0", "'c':{'metric':'node.cpus','min':1,'source':'s','optional':true}",
		"skip c a: at least 1 | not measured: this run did not have the probe\n", MUSTER_PASS },
	{ "a/0 rank.local_rank 0", "'c':{'metric':'node.cpus','min':1,'source':'s','optional':true}",
		"skip c a: at least 1 | not measured: this run did not have the metric\n", MUSTER_PASS },
	{ "a/0 probe gpu ok\na/1 probe gpu_copy ok",
		"'c':{'metric':'gpu.h2d_gbps','min':1,'source':'s','optional':true}",
		"skip c a rank=0: at least 1 GB/s | not measured: this run did not have the probe\n"
		"skip c a rank=1: at least 1 GB/s | not measured: this run did not have the metric\n",
		MUSTER_PASS },
	{ "a/0 probe gpu ok", "'c':{'metric':'nccl.ring_ranks','min':1,'source':'s','optional':true}",
		"skip c: at least 1 | not measured: this run did not have the metric\n", MUSTER_PASS },
	/* an all-reduce of other sizes */
	{ "job nccl.allreduce_busbw_gbps bytes=64 nodes=1 ranks=1 5\na/0 = - -",
		"'c':{'metric':'nccl.allreduce_busbw_gbps','where':{'bytes':128},'min':1,'source':'s','optional':true}",
		"skip c: at least 1 GB/s | not measured in this run\n", MUSTER_PASS },
	{ "job nccl.allreduce_busbw_gbps bytes=64 nodes=1 ranks=1 5\na/0 = - -",
		"'c':{'metric':'nccl.allreduce_busbw_gbps','where':{'bytes':128},'min':1,'source':'s'}",
		"inconclusive c: at least 1 GB/s | not measured\n", MUSTER_INCONCLUSIVE },
	/* thresholds for one layout of the disks, on a node that has another one */
	{ "a node.scratch_read_gbps layout=mirror 5\na/0 = - -",
		"'c':{'metric':'node.scratch_read_gbps','where':{'layout':'stripe'},'min':9,'source':'s','optional':"
		"true}",
		"skip c a: at least 9 GB/s | the value of this node has other labels\n", MUSTER_PASS },
	{ "a node.scratch_read_gbps layout=mirror 5\nb node.scratch_read_gbps layout=stripe 5\na/0 = - -\nb/1 = - -",
		"'c':{'metric':'node.scratch_read_gbps','where':{'layout':'stripe'},'min':9,'source':'s','optional':"
		"true}",
		"fail c b: at least 9 GB/s | 5\n"
		"skip c a: at least 9 GB/s | the value of this node has other labels\n",
		MUSTER_FAIL },
	{ "a node.scratch_read_gbps layout=mirror 5\na/0 = - -",
		"'c':{'metric':'node.scratch_read_gbps','where':{'layout':'stripe'},'min':9,'source':'s'}",
		"inconclusive c a: at least 9 GB/s | not measured\n", MUSTER_INCONCLUSIVE },
	/* beside a node that has the metric */
	{ "a/0 probe system ok\nb/1 probe system ok\nb node.cpus 4",
		"'c':{'metric':'node.cpus','min':1,'source':'s','optional':true}",
		"inconclusive c a: at least 1 | not measured\n", MUSTER_INCONCLUSIVE },
	/* of the last part of a probe, which a rank that runs out of time skips */
	{ "a/0 probe gpu_errors ok\na/1 probe gpu_errors ok\na/1 gpu.nvlink_errors_increase gpu=g kind=replay 0",
		"'c':{'metric':'gpu.nvlink_errors_increase','max':0,'source':'s','optional':true}",
		"skip c a rank=0: at most 0 | not measured: the run ended before the last part of the probe\n",
		MUSTER_PASS },
	{ "a/0 probe gpu_errors ok\na/1 probe gpu_errors ok\na/1 gpu.nvlink_errors_increase gpu=g kind=replay 0",
		"'c':{'metric':'gpu.nvlink_errors_increase','max':0,'source':'s'}",
		"inconclusive c a rank=0: at most 0 | not measured\n", MUSTER_INCONCLUSIVE },
	/* five values of one rank, of which four are shown */
	{ "a/0 rank.allreduce_wrong bytes=1 1\na/0 rank.allreduce_wrong bytes=2 2\na/0 rank.allreduce_wrong bytes=3 3\n"
	  "a/0 rank.allreduce_wrong bytes=4 4\na/0 rank.allreduce_wrong bytes=5 5",
		"'c':{'metric':'rank.allreduce_wrong','equals':0,'source':'s'}",
		"fail c a rank=0: 0 | 1 with bytes 1; 2 with bytes 2; 3 with bytes 3; 4 with bytes 4; and 1 more\n",
		MUSTER_FAIL },
	/* ports of a node that differ in nothing are one finding, and those of other nodes another */
	{ "a port.full_member port=p0/1 link_layer=InfiniBand false\n"
	  "a port.full_member port=p1/1 link_layer=InfiniBand true\n"
	  "a port.full_member port=p2/1 link_layer=InfiniBand false\n"
	  "b port.full_member port=p0/1 link_layer=InfiniBand false\na/0 = - -\nb/1 = - -",
		"'c':{'metric':'port.full_member','equals':true,'source':'s'}",
		"fail c a: true | ports p0/1, p2/1: false\nfail c b port=p0/1: true | false\n", MUSTER_FAIL },
	{ "a port.full_member port=p0/1 link_layer=InfiniBand false\n"
	  "a port.full_member port=p1/1 link_layer=InfiniBand false\na/0 = - -",
		"'c':{'metric':'port.full_member','equals':true,'source':'s','advice':'look at ${port}'}",
		"fail c a port=p0/1: true | false\nfail c a port=p1/1: true | false\n", MUSTER_FAIL },
	/* values with a unit, of which one differs; and a rank alone is no ranks */
	{ "a node.memory_mib 4\nb node.memory_mib 4\nc node.memory_mib 5\na/0 = - -\nb/1 = - -\nc/2 = - -",
		"'c':{'metric':'node.memory_mib','same_across':'nodes','source':'s'}",
		"fail c c: the same on all nodes: 4 MiB (2 of 3) | 5\n", MUSTER_FAIL },
	{ "a/0 rank.local_rank 7\na/1 rank.local_rank 8",
		"'c':{'metric':'rank.local_rank','same_across':'ranks','source':'s'}",
		"fail c: the same on all ranks | 7 on rank 0; 8 on rank 1\n", MUSTER_FAIL },
	/* a node of which nothing came is not compared */
	{ "a node.driver_version x\na/0 = - -\nb node\nc/1 missing",
		"'c':{'metric':'node.driver_version','same_across':'nodes','source':'s'},"
		"'d':{'metric':'port.firmware','same_across':'nodes','source':'s'}",
		"fail node.missing b: a result from every node | no result from this node\n"
		"fail rank.missing c rank=1: a result from every rank | no message\n",
		MUSTER_FAIL },
	{ "a node.cpus 4\na/0 = - -\nb node\nb port.lid port=p0/1 link_layer=InfiniBand 1",
		"'c':{'metric':'node.cpus','equals':4,'source':'s'},'d':{'metric':'port.lid','equals':0,'source':'s'}",
		"fail node.missing b: a result from every node | no result from this node\n", MUSTER_FAIL },
	/* a ring is ended by the first of two ranks that say as much */
	{ RING("a/0", "error", "time late ring=3") RING("a/1", "hung", "- silent ring=3")
			RING("b/2", "hung", "- silent ring=3"),
		BUSBW,
		"fail probe.nccl_allreduce a rank=1: probe nccl_allreduce finishes | silent\n"
		"fail probe.nccl_allreduce b rank=2: probe nccl_allreduce finishes | silent\n"
		"skip probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | ended by the failure of rank 1\n",
		MUSTER_FAIL },
};

TEST_EACH(a_run_has_the_findings_that_it_earns, cases)
{
	struct muster_run *run = run_text_new(cases[_i].run);
	struct muster_report *report = fixture_report(run, cases[_i].checks, false);
	ck_assert_str_eq(fixture_findings(report), cases[_i].found);
	ck_assert_int_eq(report->verdict, cases[_i].verdict);
}

/* A metric's value in an advice is that of the finding's own GPU, else of its node, else of the job. */
TEST(advice_takes_values_from_the_nearest_place)
{
	struct muster_run *run =
		run_text_new("job nccl.ring_ranks 2\na node.cpus 4\nb node.cpus 8\na/0 gpu.numa_node gpu=g0 1\n"
			     "a/0 gpu.numa_node gpu=g1 2\na/0 gpu.h2d_gbps gpu=g0 30\na/0 gpu.h2d_gbps gpu=g1 3\n"
			     "b/1 gpu.numa_node gpu=g1 -\nb/1 gpu.h2d_gbps gpu=g1 3");
	struct muster_report *report = fixture_report(run,
		"'c':{'metric':'gpu.h2d_gbps','min':9,'source':'s','advice':'${gpu} ${node} ${rank} ${gpu.numa_node} "
		"${node.cpus} ${nccl.ring_ranks} ${node.kernel} ${port}'}",
		false);
	ck_assert_uint_eq(report->finding_count, 2);
	ck_assert_str_eq(report->findings[0].advice, "g1 a 0 2 4 2 ? ?");
	ck_assert_str_eq(report->findings[1].advice, "g1 b 1 ? 8 2 ? ?");
}

TEST(advice_names_the_port_and_the_one_rank)
{
	struct muster_run *run =
		run_text_new("a port.state port=p0/1 link_layer=InfiniBand INIT\na/0 rank.local_rank 0");
	struct muster_report *report = fixture_report(run,
		"'c':{'metric':'port.state','equals':'ACTIVE','source':'s','advice':'see ${port} of ${node}, ${rank}'}",
		false);
	ck_assert_str_eq(report->findings[0].advice, "see p0/1 of a, ?");
	run = run_text_new("a/5 rank.local_rank 5");
	report = fixture_report(run,
		"'c':{'metric':'rank.local_rank','equals':0,'source':'s','advice':'rank ${rank}, ${node.cpus}'}",
		false);
	ck_assert_str_eq(report->findings[1].advice, "rank 5, ?");
}

static const struct {
	const char *outcome, *advice;
} ends[] = {
	{ "a/0 probe gpu crashed - segfault", "if the probe fails at the same step" },
	{ "a/0 probe gpu hung - silent", "if the probe fails at the same step" },
	{ "a/0 probe gpu error lib missing", "install or repair the library" },
	{ "a/0 probe gpu error vendor broken", "if the same call fails again" },
	{ "a/0 probe gpu error permission refused", "ask the administrator for access" },
	{ "a/0 probe gpu error time late", "a longer --deadline" },
	{ "a/0 probe gpu error remote gone", "run again with --localise always" },
};

TEST_EACH(a_probe_that_did_not_end_well_comes_with_what_to_do, ends)
{
	struct muster_run *run = run_text_new(ends[_i].outcome);
	struct muster_report *report =
		fixture_report(run, "'c':{'metric':'gpu.name','equals':'x','source':'s'}", false);
	ck_assert_uint_eq(report->finding_count, 1);
	ck_assert_msg(report->findings[0].advice && strstr(report->findings[0].advice, ends[_i].advice), "%s",
		report->findings[0].advice);
}

/* A report says of each check which samples it chose: figures are shown with their message size. */
TEST(a_tally_keeps_the_labels_that_choose_its_samples)
{
	struct muster_run *run =
		run_text_new("a port.rate_gbps port=p0/1 link_layer=InfiniBand 200\na/0 rank.local_rank 0\n"
			     "job nccl.allreduce_busbw_gbps bytes=64 nodes=1 ranks=1 5");
	struct muster_report *report = fixture_report(run,
		"'rate':{'metric':'port.rate_gbps','where':{'link_layer':'InfiniBand'},'min':200,'source':'s'},"
		"'busbw':{'metric':'nccl.allreduce_busbw_gbps','where':{'bytes':64},'min':1,'source':'s'}",
		false);
	ck_assert_uint_eq(report->tallies[0].where_count, 1);
	ck_assert_str_eq(report->tallies[0].where[0].key, "link_layer");
	ck_assert_str_eq(report->tallies[0].where[0].value.string, "InfiniBand");
	ck_assert_str_eq(report->tallies[1].where[0].key, "bytes");
	ck_assert_double_eq(report->tallies[1].where[0].value.number, 64);
}

/* A finding that stands for several GPUs has the labels of none of them. */
TEST(what_does_not_apply_to_several_gpus_has_no_labels)
{
	struct muster_run *run = run_text_new("a/0 gpu.h2d_gbps gpu=g0 -\na/1 gpu.h2d_gbps gpu=g1 -");
	struct muster_report *report =
		fixture_report(run, "'c':{'metric':'gpu.h2d_gbps','min':1,'source':'s','optional':true}", false);
	ck_assert_str_eq(
		fixture_findings(report), "skip c a: at least 1 GB/s | no value: not supported here (2 GPUs)\n");
	ck_assert_ptr_null(report->findings[0].labels);
	ck_assert_uint_eq(report->findings[0].label_count, 0);
}

/* One cause of four GPUs, each of which it names; another cause of a fifth; what a GPU without a rank has. */
TEST(one_reason_that_names_each_gpu_is_one_finding_with_an_action)
{
	static const char config[] = "'c':{'metric':'gpu.numa_node','equals':0,'source':'s','advice':'of a bad value'}";
	struct muster_run *run = run_text_new("a/0 gpu.numa_node gpu=g0 -\na/1 gpu.numa_node gpu=g1 -\n"
					      "a/2 gpu.numa_node gpu=g2 -\na/3 gpu.numa_node gpu=g3 -\n"
					      "b/4 gpu.numa_node gpu=g0 -");
	for (size_t i = 0; i < 4; i++)
		run->nodes[0].ranks[i].samples.items[0].reason =
			i == 2 ? "gone" : muster_arena_printf(run->arena, "/sys/g%zu/numa of g%zu is -1", i, i);
	struct muster_report *report = fixture_report(run, config, false);
	ck_assert_str_eq(fixture_findings(report),
		"inconclusive c a: 0 | ranks 0-1,3: no value: /sys/*/numa of * is -1\n"
		"inconclusive c a rank=2 gpu=g2: 0 | no value: gone\n"
		"inconclusive c b rank=4 gpu=g0: 0 | no value: not supported here\n");
	ck_assert_uint_eq(report->findings[0].label_count, 0);
	ck_assert_uint_eq(report->tallies[0].count[MUSTER_INCONCLUSIVE], 3);
	for (size_t i = 0; i < 3; i++)
		ck_assert_msg(strstr(report->findings[i].advice, "numa=off"), "%s", report->findings[i].advice);
}

TEST(one_reason_that_names_each_port_is_one_finding_too)
{
	struct muster_run *run = run_text_new("a/0 = g0 U\na port.width port=m0/1 link_layer=InfiniBand -\n"
					      "a port.width port=m1/1 link_layer=InfiniBand -");
	for (size_t i = 0; i < 2; i++)
		run->nodes[0].samples.items[i].reason =
			muster_arena_printf(run->arena, "m%zu/ports/1/rate: No such file", i);
	struct muster_report *report = fixture_report(run, "'c':{'metric':'port.width','min':1,'source':'s'}", false);
	ck_assert_str_eq(fixture_findings(report),
		"inconclusive c a: at least 1 lanes | ports m0/1, m1/1: no value: */ports/1/rate: No such file\n");
	ck_assert_msg(strstr(report->findings[0].advice, "could not be read"), "%s", report->findings[0].advice);
}

/* As many reasons, each on a node of its own, and the first one again: after 64 others it is not found. */
TEST_LOOP(a_reason_is_looked_for_among_the_last_64, 64, 66)
{
	struct muster_run *run = fixture_new_run();
	for (int i = 0; i <= _i; i++) {
		struct muster_node *node = fixture_node(run, muster_arena_printf(run->arena, "n%03d", i), 1);
		fixture_sample(run, &node->samples, "node.cpus", NULL, muster_null())->reason =
			muster_arena_printf(run->arena, "reason %d", i % _i);
	}
	struct muster_report *report =
		fixture_report(run, "'c':{'metric':'node.cpus','min':1,'source':'s','optional':true}", false);
	ck_assert_uint_eq(report->finding_count, _i == 64 ? 64 : 66);
	ck_assert_uint_eq(report->count[MUSTER_SKIP], report->finding_count);
}

/* Whether there is a port is not known where the probe failed: that is no pass. */
TEST(what_should_be_absent_passes_only_where_its_probe_ran)
{
	struct muster_run *run = run_text_new("a/0 probe ib_link error lib missing\nb/1 probe ib_link ok");
	struct muster_report *report =
		fixture_report(run, "'c':{'metric':'port.lid','present':false,'source':'s'}", false);
	ck_assert_uint_eq(report->tallies[0].count[MUSTER_PASS], 1);
	ck_assert_uint_eq(report->count[MUSTER_PASS], 1);
	ck_assert_str_eq(fixture_findings(report), "fail probe.ib_link a rank=0: probe ib_link finishes | missing\n");
	ck_assert_uint_eq(report->findings[0].blocked_count, 1);
}

/* The report outlives the expectations, and the value that all have is shown beside the check. */
TEST_LOOP(a_tally_has_the_value_that_all_have, 0, 3)
{
	static const struct {
		const char *run, *value;
	} runs[] = {
		{ "a node.kernel x\nb node.kernel x\na/0 = - -\nb/1 = - -", "x" },
		{ "a node.kernel x\nb node.kernel y\nc node.kernel x\na/0 = - -\nb/1 = - -\nc/2 = - -", NULL },
		{ "a node.kernel -\nb node.kernel y\na/0 = - -\nb/1 = - -", "y" },
	};
	struct muster_run *run = run_text_new(runs[_i].run);
	struct muster_report *report =
		fixture_report(run, "'c':{'metric':'node.kernel','matches':'.','source':'s'}", false);
	ck_assert_pstr_eq(report->tallies[0].value, runs[_i].value);
	ck_assert(!report->tallies[0].has_numbers);
}

/* Probes that share no ring failed by themselves, though the run was ended early. */
TEST(the_end_of_a_run_explains_what_did_not_run_and_what_shares_a_ring)
{
	struct muster_run *run =
		run_text_new("a/0 probe gpu error vendor broken\na/0 probe gpu_copy not_run - unable\n"
			     "a/0 probe nccl_allreduce error vendor gone ring=3\n"
			     "a/1 probe nccl_allreduce crashed - segfault ring=3\n"
			     "b/2 probe gpu error interrupted ended\n"
			     "b/3 probe nccl_allreduce error lib lacking"); /* the last one was in no ring */
	run->job.interrupted = "SIGTERM";
	ck_assert_str_eq(fixture_found(run, "'c':{'metric':'gpu.numa_node','min':0,'source':'s'},'d':{'metric':'gpu."
					    "h2d_gbps','min':0,'source':'s'}"
					    ","
					    "'e':{'metric':'nccl.ring_ranks','min':0,'source':'s'}"),
		"fail probe.gpu a rank=0: probe gpu finishes | broken\n"
		"fail probe.nccl_allreduce a rank=1: probe nccl_allreduce finishes | segfault\n"
		"fail probe.nccl_allreduce b rank=3: probe nccl_allreduce finishes | lacking\n"
		"inconclusive run.interrupted: the run finishes | SIGTERM\n"
		"inconclusive c a rank=1: at least 0 | not measured\n"
		"inconclusive d a rank=1: at least 0 GB/s | not measured\n"
		"inconclusive d b: at least 0 GB/s | ranks 2-3: not measured\n"
		"inconclusive c b rank=3: at least 0 | not measured\n"
		"skip probe.gpu_copy a rank=0: probe gpu_copy finishes | unable\n"
		"skip probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | gone\n"
		"skip probe.gpu b rank=2: probe gpu finishes | ended\n");
}

/* ---- which expectations a run is judged by ---- */

#define FILE_OF(name, rest)                                                                                            \
	{                                                                                                              \
		name ".json", "{'schema_version':1,'name':'" name "'," rest "}"                                        \
	}
#define COMMON FILE_OF("common", "'checks':{'ranks':{'metric':'rank.local_rank','min':0,'source':'s'}}")
#define SMALL FILE_OF("small", "'checks':{'cpus':{'metric':'node.cpus','equals':4,'source':'s'}}")
#define VM FILE_OF("vm", "'identify':{'vm_size':['VM']},'checks':{'c':{'metric':'node.cpus','min':1,'source':'s'}}")
#define OTHER                                                                                                          \
	FILE_OF("other", "'identify':{'vm_size':['OTHER']},'checks':{'o':{'metric':'node.cpus','min':1,'source':'s'}"  \
			 "}")
#define EIGHT_CPUS                                                                                                     \
	{                                                                                                              \
		"site.json", "{'checks':{'cpus':{'equals':8,'source':'site'}}}"                                        \
	}
#define UNKNOWN                                                                                                        \
	"inconclusive sku.unknown: one machine type with an expectation file | no expectation file fits this machine " \
	"(neither the metadata service nor the GPUs identify it)\n"

static const struct {
	const char *run; /* besides 4 CPUs */
	const char *files[3][2], *name;
	const char *found, *part, *sku, *origin; /* part, origin: of the text */
	const char *error;                       /* part of it; nothing is judged then */
	enum muster_status verdict;
} selections[] = {
	/* a machine type that is named is what the run is judged by */
	{ .files = { COMMON, SMALL }, .name = "small", .found = "", .sku = "small", .verdict = MUSTER_PASS },
	{ .files = { COMMON, SMALL, EIGHT_CPUS },
		.name = "small",
		.found = "fail cpus a: 8 | 4\n",
		.sku = "small",
		.verdict = MUSTER_FAIL },
	/* a machine type that nobody knows never passes */
	{ .files = { COMMON, SMALL },
		.name = "auto",
		.found = UNKNOWN,
		.sku = "unknown",
		.verdict = MUSTER_INCONCLUSIVE },
	/* an overlay names what machines differ in; where no file tells of any, it can fit none, and that is no
	 * mistake */
	{ .files = { COMMON, SMALL, EIGHT_CPUS },
		.name = "auto",
		.found = UNKNOWN,
		.sku = "unknown",
		.verdict = MUSTER_INCONCLUSIVE },
	/* it stands behind what failed and before what is only a warning */
	{ .files = { FILE_OF("common", "'checks':{'cpus':{'metric':'node.cpus','min':8,'source':'s'},"
				       "'ranks':{'metric':'rank.local_rank','warn_below':1,'source':'s'}}") },
		.name = "auto",
		.found = "fail cpus a: at least 8 | 4\n" UNKNOWN "warn ranks a rank=0: warning below 1 | 0\n",
		.sku = "unknown",
		.verdict = MUSTER_FAIL },
	/* a machine type that is recognised is told with how */
	{ .run = "a node.vm_size VM\n",
		.files = { VM, OTHER },
		.name = "auto",
		.found = "",
		.sku = "vm",
		.origin = "vm.json (detected by ",
		.verdict = MUSTER_PASS },
	/* an overlay that fits the other one alone */
	{ .run = "a node.vm_size VM\n",
		.files = { VM, OTHER, { "site.json", "{'checks':{'o':{'min':2}}}" } },
		.name = "auto",
		.part = "detected as vm by vmSize VM of the metadata service, but the overlay does not fit this "
			"machine type",
		.sku = "unknown",
		.verdict = MUSTER_INCONCLUSIVE },
	/* an overlay that is none is an error whatever the machine */
	{ .files = { COMMON, { "site.json", "{" } }, .name = "auto", .error = "site.json" },
	{ .files = { COMMON, { "site.json", "{" } }, .name = "huge", .error = "site.json" },
	{ .files = { COMMON, { "site.json", "[]" } }, .name = "auto", .error = "site.json" },
	{ .files = { COMMON, { "site.json", "[]" } }, .name = "huge", .error = "site.json" },
	/* so is a file of a machine type that is bad, and it is named */
	{ .files = { { "small.json", "{'schema_version':1,'name':'small'," } }, .name = "auto", .error = "small.json" },
	{ .files = { { "small.json", "{'schema_version':1,'name':'small'," } },
		.name = "small",
		.error = "small.json" },
	{ .files = { { "common.json", "{'schema_version':1,'name':'small'," } },
		.name = "auto",
		.error = "common.json" },
};

TEST_EACH(a_run_is_judged_by_the_expectations_of_its_machine_type, selections)
{
	struct muster_selection selection;
	struct muster_error err;
	const char *overlay = NULL;
	fixture_open();
	for (size_t i = 0; i < 3 && selections[_i].files[i][0]; i++) {
		char text[512];
		snprintf(text, sizeof text, "%s", selections[_i].files[i][1]);
		for (char *at = text; (at = strchr(at, '\''));)
			*at = '"';
		const char *path = fixture_write(selections[_i].files[i][0], text);
		overlay = strcmp(selections[_i].files[i][0], "site.json") == 0 ? path : overlay;
	}
	int loaded = muster_selection_load(fixture_dir, selections[_i].name, overlay, &selection, &err);
	fixture_close();
	if (selections[_i].error) {
		ck_assert_int_eq(loaded, -1);
		ck_assert_msg(strstr(err.text, selections[_i].error) != NULL, "%s", err.text);
		ck_assert(!overlay || err.code == MUSTER_EUSAGE);
		return;
	}
	ck_assert_msg(loaded == 0, "%s", err.text);
	struct muster_run *run = run_text_new("a node.cpus 4\na/0 rank.local_rank 0");
	run_text_each(run, selections[_i].run ? selections[_i].run : "", run_text_line, NULL);
	struct muster_report *report = fixture_new_report();
	muster_selection_evaluate(&selection, run, false, report);
	muster_selection_done(&selection);
	const char *found = fixture_findings(report);
	if (selections[_i].part)
		ck_assert_ptr_nonnull(strstr(found, selections[_i].part));
	else
		ck_assert_str_eq(found, selections[_i].found);
	ck_assert_uint_eq(report->count[MUSTER_INCONCLUSIVE], strstr(found, "inconclusive ") ? 1 : 0);
	ck_assert_str_eq(report->sku, selections[_i].sku);
	ck_assert_msg(
		!selections[_i].origin || strstr(report->sku_origin, selections[_i].origin), "%s", report->sku_origin);
	ck_assert_int_eq(report->verdict, selections[_i].verdict);
}

static const struct {
	int nodes, missing;
	enum muster_status verdict;
} late[] = { { 30, 3, MUSTER_FAIL }, { 30, 4, MUSTER_INCONCLUSIVE }, { 19, 4, MUSTER_FAIL } };

/* Faults do not come so many at a time: the launch, or where the program is read from, is slow. */
TEST_EACH(many_missing_ranks_of_a_large_job_prove_no_fault, late)
{
	char *text, *line;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	for (int n = 0; n < late[_i].nodes; n++)
		fprintf(out, n < late[_i].missing ? "n%d/%d missing\n" : "n%d/%d rank.local_rank 0\n", n, n);
	fclose(out);
	struct muster_run *run = run_text_new("n0 node.cpus 4");
	run_text_each(run, text, run_text_line, NULL);
	line = strdup(fixture_found(run, "'cpus':{'metric':'node.cpus','min':1,'source':'s','optional':true}"));
	ck_assert_msg((strstr(line, "fail rank.missing") != NULL) == (late[_i].verdict == MUSTER_FAIL), "%s", line);
	ck_assert_msg(
		(strstr(line, "inconclusive rank.missing") != NULL) == (late[_i].verdict != MUSTER_FAIL), "%s", line);
	free(line);
	free(text);
}

TEST_MAIN(.teardown = fixture_done)
