/* SPDX-License-Identifier: Apache-2.0 */
/* print_escaped.c - printing of texts that a machine gave
 *
 * A GPU or host may bear any name, and a terminal obeys what it is sent: nothing leaves here that is not plain text.
 *
 *   what stands in the text                        what is printed
 *   newline, tab                                   \n, \t
 *   a byte that is not UTF-8                       \xff
 *   a harmful character up to U+00FF               \x1b
 *   another harmful character                      \u202e
 *   all else, the backslash included               itself, one column
 */
#include "report/print_escaped.h"

#include "muster/arena.h"
#include "util/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

size_t muster_print_escaped(FILE *out, const char *text)
{
	if (!text)
		text = "-";
	size_t columns = 0, left = strlen(text);
	for (const char *at = text; left > 0;) {
		unsigned long point = 0;
		size_t step = muster_utf8_next(at, left, &point);
		if (step > 0 && !muster_utf8_is_harmful(point)) {
			if (out)
				fwrite(at, 1, step, out);
			columns++;
		} else {
			char escape[16];
			int length = step > 0 && (point == '\n' || point == '\t')
					     ? snprintf(escape, sizeof escape, "\\%c", point == '\n' ? 'n' : 't')
				     : point > 0xff ? snprintf(escape, sizeof escape, "\\u%04lx", point)
						    : snprintf(escape, sizeof escape, "\\x%02x",
							      step > 1 ? (unsigned int)point : (unsigned char)*at);
			if (out)
				fputs(escape, out);
			columns += (size_t)length;
			step = step > 0 ? step : 1;
		}
		at += step;
		left -= step;
	}
	return columns;
}

void muster_print_text(FILE *out, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = muster_vasprintf(format, args);
	va_end(args);
	muster_print_escaped(out, text);
	free(text);
}

char *muster_escaped(const char *text)
{
	char *escaped;
	size_t length;
	FILE *out = muster_memory_open(&escaped, &length);
	muster_print_escaped(out, text);
	muster_memory_close(out);
	return escaped;
}
