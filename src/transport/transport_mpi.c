/* transport_mpi.c - messages between supervisors; the only file that calls MPI */
#include "transport_mpi.h"

#include "util/leaks.h"
#include "util/text.h"
#include "muster/arena.h"
#include "transport/pmix_fence.h"
#include "transport/transport_socket.h"

#include <limits.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

enum { MESSAGE_MAX = 256 * 1024 * 1024 };

struct pending { /* on its way to a rank */
	MPI_Request request;
	int to;
	char *bytes;
	struct pending *next;
};

struct arriving { /* on its way from one; never whole when that one dies in the middle */
	struct muster_message message;
	enum { ON_ITS_WAY, WHOLE, LOST } state;
};

struct letter { /* to oneself */
	struct muster_message message;
	struct letter *next;
};

static int rank, size;
static bool alone; /* no MPI: one rank, or those that were started here */
static struct pending *outbox;
static struct { /* messages that have begun to arrive, in that order */
	struct arriving *items;
	MPI_Request *requests; /* of each */
	int *ended;            /* of MPI_Testsome: which have, and how */
	MPI_Status *statuses;
	int count, room;
} inbox;
static struct letter *own_first, **own_last = &own_first;

void muster_message_done(struct muster_message *message)
{
	free(message->bytes);
	*message = (struct muster_message){ 0 };
}

/* The user's choice wins: nothing is overwritten. */
static void keep_off_the_fabric(void)
{
	static const char *const settings[][2] = {
		{ "OMPI_MCA_pml", "ob1" },
		{ "OMPI_MCA_btl", "tcp,vader,self" },
		{ "OMPI_MCA_osc", "^ucx" },
		{ "OMPI_MCA_coll_hcoll_enable", "0" },
		{ "OMPI_MCA_btl_vader_single_copy_mechanism", "none" },
		{ "UCX_TLS", "tcp,self" },
		{ "HWLOC_HIDE_ERRORS", "2" },
	};
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		setenv(settings[i][0], settings[i][1], 0);
}

/* Rank 0 holds a connection to every rank. */
static void raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int number_in(const char *const *names, size_t count, int low, int otherwise)
{
	for (size_t i = 0; i < count; i++) {
		const char *text = getenv(names[i]);
		long number;
		struct muster_error err;
		if (text && muster_parse_int(text, low, INT_MAX, &number, names[i], &err) == 0)
			return (int)number;
	}
	return otherwise;
}

int muster_link_early_rank(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID" };
	return muster_local_size() ? muster_local_rank() : number_in(names, sizeof names / sizeof *names, 0, 0);
}

/* Started by nobody that MPI could ask, this is a job of one rank, and MPI is left alone: without a launcher MPI_Init
 * starts daemons or, inside a Slurm step with the wrong --mpi, ends the process. */
static bool launched(void)
{
	static const char *const signs[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PMI_FD" };
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (getenv(signs[i]))
			return true;
	return false;
}

int muster_link_early_size(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
		"SLURM_NTASKS" };
	int least = muster_link_early_rank() + 1;
	if (muster_local_size())
		return muster_local_size();
	return launched() ? number_in(names, sizeof names / sizeof *names, least, least) : 1;
}

int muster_link_open(int *argc, char ***argv, struct muster_error *err)
{
	size = 1;
	alone = muster_local_size() || !launched();
	if (muster_local_size()) {
		rank = muster_local_rank();
		size = muster_local_size();
	}
	if (alone)
		return 0;
	keep_off_the_fabric();
	raise_file_limit();
	/* MPI has hwloc look at the machine, and hwloc's plugins load vendor libraries and call an X server. Only for
	 * this call: a worker's hwloc must not inherit it, since it overrides HWLOC_XMLFILE. */
	bool plugins_off = !getenv("HWLOC_COMPONENTS");
	if (plugins_off)
		setenv("HWLOC_COMPONENTS", "-cuda,-nvml,-rsmi,-levelzero,-opencl,-gl", 1);
	int result = MPI_Init(argc, argv);
	if (plugins_off)
		unsetenv("HWLOC_COMPONENTS");
	if (result != MPI_SUCCESS)
		return muster_fail(err, MUSTER_EIO, "MPI_Init failed with code %d", result);
	muster_pmix_fence();
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	return 0;
}

int muster_link_rank(void)
{
	return rank;
}

int muster_link_size(void)
{
	return size;
}

