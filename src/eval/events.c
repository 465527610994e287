/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - what findings say of events of the kernel's log
 *
 * An event is several samples of one node with the same labels: node.xid_age_hours, node.xid_count, node.xid_line. The
 * check is about the age; the other two only add words.
 *
 * One incident makes several lines: a GPU that falls off the bus is Xid 79, a PCIe error, and tasks that hang. The
 * table of events says which kinds an event `explains`. Such a kind does not apply beside it where it is of the same
 * device, or, without a device, of the same second.
 */
#include "eval/answers.h"

#include <math.h>
#include <string.h>

/* "3 times, last 2.4 h ago", "once, 24 min ago", "once, during this run" */
static const char *when_text(
	const struct muster_sample *age, const struct muster_sample *count, struct muster_arena *arena)
{
	bool several = count && count->value.number > 1;
	const char *text = several ? muster_arena_printf(arena, "%.0f times, ", count->value.number)
			   : count ? "once, "
				   : "";
	if (strcmp(muster_sample_label_text(age, "when"), "during") == 0)
		return muster_arena_printf(arena, "%sduring this run", text);
	text = muster_arena_printf(arena, "%s%s", text, several || !count ? "last " : "");
	if (age->value.number * 60 < 1)
		return muster_arena_printf(arena, "%sless than 1 min ago", text);
	if (age->value.number < 1)
		return muster_arena_printf(arena, "%s%.0f min ago", text, age->value.number * 60);
	return muster_arena_printf(arena, "%s%.1f h ago", text, age->value.number);
}

/* " of 0001:00:00.0", when the event names a device that is no GPU of the finding */
static const char *device_text(const struct muster_sample *age, struct muster_arena *arena)
{
	const char *device = muster_sample_label_text(age, "device");
	return *device && strcmp(device, "none") != 0 ? muster_arena_printf(arena, " of %s", device) : "";
}

/* "Xid 79, GPU has fallen off the bus, 3 times, last 24 min ago" */
static const char *event_text(const struct muster_node *node, const struct muster_sample *age,
	const struct muster_event_table *table, const struct muster_event *event, const char *code,
	struct muster_arena *arena)
{
	const struct muster_sample *count = muster_event_beside(&node->samples, age, MUSTER_EVENT_COUNT);
	return muster_arena_printf(arena, "%s %s%s%s%s, %s", table->title, code, device_text(age, arena),
		event ? ", " : "", event ? event->name : "", when_text(age, count, arena));
}

static const char *unknown_advice(const struct muster_event_table *table, const char *code, struct muster_arena *arena)
{
	return muster_arena_printf(arena,
		"this code is not in the expectation file (events.%s): look up %s %s in the documentation of the "
		"driver, and enter it in an overlay",
		table->key, table->title, code);
}

/* Whether the event `age` may tell of the same incident as the event `other`, by their devices and their ages in hours:
 *   one has no device   the two were logged within one second, and are of different kinds
 *   equal devices       they are of different kinds
 *   "nvme0n1", "nvme0"  yes: the first is a part of the second, of whatever kind
 *   other devices       no
 * The device of an Xid is its GPU. */
static bool is_of_device(const struct muster_sample *age, const struct muster_sample *other, bool same_kind)
{
	const char *part = muster_sample_label_text(age, "device"), *gpu = muster_sample_label_text(other, "gpu");
	const char *whole = *gpu ? gpu : muster_sample_label_text(other, "device");
	size_t length = strlen(whole);
	if (strcmp(part, "none") == 0 || strcmp(whole, "none") == 0)
		return !same_kind && fabs(age->value.number - other->value.number) * 3600 <= 1;
	return strncmp(part, whole, length) == 0 &&
	       (part[length] == 'n' ? strncmp(whole, "nvme", 4) == 0 : !part[length] && !same_kind);
}

/* "Xid 79", whose finding is that of this event too: its entry says so, it is at least as bad, and a check of this run
 * is about it, or neither would be told. NULL: none. */
static const char *find_explaining(const struct muster_eval *eval, const struct muster_node *node,
	const struct muster_sample *age, enum muster_operator_answer answer)
{
	const char *kind = muster_sample_label_text(age, "kind");
	for (size_t c = 0; c < eval->expect->check_count; c++) {
		const struct muster_check *check = &eval->checks[c];
		struct muster_question q = { .operand = muster_check_operand(check, MUSTER_OF_EVENT) };
		for (size_t i = 0; q.operand && !eval->tallies[c].skipped && i < node->samples.count; i++) {
			q.sample = &node->samples.items[i];
			if (q.sample->metric != check->metric || q.sample->value.type != MUSTER_NUMBER ||
				!muster_sample_chosen(check, q.sample))
				continue;
			const char *code = muster_sample_label_text(q.sample, q.operand->label);
			const struct muster_event *event = muster_event_find(q.operand->events, code);
			for (size_t k = 0; event && k < event->explain_count; k++)
				if (strcmp(event->explains[k], kind) == 0 &&
					is_of_device(age, q.sample, strcmp(kind, code) == 0) &&
					muster_no_event_judge(&q) >= answer)
					return muster_arena_printf(
						eval->arena, "%s %s", q.operand->events->title, code);
		}
	}
	return NULL;
}

