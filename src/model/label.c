/* SPDX-License-Identifier: Apache-2.0 */
/* label.c - what each label of the catalogue is
 *
 * A row for each label: its type, its role (what it tells of a sample), whether it is a name that anonymous reports
 * replace (`identifies`), and `variant` (values are comparable only where the label is equal). A label without a role
 * is a key: it is a part of what was measured.
 */
#include "muster/metric.h"

#include <string.h>

static const struct muster_label_row rows[] = {
	/* of several that name a place in one node, the first one counts */
	{ "gpu", MUSTER_STRING, .role = MUSTER_ROLE_PLACE },
	{ "port", MUSTER_STRING, .role = MUSTER_ROLE_PLACE },
	{ "nic", MUSTER_STRING, .role = MUSTER_ROLE_PART },
	{ "device", MUSTER_STRING, .role = MUSTER_ROLE_PART },
	{ "link_layer", MUSTER_STRING, .role = MUSTER_ROLE_OF_PLACE, .variant = true },
	{ "pci", MUSTER_STRING, .role = MUSTER_ROLE_OF_PLACE },
	{ "peer_node", MUSTER_STRING, .role = MUSTER_ROLE_PEER, .identifies = MUSTER_IDENTIFIES_NODE },
	{ "peer_gpu", MUSTER_STRING, .role = MUSTER_ROLE_PEER },
	{ "transport", MUSTER_STRING, .role = MUSTER_ROLE_ROUTE, .variant = true },
	{ "path", MUSTER_STRING, .role = MUSTER_ROLE_ROUTE },
	{ "link", MUSTER_STRING, .role = MUSTER_ROLE_NOTE }, /* what a limit was computed from */
	{ "among", MUSTER_STRING, .role = MUSTER_ROLE_KEY, .identifies = MUSTER_IDENTIFIES_TEXT },
	{ "cluster", MUSTER_STRING, .role = MUSTER_ROLE_KEY,
		.identifies = MUSTER_IDENTIFIES_TEXT }, /* the fabric's UUID */
	{ "bytes", MUSTER_NUMBER, .variant = true },
	{ "code", .type = MUSTER_STRING },
	{ "counter", MUSTER_STRING, .variant = true },
	{ "direction", MUSTER_STRING, .variant = true },
	{ "kind", MUSTER_STRING, .variant = true },
	{ "layout", MUSTER_STRING, .variant = true },
	{ "library", .type = MUSTER_STRING },
	{ "load", MUSTER_STRING, .variant = true },
	{ "made_by", .type = MUSTER_STRING },
	{ "name", .type = MUSTER_STRING },
	{ "nodes", MUSTER_NUMBER, .variant = true },
	{ "numa_node", .type = MUSTER_NUMBER },
	{ "of", .type = MUSTER_STRING },
	{ "part", .type = MUSTER_STRING },
	{ "package", .type = MUSTER_NUMBER },
	{ "precision", .type = MUSTER_STRING },
	{ "range", MUSTER_STRING, .role = MUSTER_ROLE_NOTE }, /* the lowest and the highest of the windows */
	{ "raid", .type = MUSTER_STRING },
	{ "ranks", .type = MUSTER_NUMBER },
	{ "reason", MUSTER_STRING, .variant = true },
	{ "role", .type = MUSTER_STRING },
	{ "shard", .type = MUSTER_NUMBER },
	{ "source", MUSTER_STRING, .variant = true },
	{ "when", .type = MUSTER_STRING },
};

const struct muster_label_row *muster_label_find(const char *name)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

bool muster_label_fits(const struct muster_label_row *row, enum muster_type type)
{
	return type == row->type || (type == MUSTER_STRING && row->type == MUSTER_NUMBER);
}

enum muster_role muster_label_role(const char *name)
{
	const struct muster_label_row *row = muster_label_find(name);
	return row ? row->role : MUSTER_ROLE_KEY;
}

bool muster_label_is_of_place(const char *name)
{
	enum muster_role role = muster_label_role(name);
	return role == MUSTER_ROLE_PLACE || role == MUSTER_ROLE_OF_PLACE;
}

bool muster_metric_has_peer(const struct muster_metric *metric)
{
	for (size_t i = 0; i < MUSTER_LABELS_MAX && metric->labels[i]; i++)
		if (muster_label_role(metric->labels[i]) == MUSTER_ROLE_PEER)
			return true;
	return false;
}
