/* SPDX-License-Identifier: Apache-2.0 */
/* test_read_json.c - a report is written whole, and its run comes back as it was */
#include "util/file.h"
#include "util/input.h"
#include "json/json.h"
#include "unit/report/printed_fixture.h"

#include "check_main.h"
#include "muster/run.h"
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct muster_run back; /* as read from the file that run was written to */
static char directory[64];
static char path[128];

static void make_directory(void)
{
	snprintf(directory, sizeof directory, "/tmp/muster-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/report.json", directory);
}

static void remove_directory(void)
{
	printed_done();
	muster_run_done(&back);
	if (unlink(path) < 0)
		rmdir(path);
	ck_assert_msg(rmdir(directory) == 0, "something was left in %s", directory);
}

static char *file_text(void)
{
	char *content = NULL;
	size_t length;
	struct muster_error err;
	ck_assert_msg(muster_file_read(path, 1 << 30, &content, &length, &err) == 0, "%s", err.text);
	return content;
}

static void assert_text(const char *a, const char *b, const char *what)
{
	ck_assert_msg((!a && !b) || (a && b && strcmp(a, b) == 0), "%s: '%s' is not '%s'", what, a ? a : "NULL",
		b ? b : "NULL");
}

static void assert_number(double a, double b)
{
	ck_assert(muster_value_equal(muster_number(a), muster_number(b)));
}

static void assert_samples(const struct muster_samples *a, const struct muster_samples *b)
{
	ck_assert_uint_eq(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct muster_sample *x = &a->items[i], *y = &b->items[i];
		ck_assert_ptr_eq(x->metric, y->metric);
		ck_assert_msg(muster_value_equal(x->value, y->value), "value of %s", x->metric->name);
		assert_text(x->reason, y->reason, "reason");
		ck_assert_uint_eq(x->label_count, y->label_count);
		for (size_t j = 0; j < x->label_count; j++) {
			assert_text(x->labels[j].key, y->labels[j].key, "label");
			ck_assert(muster_value_equal(x->labels[j].value, y->labels[j].value));
		}
	}
}

static void assert_outcomes(const struct muster_outcomes *a, const struct muster_outcomes *b)
{
	ck_assert_uint_eq(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct muster_outcome *x = &a->items[i], *y = &b->items[i];
		assert_text(x->probe, y->probe, "probe");
		ck_assert_int_eq(x->status, y->status);
		assert_text(x->code, y->code, "code");
		assert_text(x->detail, y->detail, "detail");
		assert_text(x->step, y->step, "step");
		assert_text(x->evidence, y->evidence, "evidence");
		ck_assert_int_eq(x->ring, y->ring);
		assert_number(x->elapsed_ms, y->elapsed_ms);
	}
}

static void assert_node(const struct muster_node *a, const struct muster_node *b)
{
	assert_text(a->name, b->name, "node");
	ck_assert_int_eq(a->simulated, b->simulated);
	assert_samples(&a->samples, &b->samples);
	ck_assert_uint_eq(a->rank_count, b->rank_count);
	for (size_t i = 0; i < a->rank_count; i++) {
		const struct muster_rank *x = &a->ranks[i], *y = &b->ranks[i];
		ck_assert_int_eq(x->rank, y->rank);
		ck_assert_int_eq(x->local_rank, y->local_rank);
		assert_text(x->gpu, y->gpu, "gpu");
		assert_text(x->gpu_uuid, y->gpu_uuid, "gpu_uuid");
		assert_text(x->missing, y->missing, "missing");
		assert_text(x->unfinished, y->unfinished, "unfinished");
		assert_samples(&x->samples, &y->samples);
		assert_outcomes(&x->outcomes, &y->outcomes);
	}
}

