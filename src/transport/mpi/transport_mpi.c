/* SPDX-License-Identifier: Apache-2.0 */
/* transport_mpi.c - messages over MPI: the only file that calls it
 *
 * A module of its own (transport/module.h). Point to point only, nothing blocks.
 *
 *   send      MPI_Isend → outbox → MPI_Test says that it is sent → its bytes are freed
 *   receive   MPI_Improbe announces a message → MPI_Imrecv → inbox → MPI_Testsome says that it is whole → handed on
 *   wait      poll(2) on the worker's pipe for a few milliseconds: MPI has no descriptor to poll
 */
#include "transport/mpi/failures.h"
#include "transport/mpi/pmix_fence.h"
#include "transport/interfaces.h"
#include "transport/module.h"

#include "muster/arena.h"
#include "util/env.h"
#include "util/text.h"

#include <dlfcn.h>
#include <libgen.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
	POLL_MS = 2,        /* between looks at MPI, which has nothing to sleep on: while there is traffic ... */
	POLL_MOST_MS = 20,  /* ... and after a long silence ... */
	POLL_SHARE = 50,    /* ... of which a look is this part: so much later a message is noticed at most */
	BEGIN_AT_ONCE = 64, /* receives that begin before one test for complete ones */
};

struct pending { /* being sent */
	MPI_Request request;
	char *bytes;
	struct pending *next;
};

/* A message whose receive has begun. Receives end in any order, since a large message comes in several parts, and the
 * messages of one sender must be handed on in their order: so the inbox has them in the order in which MPI announced
 * them, and take_arrived passes by a whole one whose sender has an earlier one ON_ITS_WAY. When the sender dies
 * meanwhile its receive ends with an error (LOST) and is dropped, or never ends, and keeps the later messages of that
 * dead rank. */
struct arriving {
	struct muster_message message;
	enum { ON_ITS_WAY, WHOLE, LOST, TAKEN } state;
};

static struct mpi {
	struct muster_transport transport; /* first: the one is cast to the other */
	struct pending *outbox;
	double traffic_ms; /* when a message was last sent or received */
	struct {           /* messages whose receive has begun, in that order */
		struct arriving *items;
		MPI_Request *requests; /* of each */
		int *ended;            /* of MPI_Testsome: indices, and how each ended */
		MPI_Status *statuses;
		int count, room, taken;
	} inbox;
} mpi;

/* MPI's variables, which keep it off the fabric under test and off CUDA; none is set that the user has set and that was
 * not dropped (is_dropped). */
static const struct setting {
	const char *name, *value;
} settings[] = {
	{ "OMPI_MCA_pml", "ob1" },
	{ "OMPI_MCA_btl", "tcp,vader,self" },
	{ "OMPI_MCA_osc", "^ucx" },
	{ "OMPI_MCA_coll_hcoll_enable", "0" },
	{ "OMPI_MCA_opal_cuda_support", "0" }, /* an MPI without CUDA crashes with 1 */
	{ "OMPI_MCA_btl_vader_single_copy_mechanism", "none" },
	{ "UCX_TLS", "tcp,self" }, /* NCCL's plugins read it too */
	{ "HWLOC_HIDE_ERRORS", "2" },
	{ "HWLOC_PLUGINS_BLACKLIST", MUSTER_HWLOC_PLUGINS },
};

/* Whether the library of this MPI is in the directory, or in lib/ beside it as in the portable tree; another MPI of the
 * user may have set OPAL_PREFIX. */
static bool has_this_mpi(const char *directory)
{
	Dl_info self;
	int (*function)(int *, char ***) = MPI_Init;
	void *address;
	memcpy(&address, &function, sizeof address);
	char *prefix = realpath(directory, NULL);
	char *library = dladdr(address, &self) ? realpath(self.dli_fname, NULL) : NULL;
	bool there = prefix && library && muster_path_is_below(library, prefix);
	if (prefix && library && !there) { /* TREE/lib/libmpi.so.40 */
		const char *tree = dirname(dirname(library));
		there = strcmp(tree, "/") != 0 && muster_path_is_below(prefix, tree);
	}
	free(library);
	free(prefix);
	return there;
}

