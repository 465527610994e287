/* peers.c - how many places of one kind judge one of them: the one rule for checks that compare values of one run
 *
 * Two never judge each other: which one is wrong is unknown. Three warn, six may fail one of them, which counts too.
 * The six are for speeds and times, which scatter; a fact, such as a number of links, is one with three as well.
 * Other ranks that are as slow do not count: half of eight ranks, such as all of one node, may have the usual speed.
 */
#include "eval/eval.h"

#include "muster/arena.h"

#define WARN_LEAST 3
#define FAIL_LEAST 6

/* "2 GPUs" */
static const char *places_text(const struct muster_check *check, size_t places, struct muster_arena *arena)
{
	enum muster_scope scope = check->metric->scope;
	const char *name = scope == MUSTER_SCOPE_GPU    ? "GPU"
			   : scope == MUSTER_SCOPE_NODE ? "value"
							: muster_scope_name(scope);
	return muster_arena_printf(arena, "%zu %s%s", places, name, places == 1 ? "" : "s");
}

const char *muster_peers_lack(const struct muster_check *check, size_t places, struct muster_arena *arena)
{
	return places >= WARN_LEAST ? NULL
				    : muster_arena_printf(arena, "only %s to compare, and %d are needed",
					      places_text(check, places, arena), WARN_LEAST);
}

bool muster_peers_is_next(const struct muster_entry *last, const struct muster_entry *entry)
{
	return !last || entry->rank == MUSTER_NOWHERE || entry->rank != last->rank || entry->node != last->node;
}

const char *muster_peers_few(const struct muster_eval *eval, size_t at, const struct muster_question *question,
	const struct muster_sample *limit)
{
	const enum muster_operator_kind kind = question->operand->operator->kind;
	size_t places = kind == MUSTER_OF_MEDIAN   ? question->median->places
			: kind == MUSTER_OF_OTHERS ? question->others->count + 1 - question->others->bad
						   : muster_exchange_usual_ranks(eval, at, limit, FAIL_LEAST);
	if (places == 0 || places >= FAIL_LEAST || muster_check_status(question->check) != MUSTER_FAIL ||
		!muster_metric_scatters(question->check->metric))
		return NULL;
	return muster_arena_printf(question->arena, "only a warning among %s: %d are needed to fail one",
		places_text(question->check, places, question->arena), FAIL_LEAST);
}
