/* safe.c - printing of texts that a machine gave
 *
 * A GPU or host may bear any name, and a terminal obeys what it is sent: nothing leaves here that is not plain text.
 */
#include "report/safe.h"

#include <stdbool.h>
#include <string.h>

/* The character at text and the bytes that it takes; 0 when they are not well-formed UTF-8. */
static size_t decode(const unsigned char *text, size_t left, unsigned long *ret)
{
	static const unsigned long lowest[] = { 0, 0, 0x80, 0x800,
		0x10000 }; /* a longer form than needed is malformed */
	size_t length = text[0] < 0x80 ? 1 : text[0] < 0xc0 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	if (length == 0 || length > left || text[0] > 0xf4)
		return 0;
	unsigned long point = length == 1 ? text[0] : text[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (text[i] & 0x3f);
	}
	if (point < lowest[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret = point;
	return length;
}

static bool harmful(unsigned long point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) /* C0, DEL, C1 */
	       || (point >= 0x200b && point <= 0x200f)         /* zero width, direction marks */
	       || (point >= 0x2028 && point <= 0x202e)         /* line separators, direction embedding and override */
	       || (point >= 0x2060 && point <= 0x206f)         /* invisible, direction isolates */
	       || point == 0xfeff;
}

size_t muster_safe_print(FILE *out, const char *text)
{
	if (!text)
		text = "-";
	size_t columns = 0, left = strlen(text);
	for (const unsigned char *at = (const unsigned char *)text; left > 0;) {
		unsigned long point = 0;
		size_t step = decode(at, left, &point);
		if (step > 0 && !harmful(point)) {
			if (out)
				fwrite(at, 1, step, out);
			columns++;
		} else {
			char escape[16];
			int length = step > 0 && (point == '\n' || point == '\t')
					     ? snprintf(escape, sizeof escape, "\\%c", point == '\n' ? 'n' : 't')
				     : point > 0xff ? snprintf(escape, sizeof escape, "\\u%04lx", point)
						    : snprintf(escape, sizeof escape, "\\x%02x",
							      step > 1 ? (unsigned int)point : *at);
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