static char *unused; /* settings of the user, "NAME=value, NAME=value"; NULL: none */

static bool begins(const char *text, const char *const *beginnings)
{
	while (*beginnings && strncmp(text, *beginnings, strlen(*beginnings)) != 0)
		beginnings++;
	return *beginnings;
}

/* The value that is set is muster's own, or a btl that is part of it: shared memory alone, as on one machine. */
static bool is_as_ours(const char *entry, size_t length)
{
	char parts[64];
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		if (strncmp(entry, settings[i].name, length) != 0 || settings[i].name[length])
			continue;
		snprintf(parts, sizeof parts, "%s", entry + length + 1);
		bool ours = strcmp(parts, settings[i].value) == 0,
		     is_btl = strcmp(settings[i].name, "OMPI_MCA_btl") == 0;
		for (char *rest = parts, *part; !ours && is_btl && (part = strsep(&rest, ","));)
			is_btl = muster_text_among(part, (const char *const[]){ "tcp", "vader", "self" }, 3);
		return ours || is_btl;
	}
	return false;
}

/* Any of the hundreds of settings of Open MPI may end MPI_Init: a plugin that this MPI lacks, CUDA, a directory. Those
 * stay by which TCP finds the other nodes, and the launcher's; Slurm's needs none. */
static bool is_dropped(const char *entry, size_t length)
{
	static const char *const mca[] = { "OMPI_MCA_", NULL };
	/* of an MPI that is not where it was built */
	static const char *const places[] = { "OPAL_", "OMPI_MCA_mca_base_component_path=", NULL };
	static const char *const of_tcp[] = { "btl_tcp_", "oob_tcp_", "mpi_ft_enable=", "mpi_abort_delay=", NULL };
	static const char *const of_mpirun[] = { "orte_", "prte_", "ess", "pmix", "plm", "odls", "ras", "rmaps",
		"hwloc_base_", "initial_wdir=", "num_procs=", "shmem_RUNTIME_QUERY_hint=", "mpi_oversubscribe=",
		"mpi_yield_when_idle=", NULL };
	const char *space = getenv("PMIX_NAMESPACE"), *prefix = getenv("OPAL_PREFIX");
	bool by_slurm = space && strncmp(space, "slurm.", 6) == 0;
	if (begins(entry, places) ? prefix && has_this_mpi(prefix)
				  : !begins(entry, mca) || begins(entry + 9, of_tcp) || is_as_ours(entry, length) ||
					    (!by_slurm && begins(entry + 9, of_mpirun)))
		return false;
	char *more = muster_asprintf("%s%s%s", unused ? unused : "", unused ? ", " : "", entry);
	free(unused);
	unused = more;
	return true;
}

