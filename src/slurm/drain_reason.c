/* drain_reason.c - why a node is drained, as Slurm keeps it */
#include "slurm/drain_reason.h"

#include "muster/arena.h"
#include "util/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copy text, made harmless; runs of blanks become one. What does not fit into size bytes with the NUL is left out. */
static void copy_harmless(char *out, size_t size, const char *text)
{
	size_t used = 0;
	for (size_t left = strlen(text), step; left > 0 && used + 1 < size; text += step, left -= step) {
		unsigned long point = 0;
		step = muster_utf8_next(text, left, &point);
		char c = step == 1 && point >= 0x20 && point < 0x7f ? (char)point : '?';
		if (step == 0)
			step = 1;
		else if (point == '\n' || point == '\t' || point == '\r')
			c = ' ';
		if (strchr("\"'\\`$", c) || (c == ' ' && (used == 0 || out[used - 1] == ' ')))
			continue;
		out[used++] = c;
	}
	out[used] = '\0';
}

/* Cut at the last blank that leaves room for the dots, unless a single word is nearly all there is. */
static void cut(char *text, size_t most)
{
	size_t length = strlen(text), at = most - 3;
	if (length <= most)
		return;
	while (at > most / 2 && text[at] != ' ')
		at--;
	if (text[at] != ' ')
		at = most - 3;
	while (at > 0 && strchr(" ,;:", text[at - 1]))
		at--;
	memcpy(text + at, "...", 4);
}

static bool has_unit(const struct muster_finding *finding)
{
	return finding->value.type == MUSTER_NUMBER && finding->unit && *finding->unit;
}

/* Before the reason of a person stands nothing more. */
static const char *const prefixes[] = {
	[MUSTER_DRAINED_BY_PERSON] = "muster: ",
	[MUSTER_DRAINED_BY_HEALTH] = "muster(health): ",
	[MUSTER_DRAINED_BY_PROLOG] = "muster(prolog): ",
	[MUSTER_DRAINED_BY_EPILOG] = "muster(epilog): ",
};
static_assert(sizeof prefixes / sizeof *prefixes == MUSTER_DRAINED_BY_COUNT, "one for each");

const char *const muster_drained_by_names[] = {
	[MUSTER_DRAINED_BY_PERSON] = "person",
	[MUSTER_DRAINED_BY_HEALTH] = "health",
	[MUSTER_DRAINED_BY_PROLOG] = "prolog",
	[MUSTER_DRAINED_BY_EPILOG] = "epilog",
};

void muster_drain_reason_write(enum muster_drained_by by, const struct muster_finding *finding, size_t faults,
	char out[MUSTER_DRAIN_REASON_MAX + 1])
{
	const char *kind = finding->gpu ? " GPU " : finding->port ? " port " : "";
	const char *part = finding->gpu ? finding->gpu : finding->port ? finding->port : "";
	bool unit = has_unit(finding);
	char *whole = muster_asprintf("%s%s%s%s: %s%s%s%s%s", prefixes[by], finding->check, kind, part,
		finding->observed ? finding->observed : "", unit ? " " : "", unit ? finding->unit : "",
		finding->expected ? "; expected " : "", finding->expected ? finding->expected : "");
	char text[1024], more[64] = "";
	size_t room = MUSTER_DRAIN_REASON_MAX;
	copy_harmless(text, sizeof text, whole);
	free(whole);
	if (faults > 1)
		room -= (size_t)snprintf(more, sizeof more, "; and %zu more", faults - 1);
	cut(text, room);
	snprintf(out, MUSTER_DRAIN_REASON_MAX + 1, "%s%s", text, more);
}

static void copy_text(char *out, const char *text, size_t length)
{
	snprintf(out, MUSTER_DRAIN_REASON_MAX + 1, "%.*s", (int)length, text);
}

bool muster_drain_reason_read(const char *reason, struct muster_drain_reason *ret)
{
	struct muster_drain_reason found = { 0 };
	const char *text = NULL;
	for (size_t by = 0; by < MUSTER_DRAINED_BY_COUNT && !text; by++) {
		size_t length = strlen(prefixes[by]) - 1; /* a reason may end with the colon */
		if (strncmp(reason, prefixes[by], length) != 0)
			continue;
		found.by = (enum muster_drained_by)by;
		text = reason + length;
	}
	if (!text)
		return false;
	text += strspn(text, " ");
	size_t length = strcspn(text, " :");
	copy_text(found.check, text, length);
	text += length;
	size_t kind = strncmp(text, " GPU ", 5) == 0 ? 5 : strncmp(text, " port ", 6) == 0 ? 6 : 0;
	const char *end = kind ? strstr(text, ": ") : NULL;
	if (end)
		copy_text(found.part, text + kind, (size_t)(end - text) - kind);
	text = end ? end : text;
	text += strspn(text, ": ");
	copy_text(found.observed, text, strlen(text));
	*ret = found;
	return true;
}
