/* SPDX-License-Identifier: Apache-2.0 */
/* anonymous.c - a report without names of nodes, users, files, addresses and virtual machines
 *
 * `muster report --anonymous` loads a report, calls muster_report_anonymise() and prints the report. Run and report are
 * changed in place, each name to the same replacement everywhere, so that the report is evaluated as before. The rows
 * of metrics and labels say what their texts identify (`identifies`).
 *
 * A value that is a name as a whole gets a replacement, "vm-3", which is known from then on (muster_anonymous_name). In
 * a sentence (muster_anonymous_text) paths, UUIDs and addresses are replaced wherever they stand, and words only if
 * they are known names. So all names of nodes are replaced before any text, and the run before the report.
 */
#include "muster/run_data.h"
#include "report/anonymous.h"
#include "muster/probe.h"
#include "slurm/hostlist.h"
#include "util/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The kind of name that the text of a metric is as a whole, and that is replaced in sentences about its values, too.
 * Other rows are 0, MUSTER_NAME_NODE: no whole name, and in sentences nothing further. */
static const enum muster_name_kind kinds[MUSTER_IDENTIFIES_COUNT] = {
	[MUSTER_IDENTIFIES_TEXT] = MUSTER_NAME_VALUE,
	[MUSTER_IDENTIFIES_JOBS] = MUSTER_NAME_VALUE,
	[MUSTER_IDENTIFIES_VM] = MUSTER_NAME_VM,
	[MUSTER_IDENTIFIES_HOST] = MUSTER_NAME_HOST,
	[MUSTER_IDENTIFIES_GROUP] = MUSTER_NAME_GROUP,
	[MUSTER_IDENTIFIES_REGION] = MUSTER_NAME_REGION,
	[MUSTER_IDENTIFIES_SERIAL] = MUSTER_NAME_SERIAL,
	[MUSTER_IDENTIFIES_FOLDER] = MUSTER_NAME_FOLDER,
	[MUSTER_IDENTIFIES_ADDRESS] = MUSTER_NAME_ADDRESS,
	[MUSTER_IDENTIFIES_PARTITIONS] = MUSTER_NAME_PARTITION,
	[MUSTER_IDENTIFIES_SWITCHES] = MUSTER_NAME_SWITCH,
	[MUSTER_IDENTIFIES_PROCESSES] = MUSTER_NAME_PROCESS,
};

/* Settings whose value may be anything; the others hold numbers, words of NCCL, paths, devices or addresses. */
static const char *const free_settings[] = { "NCCL_HOSTID", "NCCL_COMM_ID" };

struct walk {
	struct muster_anonymous_names *names;
	double lids[4096]; /* of port.lid: each is replaced by its place here, from 1; further ones by 0 */
	size_t lid_count;
};

static void change(struct walk *w, const char **text)
{
	*text = muster_anonymous_text(w->names, MUSTER_NAME_NODE, *text);
}

static void change_node_name(struct walk *w, const char **name)
{
	if (*name && strcmp(*name, "?") != 0)
		*name = muster_anonymous_name(w->names, MUSTER_NAME_NODE, *name);
}

/* Of the kernel's log, or of a library. */
static void change_line(struct walk *w, const char **line)
{
	*line = muster_anonymous_line(w->names, *line);
}

static double replace_lid(struct walk *w, double lid)
{
	size_t i = 0;
	while (i < w->lid_count && w->lids[i] != lid)
		i++;
	if (i == w->lid_count && i < sizeof w->lids / sizeof *w->lids)
		w->lids[w->lid_count++] = lid;
	return i < w->lid_count ? (double)(i + 1) : 0;
}

static bool is_free_setting(const struct muster_label *labels, size_t count)
{
	for (size_t l = 0; l < count; l++)
		for (size_t i = 0; i < sizeof free_settings / sizeof *free_settings; i++)
			if (labels[l].value.type == MUSTER_STRING &&
				strcmp(labels[l].value.string, free_settings[i]) == 0)
				return true;
	return false;
}

