/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - the numbers of one key on one node as few bytes
 *
 * The first byte is the form; numbers follow with their lowest byte first, so all machines read the same bytes:
 *
 *    form          bytes of each number   for
 *    FORM_INT8     1                      whole numbers from -127 to 127
 *    FORM_INT16    2                      whole numbers from -32767 to 32767
 *    FORM_INT32    4                      whole numbers of up to 31 bits
 *    FORM_FLOAT    4                      numbers with a fraction, beside whole numbers of up to 2^24
 *    FORM_DOUBLE   8                      the rest
 *
 * All numbers of one row have one form: the largest that any of them needs.
 */
#include "history/pack.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum form { FORM_INT8 = 1, FORM_INT16 = 2, FORM_INT32 = 4, FORM_FLOAT = 5, FORM_DOUBLE = 8 };

/* Bytes of a number; 0: there is no such form. */
static const size_t widths[] = {
	[FORM_INT8] = 1, [FORM_INT16] = 2, [FORM_INT32] = 4, [FORM_FLOAT] = 4, [FORM_DOUBLE] = 8
};

bool muster_pack_is_one(const double *values, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (values[i] < values[0] || values[i] > values[0])
			return false;
	return true;
}

/* The smallest form for one value. */
static enum form form_for(double value)
{
	double size = fabs(value);
	if (value < trunc(value) || value > trunc(value))
		return size <= (double)FLT_MAX && size >= (double)FLT_MIN ? FORM_FLOAT : FORM_DOUBLE;
	return size <= INT8_MAX    ? FORM_INT8
	       : size <= INT16_MAX ? FORM_INT16
	       : size <= INT32_MAX ? FORM_INT32
				   : FORM_DOUBLE;
}

/* The forms are in order: each one takes what those before it take; a whole number beyond 2^24 is not for a float. */
static enum form form_of(const double *values, size_t count)
{
	enum form form = FORM_INT8;
	bool large = false;
	for (size_t i = 0; i < count; i++) {
		enum form one = form_for(values[i]);
		large |= one == FORM_INT32 && fabs(values[i]) > 1 << FLT_MANT_DIG;
		form = one > form ? one : form;
	}
	return form == FORM_FLOAT && large ? FORM_DOUBLE : form;
}

size_t muster_pack(const double *values, size_t count, unsigned char *out)
{
	enum form form = form_of(values, count);
	size_t width = widths[form], length = 0;
	out[length++] = (unsigned char)form;
	for (size_t i = 0; i < count; i++) {
		uint64_t bits = 0;
		if (form == FORM_DOUBLE) {
			memcpy(&bits, &values[i], sizeof bits);
		} else if (form == FORM_FLOAT) {
			float value = (float)values[i];
			uint32_t half;
			memcpy(&half, &value, sizeof half);
			bits = half;
		} else {
			bits = (uint64_t)(int64_t)values[i];
		}
		for (size_t byte = 0; byte < width; byte++)
			out[length++] = (unsigned char)(bits >> (8 * byte));
	}
	return length;
}

bool muster_unpack(const unsigned char *bytes, size_t length, double *ret, size_t count)
{
	enum form form = length && bytes[0] <= FORM_DOUBLE ? bytes[0] : 0;
	size_t width = widths[form];
	if (width == 0 || length != 1 + width * count)
		return false;
	for (size_t i = 0; i < count; i++) {
		uint64_t bits = 0;
		for (size_t byte = width; byte-- > 0;)
			bits = bits << 8 | bytes[1 + i * width + byte];
		if (form == FORM_DOUBLE) {
			memcpy(&ret[i], &bits, sizeof bits);
		} else if (form == FORM_FLOAT) {
			uint32_t half = (uint32_t)bits;
			float value;
			memcpy(&value, &half, sizeof value);
			ret[i] = (double)value;
		} else {
			ret[i] = form == FORM_INT8 ? (int8_t)bits : form == FORM_INT16 ? (int16_t)bits : (int32_t)bits;
		}
		if (!isfinite(ret[i]))
			return false;
	}
	return true;
}
