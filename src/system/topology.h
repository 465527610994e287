/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h - the node's hwloc topology, loaded once in a process: what is near what in it, and what may be used
 *
 * Only the thread that runs the probes may call these.
 */
#ifndef MUSTER_SYSTEM_TOPOLOGY_H
#define MUSTER_SYSTEM_TOPOLOGY_H

#include "util/text.h"
#include "muster/error.h"

#include <hwloc.h>

/* The topology with its PCI devices, and with the CPUs that a cgroup forbids (so that a NUMA node keeps its real set);
 * loaded on the first call, never freed. NULL with err, each time the same, when hwloc cannot load it. */
hwloc_topology_t muster_topology(struct muster_error *err);

/* The home of a CPU is the NUMA node with the fewest CPUs that contains it, the lowest index among equals. So a NUMA
 * node without CPUs of its own (HBM, CXL), which hwloc attaches to the CPUs next to it, is no home. Sets ret to the
 * homes of cpus.
 */
void muster_topology_homes(hwloc_topology_t topology, hwloc_const_cpuset_t cpus, hwloc_nodeset_t ret);

/* Sets ret to the CPUs that this process's job may use: hwloc's allowed set, which a cgroup or container limits. In the
 * script of a Slurm job only those of its own mask, which are the CPUs of the job: Slurm refuses a step with other CPUs
 * in a mask, such as those of CoreSpecCount (slurm.conf(5); dist_tasks.c, _validate_mask). In a step of a job the own
 * mask says nothing of the rest of the job. -1 with err when the mask cannot be read. */
int muster_topology_usable(hwloc_topology_t topology, hwloc_cpuset_t ret, struct muster_error *err);

/* Sets ret to the CPUs of the packages that a NUMA node is of, or to those of the whole machine where hwloc knows no
 * packages. In a guest each CPU may be a package of its own. -1 with the reason when the node has the CPUs of all of
 * several packages: then NUMA is off, and which of the CPUs a device is near is not known. */
int muster_topology_package(hwloc_topology_t topology, hwloc_obj_t node, hwloc_cpuset_t ret, struct muster_error *err);

/* Sets ret to the NUMA nodes whose memory is as near as that of this node: itself, and those without CPUs of their own
 * that hwloc attaches to the same CPUs (HBM). */
void muster_topology_near_memory(hwloc_topology_t topology, hwloc_obj_t node, hwloc_nodeset_t ret);

/* The NUMA node with CPUs that is nearest to a PCI device: the one that the kernel's file
 * "<root><directory>/numa_node" names, or when that is -1 or missing, the one that hwloc places the device in. bus_id
 * may be NULL. -1 with a reason in err when the node is not known, or when kernel and hwloc contradict each other:
 * about the place of the device, or about the CPUs of the node, as in a guest whose NUMA cells do not fit its threads.
 */
int muster_topology_device_node(hwloc_topology_t topology, const char *root, const char *directory, const char *bus_id,
	hwloc_obj_t *ret_node, struct muster_error *err);

/* The same for a GPU, by its bus id; root is the prefix of /sys. */
int muster_topology_gpu_node(hwloc_topology_t topology, const char *root, const char *bus_id, hwloc_obj_t *ret_node,
	struct muster_error *err);

#endif
