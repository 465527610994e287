/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - one GET of a small text, by libcurl where muster was built with it
 *
 * libcurl brings some thirty libraries, which cost 30 ms of every start of a program that is linked with it. So it is
 * opened at run time, by the one rank that asks.
 *
 * A request: a curl handle is made, configured (proxy off, both time limits, at most `most` bytes of answer),
 * performed, and freed. Errors have the same words for the same cause on every node, so that reports can put nodes
 * together.
 *
 * libcurl is the only library with preloaded_first: the simulator preloads a curl_easy_perform of its own
 * (sim/standins/preload.c).
 */
#define CURL_DISABLE_DEPRECATION /* CURLOPT_PROTOCOLS: its successor is newer than the libraries we support */
#include "vendor/http.h"

#ifndef MUSTER_HAVE_CURL

int muster_http_get(
	const struct muster_http_request *request, char **ret_text, size_t *ret_length, struct muster_error *err)
{
	(void)request, (void)ret_text, (void)ret_length;
	return muster_fail(err, MUSTER_ELIB, "this muster was built without libcurl");
}

#else

#include "muster/arena.h"
#include "vendor/library.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct {
	CURLcode (*global_init)(long flags);
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
	CURLcode (*easy_perform)(CURL *easy);
	CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
	void (*easy_cleanup)(CURL *easy);
	const char *(*easy_strerror)(CURLcode code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
} curl;

#define FUNCTION(function)                                                                                             \
	{                                                                                                              \
		.name = "curl_" #function, .address = &curl.function                                                   \
	}
static const struct muster_symbol symbols[] = { FUNCTION(global_init), FUNCTION(easy_init), FUNCTION(easy_setopt),
	FUNCTION(easy_perform), FUNCTION(easy_getinfo), FUNCTION(easy_cleanup), FUNCTION(easy_strerror),
	FUNCTION(slist_append), FUNCTION(slist_free_all) };

static struct muster_library library = {
	.title = "libcurl",
	.soname = "libcurl.so.4",
	.oldest = "curl 7.19.4",
	MUSTER_SYMBOLS(symbols),
	.preloaded_first = true,
};

struct answer {
	char *text;
	size_t length, most;
	bool too_long;
};

/* libcurl calls it for every piece of the answer; a return value other than the piece's size ends the transfer with an
 * error. */
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

static bool configure(
	CURL *easy, const struct muster_http_request *request, struct curl_slist *headers, struct answer *answer)
{
	return curl.easy_setopt(easy, CURLOPT_URL, request->url) == CURLE_OK &&
	       curl.easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_FILE)) == CURLE_OK &&
	       curl.easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK && /* whatever http_proxy says */
	       curl.easy_setopt(easy, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
	       curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, request->connect_ms) == CURLE_OK &&
	       curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, request->total_ms) == CURLE_OK &&
	       curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, take) == CURLE_OK &&
	       curl.easy_setopt(easy, CURLOPT_WRITEDATA, answer) == CURLE_OK;
}

/* What became of the request. A file:// answer has no status (0). too_long comes first: libcurl reports it as a write
 * error, which would say nothing. */
static int conclude(CURL *easy, CURLcode code, const struct muster_http_request *request, const struct answer *answer,
	struct muster_error *err)
{
	long status = 0;
	if (answer->too_long)
		return muster_fail(err, MUSTER_EIO, "the answer is longer than %zu bytes", request->most);
	if (code != CURLE_OK)
		return muster_fail(err, code == CURLE_OPERATION_TIMEDOUT ? MUSTER_ETIME : MUSTER_EIO, "%s",
			curl.easy_strerror(code));
	curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
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
	if (muster_library_open(&library, err) < 0)
		return -1;
	/* NOTHING leaves out TLS, which none of our protocols needs */
	ready = ready || curl.global_init(CURL_GLOBAL_NOTHING) == CURLE_OK;
	CURL *easy = ready ? curl.easy_init() : NULL;
	if (!easy)
		return muster_fail(err, MUSTER_ELIB, "libcurl cannot be started");
	answer.text = muster_realloc(NULL, request->most + 1, 1);
	if (request->header)
		headers = curl.slist_append(NULL, request->header);
	if (request->header && !headers) {
		muster_fail(err, MUSTER_ENOMEM, "curl_slist_append: out of memory");
	} else {
		bool ready_to_ask = configure(easy, request, headers, &answer);
		CURLcode code = ready_to_ask ? curl.easy_perform(easy) : CURLE_FAILED_INIT;
		result = conclude(easy, code, request, &answer, err);
	}
	curl.slist_free_all(headers);
	curl.easy_cleanup(easy);
	if (result < 0) {
		free(answer.text);
		return -1;
	}
	answer.text[answer.length] = '\0';
	*ret_text = answer.text;
	*ret_length = answer.length;
	return 0;
}

#endif
