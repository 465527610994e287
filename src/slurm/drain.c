/* SPDX-License-Identifier: Apache-2.0 */
/* drain.c - why a node is drained, as Slurm keeps it
 *
 * Four parts, of which the first two and the last are pure:
 *
 *    1. the reason of a drain, written and read       muster_drain_reason_write, muster_drain_reason_read
 *    2. limits on how many nodes are drained          muster_drained_nodes_check, muster_rack_read
 *    3. the same limits, asked of sinfo and scontrol  muster_slurm_drained_nodes_check
 *    4. whether a report shows that a fault is gone   muster_fault_is_gone
 *
 * The reason in Slurm is the only record of why a node was drained, so it is written to be read again:
 *
 *    muster(health): replace-node: copy.h2d GPU 4 000b:00:00.0: 11.2 GB/s; expected at least 21 GB/s; and 2 more
 *    prefix          action code   check    part                observed (all that follows)
 *
 * The action code, the part and the last number may be missing. Parts are separated by ": ", which no check id
 * contains.
 */
#include "muster/run_data.h"
#include "slurm/drain.h"
#include "expect/operators.h"
#include "muster/arena.h"
#include "muster/probe.h"
#include "slurm/command.h"
#include "slurm/hostlist.h"
#include "util/text.h"
#include "util/utc.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Copy text to out, of size bytes with the NUL, as printable ASCII. In this order for each character: a line feed, tab
 * or carriage return becomes a blank, and each other one that is not printable ASCII becomes one "?"; quotes,
 * backslashes, backquotes and dollars are left out; of blanks in a row one remains, and none at the beginning. The text
 * comes from a machine, and goes into a command line that people paste into a shell. */
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

/* Shorten text in place to at most `most` bytes, "..." included: at the last blank that leaves room for the dots,
 * without the separators before it. Where the second half has no blank, within the word. */
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

/* How a reason begins, by who drained the node. */
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

/* `text` is shortened so that "; and N more" always fits: that a node has more faults is worth more than the end of the
 * first one. */
void muster_drain_reason_write(enum muster_drained_by by, const char *action_code, const struct muster_finding *finding,
	size_t faults, char out[MUSTER_DRAIN_REASON_MAX + 1])
{
	char index[16] = "";
	if (finding->gpu && finding->gpu_index >= 0)
		snprintf(index, sizeof index, "%d ", finding->gpu_index);
	const char *kind = finding->gpu ? " GPU " : finding->port ? " port " : "";
	const char *part = finding->gpu ? finding->gpu : finding->port ? finding->port : "";
	bool unit = has_unit(finding), code = muster_action_strength(action_code) > 0;
	char *whole = muster_asprintf("%s%s%s%s%s%s%s: %s%s%s%s%s", prefixes[by], code ? action_code : "",
		code ? ": " : "", finding->check, kind, index, part, finding->observed ? finding->observed : "",
		unit ? " " : "", unit ? finding->unit : "", finding->expected ? "; expected " : "",
		finding->expected ? finding->expected : "");
	char text[1024], more[64] = "";
	size_t room = MUSTER_DRAIN_REASON_MAX;
	copy_harmless(text, sizeof text, whole);
	free(whole);
	if (faults > 1)
		room -= (size_t)snprintf(more, sizeof more, "; and %zu more", faults - 1);
	cut(text, room);
	snprintf(out, MUSTER_DRAIN_REASON_MAX + 1, "%s%s", text, more);
}

/* Copy length bytes to out, which has room for a whole reason; a longer text is cut. */
static void copy_text(char *out, const char *text, size_t length)
{
	snprintf(out, MUSTER_DRAIN_REASON_MAX + 1, "%.*s", (int)length, text);
}

/* The place in muster_action_codes of the word of length bytes; 0 when it is no code, and for "none". Reasons of an
 * older muster have no code. */
static size_t code_at(const char *text, size_t length)
{
	char word[32] = "";
	if (length < sizeof word)
		memcpy(word, text, length);
	return muster_action_strength(word);
}

