/* SPDX-License-Identifier: Apache-2.0 */
/* test_inventory.c - what the nodes have: equal nodes share a row, differences are marked, gaps have a reason */
#include "report/inventory.h"

#include "check_main.h"
#include "run_text.h"
#include "synthetic_run.h"
#include "unit/report/printed.h"

static struct muster_inventory inventory;

static void make(const char *lines)
{
	run_text(&run, lines);
	muster_inventory_make(&run, &inventory);
}

static void done(void)
{
	muster_inventory_done(&inventory);
	printed_done();
}

static const struct muster_inventory_cell *cell(
	enum muster_inventory_kind kind, size_t block, size_t row, size_t column)
{
	const struct muster_inventory_table *table = &inventory.tables[kind];
	ck_assert_uint_lt(block, table->block_count);
	ck_assert_uint_lt(row, table->blocks[block].row_count);
	ck_assert_uint_lt(column, table->column_count);
	return &table->blocks[block].cells[row * table->column_count + column];
}

/* The rows of a property, one a line: "VALUE @ NODES"; of one that is not known "VALUE: WHY", of one that differs " !".
 */
static const char *property(const char *title)
{
	static char rows[4096];
	const struct muster_inventory_table *table = &inventory.tables[MUSTER_INVENTORY_NODES];
	size_t used = 0;
	*rows = '\0';
	for (size_t b = 0; b < table->block_count; b++)
		for (size_t r = 0; r < table->blocks[b].row_count; r++) {
			const struct muster_inventory_cell *cells = &table->blocks[b].cells[r * table->column_count];
			if (strcmp(cells[0].text, title) == 0)
				used += (size_t)snprintf(rows + used, sizeof rows - used, "%s%s%s @ %s%s\n",
					cells[1].text, cells[1].why ? ": " : "", cells[1].why ? cells[1].why : "",
					cells[2].text, cells[1].usual ? " !" : "");
		}
	return rows;
}

static const struct {
	const char *run, *title, *wanted;
} properties[] = {
	{ "a node.cpus 96", "CPUs", "96 @ a\n" },
	{ "a node.cpus 96\nb node.cpus 96", "CPUs", "96 @ all\n" },
	/* of two nodes, none is the reference */
	{ "a node.kernel 5.15\nb node.kernel 6.8", "kernel", "5.15 @ a !\n6.8 @ b !\n" },
	/* of three, two are */
	{ "n1 node.kernel 'A\nn2 node.kernel 'B\nn3 node.kernel 'A", "kernel", "A @ n[1,3]\nB @ n2 !\n" },
	/* two against two */
	{ "n1 node.kernel 'A\nn2 node.kernel 'B\nn3 node.kernel 'A\nn4 node.kernel 'B", "kernel",
		"A @ n[1,3] !\nB @ n[2,4] !\n" },
	/* one of three values is the most frequent one */
	{ "n1 node.kernel 'A\nn2 node.kernel 'B\nn3 node.kernel 'A\nn4 node.kernel 'C", "kernel",
		"A @ n[1,3]\nB @ n2 !\nC @ n4 !\n" },
	/* a value that is not known is another one, whatever its reason */
	{ "a node.kernel 'A\nb node.kernel 'A\nc node.kernel -", "kernel",
		"A @ a,b\nunknown: not supported here @ c !\n" },
	{ "a node.cpus 1\na/0 rank.local_rank 0", "kernel", "unknown: not in this report @ a\n" },
	{ "a/0 probe system crashed - signal~11", "kernel", "unknown: probe system: crashed: signal~11 @ a\n" },
	{ "a/3 missing", "kernel", "unknown: rank 3: no message @ a\n" },
	/* MiB as people read them; what a kernel keeps for itself is no difference */
	{ "a node.memory_mib 885824", "memory", "865 GiB @ a\n" },
	{ "a node.shm_mib 64", "/dev/shm", "64 MiB @ a\n" },
	{ "a node.memory_mib 885824\nb node.memory_mib 885312", "memory", "865 GiB @ all\n" },
	{ "a node.memory_mib 885824\nb node.memory_mib 442912", "memory", "865 GiB @ a !\n433 GiB @ b !\n" },
	{ "a node.fabric_manager true", "Fabric Manager runs", "yes @ a\n" },
	{ "a node.nvme_disks 8\na node.nvme_gb 7680", "NVMe disks", "8, together 7680 GB @ a\n" },
	/* what each node has of its own is no difference */
	{ "a node.vm_id 'x\nb node.vm_id 'y", "VM id", "x @ a\ny @ b\n" },
	{ "n1 node.vm_id 'a\nn2 node.vm_id 'b\nn3 node.vm_id 'c\nn4 node.vm_id 'd\nn5 node.vm_id 'e", "VM id",
		"5 different values @ all\n" },
	/* of the GPUs of a node */
	{ "a/0 = 1:0 U\na/0 gpu.name gpu=1:0 H100\na/1 = 2:0 V\na/1 gpu.name gpu=2:0 H100", "GPUs of the ranks",
		"2 x H100 @ a\n" },
	{ "a/0 = 1:0 U\na/0 gpu.name gpu=1:0 H100\na/1 = 2:0 V\na/1 gpu.name gpu=2:0 A100\n"
	  "a/2 = 3:0 W\na/2 gpu.name gpu=3:0 H100",
		"GPUs of the ranks", "2 x H100, 1 x A100 (GPU 2:0) @ a\n" },
	{ "a/0 = 1:0 U\na/0 gpu.name gpu=1:0 H100\na/1 = 1:0 V\na/1 gpu.name gpu=1:0 H100", "GPUs of the ranks",
		"1 x H100 @ a\n" },
	{ "a/0 = 1:0 U\na/0 gpu.power_limit_watts gpu=1:0 700", "power limit", "700 W @ a\n" },
	{ "a/0 = 1:0 U\na/0 gpu.nvlinks gpu=1:0 0\na/0 gpu.nvlink_gbps gpu=1:0 -", "NVLinks", "0 @ a\n" },
	{ "a/0 = 1:0 U\na/0 gpu.mig_profile gpu=1:0 -", "MIG profile", "" },
	{ "a node.ib_ports 0", "firmware", "no RDMA port @ a\n" },
};

