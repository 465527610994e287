/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.c - what the cloud says this virtual machine is, and Hyper-V of the host that it runs on
 *
 * Most sites have no such service: that is no error, and costs at most a second on the leader alone. What does not
 * answer is null with the reason.
 *
 * The service is on a link-local address of IPv4, without a proxy. A machine without IPv4, without such a service, or
 * of another cloud answers nothing within half a second, and everything is null with that reason.
 *
 * The part of the answer that is read:
 *
 *   { "compute": { "vmSize": "Standard_ND96asr_v4", "placementGroupId": "...", "location": "eastus",
 *                  "vmId": "...", "resourceId": "/subscriptions/..." } }
 *
 * Texts come from outside: each must be a string of printable ASCII, not empty and not too long; else it is null with
 * the reason. The physical host is not in the answer; the guest's daemon of Hyper-V writes it to a file (KVP_POOL).
 */
#include "vendor/http.h"
#include "json/json.h"
#include "probes/metrics.h"
#include "util/env.h"
#include "util/file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_URL "http://169.254.169.254/metadata/instance?api-version=2021-02-01"

enum {
	CONNECT_MS = 500, /* the service is on the host itself: it takes a connection at once or never */
	TOTAL_MS = 1000,
	ANSWER_BYTES_MAX = 64 * 1024,
	TEXT_BYTES_MAX = 511, /* longer than the id of a machine of a scale set with the longest names, about 300 */
	/* struct kvp_record of linux tools/hv/hv_kvp_daemon.c: two arrays of the sizes HV_KVP_EXCHANGE_MAX_KEY_SIZE and
	 * HV_KVP_EXCHANGE_MAX_VALUE_SIZE of include/uapi/linux/hyperv.h. A host gives about 20 records. */
	KVP_KEY_BYTES = 512,
	KVP_RECORD_BYTES = KVP_KEY_BYTES + 2048,
	KVP_POOL_BYTES_MAX = 256 * KVP_RECORD_BYTES,
};

/* What the host says of itself; the daemon makes it readable for all (kvp_file_init: 0755, 0644). */
#define KVP_POOL "/var/lib/hyperv/.kvp_pool_3"
#define HOST_METRIC "node.physical_host"

static const struct muster_metric metrics[] = {
	NODE_TEXT("node.vm_size", FACT, NOTHING, "VM size from the cloud's instance metadata service",
		.is_machine_type = true, SHOWN(IN(MACHINE, 10, "VM size"), IN(TICKET, 40, "VM size"))),
	NODE_TEXT("node.placement_group", FACT, GROUP,
		"placement group: nodes of different groups may have no common fabric",
		SHOWN(IN(MACHINE, 30, "placement group"))),
	NODE_TEXT("node.location", FACT, REGION, "region of the cloud",
		SHOWN(IN(MACHINE, 20, "region"), IN(TICKET, 50, "region"))),
	NODE_TEXT("node.vm_id", FACT, VM, "id of the virtual machine, for a support request",
		SHOWN(IN(MACHINE, 40, "VM id", .own = true), IN(TICKET, 30, "VM id"),
			IN(AZURE, 30, "VmUniqueId", .optional = true))),
	NODE_TEXT("node.resource_id", FACT, VM, "id of the virtual machine in Azure Resource Manager",
		SHOWN(IN(TICKET, 20, "resource id"), IN(AZURE, 10, "impactedResourceId"))),
	NODE_TEXT(HOST_METRIC, FACT, HOST,
		"name of the physical host, for a support request; no value where Hyper-V tells none",
		SHOWN(IN(MACHINE, 45, "physical host", .own = true, .optional = true), IN(TICKET, 10, "physical host"),
			IN(AZURE, 20, "PhysicalHostName"))),
};

/* Of the object "compute", in the order of metrics, of which the last one is no key. */
static const char *const keys[] = { "vmSize", "placementGroupId", "location", "vmId", "resourceId" };
#define KEY_COUNT (sizeof keys / sizeof *keys)
_Static_assert(KEY_COUNT + 1 == sizeof metrics / sizeof *metrics, "a key for each metric but the host's name");

static void emit_nothing(struct muster_probe_ctx *ctx, const char *reason)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		muster_emit_null_for(ctx, metrics[i].name, NULL, "%s", reason);
}