/* The first word is an action code only when it is one of muster_action_codes, ": " follows, and a further ":" ends the
 * check. A part is read only when ": " follows it: in a reason that was cut before that, the words after the check
 * belong to `observed`. */
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
	size_t length = strcspn(text, " :"), code = code_at(text, length);
	if (strncmp(text + length, ": ", 2) == 0 && code > 0 && strchr(text + length + 2, ':')) {
		found.action_code = muster_action_codes[code];
		text += length + 2;
		length = strcspn(text, " :");
	}
	copy_text(found.check, text, length);
	text += length;
	size_t kind = strncmp(text, " GPU ", 5) == 0 ? 5 : strncmp(text, " port ", 6) == 0 ? 6 : 0;
	const char *end = kind ? strstr(text, ": ") : NULL;
	if (end) { /* "3 000b:00:00.0": the index is no part of the name */
		size_t digits = strspn(text + kind, "0123456789");
		kind += digits > 0 && text[kind + digits] == ' ' ? digits + 1 : 0;
		copy_text(found.part, text + kind, (size_t)(end - text) - kind);
	}
	text = end ? end : text;
	text += strspn(text, ": ");
	copy_text(found.observed, text, strlen(text));
	*ret = found;
	return true;
}

/* ---- how many nodes of a partition muster has drained, and whether these are too many ----
 *
 * Many nodes may find a fault in the same second, when a setting is wrong on all of them. Without a lock that they
 * share, each drains itself first, counts then, and undrains itself if there are too many: of the nodes that stay
 * drained, the last one has counted all the others.
 */

enum { NUMBER_MAX = 1000000, NAME_MAX_ = 255, SECONDS_OF_HOUR = 3600 }; /* NAME_MAX_: of a partition */

/* A line of sinfo. The texts are parts of the whole text, so they end at the next bar or at their length. */
struct line {
	const char *node, *partition, *state, *time, *reason;
	int node_length, partition_length, reason_length;
};

int muster_drained_most_parse(void *ret, const char *text, struct muster_error *err)
{
	size_t length = strlen(text);
	char digits[16];
	long number;
	bool is_share = length > 0 && text[length - 1] == '%';
	snprintf(digits, sizeof digits, "%.*s", (int)(length - is_share), text);
	if (length > sizeof digits - 1 ||
		muster_parse_int(digits, 0, is_share ? 100 : NUMBER_MAX, &number, "limit", err) < 0)
		return muster_fail(err, MUSTER_EUSAGE,
			"a limit on drained nodes is a number of nodes or a share like 10%%, not \"%.40s\"", text);
	*(struct muster_drained_most *)ret = (struct muster_drained_most){ true, is_share, (int)number };
	return 0;
}

/* The text after the next '|' of the line; NULL when there is none. */
static const char *next_field(const char *text, const char *end)
{
	const char *bar = text ? memchr(text, '|', (size_t)(end - text)) : NULL;
	return bar ? bar + 1 : NULL;
}

/* Split the next line "NODE|PARTITION|STATE|TIME|REASON" of text into *ret, and return what follows it; NULL when no
 * such line is left. Lines with fewer fields are passed over. A reason may itself contain bars. */
static const char *next_line(const char *text, struct line *ret)
{
	for (const char *end; *text; text = end + (*end == '\n')) {
		end = text + strcspn(text, "\n");
		struct line line = { .node = text };
		line.partition = next_field(line.node, end);
		line.state = next_field(line.partition, end);
		line.time = next_field(line.state, end);
		line.reason = next_field(line.time, end);
		if (!line.reason)
			continue;
		line.node_length = (int)strcspn(line.node, " |");
		line.partition_length = (int)strcspn(line.partition, " |");
		line.reason_length = (int)(end - line.reason);
		*ret = line;
		return end + (*end == '\n');
	}
	return NULL;
}

/* Whether the text of length bytes is this name. */
static bool is(const char *text, int length, const char *name)
{
	return strlen(name) == (size_t)length && strncmp(text, name, (size_t)length) == 0;
}

