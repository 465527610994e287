/* SPDX-License-Identifier: Apache-2.0 */
/* test_anonymous.c - names in texts, and that each metric of the catalogue was looked at */
#include "report/anonymous.h"

#include "check_main.h"
#include "muster/probe.h"
#include "muster/run.h"

#include <string.h>

static struct muster_arena *arena;
static struct muster_anonymous_names *names;

static void setup(void)
{
	static const char *const nodes[] = { "gpu-07", "gpu-08", "gpu-09.site.example", "login", "GPU-11" };
	arena = muster_arena_new();
	names = muster_anonymous_names_new(arena);
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
		muster_anonymous_name(names, MUSTER_NAME_NODE, nodes[i]);
	muster_anonymous_name(names, MUSTER_NAME_GROUP, "blue");
}

static void teardown(void)
{
	muster_arena_free(arena);
}

#define UUID "1826ea94-025c-05fe-627d-dd3bc56a3190"
#define UUID_1 "00000000-0000-0000-0000-000000000001"

static const struct {
	const char *text, *replaced; /* NULL: as before */
} texts[] = {
	{ "the all-reduce gpu-07 + gpu-08 failed", "the all-reduce node-1 + node-2 failed" },
	{ "nodes gpu-[07-08].", "nodes node-[1-2]." },
	{ "gpu-[07-08] | login", "node-[1-2] | node-4" },
	{ "gpu-[07-10]", NULL }, /* two of them are no nodes of the run */
	{ "gpu-07.internal.example, gpu-071, xgpu-07", "node-1, gpu-071, xgpu-07" },
	{ "gpu-09.site.example", "node-3" },
	{ "pod-x7:1234:1240 [0] NCCL WARN gpu-08: lost", "host-1:1234:1240 [0] NCCL WARN node-2: lost" },
	{ "GPU-11, GPU-[11], MIG-1 and GPU-" UUID, "node-5, node-5, MIG-1 and GPU-" UUID_1 },
	{ "MIG-" UUID ",GPU-" UUID, "MIG-" UUID_1 ",GPU-" UUID_1 },
	{ "00000000-0000-0000-0000-000000000000", NULL },
	{ "connect to 10.0.12.4<52311> failed", "connect to address-1<52311> failed" },
	{ "fe80:0000:0000:0000:0015:5dff:fe33:ff00", "address-1" },
	{ "fe80::15:5dff:fe33 and 00:15:5d:33:ff:00", "address-1 and address-2" },
	{ "GPU 0001:00:00.0 at 12:30:55", NULL },
	{ "driver 580.126.20, NVML 13.580.126.20, libibverbs 1.14.50.0, VBIOS 97.10.4A.00.05", NULL },
	{ "P2P/CUMEM NET/IB/GDRDMA, mlx5_ib0/1, 26 GB/s", NULL },
	{ "/usr/lib/x86_64-linux-gnu/libnccl.so.2", NULL },
	{ "/opt/microsoft/ndv4-topo.xml", NULL },
	{ "/home/alice/lib/libnccl.so.2 and /home/alice/lib/libcuda.so.1",
		"/folder-1/libnccl.so.2 and /folder-1/libcuda.so.1" },
	{ "open /home/alice/secret-plan.xml: denied", "open /folder-1/file-1.xml: denied" },
	{ "/dev/shm/alice/log of /dev/nvidia0", "/folder-1/file-1 of /dev/nvidia0" },
	{ "file=/shared/acme/run.log.", "file=/folder-1/file-1.log." },
	{ "alice@login: denied", "user-1@node-4: denied" },
	{ "the placement group blue", NULL },
	{ "quiet,mask_cpu:0xffffff000000", NULL },
	{ "", NULL },
};

TEST_EACH(a_text_keeps_all_but_names, texts)
{
	const char *wanted = texts[_i].replaced ? texts[_i].replaced : texts[_i].text;
	ck_assert_str_eq(muster_anonymous_text(names, MUSTER_NAME_NODE, texts[_i].text), wanted);
	/* and again the same */
	ck_assert_str_eq(muster_anonymous_text(names, MUSTER_NAME_NODE, texts[_i].text), wanted);
}

