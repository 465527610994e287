/* SPDX-License-Identifier: Apache-2.0 */
/* paths.c - files and folders that must be there, with the same content on all nodes
 *
 * The leader looks at each path in turn. Each path has at most PATH_MS, and all of them together ALL_MS, so that the
 * probe ends before its deadline of 20 s; a path whose time is over has no hash, and the reason says how far it came. A
 * call that hangs ends the worker at the deadline: the step names the path. Whether the content is the same is found
 * when the samples of all nodes are compared.
 */
#include "probes/paths/content.h"

#include "probes/metrics.h"
#include "util/text.h"

#include <limits.h>
#include <string.h>

#define PATH_MS 10000.0
#define ALL_MS 15000.0

static const struct muster_metric metrics[] = {
	NODE_TEXT("node.path_type", FACT, NOTHING,
		"what is at an expected path: \"file\", \"folder\", \"missing\", \"unreadable: \" and why, \"a FIFO\", "
		"\"a socket\", \"a device\"",
		.labels = { "path" }),
	NODE_TEXT("node.path_hash", FACT, NOTHING,
		"XXH64 of the file, or of the folder's listing (names, types, sizes), and how much it covers",
		.labels = { "path" }),
	NODE_NUMBER("node.path_entries", NONE, FACT, "files and folders below an expected folder, at most 100000",
		.labels = { "path" }),
	NODE_NUMBER(
		"node.path_open_ms", MS, DRIFTS, "time to look at an expected path and open it", .labels = { "path" }),
};

/* The four samples of one path, whose label is the path without the root prefix. A path that is too long for the root
 * prefix is not looked at. with_files: the content of the files of a folder counts, too. */
static void measure(struct muster_probe_ctx *ctx, const char *path, bool with_files, double until_ms)
{
	struct muster_path_content content = { .type = "unreadable: File name too long",
		.why = "the name is too long" };
	char whole[PATH_MAX];
	bool fits = strlen(muster_probe_env(ctx)->root) + strlen(path) < sizeof whole;
	muster_step(ctx, "read %s", path);
	if (fits)
		muster_path_content_read(
			muster_root_path(ctx, whole, sizeof whole, "%s", path), with_files, until_ms, &content);
	muster_emit_for(ctx, "node.path_type", path, muster_string(content.type));
	muster_emit_result(
		ctx, "node.path_hash", path, *content.hash ? 0 : -1, muster_string(content.hash), content.why);
	muster_emit_result(ctx, "node.path_entries", path, content.is_folder && *content.hash ? 0 : -1,
		muster_number((double)content.entries), *content.why ? content.why : "a file has no entries");
	muster_emit_result(ctx, "node.path_open_ms", path, fits ? 0 : -1, muster_number(content.open_ms), content.why);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	double end_ms = muster_now_ms() + ALL_MS;
	(void)err;
	for (size_t i = 0; i < env->expect_path_count; i++) {
		const char *path = env->expect_paths[i];
		bool with_files = strncmp(path, MUSTER_PATH_CONTENT, strlen(MUSTER_PATH_CONTENT)) == 0;
		double until_ms = muster_now_ms() + PATH_MS;
		measure(ctx, with_files ? path + strlen(MUSTER_PATH_CONTENT) : path, with_files,
			until_ms < end_ms ? until_ms : end_ms);
	}
	return 0;
}

const struct muster_probe muster_probe_paths = {
	.name = "paths",
	.summary = "files and folders that must be there on all nodes",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 20000,
	.order = 57,
	METRICS(metrics),
	.run = run,
	.hang_advice = "the file system of the path did not answer: check its servers and the mount on this node "
		       "(timeout 10 stat of the path, dmesg); the node itself may be healthy",
};
