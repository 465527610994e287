/* scontrol.c - the state of Slurm's nodes, read and changed through its scontrol program */
#include "slurm/scontrol.h"

#include "util/child.h"
#include "muster/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool muster_slurm_name_is_plain(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(name);
	return length > 0 && length <= 255 && *name != '-' && strspn(name, allowed) == length;
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
	if (reason)
		snprintf(node.reason, sizeof node.reason, "%.*s", (int)reason_length(reason), reason);
	node.drained = has_flag(node.state, "DRAIN"); /* DRAINED and DRAINING too */
	*ret = node;
	return 0;
}

/* The last line that says anything: Slurm's programs end with what matters. */
static const char *last_line(char *text)
{
	size_t length = strlen(text);
	while (length > 0 && strchr("\n\r\t ", text[length - 1]))
		text[--length] = '\0';
	char *last = strrchr(text, '\n');
	return last ? last + 1 : text;
}

/* Run it; its own words are the error when it did not end well. */
static int call(const char *const *argv, int deadline_ms, struct muster_child_output *ret, struct muster_error *err)
{
	if (muster_child_run(argv, deadline_ms, ret, err) < 0)
		return -1;
	if (ret->exit_code == 0)
		return 0;
	muster_fail(err, MUSTER_EIO, "scontrol %s: exit status %d: %s", argv[1], ret->exit_code,
		last_line(*ret->error ? ret->error : ret->out));
	muster_child_output_done(ret);
	return -1;
}

int muster_slurm_node_show(const char *name, int deadline_ms, struct muster_slurm_node *ret, struct muster_error *err)
{
	const char *const argv[] = { "scontrol", "show", "node", name, "-o", NULL };
	struct muster_child_output child;
	if (call(argv, deadline_ms, &child, err) < 0)
		return -1;
	int rc = muster_slurm_node_parse(child.out, ret, err);
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
	int rc = call(argv, deadline_ms, &child, err);
	if (rc == 0)
		muster_child_output_done(&child);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(texts[i]);
	return rc;
}
