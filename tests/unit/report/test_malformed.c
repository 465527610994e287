/* SPDX-License-Identifier: Apache-2.0 */
/* test_malformed.c - what is not a report is refused, and the message says where and why
 *
 * The texts below are written with ' in place of ".
 */
#include "muster/report.h"
#include "muster/probe.h"

#include "check_main.h"
#include "muster/run.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOB "{'elapsed_s': 1, 'profile': 'quick', 'ranks': 2, 'simulated': false, 'samples': []}"
#define REPORT(job, nodes) "{'schema_version': 1, 'run': {'job': " job ", 'nodes': [" nodes "]}}"
#define NODE(samples, ranks) "{'name': 'n', 'simulated': false, 'samples': [" samples "], 'ranks': [" ranks "]}"
#define RANK(rank, samples) "{'rank': " rank ", 'probes': [], 'samples': [" samples "]}"
#define WITH_TRIAL(trial)                                                                                              \
	"{'schema_version': 1, 'run': {'job': " JOB ", 'nodes': [" NODE("", TWO_RANKS) "], 'trials': [" trial "]}}"
#define TWO_RANKS RANK("0", "") ", " RANK("1", "")
#define IN_RANK(sample) REPORT(JOB, NODE("", RANK("0", sample) ", " RANK("1", "")))
#define IN_NODE(sample) REPORT(JOB, NODE(sample, TWO_RANKS))
#define WITH_PROBE(probe) REPORT(JOB, NODE("", "{'rank': 0, 'probes': [" probe "], 'samples': []}, " RANK("1", "")))

#define FIRST_NODE "$.run.nodes[0]"
#define FIRST_RANK FIRST_NODE ".ranks[0]"
#define FIRST_SAMPLE FIRST_RANK ".samples[0]"
#define FIRST_PROBE FIRST_RANK ".probes[0]"

/* Its first bytes have no key "run" or "verdict" beside "schema_version". */
#define NO_REPORT "not a Muster report: "

