/* SPDX-License-Identifier: Apache-2.0 */
/* transport_socket.h - the ranks of one node without a launcher: processes that this one starts, and their sockets
 *
 * Rank 0 forks the others and has a socket to each. On one node no other two ranks exchange messages: rank 0 is the
 * leader of the only node, and the coordinator.
 *
 * A message on a socket is a header and its bytes. What the kernel does not take at once waits in a list of its peer
 * and is written with later receives, so that two ranks that send to each other do not wait for each other. The end of
 * a socket means that its process is dead, and rank 0 hears of it in order, behind the last message of that rank
 * (MUSTER_TAG_PEER_DIED); MPI has nothing like this, and there only silence shows a death.
 */
#ifndef MUSTER_TRANSPORT_TRANSPORT_SOCKET_H
#define MUSTER_TRANSPORT_TRANSPORT_SOCKET_H

#include "transport/transport.h"

/* Become `ranks` processes: returns in each of them, with a transport that lives as long as the process, or -1 with err
 * after all started processes have ended. A process that is started here does not outlive this one. Call it before
 * there are threads. ranks 1: no process is started. The others have
 * $MUSTER_LOCAL_RANK in their environment, and in that of their workers. */
int muster_transport_socket_start(
	int ranks, const struct muster_clock *clock, struct muster_transport **ret, struct muster_error *err);

#endif
