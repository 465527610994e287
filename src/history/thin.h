/* SPDX-License-Identifier: Apache-2.0 */
/* thin.h - a part of many reports that stands for all of them
 *
 * Pure. Reports next to each other are next to each other in the file too, so a few blocks of them are read fast. Of
 * 1,000 reports, 100 of them are five blocks of 20: the reports 0 to 19, 245 to 264, 490 to 509, 735 to 754 and 980 to
 * 999.
 */
#ifndef MUSTER_HISTORY_THIN_H
#define MUSTER_HISTORY_THIN_H

#include <stdbool.h>
#include <stddef.h>

enum { MUSTER_THIN_BLOCKS = 5 };

/* One report: whether it is wanted, and whether it belongs to the second of two sides. */
struct muster_thin_item {
	bool wanted, second;
};

/* Keep at most `most` of the wanted items: half of them for each side, or more where the other side has less. A side
 * that has more keeps blocks of neighbours: the first items, the last ones, and others evenly between. Returns how many
 * are kept. most is at least 2 * MUSTER_THIN_BLOCKS. */
size_t muster_thin(struct muster_thin_item *items, size_t count, size_t most);

#endif
