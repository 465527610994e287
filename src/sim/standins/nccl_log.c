/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_log.c - libnccl.so.2 for the simulation: what NCCL_DEBUG makes it say
 *
 * The lines have the form that NCCL's own sources print: debug.cc for the prefix and NCCL_DEBUG_FILE, init.cc for the
 * version and the communicator, transport/p2p.cc and transport/net.cc for channels, transport/net_ib for the devices
 * (as of NCCL 2.28). What is said is the scenario's.
 *
 * muster's probes read these lines (src/vendor/nccl_log.c). Some of those of rank 0, of two nodes of ND96asr_v4, in
 * their order:
 *
 *   sim-1:4711:4711 [0] NCCL INFO NCCL version 2.30.4+cuda13.0
 *   sim-1:4711:4711 [0] NCCL INFO cudaDriverVersion 13000
 *   sim-1:4711:4711 [0] NCCL INFO NET/IB : Using [0]mlx5_ib0:1/IB [1]mlx5_ib1:1/IB ... [RO]; OOB eth0:10.0.0.4<0>
 *   sim-1:4711:4711 [0] NCCL INFO 16 coll channels, 16 collnet channels, 0 nvls channels, ...
 *   sim-1:4711:4711 [0] NCCL INFO ncclCommInitRankConfig comm 0x... rank 0 nranks 16 ... - Init COMPLETE
 *   sim-1:4711:4711 [0] NCCL INFO Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0/GDRDMA
 *   sim-1:4711:4711 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
 *   sim-1:4711:4711 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1
 *
 * The prefix is host:process:thread [CUDA device].
 */
#include "sim/standins/nccl.h"

#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum level { LEVEL_NONE, LEVEL_VERSION, LEVEL_WARN, LEVEL_INFO };

static struct {
	pthread_once_t once;
	enum level level;
	bool quiet;         /* NCCL_DEBUG_SUBSYS leaves INIT out: every line is of INIT, except those of algorithms */
	bool tuning;        /* it names TUNING, the part of those */
	FILE *out;          /* standard output, or the file that NCCL_DEBUG_FILE names */
	char warning[1024]; /* the last one, whatever the level: for ncclGetLastError */
	bool started;       /* the process's first lines are written */
} debug = { .once = PTHREAD_ONCE_INIT };

static void host_name(char *ret, size_t size)
{
	const char *name = muster_sim_this_node()->name;
	snprintf(ret, size, "%.*s", (int)strcspn(name, "."), name);
}

/* %h is the host, %p the process, %% a percent sign; anything else stays as it is. */
static void expand(const char *pattern, char *ret, size_t size)
{
	char host[256];
	size_t length = 0;
	host_name(host, sizeof host);
	ret[0] = '\0';
	for (const char *at = pattern; *at && length < size; at++) {
		int printed;
		if (*at != '%' || !at[1])
			printed = snprintf(ret + length, size - length, "%c", *at);
		else if (*++at == 'h')
			printed = snprintf(ret + length, size - length, "%s", host);
		else if (*at == 'p')
			printed = snprintf(ret + length, size - length, "%ld", (long)getpid());
		else
			printed = snprintf(ret + length, size - length, *at == '%' ? "%c" : "%%%c", *at);
		length += printed > 0 ? (size_t)printed : 0;
	}
}

/* Once in a process, with the first line that NCCL may have to write. As in debug.cc, NCCL_DEBUG_SUBSYS is a list of
 * parts, or with '^' of those that are not wanted. A file that cannot be opened leaves standard output. */
static void read_environment(void)
{
	const char *level = getenv("NCCL_DEBUG"), *file = getenv("NCCL_DEBUG_FILE"),
		   *parts = getenv("NCCL_DEBUG_SUBSYS");
	char path[PATH_MAX];
	debug.out = stdout;
	if (level && strcasecmp(level, "VERSION") == 0)
		debug.level = LEVEL_VERSION;
	else if (level && strcasecmp(level, "WARN") == 0)
		debug.level = LEVEL_WARN;
	else if (level && (strcasecmp(level, "INFO") == 0 || strcasecmp(level, "TRACE") == 0))
		debug.level = LEVEL_INFO;
	if (parts && *parts) {
		bool inverted = *parts == '^';
		bool named = strcasestr(parts, "INIT") || strcasestr(parts, "ALL");
		debug.quiet = named == inverted;
		debug.tuning = (strcasestr(parts, "TUNING") || strcasestr(parts, "ALL")) && !inverted;
	}
	if (debug.level <= LEVEL_VERSION || !file || !*file)
		return;
	expand(file, path, sizeof path);
	FILE *opened = fopen(path, "w");
	if (opened) {
		setlinebuf(opened);
		debug.out = opened;
	}
}

