/* kernel_tally.c - the events of a kernel log, counted: one entry for each distinct event */
#include "system/kernel_tally.h"

#include "util/utf8.h"

#include <math.h>
#include <string.h>

#define FOLLOWS_WITHIN_S 1.0 /* lines of one event */
#define LOADING_S 60.0       /* the NVIDIA driver's, from its first line to its last, where its first is not there */

static bool is_gpu(enum muster_kernel_event_kind kind)
{
	return kind == MUSTER_KERNEL_XID || kind == MUSTER_KERNEL_SXID || kind == MUSTER_KERNEL_GPU_LOST ||
	       kind == MUSTER_KERNEL_GPU_INIT;
}

static enum muster_kernel_group group_of(enum muster_kernel_event_kind kind)
{
	return kind == MUSTER_KERNEL_XID    ? MUSTER_KERNEL_XIDS
	       : kind == MUSTER_KERNEL_SXID ? MUSTER_KERNEL_SXIDS
					    : MUSTER_KERNEL_OTHERS;
}

/* At most size - 1 bytes, whole characters, and nothing that could drive a terminal. */
static void keep_line(char *to, size_t size, const char *text)
{
	size_t used = 0, left = strlen(text);
	while (left > 0) {
		unsigned long point;
		size_t bytes = muster_utf8_next(text, left, &point);
		bool plain = bytes > 0 && !muster_utf8_is_harmful(point);
		size_t taken = bytes ? bytes : 1;
		if (used + (plain ? bytes : 1) >= size)
			break;
		if (plain)
			memcpy(to + used, text, bytes);
		else
			to[used] = '?';
		used += plain ? bytes : 1;
		text += taken;
		left -= taken;
	}
	to[used] = '\0';
}

static struct muster_kernel_seen *find(
	struct muster_kernel_seen *seen, size_t count, const struct muster_kernel_event *event, bool during)
{
	for (size_t i = 0; i < count; i++)
		if (seen[i].event.kind == event->kind && seen[i].during == during &&
			strcmp(seen[i].event.device, event->device) == 0 &&
			strcmp(seen[i].event.code, event->code) == 0)
			return &seen[i];
	return NULL;
}

/* The place that a new event of this kind takes when all are taken: of the kind that has the most entries, the oldest.
 * NULL when the new one is older still. */
static struct muster_kernel_seen *displace(
	struct muster_kernel_seen *seen, size_t count, enum muster_kernel_event_kind kind, double seconds)
{
	size_t entries[MUSTER_KERNEL_EVENT_COUNT] = { 0 };
	enum muster_kernel_event_kind most = kind;
	struct muster_kernel_seen *oldest = NULL;
	for (size_t i = 0; i < count; i++)
		entries[seen[i].event.kind]++;
	for (size_t i = 0; i < MUSTER_KERNEL_EVENT_COUNT; i++)
		if (entries[i] > entries[most])
			most = (enum muster_kernel_event_kind)i;
	for (size_t i = 0; i < count; i++)
		if (seen[i].event.kind == most && (!oldest || seen[i].newest < oldest->newest))
			oldest = &seen[i];
	return oldest && (most != kind || oldest->newest <= seconds) ? oldest : NULL;
}

static void count(struct muster_kernel_tally *tally, const struct muster_kernel_event *event, const char *text,
	double seconds, bool during)
{
	enum muster_kernel_group group = group_of(event->kind);
	struct muster_kernel_seen *seen = tally->seen[group];
	struct muster_kernel_seen *entry = find(seen, tally->count[group], event, during);
	bool is_new = !entry;
	if (is_new && tally->count[group] < MUSTER_KERNEL_SEEN_MAX) {
		entry = &seen[tally->count[group]++];
	} else if (is_new) {
		tally->left_out++;
		entry = displace(seen, tally->count[group], event->kind, seconds);
		if (!entry)
			return;
	}
	if (is_new)
		*entry = (struct muster_kernel_seen){ .event = *event, .during = during, .newest = -1, .last = -1 };
	bool same =
		!is_new && fabs(seconds - entry->last) <= FOLLOWS_WITHIN_S && (event->follows || entry->last_follows);
	entry->last = seconds;
	if (same && event->follows)
		return;
	entry->last_follows = event->follows;
	if (!same)
		entry->count++;
	bool better = entry->event.follows && !event->follows && entry->newest - seconds <= FOLLOWS_WITHIN_S;
	if (seconds < entry->newest && !better)
		return;
	entry->event.follows = event->follows;
	entry->newest = fmax(seconds, entry->newest);
	keep_line(entry->line, sizeof entry->line, text);
}

static void driver_loaded(struct muster_kernel_tally *tally, double since)
{
	if (since <= tally->gpus_since)
		return;
	tally->gpus_since = since;
	for (size_t g = 0; g < MUSTER_KERNEL_GROUPS; g++) {
		size_t kept = 0;
		for (size_t i = 0; i < tally->count[g]; i++)
			if (!is_gpu(tally->seen[g][i].event.kind) || tally->seen[g][i].newest >= since)
				tally->seen[g][kept++] = tally->seen[g][i];
		tally->count[g] = kept;
	}
}

/* A flap: down, and later up again. The half that is read first waits for the other one. */
static void link_changed(struct muster_kernel_tally *tally, const struct muster_kernel_event *event, const char *text,
	double seconds, bool during, bool backwards)
{
	for (size_t i = 0; i < tally->half_count && tally->backwards != backwards; i++)
		tally->halves[i].open = false; /* halves that another order of lines left */
	tally->backwards = backwards;
	bool first = (event->kind == MUSTER_KERNEL_LINK_DOWN) != backwards;
	struct muster_kernel_half *half = NULL;
	if (seconds < MUSTER_KERNEL_TRAINING_S)
		return;
	for (size_t i = 0; i < tally->half_count && !half; i++)
		if (strcmp(tally->halves[i].device, event->device) == 0)
			half = &tally->halves[i];
	if (!half && first && tally->half_count < MUSTER_KERNEL_LINKS_MAX) {
		half = &tally->halves[tally->half_count++];
		*half = (struct muster_kernel_half){ .at = seconds };
		memcpy(half->device, event->device, sizeof half->device);
	}
	if (!half || half->open == first)
		return;
	if (first) {
		half->open = true;
		half->at = seconds;
		half->during = during;
		keep_line(half->line, sizeof half->line, text);
		return;
	}
	half->open = false;
	struct muster_kernel_event flap = *event;
	flap.kind = MUSTER_KERNEL_LINK_FLAP;
	count(tally, &flap, backwards ? text : half->line, backwards ? half->at : seconds,
		backwards ? half->during : during);
}

void muster_kernel_tally_add(
	struct muster_kernel_tally *tally, const char *text, double seconds, bool during, bool backwards)
{
	struct muster_kernel_event event;
	if (!muster_kernel_event_parse(text, &event))
		return;
	switch (event.kind) {
	case MUSTER_KERNEL_DRIVER_STARTS: driver_loaded(tally, seconds); break;
	case MUSTER_KERNEL_DRIVER_LOADED: driver_loaded(tally, seconds - LOADING_S); break;
	case MUSTER_KERNEL_LINK_DOWN:
	case MUSTER_KERNEL_LINK_UP: link_changed(tally, &event, text, seconds, during, backwards); break;
	default:
		if (!is_gpu(event.kind) || seconds >= tally->gpus_since)
			count(tally, &event, text, seconds, during);
	}
}
