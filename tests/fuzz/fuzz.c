/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - what the fuzzers share */
#include "fuzz.h"

#include "muster/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_broken(const char *file, int line, const char *condition, const char *format, ...)
{
	va_list args;
	fprintf(stderr, "%s:%d: does not hold: %s: ", file, line, condition);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

const char *fuzz_file(int slot, const void *bytes, size_t size)
{
	static struct {
		int fd;
		char path[64];
	} files[FUZZ_FILES];
	if (!files[slot].path[0]) {
		files[slot].fd = memfd_create("fuzz", MFD_CLOEXEC);
		FUZZ_CHECK(files[slot].fd >= 0, "memfd_create: %s", strerror(errno));
		snprintf(files[slot].path, sizeof files[slot].path, "/proc/self/fd/%d", files[slot].fd);
	}
	FUZZ_CHECK(ftruncate(files[slot].fd, 0) == 0, "ftruncate: %s", strerror(errno));
	FUZZ_CHECK(pwrite(files[slot].fd, bytes, size, 0) == (ssize_t)size, "pwrite: %s", strerror(errno));
	return files[slot].path;
}

static struct {
	char path[64];
	const char *names[FUZZ_FILES];
} folder;

static const char *path_in_folder(const char *name, char out[128])
{
	snprintf(out, 128, "%s/%s", folder.path, name);
	return out;
}

static void remove_folder(void)
{
	char path[128];
	for (size_t i = 0; i < FUZZ_FILES && folder.names[i]; i++)
		unlink(path_in_folder(folder.names[i], path));
	rmdir(folder.path);
}

const char *fuzz_folder_put(const char *name, const void *bytes, size_t size)
{
	char path[128];
	size_t slot = 0;
	if (!*folder.path) {
		snprintf(folder.path, sizeof folder.path, "/dev/shm/muster-fuzz-XXXXXX");
		FUZZ_CHECK(mkdtemp(folder.path), "%s", folder.path);
		atexit(remove_folder);
	}
	while (slot < FUZZ_FILES && folder.names[slot] && strcmp(folder.names[slot], name) != 0)
		slot++;
	FUZZ_CHECK(slot < FUZZ_FILES, "%s: too many files", name);
	folder.names[slot] = name;
	int fd = open(path_in_folder(name, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FUZZ_CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "%s", path);
	close(fd);
	return folder.path;
}

size_t fuzz_split(const uint8_t *bytes, size_t size, size_t *ret_second)
{
	static const char line[] = "\n---\n";
	const uint8_t *found = memmem(bytes, size, line, sizeof line - 1);
	*ret_second = found ? (size_t)(found - bytes) + sizeof line - 1 : size;
	return found ? (size_t)(found - bytes) : size;
}

char *fuzz_string(const uint8_t *bytes, size_t size)
{
	char *text = muster_calloc(size + 1, 1);
	if (size > 0)
		memcpy(text, bytes, size);
	return text;
}

/* Written down once more, and not taken from the program, which is what is tested: the code points of RFC 3629. */
static size_t decode(const unsigned char *at, size_t left, unsigned long *ret)
{
	static const struct {
		unsigned char mask, lead;
		unsigned long first, last;
	} forms[] = { { 0x80, 0x00, 0, 0x7f }, { 0xe0, 0xc0, 0x80, 0x7ff }, { 0xf0, 0xe0, 0x800, 0xffff },
		{ 0xf8, 0xf0, 0x10000, 0x10ffff } };
	for (size_t length = 1; length <= 4; length++) {
		if ((at[0] & forms[length - 1].mask) != forms[length - 1].lead)
			continue;
		if (length > left)
			return 0;
		*ret = at[0] & (unsigned char)~forms[length - 1].mask;
		for (size_t i = 1; i < length; i++) {
			if ((at[i] & 0xc0) != 0x80)
				return 0;
			*ret = *ret * 64 + (at[i] & 0x3f);
		}
		bool surrogate = *ret >= 0xd800 && *ret <= 0xdfff;
		return *ret >= forms[length - 1].first && *ret <= forms[length - 1].last && !surrogate ? length : 0;
	}
	return 0;
}

void fuzz_check_plain(const char *text, size_t size, bool lines)
{
	const unsigned char *at = (const unsigned char *)text;
	for (size_t i = 0; i < size;) {
		unsigned long point = 0;
		size_t length = decode(at + i, size - i, &point);
		FUZZ_CHECK(length > 0, "byte %zu (0x%02x) is not UTF-8", i, at[i]);
		FUZZ_CHECK((point >= 0x20 && (point < 0x7f || point > 0x9f)) || (lines && point == '\n'),
			"byte %zu is the control character U+%04lx", i, point);
		FUZZ_CHECK(!(point >= 0x202a && point <= 0x202e) && !(point >= 0x2066 && point <= 0x2069) &&
				   point != 0x61c && point != 0x2028 && point != 0x2029,
			"byte %zu is U+%04lx, which turns or breaks the line", i, point);
		i += length;
	}
}

void fuzz_check_error(const struct muster_error *err)
{
	size_t length = strnlen(err->text, sizeof err->text);
	FUZZ_CHECK(err->code > MUSTER_OK && err->code < MUSTER_CODE_COUNT, "code %d", (int)err->code);
	FUZZ_CHECK(length > 0 && length < sizeof err->text, "%zu bytes", length);
	fuzz_check_plain(err->text, length, false);
}

bool fuzz_same(const struct muster_json *a, const struct muster_json *b)
{
	if (muster_json_type(a) != muster_json_type(b))
		return false;
	switch (muster_json_type(a)) {
	case MUSTER_JSON_BOOLEAN: return muster_json_boolean(a) == muster_json_boolean(b);
	case MUSTER_JSON_NUMBER:
		return muster_value_equal(muster_number(muster_json_number(a)), muster_number(muster_json_number(b)));
	case MUSTER_JSON_STRING: return strcmp(muster_json_string(a), muster_json_string(b)) == 0;
	case MUSTER_JSON_ARRAY:
	case MUSTER_JSON_OBJECT: break;
	default: return true;
	}
	bool keys = muster_json_type(a) == MUSTER_JSON_OBJECT;
	a = muster_json_first(a);
	b = muster_json_first(b);
	for (; a && b; a = muster_json_next(a), b = muster_json_next(b))
		if ((keys && strcmp(muster_json_key(a), muster_json_key(b)) != 0) || !fuzz_same(a, b))
			return false;
	return !a && !b;
}

char *fuzz_report_json(const struct muster_report *report, size_t *ret_length)
{
	struct muster_error err;
	struct muster_json *json = NULL;
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_length);
	FUZZ_CHECK(out && muster_report_print_json(report, out, &err) == 0, "%s", out ? err.text : "no memory");
	FUZZ_CHECK(fclose(out) == 0, "%s", strerror(errno));
	FUZZ_CHECK(muster_json_parse(text, *ret_length, &json, &err) == 0, "%s", err.text);
	muster_json_free(json);
	return text;
}

void fuzz_report_text(const struct muster_report *report)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	FUZZ_CHECK(out != NULL, "%s", strerror(errno));
	muster_report_print_text(report, &(struct muster_layout){ 0 }, out);
	muster_report_print_line(report, "report.json", out);
	muster_report_print_inventory_text(report, &(struct muster_layout){ 0 }, out);
	muster_report_print_inventory_markdown(report, out);
	FUZZ_CHECK(fclose(out) == 0, "%s", strerror(errno));
	fuzz_check_plain(text, length, true);
	free(text);
	out = open_memstream(&text, &length);
	FUZZ_CHECK(out != NULL, "%s", strerror(errno));
	muster_report_print_html(report, out);
	FUZZ_CHECK(fclose(out) == 0, "%s", strerror(errno));
	for (char *tab = text; (tab = memchr(tab, '\t', length - (size_t)(tab - text)));)
		*tab = ' '; /* of the style sheet */
	fuzz_check_plain(text, length, true);
	free(text);
}
