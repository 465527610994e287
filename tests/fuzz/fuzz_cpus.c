/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cpus.c - CPU masks and lists, numbers and byte counts: refused with one line, or printed and read as the same */
#include "fuzz.h"

#include "util/text.h"
#include "util/cpuset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* mask -> list -> mask. */
static void check_set(hwloc_const_bitmap_t cpus)
{
	struct muster_error err;
	char *mask = muster_cpuset_mask(cpus), *list = muster_cpuset_list(cpus);
	hwloc_bitmap_t from_mask = muster_cpuset_parse_mask(mask, &err),
		       from_list = muster_cpuset_parse_list(list, &err);
	FUZZ_CHECK(from_mask && from_list, "%s", err.text);
	FUZZ_CHECK(hwloc_bitmap_isequal(cpus, from_mask) && hwloc_bitmap_isequal(cpus, from_list), "%s is not %s", mask,
		list);
	FUZZ_CHECK(hwloc_bitmap_last(cpus) < MUSTER_CPUS_MAX, "%s", list);
	hwloc_bitmap_free(from_mask);
	hwloc_bitmap_free(from_list);
	free(list);
	free(mask);
}

static void try_cpus(const char *text, hwloc_bitmap_t (*parse)(const char *, struct muster_error *))
{
	struct muster_error err;
	hwloc_bitmap_t cpus = parse(text, &err);
	if (cpus)
		check_set(cpus);
	else
		fuzz_check_error(&err);
	hwloc_bitmap_free(cpus);
}

static void try_numbers(const char *text)
{
	struct muster_error err;
	long whole = 0;
	double number = 0;
	uint64_t count = 0;
	char printed[64];
	if (muster_parse_int(text, -1000, 1000000, &whole, "n", &err) < 0)
		fuzz_check_error(&err);
	FUZZ_CHECK(whole >= -1000 && whole <= 1000000, "%ld", whole);
	if (muster_parse_double(text, &number, "x", &err) < 0)
		fuzz_check_error(&err);
	FUZZ_CHECK(isfinite(number), "%g", number);
	if (muster_parse_bytes(text, &count, "b", &err) < 0)
		fuzz_check_error(&err);
	muster_bytes_text(count, printed, sizeof printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = fuzz_string(bytes, size);
	try_cpus(text, muster_cpuset_parse_mask);
	try_cpus(text, muster_cpuset_parse_list);
	try_numbers(text);
	free(text);
	return 0;
}
