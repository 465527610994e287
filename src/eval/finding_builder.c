/* finding_builder.c - collect findings: fold equal ones, add the checks that they block, sort, hand over
 */
#include "eval/eval.h"
#include "model/gpu.h"
#include "muster/arena.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

#define MORE_SHOWN 4 /* observations of one finding, then "and N more" */
#define PORTS_SHOWN 16
#define LOOK_BACK 64 /* drafts that a new one is compared with; a node has few ranks */

/* Worst first: fail, inconclusive, warn, not applicable. */
static const int weights[MUSTER_STATUS_COUNT] = {
	[MUSTER_FAIL] = 4,
	[MUSTER_INCONCLUSIVE] = 3,
	[MUSTER_WARN] = 2,
	[MUSTER_SKIP] = 1,
	[MUSTER_PASS] = 0,
	[MUSTER_BLOCKED] = 0,
};

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

/* What kept a GPU or a port from being judged, with * for its own name; NULL: this is no such finding. */
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
static bool same_reason(const struct muster_finding_draft *draft, const struct muster_finding *b, const char *general)
{
	const struct muster_finding *a = &draft->finding;
	return general && draft->general && same_text(draft->general, general) && same_text(a->check, b->check) &&
	       same_text(a->expected, b->expected) && same_text(a->advice, b->advice) &&
	       same_labels(a, b, b->gpu ? "gpu" : "port") && muster_value_equal(a->value, b->value);
}

/* What does not apply for one and the same reason is said once for the whole job; what has one cause, or else differs
 * in nothing but the rank or the port, once for its node. */
