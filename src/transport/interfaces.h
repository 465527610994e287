/* SPDX-License-Identifier: Apache-2.0 */
/* interfaces.h - which network interface MPI's messages take
 *
 * Open MPI's TCP uses all interfaces at once. docker0 has the same address on every node, so that messages to another
 * node reach the own one, and IPoIB is part of what is measured.
 */
#ifndef MUSTER_TRANSPORT_INTERFACES_H
#define MUSTER_TRANSPORT_INTERFACES_H

#include <stdbool.h>
#include <stddef.h>

struct muster_interface {
	char name[64];
	unsigned int address; /* IPv4, network byte order */
	bool infiniband;
};

/* Never for messages between nodes: the loopback, bridges and ends of containers and virtual machines, and IPoIB. */
bool muster_interface_is_aside(const struct muster_interface *interface);

/* The first interface that NCCL_SOCKET_IFNAME names ("eth", "=eth0", "eth0,eth1"); NULL: none, as with "^docker0" or
 * NULL. */
const struct muster_interface *muster_interface_named(
	const struct muster_interface *interfaces, size_t count, const char *names);

/* The interface on which this node has or reaches the first possible one of the head node's addresses, which are
 * anywhere in the text ("7.0;tcp://10.0.0.4,172.17.0.1:41234"). route: gives the own address of the route to another
 * one, 0 for none. NULL: none of them helps. */
const struct muster_interface *muster_interface_to(const struct muster_interface *interfaces, size_t count,
	const char *text, unsigned int (*route)(unsigned int address));

/* Set Open MPI's variable btl_tcp_if_include, or else btl_tcp_if_exclude, unless the user has set one of them. */
void muster_mpi_choose_interface(void);

#endif