static void reap_outbox(void)
{
	for (struct pending **at = &outbox; *at;) {
		struct pending *pending = *at;
		int done = 0;
		if (MPI_Test(&pending->request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
			at = &pending->next;
			continue;
		}
		*at = pending->next; /* sent, or undeliverable: either way it is over */
		free(pending->bytes);
		free(pending);
	}
}

void muster_link_send(int to, enum muster_tag tag, const char *bytes, size_t length)
{
	char *copy = muster_realloc(NULL, length + 1, 1);
	memcpy(copy, bytes, length);
	copy[length] = '\0';
	if (to == rank) {
		struct letter *letter = muster_calloc(1, sizeof *letter);
		letter->message = (struct muster_message){ .tag = tag, .from = rank, .bytes = copy, .length = length };
		*own_last = letter;
		own_last = &letter->next;
		return;
	}
	if (alone) {
		muster_local_send(to, tag, bytes, length);
		free(copy);
		return;
	}
	struct pending *pending = muster_calloc(1, sizeof *pending);
	pending->bytes = copy;
	pending->to = to;
	if (length > MESSAGE_MAX || MPI_Isend(copy, (int)length, MPI_BYTE, to, (int)tag, MPI_COMM_WORLD,
					    &pending->request) != MPI_SUCCESS) {
		free(copy);
		free(pending);
		return;
	}
	pending->next = outbox;
	outbox = pending;
}

static void drop_arriving(int i)
{
	inbox.count--;
	memmove(&inbox.items[i], &inbox.items[i + 1], (size_t)(inbox.count - i) * sizeof *inbox.items);
	memmove(&inbox.requests[i], &inbox.requests[i + 1], (size_t)(inbox.count - i) * sizeof *inbox.requests);
}

/* Note what has become whole, and forget what MPI has given up. */
static void look_at_inbox(void)
{
	int ended = 0;
	if (inbox.count == 0)
		return;
	bool all_well = MPI_Testsome(inbox.count, inbox.requests, &ended, inbox.ended, inbox.statuses) == MPI_SUCCESS;
	for (int e = 0; e < ended; e++)
		inbox.items[inbox.ended[e]].state =
			all_well || inbox.statuses[e].MPI_ERROR == MPI_SUCCESS ? WHOLE : LOST;
	for (int i = 0; i < inbox.count;) {
		if (inbox.items[i].state != LOST) {
			i++;
			continue;
		}
		muster_message_done(&inbox.items[i].message);
		drop_arriving(i);
	}
}

/* The first message that is whole and has none before it from the same rank. */
static bool take_arrived(struct muster_message *ret)
{
	look_at_inbox();
	for (int i = 0, before; i < inbox.count; i++) {
		if (inbox.items[i].state != WHOLE)
			continue;
		for (before = 0; inbox.items[before].message.from != inbox.items[i].message.from; before++)
			;
		if (before < i)
			continue;
		*ret = inbox.items[i].message;
		drop_arriving(i);
		return true;
	}
	return false;
}

/* A message that has been announced. Not received by a call that waits: a large one comes in several parts, and who
 * dies between them would hold us for ever. */
static void begin_to_receive(MPI_Message *handle, const MPI_Status *status)
{
	int length = 0;
	MPI_Get_count(status, MPI_BYTE, &length);
	if (inbox.count == inbox.room) {
		inbox.room = inbox.room ? 2 * inbox.room : 16;
		inbox.items = muster_realloc(inbox.items, (size_t)inbox.room, sizeof *inbox.items);
		inbox.requests = muster_realloc(inbox.requests, (size_t)inbox.room, sizeof *inbox.requests);
		inbox.ended = muster_realloc(inbox.ended, (size_t)inbox.room, sizeof *inbox.ended);
		inbox.statuses = muster_realloc(inbox.statuses, (size_t)inbox.room, sizeof *inbox.statuses);
	}
	char *bytes = muster_realloc(NULL, (size_t)length + 1, 1);
	bytes[length] = '\0';
	if (MPI_Imrecv(bytes, length, MPI_BYTE, handle, &inbox.requests[inbox.count]) != MPI_SUCCESS) {
		free(bytes);
		return;
	}
	inbox.items[inbox.count++] = (struct arriving){
		.message = {
			.tag = (enum muster_tag)status->MPI_TAG,
			.from = status->MPI_SOURCE,
			.bytes = bytes,
			.length = (size_t)length,
		},
	};
}

bool muster_link_receive(struct muster_message *ret)
{
	if (own_first) {
		struct letter *letter = own_first;
		own_first = letter->next;
		if (!own_first)
			own_last = &own_first;
		*ret = letter->message;
		free(letter);
		return true;
	}
	if (alone)
		return muster_local_receive(ret);
	int there = 1;
	MPI_Message handle;
	MPI_Status status;
	while (!take_arrived(ret)) {
		if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &handle, &status) != MPI_SUCCESS ||
			!there) {
			reap_outbox(); /* once for each round of messages, not for each message */
			return false;
		}
		begin_to_receive(&handle, &status);
	}
	return true;
}

bool muster_link_owes(int to)
{
	const struct pending *pending = outbox;
	while (pending && pending->to != to)
		pending = pending->next;
	return pending != NULL;
}

static volatile sig_atomic_t exit_code_at_hand;
static char last_words[128]; /* "": nothing needs to be said */

static void leave_now(int signal_number)
{
	(void)signal_number;
	ssize_t said = write(STDERR_FILENO, last_words, strlen(last_words));
	(void)said;
	_exit(exit_code_at_hand);
}

static void leave_in(double milliseconds, int exit_code)
{
	long whole = milliseconds < 1 ? 1 : (long)milliseconds;
	struct sigaction action = { .sa_handler = leave_now };
	struct itimerval timer = { .it_value = { .tv_sec = whole / 1000, .tv_usec = whole % 1000 * 1000 } };
	exit_code_at_hand = exit_code;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

void muster_link_limit(double until_ms, int exit_code)
{
	snprintf(last_words, sizeof last_words,
		"muster: rank %d: it has not come to its end, long after the run's deadline: given up\n", rank);
	leave_in(until_ms - muster_now_ms(), exit_code);
}

_Noreturn void muster_link_exit(int exit_code, int grace_ms, int finalize_ms)
{
	double until = muster_now_ms() + grace_ms;
	while (outbox && muster_now_ms() < until) {
		reap_outbox();
		poll(NULL, 0, 1);
	}
	last_words[0] = '\0';
	leave_in(finalize_ms, exit_code);
	fflush(NULL);
	muster_leaks_check();
	if (alone)
		muster_local_end(grace_ms < finalize_ms / 2 ? finalize_ms / 2 : grace_ms);
	else
		MPI_Finalize();
	_exit(exit_code);
}
