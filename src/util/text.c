/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - parsing and printing of small texts, each with its whole input used up or an error */
#include "muster/arena.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* strtol alone would skip a leading space and ignore what stands behind the number; both are refused here. */
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

/* The number is checked against high / per before it is multiplied, so that the product cannot overflow. */
int muster_parse_seconds(const char *text, long low, long high, long *ret, const char *what, struct muster_error *err)
{
	static const struct {
		char letter;
		long seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	size_t length = strlen(text), unit = 0;
	char number[32];
	while (length > 1 && unit < sizeof units / sizeof *units && units[unit].letter != text[length - 1])
		unit++;
	bool has_unit = length > 1 && unit < sizeof units / sizeof *units;
	long per = has_unit ? units[unit].seconds : 1, found;
	snprintf(number, sizeof number, "%.*s", (int)(length - has_unit), text);
	if (length >= sizeof number || muster_parse_int(number, 0, high / per, &found, what, NULL) < 0 ||
		found * per < low)
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: a time from %ld to %ld s is needed, such as %ld, %lds or 5m, found \"%.40s\"", what, low,
			high, low, low, text);
	*ret = found * per;
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

/* The first character must be a digit: strtoull would accept "-1" and give the largest number. */
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

/* In the largest unit in which the count is a whole number, so that nothing is rounded: 1536 bytes are "1536 B". */
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

bool muster_text_ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), bytes = strlen(end);
	return length >= bytes && strcmp(text + length - bytes, end) == 0;
}

/* strchr finds the NUL at the end of its first argument too: the end of the list also ends a word. */
bool muster_text_has_word(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (; *list; list += strcspn(list, " ,"), list += *list != '\0')
		if (strncmp(list, word, length) == 0 && strchr(" ,", list[length]))
			return true;
	return false;
}

bool muster_path_is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);
	return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool muster_text_among(const char *text, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(texts[i], text) == 0)
			return true;
	return false;
}

bool muster_text_is_plain(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	return *text && *text != '-' && text[strspn(text, allowed)] == '\0';
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

/* One read, since a file of sysfs gives its content in one piece. O_NONBLOCK: a FIFO in its place must not make this
 * wait. */
int muster_read_line(const char *path, char *ret, size_t size, struct muster_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[4096];
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	int why = errno;
	if (fd >= 0)
		close(fd);
	if (got < 0)
		return muster_fail(err, muster_errno_code(why), "%s: %s", path, strerror(why));
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

void muster_sleep_ms(double ms)
{
	const time_t seconds = (time_t)(ms / 1e3);
	const struct timespec time = { .tv_sec = seconds, .tv_nsec = (long)((ms - (double)seconds * 1e3) * 1e6) };
	nanosleep(&time, NULL);
}

/* ---- characters of UTF-8; characters that must be escaped for a terminal or a reader ---- */

/* By Unicode 15, table 3-7 (well-formed UTF-8). `low` and `high` are the limits of the second byte, which exclude
 * overlong forms (after e0 and f0), surrogates (after ed) and what is beyond U+10FFFF (after f4). */
size_t muster_utf8_next(const char *text, size_t left, unsigned long *ret_point)
{
	const unsigned char *at = (const unsigned char *)text;
	if (left == 0)
		return 0;
	size_t length = at[0] < 0x80                     ? 1
			: at[0] >= 0xc2 && at[0] <= 0xdf ? 2
			: (at[0] & 0xf0) == 0xe0         ? 3
			: at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
							 : 0;
	if (length == 0 || length > left)
		return 0;
	unsigned char low = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
	unsigned char high = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
	if (length > 1 && (at[1] < low || at[1] > high))
		return 0;
	unsigned long point = length == 1 ? at[0] : at[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3f);
	}
	*ret_point = point;
	return length;
}

/* C0, DEL, C1. */
static bool is_control(unsigned long point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

bool muster_utf8_has_control(const char *text)
{
	unsigned long point = 0;
	size_t left = strlen(text), step;
	for (; (step = muster_utf8_next(text, left, &point)) > 0; text += step, left -= step)
		if (is_control(point))
			return true;
	return false;
}

bool muster_utf8_is_harmful(unsigned long point)
{
	return is_control(point) || point == 0x61c     /* a direction mark */
	       || (point >= 0x200b && point <= 0x200f) /* zero width, direction marks */
	       || (point >= 0x2028 && point <= 0x202e) /* line separators, direction embedding and override */
	       || (point >= 0x2060 && point <= 0x206f) /* invisible, direction isolates */
	       || point == 0xfeff;
}

/* ASCII that a quoted text has as it is. */
static bool is_plain(char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* `plain` is where the text begins that was not written yet: whole stretches are written at once, up to the next
 * character that must be escaped. All harmful characters are below U+10000, so that one \uXXXX is enough. */
void muster_utf8_quote(FILE *out, const char *text)
{
	putc_unlocked('"', out);
	const char *at = text, *plain = at;
	while (is_plain(*at)) /* most texts have nothing else */
		at++;
	size_t left = strlen(at);
	while (left > 0) {
		unsigned long point = 0;
		size_t step = 1;
		bool good = is_plain(*at) || *at == '"' || *at == '\\';
		if (!good) {
			step = muster_utf8_next(at, left, &point);
			good = step > 0 && !muster_utf8_is_harmful(point);
		}
		if (!good || *at == '"' || *at == '\\') {
			fwrite_unlocked(plain, 1, (size_t)(at - plain), out);
			if (good)
				fprintf(out, "\\%c", *at);
			else if (step > 0)
				fprintf(out, "\\u%04lx", point);
			else
				fputs("\xef\xbf\xbd", out); /* U+FFFD */
			step = step > 0 ? step : 1;
			plain = at + step;
		}
		at += step;
		left -= step;
	}
	fwrite_unlocked(plain, 1, (size_t)(at - plain), out);
	putc_unlocked('"', out);
}

/* ---- suggest names that are similar to a mistyped one ---- */

#define NAME_MAX_COMPARED 96
#define PART_LEAST 3 /* letters: fewer are part of too many names */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The table of Levenshtein with one row in memory: row[j] is the distance of the first i letters of a and the first j
 * letters of b; `corner` is what row[j - 1] was for i - 1. */
size_t muster_suggest_distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_COMPARED + 1];
	size_t m = strlen(a), n = strlen(b);
	if (m > NAME_MAX_COMPARED || n > NAME_MAX_COMPARED)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; i <= m; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t above = row[j];
			bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);

			row[j] = least(corner + !same, least(above, row[j - 1]) + 1);
			corner = above;
		}
	}
	return row[n];
}

