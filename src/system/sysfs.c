/* SPDX-License-Identifier: Apache-2.0 */
/* sysfs.c - the small files, directories and links of sysfs
 *
 * Each function that reads takes a value from a file, a directory or a link, whole or not at all. Those with an `err`
 * name the path in it.
 */
#include "system/sysfs.h"

#include "util/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int muster_sysfs_number(const char *path, long *ret, struct muster_error *err)
{
	char text[64];
	if (muster_read_line(path, text, sizeof text, err) < 0)
		return -1;
	char *end;
	errno = 0;
	long number = strtol(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	if (end == text || *end || errno)
		return muster_fail(err, MUSTER_EIO, "%s: not a whole number: \"%s\"", path, text);
	*ret = number;
	return 0;
}

int muster_sysfs_natural(const char *path, long *ret, struct muster_error *err)
{
	long number;
	if (muster_sysfs_number(path, &number, err) < 0)
		return -1;
	if (number < 0)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s is %ld", path, number);
	*ret = number;
	return 0;
}

/* A directory that does not exist has no entries, and is no error: a node without RDMA has no /sys/class/infiniband. */
int muster_sysfs_names(const char *directory, struct muster_names *ret, struct muster_error *err)
{
	*ret = (struct muster_names){ 0 };
	return muster_file_names(directory, "", versionsort, ret, err) < 0 && errno != ENOENT ? -1 : 0;
}

int muster_sysfs_line(const char *path, const char *key, char *ret, size_t size, struct muster_error *err)
{
	char line[4096];
	FILE *in = fopen(path, "re");
	if (!in)
		return muster_fail(
			err, errno == EACCES ? MUSTER_ENOPERMISSION : MUSTER_EIO, "%s: %s", path, strerror(errno));
	const char *value = NULL;
	while (!value && fgets(line, sizeof line, in))
		if (strncmp(line, key, strlen(key)) == 0 && strchr(" \t:=", line[strlen(key)]))
			value = line + strlen(key) + strspn(line + strlen(key), " \t:=");
	fclose(in);
	if (!value)
		return muster_fail(err, MUSTER_EABSENT, "%s has no line \"%s\"", path, key);
	size_t length = strlen(value);
	while (length > 0 && isspace((unsigned char)value[length - 1]))
		length--;
	snprintf(ret, size, "%.*s", (int)length, value);
	return 0;
}

int muster_sysfs_link(const char *path, char *ret, size_t size)
{
	char target[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof target - 1);
	if (length < 0)
		return -1;
	target[length] = '\0';
	const char *slash = strrchr(target, '/');
	snprintf(ret, size, "%s", slash ? slash + 1 : target);
	return 0;
}

/* The parts are matched as texts of digits: %x of sscanf would take blanks, signs and 0x. A PCI bus has 32 devices: the
 * first digit of the device is 0 or 1. */
int muster_bus_id_normalise(const char *bus_id, char *ret, size_t size, struct muster_error *err)
{
	char domain[9], bus[3], device[3], function[2], text[32];
	int used = 0;
	if (sscanf(bus_id, "%8[0-9a-fA-F]:%2[0-9a-fA-F]:%2[0-9a-fA-F].%1[0-7]%n", domain, bus, device, function,
		    &used) != 4 ||
		bus_id[used] || strlen(bus) != 2 || strlen(device) != 2 || device[0] > '1')
		return muster_fail(
			err, MUSTER_EVENDOR, "\"%.40s\" is no PCI bus id (domain:bus:device.function)", bus_id);
	size_t length = (size_t)snprintf(text, sizeof text, "%04lx:%02lx:%02lx.%s", strtoul(domain, NULL, 16),
		strtoul(bus, NULL, 16), strtoul(device, NULL, 16), function);
	if (length >= size)
		return muster_fail(
			err, MUSTER_EVENDOR, "PCI bus id %s needs %zu bytes, not %zu", text, length + 1, size);
	memcpy(ret, text, length + 1);
	return 0;
}

int muster_sysfs_pci_address(const char *device, char *ret, size_t size, struct muster_error *err)
{
	char real[PATH_MAX], path[PATH_MAX], slot[64];
	const char *last = realpath(device, real) ? strrchr(real, '/') : NULL;
	if (last && muster_bus_id_normalise(last + 1, ret, size, NULL) == 0)
		return 0;
	snprintf(path, sizeof path, "%s/uevent", device);
	if (muster_sysfs_line(path, "PCI_SLOT_NAME", slot, sizeof slot, NULL) == 0 &&
		muster_bus_id_normalise(slot, ret, size, NULL) == 0)
		return 0;
	return muster_fail(err, MUSTER_EIO, "%s is not the link to a PCI device", device);
}

/* `length` bounds the text, which need not end in NUL. The product with 512 must fit into 64 bits. */
int muster_sectors_gb(const char *text, size_t length, double *ret, struct muster_error *err)
{
	uint64_t sectors = 0;
	size_t i = 0;
	for (; i < length && text[i] >= '0' && text[i] <= '9' && sectors <= UINT64_MAX / 512 / 10; i++)
		sectors = sectors * 10 + (uint64_t)(text[i] - '0');
	if (i == 0 || i < length || sectors > UINT64_MAX / 512)
		return muster_fail(
			err, MUSTER_EIO, "not a count of sectors: \"%.*s\"", (int)(length < 40 ? length : 40), text);
	*ret = (double)sectors * 512 / 1e9;
	return 0;
}

bool muster_module_is_loaded(const char *root, const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/sys/module/%s", root, name);
	return access(path, F_OK) == 0;
}

int muster_memory_mib(const char *root, double *ret, struct muster_error *err)
{
	char path[PATH_MAX], text[256], *end;
	snprintf(path, sizeof path, "%s/proc/meminfo", root);
	if (muster_sysfs_line(path, "MemTotal", text, sizeof text, err) < 0)
		return -1;
	double kib = strtod(text, &end);
	if (!isdigit((unsigned char)*text) || strcmp(end, " kB") != 0 || !isfinite(kib))
		return muster_fail(err, MUSTER_EIO, "MemTotal of %s is not in kB: \"%s\"", path, text);
	*ret = kib / 1024;
	return 0;
}
