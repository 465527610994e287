/* SPDX-License-Identifier: Apache-2.0 */
/* test_judge.c - each operator, and each rule of what becomes a finding */
#include "check_main.h"
#include "muster/run.h"
#include "run_text.h"
#include "muster/probe.h"

/* ---- one sample against one check ---- */

#define NO_FINDING ""

static const struct {
	const char *metric, *labels;
	enum muster_type type;
	double number;
	const char *string; /* "true" and "false" for booleans */
	const char *check;  /* without metric and source */
	const char *found;  /* the finding behind its place */
} table[] = {
	{ "node.gpu_count", NULL, MUSTER_NUMBER, 8, NULL, "'equals':8", NO_FINDING },
	{ "node.gpu_count", NULL, MUSTER_NUMBER, 7, NULL, "'equals':8", "fail c sim-1: 8 | 7\n" },
	{ "node.gpu_count", NULL, MUSTER_NUMBER, 7, NULL, "'equals':8,'severity':'warn'", "warn c sim-1: 8 | 7\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "5.15", "'equals':'5.15'", NO_FINDING },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "5.4", "'equals':'5.15'", "fail c sim-1: 5.15 | 5.4\n" },
	{ "node.gpu_count", NULL, MUSTER_NUMBER, 4, NULL, "'one_of':[4,8]", NO_FINDING },
	{ "node.gpu_count", NULL, MUSTER_NUMBER, 5, NULL, "'one_of':[4,8]", "fail c sim-1: one of 4, 8 | 5\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "5.15.0-1", "'matches':'^5\\\\.(4|15)\\\\.'", NO_FINDING },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "6.15.0-1", "'matches':'^5'",
		"fail c sim-1: text that matches ^5 | 6.15.0-1\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "6.15.0-1", "'matches':'^5','in_words':'a kernel 5'",
		"fail c sim-1: a kernel 5 | 6.15.0-1\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "GENERIC", "'matches':'gen'",
		"fail c sim-1: text that matches gen | GENERIC\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "GENERIC", "'matches':'gen','ignore_case':true", NO_FINDING },
	{ "node.vm_size", NULL, MUSTER_STRING, 0, "STANDARD_nd1_V4", "'equals':'Standard_ND1_v4','ignore_case':true",
		NO_FINDING },
	{ "node.vm_size", NULL, MUSTER_STRING, 0, "standard_ND1_v4", "'equals':'Standard_ND1_v4'",
		"fail c sim-1: Standard_ND1_v4 | standard_ND1_v4\n" },
	{ "node.vm_size", NULL, MUSTER_STRING, 0, "standard_nd1_v4r", "'equals':'Standard_ND1_v4','ignore_case':true",
		"fail c sim-1: Standard_ND1_v4 | standard_nd1_v4r\n" },
	{ "node.vm_size", NULL, MUSTER_STRING, 0, "b", "'one_of':['A','B']", "fail c sim-1: one of A, B | b\n" },
	{ "node.vm_size", NULL, MUSTER_STRING, 0, "b", "'one_of':['A','B'],'ignore_case':true", NO_FINDING },
	{ "node.os", NULL, MUSTER_STRING, 0, "Ubuntu 22.04", "'one_of':['Ubuntu 2?.04','SLES*']", NO_FINDING },
	{ "node.os", NULL, MUSTER_STRING, 0, "SLES", "'one_of':['Ubuntu 2?.04','SLES*']", NO_FINDING },
	{ "node.os", NULL, MUSTER_STRING, 0, "SLES/15\n.1", "'one_of':['Ubuntu 2?.04','SLES*1']", NO_FINDING },
	{ "node.os", NULL, MUSTER_STRING, 0, "Ubuntu 22.04", "'one_of':['Ubuntu','2?.04']",
		"fail c sim-1: one of Ubuntu, 2?.04 | Ubuntu 22.04\n" },
	{ "node.os", NULL, MUSTER_STRING, 0, "ubuntu 22.04", "'one_of':['Ubuntu*']",
		"fail c sim-1: Ubuntu* | ubuntu 22.04\n" },
	{ "node.os", NULL, MUSTER_STRING, 0, "ubuntu 22.04", "'one_of':['*BUNTU*'],'ignore_case':true", NO_FINDING },
	{ "node.os", NULL, MUSTER_STRING, 0, "ubuntu 22.04", "'one_of':['*[A-C]*'],'in_words':'A to C'",
		"fail c sim-1: A to C | ubuntu 22.04\n" },
	{ "node.os", NULL, MUSTER_STRING, 0, "[a*", "'one_of':['[a*']", NO_FINDING },
	{ "node.os", NULL, MUSTER_STRING, 0, "a*", "'one_of':['a\\\\*']", NO_FINDING },
	{ "node.os", NULL, MUSTER_STRING, 0, "ab", "'one_of':['a\\\\*']", "fail c sim-1: a\\* | ab\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "2.10", "'min_version':'2.9.9'", NO_FINDING },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "2.9.9", "'min_version':'2.9.9'", NO_FINDING },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "2.9.10", "'min_version':'2.9.9'", NO_FINDING },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "2.9.8", "'min_version':'2.9.9'",
		"fail c sim-1: 2.9.9 or later | 2.9.8\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "2.9", "'min_version':'2.9.9'",
		"fail c sim-1: 2.9.9 or later | 2.9\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "2.9", "'min_version':'2.9.0'", NO_FINDING },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "2.9", "'min_version':'2.09'", NO_FINDING },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "002.9", "'min_version':'2.10'",
		"fail c sim-1: 2.10 or later | 002.9\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "3", "'min_version':'2.9.9'", NO_FINDING },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "1.99.99", "'min_version':'2'",
		"fail c sim-1: 2 or later | 1.99.99\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "5.15.0-1040-azure", "'min_version':'5.15'", NO_FINDING },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "5.15.0-1040-azure", "'min_version':'5.15.0.1'",
		"fail c sim-1: 5.15.0.1 or later | 5.15.0-1040-azure\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "5.x.9", "'min_version':'5.0.1'",
		"fail c sim-1: 5.0.1 or later | 5.x.9\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "v6", "'min_version':'5'", "fail c sim-1: 5 or later | v6\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "", "'min_version':'0'", "fail c sim-1: 0 or later | \"\"\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "18446744073709551617.1", "'min_version':'2'", NO_FINDING },
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 21, NULL, "'min':21", NO_FINDING },
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 20.5, NULL, "'min':21", "fail c sim-1: at least 21 MiB | 20.5\n" },
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 21, NULL, "'max':21", NO_FINDING },
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 22, NULL, "'max':21", "fail c sim-1: at most 21 MiB | 22\n" },
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 9, NULL, "'min':10,'max':21",
		"fail c sim-1: from 10 to 21 MiB | 9\n" },
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 23, NULL, "'min':21,'warn_below':24",
		"warn c sim-1: at least 21 MiB (warning below 24) | 23\n" },
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 24, NULL, "'min':21,'warn_below':24", NO_FINDING },
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 1e308, NULL, "'max':21", "fail c sim-1: at most 21 MiB | 1e+308\n" },
	/* what looks like its limit has more digits */
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 189.9999995, NULL, "'warn_below':190",
		"warn c sim-1: warning below 190 MiB | 189.9999995\n" },
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 20, NULL, "'min':21,'warn_below':24",
		"fail c sim-1: at least 21 MiB (warning below 24) | 20\n" },
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 3, NULL, "'warn_above':2",
		"warn c sim-1: warning above 2 MiB | 3\n" },
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 2, NULL, "'warn_above':2", NO_FINDING },
	{ "node.memory_mib", NULL, MUSTER_NUMBER, 1, NULL, "'warn_below':2,'warn_above':3",
		"warn c sim-1: warning below 2 and above 3 MiB | 1\n" },
	{ "node.memory_mib", NULL, MUSTER_NULL, 0, NULL, "'min':21",
		"inconclusive c sim-1: at least 21 MiB | no value: not supported here\n" },
	{ "node.memory_mib", NULL, MUSTER_NULL, 0, NULL, "'min':21,'optional':true",
		"skip c sim-1: at least 21 MiB | no value: not supported here\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "5.15", "'present':true", NO_FINDING },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "5.15", "'present':false", "fail c sim-1: not present | 5.15\n" },
	{ "node.kernel", NULL, MUSTER_NULL, 0, NULL, "'present':false", "fail c sim-1: not present | no value\n" },
	{ "node.kernel", NULL, MUSTER_NULL, 0, NULL, "'present':true",
		"inconclusive c sim-1: present | no value: not supported here\n" },
	{ "node.kernel", NULL, MUSTER_STRING, 0, "", "'equals':'5'", "fail c sim-1: 5 | \"\"\n" },
	{ "port.state", "port=p0/1 link_layer=InfiniBand", MUSTER_STRING, 0, "INIT",
		"'equals':'ACTIVE','inconclusive_on':{'INIT':'wait a minute'}",
		"inconclusive c sim-1 port=p0/1: ACTIVE | INIT: wait a minute\n" },
	{ "port.state", "port=p0/1 link_layer=InfiniBand", MUSTER_STRING, 0, "DOWN",
		"'equals':'ACTIVE','inconclusive_on':{'INIT':'wait a minute'}",
		"fail c sim-1 port=p0/1: ACTIVE | DOWN\n" },
	{ "port.rate_gbps", "port=p0/1 link_layer=InfiniBand", MUSTER_NUMBER, 100, NULL, "'equals':200",
		"fail c sim-1 port=p0/1: 200 Gb/s | 100\n" },
	{ "port.rate_gbps", "port=an0/1 link_layer=Ethernet", MUSTER_NUMBER, 100, NULL,
		"'equals':200,'where':{'link_layer':'InfiniBand'}", NO_FINDING },
	{ "port.rate_gbps", "port=p0/1 link_layer=InfiniBand", MUSTER_NUMBER, 100, NULL,
		"'equals_by':{'label':'port','values':{'p0/1':100}}", NO_FINDING },
	{ "port.rate_gbps", "port=p0/1 link_layer=InfiniBand", MUSTER_NUMBER, 100, NULL,
		"'equals_by':{'label':'port','values':{'p0/1':200}}", "fail c sim-1 port=p0/1: 200 Gb/s | 100\n" },
	{ "port.rate_gbps", "port=p9/1 link_layer=InfiniBand", MUSTER_NUMBER, 100, NULL,
		"'equals_by':{'label':'link_layer','values':{'Ethernet':40,'None':1}}",
		"fail c sim-1 port=p9/1: not allowed here; allowed are Ethernet, None | 100\n" },
	{ "port.state", "port=p0/1 link_layer=InfiniBand", MUSTER_STRING, 0, "active",
		"'equals_by':{'label':'port','values':{'p0/1':'ACTIVE'}},'ignore_case':true", NO_FINDING },
	{ "port.rate_gbps", "port=p9/1 link_layer=InfiniBand", MUSTER_NULL, 0, NULL,
		"'equals_by':{'label':'port','values':{'p9/1':100}}",
		"inconclusive c sim-1 port=p9/1: as listed for each port | no value: not supported here\n" },
};

