/* SPDX-License-Identifier: Apache-2.0 */
/* screen.c - the size of the terminal that a stream writes to */
#include "util/screen.h"

#include "util/text.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/* A variable that a shell or a user sets; 0 when that is no number. */
static size_t number_of(const char *variable)
{
	const char *text = getenv(variable);
	struct muster_error ignored;
	long number;
	return text && muster_parse_int(text, 1, INT_MAX, &number, variable, &ignored) == 0 ? (size_t)number : 0;
}

/* A launcher gives its ranks terminals without a size. */
void muster_screen_of(FILE *stream, struct muster_screen *ret)
{
	struct winsize size = { 0 };
	int descriptor = fileno(stream);
	if (descriptor < 0 || ioctl(descriptor, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){ 0 };
	size_t columns = size.ws_col ? size.ws_col : number_of("COLUMNS");
	*ret = (struct muster_screen){
		.columns = columns == 0                     ? MUSTER_COLUMNS_USUAL
			   : columns < MUSTER_COLUMNS_LEAST ? MUSTER_COLUMNS_LEAST
			   : columns > MUSTER_COLUMNS_MOST  ? MUSTER_COLUMNS_MOST
							    : columns,
		.lines = size.ws_row ? size.ws_row : number_of("LINES"),
	};
}
