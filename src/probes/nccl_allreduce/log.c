/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - what NCCL says in its log of the way that the ring's data took
 *
 * `whole` is all that NCCL has written in this process, `own` the part since this ring began: devices and plugins are
 * named once in a process, channels and algorithms for each communicator.
 *
 * Which part each metric is read from, and what its null says:
 *
 *   rank.nccl_transport   own         the log names no channel; a ring of one rank has none (does not apply)
 *   rank.nccl_gdr         own         no channel uses a network (does not apply)
 *   rank.nccl_hcas        whole       as rank.nccl_transport
 *   rank.nccl_plugin      own, whole  the log names no network
 *   rank.nccl_collnet     own, whole  NCCL_COLLNET_ENABLE is not set, so NCCL looks for no CollNet
 *   rank.nccl_nvls        own         the log gives no number
 *   rank.nccl_algo        own         another rank than the first of the ring, or NCCL before 2.20
 *
 * Where the log cannot be read, all are null with that reason. A ring that failed yields no nulls: its log ends where
 * the ring failed, so what is not named there is not known to be absent.
 */
#include "probes/nccl_allreduce/allreduce.h"

#include "vendor/nccl_log.h"
#include "vendor/nccl_setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NCCL's log, and where the part of this ring begins. Plugins and devices are named once in a process. */
struct log {
	const char *text; /* NULL: it cannot be read */
	size_t length, ring_at;
	struct muster_error why;
	bool failed; /* the ring: what the log does not name may have come later */
};

/* The value when it is known, else null with the error, or after a failure of the ring nothing. */
static void tell(struct muster_probe_ctx *ctx, const struct log *log, const char *metric, bool known,
	struct muster_value value, const struct muster_error *why)
{
	if (known || !log->failed)
		muster_emit_read(ctx, metric, NULL, known ? 0 : -1, value, why);
}

/* The same for settings of NCCL, with a text as the reason of the null. */
static void tell_setting(struct muster_probe_ctx *ctx, const struct log *log, const char *metric, bool known,
	struct muster_value value, const char *why)
{
	if (known || !log->failed)
		muster_emit_result(ctx, metric, NULL, known ? 0 : -1, value, why);
}

/* Transports, devices and GPUDirect. rank.nccl_gdr is true only if all network channels use GPUDirect RDMA. */
static void emit_channels(struct muster_probe_ctx *ctx, const struct muster_ring *ring, const struct log *log)
{
	struct muster_nccl_log whole = { 0 }, own = { 0 };
	struct muster_error why = log->why, no_network;
	if (log->text)
		muster_fail(&why, ring->ranks == 1 ? MUSTER_ENOTSUPPORTED : MUSTER_EPROTOCOL, "%s",
			ring->ranks == 1 ? "an all-reduce of one rank has no channels" : "NCCL's log names no channel");
	muster_fail(&no_network, MUSTER_ENOTSUPPORTED, "no channel uses a network");
	if (log->text) {
		muster_nccl_log_parse(log->text, log->length, &whole);
		muster_nccl_log_parse(log->text + log->ring_at, log->length - log->ring_at, &own);
	}
	tell(ctx, log, "rank.nccl_transport", own.transports[0], muster_string(own.transports), &why);
	tell(ctx, log, "rank.nccl_hcas", whole.devices[0], muster_string(whole.devices), &why);
	tell(ctx, log, "rank.nccl_gdr", own.network_channels > 0,
		muster_boolean(own.gdr_channels == own.network_channels), own.transports[0] ? &no_network : &why);
}

/* A network that is not NCCL's own ("IB", "Socket") is a plugin's: "IBext_v8 /opt/.../libnccl-net.so", or its name
 * alone where the log has no file. network: as NCCL names it; "" when the log does not. */
