/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - memory that lives and dies together, and strings that are stored once
 *
 * Memory comes in chunks of 1 KiB, 2 KiB and so on up to 1 MiB, so that a small arena costs little and a large one few
 * calls of malloc. Allocations are cut from the first chunk of the list. One that is larger than a quarter of the next
 * chunk gets a chunk of its own, which goes behind the first one: the rest of that one is still to be used.
 *
 * Whose arenas there are: a run's has what was measured; a report's has findings and their words, and outlives the
 * expectations, whose arena has checks; a tree of JSON is one (json/json.c); readers and writers of a text have one for
 * the time of a call. A pointer into an arena may be stored in a struct of another one only if that one dies first.
 *
 * Strings are found by open addressing. The table holds hashes, so that growing it does not read the strings again.
 */
#include "muster/arena.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_FIRST = 1024, CHUNK_LARGEST = 1024 * 1024 };

struct chunk {
	struct chunk *next;
	size_t used, size;
	max_align_t data[];
};

struct slot {
	uint64_t hash;
	const char *string;
	size_t length;
};

struct muster_arena {
	struct chunk *chunks;
	size_t next_size;
	struct slot *slots; /* open addressing; a power of two, at most three quarters full */
	size_t slot_count, string_count;
};

static void out_of_memory(size_t size)
{
	fprintf(stderr, "muster: out of memory (%zu bytes more were needed)\n", size);
	abort();
}

void *muster_realloc(void *old, size_t count, size_t size)
{
	void *memory = reallocarray(old, count ? count : 1, size ? size : 1);
	if (!memory)
		out_of_memory(count * size);
	return memory;
}

void *muster_calloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size ? size : 1);
	if (!memory)
		out_of_memory(count * size);
	return memory;
}

char *muster_strdup(const char *text)
{
	char *copy = strdup(text);
	if (!copy)
		out_of_memory(strlen(text));
	return copy;
}

char *muster_vasprintf(const char *format, va_list args)
{
	char *text = NULL;
	if (vasprintf(&text, format, args) < 0)
		out_of_memory(strlen(format));
	return text;
}

char *muster_asprintf(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = muster_vasprintf(format, args);
	va_end(args);
	return text;
}

void muster_list_add(char **list, const char *joint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = muster_vasprintf(format, args), *before = *list;
	va_end(args);
	*list = before ? muster_asprintf("%s%s%s", before, joint, text) : muster_strdup(text);
	free(before);
	free(text);
}

struct muster_arena *muster_arena_new(void)
{
	struct muster_arena *arena = muster_calloc(1, sizeof *arena);
	arena->next_size = CHUNK_FIRST;
	return arena;
}

void muster_arena_free(struct muster_arena *arena)
{
	if (!arena)
		return;
	for (struct chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(arena->slots);
	free(arena);
}

void *muster_arena_alloc(struct muster_arena *arena, size_t size)
{
	const size_t unit = _Alignof(max_align_t);
	if (size > SIZE_MAX / 2)
		out_of_memory(size);
	size = (size + unit - 1) / unit * unit;
	struct chunk *chunk = arena->chunks;
	if (!chunk || chunk->size - chunk->used < size) {
		size_t room = arena->next_size > size ? arena->next_size : size;
		chunk = malloc(sizeof *chunk + room);
		if (!chunk)
			out_of_memory(room);
		chunk->used = 0;
		chunk->size = room;
		if (size > arena->next_size / 4 &&
			arena->chunks) { /* a large one must not waste the current chunk's rest */
			chunk->next = arena->chunks->next;
			arena->chunks->next = chunk;
		} else {
			chunk->next = arena->chunks;
			arena->chunks = chunk;
			if (arena->next_size < CHUNK_LARGEST)
				arena->next_size *= 2;
		}
	}
	void *memory = (char *)chunk->data + chunk->used;
	chunk->used += size;
	return memset(memory, 0, size);
}

uint64_t muster_hash_more(uint64_t so_far, const void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		so_far = (so_far ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
	return so_far;
}

uint64_t muster_hash(const void *bytes, size_t length)
{
	return muster_hash_more(MUSTER_HASH_START, bytes, length);
}

static void grow_slots(struct muster_arena *arena)
{
	size_t old_count = arena->slot_count;
	struct slot *old = arena->slots;
	arena->slot_count = old_count ? old_count * 2 : 16;
	arena->slots = muster_calloc(arena->slot_count, sizeof *arena->slots);
	for (size_t i = 0; i < old_count; i++) {
		if (!old[i].string)
			continue;
		size_t at = old[i].hash & (arena->slot_count - 1);
		while (arena->slots[at].string)
			at = (at + 1) & (arena->slot_count - 1);
		arena->slots[at] = old[i];
	}
	free(old);
}

const char *muster_arena_string_n(struct muster_arena *arena, const char *text, size_t length)
{
	if (arena->string_count >= arena->slot_count / 4 * 3)
		grow_slots(arena);
	uint64_t hash = muster_hash(text, length);
	size_t at = hash & (arena->slot_count - 1);
	for (; arena->slots[at].string; at = (at + 1) & (arena->slot_count - 1)) {
		const struct slot *slot = &arena->slots[at];
		if (slot->hash == hash && slot->length == length && memcmp(slot->string, text, length) == 0)
			return slot->string;
	}
	char *copy = muster_arena_alloc(arena, length + 1);
	memcpy(copy, text, length);
	arena->slots[at] = (struct slot){ .hash = hash, .string = copy, .length = length };
	arena->string_count++;
	return copy;
}

const char *muster_arena_string(struct muster_arena *arena, const char *text)
{
	return text ? muster_arena_string_n(arena, text, strlen(text)) : NULL;
}

const char *muster_arena_take(struct muster_arena *arena, char *text)
{
	const char *kept = muster_arena_string(arena, text);
	free(text);
	return kept;
}

const char *muster_arena_printf(struct muster_arena *arena, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = muster_vasprintf(format, args);
	va_end(args);
	return muster_arena_take(arena, text);
}
