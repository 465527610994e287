/* text.c - parsing and printing of small texts, each with its whole input used up or an error */
#include "text.h"

#include "muster/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int muster_parse_int(const char *text, long low, long high, long *ret, const char *what, struct muster_error *err)
{
	char *end;
	errno = 0;
	long number = strtol(text, &end, 10);
	if (end == text || *end || *text == ' ' || errno == ERANGE || number < low || number > high)
		return muster_fail(err, MUSTER_EUSAGE, "%s: a whole number from %ld to %ld is needed, found \"%.60s\"",
			what, low, high, text);
	*ret = number;
	return 0;
}

int muster_parse_double(const char *text, double *ret, const char *what, struct muster_error *err)
{
	char *end;
	double number = strtod(text, &end);
	if (end == text || *end || *text == ' ' || !isfinite(number))
		return muster_fail(err, MUSTER_EUSAGE, "%s: a number is needed, found \"%.60s\"", what, text);
	*ret = number;
	return 0;
}

int muster_parse_bytes(const char *text, uint64_t *ret, const char *what, struct muster_error *err)
{
	static const char units[] = "KMG";
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	bool good = end != text && *text >= '0' && *text <= '9' && errno == 0;
	int shift = 0;
	if (good && *end) {
		const char *unit = strchr(units, *end);
		good = unit && !end[1];
		shift = unit ? 10 * (int)(unit - units + 1) : 0;
	}
	if (!good || number > UINT64_MAX >> shift)
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: a byte count such as 8388608, 8M or 1G is needed, found \"%.60s\"", what, text);
	*ret = (uint64_t)number << shift;
	return 0;
}

const char *muster_bytes_text(uint64_t bytes, char *out, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;
	while (unit + 1 < sizeof units / sizeof *units && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(out, size, "%llu %s", (unsigned long long)bytes, units[unit]);
	return out;
}

void muster_cpuset_set(struct muster_cpuset *cpus, unsigned int cpu)
{
	if (cpu < MUSTER_CPUS_MAX)
		cpus->bits[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

bool muster_cpuset_has(const struct muster_cpuset *cpus, unsigned int cpu)
{
	return cpu < MUSTER_CPUS_MAX && (cpus->bits[cpu / 64] >> cpu % 64 & 1);
}

unsigned int muster_cpuset_count(const struct muster_cpuset *cpus)
{
	unsigned int count = 0;
	for (size_t i = 0; i < MUSTER_CPUS_MAX / 64; i++)
		count += (unsigned int)__builtin_popcountll(cpus->bits[i]);
	return count;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int muster_cpuset_parse_mask(const char *text, struct muster_cpuset *ret, struct muster_error *err)
{
	const char *digits = strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0 ? text + 2 : text;
	size_t length = strlen(digits);
	struct muster_cpuset cpus = { 0 };
	if (length == 0 || length > MUSTER_CPUS_MAX / 4)
		return muster_fail(err, MUSTER_EUSAGE, "a CPU mask of 1 to %d hex digits is needed, found \"%.60s\"",
			MUSTER_CPUS_MAX / 4, text);
	for (size_t i = 0; i < length; i++) {
		int digit = hex_digit(digits[length - 1 - i]);
		if (digit < 0)
			return muster_fail(err, MUSTER_EUSAGE, "a CPU mask in hex is needed, found '%c' in \"%.60s\"",
				digits[length - 1 - i], text);
		cpus.bits[i / 16] |= (uint64_t)digit << i % 16 * 4;
	}
	*ret = cpus;
	return 0;
}

int muster_cpuset_parse_list(const char *text, struct muster_cpuset *ret, struct muster_error *err)
{
	struct muster_cpuset cpus = { 0 };
	const char *at = text;
	while (*at) {
		char *end;
		errno = 0;
		unsigned long low = strtoul(at, &end, 10), high = low;
		bool good = end != at && *at >= '0' && *at <= '9' && errno == 0;
		if (good && *end == '-') {
			at = end + 1;
			high = strtoul(at, &end, 10);
			good = end != at && *at >= '0' && *at <= '9' && errno == 0;
		}
		if (!good || low > high || high >= MUSTER_CPUS_MAX || (*end && *end != ',') || (*end == ',' && !end[1]))
			return muster_fail(err, MUSTER_EUSAGE,
				"a CPU list such as 0-3,8 is needed (CPUs below %d), found \"%.60s\"", MUSTER_CPUS_MAX,
				text);
		for (unsigned long cpu = low; cpu <= high; cpu++)
			muster_cpuset_set(&cpus, (unsigned int)cpu);
		at = *end ? end + 1 : end;
	}
	*ret = cpus;
	return 0;
}

char *muster_cpuset_mask(const struct muster_cpuset *cpus)
{
	char digits[MUSTER_CPUS_MAX / 4 + 1];
	for (size_t i = 0; i < MUSTER_CPUS_MAX / 4; i++)
		digits[MUSTER_CPUS_MAX / 4 - 1 - i] = "0123456789abcdef"[cpus->bits[i / 16] >> i % 16 * 4 & 15];
	digits[MUSTER_CPUS_MAX / 4] = '\0';
	const char *first = digits;
	while (*first == '0' && first[1])
		first++;
	return muster_strdup(first);
}

char *muster_cpuset_list(const struct muster_cpuset *cpus)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	const char *comma = "";
	for (unsigned int cpu = 0; out && cpu < MUSTER_CPUS_MAX; cpu++) {
		if (!muster_cpuset_has(cpus, cpu))
			continue;
		unsigned int last = cpu;
		while (muster_cpuset_has(cpus, last + 1))
			last++;
		fprintf(out, last > cpu ? "%s%u-%u" : "%s%u", comma, cpu, last);
		comma = ",";
		cpu = last;
	}
	if (!out || fclose(out) != 0)
		return muster_strdup("");
	return text;
}

int muster_read_line(const char *path, char *ret, size_t size, struct muster_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[4096];
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	int why = errno;
	if (fd >= 0)
		close(fd);
	if (got < 0)
		return muster_fail(err, why == EACCES || why == EPERM ? MUSTER_ENOPERMISSION : MUSTER_EIO, "%s: %s",
			path, strerror(why));
	text[got] = '\0';
	text[strcspn(text, "\n")] = '\0';
	size_t length = strlen(text);
	while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t' || text[length - 1] == '\r'))
		text[--length] = '\0';
	snprintf(ret, size, "%s", text);
	return 0;
}

double muster_now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}