TEST_EACH(a_property_has_its_values_and_their_nodes, properties)
{
	make(properties[_i].run);
	ck_assert_str_eq(property(properties[_i].title), properties[_i].wanted);
}

TEST(equal_nodes_are_one_block_of_ranks)
{
	make("n1/0 = 1:0 U\nn1/0 rank.cpu_list '0-3\nn1/1 = 2:0 V\nn1/1 rank.cpu_list '4-7\n"
	     "n2/2 = 1:0 W\nn2/2 rank.cpu_list '0-3\nn2/3 = 2:0 X\nn2/3 rank.cpu_list '4-7\n"
	     "n3/4 = 3:0 Y\nn3/4 rank.cpu_list '0-3\nn3/5 = 4:0 Z\nn3/5 rank.cpu_list '8-9");
	const struct muster_inventory_table *table = &inventory.tables[MUSTER_INVENTORY_RANKS];
	ck_assert_uint_eq(table->block_count, 2);
	ck_assert_str_eq(table->blocks[0].title, "n[1-2] (2 nodes)");
	ck_assert_str_eq(table->blocks[1].title, "n3");
	ck_assert_str_eq(cell(MUSTER_INVENTORY_RANKS, 0, 1, 0)->text, "1, 3");
	ck_assert_str_eq(cell(MUSTER_INVENTORY_RANKS, 0, 1, 3)->text, "2:0");
	ck_assert_str_eq(cell(MUSTER_INVENTORY_RANKS, 0, 1, 5)->text, "4-7");
	ck_assert_ptr_null(cell(MUSTER_INVENTORY_RANKS, 0, 1, 5)->usual);
	ck_assert_str_eq(cell(MUSTER_INVENTORY_RANKS, 1, 1, 5)->text, "8-9");
	ck_assert_str_eq(cell(MUSTER_INVENTORY_RANKS, 1, 1, 5)->usual, "4-7");
	ck_assert_ptr_null(cell(MUSTER_INVENTORY_RANKS, 1, 1, 3)->usual); /* an address is each node's own */
	ck_assert_str_eq(cell(MUSTER_INVENTORY_RANKS, 0, 0, 1)->text, "unknown");
	ck_assert_str_eq(
		cell(MUSTER_INVENTORY_RANKS, 0, 0, 1)->why, "neither nvidia-smi's order nor NVML's index is known");
	ck_assert_uint_eq(inventory.differing, 1);
}

