/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory that lives and dies together, and strings that are stored once; implemented by src/util/arena.c
 *
 * A run of thousands of ranks repeats the same few thousand strings; interning keeps one copy of each. Nothing in a
 * arena is freed alone. Running out of memory ends the process with a message: a preflight cannot go on without it, and
 * a half-read run must never be judged.
 */
#ifndef MUSTER_ARENA_H
#define MUSTER_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct muster_arena;

struct muster_arena *muster_arena_new(void);
void muster_arena_free(struct muster_arena *arena); /* NULL is fine */

/* size bytes, zeroed, aligned for any type; never NULL. */
void *muster_arena_alloc(struct muster_arena *arena, size_t size);

/* The arena's only copy of a string; equal strings give equal pointers. NULL stays NULL. */
const char *muster_arena_string(struct muster_arena *arena, const char *text);
const char *muster_arena_string_n(struct muster_arena *arena, const char *text, size_t length);

/* The hash of so many bytes by which arenas find strings: FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/), 64 bits.
 */
uint64_t muster_hash(const void *bytes, size_t length);
/* The same of more bytes behind those that gave so_far; MUSTER_HASH_START: there were none. */
uint64_t muster_hash_more(uint64_t so_far, const void *bytes, size_t length);
#define MUSTER_HASH_START 0xcbf29ce484222325u

/* The arena's copy of a malloc'd text, which is freed. */
const char *muster_arena_take(struct muster_arena *arena, char *text);

/* A formatted string, interned. */
const char *muster_arena_printf(struct muster_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* One more text at the end of *list, which is as of muster_strdup, or NULL at first; between them `joint`. */
void muster_list_add(char **list, const char *joint, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* realloc, calloc and strdup that end the process with a message when memory runs out; free() releases them. */
void *muster_realloc(void *old, size_t count, size_t size);
void *muster_calloc(size_t count, size_t size);
char *muster_strdup(const char *text);
char *muster_asprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *muster_vasprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

#endif
