/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - Slurm's own commands: run one, read and change the state of a node, list the nodes of a job
 *
 * Every question to Slurm is one call of one of its programs, with a deadline and without a shell:
 *
 *    scontrol show node NAME -o                      muster_slurm_node_show
 *    scontrol update NodeName= State= [Reason=]      muster_slurm_node_update
 *    squeue, and sacct for an older job              muster_slurm_job_nodes
 *
 * sinfo and scontrol show topology are called in slurm/drain.c. The callers of both files are `muster drain`,
 * `muster resume` and what the two share (cli/node_changes.c). Two codes of an error tell a caller that Slurm will not
 * answer the next question either: MUSTER_ENOTSUPPORTED, no such program or no controller, and MUSTER_ETIME, no answer
 * in time.
 */
#include "slurm/command.h"

#include "slurm/hostlist.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* The last line that is not empty: Slurm's programs end with the line that matters. White space at the end of text is
 * overwritten. */
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
	if (ret->exit_code == 0 && !ret->cut)
		return 0;
	const char *said = ret->cut ? "it printed too much" : last_line(*ret->error ? ret->error : ret->out);
	muster_fail(err, is_no_answer(said) ? MUSTER_ENOTSUPPORTED : MUSTER_EIO, "%s %s: exit status %d: %s", argv[0],
		argv[1], ret->exit_code, said);
	muster_child_output_done(ret);
	return -1;
}

/* ---- the state of Slurm's nodes, read and changed through its scontrol program ---- */

bool muster_slurm_name_is_plain(const char *name)
{
	/* ALL is for scontrol every node */
	return muster_text_is_plain(name) && strlen(name) <= 255 && strcasecmp(name, "ALL") != 0;
}

/* What follows the first occurrence of key, " State=" with its blank and its equals sign; NULL when there is none. The
 * value has no end of its own: it ends at the next blank, or for a reason where reason_length() says so. */
static const char *value_find(const char *text, const char *key)
{
	const char *found = strstr(text, key);
	return found ? found + strlen(key) : NULL;
}

/* Whether one of the words of a state begins with flag. A state is "IDLE", "IDLE+DRAIN" or "DOWN*+DRAIN": further words
 * follow a "+", and a mark may follow each. So DRAIN fits DRAINED and DRAINING too. */
static bool has_flag(const char *state, const char *flag)
{
	for (const char *at = state; at; at = strchr(at, '+')) {
		at += *at == '+';
		if (strncmp(at, flag, strlen(flag)) == 0)
			return true;
	}
	return false;
}

/* The length of a reason, without the " [user@time]" that Slurm appends to it. The last " [" with an "@" behind it
 * begins that part: the reason itself may contain brackets. */
static size_t reason_length(const char *reason)
{
	size_t length = strcspn(reason, "\n");
	for (size_t at = length; at > 1; at--)
		if (reason[at] == '[' && reason[at - 1] == ' ' && memchr(reason + at, '@', length - at))
			return at - 1;
	return length;
}

/* mktime() takes the time for one of this zone, as Slurm's programs print it. */
int64_t muster_slurm_time_read(const char *text, int64_t unknown)
{
	struct tm parts = { .tm_isdst = -1 };
	return strptime(text, "%Y-%m-%dT%H:%M:%S", &parts) ? (int64_t)mktime(&parts) : unknown;
}

/* text is one line, of which three values are used:
 *
 *    NodeName=gpu-1 Arch=x86_64 ... State=IDLE+DRAIN ... Reason=muster: gpu.count: 7 [root@2026-11-29T12:00:00]
 *
 * ret->reason is "" for a node in service, whatever Slurm prints: Slurm 24.11 keeps the reason of a node after its
 * return to service. */
int muster_slurm_node_parse(const char *text, struct muster_slurm_node *ret, struct muster_error *err)
{
	static const char *const holds[] = { "DOWN", "FAIL", "REBOOT", "MAINT", "POWERING" };
	const char *state = value_find(text, " State="), *reason = value_find(text, " Reason=");
	struct muster_slurm_node node = { 0 };
	if (strncmp(text, "NodeName=", 9) != 0 || !state)
		return muster_fail(err, MUSTER_EPROTOCOL, "scontrol show node printed no node: \"%.80s\"", text);
	snprintf(node.state, sizeof node.state, "%.*s", (int)strcspn(state, " \n"), state);
	node.drained = has_flag(node.state, "DRAIN"); /* DRAINED and DRAINING too */
	for (size_t i = 0; i < sizeof holds / sizeof *holds; i++)
		node.held = node.held || has_flag(node.state, holds[i]);
	bool out = node.drained || has_flag(node.state, "DOWN") || has_flag(node.state, "FAIL");
	if (reason && out) {
		size_t length = reason_length(reason);
		const char *at = strchr(reason + length, '@');
		snprintf(node.reason, sizeof node.reason, "%.*s", (int)length, reason);
		node.since = at ? muster_slurm_time_read(at + 1, 0) : 0;
	}
	*ret = node;
	return 0;
}

/* -1 with err (MUSTER_EUSAGE) unless scontrol showed exactly the node called name. scontrol also takes the name of a
 * set of nodes, for which it prints several lines, and the name of the host that has a node: then a change would hit
 * other nodes than the one that the report names. */
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

/* Each argument is one word for scontrol, and no shell reads it, so a reason may have blanks. The caller keeps out of
 * name and reason what scontrol itself would read as more than text (muster_slurm_name_is_plain,
 * muster_drain_reason_write). */
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

/* Overwrite in "STATE|NODES" lines, one for each part of the job, the states and the bars with blanks, so that only a
 * host list remains. -1 with err when a part of the job is COMPLETING: squeue then lists only the nodes that have not
 * finished, and the others would look as if they were not of the job. */
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

/* squeue is asked first, with one row "STATE|NODES" for each part of the job. sacct, which knows older jobs, is asked
 * only after squeue itself has refused the job: without Slurm here, or without an answer in time, the call ends. */
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
