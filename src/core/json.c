/* json.c - reading and writing JSON; the only file that knows cJSON
 *
 * cJSON is lenient: it takes bad UTF-8, control characters, numbers such as 01 or 1e999, duplicate keys, and calls
 * itself for every level. A scan before and a walk after it make up for that.
 */
#include "json.h"

#include "core/text.h"
#include "muster/pool.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(MUSTER_JSON_DEPTH_MAX < CJSON_NESTING_LIMIT, "our limit answers first");

static const cJSON *node(const struct muster_json *json)
{
	return (const cJSON *)json;
}

static const struct muster_json *json_of(const cJSON *item)
{
	return (const struct muster_json *)item;
}

/* A tree lives in a pool of its own: cJSON's allocations go to the pool of the tree at hand and are never freed one by
 * one. A root has no key, so its key slot keeps the pool. */
static struct muster_pool *pool_at_hand;

static void *pool_malloc(size_t size)
{
	return muster_pool_alloc(pool_at_hand, size);
}

static void pool_free(void *memory)
{
	(void)memory;
}

static void use_pool(struct muster_pool *pool)
{
	cJSON_Hooks hooks = { .malloc_fn = pool_malloc, .free_fn = pool_free };
	pool_at_hand = pool;
	cJSON_InitHooks(&hooks);
}

