/* SPDX-License-Identifier: Apache-2.0 */
/* number.c - numbers as text and back
 *
 * A report has millions of numbers. A double is a whole number (mantissa) times a power of two. Where that whole
 * number, times the power of ten of the digits that are wanted, fits into 128 bits, the arithmetic here is exact and
 * rounds as printf and strtod do: half to even. All other numbers go to printf and strtod.
 *
 *    muster_json_number_text
 *    whole, below 9e15             the digits of the integer
 *    from 0.001 to below 1e15      scaled(): 15 digits, or 17 when 15 do not read back as the same number
 *    all others, and -0            printf, and strtod to see whether 15 digits are enough
 *
 * Example: 25.4 is 7149464408450662 x 2^-48. With 15 digits there are 13 behind the point: the product with 10^13,
 * shifted by 48 bits and rounded, is 254000000000000. Divided by 10^13 this is 25.4 again, so "25.4" is enough, without
 * its zeros.
 *
 *    muster_json_number_at
 *    up to 19 characters, no exponent    digits / 10^places by quotient()
 *    all others                          strtod
 */
#include "json/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum { SHORT_DIGITS = 15, ALL_DIGITS = 17, MANTISSA_BITS = 53 };

static const uint64_t tens[] = { 1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u,
	10000000000u, 100000000000u, 1000000000000u, 10000000000000u, 100000000000000u, 1000000000000000u,
	10000000000000000u, 100000000000000000u, 1000000000000000000u, 10000000000000000000u };
enum { TENS_MAX = sizeof tens / sizeof *tens - 1 };

/* mantissa * 2^exponent * 10^places, rounded half to even. The result is at most 2^64, and the product has a fraction,
 * so that `shift` is at least 1. 10^places is 5^places * 2^places: only the 5s are multiplied, and the 2s are
 * subtracted from the shift, which keeps the product of 53 bits and 5^19 (45 bits) below 128 bits. */
static uint64_t scaled(uint64_t mantissa, int exponent, unsigned int places)
{
	const wide product = (wide)mantissa * (tens[places] >> places); /* times 5^places; 2^places is left */
	const int shift = -(exponent + (int)places);
	const wide half = (wide)1 << (shift - 1), rest = product & ((half << 1) - 1);
	const uint64_t whole = (uint64_t)(product >> shift);
	return whole + (rest > half || (rest == half && whole % 2 == 1));
}

/* The decimal number digits / 10^places, without zeros at its end. Written from its last digit backwards. */
static size_t digits_text(bool negative, uint64_t digits, unsigned int places, char out[MUSTER_JSON_NUMBER_MAX])
{
	char text[MUSTER_JSON_NUMBER_MAX], *at = text + sizeof text;
	for (; places > 0 && digits % 10 == 0; places--)
		digits /= 10;
	for (unsigned int i = places; i > 0; i--, digits /= 10)
		*--at = (char)('0' + digits % 10);
	if (places > 0)
		*--at = '.';
	do {
		*--at = (char)('0' + digits % 10);
	} while (digits /= 10);
	if (negative)
		*--at = '-';
	size_t length = (size_t)(text + sizeof text - at);
	memcpy(out, at, length);
	out[length] = '\0';
	return length;
}

