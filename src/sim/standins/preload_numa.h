/* preload_numa.h - how long threads of a simulated worker take to pass over memory, a part of libmuster-preload.so */
#ifndef MUSTER_SIM_STANDINS_PRELOAD_NUMA_H
#define MUSTER_SIM_STANDINS_PRELOAD_NUMA_H

#include <stddef.h>

/* The calling thread has bound so much memory to the NUMA node. */
void muster_standin_numa_bound(int numa_node, size_t bytes);

/* Seconds that the calling thread has spent on the memory that it has bound: 0 in the main thread, and in one that has
 * bound none. A thread looks at its clock before and after each pass over all of this memory, so each call counts one
 * pass: as long as the memory of the NUMA node takes for the part that it has of all threads. */
double muster_standin_numa_passed(void);

#endif
