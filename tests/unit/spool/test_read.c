/* SPDX-License-Identifier: Apache-2.0 */
/* test_read.c - what is found in a folder of spools: one run's ranks, and how much that is no line of it */
#include "check_main.h"
#include "muster/finding.h"
#include "muster/profile.h"
#include "muster/run.h"
#include "unit/spool/spool_fixture.h"

static struct muster_run run;
static struct muster_spool_set set;

static void setup(void)
{
	folder_setup();
	muster_run_init(&run);
	set = (struct muster_spool_set){ 0 };
}

static void teardown(void)
{
	muster_spool_set_done(&set);
	muster_run_done(&run);
	folder_teardown();
}

static void read_run(const char *name)
{
	struct muster_error err;
	ck_assert_msg(muster_spool_set_read(folder, name, run.arena, &set, &err) == 0, "%s", err.text);
}

/* Fails with one line that holds these words, after the folder's name. */
static void read_fails(const char *name, const char *words)
{
	struct muster_error err;
	ck_assert_int_eq(muster_spool_set_read(folder, name, run.arena, &set, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, words) && strncmp(err.text, folder, strlen(folder)) == 0, "%s", err.text);
	ck_assert_ptr_null(strchr(err.text, '\n'));
}

TEST(the_first_line_says_what_to_judge_by)
{
	put_first("a.jsonl", "a1", 1, "n1", ",'job':'77','nodelist':'n[1-2]','overlay':'o.json','later':[1]");
	read_run(NULL);
	ck_assert_str_eq(set.header->run, "r1");
	ck_assert_str_eq(set.header->job, "77");
	ck_assert_str_eq(set.header->started, "2026-11-21T10:00:00Z");
	ck_assert_str_eq(set.header->version, "0.1.0");
	ck_assert_str_eq(set.header->nodelist, "n[1-2]");
	ck_assert_str_eq(set.header->sku, "x.json");
	ck_assert_str_eq(set.header->overlay, "o.json");
	ck_assert_str_eq(set.header->profile, "quick");
	ck_assert(!set.header->strict);
	ck_assert_int_eq(set.header->repeats, 1);
	ck_assert_int_eq(set.job_ranks, 4);
	ck_assert_uint_eq(set.rank_count, 1);
	ck_assert_int_eq(set.ranks[0].header.rank, 1);
	ck_assert_str_eq(set.ranks[0].header.node, "n1");
	ck_assert_uint_eq(set.files, 1);
	ck_assert_uint_eq(set.bad_lines + set.bad_files + set.other_runs + set.stray_count, 0);
}

TEST(the_lowest_rank_speaks_for_the_run)
{
	put_first("b.jsonl", "b1", 2, "n2", "");
	put("a.jsonl",
		"{'by':'a1','spool':%d,'run':'r1','started':'2026-11-21T10:00:00Z','rank':0,'ranks':4,'node':'n1',"
		"'sku':'first.json','profile':'full','strict':true,'beside_jobs':true,"
		"'measures':['storage','checkpoint'],'repeats':3}\n",
		MUSTER_SPOOL_VERSION);
	read_run(NULL);
	ck_assert_uint_eq(set.rank_count, 2);
	ck_assert_int_eq(set.ranks[0].header.rank, 0);
	ck_assert_int_eq(set.ranks[1].header.rank, 2);
	ck_assert_str_eq(set.header->sku, "first.json");
	ck_assert_str_eq(set.header->profile, "full");
	ck_assert_int_eq(set.header->strict, MUSTER_STRICT);
	ck_assert(set.header->beside_jobs);
	ck_assert_int_eq(set.header->measures, 1 << MUSTER_MEASURE_STORAGE | 1 << MUSTER_MEASURE_CHECKPOINT);
	ck_assert_int_eq(set.header->repeats, 3);
	ck_assert_ptr_null(set.header->version);
	ck_assert_ptr_null(set.header->job);
}

/* First lines that are none, each alone in the folder: what stands there in place of a part of a good one. */
static const struct {
	const char *part, *instead, *why;
} first_lines[] = {
	{ "'spool':@", "'spool':99", "another version of muster (format 99, and this one reads format " },
	{ "'spool':@", "'spool':true", "another version of muster (format -1, and this one reads format " },
	{ "'by':'a1'", "'by':7", "a malformed first line" },
	{ "'by':'a1'", "'by':''", "a malformed first line" },
	{ "'by':'a1'", "'by':'000000000000000000000000000000001'", "a malformed first line" },
	{ "'run':'r',", "", "a malformed first line" },
	{ "'run':'r'", "'run':7", "a malformed first line" },
	{ "'started':'s',", "", "a malformed first line" },
	{ "'node':'n',", "", "a malformed first line" },
	{ "'rank':0", "'rank':-1", "a malformed first line" },
	{ "'rank':0", "'rank':0.5", "a malformed first line" },
	{ "'ranks':1", "'ranks':0", "a malformed first line" },
	{ "'rank':0,'ranks':1", "'rank':2,'ranks':2", "a malformed first line: rank 2 of 2 ranks" },
	{ "'sku':'x',", "", "a malformed first line" },
	{ "'profile':'quick'", "'profile':'slow'", "a malformed first line" },
	{ ",'profile':'quick'", "", "a malformed first line" },
	{ "'by':'a1'", "'by':'a1','by':'a1'", "none of its 1 .jsonl files" },
};

