/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_log.c - NCCL's own debug output: have it written to us, and read what it says
 *
 * Lines of NCCL 2.14 to 2.28 look like this; older ones print bus ids instead of the device numbers in brackets:
 *
 *    node:2187:2301 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB/SHARP [RO]; OOB eth0:10.0.0.4<0>
 *    node:2187:2301 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read
 *    node:2187:2301 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0(3)/GDRDMA/Shared
 *    node:2187:2301 [0] NCCL INFO 24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels
 *
 * Parts of a channel's line: "00/0" is the channel and an index above 0 for channels of ncclSend and ncclRecv; "7[7] ->
 * 8[0]" are the ranks and their devices; behind "via" the transport. "NET/IB/0(3)/GDRDMA" is network IB, its device 0,
 * which another rank (3) serves, with GPUDirect RDMA.
 *
 * Since 2.22 channels are made at the first collective, so that the log is complete only after one.
 *
 * NCCL_DEBUG_FILE is /proc/self/fd/N of a memfd: no file system is needed, and the text ends with the process. NCCL
 * opens it by name when its first call reads the environment. muster_nccl_log_read keeps the whole text in one buffer,
 * up to 16 MiB.
 *
 * All readers work on a copy in which every byte prints (muster_nccl_lines_copy), line by line, and change the copy
 * while they take it apart.
 */
#include "vendor/nccl_log.h"

#include "muster/arena.h"
#include "util/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* linux/memfd.h */
#endif
#define LOG_BYTES_MAX ((size_t)16 << 20)
#define TAIL_LINES 10

/* Whether the list "A,B" has the word, in upper or lower case. */
static bool list_has(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = list; *at; at += strspn(at, ",")) {
		size_t part = strcspn(at, ",");
		if (part == length && strncasecmp(at, word, length) == 0)
			return true;
		at += part;
	}
	return false;
}

/* Add the parts that we need to NCCL_DEBUG_SUBSYS: INIT has the channels and devices, NET the devices that NCCL takes
 * as one, ENV the variables and files that steer NCCL, TUNING the algorithms. What becomes of a user's list:
 *
 *    not set, or empty              INIT,ENV,NET,TUNING
 *    "^A,B" (all parts but these)   stays; INIT,ENV,NET,TUNING when INIT or TUNING is among these
 *    "A,B" without ALL              INIT, NET and TUNING are put before it where it lacks them
 *    with ALL                       stays
 */
static void choose_parts(void)
{
	const char *list = getenv("NCCL_DEBUG_SUBSYS");
	if (!list || !*list || (*list == '^' && (list_has(list + 1, "INIT") || list_has(list + 1, "TUNING")))) {
		setenv("NCCL_DEBUG_SUBSYS", "INIT,ENV,NET,TUNING", 1);
	} else if (*list != '^' && !list_has(list, "ALL")) {
		char *more = muster_asprintf("%s%s%s%s", list_has(list, "INIT") ? "" : "INIT,",
			list_has(list, "NET") ? "" : "NET,", list_has(list, "TUNING") ? "" : "TUNING,", list);
		setenv("NCCL_DEBUG_SUBSYS", more, 1);
		free(more);
	}
}

static int log_fd = -1; /* of an anonymous file in memory: nothing remains on disk */