/* The answer's tree; the caller frees it. */
static int ask(struct muster_probe_ctx *ctx, const char *url, struct muster_json **ret, struct muster_error *err)
{
	const struct muster_http_request request = {
		.url = url,
		.header = "Metadata: true",
		.connect_ms = CONNECT_MS,
		.total_ms = TOTAL_MS,
		.most = ANSWER_BYTES_MAX,
	};
	char *text;
	size_t length;
	muster_step(ctx, "GET %s", url);
	if (muster_http_get(&request, &text, &length, err) < 0)
		return muster_wrap(err, "metadata service");
	int result = muster_json_parse(text, length, ret, err);
	free(text);
	return result < 0 ? muster_wrap(err, "metadata service: the answer is not JSON") : 0;
}

/* It will be printed: nothing that could steer a terminal. */
static bool is_plain(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return !*text;
}

/* text: the value of the key, in what `source` names. */
static void emit_text(
	struct muster_probe_ctx *ctx, const char *metric, const char *source, const char *key, const char *text)
{
	if (!*text)
		muster_emit_null_for(ctx, metric, NULL, "%s: %s is empty", source, key);
	else if (strlen(text) > TEXT_BYTES_MAX)
		muster_emit_null_for(
			ctx, metric, NULL, "%s: %s is longer than %d bytes", source, key, (int)TEXT_BYTES_MAX);
	else if (!is_plain(text))
		muster_emit_null_for(
			ctx, metric, NULL, "%s: %s contains characters other than printable ASCII", source, key);
	else
		muster_emit_for(ctx, metric, NULL, muster_string(text));
}

/* The metric from the member `key` of the object "compute". */
static void emit(struct muster_probe_ctx *ctx, const char *metric, const char *key, const struct muster_json *compute)
{
	const struct muster_json *member = muster_json_member(compute, key);
	if (!member)
		muster_emit_null_for(ctx, metric, NULL, "metadata service: compute has no %s", key);
	else if (muster_json_type(member) != MUSTER_JSON_STRING)
		muster_emit_null_for(ctx, metric, NULL, "metadata service: %s is not a string", key);
	else
		emit_text(ctx, metric, "metadata service", key, muster_json_string(member));
}

/* The physical host from the pool's records, each of KVP_RECORD_BYTES:
 *
 *   | key, 512 bytes, padded with NUL | value, 2048 bytes, padded with NUL |
 *
 * Azure asks for PhysicalHostName; where a host tells its longer name alone, that names it too. A record whose last
 * byte is not NUL has a value without an end and is skipped; so is a part of a record at the end of the file. */
static void emit_host(struct muster_probe_ctx *ctx)
{
	char path[4096], *pool = NULL;
	const char *name = NULL;
	size_t length = 0;
	struct muster_error why;
	muster_root_path(ctx, path, sizeof path, KVP_POOL);
	int result = muster_file_read(path, KVP_POOL_BYTES_MAX, &pool, &length, &why);
	for (const char *at = pool; length >= KVP_RECORD_BYTES; at += KVP_RECORD_BYTES, length -= KVP_RECORD_BYTES)
		if (!at[KVP_RECORD_BYTES - 1] &&
			(strncmp(at, "PhysicalHostName", KVP_KEY_BYTES) == 0 ||
				(!name && strncmp(at, "PhysicalHostNameFullyQualified", KVP_KEY_BYTES) == 0)))
			name = at + KVP_KEY_BYTES;
	if (name)
		emit_text(ctx, HOST_METRIC, KVP_POOL, "PhysicalHostName", name);
	else
		muster_emit_null_for(ctx, HOST_METRIC, NULL, "%s",
			result < 0 ? why.text : KVP_POOL ": no record of PhysicalHostName");
	free(pool);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const char *url = muster_env(MUSTER_ENV_METADATA_URL);
	struct muster_json *answer;
	struct muster_error why;
	(void)err;
	emit_host(ctx);
	if (url && !*url) {
		emit_nothing(ctx, "no request: MUSTER_METADATA_URL is empty");
		return 0;
	}
	if (ask(ctx, url ? url : DEFAULT_URL, &answer, &why) < 0) {
		emit_nothing(ctx, why.text);
		return 0;
	}
	const struct muster_json *compute = NULL;
	if (muster_json_type(answer) == MUSTER_JSON_OBJECT)
		compute = muster_json_member(answer, "compute");
	if (!compute || muster_json_type(compute) != MUSTER_JSON_OBJECT)
		emit_nothing(ctx, "metadata service: the answer has no object \"compute\"");
	else
		for (size_t i = 0; i < KEY_COUNT; i++)
			emit(ctx, metrics[i].name, keys[i], compute);
	muster_json_free(answer);
	return 0;
}

const struct muster_probe muster_probe_metadata = {
	.name = "metadata",
	.summary = "the node as the cloud's instance metadata service describes it",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 3000,
	.order = 5,
	METRICS(metrics),
	.run = run,
};
