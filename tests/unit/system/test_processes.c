/* SPDX-License-Identifier: Apache-2.0 */
/* test_processes.c - the processes of a small /proc */
#include "check_main.h"
#include "unit/system/tree.h"
#include "system/processes.h"
#include "muster/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct muster_error err;

static struct muster_processes processes;

static void setup(void)
{
	tree_make();
	ck_assert_int_eq(chdir(root), 0);
	ck_assert_int_eq(mkdir("proc", 0777), 0);
}

static void teardown(void)
{
	muster_processes_done(&processes);
	ck_assert_int_eq(chdir("/"), 0);
	tree_remove();
}

/* A process; text: of its comm file, NULL: without one. */
static void put_process(const char *pid, const char *text)
{
	char path[128];
	snprintf(path, sizeof path, "proc/%s/comm", pid);
	in_tree(path);
	if (text)
		put(path, text);
}

TEST(processes_come_by_pid_and_have_their_names)
{
	put_process("1", "systemd\n");
	put_process("2", "kthreadd\n");
	put_process("900", "nv-fabricmanage\n");
	put_process("88", "a b\n");
	put_process("self", "muster\n");
	put_process("12x", "muster\n");
	put_process("77", NULL); /* ended meanwhile */
	ck_assert_msg(muster_processes_list(root, 10000, &processes, &err) == 0, "%s", err.text);
	ck_assert(processes.complete);
	ck_assert_uint_eq(processes.count, 4);
	ck_assert_int_eq(processes.items[2].pid, 88);
	ck_assert_str_eq(processes.items[2].name, "a b");
	ck_assert_ptr_eq(muster_processes_find(&processes, "nv-fabricmanager"), &processes.items[3]);
	ck_assert_ptr_eq(muster_processes_find(&processes, "systemd"), &processes.items[0]);
	ck_assert_ptr_null(muster_processes_find(&processes, "system"));
	ck_assert_ptr_null(muster_processes_find(&processes, "nvidia-imex"));
}

TEST(threads_of_the_kernel_are_left_out)
{
	put_process("2", "kthreadd\n");
	put_process("3", "nvidia-imex\n");
	put_process("40", "nvidia-imex\n");
	put_process("4", "kworker\n");
	ck_assert_int_eq(mkdir("proc/2/task", 0777), 0);
	ck_assert_int_eq(mkdir("proc/2/task/2", 0777), 0);
	FILE *out = fopen("proc/2/task/2/children", "we");
	ck_assert_ptr_nonnull(out);
	fputs("4 3 ", out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_msg(muster_processes_list(root, 10000, &processes, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(processes.count, 2);
	ck_assert_int_eq(muster_processes_find(&processes, "nvidia-imex")->pid, 40);
}

TEST(the_time_bounds_the_list)
{
	put_process("2", "kthreadd\n");
	put_process("3", "a\n");
	put_process("4", "b\n");
	ck_assert_msg(muster_processes_list(root, 0, &processes, &err) == 0, "%s", err.text);
	ck_assert(!processes.complete);
	ck_assert_uint_lt(processes.count, 3);
}

static const struct {
	const char *pid, *name;
} views[] = {
	{ "1", "systemd\n" },    /* hidepid=2: only what one may look at */
	{ "2", NULL },           /* hidepid=1: without what is in it */
	{ "2", "sleep\n" },      /* a process namespace of its own */
	{ "2", "kthreadder\n" }, /* not the kernel's */
};

TEST_EACH(a_part_of_the_processes_is_no_list, views)
{
	put_process(views[_i].pid, views[_i].name);
	ck_assert_int_eq(muster_processes_list(root, 10000, &processes, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ENOTSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "/proc does not show all processes"));
}

TEST(without_proc_there_is_no_list)
{
	ck_assert_int_eq(rmdir("proc"), 0);
	ck_assert_int_eq(muster_processes_list(root, 10000, &processes, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "/proc: No such file or directory"));
}

TEST_MAIN(.setup = setup, .teardown = teardown)
