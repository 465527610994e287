/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_firmware.c - errors that the firmware reports (APEI), each in several lines; see kernel_event.h
 *
 *    {3}[Hardware Error]: event severity: recoverable
 *    {3}[Hardware Error]:  Error 0, type: fatal
 *    {3}[Hardware Error]:   section_type: PCIe error
 *    {3}[Hardware Error]:   device_id: 0000:5e:00.0
 *
 * A record has one or more sections ("Error 0", "Error 1"). What a section is about decides, not the first line (Linux,
 * drivers/acpi/apei/ghes.c, drivers/firmware/efi/cper.c): the severity of the section when it has one, else that of the
 * record.
 *
 * Lines of a record share its number, "{3}", and come within a second. They are collected in struct
 * muster_kernel_firmware until it is known that a section is complete:
 *
 *    read forwards     its "Error N, type:" comes first; the next one, or another record, ends the section
 *    read backwards    its "Error N, type:" comes last, and ends the section itself
 *
 * found() is called once for each section whose severity, or that of its record, is known; of a record without a
 * section that was read, once, and only when its severity is above corrected.
 */
#include "system/kernel_words.h"

#include <math.h>

#define RECORD_S 1.0 /* lines of one record */

enum severity { NONE = 0, CORRECTED, RECOVERABLE, FATAL, SEVERITIES };

static int severity_of(const char *word)
{
	return after(word, "corrected") || after(word, "info") ? CORRECTED
	       : after(word, "recoverable")                    ? RECOVERABLE
	       : after(word, "fatal") || after(word, "panic")  ? FATAL
							       : NONE;
}

/* The section is complete: tell the event, and forget the section but not the record. Rows in their order; the last one
 * fits every section. */
static void end_section(struct muster_kernel_firmware *firmware, muster_kernel_found_fn *found, void *arg)
{
	static const struct {
		const char *section;
		enum muster_kernel_event_kind kinds[SEVERITIES];
	} rows[] = {
		{ "PCIe error",
			{ 0, MUSTER_KERNEL_AER_CORRECTED, MUSTER_KERNEL_AER_NONFATAL, MUSTER_KERNEL_AER_FATAL } },
		{ "memory error", { 0, MUSTER_KERNEL_EDAC_CORRECTED, MUSTER_KERNEL_EDAC_UNCORRECTED,
					  MUSTER_KERNEL_EDAC_UNCORRECTED } },
		{ "", { 0, MUSTER_KERNEL_EDAC_CORRECTED, MUSTER_KERNEL_MCE, MUSTER_KERNEL_MCE } },
	};
	struct muster_kernel_event told;
	int severity = firmware->type ? firmware->type : firmware->severity;
	size_t i = 0;
	while (!after(firmware->section, rows[i].section))
		i++;
	/* a record of which no section was read counts once */
	if (*firmware->section ? severity > NONE : severity > CORRECTED && !firmware->told) {
		event(&told, rows[i].kinds[severity], firmware->device, false);
		found(arg, &told, firmware->line, firmware->seconds, firmware->during);
		firmware->told = true;
	}
	firmware->type = NONE;
	*firmware->section = *firmware->device = '\0';
}

void muster_kernel_firmware_end(struct muster_kernel_firmware *firmware, muster_kernel_found_fn *found, void *arg)
{
	if (*firmware->number)
		end_section(firmware, found, arg);
	*firmware = (struct muster_kernel_firmware){ 0 };
}

/* False for a line that is not of such a record. firmware->line keeps the line that becomes the evidence: the one with
 * the section's type, or the last one before it. */
bool muster_kernel_firmware_take(struct muster_kernel_firmware *firmware, const struct muster_kernel_line *line,
	muster_kernel_found_fn *found, void *arg)
{
	static const char mark[] = "}[Hardware Error]: ";
	const char *error = *line->text == '{' ? strstr(line->text, mark) : NULL, *word;
	size_t length = error ? (size_t)(error - line->text) : 0;
	if (!error || length >= sizeof firmware->number)
		return false;
	if (strncmp(firmware->number, line->text, length) != 0 || firmware->number[length] ||
		fabs(line->seconds - firmware->seconds) > RECORD_S) {
		muster_kernel_firmware_end(firmware, found, arg);
		memcpy(firmware->number, line->text, length);
	}
	error += strlen(mark);
	error += strspn(error, " ");
	const char *type = after(error, "Error ") ? strstr(error, ", type: ") : NULL;
	if (type && !line->backwards && *firmware->section)
		end_section(firmware, found, arg);
	if ((word = after(error, "section_type: ")) || (word = after(error, "section type: ")))
		snprintf(firmware->section, sizeof firmware->section, "%s", word);
	if (word || !*firmware->section)
		snprintf(firmware->line, sizeof firmware->line, "%s", line->text);
	if ((word = after(error, "event severity: ")))
		firmware->severity = severity_of(word);
	if ((word = after(error, "device_id: ")))
		take_bus_id(word, firmware->device, sizeof firmware->device);
	firmware->type = type ? severity_of(type + strlen(", type: ")) : firmware->type;
	firmware->seconds = line->seconds;
	firmware->during = line->during;
	if (type && line->backwards && *firmware->section)
		end_section(firmware, found, arg);
	return true;
}