/* How far a candidate is. It is nearest where it goes on as the name does ("gpu.h2d_gbps" for "gpu.h2d"), the shortest
 * first; then by the letters that differ; then where the name is a part of it ("Standard_NC40ads_H100_v5" for "H100").
 * SIZE_MAX: too far. */
static size_t distance_of(const char *name, const char *candidate)
{
	enum { NEAR = 1000, PART = 2000 };
	size_t length = strlen(name), distance = muster_suggest_distance(name, candidate);
	bool is_word = length >= PART_LEAST && length <= NAME_MAX_COMPARED;
	if (distance == 0 || (is_word && strncasecmp(candidate, name, length) == 0))
		return strlen(candidate) - length;
	if (distance <= length / 3 + 1)
		return NEAR + distance;
	return is_word && strcasestr(candidate, name) ? PART : SIZE_MAX;
}

/* The three nearest names so far, sorted by insertion; of equally near names the first one in the list comes first. */
const char *muster_suggest(
	const char *name, const void *names, size_t count, size_t element, char out[MUSTER_SUGGEST_MAX])
{
	enum { KEPT_MAX = 3 };
	const char *best[KEPT_MAX];
	size_t far[KEPT_MAX], kept = 0, used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const char *candidate = *(const char *const *)(const void *)((const char *)names + i * element);
		size_t d = distance_of(name, candidate), place = kept;

		while (place > 0 && far[place - 1] > d)
			place--;
		if (d == SIZE_MAX || place == KEPT_MAX)
			continue;
		kept += kept < KEPT_MAX;
		for (size_t j = kept - 1; j > place; j--) {
			best[j] = best[j - 1];
			far[j] = far[j - 1];
		}
		best[place] = candidate;
		far[place] = d;
	}
	for (size_t i = 0; i < kept && used < MUSTER_SUGGEST_MAX; i++)
		used += (size_t)snprintf(out + used, MUSTER_SUGGEST_MAX - used, "%s\"%s\"%s",
			i == 0          ? "; did you mean "
			: i + 1 == kept ? " or "
					: ", ",
			best[i], i + 1 == kept ? "?" : "");
	return out;
}