TEST_EACH(a_value_is_held_against_the_operators, table)
{
	char checks[512];
	bool boolean = table[_i].string && strcmp(table[_i].string, "true") == 0;
	struct muster_value value = table[_i].type == MUSTER_NUMBER    ? muster_number(table[_i].number)
				    : table[_i].type == MUSTER_STRING  ? muster_string(table[_i].string)
				    : table[_i].type == MUSTER_BOOLEAN ? muster_boolean(boolean)
								       : muster_null();
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = fixture_node(run, "sim-1", 1);
	fixture_sample(run, &node->samples, table[_i].metric, table[_i].labels, value);
	snprintf(checks, sizeof checks, "'c':{'metric':'%s','source':'s',%s}", table[_i].metric, table[_i].check);
	struct muster_report *report = fixture_report(run, checks, false);
	ck_assert_str_eq(fixture_findings(report), table[_i].found);
	ck_assert_uint_eq(report->tally_count, 1);
	size_t judged = 0;
	for (size_t i = 0; i < MUSTER_STATUS_COUNT; i++)
		judged += report->count[i];
	ck_assert_uint_eq(judged, strstr(table[_i].check, "where") ? 0 : 1);
}

/* ---- two nodes of two ranks, with a GPU each ---- */

static const char *const gpus[] = { "0001:00:00.0", "0002:00:00.0" };
static const char *const gpu_labels[] = { "gpu=0001:00:00.0", "gpu=0002:00:00.0" };

static struct muster_run *two_nodes(void)
{
	struct muster_run *run = fixture_new_run();
	for (size_t n = 0; n < 2; n++) {
		struct muster_node *node = fixture_node(run, n ? "sim-2" : "sim-1", 2);

		fixture_sample(run, &node->samples, "node.gpu_count", NULL, muster_number(2));
		for (size_t r = 0; r < 2; r++) {
			struct muster_rank *rank = &node->ranks[r];

			rank->gpu = gpus[r];
			fixture_sample(run, &rank->samples, "gpu.h2d_gbps", gpu_labels[r], muster_number(26));
			fixture_sample(run, &rank->samples, "gpu.numa_node", gpu_labels[r], muster_number((double)r));
			fixture_sample(run, &rank->samples, "rank.cpu_locality", NULL, muster_string("inside"));
			fixture_sample(run, &rank->samples, "rank.local_rank", NULL, muster_number((double)r));
			fixture_outcome(rank, "gpu_copy", MUSTER_OUTCOME_OK, NULL, NULL, NULL);
			fixture_outcome(rank, "gpu", MUSTER_OUTCOME_OK, NULL, NULL, NULL);
		}
	}
	return run;
}

#define H2D "'h2d':{'metric':'gpu.h2d_gbps','min':21,'source':'s'}"
#define NUMA                                                                                                           \
	"'numa':{'metric':'gpu.numa_node','equals_by':{'label':'gpu','values':{'0001:00:00.0':0,'0002:00:00.0':1}},"   \
	"'source':'s'}"

static struct muster_rank *rank_of(struct muster_run *run, int rank)
{
	return &run->nodes[rank / 2].ranks[rank % 2];
}