TEST(names_of_another_kind_are_replaced_only_where_they_are_meant)
{
	ck_assert_str_eq(muster_anonymous_text(names, MUSTER_NAME_GROUP, "blue on gpu-07; red on gpu-08"),
		"placement-group-1 on node-1; red on node-2");
	ck_assert_ptr_null(muster_anonymous_text(names, MUSTER_NAME_NODE, NULL));
}

TEST(a_key_keeps_how_the_port_is_a_member)
{
	ck_assert_str_eq(muster_anonymous_pkeys(names, "0x8abc 0x7fff 0x0abc 0x8012 0xffff"),
		"0x8001 0x7fff 0x0001 0x8002 0xffff");
	ck_assert_str_eq(muster_anonymous_pkeys(names, "0x0abc"), "0x0001");
	ck_assert_str_eq(muster_anonymous_pkeys(names, "default"), "default");
	ck_assert_str_eq(muster_anonymous_text(names, MUSTER_NAME_PARTITION, "0x8012 0x7fff on gpu-07"),
		"0x8002 0x7fff on node-1");
	ck_assert_str_eq(muster_anonymous_parts(names, MUSTER_NAME_SWITCH, "spine0.leaf3"), "switch-1.switch-2");
	ck_assert_str_eq(muster_anonymous_parts(names, MUSTER_NAME_SWITCH, "spine0.leaf4"), "switch-1.switch-3");
}

/* Sentences of findings about values of any text, jobs and switches. */
TEST(a_sentence_has_no_value_that_is_a_name)
{
	static const struct {
		const char *metric, *value, *observed;
	} cases[] = { { "rank.setting", "acme:4711", "value-1:value-2 on node-1" },
		{ "rank.setting", "4711", "4711 on node-1" }, /* another setting, whose values are no names */
		{ "node.other_jobs", "4711 12", "value-2 value-3 on node-1" },
		{ "node.slurm_topology", "spine0.leaf3", "switch-1.switch-2 on node-1" } };
	enum { COUNT = sizeof cases / sizeof *cases };
	static struct muster_label labels[] = { { "setting", { .type = MUSTER_STRING, .string = "NCCL_HOSTID" } } };
	struct muster_run run;
	struct muster_finding findings[COUNT];
	muster_run_init(&run);
	struct muster_node *node = muster_run_add_node(&run, "gpu-07");
	for (size_t i = 0; i < COUNT; i++) {
		struct muster_sample sample = { .metric = muster_metric_find(cases[i].metric),
			.labels = labels,
			.label_count = i == 0,
			.value = muster_string(cases[i].value) };
		muster_samples_add(&node->samples, sample);
		findings[i] = (struct muster_finding){ .metric = cases[i].metric,
			.labels = labels,
			.label_count = i == 0,
			.observed = muster_arena_printf(arena, "%s on gpu-07", cases[i].value) };
	}
	muster_report_anonymise(&run,
		&(struct muster_report){ .run = &run, .findings = findings, .finding_count = COUNT, .arena = arena });
	for (size_t i = 0; i < COUNT; i++)
		ck_assert_str_eq(findings[i].observed, cases[i].observed);
	muster_run_done(&run);
}

TEST(processes_lose_their_names_and_users)
{
	ck_assert_str_eq(
		muster_anonymous_processes(names,
			"12 python3 (uid1001) 20 MiB; 13 secret_model (uid1001) 1001 MiB; 14 ? 5 MiB; and 4 more"),
		"12 process-1 (process-2) 20 MiB; 13 process-3 (process-2) 1001 MiB; 14 ? 5 MiB; and 4 more");
	ck_assert_str_eq(muster_anonymous_processes(names, "none"), "none");
	ck_assert_str_eq(muster_anonymous_text(names, MUSTER_NAME_PROCESS, "used by 13 secret_model on gpu-07"),
		"used by 13 process-3 on node-1");
}