static const struct {
	const char *text, *wanted;
} cases[] = {
	/* not JSON, or not whole */
	{ "", NO_REPORT "line 1, column 1: an object is needed" },
	{ "[1]", NO_REPORT "line 1, column 1: an object is needed" },
	{ "{'schema_version': 1, 'verdict': 'pass'", "line 1, column 40: a ',' or '}' is needed" },
	{ "{'schema_version': 1,\n 'summary': {'job': 1", NO_REPORT "$.summary: line 2, column 13: never closed" },
	{ "{'schema_version': , 'run': {}}", "$.schema_version: line 1, column 20: a value is needed" },
	{ "{'schema_version'", NO_REPORT "line 1, column 18: a ':' is needed" },
	{ "{'schema_version' 1}", NO_REPORT "line 1, column 19: a ':' is needed" },
	{ "{'schema_version': 1, run: 1}", NO_REPORT "line 1, column 23: a key in quotes is needed" },
	{ "{'schema_version': 1,}", NO_REPORT "line 1, column 22: a key in quotes is needed" },
	{ "{'schema_version': 1, ", NO_REPORT "line 1, column 23: the text ends too early" },
	{ "{'schema_version': 'a", NO_REPORT "$.schema_version: line 1, column 20: string without an end" },
	{ "{'schema_version': ['a]", NO_REPORT "$.schema_version: line 1, column 21: string without an end" },
	{ REPORT(JOB, NODE("", TWO_RANKS)) "\n {}", "line 2, column 2: more text behind the end" },
	{ REPORT(JOB, "\n{'name': 'n' 2}"), FIRST_NODE ": line 2, column 14: a ',' or '}' is needed" },
	{ REPORT(JOB, "{'name\\x': 1}"),
		FIRST_NODE ", lines counted from its start: line 1, column 6: not JSON from here: '\\x\"'" },
	{ "{'schema_version': 1, 'run': {'nodes': [\n {'name' 1}], 'job': " JOB "}}",
		FIRST_NODE ": line 2, column 10: a ':' is needed" },
	{ REPORT(JOB, "{}"), FIRST_NODE ": the key \"name\" is missing" },
	{ REPORT(JOB, NODE("", TWO_RANKS) "\n 1"), "$.run.nodes: line 2, column 2: a ',' or ']' is needed" },
	{ "{'schema_version': 1, 'run': {'job': " JOB ", 'nodes': {}}}",
		"$.run.nodes: an array is needed, found an object" },
	{ REPORT(JOB, NODE("", TWO_RANKS) ", " NODE("", "{'rank': 0, 'rank': 1}")),
		"$.run.nodes[1].ranks[0]: the key \"rank\" occurs twice in one object" },
	/* trials */
	{ WITH_TRIAL("7"), "$.run.trials[0]: an object is needed, found 7" },
	{ WITH_TRIAL("{'probe': 'p', 'kind': 'alone', 'nodes': ['a'], 'status': 'ok'}"),
		"$.run.trials[0]: the key \"seconds\" is missing" },
	{ WITH_TRIAL("{'probe': 'p', 'kind': 'trio', 'nodes': ['a'], 'status': 'ok', 'seconds': 1}"),
		"$.run.trials[0].kind: one of alone, pair, group, rest is needed, found \"trio\"" },
	{ WITH_TRIAL("{'probe': 'p', 'kind': 'pair', 'nodes': ['a'], 'status': 'ok', 'seconds': 1}"),
		"$.run.trials[0].nodes: 1 nodes do not fit the kind \"pair\"" },
	{ WITH_TRIAL("{'probe': 'p', 'kind': 'alone', 'nodes': [], 'status': 'ok', 'seconds': 1}"),
		"$.run.trials[0].nodes: 0 nodes do not fit the kind \"alone\"" },
	{ WITH_TRIAL("{'probe': 'p', 'kind': 'rest', 'nodes': [], 'status': 'ok', 'seconds': 1}"),
		"$.run.trials[0].nodes: 0 nodes do not fit the kind \"rest\"" },
	{ WITH_TRIAL("{'probe': 'p', 'kind': 'group', 'nodes': ['a', 'b'], 'status': 'ok', 'seconds': 1}"),
		"$.run.trials[0].nodes: 2 nodes do not fit the kind \"group\"" },
	{ WITH_TRIAL("{'probe': 'p', 'kind': 'pair', 'nodes': ['a', 1], 'status': 'ok', 'seconds': 1}"),
		"$.run.trials[0].nodes[1]: a string is needed, found 1" },
	{ WITH_TRIAL("{'probe': 'p', 'kind': 'alone', 'nodes': ['a'], 'status': 'fine', 'seconds': 1}"),
		"$.run.trials[0].status: one of failed, ok, late is needed, found \"fine\"" },
	{ WITH_TRIAL("{'probe': 'p', 'kind': 'alone', 'nodes': ['a'], 'status': 'failed', 'seconds': 1}"),
		"$.run.trials[0]: the status is not \"ok\", so the key \"why\" is needed" },
	/* the top */
	{ "{'run': {}}", NO_REPORT "$: the key \"schema_version\" is missing" },
	{ "{'schema_version': 1}", NO_REPORT "$: the key \"run\" is missing" },
	{ "{'schema_version': 2, 'run': {}}",
		"$.schema_version: this muster reads reports of version 1, found version 2" },
	{ "{'schema_version': '1', 'run': {}}", "$.schema_version: a number is needed, found \"1\"" },
	{ "{'schema_version': 1.5, 'run': {}}",
		"$.schema_version: a whole number from 1 to 1048576 is needed, found 1.5" },
	{ "{'schema_version': 1, 'x': 1, 'run': {}}",
		"$.x: unknown key, allowed are schema_version, muster, verdict, "
		"simulated, strict, sku, summary, slowest, findings, checks, run" },
	{ "{'run': {}, 'schema_version': 1, 'run': {}}", "$: the key \"run\" occurs twice in one object" },
	{ "{'schema_version': 1, 'verdict': 7, 'run': {'job': " JOB ", 'nodes': [" NODE("", TWO_RANKS) "]}}",
		"$.verdict: a string is needed, found 7" },
	{ "{'schema_version': 1, 'slowest': [], 'run': {'job': " JOB ", 'nodes': [" NODE("", TWO_RANKS) "]}}",
		"$.slowest: an object is needed, found an array" },
	{ "{'schema_version': 1, 'findings': [{}, 1], 'run': {'job': " JOB ", 'nodes': [" NODE("", TWO_RANKS) "]}}",
		"$.findings[1]: an object is needed, found 1" },
	{ "{'schema_version': 1, 'summary': {'a' 1}, 'run': {'job': " JOB ", 'nodes': [" NODE("", TWO_RANKS) "]}}",
		"$.summary, lines counted from its start: line 1, column 6: not JSON from here: '1}'" },
	{ "{'schema_version': 1, 'simulated': true, 'run': {'job': " JOB ", 'nodes': [" NODE("", TWO_RANKS) "]}}",
		"$.simulated: contradicts $.run.job.simulated" },
	/* the job */
	{ "{'schema_version': 1, 'run': {'nodes': []}}", "$.run: the key \"job\" is missing" },
	{ "{'schema_version': 1, 'run': {'job': {}, 'nodes': []}}", "$.run.job: the key \"elapsed_s\" is missing" },
	{ REPORT("{'elapsed_s': 1, 'profile': 'fast', 'ranks': 2, 'simulated': false, 'samples': []}", ""),
		"$.run.job.profile: one of quick, standard, full is needed, found \"fast\"" },
	{ REPORT("{'elapsed_s': 1, 'profile': 'full', 'ranks': 0, 'simulated': false, 'samples': []}", ""),
		"$.run.job.ranks: a whole number from 1 to 16777216 is needed, found 0" },
	{ REPORT("{'elapsed_s': 1, 'profile': 'full', 'ranks': 1e99, 'simulated': false, 'samples': []}", ""),
		"$.run.job.ranks: a whole number from 1 to 16777216 is needed, found 1e+99" },
	{ REPORT("{'elapsed_s': '1', 'profile': 'full', 'ranks': 1, 'simulated': false, 'samples': []}", ""),
		"$.run.job.elapsed_s: a number is needed, found \"1\"" },
	{ REPORT("{'elapsed_s': 1, 'profile': 'full', 'ranks': 1, 'simulated': 0, 'samples': []}", ""),
		"$.run.job.simulated: true or false is needed, found 0" },
	{ REPORT("{'elapsed_s': 1, 'profile': 'full', 'ranks': 1, 'simulated': false, 'samples': "
		 "[{'metric': 'node.cpus', 'value': 1}]}",
		  ""),
		"$.run.job.samples[0]: node.cpus is a metric of a node and is not allowed here" },
	{ REPORT(JOB, "{'name': 'n', 'simulated': true, 'samples': [], 'ranks': [" TWO_RANKS "]}"),
		"$.run.job: simulated is false, but the node \"n\" is simulated" },
	/* nodes and ranks */
	{ REPORT(JOB, "7"), FIRST_NODE ": an object is needed, found 7" },
	{ REPORT(JOB, "{'name': null, 'simulated': false, 'samples': [], 'ranks': []}"),
		FIRST_NODE ".name: a string is needed, found null" },
	{ REPORT(JOB, "{'name': 'n', 'simulated': false, 'samples': [], 'ranks': [], 'color': 1}"),
		FIRST_NODE ".color: unknown key, allowed are name, simulated, samples, ranks" },
	{ REPORT(JOB, NODE("", RANK("0", "") ", 1")), FIRST_NODE ".ranks[1]: an object is needed, found 1" },
	{ REPORT(JOB, NODE("", RANK("2", ""))), FIRST_RANK ".rank: a whole number from 0 to 1 is needed, found 2" },
	{ REPORT(JOB, NODE("", RANK("-1", ""))), FIRST_RANK ".rank: a whole number from 0 to 1 is needed, found -1" },
	{ REPORT(JOB, NODE("", RANK("0.5", ""))), FIRST_RANK ".rank: a whole number from 0 to 1 is needed, found 0.5" },
	{ REPORT(JOB, NODE("", RANK("0", "") ", " RANK("0", ""))),
		FIRST_NODE ".ranks[1].rank: rank 0 occurs twice in the run" },
	{ REPORT(JOB, NODE("", RANK("0", "")) ", " NODE("", RANK("0", ""))),
		"$.run.nodes[1].ranks[0].rank: rank 0 occurs twice in the run" },
	{ REPORT(JOB, NODE("", RANK("1", "") ", " RANK("0", ""))),
		FIRST_NODE ".ranks[1].rank: rank 0 after rank 1: ranks must be in ascending order" },
	{ REPORT(JOB, NODE("", RANK("0", ""))),
		"$.run.nodes: rank 1 of 2 is absent; a rank without results must be present with \"missing\"" },
	{ REPORT(JOB, NODE("", RANK("0", "")) ", " NODE("", RANK("1", ""))),
		"$.run.nodes: two nodes have the name \"n\"" },
	{ REPORT(JOB, NODE("", "{'rank': 0, 'local_rank': -1, 'probes': [], 'samples': []}")),
		FIRST_RANK ".local_rank: a whole number from 0 to 1 is needed, found -1" },
	{ REPORT(JOB, NODE("", "{'rank': 0, 'missing': true, 'probes': [], 'samples': []}")),
		FIRST_RANK ".missing: a string is needed, found true" },
	/* samples */
	{ IN_RANK("1"), FIRST_SAMPLE ": an object is needed, found 1" },
	{ IN_RANK("{'value': 1}"), FIRST_SAMPLE ": the key \"metric\" is missing" },
	{ IN_RANK("{'metric': 'rank.cpus'}"), FIRST_SAMPLE ": the key \"value\" is missing" },
	{ IN_RANK("{'metric': 'rank.cups', 'value': 1}"),
		FIRST_SAMPLE ".metric: unknown metric \"rank.cups\"; `muster metrics` lists all metrics" },
	{ IN_RANK("{'metric': 'rank.cpus', 'value': '24'}"),
		FIRST_SAMPLE ".value: rank.cpus is a number, found a string" },
	{ IN_RANK("{'metric': 'rank.cpus', 'value': [24]}"),
		FIRST_SAMPLE ".value: null or true or false or a number or a string is needed, found an array" },
	{ IN_RANK("{'metric': 'rank.cpu_list', 'value': 24}"),
		FIRST_SAMPLE ".value: rank.cpu_list is a string, found a number" },
	{ IN_RANK("{'metric': 'rank.mpi_as_slurm', 'value': 'true'}"),
		FIRST_SAMPLE ".value: rank.mpi_as_slurm is true or false, found a string" },
	{ IN_RANK("{'metric': 'rank.cpus', 'value': null}"),
		FIRST_SAMPLE ": the value is null, so the key \"reason\" is needed" },
	{ IN_RANK("{'metric': 'rank.cpus', 'value': 1, 'reason': 'why not'}"),
		FIRST_SAMPLE ": \"reason\" is only allowed with a value that is null" },
	{ IN_RANK("{'metric': 'rank.cpus', 'value': 1, 'unit': 'x'}"),
		FIRST_SAMPLE ".unit: unknown key, allowed are metric, labels, value, reason, unread, values, tries" },
	{ IN_RANK("{'metric': 'rank.cpus', 'value': 1, 'values': [1]}"),
		FIRST_SAMPLE ".values: at least 2 elements are needed, found 1" },
	{ IN_RANK("{'metric': 'rank.cpus', 'value': 1, 'values': [1, '2']}"),
		FIRST_SAMPLE ".values[1]: a number is needed, found \"2\"" },
	{ IN_RANK("{'metric': 'rank.cpu_list', 'value': 'a', 'values': [1, 2]}"),
		FIRST_SAMPLE ": \"values\" is only allowed with a value that is a number" },
	{ IN_RANK("{'metric': 'rank.cpus', 'labels': {'gpu': 'x'}, 'value': 1}"),
		FIRST_SAMPLE ".labels: rank.cpus has no label \"gpu\"" },
	{ IN_RANK("{'metric': 'gpu.h2d_gbps', 'value': 1}"),
		FIRST_SAMPLE ".labels: gpu.h2d_gbps has the label \"gpu\", which is missing" },
	{ IN_RANK("{'metric': 'gpu.h2d_gbps', 'labels': {'gpu': 1}, 'value': 1}"),
		FIRST_SAMPLE ".labels.gpu: a string is needed, found 1" },
	{ IN_RANK("{'metric': 'gpu.h2d_gbps', 'labels': {'gpu': 'x', 'port': 'y'}, 'value': 1}"),
		FIRST_SAMPLE ".labels: gpu.h2d_gbps has no label \"port\"" },
	{ IN_RANK("{'metric': 'rank.allreduce_us', 'labels': {'bytes': true}, 'value': 1}"),
		FIRST_SAMPLE ".labels.bytes: a number or a string is needed, found true" },
	{ IN_RANK("{'metric': 'rank.cpus', 'value': 1e999}"),
		FIRST_SAMPLE ", lines counted from its start: line 1, column 34: a number is too large for a double" },
	{ IN_NODE("{'metric': 'rank.cpus', 'value': 1}"),
		FIRST_NODE ".samples[0]: rank.cpus is a metric of a rank and is not allowed here" },
	/* probes */
	{ WITH_PROBE("{'probe': 'gpu', 'status': 'fine', 'elapsed_ms': 1}"),
		FIRST_PROBE ".status: one of ok, error, crashed, hung, not_run is needed, found \"fine\"" },
	{ WITH_PROBE("{'probe': 'gpu', 'status': 'hung', 'elapsed_ms': 1}"),
		FIRST_PROBE ": the status is not \"ok\", so the key \"detail\" is needed" },
	{ WITH_PROBE("{'probe': 'gpu', 'status': 'ok'}"), FIRST_PROBE ": the key \"elapsed_ms\" is missing" },
};