/* Make the probe fail on a rank, and take away the samples that it yields. */
static void break_probe(struct muster_run *run, int number, const char *probe, enum muster_outcome_status status,
	const char *code, const char *detail, const char *step)
{
	struct muster_rank *rank = rank_of(run, number);
	size_t kept = 0;
	for (size_t i = 0; i < rank->outcomes.count; i++)
		if (strcmp(rank->outcomes.items[i].probe, probe) == 0)
			rank->outcomes.items[i] = (struct muster_outcome){
				.probe = probe, .status = status, .code = code, .detail = detail, .step = step
			};
	for (size_t i = 0; i < rank->samples.count; i++)
		if (strcmp(muster_metric_probe(rank->samples.items[i].metric), probe) != 0)
			rank->samples.items[kept++] = rank->samples.items[i];
	rank->samples.count = kept;
}

static void drop_samples(struct muster_samples *samples, const char *metric)
{
	size_t kept = 0;
	for (size_t i = 0; i < samples->count; i++)
		if (strcmp(samples->items[i].metric->name, metric) != 0)
			samples->items[kept++] = samples->items[i];
	samples->count = kept;
}

static void set_value(struct muster_samples *samples, const char *metric, struct muster_value value)
{
	for (size_t i = 0; i < samples->count; i++)
		if (strcmp(samples->items[i].metric->name, metric) == 0)
			samples->items[i].value = value;
}

/* ---- what becomes of the two nodes after changes ---- */

/* Of each check, how many results of each kind, as "h2d: 3 pass 1 fail; ". */
static const char *tallies_text(const struct muster_report *report)
{
	static char text[1024];
	size_t used = 0;
	*text = '\0';
	for (size_t i = 0; i < report->tally_count; i++) {
		used += (size_t)snprintf(
			text + used, sizeof text - used, "%s%s:", i ? "; " : "", report->tallies[i].check);
		for (int status = 0; status < MUSTER_STATUS_COUNT; status++)
			if (report->tallies[i].count[status] > 0)
				used += (size_t)snprintf(text + used, sizeof text - used, " %zu %s",
					report->tallies[i].count[status],
					muster_status_name((enum muster_status)status));
	}
	return text;
}

/* A line of run_text.h, or "PLACE METRIC drop", or "PLACE set METRIC VALUE" for the sample that is there, or
 * "NODE/RANK break PROBE STATUS [CODE] [DETAIL]" as break_probe does. */
static void change_line(struct muster_run *run, void *data, char **words, size_t count)
{
	(void)data;
	if (strcmp(words[1], "set") == 0) {
		set_value(run_text_samples(run, words[0]), words[2], run_text_value(words[3]));
	} else if (count == 3 && strcmp(words[2], "drop") == 0) {
		drop_samples(run_text_samples(run, words[0]), words[1]);
	} else if (strcmp(words[1], "break") == 0) {
		enum muster_outcome_status status = MUSTER_OUTCOME_OK;
		while (strcmp(muster_outcome_name(status), words[3]) != 0)
			ck_assert_int_lt(++status, MUSTER_OUTCOME_COUNT);
		break_probe(run, run_text_rank(run, words[0])->rank, words[2], status,
			run_text_or_null(words, count, 4), run_text_or_null(words, count, 5), NULL);
	} else {
		run_text_words(run, words, count);
	}
}

#define COUNT "'count':{'metric':'node.gpu_count','equals':2,'source':'s'}"
#define OPTIONAL_H2D "'h2d':{'metric':'gpu.h2d_gbps','min':21,'source':'s','optional':true}"
#define AGREES "'agrees':{'metric':'node.topo_file_agrees','equals':true,'source':'s'}"
#define SHARERS(place, gpu, number) place " rank.gpu_sharers gpu=" gpu " " number "\n"
#define WRONG(rank, bytes, number) rank " rank.allreduce_wrong bytes=" bytes " " number "\n"
#define SIZES(rank, a, b, c, d, e, f)                                                                                  \
	WRONG(rank, "8", a)                                                                                            \
	WRONG(rank, "64", b) WRONG(rank, "256", c) WRONG(rank, "512", d) WRONG(rank, "1024", e) WRONG(rank, "2048", f)
#define BUSBW(bytes, number) "job nccl.allreduce_busbw_gbps bytes=" bytes " nodes=2 ranks=4 " number "\n"
#define PORT(name, state)                                                                                              \
	"sim-1 port.state port=" name " link_layer=InfiniBand " state "\nsim-1 port.rate_gbps port=" name              \
	" link_layer=InfiniBand 100\n"
#define ENVIRONMENT_RAN                                                                                                \
	"sim-1/0 probe environment ok\nsim-1/1 probe environment ok\nsim-2/2 probe environment ok\n"                   \
	"sim-2/3 probe environment ok\nsim-1 node.topo_file_agrees true\n"

