/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - lines on standard error, as text or for a log collector
 *
 * Text: "muster: rank 3 node gpu-1: text". For a collector each line is one JSON object: time (RFC 3339, UTC, with
 * milliseconds), level, job, node, rank, probe, message, and the fields of the line's place; unknown members are
 * absent.
 */
#ifndef MUSTER_UTIL_LOG_H
#define MUSTER_UTIL_LOG_H

#include "muster/value.h"

#include <stdbool.h>

enum muster_log_level { MUSTER_LOG_DEBUG = 0, MUSTER_LOG_INFO, MUSTER_LOG_WARN, MUSTER_LOG_ERROR, MUSTER_LOG_COUNT };

/* What a line is about. For people only `rank` and `node` are named, and only where a place is given. */
struct muster_log_place {
	const char *node, *probe; /* NULL: not known, or none */
	int rank;                 /* -1 likewise */
	/* Further members of a JSON line, in their order; one without a value is absent. The text of the line has no
	 * need for them. */
	const struct muster_label *fields;
	size_t field_count;
};

void muster_log_as_json(bool json);
bool muster_log_is_json(void);
/* Who this process is, for JSON lines that are given no place. node must outlive the process's last line. */
void muster_log_who(const char *node, int rank);
struct muster_log_place muster_log_self(void);

/* at may be NULL. Printed with one write, and so whole also beside other processes' lines. */
void muster_log(enum muster_log_level level, const struct muster_log_place *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* With $MUSTER_TRACE: what happens next, and how long after the start. rank: as in the place; -1: not known yet. */
void muster_log_trace(int rank, double elapsed_ms, const char *what);

#endif
