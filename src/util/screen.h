/* SPDX-License-Identifier: Apache-2.0 */
/* screen.h - the size of the terminal that a stream writes to */
#ifndef MUSTER_UTIL_SCREEN_H
#define MUSTER_UTIL_SCREEN_H

#include <stddef.h>
#include <stdio.h>

enum { MUSTER_COLUMNS_LEAST = 80, MUSTER_COLUMNS_MOST = 240, MUSTER_COLUMNS_USUAL = 120 };

struct muster_screen {
	size_t columns; /* for a line of text: those of the terminal, else $COLUMNS, else the usual; within the limits
			 */
	size_t lines;   /* of the terminal, else $LINES; 0: not known */
};

void muster_screen_of(FILE *stream, struct muster_screen *ret);

#endif