static void assert_run(const struct muster_run *a, const struct muster_run *b)
{
	assert_text(a->job.id, b->job.id, "id");
	assert_text(a->job.started, b->job.started, "started");
	assert_text(a->job.profile, b->job.profile, "profile");
	assert_text(a->job.version, b->job.version, "version");
	assert_text(a->job.interrupted, b->job.interrupted, "interrupted");
	ck_assert_int_eq(a->job.assembled, b->job.assembled);
	ck_assert_int_eq(a->job.beside_jobs, b->job.beside_jobs);
	ck_assert_int_eq(a->job.measures, b->job.measures);
	assert_number(a->job.elapsed_s, b->job.elapsed_s);
	ck_assert_int_eq(a->job.ranks, b->job.ranks);
	ck_assert_int_eq(a->job.simulated, b->job.simulated);
	assert_samples(&a->job.samples, &b->job.samples);
	ck_assert_uint_eq(a->node_count, b->node_count);
	for (size_t i = 0; i < a->node_count; i++)
		assert_node(&a->nodes[i], &b->nodes[i]);
	ck_assert_uint_eq(a->trial_count, b->trial_count);
	for (size_t i = 0; i < a->trial_count; i++) {
		const struct muster_trial *x = &a->trials[i], *y = &b->trials[i];
		assert_text(x->probe, y->probe, "probe");
		ck_assert_int_eq(x->kind, y->kind);
		ck_assert_uint_eq(x->node_count, y->node_count);
		for (size_t j = 0; j < x->node_count; j++)
			assert_text(x->nodes[j], y->nodes[j], "node");
		ck_assert_int_eq(x->status, y->status);
		assert_number(x->busbw_gbps, y->busbw_gbps);
		assert_text(x->why, y->why, "why");
		assert_number(x->seconds, y->seconds);
	}
}

static void write_report(const struct muster_run *of)
{
	struct muster_error err;
	fixture_report(&report, of);
	ck_assert_msg(muster_report_write_json(&report, path, &err) == 0, "%s", err.text);
}

static void write_fixture(void)
{
	fixture_run(&run);
	write_report(&run);
}

static void read_back(void)
{
	struct muster_error err;
	ck_assert_msg(muster_report_read(path, &back, &err) == 0, "%s", err.text);
}

TEST(the_run_comes_back_as_it_was)
{
	fixture_run(&run);
	run.job.beside_jobs = true;
	run.job.measures = 1 << MUSTER_MEASURE_BROADCAST | 1 << MUSTER_MEASURE_STORAGE;
	write_report(&run);
	read_back();
	assert_run(&run, &back);
	muster_run_done(&run); /* nothing of the run read back may point into the first one */

	char *first = file_text();
	write_report(&back);
	char *second = file_text();
	ck_assert_msg(strcmp(first, second) == 0, "it differs");
	free(first);
	free(second);
}

#ifdef MUSTER_HAVE_ZLIB
/* Byte for byte, and by its name as gzip. */
TEST(the_example_comes_back_as_it_was)
{
	static const char example[] = MUSTER_SOURCE_DIR "/docs/examples/report.json.gz";
	struct muster_error err;
	struct muster_report loaded;
	char *first, *second, *compressed = muster_asprintf("%s.gz", path);
	size_t length;
	ck_assert_msg(muster_report_load(example, &back, &loaded, &err) == 0, "%s", err.text);
	ck_assert_msg(muster_report_write_json(&loaded, path, &err) == 0, "%s", err.text);
	ck_assert_msg(muster_report_write_json(&loaded, compressed, &err) == 0, "%s", err.text);
	muster_report_done(&loaded);
	ck_assert_int_eq(muster_input_read_file(example, 1 << 30, &first, &length, &err), 0);
	second = file_text();
	ck_assert_msg(strcmp(first, second) == 0, "it differs");
	free(second);
	ck_assert_int_eq(muster_input_read_file(compressed, 1 << 30, &second, &length, &err), 0);
	ck_assert_msg(strcmp(first, second) == 0, "it differs");
	unlink(compressed);
	free(compressed);
	free(first);
	free(second);
}
#endif