/* The value of a sample or a finding, as `identifies` of its metric says; metric NULL: the value stays. "not set" and
 * "none" are words of muster's own for the absence of a setting or of jobs. */
static struct muster_value replace_value(struct walk *w, const struct muster_metric *metric, struct muster_value value,
	const struct muster_label *labels, size_t label_count)
{
	enum muster_identifies what = metric ? metric->identifies : MUSTER_IDENTIFIES_NOTHING;
	if (what == MUSTER_IDENTIFIES_LID && value.type == MUSTER_NUMBER)
		value.number = replace_lid(w, value.number);
	if (value.type != MUSTER_STRING)
		return value;
	switch (what) {
	case MUSTER_IDENTIFIES_TEXT:
		if (is_free_setting(labels, label_count) && strcmp(value.string, "not set") != 0)
			value.string = muster_anonymous_parts(w->names, MUSTER_NAME_VALUE, value.string);
		else
			change(w, &value.string);
		break;
	case MUSTER_IDENTIFIES_JOBS:
		if (strcmp(value.string, "none") != 0)
			value.string = muster_anonymous_parts(w->names, MUSTER_NAME_VALUE, value.string);
		break;
	case MUSTER_IDENTIFIES_PARTITIONS: value.string = muster_anonymous_pkeys(w->names, value.string); break;
	case MUSTER_IDENTIFIES_SWITCHES:
		value.string = muster_anonymous_parts(w->names, MUSTER_NAME_SWITCH, value.string);
		break;
	case MUSTER_IDENTIFIES_LINE: change_line(w, &value.string); break;
	case MUSTER_IDENTIFIES_PROCESSES: value.string = muster_anonymous_processes(w->names, value.string); break;
	default:
		if (kinds[what] != MUSTER_NAME_NODE)
			value.string = muster_anonymous_name(w->names, kinds[what], value.string);
		break;
	}
	return value;
}

/* A label with a name of a node, with a text, or with a path, whatever its key is. */
static void change_label(struct walk *w, struct muster_label *label)
{
	const struct muster_label_row *row = muster_label_find(label->key);
	if (label->value.type != MUSTER_STRING)
		return;
	if (row && row->identifies == MUSTER_IDENTIFIES_NODE)
		change_node_name(w, &label->value.string);
	else if ((row && row->identifies == MUSTER_IDENTIFIES_TEXT) || label->value.string[0] == '/')
		change(w, &label->value.string);
}

/* The labels with their names replaced: a copy of the arena, since several samples may share the array. */
static const struct muster_label *replace_labels(
	struct walk *w, const struct muster_label *labels, size_t count, struct muster_arena *arena)
{
	struct muster_label *copy = count ? muster_arena_alloc(arena, count * sizeof *copy) : NULL;
	for (size_t i = 0; i < count; i++) {
		copy[i] = labels[i];
		change_label(w, &copy[i]);
	}
	return copy;
}

static void change_samples(struct walk *w, struct muster_samples *samples, struct muster_arena *arena)
{
	for (size_t i = 0; i < samples->count; i++) {
		struct muster_sample *sample = &samples->items[i];
		sample->value = replace_value(w, sample->metric, sample->value, sample->labels, sample->label_count);
		sample->labels = replace_labels(w, sample->labels, sample->label_count, arena);
		change(w, &sample->reason);
	}
}

static void change_rank(struct walk *w, struct muster_rank *rank, struct muster_arena *arena)
{
	change(w, &rank->gpu_uuid);
	change(w, &rank->missing);
	change(w, &rank->unfinished);
	change_samples(w, &rank->samples, arena);
	for (size_t i = 0; i < rank->outcomes.count; i++) {
		change(w, &rank->outcomes.items[i].detail);
		change(w, &rank->outcomes.items[i].step);
		change_line(w, &rank->outcomes.items[i].evidence);
	}
}

