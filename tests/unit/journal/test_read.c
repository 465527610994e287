/* test_read.c - what is found in a folder of journals: one run's ranks, and how much that is no line of it */
#include "check_main.h"
#include "unit/journal/journal_fixture.h"

static struct muster_run run;
static struct muster_journal_set set;

static void setup(void)
{
	folder_setup();
	muster_run_init(&run);
	set = (struct muster_journal_set){ 0 };
}

static void teardown(void)
{
	muster_journal_set_done(&set);
	muster_run_done(&run);
	folder_teardown();
}

static void read_run(const char *name)
{
	struct muster_error err;
	ck_assert_msg(muster_journal_set_read(folder, name, run.arena, &set, &err) == 0, "%s", err.text);
}

/* Fails with one line that holds these words, after the folder's name. */
static void read_fails(const char *name, const char *words)
{
	struct muster_error err;
	ck_assert_int_eq(muster_journal_set_read(folder, name, run.arena, &set, &err), -1);
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
	ck_assert(set.header->strict);
	ck_assert(set.header->beside_jobs);
	ck_assert_int_eq(set.header->measures, 1 << MUSTER_MEASURE_STORAGE | 1 << MUSTER_MEASURE_CHECKPOINT);
	ck_assert_int_eq(set.header->repeats, 3);
	ck_assert_ptr_null(set.header->version);
	ck_assert_ptr_null(set.header->job);
}

/* First lines that are none: each alone in the folder, where nothing else is. */
TEST_LOOP(a_first_line_must_be_whole, 0, 17)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{ "{'by':'a1','spool':99,'run':'r','started':'s','rank':0,'ranks':1,'node':'n','sku':'x','profile':'"
		  "quick'}",
			"another version of muster (format 99, and this one reads format " },
		{ "{'by':'a1','spool':true,'run':'r','started':'s','rank':0,'ranks':1,'node':'n','sku':'x','profile':'"
		  "quick'}",
			"another version of muster (format -1, and this one reads format " },
		{ "{'by':7,'spool':@,'run':'r','started':'s','rank':0,'ranks':1,'node':'n','sku':'x','profile':'"
		  "quick'}",
			"a malformed first line" },
		{ "{'by':'','spool':@,'run':'r','started':'s','rank':0,'ranks':1,'node':'n','sku':'x','profile':'quick'"
		  "}",
			"a malformed first line" },
		{ "{'by':'000000000000000000000000000000001','spool':@,'run':'r','started':'s','rank':0,'ranks':1,"
		  "'node':'n','sku':'x','profile':'quick'}",
			"a malformed first line" },
		{ "{'by':'a1','spool':@,'started':'s','rank':0,'ranks':1,'node':'n','sku':'x','profile':'quick'}",
			"a malformed first line" },
		{ "{'by':'a1','spool':@,'run':7,'started':'s','rank':0,'ranks':1,'node':'n','sku':'x','profile':'quick'"
		  "}",
			"a malformed first line" },
		{ "{'by':'a1','spool':@,'run':'r','rank':0,'ranks':1,'node':'n','sku':'x','profile':'quick'}",
			"a malformed first line" },
		{ "{'by':'a1','spool':@,'run':'r','started':'s','rank':0,'ranks':1,'sku':'x','profile':'quick'}",
			"a malformed first line" },
		{ "{'by':'a1','spool':@,'run':'r','started':'s','rank':-1,'ranks':1,'node':'n','sku':'x','profile':'"
		  "quick'}",
			"a malformed first line" },
		{ "{'by':'a1','spool':@,'run':'r','started':'s','rank':0.5,'ranks':1,'node':'n','sku':'x','profile':'"
		  "quick'}",
			"a malformed first line" },
		{ "{'by':'a1','spool':@,'run':'r','started':'s','rank':0,'ranks':0,'node':'n','sku':'x','profile':'"
		  "quick'}",
			"a malformed first line" },
		{ "{'by':'a1','spool':@,'run':'r','started':'s','rank':2,'ranks':2,'node':'n','sku':'x','profile':'"
		  "quick'}",
			"a malformed first line: rank 2 of 2 ranks" },
		{ "{'by':'a1','spool':@,'run':'r','started':'s','rank':0,'ranks':1,'node':'n','profile':'quick'}",
			"a malformed first line" },
		{ "{'by':'a1','spool':@,'run':'r','started':'s','rank':0,'ranks':1,'node':'n','sku':'x','profile':'"
		  "slow'}",
			"a malformed first line" },
		{ "{'by':'a1','spool':@,'run':'r','started':'s','rank':0,'ranks':1,'node':'n','sku':'x'}",
			"a malformed first line" },
		{ "{'by':'a1','by':'a1','spool':@,'run':'r','started':'s','rank':0,'ranks':1,'node':'n','sku':'x',"
		  "'profile':'quick'}",
			"none of its 1 .jsonl files" },
	};
	char text[512], *at;
	snprintf(text, sizeof text, "%s", cases[_i].line);
	if ((at = strchr(text, '@')) != NULL)
		*at = (char)('0' + MUSTER_SPOOL_VERSION);
	put("a.jsonl", "%s\n", text);
	read_fails(NULL, cases[_i].why);
	read_fails(NULL, "none of its 1 .jsonl files contains results of a run with --spool");
}

