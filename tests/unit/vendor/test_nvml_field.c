/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvml_field.c - a field value is a number, whatever type the driver gives it */
#include "check_main.h"
#include "vendor/nvml.h"

#include <stdlib.h>
#include <string.h>

static nvmlFieldValue_t answer;
static nvmlReturn_t result;
static unsigned int asked_field, asked_scope;

static nvmlReturn_t get_field_values(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	ck_assert_ptr_eq(device, (nvmlDevice_t)&answer);
	ck_assert_int_eq(count, 1);
	asked_field = values->fieldId;
	asked_scope = values->scopeId;
	*values = answer;
	return result;
}

static const char *error_string(nvmlReturn_t code)
{
	return code == NVML_ERROR_NOT_SUPPORTED ? "Not Supported" : "Unknown Error";
}

static const struct muster_nvml nvml = { .nvmlDeviceGetFieldValues = get_field_values,
	.nvmlErrorString = error_string };

static int ask(double *ret, struct muster_error *err)
{
	return muster_nvml_field(&nvml, err, (nvmlDevice_t)&answer, 91, "NVML_FI_TEST", 3, ret);
}

/* Values that another member of the union would read as another number. */
static const struct {
	nvmlValueType_t type;
	nvmlValue_t value;
	double number;
} types[] = {
	{ NVML_VALUE_TYPE_DOUBLE, { .dVal = 2.5 }, 2.5 },
	{ NVML_VALUE_TYPE_UNSIGNED_INT, { .ullVal = 0xffffffff00000007 }, 7 },
	{ NVML_VALUE_TYPE_UNSIGNED_LONG, { .ulVal = 1ul << 40 }, 1099511627776.0 },
	{ NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, { .ullVal = 1ull << 63 }, 0x1p63 },
	{ NVML_VALUE_TYPE_SIGNED_LONG_LONG, { .sllVal = -8 }, -8 },
	{ NVML_VALUE_TYPE_SIGNED_INT, { .ullVal = 0x7ffffffe }, 0x7ffffffe },
	{ NVML_VALUE_TYPE_SIGNED_INT, { .ullVal = 0xfffffffe }, -2 },
};

TEST_EACH(a_value_is_read_as_its_type_says, types)
{
	struct muster_error err = { 0 };
	double number = -1;
	answer = (nvmlFieldValue_t){ .valueType = types[_i].type, .value = types[_i].value };
	ck_assert_msg(ask(&number, &err) == 0, "%s", err.text);
	ck_assert_double_eq(number, types[_i].number);
	ck_assert_uint_eq(asked_field, 91);
	ck_assert_uint_eq(asked_scope, 3);
}

TEST(a_type_of_a_later_driver_is_no_number)
{
	struct muster_error err;
	double number = -1;
	answer = (nvmlFieldValue_t){ .valueType = (nvmlValueType_t)7 };
	ck_assert_int_eq(ask(&number, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EVENDOR);
	ck_assert_str_eq(err.text, "NVML_FI_TEST: a value of unknown type 7");
	ck_assert_double_eq(number, -1);
}

TEST(a_field_that_is_refused_is_told_from_a_call_that_is)
{
	struct muster_error err;
	double number = -1;
	answer = (nvmlFieldValue_t){ .nvmlReturn = NVML_ERROR_NOT_SUPPORTED };
	ck_assert_int_eq(ask(&number, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ENOTSUPPORTED);
	ck_assert_msg(strncmp(err.text, "NVML_FI_TEST: ", 14) == 0, "%s", err.text);
	result = NVML_ERROR_UNKNOWN;
	ck_assert_int_eq(ask(&number, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EVENDOR);
	ck_assert_msg(strncmp(err.text, "nvmlDeviceGetFieldValues: ", 26) == 0, "%s", err.text);
	ck_assert_double_eq(number, -1);
}

TEST_MAIN(.setup = NULL)
