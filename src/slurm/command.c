/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - Slurm's own commands: run one, read and change the state of a node, list the nodes of a job */
#include "slurm/command.h"

#include "slurm/hostlist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The last line that says anything: Slurm's programs end with what matters. */
static const char *last_line(char *text)
{
	size_t length = strlen(text);
	while (length > 0 && strchr("\n\r\t ", text[length - 1]))
		text[--length] = '\0';
	char *last = strrchr(text, '\n');
	return last ? last + 1 : text;
}

/* Whether a program of Slurm found no controller; the texts are those of slurm_errno.c and fetch_config.c. */
static bool is_no_answer(const char *said)
{
	return strstr(said, "Unable to contact slurm controller") || strstr(said, "establish a configuration source");
}

int muster_slurm_command_run(
	const char *const *argv, int deadline_ms, struct muster_child_output *ret, struct muster_error *err)
{
	if (muster_child_run(argv, deadline_ms, ret, err) < 0)
		return -1;
	if (ret->exit_code == 0)
		return 0;
	const char *said = last_line(*ret->error ? ret->error : ret->out);
	muster_fail(err, is_no_answer(said) ? MUSTER_ENOTSUPPORTED : MUSTER_EIO, "%s %s: exit status %d: %s", argv[0],
		argv[1], ret->exit_code, said);
	muster_child_output_done(ret);
	return -1;
}

/* ---- the state of Slurm's nodes, read and changed through its scontrol program ---- */

bool muster_slurm_name_is_plain(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(name);
	return length > 0 && length <= 255 && *name != '-' && strspn(name, allowed) == length &&
	       strcasecmp(name, "ALL") != 0; /* for scontrol every node */
}

/* The value after the first " KEY=". */
static const char *value_find(const char *text, const char *key)
{
	const char *found = strstr(text, key);
	return found ? found + strlen(key) : NULL;
}

/* "DOWN*+DRAIN": flags follow '+', and each may have a mark. */
static bool has_flag(const char *state, const char *flag)
{
	for (const char *at = state; at; at = strchr(at, '+')) {
		at += *at == '+';
		if (strncmp(at, flag, strlen(flag)) == 0)
			return true;
	}
	return false;
}

/* Slurm appends " [user@time]" to a reason. */
static size_t reason_length(const char *reason)
{
	size_t length = strcspn(reason, "\n");
	for (size_t at = length; at > 1; at--)
		if (reason[at] == '[' && reason[at - 1] == ' ' && memchr(reason + at, '@', length - at))
			return at - 1;
	return length;
}

int muster_slurm_node_parse(const char *text, struct muster_slurm_node *ret, struct muster_error *err)
{
	const char *state = value_find(text, " State="), *reason = value_find(text, " Reason=");
	struct muster_slurm_node node = { 0 };
	if (strncmp(text, "NodeName=", 9) != 0 || !state)
		return muster_fail(err, MUSTER_EPROTOCOL, "scontrol show node printed no node: \"%.80s\"", text);
	snprintf(node.state, sizeof node.state, "%.*s", (int)strcspn(state, " \n"), state);
	node.drained = has_flag(node.state, "DRAIN"); /* DRAINED and DRAINING too */
	/* Slurm 24.11 keeps the reason of a node that was given back */
	bool out = node.drained || has_flag(node.state, "DOWN") || has_flag(node.state, "FAIL");
	if (reason && out)
		snprintf(node.reason, sizeof node.reason, "%.*s", (int)reason_length(reason), reason);
	*ret = node;
	return 0;
}

/* The name of a set of nodes, or of the host that has the node, is not the node's own. */
static int check_name(const char *text, const char *name, struct muster_error *err)
{
	const char *shown = text + strlen("NodeName="), *end = strchr(text, '\n');
	size_t length = strcspn(shown, " \n");
	if (end && strstr(end, "NodeName="))
		return muster_fail(err, MUSTER_EUSAGE, "in Slurm, this name means several nodes");
	if (length != strlen(name) || strncmp(shown, name, length) != 0)
		return muster_fail(err, MUSTER_EUSAGE, "in Slurm, this node is called \"%.*s\"",
			(int)(length < 100 ? length : 100), shown);
	return 0;
}

int muster_slurm_node_show(const char *name, int deadline_ms, struct muster_slurm_node *ret, struct muster_error *err)
{
	const char *const argv[] = { "scontrol", "show", "node", name, "-o", NULL };
	struct muster_child_output child;
	if (muster_slurm_command_run(argv, deadline_ms, &child, err) < 0)
		return -1;
	int rc = muster_slurm_node_parse(child.out, ret, err);
	if (rc == 0)
		rc = check_name(child.out, name, err);
	muster_child_output_done(&child);
	return rc;
}

int muster_slurm_node_update(
	const char *name, const char *state, const char *reason, int deadline_ms, struct muster_error *err)
{
	char *texts[] = { muster_asprintf("NodeName=%s", name), muster_asprintf("State=%s", state),
		reason ? muster_asprintf("Reason=%s", reason) : NULL };
	const char *const argv[] = { "scontrol", "update", texts[0], texts[1], texts[2], NULL };
	struct muster_child_output child;
	int rc = muster_slurm_command_run(argv, deadline_ms, &child, err);
	if (rc == 0)
		muster_child_output_done(&child);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(texts[i]);
	return rc;
}

/* ---- the nodes that Slurm gave a job ---- */

/* Both commands are asked for the list of nodes alone: other fields hold text of the user, which could look like a
 * list. */

enum { NUMBER_LENGTH_MAX = 10 };

/* "STATE|NODES" of each part of the job: only the nodes remain. */
static int remove_states(char *text, const char *job, struct muster_error *err)
{
	for (char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t length = strcspn(line, "|\n");
		if (strncmp(line, "COMPLETING", strlen("COMPLETING")) == 0)
			return muster_fail(err, MUSTER_EIO, "job %s is still ending", job);
		memset(line, ' ', length + (line[length] == '|'));
	}
	return 0;
}

int muster_slurm_job_nodes(const char *job, int deadline_ms, struct muster_arena *arena, const char *const **ret,
	size_t *ret_count, struct muster_error *err)
{
	const char *const now[] = { "squeue", "--noheader", "--states=all", "--jobs", job, "--format=%T|%N", NULL };
	const char *const past[] = { "sacct", "--noheader", "--allocations", "--parsable2", "--jobs", job,
		"--format=NodeList", NULL };
	struct muster_child_output child;
	size_t length = strlen(job);
	int rc = 0;
	if (length == 0 || length > NUMBER_LENGTH_MAX || strspn(job, "0123456789") != length)
		return muster_fail(err, MUSTER_EUSAGE, "\"%.40s\" is not the number of a job", job);
	if (muster_slurm_command_run(now, deadline_ms, &child, err) == 0) {
		rc = remove_states(child.out, job, err);
	} else if (err->code == MUSTER_ENOTSUPPORTED ||
		   err->code == MUSTER_ETIME || /* no Slurm here, or a silent one */
		   muster_slurm_command_run(past, deadline_ms, &child, err) < 0) {
		return -1;
	}
	if (rc == 0 && child.out[strspn(child.out, " \n")] == '\0')
		rc = muster_fail(err, MUSTER_EIO, "Slurm does not list the nodes of job %s", job);
	if (rc == 0)
		rc = muster_hostlist_expand(child.out, arena, ret, ret_count, err);
	muster_child_output_done(&child);
	return rc;
}
