/* cgroup.h - the control groups that this process is in */
#ifndef MUSTER_SYSTEM_CGROUP_H
#define MUSTER_SYSTEM_CGROUP_H

#include <stdbool.h>

/* Call each() with the folder of the process's group that has the controller ("memory", "cpu"), and of those above it,
 * up to the mount point, which in a container is the container's own; of version 2 and of version 1. root is the prefix
 * of /proc and /sys. A folder need not exist. */
typedef void muster_cgroup_fn(void *arg, const char *folder, bool second);
void muster_cgroups_each(const char *root, const char *controller, muster_cgroup_fn *each, void *arg);

/* The time of how many CPUs the groups leave to this process at once; 0: they do not limit it. */
double muster_cgroup_cpus(const char *root);

#endif
