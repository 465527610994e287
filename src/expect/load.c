/* load.c - expectation files: found, read, merged
 *
 * A file's parents come first, then the file, then the overlay: each a merge patch (RFC 7386) on what is there. What a
 * patch wants to remove must be there, or a mistyped name would silently remove nothing.
 */
#include "util/file.h"
#include "util/suggest.h"
#include "expect/load.h"
#include "expect/operators.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define CHAIN_MAX 8                /* a file and its parents */
#define LAYERS_MAX (CHAIN_MAX + 1) /* and the overlay */
#define SCHEMA_VERSION 1
#define MEMBERS_MAX 1024    /* of one object or array */
#define TEXT_BYTES_MAX 4096 /* of one key or string */
#define PROBLEMS_MAX 100    /* problems of one file and its parents */

struct stack {
	struct muster_layer layers[LAYERS_MAX]; /* in the order of reading: the file, its parents */
	size_t count;
	struct muster_problems *problems; /* NULL: the first one ends the reading */
};

static void stack_done(struct stack *stack)
{
	for (size_t i = 0; i < stack->count; i++) {
		free(stack->layers[i].path);
		muster_json_free(stack->layers[i].json);
	}
}

/* "a.json < b.json < c.json" from layers[start] on. */
static const char *chain_text(const struct stack *stack, size_t start, struct muster_arena *arena)
{
	const char *text = "";
	for (size_t i = start; i < stack->count; i++)
		text = muster_arena_printf(arena, "%s%s%s", text, *text ? " < " : "", stack->layers[i].path);
	return text;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

int muster_problem_take(struct muster_problems *problems, const struct muster_error *err)
{
	if (!problems || problems->count + 1 >= PROBLEMS_MAX)
		return -1;
	problems->count++;
	problems->tell(problems->arg, err->text);
	return 0;
}

/* Where a value stands; the top has no `up`. Spelled out only when something is wrong there. */
struct place {
	const struct place *up;
	const char *key; /* NULL: an array's element */
	size_t index;
};

static const char *place_text(const struct place *at, struct muster_arena *arena)
{
	if (!at->up)
		return "$";
	if (at->key)
		return muster_path_member(place_text(at->up, arena), at->key, arena);
	return muster_arena_printf(arena, "%s[%zu]", place_text(at->up, arena), at->index);
}

/* A problem of the layer's at that place; -1 when it ends the reading. */
static int place_problem(const struct muster_layer *layer, const struct place *at, const char *what,
	struct muster_problems *problems, struct muster_error *err)
{
	struct muster_arena *arena = muster_arena_new();
	muster_fail(err, MUSTER_EUSAGE, "%s: %s: %s", layer->path, place_text(at, arena), what);
	muster_arena_free(arena);
	return muster_problem_take(problems, err);
}

/* Limits of a file: within them, reading, merging and printing problems needs little time and memory for every
 * content. */
static int sizes_check(const struct muster_layer *layer, const struct muster_json *json, const struct place *at,
	struct muster_error *err)
{
	enum muster_json_type type = muster_json_type(json);
	struct place inner = { .up = at };
	char what[64];
	snprintf(what, sizeof what, "a string of more than %d bytes", TEXT_BYTES_MAX);
	if (type == MUSTER_JSON_STRING && strlen(muster_json_string(json)) > TEXT_BYTES_MAX)
		return place_problem(layer, at, what, NULL, err);
	if (type != MUSTER_JSON_ARRAY && type != MUSTER_JSON_OBJECT)
		return 0;
	for (json = muster_json_first(json); json; json = muster_json_next(json), inner.index++) {
		inner.key = type == MUSTER_JSON_OBJECT ? muster_json_key(json) : NULL;
		if (inner.key && strlen(inner.key) > TEXT_BYTES_MAX)
			return place_problem(layer, at, what, NULL, err);
		if (inner.index == MEMBERS_MAX) {
			snprintf(what, sizeof what, "more than %d members", MEMBERS_MAX);
			return place_problem(layer, at, what, NULL, err);
		}
		if (sizes_check(layer, json, &inner, err) < 0)
			return -1;
	}
	return 0;
}

/* What each file must say for itself, whatever it inherits. An overlay may leave it out, but not say anything else. */
static int layer_check(const struct muster_layer *layer, struct muster_problems *problems, struct muster_error *err)
{
	const struct muster_json *json = layer->json, *version;
	if (muster_json_type(json) != MUSTER_JSON_OBJECT)
		return muster_fail(err, MUSTER_EUSAGE, "%s: $: an object is needed, found %s", layer->path,
			muster_json_type_name(muster_json_type(json)));
	version = muster_json_member(json, "schema_version");
	if (!version && !layer->overlay) {
		muster_fail(err, MUSTER_EUSAGE, "%s: $.schema_version: missing, this muster reads version %d",
			layer->path, SCHEMA_VERSION);
		if (muster_problem_take(problems, err) < 0)
			return -1;
	}
	if (version &&
		(muster_json_type(version) != MUSTER_JSON_NUMBER || muster_json_number(version) < SCHEMA_VERSION ||
			muster_json_number(version) > SCHEMA_VERSION)) /* what another version means is not known */
		return muster_fail(err, MUSTER_EUSAGE, "%s: $.schema_version: this muster reads version %d only",
			layer->path, SCHEMA_VERSION);
	if (!muster_json_member(json, "name") && !layer->overlay) {
		muster_fail(err, MUSTER_EUSAGE, "%s: $.name: missing, each file needs its own name", layer->path);
		if (muster_problem_take(problems, err) < 0)
			return -1;
	}
	if (layer->overlay && muster_json_member(json, "extends")) {
		muster_fail(err, MUSTER_EUSAGE,
			"%s: $.extends: not allowed in an overlay, which is applied to the file of the machine type",
			layer->path);
		if (muster_problem_take(problems, err) < 0)
			return -1;
	}
	return 0;
}

/* Read one file and put it on the stack. */
static int layer_read(struct stack *stack, const char *path, bool overlay, struct muster_error *err)
{
	struct muster_layer layer = { .overlay = overlay };
	char *text;
	size_t length;
	if (muster_file_read(path, MUSTER_EXPECT_BYTES_MAX, &text, &length, err) < 0) {
		err->code = MUSTER_EUSAGE;
		return -1;
	}
	if (muster_json_parse(text, length, &layer.json, err) < 0) {
		free(text);
		err->code = MUSTER_EUSAGE;
		muster_wrap(err, "%s", path);
		return -1;
	}
	free(text);
	layer.path = muster_strdup(path);
	stack->layers[stack->count++] = layer;
	if (sizes_check(&layer, layer.json, &(const struct place){ 0 }, err) < 0)
		return -1;
	return layer_check(&stack->layers[stack->count - 1], stack->problems, err);
}

int muster_overlay_check(const char *path, struct muster_error *err)
{
	struct stack stack = { .count = 0 };
	int result = layer_read(&stack, path, true, err);
	stack_done(&stack);
	return result;
}

static bool same_file(const char *a, const char *b)
{
	char real_a[PATH_MAX], real_b[PATH_MAX];
	return realpath(a, real_a) && realpath(b, real_b) && strcmp(real_a, real_b) == 0;
}

/* The path of the file that `layer` extends, malloc'd: relative to the directory of the layer. *ret is NULL for
 * none. */
static int parent_path(const struct muster_layer *layer, char **ret, struct muster_error *err)
{
	const struct muster_json *extends = muster_json_member(layer->json, "extends");
	const char *parent;
	*ret = NULL;
	if (!extends)
		return 0;
	if (muster_json_type(extends) != MUSTER_JSON_STRING || !*muster_json_string(extends))
		return muster_fail(err, MUSTER_EUSAGE, "%s: $.extends: the path of a file is needed", layer->path);
	parent = muster_json_string(extends);
	if (parent[0] == '/')
		*ret = muster_strdup(parent);
	else
		*ret = muster_asprintf("%.*s%s", (int)(file_name(layer->path) - layer->path), layer->path, parent);
	if (access(*ret, R_OK) < 0)
		return muster_fail(err, MUSTER_EUSAGE, "%s: $.extends: %s: %s", layer->path, *ret, strerror(errno));
	return 0;
}

/* -1 when `path` is on the stack already, or the stack has no room for it. */
static int loop_check(const struct stack *stack, const char *path, struct muster_error *err)
{
	struct muster_arena *arena;
	for (size_t i = 0; i < stack->count; i++) {
		if (!same_file(path, stack->layers[i].path))
			continue;
		arena = muster_arena_new();
		muster_fail(err, MUSTER_EUSAGE, "%s: $.extends: a loop: %s < %s", stack->layers[stack->count - 1].path,
			chain_text(stack, i, arena), path);
		muster_arena_free(arena);
		return -1;
	}
	if (stack->count == CHAIN_MAX)
		return muster_fail(err, MUSTER_EUSAGE, "%s: $.extends: more than %d files extend each other",
			stack->layers[stack->count - 1].path, CHAIN_MAX);
	return 0;
}

/* The file and all its parents. */
static int chain_read(struct stack *stack, const char *path, struct muster_error *err)
{
	char *next = muster_strdup(path);
	int result = 0;
	while (next && result == 0) {
		char *at = next;

		next = NULL;
		if (loop_check(stack, at, err) < 0 || layer_read(stack, at, false, err) < 0 ||
			parent_path(&stack->layers[stack->count - 1], &next, err) < 0)
			result = -1;
		free(at);
	}
	free(next);
	return result;
}

static const char *key_at(const void *arg, size_t index)
{
	const struct muster_json *member = muster_json_first(arg);
	while (index--)
		member = muster_json_next(member);
	return muster_json_key(member);
}

/* Every null in patch must have something to remove. */
static int removals_check(const struct muster_layer *layer, const struct muster_json *target,
	const struct muster_json *patch, const struct place *at, struct muster_problems *problems,
	struct muster_error *err)
{
	bool target_is_object = target && muster_json_type(target) == MUSTER_JSON_OBJECT;
	if (muster_json_type(patch) != MUSTER_JSON_OBJECT)
		return 0;
	for (const struct muster_json *m = muster_json_first(patch); m; m = muster_json_next(m)) {
		const char *key = muster_json_key(m);
		const struct place inner = { .up = at, .key = key };
		const struct muster_json *old = target_is_object ? muster_json_member(target, key) : NULL;
		char near[256] = "", what[512];

		if (muster_json_type(m) == MUSTER_JSON_NULL && !old) {
			if (target_is_object)
				muster_suggest(key, muster_json_size(target), key_at, target, 3, near, sizeof near);
			snprintf(what, sizeof what, "cannot remove \"%.80s\": it does not exist%s%s%s", key,
				*near ? "; did you mean " : "", near, *near ? "?" : "");
			if (place_problem(layer, at, what, problems, err) < 0)
				return -1;
		}
		if (removals_check(layer, old, m, &inner, problems, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_path(const char *name)
{
	size_t length = strlen(name);
	return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

int muster_expect_names(const char *config_dir, struct muster_arena *arena, const char ***ret, size_t *ret_count,
	struct muster_error *err)
{
	struct muster_names names;
	if (muster_file_names(config_dir, ".json", alphasort, &names, err) < 0)
		return muster_fail(err, MUSTER_EUSAGE, "%s: %s", config_dir, strerror(errno));
	*ret = muster_arena_alloc(arena, (names.count + 1) * sizeof **ret);
	for (size_t i = 0; i < names.count; i++)
		(*ret)[i] = muster_arena_string_n(arena, names.items[i], strlen(names.items[i]) - strlen(".json"));
	*ret_count = names.count;
	muster_names_done(&names);
	return 0;
}

/* The member of that type; NULL when there is none. */
static const struct muster_json *member_of(const struct muster_json *json, const char *key, enum muster_json_type type)
{
	const struct muster_json *member =
		json && muster_json_type(json) == MUSTER_JSON_OBJECT ? muster_json_member(json, key) : NULL;
	return member && muster_json_type(member) == type ? member : NULL;
}

/* Whether the file's own identify gives its machine this name. A file that cannot be read answers to none: it is no
 * reason to refuse another. */
static bool answers_to(const char *path, const char *name)
{
	struct muster_json *json = NULL;
	const struct muster_json *sizes;
	struct muster_error ignored;
	char *text;
	size_t length;
	bool found = false;
	if (muster_file_read(path, MUSTER_EXPECT_BYTES_MAX, &text, &length, &ignored) < 0)
		return false;
	if (muster_json_parse(text, length, &json, &ignored) == 0) {
		sizes = member_of(member_of(json, "identify", MUSTER_JSON_OBJECT), "vm_size", MUSTER_JSON_ARRAY);
		for (const struct muster_json *e = sizes ? muster_json_first(sizes) : NULL; e; e = muster_json_next(e))
			found = found || (muster_json_type(e) == MUSTER_JSON_STRING &&
						 strcasecmp(muster_json_string(e), name) == 0);
	}
	muster_json_free(json);
	free(text);
	return found;
}

/* The file called `name` in the directory, else one whose machine is called so by the metadata service, whatever the
 * case; malloc'd. */
static int name_find(const char *config_dir, const char *name, char **ret, struct muster_error *err)
{
	struct muster_arena *arena = muster_arena_new();
	const char **names, *found = NULL, *list = "";
	size_t count;
	if (muster_expect_names(config_dir, arena, &names, &count, err) < 0) {
		muster_arena_free(arena);
		return -1;
	}
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(names[i], name) == 0 && (!found || strcmp(names[i], name) == 0))
			found = names[i];
	for (size_t i = 0; i < count && !found; i++)
		if (answers_to(muster_arena_printf(arena, "%s/%s.json", config_dir, names[i]), name))
			found = names[i];
	if (found) {
		*ret = muster_asprintf("%s/%s.json", config_dir, found);
	} else {
		for (size_t i = 0; i < count; i++)
			list = muster_arena_printf(arena, "%s%s%s", list, i ? ", " : "", names[i]);
		muster_fail(err, MUSTER_ENOTSUPPORTED, "no expectations for \"%.80s\" in %s; there are: %s", name,
			config_dir, count ? list : "none");
	}
	muster_arena_free(arena);
	return found ? 0 : -1;
}

/* Parents first, each laid over what is there. */
static int layers_merge(const struct muster_layer *layers, size_t count, struct muster_json **ret,
	struct muster_problems *problems, struct muster_error *err)
{
	const struct place top = { 0 };
	struct muster_json *merged = NULL;
	int failed = muster_json_parse("{}", strlen("{}"), &merged, err);
	for (size_t i = 0; i < count && !failed; i++) {
		failed = removals_check(&layers[i], merged, layers[i].json, &top, problems, err);
		if (!failed)
			merged = muster_json_merge(merged, layers[i].json);
	}
	if (failed)
		muster_json_free(merged);
	else
		*ret = merged;
	return failed;
}

/* The files' paths, the overlay first, then the file, then its parents. */
static void files_name(struct muster_expect *expect, const struct stack *stack, bool overlay)
{
	size_t count = stack->count;
	expect->files = muster_arena_alloc(expect->arena, count * sizeof *expect->files);
	expect->file_count = count;
	expect->origin = "";
	for (size_t i = 0; i < count; i++) {
		size_t from = overlay ? (i + count - 1) % count : i; /* read last, but on top of all */

		expect->files[i] = muster_arena_string(expect->arena, stack->layers[from].path);
		expect->origin =
			muster_arena_printf(expect->arena, "%s%s%s", expect->origin, i ? " < " : "", expect->files[i]);
	}
}

static int load(const char *config_dir, const char *name, const char *overlay, struct muster_problems *problems,
	struct muster_expect *ret, struct muster_error *err)
{
	struct stack stack = { .problems = problems };
	struct muster_layer ordered[LAYERS_MAX];
	struct muster_json *merged = NULL;
	struct muster_expect expect = { 0 };
	char *path = NULL;
	int failed;
	if (is_path(name))
		path = muster_strdup(name);
	else if (name_find(config_dir, name, &path, err) < 0)
		return -1;
	expect.arena = muster_arena_new();
	failed = chain_read(&stack, path, err);
	free(path);
	for (size_t i = 0; i < stack.count; i++)
		ordered[i] = stack.layers[stack.count - 1 - i];
	if (!failed && overlay) {
		failed = layer_read(&stack, overlay, true, err);
		ordered[stack.count - 1] = stack.layers[stack.count - 1];
	}
	failed = failed || layers_merge(ordered, stack.count, &merged, problems, err) < 0 ||
		 muster_expect_parse(merged, ordered, stack.count, &expect, problems, err) < 0;
	if (!failed) {
		files_name(&expect, &stack, overlay != NULL);
		*ret = expect;
	} else {
		muster_expect_done(&expect);
	}
	muster_json_free(merged);
	stack_done(&stack);
	return failed ? -1 : 0;
}

int muster_expect_load(const char *config_dir, const char *name, const char *overlay, struct muster_expect *ret,
	struct muster_error *err)
{
	return load(config_dir, name, overlay, NULL, ret, err);
}

size_t muster_expect_lint(
	const char *config_dir, const char *name, const char *overlay, muster_problem_fn *tell, void *arg)
{
	struct muster_problems problems = { .tell = tell, .arg = arg };
	struct muster_expect expect = { 0 };
	struct muster_error err;

	/* What ends the reading all the same (no file, bad syntax) is the last problem. */
	if (load(config_dir, name, overlay, &problems, &expect, &err) < 0) {
		problems.count++;
		tell(arg, err.text);
	}
	if (problems.count == PROBLEMS_MAX) {
		muster_fail(&err, MUSTER_EUSAGE, "%s: there may be more problems: the check stops after %d", name,
			PROBLEMS_MAX);
		tell(arg, err.text);
	}
	muster_expect_done(&expect);
	return problems.count;
}

void muster_expect_done(struct muster_expect *expect)
{
	for (size_t i = 0; i < expect->check_count; i++)
		muster_check_done(&expect->checks[i]);
	muster_arena_free(expect->arena);
	*expect = (struct muster_expect){ 0 };
}