TEST(every_sample_stands_on_its_own_line)
{
	fixture_run(&run);
	size_t samples = run.job.samples.count, lines = 0;
	for (size_t i = 0; i < run.node_count; i++) {
		samples += run.nodes[i].samples.count;
		for (size_t j = 0; j < run.nodes[i].rank_count; j++)
			samples += run.nodes[i].ranks[j].samples.count;
	}
	write_report(&run);
	text = file_text();
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line += strspn(line, " ");
		if (strncmp(line, "{\"metric\": ", 11) != 0)
			continue;
		size_t length = strlen(line) - (line[strlen(line) - 1] == ',');
		ck_assert_msg(line[length - 1] == '}' && strstr(line, "\"value\": "), "%s", line);
		lines++;
	}
	ck_assert_uint_eq(lines, samples);
}

TEST(samples_go_where_their_scope_belongs)
{
	static const char older[] =
		"{\"schema_version\": 1, \"run\": {\"job\": {\"elapsed_s\": 1, \"profile\": \"quick\", \"ranks\": 1, "
		"\"simulated\": false, \"samples\": []}, \"nodes\": ["
		"{\"name\": \"n\", \"simulated\": false, \"samples\": [], \"ranks\": [{\"rank\": 0, \"probes\": [], "
		"\"samples\": ["
		"{\"metric\": \"nccl.ring_ranks\", \"value\": 2}, {\"metric\": \"node.cpus\", \"value\": 96},"
		/* of older reports */
		"{\"metric\": \"gpu.slowdown\", \"labels\": {\"gpu\": \"a\"}, \"value\": false},"
		"{\"metric\": \"gpu.h2d_spread\", \"labels\": {\"gpu\": \"a\"}, \"value\": 0.1},"
		"{\"metric\": \"gpu.d2h_spread\", \"labels\": {\"gpu\": \"a\"}, \"value\": 0.1},"
		"{\"metric\": \"gpu.gemm_spread\", \"labels\": {\"gpu\": \"a\"}, \"value\": 0.1},"
		"{\"metric\": \"gpu.temperature_slowdown_celsius\", \"labels\": {\"gpu\": \"a\"}, \"value\": 89},"
		"{\"metric\": \"rank.cpus\", \"value\": 24}]}]}]}}";
	FILE *out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	ck_assert_uint_eq(fwrite(older, 1, strlen(older), out), strlen(older));
	ck_assert_int_eq(fclose(out), 0);
	read_back();
	ck_assert_uint_eq(back.job.samples.count, 1);
	ck_assert_str_eq(back.job.samples.items[0].metric->name, "nccl.ring_ranks");
	ck_assert_uint_eq(back.nodes[0].samples.count, 1);
	ck_assert_str_eq(back.nodes[0].samples.items[0].metric->name, "node.cpus");
	ck_assert_uint_eq(back.nodes[0].ranks[0].samples.count, 1);
	ck_assert_str_eq(back.nodes[0].ranks[0].samples.items[0].metric->name, "rank.cpus");
}

TEST(equal_label_sets_are_stored_once)
{
	write_fixture();
	read_back();
	const struct muster_label *found[2] = { NULL, NULL };
	for (size_t i = 0; i < 2; i++) {
		const struct muster_samples *samples = &back.nodes[i].ranks[3].samples;
		for (size_t j = 0; j < samples->count; j++)
			if (strcmp(samples->items[j].metric->name, i ? "gpu.ecc" : "gpu.mig") == 0)
				found[i] = samples->items[j].labels;
	}
	ck_assert_ptr_nonnull(found[0]);
	ck_assert_ptr_eq(found[0], found[1]);
}