int muster_nccl_log_start(struct muster_error *err)
{
	char path[64];
	if (log_fd >= 0)
		return 0;
	/* a kernel with vm.memfd_noexec=2 refuses a file that could be executed; one before 6.3 does not know the flag
	 */
	log_fd = memfd_create("nccl-log", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (log_fd < 0 && errno == EINVAL)
		log_fd = memfd_create("nccl-log", MFD_CLOEXEC);
	if (log_fd < 0)
		return muster_fail(err, MUSTER_EIO, "memfd_create for NCCL's log: %s", strerror(errno));
	const char *level = getenv("NCCL_DEBUG");
	if (!level || (strcasecmp(level, "INFO") != 0 && strcasecmp(level, "TRACE") != 0))
		setenv("NCCL_DEBUG", "INFO", 1);
	choose_parts();
	/* NCCL opens the file by name, and /proc gives this one a name. A user's file NCCL would truncate, and a pipe,
	 * a terminal or a file of several ranks could not be read. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", log_fd);
	setenv("NCCL_DEBUG_FILE", path, 1);
	return 0;
}

/* What NCCL has written since the last call is read behind what is in the buffer. When the file has become shorter,
 * NCCL has opened it anew (which truncates it), and reading begins again. */
const char *muster_nccl_log_read(size_t *ret_length, struct muster_error *err)
{
	static char *text;
	static size_t read;
	struct stat file;
	ssize_t more = 0;
	if (log_fd < 0) {
		muster_fail(err, MUSTER_EIO, "NCCL's log was not started");
		return NULL;
	}
	if (!text)
		text = muster_calloc(LOG_BYTES_MAX + 1, 1); /* pages that the log does not reach are never touched */
	if (fstat(log_fd, &file) == 0 && file.st_size < (off_t)read)
		read = 0;
	while (read < LOG_BYTES_MAX && (more = pread(log_fd, text + read, LOG_BYTES_MAX - read, (off_t)read)) > 0)
		read += (size_t)more;
	text[read] = '\0';
	*ret_length = read;
	return text;
}

/* Append a word to a list of distinct words separated by spaces, if there is room. */
static void add_word(char *list, size_t size, const char *word)
{
	size_t length = strlen(word), used = strlen(list);
	if (length > 0 && used + length + 2 <= size && !muster_text_has_word(list, word))
		snprintf(list + used, size - used, "%s%s", used ? " " : "", word);
}

/* Kinds of transport in the order in which they are listed; NVLS has no channels of its own in the log. */
enum { KIND_P2P, KIND_SHM, KIND_NET, KIND_COLLNET, KIND_NVLS, KIND_COUNT };
static const char *const kinds[] = { "P2P/", "SHM/", "NET/", "COLLNET/" };
struct words {
	char of[KIND_COUNT][256];
};

/* A channel's transport as one word: the first two parts, and "/GDRDMA" where a network channel uses it. Returns the
 * kind; KIND_COUNT when the text is none. Blanks in it become "_", since words are separated by blanks.
 *
 *    "P2P/CUMEM/read"                 "P2P/CUMEM"
 *    "NET/IB/0(3)/GDRDMA/Shared"      "NET/IB/GDRDMA"
 */
static size_t parse_transport(char *transport, char *ret, size_t size, bool *ret_gdr)
{
	size_t kind = 0;
	while (kind < sizeof kinds / sizeof *kinds && !muster_nccl_starts(transport, kinds[kind]))
		kind++;
	if (kind == sizeof kinds / sizeof *kinds)
		return KIND_COUNT;
	size_t head = strlen(kinds[kind]), most = size - sizeof "/GDRDMA";
	size_t length = head + strcspn(transport + head, "/");
	*ret_gdr = (kind == KIND_NET || kind == KIND_COLLNET) && muster_nccl_after(transport, "/GDRDMA");
	snprintf(ret, size, "%.*s%s", (int)(length < most ? length : most), transport, *ret_gdr ? "/GDRDMA" : "");
	for (char *at = ret; (at = strchr(at, ' ')) != NULL;)
		*at = '_';
	return kind;
}

/* Count the channel of a line, and add its word to those of its kind. */
static void parse_channel(char *transport, struct words *words, struct muster_nccl_log *log)
{
	char word[64];
	bool gdr;
	size_t kind = parse_transport(transport, word, sizeof word, &gdr);
	if (kind == KIND_COUNT)
		return;
	log->network_channels += kind == KIND_NET || kind == KIND_COLLNET;
	log->gdr_channels += gdr;
	add_word(words->of[kind], sizeof words->of[kind], word);
}

/* The names of the devices in the list behind " : Using ", which ends at ";":
 *
 *    "[0]mlx5_0:1/IB [1]={[0] mlx5_1:1/RoCE, [1] mlx5_2:1/RoCE} [RO]; OOB ..."   mlx5_0:1 mlx5_1:1 mlx5_2:1
 *    "[0]eth0:10.0.0.4<0>" with `socket`                                         eth0
 *
 * Every name after a bracketed number counts. "[RO]" is skipped, since it is no number. For InfiniBand the port behind
 * the first ":" is a part of the name; for sockets an address follows there. */
static void parse_devices(char *list, bool socket, struct muster_nccl_log *log)
{
	log->devices[0] = '\0';
	list[strcspn(list, ";")] = '\0';
	while ((list = muster_nccl_after(list, "[")) != NULL) {
		if (!isdigit((unsigned char)*list))
			continue;
		list += strcspn(list, "]");
		list += *list == ']';
		list += strspn(list, " ");
		if (!isalnum((unsigned char)*list) && *list != '_')
			continue;
		char word[64];
		size_t length = strcspn(list, socket ? ":/,}<[ " : "/,}<[ "), port = strcspn(list, ":");
		if (port < length) /* since 2.30 rail and plane may follow: "mlx5_0:1:0:1/RoCE" (net_ib/init.cc) */
			length = port + 1 + strcspn(list + port + 1, ":/,}<[ ");
		snprintf(word, sizeof word, "%.*s", (int)length, list);
		add_word(log->devices, sizeof log->devices, word);
		list += length;
	}
}

int muster_nccl_count_of(const char *message, const char *what)
{
	const char *end = strstr(message, what), *digit = end;
	while (digit && digit > message && isdigit((unsigned char)digit[-1]))
		digit--;
	return digit && digit < end && end - digit < 6 ? (int)strtol(digit, NULL, 10) : -1;
}

/* The words are collected for each kind of transport and joined at the end in the order of the kinds, so that the
 * result does not depend on the order of the lines. */
void muster_nccl_log_parse(const char *text, size_t length, struct muster_nccl_log *ret)
{
	struct words words = { 0 };
	char *copy = muster_nccl_lines_copy(text, length), *rest = copy, *line, *word;
	*ret = (struct muster_nccl_log){ 0 };
	while ((line = muster_nccl_line_next(&rest)) != NULL) {
		char *message = muster_nccl_after(line, "NCCL INFO "), *part;
		if (!message)
			continue;
		if ((muster_nccl_starts(message, "Channel ") || muster_nccl_starts(message, "CollNet ")) &&
			(part = muster_nccl_after(message, " via ")))
			parse_channel(part, &words, ret);
		else if (muster_nccl_starts(message, "NET/") && (part = muster_nccl_after(message, " : Using ")))
			parse_devices(part, muster_nccl_starts(message, "NET/Socket"), ret);
		else if (muster_nccl_count_of(message, " nvls channels") > 0 ||
			 muster_nccl_starts(message, "Connected NVLS tree"))
			add_word(words.of[KIND_NVLS], sizeof words.of[KIND_NVLS], "NVLS");
	}
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		for (rest = words.of[kind]; (word = strsep(&rest, " ")) != NULL;)
			add_word(ret->transports, sizeof ret->transports, word);
	free(copy);
}

/* ---- between two ranks ---- */

#define WAY_DEVICES_MAX 16

/* A network, and the number that NCCL gives a device of it. */
struct way_device {
	char network[32]; /* "IB" */
	long number;
};

struct way {
	struct way_device devices[WAY_DEVICES_MAX];
	size_t device_count;
	char transports[160], nics[256]; /* words */
	bool for_sends;                  /* these are channels that are not a collective's */
};

/* channel: "00/1 : 0[0] -> 1[1] [send] via NET/IB/0". Whether it joins the two ranks, in any direction. *ret_for_sends:
 * the index behind "/" is above 0, which NCCL uses for ncclSend and ncclRecv alone. */
static bool is_between(const char *channel, int own, int peer, bool *ret_for_sends)
{
	char *end;
	long from, to, index = 0;
	strtol(channel, &end, 10);
	if (*end == '/')
		index = strtol(end + 1, &end, 10);
	if (!muster_nccl_starts(end, " : "))
		return false;
	from = strtol(end + 3, &end, 10);
	const char *arrow = strstr(end, " -> ");
	if (*end != '[' || !arrow)
		return false;
	to = strtol(arrow + 4, &end, 10);
	*ret_for_sends = index > 0;
	return *end == '[' && ((from == own && to == peer) || (from == peer && to == own));
}

/* network: "IB/0(3)/GDRDMA". Keep the network and the number of its device, each pair once. -1 stands for a device
 * without a number. */
static void note_device(struct way *way, const char *network)
{
	struct way_device device = { .number = -1 };
	size_t length = strcspn(network, "/");
	if (length >= sizeof device.network || way->device_count == WAY_DEVICES_MAX)
		return;
	memcpy(device.network, network, length);
	if (isdigit((unsigned char)network[length + (network[length] == '/')]))
		device.number = strtol(network + length + 1, NULL, 10);
	for (size_t i = 0; i < way->device_count; i++)
		if (way->devices[i].number == device.number && strcmp(way->devices[i].network, device.network) == 0)
			return;
	way->devices[way->device_count++] = device;
}

/* Channels of ncclSend and ncclRecv count alone: when the first of them comes, what was noted of channels of
 * collectives is dropped, and later channels of collectives are skipped. */
static void note_channel(struct way *way, char *transport, bool for_sends)
{
	char word[64];
	bool gdr;
	size_t kind = parse_transport(transport, word, sizeof word, &gdr);
	if (kind == KIND_COUNT || (way->for_sends && !for_sends))
		return;
	if (for_sends && !way->for_sends) {
		way->transports[0] = '\0';
		way->device_count = 0;
		way->for_sends = true;
	}
	add_word(way->transports, sizeof way->transports, word);
	if (kind == KIND_NET)
		note_device(way, transport + strlen(kinds[kind]));
}

/* Find the entry with the device's number in the list behind " : Using ", and add its names. An entry is
 * "[0]mlx5_0:1/IB" or, for several devices that NCCL takes as one, "[1]={...}". The entry is cut out of the list for
 * parse_devices, and put back. */
static void name_device(char *list, const struct way_device *device, struct way *way)
{
	struct muster_nccl_log one = { 0 };
	for (char *next; (list = strchr(list, '[')) != NULL; list = next) {
		char *end;
		long number = strtol(list + 1, &end, 10);
		size_t name = strspn(end, "] ="), inner = end[name] == '{' ? strcspn(end + name, "}") : 0;
		size_t length = name + (inner ? inner : strcspn(end + name, " ;"));
		next = end + length;
		if (end == list + 1 || *end != ']' || number != device->number)
			continue;
		char kept = *next;
		*next = '\0';
		parse_devices(list + (inner ? strcspn(list, "{") : 0), strcmp(device->network, "Socket") == 0, &one);
		*next = kept;
		for (char *rest = one.devices, *word; (word = strsep(&rest, " ")) != NULL;)
			add_word(way->nics, sizeof way->nics, word);
		return;
	}
}

/* "NET/IB : Made virtual device [2] name=mlx5_0+mlx5_1 speed=400000 ndevs=2": since 2.25 devices that NCCL takes as one
 * have a number of their own (net_ib.cc). Of a device alone the list says more: its port. */
static void name_virtual(struct way *way, const char *message)
{
	static const char made[] = "NET/IB : Made virtual device [";
	char *end, name[128];
	if (strncmp(message, made, strlen(made)) != 0)
		return;
	long number = strtol(message + strlen(made), &end, 10);
	for (size_t i = 0; i < way->device_count; i++) {
		size_t length = muster_nccl_starts(end, "] name=") ? strcspn(end + 7, " ") : 0;
		if (way->devices[i].number != number || !memchr(end + 7, '+', length) || length >= sizeof name)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)length, end + 7);
		const char *last = "";
		int of_device = 1; /* two ports of one device stand beside each other: "mlx5_0+mlx5_0" */
		for (char *rest = name, *word; (word = strsep(&rest, "+")) != NULL; last = word) {
			char port[sizeof name + 8];
			of_device = strcmp(word, last) == 0 ? of_device + 1 : 1;
			snprintf(port, sizeof port, "%s:%d", word, of_device);
			add_word(way->nics, sizeof way->nics, port);
		}
	}
}