TEST(a_rank_that_sent_nothing_says_why)
{
	make("a/0 = 1:0 U\na/0 rank.cpu_list '0-3\na/1 missing");
	for (size_t i = 1; i < inventory.tables[MUSTER_INVENTORY_RANKS].column_count; i++) {
		ck_assert_str_eq(cell(MUSTER_INVENTORY_RANKS, 0, 1, i)->text, "unknown");
		ck_assert_str_eq(cell(MUSTER_INVENTORY_RANKS, 0, 1, i)->why, "no message");
	}
}

#define PORT(node, name, state, guid)                                                                                  \
	node " port.state port=" name " link_layer=InfiniBand " state "\n" node " port.guid port=" name                \
	     " link_layer=InfiniBand '" guid "\n"

TEST(a_port_that_other_nodes_have_is_absent)
{
	make(PORT("n1", "m0/1", "ACTIVE", "1") PORT("n1", "m1/1", "ACTIVE", "2") PORT("n2", "m0/1", "ACTIVE", "3")
			PORT("n2", "m1/1", "DOWN", "4") PORT("n3", "m0/1", "ACTIVE", "5"));
	const struct muster_inventory_table *table = &inventory.tables[MUSTER_INVENTORY_PORTS];
	ck_assert_uint_eq(table->block_count, 3);
	ck_assert_str_eq(table->blocks[2].title, "n3");
	ck_assert_uint_eq(table->blocks[2].row_count, 2);
	ck_assert_str_eq(cell(MUSTER_INVENTORY_PORTS, 2, 1, 0)->text, "m1/1");
	ck_assert_str_eq(cell(MUSTER_INVENTORY_PORTS, 2, 1, 1)->text, "absent");
	ck_assert_str_eq(cell(MUSTER_INVENTORY_PORTS, 2, 1, 1)->usual, "present");
	ck_assert_str_eq(cell(MUSTER_INVENTORY_PORTS, 1, 1, 1)->text, "DOWN");
	ck_assert_str_eq(cell(MUSTER_INVENTORY_PORTS, 1, 1, 1)->usual, "");
}

TEST(errors_of_a_port_are_summed_and_named)
{
	make("a port.state port=m0/1 link_layer=InfiniBand ACTIVE\n"
	     "a port.counter port=m0/1 link_layer=InfiniBand counter=symbol_error 7\n"
	     "a port.counter port=m0/1 link_layer=InfiniBand counter=link_downed 2\n"
	     "a port.counter_increase port=m0/1 link_layer=InfiniBand counter=symbol_error 0\n"
	     "a port.counter_increase port=m0/1 link_layer=InfiniBand counter=link_downed 2\n"
	     "a port.counter port=m1/1 link_layer=InfiniBand counter=link_downed 5");
	ck_assert_str_eq(cell(MUSTER_INVENTORY_PORTS, 0, 0, 8)->text, "2 (link_downed 2)");
	ck_assert_str_eq(cell(MUSTER_INVENTORY_PORTS, 0, 0, 9)->text, "9");
}

TEST(a_node_without_ports_says_so)
{
	make("a node.ib_ports 0\nb/0 probe ib_link hung - no~answer");
	const struct muster_inventory_table *table = &inventory.tables[MUSTER_INVENTORY_PORTS];
	ck_assert_uint_eq(table->block_count, 2);
	ck_assert_str_eq(table->blocks[0].empty, "no RDMA port");
	ck_assert_str_eq(table->blocks[1].empty, "unknown: probe ib_link: hung: no~answer");
}

TEST(a_thousand_nodes_are_one_block)
{
	synthetic_run(&run, 8192);
	muster_inventory_make(&run, &inventory);
	for (int kind = 0; kind < MUSTER_INVENTORY_COUNT; kind += 2) {
		const struct muster_inventory_table *table = &inventory.tables[kind];
		ck_assert_uint_eq(table->block_count, 1);
		ck_assert_str_eq(table->blocks[0].title, "sim-[1-1024] (1024 nodes)");
	}
	ck_assert_str_eq(cell(MUSTER_INVENTORY_RANKS, 0, 1, 0)->text, "1, 9, ... 8185");
	ck_assert_str_eq(property("NVIDIA driver"), "580.126.16 @ all\n");
}

