/* SPDX-License-Identifier: Apache-2.0 */
/* hostlist.c - lists of host names as Slurm writes them
 *
 * Expanding. A text is cut into names at separators that are in no bracket (name_end), and each name is expanded by
 * recursion: expand_from() takes the plain text up to the next bracket, expand_range() appends one number of that
 * bracket and calls expand_from() for what follows. "built" is the part of the name that is complete:
 *
 *    expand_from("", "r[1-2]n[07,10]")
 *       expand_range("r", 1)   ->  expand_from("r1", "n[07,10]")   ->  put "r1n07", put "r1n10"
 *       expand_range("r", 2)   ->  expand_from("r2", "n[07,10]")   ->  put "r2n07", put "r2n10"
 *
 * So the number of the last bracket changes fastest, as in Slurm. A wrong list stops at the first error: brackets,
 * numbers, the length of a name and the number of names have limits, because a list comes from a user or from a file.
 *
 * Compressing. Each name is split into a prefix and the number at its end. Names with one prefix are a family, and a
 * family becomes one bracket of numbers and ranges:
 *
 *    gpu-1 gpu-2 gpu-3 gpu-07 login   ->   gpu-[1-3,07],login
 */
#include "slurm/hostlist.h"

#include "util/array.h"
#include "util/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 18, BRACKETS_MAX = 8 }; /* numbers of 18 digits fit into 64 bits; brackets of one name */