/* "NET/IB : Using [0]mlx5_0:1/IB ..."; the SHARP plugin, whose networks are IBext, IBext_v8 and so on, writes IB too.
 */
static void name_devices(struct way *way, char *message)
{
	char *list = muster_nccl_after(message, " : Using "), *network = message + strlen("NET/");
	for (size_t i = 0; list && i < way->device_count; i++) {
		const char *its = way->devices[i].network;
		its = muster_nccl_starts(its, "IBext") ? "IB" : its;
		size_t length = strlen(its);
		if (strncmp(network, its, length) == 0 && muster_nccl_starts(network + length, " : Using "))
			name_device(list, &way->devices[i], way);
	}
}

static void join(char *words)
{
	for (; *words; words++)
		if (*words == ' ')
			*words = '+';
}

/* Two passes: the lines from byte `from` on say which channels join the two ranks and which device numbers they use.
 * The names of these devices are in lines of NCCL's start, anywhere in the log. */
void muster_nccl_log_parse_way(
	const char *text, size_t length, size_t from, int own, int peer, struct muster_nccl_way *ret)
{
	struct way way = { 0 };
	char *copy = muster_nccl_lines_copy(text + from, length - from), *rest = copy, *line, *message, *part;
	bool for_sends;
	while ((line = muster_nccl_line_next(&rest)) != NULL)
		if ((message = muster_nccl_after(line, "NCCL INFO Channel ")) != NULL &&
			(part = muster_nccl_after(message, " via ")) != NULL &&
			is_between(message, own, peer, &for_sends))
			note_channel(&way, part, for_sends);
	free(copy);
	copy = rest = way.device_count > 0 ? muster_nccl_lines_copy(text, length) : NULL;
	while (rest && (line = muster_nccl_line_next(&rest)) != NULL)
		if ((message = muster_nccl_after(line, "NCCL INFO ")) != NULL && muster_nccl_starts(message, "NET/")) {
			name_virtual(&way, message);
			name_devices(&way, message);
		}
	free(copy);
	join(way.transports);
	join(way.nics);
	bool none = *way.transports && way.device_count == 0;
	snprintf(ret->transport, sizeof ret->transport, "%s", *way.transports ? way.transports : "unknown");
	snprintf(ret->nic, sizeof ret->nic, "%s", *way.nics ? way.nics : none ? "none" : "unknown");
}

