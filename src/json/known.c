/* SPDX-License-Identifier: Apache-2.0 */
/* known.c - objects whose text was read before
 *
 * A report of 4,096 nodes says 4,096 times that a GPU is an NVIDIA H100 80GB HBM3. The struct of such an object is kept
 * beside its text, and copied when the text comes again: no tree, no search in the table of fields. Of an object that
 * ends in numbers only what stands before them is compared, and the numbers are read from the text:
 *
 *    {"metric": "gpu.h2d_gbps", "labels": {"gpu": "0001:00:00.0"}, "value": 26.1}
 *    \________________________ compared ____________________________________/\_ read
 *
 * How an object is read (muster_json_known_read), the cheapest way first:
 *
 *    1. the entry that followed the last object's entry the last time: nodes say the same things in the same order
 *    2. the entry at the place that the text's hash gives
 *    3. by a tree, and the text may get the place of its hash
 *
 * Each text has one place by its hash. Another text takes the place when it comes twice with no other new text for that
 * place between: a text that is the only one of its kind must not drive out what all nodes say. A comparison of all
 * bytes decides, never the hash.
 *
 * Numbers are read only in the form that writer.h gives them. A text of another form (other blanks, another order of
 * keys) is simply not known, and is read by a tree.
 */
#include "json/known.h"

#include "muster/arena.h"
#include "util/xxh64.h"

#include <stdlib.h>
#include <string.h>

struct known_text {
	char *item;       /* malloc'd: the struct (known->size bytes), and behind it the text; NULL: none yet */
	size_t length;    /* of the text: whole, or as far as the first number at its end */
	bool has_numbers; /* its end is passed by muster_json_numbers_fn */
	uint64_t refused; /* the hash of the last text that did not get the place */
	size_t next;      /* the entry that came after this one, the last time */
};
enum { TEXTS = 1 << 14, TEXT_MAX = 1024 };
struct muster_json_known_texts {
	struct known_text entries[TEXTS + 1]; /* in the order in which they came; [0] is none */
	size_t places[TEXTS];                 /* entries by their hashes; 0: none */
	size_t count, last;                   /* entries; the one of the object before */
};

/* Read the object that comes next from this entry. False, with the stream as it was, when it is another object; then
 * `into` may have been overwritten. */
static bool pass(struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_json_known *known,
	const struct known_text *text, void *into)
{
	const struct muster_json_stream before = *s;
	if (!text->item ||
		!muster_json_stream_pass(s, (struct muster_json_part){ text->item + known->size, text->length }))
		return false;
	memcpy(into, text->item, known->size);
	if (!text->has_numbers || known->numbers(r, into, s))
		return true;
	*s = before;
	return false;
}

/* The part of a text that an entry keeps: up to the number behind the key `before_numbers`, or all of it when the key
 * is absent or no number follows. In a string the key's quotes would be escaped, so that no string is taken for it. */
static struct muster_json_part part_to_keep(struct muster_json_part whole, const char *before_numbers)
{
	const char *key = memmem(whole.text, whole.length, before_numbers, strlen(before_numbers));
	size_t length = key ? (size_t)(key - whole.text) + strlen(before_numbers) : whole.length;
	bool number = length < whole.length && strchr("-0123456789", whole.text[length]);
	return (struct muster_json_part){ whole.text, number ? length : whole.length };
}

/* The entry where a text is or belongs. Each place gets an entry when it is used first, and keeps it. */
static struct known_text *find(struct muster_json_known_texts *texts, struct muster_json_part part, uint64_t *ret_hash)
{
	struct muster_xxh64 hash;
	muster_xxh64_init(&hash);
	muster_xxh64_add(&hash, part.text, part.length);
	*ret_hash = muster_xxh64_value(&hash);
	size_t *place = &texts->places[*ret_hash % TEXTS];
	if (*place == 0)
		*place = ++texts->count;
	return &texts->entries[*place];
}

/* Make the entry that of this text. A text whose end known->numbers does not pass whole is not kept, since no later
 * text of this form could be read by the entry. */
static void keep(struct muster_json_reader *r, const struct muster_json_known *known, struct known_text *text,
	struct muster_json_part whole, struct muster_json_part part, const void *item)
{
	struct muster_json_stream end = { .text = whole.text, .length = whole.length, .at = part.length };
	text->item = muster_realloc(text->item, known->size + part.length, 1);
	memcpy(text->item, item, known->size);
	memcpy(text->item + known->size, part.text, part.length);
	text->length = part.length;
	text->has_numbers = part.length < whole.length;
	if (text->has_numbers && (!known->numbers(r, text->item, &end) || end.at < whole.length)) {
		free(text->item);
		text->item = NULL;
	}
}

/* known->read must set all of *into: a try that failed may have left another object's struct there. */
int muster_json_known_read(
	struct muster_json_reader *r, struct muster_json_stream *s, struct muster_json_known *known, void *into)
{
	if (!known->texts)
		known->texts = muster_calloc(1, sizeof *known->texts);
	struct muster_json_known_texts *texts = known->texts;
	const size_t next = texts->entries[texts->last].next;
	if (pass(r, s, known, &texts->entries[next], into)) {
		texts->last = next;
		return 0;
	}
	struct muster_json_part whole;
	if (muster_json_stream_take(r, s, &whole) < 0)
		return -1;
	struct muster_json_part part = part_to_keep(whole, known->before_numbers);
	uint64_t hash;
	struct known_text *text = find(texts, part, &hash);
	struct muster_json_stream alone = { .text = whole.text, .length = whole.length };
	if (!pass(r, &alone, known, text, into) || alone.at < whole.length) {
		if (muster_json_part_read(r, whole, known->read, into) < 0)
			return -1;
		const uint64_t refused = text->refused;
		text->refused = hash;
		if (whole.length > TEXT_MAX || (text->item && refused != hash))
			return 0;
		keep(r, known, text, whole, part, into);
	}
	texts->entries[texts->last].next = (size_t)(text - texts->entries);
	texts->last = (size_t)(text - texts->entries);
	return 0;
}

void muster_json_known_done(struct muster_json_known *known)
{
	for (size_t i = 0; known->texts && i <= known->texts->count; i++)
		free(known->texts->entries[i].item);
	free(known->texts);
	known->texts = NULL;
}
