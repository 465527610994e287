/* scontrol.c - the state of Slurm's nodes, read and changed through its scontrol program */
#include "slurm/scontrol.h"

#include "slurm/command.h"
#include "muster/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
