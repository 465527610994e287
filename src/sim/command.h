/* command.h - the command `muster sim` */
#ifndef MUSTER_SIM_COMMAND_H
#define MUSTER_SIM_COMMAND_H

#include "cli/cli.h"

/* command.c: argv[0] is "sim". Returns the exit code. */
int muster_sim_command(int argc, char **argv);

/* complete.c: what a shell offers as a fault. */
muster_words muster_sim_words_faults;

#endif
