/* transport_mpi.h - messages between supervisors; the only file that calls MPI
 *
 * Where muster_local_start has started the ranks, they take its sockets, and MPI is left alone.
 * Point to point only, nothing blocks: a dead rank is a message that does not come. A message is a tag, a sender and
 * bytes.
 */
#ifndef MUSTER_TRANSPORT_TRANSPORT_MPI_H
#define MUSTER_TRANSPORT_TRANSPORT_MPI_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

enum muster_tag {
	MUSTER_TAG_HELLO = 1,    /* rank → rank 0: who I am */
	MUSTER_TAG_MEMBERSHIP,   /* rank 0 → rank: the nodes, your leader */
	MUSTER_TAG_ENTER,        /* member → leader: at a gate, with a payload */
	MUSTER_TAG_RELEASE,      /* leader → member: go on, with a payload */
	MUSTER_TAG_REDUCE,       /* leader → rank 0: everyone's payloads at a gate of the whole job */
	MUSTER_TAG_SCATTER,      /* rank 0 → leader: everyone's answers */
	MUSTER_TAG_PROGRESS,     /* leader → rank 0 */
	MUSTER_TAG_INTERRUPT,    /* rank → rank 0 → rank: the whole run ends now, and why */
	MUSTER_TAG_HEARTBEAT,    /* member ↔ leader, leader → rank 0: a sign of life, without content */
	MUSTER_TAG_RING_FAILED,  /* rank or leader → rank 0: a ring that this rank has a part in is broken, and why */
	MUSTER_TAG_CANCEL_RANKS, /* rank 0 → leader: which ranks need not wait for their ring any more, and why */
	MUSTER_TAG_CANCEL,       /* leader → member: the same */
	MUSTER_TAG_PEER_DIED,    /* of nobody: the rank that it is from has died. MPI has no such news */
};

struct muster_message {
	enum muster_tag tag;
	int from;
	char *bytes; /* malloc'd, NUL-terminated; muster_message_done frees it */
	size_t length;
};

void muster_message_done(struct muster_message *message);

/* Start MPI. The fabric under test is kept out of it: shared memory and TCP only, unless the user chose otherwise.
 * MPI_Init waits for ever for a rank that died on its way there. */
int muster_link_open(int *argc, char ***argv, struct muster_error *err);
int muster_link_rank(void);
int muster_link_size(void);

/* Send a copy of the bytes; returns at once. Messages to oneself work too. */
void muster_link_send(int to, enum muster_tag tag, const char *bytes, size_t length);

/* The next message, if one has come: true and *ret. Also drives MPI's progress. Messages of one rank come in their
 * order. */
bool muster_link_receive(struct muster_message *ret);

/* Whatever hangs, be it MPI: a process that has not called muster_link_exit by until_ms ends with this exit code, and a
 * line that says so. The last call counts. */
void muster_link_limit(double until_ms, int exit_code);

/* Whether MPI still needs this process for what was sent to that rank, as far as the last muster_link_receive has seen.
 */
bool muster_link_owes(int to);

/* Give what is still on its way at most grace_ms, then flush what was printed, end MPI and the process with this exit
 * code, all within finalize_ms: with a dead rank MPI_Finalize would wait for ever. Does not return. */
_Noreturn void muster_link_exit(int exit_code, int grace_ms, int finalize_ms);

/* Before MPI starts: this process's rank and the job's size as the launcher's environment says; 0 and 1 when it says
 * nothing. */
int muster_link_early_rank(void);
int muster_link_early_size(void);

#endif
