/* SPDX-License-Identifier: Apache-2.0 */
/* interfaces.c - which network interface MPI's messages take
 *
 * muster_mpi_choose_interface, before MPI_Init. The first of these that gives an interface decides:
 *
 *   1  the user has set btl_tcp_if_include or _exclude     nothing is changed
 *   2  NCCL_SOCKET_IFNAME names an interface               include this one, whatever its kind is
 *   3  SLURM_LAUNCH_NODE_IPADDR, then mpirun's address     include the one with this address, or on the route to it,
 *      (OMPI_MCA_orte_hnp_uri)                             unless it is of those that are never for messages
 *   4  neither                                             exclude all that are never for messages, if others are left
 */
#include "transport/interfaces.h"

#include "util/text.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INTERFACES_MAX = 64 };

bool muster_interface_is_aside(const struct muster_interface *interface)
{
	static const char *const beginnings[] = { "docker", "br-", "virbr", "veth", "cni", "flannel", "cali", "tunl",
		"vxlan", "kube", "podman", "lxc", "lxdbr", "ib" };
	for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
		if (strncmp(interface->name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return interface->infiniband || strcmp(interface->name, "lo") == 0;
}

const struct muster_interface *muster_interface_named(
	const struct muster_interface *interfaces, size_t count, const char *names)
{
	if (!names || *names == '^')
		return NULL;
	bool exact = *names == '=';
	for (const char *at = names + exact; *at; at += strspn(at, ",")) {
		size_t length = strcspn(at, ",");
		for (size_t i = 0; i < count && length > 0; i++)
			if (strncmp(interfaces[i].name, at, length) == 0 && (!exact || !interfaces[i].name[length]))
				return &interfaces[i];
		at += length;
	}
	return NULL;
}

/* The interface with this address (0: none has it), of those that may be for messages. */
static const struct muster_interface *with_address(
	const struct muster_interface *interfaces, size_t count, unsigned int address)
{
	for (size_t i = 0; i < count && address != 0; i++)
		if (interfaces[i].address == address && !muster_interface_is_aside(&interfaces[i]))
			return &interfaces[i];
	return NULL;
}

const struct muster_interface *muster_interface_to(const struct muster_interface *interfaces, size_t count,
	const char *text, unsigned int (*route)(unsigned int address))
{
	const struct muster_interface *found = NULL;
	for (const char *at = text; at && *at && !found; at += strcspn(at, "/,:;")) {
		char word[INET_ADDRSTRLEN] = "";
		struct in_addr address;
		at += strspn(at, "/,:;");
		snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "/,:;"), at);
		if (inet_pton(AF_INET, word, &address) != 1)
			continue;
		found = with_address(interfaces, count, address.s_addr); /* on the head node itself */
		if (!found)
			found = with_address(interfaces, count, route(address.s_addr));
	}
	return found;
}

/* A UDP socket that is connected sends nothing, and has the address that the kernel would send from. */
static unsigned int own_address(unsigned int to)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = to, .sin_port = htons(9) };
	socklen_t length = sizeof address;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool known = fd >= 0 && connect(fd, (struct sockaddr *)&address, length) == 0 &&
		     getsockname(fd, (struct sockaddr *)&address, &length) == 0;
	if (fd >= 0)
		close(fd);
	return known ? address.sin_addr.s_addr : 0;
}

/* IPoIB, whatever its name is: ARPHRD_INFINIBAND in <linux/if_arp.h> is 32. */
static bool is_infiniband(const char *name)
{
	char path[128], type[16];
	snprintf(path, sizeof path, "/sys/class/net/%s/type", name);
	return muster_read_line(path, type, sizeof type, NULL) == 0 && strcmp(type, "32") == 0;
}

/* The interfaces that are up and have an IPv4 address, at most INTERFACES_MAX; one with two addresses is in the list
 * twice. Returns how many. */
static size_t list_interfaces(struct muster_interface *ret)
{
	struct ifaddrs *all;
	size_t count = 0;
	if (getifaddrs(&all) != 0)
		return 0;
	for (const struct ifaddrs *at = all; at && count < INTERFACES_MAX; at = at->ifa_next) {
		struct sockaddr_in address;
		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || !(at->ifa_flags & IFF_UP))
			continue;
		memcpy(&address, at->ifa_addr, sizeof address);
		snprintf(ret[count].name, sizeof ret->name, "%s", at->ifa_name);
		ret[count].address = address.sin_addr.s_addr;
		ret[count].infiniband = is_infiniband(at->ifa_name);
		count++;
	}
	freeifaddrs(all);
	return count;
}

void muster_mpi_choose_interface(void)
{
	struct muster_interface interfaces[INTERFACES_MAX];
	char list[INTERFACES_MAX * sizeof interfaces->name] = "";
	if (getenv("OMPI_MCA_btl_tcp_if_include") || getenv("OMPI_MCA_btl_tcp_if_exclude"))
		return;
	size_t count = list_interfaces(interfaces), used = 0, left = 0;
	const struct muster_interface *chosen = muster_interface_named(interfaces, count, getenv("NCCL_SOCKET_IFNAME"));
	if (!chosen)
		chosen = muster_interface_to(interfaces, count, getenv("SLURM_LAUNCH_NODE_IPADDR"), own_address);
	if (!chosen)
		chosen = muster_interface_to(interfaces, count, getenv("OMPI_MCA_orte_hnp_uri"), own_address);
	if (chosen) {
		setenv("OMPI_MCA_btl_tcp_if_include", chosen->name, 1);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		bool aside = muster_interface_is_aside(&interfaces[i]);
		left += !aside;
		if (aside)
			used += (size_t)snprintf(
				list + used, sizeof list - used, "%s%s", used ? "," : "", interfaces[i].name);
	}
	if (used > 0 && left > 0)
		setenv("OMPI_MCA_btl_tcp_if_exclude", list, 1);
}
