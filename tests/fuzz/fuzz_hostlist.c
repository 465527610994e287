/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hostlist.c - lists of host names: refused with one line, or compressed and expanded to the same names */
#include "fuzz.h"

#include "slurm/hostlist.h"

#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, each once; returns how many. */
static size_t make_set(const char **names, size_t count)
{
	size_t kept = 0;
	qsort(names, count, sizeof *names, by_text);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
			names[kept++] = names[i];
	return kept;
}

static void check_back(struct muster_arena *arena, const char *const *names, size_t count)
{
	const char *const *back;
	size_t back_count;
	struct muster_error err;
	char *list = muster_hostlist_compress(names, count);
	FUZZ_CHECK(muster_hostlist_expand(list, arena, &back, &back_count, &err) == 0, "%s: %s", list, err.text);
	const char **set = muster_calloc(count + 1, sizeof *set),
		   **back_set = muster_calloc(back_count + 1, sizeof *set);
	memcpy(set, names, count * sizeof *set);
	memcpy(back_set, back, back_count * sizeof *set);
	count = make_set(set, count);
	FUZZ_CHECK(count == back_count && count == make_set(back_set, back_count), "%zu names are %zu in %s", count,
		back_count, list);
	for (size_t i = 0; i < count; i++)
		FUZZ_CHECK(strcmp(set[i], back_set[i]) == 0, "%s became %s in %s", set[i], back_set[i], list);
	free(back_set);
	free(set);
	free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *const *names;
	size_t count;
	struct muster_error err;
	struct muster_arena *arena = muster_arena_new();
	char *text = fuzz_string(bytes, size);
	if (muster_hostlist_expand(text, arena, &names, &count, &err) < 0) {
		fuzz_check_error(&err);
		FUZZ_CHECK(err.code == MUSTER_EUSAGE, "%s", err.text);
	} else {
		FUZZ_CHECK(count <= MUSTER_HOSTS_MAX, "%zu names", count);
		for (size_t i = 0; i < count; i++)
			FUZZ_CHECK(*names[i] && strlen(names[i]) <= MUSTER_HOST_NAME_MAX, "\"%s\"", names[i]);
		check_back(arena, names, count);
	}
	free(text);
	muster_arena_free(arena);
	return 0;
}
