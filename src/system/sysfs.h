/* SPDX-License-Identifier: Apache-2.0 */
/* sysfs.h - the small files, directories and links of sysfs
 *
 * Paths are whole paths, root prefix included: probes make them with muster_root_path.
 */
#ifndef MUSTER_SYSTEM_SYSFS_H
#define MUSTER_SYSTEM_SYSFS_H

#include "util/file.h"
#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The whole number that is all of a file's first line: decimal, or hexadecimal with 0x. 0, or -1 with err naming the
 * path (the codes of muster_read_line; MUSTER_EIO for a line that is no number). */
int muster_sysfs_number(const char *path, long *ret, struct muster_error *err);
/* The same, where a negative number stands for "not known": MUSTER_ENOTSUPPORTED. */
int muster_sysfs_natural(const char *path, long *ret, struct muster_error *err);

/* What follows key and its separators, blanks, ':' and '=', on the first line that begins with it ("MemTotal:   16 kB",
 * "PRETTY_NAME=..."), without blanks at its end. -1 with err naming the path: MUSTER_ENOPERMISSION or MUSTER_EIO when
 * the file cannot be opened, MUSTER_EABSENT when it has no such line. */
int muster_sysfs_line(const char *path, const char *key, char *ret, size_t size, struct muster_error *err);

/* The entries of a directory in natural order (mlx5_2 before mlx5_10), without "." files. A directory that does not
 * exist has none; one that cannot be read is an error. The caller releases ret with muster_names_done. */
int muster_sysfs_names(const char *directory, struct muster_names *ret, struct muster_error *err);

/* The last part of what a link says, which is not followed: a driver's name, or a device's. -1 with errno. */
int muster_sysfs_link(const char *path, char *ret, size_t size);

/* "00000001:0A:00.0", as NVML and CUDA spell a PCI bus id, to "0001:0a:00.0", as sysfs does: lower case; the domain
 * keeps more than four digits only if needed. -1 with err (MUSTER_EVENDOR) for what is no bus id or does not fit. */
int muster_bus_id_normalise(const char *bus_id, char *ret, size_t size, struct muster_error *err);

/* The PCI address ("0101:00:00.0") of the device that a `device` link of a class leads to: the last part of
 * the real path, or PCI_SLOT_NAME of its uevent file. -1 with err when neither is a PCI address. */
int muster_sysfs_pci_address(const char *device, char *ret, size_t size, struct muster_error *err);

/* Whether the kernel has this module, loaded or built in with parameters. root is the prefix of /sys. */
bool muster_module_is_loaded(const char *root, const char *name);

/* The memory of the node in MiB: MemTotal of /proc/meminfo. root is the prefix of /proc. -1 with err. */
int muster_memory_mib(const char *root, double *ret, struct muster_error *err);

/* A block device's size in GB (10^9 bytes) from the text of its size file: a decimal count of 512-byte sectors, which
 * need not end in NUL. -1 with err (MUSTER_EIO) for anything else, and for one beyond 2^64 bytes. */
int muster_sectors_gb(const char *text, size_t length, double *ret, struct muster_error *err);

#endif
