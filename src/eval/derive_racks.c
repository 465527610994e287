/* SPDX-License-Identifier: Apache-2.0 */
/* derive_racks.c - how even the steps of the GPUs of a rack are, and whether the ranks of each rack are side by side
 *
 * A rack is what NVLink joins across nodes: GPUs of one cluster and clique. Where GPUs have no such fabric, the switch
 * or block of Slurm's topology stands for it when ranks are put in order.
 *
 * Ranks in order, with their racks: A A B B A A has two changes, and two racks need only one. So traffic between
 * neighbours in the order of ranks leaves a rack more often than it must, and job.rack_order lists the nodes rack by
 * rack.
 */
#include "eval/derive.h"

#include "eval/entries.h"
#include "eval/nvlink_domains.h"
#include "expect/describe.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

/* ---- job.step_spread ---- */

/* The time that a rank needed for the computation of a training step. */
struct step {
	const char *rack, *model;
	double ms;
};

static int by_rack(const void *a, const void *b)
{
	const struct step *x = a, *y = b;
	int order = strcmp(x->rack, y->rack);
	if (!order)
		order = strcmp(x->model, y->model);
	return order ? order : (x->ms > y->ms) - (x->ms < y->ms);
}

/* The widest spread of the steps of one rack, among GPUs of one model: (longest - shortest) / median. Below 0 when no
 * model has two. steps: sorted by model, then by time. */
static double spread_of(const struct step *steps, size_t count)
{
	double widest = -1;
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && strcmp(steps[next].model, steps[i].model) == 0;)
			next++;
		double median = (steps[i + (next - i - 1) / 2].ms + steps[i + (next - i) / 2].ms) / 2;
		double spread = next - i > 1 && median > 0 ? (steps[next - 1].ms - steps[i].ms) / median : -1;
		widest = spread > widest ? spread : widest;
	}
	return widest;
}

static void emit_spread(struct muster_run *run, const struct muster_metric *metric, const char *rack, double spread)
{
	struct muster_label *labels = muster_arena_alloc(run->arena, 2 * sizeof *labels);
	labels[0] = (struct muster_label){ "kind", muster_string(*rack ? "rack" : "all") };
	labels[1] = (struct muster_label){ "among",
		muster_string(*rack ? muster_arena_printf(run->arena, "rack %s", rack) : "all ranks") };
	muster_derived_add(&run->job.samples, metric, labels, 2, spread,
		spread < 0 ? "no two ranks have the same GPU model" : NULL, NULL);
}

/* A value for each rack. Where no GPU of the run has a fabric between nodes, one value for all ranks; where some GPUs
 * have one, those without it are left out. */
static void derive_spread(struct muster_run *run, size_t ranks)
{
	const struct muster_metric *metric = muster_metric_find("job.step_spread"),
				   *clique = muster_metric_find("gpu.fabric_clique");
	struct step *steps = muster_calloc(ranks + 1, sizeof *steps);
	size_t count = 0;
	for (size_t n = 0; n < run->node_count && !muster_samples_find(&run->job.samples, metric); n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			const struct muster_rank *rank = &run->nodes[n].ranks[r];
			double ms = muster_sample_number(&rank->samples, "rank.step_compute_ms", -1);
			if (ms >= 0)
				steps[count++] = (struct step){ muster_nvlink_fabric(rank, clique, run->arena),
					muster_gpu_model(rank, run->arena), ms };
		}
	qsort(steps, count, sizeof *steps, by_rack);
	bool racks = count > 0 && *steps[count - 1].rack;
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && strcmp(steps[next].rack, steps[i].rack) == 0;)
			next++;
		if (*steps[i].rack || !racks)
			emit_spread(run, metric, steps[i].rack, spread_of(&steps[i], next - i));
	}
	free(steps);
}

/* ---- job.rack_order ---- */

struct placed {
	int rank;
	size_t node;
	const char *rack;
	size_t number; /* of the rack, in order of the first rank there */
};

static int by_rank(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_rack_then_rank(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int order = strcmp(x->rack, y->rack);
	return order ? order : by_rank(a, b);
}

static int by_number(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return by_rank(a, b);
}

/* The rack of each rank: all by fabric, or all by Slurm's topology. False when they are not known. */
static bool find_racks(struct muster_run *run, struct placed *placed, size_t *ret_count)
{
	const struct muster_metric *clique = muster_metric_find("gpu.fabric_clique");
	bool known = false;
	for (int by_slurm = 0; by_slurm < 2 && !known; by_slurm++) {
		size_t count = 0;
		known = true;
		for (size_t n = 0; n < run->node_count; n++) {
			const struct muster_node *node = &run->nodes[n];
			const char *rack = muster_sample_text(&node->samples, "node.slurm_topology", "");
			for (size_t r = 0; r < node->rank_count; r++) {
				if (!by_slurm)
					rack = muster_nvlink_fabric(&node->ranks[r], clique, run->arena);
				placed[count++] = (struct placed){ node->ranks[r].rank, n, rack, 0 };
				known = known && *rack;
			}
		}
		*ret_count = count;
	}
	return known;
}

/* The nodes, rack after rack: "sim-[1-2], sim-5, sim-[3-4]". placed is sorted by the number of the rack. */
static const char *order_text(struct muster_run *run, const struct placed *placed, size_t count)
{
	const char **names = muster_calloc(count + 1, sizeof *names);
	size_t used = 0;
	for (size_t i = 0; i < count; i++)
		if (i == 0 || placed[i].node != placed[i - 1].node)
			names[used++] = run->nodes[placed[i].node].name;
	const char *text = muster_describe_nodes(names, used, run->arena);
	free(names);
	return text;
}

/* By the example at the top: `changes` counts how often the rack changes from one rank to the next, `racks` how often
 * it must, which is one less than the number of racks. When there are more changes than needed, racks are put in the
 * order of their first ranks, and the metric lists the nodes in this order. Otherwise no sample is added. */
static void derive_order(struct muster_run *run, size_t ranks)
{
	const struct muster_metric *metric = muster_metric_find("job.rack_order");
	struct placed *placed = muster_calloc(ranks + 1, sizeof *placed);
	size_t count = 0, racks = 0, changes = 0;
	bool known = !muster_samples_find(&run->job.samples, metric) && find_racks(run, placed, &count);
	qsort(placed, count, sizeof *placed, by_rank);
	for (size_t i = 1; i < count; i++)
		changes += strcmp(placed[i].rack, placed[i - 1].rack) != 0;
	qsort(placed, count, sizeof *placed, by_rack_then_rank);
	for (size_t i = 0, first = 0; i < count; i++) {
		if (i > 0 && strcmp(placed[i].rack, placed[i - 1].rack) != 0) {
			first = i;
			racks++;
		}
		placed[i].number = (size_t)placed[first].rank;
	}
	if (known && changes > racks) {
		qsort(placed, count, sizeof *placed, by_number);
		muster_samples_add(&run->job.samples, (struct muster_sample){ .metric = metric,
							      .value = muster_string(order_text(run, placed, count)) });
	}
	free(placed);
}

void muster_run_derive_racks(struct muster_run *run)
{
	size_t ranks = 0;
	for (size_t n = 0; n < run->node_count; n++)
		ranks += run->nodes[n].rank_count;
	derive_spread(run, ranks);
	derive_order(run, ranks);
}
