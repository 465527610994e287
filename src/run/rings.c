/* rings.c - measurements over all ranks: who can take part, where in the ring, the id, the ring */
#include "run/conductor.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>

/* Ask the ring's first rank's worker for an id. */
static void make_ring_id(struct muster_conductor *c, const struct muster_probe *probe, char *ret, size_t size)
{
	*ret = '\0';
	if (muster_errand_run(c, probe, "ring_id"))
		snprintf(ret, size, "%s", c->crew.ring_id);
}

static void run_ring(struct muster_conductor *c, const struct muster_probe *probe, size_t index, int phase)
{
	int id = MUSTER_GATE_RING + 10 * (int)index;
	const struct muster_outcome *before;
	bool can = muster_errand_may_run(c, probe);
	before = muster_errand_outcome(c, probe->name);
	char *mine = can ? muster_asprintf("+%s", c->crew.uuid)
			 : muster_asprintf("-%s", before && before->detail ? before->detail : "it could not take part");
	char *place = muster_pass_gate(c, id, phase, mine, strlen(mine));
	free(mine);
	struct muster_ring ring = { 0 };
	bool in = sscanf(place, "+%d %d %d", &ring.rank, &ring.ranks, &ring.nodes) == 3;
	char ring_id[2 * MUSTER_RING_ID_BYTES + 1] = "";
	if (in && ring.rank == 0)
		make_ring_id(c, probe, ring_id, sizeof ring_id);
	char *shared = muster_pass_gate(c, id + 1, -1, ring_id, strlen(ring_id));
	if (in && *shared && *shared != '-') {
		int deadline = muster_bounded(c, probe->deadline_ms);
		struct muster_command command;
		muster_command_begin(&command, "ring");
		muster_command_text(&command, "probe", probe->name);
		muster_command_text(&command, "ring_id", shared);
		muster_command_number(&command, "ring_rank", ring.rank);
		muster_command_number(&command, "ring_ranks", ring.ranks);
		muster_command_number(&command, "ring_nodes", ring.nodes);
		muster_command_number(&command, "timeout_ms", deadline > 2000 ? deadline - 1000 : deadline / 2);
		muster_command_start(c, &command, deadline);
		muster_errand_end(c, probe);
	} else if (can) {
		muster_errand_not_run(c, probe->name, MUSTER_OUTCOME_NOT_RUN, "",
			in              ? "the ring's first rank could not make an id for it"
			: *place == '-' ? place + 1
					: "rank 0 did not say who takes part");
	}
	free(shared);
	free(place);
}

void muster_rings_run(struct muster_conductor *c)
{
	int phase = MUSTER_PHASE_COPIES;
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		if (!probe->ring)
			continue;
		run_ring(c, probe, i, phase);
		phase = -1;
	}
}