static const struct {
	const char *changes, *checks, *found, *tallies;
	enum muster_status verdict;
	const char *blocked; /* the number of checks that each finding blocks */
} changed[] = {
	/* a probe that only optional checks need may be missing but not crash */
	{ "sim-1/1 break gpu_copy error lib gone", OPTIONAL_H2D,
		"skip probe.gpu_copy sim-1 rank=1: probe gpu_copy finishes | gone\n", "h2d: 3 pass 1 skip", MUSTER_PASS,
		"1" },
	{ "sim-1/1 break gpu_copy hung - silent", OPTIONAL_H2D,
		"fail probe.gpu_copy sim-1 rank=1 gpu=0002:00:00.0: probe gpu_copy finishes | silent\n",
		"h2d: 3 pass 1 blocked", MUSTER_FAIL, "1" },
	/* what a broken probe did measure is judged */
	{ "sim-1/1 break gpu_copy error vendor failed\nsim-1/1 gpu.h2d_gbps gpu=0002:00:00.0 5",
		H2D ",'d2h':{'metric':'gpu.d2h_gbps','min':21,'source':'s'}",
		"fail probe.gpu_copy sim-1 rank=1: probe gpu_copy finishes | failed\n"
		"fail h2d sim-1 rank=1 gpu=0002:00:00.0: at least 21 GB/s | 5\n"
		"inconclusive d2h sim-1 rank=0: at least 21 GB/s | not measured\n"
		"inconclusive d2h sim-2: at least 21 GB/s | ranks 2-3: not measured\n",
		"h2d: 3 pass 1 fail; d2h: 2 inconclusive 1 blocked", MUSTER_FAIL, "1 0 0 0" },
	/* ranks that share a fault are one finding */
	{ SHARERS("sim-1/0", "0001:00:00.0", "2") SHARERS("sim-1/1", "0001:00:00.0", "2")
			SHARERS("sim-2/2", "0001:00:00.0", "1") SHARERS("sim-2/3", "0002:00:00.0", "1"),
		"'own':{'metric':'rank.gpu_sharers','equals':1,'source':'s','advice':'${node}'}",
		"fail own sim-1 gpu=0001:00:00.0: 1 | ranks 0-1: 2\n", "own: 2 pass 1 fail", MUSTER_FAIL, "0" },
	/* one rank with several bad sizes is one finding: rank 0 has two, rank 1 all, ranks 2 and 3 one */
	{ SIZES("sim-1/0", "1", "2", "0", "0", "0", "0") SIZES("sim-1/1", "1", "2", "3", "4", "5", "6")
			SIZES("sim-2/2", "0", "0", "0", "0", "0", "6") SIZES("sim-2/3", "0", "0", "0", "0", "0", "6"),
		"'sum':{'metric':'rank.allreduce_wrong','equals':0,'source':'s'}",
		"fail sum sim-1 rank=0: 0 | 1 with bytes 8; 2 with bytes 64\n"
		"fail sum sim-1 rank=1: 0 | 1 with bytes 8; 2 with bytes 64; 3 with bytes 256; 4 with bytes 512; and 2 "
		"more\n"
		"fail sum sim-2: 0 | ranks 2-3: 6\n",
		"sum: 14 pass 3 fail", MUSTER_FAIL, "0 0 0" },
	/* what does not apply anywhere is said once */
	{ "sim-1/0 set gpu.h2d_gbps -\nsim-1/1 set gpu.h2d_gbps -\nsim-2/2 set gpu.h2d_gbps -\nsim-2/3 set "
	  "gpu.h2d_gbps -",
		OPTIONAL_H2D, "skip h2d: at least 21 GB/s | no value: no reason given (4 GPUs)\n", "h2d: 1 skip",
		MUSTER_PASS, "0" },
	/* what does not apply beside what does is only counted */
	{ "sim-1/1 set gpu.h2d_gbps -", OPTIONAL_H2D, "", "h2d: 3 pass 1 skip", MUSTER_PASS, "" },
	{ "sim-1/0 set gpu.h2d_gbps -\nsim-1/1 set gpu.h2d_gbps -", OPTIONAL_H2D,
		"skip h2d sim-1: at least 21 GB/s | no value: no reason given (2 GPUs)\n", "h2d: 2 pass 1 skip",
		MUSTER_PASS, "0" },
	/* a missing rank takes what it would have measured */
	{ "sim-2/2 missing\nsim-2/3 missing\nsim-2 node.gpu_count drop", H2D "," COUNT,
		"fail rank.missing sim-2: a result from every rank | ranks 2-3: no message\n",
		"h2d: 2 pass 2 blocked; count: 1 pass 1 blocked", MUSTER_FAIL, "2" },
	/* what it measured is judged, and what it did not get to is laid at its door, ended well or not */
	{ "sim-2/3 unfinished\nsim-2/3 set gpu.h2d_gbps 11\nsim-2/3 gpu.numa_node drop",
		H2D ",'numa':{'metric':'gpu.numa_node','min':0,'source':'s'}",
		"fail rank.missing sim-2 rank=3: a result from every rank | the rank did not finish\n"
		"fail h2d sim-2 rank=3 gpu=0002:00:00.0: at least 21 GB/s | 11\n",
		"h2d: 3 pass 1 fail; numa: 3 pass 1 blocked", MUSTER_FAIL, "1 0" },
	/* facts that died with the leader are laid at its door; a probe that every rank runs: the next one did, and the
	 * node's facts were not its to tell */
	{ "sim-2/2 missing\nsim-2 node.gpu_count drop\nsim-1 node.ranks_per_gpu 1\nsim-2/3 probe launch ok",
		COUNT ",'ranks':{'metric':'node.ranks_per_gpu','equals':1,'source':'s'}",
		"fail rank.missing sim-2 rank=2: a result from every rank | no message\n",
		"count: 1 pass 1 blocked; ranks: 1 pass 1 blocked", MUSTER_FAIL, "2" },
	/* the environment probe runs on every rank and speaks for the node on the leader alone, which keeps silent */
	{ ENVIRONMENT_RAN, AGREES, "inconclusive agrees sim-2: true | not measured\n", "agrees: 1 pass 1 inconclusive",
		MUSTER_INCONCLUSIVE, "0" },
	{ ENVIRONMENT_RAN "sim-2/2 missing", AGREES,
		"fail rank.missing sim-2 rank=2: a result from every rank | no message\n", "agrees: 1 pass 1 blocked",
		MUSTER_FAIL, "1" },
	/* where chooses samples by their labels */
	{ BUSBW("64", "5") BUSBW("128", "9"),
		"'big':{'metric':'nccl.allreduce_busbw_gbps','where':{'bytes':128,'nodes':2},'min':9,'source':'s'},"
		"'small':{'metric':'nccl.allreduce_busbw_gbps','where':{'bytes':64},'min':6,'source':'s'},"
		"'both':{'metric':'nccl.allreduce_busbw_gbps','min':1,'source':'s'}",
		"fail small: at least 6 GB/s | 5\n", "big: 1 pass; small: 1 fail; both: 2 pass", MUSTER_FAIL, "0" },
	/* equals_by misses what is listed and not there */
	{ "sim-1/1 gpu.numa_node drop\nsim-1/1 gpu.numa_node gpu=0009:00:00.0 1\nsim-2/3 set gpu.numa_node 3", NUMA,
		"fail numa sim-1 gpu=0002:00:00.0: 1 | not found\n"
		"fail numa sim-1 rank=1 gpu=0009:00:00.0: not allowed here; allowed are 0001:00:00.0, 0002:00:00.0 | "
		"1\n"
		"fail numa sim-2 rank=3 gpu=0002:00:00.0: 1 | 3\n",
		"numa: 2 pass 3 fail", MUSTER_FAIL, "0 0 0" },
	/* equals_by misses nothing where the probe failed */
	{ "sim-1/1 break gpu not_run - none", NUMA, "inconclusive probe.gpu sim-1 rank=1: probe gpu finishes | none\n",
		"numa: 3 pass 2 blocked", MUSTER_INCONCLUSIVE, "1" },
	/* after does not silence where the other could not be told */
	{ PORT("p0/1", "INIT") PORT("p1/1", "DOWN"),
		"'state':{'metric':'port.state','equals':'ACTIVE','inconclusive_on':{'INIT':'wait'},'source':'s'},"
		"'rate':{'metric':'port.rate_gbps','equals':200,'source':'s','after':'state'}",
		"fail state sim-1 port=p1/1: ACTIVE | DOWN\nfail rate sim-1 port=p0/1: 200 Gb/s | 100\n"
		"inconclusive state sim-1 port=p0/1: ACTIVE | INIT: wait\n",
		"state: 1 fail 1 inconclusive; rate: 1 fail 1 blocked", MUSTER_FAIL, "1 0 0" },
	/* a job's check without figures goes to the probe that failed */
	{ "sim-1/1 probe nccl_allreduce not_run - left\nsim-2/2 probe nccl_allreduce hung - silent",
		"'r':{'metric':'nccl.ring_ranks','equals':4,'source':'s'}",
		"fail probe.nccl_allreduce sim-2 rank=2 gpu=0001:00:00.0: probe nccl_allreduce finishes | silent\n"
		"inconclusive probe.nccl_allreduce sim-1 rank=1: probe nccl_allreduce finishes | left\n",
		"r: 1 blocked", MUSTER_FAIL, "1 0" },
};