/* Slurm 24.11 keeps the reason of a node after its return to service, so the state decides first: "drained",
 * "draining", or one of these with a mark, such as "drained*". */
static bool is_drained_by_muster(const struct line *line)
{
	struct muster_drain_reason reason;
	char text[MUSTER_DRAIN_REASON_MAX + 1];
	if (strncmp(line->state, "drain", strlen("drain")) != 0)
		return false;
	snprintf(text, sizeof text, "%.*s", line->reason_length, line->reason);
	return muster_drain_reason_read(text, &reason);
}

/* Whether the reason was set within the last hour. A time that cannot be read counts as recent: the limit holds in that
 * case too. */
static bool is_recent(const struct line *line, int64_t now)
{
	return now - muster_slurm_time_read(line->time, now) < SECONDS_OF_HOUR;
}

/* The limit in nodes, of a partition of so many. A share is rounded down, but at least one node may be drained, unless
 * the share is 0. */
static int limit_of(const struct muster_drained_most *most, int nodes)
{
	int limit = most->is_share ? (int)((long long)nodes * most->number / 100) : most->number;
	return most->is_share && limit < 1 && most->number > 0 ? 1 : limit;
}

/* -1 with err: the sentence for a limit. of: what the nodes are of; when: "" or " within an hour"; already: this node
 * has been drained, and the caller undrains it. */
static int too_many(struct muster_error *err, int drained, const char *of, const char *when, int limit, bool already)
{
	return muster_fail(err, MUSTER_EUSAGE,
		"muster has drained %d other%s of %s%s, and at most %d may be drained%s: if so many nodes fail, the "
		"nodes are seldom the cause%s",
		drained, drained == 1 ? "" : "s", of, when, limit, when, already ? "; undrained again" : "");
}

/* Check both limits in one partition. Only other nodes count: with the limit N a node may be drained while fewer than N
 * others are. The result is then the same before and after the node itself is drained. */
static int check_partition(const char *text, const char *node, const char *partition, bool already,
	const struct muster_drained_limits *limits, int64_t now, struct muster_error *err)
{
	struct line line;
	char of[NAME_MAX_ + 64];
	int nodes = 0, drained = 0, recent = 0;
	while ((text = next_line(text, &line))) {
		if (!is(line.partition, line.partition_length, partition))
			continue;
		bool counts = !is(line.node, line.node_length, node) && is_drained_by_muster(&line);
		nodes++;
		drained += counts;
		recent += counts && is_recent(&line, now);
	}
	snprintf(of, sizeof of, "%d nodes in partition %s", nodes, partition);
	if (limits->at_most.is_set && drained >= limit_of(&limits->at_most, nodes))
		return too_many(err, drained, of, "", limit_of(&limits->at_most, nodes), already);
	if (limits->per_hour.is_set && recent >= limit_of(&limits->per_hour, nodes))
		return too_many(err, recent, of, " within an hour", limit_of(&limits->per_hour, nodes), already);
	return 0;
}

/* Check the limit of the rack: among the other nodes of rack, those that were drained within an hour. Lists of sinfo
 * have a line for each partition of a node, so each node is counted once, by its first line that counts. Without a
 * known rack there is nothing to check. */
static int check_rack(const char *text, const char *node, bool already, int most, const char *const *rack,
	size_t rack_count, int64_t now, struct muster_error *err)
{
	char of[64];
	int recent = 0;
	for (size_t i = 0; i < rack_count; i++) {
		struct line line;
		bool counts = false;
		for (const char *at = text; strcmp(rack[i], node) != 0 && !counts && (at = next_line(at, &line));)
			counts = is(line.node, line.node_length, rack[i]) && is_drained_by_muster(&line) &&
				 is_recent(&line, now);
		recent += counts;
	}
	if (rack_count == 0 || recent < most)
		return 0;
	snprintf(of, sizeof of, "%zu nodes of one rack or switch", rack_count);
	return too_many(err, recent, of, " within an hour", most, already);
}

