/* transport_socket.h - the ranks of one node without a launcher: processes that this one starts, and their sockets
 *
 * A star: rank 0, which forks the others, has a socket to each. On one node no other pair needs to speak.
 */
#ifndef MUSTER_TRANSPORT_TRANSPORT_SOCKET_H
#define MUSTER_TRANSPORT_TRANSPORT_SOCKET_H

#include "transport/transport.h"

/* In the environment of every rank but rank 0, and of its worker. */
#define MUSTER_LOCAL_RANK "MUSTER_LOCAL_RANK"

/* Become `ranks` processes: returns in each of them, with a transport that lives as long as the process, or -1 with err
 * when all that were started are gone again. A process that is started here does not outlive this one. Call it before
 * there are threads. ranks 1: no process is started. */
int muster_transport_socket_start(
	int ranks, const struct muster_clock *clock, struct muster_transport **ret, struct muster_error *err);

#endif
