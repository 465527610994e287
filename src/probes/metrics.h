/* metrics.h - rows of a probe's table of metrics
 *
 * Arguments: name, type, unit ("" for none), meaning.
 */
#ifndef MUSTER_PROBES_METRICS_H
#define MUSTER_PROBES_METRICS_H

#include "muster/probe.h"

/* A row of any scope; the names of its labels follow the meaning. */
#define MUSTER_METRIC(scope_, name_, type_, unit_, meaning_, ...)                                                      \
	{                                                                                                              \
		.name = (name_), .type = (type_), .scope = (scope_), .unit = (unit_), .labels = { __VA_ARGS__ },       \
		.meaning = (meaning_)                                                                                  \
	}

#define NODE_METRIC(name, type, unit, meaning) MUSTER_METRIC(MUSTER_SCOPE_NODE, name, type, unit, meaning, NULL)
#define RANK_METRIC(name, type, unit, meaning) MUSTER_METRIC(MUSTER_SCOPE_RANK, name, type, unit, meaning, NULL)
#define GPU_METRIC(name, type, unit, meaning) MUSTER_METRIC(MUSTER_SCOPE_GPU, name, type, unit, meaning, "gpu")
#define PORT_METRIC(name, type, unit, meaning)                                                                         \
	MUSTER_METRIC(MUSTER_SCOPE_PORT, name, type, unit, meaning, "port", "link_layer")

#endif
