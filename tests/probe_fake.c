/* SPDX-License-Identifier: Apache-2.0 */
/* probe_fake.c - a probe's context without a worker: its sink keeps every sample */
#include "probe_fake.h"
#include "temporary_root.h"

#include <check.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void take_sample(void *arg, const struct muster_sample *sample)
{
	struct probe_fake *fake = arg;
	const char *name = sample->metric->name;
	struct muster_label *labels = muster_arena_alloc(fake->arena, (sample->label_count + 1) * sizeof *labels);
	for (size_t i = 0; i < sample->label_count; i++) {
		labels[i] = sample->labels[i];
		if (labels[i].value.type == MUSTER_STRING)
			labels[i].value.string = muster_arena_string(fake->arena, labels[i].value.string);
	}
	for (size_t i = 0; i < fake->samples.count; i++) {
		const struct muster_sample *old = &fake->samples.items[i];
		bool same = old->metric == sample->metric;
		for (size_t j = 0; same && j < sample->label_count; j++)
			same = muster_value_equal(old->labels[j].value, labels[j].value);
		if (same && fake->ctx.env.repeats <= 1)
			ck_abort_msg("%s was yielded twice", name);
	}
	struct muster_sample kept = *sample;
	if (kept.value_count > 0)
		kept.values = memcpy(muster_arena_alloc(fake->arena, kept.value_count * sizeof *kept.values),
			kept.values, kept.value_count * sizeof *kept.values);
	kept.labels = labels;
	kept.reason = muster_arena_string(fake->arena, sample->reason);
	if (kept.value.type == MUSTER_STRING)
		kept.value.string = muster_arena_string(fake->arena, kept.value.string);
	muster_samples_add(&fake->samples, kept);
}

static void take_step(void *arg, const char *text)
{
	struct probe_fake *fake = arg;
	ck_assert_msg(*text, "a step without words");
	fake->steps = muster_arena_printf(fake->arena, "%s%s\n", fake->steps, text);
}

static int cancelled(void *arg, struct muster_error *err)
{
	struct probe_fake *fake = arg;
	return fake->cancelled ? muster_fail(err, MUSTER_ECALLEDOFF, "cancelled: %s", fake->cancelled) : 0;
}

static void evidence(void *arg, const char *text)
{
	struct probe_fake *fake = arg;
	snprintf(fake->evidence, sizeof fake->evidence, "%s", text);
}

static void failing(void *arg, const struct muster_error *err)
{
	struct probe_fake *fake = arg;
	ck_assert_int_ne(err->code, MUSTER_OK);
	fake->given_up++;
}

static void broken(void *arg, const char *why)
{
	(void)arg;
	ck_abort_msg("%s", why);
}

static const struct muster_probe_sink sink = {
	.sample = take_sample,
	.step = take_step,
	.cancelled = cancelled,
	.evidence = evidence,
	.failing = failing,
	.broken = broken,
};

struct probe_fake *fake_new(const struct muster_probe *probe)
{
	struct probe_fake *fake = muster_calloc(1, sizeof *fake);
	fake->ctx = (struct muster_probe_ctx){ .probe = probe, .sink = &sink, .arg = fake };
	fake->arena = muster_arena_new();
	fake->steps = "";
	temporary_root_make_in_memory(fake->root, sizeof fake->root, "probe");
	fake->gpu = (struct muster_gpu){
		.cuda_device = -1, .visible = 0, .choice = "none", .why_none = "CUDA shows no GPU"
	};
	fake->peers[0] = (struct muster_peer){ .gpu_bus_id = "", .gpu_uuid = "" };
	fake->ctx.env = (struct muster_probe_env){ .ranks = 1,
		.local_ranks = 1,
		.nodes = 1,
		.node_name = "node-1",
		.leader = true,
		.in_job = true,
		.peers = fake->peers,
		.peer_count = 1,
		.profile = MUSTER_QUICK,
		.root = fake->root,
		.gpu = &fake->gpu };
	return fake;
}

void fake_free(struct probe_fake *fake)
{
	temporary_root_remove(fake->root);
	muster_samples_done(&fake->samples);
	muster_arena_free(fake->arena);
	free(fake);
}

