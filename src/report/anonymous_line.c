/* SPDX-License-Identifier: Apache-2.0 */
/* anonymous_line.c - lines of the kernel's log without processes: their names and numbers stand at known places
 *
 * The kernel and its drivers print a process in a few fixed forms, those of places[]. A name becomes "process-1", a
 * number 0; then the whole line is replaced as a text (anonymous.c), for paths, addresses and nodes.
 *
 *   Xid (PCI:0000:cb:00): 13, pid=4711, name=a.out, Graphics   ->   ... pid=0, name=process-1, Graphics
 *   Killed process 4711 (python3) total-vm:8kB, UID:1000       ->   Killed process 0 (process-1) total-vm:8kB, UID:0
 *   soft lockup - CPU#3 stuck for 22s! [secret:4711]           ->   soft lockup - CPU#3 stuck for 22s! [process-1]
 */
#include "report/anonymous.h"

#include "util/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What stands behind a text, and where it ends. */
static const struct place {
	const char *before, *end; /* end: any of these characters, or the end of the line */
	bool number;              /* a number is replaced; what is no number there stays. Else a name is replaced */
} places[] = {
	{ "pid=", ", )", true },
	{ "uid=", ", )", true },
	{ "uid:", ", )", true },
	{ "UID:", ", )", true },
	{ "PID: ", " ", true },
	{ "name=", ",", false },
	{ "task=", ",", false },
	{ "Comm: ", " ", false },
	{ "INFO: task ", " ", false },
	{ "rocess ", " ,", true }, /* "Killed process 4711 (python3)" */
	{ " (", ")", false },      /* only behind the number of a process */
	{ "stuck for ", "[", false },
};
enum { PLACES = sizeof places / sizeof *places, PARENTHESIS = PLACES - 2, STUCK = PLACES - 1 };

/* Digits, or digits between apostrophes: drivers write pid='4711', too. */
static bool is_number(const char *text, size_t length)
{
	if (length >= 2 && text[0] == '\'' && text[length - 1] == '\'')
		return is_number(text + 1, length - 2);
	for (size_t i = 0; i < length; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return length > 0;
}

/* The replacement of a process's name; of digits alone, which are no name, and of "<unknown>" the text itself. */
static void put_name(FILE *out, struct muster_anonymous_names *names, const char *text, size_t length)
{
	char *name = muster_asprintf("%.*s", (int)length, text);
	size_t digits = strspn(name, "0123456789");
	if (digits < length && *name != '<')
		fputs(muster_anonymous_name(names, MUSTER_NAME_PROCESS, name), out);
	else
		fputs(name, out);
	free(name);
}

/* The index of the place that begins here; PLACES for none. behind_number: the number of a process ends here, so that a
 * parenthesis has its name. */
static size_t place_at(const char *at, bool behind_number)
{
	for (size_t i = 0; i < PLACES; i++)
		if (strncmp(at, places[i].before, strlen(places[i].before)) == 0 && (i != PARENTHESIS || behind_number))
			return i;
	return PLACES;
}

const char *muster_anonymous_line(struct muster_anonymous_names *names, const char *line)
{
	char *result = NULL;
	size_t size;
	bool behind_number = false;
	if (!line)
		return NULL;
	FILE *out = muster_memory_open(&result, &size);
	for (const char *at = line; *at;) {
		size_t i = place_at(at, behind_number);
		behind_number = false;
		if (i == PLACES) {
			fputc(*at++, out);
			continue;
		}
		fputs(places[i].before, out);
		at += strlen(places[i].before);
		size_t length = strcspn(at, places[i].end);
		if (i == STUCK) { /* "22s! [python3:4711]" */
			fwrite(at, 1, length + (at[length] == '['), out);
			at += length + (at[length] == '[');
			length = strcspn(at, "]");
			put_name(out, names, at, length);
		} else if (places[i].number && is_number(at, length)) {
			fputc('0', out);
			behind_number = true;
		} else if (places[i].number) {
			length = 0;
		} else {
			put_name(out, names, at, length);
		}
		at += length;
	}
	muster_memory_close(out);
	const char *text = muster_anonymous_text(names, MUSTER_NAME_NODE, result);
	free(result);
	return text;
}
