/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - one GET of a small text */
#ifndef MUSTER_VENDOR_HTTP_H
#define MUSTER_VENDOR_HTTP_H

#include "muster/error.h"

struct muster_http_request {
	const char *url;    /* http or file; nothing else is spoken */
	const char *header; /* "Metadata: true"; NULL for none */
	long connect_ms, total_ms;
	size_t most; /* bytes of the answer; a longer one is an error */
};

/* GET, without any proxy and without following redirects. *ret_text is malloc'd, with a NUL behind its *ret_length
 * bytes. -1 with err: MUSTER_ELIB without libcurl, MUSTER_ETIME, MUSTER_EIO for anything else, and the same
 * words for the same cause on every node. Not for several threads at once. */
int muster_http_get(
	const struct muster_http_request *request, char **ret_text, size_t *ret_length, struct muster_error *err);

#endif
