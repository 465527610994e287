/* SPDX-License-Identifier: Apache-2.0 */
/* test_recognise.c - which machine type a run was measured on, and when nobody can say */
#include "check_main.h"
#include "eval_fixture.h"

#include "eval/select.h"
#include "muster/run.h"

static struct muster_run run;
static struct muster_report report;
static struct muster_selection choice;
static struct muster_candidates all;
static struct muster_error err;

/* The known machine types; "alike_1" and "alike_2" cannot be told apart by their GPUs. */
static const struct {
	const char *file, *identify;
} files[] = {
	{ "big", "{\"vm_size\":[\"Standard_Big\",\"Standard_Big_v2\"],\"gpu_name\":[\"GPU A\",\"NVIDIA GPU "
		 "A\"],\"gpu_count\":8}" },
	{ "small", "{\"vm_size\":[\"Standard_Small\"],\"gpu_name\":[\"GPU A\"],\"gpu_count\":1}" },
	{ "any", "{\"gpu_name\":[\"GPU C\"]}" },
	{ "alike_1", "{\"vm_size\":[\"Standard_Alike_1\"],\"gpu_name\":[\"GPU B\"],\"gpu_count\":4}" },
	{ "alike_2", "{\"vm_size\":[\"Standard_Alike_2\"],\"gpu_name\":[\"GPU B\"],\"gpu_count\":4}" },
	{ "family", "{\"gpu_count\":8}" },
};

static void teardown(void)
{
	muster_report_done(&report);
	muster_run_done(&run);
	muster_selection_done(&choice);
	muster_candidates_done(&all);
	fixture_close();
}

static void setup(void)
{
	fixture_open();
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char name[64], text[1024];

		snprintf(name, sizeof name, "%s.json", files[i].file);
		snprintf(text, sizeof text,
			"{\"schema_version\":1,\"name\":\"%s\",\"identify\":%s,\"checks\":{\"%s.check\":{\"metric\":"
			"\"node.cpus\",\"min\":1,\"source\":\"s\"},\"cpus\":{\"metric\":\"node.cpus\",\"max\":9,"
			"\"source\":\"s\"}}}",
			files[i].file, files[i].identify, files[i].file);
		fixture_write(name, text);
	}
	/* neither claims to be a machine: a parent that does not stand on its own, and a site's variant */
	fixture_write("common.json",
		"{\"schema_version\":1,\"name\":\"common\",\"checks\":{\"same.vm_size\":{\"metric\":\"node.vm_size\","
		"\"same_across\":\"nodes\",\"optional\":true,\"source\":\"s\"},\"same.gpu_count\":{\"metric\":"
		"\"node.gpu_count\",\"same_across\":\"nodes\",\"optional\":true,\"source\":\"s\"},\"same.gpu_name\":{"
		"\"metric\":\"gpu.name\",\"same_across\":\"nodes\",\"optional\":true,\"source\":\"s\"}}}");
	fixture_write("variant.json", "{\"schema_version\":1,\"name\":\"variant\",\"extends\":\"big.json\"}");
	fixture_write("notes.txt", "no JSON at all");
}

/* A node: what the metadata service calls it, how many GPUs NVML shows, and the name of each rank's GPU (the last one
 * stands for all that follow). NULL and -1: a null. */
struct node {
	const char *vm_size;
	int gpus;
	const char *names[2];
};

static void add_nodes(const struct node *nodes, size_t count)
{
	muster_run_done(&run);
	fixture_run(&run);
	for (size_t i = 0; i < count; i++) {
		char name[16];

		snprintf(name, sizeof name, "n%zu", i + 1);
		struct muster_node *node = fixture_node(&run, muster_arena_string(run.arena, name), 2);

		fixture_sample(&run, &node->samples, "node.vm_size", NULL,
			nodes[i].vm_size ? muster_string(nodes[i].vm_size) : muster_null());
		fixture_sample(&run, &node->samples, "node.gpu_count", NULL,
			nodes[i].gpus >= 0 ? muster_number(nodes[i].gpus) : muster_null());
		for (int r = 0; r < 2; r++) {
			const char *gpu = nodes[i].names[nodes[i].names[1] ? r : 0];

			fixture_sample(&run, &node->ranks[r].samples, "gpu.name", "gpu=0001:00:00.0",
				gpu ? muster_string(gpu) : muster_null());
		}
	}
}

