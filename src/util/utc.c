/* SPDX-License-Identifier: Apache-2.0 */
/* utc.c - a moment as reports have it, "2026-11-23T12:24:01Z" */
#include "util/utc.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

/* strptime is lenient: it takes one digit where two are needed, and a second 60. So the form is checked first,
 * character by character. Then the time is written again and compared: the 31st of February would come back as a day in
 * March. */
int muster_utc_read(const char *text, int64_t *ret)
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
	struct tm parts = { 0 };
	char back[MUSTER_UTC_SIZE];
	for (size_t i = 0; i < sizeof form; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
			return -1;
	if (!strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts))
		return -1;
	int64_t time = timegm(&parts);
	if (time < 0 || strcmp(muster_utc_text(time, back), text) != 0)
		return -1; /* no such day or second */
	*ret = time;
	return 0;
}

const char *muster_utc_text(int64_t time, char out[MUSTER_UTC_SIZE])
{
	struct tm parts;
	time_t seconds = time;
	if (time < 0 || !gmtime_r(&seconds, &parts) || parts.tm_year > 8099)
		return memcpy(out, "unknown", sizeof "unknown");
	strftime(out, MUSTER_UTC_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts);
	return out;
}
