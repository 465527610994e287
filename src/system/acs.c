/* SPDX-License-Identifier: Apache-2.0 */
/* acs.c - PCIe switches that send traffic between two devices up to the root complex
 *
 * PCI Express Base Specification: extended capabilities begin at 0x100 of a function's configuration space. Each has
 * its id in bits 0 to 15 of its first word and the offset of the next one in bits 20 to 31. Access Control Services
 * (ACS) have id 0x000d, and their control register is at offset 6.
 *
 *    offset 0    31 ... 20 next | 19 ... 16 version | 15 ... 0 id
 *    offset 4    31 ... 16 control register         | 15 ... 0 capabilities
 *
 * sysfs shows the bridges above a device as the folders above its own:
 *
 *    /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0/0000:05:00.0
 *                            root port    switch, up   switch, down device
 *                            not checked  checked      checked
 */
#include "system/acs.h"

#include "system/sysfs.h"
#include "util/array.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CONFIG_BYTES = 4096,
	CONFIG_FOR_ALL = 64, /* what the kernel gives without CAP_SYS_ADMIN */
	EXTENDED = 0x100,
	ACS_ID = 0x000d,
	ACS_CONTROL = 6,
	SOURCE_VALIDATION = 1 << 0,
	REQUEST_REDIRECT = 1 << 2,
};

static uint32_t word_at(const unsigned char *config, size_t offset)
{
	return config[offset] | (uint32_t)config[offset + 1] << 8 | (uint32_t)config[offset + 2] << 16 |
	       (uint32_t)config[offset + 3] << 24;
}

/* Whether the bridge's ACS validates sources or redirects requests: then traffic between two devices below a switch
 * goes up to the root complex. The loop is bounded, since the offsets may form a circle in a broken device. A
 * configuration space of 256 bytes has no extended capabilities, and so no ACS. */
static bool redirects(const unsigned char *config, size_t length)
{
	size_t offset = EXTENDED;
	for (int i = 0; i < CONFIG_BYTES / 8 && offset >= EXTENDED && offset + 8 <= length; i++) {
		uint32_t header = word_at(config, offset);
		if ((header & 0xffff) == ACS_ID) {
			unsigned int control = word_at(config, offset + 4) >> 16;
			return control & (SOURCE_VALIDATION | REQUEST_REDIRECT);
		}
		offset = header >> 20;
	}
	return false;
}

_Static_assert(ACS_CONTROL == 4 + 2, "the control register is the upper half of the second word");

/* Add the bridge if its ACS redirects. Several devices may have a bridge in common: a bridge that is in the list is not
 * read again. */
static int check_bridge(
	const char *directory, const char *bus_id, struct muster_acs_bridges *bridges, struct muster_error *err)
{
	unsigned char config[CONFIG_BYTES];
	char path[PATH_MAX + 16];
	for (size_t i = 0; i < bridges->count; i++)
		if (strcmp(bridges->items[i], bus_id) == 0)
			return 0;
	snprintf(path, sizeof path, "%s/config", directory);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, config, sizeof config);
	int why = errno;
	if (fd >= 0)
		close(fd);
	if (length < 0)
		return muster_fail(err, MUSTER_EIO, "PCI bridge %s: config: %s", bus_id, strerror(why));
	if (length <= CONFIG_FOR_ALL)
		return muster_fail(err, MUSTER_ENOPERMISSION,
			"only root can read the ACS registers of PCI bridges: %zd bytes of %s", length, bus_id);
	if (redirects(config, (size_t)length)) {
		MUSTER_ARRAY_GROW(bridges->items, bridges->count, bridges->room);
		snprintf(bridges->items[bridges->count++], sizeof *bridges->items, "%.31s", bus_id);
	}
	return 0;
}

/* The path is cut at each slash in turn, from the root port down. The device itself is the part behind the last slash,
 * and is not looked at. */
int muster_acs_add(const char *device, struct muster_acs_bridges *bridges, struct muster_error *err)
{
	char path[PATH_MAX], bus_id[32];
	bool below_root_port = false;
	if (!realpath(device, path))
		return muster_fail(err, MUSTER_EIO, "%s: %s", device, strerror(errno));
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		bool is_bridge = muster_bus_id_normalise(strrchr(path, '/') + 1, bus_id, sizeof bus_id, NULL) == 0;
		if (is_bridge && below_root_port && check_bridge(path, bus_id, bridges, err) < 0)
			return -1;
		below_root_port |= is_bridge;
		*slash = '/';
	}
	return 0;
}

void muster_acs_done(struct muster_acs_bridges *bridges)
{
	free(bridges->items);
	*bridges = (struct muster_acs_bridges){ .count = 0 };
}
