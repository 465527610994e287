/* job_nodes.c - the nodes that Slurm gave a job
 *
 * Both commands are asked for the list of nodes alone: other fields hold text of the user, which could look like a
 * list.
 */
#include "slurm/job_nodes.h"

#include "slurm/command.h"
#include "slurm/hostlist.h"

#include <string.h>

enum { NUMBER_LENGTH_MAX = 10 };

static int take(const char *text, const char *job, struct muster_arena *arena, const char *const **ret,
	size_t *ret_count, struct muster_error *err)
{
	if (text[strspn(text, " \n")] == '\0')
		return muster_fail(err, MUSTER_EIO, "Slurm does not list the nodes of job %s", job);
	return muster_hostlist_expand(text, arena, ret, ret_count, err);
}

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
	int rc;
	if (length == 0 || length > NUMBER_LENGTH_MAX || strspn(job, "0123456789") != length)
		return muster_fail(err, MUSTER_EUSAGE, "\"%.40s\" is not the number of a job", job);
	if (muster_slurm_command_run(now, deadline_ms, &child, err) == 0) {
		rc = remove_states(child.out, job, err);
	} else {
		if (err->code == MUSTER_ENOTSUPPORTED || err->code == MUSTER_ETIME)
			return -1; /* no Slurm here, or a silent one */
		if (muster_slurm_command_run(past, deadline_ms, &child, err) < 0)
			return -1;
		rc = 0;
	}
	if (rc == 0)
		rc = take(child.out, job, arena, ret, ret_count, err);
	muster_child_output_done(&child);
	return rc;
}