static bool is_since(int version)
{
	return muster_sim_this_node()->nccl_version >= version;
}

/* when: the time with "[%F %T] ", as warnings have it since 2.26; "" */
static void say(const char *when, const char *kind, const char *text)
{
	struct muster_standin_device device = { 0 };
	char host[256];
	host_name(host, sizeof host);
	muster_standin_cuda()->muster_standin_cuda_current(&device);
	fprintf(debug.out, "%s%s:%ld:%ld [%d] %s%s\n", when, host, (long)getpid(), (long)gettid(), device.ordinal, kind,
		text);
	fflush(debug.out);
}

void muster_simlog_info(const char *format, ...)
{
	char text[4096];
	va_list arguments;
	pthread_once(&debug.once, read_environment);
	if (debug.level < LEVEL_INFO || debug.quiet)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	say("", "NCCL INFO ", text);
}

void muster_simlog_warn(const char *format, ...)
{
	va_list arguments;
	char when[64] = "";
	time_t now = time(NULL);
	struct tm local;
	pthread_once(&debug.once, read_environment);
	va_start(arguments, format);
	vsnprintf(debug.warning, sizeof debug.warning, format, arguments);
	va_end(arguments);
	if (debug.level < LEVEL_WARN)
		return;
	if (is_since(22600) && localtime_r(&now, &local))
		strftime(when, sizeof when, "[%F %T] ", &local);
	fputc('\n', debug.out); /* NCCL puts an empty line before a warning */
	say(when, "nccl.c:0 NCCL WARN ", debug.warning);
}

const char *muster_simlog_last_warning(void)
{
	return debug.warning;
}

/* -- what it says of the scenario -- */

/* "2.28.9+cuda13.0", as ncclGetVersion's number and the driver have it. */
static void log_version(void)
{
	const struct muster_sim_node *node = muster_sim_this_node();
	int version = node->nccl_version;
	int major = version < 10000 ? version / 1000 : version / 10000;
	int minor = version < 10000 ? version % 1000 / 100 : version % 10000 / 100;
	char text[64];
	snprintf(text, sizeof text, "NCCL version %d.%d.%d+cuda%d.%d", major, minor, version % 100,
		node->cuda_driver / 1000, node->cuda_driver % 1000 / 10);
	if (debug.level == LEVEL_INFO) {
		muster_simlog_info("%s", text);
	} else if (debug.level != LEVEL_NONE) {
		fprintf(debug.out, "%s\n", text);
		fflush(debug.out);
	}
}

int muster_simlog_setting(const char *variable)
{
	const char *text = getenv(variable);
	return text ? (int)strtol(text, NULL, 10) : 0;
}

static bool is_used(const struct muster_sim_port *port)
{
	return muster_simlog_setting("NCCL_IB_DISABLE") == 0 && muster_simring_uses(muster_sim_this_node(), port);
}

static size_t count_used(void)
{
	const struct muster_sim_node *node = muster_sim_this_node();
	size_t count = 0;
	for (size_t i = 0; i < node->port_count; i++)
		count += is_used(&node->ports[i]);
	return count;
}

/* The name of the network: "IB" of "NET/IB/GDRDMA". Another than NCCL's own is that of a plugin, which the node may
 * lack. Returns ret. */
static const char *network_name(char ret[64])
{
	const char *transport = muster_sim_cluster()->inter_transport;
	if (count_used() == 0 || strncmp(transport, "NET/", 4) != 0)
		snprintf(ret, 64, "Socket");
	else if (muster_sim_this_node()->nccl_plugin_missing)
		snprintf(ret, 64, "IB");
	else
		snprintf(ret, 64, "%.*s", (int)strcspn(transport + 4, "/"), transport + 4);
	return ret;
}