void fake_gpu(struct probe_fake *fake, const char *bus_id, const char *uuid)
{
	fake->gpu = (struct muster_gpu){ .cuda_device = 0, .visible = 1, .choice = "only-visible" };
	snprintf(fake->gpu.bus_id, sizeof fake->gpu.bus_id, "%s", bus_id);
	snprintf(fake->gpu.uuid, sizeof fake->gpu.uuid, "%s", uuid);
	fake->peers[0].gpu_bus_id = fake->gpu.bus_id;
	fake->peers[0].gpu_uuid = fake->gpu.uuid;
}

void fake_forget(struct probe_fake *fake)
{
	muster_samples_done(&fake->samples);
	fake->samples = (struct muster_samples){ 0 };
	fake->steps = "";
}

void fake_file(struct probe_fake *fake, const char *path, const char *text)
{
	char whole[4096];
	snprintf(whole, sizeof whole, "%s%s", fake->root, path);
	temporary_root_make_folders(fake->root, whole);
	if (!text) {
		ck_assert_int_eq(mkdir(whole, 0755), 0);
		return;
	}
	FILE *out = fopen(whole, "we");
	ck_assert_msg(out != NULL, "%s cannot be written", whole);
	fputs(text, out);
	ck_assert_int_eq(fclose(out), 0);
}

static bool is_label(const struct muster_sample *sample, size_t index, const char *text)
{
	return !text || (index < sample->label_count && sample->labels[index].value.type == MUSTER_STRING &&
				strcmp(sample->labels[index].value.string, text) == 0);
}

const struct muster_sample *fake_sample(
	struct probe_fake *fake, const char *metric, const char *label, const char *other)
{
	for (size_t i = 0; i < fake->samples.count; i++) {
		const struct muster_sample *sample = &fake->samples.items[i];
		if (strcmp(sample->metric->name, metric) == 0 && is_label(sample, 0, label) &&
			is_label(sample, 2, other))
			return sample;
	}
	ck_abort_msg("no sample of %s for %s", metric, label ? label : "anything");
	return NULL;
}

size_t fake_count(struct probe_fake *fake, const char *metric)
{
	size_t count = 0;
	for (size_t i = 0; i < fake->samples.count; i++)
		count += strcmp(fake->samples.items[i].metric->name, metric) == 0;
	return count;
}

static struct muster_value value_of(
	struct probe_fake *fake, const char *metric, const char *label, enum muster_type type)
{
	const struct muster_sample *sample = fake_sample(fake, metric, label, NULL);
	ck_assert_msg(sample->value.type == type, "%s is %s (%s), not %s", metric, muster_type_name(sample->value.type),
		sample->reason ? sample->reason : "", muster_type_name(type));
	return sample->value;
}

double fake_number(struct probe_fake *fake, const char *metric, const char *label)
{
	return value_of(fake, metric, label, MUSTER_NUMBER).number;
}

const char *fake_string(struct probe_fake *fake, const char *metric, const char *label)
{
	return value_of(fake, metric, label, MUSTER_STRING).string;
}

bool fake_boolean(struct probe_fake *fake, const char *metric, const char *label)
{
	return value_of(fake, metric, label, MUSTER_BOOLEAN).boolean;
}

const char *fake_reason(struct probe_fake *fake, const char *metric, const char *label)
{
	const struct muster_sample *sample = fake_sample(fake, metric, label, NULL);
	ck_assert_msg(sample->value.type == MUSTER_NULL, "%s is not null", metric);
	return sample->reason;
}

/* ---- cases as rows ---- */

static char *copy_text(struct probe_fake *fake, const char *text)
{
	size_t size = strlen(text) + 1;
	return memcpy(muster_arena_alloc(fake->arena, size), text, size);
}

/* Cut the next word off at " | ". */
static char *next_word(char **rest)
{
	char *word = *rest, *bar = word ? strstr(word, " | ") : NULL;
	*rest = bar ? bar + 3 : NULL;
	if (bar)
		*bar = '\0';
	return word && *word ? word : NULL;
}

