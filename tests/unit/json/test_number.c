/* SPDX-License-Identifier: Apache-2.0 */
/* test_number.c - numbers as text and back, side by side with printf and strtod */
#include "json/number.h"

#include "check_main.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20000 };

static uint64_t next(void)
{
	static uint64_t state = 1;
	state ^= state << 13, state ^= state >> 7, state ^= state << 17; /* xorshift64, Marsaglia 2003 */
	return state;
}

/* As numbers were written before number.c. */
static void by_printf(double number, char out[MUSTER_JSON_NUMBER_MAX])
{
	const double whole_end = 9e15;
	bool whole = fabs(number) < whole_end && !(trunc(number) < number) && !(trunc(number) > number);
	if (whole && (fabs(number) > 0 || !signbit(number))) {
		snprintf(out, MUSTER_JSON_NUMBER_MAX, "%.0f", number);
		return;
	}
	snprintf(out, MUSTER_JSON_NUMBER_MAX, "%.15g", number);
	double back = strtod(out, NULL);
	if (back < number || back > number)
		snprintf(out, MUSTER_JSON_NUMBER_MAX, "%.17g", number);
}

static void ck_text(const char *text)
{
	double number, needed = strtod(text, NULL);
	ck_assert_uint_eq(muster_json_number_at(text, 0, strlen(text), &number), strlen(text));
	ck_assert_msg(memcmp(&number, &needed, sizeof number) == 0, "%s is read as %.17g", text, number);
}

static void ck_number(double number)
{
	char text[MUSTER_JSON_NUMBER_MAX], needed[MUSTER_JSON_NUMBER_MAX];
	by_printf(number, needed);
	size_t length = muster_json_number_text(number, text);
	ck_assert_str_eq(text, needed);
	ck_assert_uint_eq(length, strlen(needed));
	ck_text(text);
}

/* Each also with the double before it and the one behind it. */
TEST(numbers_at_limits_are_those_of_printf_and_strtod)
{
	static const double at[] = { 0, 0.001, 0.01, 0.1, 1, 10, 1e3, 99999.5, 1e14, 1e15, 9e15, 9007199254740992.0,
		1e16, 1e17, 1e22, 1e23, 0.5, 0.3, 2.5, 1.0 / 3, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
		123456789012345.6, 562949953421312.5, 562949953421313.25, 1125899906842624.125 };
	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		for (int sign = -1; sign <= 1; sign += 2) {
			ck_number(sign * at[i]);
			ck_number(sign * nextafter(at[i], 0));
			if (isfinite(nextafter(at[i], INFINITY)))
				ck_number(sign * nextafter(at[i], INFINITY));
		}
}

TEST(random_doubles_are_those_of_printf_and_strtod)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		const uint64_t bits = next();
		double any, measured = ldexp((double)(bits >> 11), (int)(bits % 70) - 66), digits[] = { 10, 1e3, 1e6 };
		memcpy(&any, &bits, sizeof any);
		if (isfinite(any))
			ck_number(any);
		ck_number(measured);
		ck_number(round(measured * digits[i % 3]) / digits[i % 3]); /* few digits behind the point */
	}
}

TEST(random_texts_are_read_as_by_strtod)
{
	static const char *const formats[] = { "-%llu", "%llu.0", "%llu.5", "%llu.001", "0.%llu", "0.0%llu",
		"0.000%llu", "%lluE-7", "%llue+2" };
	for (size_t i = 0; i < ROUNDS; i++) {
		char text[MUSTER_JSON_NUMBER_MAX];
		const unsigned long long any = next() >> next() % 64, between = (1ull << 53 | next() >> 11) | 1;
		for (size_t j = 0; j < LENGTH(formats); j++) {
			snprintf(text, sizeof text, formats[j], i % 2 ? any : between /* two doubles, in the middle */);
			ck_text(text);
		}
	}
}

TEST_MAIN(.setup = NULL)
