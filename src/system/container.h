/* container.h - the kind of container that this process runs in */
#ifndef MUSTER_SYSTEM_CONTAINER_H
#define MUSTER_SYSTEM_CONTAINER_H

#include <stddef.h>

/* "docker", "podman", "apptainer", "enroot", "kubernetes", or what /run/systemd/container says; "none" when nothing is
 * known of a container. By the files and variables that each kind leaves for the programs in it; root is the prefix of
 * the files, and the variables count where it is "". Returns ret. */
const char *muster_container_name(const char *root, char *ret, size_t size);

#endif