size_t muster_json_number_text(double number, char out[MUSTER_JSON_NUMBER_MAX])
{
	const double size = fabs(number), least = 0.001, end = 1e15, whole_end = 9e15; /* 2^53 is more */
	const uint64_t whole = size < whole_end ? (uint64_t)size : 0;
	const bool negative = signbit(number);
	if (size < whole_end && !((double)whole < size) && !(negative && whole == 0))
		return digits_text(negative, whole, 0, out);
	if (size < least || size >= end) {
		int length = snprintf(out, MUSTER_JSON_NUMBER_MAX, "%.*g", SHORT_DIGITS, number);
		double back = strtod(out, NULL);
		if (back < number || back > number)
			length = snprintf(out, MUSTER_JSON_NUMBER_MAX, "%.*g", ALL_DIGITS, number);
		return (size_t)length;
	}
	int exponent;
	const uint64_t mantissa = (uint64_t)ldexp(frexp(size, &exponent), MANTISSA_BITS);
	exponent -= MANTISSA_BITS;
	unsigned int before = 0, zeros = 0; /* digits before the point; zeros behind it */
	while (before < SHORT_DIGITS && size >= (double)tens[before])
		before++;
	for (double first = 0.1; before == 0 && size < first; first /= 10)
		zeros++;
	unsigned int places = SHORT_DIGITS - before + zeros;
	uint64_t digits = scaled(mantissa, exponent, places);
	const double back = (double)digits / (double)tens[places]; /* both are exact */
	if (back < size || back > size) {
		places += ALL_DIGITS - SHORT_DIGITS;
		digits = scaled(mantissa, exponent, places);
	}
	return digits_text(negative, digits, places, out);
}

static size_t skip_digits(const char *text, size_t at, size_t length)
{
	while (at < length && text[at] >= '0' && text[at] <= '9')
		at++;
	return at;
}

/* The grammar of RFC 8259: '-', digits without a zero in front, a point with digits, an exponent. Returns the start
 * when the text is no number. */
static size_t number_end(const char *text, size_t at, size_t length)
{
	size_t start = at;
	if (text[at] == '-')
		at++;
	size_t digits = skip_digits(text, at, length);
	if (digits == at || (text[at] == '0' && digits > at + 1))
		return start;
	at = digits;
	if (at < length && text[at] == '.') {
		digits = skip_digits(text, at + 1, length);
		if (digits == at + 1)
			return start;
		at = digits;
	}
	if (at < length && (text[at] == 'e' || text[at] == 'E')) {
		size_t exponent = at + 1;
		if (exponent < length && (text[exponent] == '+' || text[exponent] == '-'))
			exponent++;
		digits = skip_digits(text, exponent, length);
		if (digits == exponent)
			return start;
		at = digits;
	}
	return at;
}

/* digits / 10^places, rounded as strtod rounds. `digits` up to 2^53 is exact in a double, and so is 10^places up to
 * places 19; then one division rounds once. A larger `digits`: with 64 bits more the quotient has more bits than a
 * double, and its last bit says whether there is a rest, so that the one conversion to double rounds correctly. */
static double quotient(uint64_t digits, size_t places)
{
	if (digits < (uint64_t)1 << MANTISSA_BITS)
		return (double)digits / (double)tens[places]; /* both are exact */
	const wide large = (wide)digits << 64;
	return (double)(large / tens[places] | (large % tens[places] > 0)) * 0x1p-64;
}

/* i == end means that the number has no exponent. At most TENS_MAX characters, so that `digits` cannot overflow 64
 * bits. */
size_t muster_json_number_at(const char *text, size_t at, size_t length, double *ret)
{
	const size_t end = number_end(text, at, length), first = at + (end > at && text[at] == '-');
	uint64_t digits = 0;
	size_t i = first, point = end;
	for (; i < end && (text[i] == '.' || (text[i] >= '0' && text[i] <= '9')); i++)
		if (text[i] == '.')
			point = i;
		else
			digits = digits * 10 + (uint64_t)(text[i] - '0');
	const size_t places = point < end ? end - point - 1 : 0;
	if (i == end && end - first <= TENS_MAX && places < TENS_MAX) { /* no overflow */
		*ret = first > at ? -quotient(digits, places) : quotient(digits, places);
		return end;
	}
	char number[MUSTER_JSON_NUMBER_MAX];
	snprintf(number, sizeof number, "%.*s", (int)(end - at < sizeof number ? end - at : sizeof number - 1),
		text + at);
	*ret = strtod(number, NULL);
	return end;
}
