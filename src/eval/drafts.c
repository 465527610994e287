/* SPDX-License-Identifier: Apache-2.0 */
/* drafts.c - collect drafts: fold equal ones, and add the checks that they block
 *
 * muster_draft_add gets one finding at a time, in the order of nodes and ranks. It asks in this order:
 *   continues  Is the last draft about the same check at the same place, with other labels? Then the finding is one
 *              more observation of this draft.
 *   foldable   Does one of the last drafts differ in nothing but the rank, the port, or the name of the GPU or port?
 *              Then the finding is one more thing that this draft stands for.
 *   neither    The finding becomes a new draft.
 *
 * A draft collects ranks, ports and texts as lists. findings.c makes the final text of these lists.
 */
#include "eval/drafts.h"

#include "util/array.h"

#include <stdlib.h>
#include <string.h>

/* A finding is compared with so many of the last drafts at most: its cost does not grow with the number of findings. A
 * node has few ranks. */
#define LOOK_BACK 64

void muster_drafts_make(struct muster_eval *eval)
{
	struct muster_drafts *drafts = eval->drafts = muster_calloc(1, sizeof *drafts);
	drafts->of_check = muster_calloc(eval->report->tally_count + 1, sizeof *drafts->of_check);
	drafts->cause_width = muster_probe_count() + 1;
	drafts->causes = muster_calloc(eval->rank_count * drafts->cause_width + 1, sizeof *drafts->causes);
}

void muster_drafts_done(struct muster_eval *eval)
{
	free(eval->drafts->items);
	free(eval->drafts->of_check);
	free(eval->drafts->causes);
	free(eval->drafts->known_causes);
	free(eval->drafts);
}

size_t *muster_cause_of(const struct muster_eval *eval, size_t node, size_t rank)
{
	return &eval->drafts->causes[(eval->first_rank[node] + rank) * eval->drafts->cause_width];
}

size_t *muster_cause_of_missing(const struct muster_eval *eval, size_t node, size_t rank)
{
	return muster_cause_of(eval, node, rank) + muster_probe_count();
}

/* ---- fold ---- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* except: a label that does not matter, or NULL. */
static bool same_labels(const struct muster_finding *a, const struct muster_finding *b, const char *except)
{
	return muster_labels_equal(a->labels, a->label_count, b->labels, b->label_count, except);
}

/* One result of one check, at one GPU if at any. */
static bool same_result(const struct muster_finding *a, const struct muster_finding *b)
{
	return a->status == b->status && same_text(a->check, b->check) && same_text(a->gpu, b->gpu) &&
	       same_text(a->expected, b->expected);
}

/* Findings of one node that differ in nothing but the port. */
static bool same_but_port(const struct muster_finding *a, const struct muster_finding *b)
{
	return a->port && b->port && a->rank < 0 && b->rank < 0 && same_result(a, b) &&
	       same_text(a->observed, b->observed) && same_text(a->advice, b->advice) && same_labels(a, b, "port") &&
	       muster_value_equal(a->value, b->value);
}

/* What kept a GPU or a port from being judged, with * for its own name; NULL: the finding is not about a GPU or a port,
 * is not inconclusive, or has evidence of its own. "nvmlDeviceGetX(0001:00:00.0): not permitted" becomes
 * "nvmlDeviceGetX(*): not permitted", so the findings of all GPUs of a node have one text. Of a port, the name ends
 * before the '/': texts say "mlx5_0" of the port "mlx5_0/1". */
static const char *general_of(const struct muster_finding *finding, struct muster_arena *arena)
{
	const char *name = finding->gpu ? finding->gpu : finding->port, *text = finding->observed, *general = "", *at;
	if (finding->status != MUSTER_INCONCLUSIVE || !name || !text || finding->evidence)
		return NULL;
	name = muster_arena_string_n(arena, name, finding->gpu ? strlen(name) : strcspn(name, "/"));
	for (; *name && (at = strstr(text, name)); text = at + strlen(name))
		general = muster_arena_printf(arena, "%s%.*s*", general, (int)(at - text), text);
	return muster_arena_printf(arena, "%s%s", general, text);
}

/* Findings of one node whose reason names at most the GPU or the port itself. */
static bool same_reason(const struct muster_draft *draft, const struct muster_finding *b, const char *general)
{
	const struct muster_finding *a = &draft->finding;
	return general && draft->general && same_text(draft->general, general) && same_text(a->check, b->check) &&
	       same_text(a->expected, b->expected) && same_text(a->advice, b->advice) &&
	       same_labels(a, b, b->gpu ? "gpu" : "port") && muster_value_equal(a->value, b->value);
}