static const struct fake_knob *find_knob(struct probe_fake *fake, const char *name)
{
	struct muster_probe_env *env = &fake->ctx.env;
	const struct fake_knob common[] = { FAKE_KNOB("rank", env->rank), FAKE_KNOB("ranks", env->ranks),
		FAKE_KNOB("local_rank", env->local_rank), FAKE_KNOB("local_ranks", env->local_ranks),
		FAKE_KNOB("nodes", env->nodes), FAKE_KNOB("leader", env->leader), FAKE_KNOB("in_job", env->in_job),
		FAKE_KNOB("peers", env->peer_count), FAKE_KNOB("visible", fake->gpu.visible),
		FAKE_KNOB("cuda_device", fake->gpu.cuda_device), FAKE_KNOB("has_nvml", fake->gpu.has_nvml),
		FAKE_KNOB("profile", env->profile), FAKE_KNOB("shared", env->shared),
		FAKE_KNOB("storage", env->storage), FAKE_KNOB("storage_path", env->storage_path),
		FAKE_KNOB("min_bytes", env->min_bytes), FAKE_KNOB("max_bytes", env->max_bytes),
		FAKE_KNOB("storage_bytes", env->storage_bytes), FAKE_KNOB("cancelled", fake->cancelled),
		FAKE_KNOB("given_up", fake->given_up), FAKE_KNOB("steps_wanted", env->steps),
		FAKE_KNOB("long_steps", env->long_steps), FAKE_KNOB("repeats", env->repeats),
		FAKE_KNOB("visit", env->visit), FAKE_KNOB("samples", fake->samples.count) };
	static struct fake_knob found;
	for (const struct fake_knob *knob = fake->knobs; knob && knob->name; knob++)
		if (strcmp(knob->name, name) == 0)
			return knob;
	for (size_t i = 0; i < sizeof common / sizeof *common; i++)
		if (strcmp(common[i].name, name) == 0)
			return (found = common[i], &found);
	ck_abort_msg("no knob is called %s", name);
}

static void set_knob(struct probe_fake *fake, const char *name, const char *text)
{
	char *end = "";
	if (strcmp(name, "uuid") == 0 && fake->gpu.visible == 1) {
		snprintf(fake->gpu.uuid, sizeof fake->gpu.uuid, "%s", text);
		return;
	}
	if (strcmp(name, "why_shared") == 0) {
		snprintf(fake->gpu.why_shared, sizeof fake->gpu.why_shared, "%s", text);
		return;
	}
	const struct fake_knob *knob = find_knob(fake, name);
	if (knob->type == 's')
		*(const char **)knob->place = text;
	else if (knob->type == 'd')
		*(double *)knob->place = strtod(text, &end);
	else if (knob->type == 'l')
		*(unsigned long long *)knob->place = strtoull(text, &end, 0);
	else if (knob->type == 'b')
		*(bool *)knob->place = strtol(text, &end, 0) != 0;
	else
		*(int *)knob->place = (int)strtol(text, &end, 0);
	ck_assert_msg(*end == '\0', "%s=%s", name, text);
}

static double read_knob(const struct fake_knob *knob)
{
	return knob->type == 'd'   ? *(double *)knob->place
	       : knob->type == 'l' ? (double)*(unsigned long long *)knob->place
	       : knob->type == 'b' ? *(bool *)knob->place
				   : *(int *)knob->place;
}

static void give_file(struct probe_fake *fake, char *path)
{
	char whole[4096], *arrow = strstr(path, "->"), *equals = strchr(path, '=');
	if (!arrow && !equals) {
		path[strlen(path) - 1] = '\0';
		fake_file(fake, path, NULL);
	} else if (arrow) {
		*arrow = '\0';
		snprintf(whole, sizeof whole, "%s%s", fake->root, path);
		temporary_root_make_folders(fake->root, whole);
		ck_assert_int_eq(symlink(arrow + 2, whole), 0);
	} else {
		*equals = '\0';
		fake_file(fake, path, muster_arena_printf(fake->arena, "%s\n", equals + 1));
	}
}

void fake_run(struct probe_fake *fake)
{
	fake->result = fake->ctx.probe->run(&fake->ctx, &fake->error);
	fake->was_run = true;
}

static void run_phase(struct probe_fake *fake, const char *word)
{
	fake->was_run = true;
	if (strcmp(word, "begin") == 0) {
		fake->ctx.probe->begin(&fake->ctx);
	} else if (strcmp(word, "run") == 0) {
		fake_run(fake);
	} else if (strcmp(word, "together") == 0) {
		fake->result = fake->ctx.probe->together(&fake->ctx, &fake->error);
	} else if (strcmp(word, "finish") == 0) {
		ck_assert_msg(fake->result == 0, "%s", fake->error.text);
		fake->result = fake->ctx.probe->finish(&fake->ctx, &fake->error);
	} else {
		ck_assert_str_eq(word, "forget");
		fake_forget(fake);
	}
}