TEST_EACH(changes_of_a_run_are_found_and_counted, changed)
{
	struct muster_run *run = two_nodes();
	run_text_each(run, changed[_i].changes, change_line, NULL);
	struct muster_report *report = fixture_report(run, changed[_i].checks, false);
	ck_assert_str_eq(fixture_findings(report), changed[_i].found);
	ck_assert_str_eq(tallies_text(report), changed[_i].tallies);
	ck_assert_int_eq(report->verdict, changed[_i].verdict);
	size_t sums[MUSTER_STATUS_COUNT] = { 0 };
	char blocked[16] = "";
	for (size_t i = 0; i < report->finding_count; i++) {
		sums[report->findings[i].status]++;
		snprintf(blocked + strlen(blocked), sizeof blocked - strlen(blocked), "%s%zu", i ? " " : "",
			report->findings[i].blocked_count);
	}
	ck_assert_uint_eq(report->count[MUSTER_FAIL], sums[MUSTER_FAIL]);
	ck_assert_str_eq(blocked, changed[_i].blocked);
}

TEST(a_healthy_run_has_no_finding_and_counts_its_passes)
{
	struct muster_run *run = two_nodes();
	struct muster_report *report =
		fixture_report(run, H2D "," NUMA ",'count':{'metric':'node.gpu_count','equals':2,'source':'s'}", false);
	ck_assert_str_eq(fixture_findings(report), "");
	ck_assert_int_eq(report->verdict, MUSTER_PASS);
	ck_assert_uint_eq(report->count[MUSTER_PASS], 10);
	ck_assert_uint_eq(report->tallies[0].count[MUSTER_PASS], 4);
	ck_assert_uint_eq(report->tallies[1].count[MUSTER_PASS], 4);
	ck_assert_uint_eq(report->tallies[2].count[MUSTER_PASS], 2);
	ck_assert(report->tallies[0].has_numbers);
	ck_assert_double_eq(report->tallies[1].lowest, 0);
	ck_assert_double_eq(report->tallies[1].highest, 1);
	ck_assert_str_eq(report->tallies[0].probe, "gpu_copy");
	ck_assert_str_eq(report->tallies[0].expected, "at least 21 GB/s");
}

TEST(a_finding_says_all_that_is_known)
{
	struct muster_run *run = two_nodes();
	set_value(&rank_of(run, 3)->samples, "gpu.h2d_gbps", muster_number(11.2));
	struct muster_report *report = fixture_report(run,
		"'h2d':{'metric':'gpu.h2d_gbps','min':21,'source':'somewhere','certainty':'measured','advice':"
		"'${node} rank ${rank} gpu ${gpu} port ${port} on ${gpu.numa_node}/${rank.local_rank}, "
		"${node.gpu_count} GPUs, "
		"${gpu.d2h_gbps} ${nccl.ring_ranks}.'}",
		false);
	ck_assert_str_eq(fixture_findings(report), "fail h2d sim-2 rank=3 gpu=0002:00:00.0: at least 21 GB/s | 11.2\n");
	const struct muster_finding *f = &report->findings[0];
	ck_assert_str_eq(f->metric, "gpu.h2d_gbps");
	ck_assert_str_eq(f->unit, "GB/s");
	ck_assert_double_eq(f->value.number, 11.2);
	ck_assert_str_eq(f->source, "somewhere");
	ck_assert_str_eq(f->certainty, "measured");
	ck_assert_uint_eq(f->label_count, 1);
	ck_assert_str_eq(f->advice, "sim-2 rank 3 gpu 0002:00:00.0 port ? on 1/1, 2 GPUs, ? ?.");
	ck_assert_int_eq(report->verdict, MUSTER_FAIL);
	ck_assert_int_eq(muster_report_exit(report), MUSTER_EXIT_FAIL);
	ck_assert_uint_eq(report->count[MUSTER_PASS], 3);
	ck_assert_double_eq(report->tallies[0].lowest, 11.2);
}

TEST(beside_other_jobs_a_slow_transfer_proves_nothing)
{
	struct muster_run *run = two_nodes();
	run->job.beside_jobs = true;
	set_value(&rank_of(run, 3)->samples, "gpu.h2d_gbps", muster_number(11.2));
	static const char checks[] = "'h2d':{'metric':'gpu.h2d_gbps','min':21,'source':'s','advice':'open a ticket'},"
				     "'d2h':{'metric':'gpu.d2h_gbps','warn_below':1000,'source':'s'}";
	struct muster_report *report = fixture_report(run, checks, true);
	ck_assert_int_eq(report->verdict, MUSTER_FAIL); /* --strict */
	ck_assert_int_eq(fixture_report(run, checks, false)->verdict, MUSTER_INCONCLUSIVE);
	ck_assert_uint_eq(report->count[MUSTER_FAIL] + report->count[MUSTER_WARN], 0);
	ck_assert_ptr_nonnull(strstr(fixture_findings(report),
		"inconclusive h2d sim-2 rank=3 gpu=0002:00:00.0: at least 21 GB/s, without other jobs on the node | "
		"11.2\n"));
	for (size_t i = 0; i < report->finding_count; i++)
		ck_assert_ptr_null(report->findings[i].advice);
	report = fixture_report(run, "'count':{'metric':'node.gpu_count','equals':99,'source':'s'}", false);
	ck_assert_int_eq(report->verdict, MUSTER_FAIL); /* what other jobs cannot change */
	fixture_sample(run, &rank_of(run, 3)->samples, "gpu.memory_write_gbps", "gpu=0002:00:00.0", muster_number(9));
	report = fixture_report(
		run, "'hbm':{'metric':'gpu.memory_write_gbps','min':21,'source':'s','optional':true}", false);
	ck_assert_ptr_nonnull(strstr(fixture_findings(report), "fail hbm sim-2 rank=3")); /* its own memory */
	set_value(&rank_of(run, 3)->samples, "gpu.h2d_gbps", muster_number(25));
	report = fixture_report(run, "'h2d':{'metric':'gpu.h2d_gbps','min':21,'source':'s'}", false);
	ck_assert_int_eq(report->verdict, MUSTER_PASS); /* fast enough all the same */
}

/* A warning of each certainty, and whether it fails a run that is strict, and one that is strict in all. */
static const struct {
	const char *certainty;
	bool fails, fails_in_all;
} warnings[] = {
	{ "", true, true },
	{ ",'certainty':'measured'", true, true },
	{ ",'certainty':'specified'", true, true },
	{ ",'certainty':'inferred'", false, true },
};

TEST_EACH(warnings_pass_unless_strict, warnings)
{
	struct muster_run *run = two_nodes();
	char check[200];
	snprintf(check, sizeof check, "'h2d':{'metric':'gpu.h2d_gbps','warn_below':27,'source':'s'%s}",
		warnings[_i].certainty);
	const bool fails[MUSTER_STRICTNESS_COUNT] = { false, warnings[_i].fails, warnings[_i].fails_in_all };
	for (int strict = 0; strict < MUSTER_STRICTNESS_COUNT; strict++) {
		struct muster_report *report = fixture_report(run, check, strict);
		ck_assert_uint_eq(report->count[MUSTER_WARN], 4);
		ck_assert_int_eq(report->verdict, fails[strict] ? MUSTER_FAIL : MUSTER_PASS);
		ck_assert_int_eq(report->strict, strict);
	}
}

