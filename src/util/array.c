/* array.c - arrays that grow at their end */
#include "util/array.h"

#include "muster/arena.h"

void *muster_array_grow(void *items, size_t *room, size_t least, size_t size)
{
	enum { FIRST = 8 };
	size_t twice = *room > 0 ? 2 * *room : FIRST;
	*room = twice > least ? twice : least;
	return muster_realloc(items, *room, size);
}
