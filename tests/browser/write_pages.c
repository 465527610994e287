/* SPDX-License-Identifier: Apache-2.0 */
/* write_pages.c - HTML pages of reports that no run here gives: hostile names, and 1,024 nodes with some faults
 *
 * usage: write_pages DIRECTORY
 */
#include "muster/report.h"

#include "muster/run.h"
#include "report_fixture.h"

#include <stdlib.h>

enum { FLEET_RANKS = 8192, NODES_OF_A_SWITCH = 32 };

/* What must stay text wherever a report shows it. */
static const char *hostile[] = {
	"<script>document.title='owned'</script>",
	"</style></title></svg><img src=x onerror=alert(1)>",
	"\"' onmouseover='alert(2)' x=\"",
	"]]>--><!-- <b>bold</b> &lt;i&gt; &#60;u&#62;",
	"javascript:alert(3)\x1b[2J\xe2\x80\xaegpj\xe2\x81\xa6",
	"\xff\xfe broken \xc3",
	("a-name-of-a-node-that-is-as-long-as-a-name-may-be-and-has-no-place-to-break-it-anywhere-"
	 "0123456789012345678901"),
};
enum { HOSTILE_COUNT = sizeof hostile / sizeof *hostile };

static int write_page(const char *directory, const char *name, const struct muster_report *report)
{
	char *path = muster_asprintf("%s/%s.html", directory, name);
	FILE *out = fopen(path, "w");
	if (out)
		muster_report_print_html(report, out);
	int rc = out && fclose(out) == 0 ? 0 : -1;
	if (rc < 0)
		fprintf(stderr, "write_pages: cannot write %s\n", path);
	free(path);
	return rc;
}

/* Every text that a report has from outside is hostile, with findings of each status about it. */
static int write_hostile(const char *directory)
{
	struct muster_run run;
	struct muster_report report;
	struct muster_finding findings[2 * HOSTILE_COUNT];
	fixture_run(&run);
	fixture_report(&report, &run);
	for (size_t i = 0; i < HOSTILE_COUNT; i++) {
		const char *text = hostile[i];
		struct muster_node *node = i < 2 ? &run.nodes[i] : muster_run_add_node(&run, text);
		node->name = text;
		struct muster_rank *rank = i < 2 ? &node->ranks[0] : muster_node_add_rank(node, 16 + (int)i);
		rank->gpu = text;
		rank->unfinished = text;
		muster_outcomes_add(&rank->outcomes,
			(struct muster_outcome){
				.probe = "gpu", .status = MUSTER_OUTCOME_ERROR, .detail = text, .evidence = text });
		findings[i] = (struct muster_finding){ .check = text,
			.status = i % 2 ? MUSTER_FAIL : MUSTER_WARN,
			.node = text,
			.rank = rank->rank,
			.gpu = text,
			.gpu_index = -1,
			.port = i % 3 ? NULL : text,
			.metric = "gpu.name",
			.expected = text,
			.observed = text,
			.evidence = text,
			.advice = text,
			.source = text,
			.certainty = text,
			.unit = "",
			.blocked = &hostile[i],
			.blocked_count = 1 };
		findings[HOSTILE_COUNT + i] = findings[i];
		findings[HOSTILE_COUNT + i].status = i % 2 ? MUSTER_SKIP : MUSTER_INCONCLUSIVE;
	}
	report.findings = findings;
	report.finding_count = sizeof findings / sizeof *findings;
	report.sku = hostile[0];
	report.sku_origin = hostile[1];
	run.job.id = hostile[2];
	run.job.started = run.job.interrupted = hostile[3];
	int rc = write_page(directory, "hostile", &report);
	muster_run_done(&run);
	return rc;
}

/* ---- 1,024 nodes ---- */

static void set_number(struct muster_samples *samples, const char *metric, double number)
{
	for (size_t i = 0; i < samples->count; i++)
		if (strcmp(samples->items[i].metric->name, metric) == 0 &&
			samples->items[i].value.type == MUSTER_NUMBER)
			samples->items[i].value.number = number;
}

static void set_null(struct muster_samples *samples, const char *metric)
{
	for (size_t i = 0; i < samples->count; i++)
		if (strcmp(samples->items[i].metric->name, metric) == 0)
			samples->items[i].value = muster_null();
}

static void add_finding(struct muster_finding **at, struct muster_finding finding)
{
	finding.unit = "GB/s";
	finding.certainty = "threshold";
	*(*at)++ = finding;
}

/* Nodes below 32 switches; slow GPUs, ports that are down, a node that gave nothing. */
static int write_fleet(const char *directory)
{
	struct muster_run run;
	struct muster_report report;
	static struct muster_finding findings[64];
	struct muster_finding *at = findings;
	synthetic_run(&run, FLEET_RANKS);
	for (size_t i = 0; i < run.node_count; i++) {
		struct muster_node *node = &run.nodes[i];
		for (size_t j = 0; j < node->samples.count; j++)
			if (strcmp(node->samples.items[j].metric->name, "node.slurm_topology") == 0)
				node->samples.items[j].value =
					muster_string(muster_arena_printf(run.arena, "s%zu", i / NODES_OF_A_SWITCH));
		for (size_t j = 0; j < node->rank_count; j++)
			set_null(&node->ranks[j].samples, "gpu.fabric_clique"); /* no NVLink between nodes */
		if (i % 97 != 5)
			continue;
		struct muster_rank *rank = &node->ranks[i % 8];
		set_number(&rank->samples, "gpu.h2d_gbps", 11.2);
		add_finding(&at, (struct muster_finding){ .check = "copy.h2d",
					 .status = MUSTER_FAIL,
					 .node = node->name,
					 .rank = rank->rank,
					 .gpu = rank->gpu,
					 .gpu_index = rank->local_rank,
					 .metric = "gpu.h2d_gbps",
					 .expected = "at least 21 GB/s",
					 .observed = "11.2",
					 .value = muster_number(11.2),
					 .advice = "exclude the node and open a ticket for the GPU",
					 .source = "vendor's guide" });
		add_finding(&at, (struct muster_finding){ .check = "ib.state",
					 .status = i % 2 ? MUSTER_WARN : MUSTER_INCONCLUSIVE,
					 .node = run.nodes[i + 1].name,
					 .rank = -1,
					 .port = "mlx5_ib3/1",
					 .metric = "port.state",
					 .expected = "ACTIVE",
					 .observed = "INIT" });
	}
	struct muster_node *missing = &run.nodes[700];
	missing->samples.count = 0;
	for (size_t i = 0; i < missing->rank_count; i++) {
		missing->ranks[i].missing = "no message within 60 s";
		missing->ranks[i].samples.count = missing->ranks[i].outcomes.count = 0;
		missing->ranks[i].gpu = NULL;
	}
	add_finding(&at, (struct muster_finding){ .check = "rank.missing",
				 .status = MUSTER_FAIL,
				 .node = missing->name,
				 .rank = missing->ranks[0].rank,
				 .expected = "a report from every rank",
				 .observed = "no message within 60 s" });
	fixture_report(&report, &run);
	report.findings = findings;
	report.finding_count = (size_t)(at - findings);
	int rc = write_page(directory, "fleet", &report);
	muster_run_done(&run);
	return rc;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: write_pages DIRECTORY\n", stderr);
		return 2;
	}
	int rc = write_hostile(argv[1]);
	rc |= write_fleet(argv[1]);
	return rc == 0 ? 0 : 1;
}
