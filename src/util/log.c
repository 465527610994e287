/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - lines on standard error, for people or for a log collector
 *
 * A line is made in memory and written by one call: ranks share a terminal, and lines of two processes must not mix.
 * The place of a line says whom it is about (a rank, a node, a probe). A JSON line without a place is about this
 * process; a plain line without one names no place.
 *
 *    muster: rank 3 node gpu-1: text
 *    {"time": "2026-11-21T16:00:00.123Z", "level": "warn", "job": "17", "node": "gpu-1", "rank": 3, "message": "text"}
 */
#include "util/log.h"

#include "muster/arena.h"
#include "util/env.h"
#include "util/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *const level_names[] = {
	[MUSTER_LOG_DEBUG] = "debug",
	[MUSTER_LOG_INFO] = "info",
	[MUSTER_LOG_WARN] = "warn",
	[MUSTER_LOG_ERROR] = "error",
};
_Static_assert(sizeof level_names / sizeof *level_names == MUSTER_LOG_COUNT, "every level has a name");

static bool as_json;
static struct muster_log_place self = { .rank = -1 };

void muster_log_as_json(bool json)
{
	as_json = json;
}

bool muster_log_is_json(void)
{
	return as_json;
}

void muster_log_who(const char *node, int rank)
{
	self.node = node;
	self.rank = rank;
}

struct muster_log_place muster_log_self(void)
{
	return (struct muster_log_place){ .node = self.node ? self.node : getenv("SLURMD_NODENAME"),
		.rank = self.rank };
}

/* "2026-11-21T16:00:00.123Z" */
static void now_text(char *out, size_t size)
{
	struct timespec now;
	struct tm parts;
	char seconds[32];
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &parts);
	strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(out, size, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

/* A member; nothing without a text. */
static void write_text(FILE *out, const char *key, const char *text)
{
	if (!text)
		return;
	fprintf(out, ", \"%s\": ", key);
	muster_utf8_quote(out, text);
}

static void write_field(FILE *out, const struct muster_label *field)
{
	const struct muster_value *value = &field->value;
	if (value->type == MUSTER_STRING)
		write_text(out, field->key, value->string);
	else if (value->type == MUSTER_BOOLEAN)
		fprintf(out, ", \"%s\": %s", field->key, value->boolean ? "true" : "false");
	else if (value->type == MUSTER_NUMBER && isfinite(value->number))
		fprintf(out, ", \"%s\": %.15g", field->key, value->number);
}

/* util/ stands below json/, and an object of a few texts needs no writer. */
static void write_json(FILE *out, enum muster_log_level level, const struct muster_log_place *at, const char *message)
{
	char now[64];
	now_text(now, sizeof now);
	fprintf(out, "{\"time\": \"%s\", \"level\": \"%s\"", now, level_names[level]);
	write_text(out, "job", getenv("SLURM_JOB_ID"));
	write_text(out, "node", at->node);
	if (at->rank >= 0)
		fprintf(out, ", \"rank\": %d", at->rank);
	write_text(out, "probe", at->probe);
	for (size_t i = 0; i < at->field_count; i++)
		write_field(out, &at->fields[i]);
	write_text(out, "message", message);
	fputc('}', out);
}

static void write_plain(FILE *out, const struct muster_log_place *at, const char *message)
{
	fputs("muster: ", out);
	if (at && at->rank >= 0)
		fprintf(out, "rank %d%s", at->rank, at->node ? " " : ": ");
	if (at && at->node)
		fprintf(out, "node %s: ", at->node);
	fputs(message, out);
}

void muster_log(enum muster_log_level level, const struct muster_log_place *at, const char *format, ...)
{
	char *line = NULL;
	size_t length = 0;
	va_list args;
	va_start(args, format);
	char *message = muster_vasprintf(format, args);
	va_end(args);
	FILE *out = muster_memory_open(&line, &length);
	const struct muster_log_place here = muster_log_self();
	if (as_json)
		write_json(out, level, at ? at : &here, message);
	else
		write_plain(out, at, message);
	fputc('\n', out);
	muster_memory_close(out);
	fwrite(line, 1, length, stderr);
	fflush(stderr);
	free(line);
	free(message);
}

void muster_log_trace(int rank, double elapsed_ms, const char *what)
{
	if (muster_env(MUSTER_ENV_TRACE))
		muster_log(MUSTER_LOG_DEBUG, &(struct muster_log_place){ .rank = rank }, "%.3f s: %s", elapsed_ms / 1e3,
			what);
}
