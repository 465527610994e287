/* transport_socket.h - the ranks of one node without a launcher: processes that this one starts, and what they say to
 * each other
 *
 * A star: rank 0, which forks the others, has a socket to each. On one node nobody else needs to be spoken to.
 */
#ifndef MUSTER_TRANSPORT_TRANSPORT_SOCKET_H
#define MUSTER_TRANSPORT_TRANSPORT_SOCKET_H

#include "transport/transport_mpi.h"

/* In the environment of every rank but rank 0, and of its worker. */
#define MUSTER_LOCAL_RANK "MUSTER_LOCAL_RANK"

/* Become `ranks` processes: returns in each of them its rank, 0 in this one, or -1 with err, when all that were started
 * are gone again. Whoever is started here does not outlive this process. Call it before there are threads. */
int muster_local_start(int ranks, struct muster_error *err);

/* How many ranks were started; 0 when none were. */
int muster_local_size(void);
int muster_local_rank(void);

/* As muster_link_send and muster_link_receive, but not for messages to oneself. Of a process that has ended,
 * MUSTER_TAG_PEER_DIED is the last message. */
void muster_local_send(int to, enum muster_tag tag, const char *bytes, size_t length);
bool muster_local_receive(struct muster_message *ret);

/* Give what is still on its way, and on rank 0 the other ranks, this long to end; then end them. */
void muster_local_end(int grace_ms);

#endif