/* Names of nodes come first, because every later text may have them. */
static void change_run(struct walk *w, struct muster_run *run)
{
	for (size_t n = 0; n < run->node_count; n++)
		change_node_name(w, &run->nodes[n].name);
	if (run->job.id)
		run->job.id = "1";
	change(w, &run->job.interrupted);
	change_samples(w, &run->job.samples, run->arena);
	for (size_t n = 0; n < run->node_count; n++) {
		change_samples(w, &run->nodes[n].samples, run->arena);
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			change_rank(w, &run->nodes[n].ranks[r], run->arena);
	}
	for (size_t t = 0; t < run->trial_count; t++) {
		struct muster_trial *trial = &run->trials[t];
		const char **nodes = muster_arena_alloc(run->arena, (trial->node_count + 1) * sizeof *nodes);
		for (size_t i = 0; i < trial->node_count; i++) {
			nodes[i] = trial->nodes[i];
			change_node_name(w, &nodes[i]);
		}
		trial->nodes = nodes;
		change(w, &trial->why);
	}
}

static void change_report(struct walk *w, struct muster_report *report)
{
	change(w, &report->sku_origin);
	for (size_t i = 0; i < report->finding_count; i++) {
		struct muster_finding *finding = &report->findings[i];
		const struct muster_metric *metric = muster_metric_find(finding->metric);
		/* a sentence about the values of a name's kind may have the value itself */
		bool plain = metric && metric->identifies == MUSTER_IDENTIFIES_TEXT &&
			     !is_free_setting(finding->labels, finding->label_count);
		enum muster_name_kind kind = metric && !plain ? kinds[metric->identifies] : MUSTER_NAME_NODE;
		change_node_name(w, &finding->node);
		finding->value = replace_value(w, metric, finding->value, finding->labels, finding->label_count);
		finding->labels = replace_labels(w, finding->labels, finding->label_count, report->arena);
		finding->expected = muster_anonymous_text(w->names, kind, finding->expected);
		finding->observed = muster_anonymous_text(w->names, kind, finding->observed);
		finding->advice = muster_anonymous_text(w->names, kind, finding->advice);
		change_line(w, &finding->evidence);
		change(w, &finding->source);
	}
	for (size_t i = 0; i < report->tally_count; i++) {
		struct muster_tally *tally = &report->tallies[i];
		const struct muster_metric *metric = muster_metric_find(tally->metric);
		enum muster_name_kind kind = metric ? kinds[metric->identifies] : MUSTER_NAME_NODE;
		tally->expected = muster_anonymous_text(w->names, kind, tally->expected);
		tally->value = muster_anonymous_text(w->names, kind, tally->value);
		change(w, &tally->source);
		change(w, &tally->skipped);
		change(w, &tally->blocked_by);
	}
}

void muster_report_anonymise(struct muster_run *run, struct muster_report *report)
{
	struct walk *w = muster_arena_alloc(run->arena, sizeof *w);
	w->names = muster_anonymous_names_new(run->arena);
	change_run(w, run);
	change_report(w, report);
}

/* ---- replacements of names, and where a text holds a name ----
 *
 * The names are a hash table with chains, from kind and original text to the replacement.
 *
 * A text is read from left to right. At each place the forms are tried in this order: path, UUID, IPv4 address, address
 * with colons, word. The first one that fits is replaced, or written as it is where it is no name, and the reading goes
 * on behind it; where none fits, one byte is written. So, but for what follows "GPU-" and "MIG-", the middle of a word
 * is never taken for a name.
 */

struct name {
	struct name *next; /* of the same slot */
	enum muster_name_kind kind;
	const char *from, *to;
};

struct muster_anonymous_names {
	struct muster_arena *arena;
	struct name **slots; /* the arena's; a larger array takes its place when there are more names than slots */
	size_t slot_count, count;
	size_t kinds[MUSTER_NAME_KIND_COUNT]; /* replacements of each kind so far: the number of the last one */
};