int muster_drained_nodes_check(const char *text, const char *node, bool already,
	const struct muster_drained_limits *limits, const char *const *rack, size_t rack_count, int64_t now,
	struct muster_error *err)
{
	struct line line;
	bool seen = false;
	for (const char *at = text; (at = next_line(at, &line));) {
		char partition[NAME_MAX_ + 1];
		if (!is(line.node, line.node_length, node))
			continue;
		seen = true;
		snprintf(partition, sizeof partition, "%.*s", line.partition_length, line.partition);
		if (check_partition(text, node, partition, already, limits, now, err) < 0)
			return -1;
	}
	if (!seen)
		return muster_fail(err, MUSTER_EPROTOCOL, "sinfo lists no partition with this node");
	return check_rack(text, node, already, limits->per_rack, rack, rack_count, now, err);
}

void muster_rack_read(
	const char *text, const char *node, struct muster_arena *arena, const char *const **ret, size_t *ret_count)
{
	struct muster_error err;
	*ret_count = 0;
	for (const char *line = text, *end; *line && *ret_count == 0; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		const char *whole = muster_arena_string_n(arena, line, (size_t)(end - line));
		const char *nodes = strstr(whole, " Nodes=");
		bool lowest = strncmp(whole, "BlockName=", 10) == 0 || strstr(whole, " Level=0 ");
		if (!nodes || !lowest)
			continue;
		nodes += strlen(" Nodes=");
		nodes = muster_arena_string_n(arena, nodes, strcspn(nodes, " "));
		if (muster_hostlist_expand(nodes, arena, ret, ret_count, &err) < 0 ||
			!muster_text_among(node, *ret, *ret_count))
			*ret_count = 0;
	}
}

int muster_slurm_drained_nodes_check(
	const char *node, bool already, struct muster_drained_limits *limits, int deadline_ms, struct muster_error *err)
{
	static const char *const list[] = { "sinfo", "--noheader", "--all", "--Node", "--format=%N|%R|%T|%H|%E", NULL };
	static const char *const topology[] = { "scontrol", "show", "topology", NULL };
	struct muster_child_output child, racks;
	struct muster_error unknown;
	const char *const *rack = NULL;
	size_t rack_count = 0;
	if (muster_slurm_command_run(list, deadline_ms, &child, err) < 0)
		return -1;
	struct muster_arena *arena = muster_arena_new();
	if (!limits->topology && muster_slurm_command_run(topology, deadline_ms, &racks, &unknown) == 0) {
		limits->topology = muster_strdup(racks.out); /* most clusters have none */
		muster_child_output_done(&racks);
	}
	if (limits->topology)
		muster_rack_read(limits->topology, node, arena, &rack, &rack_count);
	int rc = muster_drained_nodes_check(
		child.out, node, already, limits, rack, rack_count, (int64_t)time(NULL), err);
	muster_arena_free(arena);
	muster_child_output_done(&child);
	return rc;
}

/* ---- whether a report proves that the fault for which a node was drained is gone ---- */

/* Whether both texts are there and equal. */
static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static const struct muster_node *find_node(const struct muster_run *run, const char *name)
{
	for (size_t i = 0; i < run->node_count; i++)
		if (same(run->nodes[i].name, name))
			return &run->nodes[i];
	return NULL;
}

/* Whether one node alone cannot show that the check passes: its values are compared between nodes, or its probe
 * measures all nodes together. */
static bool needs_several_nodes(const struct muster_tally *tally)
{
	const struct muster_probe *probe = tally->probe ? muster_probe_find(tally->probe) : NULL;
	return tally->compares_nodes || (probe && (probe->ring || probe->traffic));
}

/* A finding about the node, or about the whole job, that is of the check or says that the check could not be evaluated.
 */
static bool has_finding(const struct muster_report *report, const char *node, const char *check)
{
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		if (finding->node && strcmp(finding->node, node) != 0)
			continue;
		if (same(finding->check, check))
			return true;
		for (size_t j = 0; j < finding->blocked_count; j++)
			if (same(finding->blocked[j], check))
				return true;
	}
	return false;
}