TEST_EACH(a_first_line_must_be_whole, first_lines)
{
	static const char good[] = "{'by':'a1','spool':@,'run':'r','started':'s','rank':0,'ranks':1,'node':'n','sku':'"
				   "x','profile':'quick'}";
	const char *part = first_lines[_i].part, *at = strstr(good, part);
	char line[512], *version;
	snprintf(line, sizeof line, "%.*s%s%s", (int)(at - good), good, first_lines[_i].instead, at + strlen(part));
	if ((version = strchr(line, '@')) != NULL)
		*version = (char)('0' + MUSTER_SPOOL_VERSION);
	put("a.jsonl", "%s\n", line);
	read_fails(NULL, first_lines[_i].why);
	read_fails(NULL, "none of its 1 .jsonl files contains results of a run with --spool");
}

/* The run, its ranks with their nodes and what is known of them, and what is counted: "r1 of 4: 0@n1 step=x@2". */
static const char *set_text(void)
{
	static char text[1024];
	FILE *out = fmemopen(text, sizeof text, "w");
	fprintf(out, "%s of %d:", set.header->run, set.job_ranks);
	for (size_t i = 0; i < set.rank_count; i++) {
		const struct muster_spool_process *rank = &set.ranks[i];
		fprintf(out, " %d@%s", rank->header.rank, rank->header.node);
		if (rank->step)
			fprintf(out, " step=%s@%g", rank->step, rank->step_s);
		if (rank->end)
			fprintf(out, " end=%s", rank->end);
		if (rank->last_s > 0)
			fprintf(out, " last@%g", rank->last_s);
	}
	fprintf(out, " | %g s, files %zu", set.elapsed_s, set.files);
	if (set.other_runs)
		fprintf(out, ", other runs %zu", set.other_runs);
	if (set.bad_lines + set.bad_files)
		fprintf(out, ", bad lines %zu, bad files %zu", set.bad_lines, set.bad_files);
	if (set.stray_count)
		fprintf(out, ", strays %zu: %s", set.stray_count, set.strays[0]);
	fclose(out);
	return text;
}

#define RUNS                                                                                                           \
	"a first a1 0 n1\na first a2 1 n1\n"                                                                           \
	"a first b0 0 n9 run=r2 at=11:00:00 of=2\na first b1 1 n9 run=r2 at=11:00:00 of=2\n"                           \
	"a first c1 0 n9 run=r3 at=09:00:00 of=2"

