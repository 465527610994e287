/* SPDX-License-Identifier: Apache-2.0 */
/* derived_text.h - what the step between the last sample of a run and its judgement adds to exchanges, as text */
#ifndef MUSTER_TESTS_DERIVED_TEXT_H
#define MUSTER_TESTS_DERIVED_TEXT_H

#include "run_text.h"

#include "eval/derive.h"
#include "muster/run.h"

/* Derive twice from the run (as run_text.h has it), since the second time everything is there already. Each time the
 * samples of the metric are these lines, "NODE/RANK PATH, LINK: VALUE[: REASON]", and have `labels` labels. */
static inline void derived_text_check(const char *lines, const char *metric, size_t labels, const char *expected)
{
	struct muster_run run;
	char text[2048];
	run_text(&run, lines);
	for (int again = 0; again < 2; again++) {
		size_t used = 0;
		text[0] = '\0';
		muster_run_derive(&run);
		for (size_t n = 0; n < run.node_count; n++)
			for (size_t r = 0; r < run.nodes[n].rank_count; r++)
				for (size_t i = 0; i < run.nodes[n].ranks[r].samples.count; i++) {
					const struct muster_rank *rank = &run.nodes[n].ranks[r];
					const struct muster_sample *sample = &rank->samples.items[i];
					char value[64];
					if (strcmp(sample->metric->name, metric) != 0)
						continue;
					ck_assert_uint_eq(sample->label_count, labels);
					used += (size_t)snprintf(text + used, sizeof text - used,
						"%s/%d %s, %s: %s%s%s\n", run.nodes[n].name, rank->rank,
						muster_sample_label(sample, "path")->string,
						muster_sample_label(sample, "link")->string,
						muster_value_text(sample->value, value, sizeof value),
						sample->reason ? ": " : "", sample->reason ? sample->reason : "");
				}
		ck_assert_str_eq(text, expected);
	}
	muster_run_done(&run);
}

/* A rank's exchange of a kind with a GPU of a node. */
#define EXCHANGE(place, kind, node, gpu, nic, transport, gbps)                                                         \
	place " pair.exchange_gbps kind=" kind " peer_node=" node " peer_gpu=" gpu " nic=" nic " transport=" transport \
	      " " gbps "\n"

#endif
