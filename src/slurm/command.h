/* command.h - run one of Slurm's own commands, and keep what it printed */
#ifndef MUSTER_SLURM_COMMAND_H
#define MUSTER_SLURM_COMMAND_H

#include "util/child.h"

/* argv[0] is looked up in PATH. -1 with err when the command cannot be run, does not respond within deadline_ms, or
 * exits with another code than 0: its last line is then the error. After 0 the caller releases ret with
 * muster_child_output_done. */
int muster_slurm_command_run(
	const char *const *argv, int deadline_ms, struct muster_child_output *ret, struct muster_error *err);

#endif
