/* http.c - libcurl, opened at run time: one GET of a small text
 *
 * Opened and not linked, because a node is measured all the same where libcurl is missing. Its constants come from the
 * package's own header; they are part of an ABI that has not changed since libcurl.so.4.
 */
#define CURL_DISABLE_DEPRECATION /* CURLOPT_PROTOCOLS: its successor is newer than the libraries we support */
#include "system/http.h"
#include "vendor/library.h"
#include "muster/arena.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct muster_library library = {
	.title = "libcurl",
	.soname = "libcurl.so.4",
	.oldest = "libcurl 7.68",
};

static struct {
	CURLcode (*global_init)(long flags);
	CURL *(*init)(void);
	CURLcode (*set)(CURL *easy, CURLoption option, ...);
	CURLcode (*perform)(CURL *easy);
	CURLcode (*info)(CURL *easy, CURLINFO info, ...);
	void (*cleanup)(CURL *easy);
	const char *(*error_text)(CURLcode code);
	struct curl_slist *(*append)(struct curl_slist *list, const char *text);
	void (*free_list)(struct curl_slist *list);
} curl;

static const struct muster_symbol symbols[] = {
	{ .name = "curl_global_init", .address = &curl.global_init },
	{ .name = "curl_easy_init", .address = &curl.init },
	{ .name = "curl_easy_setopt", .address = &curl.set },
	{ .name = "curl_easy_perform", .address = &curl.perform },
	{ .name = "curl_easy_getinfo", .address = &curl.info },
	{ .name = "curl_easy_cleanup", .address = &curl.cleanup },
	{ .name = "curl_easy_strerror", .address = &curl.error_text },
	{ .name = "curl_slist_append", .address = &curl.append },
	{ .name = "curl_slist_free_all", .address = &curl.free_list },
};

struct answer {
	char *text;
	size_t length, most;
	bool too_long;
};

/* libcurl calls it for every piece; anything but the piece's size ends the transfer. */
static size_t take(char *piece, size_t size, size_t count, void *arg)
{
	struct answer *answer = arg;
	size_t length = size * count; /* size is 1, says libcurl's manual */

	answer->too_long = length > answer->most - answer->length;
	if (answer->too_long)
		return 0;
	memcpy(answer->text + answer->length, piece, length);
	answer->length += length;
	return length;
}

static CURLcode configure(
	CURL *easy, const struct muster_http_request *request, struct curl_slist *headers, struct answer *answer)
{
	const struct {
		CURLoption option;
		long number;
	} numbers[] = {
		{ CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_FILE },
		{ CURLOPT_CONNECTTIMEOUT_MS, request->connect_ms },
		{ CURLOPT_TIMEOUT_MS, request->total_ms },
		{ CURLOPT_NOSIGNAL, 1 },
	};
	const struct {
		CURLoption option;
		const void *pointer;
	} pointers[] = {
		{ CURLOPT_URL, request->url },
		{ CURLOPT_PROXY, "" }, /* whatever http_proxy says */
		{ CURLOPT_HTTPHEADER, headers },
		{ CURLOPT_WRITEDATA, answer },
	};
	CURLcode code = curl.set(easy, CURLOPT_WRITEFUNCTION, take);

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers && code == CURLE_OK; i++)
		code = curl.set(easy, numbers[i].option, numbers[i].number);
	for (size_t i = 0; i < sizeof pointers / sizeof *pointers && code == CURLE_OK; i++)
		code = curl.set(easy, pointers[i].option, pointers[i].pointer);
	return code;
}

/* What became of the request. file:// has no status. */
static int conclude(CURL *easy, CURLcode code, const struct muster_http_request *request, const struct answer *answer,
	struct muster_error *err)
{
	long status = 0;

	if (answer->too_long)
		return muster_fail(err, MUSTER_EIO, "the answer is longer than %zu bytes", request->most);
	if (code != CURLE_OK)
		return muster_fail(
			err, code == CURLE_OPERATION_TIMEDOUT ? MUSTER_ETIME : MUSTER_EIO, "%s", curl.error_text(code));
	curl.info(easy, CURLINFO_RESPONSE_CODE, &status);
	if (status != 0 && status != 200)
		return muster_fail(err, MUSTER_EIO, "the answer is HTTP status %ld", status);
	return 0;
}

int muster_http_get(
	const struct muster_http_request *request, char **ret_text, size_t *ret_length, struct muster_error *err)
{
	static bool ready;
	struct answer answer = { .most = request->most };
	struct curl_slist *headers = NULL;
	int result = -1;

	if (muster_library_open(&library, symbols, sizeof symbols / sizeof *symbols, err) < 0)
		return -1;
	/* NOTHING leaves out TLS, which none of our protocols needs */
	ready = ready || curl.global_init(CURL_GLOBAL_NOTHING) == CURLE_OK;
	CURL *easy = ready ? curl.init() : NULL;
	if (!easy)
		return muster_fail(err, MUSTER_ELIB, "libcurl cannot be started");
	answer.text = muster_realloc(NULL, request->most + 1, 1);
	if (request->header)
		headers = curl.append(NULL, request->header);
	if (request->header && !headers) {
		muster_fail(err, MUSTER_ENOMEM, "curl_slist_append: out of memory");
	} else {
		CURLcode code = configure(easy, request, headers, &answer);
		if (code == CURLE_OK)
			code = curl.perform(easy);
		result = conclude(easy, code, request, &answer, err);
	}
	curl.free_list(headers);
	curl.cleanup(easy);
	if (result < 0) {
		free(answer.text);
		return -1;
	}
	answer.text[answer.length] = '\0';
	*ret_text = answer.text;
	*ret_length = answer.length;
	return 0;
}