/* How a probe ends, and what is made of it when a check needs the probe. */
static const struct {
	enum muster_outcome_status status;
	const char *code, *detail, *step, *found;
	enum muster_status verdict;
	enum muster_proof proof;
} ends[] = {
	{ MUSTER_OUTCOME_CRASHED, NULL, "killed by signal 11", "cuMemHostRegister_v2 of 64 MiB",
		"fail probe.gpu_copy sim-1 rank=1 gpu=0002:00:00.0: probe gpu_copy finishes | killed by signal 11; "
		"last step: "
		"cuMemHostRegister_v2 of 64 MiB\n",
		MUSTER_FAIL, MUSTER_PROOF_SOFT },
	{ MUSTER_OUTCOME_HUNG, NULL, "killed after 20 s", NULL,
		"fail probe.gpu_copy sim-1 rank=1 gpu=0002:00:00.0: probe gpu_copy finishes | killed after 20 s\n",
		MUSTER_FAIL, MUSTER_PROOF_SOFT },
	{ MUSTER_OUTCOME_ERROR, "lib", "libx.so: not found", NULL,
		"fail probe.gpu_copy sim-1 rank=1: probe gpu_copy finishes | libx.so: not found\n", MUSTER_FAIL,
		MUSTER_PROOF_HARD },
	{ MUSTER_OUTCOME_ERROR, "vendor", "cuInit: 802", NULL,
		"fail probe.gpu_copy sim-1 rank=1: probe gpu_copy finishes | cuInit: 802\n", MUSTER_FAIL,
		MUSTER_PROOF_HARD },
	{ MUSTER_OUTCOME_ERROR, "resource", "No space left", NULL,
		"fail probe.gpu_copy sim-1 rank=1: probe gpu_copy finishes | No space left\n", MUSTER_FAIL,
		MUSTER_PROOF_SOFT },
	{ MUSTER_OUTCOME_ERROR, "permission", "/dev/x: no", NULL,
		"inconclusive probe.gpu_copy sim-1 rank=1: probe gpu_copy finishes | /dev/x: no\n", MUSTER_INCONCLUSIVE,
		MUSTER_PROOF_SOFT },
	{ MUSTER_OUTCOME_ERROR, "time", "late", NULL,
		"inconclusive probe.gpu_copy sim-1 rank=1: probe gpu_copy finishes | late\n", MUSTER_INCONCLUSIVE,
		MUSTER_PROOF_SOFT },
	{ MUSTER_OUTCOME_ERROR, NULL, NULL, NULL,
		"inconclusive probe.gpu_copy sim-1 rank=1: probe gpu_copy finishes | error\n", MUSTER_INCONCLUSIVE,
		MUSTER_PROOF_SOFT },
	{ MUSTER_OUTCOME_NOT_RUN, NULL, "no GPU", NULL,
		"inconclusive probe.gpu_copy sim-1 rank=1: probe gpu_copy finishes | no GPU\n", MUSTER_INCONCLUSIVE,
		MUSTER_PROOF_SOFT },
};

TEST_EACH(a_probe_that_did_not_end_well_takes_the_checks_without_samples, ends)
{
	struct muster_run *run = two_nodes();
	break_probe(run, 1, "gpu_copy", ends[_i].status, ends[_i].code, ends[_i].detail, ends[_i].step);
	struct muster_report *report = fixture_report(
		run, H2D ",'d2h':{'metric':'gpu.d2h_gbps','min':1,'source':'s','when':{'profile':'full'}}", false);
	ck_assert_str_eq(fixture_findings(report), ends[_i].found);
	ck_assert_int_eq(report->verdict, ends[_i].verdict);
	ck_assert_int_eq(report->findings[0].proof, ends[_i].proof);
	ck_assert_uint_eq(report->findings[0].blocked_count, 1);
	ck_assert_str_eq(report->findings[0].blocked[0], "h2d");
	ck_assert_uint_eq(report->tallies[0].count[MUSTER_PASS], 3);
}

TEST(a_probe_that_no_check_needs_is_skipped)
{
	static const char *const checks[] = {
		"'count':{'metric':'node.gpu_count','equals':2,'source':'s'}",
		"'h2d':{'metric':'gpu.h2d_gbps','min':21,'source':'s','when':{'nodes':3}},"
		"'count':{'metric':'node.gpu_count','equals':2,'source':'s'}",
	};
	struct muster_run *run = two_nodes();
	break_probe(run, 1, "gpu_copy", MUSTER_OUTCOME_CRASHED, NULL, "killed by signal 11", NULL);
	for (size_t i = 0; i < 2; i++) {
		struct muster_report *report = fixture_report(run, checks[i], false);
		ck_assert_str_eq(fixture_findings(report),
			"skip probe.gpu_copy sim-1 rank=1 gpu=0002:00:00.0: probe gpu_copy finishes | killed by signal "
			"11 (no check of this run "
			"needs it)\n");
		ck_assert_int_eq(report->verdict, MUSTER_PASS);
	}
}

TEST(the_same_end_on_several_ranks_of_a_node_is_one_finding)
{
	struct muster_run *run = two_nodes();
	for (int r = 0; r < 4; r++)
		break_probe(
			run, r, "gpu_copy", MUSTER_OUTCOME_ERROR, "lib", r == 3 ? "other" : "libx.so: not found", NULL);
	struct muster_report *report = fixture_report(run, H2D, false);
	ck_assert_str_eq(fixture_findings(report),
		"fail probe.gpu_copy sim-1: probe gpu_copy finishes | ranks 0-1: libx.so: not found\n"
		"fail probe.gpu_copy sim-2: probe gpu_copy finishes | rank 2: libx.so: not found; rank 3: other\n");
	ck_assert_uint_eq(report->count[MUSTER_FAIL], 2);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(report->findings[i].blocked_count, 1);
		ck_assert_ptr_nonnull(report->findings[i].advice);
	}
}

/* A node of eight ranks with a GPU each, whose copies ended as the caller says. */
static struct muster_run *eight_ranks(struct muster_outcome (*end)(struct muster_run *run, int rank))
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = fixture_node(run, "sim-1", 8);
	for (int r = 0; r < 8; r++) {
		node->ranks[r].gpu = muster_arena_printf(run->arena, "000%d:00:00.0", r);
		muster_outcomes_add(&node->ranks[r].outcomes, end(run, r));
	}
	return run;
}

static struct muster_outcome timed_out(struct muster_run *run, int rank)
{
	return (struct muster_outcome){ .probe = "nccl_allreduce",
		.status = MUSTER_OUTCOME_ERROR,
		.code = "time",
		.detail = "agreement of the ranks did not finish within 2000 ms",
		.evidence = rank == 0 ? NULL
				      : muster_arena_printf(
						run->arena, "NCCL's log ends: comm 0x55e%d rank %d", rank, rank) };
}