TEST(a_thousand_nodes_that_all_differ_stay_a_short_table)
{
	fixture_run(&run);
	for (int i = 0; i < 1000; i++) {
		char cpus[32];
		struct muster_node *node = fixture_node(&run, muster_arena_printf(run.arena, "n%d", i), 1);
		snprintf(cpus, sizeof cpus, "%d-%d", i, i + 3);
		fixture_sample(&run, &node->ranks[0].samples, "rank.cpu_list", NULL, muster_string(cpus));
		fixture_sample(&run, &node->samples, "node.kernel", NULL, muster_string(cpus));
	}
	muster_inventory_make(&run, &inventory);
	const struct muster_inventory_table *table = &inventory.tables[MUSTER_INVENTORY_RANKS];
	ck_assert_uint_lt(table->block_count, 100);
	ck_assert_uint_eq(table->block_count + table->cut, 1000);
	ck_assert_ptr_nonnull(strstr(property("kernel"), "\n992 more values @ 992 nodes !\n"));
}

/* ---- as text and as Markdown ---- */

static void print_text(const struct muster_report *what, FILE *out)
{
	muster_report_print_inventory_text(what, &(struct muster_layout){ 0 }, out);
}

static void print(void (*printer)(const struct muster_report *, FILE *))
{
	muster_evaluate(&run, NULL, false, &report);
	print_with(printer);
	muster_report_done(&report);
}

#define LONG                                                                                                           \
	"0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,60,62,64,66,68,70,72,74"

TEST(text_fits_a_terminal_and_obeys_no_machine)
{
	fixture_run(&run);
	struct muster_node *node = fixture_node(&run, "\x1b[2Jevil\n|*host*<b>", 1);
	node->ranks[0].gpu = "0001:00:00.0";
	fixture_sample(&run, &node->ranks[0].samples, "rank.cpu_list", NULL, muster_string(LONG LONG LONG));
	fixture_sample(&run, &node->ranks[0].samples, "gpu.name", "gpu=0001:00:00.0", muster_string("G\x9b|\n# x"));
	fixture_sample(&run, &node->ranks[0].samples, "rank.near_nics", NULL, muster_null());
	fixture_sample(&run, &node->samples, "node.kernel", NULL, muster_string(LONG LONG LONG));
	fixture_sample(&run, &node->samples, "node.os", NULL, muster_null())->reason =
		"a reason that is too long to stand beside the name of its property";
	print(print_text);
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
		ck_assert_uint_le(strcspn(at, "\n"), 120);
		ck_assert_msg(
			at == text || at[-1] != '\n' || strcspn(at, "\n") == 0 || at[strcspn(at, "\n") - 1] != ' ',
			"a blank at the end of: %.200s", at);
		if (!strchr(at, '\n'))
			break;
	}
	ck_assert_ptr_null(strchr(text, '\x1b'));
	has("\\x1b[2Jevil\\n|*host*<b>\n");
	has("unknown [");
	has("] not supported here\n");
	has("] a reason that is too long to stand beside the name of its property\n");
	has("G\\x9b|\\n# x");
	print(muster_report_print_inventory_markdown);
	has("**\\\\x1b\\[2Jevil\\\\n\\|\\*host\\*&lt;b&gt;**");
	has("unknown: not supported here");
	ck_assert_ptr_null(strchr(text, '\x1b'));
	lacks("<b>");
}

TEST(differences_are_marked_in_every_form)
{
	run_text(&run, "n1 node.kernel 'A\nn2 node.kernel 'B\nn3 node.kernel 'A");
	print(print_text);
	has("\nNodes\n  property");
	has("  kernel                      A");
	has(" n[1,3]\n");
	has("  kernel                      B !");
	has("\n! differs between nodes\n");
	print(muster_report_print_inventory_markdown);
	has("\n| kernel | A | n\\[1,3\\] |\n| kernel | B, **differs** | n2 |\n");
}

TEST_MAIN(.teardown = done, .timeout = 200)
