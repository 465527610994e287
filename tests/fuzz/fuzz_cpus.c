/* fuzz_cpus.c - CPU masks and lists, numbers and byte counts: refused with one line, or printed and read as the same */
#include "fuzz.h"

#include "util/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same_cpus(const struct muster_cpuset *a, const struct muster_cpuset *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* mask -> list -> mask, and the two count alike. */
static void check_set(const struct muster_cpuset *cpus)
{
	struct muster_cpuset from_mask, from_list;
	struct muster_error err;
	char *mask = muster_cpuset_mask(cpus), *list = muster_cpuset_list(cpus);
	FUZZ_CHECK(muster_cpuset_parse_mask(mask, &from_mask, &err) == 0, "%s", err.text);
	FUZZ_CHECK(muster_cpuset_parse_list(list, &from_list, &err) == 0, "%s", err.text);
	FUZZ_CHECK(same_cpus(cpus, &from_mask) && same_cpus(cpus, &from_list), "%s is not %s", mask, list);
	unsigned int count = 0;
	for (unsigned int cpu = 0; cpu < MUSTER_CPUS_MAX + 1; cpu++)
		count += muster_cpuset_has(cpus, cpu);
	FUZZ_CHECK(count == muster_cpuset_count(cpus), "%u CPUs are not %u", count, muster_cpuset_count(cpus));
	free(list);
	free(mask);
}

static void try_cpus(const char *text, int (*parse)(const char *, struct muster_cpuset *, struct muster_error *))
{
	struct muster_cpuset cpus, before;
	struct muster_error err;
	memset(&cpus, 0xa5, sizeof cpus);
	before = cpus;
	if (parse(text, &cpus, &err) == 0) {
		check_set(&cpus);
		return;
	}
	fuzz_check_error(&err);
	FUZZ_CHECK(same_cpus(&cpus, &before), "outputs are written only on success");
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
