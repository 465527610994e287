/* array.h - arrays that grow at their end */
#ifndef MUSTER_UTIL_ARRAY_H
#define MUSTER_UTIL_ARRAY_H

#include <stddef.h>

/* items (NULL at first; freed by its owner) has count elements, and is allocated for room of them; count and room are
 * size_t. Room for `more` elements, from items[count] on; each such call may move the elements. Out of memory ends the
 * process. */
#define MUSTER_ARRAY_RESERVE(items, count, room, more)                                                                 \
	((room) - (count) >= (more)                                                                                    \
			? (void)0                                                                                      \
			: (void)((items) = muster_array_grow((items), &(room), (count) + (more), sizeof *(items))))

/* Room for one element more. */
#define MUSTER_ARRAY_GROW(items, count, room) MUSTER_ARRAY_RESERVE(items, count, room, 1)

/* An element more: MUSTER_ARRAY_PUSH(items, count, room, (struct thing){ .a = 1, .b = 2 }) */
#define MUSTER_ARRAY_PUSH(items, count, room, ...)                                                                     \
	(MUSTER_ARRAY_GROW(items, count, room), (void)((items)[(count)++] = (__VA_ARGS__)))

/* At least twice the room, and for at least `least` elements of `size` bytes. Returns items, moved. */
void *muster_array_grow(void *items, size_t *room, size_t least, size_t size);

#endif