TEST(many_names_keep_their_replacements)
{
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 5000; i++) {
			char from[16], to[16];
			snprintf(from, sizeof from, "h%d", i);
			snprintf(to, sizeof to, "vm-%d", i + 1);
			ck_assert_str_eq(muster_anonymous_name(names, MUSTER_NAME_VM, from), to);
		}
	}
}

/* Lines of a kernel's log: without processes, users and nodes, and with what tells of the fault. */
static const struct {
	const char *line, *replaced; /* NULL: as before */
} lines[] = {
	{ "NVRM: Xid (PCI:0000:cb:00): 13, pid=4711, name=secret-model, Graphics SM Warp Exception on (GPC 7, TPC 0)",
		"NVRM: Xid (PCI:0000:cb:00): 13, pid=0, name=process-1, Graphics SM Warp Exception on (GPC 7, TPC 0)" },
	{ "NVRM: Xid (PCI:0000:cb:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", NULL },
	{ "NVRM: Xid (PCI:0000:cb:00): 94, pid='4711', name=a.out, Contained: CE User Channel (0x9)",
		"NVRM: Xid (PCI:0000:cb:00): 94, pid=0, name=process-1, Contained: CE User Channel (0x9)" },
	{ "NVRM: Xid (PCI:0000:05:00): 74, pid=1, name=x, NVLink: fatal error (0x10000, 0x0, 0x0)",
		"NVRM: Xid (PCI:0000:05:00): 74, pid=0, name=process-1, NVLink: fatal error (0x10000, 0x0, 0x0)" },
	{ "Out of memory: Killed process 4711 (python3) total-vm:8kB, UID:1000 pgtables:1kB",
		"Out of memory: Killed process 0 (process-1) total-vm:8kB, UID:0 pgtables:1kB" },
	{ "Memory cgroup out of memory: Killed process 9 (a b) total-vm:1kB, anon-rss:2kB, uid:1000",
		"Memory cgroup out of memory: Killed process 0 (process-1) total-vm:1kB, anon-rss:2kB, uid:0" },
	{ "INFO: task python3:4711 blocked for more than 122 seconds.",
		"INFO: task process-1 blocked for more than 122 seconds." },
	{ "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [secret:4711]",
		"watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [process-1]" },
	{ "EXT4-fs (sda1): Remounting filesystem read-only", NULL },
	{ "mlx5_core 0001:00:00.0: poll_health:955:(pid 0): device's health compromised", NULL },
	{ "mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 7: 8c00004000010092", NULL },
	{ "gpu-07: pid=", "node-1: pid=" },
	{ "", NULL },
};

TEST_EACH(a_line_of_the_log_keeps_all_but_processes_users_and_nodes, lines)
{
	const char *wanted = lines[_i].replaced ? lines[_i].replaced : lines[_i].line;
	ck_assert_str_eq(muster_anonymous_line(names, lines[_i].line), wanted);
	ck_assert_ptr_null(muster_anonymous_line(names, NULL));
}

TEST(the_node_of_a_pair_is_replaced_as_the_node_itself)
{
	struct muster_run run;
	muster_run_init(&run);
	muster_run_add_node(&run, "hidden-1");
	muster_run_add_node(&run, "hidden-2");
	struct muster_label labels[] = { { "kind", muster_string("rail") },
		{ "peer_node", muster_string("hidden-2") } };
	struct muster_rank *rank = muster_node_add_rank(&run.nodes[0], 0);
	muster_samples_add(&rank->samples, (struct muster_sample){ .metric = muster_metric_find("pair.exchange_gbps"),
						   .labels = labels,
						   .label_count = 2,
						   .value = muster_number(1) });
	muster_report_anonymise(&run, &(struct muster_report){ .run = &run });
	const struct muster_sample *sample = &run.nodes[0].ranks[0].samples.items[0];
	ck_assert_str_eq(sample->labels[0].value.string, "rail");
	ck_assert_str_eq(sample->labels[1].value.string, run.nodes[1].name);
	ck_assert_ptr_null(strstr(run.nodes[1].name, "hidden"));
	ck_assert_str_eq(labels[1].value.string, "hidden-2");
	muster_run_done(&run);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