enum { SLOTS_FIRST = 1024, UUID_LENGTH = MUSTER_UUID_TEXT_SIZE - 1, DEFAULT_PARTITION = 0x7fff };

/* What a number follows. NULL: the replacement has another form. */
static const char *const words[MUSTER_NAME_KIND_COUNT] = {
	[MUSTER_NAME_NODE] = "node",
	[MUSTER_NAME_VM] = "vm",
	[MUSTER_NAME_GROUP] = "placement-group",
	[MUSTER_NAME_REGION] = "region",
	[MUSTER_NAME_SWITCH] = "switch",
	[MUSTER_NAME_ADDRESS] = "address",
	[MUSTER_NAME_FOLDER] = "/folder",
	[MUSTER_NAME_FILE] = "file",
	[MUSTER_NAME_HOST] = "host",
	[MUSTER_NAME_USER] = "user",
	[MUSTER_NAME_VALUE] = "value",
	[MUSTER_NAME_PROCESS] = "process",
	[MUSTER_NAME_SERIAL] = "serial",
};

struct muster_anonymous_names *muster_anonymous_names_new(struct muster_arena *arena)
{
	struct muster_anonymous_names *names = muster_arena_alloc(arena, sizeof *names);
	names->arena = arena;
	names->slot_count = SLOTS_FIRST;
	names->slots = muster_arena_alloc(arena, names->slot_count * sizeof *names->slots);
	return names;
}

static size_t hash_of(enum muster_name_kind kind, const char *text, size_t length)
{
	return (size_t)(muster_hash(text, length) ^ (uint64_t)kind);
}

static void grow(struct muster_anonymous_names *names)
{
	size_t count = 4 * names->slot_count;
	struct name **slots = muster_arena_alloc(names->arena, count * sizeof *slots);
	for (size_t i = 0; i < names->slot_count; i++) {
		for (struct name *next, *name = names->slots[i]; name; name = next) {
			struct name **slot = &slots[hash_of(name->kind, name->from, strlen(name->from)) % count];
			next = name->next;
			name->next = *slot;
			*slot = name;
		}
	}
	names->slots = slots;
	names->slot_count = count;
}

static const char *make(struct muster_arena *arena, enum muster_name_kind kind, size_t number)
{
	if (kind == MUSTER_NAME_UUID)
		return muster_arena_printf(arena, "00000000-0000-0000-0000-%012zu", number);
	if (kind == MUSTER_NAME_PARTITION)
		return muster_arena_printf(arena, "0x%04zx", number);
	return muster_arena_printf(arena, "%s-%zu", words[kind], number);
}

/* The replacement of a name that has been replaced before; else NULL. Nothing is added. */
static const char *name_known(
	const struct muster_anonymous_names *names, enum muster_name_kind kind, const char *text, size_t length)
{
	const struct name *name = names->slots[hash_of(kind, text, length) % names->slot_count];
	while (name && (name->kind != kind || strlen(name->from) != length || memcmp(name->from, text, length) != 0))
		name = name->next;
	return name ? name->to : NULL;
}

/* The replacement of the first `length` bytes of text, which is made if the name is new. */
static const char *replace(
	struct muster_anonymous_names *names, enum muster_name_kind kind, const char *text, size_t length)
{
	const char *known = name_known(names, kind, text, length);
	if (known)
		return known;
	if (names->count >= names->slot_count)
		grow(names);
	struct name *name = muster_arena_alloc(names->arena, sizeof *name);
	struct name **slot = &names->slots[hash_of(kind, text, length) % names->slot_count];
	*name = (struct name){ *slot, kind, muster_arena_string_n(names->arena, text, length),
		make(names->arena, kind, ++names->kinds[kind]) };
	*slot = name;
	names->count++;
	return name->to;
}

const char *muster_anonymous_name(struct muster_anonymous_names *names, enum muster_name_kind kind, const char *text)
{
	return replace(names, kind, text, strlen(text));
}