/* Whether the draft can stand for the finding b too. general: as general_of(b). The first case that fits decides:
 *   both do not apply            yes, where check and reason are equal: it is said once for the whole job
 *   the node is another one      no
 *   the draft has observations   no: it stands for one place with several labels
 *     of other labels
 *   neither has a cause, and     yes
 *     they differ in nothing
 *     but the port, or but the
 *     name of the GPU or port
 *   one is about no rank         no
 *   one of them has a cause      yes, where check, status and cause are equal, whatever was observed
 *   else                         yes, where they differ in nothing but the rank
 */
static bool foldable(const struct muster_draft *draft, const struct muster_finding *b, const char *cause,
	const char *general, uint32_t node)
{
	const struct muster_finding *a = &draft->finding;
	if (a->status == MUSTER_SKIP && b->status == MUSTER_SKIP)
		return same_text(a->check, b->check) && same_text(a->observed, b->observed);
	if (draft->node != node || draft->more)
		return false;
	if (!draft->cause && !cause && (same_but_port(a, b) || same_reason(draft, b, general)))
		return true;
	if (draft->rank_count == 0 || b->rank < 0)
		return false;
	if (draft->cause || cause)
		return a->status == b->status && same_text(a->check, b->check) && same_text(draft->cause, cause);
	return same_result(a, b) && same_text(a->port, b->port) && same_text(a->observed, b->observed) &&
	       same_text(a->advice, b->advice) && same_labels(a, b, NULL) && muster_value_equal(a->value, b->value);
}

/* The place of a text among those of the draft, where it is put if there is room. */
static unsigned char add_text(struct muster_draft *draft, const char *text)
{
	unsigned char at = 0;
	while (at < draft->text_count && !same_text(draft->texts[at], text))
		at++;
	if (at == draft->text_count && at < MUSTER_TEXTS_MOST)
		draft->texts[draft->text_count++] = text;
	return at;
}

static void add_rank(struct muster_draft *draft, int rank, const char *observed)
{
	if (draft->rank_count && draft->ranks[draft->rank_count - 1].rank == rank)
		return;
	MUSTER_ARRAY_PUSH(draft->ranks, draft->rank_count, draft->rank_room,
		((struct muster_draft_rank){ rank, add_text(draft, observed) }));
}

/* One more port, which is not the first: the port of the finding itself becomes the first of the list. */
static void add_port(struct muster_draft *draft, const char *port, struct muster_arena *arena)
{
	if (draft->port_count == 0) {
		draft->ports = draft->finding.port;
		draft->port_count = 1;
	}
	if (draft->port_count++ < MUSTER_PORTS_SHOWN)
		draft->ports = muster_arena_printf(arena, "%s, %s", draft->ports, port);
}

/* The same place and the same check with other labels: one rank's wrong sums of several sizes are one finding. What has
 * evidence of its own, an event of the log, stands alone. */
static bool continues(const struct muster_draft *draft, const struct muster_finding *b, uint32_t node)
{
	const struct muster_finding *a = &draft->finding;
	bool same_rank =
		b->rank < 0 ? draft->rank_count == 0 : draft->rank_count == 1 && draft->ranks[0].rank == b->rank;
	return same_rank && draft->node == node && a->status != MUSTER_SKIP && a->metric && !a->evidence &&
	       b->label_count && same_result(a, b) && same_text(a->port, b->port) && !same_labels(a, b, NULL);
}

/* "256 with bytes 67108864" */
static const char *labelled_text(const struct muster_finding *finding, struct muster_arena *arena)
{
	const char *text = finding->observed, *joint = " with";
	for (size_t i = 0; i < finding->label_count; i++) {
		const struct muster_label *label = &finding->labels[i];
		if (label->value.type == MUSTER_STRING &&
			(same_text(label->value.string, finding->gpu) || same_text(label->value.string, finding->port)))
			continue;
		text = muster_arena_printf(
			arena, "%s%s %s %s", text, joint, label->key, muster_describe_value(label->value, arena));
		joint = ",";
	}
	return text;
}