void fake_given(struct probe_fake *fake, const char *given)
{
	char *rest = copy_text(fake, given ? given : ""), whole[4096];
	for (char *word; (word = next_word(&rest));) {
		char *equals = strchr(word, '=');
		if (*word == '/') {
			give_file(fake, word);
		} else if (strncmp(word, "-/", 2) == 0) {
			snprintf(whole, sizeof whole, "%s%s", fake->root, word + 1);
			ck_assert_msg(remove(whole) == 0, "%s", word);
		} else if (*word == '-') {
			unsetenv(word + 1);
		} else if (!equals) {
			run_phase(fake, word);
		} else {
			*equals = '\0';
			if (isupper((unsigned char)*word))
				setenv(word, equals + 1, 1);
			else
				set_knob(fake, word, equals + 1);
		}
	}
}

static bool matches(const char *text, const char *pattern)
{
	for (; *pattern && *pattern != '*'; pattern++, text++)
		if (*text != *pattern && !(*text && *pattern == '?'))
			return false;
	if (!*pattern)
		return !*text;
	for (; *text; text++)
		if (matches(text, pattern + 1))
			return true;
	return matches(text, pattern + 1);
}

static bool number_fits(double number, const char *expected)
{
	char *end;
	bool least = strncmp(expected, ">=", 2) == 0, most = strncmp(expected, "<=", 2) == 0, more = *expected == '>';
	double limit = strtod(expected + (least || most ? 2 : more ? 1 : 0), &end);
	double tolerance = *end == '~' ? strtod(end + 1, &end) : 0;
	ck_assert_msg(*end == '\0', "%s is no number", expected);
	return least  ? number >= limit
	       : most ? number <= limit
	       : more ? number > limit
		      : fabs(number - limit) <= tolerance;
}

/* "[1 2.5]": each to a thousandth. */
static bool windows_fit(const struct muster_sample *sample, const char *expected)
{
	const double *values = sample->value_count > 0 ? sample->values : &sample->value.number;
	char *end = (char *)(uintptr_t)expected + 1;
	for (size_t i = 0; i < (sample->value_count > 0 ? sample->value_count : 1); i++) {
		double wanted = strtod(end, &end);
		if (fabs(values[i] - wanted) > fabs(wanted) / 1e3)
			return false;
	}
	return sample->value.type == MUSTER_NUMBER && *end == ']';
}

static bool value_fits(const struct muster_sample *sample, const char *expected)
{
	struct muster_value value = sample->value;
	if (*expected == '[')
		return windows_fit(sample, expected);
	bool word = strcmp(expected, "true") == 0 || strcmp(expected, "false") == 0;
	if (*expected == '\'')
		return value.type == MUSTER_STRING && matches(value.string, expected + 1);
	if (*expected == '!' || (*expected == '-' && !isdigit((unsigned char)expected[1])))
		return value.type == MUSTER_NULL && (*expected == '-' || muster_sample_unread(sample)) &&
		       matches(sample->reason ? sample->reason : "", expected + 1);
	if (word)
		return value.type == MUSTER_BOOLEAN && value.boolean == (*expected == 't');
	return value.type == MUSTER_NUMBER && number_fits(value.number, expected);
}

static bool has_labels(const struct probe_fake *fake, const struct muster_sample *sample, char *const *labels,
	size_t count, bool any_place)
{
	if (fake->place && count == 0 && !any_place && sample->label_count > 0 && !is_label(sample, 0, fake->place))
		return false;
	for (size_t i = 0; i < count; i++) {
		char text[64], key[64];
		size_t length = strcspn(labels[i], "=");
		snprintf(key, sizeof key, "%.*s", (int)length, labels[i]);
		const struct muster_value *value = muster_sample_label(sample, key);
		if (!value || strcmp(muster_value_text(*value, text, sizeof text), labels[i] + length + 1) != 0)
			return false;
	}
	return true;
}

