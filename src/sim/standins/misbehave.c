/* SPDX-License-Identifier: Apache-2.0 */
/* misbehave.c - a stand-in that misbehaves on purpose
 *
 * Nothing here is a stub of a misbehaviour: the process really crashes, hangs or floods its supervisor.
 *
 * Where a fault acts:
 *
 *   1. worker_env.c puts the rank's texts ("cuInit:segv nvmlInit_v2:18"; fault_misbehave.h) into MUSTER_SIM_DIES.
 *   2. The compiler calls __cyg_profile_func_enter() at the entry of each function of the stand-ins' files that export
 *      functions. The hook looks the function's name up, and counts the call if a text names the function.
 *   3. In the call that counts, misbehave() acts at once, before the function does anything. A code or a time is only
 *      noted for the thread: the function itself asks for it by muster_standin_answer(), takes the time and returns.
 *
 * Each stand-in library has a copy of this file and of its state; a function is in one library, so its calls are
 * counted in one place. "dlopen:SONAME" comes from preload.c by muster_standin_loads().
 */
#include "sim/standins/base.h"

#include "muster/arena.h"
#include "worker/protocol.h"
#include "sim/fault_misbehave.h"
#include "util/env.h"
#include "util/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define FLOOD_BYTES (100 * 1000 * 1000)
#define OOM_MIB 16 /* more than this is refused: the machine of the simulation has other work to do */

/* The compiler inserts calls of it into the stand-ins. */
void __cyg_profile_func_enter(void *function, void *caller) __attribute__((visibility("hidden")));
void __cyg_profile_func_exit(void *function, void *caller) __attribute__((visibility("hidden")));

static void wait_ms(long ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		;
}

static _Noreturn void hang(void)
{
	for (;;)
		wait_ms(1000000);
}

static _Noreturn void spin(void)
{
	for (volatile unsigned int turns = 0;;)
		turns = turns + 1;
}

/* The signal itself, whatever handler there is. */
static void take_signal(int number)
{
	signal(number, SIG_DFL);
	raise(number);
}

static _Noreturn void ignore_signals(void)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	hang();
}

/* The parent of a process that another one traces is not told of its end until the tracer has looked: to the
 * supervisor, that is a process which outlives SIGKILL. The tracer goes when the supervisor has gone. */
static _Noreturn void be_unkillable(void)
{
	pid_t self = getpid(), supervisor = getppid();
	int ready[2];
	char traced = 0;
	if (pipe2(ready, O_CLOEXEC) < 0)
		muster_standin_end("pipe: %s", strerror(errno));
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* needed, and known, where the kernel has Yama */
	pid_t tracer = fork();
	if (tracer < 0)
		muster_standin_end("fork: %s", strerror(errno));
	if (tracer == 0) {
		traced = ptrace(PTRACE_SEIZE, self, NULL, NULL) == 0;
		if (write(ready[1], &traced, 1) == 1 && traced)
			while (kill(supervisor, 0) == 0)
				wait_ms(50);
		_exit(0);
	}
	if (read(ready[0], &traced, 1) != 1 || !traced)
		muster_standin_end("this machine lets no process trace another one");
	hang();
}

/* What a C++ library does when memory has run out. */
static _Noreturn void run_out_of_memory(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%ld", &pages) != 1)
		muster_standin_end("/proc/self/statm cannot be read");
	fclose(file);
	rlim_t limit = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + OOM_MIB * MIB;
	setrlimit(RLIMIT_AS, &(struct rlimit){ limit, limit });
	char *memory;
	while ((memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED)
		memset(memory, 1, MIB);
	static const char last_words[] = "terminate called after throwing an instance of 'std::bad_alloc'\n";
	(void)!write(STDERR_FILENO, last_words, sizeof last_words - 1);
	take_signal(SIGABRT);
	hang();
}

/* So that a test can show that leaks are found. */
static void leak(void)
{
	char *volatile lost = malloc(4321);
	if (lost)
		lost[0] = 1;
	lost = NULL;
}

/* So that a test can show that bad reads are found. */
static void overread(void)
{
	volatile size_t behind = 4321;
	char *block = malloc(behind);
	if (block)
		(void)*(volatile char *)(block + behind);
	free(block);
}

/* Write text repeatedly, until total bytes have been written or the reader is gone. */
static void pour(int fd, const char *text, size_t length, size_t total)
{
	static char many[65536];
	size_t room = sizeof many / length * length;
	for (size_t at = 0; at < room; at += length)
		memcpy(many + at, text, length);
	for (size_t written = 0; written < total;) {
		size_t from = written % room, left = total - written;
		ssize_t got = write(fd, many + from, left < room - from ? left : room - from);
		if (got < 0 && errno != EINTR)
			return;
		written += got > 0 ? (size_t)got : 0;
	}
}

#define POUR(fd, text, total) pour(fd, text, sizeof(text) - 1, total)

/* The results go nowhere, and the supervisor sees their end. */
static void fall_silent(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, MUSTER_WORKER_RESULTS) < 0)
		muster_standin_end("/dev/null: %s", strerror(errno));
	close(null);
}

