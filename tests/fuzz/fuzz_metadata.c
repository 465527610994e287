/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_metadata.c - an answer of the instance metadata service of any bytes: each metric comes once, plain or null
 *
 * The linker puts the request below in place of libcurl's.
 */
#include "fuzz.h"

#include "vendor/http.h"
#include "muster/arena.h"
#include "probe_context.h"

extern const struct muster_probe muster_probe_metadata;

static const uint8_t *answer;
static size_t answer_size;

int __wrap_muster_http_get(
	const struct muster_http_request *request, char **ret_text, size_t *ret_length, struct muster_error *err);

int __wrap_muster_http_get(
	const struct muster_http_request *request, char **ret_text, size_t *ret_length, struct muster_error *err)
{
	if (answer_size > request->most)
		return muster_fail(err, MUSTER_EIO, "the answer is longer than %zu bytes", request->most);
	*ret_text = fuzz_string(answer, answer_size);
	*ret_length = answer_size;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_context context;
	answer = bytes;
	answer_size = size;
	context_init(&context, "");
	size_t samples = context_run(&context, &muster_probe_metadata, muster_probe_metadata.run);
	FUZZ_CHECK(samples == muster_probe_metadata.metric_count, "%zu samples", samples);
	return 0;
}
