/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_setup.c - what NCCL's log says of its set-up: network plugin, CollNet, NVLS, algorithms
 *
 * Messages of NCCL 2.14 to 2.30, and of the plugin of HPC-X (nccl-rdma-sharp-plugins), which names its own path:
 *   Plugin Path : /opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so
 *   NET/Plugin: Plugin name set by env to libnccl-net-ofi.so                 (2.20 to 2.26)
 *   NET/Plugin: Loaded net plugin IBext_v8 (v8)                              (to 2.28; the name, not the file)
 *   NET/Plugin: Loaded collnet plugin SHARP (v8)                             (before 2.21: "coll plugin")
 *   Successfully loaded external plugin libnccl-net.so                       (2.27)
 *   Successfully loaded external network plugin /usr/lib/libnccl-net.so      (since 2.28)
 *   Using network IBext_v8
 *   rank 0 Connected CollNet                                                 (before 2.22 also: "Connected collnet")
 *   24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer
 *   67108864 Bytes -> Algo 1 proto 2 time 3970.68                            (2.20 to 2.22; 2.23: with "AllReduce: ")
 *   AllReduce: 67108864 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}
 * The number of collnet channels is that of all channels since 2.21: it says nothing.
 *
 * Lines are matched by their words, never by their place, and unknown lines are skipped: what a later NCCL words in
 * another way is "not known", and no error.
 */
#include "vendor/nccl_setup.h"
#include "vendor/nccl_log.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copy what stands before any of the stops, without blanks at its end. */
static void take(char *ret, size_t size, const char *from, const char *stops)
{
	size_t length = strcspn(from, stops);
	while (length > 0 && from[length - 1] == ' ')
		length--;
	snprintf(ret, size, "%.*s", (int)length, from);
}

/* A name that is set by a variable may come before or after the path that was really opened: a path is never replaced
 * by a mere name. */
static void take_file(struct muster_nccl_setup *setup, const char *file)
{
	if (*file && (*file == '/' || setup->plugin_file[0] != '/'))
		take(setup->plugin_file, sizeof setup->plugin_file, file, " ");
}

/* An algorithm or a protocol by its name: older NCCLs print its number, which is its place in the list. Unknown numbers
 * stay as they are. */
static const char *name_of(
	const char *text, size_t length, const char *const *names, size_t count, char *ret, size_t size)
{
	char *end;
	unsigned long number = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : count;
	if (number < count && end == text + length)
		snprintf(ret, size, "%s", names[number]);
	else
		snprintf(ret, size, "%.*s", (int)length, text);
	return ret;
}

/* One entry for each size, in the order in which the sizes came first; the last line of a size counts. */
static void add_algorithm(struct muster_nccl_setup *setup, uint64_t bytes, const char *name)
{
	size_t i = 0;
	while (i < setup->algorithm_count && setup->algorithms[i].bytes != bytes)
		i++;
	if (i == MUSTER_NCCL_ALGORITHMS)
		return;
	setup->algorithms[i].bytes = bytes;
	snprintf(setup->algorithms[i].name, sizeof setup->algorithms[i].name, "%s", name);
	setup->algorithm_count += i == setup->algorithm_count;
}

/* text: from the number of bytes on. */
static void parse_algorithm(struct muster_nccl_setup *setup, const char *text)
{
	static const char *const algorithms[] = { "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
		"NVLS_TREE", "PAT" };
	static const char *const protocols[] = { "LL", "LL128", "SIMPLE" };
	static const char arrow[] = " Bytes -> Algo ", word[] = " proto ";
	char algorithm[20], protocol[20], name[48], *end;
	if (!isdigit((unsigned char)*text))
		return;
	uint64_t bytes = strtoull(text, &end, 10);
	if (!muster_nccl_starts(end, arrow))
		return;
	const char *first = end + sizeof arrow - 1;
	size_t first_length = strcspn(first, " ");
	if (!muster_nccl_starts(first + first_length, word))
		return;
	const char *second = first + first_length + sizeof word - 1;
	size_t second_length = strcspn(second, " ");
	if (first_length == 0 || second_length == 0)
		return;
	snprintf(name, sizeof name, "%s/%s",
		name_of(first, first_length, algorithms, sizeof algorithms / sizeof *algorithms, algorithm,
			sizeof algorithm),
		name_of(second, second_length, protocols, sizeof protocols / sizeof *protocols, protocol,
			sizeof protocol));
	add_algorithm(setup, bytes, name);
}

/* text is a message behind "NCCL INFO ". Each `if` names the beginning, or a part, of one of the lines in the file's
 * head. CollNet: "loaded" never replaces "used". */
static void parse_message(struct muster_nccl_setup *setup, char *message)
{
	static const char *const files[] = { "Plugin Path : ", "NET/Plugin: Plugin name set by env to ",
		"Plugin name set by env to ", "Successfully loaded external network plugin ",
		"Successfully loaded external plugin " };
	static const char network[] = "Using network ", of_all_reduce[] = "AllReduce: ";
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (muster_nccl_starts(message, files[i]))
			take_file(setup, message + strlen(files[i]));
	if (muster_nccl_starts(message, network))
		take(setup->network, sizeof setup->network, message + sizeof network - 1, "");
	else if (muster_nccl_starts(message, "NET/Plugin: Loaded coll") && strcmp(setup->collnet, "none") == 0)
		setup->collnet = "loaded";
	else if (strstr(message, " Connected CollNet") || muster_nccl_starts(message, "Connected collnet") ||
		 strstr(message, " via COLLNET/"))
		setup->collnet = "used";
	else if (muster_nccl_count_of(message, " nvls channels") >= 0)
		setup->nvls_channels = muster_nccl_count_of(message, " nvls channels");
	parse_algorithm(
		setup, muster_nccl_starts(message, of_all_reduce) ? message + sizeof of_all_reduce - 1 : message);
}

void muster_nccl_setup_parse(const char *text, size_t length, struct muster_nccl_setup *ret)
{
	char *copy = muster_nccl_lines_copy(text, length), *rest = copy, *line, *message;
	*ret = (struct muster_nccl_setup){ .collnet = "none", .nvls_channels = -1 };
	while ((line = muster_nccl_line_next(&rest)) != NULL)
		if ((message = muster_nccl_after(line, "NCCL INFO ")) != NULL)
			parse_message(ret, message);
	free(copy);
}