static const struct {
	const char *lines, *run, *set;
} sets[] = {
	/* of several runs the last one counts, or the one that is asked for */
	{ RUNS, NULL, "r2 of 2: 0@n9 1@n9 | 0 s, files 1, other runs 2" },
	{ RUNS, "r1", "r1 of 4: 0@n1 1@n1 | 0 s, files 1, other runs 2" },
	/* the order on one node counts, and not its clock: that of n2 is an hour ahead. n1 began r1 and then r2, so r2
	 * is later, though n2 took part only in r1 */
	{ "n1 first a1 0 n of=2\nn1 first b1 0 n run=r2 at=10:10:00 of=2\nn2 first a2 1 n at=11:00:00 of=2", NULL,
		"r2 of 2: 0@n | 0 s, files 2, other runs 1" },
	/* runs of two clusters may share a folder and a second: the first in the files counts */
	{ "a first a1 0 n1\na first b1 0 n9 run=r2 of=2", NULL, "r1 of 4: 0@n1 | 0 s, files 1, other runs 1" },
	/* lines that are not ours mean nothing, nor does a copy of one's lines in another file */
	{ "a first a1 0 n1\na end ffff 2 x\na line {'by':'a1','t':1.5,'later':{'a':[1]}}\na line \na line \nb step a1 "
	  "9 copy",
		NULL, "r1 of 4: 0@n1 last@1.5 | 1.5 s, files 2" },
	/* of two first lines of a process the first one counts, also in another file */
	{ "a first a1 1 n1\na first a1 2 n1\nb first a1 3 n1\nb first b1 0 n2\nb first b2 2 n2\na step a1 3 mine\n"
	  "b step a1 4 copy\nb step b2 5 last",
		NULL, "r1 of 4: 0@n2 1@n1 step=mine@3 last@3 2@n2 step=last@5 last@5 | 5 s, files 2" },
	/* a place is as MPI counts, which may be otherwise than the launcher; but never once something was measured.
	 * Rank -1 is a bad line */
	{ "a first a1 0 n1\na line {'by':'a1','rank':3,'ranks':8}\na line {'by':'a1','rank':8,'ranks':8}\n"
	  "a line {'by':'a1','rank':-1,'ranks':8}\na record a1 2 3 n1 system ok 8\na line "
	  "{'by':'a1','rank':5,'ranks':8}",
		NULL, "r1 of 8: 3@n1 last@2 | 2 s, files 1, bad lines 1, bad files 0" },
	/* a rank that was started again counts once: of those of the same second, the last in the files */
	{ "a first a9 2 old at=09:59:59\na end a9 99\na first a1 2 n1\na record a1 2 2 n1 system ok 8\na first a2 2 "
	  "n2\n"
	  "a record a2 3 2 n2 system ok 8",
		NULL, "r1 of 4: 2@n2 last@3 | 3 s, files 1" },
	{ "a first b 0 first\na first a 0 last", NULL, "r1 of 4: 0@last | 0 s, files 1" },
	{ "a first b 0 first\nb first a 0 last", NULL, "r1 of 4: 0@last | 0 s, files 2" },
	/* the later start counts wherever it stands */
	{ "a first a1 2 n1\nb first a9 2 old at=09:59:59", NULL, "r1 of 4: 2@n1 | 0 s, files 2" },
	/* a process has a name of 1 to 32 bytes */
	{ "a first a 0 n1\na step a 2 x", NULL, "r1 of 4: 0@n1 step=x@2 last@2 | 2 s, files 1" },
	{ "a first 01234567890123456789012345678901 0 n1\na step 01234567890123456789012345678901 2 x", NULL,
		"r1 of 4: 0@n1 step=x@2 last@2 | 2 s, files 1" },
	/* a time at 0 counts, and one before 0 does not */
	{ "a first a1 0 n1\na step a1 5 x\na step a1 -2 y\na first a2 1 n1\na step a2 5 x\na step a2 0 y", NULL,
		"r1 of 4: 0@n1 step=y@5 last@5 1@n1 step=y@0 | 5 s, files 1" },
	/* rank 2 of 1: the launcher started many, and MPI made each a job of its own */
	{ "a first a1 0 n1\na first b1 2 n3 of=1", NULL, "r1 of 4: 0@n1 | 0 s, files 1, strays 1: n3" },
	{ "a first a 0 n1\na line {'by':'a','rank':0,'ranks':1}\na first b 2 n3\na line {'by':'b','rank':0,'ranks':1}",
		NULL, "r1 of 1: 0@n1 | 0 s, files 1, strays 1: n3" },
};

TEST_EACH(of_a_folder_each_rank_of_one_run_counts_once, sets)
{
	put_words(sets[_i].lines);
	read_run(sets[_i].run);
	ck_assert_str_eq(set_text(), sets[_i].set);
}

TEST(a_run_that_is_not_there_is_an_error)
{
	put_words(RUNS);
	read_fails("r4", "contains this run");
}

static const struct {
	const char *line, *why;
} bad_lines[] = {
	{ "{'by':'a1','t':2,'st", "" },
	{ "\xff\xfe", "" },
	{ "[]", "" },
	{ "{'t':2,'step':'x'}", "a line without \"by\", the process that wrote it" },
	{ "{'by':7,'t':2,'step':'x'}", "a line without \"by\", the process that wrote it" },
	{ "{'by':'a1','t':2,'step':'x','step':'y'}", "the key \"step\" occurs twice" },
	{ "{'by':'a1','t':2,'trial':{}}", "" },
};

TEST_EACH(a_line_that_is_none_spoils_only_itself, bad_lines)
{
	put_first("a.jsonl", "a1", 0, "n1", "");
	put("a.jsonl", "\n{'by':'a1','t':1,'step':'before'}\n%s\n\n{'by':'a1','t':3,'end':''}\n", bad_lines[_i].line);
	read_run(NULL);
	ck_assert_uint_eq(set.bad_lines, 1);
	ck_assert_str_eq(set.bad_file, in_folder("a.jsonl"));
	ck_assert_msg(strstr(set.bad_why, bad_lines[_i].why), "%s", set.bad_why);
	ck_assert_str_eq(set.ranks[0].step, "before");
	ck_assert_double_eq(set.ranks[0].step_s, 1);
	ck_assert_str_eq(set.ranks[0].end, "");
	ck_assert_double_eq(set.elapsed_s, 3);
	ck_assert_uint_eq(set.told.trial_count, 0);
}