/* The first line with a number above 0 counts. */
int muster_nccl_log_parse_channels(const char *text, size_t length, size_t from)
{
	char *copy = muster_nccl_lines_copy(text + from, length - from), *rest = copy, *line, *message;
	int count = -1;
	while (count <= 0 && (line = muster_nccl_line_next(&rest)) != NULL)
		if ((message = muster_nccl_after(line, "NCCL INFO ")) != NULL)
			count = muster_nccl_count_of(message, " p2p channels per peer");
	free(copy);
	return count > 0 ? count : -1;
}

/* Of the part TUNING: the table of its model, and a line for each all-reduce. They say nothing of a failure. */
static bool is_tuning(const char *info)
{
	size_t length = info ? strlen(info) : 0;
	return length > 0 && (info[length - 1] == '|' || strstr(info, " Bytes -> Algo "));
}

/* last[] is a ring of the last TAIL_LINES lines. At the first warning the lines before it are dropped, and from then on
 * only warnings are kept. What does not fit is cut at the front: the newest lines say most. */
const char *muster_nccl_log_tail(const char *text, size_t length, char *out, size_t size)
{
	char *copy = muster_nccl_lines_copy(text, length), *rest = copy, *last[TAIL_LINES], *line, *joined;
	size_t count = 0, joined_length;
	bool warned = false;
	while ((line = muster_nccl_line_next(&rest)) != NULL) {
		char *warning = muster_nccl_after(line, "NCCL WARN "), *info = muster_nccl_after(line, "NCCL INFO ");
		if (warning && !warned)
			count = 0;
		warned |= warning != NULL;
		if (is_tuning(info))
			continue;
		if (*line && warned == (warning != NULL))
			last[count++ % TAIL_LINES] = warning ? warning : info ? info : line;
	}
	FILE *all = muster_memory_open(&joined, &joined_length);
	size_t first = count < TAIL_LINES ? 0 : count - TAIL_LINES;
	for (size_t i = first; i < count; i++)
		fprintf(all, "%s%s", i > first ? " | " : "", last[i % TAIL_LINES]);
	muster_memory_close(all);
	const char *from = joined;
	if (joined_length >= size) {
		from += joined_length + 1 - size;
		from += strspn(from, " |"); /* what remains of a separator */
	}
	snprintf(out, size, "%s", from);
	free(joined);
	free(copy);
	return out;
}

/* ---- the lines of NCCL's log ---- */

char *muster_nccl_lines_copy(const char *text, size_t length)
{
	char *copy = muster_calloc(length + 1, 1);
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];
		copy[i] = byte == '\n' || (byte < 128 && isprint(byte)) ? (char)byte : isspace(byte) ? ' ' : '?';
	}
	return copy;
}

char *muster_nccl_line_next(char **rest)
{
	char *line = strsep(rest, "\n");
	for (size_t length = line ? strlen(line) : 0; length > 0 && line[length - 1] == ' '; length--)
		line[length - 1] = '\0';
	return line;
}

char *muster_nccl_after(char *text, const char *what)
{
	char *found = strstr(text, what);
	return found ? found + strlen(what) : NULL;
}

bool muster_nccl_starts(const char *text, const char *what)
{
	return strncmp(text, what, strlen(what)) == 0;
}
