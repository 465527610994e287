/* array.c - arrays that grow at their end */
#include "util/array.h"

#include "muster/arena.h"

void *muster_array_double(void *items, size_t *room, size_t size)
{
	*room = *room ? *room * 2 : 8;
	return muster_realloc(items, *room, size);
}