TEST(files_that_are_none_are_counted)
{
	put_first("a.jsonl", "a1", 0, "n1", "");
	put_first("a.json", "a2", 1, "n1", "");
	put_first(".jsonl", "a3", 2, "n1", "");
	ck_assert_int_eq(mkfifo(in_folder("b.jsonl"), 0600), 0);
	ck_assert_int_eq(mkdir(in_folder("c.jsonl"), 0700), 0);
	read_run(NULL);
	ck_assert_uint_eq(set.rank_count, 1);
	ck_assert_uint_eq(set.files, 3);
	ck_assert_uint_eq(set.bad_files, 2);
	ck_assert_str_eq(set.bad_file, in_folder("b.jsonl"));
	ck_assert_str_eq(set.bad_why, "is not a regular file");
}

TEST(no_folder_and_an_empty_one_are_errors)
{
	struct muster_error err;
	ck_assert_int_eq(muster_spool_set_read(in_folder("none"), NULL, run.arena, &set, &err), -1);
	ck_assert_msg(strstr(err.text, "none: No such file or directory"), "%s", err.text);
	read_fails(NULL, "none of its 0 .jsonl files");
	ck_assert_int_eq(muster_spool_set_read(folder, NULL, run.arena, &set, &err), -1);
	ck_assert_ptr_null(strstr(err.text, "the first problem"));
	ck_assert_int_eq(mkdir(in_folder("b.jsonl"), 0777), 0);
	read_fails(NULL, "; the first problem: ");
	read_fails(NULL, "b.jsonl: is not a regular file");
	ck_assert_int_eq(rmdir(in_folder("b.jsonl")), 0);
}

/* Of several bad lines the first is told, at most so much of it. */
TEST(the_first_bad_line_is_told_and_all_are_counted)
{
	char key[400];
	memset(key, 'k', sizeof key - 1);
	key[sizeof key - 1] = '\0';
	put_first("a.jsonl", "a1", 0, "n1", "");
	put("a.jsonl", "{'by':'a1','%s':1,'%s':2}\n{'t':1}\n", key, key);
	put("b.jsonl", "{'t':1}\n");
	read_run(NULL);
	ck_assert_uint_eq(set.bad_lines, 3);
	ck_assert_uint_eq(set.bad_files, 0);
	ck_assert_str_eq(set.bad_file, in_folder("a.jsonl"));
	ck_assert_uint_eq(strlen(set.bad_why), MUSTER_SPOOL_SHOWN);
}

/* The memory of a process is a file whose first bytes cannot be read. */
TEST(a_file_that_fails_while_it_is_read_is_counted_once)
{
	put_first("a.jsonl", "a1", 0, "n1", "");
	ck_assert_int_eq(symlink("/proc/self/mem", in_folder("b.jsonl")), 0);
	read_run(NULL);
	ck_assert_uint_eq(set.bad_files, 1);
	ck_assert_uint_eq(set.bad_lines, 0);
	ck_assert_str_eq(set.bad_file, in_folder("b.jsonl"));
	ck_assert_str_eq(set.bad_why, "Input/output error");
}

TEST(trials_are_the_runs)
{
	put_first("a.jsonl", "a1", 0, "n1", "");
	put("a.jsonl", "{'by':'a1','t':5,'trial':{'probe':'nccl_allreduce','kind':'pair','nodes':['n1','n2'],'status':'"
		       "failed',"
		       "'why':'rank 1: x','seconds':2}}\n");
	read_run(NULL);
	ck_assert_uint_eq(set.told.trial_count, 1);
	ck_assert_str_eq(set.told.trials[0].nodes[1], "n2");
	ck_assert_int_eq(set.told.trials[0].status, MUSTER_TRIAL_FAILED);
	ck_assert_double_eq(set.elapsed_s, 5);
}

TEST(a_line_beyond_all_limits_is_left_out)
{
	put_first("a.jsonl", "a1", 0, "n1", "");
	char *large = malloc(MUSTER_SPOOL_LINE_MAX + (4 << 20));
	ck_assert_ptr_nonnull(large);
	memset(large, 'x', MUSTER_SPOOL_LINE_MAX + (4 << 20) - 1);
	large[MUSTER_SPOOL_LINE_MAX + (4 << 20) - 1] = '\0';
	put("a.jsonl", "%s\n{'by':'a1','t':3,'step':'behind'}\n", large);
	free(large);
	read_run(NULL);
	ck_assert_uint_eq(set.bad_lines, 1);
	ck_assert_msg(strstr(set.bad_why, "longer than muster's maximum"), "%s", set.bad_why);
	ck_assert_str_eq(set.ranks[0].step, "behind");
}

TEST_MAIN(.setup = setup, .teardown = teardown)
