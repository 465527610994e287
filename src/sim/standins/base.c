/* base.c - what every stand-in library needs
 */
#include "sim/standins/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define EXIT_UNSCRIPTED 70

void muster_standin_end(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fputs("muster stand-in: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	_Exit(EXIT_UNSCRIPTED);
}

bool muster_standin_bus_id_parse(const char *text, struct muster_standin_bus_id *ret)
{
	char *end;
	unsigned long domain = strtoul(text, &end, 16);
	if (end == text || *end != ':')
		return false;
	text = end + 1;
	unsigned long bus = strtoul(text, &end, 16);
	if (end == text || *end != ':')
		return false;
	text = end + 1;
	unsigned long device = strtoul(text, &end, 16);
	if (end == text || (*end != '\0' && *end != '.') || domain > 0xffffffff || bus > 0xff || device > 0x1f)
		return false;
	*ret = (struct muster_standin_bus_id){ (unsigned int)domain, (unsigned int)bus, (unsigned int)device };
	return true;
}
