/* utf8.c - characters of UTF-8, and those that a terminal or a reader must not be sent as they are */
#include "util/utf8.h"

#include <string.h>

/* Unicode 15, table 3-7. */
size_t muster_utf8_next(const char *text, size_t left, unsigned long *ret_point)
{
	const unsigned char *at = (const unsigned char *)text;
	if (left == 0)
		return 0;
	size_t length = at[0] < 0x80                     ? 1
			: at[0] >= 0xc2 && at[0] <= 0xdf ? 2
			: (at[0] & 0xf0) == 0xe0         ? 3
			: at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
							 : 0;
	if (length == 0 || length > left)
		return 0;
	unsigned char low = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
	unsigned char high = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
	if (length > 1 && (at[1] < low || at[1] > high))
		return 0;
	unsigned long point = length == 1 ? at[0] : at[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3f);
	}
	*ret_point = point;
	return length;
}

/* C0, DEL, C1. */
static bool is_control(unsigned long point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

bool muster_utf8_has_control(const char *text)
{
	unsigned long point = 0;
	size_t left = strlen(text), step;
	for (; (step = muster_utf8_next(text, left, &point)) > 0; text += step, left -= step)
		if (is_control(point))
			return true;
	return false;
}

bool muster_utf8_is_harmful(unsigned long point)
{
	return is_control(point) || point == 0x61c     /* a direction mark */
	       || (point >= 0x200b && point <= 0x200f) /* zero width, direction marks */
	       || (point >= 0x2028 && point <= 0x202e) /* line separators, direction embedding and override */
	       || (point >= 0x2060 && point <= 0x206f) /* invisible, direction isolates */
	       || point == 0xfeff;
}

void muster_utf8_quote(FILE *out, const char *text)
{
	putc_unlocked('"', out);
	const char *at = text, *plain = at;
	size_t left = strlen(text);
	while (left > 0) {
		unsigned long point = 0;
		size_t step = 1;
		bool good = (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f;
		if (!good) {
			step = muster_utf8_next(at, left, &point);
			good = step > 0 && !muster_utf8_is_harmful(point);
		}
		if (!good || *at == '"' || *at == '\\') {
			fwrite_unlocked(plain, 1, (size_t)(at - plain), out);
			if (good)
				fprintf(out, "\\%c", *at);
			else if (step > 0)
				fprintf(out, "\\u%04lx", point);
			else
				fputs("\xef\xbf\xbd", out); /* U+FFFD */
			step = step > 0 ? step : 1;
			plain = at + step;
		}
		at += step;
		left -= step;
	}
	fwrite_unlocked(plain, 1, (size_t)(at - plain), out);
	putc_unlocked('"', out);
}