/* Of the 16 bits of a P_Key, the highest one says whether the port is a full member of the partition; the other 15 are
 * the partition. 0 and the default partition, which every fabric has, stay. */
const char *muster_anonymous_pkeys(struct muster_anonymous_names *names, const char *keys)
{
	const char *text = "";
	for (const char *at = keys; *at;) {
		size_t length = strcspn(at, " ");
		char *end;
		unsigned long key = strtoul(at, &end, 16), partition = key & DEFAULT_PARTITION;
		const char *key_text = muster_arena_string_n(names->arena, at, length);
		if (end == at + length && key <= 0xffff && partition != 0 && partition != DEFAULT_PARTITION) {
			char from[16];
			snprintf(from, sizeof from, "0x%04lx", partition);
			unsigned long to = strtoul(muster_anonymous_name(names, MUSTER_NAME_PARTITION, from), NULL, 16);
			key_text = muster_arena_printf(names->arena, "0x%04lx", (key & 0x8000) | to);
		}
		text = muster_arena_printf(names->arena, "%s%s%s", text, *text ? " " : "", key_text);
		at += length;
		at += *at == ' ';
	}
	return text;
}

/* ---- paths ---- */

/* What every machine has, and what the cloud's images have. Below these nothing is a user's choice. */
static const char *const common_folders[] = { "/usr/", "/lib/", "/lib64/", "/etc/", "/proc/", "/sys/", "/dev/",
	"/opt/microsoft/", NULL };

static bool begins_with_one_of(const char *text, const char *const *starts)
{
	while (*starts && strncmp(text, *starts, strlen(*starts)) != 0)
		starts++;
	return *starts != NULL;
}

/* Names of files that say what a file is, and nothing of who has it. */
static bool is_common_file(const char *name)
{
	static const char *const starts[] = { "lib", "Standard_", "family-", "common.json", "generic-nvidia.json",
		NULL };
	static const char *const ends[] = { "topo.xml", "graph.xml", NULL };
	for (const char *const *end = ends; *end; end++)
		if (muster_text_ends_in(name, *end))
			return true;
	return begins_with_one_of(name, starts);
}

/* A path with its folder and its file replaced, each by itself: "/folder-1/file-1.xml". A path in a folder that every
 * machine has, and one directly below "/", stays. */
static const char *replace_path(struct muster_anonymous_names *names, const char *text, size_t length)
{
	const char *path = muster_arena_string_n(names->arena, text, length), *slash = strrchr(path, '/');
	bool is_common =
		begins_with_one_of(path, common_folders) && strncmp(path, "/dev/shm/", 9) != 0; /* users write there */
	if (is_common || slash == path)
		return path;
	size_t folder = (size_t)(slash - path), rest = length - folder - 1;
	const char *extension = strrchr(slash, '.');
	if (rest == 0 || is_common_file(slash + 1))
		return muster_arena_printf(
			names->arena, "%s/%s", replace(names, MUSTER_NAME_FOLDER, path, folder), slash + 1);
	return muster_arena_printf(names->arena, "%s/%s%s", replace(names, MUSTER_NAME_FOLDER, path, folder),
		replace(names, MUSTER_NAME_FILE, slash + 1, rest), extension ? extension : "");
}

/* ---- what stands at a place of a text: the length of each form, 0 when it is none ---- */

/* An absolute path, or one that begins with "~/"; a full stop at its end is that of the sentence. before: the character
 * before text, NUL at the start. What follows a word, as in "GB/s", is no path. */
static size_t path_at(const char *text, char before)
{
	size_t length = strcspn(text, " \t\n'\"(),;<>|:");
	if (before && !strchr(" \t\n'\"=(:,;[<|", before))
		return 0;
	while (length > 0 && text[length - 1] == '.')
		length--;
	return (*text == '/' && length > 1 && text[1] != '/') || (*text == '~' && text[1] == '/') ? length : 0;
}