/* What fault_misbehave.h says of each word. Some return, and the call then goes on as if nothing had happened. What the
 * simulated kernel logs "now" is logged before, because the process may not live on. */
static void misbehave(enum muster_sim_how how)
{
	static const char line[] = "a vendor library has a lot to say, and this is one of its lines\n";
	static const char step[] = "{\"step\":\"a vendor library writes to a descriptor that is not its own\"}\n";
	static const char garbage[] = "\x7f\xff\x01{]\x1b[31m a vendor library's own log\n";
	static const char half[] = "{\"sample\":{\"metric\":\"gpu.h2d_gbps\",\"val";
	muster_standin_log_now();
	switch (how) {
	case MUSTER_SIM_DIES_SEGV: take_signal(SIGSEGV); break;
	case MUSTER_SIM_DIES_BUS: take_signal(SIGBUS); break;
	case MUSTER_SIM_DIES_ABORT: take_signal(SIGABRT); break;
	case MUSTER_SIM_DIES_KILL: take_signal(SIGKILL); break;
	case MUSTER_SIM_DIES_STOP: take_signal(SIGSTOP); break;
	case MUSTER_SIM_DIES_EXIT: exit(0);
	case MUSTER_SIM_DIES_OOM: run_out_of_memory();
	case MUSTER_SIM_DIES_HANG: hang();
	case MUSTER_SIM_DIES_SPIN: spin();
	case MUSTER_SIM_DIES_IGNORE_TERM: ignore_signals();
	case MUSTER_SIM_DIES_UNKILLABLE: be_unkillable();
	case MUSTER_SIM_DIES_GARBAGE: POUR(MUSTER_WORKER_RESULTS, garbage, sizeof garbage - 1); break;
	case MUSTER_SIM_DIES_HALF_LINE: POUR(MUSTER_WORKER_RESULTS, half, sizeof half - 1); break;
	case MUSTER_SIM_DIES_FLOOD: POUR(MUSTER_WORKER_RESULTS, step, FLOOD_BYTES); break;
	case MUSTER_SIM_DIES_LONG_LINE: POUR(MUSTER_WORKER_RESULTS, "x", FLOOD_BYTES); break;
	case MUSTER_SIM_DIES_SILENCE: fall_silent(); break;
	case MUSTER_SIM_DIES_STDOUT:
		POUR(STDOUT_FILENO, line, MIB);
		POUR(STDERR_FILENO, line, MIB);
		break;
	case MUSTER_SIM_DIES_LEAK: leak(); break;
	case MUSTER_SIM_DIES_OVERREAD: overread(); break;
	case MUSTER_SIM_DIES_CHATTER:
		for (;;)
			POUR(STDOUT_FILENO, line, MIB);
	case MUSTER_SIM_RETURNS:
	case MUSTER_SIM_WAITS: break;
	}
}

/* -- when -- */

static struct {
	pthread_once_t once;
	struct muster_sim_misbehaviour *deaths;
	atomic_long *calls; /* so far, of each */
	size_t count;
} script = { .once = PTHREAD_ONCE_INIT };