static int fail_at(const char *text, size_t at, struct muster_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static int fail_at(const char *text, size_t at, struct muster_error *err, const char *format, ...)
{
	size_t line = 1, column = 1;
	for (size_t i = 0; i < at; i++) {
		column = text[i] == '\n' ? 1 : column + 1;
		line += text[i] == '\n';
	}
	char what[256];
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	return muster_fail(err, MUSTER_EUSAGE, "line %zu, column %zu: %s", line, column, what);
}

static size_t skip_digits(const char *text, size_t at, size_t length)
{
	while (at < length && text[at] >= '0' && text[at] <= '9')
		at++;
	return at;
}

/* The end of the number that starts at `at` by JSON's grammar (RFC 8259, section 6), or `at` if it is none. */
static size_t number_end(const char *text, size_t at, size_t length)
{
	size_t start = at;
	if (text[at] == '-')
		at++;
	size_t digits = skip_digits(text, at, length);
	if (digits == at || (text[at] == '0' && digits > at + 1))
		return start;
	at = digits;
	if (at < length && text[at] == '.') {
		digits = skip_digits(text, at + 1, length);
		if (digits == at + 1)
			return start;
		at = digits;
	}
	if (at < length && (text[at] == 'e' || text[at] == 'E')) {
		size_t exponent = at + 1;
		if (exponent < length && (text[exponent] == '+' || text[exponent] == '-'))
			exponent++;
		digits = skip_digits(text, exponent, length);
		if (digits == exponent)
			return start;
		at = digits;
	}
	return at;
}

/* The end of the string whose opening quote is at `at`; -1 with err when it is malformed. */
static int string_end(const char *text, size_t at, size_t length, size_t *ret, struct muster_error *err)
{
	size_t start = at++;
	while (at < length && text[at] != '"') {
		unsigned char c = (unsigned char)text[at];
		if (c < 0x20)
			return fail_at(
				text, at, err, "control character 0x%02x in a string (write it as \\u%04x)", c, c);
		if (c == '\\') {
			if (length - at >= 6 && memcmp(text + at, "\\u0000", 6) == 0)
				return fail_at(text, at, err, "NUL in a string");
			at += 2;
			continue;
		}
		unsigned long point;
		size_t step = c < 0x80 ? 1 : muster_utf8_next(text + at, length - at, &point);
		if (step == 0)
			return fail_at(text, at, err, "byte 0x%02x is not UTF-8", c);
		at += step;
	}
	if (at >= length)
		return fail_at(text, start, err, "string without an end");
	*ret = at + 1;
	return 0;
}

/* Blanks, separators, and the letters of true, false and null. */
static bool is_filler(char c)
{
	return c == ' ' || c == ',' || c == ':' || c == '\n' || c == '\t' || c == '\r' || (c >= 'a' && c <= 'z');
}

/* Everything that cJSON would let through or could not bear. */
static int scan(const char *text, size_t length, struct muster_error *err)
{
	int depth = 0;
	size_t values = 1;
	for (size_t at = 0; at < length;) {
		char c = text[at];
		if ((c == ',' || c == '{' || c == '[') && ++values > MUSTER_JSON_VALUES_MAX)
			return fail_at(text, at, err, "more than %d values", MUSTER_JSON_VALUES_MAX);
		if (c == '"') {
			if (string_end(text, at, length, &at, err) < 0)
				return -1;
		} else if (c == '{' || c == '[') {
			if (++depth > MUSTER_JSON_DEPTH_MAX)
				return fail_at(text, at, err, "nested deeper than %d levels", MUSTER_JSON_DEPTH_MAX);
			at++;
		} else if (c == '}' || c == ']') {
			depth--;
			at++;
		} else if (c == '-' || (c >= '0' && c <= '9')) {
			size_t end = number_end(text, at, length);
			if (end == at)
				return fail_at(text, at, err, "malformed number");
			at = end;
		} else if (is_filler(c)) {
			at++;
		} else if (c == '\0') {
			return fail_at(text, at, err, "NUL byte");
		} else {
			return fail_at(text, at, err, "unexpected character 0x%02x", (unsigned char)c);
		}
	}
	return 0;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_duplicates(const cJSON *object, struct muster_error *err)
{
	size_t count = 0;
	for (const cJSON *child = object->child; child; child = child->next)
		count++;
	if (count < 2)
		return 0;
	const char *few[16];
	const char **keys = count <= 16 ? few : muster_calloc(count, sizeof *keys);
	size_t at = 0;
	for (const cJSON *child = object->child; child; child = child->next)
		keys[at++] = child->string;
	const char *twice = NULL;
	if (count <= 16) {
		for (size_t i = 1; i < count && !twice; i++)
			for (size_t j = 0; j < i && !twice; j++)
				twice = strcmp(keys[i], keys[j]) == 0 ? keys[i] : NULL;
	} else {
		qsort(keys, count, sizeof *keys, by_key);
		for (size_t i = 1; i < count && !twice; i++)
			twice = strcmp(keys[i], keys[i - 1]) == 0 ? keys[i] : NULL;
	}
	if (keys != few)
		free(keys);
	return twice ? muster_fail(err, MUSTER_EUSAGE, "the key \"%.200s\" stands twice in one object", twice) : 0;
}

static int check_tree(const cJSON *item, struct muster_error *err)
{
	if (cJSON_IsNumber(item) && !isfinite(item->valuedouble))
		return muster_fail(err, MUSTER_EUSAGE, "a number is too large for a double");
	if (cJSON_IsObject(item) && check_duplicates(item, err) < 0)
		return -1;
	for (const cJSON *child = item->child; child; child = child->next)
		if (check_tree(child, err) < 0)
			return -1;
	return 0;
}

int muster_json_parse(const char *text, size_t length, struct muster_json **ret, struct muster_error *err)
{
	if (scan(text, length, err) < 0)
		return -1;
	struct muster_pool *pool = muster_pool_new();
	use_pool(pool);
	const char *end = NULL;
	cJSON *root = cJSON_ParseWithLengthOpts(text, length, &end, 0);
	size_t at = end ? (size_t)(end - text) : 0;
	while (root && at < length && strchr(" \t\r\n", text[at]))
		at++;
	if (!root || at < length) {
		muster_pool_free(pool);
		if (at >= length)
			return fail_at(text, length, err, "the text ends too early");
		return fail_at(text, at, err, "%s: '%.*s'", root ? "more text behind the end" : "not JSON from here",
			(int)strnlen(text + at, length - at < 20 ? length - at : 20), text + at);
	}
	if (check_tree(root, err) < 0) {
		muster_pool_free(pool);
		return -1;
	}
	root->string = (char *)pool;
	*ret = (struct muster_json *)root;
	return 0;
}

void muster_json_free(struct muster_json *json)
{
	if (json)
		muster_pool_free((struct muster_pool *)((cJSON *)json)->string);
}

int muster_file_read(const char *path, size_t limit, char **ret_text, size_t *ret_length, struct muster_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hang us */
	struct stat status;
	if (fd < 0 || fstat(fd, &status) < 0) {
		muster_fail(err, errno == EACCES ? MUSTER_ENOPERMISSION : MUSTER_EIO, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (!S_ISREG(status.st_mode)) {
		close(fd);
		return muster_fail(err, MUSTER_EIO, "%s: is not a regular file", path);
	}
	size_t room = (size_t)status.st_size + 1, length = 0;
	if ((size_t)status.st_size > limit) {
		close(fd);
		return muster_fail(err, MUSTER_EUSAGE, "%s: has %zu bytes, at most %zu are allowed", path,
			(size_t)status.st_size, limit);
	}
	char *text = muster_realloc(NULL, room, 1);
	ssize_t got;
	while ((got = read(fd, text + length, room - 1 - length)) > 0 || (got < 0 && errno == EINTR)) {
		length += got > 0 ? (size_t)got : 0;
		if (length == room - 1)
			break;
	}
	int why = errno;
	close(fd);
	if (got < 0) {
		free(text);
		return muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(why));
	}
	text[length] = '\0';
	*ret_text = text;
	*ret_length = length;
	return 0;
}

enum muster_json_type muster_json_type(const struct muster_json *json)
{
	switch (node(json)->type & 0xff) {
	case cJSON_True:
	case cJSON_False: return MUSTER_JSON_BOOLEAN;
	case cJSON_Number: return MUSTER_JSON_NUMBER;
	case cJSON_String: return MUSTER_JSON_STRING;
	case cJSON_Array: return MUSTER_JSON_ARRAY;
	case cJSON_Object: return MUSTER_JSON_OBJECT;
	default: return MUSTER_JSON_NULL;
	}
}

const char *muster_json_type_name(enum muster_json_type type)
{
	static const char *const names[] = {
		[MUSTER_JSON_NULL] = "null",
		[MUSTER_JSON_BOOLEAN] = "true or false",
		[MUSTER_JSON_NUMBER] = "a number",
		[MUSTER_JSON_STRING] = "a string",
		[MUSTER_JSON_ARRAY] = "an array",
		[MUSTER_JSON_OBJECT] = "an object",
	};
	return names[type];
}

const struct muster_json *muster_json_first(const struct muster_json *json)
{
	return json_of(node(json)->child);
}

const struct muster_json *muster_json_next(const struct muster_json *json)
{
	return json_of(node(json)->next);
}

const char *muster_json_key(const struct muster_json *json)
{
	return node(json)->string;
}

size_t muster_json_size(const struct muster_json *json)
{
	return (size_t)cJSON_GetArraySize(node(json));
}

const struct muster_json *muster_json_member(const struct muster_json *object, const char *key)
{
	for (const cJSON *child = node(object)->child; child; child = child->next)
		if (child->string && strcmp(child->string, key) == 0)
			return json_of(child);
	return NULL;
}

double muster_json_number(const struct muster_json *json)
{
	return node(json)->valuedouble;
}

const char *muster_json_string(const struct muster_json *json)
{
	return node(json)->valuestring;
}

bool muster_json_boolean(const struct muster_json *json)
{
	return cJSON_IsTrue(node(json));
}

/* 1 with the member when it is there and of that type, 0 when absent, -1 otherwise. */
static int get(const struct muster_json *object, const char *path, const char *key, enum muster_json_type type,
	const struct muster_json **ret, struct muster_error *err)
{
	const struct muster_json *member = muster_json_member(object, key);
	if (!member)
		return 0;
	enum muster_json_type found = muster_json_type(member);
	if (found != type) {
		char *text = cJSON_IsString(node(member)) ? muster_asprintf("\"%.60s\"", node(member)->valuestring)
							  : muster_strdup(muster_json_type_name(found));
		muster_fail(err, MUSTER_EUSAGE, "%s.%s: %s is needed, found %s", path, key, muster_json_type_name(type),
			text);
		free(text);
		return -1;
	}
	*ret = member;
	return 1;
}

int muster_json_get_string(
	const struct muster_json *object, const char *path, const char *key, const char **ret, struct muster_error *err)
{
	const struct muster_json *member;
	int found = get(object, path, key, MUSTER_JSON_STRING, &member, err);
	if (found == 1)
		*ret = muster_json_string(member);
	return found;
}

int muster_json_get_number(
	const struct muster_json *object, const char *path, const char *key, double *ret, struct muster_error *err)
{
	const struct muster_json *member;
	int found = get(object, path, key, MUSTER_JSON_NUMBER, &member, err);
	if (found == 1)
		*ret = muster_json_number(member);
	return found;
}

int muster_json_get_int(
	const struct muster_json *object, const char *path, const char *key, int *ret, struct muster_error *err)
{
	double number;
	int found = muster_json_get_number(object, path, key, &number, err);
	if (found != 1)
		return found;
	if (number < INT_MIN || number > INT_MAX || number < trunc(number) || number > trunc(number))
		return muster_fail(
			err, MUSTER_EUSAGE, "%s.%s: a whole number is needed, found %.10g", path, key, number);
	*ret = (int)number;
	return 1;
}

int muster_json_get_boolean(
	const struct muster_json *object, const char *path, const char *key, bool *ret, struct muster_error *err)
{
	const struct muster_json *member;
	int found = get(object, path, key, MUSTER_JSON_BOOLEAN, &member, err);
	if (found == 1)
		*ret = muster_json_boolean(member);
	return found;
}

int muster_json_get_object(const struct muster_json *object, const char *path, const char *key,
	const struct muster_json **ret, struct muster_error *err)
{
	return get(object, path, key, MUSTER_JSON_OBJECT, ret, err);
}

int muster_json_get_array(const struct muster_json *object, const char *path, const char *key,
	const struct muster_json **ret, struct muster_error *err)
{
	return get(object, path, key, MUSTER_JSON_ARRAY, ret, err);
}

int muster_json_only_keys(
	const struct muster_json *object, const char *path, const char *const *keys, struct muster_error *err)
{
	for (const cJSON *child = node(object)->child; child; child = child->next) {
		const char *const *key = keys;
		while (*key && strcmp(*key, child->string) != 0)
			key++;
		if (*key)
			continue;
		char allowed[512] = "";
		size_t used = 0;
		for (key = keys; *key && used < sizeof allowed; key++)
			used += (size_t)snprintf(
				allowed + used, sizeof allowed - used, "%s%s", key == keys ? "" : ", ", *key);
		return muster_fail(err, MUSTER_EUSAGE, "%s: unknown key \"%.100s\"; allowed are: %s", path,
			child->string, allowed);
	}
	return 0;
}

static cJSON *merge(cJSON *target, const cJSON *patch)
{
	if (!cJSON_IsObject(patch))
		return cJSON_Duplicate(patch, 1);
	if (!target || !cJSON_IsObject(target))
		target = cJSON_CreateObject();
	for (const cJSON *change = patch->child; change; change = change->next) {
		cJSON *old = cJSON_GetObjectItemCaseSensitive(target, change->string);
		if (cJSON_IsNull(change)) {
			if (old)
				cJSON_DetachItemViaPointer(target, old);
			continue;
		}
		cJSON *merged = merge(old, change);
		if (old && merged != old)
			cJSON_ReplaceItemInObjectCaseSensitive(target, change->string, merged);
		else if (!old)
			cJSON_AddItemToObject(target, change->string, merged);
	}
	return target;
}

struct muster_json *muster_json_merge(struct muster_json *target, const struct muster_json *patch)
{
	struct muster_pool *pool = (struct muster_pool *)((cJSON *)target)->string;
	use_pool(pool);
	((cJSON *)target)->string = NULL;
	cJSON *merged = merge((cJSON *)target, node(patch));
	merged->string = (char *)pool;
	return (struct muster_json *)merged;
}

/* The byte behind the string whose opening quote is at `at`, or `length` when it has no end. */
static size_t behind_string(const char *text, size_t at, size_t length)
{
	const char *stop = text + length, *quote = text + at;
	while ((quote = memchr(quote + 1, '"', (size_t)(stop - quote - 1)))) {
		const char *before = quote;
		while (before[-1] == '\\') /* ends at the opening quote at the latest */
			before--;
		if ((quote - before) % 2 == 0)
			return (size_t)(quote - text) + 1;
	}
	return length + 1;
}

/* What ends a stretch of no interest inside a value. */
static const bool structural[256] = { ['"'] = 1, ['{'] = 1, ['}'] = 1, ['['] = 1, [']'] = 1 };

/* The end of the value at `at`, by brackets and quotes alone. */
static int value_end(const char *text, size_t at, size_t length, size_t *ret, struct muster_error *err)
{
	size_t start = at, depth = 0;
	do {
		if (depth > 0)
			while (at < length && !structural[(unsigned char)text[at]])
				at++;
		if (at >= length)
			break;
		switch (text[at]) {
		case '"':
			start = depth > 0 ? start : at;
			at = behind_string(text, at, length);
			if (at > length)
				return fail_at(text, start, err, "string without an end");
			break;
		case '{':
		case '[':
			depth++;
			at++;
			break;
		case '}':
		case ']':
			if (depth > 0) {
				depth--;
				at++;
			}
			break;
		default: /* a number or a word */
			while (at < length && !structural[(unsigned char)text[at]] && !strchr(", \t\r\n", text[at]))
				at++;
			break;
		}
	} while (depth > 0);
	if (depth > 0 || at == start)
		return fail_at(text, start, err, depth > 0 ? "never closed" : "a value is needed");
	*ret = at;
	return 0;
}

static size_t skip_blanks(const char *text, size_t at, size_t length)
{
	while (at < length && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n'))
		at++;
	return at;
}

/* Called with each part of an object or array; key is NULL in an array. */
typedef int part_fn(
	void *arg, const char *key, size_t index, const char *value, size_t length, struct muster_error *err);

static int split(
	const char *text, size_t length, char open, char close, part_fn *part, void *arg, struct muster_error *err)
{
	size_t at = skip_blanks(text, 0, length);
	if (at >= length || text[at] != open)
		return fail_at(text, at, err, open == '{' ? "an object is needed" : "an array is needed");
	at = skip_blanks(text, at + 1, length);
	for (size_t index = 0; at < length && (text[at] != close || index > 0); index++) {
		char *key = NULL;
		size_t end;
		if (open == '{') {
			if (text[at] != '"')
				return fail_at(text, at, err, "a key in quotes is needed");
			if (string_end(text, at, length, &end, err) < 0)
				return -1;
			key = muster_asprintf("%.*s", (int)(end - at - 2 < 256 ? end - at - 2 : 256), text + at + 1);
			at = skip_blanks(text, end, length);
			if (at >= length || text[at] != ':') {
				free(key);
				return fail_at(text, at, err, "a ':' is needed");
			}
			at = skip_blanks(text, at + 1, length);
		}
		int bad = value_end(text, at, length, &end, err) < 0 ||
			  part(arg, key, index, text + at, end - at, err) < 0;
		free(key);
		if (bad)
			return -1;
		at = skip_blanks(text, end, length);
		if (at < length && text[at] == close)
			break;
		if (at >= length || text[at] != ',')
			return fail_at(text, at, err, "a ',' or '%c' is needed", close);
		at = skip_blanks(text, at + 1, length);
	}
	if (at >= length)
		return fail_at(text, length, err, "the text ends too early");
	at = skip_blanks(text, at + 1, length);
	return at == length ? 0 : fail_at(text, at, err, "more text behind the end");
}

struct member_call {
	int (*member)(void *, const char *, const char *, size_t, struct muster_error *);
	void *arg;
};

static int call_member(
	void *arg, const char *key, size_t index, const char *value, size_t length, struct muster_error *err)
{
	const struct member_call *call = arg;
	(void)index;
	return call->member(call->arg, key, value, length, err);
}

int muster_json_split_object(const char *text, size_t length,
	int (*member)(void *arg, const char *key, const char *value, size_t value_length, struct muster_error *err),
	void *arg, struct muster_error *err)
{
	struct member_call call = { .member = member, .arg = arg };
	return split(text, length, '{', '}', call_member, &call, err);
}

struct element_call {
	int (*element)(void *, size_t, const char *, size_t, struct muster_error *);
	void *arg;
};

static int call_element(
	void *arg, const char *key, size_t index, const char *value, size_t length, struct muster_error *err)
{
	const struct element_call *call = arg;
	(void)key;
	return call->element(call->arg, index, value, length, err);
}

int muster_json_split_array(const char *text, size_t length,
	int (*element)(void *arg, size_t index, const char *value, size_t value_length, struct muster_error *err),
	void *arg, struct muster_error *err)
{
	struct element_call call = { .element = element, .arg = arg };
	return split(text, length, '[', ']', call_element, &call, err);
}

void muster_writer_init(struct muster_writer *w, FILE *out, int indent_depth)
{
	*w = (struct muster_writer){ .out = out, .indent_depth = indent_depth, .first = { true } };
}

static void new_line(struct muster_writer *w)
{
	putc_unlocked('\n', w->out);
	for (int i = 0; i < w->depth; i++)
		fputs_unlocked("  ", w->out);
}

/* What stands before a value or a key: a comma, a line break. */
static void lead(struct muster_writer *w)
{
	if (w->after_key) {
		w->after_key = false;
		return;
	}
	if (w->depth == 0)
		return;
	if (!w->first[w->depth])
		putc_unlocked(',', w->out);
	if (w->depth <= w->indent_depth)
		new_line(w);
	else if (!w->first[w->depth])
		putc_unlocked(' ', w->out);
	w->first[w->depth] = false;
}

static void begin(struct muster_writer *w, char bracket)
{
	lead(w);
	putc_unlocked(bracket, w->out);
	if (++w->depth >= MUSTER_JSON_DEPTH_MAX)
		abort(); /* our own writers never nest that deep */
	w->first[w->depth] = true;
}

static void end(struct muster_writer *w, char bracket)
{
	bool empty = w->first[w->depth], broken = w->depth <= w->indent_depth;
	w->depth--;
	if (!empty && broken)
		new_line(w);
	putc_unlocked(bracket, w->out);
	if (w->depth == 0 && w->indent_depth > 0)
		putc_unlocked('\n', w->out);
}

void muster_writer_object(struct muster_writer *w)
{
	begin(w, '{');
}

void muster_writer_object_end(struct muster_writer *w)
{
	end(w, '}');
}

void muster_writer_array(struct muster_writer *w)
{
	begin(w, '[');
}

void muster_writer_array_end(struct muster_writer *w)
{
	end(w, ']');
}

static void put_string(struct muster_writer *w, const char *string)
{
	FILE *out = w->out;
	putc_unlocked('"', out);
	const char *at = string, *plain = at;
	size_t left = strlen(string);
	while (left > 0) {
		unsigned long point = 0;
		size_t step = 1;
		bool good = (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f;
		if (!good) {
			step = muster_utf8_next(at, left, &point);
			good = step > 0 && !muster_utf8_is_harmful(point);
		}
		if (!good || *at == '"' || *at == '\\') {
			fwrite_unlocked(plain, 1, (size_t)(at - plain), out);
			if (good)
				fprintf(out, "\\%c", *at);
			else if (step > 0)
				fprintf(out, "\\u%04lx", point);
			else
				fputs("\xef\xbf\xbd", out); /* U+FFFD */
			step = step > 0 ? step : 1;
			plain = at + step;
		}
		at += step;
		left -= step;
	}
	fwrite_unlocked(plain, 1, (size_t)(at - plain), out);
	putc_unlocked('"', out);
}

void muster_writer_key(struct muster_writer *w, const char *key)
{
	lead(w);
	put_string(w, key);
	putc_unlocked(':', w->out);
	putc_unlocked(' ', w->out);
	w->after_key = true;
}

void muster_writer_string(struct muster_writer *w, const char *string)
{
	lead(w);
	if (string)
		put_string(w, string);
	else
		fputs_unlocked("null", w->out);
}

void muster_writer_number(struct muster_writer *w, double number)
{
	lead(w);
	char text[40];
	if (!isfinite(number)) {
		fputs_unlocked("null", w->out);
		return;
	}
	long long whole = fabs(number) < 9e15 ? (long long)number : 0;
	if (whole != 0 && !((double)whole < number) && !((double)whole > number)) {
		char *digit = text + sizeof text;
		*--digit = '\0';
		unsigned long long rest = whole < 0 ? 0ull - (unsigned long long)whole : (unsigned long long)whole;
		do {
			*--digit = (char)('0' + rest % 10);
		} while (rest /= 10);
		if (whole < 0)
			*--digit = '-';
		fputs_unlocked(digit, w->out);
		return;
	}
	snprintf(text, sizeof text, "%.15g", number);
	double back = strtod(text, NULL);
	if (back < number || back > number)
		snprintf(text, sizeof text, "%.17g", number);
	fputs_unlocked(text, w->out);
}

void muster_writer_boolean(struct muster_writer *w, bool boolean)
{
	lead(w);
	fputs_unlocked(boolean ? "true" : "false", w->out);
}

void muster_writer_null(struct muster_writer *w)
{
	muster_writer_string(w, NULL);
}

void muster_writer_raw(struct muster_writer *w, const char *json)
{
	lead(w);
	fputs_unlocked(json, w->out);
}

void muster_writer_value(struct muster_writer *w, struct muster_value value)
{
	switch (value.type) {
	case MUSTER_NUMBER: muster_writer_number(w, value.number); break;
	case MUSTER_STRING: muster_writer_string(w, value.string); break;
	case MUSTER_BOOLEAN: muster_writer_boolean(w, value.boolean); break;
	default: muster_writer_null(w); break;
	}
}

void muster_writer_pair(struct muster_writer *w, const char *key, struct muster_value value)
{
	muster_writer_key(w, key);
	muster_writer_value(w, value);
}