static size_t uuid_at(const char *text)
{
	for (size_t i = 0; i < UUID_LENGTH; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return 0;
	}
	return isalnum((unsigned char)text[UUID_LENGTH]) ? 0 : UUID_LENGTH;
}

/* Four numbers up to 255. Versions look the same, so a first number of 0 or 1 makes no address ("1.14.50.0"), nor do
 * numbers with a letter ("97.10.4A.00"), nor five of them. */
static size_t ipv4_at(const char *text)
{
	size_t at = 0;
	for (int part = 0; part < 4; part++) {
		size_t digits = strspn(text + at, "0123456789");
		long number = digits > 0 && digits <= 3 ? strtol(text + at, NULL, 10) : 256;
		if (number > 255 || (part == 0 && number < 2) || (part < 3 && text[at + digits] != '.'))
			return 0;
		at += digits + (part < 3);
	}
	return isalnum((unsigned char)text[at]) || (text[at] == '.' && isdigit((unsigned char)text[at + 1])) ? 0 : at;
}

/* An IPv6 or MAC address, a GID or GUID: three colons at least, where a PCI address and a time have two. */
static size_t colons_at(const char *text)
{
	size_t length = *text == ':' ? 0 : strspn(text, "0123456789abcdefABCDEF:"), colons = 0;
	for (size_t i = 0; i < length; i++)
		colons += text[i] == ':';
	while (length > 0 && text[length - 1] == ':')
		length--;
	return colons >= 3 && !isalnum((unsigned char)text[length]) ? length : 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.-", c)) || (unsigned char)c >= 0x80;
}

/* A word, or a list of host names as Slurm writes them: brackets with numbers belong to the word, "gpu-[07-08]". Full
 * stops and hyphens at the end do not. */
static size_t word_at(const char *text)
{
	size_t at = 0;
	for (;;) {
		while (is_word(text[at]))
			at++;
		size_t inside = text[at] == '[' && at > 0 ? strspn(text + at + 1, "0123456789,-") : 0;
		if (inside == 0 || text[at + 1 + inside] != ']')
			break;
		at += inside + 2;
	}
	while (at > 0 && (text[at - 1] == '.' || text[at - 1] == '-'))
		at--;
	return at;
}

/* The list "gpu-[07-08]" with each name replaced, "node-[1-2]"; NULL unless all of them are nodes. */
static const char *replace_list(struct muster_anonymous_names *names, const char *text, size_t length)
{
	struct muster_error err;
	const char *const *hosts;
	size_t count;
	if (muster_hostlist_expand(
		    muster_arena_string_n(names->arena, text, length), names->arena, &hosts, &count, &err) < 0)
		return NULL;
	const char **news = muster_arena_alloc(names->arena, (count + 1) * sizeof *news);
	for (size_t i = 0; i < count; i++)
		if (!(news[i] = name_known(names, MUSTER_NAME_NODE, hosts[i], strlen(hosts[i]))))
			return NULL;
	return muster_arena_take(names->arena, muster_hostlist_compress(news, count));
}

/* ":1234:5678 [" after a word: a line of NCCL's log, which begins with the host. */
static bool is_log_prefix(const char *text)
{
	for (int i = 0; i < 2; i++) {
		size_t digits = *text == ':' ? strspn(text + 1, "0123456789") : 0;
		if (digits == 0)
			return false;
		text += 1 + digits;
	}
	return strncmp(text, " [", 2) == 0;
}

/* What replaces the word; NULL when it stays. In this order: a node, with its domain or not; a list of nodes; a known
 * name of the kind; a host that begins a line of NCCL's log and a user in front of "@", even if the name is new. */
