/* SPDX-License-Identifier: Apache-2.0 */
/* attempts.h - trials as text, and who is to blame as text */
#ifndef MUSTER_TESTS_ATTEMPTS_H
#define MUSTER_TESTS_ATTEMPTS_H

#include "localize/blame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "0 ok; 1 failed; 0-2 ok 1.5s; 1-2 late 9s": nodes by number, and seconds. Returns how many there are. */
static inline size_t attempts_of(const char *text, struct muster_attempt *ret, size_t room)
{
	static const char *const names[] = { "failed", "ok", "late" };
	size_t count = 0;
	while (*text && count < room) {
		struct muster_attempt *one = &ret[count++];
		char *at;
		*one = (struct muster_attempt){ .nodes[0] = strtoul(text, &at, 10) };
		one->nodes[1] = *at == '-' ? strtoul(at + 1, &at, 10) : one->nodes[0];
		at += strspn(at, " ");
		while (one->status < MUSTER_TRIAL_STATUS_COUNT &&
			strncmp(at, names[one->status], strlen(names[one->status])) != 0)
			one->status++;
		at += strcspn(at, " ;");
		if (*at == ' ')
			one->seconds = strtod(at, &at);
		at += *at == 's';
		text = at + strspn(at, "; ");
	}
	return count;
}

/* "node 3 alone; node 4; link 0-2; split 0 7; unexplained 1": the last only when there is nothing else. */
static inline void describe_blame(const struct muster_suspects *s, char *out, size_t size)
{
	size_t used = 0;
	*out = '\0';
#define SAY(...) used += (size_t)snprintf(out + used, size - used, __VA_ARGS__)
	for (size_t i = 0; i < s->node_count; i++)
		if (s->nodes[i].blame != MUSTER_BLAME_NONE)
			SAY("%snode %zu%s", used ? "; " : "", i,
				s->nodes[i].blame == MUSTER_BLAME_ALONE ? " alone" : "");
	for (size_t i = 0; i < s->edge_count; i++)
		if (s->links[i])
			SAY("%slink %zu-%zu", used ? "; " : "", s->edges[i].a, s->edges[i].b);
	if (s->split) {
		SAY("%ssplit", used ? "; " : "");
		for (size_t i = 0; i < s->component_count; i++)
			SAY(" %zu", s->components[i]);
	}
	if (s->unexplained && used == 0)
		SAY("unexplained %zu", s->unexplained);
#undef SAY
}

#endif
