/* text_lines.c - lines that fit a terminal */
#include "report/text_lines.h"

#include "report/print_escaped.h"

#include <stdbool.h>
#include <stdlib.h>

/* The bytes of the character at text, which is UTF-8. */
static size_t character(const char *text)
{
	size_t bytes = 1;
	while (((unsigned char)text[bytes] & 0xc0) == 0x80)
		bytes++;
	return bytes;
}

/* The columns of the word at text, and its bytes. */
static size_t word_columns(const char *text, size_t *ret_bytes)
{
	size_t columns = 0, bytes = 0;
	for (; text[bytes] && text[bytes] != ' '; bytes += character(text + bytes))
		columns++;
	*ret_bytes = bytes;
	return columns;
}

static void begin_line(FILE *out, size_t indent)
{
	fprintf(out, "\n%*s", (int)indent, "");
}

void muster_text_lines(FILE *out, const char *text, size_t used, size_t indent)
{
	char *escaped = muster_escaped(text);
	size_t column = used, bytes;
	bool first = true; /* on its line */
	for (const char *at = escaped; *at;) {
		if (*at == ' ') {
			at++;
			continue;
		}
		size_t columns = word_columns(at, &bytes);
		if (!first && column + 1 + columns > MUSTER_TEXT_WIDTH) {
			begin_line(out, indent);
			column = indent;
			first = true;
		}
		if (!first) {
			fputc(' ', out);
			column++;
		}
		for (const char *end = at + bytes; at < end; column++) {
			size_t step = character(at);
			if (column == MUSTER_TEXT_WIDTH) {
				begin_line(out, indent);
				column = indent;
			}
			fwrite(at, 1, step, out);
			at += step;
		}
		first = false;
	}
	fputc('\n', out);
	free(escaped);
}
