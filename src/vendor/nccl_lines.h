/* nccl_lines.h - the lines of NCCL's log, for the readers of the log */
#ifndef MUSTER_VENDOR_NCCL_LINES_H
#define MUSTER_VENDOR_NCCL_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* A copy of the log as a string in which all but the newlines prints; the caller frees. */
char *muster_nccl_lines_copy(const char *text, size_t length);
/* Take the next line off rest, without blanks at its end; NULL at the end. */
char *muster_nccl_line_next(char **rest);
/* What follows the first `what` in text; NULL when it does not occur. */
char *muster_nccl_after(char *text, const char *what);
bool muster_nccl_starts(const char *text, const char *what);

#endif