TEST(evidence_that_differs_does_not_divide_a_cause)
{
	struct muster_run *run = eight_ranks(timed_out);
	struct muster_report *report =
		fixture_report(run, "'r':{'metric':'nccl.ring_ranks','equals':8,'source':'s'}", false);
	ck_assert_str_eq(fixture_findings(report),
		"inconclusive probe.nccl_allreduce sim-1: probe nccl_allreduce finishes | "
		"ranks 0-7: agreement of the ranks did not finish within 2000 ms\n");
	ck_assert_str_eq(report->findings[0].evidence, "rank 1, one of 8: NCCL's log ends: comm 0x55e1 rank 1");
}

static struct muster_outcome stalled(struct muster_run *run, int rank)
{
	struct muster_outcome outcome = timed_out(run, rank);
	outcome.code = "stalled";
	outcome.ring = 8;
	return outcome;
}

/* An all-reduce of one node that does not end; of several nodes nobody knows which one it is. */
TEST_LOOP(an_all_reduce_that_does_not_end_fails_the_only_node, 0, 2)
{
	struct muster_run *run = eight_ranks(stalled);
	if (_i == 1)
		fixture_node(run, "sim-2", 0);
	struct muster_report *report =
		fixture_report(run, "'r':{'metric':'nccl.ring_ranks','equals':8,'source':'s'}", false);
	const char *text = fixture_findings(report);
	ck_assert_msg(strstr(text, _i == 0 ? "fail probe.nccl_allreduce sim-1: probe nccl_allreduce finishes | ranks "
					     "0-7: agreement of the ranks did not finish within 2000 ms\n"
					   : "inconclusive probe.nccl_allreduce sim-1: ") != NULL,
		"%s", text);
	ck_assert_uint_eq(report->count[MUSTER_FAIL], 1); /* of the second node nothing is known */
}

static struct muster_outcome crashed(struct muster_run *run, int rank)
{
	return (struct muster_outcome){ .probe = "gpu_copy",
		.status = rank == 7 ? MUSTER_OUTCOME_HUNG : MUSTER_OUTCOME_CRASHED,
		.detail = rank < 2 || rank == 4 ? "signal 11" : muster_arena_printf(run->arena, "exit status %d", rank),
		.evidence = rank == 0 || rank == 7 ? "last words: bus error" : NULL };
}

TEST(a_cause_is_told_with_what_differs_on_its_ranks)
{
	struct muster_run *run = eight_ranks(crashed);
	struct muster_report *report = fixture_report(run, H2D, false);
	ck_assert_str_eq(fixture_findings(report),
		"fail probe.gpu_copy sim-1: probe gpu_copy finishes | ranks 0-1,4: signal 11; rank 2: exit status 2; "
		"rank 3: exit status 3; rank 5: exit status 5; and 1 more rank\n"
		"fail probe.gpu_copy sim-1 rank=7 gpu=0007:00:00.0: probe gpu_copy finishes | exit status 7\n");
	ck_assert_str_eq(report->findings[0].evidence, "rank 0, one of 7: last words: bus error");
	ck_assert_str_eq(report->findings[1].evidence, "last words: bus error");
}

TEST(a_run_that_was_ended_early_blames_nobody)
{
	struct muster_run *run = two_nodes();
	run->job.interrupted = "SIGTERM came to rank 0 after 5.0 s";
	run->job.ranks = 5;
	rank_of(run, 2)->missing = "no word within 30 s";
	muster_node_add_rank(muster_run_add_node(run, "sim-9"), 4)->missing = "no word within 30 s";
	muster_run_add_node(run, "sim-7");
	fixture_outcome(rank_of(run, 0), "gpu_copy", MUSTER_OUTCOME_ERROR, "interrupted", "the run was ended", NULL);
	fixture_outcome(rank_of(run, 1), "nccl_allreduce", MUSTER_OUTCOME_ERROR, "vendor", "ncclRemoteError (6)", NULL);
	drop_samples(&rank_of(run, 0)->samples, "gpu.h2d_gbps");
	struct muster_report *report = fixture_report(run, H2D, false);
	ck_assert_int_eq(report->verdict, MUSTER_INCONCLUSIVE);
	ck_assert_uint_eq(report->count[MUSTER_FAIL], 0);
	const char *found = fixture_findings(report);
	static const char *const parts[] = {
		"inconclusive run.interrupted: the run finishes | SIGTERM came to rank 0 after 5.0 s\n",
		"inconclusive rank.missing sim-2 rank=2: ",
		"inconclusive rank.missing sim-9 rank=4: ",
		"inconclusive node.missing sim-7: a result from every node | no result from this node\n",
		"skip probe.gpu_copy",
		"skip probe.nccl_allreduce",
	};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		ck_assert_msg(strstr(found, parts[i]) != NULL, "%s not in: %s", parts[i], found);
	run->job.interrupted = NULL;
	report = fixture_report(run, H2D, false);
	ck_assert_ptr_nonnull(strstr(fixture_findings(report), "fail node.missing sim-7: "));
}

TEST(a_rank_that_the_run_does_not_mention_is_missing)
{
	struct muster_run *run = two_nodes();
	run->job.ranks = 9;
	run->nodes[0].ranks[1].rank = 6;
	ck_assert_str_eq(fixture_found(run, H2D),
		"fail rank.missing: a result from each of 9 ranks | the run does not contain ranks 1,4-5,7-8\n");
}

TEST(an_empty_run_never_passes)
{
	struct muster_run *run = fixture_new_run();
	struct muster_report *report = fixture_report(run, H2D, false);
	ck_assert_str_eq(fixture_findings(report),
		"fail rank.missing: a result from each of 0 ranks | the run contains no rank\n");
	ck_assert_int_eq(report->verdict, MUSTER_FAIL);
}

TEST(a_missing_sample_is_never_a_pass)
{
	struct muster_run *run = two_nodes();
	drop_samples(&rank_of(run, 0)->samples, "gpu.h2d_gbps");
	drop_samples(&run->nodes[1].samples, "node.gpu_count");
	struct muster_report *report = fixture_report(run,
		H2D ",'count':{'metric':'node.gpu_count','equals':2,'source':'s','advice':'not for this'},"
		    "'busbw':{'metric':'nccl.allreduce_busbw_gbps','where':{'bytes':64},'min':1,'source':'s'},"
		    "'there':{'metric':'node.kernel','present':true,'source':'s'},"
		    "'port':{'metric':'port.state','where':{'port':'p0/1'},'equals':'ACTIVE','source':'s'},"
		    "'ports':{'metric':'port.state','equals':'ACTIVE','source':'s'},"
		    "'none':{'metric':'port.lid','present':false,'source':'s'}",
		false);
	ck_assert_str_eq(fixture_findings(report), "fail there sim-1: present | not measured\n"
						   "fail there sim-2: present | not measured\n"
						   "inconclusive busbw: at least 1 GB/s | not measured\n"
						   "inconclusive port sim-1: ACTIVE | not measured\n"
						   "inconclusive h2d sim-1 rank=0: at least 21 GB/s | not measured\n"
						   "inconclusive count sim-2: 2 | not measured\n"
						   "inconclusive port sim-2: ACTIVE | not measured\n");
	for (size_t i = 0; i < report->finding_count; i++)
		ck_assert_ptr_null(report->findings[i].advice);
	ck_assert_uint_eq(report->tallies[6].count[MUSTER_PASS], 2);
	ck_assert_int_eq(report->verdict, MUSTER_FAIL);
}

