/* version.c - versions of numbers with dots between them */
#include "expect/version.h"

#include <string.h>

#define DIGITS "0123456789"

bool muster_version_valid(const char *text)
{
	for (;; text++) {
		size_t digits = strspn(text, DIGITS);
		text += digits;
		if (digits == 0 || !*text)
			return digits > 0;
		if (*text != '.')
			return false;
	}
}

/* The digits at *at without leading zeros, behind which *at is moved; 0 for the number 0 and for none at all. */
static size_t take_number(const char **at, const char **ret_digits)
{
	size_t length;
	*at += strspn(*at, "0");
	*ret_digits = *at;
	length = strspn(*at, DIGITS);
	*at += length;
	return length;
}

/* Behind the dot at `at` when another number follows, else the end. */
static const char *next_number(const char *at)
{
	return *at == '.' && strspn(at + 1, DIGITS) > 0 ? at + 1 : "";
}

bool muster_version_reaches(const char *version, const char *least)
{
	if (strspn(version, DIGITS) == 0)
		return false;
	while (*version || *least) {
		const char *has, *needs;
		size_t length = take_number(&version, &has), least_length = take_number(&least, &needs);
		int order = length != least_length ? (length > least_length ? 1 : -1) : strncmp(has, needs, length);
		if (order)
			return order > 0;
		version = next_number(version);
		least = next_number(least);
	}
	return true;
}
