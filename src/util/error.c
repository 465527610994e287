/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - errors are values: a code and a sentence */
#include "muster/error.h"

#include "util/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
	[MUSTER_OK] = "ok",
	[MUSTER_EUSAGE] = "usage",
	[MUSTER_EIO] = "io",
	[MUSTER_ENOMEM] = "memory",
	[MUSTER_ETIME] = "time",
	[MUSTER_ELIB] = "lib",
	[MUSTER_EVENDOR] = "vendor",
	[MUSTER_ERESOURCE] = "resource",
	[MUSTER_ENOTSUPPORTED] = "notsupported",
	[MUSTER_ENOPERMISSION] = "permission",
	[MUSTER_EABSENT] = "absent",
	[MUSTER_EPROTOCOL] = "protocol",
	[MUSTER_EREMOTE] = "remote",
	[MUSTER_ECALLEDOFF] = "called_off",
	[MUSTER_EINTERRUPTED] = "interrupted",
	[MUSTER_ESTALLED] = "stalled",
};
_Static_assert(sizeof names / sizeof *names == MUSTER_CODE_COUNT, "every code has a name");

/* Make the text one line of plain UTF-8. Messages of vendors and names in files may have anything: newlines and tabs
 * become blanks; control characters, other characters that could drive a terminal, and bytes that are not UTF-8 become
 * '?'. length: as vsnprintf returned it; a text that did not fit ends in "...". The cut may fall into a character,
 * whose rest then becomes '?'. The text only gets shorter, so that it is rewritten in place. */
static void tidy(char *text, size_t size, int length)
{
	if (length >= (int)size)
		memcpy(text + size - 4, "...", 4);
	char *to = text;
	size_t left = strlen(text);
	for (const char *at = text; left > 0;) {
		unsigned long point = 0;
		size_t step = muster_utf8_next(at, left, &point);
		if (step > 0 && !muster_utf8_is_harmful(point)) {
			memmove(to, at, step);
			to += step;
		} else {
			*to++ = *at == '\n' || *at == '\r' || *at == '\t' ? ' ' : '?';
			step = step > 0 ? step : 1;
		}
		at += step;
		left -= step;
	}
	while (to > text && to[-1] == ' ')
		to--;
	*to = '\0';
}

int muster_fail(struct muster_error *err, enum muster_code code, const char *format, ...)
{
	if (!err)
		return -1;
	char text[MUSTER_ERROR_TEXT_MAX]; /* the arguments may point into err */
	va_list args;
	va_start(args, format);
	int length = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	tidy(text, sizeof text, length);
	err->code = code;
	memcpy(err->text, text, sizeof text);
	return -1;
}

/* The new text is made in a buffer of its own, since err->text is a part of it. muster_fail cuts it to the usual size.
 */
int muster_wrap(struct muster_error *err, const char *format, ...)
{
	if (!err)
		return -1;
	char outer[MUSTER_ERROR_TEXT_MAX], text[2 * MUSTER_ERROR_TEXT_MAX + 3];
	va_list args;
	va_start(args, format);
	vsnprintf(outer, sizeof outer, format, args);
	va_end(args);
	snprintf(text, sizeof text, "%s: %s", outer, err->text);
	return muster_fail(err, err->code, "%s", text);
}

const char *muster_code_name(enum muster_code code)
{
	return (unsigned int)code < MUSTER_CODE_COUNT ? names[code] : "unknown";
}

enum muster_code muster_errno_code(int number)
{
	return number == EACCES || number == EPERM ? MUSTER_ENOPERMISSION
	       : number == ENOENT                  ? MUSTER_EABSENT
						   : MUSTER_EIO;
}