/* Before MPI_Init: drop the user's settings that may end it, then set muster's own where none is left. */
static void keep_off_the_fabric(void)
{
	muster_env_unset_if(is_dropped);
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		setenv(settings[i].name, settings[i].value, 0);
	muster_mpi_choose_interface();
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

/* A warning before the run, instead of missing ranks after it. */
static void check_file_limit(int rank, int size, struct muster_error *warning)
{
	enum { OTHERS = 256 }; /* files that MPI, the worker and the report need */
	struct rlimit limit;
	if (rank == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
		limit.rlim_cur < (rlim_t)size + OTHERS)
		(void)muster_fail(warning, MUSTER_EIO,
			"rank 0 connects to each of %d ranks and may open only %llu files: raise the hard limit "
			"(ulimit -Hn)",
			size, (unsigned long long)limit.rlim_cur);
}

/* ---- sending ---- */

static void reap_outbox(void)
{
	for (struct pending **at = &mpi.outbox; *at;) {
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

static int mpi_send(struct muster_transport *t, int to, int tag, char *bytes, size_t length, struct muster_error *err)
{
	struct pending *pending = muster_calloc(1, sizeof *pending);
	mpi.traffic_ms = muster_clock_now(t->clock);
	pending->bytes = bytes;
	int result = MPI_Isend(bytes, (int)length, MPI_BYTE, to, tag, MPI_COMM_WORLD, &pending->request);
	if (result != MPI_SUCCESS) {
		free(bytes);
		free(pending);
		return muster_fail(err, MUSTER_EIO, "MPI_Isend failed with code %d", result);
	}
	pending->next = mpi.outbox;
	mpi.outbox = pending;
	return 0;
}

/* ---- receiving ---- */

/* Remove messages that were taken or lost; the rest keeps its order, in items and in requests alike. */
static void compact_inbox(void)
{
	int kept = 0;
	for (int i = 0; i < mpi.inbox.count; i++) {
		if (mpi.inbox.items[i].state == LOST)
			muster_message_done(&mpi.inbox.items[i].message);
		if (mpi.inbox.items[i].state == LOST || mpi.inbox.items[i].state == TAKEN)
			continue;
		mpi.inbox.items[kept] = mpi.inbox.items[i];
		mpi.inbox.requests[kept++] = mpi.inbox.requests[i];
	}
	mpi.inbox.count = kept;
	mpi.inbox.taken = 0;
}

/* Test which messages are complete. MPI_Testsome returns an error when one of the receives has failed; only then do the
 * statuses say which. */
static void look_at_inbox(void)
{
	int ended = 0;
	compact_inbox();
	if (mpi.inbox.count == 0)
		return;
	bool all_well = MPI_Testsome(mpi.inbox.count, mpi.inbox.requests, &ended, mpi.inbox.ended,
				mpi.inbox.statuses) == MPI_SUCCESS;
	for (int e = 0; e < ended; e++)
		mpi.inbox.items[mpi.inbox.ended[e]].state =
			all_well || mpi.inbox.statuses[e].MPI_ERROR == MPI_SUCCESS ? WHOLE : LOST;
}

/* The first complete message without an incomplete one of the same rank before it. */
static bool take_arrived(struct muster_message *ret)
{
	for (int i = mpi.inbox.taken, before; i < mpi.inbox.count; i++) {
		if (mpi.inbox.items[i].state != WHOLE)
			continue;
		for (before = 0; before < i; before++)
			if (mpi.inbox.items[before].state == ON_ITS_WAY &&
				mpi.inbox.items[before].message.from == mpi.inbox.items[i].message.from)
				break;
		if (before < i)
			continue;
		*ret = mpi.inbox.items[i].message;
		mpi.inbox.items[i].state = TAKEN;
		while (mpi.inbox.taken < mpi.inbox.count && mpi.inbox.items[mpi.inbox.taken].state == TAKEN)
			mpi.inbox.taken++;
		return true;
	}
	return false;
}

static void make_room(void)
{
	if (mpi.inbox.count < mpi.inbox.room)
		return;
	mpi.inbox.room = mpi.inbox.room ? 2 * mpi.inbox.room : 16;
	size_t room = (size_t)mpi.inbox.room;
	mpi.inbox.items = muster_realloc(mpi.inbox.items, room, sizeof *mpi.inbox.items);
	mpi.inbox.requests = muster_realloc(mpi.inbox.requests, room, sizeof *mpi.inbox.requests);
	mpi.inbox.ended = muster_realloc(mpi.inbox.ended, room, sizeof *mpi.inbox.ended);
	mpi.inbox.statuses = muster_realloc(mpi.inbox.statuses, room, sizeof *mpi.inbox.statuses);
}

/* Begin to receive a message that was probed. A blocking receive would hang: a large message comes in several parts,
 * and its sender may die between them. */
static void begin_to_receive(MPI_Message *handle, const MPI_Status *status)
{
	int length = 0;
	MPI_Get_count(status, MPI_BYTE, &length);
	make_room();
	char *bytes = muster_realloc(NULL, (size_t)length + 1, 1);
	bytes[length] = '\0';
	if (MPI_Imrecv(bytes, length, MPI_BYTE, handle, &mpi.inbox.requests[mpi.inbox.count]) != MPI_SUCCESS) {
		free(bytes);
		return;
	}
	mpi.inbox.items[mpi.inbox.count++] = (struct arriving){
		.message = {
			.tag = status->MPI_TAG,
			.from = status->MPI_SOURCE,
			.bytes = bytes,
			.length = (size_t)length,
		},
	};
}

/* Whether a message can be received. With fault tolerance, receiving from any rank fails once a rank has died, until
 * this process accepts the death: then it is tried once more. */
static bool announced(MPI_Message *ret, MPI_Status *ret_status)
{
	int there = 0;
	int result = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, ret, ret_status);
	if (result != MPI_SUCCESS && muster_mpi_accept_failures())
		result = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, ret, ret_status);
	return result == MPI_SUCCESS && there;
}

/* Begin to receive some of the messages that MPI announces: one MPI_Testsome then tests all of them. False: none. */
static bool begin_some(void)
{
	int begun = 0;
	MPI_Message handle;
	MPI_Status status;
	while (begun < BEGIN_AT_ONCE && announced(&handle, &status)) {
		begin_to_receive(&handle, &status);
		begun++;
	}
	return begun > 0;
}

static bool mpi_receive(struct muster_transport *t, struct muster_message *ret)
{
	while (!take_arrived(ret)) {
		bool more = begin_some();
		look_at_inbox();
		if (take_arrived(ret))
			break;
		if (!more) {
			reap_outbox(); /* once for each round of messages, not for each message */
			return false;
		}
	}
	mpi.traffic_ms = muster_clock_now(t->clock);
	return true;
}

/* Sleeps POLL_MS while messages are under way; after a silence, 1/POLL_SHARE of its length, up to POLL_MOST_MS: so an
 * idle rank looks rarely and takes little of a CPU, and a message comes late by a small part of the silence only. A
 * line of the worker ends the sleep. */
static void mpi_wait(struct muster_transport *t, int fd, double until_ms)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };
	double now_ms = muster_clock_now(t->clock), left_ms = until_ms - now_ms;
	double wait_ms = (now_ms - mpi.traffic_ms) / POLL_SHARE;
	if (wait_ms < POLL_MS || mpi.outbox || mpi.inbox.count > 0)
		wait_ms = POLL_MS;
	wait_ms = wait_ms > POLL_MOST_MS ? POLL_MOST_MS : wait_ms;
	wait_ms = wait_ms > left_ms ? left_ms : wait_ms;
	if (left_ms > 0)
		poll(&file, fd >= 0 ? 1 : 0, wait_ms < 1 ? 1 : (int)wait_ms);
}