void muster_event_tell(const struct muster_eval *eval, const struct muster_check *check,
	const struct muster_entry *entry, struct muster_check_answer *answer)
{
	const struct muster_operand *operand = muster_check_operand(check, MUSTER_OF_EVENT);
	const struct muster_sample *age = entry->sample;
	if (!operand || (answer->status != MUSTER_FAIL && answer->status != MUSTER_WARN))
		return;
	const struct muster_node *node = &eval->run->nodes[entry->node];
	const char *code = muster_sample_label_text(age, operand->label);
	const struct muster_event *event = muster_event_find(operand->events, code);
	const struct muster_sample *line = muster_event_beside(&node->samples, age, MUSTER_EVENT_LINE);
	const char *explaining = find_explaining(
		eval, node, age, answer->status == MUSTER_FAIL ? MUSTER_ANSWER_BAD : MUSTER_ANSWER_WARN);
	if (explaining) {
		*answer = (struct muster_check_answer){ .status = MUSTER_SKIP,
			.observed = muster_arena_printf(
				eval->arena, "%s %s is a part of %s", operand->events->title, code, explaining) };
		return;
	}
	answer->observed = event_text(node, age, operand->events, event, code, eval->arena);
	answer->evidence = line ? muster_arena_string(eval->arena, line->value.string) : NULL;
	answer->advice = event ? event->action : unknown_advice(operand->events, code, eval->arena);
	answer->action_code = event ? event->action_code : NULL;
	answer->in_words = true;
}

/* More is in the log than could be read in time: unlike a log that is closed to this user, or has lost its beginning,
 * it may hold a fault that the next reader finds. */
static bool is_cut(const struct muster_node *node)
{
	const struct muster_sample *cut = muster_sample_named(&node->samples, "node.kernel_log_cut");
	return cut && cut->value.type == MUSTER_BOOLEAN && cut->value.boolean;
}

/* Why the log says too little of the time in which an event counts; NULL when it says enough. */
static const char *why_short(const struct muster_check *check, const struct muster_node *node,
	const struct muster_sample *log, struct muster_arena *arena)
{
	const struct muster_operand *operand = muster_check_operand(check, MUSTER_OF_EVENT);
	const char *start = muster_sample_text(&node->samples, "node.kernel_log_start", "boot");
	double hours = muster_sample_number(&node->samples, "node.kernel_log_hours", HUGE_VAL);
	if (log->value.type == MUSTER_NULL)
		return log->reason ? log->reason : "the kernel's log was not read";
	if ((strcmp(start, "boot") == 0 && !is_cut(node)) || hours >= operand->value.number)
		return NULL;
	return muster_arena_printf(arena, "only %.1f h of the kernel's log could be read: %s", hours, start);
}

bool muster_event_none(const struct muster_eval *eval, const struct muster_check *check, uint32_t node,
	struct muster_check_answer *ret)
{
	const struct muster_sample *log = muster_sample_named(&eval->run->nodes[node].samples, "node.kernel_log");
	if (!log)
		return false;
	const char *why = why_short(check, &eval->run->nodes[node], log, eval->arena);
	bool cut = is_cut(&eval->run->nodes[node]);
	*ret = (struct muster_check_answer){ .status = !why                      ? MUSTER_PASS
						       : check->optional && !cut ? MUSTER_SKIP
										 : MUSTER_INCONCLUSIVE,
		.observed = why,
		.unread = why != NULL };
	return true;
}

/* ---- during the run ---- */

static bool is_xid_during(const struct muster_sample *sample)
{
	return sample->metric->event_part == MUSTER_EVENT_AGE && sample->metric->event == MUSTER_EVENT_XID &&
	       strcmp(muster_sample_label_text(sample, "when"), "during") == 0;
}

/* How bad the event is; NULL is an unknown one, which is a warning. */
static int weight_of(const struct muster_event *event)
{
	return event ? (int)event->class : (int)MUSTER_EVENT_WARN;
}

/* An Xid of the given GPU comes before one of another GPU; among these, the worse class, then the first one, counts. */
struct muster_event_during muster_event_find_during(
	const struct muster_expect *expect, const struct muster_node *node, const char *gpu, struct muster_arena *arena)
{
	struct muster_event_during found = { 0 };
	const struct muster_sample *worst = NULL;
	const struct muster_event *worst_event = NULL;
	for (size_t i = 0; i < node->samples.count; i++) {
		const struct muster_sample *sample = &node->samples.items[i];
		if (!is_xid_during(sample))
			continue;
		const char *code = muster_sample_label_text(sample, "code");
		const struct muster_event *event =
			expect ? muster_event_find(&expect->events[MUSTER_EVENT_XID], code) : NULL;
		bool own = gpu && strcmp(muster_sample_label_text(sample, "gpu"), gpu) == 0;
		if (worst && (found.own > own || (found.own == own && weight_of(event) <= weight_of(worst_event))))
			continue;
		worst = sample;
		worst_event = event;
		found.own = own;
	}
	if (!worst)
		return found;
	const struct muster_sample *line = muster_event_beside(&node->samples, worst, MUSTER_EVENT_LINE);
	found.name = muster_arena_printf(arena, "Xid %s%s%s", muster_sample_label_text(worst, "code"),
		worst_event ? ", " : "", worst_event ? worst_event->name : "");
	found.gpu = muster_arena_string(arena, muster_sample_label_text(worst, "gpu"));
	found.line = line ? muster_arena_string(arena, line->value.string) : NULL;
	return found;
}
