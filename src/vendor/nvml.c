/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.c - NVML, opened at run time
 *
 * nvmlInit_v2 is called once and never undone. It fails where the driver is not loaded, or has another version than the
 * library (18, until a reboot after an update); every later call of muster_nvml then repeats that error. Functions that
 * are newer than R470 are optional: a library without them has a function in their place that answers
 * FUNCTION_NOT_FOUND.
 */
#include "vendor/nvml.h"
#include "vendor/library.h"

#include <pthread.h>
#include <stdbool.h>

static struct muster_nvml functions;

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

/* clang-format off */
static const struct muster_symbol symbols[] = {
#define X(symbol, parameters) { .name = #symbol, .address = &functions.symbol },
	MUSTER_NVML_FUNCTIONS(X)
#undef X
#define X(symbol, parameters) \
	{ .name = #symbol, .address = &functions.symbol, .optional = true, .instead = (void (*)(void))no_##symbol },
	MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
	{ .name = "nvmlErrorString", .address = &functions.nvmlErrorString },
};
/* clang-format on */

struct muster_library muster_nvml_library = {
	.title = "NVML",
	.soname = "libnvidia-ml.so.1",
	.oldest = "driver R470",
	MUSTER_SYMBOLS(symbols),
};

/* nvmlInit_v2's answer, asked for once. */
static struct {
	pthread_mutex_t lock;
	bool asked;
	int result;
	nvmlReturn_t answer;
	struct muster_error error;
} start = { .lock = PTHREAD_MUTEX_INITIALIZER };

const struct muster_nvml *muster_nvml(struct muster_error *err)
{
	int result;
	if (muster_library_open(&muster_nvml_library, err) < 0)
		return NULL;
	pthread_mutex_lock(&start.lock);
	if (!start.asked) {
		start.answer = functions.nvmlInit_v2();
		start.result = muster_nvml_check(&functions, start.answer, &start.error, "nvmlInit_v2");
		start.asked = true;
	}
	result = start.result;
	if (result < 0 && err)
		*err = start.error;
	pthread_mutex_unlock(&start.lock);
	return result < 0 ? NULL : &functions;
}

int muster_nvml_start(char *ret_version, unsigned int size)
{
	(void)muster_nvml(NULL);
	if (muster_nvml_library.handle) /* this is answered without nvmlInit_v2 */
		(void)functions.nvmlSystemGetNVMLVersion(ret_version, size);
	return muster_nvml_library.handle ? (int)start.answer : -1;
}

int muster_nvml_check(const struct muster_nvml *nvml, nvmlReturn_t result, struct muster_error *err, const char *call)
{
	enum muster_code code = MUSTER_EVENDOR;
	const char *text;
	if (result == NVML_SUCCESS)
		return 0;
	if (result == NVML_ERROR_NOT_SUPPORTED || result == NVML_ERROR_FUNCTION_NOT_FOUND ||
		result == NVML_ERROR_ARGUMENT_VERSION_MISMATCH || result == NVML_ERROR_DEPRECATED)
		code = MUSTER_ENOTSUPPORTED;
	else if (result == NVML_ERROR_NO_PERMISSION)
		code = MUSTER_ENOPERMISSION;
	text = nvml->nvmlErrorString(result);
	return muster_fail(
		err, code, "%s: %s (%d)", call, text ? text : "an error that NVML has no text for", (int)result);
}