/* ---- the end ---- */

/* grace_ms is for messages that are not sent yet. MPI_Finalize may hang when a rank is gone: the caller has a timer
 * (process.c, leave). */
static void mpi_close(struct muster_transport *t, int grace_ms)
{
	double until_ms = muster_clock_now(t->clock) + grace_ms;
	while (mpi.outbox && muster_clock_now(t->clock) < until_ms) {
		reap_outbox();
		poll(NULL, 0, 1);
	}
	MPI_Finalize();
}

static const struct muster_transport_ops mpi_ops = {
	.name = "mpi",
	.send = mpi_send,
	.receive = mpi_receive,
	.wait = mpi_wait,
	.close = mpi_close,
};

static int mpi_open(const struct muster_clock *clock, int *argc, char ***argv, struct muster_transport **ret,
	struct muster_error *warning, struct muster_error *err)
{
	int rank, size;
	*warning = (struct muster_error){ 0 };
	keep_off_the_fabric();
	muster_mpi_tolerate_failures();
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
	muster_pmix_fence(warning);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!*warning->text)
		check_file_limit(rank, size, warning);
	if (!*warning->text && unused && rank == 0)
		(void)muster_fail(warning, MUSTER_OK, "settings that muster's own MPI does not take: %s", unused);
	muster_transport_init(&mpi.transport, &mpi_ops, clock, rank, size);
	mpi.traffic_ms = muster_clock_now(clock);
	*ret = &mpi.transport;
	return 0;
}

__attribute__((visibility("default"))) extern const struct muster_mpi_module muster_mpi_module;
const struct muster_mpi_module muster_mpi_module = { .version = MUSTER_MPI_MODULE_VERSION, .open = mpi_open };
