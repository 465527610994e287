/* dealer.h - rank 0 deals the rings: who shares one with whom, round after round
 *
 * All ranks come to two gates a round: one where each says whether it can take part and how the last round ended for
 * it, and hears of its place in this round; and one where the first rank of each ring brings the ring's id. The first
 * round is a ring of all. When ranks fall out of it, another one is made of those that are left; when it fails or is
 * slow and nobody is to blame, trial rings of few nodes find out who is.
 *
 * What a rank brings: hands.h. What it hears: "+<place> <ranks> <nodes> <1: a trial> <milliseconds>"; "-<why not>" when
 * a ring of all is made without it; "=" when it has no part in a round of trials; "." when there will be no more
 * rounds.
 */
#ifndef MUSTER_RUN_DEALER_H
#define MUSTER_RUN_DEALER_H

#include "muster/probe.h"
#include "run/hands.h"
#include "localize/plan.h"

struct muster_team {             /* the ranks of one ring */
	int first, ranks, nodes; /* first: the rank that makes the id */
	bool called_off;
};

/* The rings of one probe. */
struct muster_dealer {
	const struct muster_probe *probe;
	int round; /* dealt last; -1 */
	bool over; /* and that was the answer at the gate of the round behind it */
	bool trial;
	int fulls; /* rings of all that could take part */
	int *team; /* of each rank in this round; -1: none */
	bool *in;  /* of each node: it has a part in the last full ring */
	struct muster_team *teams;
	size_t team_count;
	bool scouting, scouted; /* trials have begun; they are over */
	struct muster_plan scout;
	size_t *scout_nodes; /* the index of each of the scout's nodes */
	size_t *scout_teams; /* of this round of trials */
};

struct muster_dealer *muster_dealer_new(const struct muster_root *root, const struct muster_probe *probe);
void muster_dealer_free(struct muster_dealer *dealer);

/* A gate of the ring has settled; a node came to one that had. */
void muster_dealer_settle(struct muster_dealer *dealer, struct muster_root *root, const struct muster_gate *gate);
const char *muster_dealer_late_answer(const struct muster_dealer *dealer, int gate);

/* The ring that this rank has a part in, at this gate, is broken: the others need not wait for it. */
void muster_dealer_broken(
	struct muster_dealer *dealer, const struct muster_root *root, int rank, int gate, const char *why);

#endif
