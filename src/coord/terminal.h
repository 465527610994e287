/* terminal.h - the terminal of the mpirun that has started this process
 *
 * mpirun gives its ranks pipes. On mpirun's own host the terminal of the session can still be opened: a person watches
 * it if mpirun's standard error is this terminal and mpirun runs in the foreground.
 */
#ifndef MUSTER_COORD_TERMINAL_H
#define MUSTER_COORD_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct muster_terminal {
	int fd;         /* of the terminal; -1: there is none */
	pid_t launcher; /* its process group */
};

/* No terminal for a process of another host, of srun, or of an mpirun whose standard error is a file or a pipe. */
void muster_terminal_open(struct muster_terminal *ret);
/* Whether the launcher is in the foreground: what is printed disturbs nothing else. */
bool muster_terminal_is_watched(const struct muster_terminal *terminal);
void muster_terminal_close(struct muster_terminal *terminal);

/* The numbers that /proc/PID/stat has of a process. */
struct muster_process_stat {
	char name[32];
	pid_t parent, group;
	dev_t terminal;   /* 0: none */
	pid_t foreground; /* process group in the foreground of the terminal */
};
/* text: the content of the file. False when it is not as the kernel writes it. */
bool muster_process_stat_parse(const char *text, struct muster_process_stat *ret);

#endif