/* "METRIC [LABEL=TEXT]... VALUE" */
static void expect_sample(struct probe_fake *fake, char *word, const char *name)
{
	char *labels[MUSTER_LABELS_MAX], *value = strchr(word, ' ');
	const char *whole = muster_arena_string(fake->arena, word);
	size_t label_count = 0, count = 0;
	const struct muster_sample *first = NULL;
	while (value && (*value++ = '\0', islower((unsigned char)*value)) && value[strcspn(value, " =")] == '=') {
		labels[label_count++] = value;
		value = strchr(value, ' ');
		for (char *gap = labels[label_count - 1]; (gap = strchr(gap, '~')) && (!value || gap < value);)
			*gap = ' ';
	}
	ck_assert_msg(value != NULL, "%s: no value in %s", name, whole);
	for (size_t i = 0; i < fake->samples.count; i++) {
		const struct muster_sample *sample = &fake->samples.items[i];
		if (strcmp(sample->metric->name, word) != 0 ||
			!has_labels(fake, sample, labels, label_count, *value == '#'))
			continue;
		first = first ? first : sample;
		count++;
	}
	if (*value == '#') {
		ck_assert_msg(number_fits((double)count, value + 1), "%s: %s: there are %zu", name, whole, count);
		return;
	}
	ck_assert_msg(first != NULL, "%s: no sample of %s", name, whole);
	char text[64];
	ck_assert_msg(value_fits(first, value), "%s: %s, not %s %s", name, whole,
		muster_value_text(first->value, text, sizeof text), first->reason ? first->reason : "");
}

/* The steps, with "; " between two. */
static const char *steps_text(struct probe_fake *fake)
{
	const char *text = "";
	char *rest = copy_text(fake, fake->steps);
	for (char *line; (line = strtok_r(rest, "\n", &rest));)
		text = muster_arena_printf(fake->arena, "%s%s%s", text, *text ? "; " : "", line);
	return text;
}

/* "KNOB VALUE", "steps 'TEXT", "error 'TEXT" */
static void expect_word(struct probe_fake *fake, char *word, const char *name)
{
	char *value = strchr(word, ' ');
	ck_assert_msg(value != NULL, "%s: no value in %s", name, word);
	*value++ = '\0';
	const char *text = strcmp(word, "error") == 0      ? fake->error.text
			   : strcmp(word, "code") == 0     ? muster_code_name(fake->error.code)
			   : strcmp(word, "evidence") == 0 ? fake->evidence
			   : strcmp(word, "steps") == 0    ? steps_text(fake)
							   : NULL;
	const struct fake_knob *knob = text ? NULL : find_knob(fake, word);
	if (knob && knob->type == 's')
		text = *(const char **)knob->place;
	if (text)
		ck_assert_msg(matches(text, value + 1), "%s: %s is \"%s\", not %s", name, word, text, value);
	else
		ck_assert_msg(number_fits(read_knob(knob), value), "%s: %s is %g, not %s", name, word, read_knob(knob),
			value);
}

void fake_expect(struct probe_fake *fake, const char *expected, const char *name)
{
	char *rest = copy_text(fake, expected);
	bool fails = strncmp(expected, "error ", 6) == 0 || strstr(expected, " | error ");
	ck_assert_msg((fake->result < 0) == fails, "%s: the run %s: %s", name, fails ? "succeeded" : "failed",
		fails ? "" : fake->error.text);
	for (char *word; (word = next_word(&rest));)
		if (memchr(word, '.', strcspn(word, " ")))
			expect_sample(fake, word, name);
		else
			expect_word(fake, word, name);
}

void fake_case(struct probe_fake *fake, const struct fake_row *row)
{
	fake_given(fake, row->given);
	if (!fake->was_run)
		fake_run(fake);
	fake_expect(fake, row->expected, row->name);
}

void fake_complete(struct probe_fake *fake, const char *const *except)
{
	for (size_t i = 0; i < fake->ctx.probe->metric_count; i++) {
		const char *metric = fake->ctx.probe->metrics[i].name;
		bool excepted = fake->ctx.probe->metrics[i].lowest_of != NULL; /* derived from those of ranks */
		for (size_t j = 0; except && except[j]; j++)
			excepted = excepted || strcmp(except[j], metric) == 0;
		ck_assert_msg(excepted || fake_count(fake, metric) > 0, "%s was left out", metric);
	}
}
