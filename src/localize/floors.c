/* floors.c - what rings must reach, as plain numbers */
#include "localize/floors.h"

#include <stdlib.h>

void muster_ring_floors_done(struct muster_ring_floors *floors)
{
	free(floors->ring.items);
	free(floors->pair.items);
	free(floors->node.items);
	*floors = (struct muster_ring_floors){ 0 };
}

double muster_floors_least(const struct muster_floors *floors, double bytes)
{
	double least = 0;
	for (size_t i = 0; i < floors->count; i++)
		if ((floors->items[i].bytes == 0 || (double)floors->items[i].bytes == bytes) &&
			floors->items[i].least > least)
			least = floors->items[i].least;
	return least;
}