static void read_script(void)
{
	const char *given = muster_env(MUSTER_ENV_SIM_DIES);
	char *text = given ? strdup(given) : NULL, *rest = text, *word;
	struct muster_error err;
	size_t room = text ? strlen(text) / 2 + 1 : 0;
	if (!text)
		return;
	script.deaths = muster_calloc(room, sizeof *script.deaths);
	script.calls = muster_calloc(room, sizeof *script.calls);
	while ((word = strsep(&rest, " ")) != NULL)
		if (*word && muster_sim_misbehaviour_parse(word, &script.deaths[script.count++], &err) < 0)
			muster_standin_end("MUSTER_SIM_DIES: %s", err.text);
	free(text);
}

/* Whether a fault is set. Unknown before the C library has the environment: a sanitizer that starts earlier makes
 * its first calls then. */
static bool has_script(void)
{
	if (!environ)
		return false;
	pthread_once(&script.once, read_script);
	return script.count > 0;
}

/* What the call that a thread is in has to return, and how long it has to take; NULL: nothing special. */
static _Thread_local const struct muster_sim_misbehaviour *returns, *waits;

/* The function of a text is entered: misbehave, or note what the call has to return or how long it takes, if this call
 * counts. */
static void reach(size_t index)
{
	const struct muster_sim_misbehaviour *death = &script.deaths[index];
	if (atomic_fetch_add(&script.calls[index], 1) + 1 != death->call && death->call != 0)
		return;
	if (death->how == MUSTER_SIM_RETURNS)
		returns = death;
	else if (death->how == MUSTER_SIM_WAITS)
		waits = death;
	else
		misbehave(death->how);
}

/* What the thread's call has to return, or how long it takes, if that is about this GPU. A text with a bus id stays
 * until the GPU is known (bus_id not NULL), and is gone after that question, whatever the GPU. NULL: nothing special.
 */
static const struct muster_sim_misbehaviour *take(const struct muster_sim_misbehaviour **from, const char *bus_id)
{
	const struct muster_sim_misbehaviour *taken = *from;
	if (!taken || (*taken->bus_id && !bus_id))
		return NULL;
	*from = NULL;
	return !*taken->bus_id || strcmp(taken->bus_id, bus_id) == 0 ? taken : NULL;
}

/* On both clocks. Tests shorten the real one as they shorten the deadlines of the supervisor, which waits for it. */
static void pass(double seconds)
{
	const char *text = muster_env(MUSTER_ENV_TEST_TIME_SCALE);
	double scale = 1;
	if (text)
		muster_parse_double(text, &scale, "", NULL);
	muster_standin_host_wait_until(muster_standin_host_now() + seconds);
	wait_ms((long)(seconds * scale * 1e3));
}

int muster_standin_answer(const char *bus_id)
{
	const struct muster_sim_misbehaviour *late = take(&waits, bus_id), *code = take(&returns, bus_id);
	if (late)
		pass(late->seconds);
	return code ? code->code : 0;
}

/* Functions that are not exported have no name here. A name is slow to find: functions that no text names are
 * remembered, by their addresses, each in one place of the table. What an earlier call has left noted for the thread is
 * forgotten when a named function is entered.
 */
void __cyg_profile_func_enter(void *function, void *caller)
{
	static _Atomic(void *) idle[1024];
	_Atomic(void *) *seen = &idle[((uintptr_t)function >> 4) % (sizeof idle / sizeof *idle)];
	Dl_info info;
	bool wanted = false;
	(void)caller;
	if (!has_script() || atomic_load(seen) == function)
		return;
	bool named = dladdr(function, &info) && info.dli_sname && info.dli_saddr == function;
	for (size_t i = 0; named && i < script.count; i++) {
		if (strcmp(script.deaths[i].function, info.dli_sname) != 0)
			continue;
		if (!wanted)
			returns = waits = NULL;
		wanted = true;
		reach(i);
	}
	if (!wanted)
		atomic_store(seen, function);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)function, (void)caller;
}

void muster_standin_loads(const char *file)
{
	size_t prefix = strlen(MUSTER_SIM_DLOPEN);
	for (size_t i = 0; has_script() && i < script.count; i++)
		if (strncmp(script.deaths[i].function, MUSTER_SIM_DLOPEN, prefix) == 0 &&
			muster_sim_is_library(file, script.deaths[i].function + prefix))
			reach(i);
}
