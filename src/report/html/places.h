/* SPDX-License-Identifier: Apache-2.0 */
/* places.h - nodes, their GPUs and ports, and what the findings say about each: for the map and the details
 *
 * Made once for a page (print_page), before any section, and not changed by the sections. Indices are the page's
 * anchors: nodes[i] is the node i of the run, and its i-th GPU or port keeps its index, too.
 */
#ifndef MUSTER_REPORT_HTML_PLACES_H
#define MUSTER_REPORT_HTML_PLACES_H

#include "muster/report.h"
#include "report/kinds.h"

/* A GPU, a port, or a rank that took no GPU. */
struct muster_html_part {
	const char *name;               /* PCI bus id, "mlx5_ib0/1"; NULL: a rank without a GPU */
	int gpu_index;                  /* of a GPU, as nvidia-smi counts on the node; -1: not known */
	const struct muster_rank *rank; /* that took the GPU; NULL: none did, or it is a port */
	enum muster_status status;      /* of the worst finding about it; SKIP: nothing was measured; else PASS */
};

struct muster_html_parts {
	struct muster_html_part *items;
	size_t count, room;
};

struct muster_html_node {
	const struct muster_node *node;
	enum muster_status status;            /* of the worst finding that names the node; SKIP: nothing came from it */
	struct muster_html_parts gpus, ports; /* GPUs in the order of their ranks, then GPUs without a rank */
	const size_t *findings;               /* indices into the report's: failed, inconclusive or a warning */
	size_t finding_count;
	bool detailed; /* the page has its details; else only its tile on the map */
	bool drawn;    /* the page has a picture of it */
};

/* What a page shows at most: its size is bounded, however many nodes failed. */
enum {
	MUSTER_HTML_ALL_MAX = 16,      /* nodes; of a run of so many, the nodes that passed have details too */
	MUSTER_HTML_DETAILED_MAX = 96, /* nodes with details in a larger run: those with the worst findings */
	MUSTER_HTML_DRAWN_MAX = 12,    /* pictures of such nodes; beside them is one of a node that passed */
};

struct muster_html_name {
	const char *text;
	size_t index;
};

struct muster_html_places {
	struct muster_arena *arena;
	struct muster_html_node *nodes; /* as run->nodes */
	size_t count;
	size_t *worst; /* indices of the nodes that did not pass, the worst first, then in the order of the run */
	size_t worst_count;
	struct muster_kinds kinds;        /* of the report's findings */
	struct muster_html_name *by_name; /* of the nodes */
	size_t *findings;                 /* of all nodes */
};

/* The places borrow names from the report. */
void muster_html_places_make(const struct muster_report *report, struct muster_html_places *ret);
void muster_html_places_done(struct muster_html_places *places);

/* The index of the node of this name; SIZE_MAX when there is none, or no name. */
size_t muster_html_place_of(const struct muster_html_places *places, const char *node);

/* "GPU 3 (000b:00:00.0)", "port mlx5_ib0/1", "unknown GPU"; malloc'd. Without the noun, where a table's column has it:
 * "3 (000b:00:00.0)", "none". */
char *muster_html_part_text(const struct muster_html_part *part, bool is_port, bool with_noun);

/* The GPU of the node of this name, as muster_gpu_text(); malloc'd. */
struct muster_html;
char *muster_html_gpu_text(const struct muster_html *page, const char *node, const char *bus_id);

/* The port that a finding is about, or the GPU, the one of its rank else; NULL when it is about the node. */
struct muster_html_part *muster_html_part_of(const struct muster_html_node *node, const struct muster_finding *finding);

#endif