TEST(of_several_runs_the_last_one_counts)
{
	put_first("a.jsonl", "a1", 0, "n1", "");
	put_first("a.jsonl", "a2", 1, "n1", "");
	for (int i = 0; i < 2; i++)
		put("a.jsonl",
			"{'by':'b%d','spool':%d,'run':'r2','started':'2026-11-21T11:00:00Z','rank':%d,'ranks':2,"
			"'node':'n9','sku':'y.json','profile':'quick'}\n",
			i, MUSTER_SPOOL_VERSION, i);
	put("a.jsonl",
		"{'by':'c1','spool':%d,'run':'r3','started':'2026-11-21T09:00:00Z','rank':0,'ranks':2,'node':'n9',"
		"'sku':'y.json','profile':'quick'}\n",
		MUSTER_SPOOL_VERSION);
	read_run(NULL);
	ck_assert_str_eq(set.header->run, "r2");
	ck_assert_uint_eq(set.rank_count, 2);
	ck_assert_uint_eq(set.other_runs, 2);
	muster_journal_set_done(&set);
	read_run("r1");
	ck_assert_str_eq(set.header->run, "r1");
	ck_assert_uint_eq(set.rank_count, 2);
	ck_assert_int_eq(set.job_ranks, 4);
	muster_journal_set_done(&set);
	read_fails("r4", "contains this run");
}

/* The clock of n2 is an hour ahead. n1 began r1 and then r2, so r2 is later, though n2 took part only in r1. */
TEST(the_order_on_one_node_counts_and_not_its_clock)
{
	static const struct {
		const char *file, *by, *run, *started;
	} lines[] = {
		{ "n1.jsonl", "a1", "r1", "2026-11-21T10:00:00Z" },
		{ "n1.jsonl", "b1", "r2", "2026-11-21T10:10:00Z" },
		{ "n2.jsonl", "a2", "r1", "2026-11-21T11:00:00Z" },
	};
	for (size_t i = 0; i < 3; i++)
		put(lines[i].file,
			"{'by':'%s','spool':%d,'run':'%s','started':'%s','rank':%d,'ranks':2,'node':'n','sku':'x',"
			"'profile':'quick'}\n",
			lines[i].by, MUSTER_SPOOL_VERSION, lines[i].run, lines[i].started, i == 2);
	read_run(NULL);
	ck_assert_str_eq(set.header->run, "r2");
	ck_assert_uint_eq(set.other_runs, 1);
}

TEST_LOOP(a_line_that_is_none_spoils_only_itself, 0, 7)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{ "{'by':'a1','t':2,'st", "" },
		{ "\xff\xfe", "" },
		{ "[]", "" },
		{ "{'t':2,'step':'x'}", "a line without \"by\", the process that wrote it" },
		{ "{'by':7,'t':2,'step':'x'}", "a line without \"by\", the process that wrote it" },
		{ "{'by':'a1','t':2,'step':'x','step':'y'}", "the key \"step\" occurs twice" },
		{ "{'by':'a1','t':2,'trial':{}}", "" },
	};
	put_first("a.jsonl", "a1", 0, "n1", "");
	put("a.jsonl", "\n{'by':'a1','t':1,'step':'before'}\n%s\n\n{'by':'a1','t':3,'end':''}\n", cases[_i].line);
	read_run(NULL);
	ck_assert_uint_eq(set.bad_lines, 1);
	ck_assert_str_eq(set.bad_file, in_folder("a.jsonl"));
	ck_assert_msg(strstr(set.bad_why, cases[_i].why), "%s", set.bad_why);
	ck_assert_str_eq(set.ranks[0].step, "before");
	ck_assert_double_eq(set.ranks[0].step_s, 1);
	ck_assert_str_eq(set.ranks[0].end, "");
	ck_assert_double_eq(set.elapsed_s, 3);
	ck_assert_uint_eq(set.told.trial_count, 0);
}

