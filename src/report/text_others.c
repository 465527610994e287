/* SPDX-License-Identifier: Apache-2.0 */
/* text_others.c - who else used the nodes, where that is no finding: busy CPUs, other jobs, programs on shared GPUs
 *
 *   also on the nodes
 *     sim-1: 60 processes ran on its 96 CPUs in the minute before the run (load average)
 *     sim-1: other Slurm jobs 4711
 *     sim-2, GPU 0 (0001:00:00.0), shared (mps): 12 python3 (uid1001) 20 MiB
 */
#include "report/text_summary.h"

#include "model/gpu.h"
#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/run_data.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 8 };
#define BUSY_SHARE 0.5 /* of the CPUs; ranks that start take far less of the last minute */

struct others {
	const struct muster_text_page *page;
	size_t count;
};

/* One line, which it frees. */
static void print(struct others *others, char *line)
{
	FILE *out = others->page->out;
	if (others->count == 0)
		fputs("\nalso on the nodes\n", out);
	if (others->count++ < LINES_MAX) {
		fputs("  ", out);
		muster_text_lines(others->page, line, 2, 4);
	}
	free(line);
}

static void take_node(struct others *others, const struct muster_node *node)
{
	const char *jobs = muster_sample_text(&node->samples, "node.other_jobs", "none");
	double load = muster_sample_number(&node->samples, "node.load_average", 0),
	       cpus = muster_sample_number(&node->samples, "node.cpus", 0);
	if (cpus > 0 && load >= BUSY_SHARE * cpus)
		print(others,
			muster_asprintf(
				"%s: %.0f processes ran on its %.0f CPUs in the minute before the run (load average)",
				node->name, load, cpus));
	if (strcmp(jobs, "none") != 0)
		print(others, muster_asprintf("%s: other Slurm jobs %s", node->name, jobs));
}

/* Programs on a GPU that is shared on purpose; on another one they are a finding. */
static void take_rank(struct others *others, const struct muster_node *node, const struct muster_rank *rank)
{
	const char *sharing = muster_rank_sharing(rank), *last = "none"; /* programs that stay are told once */
	const struct muster_sample *sample;
	for (size_t at = 0; sharing && (sample = muster_rank_users(rank, &at));) {
		const char *gpu = muster_label_string(sample->labels, sample->label_count, "gpu");
		char *text = muster_gpu_text(gpu, muster_node_gpu_index(node, gpu));
		if (strcmp(sample->value.string, last) != 0)
			print(others, muster_asprintf("%s, %s, shared (%s): %s", node->name, text, sharing,
					      sample->value.string));
		free(text);
		last = sample->value.string;
	}
}

void muster_text_others(const struct muster_text_page *page)
{
	const struct muster_run *run = page->report->run;
	struct others others = { .page = page };
	for (size_t n = 0; n < run->node_count; n++) {
		take_node(&others, &run->nodes[n]);
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			take_rank(&others, &run->nodes[n], &run->nodes[n].ranks[r]);
	}
	if (others.count > LINES_MAX)
		fprintf(page->out, "  and %zu more, all of them in the JSON report\n", others.count - LINES_MAX);
}
