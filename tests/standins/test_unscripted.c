/* SPDX-License-Identifier: Apache-2.0 */
/* test_unscripted.c - a stand-in that is loaded outside a simulation says so and ends the process
 */
#include "standins/example.h"

#include "check_main.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* First calls of each library; all of them take at most one argument that may be NULL or 0. */
static const struct {
	const char *soname, *function;
} calls[] = {
	{ "libcuda.so.1", "cuInit" },
	{ "libnvidia-ml.so.1", "nvmlInit_v2" },
	{ "libnccl.so.2", "ncclGetUniqueId" },
	{ "libibverbs.so.1", "ibv_get_device_list" },
};

static void broken_file(const char *text)
{
	FILE *file = fopen(getenv("MUSTER_SIM_CLUSTER"), "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static void no_cluster(void)
{
	unsetenv("MUSTER_SIM_CLUSTER");
}

static void no_rank(void)
{
	unsetenv("MUSTER_SIM_RANK");
}

static void rank_too_high(void)
{
	setenv("MUSTER_SIM_RANK", "8", 1);
}

static void rank_with_a_tail(void)
{
	setenv("MUSTER_SIM_RANK", "1x", 1);
}

static void no_file(void)
{
	setenv("MUSTER_SIM_CLUSTER", "/nonexistent/cluster.json", 1);
}

static void cut_file(void)
{
	broken_file("{ \"sku\": ");
}

static void unknown_key(void)
{
	broken_file("{ \"skew\": \"x\" }");
}

static void unknown_function(void)
{
	static const char *names[] = { "nvmlDeviceGetMood" };
	struct muster_sim_cluster *cluster = example_cluster();
	cluster->nodes[0].gpus[1].unsupported = names;
	cluster->nodes[0].gpus[1].unsupported_count = 1;
	ck_assert_int_eq(muster_sim_cluster_write(cluster, getenv("MUSTER_SIM_CLUSTER"), NULL), 0);
}

static const struct {
	void (*spoil)(void);
	const char *says;
	const char *soname; /* NULL: each of them finds it */
} faults[] = {
	{ no_cluster, "MUSTER_SIM_CLUSTER is not set", NULL },
	{ no_rank, "MUSTER_SIM_RANK", NULL },
	{ rank_too_high, "MUSTER_SIM_RANK", NULL },
	{ rank_with_a_tail, "MUSTER_SIM_RANK", NULL },
	{ no_file, "/nonexistent/cluster.json", NULL },
	{ cut_file, "line 1", NULL },
	{ unknown_key, "skew", NULL },
	{ unknown_function, "nvmlDeviceGetMood", "libnvidia-ml.so.1" },
};

#define FAULTS (sizeof faults / sizeof *faults)

static void start(void)
{
	example_start(example_cluster(), 0);
}

static void call(const char *soname, const char *name)
{
	int (*function)(void *);
	char room[256];
	example_find(example_open(soname), name, &function, sizeof function);
	function(strcmp(name, "cuInit") == 0 ? NULL : room);
}

TEST_LOOP(it_says_what_is_missing_and_exits_with_70, 0, (int)(sizeof calls / sizeof *calls * FAULTS))
{
	size_t which = (size_t)_i / FAULTS, fault = (size_t)_i % FAULTS;
	int ends[2], status;
	char said[4096] = "";
	if (faults[fault].soname && strcmp(faults[fault].soname, calls[which].soname) != 0)
		return;
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		faults[fault].spoil();
		call(calls[which].soname, calls[which].function);
		_exit(0);
	}
	close(ends[1]);
	for (size_t length = 0; length < sizeof said - 1;) {
		ssize_t got = read(ends[0], said + length, sizeof said - 1 - length);
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	close(ends[0]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 70, "status %#x: %s", (unsigned)status, said);
	ck_assert_msg(strncmp(said, "muster stand-in: ", 17) == 0 && strstr(said, faults[fault].says), "%s", said);
}

TEST_MAIN(.setup = start, .teardown = example_end)