TEST(lines_that_are_not_ours_mean_nothing)
{
	put_first("a.jsonl", "a1", 0, "n1", "");
	put("a.jsonl", "{'by':'ffff','t':2,'end':'x'}\n{'by':'a1','t':1.5,'later':{'a':[1]}}\n\n\n");
	/* a copy of one's lines in another file */
	put("b.jsonl", "{'by':'a1','t':9,'step':'copy'}\n");
	read_run(NULL);
	ck_assert_uint_eq(set.bad_lines, 0);
	ck_assert_ptr_null(set.ranks[0].end);
	ck_assert_ptr_null(set.ranks[0].step);
	ck_assert_double_eq(set.ranks[0].last_s, 1.5);
	ck_assert_uint_eq(set.files, 2);
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
	ck_assert_int_eq(muster_journal_set_read(in_folder("none"), NULL, run.arena, &set, &err), -1);
	ck_assert_msg(strstr(err.text, "none: No such file or directory"), "%s", err.text);
	read_fails(NULL, "none of its 0 .jsonl files");
	ck_assert_int_eq(muster_journal_set_read(folder, NULL, run.arena, &set, &err), -1);
	ck_assert_ptr_null(strstr(err.text, "the first problem"));
	ck_assert_int_eq(mkdir(in_folder("b.jsonl"), 0777), 0);
	read_fails(NULL, "; the first problem: ");
	read_fails(NULL, "b.jsonl: is not a regular file");
	ck_assert_int_eq(rmdir(in_folder("b.jsonl")), 0);
}

/* The first of two first lines of a process counts, also in another file. */
TEST(a_process_counts_once)
{
	put_first("a.jsonl", "a1", 1, "n1", "");
	put_first("a.jsonl", "a1", 2, "n1", "");
	put_first("b.jsonl", "a1", 3, "n1", "");
	put_first("b.jsonl", "b1", 0, "n2", "");
	put_first("b.jsonl", "b2", 2, "n2", "");
	put("a.jsonl", "{'by':'a1','t':3,'step':'mine'}\n");
	put("b.jsonl", "{'by':'a1','t':4,'step':'copy'}\n{'by':'b2','t':5,'step':'last'}\n");
	read_run(NULL);
	ck_assert_uint_eq(set.rank_count, 3);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(set.ranks[i].header.rank, i);
	ck_assert_str_eq(set.ranks[1].step, "mine");
	ck_assert_str_eq(set.ranks[2].step, "last");
	ck_assert_uint_eq(set.bad_lines, 0);
}

/* As MPI counts, which may be otherwise than the launcher; but never once something was measured. */
TEST(a_place_replaces_the_launchers)
{
	put_first("a.jsonl", "a1", 0, "n1", "");
	put("a.jsonl",
		"{'by':'a1','rank':3,'ranks':8}\n{'by':'a1','rank':8,'ranks':8}\n{'by':'a1','rank':-1,'ranks':8}\n");
	put_record("a.jsonl", "a1", 2, 3, "n1", "system", "ok", 8);
	put("a.jsonl", "{'by':'a1','rank':5,'ranks':8}\n");
	read_run(NULL);
	ck_assert_int_eq(set.ranks[0].header.rank, 3);
	ck_assert_int_eq(set.job_ranks, 8);
	ck_assert_uint_eq(set.bad_lines, 1); /* rank -1 */
}