static void emit_plugin(
	struct muster_probe_ctx *ctx, const struct log *log, const struct muster_nccl_setup *whole, const char *network)
{
	bool own = strcmp(network, "IB") == 0 || strcmp(network, "Socket") == 0;
	char text[sizeof whole->network + sizeof whole->plugin_file];
	snprintf(text, sizeof text, "%s%s%s", own ? "none" : network, own || !whole->plugin_file[0] ? "" : " ",
		own ? "" : whole->plugin_file);
	struct muster_error why = log->why;
	if (log->text)
		muster_fail(&why, MUSTER_EPROTOCOL, "NCCL's log names no network");
	tell(ctx, log, "rank.nccl_plugin", *network, muster_string(text), &why);
}

/* "67108864:NVLS/SIMPLE 268435456:RING/SIMPLE": the sizes that were measured. */
static void emit_algorithms(struct muster_probe_ctx *ctx, const struct muster_ring *ring, const struct log *log,
	const struct muster_nccl_setup *own)
{
	uint64_t sizes[SIZES_MAX];
	size_t count = muster_nccl_sizes(muster_probe_env(ctx), sizes), used = 0;
	char text[SIZES_MAX * 72] = "";
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < own->algorithm_count; j++)
			if (own->algorithms[j].bytes == sizes[i])
				used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64 ":%s",
					used ? " " : "", sizes[i], own->algorithms[j].name);
	const char *reason = !log->text        ? log->why.text
			     : ring->rank != 0 ? "NCCL names algorithms only in the log of the ring's first rank"
					       : "NCCL's log names no algorithm; NCCL before 2.20 writes none";
	tell_setting(ctx, log, "rank.nccl_algo", used > 0, muster_string(text), reason);
}

/* Plugin, CollNet, NVLS and algorithms. CollNet, where `own` is what the log says since the ring began:
 *
 *   own has a line of it                         "used", or what that line says
 *   own has none, whole has one                  "loaded": the plugin has it, and this ring does not use it
 *   neither has one, NCCL_COLLNET_ENABLE is set  "none"
 *   neither has one, it is not set               null */
static void emit_setup(struct muster_probe_ctx *ctx, const struct muster_ring *ring, const struct log *log)
{
	struct muster_nccl_setup whole = { .collnet = "none", .nvls_channels = -1 }, own = whole;
	if (log->text) {
		muster_nccl_setup_parse(log->text, log->length, &whole);
		muster_nccl_setup_parse(log->text + log->ring_at, log->length - log->ring_at, &own);
	}
	const char *network = own.network[0] ? own.network : whole.network;
	bool loaded = strcmp(own.collnet, "none") == 0 && strcmp(whole.collnet, "none") != 0;
	emit_plugin(ctx, log, &whole, network);
	const char *enabled = getenv("NCCL_COLLNET_ENABLE"); /* NCCL has put the lines of its files there */
	bool asked = enabled && strcmp(enabled, "0") != 0 && !log->failed,
	     known = asked || loaded || strcmp(own.collnet, "none") != 0;
	tell_setting(ctx, log, "rank.nccl_collnet", *network && known, muster_string(loaded ? "loaded" : own.collnet),
		!log->text ? log->why.text
		: *network ? "NCCL_COLLNET_ENABLE is not set, so NCCL looks for no CollNet"
			   : "NCCL's log names no network");
	tell_setting(ctx, log, "rank.nccl_nvls", own.nvls_channels >= 0, muster_number(own.nvls_channels),
		log->text ? "NCCL's log gives no number of NVLS channels" : log->why.text);
	emit_algorithms(ctx, ring, log, &own);
}

void muster_allreduce_log_emit(struct muster_probe_ctx *ctx, const struct muster_ring *ring, bool failed)
{
	struct log log = { .failed = failed };
	log.text = muster_nccl_log_read(&log.length, &log.why);
	if (log.text)
		log.ring_at = muster_nccl_log_of_ring(log.length);
	emit_channels(ctx, ring, &log);
	emit_setup(ctx, ring, &log);
}
