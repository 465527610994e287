/* xml.h - walk through a small XML text */
#ifndef MUSTER_SYSTEM_XML_H
#define MUSTER_SYSTEM_XML_H

#include "muster/error.h"

#include <stddef.h>

#define MUSTER_XML_BYTES_MAX ((size_t)1 << 20)
#define MUSTER_XML_DEPTH_MAX 32

/* What to call for each element. The attributes are names and values in turn, NULL ends them. open returns 0, or -1
 * with err: that ends the walk. */
struct muster_xml_walk {
	int (*open)(void *arg, const char *name, const char *const *attributes, struct muster_error *err);
	void (*close)(void *arg, const char *name);
	void *arg;
};

/* Every element of the text, which need not end in NUL. -1 with err: MUSTER_ELIB when built without expat;
 * MUSTER_EUSAGE and the line for what is not well-formed, too long, nested too deep or has a DOCTYPE (with one, a few
 * bytes can stand for gigabytes, or for another file); and open's own error behind the line. */
int muster_xml_read(const char *text, size_t length, const struct muster_xml_walk *walk, struct muster_error *err);

/* The value of an attribute, or NULL. */
const char *muster_xml_attribute(const char *const *attributes, const char *name);

#endif
