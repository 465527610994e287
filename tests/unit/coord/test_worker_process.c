/* SPDX-License-Identifier: Apache-2.0 */
/* test_worker_process.c - a worker process that starts, or does not, and what is known of it afterwards */
#include "coord/worker_process.h"
#include "worker/protocol.h"

#include "check_main.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct muster_worker_ops *ops = &muster_worker_process_ops;

static int begin(struct muster_worker_process *proc, const char *program, struct muster_error *err)
{
	muster_worker_process_init(proc, program);
	return ops->start(proc, err);
}

static bool finish(struct muster_worker_process *proc, int grace_ms, char *ret_how, size_t size)
{
	bool by_itself = ops->end(proc, grace_ms, ret_how, size);
	muster_worker_process_done(proc);
	return by_itself;
}

/* Start the program and wait until it is gone. What it printed last and how it ended. */
static void run(const char *program, char said[256], char how[64])
{
	struct muster_worker_process proc;
	struct muster_error err = { 0 };
	const char *line;
	size_t length;
	int state;
	ck_assert_int_eq(begin(&proc, program, &err), 0);
	while ((state = ops->next_line(&proc, &line, &length, &err)) == 0) {
		struct pollfd results = { .fd = proc.results, .events = POLLIN };
		poll(&results, 1, -1);
	}
	ck_assert_int_eq(state, 1);
	finish(&proc, 1000, how, 64);
	ops->last_output(&proc, said, 256);
}

static const char *last_of(char *const *environment)
{
	while (environment[1])
		environment++;
	return *environment;
}

TEST(hwloc_leaves_out_the_plugins_that_open_drivers)
{
	struct muster_worker_process proc;
	unsetenv("HWLOC_PLUGINS_BLACKLIST");
	muster_worker_process_init(&proc, "program");
	ck_assert_ptr_nonnull(strstr(last_of(proc.environment), "HWLOC_PLUGINS_BLACKLIST=hwloc_cuda.so,"));
	muster_worker_process_done(&proc);
	setenv("HWLOC_PLUGINS_BLACKLIST", "the-users.so", 1);
	muster_worker_process_init(&proc, "program");
	ck_assert_ptr_null(strstr(last_of(proc.environment), "hwloc_cuda.so"));
	muster_worker_process_done(&proc);
	unsetenv("HWLOC_PLUGINS_BLACKLIST");
}

/* NCCL's and cuBLASLt's kernels may have to be compiled for a GPU that is newer than they are: a minute, once. */
TEST(the_drivers_cache_of_compiled_kernels_is_the_users)
{
	struct muster_worker_process proc;
	muster_worker_process_init(&proc, "program");
	for (char **entry = proc.environment; *entry; entry++)
		ck_assert_ptr_null(strstr(*entry, "CUDA_CACHE_DISABLE"));
	muster_worker_process_done(&proc);
}

TEST(a_program_that_the_kernel_does_not_run_is_not_given_to_a_shell)
{
	char folder[] = "/tmp/muster-proc-XXXXXX", program[64], trace[64], expected[256], said[256], how[64];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(program, sizeof program, "%s/program", folder);
	snprintf(trace, sizeof trace, "%s/trace", folder);
	FILE *out = fopen(program, "w");
	ck_assert_ptr_nonnull(out);
	fprintf(out, "echo a shell was here >%s\n", trace);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(chmod(program, 0755), 0);

	run(program, said, how);
	snprintf(expected, sizeof expected, "%s: Exec format error", program);
	ck_assert_str_eq(said, expected);
	ck_assert_str_eq(how, "exit status 127");
	ck_assert_int_ne(access(trace, F_OK), 0);
	unlink(program);
	rmdir(folder);
}

TEST(the_words_of_the_wrapper_come_before_the_program)
{
	char said[256], how[64];
	setenv("MUSTER_WORKER_WRAPPER", "  echo\tone  two ", 1);
	run("/somewhere/muster", said, how);
	ck_assert_str_eq(said, "one two /somewhere/muster worker");
	ck_assert_str_eq(how, "exit status 0");
}

