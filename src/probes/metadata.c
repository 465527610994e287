/* metadata.c - what the cloud says this virtual machine is
 *
 * Most sites have no such service: that is no error, and costs at most a second on the leader alone. What does not
 * answer is null with the reason.
 */
#include "vendor/http.h"
#include "json/json.h"
#include "probes/metrics.h"
#include "util/env.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_URL "http://169.254.169.254/metadata/instance?api-version=2021-02-01"

enum {
	CONNECT_MS = 500, /* the service is on the host itself: it takes a connection at once or never */
	TOTAL_MS = 1000,
	ANSWER_BYTES_MAX = 64 * 1024,
	TEXT_BYTES_MAX = 255,
};

static const struct muster_metric metrics[] = {
	NODE_TEXT("node.vm_size", FACT, NOTHING, "VM size from the cloud's instance metadata service",
		SHOWN(IN(MACHINE, 10, "VM size"))),
	NODE_TEXT("node.placement_group", FACT, GROUP,
		"placement group: nodes of different groups may have no common fabric",
		SHOWN(IN(MACHINE, 30, "placement group"))),
	NODE_TEXT("node.location", FACT, REGION, "region of the cloud", SHOWN(IN(MACHINE, 20, "region"))),
	NODE_TEXT("node.vm_id", FACT, VM, "id of the virtual machine, for a support request",
		SHOWN(IN(MACHINE, 40, "VM id", .own = true))),
};

/* Of the object "compute", in the order of metrics. */
static const char *const keys[] = { "vmSize", "placementGroupId", "location", "vmId" };
#define KEY_COUNT (sizeof keys / sizeof *keys)
_Static_assert(KEY_COUNT == sizeof metrics / sizeof *metrics, "a key for each metric");

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

static void emit(struct muster_probe_ctx *ctx, const char *metric, const char *key, const struct muster_json *compute)
{
	const struct muster_json *member = muster_json_member(compute, key);
	const char *text = NULL;
	if (member && muster_json_type(member) == MUSTER_JSON_STRING)
		text = muster_json_string(member);
	if (!member)
		muster_emit_null_for(ctx, metric, NULL, "metadata service: compute has no %s", key);
	else if (!text)
		muster_emit_null_for(ctx, metric, NULL, "metadata service: %s is not a string", key);
	else if (!*text)
		muster_emit_null_for(ctx, metric, NULL, "metadata service: %s is empty", key);
	else if (strlen(text) > TEXT_BYTES_MAX)
		muster_emit_null_for(
			ctx, metric, NULL, "metadata service: %s is longer than %d bytes", key, (int)TEXT_BYTES_MAX);
	else if (!is_plain(text))
		muster_emit_null_for(
			ctx, metric, NULL, "metadata service: %s contains characters other than printable ASCII", key);
	else
		muster_emit_for(ctx, metric, NULL, muster_string(text));
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const char *url = muster_env(MUSTER_ENV_METADATA_URL);
	struct muster_json *answer;
	struct muster_error why;
	(void)err;
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