/* Two ranks with the same 300 label sets, more than the first table of them has room for. */
TEST(many_label_sets_are_stored_once_each)
{
	enum { SETS = 300 };
	muster_run_init(&run);
	run.job.started = "2026-11-21T10:00:00Z";
	run.job.profile = "quick";
	run.job.version = "test";
	run.job.ranks = 2;
	struct muster_node *node = muster_run_add_node(&run, "n");
	struct muster_label labels[SETS];
	for (int r = 0; r < 2; r++) {
		struct muster_rank *rank = muster_node_add_rank(node, r);
		for (int i = 0; i < SETS; i++) {
			labels[i] = (struct muster_label){ .key = "bytes", .value = muster_number(i + 1) };
			muster_samples_add(&rank->samples,
				(struct muster_sample){ .metric = muster_metric_find("rank.allreduce_us"),
					.labels = &labels[i],
					.label_count = 1,
					.value = muster_number(i) });
		}
	}
	write_report(&run);
	read_back();
	const struct muster_rank *ranks = back.nodes[0].ranks;
	ck_assert_uint_eq(ranks[1].samples.count, SETS);
	for (int i = 0; i < SETS; i++) {
		assert_number(ranks[1].samples.items[i].labels->value.number, i + 1);
		ck_assert_ptr_eq(ranks[0].samples.items[i].labels, ranks[1].samples.items[i].labels);
	}
}

static void print_json(const struct muster_report *what, FILE *out)
{
	ck_assert_int_eq(muster_report_print_json(what, out, NULL), 0);
}

static const struct test_fixture bare = { .teardown = printed_done };

TEST_WITH(every_status_has_its_name_in_the_report, .end = MUSTER_STATUS_COUNT, .fixture = &bare)
{
	enum muster_status status = (enum muster_status)_i;
	struct muster_json *json = NULL;
	with_everything();
	struct muster_finding finding = { .check = "a.b", .status = status, .rank = -1 };
	only_findings(&finding, 1);
	print_with(print_json);
	ck_assert_msg(muster_json_parse(text, strlen(text), &json, NULL) == 0, "%s", text);
	const struct muster_json *first = muster_json_first(muster_json_member(json, "findings"));
	ck_assert_str_eq(muster_json_string(muster_json_member(first, "status")), muster_status_name(status));
	const struct muster_json *count = muster_json_member(muster_json_member(json, "summary"), "count");
	assert_number(muster_json_number(muster_json_member(count, muster_status_name(status))),
		(double)report.count[status]);
	muster_json_free(json);
}

/* Each once; neither nodes that only warn, nor those whose name nobody knows. */
TEST_WITH(failed_nodes_are_those_that_failed, .end = 1, .fixture = &bare)
{
	struct muster_finding findings[] = {
		{ .status = MUSTER_FAIL },
		{ .status = MUSTER_FAIL, .node = "?" },
		{ .status = MUSTER_FAIL, .node = "n2" }, /* found by trials: stands before those of all nodes */
		{ .status = MUSTER_FAIL, .node = "n1" },
		{ .status = MUSTER_FAIL, .node = "n2" },
		{ .status = MUSTER_FAIL, .node = "n3" },
		{ .status = MUSTER_INCONCLUSIVE, .node = "n4" },
		{ .status = MUSTER_WARN, .node = "n6" },
		{ .status = MUSTER_SKIP, .node = "n5" },
	};
	with_everything();
	for (size_t i = 0; i < sizeof findings / sizeof *findings; i++) {
		findings[i].check = "a.b";
		findings[i].rank = -1;
	}
	only_findings(findings, sizeof findings / sizeof *findings);
	print_with(print_json);
	has("\"failed_nodes\": [\"n2\", \"n1\", \"n3\"]");
}