/* What a worker printed: only its last line, without the spaces behind it, and with no control characters. */
TEST_LOOP(the_last_line_of_the_output_is_kept, 0, 3)
{
	static const struct {
		const char *wrapper, *said;
	} cases[] = {
		{ "sh -c printf${IFS}'one\\ntwo\\a\\033three\\177\\040~!\\n\\n\\040\\040\\n'", "two  three  ~!" },
		{ "sh -c printf${IFS}'\\n\\n'", "" },
		{ "sh -c printf${IFS}'a\\bc\\tdefg'", "a c defg" },
	};
	char said[256], how[64];
	setenv("MUSTER_WORKER_WRAPPER", cases[_i].wrapper, 1);
	run("", said, how);
	ck_assert_str_eq(said, cases[_i].said);
}

TEST(a_command_that_was_sent_is_no_error)
{
	struct muster_worker_process proc;
	struct muster_error err = { 0 };
	const char *line = NULL;
	size_t length;
	char how[64];
	setenv("MUSTER_WORKER_WRAPPER", "sh -c read${IFS}a<&3;echo${IFS}$a>&4", 1);
	ck_assert_int_eq(begin(&proc, "/somewhere/muster", &err), 0);
	ck_assert_int_eq(ops->next_line(&proc, &line, &length, &err), 0);
	ck_assert_ptr_null(line);
	ck_assert_int_eq(ops->send(&proc, "hello", 5, &err), 0);
	while (!line) {
		struct pollfd results = { .fd = ops->fd(&proc), .events = POLLIN };
		poll(&results, 1, -1);
		ck_assert_int_eq(ops->next_line(&proc, &line, &length, &err), 0);
	}
	ck_assert_str_eq(line, "hello");
	ck_assert_uint_eq(length, 5);
	finish(&proc, 1000, how, sizeof how);
}

TEST(a_wrapper_that_is_not_there_is_named)
{
	char said[256], how[64];
	setenv("MUSTER_WORKER_WRAPPER", "no-such-wrapper --quiet", 1);
	run("/somewhere/muster", said, how);
	ck_assert_str_eq(said, "no-such-wrapper: No such file or directory");
	ck_assert_str_eq(how, "exit status 127");
}

TEST(how_a_worker_ended_is_known_when_whoever_started_us_ignores_sigchld)
{
	char said[256], how[64];
	signal(SIGCHLD, SIG_IGN);
	setenv("MUSTER_WORKER_WRAPPER", "sh -c kill${IFS}-SEGV${IFS}$$", 1);
	run("/somewhere/muster", said, how);
	ck_assert_str_eq(how, "signal 11 (Segmentation fault)");
}

TEST(before_its_start_a_worker_has_no_descriptors)
{
	struct muster_worker_process proc;
	struct muster_error err = { 0 };
	char how[64];
	const char *line;
	size_t length;
	muster_worker_process_init(&proc, "/somewhere/muster");
	ck_assert_int_eq(ops->fd(&proc), -1);
	ck_assert_int_eq(ops->send(&proc, "{}", 2, &err), -1);
	ck_assert_str_eq(err.text, "the worker closed its command pipe");
	ck_assert_int_eq(ops->next_line(&proc, &line, &length, &err), 1);
	ck_assert_ptr_null(line);
	ops->read_output(&proc);
	ops->quit(&proc, 1000);
	ck_assert(!finish(&proc, 1000, how, sizeof how));
	ck_assert_str_eq(how, "not running");
	for (int fd = 0; fd < 3; fd++)
		ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
}

/* A process without standard input gets its descriptor for a pipe. */
TEST(descriptor_0_is_one_like_others)
{
	char said[256], how[64];
	int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	setenv("MUSTER_WORKER_WRAPPER", "true", 1);
	close(STDIN_FILENO);
	run("/somewhere/muster", said, how);
	bool left = fcntl(STDIN_FILENO, F_GETFD) >= 0;
	dup2(kept, STDIN_FILENO);
	close(kept);
	ck_assert(!left);
	ck_assert_str_eq(how, "exit status 0");
}

static int open_descriptors(void)
{
	int count = 0;
	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* In a process that may have no child. */
static int start_without_processes(void)
{
	struct muster_worker_process proc;
	struct muster_error err = { 0 };
	struct rlimit none = { 0, 0 };
	int before = open_descriptors();
	if (setrlimit(RLIMIT_NPROC, &none) < 0 || (getuid() == 0 && setuid(65534) < 0))
		return 1;
	if (begin(&proc, "/somewhere/muster", &err) == 0)
		return 2;
	if (strcmp(err.text, "cannot start the worker: /somewhere/muster: fork: Resource temporarily unavailable") != 0)
		return 3;
	return open_descriptors() == before ? 0 : 4;
}

TEST(a_worker_that_cannot_be_started_leaves_no_descriptors)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(start_without_processes());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}

