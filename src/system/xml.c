/* xml.c - expat, opened at run time: walk through a small XML text
 *
 * Opened and not linked, because a node is measured all the same where expat is missing. No handler for entities is
 * set, so nothing but the text itself is ever read.
 */
#include "system/xml.h"
#include "system/expat_abi.h"
#include "vendor/library.h"

#include <stdbool.h>
#include <string.h>

static struct muster_library library = {
	.title = "expat",
	.soname = "libexpat.so.1",
	.oldest = "expat 2.1",
};

static struct {
#define X(result, symbol, parameters) result(*symbol) parameters;
	MUSTER_EXPAT_FUNCTIONS(X)
#undef X
} expat;

static const struct muster_symbol symbols[] = {
#define X(result, symbol, parameters) { .name = #symbol, .address = &expat.symbol },
	MUSTER_EXPAT_FUNCTIONS(X)
#undef X
};

struct walker {
	XML_Parser parser;
	const struct muster_xml_walk *walk;
	int depth;
	bool stopped; /* expat may still call a handler or two */
	struct muster_error *err;
};

static void stop(struct walker *w)
{
	muster_wrap(w->err, "line %lu", expat.XML_GetCurrentLineNumber(w->parser));
	w->stopped = true;
	expat.XML_StopParser(w->parser, XML_FALSE);
}

static void start_element(void *data, const XML_Char *name, const XML_Char **attributes)
{
	struct walker *w = data;
	int result = 0;

	if (w->stopped)
		return;
	if (++w->depth > MUSTER_XML_DEPTH_MAX)
		result = muster_fail(
			w->err, MUSTER_EUSAGE, "elements are nested more than %d deep", MUSTER_XML_DEPTH_MAX);
	else
		result = w->walk->open(w->walk->arg, name, (const char *const *)attributes, w->err);
	if (result < 0)
		stop(w);
}

static void end_element(void *data, const XML_Char *name)
{
	struct walker *w = data;

	if (w->stopped)
		return;
	w->depth--;
	if (w->walk->close)
		w->walk->close(w->walk->arg, name);
}

static void start_doctype(
	void *data, const XML_Char *name, const XML_Char *system_id, const XML_Char *public_id, int internal_subset)
{
	struct walker *w = data;

	(void)name, (void)system_id, (void)public_id, (void)internal_subset;
	if (w->stopped)
		return;
	muster_fail(w->err, MUSTER_EUSAGE, "it has a DOCTYPE, which is not taken");
	stop(w);
}

int muster_xml_read(const char *text, size_t length, const struct muster_xml_walk *walk, struct muster_error *err)
{
	struct muster_error own;
	struct walker w = { .walk = walk, .err = err ? err : &own };

	if (muster_library_open(&library, symbols, sizeof symbols / sizeof *symbols, err) < 0)
		return -1;
	if (length > MUSTER_XML_BYTES_MAX)
		return muster_fail(
			err, MUSTER_EUSAGE, "it has %zu bytes, at most %zu are taken", length, MUSTER_XML_BYTES_MAX);
	w.parser = expat.XML_ParserCreate(NULL);
	if (!w.parser)
		return muster_fail(err, MUSTER_ENOMEM, "XML_ParserCreate: out of memory");
	expat.XML_SetUserData(w.parser, &w);
	expat.XML_SetElementHandler(w.parser, start_element, end_element);
	expat.XML_SetStartDoctypeDeclHandler(w.parser, start_doctype);

	enum XML_Status status = expat.XML_Parse(w.parser, text, (int)length, 1);
	if (status != XML_STATUS_OK && !w.stopped) {
		enum XML_Error code = expat.XML_GetErrorCode(w.parser);
		muster_fail(w.err, code == XML_ERROR_NO_MEMORY ? MUSTER_ENOMEM : MUSTER_EUSAGE, "line %lu: %s",
			expat.XML_GetCurrentLineNumber(w.parser), expat.XML_ErrorString(code));
	}
	expat.XML_ParserFree(w.parser);
	return status == XML_STATUS_OK && !w.stopped ? 0 : -1;
}

const char *muster_xml_attribute(const char *const *attributes, const char *name)
{
	for (; attributes[0]; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}