TEST_WITH(findings_and_checks_keep_all_their_parts, .end = 1, .fixture = &bare)
{
	static const char *const parts[] = {
		"\"verdict\": \"fail\"",
		"\"simulated\": true",
		"\"missing_ranks\": [14, 15]",
		"\"interrupted\": \"SIGTERM came to rank 0 after 61.2 s\"",
		("\"unfinished\": \"the rank did not finish; its last message, 3 s after its start: "
		 "ncclAllReduce\""),
		"\"failed_nodes\": [\"sim-2\", \"sim-1\"]",
		"\"count\": {\"pass\": 43, \"warn\": 2, \"fail\": 2, \"skip\": 1, \"inconclusive\": 1, \"blocked\": 2}",
		"\"where\": {\"node\": \"sim-1\", \"rank\": 4, \"gpu\": \"000b:00:00.0\", \"gpu_index\": 4}",
		"\"where\": {\"node\": \"sim-1\", \"port\": \"mlx5_ib3/1\"}",
		"\"where\": {\"labels\": {\"bytes\": 8589934592, \"nodes\": 2}}",
		"\"value\": 11.2,",
		"\"value\": \"INIT\"",
		"\"value\": null",
		"\"value\": \"NVIDIA A100-SXM4-40GB\", \"unit\": \"\"",
		"\"advice\": \"reseat it: see \\\"nvidia-smi -q\\\"\"",
		"\"certainty\": \"specified\"",
		"\"source\": \"vendor's guide\",\n      \"certainty\": \"specified\"",
		"\"evidence\": \"last words: free(): invalid pointer\",\n      \"value\": null",
		"\"step\": \"cuMemcpyHtoDAsync_v2\", \"evidence\": \"last words: free(): invalid pointer\"",
		"\"blocked\": [\"copy.h2d\", \"copy.d2h\"]",
		"\"blocked_by\": \"rank.missing on sim-2 and 1 more finding\"",
		"\"lowest\": 11.2, \"highest\": 26.1",
		"\"domains\": 2",
		"\"certainty\": \"specified\", \"proof\": \"soft\"},",
		"\"proof\": \"hard\",\n      \"action_code\": \"reset-gpu\"",
		"\"actions\": [\n      {\"node\": \"sim-1\", \"action_code\": \"reset-gpu\"}",
		"\"expected\": \"no threshold\", \"proof\": \"soft\", \"calibrated\": false}",
		"\"unit\": \"W\",\n      \"proof\": \"soft\",\n      \"calibrated\": false",
		"\"skipped\": \"only for runs of 1 node (this run has 2)\"",
		"\"origin\": \"Standard_ND96asr_v4.json < family.json\"",
		"\"missing\": \"no message within 60 s\"",
		"\"status\": \"hung\", \"detail\": \"no answer within 60 s\", \"step\": \"ncclCommInitRankConfig\"",
		"A\\\"100\\\\ \\u001b[31mred\\u0007 \\u009b \xc2\xb5 \\u000a\\u0009\\u007f end",
	};
	with_everything();
	print_with(print_json);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		has(parts[i]);
}

TEST(bytes_that_are_not_utf8_become_replacement_characters)
{
	synthetic_run(&run, 1);
	run.nodes[0].name = "bad\xff\xc0\x80name";
	write_report(&run);
	read_back();
	ck_assert_str_eq(back.nodes[0].name, "bad\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdname");
}

TEST(a_number_that_is_none_is_null_with_a_reason)
{
	synthetic_run(&run, 1);
	struct muster_node *node = &run.nodes[0];
	const size_t before = node->samples.count;
	const double odd[] = { NAN, INFINITY, -INFINITY };
	for (size_t i = 0; i < 3; i++)
		muster_samples_add(&node->samples, (struct muster_sample){ .metric = muster_metric_find("node.cpus"),
							   .value = muster_number(odd[i]) });
	write_report(&run);
	read_back();
	for (size_t i = 0; i < 3; i++) {
		const struct muster_sample *sample = &back.nodes[0].samples.items[before + i];
		ck_assert_int_eq(sample->value.type, MUSTER_NULL);
		ck_assert_str_eq(sample->reason, "the measured value is not a finite number");
	}
}

