/* SPDX-License-Identifier: Apache-2.0 */
/* test_write.c - a spool as it grows: each line whole and the process's own, and no file that is not plain */
#include "check_main.h"
#include "muster/finding.h"
#include "unit/spool/spool_fixture.h"

#include "json/json.h"
#include "muster/run.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

static const struct muster_spool_header header = {
	.run = "r1",
	.job = "77",
	.rank = 1,
	.ranks = 4,
	.node = "n1",
	.nodelist = "n[1-2]",
	.started = "2026-11-21T10:00:00Z",
	.sku = "x.json",
	.overlay = "o.json",
	.profile = "quick",
	.strict = MUSTER_STRICT_ALL,
	.repeats = 3,
};

static struct muster_spool *open_one(const struct muster_spool_header *what)
{
	struct muster_spool *spool = NULL;
	struct muster_error err;
	ck_assert_msg(muster_spool_open(&spool, folder, what, muster_now_ms(), &err) == 0, "%s", err.text);
	return spool;
}

/* The file as the reader takes it. */
static void read_back(struct muster_run *run, struct muster_spool_set *set)
{
	struct muster_error err;
	muster_run_init(run);
	ck_assert_msg(muster_spool_set_read(folder, NULL, run->arena, set, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(set->bad_lines, 0);
}

static char *file_text(const char *name)
{
	static char text[65536];
	FILE *in = fopen(in_folder(name), "re");
	ck_assert_ptr_nonnull(in);
	text[fread(text, 1, sizeof text - 1, in)] = '\0';
	fclose(in);
	return text;
}

TEST(what_is_written_is_read)
{
	struct muster_run run, told;
	struct muster_spool_set set;
	static const char *nodes[] = { "n1", "n2" };
	struct muster_spool *spool = open_one(&header);
	muster_spool_place(spool, 2, 8);
	muster_run_init(&told);
	muster_run_add_trial(&told, (struct muster_trial){ .probe = "nccl_allreduce",
					    .kind = MUSTER_TRIAL_PAIR,
					    .nodes = nodes,
					    .node_count = 2,
					    .status = MUSTER_TRIAL_LATE,
					    .why = "rank 1: late",
					    .seconds = 2 });
	muster_spool_trials(spool, &told);
	muster_spool_trials(spool, &told); /* nothing new in it */
	muster_spool_end(spool, "enough");
	muster_spool_close(spool, 10000);
	read_back(&run, &set);
	ck_assert_str_eq(set.header->run, "r1");
	ck_assert_str_eq(set.header->job, "77");
	ck_assert_str_eq(set.header->nodelist, "n[1-2]");
	ck_assert_str_eq(set.header->started, "2026-11-21T10:00:00Z");
	ck_assert_str_eq(set.header->version, MUSTER_VERSION);
	ck_assert_str_eq(set.header->sku, "x.json");
	ck_assert_str_eq(set.header->overlay, "o.json");
	ck_assert_str_eq(set.header->profile, "quick");
	ck_assert_int_eq(set.header->strict, MUSTER_STRICT_ALL);
	ck_assert_int_eq(set.header->repeats, 3);
	ck_assert_int_eq(set.ranks[0].header.rank, 2);
	ck_assert_int_eq(set.ranks[0].header.ranks, 8);
	ck_assert_str_eq(set.ranks[0].header.node, "n1");
	ck_assert_str_eq(set.ranks[0].end, "enough");
	ck_assert_uint_eq(set.told.trial_count, 1);
	ck_assert_int_eq(set.told.trials[0].status, MUSTER_TRIAL_LATE);
	muster_spool_set_done(&set);
	muster_run_done(&run);
	muster_run_done(&told);
}

/* The last step before a silence is what is known of it: in seconds from the start, and each written once. */
TEST(a_step_is_written_when_it_is_another)
{
	struct muster_run run;
	struct muster_spool_set set;
	struct muster_spool *spool = NULL;
	struct muster_error err;
	ck_assert_int_eq(muster_spool_open(&spool, folder, &header, muster_now_ms() - 5000, &err), 0);
	static const char *const steps_taken[] = { "{\"step\":\"cuInit\"}", "{\"step\":\"cuInit\"}",
		"{\"step\":\"cuCtxCreate\"}" };
	for (size_t i = 0; i < sizeof steps_taken / sizeof *steps_taken; i++)
		muster_spool_line(spool, steps_taken[i], strlen(steps_taken[i]), false);
	muster_spool_close(spool, 10000);
	const char *text = file_text("n1.jsonl");
	size_t steps = 0;
	for (const char *at = text; (at = strstr(at, "\"step\"")); at++)
		steps++;
	ck_assert_uint_eq(steps, 2);
	read_back(&run, &set);
	ck_assert_str_eq(set.ranks[0].step, "cuCtxCreate");
	ck_assert_double_ge(set.ranks[0].step_s, 5);
	ck_assert_double_lt(set.ranks[0].step_s, 60);
	muster_spool_set_done(&set);
	muster_run_done(&run);
}

TEST(a_step_after_a_long_one_is_written_again)
{
	struct muster_run run;
	struct muster_spool_set set;
	struct muster_spool *spool = open_one(&header);
	static const char step[] = "{\"step\":\"cuInit\"}";
	char large[2000];
	int length = snprintf(large, sizeof large, "{\"step\":\"%01500d\"}", 7);
	muster_spool_line(spool, step, strlen(step), false);
	muster_spool_line(spool, large, (size_t)length, false);
	muster_spool_line(spool, step, strlen(step), false);
	muster_spool_close(spool, 10000);
	read_back(&run, &set);
	ck_assert_str_eq(set.ranks[0].step, "cuInit");
	muster_spool_set_done(&set);
	muster_run_done(&run);
}

/* Only steps are left out when they come again. An object without members has nothing to write. */
TEST(every_line_of_a_record_is_written)
{
	struct muster_spool *spool = open_one(&header);
	static const char kept[] = "{\"kept\": 0, \"job\": false}";
	for (int i = 0; i < 3; i++)
		muster_spool_line(spool, kept, strlen(kept), true);
	muster_spool_line(spool, "{}", 2, true);
	muster_spool_close(spool, 10000);
	size_t lines = 0;
	for (const char *at = file_text("n1.jsonl"); (at = strstr(at, "\"t\":")); at++)
		lines++;
	ck_assert_uint_eq(lines, 3);
}

/* Within the grace everything is written, and the file closed. */
TEST(a_spool_is_whole_once_it_is_closed)
{
	for (int i = 0; i < 20; i++) {
		int before = dup(0);
		close(before);
		struct muster_spool *spool = open_one(&header);
		muster_spool_end(spool, "");
		muster_spool_close(spool, 9900);
		int after = dup(0);
		close(after);
		ck_assert_int_eq(before, after);
		const char *text = file_text("n1.jsonl");
		ck_assert_str_eq(strrchr(text, '\"'), "\"}\n");
		ck_assert_msg(strstr(text, "\"end\": \"\""), "%s", text);
		unlink(in_folder("n1.jsonl"));
	}
}

TEST(each_line_is_an_object_between_newlines)
{
	struct muster_spool *one = open_one(&header), *two = open_one(&header);
	muster_spool_place(one, 1, 4);
	muster_spool_end(two, "");
	muster_spool_end(one, "");
	muster_spool_close(one, 10000);
	muster_spool_close(two, 10000);
	size_t lines = 0;
	char first[32] = "", *text = file_text("n1.jsonl");
	ck_assert_int_eq(*text, '\n');
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	bool other = false;
	for (char *line = text + 1; *line; line += strcspn(line, "\n") + 1) {
		struct muster_json *json;
		struct muster_error err;
		size_t length = strcspn(line, "\n");
		if (length == 0)
			continue;
		ck_assert_msg(muster_json_parse(line, length, &json, &err) == 0, "%s", err.text);
		const char *by = muster_json_string(muster_json_member(json, "by"));
		ck_assert_uint_eq(strlen(by), 16);
		if (!*first)
			snprintf(first, sizeof first, "%s", by);
		other = other || strcmp(first, by) != 0;
		muster_json_free(json);
		lines++;
	}
	ck_assert_uint_eq(lines, 5);
	ck_assert(other); /* two processes never share a name */
}

TEST(a_file_is_named_after_its_node)
{
	static const char *const names[][2] = {
		{ "gpu-1", "d/gpu-1.jsonl" },
		{ "gpu_1.site.org", "d/gpu_1.site.org.jsonl" },
		{ "..", "d/%2E..jsonl" },
		{ "a/../b", "d/a%2F..%2Fb.jsonl" },
		{ "a b%\n", "d/a%20b%25%0A.jsonl" },
		{ "", "d/%.jsonl" },
		{ "\xc3\xa4", "d/%C3%A4.jsonl" },
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *path = muster_spool_path("d", names[i][0]);
		ck_assert_str_eq(path, names[i][1]);
		free(path);
	}
	char large[1000];
	memset(large, '/', sizeof large - 1);
	large[sizeof large - 1] = '\0';
	char *path = muster_spool_path("d", large);
	ck_assert_uint_le(strlen(path), 255);
	free(path);
	memset(large, 'n', sizeof large - 1);
	path = muster_spool_path("d", large);
	ck_assert_uint_eq(strlen(path), strlen("d/") + 200 + strlen(".jsonl"));
	free(path);
}

TEST(the_launcher_names_the_run)
{
	static const struct {
		const char *space, *job, *step, *restart, *name;
	} cases[] = {
		{ NULL, "7", "0", NULL, "7.0.." },
		{ NULL, "7", "0", "2", "7.0.2." },
		{ "ns1", NULL, NULL, NULL, "...ns1" },
		{ "slurm.pmix.7.1", "7", "1", NULL, "7.1..slurm.pmix.7.1" },
		/* mpirun: on one node its ranks have a step, on the other they have none */
		{ "2552758273", "7", "0", NULL, "7...2552758273" },
		{ "2552758273", "7", NULL, NULL, "7...2552758273" },
		{ NULL, "7", NULL, NULL, NULL },
		{ NULL, NULL, "0", NULL, NULL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *const set[][2] = {
			{ "PMIX_NAMESPACE", cases[i].space },
			{ "SLURM_JOB_ID", cases[i].job },
			{ "SLURM_STEP_ID", cases[i].step },
			{ "SLURM_RESTART_COUNT", cases[i].restart },
		};
		for (size_t j = 0; j < 4; j++)
			if (set[j][1])
				setenv(set[j][0], set[j][1], 1);
			else
				unsetenv(set[j][0]);
		char *name = muster_spool_run_name("now"), own[64];
		snprintf(own, sizeof own, "now %ld", (long)getpid());
		ck_assert_str_eq(name, cases[i].name ? cases[i].name : own);
		free(name);
	}
}

static void open_fails(const char *where, const char *words)
{
	struct muster_spool *spool = NULL;
	struct muster_error err;
	ck_assert_int_eq(muster_spool_open(&spool, where, &header, 0, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EIO);
	ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
	ck_assert_ptr_null(spool);
}

TEST(only_a_plain_file_is_written)
{
	char target[512];
	snprintf(target, sizeof target, "%s", in_folder("target"));
	put("target", "mine\n");
	ck_assert_int_eq(symlink(target, in_folder("n1.jsonl")), 0);
	open_fails(folder, "n1.jsonl: Too many levels of symbolic links");
	ck_assert_str_eq(file_text("target"), "mine\n");
	unlink(in_folder("n1.jsonl"));
	ck_assert_int_eq(mkfifo(in_folder("n1.jsonl"), 0600), 0);
	open_fails(folder, "n1.jsonl: "); /* nobody reads it: at once, without waiting for a reader */
	int reader = open(in_folder("n1.jsonl"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ge(reader, 0);
	open_fails(folder, "n1.jsonl: exists and is not a regular file");
	close(reader);
	unlink(in_folder("n1.jsonl"));
	ck_assert_int_eq(mkdir(in_folder("n1.jsonl"), 0700), 0);
	open_fails(folder, "n1.jsonl: Is a directory");
	open_fails("/dev/null", "/dev/null");
	open_fails("/none/of/these", "cannot create this directory");
}

TEST(a_folder_is_made_and_a_file_goes_on)
{
	struct muster_spool_header other = header;
	char inner[512];
	snprintf(inner, sizeof inner, "%s", in_folder("new"));
	struct muster_spool *spool;
	struct muster_error err;
	for (int i = 0; i < 2; i++) {
		other.rank = i;
		ck_assert_int_eq(muster_spool_open(&spool, inner, &other, 0, &err), 0);
		muster_spool_close(spool, 10000);
	}
	struct muster_run run;
	struct muster_spool_set set;
	muster_run_init(&run);
	ck_assert_int_eq(muster_spool_set_read(inner, NULL, run.arena, &set, &err), 0);
	ck_assert_uint_eq(set.rank_count, 2);
	muster_spool_set_done(&set);
	muster_run_done(&run);
	unlink(in_folder("new/n1.jsonl"));
}

/* In place of libc's. */
static atomic_int syncs, sync_error;
static atomic_bool disk_hangs, never_quiet, takes_signals, no_random;
static _Atomic double longest_quiet_ms;
static struct timespec joined_until; /* until when the last close would have waited */
static bool join_fails;

static double ms_of(struct timespec at)
{
	return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return ms_of(now);
}

int fdatasync(int fd)
{
	sigset_t blocked;
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	takes_signals = !sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGUSR1);
	syncs++;
	while (disk_hangs)
		usleep(100);
	errno = sync_error;
	(void)fd;
	return sync_error ? -1 : 0;
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock, clockid_t clock, const struct timespec *until)
{
	double left = ms_of(*until) - now_ms();
	(void)cond;
	longest_quiet_ms = left > longest_quiet_ms ? left : longest_quiet_ms;
	pthread_mutex_unlock(lock);
	usleep(100);
	pthread_mutex_lock(lock);
	return left > 0 || never_quiet || clock != CLOCK_MONOTONIC ? 0 : ETIMEDOUT;
}

int pthread_clockjoin_np(pthread_t thread, void **ret, clockid_t clock, const struct timespec *until)
{
	ck_assert_int_eq(clock, CLOCK_MONOTONIC);
	ck_assert_int_lt(until->tv_nsec, 1000000000);
	joined_until = *until;
	return join_fails ? ETIMEDOUT : pthread_join(thread, ret);
}

ssize_t getrandom(void *into, size_t size, unsigned int flags)
{
	return no_random ? -1 : syscall(SYS_getrandom, into, size, flags);
}

static void wait_for_syncs(int least)
{
	for (int i = 0; i < 10000 && syncs < least; i++)
		usleep(1000);
	ck_assert_int_ge(syncs, least);
}

/* A node that hangs in a call may never write again: its last step is on the disk soon. */
TEST(a_step_is_synced_when_no_other_line_comes)
{
	static const char step[] = "{\"step\":\"cuInit\"}";
	struct muster_spool *spool = open_one(&header);
	wait_for_syncs(1); /* the first line */
	int before = syncs;
	muster_spool_line(spool, step, strlen(step), false);
	wait_for_syncs(before + 1);
	ck_assert_msg(strstr(file_text("n1.jsonl"), "cuInit"), "the step was not written");
	muster_spool_close(spool, 10000);
}

/* The disk is spared while lines come, for a quarter of a second. */
TEST(a_line_that_is_not_urgent_waits_for_a_pause)
{
	static const char step[] = "{\"step\":\"cuInit\"}";
	never_quiet = true;
	struct muster_spool *spool = open_one(&header);
	wait_for_syncs(1);
	muster_spool_line(spool, step, strlen(step), false);
	for (int i = 0; i < 10000 && longest_quiet_ms <= 0; i++)
		usleep(1000);
	ck_assert_msg(strstr(file_text("n1.jsonl"), "cuInit"), "the step was not written");
	ck_assert_int_eq(syncs, 1);
	ck_assert_double_gt(longest_quiet_ms, 0);
	ck_assert_double_le(longest_quiet_ms, 250.01);
	muster_spool_place(spool, 1, 4);
	muster_spool_end(spool, "");
	wait_for_syncs(2);
	muster_spool_close(spool, 10000);
}

TEST(signals_are_left_to_the_thread_that_opens)
{
	sigset_t blocked;
	struct muster_spool *spool = open_one(&header);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	ck_assert_int_eq(sigismember(&blocked, SIGTERM), 0);
	wait_for_syncs(1);
	ck_assert(!takes_signals);
	muster_spool_close(spool, 10000);
}

/* Some file systems cannot sync; others fail to. */
TEST_LOOP(a_sync_that_fails_is_told_where_files_can_be_synced, 0, 2)
{
	sync_error = _i ? EIO : EINVAL;
	struct muster_spool *spool = open_one(&header);
	wait_for_syncs(1);
	muster_spool_end(spool, "");
	wait_for_syncs(2); /* what the first one said is noted by then */
	const char *trouble = muster_spool_trouble(spool);
	if (_i == 0)
		ck_assert_ptr_null(trouble);
	else
		ck_assert_msg(trouble && strstr(trouble, "n1.jsonl: Input/output error"), "%s", trouble);
	muster_spool_close(spool, 10000);
}

/* Without random numbers a process is named after its number and the time. */
TEST(a_process_has_a_name_without_random_numbers_too)
{
	no_random = true;
	long long before = (long long)time(NULL);
	muster_spool_close(open_one(&header), 10000);
	const char *by = strstr(file_text("n1.jsonl"), "\"by\": \"");
	ck_assert_ptr_nonnull(by);
	unsigned long long name = strtoull(by + strlen("\"by\": \""), NULL, 16);
	ck_assert_int_eq((long long)(name >> 32), getpid());
	ck_assert_int_ge((long long)(name & 0xffffffff), before);
	ck_assert_int_le((long long)(name & 0xffffffff), (long long)time(NULL));
}

TEST(a_thread_that_cannot_be_started_is_an_error)
{
	pthread_attr_t attributes;
	size_t usual;
	ck_assert_int_eq(pthread_getattr_default_np(&attributes), 0);
	ck_assert_int_eq(pthread_attr_getstacksize(&attributes, &usual), 0);
	ck_assert_int_eq(pthread_attr_setstacksize(&attributes, (size_t)1 << 50), 0);
	ck_assert_int_eq(pthread_setattr_default_np(&attributes), 0);
	open_fails(folder, "cannot start a thread: ");
	ck_assert_int_eq(pthread_attr_setstacksize(&attributes, usual), 0);
	ck_assert_int_eq(pthread_setattr_default_np(&attributes), 0);
	pthread_attr_destroy(&attributes);
}

TEST(a_spool_without_new_lines_leaves_the_disk_alone)
{
	struct muster_spool *spool = open_one(&header);
	wait_for_syncs(1);
	usleep(600000);
	ck_assert_int_le(syncs, 2);
	muster_spool_close(spool, 10000);
}

/* The file may not grow beyond some bytes: what is lost is told once, and what was written before stands. */
TEST(trouble_is_told_once)
{
	struct rlimit before, limit;
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 600;
	struct muster_spool *spool = open_one(&header);
	ck_assert_ptr_null(muster_spool_trouble(spool));
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	const char *trouble = NULL;
	for (int i = 0; i < 2000 && !trouble; i++) {
		muster_spool_place(spool, 1, 4);
		usleep(1000);
		trouble = muster_spool_trouble(spool);
	}
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	ck_assert_ptr_nonnull(trouble);
	ck_assert_msg(strstr(trouble, "n1.jsonl: File too large"), "%s", trouble);
	ck_assert_ptr_null(muster_spool_trouble(spool));
	muster_spool_end(spool, "");
	muster_spool_close(spool, 10000);
	struct muster_run run;
	struct muster_spool_set set;
	struct muster_error err;
	muster_run_init(&run);
	ck_assert_int_eq(muster_spool_set_read(folder, NULL, run.arena, &set, &err), 0);
	ck_assert_uint_eq(set.rank_count, 1);
	ck_assert_uint_eq(set.bad_lines, 1); /* the one that was cut */
	ck_assert_str_eq(set.ranks[0].end, "");
	muster_spool_set_done(&set);
	muster_run_done(&run);
}

TEST(a_close_waits_for_the_grace_that_is_given)
{
	static const int graces[] = { 0, 1, 999, 1000, 2500, 61001 };
	for (size_t i = 0; i < sizeof graces / sizeof *graces; i++) {
		struct muster_spool *spool = open_one(&header);
		double before = now_ms();
		muster_spool_close(spool, graces[i]);
		ck_assert_double_ge(ms_of(joined_until) + 0.01, before + graces[i]);
		ck_assert_double_le(ms_of(joined_until) - 0.01, now_ms() + graces[i]);
	}
}

/* The thread may still write: its file and its memory are left to it. */
TEST(a_close_without_end_frees_nothing)
{
	static struct muster_spool *spool;
	spool = open_one(&header);
	join_fails = true;
	int before = dup(0);
	close(before);
	muster_spool_close(spool, 0);
	int after = dup(0);
	close(after);
	join_fails = false;
	ck_assert_int_eq(after, before);
	ck_assert_ptr_null(muster_spool_trouble(spool));
}

/* Two lines that together fill all the room there is, and with one byte more do not. */
TEST_LOOP(a_disk_that_hangs_holds_back_32_mib_and_no_more, 0, 2)
{
	static const char around[] = "\n{\"by\":\"0123456789abcdef\",\"t\":0.000,\n", little[] = "{\"a\": 1}";
	size_t length = (32 << 20) - 2 * strlen(around) - strlen(little) + 2 + (size_t)_i;
	char *large = malloc(length + 1);
	ck_assert_ptr_nonnull(large);
	memset(large, ' ', length);
	memcpy(large, "{\"b\": 1", 7);
	large[length - 1] = '}';
	large[length] = '\0';
	disk_hangs = true;
	struct muster_spool *spool = open_one(&header);
	wait_for_syncs(1);
	muster_spool_line(spool, little, strlen(little), false);
	muster_spool_line(spool, large, length, false);
	const char *trouble = muster_spool_trouble(spool);
	disk_hangs = false;
	if (_i == 0)
		ck_assert_ptr_null(trouble);
	else
		ck_assert_msg(trouble && strstr(trouble, "n1.jsonl: No buffer space available"), "%s", trouble);
	muster_spool_close(spool, 10000);
	struct stat status;
	ck_assert_int_eq(stat(in_folder("n1.jsonl"), &status), 0);
	ck_assert_int_eq(status.st_size > 32 << 20, _i == 0);
	free(large);
}

/* Room for a step of 640 bytes. */
TEST_LOOP(a_step_of_640_bytes_is_known_again, 0, 2)
{
	struct muster_spool *spool = open_one(&header);
	char text[700];
	int length = snprintf(text, sizeof text, "{\"step\":\"%0*d\"}", 640 - 11 + _i, 7);
	ck_assert_int_eq(length, 640 + _i);
	for (int i = 0; i < 2; i++)
		muster_spool_line(spool, text, (size_t)length, false);
	muster_spool_close(spool, 10000);
	size_t lines = 0;
	for (const char *at = file_text("n1.jsonl"); (at = strstr(at, "\"t\":")); at++)
		lines++;
	ck_assert_uint_eq(lines, _i == 0 ? 1 : 2);
}

TEST(no_spool_is_no_trouble)
{
	struct muster_run run;
	muster_run_init(&run);
	muster_spool_place(NULL, 0, 1);
	muster_spool_trials(NULL, &run);
	muster_spool_line(NULL, "{\"a\": 1}", 8, true);
	muster_spool_end(NULL, "");
	ck_assert_ptr_null(muster_spool_trouble(NULL));
	muster_spool_close(NULL, 0);
	muster_run_done(&run);
}

static void setup(void)
{
	folder_setup();
	syncs = sync_error = 0;
	disk_hangs = never_quiet = no_random = false;
	longest_quiet_ms = 0;
}

TEST_MAIN(.setup = setup, .teardown = folder_teardown, .timeout = 200)