static void load_candidates(const char *folder, const char *overlay)
{
	muster_candidates_done(&all);
	ck_assert_msg(muster_candidates_load(folder, overlay, &all, &err) == 0, "%s", err.text);
}

static void candidates_are_refused(const char *overlay, const char *words)
{
	muster_candidates_done(&all);
	ck_assert_int_eq(muster_candidates_load(fixture_dir, overlay, &all, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
}

/* What comes of these nodes with the expectations of this name. */
static void judge(const char *name, const char *overlay, const struct node *nodes, size_t count)
{
	muster_report_done(&report);
	muster_selection_done(&choice);
	ck_assert_msg(muster_selection_load(fixture_dir, name, overlay, &choice, &err) == 0, "%s", err.text);
	add_nodes(nodes, count);
	for (size_t i = 0; i < run.node_count; i++)
		fixture_sample(&run, &run.nodes[i].samples, "node.cpus", NULL, muster_number(8));
	muster_selection_evaluate(&choice, &run, false, &report);
}

static const struct {
	struct node nodes[3];
	size_t count;
	const char *found; /* the machine type; NULL: nobody can say */
	const char *words; /* how it was found, or part of why not */
} table[] = {
	/* the metadata service decides, whatever the GPUs are */
	{ { { "Standard_Big", 8, { "GPU A" } } }, 1, "big", "vmSize Standard_Big of the metadata service" },
	{ { { "STANDARD_big_V2", 8, { "GPU A" } } }, 1, "big", "vmSize STANDARD_big_V2 of the metadata service" },
	{ { { "Standard_Big", 7, { "GPU X" } } }, 1, "big", "vmSize Standard_Big of the metadata service" },
	{ { { "Standard_Alike_2", 4, { "GPU B" } } }, 1, "alike_2", "vmSize Standard_Alike_2 of the metadata service" },
	{ { { NULL, 1, { "GPU A" } }, { "Standard_Big", 8, { "GPU A" } } }, 2, "big",
		"vmSize Standard_Big of the metadata service" },
	{ { { "Standard_Big", 8, { "GPU A" } }, { "Standard_Big_v2", 8, { "GPU A" } } }, 2, "big",
		"vmSize Standard_Big of the metadata service" },
	/* a size that no file has is not overruled by the GPUs */
	{ { { "Standard_Other", 8, { "GPU A" } } }, 1, NULL,
		"no expectation file fits this machine (vmSize Standard_Other on n1)" },
	{ { { "Standard_Other", 8, { "GPU A" } }, { "Standard_Big", 8, { "GPU A" } } }, 2, NULL,
		"have different machine types: vmSize Standard_Other on n1 (no file fits); vmSize Standard_Big on n2 "
		"(detected as big)" },
	{ { { "Standard_Big", 8, { "GPU A" } }, { "Standard_Small", 1, { "GPU A" } }, { "Standard_Big", 8, { NULL } } },
		3, NULL,
		"have different machine types: vmSize Standard_Big on n1, n3 (detected as big); vmSize Standard_Small "
		"on n2 "
		"(detected as small)" },
	{ { { "Standard_X", 8, { NULL } }, { "Standard_Y", 8, { NULL } } }, 2, NULL,
		"have different machine types: vmSize Standard_X on n1 (no file fits); vmSize Standard_Y on n2 (no "
		"file "
		"fits)" },
	/* without a service: names and number of GPUs */
	{ { { NULL, 8, { "GPU A" } } }, 1, "big", "8 x GPU A on each node (no metadata service)" },
	{ { { NULL, 8, { "GPU A", "NVIDIA GPU A" } } }, 1, "big", "8 x GPU A on each node (no metadata service)" },
	{ { { NULL, 1, { "gpu a" } } }, 1, "small", "1 x gpu a on each node (no metadata service)" },
	{ { { NULL, 3, { "GPU C" } } }, 1, "any", "3 x GPU C on each node (no metadata service)" },
	{ { { NULL, 8, { NULL } } }, 1, NULL, "neither the metadata service nor the GPUs identify it" },
	{ { { NULL, -1, { "GPU A" } } }, 1, NULL, "neither the metadata service nor the GPUs identify it" },
	{ { { NULL, 7, { "GPU A" } } }, 1, NULL, "no expectation file fits this machine (7 x GPU A on n1)" },
	{ { { NULL, 8, { "GPU A", "GPU X" } } }, 1, NULL, "no expectation file fits this machine (8 x GPU A on n1)" },
	{ { { NULL, 4, { "GPU B" } } }, 1, NULL,
		"more than one expectation file fits this machine (4 x GPU B): alike_1, alike_2" },
	{ { { NULL, 8, { "GPU A" } }, { NULL, 1, { "GPU A" } } }, 2, NULL,
		"have different machine types: 8 x GPU A on n1 (detected as big); 1 x GPU A on n2 (detected as "
		"small)" },
	/* a node that has lost a GPU, or its driver, is a broken one of what the others are */
	{ { { NULL, 7, { "GPU A" } }, { NULL, 8, { "GPU A" } } }, 2, "big",
		"8 x GPU A on each node (no metadata service)" },
	{ { { NULL, -1, { NULL } }, { NULL, 8, { "GPU A" } } }, 2, "big",
		"8 x GPU A on each node (no metadata service)" },
};

TEST_EACH(a_run_is_recognised_or_the_reason_given, table)
{
	const char *how = NULL;
	size_t index = 99;
	load_candidates(fixture_dir, NULL);
	add_nodes(table[_i].nodes, table[_i].count);
	int result = muster_recognise(&run, &all, &index, &how, &err);
	if (table[_i].found) {
		ck_assert_msg(result == 0, "%s", err.text);
		ck_assert_str_eq(all.items[index].expect.name, table[_i].found);
		ck_assert_str_eq(how, table[_i].words);
	} else {
		ck_assert_int_eq(result, -1);
		ck_assert_int_eq(err.code, MUSTER_ENOTSUPPORTED);
		ck_assert_msg(strstr(err.text, table[_i].words) != NULL, "%s", err.text);
		ck_assert_uint_eq(index, 99);
		ck_assert_ptr_null(how);
	}
}

TEST(a_run_without_any_node_is_not_recognised)
{
	const char *how;
	size_t index;
	fixture_run(&run);
	ck_assert_int_eq(muster_recognise(&run, &all, &index, &how, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "neither the metadata service nor the GPUs"));
}

TEST(only_files_that_identify_a_machine_are_candidates)
{
	static const char *const names[] = { "alike_1", "alike_2", "any", "big", "small" };
	load_candidates(fixture_dir, NULL);
	ck_assert_uint_eq(all.count, sizeof names / sizeof *names);
	for (size_t i = 0; i < all.count; i++)
		ck_assert_str_eq(all.items[i].expect.name, names[i]);
}

TEST(a_bad_file_is_an_error_that_names_it)
{
	fixture_write("broken.json", "{\"schema_version\":1,\n\"name\":}");
	candidates_are_refused(NULL, "broken.json");
	fixture_close();
	candidates_are_refused(NULL, "");
}

TEST(an_overlay_must_fit_one_machine_and_is_laid_over_that)
{
	/* removes what only "small" has */
	load_candidates(fixture_dir, fixture_write("overlay", "{\"checks\":{\"small.check\":null}}"));
	for (size_t i = 0; i < all.count; i++) {
		bool small = strcmp(all.items[i].expect.name, "small") == 0;

		ck_assert_uint_eq(all.items[i].expect.check_count, small ? 1 : 2);
		ck_assert_int_eq(all.items[i].misfit.code, small ? MUSTER_OK : MUSTER_EUSAGE);
		ck_assert(small || strstr(all.items[i].misfit.text, "small.check"));
	}
	const char *overlay = fixture_write("overlay", "{\"checks\":{\"nobody.check\":null}}");
	candidates_are_refused(overlay, "nobody.check");
	/* the same with one machine, and with none that it could fit */
	fixture_close();
	fixture_open();
	fixture_write("one.json", "{\"schema_version\":1,\"name\":\"one\",\"identify\":{\"gpu_name\":[\"G\"]},"
				  "\"checks\":{\"a\":{\"metric\":\"node.cpus\",\"min\":1,\"source\":\"s\"}}}");
	overlay = fixture_write("overlay", "{\"checks\":{\"nobody.check\":null}}");
	candidates_are_refused(overlay, "nobody.check");
	ck_assert_int_eq(unlink(fixture_path("one.json")), 0);
	load_candidates(fixture_dir, overlay);
	ck_assert_uint_eq(all.count, 0);
}

TEST(every_shipped_machine_is_recognised_by_each_of_its_sizes)
{
	load_candidates(MUSTER_SOURCE_DIR "/configs", NULL);
	ck_assert_uint_ge(all.count, 1);
	for (size_t i = 0; i < all.count; i++)
		for (size_t s = 0; s < all.items[i].expect.vm_size_count; s++) {
			const struct node node = { all.items[i].expect.vm_sizes[s], -1, { NULL } };
			const char *how;
			size_t index;

			add_nodes(&node, 1);
			ck_assert_msg(muster_recognise(&run, &all, &index, &how, &err) == 0, "%s", err.text);
			ck_assert_uint_eq(index, i);
		}
}

/* What comes out when nodes like these are judged: the machine type, the verdict and the findings. */
static const struct {
	const char *name;
	struct node nodes[3];
	size_t count;
	const char *sku;
	enum muster_status verdict;
	const char *findings;
} judged[] = {
	{ "auto", { { "Standard_Big", 8, { "GPU A" } }, { "Standard_Big", 8, { "GPU A" } } }, 2, "big", MUSTER_PASS,
		"" },
	{ "auto", { { "Standard_Other", 8, { "GPU A" } } }, 1, "unknown", MUSTER_INCONCLUSIVE,
		"inconclusive sku.unknown: one machine type with an expectation file | no expectation file fits "
		"this "
		"machine (vmSize Standard_Other on n1)\n" },
	/* the odd one out is named, by the majority's word */
	{ "auto",
		{ { "Standard_Big", 8, { "GPU A" } }, { "Standard_Small", 8, { "GPU A" } },
			{ "Standard_Big", 8, { "GPU A" } } },
		3, "unknown", MUSTER_FAIL,
		"fail same.vm_size n2: the same on all nodes: Standard_Big (2 of 3) | Standard_Small\n"
		"inconclusive sku.unknown: one machine type with an expectation file | the nodes have different "
		"machine types: vmSize Standard_Big on n1, n3 (detected as big); vmSize Standard_Small on n2 (detected "
		"as "
		"small)\n" },
	/* without a service: by name and by number */
	{ "auto", { { NULL, 8, { "GPU A" } }, { NULL, 3, { "GPU C" } }, { NULL, 8, { "GPU A" } } }, 3, "unknown",
		MUSTER_FAIL,
		"fail same.gpu_count n2: the same on all nodes: 8 (2 of 3) | 3\n"
		"fail same.gpu_name n2: the same on all nodes: GPU A (2 of 3) | GPU C\n"
		"skip same.vm_size: the same on all nodes | no value: not supported here (3 nodes)\n" },
	{ "auto", { { NULL, 8, { "GPU A" } }, { NULL, 1, { "GPU A" } } }, 2, "unknown", MUSTER_FAIL,
		"fail same.gpu_count: the same on all nodes | 1 on n2; 8 on n1\n" },
};

TEST_EACH(a_machine_that_nobody_knows_never_passes_and_nodes_that_differ_fail, judged)
{
	const struct muster_finding *unknown = NULL;
	judge(judged[_i].name, NULL, judged[_i].nodes, judged[_i].count);
	ck_assert_str_eq(report.sku, judged[_i].sku);
	ck_assert_int_eq(report.verdict, judged[_i].verdict);
	for (size_t i = 0; i < report.finding_count; i++)
		if (report.findings[i].gpu_index < 0 && strcmp(report.findings[i].check, "sku.unknown") == 0)
			unknown = &report.findings[i];
	/* all lines but that of sku.unknown must be there as they are */
	const char *found = fixture_findings(&report);
	for (const char *line = judged[_i].findings; *line;) {
		size_t length = strcspn(line, "\n");
		char one[512];

		snprintf(one, sizeof one, "%.*s", (int)length, line);
		ck_assert_msg(strstr(found, one) != NULL, "no line \"%s\" in:\n%s", one, found);
		line += length + (line[length] == '\n');
	}
	ck_assert_int_eq(unknown != NULL, judged[_i].verdict != MUSTER_PASS);
	if (unknown) {
		ck_assert_int_eq(unknown->status, MUSTER_INCONCLUSIVE);
		ck_assert_uint_eq(report.count[MUSTER_INCONCLUSIVE], 1);
		ck_assert_ptr_nonnull(strstr(unknown->advice, "--sku NAME (muster skus"));
		ck_assert_ptr_nonnull(strstr(unknown->advice, "--sku FILE"));
		ck_assert_ptr_nonnull(strstr(unknown->advice, "--sku generic-nvidia"));
	}
	for (size_t i = 1; i < report.finding_count; i++) /* worst first */
		ck_assert(report.findings[i].status != MUSTER_FAIL || report.findings[i - 1].status == MUSTER_FAIL);
}

TEST(an_overlay_for_another_machine_does_not_keep_an_unknown_one_from_being_judged)
{
	const struct node node = { "Standard_Other", 8, { "GPU A" } };
	const struct node big = { "Standard_Big", 8, { "GPU A" } };
	const char *overlay = fixture_write("overlay", "{\"checks\":{\"small.check\":null}}");
	judge("auto", overlay, &node, 1);
	ck_assert_uint_eq(report.tally_count, 3);
	ck_assert_int_eq(report.verdict, MUSTER_INCONCLUSIVE);
	/* recognised, but not with this overlay */
	judge("auto", overlay, &big, 1);
	ck_assert_int_eq(report.verdict, MUSTER_INCONCLUSIVE);
	ck_assert_ptr_nonnull(strstr(fixture_findings(&report), "detected as big by vmSize Standard_Big"));
	ck_assert_ptr_nonnull(strstr(fixture_findings(&report), "small.check"));
}

TEST(without_a_common_file_an_unknown_machine_is_still_inconclusive)
{
	const struct node node = { "Standard_Other", 8, { "GPU A" } };
	ck_assert_int_eq(unlink(fixture_path("common.json")), 0);
	judge("auto", NULL, &node, 1);
	ck_assert_int_eq(report.verdict, MUSTER_INCONCLUSIVE);
	ck_assert_uint_eq(report.finding_count, 1);
	fixture_write("common.json", "{");
	muster_selection_done(&choice);
	ck_assert_int_eq(muster_selection_load(fixture_dir, "nobody", NULL, &choice, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ENOTSUPPORTED);
	ck_assert_int_eq(muster_selection_load(fixture_dir, "auto", NULL, &choice, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "common.json"));
}

/* node.vm_size in a report of a muster that had other probes only, and in one of before the metadata probe had it. */
TEST_LOOP(a_report_older_than_a_probe_or_a_metric_skips_its_optional_checks, 0, 2)
{
	static const char checks[] = "'size':{'metric':'node.vm_size','equals':'x','optional':true,'source':'s'},"
				     "'needed':{'metric':'node.location','equals':'x','source':'s'}";
	static const char *const probes[] = { "system", "metadata" };
	static const char *const found[] = {
		"inconclusive needed n1: x | not measured\n"
		"skip size n1: x | not measured: this run did not have the probe\n",
		"inconclusive needed n1: x | not measured\n"
		"skip size n1: x | not measured: this run did not have the metric\n",
	};
	fixture_run(&run);
	struct muster_node *node = fixture_node(&run, "n1", 1);
	fixture_outcome(&node->ranks[0], probes[_i], MUSTER_OUTCOME_OK, NULL, NULL, NULL);
	fixture_judge(&run, checks, false, &report);
	ck_assert_str_eq(fixture_findings(&report), found[_i]);
}

TEST(what_one_node_has_measured_must_not_be_left_out_on_another)
{
	fixture_run(&run);
	for (int i = 0; i < 2; i++) {
		struct muster_node *node = fixture_node(&run, i ? "n2" : "n1", 1);

		fixture_outcome(&node->ranks[0], "metadata", MUSTER_OUTCOME_OK, NULL, NULL, NULL);
		if (i == 0)
			fixture_sample(&run, &node->samples, "node.vm_size", NULL, muster_string("x"));
	}
	fixture_judge(
		&run, "'size':{'metric':'node.vm_size','equals':'x','optional':true,'source':'s'}", false, &report);
	ck_assert_str_eq(fixture_findings(&report), "inconclusive size n2: x | not measured\n");
}

TEST_MAIN(.setup = setup, .teardown = teardown)
