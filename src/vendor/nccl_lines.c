/* nccl_lines.c - the lines of NCCL's log */
#include "vendor/nccl_lines.h"
#include "muster/arena.h"

#include <ctype.h>
#include <string.h>

char *muster_nccl_lines_copy(const char *text, size_t length)
{
	char *copy = muster_calloc(length + 1, 1);
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];
		copy[i] = byte == '\n' || (byte < 128 && isprint(byte)) ? (char)byte : isspace(byte) ? ' ' : '?';
	}
	return copy;
}

char *muster_nccl_line_next(char **rest)
{
	char *line = strsep(rest, "\n");
	for (size_t length = line ? strlen(line) : 0; length > 0 && line[length - 1] == ' '; length--)
		line[length - 1] = '\0';
	return line;
}

char *muster_nccl_after(char *text, const char *what)
{
	char *found = strstr(text, what);
	return found ? found + strlen(what) : NULL;
}

bool muster_nccl_starts(const char *text, const char *what)
{
	return strncmp(text, what, strlen(what)) == 0;
}
