/* expat_abi.h - the part of expat that muster calls, as xml.h of 2.1 and later declares it
 *
 * Types carry xml.h's names so that tests/abi/ can compare them with the library's own header.
 */
#ifndef MUSTER_SYSTEM_EXPAT_ABI_H
#define MUSTER_SYSTEM_EXPAT_ABI_H

#ifndef MUSTER_ABI_VENDOR_TYPES
typedef char XML_Char;
typedef unsigned char XML_Bool;
typedef unsigned long XML_Size;
typedef struct XML_ParserStruct *XML_Parser;
enum XML_Status { XML_STATUS_ERROR = 0, XML_STATUS_OK = 1, XML_STATUS_SUSPENDED = 2 };
enum XML_Error { XML_ERROR_NONE = 0, XML_ERROR_NO_MEMORY = 1 };
#define XML_FALSE ((XML_Bool)0)
#endif

/* X(result, symbol, parameters) */
/* clang-format off */
#define MUSTER_EXPAT_FUNCTIONS(X) \
	X(XML_Parser, XML_ParserCreate, (const XML_Char *encoding)) \
	X(void, XML_ParserFree, (XML_Parser parser)) \
	X(void, XML_SetUserData, (XML_Parser parser, void *data)) \
	X(void, XML_SetElementHandler, \
		(XML_Parser parser, void (*start)(void *data, const XML_Char *name, const XML_Char **attributes), \
			void (*end)(void *data, const XML_Char *name))) \
	X(void, XML_SetStartDoctypeDeclHandler, \
		(XML_Parser parser, void (*start)(void *data, const XML_Char *name, const XML_Char *system_id, \
			const XML_Char *public_id, int internal_subset))) \
	X(enum XML_Status, XML_Parse, (XML_Parser parser, const char *text, int length, int is_final)) \
	X(enum XML_Status, XML_StopParser, (XML_Parser parser, XML_Bool resumable)) \
	X(enum XML_Error, XML_GetErrorCode, (XML_Parser parser)) \
	X(const XML_Char *, XML_ErrorString, (enum XML_Error code)) \
	X(XML_Size, XML_GetCurrentLineNumber, (XML_Parser parser))
/* clang-format on */

#endif
