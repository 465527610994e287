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

int muster_parse_name(
	const char *text, const char *const *names, size_t count, const char *what, struct muster_error *err)
{
	char all[512] = "";
	size_t used = 0;
	for (size_t i = 0; i < count && used < sizeof all; i++) {
		if (strcmp(names[i], text) == 0)
			return (int)i;
		const char *joint = i == 0 ? "" : i + 1 == count ? " or " : ", ";
		used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", joint, names[i]);
	}
	return muster_fail(err, MUSTER_EUSAGE, "%s: %s is needed, found \"%.60s\"", what, all, text);
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

bool muster_text_has_word(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (; *list; list += strcspn(list, " "), list += *list == ' ')
		if (strncmp(list, word, length) == 0 && (list[length] == ' ' || list[length] == '\0'))
			return true;
	return false;
}

const char *muster_uuid_text(const void *bytes, char out[MUSTER_UUID_TEXT_SIZE])
{
	const unsigned char *byte = bytes;
	for (size_t i = 0, used = 0; i < 16; i++) {
		const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
		used += (size_t)snprintf(out + used, MUSTER_UUID_TEXT_SIZE - used, "%s%02x", dash, byte[i]);
	}
	return out;
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

FILE *muster_memory_open(char **ret_text, size_t *ret_length)
{
	FILE *stream = open_memstream(ret_text, ret_length);
	if (!stream)
		abort(); /* out of memory */
	return stream;
}

void muster_memory_close(FILE *stream)
{
	if (fclose(stream) != 0)
		abort(); /* out of memory */
}

double muster_now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}