static bool is_plugin(const char *network)
{
	return strcmp(network, "IB") != 0 && strcmp(network, "Socket") != 0;
}

static void log_plugin(const char *network)
{
	if (!is_plugin(network)) {
		muster_simlog_info("NET/Plugin: Could not find: libnccl-net.so");
		return;
	}
	muster_simlog_info("NET/Plugin: Loaded net plugin %s (v10)", network);
	muster_simlog_info("NET/Plugin: Loaded collnet plugin SHARP (v10)");
	muster_simlog_info("Successfully loaded external network plugin "
			   "/usr/local/nccl-rdma-sharp-plugins/lib/libnccl-net.so");
}

/* Which network NCCL has found: its plugin, the RDMA devices that it uses, or sockets. */
static void log_network(void)
{
	char network[64];
	log_plugin(network_name(network));
	const struct muster_sim_node *node = muster_sim_this_node();
	char devices[2048] = "";
	size_t length = 0, count = 0;
	if (count_used() == 0) {
		muster_simlog_info("NET/IB : No device found.");
		muster_simlog_info("NET/Socket : Using [0]eth0:10.0.0.4<0>");
		muster_simlog_info("Using network Socket");
		return;
	}
	for (size_t i = 0; i < node->port_count && length < sizeof devices; i++) {
		if (!is_used(&node->ports[i]))
			continue;
		int printed = snprintf(devices + length, sizeof devices - length, " [%zu]%s:%d/%s", count++,
			node->ports[i].device, node->ports[i].port,
			strcmp(node->ports[i].link_layer, "Ethernet") == 0 ? "RoCE" : "IB");
		length += printed > 0 ? (size_t)printed : 0;
	}
	muster_simlog_info("NET/IB : Using%s [RO]; OOB eth0:10.0.0.4<0>", devices);
	muster_simlog_info("Using network %s", network);
}

void muster_simlog_start(int rank)
{
	pthread_once(&debug.once, read_environment);
	if (rank == 0)
		log_version();
	if (debug.started)
		return;
	debug.started = true;
	muster_simlog_info("cudaDriverVersion %d", muster_sim_this_node()->cuda_driver);
	log_network();
}

/* connection: 0 is that of collectives, 1 that of sends and receives; the line of shared memory leaves it out. */
struct channel {
	size_t number;
	int connection;
	size_t device;
};

static void log_channel(
	const struct muster_simring *ring, struct channel channel, int from, int to, const char *end, const char *path)
{
	char connection[16] = "";
	if (strncmp(path, "SHM/", 4) != 0)
		snprintf(connection, sizeof connection, "/%d", channel.connection);
	muster_simlog_info("Channel %02zu%s : %d[%d] -> %d[%d]%s via %s", channel.number, connection, from,
		muster_simring_member(ring, from)->nvml_index, to, muster_simring_member(ring, to)->nvml_index, end,
		path);
}

/* From one NVLink domain to another, over the network: "NET/IB/GDRDMA" over device 2 is "NET/IB/2/GDRDMA". */
static void log_far_channel(
	const struct muster_simring *ring, struct channel channel, int from, int to, const char *end)
{
	const char *transport = muster_sim_cluster()->inter_transport;
	char network[64], path[256] = "NET/Socket/0";
	if (strcmp(network_name(network), "Socket") != 0)
		snprintf(path, sizeof path, "NET/%s/%zu%s", network, channel.device,
			transport + 4 + strcspn(transport + 4, "/"));
	log_channel(ring, channel, from, to, end, path);
}

/* Within one NVLink domain, on the sender's side. Where it joins nodes, all ways in it are called so. */
static void log_near_channel(const struct muster_simring *ring, struct channel channel, int from, int to)
{
	const struct muster_simring_member *self = muster_simring_member(ring, from);
	const struct muster_simring_member *peer = muster_simring_member(ring, to);
	log_channel(ring, channel, from, to, "",
		peer->node == self->node && (peer->no_p2p || self->no_p2p) ? "SHM/direct/direct"
		: muster_simring_is_mnnvl(ring, from)                      ? "P2P/MNNVL"
									   : muster_sim_cluster()->intra_transport);
}

