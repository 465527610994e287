/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_tally.c - the events of a kernel log, counted: one entry for each distinct event; see kernel_event.h
 *
 * An entry (struct muster_kernel_seen) is one kind of event of one device and code, before or during the run: 64 of
 * each group at most, of which the kind with the most entries loses its oldest one to a new event.
 *
 * What becomes of a line (muster_kernel_tally_add):
 *
 *    1. a line of an error of the firmware is collected until its section is complete (kernel_firmware.c)
 *    2. a line that tells no event is dropped
 *    3. a line that ends errors (ends: a reset, another action) takes away the entries that it cures
 *    4. the driver begins to load: entries of the NVIDIA driver from before are over
 *    5. a link goes down or up: two halves make a flap
 *    6. all other events are counted, unless a later line has cured them already
 *
 * Lines are read in either order of time: a file of kmsg and a journal backwards, /dev/kmsg forwards. The result must
 * be the same. So everything that ends an event keeps its time (ends, gpus_since), and is compared with the time of
 * each entry, whichever was read first.
 *
 * Three things change an entry later than its line: a line that adds to an event within a second (`follows`), the
 * second half of a link's flap, and what cures an error.
 */
#include "system/kernel_event.h"
#include "util/text.h"

#include <math.h>
#include <string.h>

#define FOLLOWS_WITHIN_S 1.0 /* lines of one event */
#define LOADING_S 60.0       /* the NVIDIA driver's, from its first line to its last, where its first is not there */