/* -- this program as a worker that does not behave -- */

static int be_worker(void)
{
	const char *how = getenv("MUSTER_TEST_WORKER");
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (write(MUSTER_WORKER_RESULTS, "here\n", 5) != 5)
		return 1;
	while (how && strcmp(how, "chatters") == 0)
		if (write(STDERR_FILENO, "and another one\n", 16) < 0)
			return 1;
	for (;;)
		pause();
}

/* Start it so, and wait until it has said that it is there. */
static void start(struct muster_worker_process *proc, const char *how)
{
	struct muster_error err = { 0 };
	const char *line = NULL;
	size_t length;
	setenv("MUSTER_TEST_WORKER", how, 1);
	ck_assert_int_eq(begin(proc, "/proc/self/exe", &err), 0);
	while (!line) {
		struct pollfd results = { .fd = proc->results, .events = POLLIN };
		poll(&results, 1, -1);
		ck_assert_int_eq(ops->next_line(proc, &line, &length, &err), 0);
	}
	ck_assert_str_eq(line, "here");
}

/* A process that traces another one, so that the other's parent is not told of its end. */
static pid_t trace(pid_t other)
{
	int ready[2];
	char traced = 0;
	ck_assert_int_eq(pipe(ready), 0);
	pid_t tracer = fork();
	if (tracer == 0) {
		traced = ptrace(PTRACE_SEIZE, other, NULL, NULL) == 0;
		if (write(ready[1], &traced, 1) == 1)
			pause();
		_exit(0);
	}
	ck_assert_int_eq(read(ready[0], &traced, 1), 1);
	ck_assert_msg(traced, "this machine lets no process trace another one");
	close(ready[0]);
	close(ready[1]);
	return tracer;
}

TEST_WITH(one_that_cannot_be_reaped_is_abandoned_and_our_ends_of_its_pipes_are_closed, .end = 1, .not_emulated = true)
{
	struct muster_worker_process proc;
	char how[64];
	start(&proc, "waits");
	pid_t worker = proc.pid, tracer = trace(worker);
	int ends[] = { proc.commands, proc.results, proc.noise };
	ck_assert(!finish(&proc, 50, how, sizeof how));
	ck_assert_str_eq(how, "could not be killed (uninterruptible), abandoned");
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_lt(fcntl(ends[i], F_GETFD), 0);
	kill(tracer, SIGKILL);
	ck_assert_int_eq(waitpid(tracer, NULL, 0), tracer);
	ck_assert_int_eq(waitpid(worker, NULL, 0), worker); /* now it is gone */
}

TEST_WITH(one_that_blocks_every_signal_is_killed, .end = 1, .not_emulated = true)
{
	struct muster_worker_process proc;
	char how[64];
	start(&proc, "waits");
	ck_assert(!finish(&proc, 60000, how, sizeof how));
	ck_assert_str_eq(how, "killed");
}

TEST_WITH(one_that_never_stops_printing_is_not_read_for_ever, .end = 1, .not_emulated = true)
{
	struct muster_worker_process proc;
	char how[64], said[256];
	start(&proc, "chatters");
	for (int i = 0; i < 100; i++) {
		struct pollfd noise = { .fd = proc.noise, .events = POLLIN };
		poll(&noise, 1, -1);
		ops->read_output(&proc);
	}
	finish(&proc, 60000, how, sizeof how);
	ck_assert_str_eq(how, "killed");
	ck_assert_str_eq(ops->last_output(&proc, said, sizeof said), "and another one");
}

TEST_WITH(one_that_does_not_listen_does_not_stop_us, .end = 1, .not_emulated = true)
{
	struct muster_worker_process proc;
	struct muster_error err = { 0 };
	char how[64];
	static char command[4 << 20]; /* more than any pipe has room for */
	start(&proc, "waits");
	ck_assert_int_eq(ops->send(&proc, command, sizeof command, &err), -1);
	ck_assert_str_eq(err.text, "the worker closed its command pipe");
	finish(&proc, 60000, how, sizeof how);
}

static void act_as_worker(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "worker") == 0)
		exit(be_worker());
}

TEST_MAIN(.timeout = 200, .begin = act_as_worker)