TEST(a_rank_that_was_started_again_counts_once)
{
	put("a.jsonl",
		"{'by':'a9','spool':%d,'run':'r1','started':'2026-11-21T09:59:59Z','rank':2,'ranks':4,'node':'old',"
		"'sku':'x.json','profile':'quick'}\n{'by':'a9','t':99,'end':''}\n",
		MUSTER_SPOOL_VERSION);
	put_first("a.jsonl", "a1", 2, "n1", "");
	put_record("a.jsonl", "a1", 2, 2, "n1", "system", "ok", 8);
	put_first("a.jsonl", "a2", 2, "n2", "");
	put_record("a.jsonl", "a2", 3, 2, "n2", "system", "ok", 8);
	read_run(NULL);
	ck_assert_uint_eq(set.rank_count, 1);
	ck_assert_str_eq(
		set.ranks[0].header.node, "n2"); /* of those that began in the same second, the last in the files */
	ck_assert_double_eq(set.elapsed_s, 3);
}

TEST(the_later_start_counts_wherever_it_stands)
{
	put_first("a.jsonl", "a1", 2, "n1", "");
	put("b.jsonl",
		"{'by':'a9','spool':%d,'run':'r1','started':'2026-11-21T09:59:59Z','rank':2,'ranks':4,'node':'old',"
		"'sku':'x.json','profile':'quick'}\n",
		MUSTER_SPOOL_VERSION);
	read_run(NULL);
	ck_assert_uint_eq(set.rank_count, 1);
	ck_assert_str_eq(set.ranks[0].header.node, "n1");
}

/* A first line may hold ids of 1 to 32 bytes. */
TEST_LOOP(a_name_of_a_process_has_up_to_32_bytes, 0, 2)
{
	static const char *const names[] = { "a", "01234567890123456789012345678901" };
	put_first("a.jsonl", names[_i], 0, "n1", "");
	put("a.jsonl", "{'by':'%s','t':2,'step':'x'}\n", names[_i]);
	read_run(NULL);
	ck_assert_str_eq(set.ranks[0].step, "x");
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
	ck_assert_uint_eq(strlen(set.bad_why), MUSTER_JOURNAL_SHOWN);
}

/* Two starts of one rank in one second, in one file and in two. */
TEST_LOOP(of_two_starts_in_one_second_the_last_in_the_files_counts, 0, 2)
{
	put_first("a.jsonl", "b", 0, "first", "");
	put_first(_i ? "b.jsonl" : "a.jsonl", "a", 0, "last", "");
	read_run(NULL);
	ck_assert_uint_eq(set.rank_count, 1);
	ck_assert_str_eq(set.header->node, "last");
}

/* Runs of two clusters may share a folder and a second. */
TEST(of_two_runs_of_one_second_the_first_in_the_files_counts)
{
	put_first("a.jsonl", "a1", 0, "n1", "");
	put("a.jsonl",
		"{'by':'b1','spool':%d,'run':'r2','started':'2026-11-21T10:00:00Z','rank':0,'ranks':2,'node':'n9',"
		"'sku':'y.json','profile':'quick'}\n",
		MUSTER_SPOOL_VERSION);
	read_run(NULL);
	ck_assert_str_eq(set.header->run, "r1");
	ck_assert_uint_eq(set.other_runs, 1);
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

/* A time at 0 counts, and one before 0 does not. */
TEST(a_time_before_the_start_is_left_out)
{
	put_first("a.jsonl", "a1", 0, "n1", "");
	put("a.jsonl", "{'by':'a1','t':5,'step':'x'}\n{'by':'a1','t':-2,'step':'y'}\n");
	put_first("a.jsonl", "a2", 1, "n1", "");
	put("a.jsonl", "{'by':'a2','t':5,'step':'x'}\n{'by':'a2','t':0,'step':'y'}\n");
	read_run(NULL);
	ck_assert_double_eq(set.ranks[0].step_s, 5);
	ck_assert_double_eq(set.ranks[1].step_s, 0);
	ck_assert_double_eq(set.elapsed_s, 5);
}

/* Rank 2 of 1: the launcher started many, and MPI made each a job of its own. */
TEST(jobs_of_one_rank_that_were_started_as_one_of_many_are_strays)
{
	put_first("a.jsonl", "a1", 0, "n1", "");
	put("a.jsonl",
		"{'by':'b1','spool':%d,'run':'r1','started':'2026-11-21T10:00:00Z','rank':2,'ranks':1,'node':'n3',"
		"'sku':'x.json','profile':'quick'}\n",
		MUSTER_SPOOL_VERSION);
	read_run(NULL);
	ck_assert_uint_eq(set.rank_count, 1);
	ck_assert_uint_eq(set.stray_count, 1);
	ck_assert_str_eq(set.strays[0], "n3");
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
