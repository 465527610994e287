/* xml.c - walk through a small XML text, by expat where muster was built with it
 *
 * No handler for entities is set, so nothing but the text itself is ever read.
 */
#include "system/xml.h"

#include <string.h>

#ifndef MUSTER_HAVE_EXPAT

int muster_xml_read(const char *text, size_t length, const struct muster_xml_walk *walk, struct muster_error *err)
{
	(void)text, (void)length, (void)walk;
	return muster_fail(err, MUSTER_ELIB, "this muster was built without expat");
}

#else

#include <expat.h>
#include <stdbool.h>

struct walker {
	XML_Parser parser;
	const struct muster_xml_walk *walk;
	int depth;
	bool stopped; /* expat may still call a handler or two */
	struct muster_error *err;
};

static void stop(struct walker *w)
{
	muster_wrap(w->err, "line %lu", XML_GetCurrentLineNumber(w->parser));
	w->stopped = true;
	XML_StopParser(w->parser, XML_FALSE);
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
	muster_fail(w->err, MUSTER_EUSAGE, "it has a DOCTYPE, which is not allowed");
	stop(w);
}

int muster_xml_read(const char *text, size_t length, const struct muster_xml_walk *walk, struct muster_error *err)
{
	struct muster_error own;
	struct walker w = { .walk = walk, .err = err ? err : &own };
	if (length > MUSTER_XML_BYTES_MAX)
		return muster_fail(
			err, MUSTER_EUSAGE, "it has %zu bytes, at most %zu are allowed", length, MUSTER_XML_BYTES_MAX);
	w.parser = XML_ParserCreate(NULL);
	if (!w.parser)
		return muster_fail(err, MUSTER_ENOMEM, "XML_ParserCreate: out of memory");
	XML_SetUserData(w.parser, &w);
	XML_SetElementHandler(w.parser, start_element, end_element);
	XML_SetStartDoctypeDeclHandler(w.parser, start_doctype);

	enum XML_Status status = XML_Parse(w.parser, text, (int)length, 1);
	if (status != XML_STATUS_OK && !w.stopped) {
		enum XML_Error code = XML_GetErrorCode(w.parser);
		muster_fail(w.err, code == XML_ERROR_NO_MEMORY ? MUSTER_ENOMEM : MUSTER_EUSAGE, "line %lu: %s",
			XML_GetCurrentLineNumber(w.parser), XML_ErrorString(code));
	}
	XML_ParserFree(w.parser);
	return status == XML_STATUS_OK && !w.stopped ? 0 : -1;
}

#endif

const char *muster_xml_attribute(const char *const *attributes, const char *name)
{
	for (; attributes[0]; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}