static bool foldable(const struct muster_finding_draft *draft, const struct muster_finding *b, const char *cause,
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
static unsigned char add_text(struct muster_finding_draft *draft, const char *text)
{
	unsigned char at = 0;
	while (at < draft->text_count && !same_text(draft->texts[at], text))
		at++;
	if (at == draft->text_count && at < MUSTER_TEXTS_MOST)
		draft->texts[draft->text_count++] = text;
	return at;
}

static void add_rank(struct muster_finding_draft *draft, int rank, const char *observed)
{
	if (draft->rank_count && draft->ranks[draft->rank_count - 1].rank == rank)
		return;
	MUSTER_ARRAY_PUSH(draft->ranks, draft->rank_count, draft->rank_room,
		((struct muster_finding_draft_rank){ rank, add_text(draft, observed) }));
}

/* One more port, which is not the first. */
static void add_port(struct muster_finding_draft *draft, const char *port, struct muster_arena *arena)
{
	if (draft->port_count == 0) {
		draft->ports = draft->finding.port;
		draft->port_count = 1;
	}
	if (draft->port_count++ < PORTS_SHOWN)
		draft->ports = muster_arena_printf(arena, "%s, %s", draft->ports, port);
}

/* The same place and the same check with other labels: one rank's wrong sums of several sizes are one finding. What has
 * evidence of its own, an event of the log, stands alone. */
static bool continues(const struct muster_finding_draft *draft, const struct muster_finding *b, uint32_t node)
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

static void continue_with(
	struct muster_finding_draft *draft, const struct muster_finding *finding, struct muster_arena *arena)
{
	if (draft->more == 0)
		draft->all = labelled_text(&draft->finding, arena);
	if (++draft->more < MORE_SHOWN)
		draft->all = muster_arena_printf(arena, "%s; %s", draft->all, labelled_text(finding, arena));
}

size_t muster_finding_draft_add(struct muster_eval *eval, struct muster_finding finding, struct muster_place place,
	size_t check, const char *cause)
{
	size_t first = finding.status == MUSTER_SKIP ? eval->check_start : eval->fold_start;
	const char *general = general_of(&finding, eval->report->arena);
	struct muster_finding_draft *draft;
	if (eval->draft_count > eval->check_start) {
		draft = &eval->drafts[eval->draft_count - 1];
		if (continues(draft, &finding, place.node)) {
			continue_with(draft, &finding, eval->report->arena);
			return eval->draft_count - 1;
		}
	}
	if (eval->draft_count > first + LOOK_BACK)
		first = eval->draft_count - LOOK_BACK;
	for (size_t i = first; i < eval->draft_count; i++) {
		draft = &eval->drafts[i];
		if (!foldable(draft, &finding, cause, general, place.node))
			continue;
		if (general)
			finding.observed = draft->finding.observed = draft->texts[0] = general;
		if (finding.rank >= 0)
			add_rank(draft, finding.rank, finding.observed);
		else if (finding.port && finding.status != MUSTER_SKIP)
			add_port(draft, finding.port, eval->report->arena);
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
	MUSTER_ARRAY_GROW(eval->drafts, eval->draft_count, eval->draft_room);
	draft = &eval->drafts[eval->draft_count];
	*draft = (struct muster_finding_draft){
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
	return eval->draft_count++;
}

void muster_finding_draft_fold_here(struct muster_eval *eval)
{
	eval->fold_start = eval->draft_count;
}

void muster_finding_draft_check_here(struct muster_eval *eval)
{
	eval->fold_start = eval->check_start = eval->draft_count;
}

bool muster_finding_draft_block(struct muster_eval *eval, size_t at, const char *check)
{
	struct muster_finding_draft *draft = &eval->drafts[at];
	struct muster_finding *finding = &draft->finding;

	/* checks come one after the other, so the last one tells whether this one is listed already */
	if (finding->blocked_count && finding->blocked[finding->blocked_count - 1] == check)
		return false;
	MUSTER_ARRAY_PUSH(finding->blocked, finding->blocked_count, draft->blocked_room, check);
	return true;
}

static int compare_index(uint32_t a, uint32_t b)
{
	uint32_t x = a + 1, y = b + 1; /* nowhere comes first */
	return (x > y) - (x < y);
}

static int compare(const void *a, const void *b)
{
	const struct muster_finding_draft *x = a, *y = b;
	int order = weights[y->finding.status] - weights[x->finding.status];
	const char *x_key = x->finding.gpu ? x->finding.gpu : x->finding.port ? x->finding.port : "";
	const char *y_key = y->finding.gpu ? y->finding.gpu : y->finding.port ? y->finding.port : "";
	if (!order)
		order = compare_index(x->node, y->node);
	if (!order)
		order = compare_index(x->rank, y->rank);
	if (!order) /* probes and ranks, MUSTER_NO_CHECK, first: they explain the rest */
		order = (x->check + 1 > y->check + 1) - (x->check + 1 < y->check + 1);
	if (!order)
		order = strcmp(x->finding.check, y->finding.check);
	return order ? order : strcmp(x_key, y_key);
}

/* "ranks 0-3,6: killed by signal 9; rank 5: exit status 1; and 2 more ranks" */
static const char *ranks_text(const struct muster_finding_draft *draft, struct muster_arena *arena)
{
	int *ranks = muster_calloc(draft->rank_count, sizeof *ranks);
	const char *text = "";
	size_t count;
	for (unsigned char t = 0; t <= MUSTER_TEXTS_MOST; t++) {
		count = 0;
		for (size_t i = 0; i < draft->rank_count; i++)
			if (draft->ranks[i].text == t)
				ranks[count++] = draft->ranks[i].rank;
		if (count == 0)
			continue;
		if (t == MUSTER_TEXTS_MOST)
			text = muster_arena_printf(
				arena, "%s; and %zu more rank%s", text, count, count == 1 ? "" : "s");
		else
			text = muster_arena_printf(arena, "%s%srank%s %s: %s", text, t ? "; " : "",
				count == 1 ? "" : "s", muster_describe_ranks(ranks, count, arena), draft->texts[t]);
	}
	free(ranks);
	return text;
}

static void drop_label(struct muster_finding *finding, const char *key, struct muster_arena *arena)
{
	struct muster_label *labels = muster_arena_alloc(arena, (finding->label_count + 1) * sizeof *labels);
	size_t count = 0;
	for (size_t i = 0; i < finding->label_count; i++)
		if (strcmp(finding->labels[i].key, key) != 0)
			labels[count++] = finding->labels[i];
	finding->labels = labels;
	finding->label_count = count;
}

/* "ports mlx5_ib0/1, mlx5_ib1/1: false"; no port is the finding's own any more. */
static void unfold_ports(
	const struct muster_finding_draft *draft, struct muster_finding *finding, struct muster_arena *arena)
{
	size_t more = draft->port_count > PORTS_SHOWN ? draft->port_count - PORTS_SHOWN : 0;
	drop_label(finding, "port", arena);
	finding->port = NULL;
	finding->observed =
		more ? muster_arena_printf(arena, "ports %s and %zu more: %s", draft->ports, more, finding->observed)
		     : muster_arena_printf(arena, "ports %s: %s", draft->ports, finding->observed);
}

void muster_finding_draft_explain(
	struct muster_eval *eval, size_t at, const char *check, int rank, const char *observed)
{
	struct muster_finding_draft *draft = &eval->drafts[at];
	struct muster_arena *arena = eval->report->arena;
	if (draft->also && draft->also_check == check && draft->also_rank == rank)
		return; /* another size */
	draft->also_check = check;
	draft->also_rank = rank;
	if (draft->also_count++ < MORE_SHOWN)
		draft->also = muster_arena_printf(arena, "%s%s%s %s on rank %d", draft->also ? draft->also : "",
			draft->also ? ", " : "", check, observed, rank);
}

/* A finding that stands for several things says for which. */
static void unfold(const struct muster_finding_draft *draft, struct muster_finding *finding, struct muster_arena *arena)
{
	if (draft->more) {
		finding->observed = draft->more < MORE_SHOWN ? draft->all
							     : muster_arena_printf(arena, "%s; and %zu more",
								       draft->all, draft->more - MORE_SHOWN + 1);
		finding->share = (struct muster_share){ 0 };
		finding->tries = NULL;
	}
	if (draft->port_count) {
		unfold_ports(draft, finding, arena);
		return;
	}
	if (draft->general && draft->things > 1)
		drop_label(finding, "gpu", arena);
	if (draft->things < 2 || (finding->status != MUSTER_SKIP && draft->rank_count < 2))
		return;
	if (finding->status != MUSTER_SKIP) {
		finding->observed = ranks_text(draft, arena);
		if (finding->evidence)
			finding->evidence = muster_arena_printf(arena, "rank %d, one of %zu: %s", draft->evidence_rank,
				draft->rank_count, finding->evidence);
		finding->rank = -1;
		return;
	}
	finding->observed = muster_arena_printf(arena, "%s (%zu %s)", finding->observed, draft->things,
		finding->gpu         ? "GPUs"
		: finding->port      ? "ports"
		: finding->rank >= 0 ? "ranks"
		: draft->nodes > 1   ? "nodes"
				     : "times");
	if (draft->nodes > 1)
		finding->node = NULL;
	finding->rank = -1;
	finding->gpu = finding->port = NULL;
	finding->labels = NULL;
	finding->label_count = 0;
}

static const char *add_explained(
	const struct muster_finding_draft *draft, const char *observed, struct muster_arena *arena)
{
	return draft->also_count > MORE_SHOWN ? muster_arena_printf(arena, "%s; also wrong: %s, and %zu more", observed,
							draft->also, draft->also_count - MORE_SHOWN)
					      : muster_arena_printf(arena, "%s; also wrong: %s", observed, draft->also);
}

/* Where neither a check, nor an event, nor a cause says it. */
static const char *default_action(const struct muster_finding *finding)
{
	return finding->status == MUSTER_SKIP           ? "none"
	       : finding->status != MUSTER_INCONCLUSIVE ? "investigate"
	       : finding->unread                        ? "fix-settings"
							: "retry";
}

void muster_finding_drafts_finish(struct muster_eval *eval)
{
	struct muster_report *report = eval->report;
	struct muster_arena *arena = report->arena;
	if (eval->draft_count)
		qsort(eval->drafts, eval->draft_count, sizeof *eval->drafts, compare);
	report->findings = muster_arena_alloc(arena, (eval->draft_count + 1) * sizeof *report->findings);
	for (size_t i = 0; i < eval->draft_count; i++) {
		struct muster_finding_draft *draft = &eval->drafts[i];
		struct muster_finding *finding = &report->findings[i];
		*finding = draft->finding;
		unfold(draft, finding, arena);
		finding->gpu_index = muster_node_gpu_index(
			draft->node == MUSTER_NOWHERE ? NULL : &eval->run->nodes[draft->node], finding->gpu);
		if (!finding->action_code || finding->status == MUSTER_SKIP)
			finding->action_code = default_action(finding);
		if (draft->also)
			finding->observed = add_explained(draft, finding->observed, arena);
		if (finding->blocked_count) {
			size_t size = finding->blocked_count * sizeof *finding->blocked;
			finding->blocked = muster_arena_alloc(arena, size);
			memcpy(finding->blocked, draft->finding.blocked, size);
		}
		free(draft->finding.blocked);
		free(draft->ranks);
		report->count[finding->status]++;
	}
	report->finding_count = eval->draft_count;
	free(eval->drafts);
}
