/* nvml.c - NVML, opened at run time */
#include "vendor/nvml.h"
#include "vendor/library.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct muster_library muster_nvml_library = {
	.title = "NVML",
	.soname = "libnvidia-ml.so.1",
	.oldest = "driver R470",
};

static struct muster_nvml functions;

static const struct muster_symbol symbols[] = {
#define X(symbol, parameters) { .name = #symbol, .address = &functions.symbol },
	MUSTER_NVML_FUNCTIONS(X)
#undef X
#define X(symbol, parameters) { .name = #symbol, .address = &functions.symbol, .optional = true },
		MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
			{ .name = "nvmlErrorString", .address = &functions.nvmlErrorString },
};

/* Replacement for each optional function that this NVML lacks. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define X(symbol, parameters)                                                                                          \
	static nvmlReturn_t no_##symbol parameters                                                                     \
	{                                                                                                              \
		return NVML_ERROR_FUNCTION_NOT_FOUND;                                                                  \
	}
MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
#pragma GCC diagnostic pop

static void fill_gaps(void)
{
#define X(symbol, parameters)                                                                                          \
	if (!functions.symbol)                                                                                         \
		functions.symbol = no_##symbol;
	MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
}

/* nvmlInit_v2's answer, asked for once. */
static struct {
	pthread_mutex_t lock;
	bool asked;
	int result;
	struct muster_error error;
} start = { .lock = PTHREAD_MUTEX_INITIALIZER };

const struct muster_nvml *muster_nvml(struct muster_error *err)
{
	int result;
	if (muster_library_open(&muster_nvml_library, symbols, sizeof symbols / sizeof *symbols, err) < 0)
		return NULL;
	pthread_mutex_lock(&start.lock);
	if (!start.asked) {
		fill_gaps();
		start.result = muster_nvml_check(&functions, functions.nvmlInit_v2(), &start.error, "nvmlInit_v2");
		start.asked = true;
	}
	result = start.result;
	if (result < 0 && err)
		*err = start.error;
	pthread_mutex_unlock(&start.lock);
	return result < 0 ? NULL : &functions;
}

int muster_nvml_check(const struct muster_nvml *nvml, nvmlReturn_t result, struct muster_error *err, const char *call)
{
	enum muster_code code = MUSTER_EVENDOR;
	const char *text;
	if (result == NVML_SUCCESS)
		return 0;
	if (result == NVML_ERROR_NOT_SUPPORTED || result == NVML_ERROR_FUNCTION_NOT_FOUND)
		code = MUSTER_ENOTSUPPORTED;
	else if (result == NVML_ERROR_NO_PERMISSION)
		code = MUSTER_ENOPERMISSION;
	text = nvml->nvmlErrorString(result);
	return muster_fail(
		err, code, "%s: %s (%d)", call, text ? text : "an error that NVML has no text for", (int)result);
}

/* Read 1 to most hexadecimal digits and the character after them. NULL when the text does not have this form. */
static const char *read_hex(const char *text, size_t least, size_t most, char end, unsigned long *ret)
{
	size_t digits = 0;
	while (isxdigit((unsigned char)text[digits]))
		digits++;
	if (digits < least || digits > most || text[digits] != end)
		return NULL;
	*ret = strtoul(text, NULL, 16);
	return text + digits + (end != '\0');
}

int muster_bus_id_normalise(const char *bus_id, char *ret, size_t size, struct muster_error *err)
{
	unsigned long domain, bus, device, function;
	const char *rest = bus_id;
	char text[32];
	int length;
	if (!(rest = read_hex(rest, 1, 8, ':', &domain)) || !(rest = read_hex(rest, 2, 2, ':', &bus)) ||
		!(rest = read_hex(rest, 2, 2, '.', &device)) || !read_hex(rest, 1, 1, '\0', &function) ||
		device > 0x1f || function > 7)
		return muster_fail(
			err, MUSTER_EVENDOR, "\"%.40s\" is no PCI bus id (domain:bus:device.function)", bus_id);
	length = snprintf(text, sizeof text, "%04lx:%02lx:%02lx.%lx", domain, bus, device, function);
	if ((size_t)length >= size)
		return muster_fail(
			err, MUSTER_EVENDOR, "PCI bus id %s needs %d bytes, not %zu", text, length + 1, size);
	memcpy(ret, text, (size_t)length + 1);
	return 0;
}