/* What the NVIDIA driver says: over when it is loaded again. */
static bool is_nvidia(enum muster_kernel_event_kind kind)
{
	return kind <= MUSTER_KERNEL_NVSWITCH || kind == MUSTER_KERNEL_DRIVER_VERSION ||
	       kind == MUSTER_KERNEL_DRIVER_FIRMWARE || kind == MUSTER_KERNEL_DRIVER_PROBE;
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

static bool is_near(const struct muster_kernel_seen *entry, double seconds)
{
	return fabs(seconds - entry->last) <= FOLLOWS_WITHIN_S;
}

/* Of one event's lines, some name its device or its severity and others do not. Within a second they belong together if
 * one of them only adds (`follows`), the number of the code is the same, and the devices are equal or one of them is
 * not known. */
static bool is_loosely(const struct muster_kernel_seen *entry, const struct muster_kernel_event *event, double seconds)
{
	const struct muster_kernel_event *of = &entry->event;
	size_t digits = strcspn(of->code, "-");
	return (event->follows || entry->last_follows) && is_near(entry, seconds) &&
	       digits == strcspn(event->code, "-") && strncmp(of->code, event->code, digits) == 0 &&
	       (strcmp(of->device, event->device) == 0 || strcmp(of->device, "none") == 0 ||
		       strcmp(event->device, "none") == 0);
}

/* The entry that an event belongs to; NULL: a new one. An entry with the same device and code is preferred to one that
 * fits loosely, but not for a line that only adds and is not near it in time. When the event itself comes after lines
 * that added to it (they were read first, backwards), their entry is taken out: this event has one of its own. */
static struct muster_kernel_seen *find(
	struct muster_kernel_tally *tally, const struct muster_kernel_event *event, double seconds, bool during)
{
	enum muster_kernel_group group = group_of(event->kind);
	struct muster_kernel_seen *seen = tally->seen[group], *exact = NULL, *loose = NULL;
	for (size_t i = 0; i < tally->count[group]; i++) {
		if (seen[i].event.kind != event->kind || seen[i].during != during)
			continue;
		if (strcmp(seen[i].event.device, event->device) == 0 && strcmp(seen[i].event.code, event->code) == 0)
			exact = &seen[i];
		else if (is_loosely(&seen[i], event, seconds))
			loose = &seen[i];
	}
	if (!exact || (event->follows && loose && !is_near(exact, seconds)))
		return loose;
	if (loose && !event->follows && loose->event.follows) { /* lines that added to this event, read before it */
		memmove(loose, loose + 1, (size_t)(seen + --tally->count[group] - loose) * sizeof *loose);
		exact -= exact > loose;
	}
	return exact;
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

/* Count an event. A line that adds to an event does not raise the count, and may only make the event more exact. The
 * text that is kept is that of the heaviest line, of these the newest; a line that tells the event is preferred to one
 * that only adds to it. */
static void count(void *arg, const struct muster_kernel_event *event, const char *text, double seconds, bool during)
{
	struct muster_kernel_tally *tally = arg;
	enum muster_kernel_group group = group_of(event->kind);
	struct muster_kernel_seen *seen = tally->seen[group];
	struct muster_kernel_seen *entry = find(tally, event, seconds, during);
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
	bool same = !is_new && is_near(entry, seconds) && (event->follows || entry->last_follows);
	entry->last = seconds;
	if (same && event->follows) {
		if (entry->event.follows && !strchr(entry->event.code, '-') && strcmp(event->device, "none") != 0)
			entry->event = *event; /* which may tell the severity, or the device */
		return;
	}
	entry->last_follows = event->follows;
	if (!same)
		entry->count++;
	bool better = entry->event.follows && !event->follows && entry->newest - seconds <= FOLLOWS_WITHIN_S;
	bool newer = seconds >= entry->newest;
	entry->newest = fmax(seconds, entry->newest);
	if (event->weight < entry->event.weight || (event->weight == entry->event.weight && !newer && !better))
		return;
	entry->event = *event;
	keep_line(entry->line, sizeof entry->line, text);
}

/* Whether what the line tells has ended since: the driver was loaded again, the GPU or the NVSwitch was reset, or the
 * driver asks for something else. What is cured by what:
 *
 *    Xid 154 (an action)                   by any later action of the same GPU
 *    SXids, "reset needed", other Xids     by a later reset of the same device, except the Xids in `others`
 *    all that the NVIDIA driver says       by loading the driver again
 */
static bool is_cured(const struct muster_kernel_tally *t, const struct muster_kernel_event *event, double seconds)
{
	/* whose cure is no reset of the GPU: its power, the host, the virtual machine, or a new GPU */
	static const char *const others[] = { "18", "54", "64", "79", "143", "151", "167", "173" };
	bool is_action = event->kind == MUSTER_KERNEL_XID && strncmp(event->code, "154", 3) == 0;
	bool by_reset = event->kind == MUSTER_KERNEL_SXID || event->kind == MUSTER_KERNEL_RESET_NEEDED ||
			(event->kind == MUSTER_KERNEL_XID &&
				!muster_text_among(event->code, others, sizeof others / sizeof *others));
	for (size_t i = 0; i < t->end_count; i++)
		if (seconds < t->ends[i].at && strcmp(t->ends[i].of.device, event->device) == 0 &&
			(is_action || (by_reset && t->ends[i].of.ends == MUSTER_KERNEL_ENDS_RESET)))
			return true;
	return is_nvidia(event->kind) && seconds < t->gpus_since;
}

/* Take out all entries that are cured by now. An entry counts by its newest line. */
static void forget_cured(struct muster_kernel_tally *tally)
{
	for (size_t g = 0; g < MUSTER_KERNEL_GROUPS; g++) {
		size_t kept = 0;
		for (size_t i = 0; i < tally->count[g]; i++)
			if (!is_cured(tally, &tally->seen[g][i].event, tally->seen[g][i].newest))
				tally->seen[g][kept++] = tally->seen[g][i];
		tally->count[g] = kept;
	}
}

/* Remember when a device's errors ended, the latest time for each device and kind of end. */
static void ended(struct muster_kernel_tally *tally, const struct muster_kernel_event *event, double seconds)
{
	size_t i = 0;
	while (i < tally->end_count &&
		(tally->ends[i].of.ends != event->ends || strcmp(tally->ends[i].of.device, event->device) != 0))
		i++;
	if (i == MUSTER_KERNEL_ENDS_MAX || (i < tally->end_count && tally->ends[i].at >= seconds))
		return;
	tally->ends[i] = (struct muster_kernel_end){ *event, seconds };
	tally->end_count += i == tally->end_count;
	forget_cured(tally);
}

/* since: the driver began to load then. A line of more than LOADING_S after driver_by is no load: by driver_by the
 * driver was there already. */
static void driver_loaded(struct muster_kernel_tally *tally, double since)
{
	if (since <= tally->gpus_since || (tally->driver_by > 0 && since > tally->driver_by + LOADING_S))
		return;
	tally->gpus_since = since;
	forget_cured(tally);
}

/* So many within so many hours are no accident (cyclecloud-healthagent; AzNHC azure_ib_link_flapping.nhc). */
static const struct {
	enum muster_kernel_event_kind kind;
	size_t flaps;
	double hours;
} often[] = { { MUSTER_KERNEL_LINK_FLAPS, 3, 3 }, { MUSTER_KERNEL_LINK_FLAPS_DAY, MUSTER_KERNEL_FLAPS, 24 } };

/* A flap: down, and later up again. The half that is read first is kept for its device until the other one comes:
 * forwards that is "down", backwards "up". A flap counts at the time of its "up", with the line of its "down". In the
 * first half hour after boot links come and go while they train: no flaps.
 *
 * After each flap the times of the device's last flaps are compared: three within three hours, and five within a day,
 * are events of their own. */
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
	double at = backwards ? half->at : seconds;
	during = backwards ? half->during : during;
	text = backwards ? text : half->line;
	struct muster_kernel_event flap = *event;
	flap.kind = MUSTER_KERNEL_LINK_FLAP;
	count(tally, &flap, text, at, during);
	memmove(half->flaps + 1, half->flaps, sizeof half->flaps - sizeof *half->flaps);
	half->flaps[0] = at;
	half->flap_count++;
	for (size_t i = 0; i < sizeof often / sizeof *often; i++) {
		double other = half->flaps[often[i].flaps - 1];
		flap.kind = often[i].kind;
		if (half->flap_count >= often[i].flaps && fabs(at - other) <= often[i].hours * 3600)
			count(tally, &flap, text, fmax(at, other), during);
	}
}

void muster_kernel_tally_add(
	struct muster_kernel_tally *tally, const char *text, double seconds, bool during, bool backwards)
{
	const struct muster_kernel_line line = { text, seconds, during, backwards };
	struct muster_kernel_event event;
	if (muster_kernel_firmware_take(&tally->firmware, &line, count, tally) ||
		!muster_kernel_event_parse(text, &event))
		return;
	if (event.ends)
		ended(tally, &event, seconds);
	switch (event.kind) {
	case MUSTER_KERNEL_DRIVER_STARTS: driver_loaded(tally, seconds); break;
	case MUSTER_KERNEL_DRIVER_LOADED: driver_loaded(tally, seconds - LOADING_S); break;
	case MUSTER_KERNEL_GPU_RESET: break;
	case MUSTER_KERNEL_LINK_DOWN:
	case MUSTER_KERNEL_LINK_UP: link_changed(tally, &event, text, seconds, during, backwards); break;
	default:
		if (!is_cured(tally, &event, seconds))
			count(tally, &event, text, seconds, during);
	}
}

void muster_kernel_tally_end(struct muster_kernel_tally *tally)
{
	muster_kernel_firmware_end(&tally->firmware, count, tally);
}