/* Whether there is a value of the metric for this GPU or port. */
static bool has_value(const struct muster_samples *samples, const char *metric, const char *part)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		if (!same(sample->metric->name, metric) || sample->value.type == MUSTER_NULL)
			continue;
		for (size_t j = 0; j < sample->label_count; j++)
			if (sample->labels[j].value.type == MUSTER_STRING && same(sample->labels[j].value.string, part))
				return true;
	}
	return false;
}

static bool has_value_on_node(const struct muster_node *node, const char *metric, const char *part)
{
	bool found = has_value(&node->samples, metric, part);
	for (size_t i = 0; i < node->rank_count && !found; i++)
		found = has_value(&node->ranks[i].samples, metric, part);
	return found;
}

/* Whether the ranks of the node have outcomes of the probe, and all of them are OK. with_others: not of one probe, but
 * of all all-reduces with more ranks than the node has, in which other nodes took part. */
static bool probe_ended_well(const struct muster_node *node, const char *probe, bool with_others)
{
	bool seen = false;
	for (size_t i = 0; i < node->rank_count; i++) {
		const struct muster_outcomes *outcomes = &node->ranks[i].outcomes;
		for (size_t j = 0; j < outcomes->count; j++) {
			const struct muster_outcome *outcome = &outcomes->items[j];
			if (with_others ? outcome->ring <= (int)node->rank_count : !same(outcome->probe, probe))
				continue;
			if (outcome->status != MUSTER_OUTCOME_OK)
				return false;
			seen = true;
		}
	}
	return seen;
}

/* Whether the text, up to its first comma, contains this word between blanks, commas or its ends. Only that part of a
 * reason names the event: "Xid 179, see Xid 79 too" is about Xid 179. */
static bool names(const char *text, const char *word)
{
	size_t length = strlen(word);
	const char *end = text + strcspn(text, ",");
	for (const char *at = text; length > 0 && (at = strstr(at, word)) && at < end; at++)
		if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == ',' || at[length] == '\0'))
			return true;
	return false;
}

/* Whether this sample is of the event that the reason names ("Xid 79, GPU has fallen off the bus"): the reason names
 * its code or kind of event and its device, and a part of the reason is its GPU. The device "none" is of events without
 * one. */
static bool is_event_of(const struct muster_sample *age, const struct muster_drain_reason *reason)
{
	const char *gpu = muster_label_string(age->labels, age->label_count, "gpu");
	const char *device = muster_label_string(age->labels, age->label_count, "device");
	const char *code = muster_label_string(age->labels, age->label_count, "code");
	code = code ? code : muster_label_string(age->labels, age->label_count, "kind");
	if (!code || !names(reason->observed, code) || (*reason->part && !same(gpu, reason->part)))
		return false;
	return !device || strcmp(device, "none") == 0 || names(reason->observed, device);
}

/* Whether the node was booted after the drain: then no event of its log is the one that the reason names. */
static bool is_booted_since(
	const struct muster_run *run, const struct muster_node *node, const struct muster_drain_reason *reason)
{
	double hours = muster_sample_number(&node->samples, "node.up_hours", HUGE_VAL);
	int64_t started;
	return reason->since > 0 && run->job.started && muster_utc_read(run->job.started, &started) == 0 &&
	       (double)started - hours * SECONDS_OF_HOUR > (double)reason->since;
}

/* -1 with err while the node has an age of the event that the reason names: the event is in its log. The check of
 * events passes after some hours, but that an event is old does not show that its cause is gone; nor does a log that
 * has lost its beginning. */