static void continue_with(struct muster_draft *draft, const struct muster_finding *finding, struct muster_arena *arena)
{
	if (draft->more == 0)
		draft->all = labelled_text(&draft->finding, arena);
	if (++draft->more < MUSTER_MORE_SHOWN)
		draft->all = muster_arena_printf(arena, "%s; %s", draft->all, labelled_text(finding, arena));
}

/* See drafts.h. Of a finding that is folded into a draft, only what differs is kept: its rank or port, its observed
 * text (add_rank), and its evidence where the draft has none. A draft for several GPUs names none of them; where the
 * finding does not apply, findings.c still needs the GPU, to count "GPUs". */
size_t muster_draft_add(struct muster_eval *eval, struct muster_finding finding, struct muster_place place,
	size_t check, const char *cause)
{
	size_t first = finding.status == MUSTER_SKIP ? eval->drafts->check_start : eval->drafts->fold_start;
	const char *general = general_of(&finding, eval->arena);
	struct muster_draft *draft;
	if (eval->drafts->count > eval->drafts->check_start) {
		draft = &eval->drafts->items[eval->drafts->count - 1];
		if (continues(draft, &finding, place.node)) {
			continue_with(draft, &finding, eval->arena);
			return eval->drafts->count - 1;
		}
	}
	if (eval->drafts->count > first + LOOK_BACK)
		first = eval->drafts->count - LOOK_BACK;
	for (size_t i = first; i < eval->drafts->count; i++) {
		draft = &eval->drafts->items[i];
		if (!foldable(draft, &finding, cause, general, place.node))
			continue;
		if (general)
			finding.observed = draft->finding.observed = draft->texts[0] = general;
		if (finding.rank >= 0)
			add_rank(draft, finding.rank, finding.observed);
		else if (finding.port && finding.status != MUSTER_SKIP)
			add_port(draft, finding.port, eval->arena);
		if (!draft->finding.evidence) {
			draft->finding.evidence = finding.evidence;
			draft->evidence_rank = finding.rank;
		}
		if (finding.status != MUSTER_SKIP && !same_text(draft->finding.gpu, finding.gpu))
			draft->finding.gpu = NULL;
		draft->things++;
		draft->nodes += draft->last_node != place.node;
		draft->last_node = place.node;
		return i;
	}
	MUSTER_ARRAY_GROW(eval->drafts->items, eval->drafts->count, eval->drafts->room);
	draft = &eval->drafts->items[eval->drafts->count];
	*draft = (struct muster_draft){
		.finding = finding,
		.node = place.node,
		.rank = place.rank,
		.check = check,
		.cause = cause,
		.general = general,
		.things = 1,
		.nodes = 1,
		.last_node = place.node,
		.evidence_rank = finding.rank,
	};
	if (finding.rank >= 0)
		add_rank(draft, finding.rank, finding.observed);
	return eval->drafts->count++;
}

void muster_draft_fold_here(struct muster_eval *eval)
{
	eval->drafts->fold_start = eval->drafts->count;
}

void muster_draft_check_here(struct muster_eval *eval)
{
	eval->drafts->fold_start = eval->drafts->check_start = eval->drafts->count;
}

bool muster_draft_block(struct muster_eval *eval, size_t at, const char *check)
{
	struct muster_draft *draft = &eval->drafts->items[at];
	struct muster_finding *finding = &draft->finding;

	/* checks come one after the other, so the last one tells whether this one is listed already */
	if (finding->blocked_count && finding->blocked[finding->blocked_count - 1] == check)
		return false;
	MUSTER_ARRAY_PUSH(finding->blocked, finding->blocked_count, draft->blocked_room, check);
	return true;
}

void muster_draft_explain(struct muster_eval *eval, size_t at, const char *check, int rank, const char *observed)
{
	struct muster_draft *draft = &eval->drafts->items[at];
	if (draft->also && draft->also_check == check && draft->also_rank == rank)
		return; /* another size */
	draft->also_check = check;
	draft->also_rank = rank;
	if (draft->also_count++ < MUSTER_MORE_SHOWN)
		draft->also = muster_arena_printf(eval->arena, "%s%s%s %s on rank %d", draft->also ? draft->also : "",
			draft->also ? ", " : "", check, observed, rank);
}

const struct muster_tally *muster_report_tally(const struct muster_report *report, const char *check)
{
	for (size_t i = 0; i < report->tally_count; i++)
		if (strcmp(report->tallies[i].check, check) == 0)
			return &report->tallies[i];
	return NULL;
}
