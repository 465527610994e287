/* floors.h - what rings must reach, as plain numbers
 *
 * For code that must know during the run whether a ring is fast enough. Whether a ring passes its checks is decided by
 * eval/.
 */
#ifndef MUSTER_LOCALIZE_FLOORS_H
#define MUSTER_LOCALIZE_FLOORS_H

#include <stddef.h>
#include <stdint.h>

struct muster_floor {
	uint64_t bytes; /* of a message; 0: of any */
	double least;   /* in the metric's unit */
};

struct muster_floors {
	struct muster_floor *items; /* malloc'd; the caller frees */
	size_t count;
};

struct muster_ring_floors {
	struct muster_floors ring; /* of the full ring */
	struct muster_floors pair; /* of a ring on two nodes */
	struct muster_floors node; /* of a ring on one node alone */
};

void muster_ring_floors_done(struct muster_ring_floors *floors);

/* The highest floor of a message of this size; 0 when there is none. bytes 0: the size is unknown. */
double muster_floors_least(const struct muster_floors *floors, double bytes);

#endif