static char *quoted(const char *text)
{
	char *copy = muster_strdup(text);
	for (char *at = copy; *at; at++)
		if (*at == '\'')
			*at = '"';
	return copy;
}

/* Read a text as a report. Returns 0, or -1 with the message behind the path. */
static int read_text(const char *text, size_t length, struct muster_error *err)
{
	char path[] = "/tmp/muster-test-XXXXXX";
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, length), (ssize_t)length);
	close(fd);
	struct muster_run run;
	memset(&run, 0xa5, sizeof run);
	struct muster_run before = run;
	int rc = muster_report_read(path, &run, err);
	unlink(path);
	if (rc == 0) {
		muster_run_done(&run);
		return 0;
	}
	ck_assert_msg(memcmp(&run, &before, sizeof run) == 0, "outputs are written only on success");
	ck_assert_int_eq(err->code, MUSTER_EUSAGE);
	size_t prefix = strlen(path);
	ck_assert_msg(
		strncmp(err->text, path, prefix) == 0 && strncmp(err->text + prefix, ": ", 2) == 0, "%s", err->text);
	memmove(err->text, err->text + prefix + 2, strlen(err->text + prefix + 2) + 1);
	return -1;
}

TEST_EACH(a_malformed_report_is_refused_with_its_place, cases)
{
	struct muster_error err = { 0 };
	char *text = quoted(cases[_i].text);
	ck_assert_msg(read_text(text, strlen(text), &err) < 0, "accepted: %s", text);
	ck_assert_str_eq(err.text, cases[_i].wanted);
	free(text);
}

