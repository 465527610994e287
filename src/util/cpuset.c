/* SPDX-License-Identifier: Apache-2.0 */
/* cpuset.c - the texts of CPU sets; the sets are hwloc's bitmaps
 *
 * Three forms of text and what each is for:
 *
 *    "ffffff000000"                muster_cpuset_parse_mask    srun --cpu-bind=mask_cpu
 *    "0-3,8"                       muster_cpuset_parse_list    the kernel's cpulist files
 *    "00000000,0000ffff,ff000000"  muster_cpuset_parse_words   sysfs, NCCL's topology files
 *
 * hwloc's own readers accept a text that only begins well: each text is checked whole before hwloc sees it.
 */
#include "util/cpuset.h"

#include "muster/arena.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HEX_DIGITS "0123456789abcdefABCDEF"

hwloc_bitmap_t muster_cpuset_parse_mask(const char *text, struct muster_error *err)
{
	const char *digits = strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0 ? text + 2 : text;
	size_t length = strlen(digits), good = strspn(digits, HEX_DIGITS);
	if (length == 0 || length > MUSTER_CPUS_MAX / 4) {
		muster_fail(err, MUSTER_EUSAGE, "a CPU mask of 1 to %d hex digits is needed, found \"%.60s\"",
			MUSTER_CPUS_MAX / 4, text);
		return NULL;
	}
	if (good < length) {
		muster_fail(
			err, MUSTER_EUSAGE, "a CPU mask in hex is needed, found '%c' in \"%.60s\"", digits[good], text);
		return NULL;
	}
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	hwloc_bitmap_taskset_sscanf(set, digits);
	return set;
}

/* A number at *at; *at moves to the first byte after it. */
static bool read_cpu(const char **at, unsigned long *ret)
{
	char *end;
	errno = 0;
	*ret = strtoul(*at, &end, 10);
	bool good = **at >= '0' && **at <= '9' && errno == 0 && *ret < MUSTER_CPUS_MAX;
	*at = end;
	return good;
}

/* Each turn of the loop reads "LOW" or "LOW-HIGH" and the comma behind it. A comma at the end is an error. */
hwloc_bitmap_t muster_cpuset_parse_list(const char *text, struct muster_error *err)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	for (const char *at = text; *at;) {
		unsigned long low, high;
		bool good = read_cpu(&at, &low);
		high = low;
		if (good && *at == '-') {
			at++;
			good = read_cpu(&at, &high);
		}
		if (!good || low > high || (*at && *at != ',') || (*at == ',' && !at[1])) {
			muster_fail(err, MUSTER_EUSAGE,
				"a CPU list such as 0-3,8 is needed (CPUs below %d), found \"%.60s\"", MUSTER_CPUS_MAX,
				text);
			hwloc_bitmap_free(set);
			return NULL;
		}
		hwloc_bitmap_set_range(set, (unsigned int)low, (int)high);
		at += *at == ',';
	}
	return set;
}

hwloc_bitmap_t muster_cpuset_parse_words(const char *text, struct muster_error *err)
{
	size_t words = 0;
	for (const char *at = text; at; words++) {
		size_t digits = strspn(at, HEX_DIGITS);
		if (digits < 1 || digits > 8 || (at[digits] && at[digits] != ',') || words >= MUSTER_CPUS_MAX / 32) {
			muster_fail(err, MUSTER_EUSAGE,
				"a CPU mask of up to %d words of 1 to 8 hex digits is needed, found \"%.60s%s\"",
				MUSTER_CPUS_MAX / 32, text, strlen(text) > 60 ? "..." : "");
			return NULL;
		}
		at = at[digits] ? at + digits + 1 : NULL;
	}
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	hwloc_bitmap_sscanf(set, text);
	return set;
}

char *muster_cpuset_mask(hwloc_const_bitmap_t set)
{
	char *text = NULL;
	hwloc_bitmap_taskset_asprintf(&text, set);
	char *digits = muster_strdup(text ? text + strlen("0x") : "");
	free(text);
	return digits;
}

char *muster_cpuset_list(hwloc_const_bitmap_t set)
{
	char *text = NULL;
	hwloc_bitmap_list_asprintf(&text, set);
	return text ? text : muster_strdup("");
}

int muster_cpuset_check(hwloc_const_bitmap_t set, struct muster_error *err)
{
	if (hwloc_bitmap_last(set) >= MUSTER_CPUS_MAX || hwloc_bitmap_weight(set) < 0)
		return muster_fail(err, MUSTER_EIO, "a CPU set of hwloc goes beyond %d CPUs", MUSTER_CPUS_MAX);
	return 0;
}