TEST_WITH(only_a_clear_verdict_exits_zero_or_one, .end = MUSTER_STATUS_COUNT, .fixture = &bare)
{
	static const enum muster_exit wanted[] = {
		[MUSTER_PASS] = MUSTER_EXIT_PASS,
		[MUSTER_WARN] = MUSTER_EXIT_INCONCLUSIVE,
		[MUSTER_FAIL] = MUSTER_EXIT_FAIL,
		[MUSTER_SKIP] = MUSTER_EXIT_INCONCLUSIVE,
		[MUSTER_INCONCLUSIVE] = MUSTER_EXIT_INCONCLUSIVE,
		[MUSTER_BLOCKED] = MUSTER_EXIT_INCONCLUSIVE,
	};
	report.verdict = (enum muster_status)_i;
	ck_assert_int_eq(muster_report_exit(&report), wanted[_i]);
}

/* Try to write a report in a child, so that it may give up root. Its status: 0 written, 1 refused as it should be. */
static int write_in_child(int (*prepare)(void), const char *where, const char *wanted)
{
	pid_t child = fork();
	if (child == 0) {
		struct muster_error err = { 0 };
		if (prepare && prepare() < 0)
			_exit(77);
		with_ranks(64);
		int rc = muster_report_write_json(&report, where, &err);
		if (rc < 0 && (err.code != MUSTER_EIO || !strstr(err.text, wanted)))
			fprintf(stderr, "unexpected: %s: %s\n", muster_code_name(err.code), err.text);
		_exit(rc == 0 ? 0 : err.code == MUSTER_EIO && strstr(err.text, wanted) ? 1 : 2);
	}
	int status = 0;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int become_nobody(void)
{
	return geteuid() != 0 ? 0 : setresgid(65534, 65534, 65534) < 0 ? -1 : setresuid(65534, 65534, 65534);
}

TEST(a_read_only_directory_leaves_the_old_report_whole)
{
	write_fixture();
	char *before = file_text();
	ck_assert_int_eq(chmod(directory, 0555), 0);
	int rc = write_in_child(become_nobody, path, "Permission denied");
	ck_assert_int_eq(chmod(directory, 0755), 0);
	ck_assert_int_eq(rc, 1);
	char *after = file_text();
	ck_assert_str_eq(before, after);
	free(before);
	free(after);
}

TEST(a_directory_in_its_place_is_an_error_and_stays)
{
	struct stat status;
	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(write_in_child(NULL, path, "is a directory"), 1);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert(S_ISDIR(status.st_mode));
}

TEST(a_missing_directory_is_an_error)
{
	char nowhere[160];
	snprintf(nowhere, sizeof nowhere, "%s/nowhere/report.json", directory);
	ck_assert_int_eq(write_in_child(NULL, nowhere, "/nowhere does not exist"), 1);
}

/* A file system of 64 KiB, in a mount namespace of our own, with an old report on it. */
static int mount_small(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("none", directory, "tmpfs", 0, "size=64k") < 0)
		return -1;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	return fd >= 0 && write(fd, "old", 3) == 3 && close(fd) == 0 ? 0 : -1;
}

TEST(a_full_disk_leaves_the_old_report_whole)
{
	pid_t child = fork();
	if (child == 0) {
		if (mount_small() < 0)
			_exit(77);
		int rc = write_in_child(NULL, path, "No space left on device");
		text = file_text();
		_exit(rc == 1 && strcmp(text, "old") == 0 && unlink(path) == 0 && rmdir(directory) < 0 &&
					umount(directory) == 0
				? 0
				: 1);
	}
	int status = 0;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		fputs("a_full_disk_leaves_the_old_report_whole: not run, mounting needs more rights\n", stderr);
	else
		ck_assert_int_eq(WEXITSTATUS(status), 0);
}

TEST(a_file_that_cannot_be_read_is_an_error)
{
	struct muster_error err;
	ck_assert_int_eq(muster_report_read(path, &run, &err), -1);
	ck_assert_msg(strstr(err.text, "report.json: No such file") != NULL, "%s", err.text);
}

TEST_MAIN(.setup = make_directory, .teardown = remove_directory)