/* `when`, and why the check does not apply to a standard run of two nodes and four ranks; NULL: it does. */
static const struct {
	const char *when, *skipped;
} whens[] = {
	{ "{'nodes':2}", NULL },
	{ "{'nodes':1}", "only for runs of 1 node (this run has 2)" },
	{ "{'nodes':{'min':3}}", "only for runs of 3 nodes or more (this run has 2)" },
	{ "{'nodes':{'max':1}}", "only for runs of at most 1 node (this run has 2)" },
	{ "{'nodes':{'min':3,'max':4}}", "only for runs of 3 to 4 nodes (this run has 2)" },
	{ "{'nodes':{'min':1,'max':2},'ranks':{'min':4},'profile':['quick','standard']}", NULL },
	{ "{'ranks':8}", "only for runs of 8 ranks (this run has 4)" },
	{ "{'profile':'full'}", "only for profile full (this run has standard)" },
	{ "{'profile':['quick','full']}", "only for profile quick or full (this run has standard)" },
};

TEST_EACH(when_says_which_runs_a_check_is_for, whens)
{
	char checks[256];
	struct muster_run *run = two_nodes();
	snprintf(
		checks, sizeof checks, "'c':{'metric':'gpu.h2d_gbps','min':27,'source':'s','when':%s}", whens[_i].when);
	struct muster_report *report = fixture_report(run, checks, false);
	if (whens[_i].skipped) {
		ck_assert_str_eq(report->tallies[0].skipped, whens[_i].skipped);
		ck_assert_uint_eq(report->finding_count, 0);
		ck_assert_int_eq(report->verdict, MUSTER_PASS);
	} else {
		ck_assert_ptr_null(report->tallies[0].skipped);
		ck_assert_uint_eq(report->finding_count, 4);
	}
}

TEST(a_check_that_comes_after_another_is_silent_where_that_failed)
{
	struct muster_run *run = two_nodes();
	/* rank 1: its GPU; sim-2: the node */
	set_value(&rank_of(run, 1)->samples, "gpu.h2d_gbps", muster_number(5));
	set_value(&run->nodes[1].samples, "node.gpu_count", muster_number(1));
	for (int r = 0; r < 4; r++)
		set_value(&rank_of(run, r)->samples, "rank.cpu_locality", muster_string("outside"));
	for (int r = 2; r < 4; r++)
		set_value(&rank_of(run, r)->samples, "gpu.h2d_gbps", muster_number(5));
	struct muster_report *report = fixture_report(run,
		"'third':{'metric':'rank.cpu_locality','equals':'inside','source':'s','after':'second'},"
		"'second':{'metric':'gpu.h2d_gbps','min':21,'source':'s','after':'first'},"
		"'first':{'metric':'node.gpu_count','equals':2,'source':'s'}",
		false);
	ck_assert_str_eq(fixture_findings(report), "fail third sim-1 rank=0: inside | outside\n"
						   "fail second sim-1 rank=1 gpu=0002:00:00.0: at least 21 GB/s | 5\n"
						   "fail first sim-2: 2 | 1\n");
	ck_assert_uint_eq(report->tallies[0].count[MUSTER_BLOCKED], 3);
	ck_assert_uint_eq(report->tallies[1].count[MUSTER_BLOCKED], 2);
	ck_assert_uint_eq(report->tallies[1].count[MUSTER_PASS], 1);
	ck_assert_uint_eq(report->count[MUSTER_BLOCKED], 5);
	ck_assert_uint_eq(report->count[MUSTER_SKIP], 0);
	ck_assert_str_eq(report->tallies[0].blocked_by, "second on sim-1 and 1 more finding");
	ck_assert_str_eq(report->tallies[1].blocked_by, "first on sim-2");
	ck_assert_ptr_null(report->tallies[2].blocked_by);
	ck_assert_uint_eq(report->findings[1].blocked_count, 1);
	ck_assert_str_eq(report->findings[1].blocked[0], "third");
	ck_assert_uint_eq(report->findings[2].blocked_count, 2); /* what came after what it blocked, too */
}

TEST(the_worst_comes_first_then_nodes_then_ranks_then_checks)
{
	struct muster_run *run = two_nodes();
	set_value(&rank_of(run, 0)->samples, "gpu.h2d_gbps", muster_number(22));
	set_value(&rank_of(run, 1)->samples, "gpu.h2d_gbps", muster_null());
	set_value(&rank_of(run, 3)->samples, "gpu.h2d_gbps", muster_number(1));
	set_value(&rank_of(run, 3)->samples, "rank.cpu_locality", muster_string("outside"));
	set_value(&run->nodes[0].samples, "node.gpu_count", muster_number(1));
	struct muster_report *report = fixture_report(run,
		"'b':{'metric':'rank.cpu_locality','equals':'inside','source':'s'},"
		"'a':{'metric':'gpu.h2d_gbps','min':21,'warn_below':24,'source':'s'},"
		"'c':{'metric':'node.gpu_count','equals':2,'source':'s'}",
		false);
	static const char *const order[] = { "c", "b", "a", "a", "a" };
	ck_assert_uint_eq(report->finding_count, 5);
	for (size_t i = 0; i < 5; i++)
		ck_assert_str_eq(report->findings[i].check, order[i]);
	ck_assert_int_eq(report->findings[3].status, MUSTER_INCONCLUSIVE);
	ck_assert_int_eq(report->findings[4].status, MUSTER_WARN);
}

TEST(without_expectations_only_probes_and_ranks_are_judged)
{
	struct muster_run *run = two_nodes();
	struct muster_report *report = fixture_new_report();
	muster_evaluate(run, NULL, false, report);
	ck_assert_int_eq(report->verdict, MUSTER_INCONCLUSIVE);
	ck_assert_int_eq(muster_report_exit(report), MUSTER_EXIT_INCONCLUSIVE);
	ck_assert_uint_eq(report->finding_count, 0);
	break_probe(run, 0, "gpu_copy", MUSTER_OUTCOME_CRASHED, NULL, "killed by signal 11", NULL);
	report = fixture_new_report();
	muster_evaluate(run, NULL, false, report);
	ck_assert_int_eq(report->verdict, MUSTER_FAIL);
	ck_assert_uint_eq(report->finding_count, 1);
}

TEST(a_probe_of_another_version_is_no_reason_to_fail)
{
	struct muster_run *run = two_nodes();
	fixture_outcome(rank_of(run, 0), "quantum", MUSTER_OUTCOME_ERROR, "lib", "gone", NULL);
	struct muster_report *report = fixture_report(run, H2D, false);
	ck_assert_uint_eq(report->finding_count, 1);
	ck_assert_int_eq(report->findings[0].status, MUSTER_SKIP);
	ck_assert_int_eq(report->verdict, MUSTER_PASS);
}

TEST_MAIN(.teardown = fixture_done)