/* NVLink SHARP: GPUs from Hopper on, of which the ring has two or more at one set of switches. */
static bool uses_nvls(const struct muster_simring *ring, int rank, int ranks)
{
	const struct muster_simring_member *self = muster_simring_member(ring, rank);
	const struct muster_sim_gpu *gpu = muster_simring_way(ring, rank)->gpu;
	const char *setting = getenv("NCCL_NVLS_ENABLE");
	int near = 0;
	for (int i = 0; i < ranks; i++)
		near += muster_simring_member(ring, i)->domain == self->domain;
	return near > 1 && gpu->compute_major >= 9 && gpu->nvlinks_active > 0 && gpu->nvlink_group > 2 &&
	       !(setting && strcmp(setting, "0") == 0);
}

static bool uses_collnet(const struct muster_simring *ring)
{
	char network[64];
	return muster_simring_domains(ring) > 1 && muster_simlog_setting("NCCL_COLLNET_ENABLE") != 0 &&
	       is_plugin(network_name(network));
}

/* Each rank writes the connections that it makes: within a domain it sends to the next rank; over the network it
 * receives from the one before and sends to the next. Channels go through the adapters in turns. */
void muster_simlog_channels(const struct muster_simring *ring, int rank, int ranks)
{
	int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
	const struct muster_simring_member *self = muster_simring_member(ring, rank);
	size_t devices = count_used(), channels = muster_simring_domains(ring) > 1 && devices > 0 ? devices : 2;
	for (size_t i = 0; i < channels && ranks > 1; i++) {
		struct channel channel = { .number = i, .device = devices > 0 ? i % devices : 0 };
		if (muster_simring_member(ring, before)->domain != self->domain)
			log_far_channel(ring, channel, before, rank, " [receive]");
		if (muster_simring_member(ring, after)->domain != self->domain)
			log_far_channel(ring, channel, rank, after, " [send]");
		else
			log_near_channel(ring, channel, rank, after);
	}
	muster_simlog_info(is_since(22400) ? "Connected all rings, use ring PXN 0 GDR 1" : "Connected all rings");
	if (uses_collnet(ring))
		muster_simlog_info("rank %d Connected CollNet", rank);
}

void muster_simlog_channel_count(const struct muster_simring *ring, int rank, int ranks)
{
	const struct muster_simchannels *channels = muster_simring_channels(ring);
	muster_simlog_info("%d coll channels, %d collnet channels, %d nvls channels, %d p2p channels, %d p2p channels "
			   "per peer",
		channels->collectives, channels->collectives, uses_nvls(ring, rank, ranks) ? 16 : 0, channels->p2p,
		channels->per_peer);
}

void muster_simlog_algorithm(const struct muster_simring *ring, int rank, int ranks, size_t bytes)
{
	char text[256];
	bool large = bytes >= (size_t)64 << 20, nvls = large && uses_nvls(ring, rank, ranks);
	pthread_once(&debug.once, read_environment);
	if (debug.level < LEVEL_INFO || !debug.tuning || rank != 0 || !is_since(22400))
		return;
	snprintf(text, sizeof text, "AllReduce: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={0..15}", bytes,
		!nvls                              ? "RING"
		: muster_simring_domains(ring) > 1 ? "NVLS_TREE"
						   : "NVLS",
		large ? "SIMPLE" : "LL128");
	say("", "NCCL INFO ", text);
}

/* Channel 00/1: connection 1 is that of sends and receives. */
void muster_simlog_pair(const struct muster_simring *ring, int rank, int peer)
{
	struct channel channel = { .connection = 1, .device = (size_t)muster_simring_way(ring, rank)->adapter_index };
	if (muster_simring_member(ring, peer)->domain == muster_simring_member(ring, rank)->domain) {
		log_near_channel(ring, channel, rank, peer);
		return;
	}
	log_far_channel(ring, channel, peer, rank, " [receive]");
	log_far_channel(ring, channel, rank, peer, " [send]");
}
