/* command.c - run one of Slurm's own commands, and keep what it printed */
#include "slurm/command.h"

#include <string.h>

/* The last line that says anything: Slurm's programs end with what matters. */
static const char *last_line(char *text)
{
	size_t length = strlen(text);
	while (length > 0 && strchr("\n\r\t ", text[length - 1]))
		text[--length] = '\0';
	char *last = strrchr(text, '\n');
	return last ? last + 1 : text;
}

int muster_slurm_command_run(
	const char *const *argv, int deadline_ms, struct muster_child_output *ret, struct muster_error *err)
{
	if (muster_child_run(argv, deadline_ms, ret, err) < 0)
		return -1;
	if (ret->exit_code == 0)
		return 0;
	muster_fail(err, MUSTER_EIO, "%s %s: exit status %d: %s", argv[0], argv[1], ret->exit_code,
		last_line(*ret->error ? ret->error : ret->out));
	muster_child_output_done(ret);
	return -1;
}
