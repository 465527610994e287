/* pool.h - memory that lives and dies together, and strings that are stored once
 *
 * A run of thousands of ranks repeats the same few thousand strings; interning keeps one copy of each. Nothing in a
 * pool is freed alone. Running out of memory ends the process with a message: a preflight cannot go on without it, and
 * a half-read run must never be judged.
 */
#ifndef MUSTER_POOL_H
#define MUSTER_POOL_H

#include <stddef.h>

struct muster_pool;

struct muster_pool *muster_pool_new(void);
void muster_pool_free(struct muster_pool *pool); /* NULL is fine */

/* size bytes, zeroed, aligned for any type; never NULL. */
void *muster_pool_alloc(struct muster_pool *pool, size_t size);

/* The pool's only copy of a string; equal strings give equal pointers. NULL stays NULL. */
const char *muster_pool_string(struct muster_pool *pool, const char *text);
const char *muster_pool_string_n(struct muster_pool *pool, const char *text, size_t length);

/* A formatted string, interned. */
const char *muster_pool_printf(struct muster_pool *pool, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* realloc, calloc and strdup that end the process with a message when memory runs out; free() releases them. */
void *muster_realloc(void *old, size_t count, size_t size);
void *muster_calloc(size_t count, size_t size);
char *muster_strdup(const char *text);
char *muster_asprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