static const char digits[] = "0123456789";
static const char separators[] = ", \t\r\n";
static const char in_names[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-#";

/* ---- expanding ---- */

struct names {
	struct muster_arena *arena;
	const char **items;
	size_t count, room;
};

/* Add a complete name. -1 with err for a text that no node can be called, such as "#", "slots=8" and "gpu-1:8", which
 * are words in the host files of MPI, and for a name too many. A "#" inside is allowed: "gpu-1#2" is what a report
 * calls the second machine with the host name gpu-1. */
static int put(struct names *names, const char *name, struct muster_error *err)
{
	if (*name == '-' || *name == '#' || name[strspn(name, in_names)])
		return muster_fail(err, MUSTER_EUSAGE,
			"host list: \"%s\" is not the name of a node, which has letters, digits and . _ - only", name);
	if (names->count == MUSTER_HOSTS_MAX)
		return muster_fail(err, MUSTER_EUSAGE, "host list: more than %d names", MUSTER_HOSTS_MAX);
	MUSTER_ARRAY_PUSH(names->items, names->count, names->room, muster_arena_string(names->arena, name));
	return 0;
}

/* Read the number at *at; *at moves to the first byte after it. *ret_width: its digits, leading zeros included. end is
 * only where the quotation in an error message stops: the bracket that ends there is no digit, so it stops the number.
 */
static int number(const char **at, const char *end, unsigned long long *ret, int *ret_width, struct muster_error *err)
{
	size_t length = strspn(*at, digits);
	if (length == 0 || length > DIGITS_MAX)
		return muster_fail(err, MUSTER_EUSAGE, "host list: a number of 1 to %d digits is needed at \"%.*s\"",
			DIGITS_MAX, (int)(end - *at < 40 ? end - *at : 40), *at);
	*ret = strtoull(*at, NULL, 10);
	*ret_width = (int)length;
	*at += length;
	return 0;
}

static int expand_from(struct names *names, const char *built, const char *at, const char *end, int brackets,
	struct muster_error *err);

/* Expand one entry of a bracket, "7" or "1-3", at *at, each number followed by what stands behind the bracket. *at
 * moves behind the entry. close: the "]" of the bracket; end: the end of the name; brackets: how many stand before. All
 * numbers of a range have at least the digits of its first one: 08-10 is 08, 09, 10. */
static int expand_range(struct names *names, const char *built, const char **at, const char *close, const char *end,
	int brackets, struct muster_error *err)
{
	unsigned long long low, high;
	int width, ignored;
	if (number(at, close, &low, &width, err) < 0)
		return -1;
	high = low;
	if (**at == '-') {
		++*at;
		if (number(at, close, &high, &ignored, err) < 0)
			return -1;
	}
	if (high < low)
		return muster_fail(err, MUSTER_EUSAGE, "host list: the range %llu-%llu goes backwards", low, high);
	for (; low <= high; low++) {
		char longer[MUSTER_HOST_NAME_MAX + DIGITS_MAX + 8];
		snprintf(longer, sizeof longer, "%s%0*llu", built, width, low);
		if (expand_from(names, longer, close + 1, end, brackets + 1, err) < 0)
			return -1;
	}
	return 0;
}

/* Complete the name that begins with `built` by the text from at to end, in all ways, and add each to names. -1 with
 * err: a bracket without its other half, too many of them, a name that is too long, or what put() and number() refuse.
 */
static int expand_from(
	struct names *names, const char *built, const char *at, const char *end, int brackets, struct muster_error *err)
{
	const char *open = memchr(at, '[', (size_t)(end - at));
	const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
	const char *plain = open ? open : end;
	char name[MUSTER_HOST_NAME_MAX + 1];
	if ((open && !close) || memchr(at, ']', (size_t)(plain - at)))
		return muster_fail(err, MUSTER_EUSAGE, "host list: a bracket without its other half in \"%.*s\"",
			(int)(end - at < 60 ? end - at : 60), at);
	if (brackets > BRACKETS_MAX)
		return muster_fail(err, MUSTER_EUSAGE, "host list: more than %d brackets in one name", BRACKETS_MAX);
	if (strlen(built) + (size_t)(plain - at) >= sizeof name)
		return muster_fail(
			err, MUSTER_EUSAGE, "host list: a name of more than %d characters", MUSTER_HOST_NAME_MAX);
	snprintf(name, sizeof name, "%s%.*s", built, (int)(plain - at), at);
	if (!open)
		return put(names, name, err);
	for (at = open + 1;; at++) {
		if (expand_range(names, name, &at, close, end, brackets, err) < 0)
			return -1;
		if (at == close)
			return 0;
		if (*at != ',')
			return muster_fail(err, MUSTER_EUSAGE, "host list: \"%c\" in a bracket", *at);
	}
}

/* The end of the name that begins here: separators inside brackets do not count. */
static const char *name_end(const char *at)
{
	bool inside = false;
	for (; *at && (inside || !strchr(separators, *at)); at++)
		inside = *at == '[' || (inside && *at != ']');
	return at;
}

int muster_hostlist_expand(const char *text, struct muster_arena *arena, const char *const **ret, size_t *ret_count,
	struct muster_error *err)
{
	struct names names = { .arena = arena };
	int rc = 0;
	for (const char *at = text, *end; rc == 0 && *(at += strspn(at, separators)); at = end) {
		end = name_end(at);
		rc = expand_from(&names, "", at, end, 0, err);
		if (rc < 0 && strchr(text, '\n')) {
			int line = 1;
			for (const char *c = text; c < at; c++)
				line += *c == '\n';
			rc = muster_wrap(err, "line %d", line);
		}
	}
	if (rc == 0 && names.count == 0)
		rc = muster_fail(err, MUSTER_EUSAGE, "host list: no name in it");
	if (rc == 0) {
		const char **all = muster_arena_alloc(arena, names.count * sizeof *all);
		memcpy(all, names.items, names.count * sizeof *all);
		*ret = all;
		*ret_count = names.count;
	}
	free(names.items);
	return rc;
}

/* ---- compressing ---- */

/* A name and the number at its end: "gpu-" "07". After a bracket Slurm accepts only another name with a number, so
 * "gpu-07-ib" has no number. */
struct split {
	const char *name;
	size_t prefix, digits; /* lengths; digits 0: no number */
	unsigned long long number;
};

static struct split split(const char *name)
{
	size_t end = strlen(name), start = end;
	while (start > 0 && strchr(digits, name[start - 1]))
		start--;
	if (end - start > DIGITS_MAX)
		start = end;
	struct split parts = { .name = name, .prefix = start, .digits = end - start };
	if (parts.digits > 0)
		parts.number = strtoull(name + start, NULL, 10);
	return parts;
}

static int by_family(const struct split *x, const struct split *y)
{
	size_t shorter = x->prefix < y->prefix ? x->prefix : y->prefix;
	int order = memcmp(x->name, y->name, shorter);
	if (!order)
		order = (x->prefix > y->prefix) - (x->prefix < y->prefix);
	return order ? order : (x->digits > 0) - (y->digits > 0);
}

static int by_name(const void *a, const void *b)
{
	const struct split *x = a, *y = b;
	int order = by_family(x, y);
	if (!order)
		order = (x->number > y->number) - (x->number < y->number);
	return order ? order : (x->digits > y->digits) - (x->digits < y->digits);
}

/* Whether next is the number after `last` in a range whose first number has `width` digits: as Slurm expands the range,
 * printed with at least that width, it has exactly the digits of the name. So 9 and 10 are a range, 09 and 10 too, and
 * 9 and 010 are not. */
static bool continues(const struct split *next, size_t width, unsigned long long last)
{
	char text[24];
	int length = snprintf(text, sizeof text, "%0*llu", (int)width, next->number);
	return next->number == last + 1 && (size_t)length == next->digits;
}

/* Print the names all[first] to all[end - 1], which are one family, with a comma before all but the first family. A
 * family without a number is one name. */
static void print_family(FILE *out, const struct split *all, size_t first, size_t end)
{
	bool several = end - first > 1;
	fprintf(out, "%s%.*s%s", first ? "," : "", (int)all[first].prefix, all[first].name, several ? "[" : "");
	for (size_t i = first, last; all[first].digits > 0 && i < end; i = last + 1) {
		for (last = i; last + 1 < end && continues(&all[last + 1], all[i].digits, all[last].number);)
			last++;
		fprintf(out, "%s%.*s", i > first ? "," : "", (int)all[i].digits, all[i].name + all[i].prefix);
		if (last > i)
			fprintf(out, "-%.*s", (int)all[last].digits, all[last].name + all[last].prefix);
	}
	fputs(several ? "]" : "", out);
}

/* The names split, sorted by prefix, number and digits, each once; malloc'd. The elements point into the names. "n1"
 * and "n01" are two names, because their digits differ. */
static struct split *split_all(const char *const *names, size_t count, size_t *ret_count)
{
	struct split *all = muster_calloc(count + 1, sizeof *all);
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		all[i] = split(names[i]);
	qsort(all, count, sizeof *all, by_name);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || by_name(&all[kept - 1], &all[i]) != 0)
			all[kept++] = all[i];
	*ret_count = kept;
	return all;
}

char *muster_hostlist_compress(const char *const *names, size_t count)
{
	size_t kept, length;
	char *text = NULL;
	struct split *all = split_all(names, count, &kept);
	FILE *out = muster_memory_open(&text, &length);
	for (size_t first = 0, end; first < kept; first = end) {
		for (end = first + 1; end < kept && by_family(&all[first], &all[end]) == 0;)
			end++;
		print_family(out, all, first, end);
	}
	muster_memory_close(out);
	free(all);
	return text;
}

size_t muster_hostlist_sort(const char **names, size_t count)
{
	size_t kept;
	struct split *all = split_all(names, count, &kept);
	for (size_t i = 0; i < kept; i++)
		names[i] = all[i].name;
	free(all);
	return kept;
}