TEST(the_frame_of_these_cases_is_accepted)
{
	struct muster_error err = { 0 };
	char *text = quoted(IN_RANK("{'metric': 'rank.allreduce_us', 'labels': {'bytes': 8}, 'value': 1.5}"));
	ck_assert_msg(read_text(text, strlen(text), &err) == 0, "%s", err.text);
	free(text);
}

TEST(every_shorter_text_is_refused)
{
	struct muster_error err = { 0 };
	char *text = quoted(IN_RANK("{'metric': 'rank.cpu_list', 'value': null, 'reason': 'no'}"));
	for (size_t length = 0; length < strlen(text); length++)
		ck_assert_msg(read_text(text, length, &err) < 0, "accepted: %.*s", (int)length, text);
	free(text);
}

/* A report whose one reason has that many bytes. */
static char *long_reason(size_t length)
{
	char *frame = quoted(IN_RANK("{'metric': 'rank.cpus', 'value': null, 'reason': '%s'}"));
	char *at = strstr(frame, "%s"), *reason = muster_calloc(length + 1, 1);
	memset(reason, 'x', length);
	char *text = muster_asprintf("%.*s%s%s", (int)(at - frame), frame, reason, at + 2);
	free(frame);
	free(reason);
	return text;
}

TEST(strings_are_at_most_4096_bytes)
{
	struct muster_error err = { 0 };
	char *fits = long_reason(4096), *too_long = long_reason(4097);
	ck_assert_msg(read_text(fits, strlen(fits), &err) == 0, "%s", err.text);
	ck_assert_int_eq(read_text(too_long, strlen(too_long), &err), -1);
	ck_assert_str_eq(err.text, FIRST_SAMPLE ".reason: a string of 4097 bytes, at most 4096 are allowed");
	free(fits);
	free(too_long);
}

TEST(bytes_that_are_not_utf8_are_refused)
{
	struct muster_error err = { 0 };
	char *text = quoted(IN_RANK("{'metric': 'rank.cpu_list', 'value': '\xff'}"));
	ck_assert_int_eq(read_text(text, strlen(text), &err), -1);
	ck_assert_msg(strstr(err.text, FIRST_NODE) && strstr(err.text, "byte 0xff is not UTF-8"), "%s", err.text);
	free(text);
}

TEST_MAIN(.setup = NULL)
