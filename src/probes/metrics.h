/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - rows of a probe's table of metrics
 *
 * What a row must say stands in parentheses; names are without their MUSTER_ prefixes, and NONE is no unit:
 *   NUMBER: name, unit, which values are better, meaning
 *   FLAG:   name, which values are better, meaning
 *   TEXT:   name, which values are better, what the text identifies (NOTHING: nothing), meaning
 * Other fields of struct muster_metric follow the meaning: .labels = { "direction" }, .counts_wrong = true.
 * SHOWN(IN(SPEEDS, 50, "title"), ...): the tables for people that it is shown in, the place in each, other fields of
 * struct muster_shown. Places are multiples of 10, so that a new one needs no change of others.
 * muster_registry_check refuses a row that lacks an answer.
 */
#ifndef MUSTER_PROBES_METRICS_H
#define MUSTER_PROBES_METRICS_H

#include "muster/probe.h"

#define METRIC(scope_, name_, type_, better_, ...)                                                                     \
	{                                                                                                              \
		.name = (name_), .scope = MUSTER_SCOPE_##scope_, .type = (type_), .better = MUSTER_BETTER_##better_,   \
		.meaning = __VA_ARGS__                                                                                 \
	}
#define NUMBER(scope, name, unit_, better, ...)                                                                        \
	METRIC(scope, name, MUSTER_NUMBER, better, __VA_ARGS__, .unit = MUSTER_UNIT_##unit_)
#define FLAG(scope, name, better, ...) METRIC(scope, name, MUSTER_BOOLEAN, better, __VA_ARGS__)
#define TEXT(scope, name, better, identifies_, ...)                                                                    \
	METRIC(scope, name, MUSTER_STRING, better, __VA_ARGS__, .identifies = MUSTER_IDENTIFIES_##identifies_)

/* Of a probe: its table. */
#define METRICS(table) .metrics = (table), .metric_count = sizeof(table) / sizeof *(table)

#define IN(table_, place_, ...)                                                                                        \
	{                                                                                                              \
		.table = MUSTER_SHOWN_##table_, .place = (place_), .title = __VA_ARGS__                                \
	}
#define SHOWN(...)                                                                                                     \
	.shown = (const struct muster_shown[])                                                                         \
	{                                                                                                              \
		__VA_ARGS__,                                                                                           \
		{                                                                                                      \
			.title = NULL                                                                                  \
		}                                                                                                      \
	}

#define NODE_NUMBER(name, unit, better, ...) NUMBER(NODE, name, unit, better, __VA_ARGS__)
#define NODE_FLAG(name, better, ...) FLAG(NODE, name, better, __VA_ARGS__)
#define NODE_TEXT(name, better, identifies, ...) TEXT(NODE, name, better, identifies, __VA_ARGS__)
#define RANK_NUMBER(name, unit, better, ...) NUMBER(RANK, name, unit, better, __VA_ARGS__)
#define RANK_FLAG(name, better, ...) FLAG(RANK, name, better, __VA_ARGS__)
#define RANK_TEXT(name, better, identifies, ...) TEXT(RANK, name, better, identifies, __VA_ARGS__)

#define OF_GPU .labels = { "gpu" }
#define GPU_NUMBER(name, unit, better, ...) NUMBER(GPU, name, unit, better, __VA_ARGS__, OF_GPU)
#define GPU_FLAG(name, better, ...) FLAG(GPU, name, better, __VA_ARGS__, OF_GPU)
#define GPU_TEXT(name, better, identifies, ...) TEXT(GPU, name, better, identifies, __VA_ARGS__, OF_GPU)

#define OF_PORT .labels = { "port", "link_layer" }
#define PORT_NUMBER(name, unit, better, ...) NUMBER(PORT, name, unit, better, __VA_ARGS__, OF_PORT)
#define PORT_FLAG(name, better, ...) FLAG(PORT, name, better, __VA_ARGS__, OF_PORT)
#define PORT_TEXT(name, better, identifies, ...) TEXT(PORT, name, better, identifies, __VA_ARGS__, OF_PORT)

#endif
