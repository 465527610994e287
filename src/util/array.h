/* array.h - arrays that grow at their end */
#ifndef MUSTER_UTIL_ARRAY_H
#define MUSTER_UTIL_ARRAY_H

#include <stddef.h>

/* items (NULL at first; freed by its owner) has count elements, and is allocated for room of them; count and room are
 * size_t. Room for one more, so that items[count] may be written; each such call may move the elements. Out of memory
 * ends the process. */
#define MUSTER_ARRAY_GROW(items, count, room)                                                                          \
	((count) < (room) ? (void)0 : (void)((items) = muster_array_double((items), &(room), sizeof *(items))))

/* An element more: MUSTER_ARRAY_PUSH(items, count, room, (struct thing){ .a = 1, .b = 2 }) */
#define MUSTER_ARRAY_PUSH(items, count, room, ...)                                                                     \
	(MUSTER_ARRAY_GROW(items, count, room), (void)((items)[(count)++] = (__VA_ARGS__)))

/* Twice the room, eight elements of `size` bytes at first. Returns items, moved. */
void *muster_array_double(void *items, size_t *room, size_t size);

#endif