static const char *replace_word(
	struct muster_anonymous_names *names, enum muster_name_kind kind, const char *text, size_t length)
{
	const char *to = name_known(names, MUSTER_NAME_NODE, text, length);
	const char *dot = memchr(text, '.', length);
	if (!to && dot) /* with its domain */
		to = name_known(names, MUSTER_NAME_NODE, text, (size_t)(dot - text));
	if (!to && memchr(text, '[', length))
		to = replace_list(names, text, length);
	if (!to && kind == MUSTER_NAME_PARTITION && length == 6 && strncmp(text, "0x", 2) == 0)
		to = muster_anonymous_pkeys(names, muster_arena_string_n(names->arena, text, length));
	else if (!to && kind != MUSTER_NAME_NODE)
		to = name_known(names, kind, text, length);
	if (!to && dot && kind == MUSTER_NAME_SWITCH && name_known(names, kind, text, (size_t)(dot - text)))
		to = muster_anonymous_parts(names, kind, muster_arena_string_n(names->arena, text, length));
	if (!to && is_log_prefix(text + length))
		to = replace(names, MUSTER_NAME_HOST, text, length);
	if (!to && text[length] == '@')
		to = replace(names, MUSTER_NAME_USER, text, length);
	return to;
}

const char *muster_anonymous_text(struct muster_anonymous_names *names, enum muster_name_kind kind, const char *text)
{
	char *result = NULL;
	size_t length;
	if (!text)
		return NULL;
	FILE *out = muster_memory_open(&result, &length);
	for (const char *at = text; *at;) {
		const char *to = NULL;
		if ((length = path_at(at, at > text ? at[-1] : '\0')) > 0)
			to = replace_path(names, at, length);
		else if ((length = uuid_at(at)) > 0)
			to = strspn(at, "0-") >= length ? NULL : replace(names, MUSTER_NAME_UUID, at, length);
		else if ((length = ipv4_at(at)) > 0 || (length = colons_at(at)) > 0)
			to = replace(names, MUSTER_NAME_ADDRESS, at, length);
		else if ((length = word_at(at)) > 0)
			to = replace_word(names, kind, at, length);
		if (!to && (strncmp(at, "GPU-", 4) == 0 || strncmp(at, "MIG-", 4) == 0))
			length = 4; /* the prefix of a UUID stays, and what follows is read by itself */
		length = length ? length : 1;
		fwrite(to ? to : at, 1, to ? strlen(to) : length, out);
		at += length;
	}
	muster_memory_close(out);
	return muster_arena_take(names->arena, result);
}

const char *muster_anonymous_parts(struct muster_anonymous_names *names, enum muster_name_kind kind, const char *name)
{
	const char *text = "";
	for (const char *at = name; *at;) {
		size_t length = kind == MUSTER_NAME_SWITCH ? strcspn(at, ".") : word_at(at);
		text = length ? muster_arena_printf(names->arena, "%s%s", text, replace(names, kind, at, length))
			      : muster_arena_printf(names->arena, "%s%c", text, *at);
		at += length ? length : 1;
	}
	return text;
}

/* Of each process, the name behind its number and a user "uid1001" are made known; then its part of the list, up to the
 * semicolon, is read as a text of this kind, which replaces both. */
const char *muster_anonymous_processes(struct muster_anonymous_names *names, const char *list)
{
	const char *text = "";
	for (const char *at = list; *at;) {
		size_t digits = strspn(at, "0123456789"), length = strcspn(at, ";");
		const char *name = at + digits + 1, *user = memchr(at, '(', length);
		if (digits > 0 && at[digits] == ' ' && *name != '?')
			replace(names, MUSTER_NAME_PROCESS, name, strcspn(name, " ;"));
		if (user && strncmp(user + 1, "uid", 3) == 0)
			replace(names, MUSTER_NAME_PROCESS, user + 1, strcspn(user + 1, ");"));
		text = muster_arena_printf(names->arena, "%s%s", text,
			muster_anonymous_text(
				names, MUSTER_NAME_PROCESS, muster_arena_string_n(names->arena, at, length)));
		at += length;
		for (; *at == ';' || *at == ' '; at++)
			text = muster_arena_printf(names->arena, "%s%c", text, *at);
	}
	return text;
}