static int event_logged(const struct muster_run *run, const struct muster_node *node, const char *metric,
	const struct muster_drain_reason *reason, struct muster_error *err)
{
	const struct muster_metric *events = metric ? muster_metric_find(metric) : NULL;
	const char *start = muster_sample_text(&node->samples, "node.kernel_log_start", "boot");
	for (size_t i = 0; i < node->samples.count; i++) {
		const struct muster_sample *sample = &node->samples.items[i];
		if (sample->metric->event_part == MUSTER_EVENT_AGE && same(sample->metric->name, metric) &&
			is_event_of(sample, reason))
			return muster_fail(err, MUSTER_EUSAGE,
				"the event is still in the kernel's log, %.1f h old: %sreboot the node",
				sample->value.type == MUSTER_NUMBER ? sample->value.number : 0,
				sample->metric->event == MUSTER_EVENT_KERNEL ? "" : "reset the GPU or ");
	}
	if (events && events->event_part == MUSTER_EVENT_AGE && strcmp(start, "boot") != 0 &&
		!is_booted_since(run, node, reason))
		return muster_fail(err, MUSTER_EUSAGE,
			"the kernel's log no longer shows all of this boot (%s): reboot the node", start);
	return 0;
}

/* -1 with err: the sentence for a report that says nothing about the check, or nothing good. */
static int not_evaluated(struct muster_error *err, const char *check)
{
	return muster_fail(
		err, MUSTER_EUSAGE, "the report does not show that %s passes on this node", *check ? check : "it");
}

/* 0 when the check of the reason passed on this node. The tally of a check is of the whole run, so the node is looked
 * up in these steps, each of which can refuse:
 *
 *    1. the check applied to this run, passed somewhere, and no finding of this node or of the job concerns it
 *    2. a run of one node does not show a check that needs several nodes; except for a node that a script drained,
 * because the scripts measure one node alone, so that the fault showed there too
 *    3. where the check was skipped in some places, the part of the reason must have a value on this node
 *    4. the log does not have the event of the reason, and has all of this boot (event_logged)
 */
static int check_passed(const struct muster_report *report, const struct muster_node *node,
	const struct muster_drain_reason *reason, struct muster_error *err)
{
	const struct muster_tally *tally = muster_report_tally(report, reason->check);
	if (!tally || tally->skipped || tally->count[MUSTER_PASS] == 0 ||
		has_finding(report, node->name, reason->check))
		return not_evaluated(err, reason->check);
	if (reason->by == MUSTER_DRAINED_BY_PERSON && muster_run_known_nodes(report->run) < 2 &&
		needs_several_nodes(tally))
		return muster_fail(
			err, MUSTER_EUSAGE, "%s needs several nodes, and the report has only this one", reason->check);
	/* skipped in one place and passed in another: the tally does not say which of the two the fault was in */
	if (tally->count[MUSTER_SKIP] > 0 &&
		!(*reason->part && tally->metric && has_value_on_node(node, tally->metric, reason->part)))
		return not_evaluated(err, reason->check);
	return event_logged(report->run, node, tally->metric, reason, err);
}

/* What the reason names may also be no check of this report. Then a finding of that name must be absent, and in
 * addition:
 *
 *    probe.NAME                    the probe has ended well on all ranks of the node that ran it
 *    ring.*                        all-reduces with other nodes have ended well there
 *    rank.missing, node.missing    nothing more: the node is in the report
 *    all others                    never gone: a check that this report does not know was not evaluated
 */
bool muster_fault_is_gone(const struct muster_report *report, const char *name,
	const struct muster_drain_reason *reason, struct muster_error *err)
{
	const struct muster_node *node = find_node(report->run, name);
	const char *check = reason->check;
	bool gone;
	if (!node)
		return not_evaluated(err, check) == 0;
	if (muster_report_tally(report, check))
		return check_passed(report, node, reason, err) == 0;
	if (has_finding(report, name, check))
		gone = false;
	else if (strncmp(check, "probe.", 6) == 0)
		gone = probe_ended_well(node, check + 6, false);
	else if (strncmp(check, "ring.", 5) == 0) /* a faulty node or link, found by trial */
		gone = probe_ended_well(node, NULL, true);
	else
		gone = strcmp(check, "rank.missing") == 0 || strcmp(check, "node.missing") == 0;
	return gone || not_evaluated(err, check) == 0;
}
