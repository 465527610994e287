/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_words.h - what the readers of one line of the kernel's log share */
#ifndef MUSTER_SYSTEM_KERNEL_WORDS_H
#define MUSTER_SYSTEM_KERNEL_WORDS_H

#include "system/kernel_event.h"
#include "system/sysfs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* text: the line; rest: what follows "DRIVER BUS-ID" in it, or "infiniband DEVICE". */
bool muster_kernel_adapter_parse(
	const char *text, const char *rest, const char *device, struct muster_kernel_event *ret);
/* A line of no PCI device: disks, arrays, file systems, CPUs that are stuck, the IOMMU, the kernel's own faults. */
bool muster_kernel_host_parse(const char *text, struct muster_kernel_event *ret);

/* What follows prefix; NULL when text does not begin with it. */
static inline const char *after(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);
	return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* The name of a device at the beginning of text, with no more than names have: "nvme1", "md0" of "md0-8.". */
static inline const char *take_name(const char *text, char *ret, size_t size)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:!-");
	while (length > 0 && strchr(".:", text[length - 1]))
		length--;
	snprintf(ret, size, "%.*s", (int)length, text);
	char *journal = strstr(ret, "-8"); /* the file in which ext4 has it */
	if (journal && !journal[2] && strncmp(ret, "dm-", 3) != 0)
		*journal = '\0';
	return ret;
}

static inline bool event(
	struct muster_kernel_event *ret, enum muster_kernel_event_kind kind, const char *device, bool follows)
{
	*ret = (struct muster_kernel_event){ .kind = kind, .follows = follows };
	snprintf(ret->device, sizeof ret->device, "%s", *device ? device : "none");
	return true;
}

/* A PCI address at the beginning of text, with or without its function (".0"), in sysfs form. Returns what follows it,
 * or NULL. */
static inline const char *take_bus_id(const char *text, char *ret, size_t size)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	char id[24];
	size_t domain = strspn(text, digits), length = domain + strlen(":bb:dd");
	if (domain < 4 || domain > 8 || strnlen(text, length) < length || text[domain] != ':' ||
		strspn(text + domain + 1, digits) != 2 || text[domain + 3] != ':' ||
		strspn(text + domain + 4, digits) != 2)
		return NULL;
	bool has_function = text[length] == '.' && text[length + 1] >= '0' && text[length + 1] <= '7';
	snprintf(id, sizeof id, "%.*s.%c", (int)length, text, has_function ? text[length + 1] : '0');
	return muster_bus_id_normalise(id, ret, size, NULL) < 0 ? NULL : text + length + (has_function ? 2 : 0);
}

/* The first PCI address of the text; "" when there is none. */
static inline const char *find_bus_id(const char *text, char *ret, size_t size)
{
	*ret = '\0';
	for (const char *at = text; *at; at++)
		if (isxdigit((unsigned char)*at) && (at == text || !isxdigit((unsigned char)at[-1])) &&
			take_bus_id(at, ret, size))
			break;
	return ret;
}

#endif
